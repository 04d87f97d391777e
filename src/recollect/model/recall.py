"""Results of a recall."""

from dataclasses import dataclass

from recollect.model.entry import Entry, State

__all__ = ["UNANSWERED", "Accesses", "Hit", "Why"]

UNANSWERED = 0.15
"""Below this confidence a caller may say that nothing stored answers the query.

It is lower than the cuts that keep 95% of the questions with an answer (0.19 to 0.29): a wrong claim costs more than a
missed one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accesses:
    """The recalls that found an entry, as (time, query), and its relevance since creation, as (time, value).

    At the time of a recall the curve has two points: the value before and after it.
    """

    recalls: tuple[tuple[int, str], ...]
    curve: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Explanation of a hit's rank. A list is given as (rank, score), or None if it does not contain the entry."""

    words: tuple[int, float] | None
    """Rank and score in the keyword list; the score is BM25."""
    vector: tuple[int, float] | None
    """Rank and score in the vector list; the score is the cosine similarity."""
    fused: float
    """The score after fusion: the sum of the contributions of both lists."""
    words_part: float
    """Contribution of the keyword list."""
    vector_part: float
    """Contribution of the vector list."""
    decay: float
    """The factor applied for decay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of a recall; `why` is set if an explanation was requested."""

    entry: Entry
    score: float
    snippet: str
    agent: str = ""
    """The owner of the entry: the calling agent, `_shared`, or the `target_agent`."""
    similar: tuple[str, ...] = ()
    """Ids of other entries found that are close in meaning but differ in content, newest first."""
    state: State = State.CURRENT
    """Whether the entry holds, at the time of the recall or of its `as_of`."""
    confidence: float = 0.0
    """Confidence of the recall, the same for all its hits: the probability that its first ten hits hold an answer."""
    why: Why | None = None
