"""Review as values: a pair of entries that may contradict, update or repeat each other, and how it is resolved."""

from dataclasses import dataclass
from enum import StrEnum

from recollect.model.entry import Entry

__all__ = ["Relation", "Resolution", "ReviewPair"]


class Relation(StrEnum):
    """How a newer statement relates to an older one."""

    CONTRADICTS = "contradicts"
    UPDATES = "updates"
    REPEATS = "repeats"


class Resolution(StrEnum):
    """What to do with a pair."""

    NEWER = "newer"
    """The newer entry holds, and supersedes the older one."""
    OLDER = "older"
    """The older entry holds, and supersedes the newer one."""
    BOTH = "both"
    """Both hold. The pair is not proposed again."""
    MERGE = "merge"
    """A new entry supersedes both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPair:
    """Two entries that may not both hold. Times are UTC milliseconds."""

    id: str
    kind: Relation
    reason: str
    """A sentence for display."""
    older: Entry
    newer: Entry
    found_at: int
    resolved_at: int | None = None
    resolution: Resolution | None = None

    @property
    def cursor(self) -> str:
        """The position of the pair in a list."""
        return self.id
