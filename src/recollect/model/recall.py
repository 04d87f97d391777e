"""What a recall asks for and what it gives back."""

from dataclasses import dataclass

from recollect.model.entry import Category, Entry, Kind, Lifetime, Scope

__all__ = ["Filters", "Hit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which entries may be found. Filters apply before the limit, so they never hide results that exist."""

    scopes: tuple[Scope, ...] = (Scope.WORKSPACE, Scope.ACCOUNT)
    conversation: str | None = None
    channel: str | None = None
    category: Category | None = None
    kinds: tuple[Kind, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()
    tags: tuple[str, ...] = ()
    source: str | None = None
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of a recall."""

    entry: Entry
    score: float
    snippet: str
