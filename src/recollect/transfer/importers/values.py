"""Frozen values that the readers of foreign files yield: notes, chats and remarks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from recollect.model.entry import Category, Origin
from recollect.transcripts import LinePosition

__all__ = [
    "ImportedChat",
    "ImportedItem",
    "ImportedMessage",
    "ImportedNote",
    "LeftOut",
    "Read",
    "Remark",
    "Retire",
    "Skipped",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedNote:
    """One entry to import, identified by its name, or if it has none by category and text."""

    content: str
    source: str
    name: str | None = None
    aliases: Sequence[str] = ()
    tags: Sequence[str] = ()
    category: Category | None = None
    context: str | None = None
    at: int | None = None
    valid_until: int | None = None
    agent: str | None = None
    """The agent it belongs to, if the file names one."""
    origin: Origin = Origin.EXTERNAL
    """Who wrote it, if the format says so."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message of a chat."""

    text: str
    by_user: bool
    _: KW_ONLY
    at: int | None = None
    speaker: str | None = None
    by_tool: bool = False
    internal: bool = False
    """True for messages that are not part of the visible dialogue, such as tool output."""
    position: LinePosition | None = None
    """The line of a transcript that it is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedChat:
    """One conversation, identified by its foreign id."""

    id: str
    messages: Sequence[ImportedMessage]
    title: str | None = None
    model: str | None = None
    started: int | None = None
    agent: str | None = None
    family: Sequence[str] = ()
    """The ids of all its branches, itself included. A message that one of them has is not added to another."""
    after: LinePosition | None = None
    """The line of a transcript, stored here, that the messages follow. None if they are all of the chat."""
    digest: bool = False
    """True to extract hand-off, decisions and lessons, as at the end of a conversation."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that could not be imported, and why."""

    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many parts of messages were left out, by their type. Reported as one sum over all files."""

    parts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was skipped, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Retire:
    """A file to rename once everything in it is written."""

    path: Path
    name: Path


ImportedItem = ImportedNote | ImportedChat | Remark | LeftOut | Skipped | Retire
Read = Callable[[int], None]
"""Progress callback: called with the number of bytes read so far."""
