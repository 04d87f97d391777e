"""The arguments and options that describe an entry, shared by the commands that write one."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from recollect.errors import Invalid
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
    "one_of",
    "text_of",
]


def one_of(words: type[StrEnum]) -> str:
    """The words of a closed set, for a help text."""
    *most, last = words
    return f"{', '.join(most)} or {last}"


Target = Annotated[str, typer.Argument(metavar="NAME|ID", help="A name, an alias or an id.", show_default=False)]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name that is not taken.", show_default=False)]
TextArgument = Annotated[
    str,
    typer.Argument(metavar="TEXT", help="What to remember; - reads it from the standard input.", show_default=False),
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", metavar="WORD", help="A tag; may be repeated.")]
CategoryOption = Annotated[
    Category | None, typer.Option("--category", metavar="CATEGORY", help=f"What the note is for: {one_of(Category)}.")
]
ContextOption = Annotated[
    str | None, typer.Option("--context", metavar="TEXT", help="Where it came from, or why it matters.")
]
ImportanceOption = Annotated[float, typer.Option("--importance", metavar="NUMBER", help="From 0 to 1.")]
ScopeOption = Annotated[Scope, typer.Option("--scope", metavar="SCOPE", help=f"How far it reaches: {one_of(Scope)}.")]
ChannelOption = Annotated[str | None, typer.Option("--channel", metavar="NAME", help="The channel, for scope channel.")]
ConversationOption = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="The conversation, for scope conversation.")
]
SourceOption = Annotated[str, typer.Option("--source", metavar="WORD", help="Who or what said it.")]
LifetimeOption = Annotated[
    Lifetime | None,
    typer.Option(
        "--lifetime",
        metavar="LIFETIME",
        help=f"How long it is meant to stay: {one_of(Lifetime)}; long_term unless the settings differ.",
    ),
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="When it was said, such as 2026-03-16T14:32:00Z; else now.")
]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only from this time on.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only before this time.")]


def text_of(argument: str) -> str:
    """The text that was given, or the standard input for `-`, without the line break that ends it."""
    if argument != "-":
        return argument
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("the input is not UTF-8 text; convert it first, for instance with iconv") from None
    return text.removesuffix("\n").removesuffix("\r")


def examples(*commands: str) -> str:
    """The end of a help text: commands that can be tried as they stand."""
    return "\b\n" + "\n".join(["Examples:", *(f"  recollect {command}" for command in commands)])
