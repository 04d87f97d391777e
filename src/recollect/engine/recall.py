"""Recall: lexical and vector candidates, fused, decayed once, deduplicated.

The steps: each store returns a lexical list and, if it has an embedder, a vector list, both filtered. Term statistics
cover all stores, so that scores of different stores are comparable. The lists are fused; decay multiplies each score
once, as a bounded factor; ties go to the narrower scope, then to the latest write; near-duplicates of a better hit are
dropped. Among the best, a hand-off, chunk or archive comes after the notes that hold the same words of the query, not
counting words that say little by themselves (use, go, have).
Hits that are close but differ form a group: each lists the others, and the newest comes first. So does the newer one of
a pair that waits for review.

A filter never hides a match: a ranking is extended until enough candidates pass the filters or it is exhausted. Reading
an entry costs far more than scoring it, so rankings are over-fetched, and candidates are read in batches sized by the
pass rate so far.
"""

import logging
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from operator import le
from typing import TYPE_CHECKING

from recollect import light_words, names, text
from recollect.engine import access_policy, embedding
from recollect.engine.agent_store import Store, document, reindex
from recollect.errors import ConfigError, Corrupt, Invalid, RecollectError
from recollect.model import checks
from recollect.model.entry import Category, Entry, Scope
from recollect.model.filters import Filters
from recollect.model.recall import Hit, Why
from recollect.providers.base import embed
from recollect.search import confidence, duplicates, index, ranking
from recollect.search.index import Ranking
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import NamedQuery, Row, Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LIMIT", "QUERY_LENGTH", "QueryLookups", "Request", "query_vector", "recall", "recall_each"]

MODES = ("hybrid", "keyword", "vector")
FUSIONS = ("weighted", "rrf")
LIMIT = 1_000
"""Maximum number of hits of one recall."""
QUERY_LENGTH = 10_000
"""Maximum length of a query in characters; the rest is ignored."""
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
DEEPEST = 1_000
"""Depth limit of a search whose candidates are mostly duplicates and give too few hits."""
GROUPED = 10
"""Minimum number of top candidates that are grouped, newest first, and of which notes come before transcripts, even
if fewer hits are requested."""
UNRELATED = 0.2
"""Cosine up to which two texts count as unrelated; the vector list of a hybrid recall ends there."""
_NARROW_FIRST = {scope: place for place, scope in enumerate(Scope)}
_log = logging.getLogger("recollect.recall")

RankedList = list[tuple[int, float]]
Share = Category | None
"""The pool of a hit list: one category, or None for all entries that pass the filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Parameters of a recall. `mode` is keyword, vector or hybrid."""

    query: str
    limit: int
    mode: str
    filters: Filters
    fusion: str
    decay: ranking.DecayConfig
    now: int
    prefix: bool = False
    fuzzy: float = 0.0
    explain: bool = False
    min_confidence: float = 0.0
    to_the_end: bool = True
    """Whether the last hits are as exact as the first: lists are read to three times the limit and to the end of a tie,
    in which an entry of a narrower scope may be hidden."""
    snippets: bool = True
    """Whether hits have snippets."""
    duplicates: str = "words"
    """Which hits are dropped: near-identical texts (`words`), or all that are close to a better hit (`cosine`)."""

    def checked(self) -> "Request":
        """Return the request with the values of a caller validated. Raises Invalid."""
        if self.mode not in MODES:
            raise Invalid(f"unknown recall mode: {self.mode!r}; it is one of {', '.join(MODES)}")
        if self.fusion not in FUSIONS:
            raise Invalid(f"unknown fusion: {self.fusion!r}; it is one of {', '.join(FUSIONS)}")
        return replace(
            self,
            query=names.plain("query", self.query, lines=True),
            limit=checks.count(self.limit, "hits"),
            fuzzy=checks.share(self.fuzzy, "fuzzy is how much of a word may differ"),
            min_confidence=checks.share(self.min_confidence, "min_confidence is a probability"),
        )


