"""The inverted index of one agent, kept in ordinary tables of either database: `Segmented`, and `Index` for entries.

The argument. A full-text index must add a document durably in well under a millisecond and answer a query over a
million documents in a few milliseconds. Posting lists that are rewritten for every document are slow to write; many
small pieces are slow to read. So the index is log-structured:

- A new document is one row of the *tail*: its terms and their counts. Nothing else is written.
- When the tail reaches TAIL documents it is flushed to a *segment*: one row per term that holds the documents (16-bit
  offsets) and counts (8 bits) as two arrays. FAN segments of one level are merged into one of the next, up to 65,536
  documents. Each posting is therefore written three times in its life, always in key order, and a million documents
  make about thirty segments.
- Segments are immutable. A removed document leaves a tombstone in *removals* with its terms, so document frequencies
  stay exact; the next rewrite of its segment removes it.

All of it happens in the transaction that writes the entry, so index and entries cannot diverge. A process caches
what cannot change (document lengths of segments) and what it has read of the tail; the counters row shows what is new.
The postings themselves are read from the database for each search, in one query.

What would change this: a database with built-in BM25 that is available everywhere.
"""

import logging
import threading
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from recollect.errors import Corrupt
from recollect.search.lookup import IndexLookup, Statistics, Word
from recollect.search.tail import pack, unpack
from recollect.storage.counters import Counters
from recollect.storage.database import Row, Transaction

if TYPE_CHECKING:
    from recollect.search.segments import View

__all__ = [
    "DAMAGE",
    "FAN",
    "FOLD",
    "SPAN",
    "STALE",
    "TAIL",
    "Index",
    "Segmented",
]

TAIL = 1_024
FAN = 8
SPAN = 65_536
FOLD = 4_096
"""Number of removed documents from which the segment that holds most of them is rewritten."""
DAMAGE = (ValueError, IndexError, KeyError, TypeError)
"""Exceptions that decoding a damaged row can raise."""
STALE = 0
"""An analysis version that no analyser has: the next search or write rebuilds an index marked with it."""
LISTED = 500
"""Longest list per query: PostgreSQL binds one parameter per item."""
EXPANDED = 32
"""Maximum number of query words to expand, those in no document first; typed queries are short."""

_log = logging.getLogger("recollect.index")


