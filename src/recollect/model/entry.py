"""The entry, and the enumerations its fields use."""

from dataclasses import dataclass, field
from enum import StrEnum

from recollect.names import short_hash

__all__ = ["Category", "Entry", "Kind", "Lifetime", "Scope"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One item of memory. Times are UTC milliseconds."""

    id: str
    seq: int
    kind: Kind
    content: str
    name: str | None = None
    aliases: tuple[str, ...] = ()
    category: Category | None = None
    scope: Scope = Scope.WORKSPACE
    lifetime: Lifetime = Lifetime.LONG_TERM
    context: str | None = None
    tags: tuple[str, ...] = ()
    concept_tags: tuple[str, ...] = ()
    importance: float = 0.5
    source: str = "agent"
    conversation_id: str | None = None
    channel_id: str | None = None
    first_event: int | None = None
    last_event: int | None = None
    created_at: int
    updated_at: int
    accessed_at: int | None = None
    access_count: int = 0
    content_hash: str = field(default="", repr=False)
    vault_id: int | None = field(default=None, compare=False)
    """Its number in the files of a vault. The vault assigns it after the write, so comparisons ignore it."""

    @property
    def version(self) -> str:
        """A short hash of every field that a write can change. A recall does not change it."""
        names, tags = "\n".join(sorted(self.aliases)), "\n".join(self.tags)
        return short_hash(
            self.id, self.name or "", names, self.content_hash or self.content, self.category or "", self.scope,
            self.lifetime, repr(self.context), tags, repr(self.importance), self.source,
        )  # fmt: skip
