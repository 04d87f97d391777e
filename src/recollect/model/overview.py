"""The state of a memory at a glance: what changed, what is due, what waits for review, its health and its use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from recollect.model.entry import Entry
from recollect.model.reminder import Reminder
from recollect.model.stats import ByDay

__all__ = ["COUNTED", "MemoryHealth", "NetChange", "NetChanges", "Outcome", "Overview"]

COUNTED = 1_000
"""Counts of an overview stop here, so that it is as fast in a large memory as in a small one."""


class Outcome(StrEnum):
    """The net effect of a period on an entry."""

    ADDED = "added"
    CHANGED = "changed"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetChange:
    """The difference between an entry at the start of a period and now."""

    entry_id: str
    outcome: Outcome
    at: int
    """The time of the last operation on it."""
    actor: str
    """Who made the last operation."""
    label: str
    """The entry's name, or the beginning of its text; empty if the text was erased."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """The fields that differ, as they were; of a forgotten entry its content."""
    after: Mapping[str, Any] = field(default_factory=dict)
    """The fields that differ, as they are; of an added entry its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetChanges:
    """The entries that differ from what they were at a moment, last changed first."""

    since: int
    added: int
    changed: int
    forgotten: int
    complete: bool
    """False if `changed` and `forgotten` are lower bounds: of more than 1,000 operations, the newest are compared."""
    items: tuple[NetChange, ...] = ()
    earlier: str | None = None
    """Pagination cursor of the changes before these; None if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHealth:
    """The condition of a memory and of the upkeep of its workspace."""

    last_upkeep_at: int | None
    """When a job last ran."""
    failing: tuple[str, ...]
    """The names of the jobs whose last run failed."""
    index_complete: bool
    """Whether the index holds every entry; the next search or write rebuilds one that does not."""
    vectors_missing: int | None
    """Of the last 1,000 entries that were written, those without a vector; None without an embedder."""
    bytes: int | None
    """Size of the workspace's database on disk; None if the caller may not see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The state of a memory. Counts stop at 1,000, except of entries and of added ones. Times are UTC milliseconds."""

    at: int
    entries: int
    """All entries, with those that no longer hold and pieces of transcripts."""
    conversations: int
    """All conversations, archived ones included."""
    changes: NetChanges
    due: int
    """Reminders that are due and not delivered."""
    reminders: tuple[Reminder, ...]
    """The pending reminders that are due first."""
    review: int
    """Open pairs for review."""
    most_recalled: tuple[Entry, ...]
    """The current notes that recalls found most often."""
    never_recalled: int
    """Current notes that no recall has found."""
    health: MemoryHealth
    entries_by_day: ByDay
    """Entries by the day of their time of creation, for 30 days up to today."""
