"""The candidates of a recall in one store: what its lexical and vector lists contain and the filters let through.

A filter never hides a match: a ranking is extended until enough candidates pass the filters or it is exhausted. Reading
an entry costs far more than scoring it, so rankings are over-fetched, and candidates are read in batches sized by the
pass rate so far.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from recollect.engine.agent_store import Store
from recollect.engine.recall_request import Request
from recollect.errors import Corrupt
from recollect.model.entry import Category, Entry
from recollect.model.filters import Filters
from recollect.search.index import DAMAGE
from recollect.search.lookup import IndexLookup, Ranking, Statistics
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Row, Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Candidates",
    "DamagedIndex",
    "KnownCandidates",
    "QueryLookups",
    "QueryTerms",
    "RankedList",
    "Share",
    "candidates",
    "different_contents",
    "ended",
    "initial_depth",
    "is_tied",
    "of_share",
]

_log = logging.getLogger("recollect.recall")
DEPTH = 50
"""Minimum candidates per list when two lists are fused: fusion normalises scores within each list."""
SHALLOW = 30
"""The same for a single list: enough for decay, which changes a score by a third at most, to reorder the top."""
BEYOND = 15
"""Number of candidates beyond the limit, if the last hits need not be exact."""
NARROW = 16
"""Over-fetch factor of a ranking under a category filter; a quarter of it is read in the first batch."""
FEW = 500
"""Number of entries of the categories of a filter up to which only these are compared, not all that rank high."""
UNRELATED = 0.2
"""Cosine up to which two texts count as unrelated; the vector list of a hybrid recall ends there."""
RankedList = list[tuple[int, float]]
Share = Category | None
"""The pool of a hit list: one category, or None for all entries that pass the filters."""


class QueryLookups:
    """What was looked up for a query: its vector, the posting lists of its words in each store, and their rankings.

    With `ahead`, at least so many documents are ranked at once, because a later recall will need more of them: ranking
    deeper costs little, ranking twice costs twice.
    """

    def __init__(self, ahead: int = 0) -> None:
        self.lists: dict[Store, IndexLookup] = {}
        self._ahead = ahead
        self._ranked: dict[Store, tuple[int, RankedList]] = {}
        self._vector: list[NDArray[np.float32] | None] = []

    def vector(self, embed: "Callable[[], NDArray[np.float32] | None]") -> "NDArray[np.float32] | None":
        """Return the vector of the query, which is embedded once, also if that fails."""
        self._vector = self._vector or [embed()]
        return self._vector[0]

    def ranked(self, store: Store, ranking: Ranking, limit: int) -> RankedList:
        """Return the best documents of a store by the words; `ranking` is called unless so many are known."""
        known, ranked = self._ranked.get(store, (0, []))
        if known < limit:
            known = max(limit, self._ahead)
            ranked = ranking(known)
            self._ranked[store] = known, ranked
        return ranked[:limit]

    def forget(self) -> None:
        """Drop the posting lists and their rankings."""
        self.lists.clear()
        self._ranked.clear()


@dataclass(slots=True)
class Candidates:
    """The candidates of one store, by document number."""

    store: Store
    lexical: RankedList
    vector: RankedList
    unembedded: Collection[int]
    """Lexical candidates without a vector of the store's model."""
    signs: Mapping[int, entries.RankingInputs]


class DamagedIndex(Corrupt):
    """Rows of a store's index are corrupt."""

    def __init__(self, store: Store, error: Exception) -> None:
        super().__init__(f"the index of {store.agent} is damaged ({error}); run `recollect check --repair`")
        self.store = store


@contextmanager
def _reading_index(store: Store) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise DamagedIndex(store, error) from error


def initial_depth(request: Request, limit: int, *, fused: bool) -> int:
    """Return how many candidates of a list are read at first."""
    if not request.to_the_end:
        return max(DEPTH if fused else 0, limit + min(BEYOND, 2 * limit))
    return max(DEPTH if fused else SHALLOW, 3 * limit)


def of_share(found: Candidates, share: Share, depth: int) -> Candidates:
    """Return the candidates of one share."""
    if share is None and max(len(found.lexical), len(found.vector)) <= depth:
        return found

    def own(ranked: RankedList) -> RankedList:
        return [one for one in ranked if share is None or found.signs[one[0]].category is share][:depth]

    return replace(found, lexical=own(found.lexical), vector=own(found.vector))


