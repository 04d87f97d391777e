"""The five operations, as values, and the row that each one appends to the operation log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.clock import Moment
from recollect.model.entry import Category, Kind, Lifetime, Scope

__all__ = ["Add", "Alias", "Operation", "Remove", "Rename", "Revision", "Write"]


@dataclass(frozen=True, slots=True)
class Add:
    """Create an entry, optionally addressable by a name; a name in use raises Conflict."""

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
    """The range of events that an archive or a chunk represents, by sequence number."""


@dataclass(frozen=True, slots=True)
class Rename:
    """Give an entry a new canonical name. The old one stays as an alias."""

    target: str
    name: str


@dataclass(frozen=True, slots=True)
class Alias:
    """Bind another name to an entry. An alias of another entry is moved; a canonical name never is."""

    target: str
    name: str


@dataclass(frozen=True, slots=True)
class Write:
    """Update the given fields of an entry. An empty category or context clears the field."""

    target: str
    content: str | None = None
    tags: Iterable[str] | None = None
    context: str | None = None
    category: Category | str | None = None
    importance: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove an entry and all its names. `restore()` brings it back until it expires from the trash."""

    target: str


Operation = Add | Rename | Alias | Write | Remove


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One row of the operation log: the operation on an entry, its time and its actor.

    `before` and `after` hold the fields that the operation changed; `before` is empty for an add, `after` for a remove.
    """

    seq: int
    at: int
    actor: str
    operation: str
    entry_id: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
