"""The options that all commands share: home, workspace, agent and JSON output.

They may stand before or after the command; after it wins. Options that are not given come from the settings.
"""

import inspect
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

import recollect
from recollect.cli.default_home import default_home, first_use
from recollect.cli.output import remark
from recollect.config import Settings
from recollect.errors import ConfigError
from recollect.memory import Memory
from recollect.wiring import program, project, shown

__all__ = [
    "HERE",
    "AgentOption",
    "HomeOption",
    "Invocation",
    "JsonOption",
    "WorkspaceOption",
    "for_agent",
    "for_home",
    "with_options",
]

P = ParamSpec("P")
HERE = "."
"""Stands for the workspace named after the project of the current folder."""
ANYWHERE = ("hook", "mcp", "connect")
"""Commands that other programs start in arbitrary folders, and `connect`, which sets those up: a settings file in such
a folder is untrusted and must not decide where memories and keys are sent."""

HomeOption = Annotated[
    str | None,
    typer.Option(
        "--home",
        metavar="LOCATION",
        help="Directory, .db file or postgresql:// URL. [default: $RECOLLECT_HOME, .recollect, or the connected one]",
    ),
]
WorkspaceOption = Annotated[
    str | None,
    typer.Option(
        "--workspace",
        metavar="NAME",
        help="Workspace; . is the one of this folder's project. [default: $RECOLLECT_WORKSPACE or default]",
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="NAME", help="Agent whose memory is used. [default: $RECOLLECT_AGENT or default]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

_OPTIONS: dict[str, tuple[Any, str | bool | None]] = {
    "home": (HomeOption, None),
    "workspace": (WorkspaceOption, None),
    "agent": (AgentOption, None),
    "json": (JsonOption, False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One invocation of the command line."""

    home: str
    named: str
    """The workspace as given: a name, or `.` for that of the current folder's project."""
    agent: str
    json: bool
    settings: Settings
    folder: Path = Path()
    given: frozenset[str] = frozenset()
    """Names of the options that were given; the others come from the settings."""
    anywhere: bool = False
    """Whether other programs start the command in arbitrary folders."""
    wrong: str = ""
    """Why the settings could not be read; set for `doctor` only, which reports it."""

    @property
    def workspace(self) -> str:
        """The name of the workspace."""
        return project(self.folder) if self.named == HERE else self.named

    @classmethod
    def read(cls, command: str | None, json: bool, **given: str | None) -> "Invocation":
        """Build a call from the options before the command, and the settings for the rest."""
        wrong = ""
        try:
            settings = Settings.read(trusted=command not in ANYWHERE)
        except ConfigError as error:
            if command != "doctor":
                raise
            settings, wrong = Settings(), str(error)
        home, named, agent = settings.home, settings.workspace, settings.agent
        anywhere = command in ANYWHERE
        made = cls(home=home, named=named, agent=agent, json=json, settings=settings, anywhere=anywhere, wrong=wrong)
        return made.but(**given)

    def but(self, **given: Any) -> "Invocation":
        """Return a copy with the given options applied."""
        chosen = {name: value for name, value in given.items() if value not in (None, False)}
        names = self.given | chosen.keys()
        if "workspace" in chosen:
            chosen["named"] = chosen.pop("workspace")
        return replace(self, **chosen, given=names)

    def settled(self) -> "Invocation":
        """Return the call with the home of this folder, if no option, variable or file names one."""
        named_elsewhere = "home" in self.given or self.home != Settings().home
        chosen = None if self.anywhere or named_elsewhere else default_home(self.folder)
        if chosen is None:
            return self
        named = self.named
        if chosen.workspace and named == "default" and "workspace" not in self.given:
            named = chosen.workspace
        made = replace(self, home=chosen.location, named=named)
        if first_use(self.folder, chosen):
            set_up = f", workspace {made.workspace}, as `recollect connect` set it up" if chosen.workspace else ""
            remark(f"using the memory in {shown(chosen.location)}{set_up}; --home selects another")
        return made

    def who(self) -> list[str]:
        """Return the options for a workspace and an agent other than the default."""
        named = {"--workspace": self.named, "--agent": self.agent}
        return [word for option, value in named.items() if value != "default" for word in (option, value)]

    def line(self, *words: str) -> str:
        """Return a command on the same home that works in any folder, quoted for a shell, with the password masked."""
        return shlex.join([*program(), "--home", shown(self.home), *words])

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """Open the home and yield the memory of this call."""
        with recollect.open(self.home, settings=self.settings) as home:
            yield home.agent(self.agent, self.workspace)


def for_agent(function: Callable[Concatenate[Invocation, P], None]) -> Callable[..., None]:
    """Decorate a command on one agent's memory: adds all four options and passes a `Call` first."""
    return with_options("home", "workspace", "agent", "json")(function)


def for_home(function: Callable[Concatenate[Invocation, P], None]) -> Callable[..., None]:
    """Decorate a command on a whole home, which has no workspace and no agent."""
    return with_options("home", "json")(function)


def with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command with these shared options only; the others have no meaning for it, or another one."""

    def made(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(ctx: typer.Context, **given: Any) -> None:
            call: Invocation = ctx.obj.but(**{name: given.pop(name) for name in names}).settled()
            function(call, **given)

        # Typer reads the signature, so the shared options are defined here once instead of in every command.
        kind = inspect.Parameter.KEYWORD_ONLY
        own = [parameter.replace(kind=kind) for parameter in list(inspect.signature(function).parameters.values())[1:]]
        shared = [inspect.Parameter(n, kind, annotation=_OPTIONS[n][0], default=_OPTIONS[n][1]) for n in names]
        context = inspect.Parameter("ctx", kind, annotation=typer.Context)
        command.__signature__ = inspect.Signature([context, *own, *shared])  # type: ignore[attr-defined]
        return command

    return made