def is_tied(found: Candidates, limit: int) -> bool:
    """Whether the lexical list ends within the tie at the limit."""
    scores = found.lexical
    return len(scores) > limit and scores[limit - 1][1] == scores[-1][1]


def ended(found: Sequence[Candidates], depth: int) -> bool:
    """Whether a deeper search has no further candidates."""
    return all(len(one.lexical) < depth and len(one.vector) < depth for one in found)


def different_contents(found: Sequence[Candidates]) -> int:
    """Return how many of the candidates have different contents."""
    lists = ((one.signs, ranked) for one in found for ranked in (one.lexical, one.vector))
    return len({signs[doc].content_hash for signs, ranked in lists for doc, _ in ranked})


@dataclass(slots=True, kw_only=True)
class KnownCandidates:
    """What was read of a store's candidates; a deeper search reads only further ones."""

    seen: set[int] = field(default_factory=set)
    """Documents for which it is known whether they pass the filters."""
    signs: dict[int, entries.RankingInputs] = field(default_factory=dict)
    """Ranking fields of the entries that pass."""
    read: set[int] = field(default_factory=set)
    """Documents whose entries were read."""
    stored: dict[int, Entry] = field(default_factory=dict)
    vectors: "dict[int, NDArray[np.float32]]" = field(default_factory=dict)
    pairs: list[Row] = field(default_factory=list)
    """The open pairs of review whose older entry was read."""
    reviewed_at: int = 0
    """When the job `review` last compared the store's notes."""


class QueryTerms:
    """Posting lists of the query's words in each store, and the term statistics over all stores.

    The stores after the first are read up front; the first is read in the transaction that searches it, so that one
    transaction suffices if only it has entries.
    """

    def __init__(
        self, stores: Sequence[Store], words: Sequence[Sequence[str]], request: Request, looks: QueryLookups
    ) -> None:
        self.words, self._request = words, request
        self._lookups, self._looks, self._stores = looks, looks.lists, stores
        self.known: dict[Store, KnownCandidates] = {store: KnownCandidates() for store in stores}
        self._first = stores[0]
        self.empty: set[Store] = set()
        """Stores without entries."""
        for store in stores[1:]:
            if store not in self._looks:
                with store.search() as (tx, counters):
                    self.look(store, tx, counters)
            if not self._looks[store].documents:
                self.empty.add(store)

    def look(self, store: Store, tx: Transaction, counters: Counters) -> IndexLookup:
        """Return the posting lists of the words in a store."""
        if store not in self._looks:
            request = self._request
            with _reading_index(store):
                self._looks[store] = store.index.look(
                    tx, counters, self.words, prefix=request.prefix, fuzzy=request.fuzzy
                )
        return self._looks[store]

    def ranking(self, store: Store, among: Collection[int] | None = None) -> Ranking:
        """Return the ranking of a store by the words, or of some of its documents; all stores must have been read."""

        def ranked(limit: int) -> RankedList:
            with _reading_index(store):
                if among is not None:
                    return self._looks[store].among(among, self.statistics)[:limit]
                return self._lookups.ranked(store, self._looks[store].ranking(self.statistics), limit)

        return ranked

    def held(self, store: Store, doc: int) -> list[bool]:
        """Return for each word whether an entry of a store holds it."""
        return self._looks[store].held(doc)

    @cached_property
    def statistics(self) -> Statistics:
        """Return the term statistics; all stores must have been read."""
        assert self._first in self._looks
        return Statistics([self._looks[store] for store in self._stores])


def candidates(
    store: Store,
    measure: QueryTerms,
    vector: "NDArray[np.float32] | None",
    depth: int,
    *,
    request: Request,
    filters: Filters,
    shares: Sequence[Share],
) -> Candidates:
    """Return the candidates of a store, `depth` per share; by words alone if its vectors are corrupt."""
    if store in measure.empty:
        return Candidates(store, [], [], (), {})
    try:
        return _searched(store, measure, vector, depth, request=request, filters=filters, shares=shares)
    except Corrupt as error:
        if vector is None or not measure.words or request.mode == "vector" or isinstance(error, DamagedIndex):
            raise
        # This raises as well if more than the vectors is corrupt.
        found = _searched(store, measure, None, depth, request=request, filters=filters, shares=shares)
        _log.warning("recall by words alone: %s", error)
        return found


