"""What the readers make of a foreign file: notes, chats and remarks. Frozen values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.model.entry import Category

__all__ = ["Chat", "Item", "Message", "Note", "Read", "Remark", "Retire", "Skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing to remember. It is told apart by its name, or by its category and text where it has none."""

    content: str
    source: str
    name: str | None = None
    aliases: Sequence[str] = ()
    tags: Sequence[str] = ()
    category: Category | None = None
    context: str | None = None
    at: int | None = None
    agent: str | None = None
    """Whose it is, where the file says so."""


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that was said."""

    text: str
    by_user: bool
    at: int | None = None
    speaker: str | None = None
    internal: bool = False
    """Machinery, such as what a tool said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """One conversation, told apart by its foreign id."""

    id: str
    messages: Sequence[Message]
    title: str | None = None
    model: str | None = None
    started: int | None = None
    agent: str | None = None
    digest: bool = False
    """Whether to make hand-off, decisions and lessons of it, as when a conversation ends here."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that could not be taken over, and why."""

    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left alone, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Retire:
    """A file that gets another name once everything in it is written."""

    path: Path
    name: Path


Item = Note | Chat | Remark | Skipped | Retire
Read = Callable[[int], None]
"""Told how many bytes were read so far."""