class QueryLookups:
    """What was looked up for a query: its vector, and the posting lists of its words in each store."""

    def __init__(self) -> None:
        self.lists: dict[Store, index.IndexLookup] = {}
        self._vector: list[NDArray[np.float32] | None] = []

    def vector(self, embed: "Callable[[], NDArray[np.float32] | None]") -> "NDArray[np.float32] | None":
        """Return the vector of the query, which is embedded once, also if that fails."""
        self._vector = self._vector or [embed()]
        return self._vector[0]


@dataclass(slots=True)
class _Candidates:
    """The candidates of one store, by document number."""

    store: Store
    lexical: RankedList
    vector: RankedList
    unembedded: Collection[int]
    """Lexical candidates without a vector of the store's model."""
    signs: Mapping[int, entries.RankingInputs]


def recall(stores: Sequence[Store], request: Request, looks: QueryLookups | None = None) -> list[tuple[Store, Hit]]:
    """Return the best hits over all stores, each with its store. The first store belongs to the reader.

    Recalls of the same words, one soon after the other, can share `looks`.
    """
    hits = _recall(stores, request, {None: request.limit}, looks or QueryLookups())[None]
    return [found for found in hits if found[1].confidence >= request.min_confidence]


def recall_each(
    stores: Sequence[Store], request: Request, limits: Mapping[Category, int], looks: QueryLookups | None = None
) -> dict[Share, list[tuple[Store, Hit]]]:
    """Return the best hits per category, up to its limit: equal to one recall per category, in a single search."""
    wanted = tuple(category for category, limit in limits.items() if limit > 0)
    narrow = replace(request, filters=replace(request.filters, categories=wanted))
    return _recall(stores, narrow, limits, looks or QueryLookups())


class _DamagedIndex(Corrupt):
    """Rows of a store's index are corrupt."""

    def __init__(self, store: Store, error: Exception) -> None:
        super().__init__(f"the index of {store.agent} is damaged ({error}); run `recollect check --repair`")
        self.store = store


@contextmanager
def _reading_index(store: Store) -> Iterator[None]:
    try:
        yield
    except index.DAMAGE as error:
        raise _DamagedIndex(store, error) from error


def _guarded(store: Store, ranking: Ranking) -> Ranking:
    def ranked(limit: int) -> RankedList:
        with _reading_index(store):
            return ranking(limit)

    return ranked


def _recall(
    stores: Sequence[Store],
    request: Request,
    limits: Mapping[Category, int] | Mapping[None, int],
    looks: QueryLookups,
) -> dict[Share, list[tuple[Store, Hit]]]:
    """Return the hits of each share. A damaged index is rebuilt from the entries, at most once per store."""
    if max(limits.values(), default=0) > LIMIT:
        raise Invalid(f"a recall gives at most {LIMIT:,} hits, not {max(limits.values()):,}; use a smaller limit")
    for _ in stores:
        try:
            return _recalled(stores, request, limits, looks)
        except _DamagedIndex as error:
            _log.warning("the index of %s is damaged (%s); it is rebuilt", error.store.agent, error.__cause__)
            with error.store.write() as work:
                reindex(work)
            looks.lists.clear()
    return _recalled(stores, request, limits, looks)


def _recalled(
    stores: Sequence[Store],
    request: Request,
    limits: Mapping[Category, int] | Mapping[None, int],
    looks: QueryLookups,
) -> dict[Share, list[tuple[Store, Hit]]]:
    hits: dict[Share, list[tuple[Store, Hit]]] = {share: [] for share in limits}
    wanted: dict[Share, int] = {share: limit for share, limit in limits.items() if limit > 0}
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
            measure = _Measure(stores, words, request, looks)
            _search(stores, request, wanted, hits, measure=measure, vector=vector, filters=filters)
    return hits


