"""Statistics of a home: counts by type and per day. Counts only, no content."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["AgentStats", "ByDay", "Stats"]

ByDay = tuple[tuple[int, int], ...]
"""Counts per day as (first millisecond of the day in UTC, count), oldest first, without gaps, up to today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStats:
    """Statistics of one agent in one workspace, or in the account if workspace is None and it is a separate store."""

    workspace: str | None
    agent: str
    entries: int
    kinds: Mapping[str, int]
    categories: Mapping[str, int]
    """Entries without a category are counted as `none`."""
    lifetimes: Mapping[str, int]
    scopes: Mapping[str, int]
    sources: Mapping[str, int]
    """The most frequent sources."""
    conversations: Mapping[str, int]
    """By status."""
    events: int
    reminders: int
    """Undelivered reminders."""
    trash: int
    """Entries that can be restored."""
    vectors: int
    operations: int
    entries_by_day: ByDay
    events_by_day: ByDay
    recalls_by_day: ByDay
    """Entries found by recalls, for as long as recall events are retained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Statistics of a home or one of its workspaces."""

    schema: int
    """The schema version."""
    bytes: int
    """Size on disk, including indexes."""
    agents: tuple[AgentStats, ...]
