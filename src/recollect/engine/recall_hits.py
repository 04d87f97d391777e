"""The hits of a recall, from the candidates of all stores: fused, decayed once, ordered, without duplicates.

The lists are fused; decay multiplies each score once, as a bounded factor; ties go to the narrower scope, then to the
latest write; near-duplicates of a better hit are dropped. Among the best, a hand-off, chunk or archive comes after the
notes that hold the same words of the query, not counting words that say little by themselves (use, go, have). Hits that
are close but differ form a group: each lists the others, and the newest comes first. So does the newer one of a pair
that waits for review, or that the review will find, unless the query names a value that only the older one has.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import compress
from operator import le
from typing import TYPE_CHECKING

from recollect import contradictions, light_words, text
from recollect.engine import access_policy
from recollect.engine.agent_store import Store, document
from recollect.engine.recall_candidates import Candidates, KnownCandidates, QueryTerms, RankedList
from recollect.engine.recall_request import Request
from recollect.engine.unreviewed_pairs import corrections
from recollect.model.entry import Entry, Scope
from recollect.model.recall import Hit, Why
from recollect.search import confidence, duplicates, ranking
from recollect.storage import entries, reviews
from recollect.storage.database import NamedQuery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["hits_of"]

GROUPED = 10
"""Minimum number of top candidates that are grouped, newest first, and of which notes come before transcripts, even
if fewer hits are requested."""
_NARROW_FIRST = {scope: place for place, scope in enumerate(Scope)}


def hits_of(found: Sequence[Candidates], request: Request, measure: QueryTerms) -> list[tuple[Store, Hit]]:
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
    scope, rate, width = None, 1.0, 0
    for n, score in fused:
        place, doc = keys[n]
        signs = found[place].signs[doc]
        if signs.scope is not scope:  # seldom: most entries are of one scope
            scope = signs.scope
            rate, width = request.decay.rate(scope), _NARROW_FIRST[scope]
        # Whole hours: entries of the same hour with equal scores tie, and ties go to the narrower scope.
        hours = (request.now - (signs.accessed_at or signs.created_at)) // 3_600_000
        alive = ranking.relevance(signs.importance, rate, hours, signs.access_count)
        factor = ranking.decayed(1.0, alive)
        scored.append((score * factor, -width, doc, n, score, factor))
    scored.sort(reverse=True)
    ordered = [n for _, _, _, n, _, _ in scored]
    if measure.words and request.fusion == "weighted":
        ordered = _curated_first(ordered, found, keys, measure, max(request.limit, GROUPED))
    ordered = _without_copies(ordered, found, keys)
    stored: dict[int, Entry] = {}
    vectors: dict[int, NDArray[np.float32]] = {}
    distinct = _distinct(found, keys, ordered, stored, vectors, request, measure=measure)
    distinct, similar = _grouped(distinct, stored, vectors, request.query)
    pairs = [
        *_open_pairs(distinct, found, stored, measure),
        *_unreviewed_pairs(distinct, found, keys, stored, measure, now=request.now),
    ]
    distinct = _newer_first(distinct, _without_named(pairs, stored, request.query) if pairs else [])
    best = [(found[keys[n][0]].store, keys[n][1], stored[n]) for n in distinct[: confidence.BEST]]
    sure = _confidence(best, request.query, measure)
    words_places, vector_places = (_places(by_words), _places(by_vector)) if request.explain else ({}, {})
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
    ranked: Sequence[int], found: Sequence[Candidates], keys: Sequence[tuple[int, int]], measure: QueryTerms, limit: int
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


def _without_copies(ranked: list[int], found: Sequence[Candidates], keys: Sequence[tuple[int, int]]) -> list[int]:
    """Return the candidates without those that have the content of a better one of the same owner, and no name either.

    They are known by the hash of their content, so that a text of which there are many copies is read once.
    """
    contents = [(_owner(found, keys[n][0]), found[keys[n][0]].signs[keys[n][1]].content_hash) for n in ranked]
    if len(set(contents)) == len(ranked):
        return ranked
    first: dict[Hashable, int] = {}
    for n, content in zip(ranked, contents, strict=True):
        place, doc = keys[n]
        first.setdefault(n if found[place].signs[doc].names else content, n)
    return list(first.values())


def _owner(found: Sequence[Candidates], place: int) -> str | None:
    """Return the owner of the candidates of a store. Only texts of the same owner are duplicates; the reader and
    `_shared` count as one.
    """
    agent = found[place].store.agent
    return None if agent in (found[0].store.agent, access_policy.SHARED) else agent


def _confidence(best: Sequence[tuple[Store, int, Entry]], query: str, measure: QueryTerms) -> float:
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


def _open_pairs(
    ranked: Sequence[int], found: Sequence[Candidates], stored: Mapping[int, Entry], measure: QueryTerms
) -> list[tuple[int, int]]:
    """Return the pairs (older, newer) that wait for review."""
    own = {stored[n].id: n for n in ranked}
    pairs = sorted(pair for one in found for pair in measure.known[one.store].pairs)
    return [(own[older], own[newer]) for _, older, newer in pairs if older in own and newer in own]


def _unreviewed_pairs(
    ranked: Sequence[int],
    found: Sequence[Candidates],
    keys: Sequence[tuple[int, int]],
    stored: Mapping[int, Entry],
    measure: QueryTerms,
    *,
    now: int,
) -> Iterator[tuple[int, int]]:
    """Yield the pairs (older, newer) that the job `review` has not found yet, of each store."""
    for place, one in enumerate(found):
        of_store = [n for n in ranked if keys[n][0] == place]
        yield from corrections(one.store, of_store, stored, measure.known[one.store].reviewed_at, now)


def _without_named(
    pairs: Sequence[tuple[int, int]], stored: Mapping[int, Entry], query: str
) -> Sequence[tuple[int, int]]:
    """Return the pairs without those whose older entry has a value that the query names and the newer one lacks.

    A query for the meeting on Monday finds that one first, even if a note about the one on Tuesday is newer.
    """
    named = contradictions.values(query)
    if not named:
        return pairs
    of = {n: named & contradictions.values(stored[n].content) for pair in pairs for n in pair}
    return [(older, newer) for older, newer in pairs if of[older] <= of[newer]]


def _newer_first(ranked: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the candidates with the newer one of each pair (older, newer) before the older one."""
    order, moved = list(ranked), True
    while moved:  # ends, because all pairs agree with the order of time
        moved = False
        for older, newer in pairs:
            if order.index(older) < order.index(newer):
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
    found: Sequence[Candidates],
    keys: Sequence[tuple[int, int]],
    ranked: Sequence[int],
    stored: dict[int, Entry],
    vectors: "dict[int, NDArray[np.float32]]",
    request: Request,
    *,
    measure: QueryTerms,
) -> list[int]:
    """Return the best candidates without duplicates of a better one: the limit, and at least GROUPED.

    Fills `stored` and `vectors` with the entries and vectors of the candidates that it compares.
    """
    limit = max(request.limit, GROUPED)

    def read() -> Iterator[tuple[int, str, Hashable]]:
        start, page = 0, limit + 2
        while start < len(ranked):
            numbers = ranked[start : start + page]
            start, page = start + page, 3 * limit + 10
            _read(found, keys, numbers, stored, vectors, measure)
            yield from (
                (n, stored[n].content, (_owner(found, keys[n][0]), stored[n].name)) for n in numbers if n in stored
            )

    return duplicates.distinct(read(), vectors, limit, by_cosine=request.duplicates == "cosine")