class Segmented:
    """Base class of the indexes: immutable segments plus a tail. Thread-safe.

    A subclass says where its rows are: the named queries, the view of its segments, the removed documents.
    """

    queries = "index"
    postings = "postings"
    """The table of its posting lists."""
    undoes = False
    """Whether a view of it answers for older snapshots, too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._view: View | None = None
        self.reads: Counter[str] = Counter()
        """How often the cached view answered, was updated first, or was read from the start."""

    def cached(self) -> int:
        """Return the bytes of the cached view, estimated."""
        view = self._view
        return 0 if view is None else view.size

    def release(self) -> None:
        """Drop the cached view."""
        with self._lock:
            self._view = None

    def _new_view(self, generation: int) -> "View":
        """Return an empty view."""
        raise NotImplementedError

    def _removed(self, tx: Transaction, first: int, last: int) -> list[int]:
        """Return the documents of a range that were removed but are still in their segments."""
        return []

    def _rewritten(self, tx: Transaction, first: int, last: int) -> None:
        """Delete the tombstones of a range, after its segments were rewritten without the removed documents."""

    def _merge_due(self, tx: Transaction, counters: Counters) -> None:
        """Merge the newest FAN segments into one, repeatedly, while they have the same level and fit into SPAN."""
        while True:
            newest = tx.all(f"{self.queries}.segments")[-FAN:]
            first, end = newest[0][2], newest[-1][2] + newest[-1][3]
            if len(newest) < FAN or len({level for _, level, _, _ in newest}) > 1 or end - first > SPAN:
                return
            self._rewrite(tx, counters, newest)

    def _rewrite(self, tx: Transaction, counters: Counters, segments: Sequence[Row]) -> None:
        """Merge adjacent segments into one, dropping removed documents."""
        from recollect.search.segments import merge

        numbers = [segment for segment, _, _, _ in segments]
        first, end = segments[0][2], segments[-1][2] + segments[-1][3]
        blobs = [tx.all(f"{self.queries}.lengths", segment=segment)[0][0] for segment in numbers]
        lengths, lists = merge(
            first,
            [(row[0], row[2], blob) for row, blob in zip(segments, blobs, strict=True)],
            tx.all(f"{self.queries}.postings_of", segments=numbers),
            self._removed(tx, first, end - 1),
            end - first,
        )
        tx.run(f"{self.queries}.segments_drop", segments=numbers)
        tx.run(f"{self.queries}.postings_drop", segments=numbers)
        self._rewritten(tx, first, end - 1)
        level = segments[0][1] + (len(segments) > 1)
        self._write_segment(tx, counters, lists, level=level, first=first, size=end - first, lengths=lengths)

    def _write_segment(
        self,
        tx: Transaction,
        counters: Counters,
        lists: Iterable[tuple[str, bytes]],
        *,
        level: int,
        first: int,
        size: int,
        lengths: bytes,
    ) -> None:
        """Write a segment: its posting lists, and the range and lengths of its documents."""
        counters.layout += 1
        segment = counters.layout
        tx.run(f"{self.queries}.segment_put", segment=segment, level=level, first=first, size=size, lengths=lengths)
        rows = ((tx.agent, segment, term, data) for term, data in lists)
        tx.load(self.postings, ("agent", "segment", "term", "data"), rows)

    def _current(self, tx: Transaction, counters: Counters, *, exactly: bool = False) -> "View":
        """Return the cached view, updated to the state that the transaction sees, or newer if it can answer for it."""
        known = self._view
        if known is not None and self.undoes and not exactly and known.covers(tx, counters):
            self.reads["hit"] += 1
            return known
        if known is not None and known.precedes(tx, counters):
            self._view = None  # dropped during the update, which may fail half-way
            known.update(tx, counters)
            self._view = known
            self.reads["updated"] += 1
            return known
        self.reads["missed"] += 1
        view = self._new_view(tx.generation)
        view.update(tx, counters)
        # A transaction with an older snapshot must not replace a newer cached view.
        if known is None or known.generation != tx.generation:
            self._view = view
        return view


class Index(Segmented):
    """The index of one agent's entries: put, remove, erase, search, rebuild, check."""

    undoes = True

    def put(self, tx: Transaction, counters: Counters, terms: Mapping[str, int]) -> int:
        """Index a document and return its number."""
        counters.documents += 1
        counters.live += 1
        counters.tokens += sum(terms.values())
        tx.send("index.tail_put", doc=counters.documents, terms=pack(terms))
        if counters.documents - counters.flushed >= TAIL and counters.analysis != STALE:
            self._tidy(self._flush, tx, counters)
        return counters.documents

    def put_all(self, tx: Transaction, counters: Counters, documents: Sequence[Mapping[str, int]]) -> int:
        """Index documents; return the number of the first, which the others follow.

        Documents that fill the tail are written to a segment, without a row in the tail; many of them to a segment of
        the size to which the next merge would bring them.
        """
        first, start = counters.documents + 1, 0
        while start < len(documents):
            waiting = counters.documents - counters.flushed
            level, size = self._next_segment(tx, waiting + len(documents) - start)
            some = documents[start : start + (size - waiting if waiting < size else size)]
            fresh = list(enumerate(some, counters.documents + 1))
            start += len(some)
            counters.documents += len(some)
            counters.live += len(some)
            counters.tokens += sum(sum(terms.values()) for terms in some)
            if waiting + len(some) < TAIL or counters.analysis == STALE:
                tx.load("tail", ("agent", "doc", "terms"), ((tx.agent, doc, pack(terms)) for doc, terms in fresh))
            else:
                self._tidy(partial(self._flush, fresh=fresh, level=level), tx, counters)
        return first

    def _next_segment(self, tx: Transaction, documents: int) -> tuple[int, int]:
        """Return level and size of the segment that the next documents go to, of which there are so many."""
        if documents >= FAN * TAIL <= SPAN:
            segments = tx.all("index.segments")
            if not segments or segments[-1][1] > 0:  # smaller ones before it would never be merged
                return 1, FAN * TAIL
        return 0, TAIL

    def remove(self, tx: Transaction, counters: Counters, doc: int, entry_id: str, terms: Mapping[str, int]) -> None:
        """Remove a document; `terms` are those it was indexed with."""
        counters.live -= 1
        counters.tokens -= sum(terms.values())
        counters.removals += 1
        tx.send("index.removal_put", number=counters.removals, doc=doc, entry_id=entry_id, terms=pack(terms))
        if counters.removals % min(TAIL, FOLD) == 0 and counters.analysis != STALE:
            self._tidy(self._fold, tx, counters)

    def erase(self, tx: Transaction, counters: Counters, ids: Sequence[str]) -> int:
        """Purge the postings and tombstones of the removed documents of entries; return the number of rows changed."""
        cleaned, removed = 0, dict[int, Iterable[str]]()
        for some in _chunks(ids):
            removed |= {doc: unpack(line) for doc, line in tx.all("index.removals_of", ids=some)}
            cleaned += tx.run("index.removals_erase", ids=some)
        for doc in [doc for doc in removed if doc > counters.flushed]:
            cleaned += tx.run("index.tail_drop", doc=doc)
        for segment, _, first, size in tx.all("index.segments"):
            gone = {doc - first: terms for doc, terms in removed.items() if first <= doc < first + size}
            if gone:
                cleaned += self._purge(tx, counters, segment, gone)
        counters.layout += 1
        return cleaned

    def holding(self, tx: Transaction, counters: Counters, terms: Sequence[str]) -> dict[str, int]:
        """Return the document frequency of each term, removed documents excluded."""
        if not terms or not counters.live:
            return {}
        with self._lock:
            return dict(self._current(tx, counters).postings(tx, terms, counters)[1])

    def terms_of(self, tx: Transaction, counters: Counters, doc: int) -> dict[str, int]:
        """Return the terms a document is indexed under by scanning its segment. Slow: for when the text is lost."""
        from recollect.search.segments import count_in

        if doc > counters.flushed:
            return next((unpack(line) for one, line in tx.all("index.tail_after", doc=doc - 1) if one == doc), {})
        found: dict[str, int] = {}
        for segment, _, first, size in tx.all("index.segments"):
            if first <= doc < first + size:
                for _, term, data in tx.all("index.postings_of", segments=[segment]):
                    if count := count_in(data, doc - first):
                        found[term] = count
        return found

    def search(self, tx: Transaction, counters: Counters, query: Sequence[Word], limit: int) -> list[tuple[int, float]]:
        """Return the best documents for a query, as (number, score).

        The query is a list of words, each with its spellings; the spellings of a word share its idf, and each may have
        its own weight.
        """
        look = self.look(tx, counters, query)
        return look.ranking(Statistics([look]))(limit)

    def look(
        self, tx: Transaction, counters: Counters, query: Sequence[Word], *, prefix: bool = False, fuzzy: float = 0.0
    ) -> IndexLookup:
        """Return the postings for the words of a query; `prefix` and `fuzzy` also match similar terms."""
        if not query or not counters.live:
            return IndexLookup(query, [], Counter(), counters.live, counters.tokens)
        if prefix or fuzzy > 0:
            query = self._expanded(tx, counters, query, prefix, fuzzy)
        with self._lock:
            terms = [term for word in query for term in word]
            lists, holding = self._current(tx, counters).postings(tx, terms, counters)
        return IndexLookup(query, lists, holding, counters.live, counters.tokens)

    def _expanded(
        self, tx: Transaction, counters: Counters, query: Sequence[Word], prefix: bool, fuzzy: float
    ) -> list[Word]:
        """Return the query with prefix and fuzzy matches added to each word, replacing words not in the index."""
        from recollect.search.vocabulary import best

        with self._lock:
            view = self._current(tx, counters)
            known = view.known(tx, [term for word in query for term in word], counters)
            vocabularies = view.vocabularies(tx)
        expanded = list(query)
        for place in sorted(range(len(query)), key=lambda place: not known.isdisjoint(query[place]))[:EXPANDED]:
            own = known.intersection(query[place])
            typed = next(iter(query[place]))
            segments, tail = (one.like(typed, prefix=prefix, fuzzy=fuzzy) for one in vocabularies)
            like = {term: weight for term, weight in best(segments | tail).items() if term not in own}
            expanded[place] = {**dict.fromkeys(own, 1.0), **like} or query[place]
        return expanded

    def rebuild(self, tx: Transaction, counters: Counters) -> None:
        """Clear the index; the caller then puts every document again."""
        for query in ("clear_tail", "clear_segments", "clear_postings", "clear_removals"):
            tx.run(f"index.{query}")
        counters.live = counters.tokens = 0
        counters.flushed = counters.documents
        counters.layout += 1

    def check(
        self, tx: Transaction, counters: Counters, documents: Iterable[tuple[int, Mapping[str, int]]]
    ) -> list[str]:
        """Return the differences between the index and the documents that should be in it."""
        from recollect.search.segments import fingerprint

        expected = {doc: (fingerprint(terms), sum(terms.values())) for doc, terms in documents}
        removed = {
            doc: (fingerprint(terms), sum(terms.values()))
            for doc, terms in ((doc, unpack(line)) for _, doc, line in tx.all("index.removals_after", number=0))
        }
        return [
            *_wrong_counters(counters, len(expected), sum(length for _, length in expected.values())),
            *_wrong_documents(_indexed(tx, counters), expected, removed),
        ]

    def whole(self, tx: Transaction, counters: Counters) -> bool:
        """Return whether the index agrees with the counters; a quick check that reads little more than a search."""
        try:
            with self._lock:
                return self._current(tx, counters, exactly=True).is_whole(tx, counters)
        except DAMAGE:
            return False

    # Writing

    @staticmethod
    def _tidy(step: Callable[[Transaction, Counters], None], tx: Transaction, counters: Counters) -> None:
        """Run a flush or fold step. If rows are damaged, mark the index stale instead of failing the write."""
        try:
            step(tx, counters)
        except DAMAGE as error:
            _log.warning("the index of %s is damaged (%s); the next search or write rebuilds it", tx.agent, error)
            counters.analysis = STALE

    def _flush(
        self,
        tx: Transaction,
        counters: Counters,
        fresh: Iterable[tuple[int, Mapping[str, int]]] = (),
        level: int = 0,
    ) -> None:
        """Flush the tail, and `fresh` documents that follow it, to a segment; then merge segments that are due."""
        from recollect.search.segments import postings_of

        first, last = counters.flushed + 1, counters.documents
        if last - first >= SPAN:
            raise Corrupt(
                f"the index records {last - first + 1} documents in its tail, which never has so many; "
                "run `recollect check --repair`"
            )
        removed = set(self._removed(tx, first, last))
        tail = ((doc, unpack(line)) for doc, line in tx.all("index.tail_after", doc=counters.flushed))
        documents = [(doc - first, terms) for doc, terms in chain(tail, fresh) if doc not in removed]
        lengths = array("I", bytes(4 * (last - first + 1)))
        for offset, terms in documents:
            lengths[offset] = sum(terms.values())
        lists, size = postings_of(documents), len(lengths)
        self._write_segment(tx, counters, lists, level=level, first=first, size=size, lengths=lengths.tobytes())
        tx.run("index.tail_until", doc=last)
        self._rewritten(tx, first, last)
        counters.flushed = last
        self._merge_due(tx, counters)

    def _removed(self, tx: Transaction, first: int, last: int) -> list[int]:
        return [doc for (doc,) in tx.all("index.removed_docs", first=first, last=last)]

    def _rewritten(self, tx: Transaction, first: int, last: int) -> None:
        tx.run("index.removals_drop", first=first, last=last)

    def _new_view(self, generation: int) -> "View":
        from recollect.search.segments import View

        return View(generation)

    def _fold(self, tx: Transaction, counters: Counters) -> None:
        """If many documents were removed, rewrite the segment that holds most of them."""
        ((outstanding,),) = tx.all("index.removals_count")
        if outstanding < max(FOLD, counters.live // 16):
            return
        segments = tx.all("index.segments")
        starts = [first for _, _, first, _ in segments]
        docs = [doc for _, doc, _ in tx.all("index.removals_after", number=0) if doc <= counters.flushed]
        fullest = Counter(bisect_right(starts, doc) - 1 for doc in docs).most_common(1)
        if fullest:
            self._rewrite(tx, counters, [segments[fullest[0][0]]])

    def _purge(self, tx: Transaction, counters: Counters, segment: int, gone: Mapping[int, Iterable[str]]) -> int:
        """Purge documents, by offset with their terms, from a segment; return the number of rows changed."""
        from recollect.search.segments import without

        terms = list({term for found in gone.values() for term in found})
        lists = [row for some in _chunks(terms) for row in tx.all("index.postings", segments=[segment], terms=some)]
        left = zip(lists, without((data for _, _, data in lists), list(gone)), strict=True)
        rows = [(term, data) for (_, term, _), data in left]
        tx.many("index.postings_set", ({"segment": segment, "term": term, "data": data} for term, data in rows if data))
        tx.many("index.postings_remove", ({"segment": segment, "term": term} for term, data in rows if not data))
        ((blob,),) = tx.all("index.lengths", segment=segment)
        lengths = array("I", blob)
        for offset in gone:
            lengths[offset] = 0
        # A new number invalidates caches: processes cache a segment by its number.
        counters.layout += 1
        tx.run("index.postings_rename", segment=segment, new=counters.layout)
        tx.run("index.segment_rename", segment=segment, new=counters.layout, lengths=lengths.tobytes())
        return len(rows)


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the values in parts that fit into one query."""
    return (values[start : start + LISTED] for start in range(0, len(values), LISTED))


def _indexed(tx: Transaction, counters: Counters) -> dict[int, tuple[int, int]]:
    """Return the fingerprint and length of every document in the tail and the segments."""
    from recollect.search.segments import fingerprint, fingerprints

    indexed: dict[int, tuple[int, int]] = {}
    for doc, line in tx.all("index.tail_after", doc=counters.flushed):
        terms = unpack(line)
        indexed[doc] = fingerprint(terms), sum(terms.values())
    for segment, _, first, size in tx.all("index.segments"):
        ((blob,),) = tx.all("index.lengths", segment=segment)
        if len(blob) != 4 * size:
            raise ValueError(f"segment {segment} has {len(blob) // 4} documents, not {size}")
        prints = fingerprints(size, tx.all("index.postings_of", segments=[segment])).tolist()
        for offset, (print_, length) in enumerate(zip(prints, array("I", blob), strict=True)):
            if print_ or length:
                indexed[first + offset] = print_, length
    return indexed


def _wrong_counters(counters: Counters, live: int, tokens: int) -> Iterator[str]:
    if (counters.live, counters.tokens) != (live, tokens):
        yield f"the index counts {counters.live} documents and {counters.tokens} terms; there are {live} and {tokens}"
    if not 0 <= counters.documents - counters.flushed < TAIL:
        yield (
            f"the counter of documents says {counters.documents}, and {counters.flushed} are said to be in "
            "segments; both cannot be right"
        )


def _wrong_documents(
    indexed: Mapping[int, tuple[int, int]],
    expected: Mapping[int, tuple[int, int]],
    removed: Mapping[int, tuple[int, int]],
) -> Iterator[str]:
    """Yield the differences between documents, each given as a fingerprint of its terms and its length."""
    for doc in indexed.keys() - expected.keys() - removed.keys():
        yield f"document {doc} is in the index, but no entry has it"
    for doc, terms in removed.items():
        if doc not in expected and indexed.get(doc, (0, 0)) != terms:
            yield f"document {doc} was removed under other words than it is indexed"
    for doc, terms in expected.items():
        if doc in removed:
            yield f"document {doc} is marked as removed, but an entry has it"
        elif indexed.get(doc, (0, 0)) != terms:
            yield f"document {doc} is not indexed under the words that its entry has"
