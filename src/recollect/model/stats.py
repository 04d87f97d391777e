"""Statistics of a home: counts by type and per day. Counts only, no content."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["AgentCounts", "AgentStats", "ByDay", "ConnectionCounts", "Stats"]

ByDay = tuple[tuple[int, int], ...]
"""Counts per day as (first millisecond of the day in UTC, count), oldest first, without gaps, up to today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCounts:
    """How much one agent has in one workspace. Fast to read, unlike `AgentStats`, however much there is."""

    workspace: str
    agent: str
    entries: int
    conversations: int
    events: int
    last_change: int | None
    """When the last operation or event was written, in milliseconds."""


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
    vectors_missing: int
    """Entries that have no vector, but get one if there is an embedder."""
    review: int
    """Pairs of entries that wait for review."""
    operations: int
    entries_by_day: ByDay
    events_by_day: ByDay
    recalls_by_day: ByDay
    """Entries found by recalls, for as long as recall events are retained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionCounts:
    """The connections of this process to a database."""

    pool: str
    """What they share: a file or a server."""
    used: int
    idle: int
    waiting: int = 0
    """Requests that wait for a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Statistics of a home or one of its workspaces."""

    schema: int
    """The schema version."""
    bytes: int
    """Size on disk, including indexes."""
    agents: tuple[AgentStats, ...]
    connections: Mapping[str, int] = field(compare=False)
    """Connections of this process to its databases: used, idle, and requests that wait for one."""
    caches: Mapping[str, Mapping[str, int]] = field(compare=False)
    """How often this process read from a cache, by cache (index, context) and outcome (hit, updated, missed)."""
