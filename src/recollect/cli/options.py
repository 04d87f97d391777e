"""Arguments and options that several commands share: targets, texts, filters and the fields of a new note.

Home, workspace, agent and JSON output may be given before or after the command; after it wins.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from recollect.cli.invocation import Invocation
from recollect.cli.output import SHORT_ID
from recollect.errors import Invalid
from recollect.model.entry import Category, Entry, Lifetime, Origin, Scope
from recollect.model.fields import Fraction, Limits, OneLine, Time

__all__ = [
    "AgentOption",
    "AsOfOption",
    "AtOption",
    "CategoryOption",
    "ChannelOption",
    "ContextOption",
    "ConversationOption",
    "EvidenceOption",
    "HomeOption",
    "ImportanceOption",
    "IncludePastOption",
    "JsonOption",
    "LifetimeOption",
    "LimitOption",
    "MinOriginOption",
    "NameArgument",
    "OriginOption",
    "ScopeOption",
    "SinceOption",
    "SourceOption",
    "SupersedesOption",
    "TagOption",
    "Target",
    "TextArgument",
    "UntilOption",
    "WhyOption",
    "WorkspaceOption",
    "derived_fields",
    "examples",
    "filters",
    "for_agent",
    "for_home",
    "group",
    "note_fields",
    "one_of",
    "text_of",
    "with_options",
]

P = ParamSpec("P")
INPUT_BYTES = 100_000_000
"""Maximum bytes read from stdin: enough for any text that the library accepts, and small enough for memory."""


def one_of(words: type[StrEnum]) -> str:
    """List the values of an enum for a help text."""
    *most, last = words
    return f"{', '.join(most)} or {last}"


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

_SHARED: dict[str, tuple[Any, str | bool | None]] = {
    "home": (HomeOption, None),
    "workspace": (WorkspaceOption, None),
    "agent": (AgentOption, None),
    "json": (JsonOption, False),
}

Target = Annotated[
    str,
    typer.Argument(
        metavar="NAME|ID", help=f"Name, alias, id, or the last {SHORT_ID} characters of an id.", show_default=False
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name that is not in use.", show_default=False)]
TextArgument = Annotated[
    str,
    typer.Argument(metavar="TEXT", help="Text to remember; - reads it from stdin.", show_default=False),
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", metavar="WORD", help="Tag; repeatable.")]
CategoryOption = Annotated[
    Category | None, typer.Option("--category", metavar="CATEGORY", help=f"Category: {one_of(Category)}.")
]
ContextOption = Annotated[
    str | None, typer.Option("--context", metavar="TEXT", help="Where it came from, or why it matters.")
]
ImportanceOption = Annotated[float, typer.Option("--importance", metavar="NUMBER", help="Importance from 0 to 1.")]
ScopeOption = Annotated[Scope, typer.Option("--scope", metavar="SCOPE", help=f"Visibility: {one_of(Scope)}.")]
ChannelOption = Annotated[str | None, typer.Option("--channel", metavar="NAME", help="Channel, with --scope channel.")]
ConversationOption = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="Conversation, with --scope conversation.")
]
SourceOption = Annotated[str, typer.Option("--source", metavar="WORD", help="Origin of the text.")]
LifetimeOption = Annotated[
    Lifetime | None,
    typer.Option(
        "--lifetime",
        metavar="LIFETIME",
        help=f"Retention: {one_of(Lifetime)}. [default: from the settings, else long_term]",
    ),
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Creation time, such as 2026-03-16T14:32:00Z. [default: now]")
]
OriginOption = Annotated[
    Origin | None,
    typer.Option("--origin", metavar="ORIGIN", help=f"Who stated it: {one_of(Origin)}. [default: from the source]"),
]
EvidenceOption = Annotated[
    list[str] | None, typer.Option("--evidence", metavar="REF", help="What it was made from; repeatable.")
]
SupersedesOption = Annotated[
    str | None, typer.Option("--supersedes", metavar="NAME|ID", help="Note that it replaces, which is kept as past.")
]
WhyOption = Annotated[str | None, typer.Option("--why", metavar="TEXT", help="Reason, for the history.")]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="What held at this time, as far as it was known then.")
]
IncludePastOption = Annotated[
    bool, typer.Option("--include-past", help="Include what was superseded, retracted or has expired.")
]
MinOriginOption = Annotated[
    Origin,
    typer.Option("--min-origin", metavar="ORIGIN", help=f"Least trusted origin to include: {one_of(Origin)}."),
]
SourceFilter = Annotated[str | None, typer.Option("--source", metavar="WORD", help="Only from this source.")]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Earliest time, inclusive.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="NUMBER", help="Maximum number of results.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Latest time, exclusive.")]


def _derived(name: str, limits: Limits, help_text: str) -> Any:
    """Return the option of a field of an entry that is a single value."""
    kind, metavar = (float, "NUMBER") if isinstance(limits, Fraction) else (str, _METAVARS.get(type(limits), "TEXT"))
    option = typer.Option(f"--{name.replace('_', '-')}", metavar=metavar, help=help_text)
    return Annotated[kind | None, option]


_METAVARS: Mapping[type, str] = {Time: "TIME", OneLine: "WORD"}
_DERIVED: dict[str, tuple[Any, Any]] = {
    one.name: (_derived(one.name, one.metadata["limits"], one.metadata["option"]), None)
    for one in fields(Entry)
    if "option" in one.metadata
}
"""The options of fields of which the entry describes the option, with their default values."""
_NOTE_FIELDS: dict[str, tuple[Any, Any]] = {
    "tag": (TagOption, None),
    "category": (CategoryOption, None),
    "context": (ContextOption, None),
    "importance": (ImportanceOption, 0.5),
    "scope": (ScopeOption, Scope.WORKSPACE),
    "channel": (ChannelOption, None),
    "conversation": (ConversationOption, None),
    "source": (SourceOption, "agent"),
    "lifetime": (LifetimeOption, None),
    "at": (AtOption, None),
    **_DERIVED,
    "origin": (OriginOption, None),
    "evidence": (EvidenceOption, None),
    "supersedes": (SupersedesOption, None),
}
_FILTERS: dict[str, tuple[Any, Any]] = {
    "source": (SourceFilter, None),
    "since": (SinceOption, None),
    "until": (UntilOption, None),
    "as_of": (AsOfOption, None),
    "include_past": (IncludePastOption, False),
    "min_origin": (MinOriginOption, Origin.EXTERNAL),
}
"""The options of filters that `recall` and `note list` share, with their default values."""


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
        shared = [inspect.Parameter(n, kind, annotation=_SHARED[n][0], default=_SHARED[n][1]) for n in names]
        context = inspect.Parameter("ctx", kind, annotation=typer.Context)
        command.__signature__ = inspect.Signature([context, *own, *shared])  # type: ignore[attr-defined]
        return command

    return made


def note_fields(function: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command that stores a note: adds the options of its fields, passed as arguments of `remember`."""

    @wraps(function)
    def command(*args: Any, tag: list[str] | None, evidence: list[str] | None, **given: Any) -> None:
        function(*args, tags=tag or (), evidence=evidence or (), **given)

    return _with(_NOTE_FIELDS, function, command)


