"""The oracle: BM25 in plain Python, written for obvious correctness. Tests compare every other ranking with it."""

from collections.abc import Mapping, Sequence
from math import log

__all__ = ["bm25"]


def bm25(
    documents: Mapping[int, Mapping[str, int]], query: Sequence[Sequence[str]], *, k1: float = 1.2, b: float = 0.75
) -> list[tuple[int, float]]:
    """Return every document that shares a term with the query, as (number, score), best first; ties newest first.

    A document is a mapping of terms to counts. A query is a list of words, each a list of spellings; the spellings of
    a word share its idf, for which their document frequencies are summed.
    """
    if not documents:
        return []
    average = sum(sum(terms.values()) for terms in documents.values()) / len(documents) or 1.0
    scores: dict[int, float] = {}
    for spellings in query:
        holding = sum(sum(term in terms for terms in documents.values()) for term in spellings)
        weight = log(1 + (len(documents) - min(holding, len(documents)) + 0.5) / (min(holding, len(documents)) + 0.5))
        for number, terms in documents.items():
            length = sum(terms.values())
            for term in spellings:
                if count := terms.get(term, 0):
                    gain = weight * count * (k1 + 1) / (count + k1 * (1 - b + b * length / average))
                    scores[number] = scores.get(number, 0.0) + gain
    return sorted(scores.items(), key=lambda item: (-item[1], -item[0]))