def _search(
    stores: Sequence[Store],
    request: Request,
    wanted: dict[Share, int],
    hits: dict[Share, list[tuple[Store, Hit]]],
    *,
    measure: "_Measure",
    vector: "NDArray[np.float32] | None",
    filters: Mapping[Store, Filters],
) -> None:
    """Fill in the hits of each share that is wanted."""
    for store in stores:
        embedding.compare_models(store)
    depth = _depth(request, max(wanted.values()), fused=vector is not None and bool(measure.words))
    deepest = max(DEEPEST, 4 * depth)
    while wanted:
        everything = [
            _candidates(store, measure, vector, depth, request=request, filters=filters[store], shares=list(wanted))
            for store in stores
        ]
        for share, limit in list(wanted.items()):
            found = [_of(one, share, depth) for one in everything]
            hits[share] = _hits(found, replace(request, limit=limit), measure)
            ended = all(len(one.lexical) < depth and len(one.vector) < depth for one in found)
            # Dropped duplicates leave too few hits, and a tie may hide an entry of a narrower scope further down: then
            # search deeper, unless the lists are exhausted.
            sure = depth >= LIMIT or not request.to_the_end or not any(_tied(one, limit) for one in found)
            enough = len(hits[share]) >= limit and sure
            if enough or ended or 4 * depth > deepest:
                del wanted[share]
        depth *= 4


def _depth(request: Request, limit: int, *, fused: bool) -> int:
    """Return how many candidates of a list are read at first."""
    if not request.to_the_end:
        return max(DEPTH if fused else 0, limit + min(BEYOND, 2 * limit))
    return max(DEPTH if fused else SHALLOW, 3 * limit)


def _of(found: _Candidates, share: Share, depth: int) -> _Candidates:
    """Return the candidates of one share."""

    def own(ranked: RankedList) -> RankedList:
        return [one for one in ranked if share is None or found.signs[one[0]].category is share][:depth]

    return replace(found, lexical=own(found.lexical), vector=own(found.vector))


def _tied(found: _Candidates, limit: int) -> bool:
    """Whether the lexical list ends within the tie at the limit."""
    scores = found.lexical
    return len(scores) > limit and scores[limit - 1][1] == scores[-1][1]


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


@dataclass(slots=True)
class _Known:
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


class _Measure:
    """Posting lists of the query's words in each store, and the term statistics over all stores.

    The stores after the first are read up front; the first is read in the transaction that searches it, so that one
    transaction suffices if only it has entries.
    """

    def __init__(
        self, stores: Sequence[Store], words: Sequence[Sequence[str]], request: Request, looks: QueryLookups
    ) -> None:
        self.words, self._request = words, request
        self._looks, self._stores = looks.lists, stores
        self.known: dict[Store, _Known] = {store: _Known() for store in stores}
        self._first = stores[0]
        self.empty: set[Store] = set()
        """Stores without entries."""
        for store in stores[1:]:
            if store not in self._looks:
                with store.search() as (tx, counters):
                    self.look(store, tx, counters)
            if not self._looks[store].documents:
                self.empty.add(store)

    def look(self, store: Store, tx: Transaction, counters: Counters) -> index.IndexLookup:
        """Return the posting lists of the words in a store."""
        if store not in self._looks:
            request = self._request
            with _reading_index(store):
                self._looks[store] = store.index.look(
                    tx, counters, self.words, prefix=request.prefix, fuzzy=request.fuzzy
                )
        return self._looks[store]

    def held(self, store: Store, doc: int) -> list[bool]:
        """Return for each word whether an entry of a store holds it."""
        return self._looks[store].held(doc)

    @cached_property
    def statistics(self) -> index.Statistics:
        """Return the term statistics; all stores must have been read."""
        assert self._first in self._looks
        return index.Statistics([self._looks[store] for store in self._stores])


def _candidates(
    store: Store,
    measure: _Measure,
    vector: "NDArray[np.float32] | None",
    depth: int,
    *,
    request: Request,
    filters: Filters,
    shares: Sequence[Share],
) -> _Candidates:
    """Return the candidates of a store, `depth` per share; by words alone if its vectors are corrupt."""
    if store in measure.empty:
        return _Candidates(store, [], [], (), {})
    try:
        return _searched(store, measure, vector, depth, request=request, filters=filters, shares=shares)
    except Corrupt as error:
        if vector is None or not measure.words or request.mode == "vector" or isinstance(error, _DamagedIndex):
            raise
        # This raises as well if more than the vectors is corrupt.
        found = _searched(store, measure, None, depth, request=request, filters=filters, shares=shares)
        _log.warning("recall by words alone: %s", error)
        return found


