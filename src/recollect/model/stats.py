"""Figures about a home: how much there is, of what, and how it grows. Counts only, nothing of what was said."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["AgentStats", "ByDay", "Stats"]

ByDay = tuple[tuple[int, int], ...]
"""Days (their first millisecond, UTC) with a count each, oldest first, none left out; the last one is today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStats:
    """What one agent has in one workspace; without a workspace: in the account, where that is a store of its own."""

    workspace: str | None
    agent: str
    entries: int
    kinds: Mapping[str, int]
    categories: Mapping[str, int]
    """Entries without a category are counted as `none`."""
    lifetimes: Mapping[str, int]
    scopes: Mapping[str, int]
    sources: Mapping[str, int]
    """The most frequent ones."""
    conversations: Mapping[str, int]
    """By status."""
    events: int
    reminders: int
    """Those that were not delivered yet."""
    trash: int
    """What can be restored."""
    vectors: int
    operations: int
    entries_by_day: ByDay
    events_by_day: ByDay
    recalls_by_day: ByDay
    """Entries that recalls found, as far back as that is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Figures about a home or one of its workspaces."""

    schema: int
    """The version of the tables."""
    bytes: int
    """On disk, with indexes."""
    agents: tuple[AgentStats, ...]
