"""One invocation of the command line: the home, workspace and agent it works on, from options and settings."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import recollect
from recollect.cli.output import remark
from recollect.config import Settings
from recollect.errors import ConfigError
from recollect.locations import program, project, shown

if TYPE_CHECKING:
    from recollect.memory import Memory

__all__ = ["HERE", "Invocation"]

HERE = "."
"""Stands for the workspace named after the project of the current folder."""
ANYWHERE = ("hook", "mcp", "connect")
"""Commands that other programs start in arbitrary folders, and `connect`, which sets those up: a settings file in such
a folder is untrusted and must not decide where memories and keys are sent."""


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
        if self.anywhere or "home" in self.given or self.home != Settings().home:
            return self
        from recollect.cli.default_home import default_home, first_use

        chosen = default_home(self.folder)
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
    def memory(self) -> "Iterator[Memory]":
        """Open the home and yield the memory of this call."""
        with recollect.open(self.home, settings=self.settings) as home:
            yield home.agent(self.agent, self.workspace)
