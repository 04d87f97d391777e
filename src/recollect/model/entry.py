"""The entry: its fields with their limits, and the enumerations they use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

from recollect.model.fields import EventNumber, Fraction, Limits, OneLine, OneOf, Text, Time, Words
from recollect.names import short_hash

__all__ = [
    "COLUMNS",
    "EVIDENCE",
    "TAGS",
    "Category",
    "Entry",
    "Kind",
    "Lifetime",
    "Origin",
    "Scope",
    "SetBy",
    "State",
    "fields_set_by",
]


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


class Origin(StrEnum):
    """Who stated an entry, from trusted to untrusted."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    EXTERNAL = "external"

    def at_least(self, other: "Origin") -> bool:
        """Return whether this origin is at least as trusted as another."""
        return _TRUST[self] >= _TRUST[other]

    @staticmethod
    def least_trusted(origins: "Iterable[Origin]") -> "Origin":
        """Return the least trusted of some origins, which is that of whatever is made from them; `agent` of none."""
        return min(origins, key=_TRUST.__getitem__, default=Origin.AGENT)

    @staticmethod
    def of_source(source: str) -> "Origin":
        """Return the origin that a source implies if none is given."""
        return _SOURCES.get(source, Origin.AGENT)


_TRUST = {origin: -place for place, origin in enumerate(Origin)}
_SOURCES = {"user": Origin.USER, "tool": Origin.TOOL, "web": Origin.EXTERNAL, "external": Origin.EXTERNAL}


class State(StrEnum):
    """Whether the statement of an entry holds."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    """Another entry replaced it."""
    RETRACTED = "retracted"
    """It was withdrawn without a successor."""
    EXPIRED = "expired"
    """Its `valid_until` has passed."""


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
    limits: Limits | None = None, *, set_by: SetBy = SetBy.OPERATION, column: bool = True, option: str | None = None
) -> Mapping[str, object]:
    """Describe a field: what it accepts, who changes it, whether it is a column of the table `entries`, and the help of
    its option on the command line, if that follows from this description.
    """
    about = {"set_by": set_by, "column": column, "limits": limits, "option": option}
    return {name: value for name, value in about.items() if value is not None}


TAGS = Words(64, 64, example="ops")
EVIDENCE = Words(1_000, 256, example="import:notes.json")
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
    name: str | None = field(default=None, metadata=_about(OneLine(example="deploy day"), column=False))
    aliases: tuple[str, ...] = field(default=(), metadata=_about(set_by=SetBy.STORAGE, column=False))
    category: Category | None = field(default=None, metadata=_about(OneOf(Category)))
    scope: Scope = field(default=Scope.WORKSPACE, metadata=_about(OneOf(Scope)))
    lifetime: Lifetime = field(default=Lifetime.LONG_TERM, metadata=_about(OneOf(Lifetime), set_by=SetBy.UPKEEP))
    context: str | None = field(default=None, metadata=_about(Text(blank=True, example="We deploy on Tuesdays.")))
    tags: tuple[str, ...] = field(default=(), metadata=_about(TAGS))
    concept_tags: tuple[str, ...] = field(default=(), metadata=_about())
    importance: float = field(default=0.5, metadata=_about(Fraction()))
    source: str = field(default="agent", metadata=_about(OneLine()))
    conversation_id: str | None = field(default=None, metadata=_about(OneLine()))
    channel_id: str | None = field(default=None, metadata=_about(OneLine()))
    first_event: int | None = field(default=None, metadata=_EVENT)
    last_event: int | None = field(default=None, metadata=_EVENT)
    created_at: int = field(metadata=_about(Time()))
    updated_at: int = field(metadata=_STORAGE)
    accessed_at: int | None = field(default=None, metadata=_UPKEEP)
    access_count: int = field(default=0, metadata=_UPKEEP)
    content_hash: str = field(default="", repr=False, metadata=_STORAGE)
    valid_from: int | None = field(
        default=None, metadata=_about(Time(), option="Time from which it holds. [default: no limit]")
    )
    valid_until: int | None = field(
        default=None, metadata=_about(Time(), option="Time until which it holds. [default: no limit]")
    )
    validity_inferred: bool = field(default=False, metadata=_about())
    """Whether the validity was read from the text."""
    superseded_by: str | None = field(default=None, metadata=_about())
    closed_at: int | None = field(default=None, metadata=_about())
    """When it was superseded or retracted."""
    origin: Origin = field(default=Origin.AGENT, metadata=_about(OneOf(Origin)))
    evidence: tuple[str, ...] = field(default=(), metadata=_about(EVIDENCE))
    """Ids of the events, entries, files or imports that it was made from."""
    vault_id: int | None = field(default=None, compare=False, metadata=_about(set_by=SetBy.VAULT))
    """Its number in the files of a vault. The vault assigns it after the write, so comparisons ignore it."""
    front_matter: str | None = field(default=None, compare=False, repr=False, metadata=_about(set_by=SetBy.VAULT))
    """The front matter of its file, as a person wrote it, in a vault with one file per note."""

    @property
    def version(self) -> str:
        """A short hash of every field that a write can change. A recall does not change it."""
        names = (self.id, self.name or "", "\n".join(sorted(self.aliases)))
        reach = (self.category or "", self.scope, self.lifetime)
        rest = (repr(self.context), "\n".join(self.tags), repr(self.importance), self.source)
        time = (repr(self.valid_from), repr(self.valid_until), self.superseded_by or "", repr(self.closed_at))
        dated = time if any((self.valid_from, self.valid_until, self.closed_at)) else ()
        return short_hash(*names, self.content_hash or self.content, *reach, *rest, *dated)

    def state_at(self, moment: int) -> State:
        """Return whether the entry holds at a moment, as far as it is known now."""
        if self.superseded_by is not None:
            return State.SUPERSEDED
        if self.closed_at is not None:
            return State.RETRACTED
        return State.EXPIRED if self.valid_until is not None and self.valid_until <= moment else State.CURRENT


def fields_set_by(*setters: SetBy) -> tuple[str, ...]:
    """Return the names of the fields that these change, in the order of the class."""
    return tuple(one.name for one in fields(Entry) if one.metadata["set_by"] in setters)


COLUMNS = tuple(one.name for one in fields(Entry) if one.metadata["column"])
"""The fields that are columns of the table `entries`; names and aliases have a table of their own."""