def _searched(
    store: Store,
    measure: _Measure,
    vector: "NDArray[np.float32] | None",
    depth: int,
    *,
    request: Request,
    filters: Filters,
    shares: Sequence[Share],
) -> _Candidates:
    with store.search() as (tx, counters):
        looked = _Lookups(tx, filters, shares, measure.known[store])
        look = measure.look(store, tx, counters)
        ranked = _guarded(store, look.ranking(measure.statistics))
        lexical = _passing(ranked, depth, looked)
        near: RankedList = []
        if vector is not None and store.vectors is not None and counters.vectors:
            near = _nearest(tx, counters, store, vector, depth, request=request, looked=looked)
        missing: set[int] = set()
        if vector is not None:
            missing = {doc for doc, _ in lexical}.difference(doc for doc, _ in near)
            missing -= store.vectors.embedded(tx, list(missing)) if store.vectors is not None else set()
    return _Candidates(store, lexical, near, missing, looked.signs)


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

    def __init__(self, tx: Transaction, filters: Filters, shares: Sequence[Share], known: _Known) -> None:
        self._tx, self._filters, self._shares = tx, filters, shares
        self.narrow = NARROW if filters.categories else 1
        self.few = _of_categories(tx, filters)
        """The only documents that can pass, if they are few: the others need not be read."""
        self._seen, self.signs = known.seen, known.signs

    def first(self, ranked: RankedList, depth: int) -> tuple[RankedList, bool]:
        """Return the leading candidates that pass, and whether there are `depth` of each share."""
        passed: RankedList = []
        counts: dict[Share, int] = dict.fromkeys(self._shares, 0)
        if self.few is not None:
            ranked = [one for one in ranked if one[0] in self.few]
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
                counts[share] += sum(share is None or self.signs[doc].category is share for doc, _ in passing)
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


def _hits(found: Sequence[_Candidates], request: Request, measure: _Measure) -> list[tuple[Store, Hit]]:
    """Fuse, decay, sort, deduplicate, and read the rest."""
    average = measure.statistics.average
    # One number per candidate over all stores, so that fusion is independent of stores.
    keys = [(place, doc) for place, one in enumerate(found) for doc in one.signs]
    number = {key: n for n, key in enumerate(keys)}
    by_words = [(number[place, doc], score) for place, one in enumerate(found) for doc, score in one.lexical]
    by_vector = [(number[place, doc], score) for place, one in enumerate(found) for doc, score in one.vector]
    by_words.sort(key=lambda candidate: -candidate[1])
    unembedded = {number[place, doc] for place, one in enumerate(found) for doc in one.unembedded}
    together = bool(by_vector) or request.fusion == "rrf"
    fusion, personal = request.fusion, ranking.is_personal(request.query)
    fused, parts = by_words, dict[int, ranking.Explanation]()
    if together:
        fused = ranking.combine(
            by_words, by_vector, fusion=fusion, average=average, unembedded=unembedded, personal=personal
        )
    if together and request.explain:
        parts = ranking.explain(
            by_words, by_vector, fusion=fusion, average=average, unembedded=unembedded, personal=personal
        )
    scored: list[tuple[float, int, int, int, float, float]] = []
    for n, score in fused:
        place, doc = keys[n]
        signs = found[place].signs[doc]
        # Whole hours: entries of the same hour with equal scores tie, and ties go to the narrower scope.
        hours = (request.now - (signs.accessed_at or signs.created_at)) // 3_600_000
        alive = ranking.relevance(signs.importance, request.decay.rate(signs.scope), hours, signs.access_count)
        factor = ranking.decayed(1.0, alive)
        scored.append((score * factor, -_NARROW_FIRST[signs.scope], doc, n, score, factor))
    scored.sort(reverse=True)
    ordered = [n for _, _, _, n, _, _ in scored]
    if measure.words and request.fusion == "weighted":
        ordered = _curated_first(ordered, found, keys, measure, max(request.limit, GROUPED))
    stored: dict[int, Entry] = {}
    vectors: dict[int, NDArray[np.float32]] = {}
    distinct = _distinct(found, keys, ordered, stored, vectors, request, measure=measure)
    distinct, similar = _grouped(distinct, stored, vectors, request.query)
    own = {stored[n].id: n for n in distinct}
    pairs = sorted(pair for one in found for pair in measure.known[one.store].pairs)
    distinct = _newer_first(distinct, [(own.get(older), own.get(newer)) for _, older, newer in pairs])
    best = [(found[keys[n][0]].store, keys[n][1], stored[n]) for n in distinct[: confidence.BEST]]
    sure = _confidence(best, request.query, measure)
    words_places, vector_places = _places(by_words), _places(by_vector)
    values = {n: (score, before, factor) for score, _, _, n, before, factor in scored}
    hits = []
    for n in distinct[: request.limit]:
        score, before, factor = values[n]
        why = None
        if request.explain:
            why = _why(words_places.get(n), vector_places.get(n), before, factor, parts.get(n))
        snippet = text.snippet(stored[n].content, request.query) if request.snippets else ""
        store = found[keys[n][0]].store
        others = tuple(stored[other].id for other in similar.get(n, ()))
        hits.append(
            (
                store,
                Hit(
                    entry=stored[n],
                    score=score,
                    snippet=snippet,
                    agent=store.agent,
                    similar=others,
                    state=stored[n].state_at(request.now if request.filters.as_of is None else request.filters.as_of),
                    confidence=sure,
                    why=why,
                ),
            )
        )
    return hits


