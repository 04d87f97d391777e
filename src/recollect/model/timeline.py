"""A timeline as values: the notes and conversations of a period, counted in buckets, and listed if they are few."""

from dataclasses import dataclass

__all__ = ["Timeline", "TimelineBucket", "TimelineItem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineItem:
    """A note or a conversation on the timeline. Times are UTC milliseconds."""

    kind: str
    """`entry` or `conversation`."""
    id: str
    """The id of the entry, or the ref code of the conversation."""
    title: str
    at: int
    """When the note was written, or when the conversation began."""
    since: int | None = None
    """When the note began to hold, if that is known."""
    until: int | None = None
    """When the note stopped or stops to hold, or when the conversation ended."""
    category: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineBucket:
    """Counts of notes and conversations in one part of the timeline."""

    at: int
    entries: int
    conversations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The notes and conversations of a period."""

    first: int | None
    last: int | None
    """The times of the first and the last note or conversation of the memory; None if it is empty."""
    since: int
    until: int
    width: int
    """Milliseconds per bucket."""
    buckets: tuple[TimelineBucket, ...]
    """Those that are not empty, oldest first."""
    items: tuple[TimelineItem, ...] | None
    """Oldest first; None if there are more than the limit."""
