"""Reordering of the best hits by a reranker, which reads the query and each text together. Off by default."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from recollect.errors import RecollectError
from recollect.providers.base import Reranker, scores

__all__ = ["RERANKED", "reranked"]

RERANKED = 30
"""Number of hits that are read by the reranker; those after them keep their order. A cross-encoder takes milliseconds
for each."""
LENGTH = 4_000
"""Characters of a text that it is given; it reads 512 tokens."""
T = TypeVar("T")
_log = logging.getLogger("recollect.recall")


def reranked(
    reranker: Reranker | None, query: str, hits: Sequence[T], content: Callable[[T], str], limit: int
) -> list[T]:
    """Return up to `limit` of the hits, the first RERANKED in the order of the reranker; ties keep their order.

    If it fails, the hits keep their order, and the failure is logged.
    """
    best = list(hits[:RERANKED])
    if reranker is not None and len(best) > 1:
        try:
            found = scores(reranker, query, [content(hit)[:LENGTH] for hit in best])
        except RecollectError as error:
            _log.warning("the hits are not reranked: %s", error)
        else:
            best = [best[place] for place in sorted(range(len(best)), key=lambda place: -found[place])]
    return [*best, *hits[RERANKED:]][:limit]
