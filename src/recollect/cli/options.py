"""Arguments and options that describe an entry, shared by several commands."""

import re
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from recollect.cli.output import SHORT_ID
from recollect.errors import Conflict, Invalid, NotFound
from recollect.memory import Memory
from recollect.model.entry import Category, Lifetime, Scope

__all__ = [
    "AtOption",
    "CategoryOption",
    "ChannelOption",
    "ContextOption",
    "ConversationOption",
    "ImportanceOption",
    "LifetimeOption",
    "NameArgument",
    "ScopeOption",
    "SinceOption",
    "SourceOption",
    "TagOption",
    "Target",
    "TextArgument",
    "UntilOption",
    "examples",
    "identified",
    "identified_in_trash",
    "one_of",
    "text_of",
]

INPUT_BYTES = 100_000_000
"""Maximum bytes read from stdin: enough for any text that the library accepts, and small enough for memory."""
NEWEST = 1_000
"""Number of newest entries that are searched for an id by its end."""


def one_of(words: type[StrEnum]) -> str:
    """List the values of an enum for a help text."""
    *most, last = words
    return f"{', '.join(most)} or {last}"


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
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Earliest time, inclusive.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Latest time, exclusive.")]


def identified(mem: Memory, target: str) -> str:
    """Expand a short id, as tables show it, to the full id among the newest entries; otherwise return the target."""
    return _completed(target, lambda: mem.get(target), lambda: [one.id for one in mem.list(kind=None, limit=NEWEST)])


def identified_in_trash(mem: Memory, target: str) -> str:
    """Expand a short id among the newest entries in the trash."""
    return _completed(
        target, lambda: mem.history(target), lambda: [one.entry.id for one in mem.trash(limit=NEWEST)]
    )  # fmt: skip


def _completed(target: str, find: Callable[[], object], ids: Callable[[], list[str]]) -> str:
    if not re.fullmatch(f"[0-9a-f]{{{SHORT_ID}}}", target):
        return target
    try:
        find()  # names take precedence
        return target
    except NotFound:
        found = [one for one in ids() if one.endswith(target)]
    if len(found) > 1:
        raise Conflict(f"{len(found)} entry ids end with {target}: {', '.join(found)}; pass a full id")
    return found[0] if found else target


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
