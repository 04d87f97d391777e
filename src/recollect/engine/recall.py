"""Recall: lexical and vector candidates, fused, decayed once, deduplicated.

Each store returns a lexical list and, if it has an embedder, a vector list, both filtered (`recall_candidates`). Term
statistics cover all stores, so that scores of different stores are comparable. `recall_hits` makes the hits from the
lists. If they are too few, because duplicates were dropped, the search is repeated deeper. Several categories are
searched at once, each with its own limit.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect import text
from recollect.engine import access_policy, embedding
from recollect.engine.agent_store import Store, reindex
from recollect.engine.recall_candidates import (
    DamagedIndex,
    QueryLookups,
    QueryTerms,
    Share,
    candidates,
    different_contents,
    ended,
    initial_depth,
    is_tied,
    of_share,
)
from recollect.engine.recall_hits import hits_of
from recollect.engine.recall_request import LIMIT, QUERY_LENGTH, Request
from recollect.engine.reranking import RERANKED, reranked
from recollect.errors import ConfigError, Invalid, RecollectError
from recollect.model.entry import Category
from recollect.model.filters import Filters
from recollect.model.recall import Hit
from recollect.providers.base import embed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["query_vector", "recall", "recall_each"]

DEEPEST = 1_000
"""Depth limit of a search whose candidates are mostly duplicates and give too few hits."""
_log = logging.getLogger("recollect.recall")


def recall(stores: Sequence[Store], request: Request, looks: QueryLookups | None = None) -> list[tuple[Store, Hit]]:
    """Return the best hits over all stores, each with its store. The first store belongs to the reader.

    Recalls of the same words, one soon after the other, can share `looks`.
    """
    reranker = request.reranker if request.mode == "hybrid" else None
    limit = max(request.limit, RERANKED) if reranker is not None and request.limit > 0 else request.limit
    wider = request if limit == request.limit else replace(request, limit=limit)
    found = _recall(stores, wider, {None: limit}, looks or QueryLookups())[None]
    hits = [one for one in found if one[1].confidence >= request.min_confidence]
    return reranked(reranker, request.query, hits, lambda one: one[1].entry.content, request.limit)


def recall_each(
    stores: Sequence[Store], request: Request, limits: Mapping[Category, int], looks: QueryLookups | None = None
) -> dict[Share, list[tuple[Store, Hit]]]:
    """Return the best hits per category, up to its limit: equal to one recall per category, in a single search."""
    wanted = tuple(category for category, limit in limits.items() if limit > 0)
    narrow = replace(request, filters=replace(request.filters, categories=wanted))
    return _recall(stores, narrow, limits, looks or QueryLookups())


def _recall(
    stores: Sequence[Store],
    request: Request,
    limits: Mapping[Category, int] | Mapping[None, int],
    looks: QueryLookups,
) -> dict[Share, list[tuple[Store, Hit]]]:
    """Return the hits of each share. A damaged index is rebuilt from the entries, at most once per store."""
    if max(limits.values(), default=0) > LIMIT:
        raise Invalid(f"a recall returns at most {LIMIT:,} hits, not {max(limits.values()):,}; use a smaller limit")
    for _ in stores:
        try:
            return _recalled(stores, request, limits, looks)
        except DamagedIndex as error:
            _log.warning("the index of %s is damaged (%s); it is rebuilt", error.store.agent, error.__cause__)
            with error.store.write() as work:
                reindex(work)
            looks.forget()
    return _recalled(stores, request, limits, looks)


def _recalled(
    stores: Sequence[Store],
    request: Request,
    limits: Mapping[Category, int] | Mapping[None, int],
    looks: QueryLookups,
) -> dict[Share, list[tuple[Store, Hit]]]:
    hits: dict[Share, list[tuple[Store, Hit]]] = {share: [] for share in limits}
    wanted: dict[Share, int] = {share: limit for share, limit in limits.items() if limit > 0}
    if len(request.query) > QUERY_LENGTH:
        request = replace(request, query=request.query[:QUERY_LENGTH])
    words = text.query_terms(request.query) if request.mode != "vector" else []
    if not wanted or not (words or any(map(str.isalnum, request.query))):
        return hits
    filters = {store: access_policy.narrowed(request.filters, store, stores[0].agent) for store in stores}
    stores = [store for store in stores if store is stores[0] or filters[store].scopes]
    if request.mode == "vector":
        for store in stores:
            embedding.compare_models(store, needed=True)
    vector = looks.vector(lambda: _query_vector(stores, request))
    if words or vector is not None:
        with stores[0].database.snapshot([(store.database, store.agent) for store in stores]):
            measure = QueryTerms(stores, words, request, looks)
            _search(stores, request, wanted, hits, measure=measure, vector=vector, filters=filters)
    return hits


def _search(
    stores: Sequence[Store],
    request: Request,
    wanted: dict[Share, int],
    hits: dict[Share, list[tuple[Store, Hit]]],
    *,
    measure: "QueryTerms",
    vector: "NDArray[np.float32] | None",
    filters: Mapping[Store, Filters],
) -> None:
    """Fill in the hits of each share that is wanted."""
    for store in stores:
        embedding.compare_models(store)
    depth = initial_depth(request, max(wanted.values()), fused=vector is not None and bool(measure.words))
    deepest = max(DEEPEST, 4 * depth)
    while wanted:
        everything = [
            candidates(store, measure, vector, depth, request=request, filters=filters[store], shares=list(wanted))
            for store in stores
        ]
        deeper = 4 * depth
        for share, limit in list(wanted.items()):
            found = [of_share(one, share, depth) for one in everything]
            contents = different_contents(found)
            if contents < limit and depth < deepest and not ended(found, depth):
                deeper = max(deeper, min(2 * limit // max(contents, 1) * depth, deepest))
                continue
            hits[share] = hits_of(found, request if limit == request.limit else replace(request, limit=limit), measure)
            # Dropped duplicates leave too few hits, and a tie may hide an entry of a narrower scope further down: then
            # search deeper, unless the lists are exhausted.
            sure = depth >= LIMIT or not request.to_the_end or not any(is_tied(one, limit) for one in found)
            enough = len(hits[share]) >= limit and sure
            if enough or ended(found, depth) or 4 * depth > deepest:
                del wanted[share]
        depth = min(deeper, deepest)


def _query_vector(stores: Sequence[Store], request: Request) -> "NDArray[np.float32] | None":
    """Return the vector of the query, or None for a recall by words alone; failures of the embedder are logged."""
    if request.mode == "keyword":
        return None
    if request.mode == "vector" and stores[0].embedder is None:
        raise ConfigError("no embedder is configured, so there are no vectors; use mode='keyword' or 'hybrid'")
    return query_vector(stores[0], request.query, needed=request.mode == "vector")


def query_vector(store: Store, query: str, *, needed: bool = False) -> "NDArray[np.float32] | None":
    """Return the vector of a query; None without an embedder, or if it fails and `needed` is false."""
    embedder = store.embedder
    if embedder is None:
        return None
    if not needed:
        embedder = getattr(embedder, "for_queries", embedder)
    try:
        (row,) = embed(embedder, [query[:QUERY_LENGTH]])
    except RecollectError as error:
        if needed:
            raise
        _log.warning("recall by words alone: %s", error)
        return None
    return row if row.any() else None
