"""Finding entries: analyse the query, rank in each store, let the filters pass, give hits.

A filter never hides what exists: the ranking is asked for more until enough of it passes the filter, or it ends.
"""

from collections.abc import Sequence

from recollect import text
from recollect.engine.store import Store
from recollect.model.entry import Entry, Scope
from recollect.model.recall import Filters, Hit
from recollect.storage import entries

__all__ = ["LIMIT", "QUERY_LENGTH", "recall"]

LIMIT = 1_000
"""The most hits that one recall gives."""
QUERY_LENGTH = 10_000
"""Characters of a query that count; what follows is cut off."""
TIES = 128
"""From so many candidates on, equal scores are told apart by age alone: looking at every one would take too long."""
_NARROW_FIRST = {scope: place for place, scope in enumerate(Scope)}


def recall(stores: Sequence[Store], query: str, limit: int, filters: Filters) -> list[Hit]:
    """The best hits over the stores. Equal scores go to the narrower scope, then to what was written last."""
    query = query[:QUERY_LENGTH]
    words = text.query_terms(query)
    if not words or limit < 1:
        return []
    found = [hit for store in stores for hit in _in_store(store, words, min(limit, LIMIT), filters)]
    found.sort(key=lambda hit: (-hit[1], _NARROW_FIRST[hit[0].scope]))
    return [Hit(entry=entry, score=score, snippet=text.snippet(entry.content, query)) for entry, score in found[:limit]]


def _in_store(store: Store, words: Sequence[Sequence[str]], limit: int, filters: Filters) -> list[tuple[Entry, float]]:
    with store.search() as (tx, counters):
        wanted = max(2 * limit, 16)
        while True:
            ranked = store.index.search(tx, counters, words, wanted)
            scopes = entries.matching(tx, [doc for doc, _ in ranked], filters)
            best = [(doc, score) for doc, score in ranked if doc in scopes]
            # Those that tie with the last place must be known, because the narrower scope takes it.
            tied = len(best) >= limit and ranked[-1][1] == best[limit - 1][1]
            if len(ranked) < wanted or (len(best) >= limit and not (tied and wanted < TIES)):
                break
            wanted *= 8
        best.sort(key=lambda found: (-found[1], _NARROW_FIRST[scopes[found[0]]]))
        best = best[:limit]
        by_doc = entries.with_docs(tx, [doc for doc, _ in best])
    return [(by_doc[doc], score) for doc, score in best]
