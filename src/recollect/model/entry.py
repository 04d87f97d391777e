"""One piece of memory, and the closed sets its fields are drawn from."""

from dataclasses import dataclass, field
from enum import StrEnum

from recollect.names import short_hash

__all__ = ["Category", "Entry", "Kind", "Lifetime", "Scope"]


class Kind(StrEnum):
    """What an entry is. It never changes during the entry's life."""

    NOTE = "note"
    ARCHIVE = "archive"
    CHUNK = "chunk"


class Category(StrEnum):
    """What a note is for."""

    DECISIONS = "decisions"
    LESSONS = "lessons"
    TASKS = "tasks"
    PROJECTS = "projects"
    HANDOFFS = "handoffs"


class Scope(StrEnum):
    """How far an entry reaches, from narrow to wide."""

    CONVERSATION = "conversation"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    ACCOUNT = "account"


class Lifetime(StrEnum):
    """How long an entry is meant to stay."""

    CONVERSATION = "conversation"
    SHORT_TERM = "short_term"
    MID_TERM = "mid_term"
    LONG_TERM = "long_term"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One piece of memory with content. Times are UTC milliseconds."""

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
    """Its number in the files of a vault. The vault gives it after the write, so it does not make entries differ."""

    @property
    def version(self) -> str:
        """A short hash of everything that a write can change: equal as long as the entry says the same.

        Being found by a recall is no change.
        """
        names, tags = "\n".join(sorted(self.aliases)), "\n".join(self.tags)
        return short_hash(
            self.id, self.name or "", names, self.content_hash or self.content, self.category or "", self.scope,
            self.lifetime, repr(self.context), tags, repr(self.importance), self.source,
        )  # fmt: skip