def _curated_first(
    ranked: Sequence[int], found: Sequence[_Candidates], keys: Sequence[tuple[int, int]], measure: _Measure, limit: int
) -> list[int]:
    """Return the candidates with each transcript among the first behind the notes among them that hold its words.

    A hand-off or a chunk quotes what was said then; a note states what holds. Words that say little by themselves do
    not count: a transcript has "use" because it has many words.
    """
    first = range(min(limit, len(ranked)))
    quoting = [found[keys[ranked[place]][0]].signs[keys[ranked[place]][1]].transcript for place in first]
    if not any(quoting) or all(quoting):
        return list(ranked)
    telling = [not light_words.says_little(word) for word in measure.words]
    telling = telling if any(telling) else [True] * len(telling)
    held = [
        list(compress(measure.held(found[keys[ranked[place]][0]].store, keys[ranked[place]][1]), telling))
        for place in first
    ]
    order = [float(place) for place in range(len(ranked))]
    for place in first:
        for other in first[place + 1 :] if quoting[place] else ():
            if not quoting[other] and all(map(le, held[place], held[other])):
                order[place] = other + 0.5
    return [n for _, n in sorted(zip(order, ranked, strict=True))]


def _confidence(best: Sequence[tuple[Store, int, Entry]], query: str, measure: _Measure) -> float:
    """Return the confidence of a recall from its best hits. A recall by vectors alone has not looked its words up."""
    if measure.words:
        statistics = measure.statistics
        # Among few entries a word that none has would outweigh all the others.
        idf = statistics.idf if statistics.documents >= confidence.FEW else [1.0] * len(statistics.idf)
        return confidence.of_entries([measure.held(store, doc) for store, doc, _ in best], idf)
    words = text.query_terms(query)
    return confidence.of_entries([_held(entry, words) for _, _, entry in best], [1.0] * len(words))


def _grouped(
    ranked: Sequence[int], stored: Mapping[int, Entry], vectors: "Mapping[int, NDArray[np.float32]]", query: str
) -> tuple[list[int], dict[int, list[int]]]:
    """Return the candidates with the newest of each group first, and the group members of each.

    Members swap places only if they contain the same query words: a note about the day that the query names stays ahead
    of newer ones about other days.
    """
    order, similar = list(ranked), dict[int, list[int]]()
    groups = duplicates.groups(ranked, vectors)
    words = text.query_terms(query) if groups else []
    for group in groups:
        newest_first = sorted(group, key=lambda n: (stored[n].updated_at, stored[n].id), reverse=True)
        similar |= {n: [other for other in newest_first if other != n] for n in group}
        alike: dict[tuple[bool, ...], list[int]] = {}
        for n in newest_first:
            alike.setdefault(_held(stored[n], words), []).append(n)
        for members in alike.values():
            places = sorted(ranked.index(n) for n in members)
            for place, n in zip(places, members, strict=True):
                order[place] = n
    return order, similar


