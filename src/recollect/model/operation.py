"""The five operations, as values, and the row that each one leaves in the operation log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.clock import Moment
from recollect.model.entry import Category, Kind, Lifetime, Scope

__all__ = ["Add", "Alias", "Operation", "Remove", "Rename", "Revision", "Write"]


@dataclass(frozen=True, slots=True)
class Add:
    """Make a new entry. With a name it can be addressed by it; a taken name is a Conflict."""

    content: str
    name: str | None = None
    kind: Kind | str = Kind.NOTE
    tags: Iterable[str] = ()
    context: str | None = None
    category: Category | str | None = None
    scope: Scope | str = Scope.WORKSPACE
    channel: str | None = None
    conversation: str | None = None
    importance: float = 0.5
    source: str = "agent"
    lifetime: Lifetime | str | None = None
    at: Moment | None = None
    first_event: int | None = None
    last_event: int | None = None
    """The part of the journal that an archive or a chunk stands for, by the numbers of its events."""


@dataclass(frozen=True, slots=True)
class Rename:
    """Give an entry a new canonical name. The old one stays as an alias."""

    target: str
    name: str


@dataclass(frozen=True, slots=True)
class Alias:
    """Bind one more name to an entry. An alias of another entry moves; a canonical name never does."""

    target: str
    name: str


@dataclass(frozen=True, slots=True)
class Write:
    """Replace an entry's content, and those of the other fields that are given.

    An empty category or context takes away what is there.
    """

    target: str
    content: str | None = None
    tags: Iterable[str] | None = None
    context: str | None = None
    category: Category | str | None = None
    importance: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete an entry and all its names. `restore()` brings it back until the trash expires."""

    target: str


Operation = Add | Rename | Alias | Write | Remove


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One row of the operation log: what was done to an entry, when and by whom.

    `before` and `after` hold the fields that the operation changed; `before` is empty for an add, `after` for a remove.
    """

    seq: int
    at: int
    actor: str
    operation: str
    entry_id: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