def _searched(
    store: Store,
    measure: QueryTerms,
    vector: "NDArray[np.float32] | None",
    depth: int,
    *,
    request: Request,
    filters: Filters,
    shares: Sequence[Share],
) -> Candidates:
    with store.search() as (tx, counters):
        looked = _Lookups(tx, filters, shares, measure.known[store])
        measure.look(store, tx, counters)
        lexical = _passing(measure.ranking(store, looked.few), depth, looked)
        near: RankedList = []
        if vector is not None and store.vectors is not None and counters.vectors:
            near = _nearest(tx, counters, store, vector, depth, request=request, looked=looked)
        missing: set[int] = set()
        if vector is not None:
            missing = {doc for doc, _ in lexical}.difference(doc for doc, _ in near)
            missing -= store.vectors.embedded(tx, list(missing)) if store.vectors is not None else set()
    return Candidates(store, lexical, near, missing, looked.signs)


def _nearest(
    tx: Transaction,
    counters: Counters,
    store: Store,
    vector: "NDArray[np.float32]",
    depth: int,
    *,
    request: Request,
    looked: "_Lookups",
) -> RankedList:
    assert store.vectors is not None
    vectors = store.vectors
    least = 0.0 if request.mode == "vector" else UNRELATED
    few = looked.few
    if few is not None:
        near = _passing(lambda wanted: vectors.among(tx, vector, few, wanted), depth, looked, least)
    else:
        near = _passing(lambda wanted: vectors.search(tx, counters, vector, wanted), depth, looked, least)
    return [(doc, cosine) for doc, cosine in near if cosine > least]


class _Lookups:
    """Cache of which entries of a store pass the filters, as far as they were read."""

    def __init__(self, tx: Transaction, filters: Filters, shares: Sequence[Share], known: KnownCandidates) -> None:
        self._tx, self._filters, self._shares = tx, filters, shares
        self.few = _of_categories(tx, filters)
        """The only documents that can pass, if they are few: only these are ranked."""
        self.narrow = NARROW if filters.categories and self.few is None else 1
        self._seen, self.signs = known.seen, known.signs

    def first(self, ranked: RankedList, depth: int) -> tuple[RankedList, bool]:
        """Return the leading candidates that pass, and whether there are `depth` of each share."""
        passed: RankedList = []
        counts: dict[Share, int] = dict.fromkeys(self._shares, 0)
        start, size, fewest = 0, depth * max(self.narrow // 4, 1), 0
        while start < len(ranked) and fewest < depth:
            some = ranked[start : start + size]
            new = [doc for doc, _ in some if doc not in self._seen]
            self._seen.update(new)
            if new:
                self.signs.update(entries.matching(self._tx, new, self._filters))
            passing = [one for one in some if one[0] in self.signs]
            passed += passing
            for share in counts:
                own = passing if share is None else [doc for doc, _ in passing if self.signs[doc].category is share]
                counts[share] += len(own)
            start, fewest = start + size, min(counts.values())
            # Enough at the pass rate so far, and a few more.
            size = max(depth, min((depth - fewest) * start // (fewest + 1), entries.CHUNK))
        return passed, fewest >= depth


def _of_categories(tx: Transaction, filters: Filters) -> set[int] | None:
    """Return the documents of the categories of a filter; None without such a filter, or if there are more than FEW."""
    if not filters.categories:
        return None
    rows = tx.all("entries.of_categories", categories=[str(one) for one in filters.categories], limit=FEW + 1)
    return {doc for (doc,) in rows} if len(rows) <= FEW else None


def _passing(search: Ranking, depth: int, looked: _Lookups, least: float = 0.0) -> RankedList:
    """Return the leading candidates that pass the filters, `depth` per share if as many have a score above `least`."""
    wanted = depth * looked.narrow
    while looked.few is None or looked.few:
        ranked = search(wanted)
        passed, enough = looked.first(ranked, depth)
        if enough or len(ranked) < wanted or ranked[-1][1] <= least:
            return passed
        wanted *= 32
    return []
