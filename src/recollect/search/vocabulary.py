"""Prefix and fuzzy matching of terms, for search as you type.

The weights are those of MiniSearch: a prefix match counts up to 0.375, a fuzzy match up to 0.45, both less with growing
distance from the typed term. An exact match counts 1 and is not weakened by the others; see `lookup.Statistics`.

A fuzzy match counts more the smaller its edit distance and the longer the term. So terms at distance one are searched
first, then those at two, and once there are enough, only terms long enough to count as much as the last of them. All
candidates are compared at once, letter by letter.
"""

from bisect import bisect_left
from collections.abc import Iterable
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST", "Vocabulary", "best"]

MOST = 64
"""Maximum number of matches for one typed term."""
_FARTHEST = 6
_CHUNK = 8_192
"""Terms compared at once; their table fits into the CPU cache."""


class Vocabulary:
    """The terms of an index."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = sorted(set(terms))
        self._codes = _codes("".join(self._terms))
        """The letters of all terms, concatenated."""
        lengths = np.fromiter(map(len, self._terms), np.int64, len(self._terms))
        # The following arrays are sorted by length, so that terms of similar length are adjacent.
        self._places = np.argsort(lengths, kind="stable")
        self._lengths = lengths[self._places]
        self._starts = (np.cumsum(lengths) - lengths)[self._places]
        self._letters = np.fromiter(map(_letters, self._terms), np.uint64, len(self._terms))[self._places]

    def like(self, term: str, *, prefix: bool, fuzzy: float) -> dict[str, float]:
        """Return the terms that match another, with their weights. A prefix match is not also a fuzzy match."""
        start = bisect_left(self._terms, term)
        end = bisect_left(self._terms, term + "\U0010ffff") if prefix else start
        found = {
            other: 0.375 * len(other) / (len(other) + 0.3 * (len(other) - len(term)))
            for other in nsmallest(MOST, self._terms[start:end], key=len)
        }
        farthest = min(_FARTHEST, int(fuzzy * len(term) + 0.5))
        return best(found | self._near(term, farthest, range(start, end)))

    def _near(self, term: str, farthest: int, taken: range) -> dict[str, float]:
        """Return the best terms up to edit distance `farthest`, except those at the positions `taken`."""
        found: dict[str, float] = {}
        letters, bar = np.uint64(_letters(term)), 0.0
        for steps in range(farthest + 1) if farthest else ():  # 0: the term itself may be here without documents
            # One edit changes the length by at most one, removes at most one letter, and adds at most one.
            first, end = np.searchsorted(self._lengths, [len(term) - steps, len(term) + steps + 1])
            lengths, others = self._lengths[first:end], self._letters[first:end]
            fits = 0.45 * lengths / (lengths + steps) >= bar
            fits &= np.bitwise_count(letters & ~others) <= steps
            fits &= np.bitwise_count(others & ~letters) <= steps
            maybe = first + np.flatnonzero(fits)
            for start in range(0, len(maybe), _CHUNK):
                chunk = maybe[start : start + _CHUNK]
                near = chunk[_within(steps, term, self._codes, self._starts[chunk], self._lengths[chunk])]
                for place in self._places[near].tolist():
                    other = self._terms[place]
                    if place not in taken and other not in found:
                        found[other] = 0.45 * len(other) / (len(other) + steps)
            found = best(found)
            bar = min(found.values()) if len(found) == MOST else 0.0
        return found


def best(found: dict[str, float]) -> dict[str, float]:
    """Return the MOST terms with the highest weights."""
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST])


def _within(
    steps: int, typed: str, codes: NDArray[np.integer], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the indexes of the terms, each a slice of `codes`, within edit distance `steps` of the typed term.

    This is the banded Levenshtein table, row by row for all terms at once: row i holds the distances of the first i
    typed letters from the first i - steps … i + steps letters of a term; anything outside the band is too far. Letters
    before the first are padding that matches nothing, and those after the last are ignored.
    """
    which = np.arange(len(starts))
    width = 2 * steps + 1
    offsets = np.arange(-steps, len(typed) + steps)[:, None]
    others = codes.take(starts + offsets, mode="clip")
    others[:steps] = 0
    row = np.repeat(np.abs(offsets[:width]).astype(np.min_scalar_type(len(typed) + width)), len(starts), axis=1)
    for i, letter in enumerate(map(ord, typed)):
        before = row
        row = before + (others[i : i + width] != letter)
        np.minimum(row[:-1], before[1:] + 1, out=row[:-1])
        for j in range(1, width):
            np.minimum(row[j], row[j - 1] + 1, out=row[j])
        alive = row.min(axis=0) <= steps
        if 2 * np.count_nonzero(alive) < len(which):
            which, row, others = which[alive], row[:, alive], others[:, alive]
    return which[row[lengths[which] - len(typed) + steps, np.arange(len(which))] <= steps]


def _codes(text: str) -> NDArray[np.integer]:
    """Return the code points of a text in the smallest integer type that fits."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return codes.astype(np.min_scalar_type(codes.max(initial=0)))


def _letters(term: str) -> int:
    """Return the letters of a term as a 64-bit set."""
    bits = 0
    for letter in term:
        bits |= 1 << (ord(letter) & 63)
    return bits