def _newer_first(ranked: Sequence[int], pairs: Sequence[tuple[int | None, int | None]]) -> list[int]:
    """Return the candidates with the newer one of each pair (older, newer) before the older one."""
    order, moved = list(ranked), True
    while moved:  # ends, because all pairs agree with the order of time
        moved = False
        for older, newer in pairs:
            if older in order and newer in order and order.index(older) < order.index(newer):
                order.remove(newer)
                order.insert(order.index(older), newer)
                moved = True
    return order


def _held(entry: Entry, words: Sequence[Sequence[str]]) -> tuple[bool, ...]:
    """Return for each word whether the entry contains it."""
    terms = document(entry)
    return tuple(any(term in terms for term in word) for word in words)


def _why(
    words: tuple[int, float] | None,
    vector: tuple[int, float] | None,
    fused: float,
    decay: float,
    parts: ranking.Explanation | None,
) -> Why:
    by_words, by_vector = (fused, 0.0) if parts is None else (parts.lexical_part, parts.vector_part)
    return Why(words=words, vector=vector, fused=fused, words_part=by_words, vector_part=by_vector, decay=decay)


def _places(ranked: RankedList) -> dict[int, tuple[int, float]]:
    """Return the rank and score of each candidate."""
    ranks = ranking.ranks(ranked)
    return {n: (ranks[n], score) for n, score in ranked}


def _distinct(
    found: Sequence[_Candidates],
    keys: Sequence[tuple[int, int]],
    ranked: Sequence[int],
    stored: dict[int, Entry],
    vectors: "dict[int, NDArray[np.float32]]",
    request: Request,
    *,
    measure: _Measure,
) -> list[int]:
    """Return the best candidates without duplicates of a better one: the limit, and at least GROUPED.

    Fills `stored` and `vectors` with the entries and vectors of the candidates that it compares.
    """
    limit = max(request.limit, GROUPED)

    def owner(n: int) -> str | None:
        """Equal texts of different agents are not duplicates; those of the reader and `_shared` are."""
        agent = found[keys[n][0]].store.agent
        return None if agent in (found[0].store.agent, access_policy.SHARED) else agent

    def read() -> Iterator[tuple[int, str, Hashable]]:
        start, page = 0, limit + 2
        while start < len(ranked):
            numbers = ranked[start : start + page]
            start, page = start + page, 3 * limit + 10
            _read(found, keys, numbers, stored, vectors, measure)
            yield from ((n, stored[n].content, (owner(n), stored[n].name)) for n in numbers if n in stored)

    return duplicates.distinct(read(), vectors, limit, by_cosine=request.duplicates == "cosine")


def _read(
    found: Sequence[_Candidates],
    keys: Sequence[tuple[int, int]],
    numbers: Sequence[int],
    stored: dict[int, Entry],
    vectors: "dict[int, NDArray[np.float32]]",
    measure: _Measure,
) -> None:
    """Read the entries and vectors of candidates, and the pairs whose older entry is one of them."""
    for place, one in enumerate(found):
        docs, known = {keys[n][1]: n for n in numbers if keys[n][0] == place}, measure.known[one.store]
        if new := [doc for doc in docs if doc not in known.read]:
            _read_docs(one.store, new, known)
        stored.update((n, known.stored[doc]) for doc, n in docs.items() if doc in known.stored)
        vectors.update((n, known.vectors[doc]) for doc, n in docs.items() if doc in known.vectors)


def _read_docs(store: Store, docs: list[int], known: _Known) -> None:
    with store.read() as tx:
        own = store.vectors
        queries: list[NamedQuery] = [("reviews.open_of_docs", {"docs": docs})]
        queries += [own.query_of(docs)] if own is not None else []
        read, (open_pairs, *embedded) = entries.read_docs(tx, docs, *queries)
        known.read.update(docs)
        known.stored |= read
        known.pairs += open_pairs
        if own is not None:
            known.vectors |= own.read_of(tx, embedded[0])
