"""The entry: its fields with their limits, and the enumerations they use."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

from recollect.model.fields import EventNumber, Fraction, Limits, Line, OneOf, Text, Time, Words
from recollect.names import short_hash

__all__ = ["COLUMNS", "TAGS", "Category", "Entry", "Kind", "Lifetime", "Scope", "SetBy", "fields_set_by"]


class Kind(StrEnum):
    """Kind of an entry. Immutable for the life of the entry."""

    NOTE = "note"
    ARCHIVE = "archive"
    CHUNK = "chunk"


class Category(StrEnum):
    """Purpose of a note."""

    DECISIONS = "decisions"
    LESSONS = "lessons"
    TASKS = "tasks"
    PROJECTS = "projects"
    HANDOFFS = "handoffs"


class Scope(StrEnum):
    """Where an entry is visible, from narrow to wide."""

    CONVERSATION = "conversation"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    ACCOUNT = "account"


class Lifetime(StrEnum):
    """How long an entry is kept, from short to long."""

    CONVERSATION = "conversation"
    SHORT_TERM = "short_term"
    MID_TERM = "mid_term"
    LONG_TERM = "long_term"


class SetBy(StrEnum):
    """Who changes a field of an entry."""

    OPERATION = "operation"
    """One of the five operations; the operation log records every change."""
    UPKEEP = "upkeep"
    """Recalls and jobs, outside the operation log."""
    STORAGE = "storage"
    """The database layer, on every write."""
    VAULT = "vault"
    """The sync of the vault, after the write."""


def _about(
    limits: Limits | None = None, *, set_by: SetBy = SetBy.OPERATION, column: bool = True
) -> Mapping[str, object]:
    """Describe a field: what it accepts, who changes it, and whether it is a column of the table `entries`."""
    return {"set_by": set_by, "column": column} | ({} if limits is None else {"limits": limits})


TAGS = Words(64, 64, example="ops")
_EVENT = _about(EventNumber())
_STORAGE, _UPKEEP = _about(set_by=SetBy.STORAGE), _about(set_by=SetBy.UPKEEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One item of memory. Times are UTC milliseconds.

    This class is the only description of the fields: validation, columns, the operation log, REST and MCP read it.
    """

    id: str = field(metadata=_STORAGE)
    seq: int = field(metadata=_about())
    kind: Kind = field(metadata=_about(OneOf(Kind)))
    content: str = field(metadata=_about(Text(example="We deploy on Tuesdays.")))
    name: str | None = field(default=None, metadata=_about(Line(example="deploy day"), column=False))
    aliases: tuple[str, ...] = field(default=(), metadata=_about(set_by=SetBy.STORAGE, column=False))
    category: Category | None = field(default=None, metadata=_about(OneOf(Category)))
    scope: Scope = field(default=Scope.WORKSPACE, metadata=_about(OneOf(Scope)))
    lifetime: Lifetime = field(default=Lifetime.LONG_TERM, metadata=_about(OneOf(Lifetime), set_by=SetBy.UPKEEP))
    context: str | None = field(default=None, metadata=_about(Text(blank=True, example="We deploy on Tuesdays.")))
    tags: tuple[str, ...] = field(default=(), metadata=_about(TAGS))
    concept_tags: tuple[str, ...] = field(default=(), metadata=_about())
    importance: float = field(default=0.5, metadata=_about(Fraction()))
    source: str = field(default="agent", metadata=_about(Line()))
    conversation_id: str | None = field(default=None, metadata=_about(Line()))
    channel_id: str | None = field(default=None, metadata=_about(Line()))
    first_event: int | None = field(default=None, metadata=_EVENT)
    last_event: int | None = field(default=None, metadata=_EVENT)
    created_at: int = field(metadata=_about(Time()))
    updated_at: int = field(metadata=_STORAGE)
    accessed_at: int | None = field(default=None, metadata=_UPKEEP)
    access_count: int = field(default=0, metadata=_UPKEEP)
    content_hash: str = field(default="", repr=False, metadata=_STORAGE)
    vault_id: int | None = field(default=None, compare=False, metadata=_about(set_by=SetBy.VAULT))
    """Its number in the files of a vault. The vault assigns it after the write, so comparisons ignore it."""

    @property
    def version(self) -> str:
        """A short hash of every field that a write can change. A recall does not change it."""
        names = (self.id, self.name or "", "\n".join(sorted(self.aliases)))
        reach = (self.category or "", self.scope, self.lifetime)
        rest = (repr(self.context), "\n".join(self.tags), repr(self.importance), self.source)
        return short_hash(*names, self.content_hash or self.content, *reach, *rest)


def fields_set_by(*setters: SetBy) -> tuple[str, ...]:
    """Return the names of the fields that these change, in the order of the class."""
    return tuple(one.name for one in fields(Entry) if one.metadata["set_by"] in setters)


COLUMNS = tuple(one.name for one in fields(Entry) if one.metadata["column"])
"""The fields that are columns of the table `entries`; names and aliases have a table of their own."""
