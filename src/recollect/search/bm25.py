"""BM25 over posting lists, exact and fast. Pure: arrays in, a ranking out.

The argument. Scoring every document that holds any query word is what makes full-text search slow: common words have
long posting lists and add little. So terms are processed by their upper bound, rare words first. Once the remaining
words together cannot lift a document with none of the earlier words into the best `limit`, they bring no new
candidates; they only complete the scores of candidates that can still qualify. This is MaxScore, one segment after the
other, newest first, with the threshold carried over. A segment with few postings for the query is scored whole, which
takes less time than the bounds. The result is exact: the same as scoring everything, and a test compares it with
`reference.py`.

Equal scores are ordered newest document first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["K1", "B", "DocumentRange", "PostingList", "gains", "merged", "rank"]

K1 = 1.2
B = 0.75
TOGETHER = 8_192
"""Number of postings up to which a part is scored whole, and its lists are added at once: few calls, larger arrays."""

PostingList = tuple[NDArray[np.integer], NDArray[Any]]
"""Offsets of documents within their part, ascending, and the term's frequency in each."""


@dataclass(slots=True)
class DocumentRange:
    """A range of documents: the number of the first, and the length of each in terms (0: removed or absent)."""

    first: int
    lengths: NDArray[np.integer]
    shortest: int
    _norms: tuple[tuple[float, float], NDArray[np.floating]] = field(default_factory=lambda: ((0.0, 0.0), np.empty(0)))

    def only(self, allowed: NDArray[np.bool_], average: float, b: float) -> "DocumentRange":
        """Return a copy without the documents that are not allowed."""
        norms = (average, b), self.norms(average, b)
        return DocumentRange(self.first, np.where(allowed, self.lengths, 0), self.shortest, norms)

    def norms(self, average: float, b: float) -> NDArray[np.floating]:
        """Return the length normalisation of each document, cached for the last `average` and `b`."""
        known, norms = self._norms
        if known != (average, b):
            norms = K1 * (1 - b + b * self.lengths / average)
            self._norms = (average, b), norms
        return norms


def merged(lists: Sequence[tuple[float, PostingList]]) -> PostingList:
    """Merge posting lists into one. Counts are multiplied by the list's share; per document the highest is kept."""
    docs = np.concatenate([docs for _, (docs, _) in lists])
    counts = np.concatenate([share * counts for share, (_, counts) in lists])
    order = np.argsort(docs, kind="stable")
    docs, counts = docs[order], counts[order]
    starts = np.flatnonzero(np.concatenate(([True], docs[1:] != docs[:-1])))
    return docs[starts], np.maximum.reduceat(counts, starts)


def rank(
    parts: Iterable[tuple[DocumentRange, list[tuple[float, list[PostingList]]]]],
    limit: int,
    average: float,
    b: float = B,
) -> list[tuple[int, float]]:
    """Return the best documents as (number, score).

    Each part has one item per query word, rarest word first: the word's idf, and the posting lists of its spellings in
    this part. Parts are ordered newest first.
    """
    documents: NDArray[np.int64] = np.empty(0, np.int64)
    scores: NDArray[np.float64] = np.empty(0, np.float64)
    bar = 0.0
    for part, words in parts:
        if len(scores) >= limit:
            bar = float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
            keep = scores >= bar
            documents, scores = documents[keep], scores[keep]
        offsets, values = _best_of(part, words, average, b, bar, limit)
        if len(offsets):
            documents = np.concatenate((documents, offsets + part.first))
            scores = np.concatenate((scores, values))
    order = np.lexsort((-documents, -scores))[:limit]
    return list(zip(documents[order].tolist(), scores[order].tolist(), strict=True))


def gains(
    parts: Iterable[tuple[DocumentRange, Sequence[tuple[float, int, PostingList]]]],
    words: int,
    docs: NDArray[np.int64],
    average: float,
    b: float = B,
) -> NDArray[np.float64]:
    """Return a matrix of query words × documents: each word's contribution to the score. `docs` are ascending.

    Each part has its posting lists as (weight, position of the word, list).
    """
    found = np.zeros((words, len(docs)))
    for part, lists in parts:
        start, end = np.searchsorted(docs, (part.first, part.first + len(part.lengths)))
        wanted = docs[start:end] - part.first
        norms = part.norms(average, b)[wanted]
        of_type = {offsets.dtype: wanted.astype(offsets.dtype) for _, _, (offsets, _) in lists}
        for weight, place, (offsets, counts) in lists:
            at = offsets.searchsorted(of_type[offsets.dtype])
            # A place past the end is clipped to the last offset, which is smaller and so not the wanted one.
            (held,) = (offsets.take(at, mode="clip") == wanted).nonzero()
            if len(held):
                times = counts[at[held]]
                found[place, start + held] += weight * (K1 + 1) * times / (times + norms[held])
    return found


def _best_of(
    part: DocumentRange,
    words: list[tuple[float, list[PostingList]]],
    average: float,
    b: float,
    bar: float,
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the offsets and scores of one part above the bar, reduced to the best `limit` and ties with the last."""
    norms = part.norms(average, b)
    lists = [(weight * (K1 + 1), docs, counts) for weight, spellings in words for docs, counts in spellings]
    # left[i]: the upper bound of what the lists from i on can add together; not needed if the part is scored whole.
    left = [0.0] * (len(lists) + 1)
    done = len(lists)
    if bar > 0 and sum(len(docs) for _, docs, _ in lists) > TOGETHER:
        most = K1 * (1 - b + b * part.shortest / average)
        bounds = [weight * (top / (top + most)) for weight, _, counts in lists for top in (float(counts.max()),)]
        for i in range(len(lists) - 1, -1, -1):
            left[i] = left[i + 1] + bounds[i] * (1 + 1e-9)  # the bound must hold despite rounding
        done = next((i for i, rest in enumerate(left[:-1]) if rest <= bar), done)
    if not done:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    sums = _sums(lists[:done], norms)
    found = np.flatnonzero(sums > max(bar - left[done], 0.0))
    values = sums[found]
    for i in range(done, len(lists)):
        if not len(found):
            break
        weight, docs, counts = lists[i]
        at = np.searchsorted(docs, found.astype(docs.dtype))
        at[at == len(docs)] = 0
        held = docs[at] == found
        held_counts = counts[at[held]]
        values[held] += weight * held_counts / (held_counts + norms[found[held]])
        keep = values > bar - left[i + 1]
        found, values = found[keep], values[keep]
    keep = (values > bar) & (part.lengths[found] > 0)
    found, values = found[keep], values[keep]
    if len(found) > limit:
        last = np.partition(values, len(values) - limit)[len(values) - limit]
        keep = values >= last
        found, values = found[keep], values[keep]
    return found, values


def _sums(lists: Sequence[tuple[float, NDArray[np.integer], NDArray[Any]]], norms: NDArray[Any]) -> NDArray[np.float64]:
    """Return for each document what the lists, given as (weight, offsets, counts), add to its score, in their order."""
    sizes = [len(docs) for _, docs, _ in lists]
    if sum(sizes) > TOGETHER:
        sums = np.zeros(len(norms), np.float64)
        for weight, docs, counts in lists:
            sums[docs] += weight * counts / (counts + norms[docs])
        return sums
    offsets = np.concatenate([docs for _, docs, _ in lists])
    times = np.concatenate([counts for _, _, counts in lists])
    weights = np.repeat([weight for weight, _, _ in lists], sizes)
    return np.bincount(offsets, weights * times / (times + norms[offsets]), len(norms)).astype(np.float64, copy=False)