def _read(
    found: Sequence[Candidates],
    keys: Sequence[tuple[int, int]],
    numbers: Sequence[int],
    stored: dict[int, Entry],
    vectors: "dict[int, NDArray[np.float32]]",
    measure: QueryTerms,
) -> None:
    """Read the entries and vectors of candidates, and the pairs whose older entry is one of them."""
    for place, one in enumerate(found):
        docs, known = {keys[n][1]: n for n in numbers if keys[n][0] == place}, measure.known[one.store]
        if new := [doc for doc in docs if doc not in known.read]:
            _read_docs(one.store, new, known, named=any(one.signs[doc].names for doc in new))
        stored.update((n, known.stored[doc]) for doc, n in docs.items() if doc in known.stored)
        vectors.update((n, known.vectors[doc]) for doc, n in docs.items() if doc in known.vectors)


def _read_docs(store: Store, docs: list[int], known: KnownCandidates, *, named: bool) -> None:
    with store.read() as tx:
        own = store.vectors
        queries: list[NamedQuery] = [("reviews.open_of_docs", {"docs": docs}), ("reviews.reviewed_at", {})]
        queries += [own.query_of(docs)] if own is not None else []
        read, (open_pairs, reviewed, *embedded) = entries.read_docs(tx, docs, *queries, named=named)
        known.read.update(docs)
        known.stored |= read
        known.pairs += open_pairs
        known.reviewed_at = reviews.reviewed_at(reviewed)
        if own is not None:
            known.vectors |= own.read_of(tx, embedded[0])
