"""What an index returns for the words of a query: postings, and the statistics that make several indexes comparable."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from recollect.search.ranking import b_for, idf

if TYPE_CHECKING:
    from recollect.search.bm25 import DocumentRange, PostingList

__all__ = ["IndexLookup", "Ranking", "Statistics", "Word", "weigh"]

Word = Sequence[str] | Mapping[str, float]
"""One word of a query: its spellings, as a mapping to weights where the weights differ."""
Ranking = Callable[[int], list[tuple[int, float]]]
"""Returns the best documents up to a limit, as (number, score)."""


class Statistics:
    """The collection statistics for BM25, over every index that a query searches.

    Scores from several indexes are comparable only if they use the same statistics.
    """

    def __init__(self, looks: "Sequence[IndexLookup]") -> None:
        self.documents = sum(look.documents for look in looks)
        self.average = sum(look.tokens for look in looks) / max(self.documents, 1) or 1.0
        """Average document length in terms."""
        counts = [look.holding for look in looks if look.holding]
        holding = counts[0] if len(counts) == 1 else sum(counts, Counter[str]())
        exact: list[list[str]] = []
        self.like: list[list[tuple[float, str]]] = []
        """For each word its expansion terms (prefix and fuzzy matches) with their weights, heaviest first."""
        self.idf: list[float] = []
        """For each word the idf of all its spellings and expansion terms together."""
        for spellings in zip(*(look.query for look in looks), strict=True):
            weights = _together(spellings)
            exact.append([term for term, weight in weights.items() if weight >= 1])
            # The idf of all spellings together, so that an expansion never outweighs the word itself.
            rarity = _idf(self.documents, sum(holding[term] for term in weights))
            self.idf.append(rarity)
            like = [(rarity * weight, term) for term, weight in weights.items() if weight < 1]
            self.like.append(sorted(like, key=lambda one: -one[0]) if like else like)
        self.exact = [(weight, term) for weight, _, term in weigh(exact, holding, self.documents)]


@dataclass(frozen=True, slots=True)
class IndexLookup:
    """The postings and counts of one index for a query: everything that ranking needs."""

    query: Sequence[Word]
    lists: "list[tuple[DocumentRange, dict[str, PostingList]]]"
    holding: Counter[str]
    """Document frequency of each term."""
    documents: int
    tokens: int

    def ranking(self, over: Statistics) -> Ranking:
        """Return a function from a limit to the best documents of this index, scored with the statistics."""
        from recollect.search import bm25

        parts = [(part, _weighted(over, found)) for part, found in self.lists if found]
        average, b = over.average, b_for(over.average)
        return lambda limit: bm25.rank(parts, limit, average, b) if limit > 0 else []

    def among(self, docs: Collection[int], over: Statistics) -> list[tuple[int, float]]:
        """Return those of some documents that hold a word of the query, best first, scored with the statistics."""
        import numpy as np

        from recollect.search import bm25

        wanted = np.sort(np.fromiter(docs, np.int64, len(docs)))
        parts = [
            (part, [(weight, 0, one) for weight, lists in _weighted(over, found) for one in lists])
            for part, found in self.lists
            if found
        ]
        (scores,) = bm25.gains(parts, 1, wanted, over.average, b_for(over.average))
        best = np.lexsort((-wanted, -scores))[: np.count_nonzero(scores)]
        return list(zip(wanted[best].tolist(), scores[best].tolist(), strict=True))

    def held(self, doc: int) -> list[bool]:
        """Return for each word of the query whether a document holds it, or a term that it was expanded to."""
        for part, found in self.lists:
            offset = doc - part.first
            if 0 <= offset < len(part.lengths):
                return [any(_holds(found.get(term), offset) for term in word) for word in self.query]
        return [False] * len(self.query)


def _holds(postings: "PostingList | None", offset: int) -> bool:
    if postings is None:
        return False
    offsets = postings[0]
    place = bisect_left(offsets, offset)  # searchsorted() takes two to three times as long to find a single one
    return place < len(offsets) and int(offsets[place]) == offset


def _weighted(over: Statistics, found: "Mapping[str, PostingList]") -> "list[tuple[float, list[PostingList]]]":
    """Return the posting lists of a part with their weights, heaviest first.

    The expansion terms of a word are merged into one list in which only the best match per document counts: a long
    text with many of them must not beat one with the word itself.
    """
    from recollect.search import bm25

    lists = [(weight, [found[term]]) for weight, term in over.exact if term in found]
    for like in over.like:
        if held := [(weight / like[0][0], found[term]) for weight, term in like if term in found]:
            lists.append((like[0][0], [bm25.merged(held)]))
    return sorted(lists, key=lambda item: -item[0])


def weigh(query: Sequence[Sequence[str]], holding: Mapping[str, int], documents: int) -> list[tuple[float, int, str]]:
    """Return the terms of a query as (weight, position of the word in the query, term), heaviest first.

    `holding` maps a term to its document frequency. The spellings of a word share its idf.
    """
    weighted: list[tuple[float, int, str]] = []
    for place, word in enumerate(query):
        rarity = _idf(documents, sum(holding[term] for term in word))
        weighted += [(rarity, place, term) for term in word]
    return sorted(weighted, key=lambda spelling: -spelling[0])


def _idf(documents: int, holding: int) -> float:
    return idf(documents, min(holding, documents))


def _weights(word: Word) -> Mapping[str, float]:
    return word if isinstance(word, Mapping) else dict.fromkeys(word, 1.0)


def _together(spellings: Sequence[Word]) -> Mapping[str, float]:
    """Return the weights of the terms of a word in all indexes."""
    if any(isinstance(word, Mapping) for word in spellings):
        return {term: weight for word in spellings for term, weight in _weights(word).items()}
    return dict.fromkeys(chain.from_iterable(spellings), 1.0)