def derived_fields(function: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command that changes a note: adds the options that the fields describe, passed as arguments."""
    return _with(_DERIVED, function)


def filters(function: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command that finds entries: adds the options of the filters, passed as arguments of `recall`."""
    return _with(_FILTERS, function)


def _with(
    options: Mapping[str, tuple[Any, Any]], function: Callable[..., None], command: Callable[..., None] | None = None
) -> Callable[..., None]:
    """Return a command, by default one that calls the function, with these options in place of its last parameter."""

    @wraps(function)
    def passing(*args: Any, **given: Any) -> None:
        function(*args, **given)

    made = passing if command is None else command
    kind = inspect.Parameter.KEYWORD_ONLY
    *own, _ = inspect.signature(function).parameters.values()
    more = [inspect.Parameter(n, kind, annotation=a, default=d) for n, (a, d) in options.items()]
    made.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    return made


def group(help_text: str) -> typer.Typer:
    """Return the app for the commands of a noun; without a command it prints its help."""
    app = typer.Typer(help=help_text, rich_markup_mode=None)

    @app.callback(invoke_without_command=True)
    def show_help(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            typer.echo(ctx.get_help())

    return app


def text_of(argument: str) -> str:
    """Return the text, or for `-` the contents of stdin without the final line break."""
    if argument != "-":
        return argument
    data = sys.stdin.buffer.read(INPUT_BYTES + 1)
    if len(data) > INPUT_BYTES:
        raise Invalid(f"the input exceeds the limit of {INPUT_BYTES:,} bytes; split it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("the input is not UTF-8 text; convert it first, for instance with iconv") from None
    return text.removesuffix("\n").removesuffix("\r")


def examples(*commands: str) -> str:
    """Format the epilog of a help text: commands that run as they are."""
    return "\b\n" + "\n".join(["Examples:", *(f"  recollect {command}" for command in commands)])
