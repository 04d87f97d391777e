"""Terms that are like a term: those it begins, and those that are a few letters away. For search as you type.

Only a term that is not in the index is looked up here: expanding terms that are there makes a good ranking worse.
The weights are those of MiniSearch: a prefix match counts up to 0.375, a near match up to 0.45, both less the further
the term is from what was typed.
"""

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

__all__ = ["MOST", "Vocabulary", "distance"]

MOST = 64
"""How many terms may stand for one that was typed."""
_FARTHEST = 6


class Vocabulary:
    """The terms of an index."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = sorted(set(terms))
        self._lengths = np.array([len(term) for term in self._terms], np.int16)
        self._letters = np.array([_letters(term) for term in self._terms], np.uint64)

    def like(self, term: str, *, prefix: bool, fuzzy: float) -> dict[str, float]:
        """The terms that may stand for one that is not there, with their weights. A prefix goes before a near match."""
        found: dict[str, float] = {}
        if fuzzy > 0:
            for other, steps in self._near(term, min(_FARTHEST, int(fuzzy * len(term) + 0.5))):
                found[other] = 0.45 * len(other) / (len(other) + steps)
        if prefix:
            for other in self._beginning_with(term):
                found[other] = 0.375 * len(other) / (len(other) + 0.3 * (len(other) - len(term)))
        best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        return dict(best)

    def _beginning_with(self, term: str) -> list[str]:
        start = bisect_left(self._terms, term)
        end = bisect_left(self._terms, term + "\U0010ffff")
        return self._terms[start:end]

    def _near(self, term: str, farthest: int) -> list[tuple[str, int]]:
        if farthest < 1 or not self._terms:
            return []
        # Each step changes at most two letters of the set and one of the length: most terms are ruled out by that.
        differing = np.bitwise_count(self._letters ^ np.uint64(_letters(term)))
        candidates = np.flatnonzero((np.abs(self._lengths - len(term)) <= farthest) & (differing <= 2 * farthest))
        near = ((self._terms[i], distance(term, self._terms[i], farthest)) for i in candidates.tolist())
        return [(other, steps) for other, steps in near if steps <= farthest]


def distance(one: str, other: str, farthest: int) -> int:
    """How many letters must be changed, added or left out; anything beyond `farthest` is farthest + 1."""
    if abs(len(one) - len(other)) > farthest:
        return farthest + 1
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, against in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != against))
        if min(row) > farthest:
            return farthest + 1
    return min(row[-1], farthest + 1)


def _letters(term: str) -> int:
    """The letters of a term as a set of 64 bits."""
    bits = 0
    for letter in term:
        bits |= 1 << (ord(letter) & 63)
    return bits
