"""What a recall asks for and what it gives back."""

from dataclasses import dataclass

from recollect.model.entry import Category, Entry, Kind, Lifetime, Scope

__all__ = ["Accesses", "Filters", "Hit", "Why"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which entries may be found. Filters apply before the limit, so they never hide results that exist."""

    scopes: tuple[Scope, ...] = (Scope.WORKSPACE, Scope.ACCOUNT)
    conversation: str | None = None
    channel: str | None = None
    categories: tuple[Category, ...] = ()
    kinds: tuple[Kind, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()
    tags: tuple[str, ...] = ()
    source: str | None = None
    since: int | None = None
    until: int | None = None
    running: bool = True
    """Whether archives, chunks and hand-offs of conversations that have not ended may be found."""
    private: bool = True
    """Whether notes may be found that have no name and were not made from a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accesses:
    """When an entry was found and by what query; and how alive it was at moments of its life, from the making on.

    At the moment of a recall the curve has two points: before it, and after it.
    """

    recalls: tuple[tuple[int, str], ...]
    curve: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """How a hit came to its place. A list is (rank, score in it); None where the list does not have the entry."""

    words: tuple[int, float] | None
    """In the list by words: the score is BM25's."""
    vector: tuple[int, float] | None
    """In the list by vectors: the score is the cosine."""
    fused: float
    """The score after fusing the lists: the sum of what each of them gave."""
    words_part: float
    """What the list by words gave."""
    vector_part: float
    """What the list by vectors gave."""
    decay: float
    """The factor by which decay moved it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of a recall; `why` is there when the recall was asked to explain."""

    entry: Entry
    score: float
    snippet: str
    agent: str = ""
    """The owner of the entry: the agent that asked, `_shared`, or the `target_agent`."""
    similar: tuple[str, ...] = ()
    """The ids of other entries found that are near this one in meaning but say something else, the newest first."""
    why: Why | None = None
