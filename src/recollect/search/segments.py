"""The arrays of the index: posting lists, segment merging, and a process's cached view of an index.

Imported by the first search or merge and not with the package, because it needs numpy.
"""

import itertools
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.errors import Corrupt
from recollect.search.bm25 import DocumentRange, PostingList
from recollect.search.tail import MOST, unpack
from recollect.search.vocabulary import Vocabulary
from recollect.storage.counters import Counters
from recollect.storage.database import Row, Transaction

__all__ = ["View", "count_in", "fingerprint", "fingerprints", "merge", "posting_list", "postings_of", "without"]

FARTHEST = 65_536
"""Limit of document offsets: a posting list stores them in 16 bits."""
TERM = 400
"""Bytes that a term of the tail takes in memory, about."""
UNDONE = 256
"""Number of the last removals that a view can undo for a reader with an older snapshot."""


class _RemovedDocument(NamedTuple):
    """A removed document: the number of its removal, and what it was indexed with."""

    number: int
    doc: int
    length: int
    terms: frozenset[str]


class View:
    """A process's cached view of an index: segments by number, the tail, and the removals."""

    queries = "index"

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.layout = -1
        self.documents = self.removals = 0
        self._first = 1
        self._segments: dict[int, DocumentRange] = {}
        self._tail: dict[str, tuple[array[int], bytearray]] = {}
        self._lengths: array[int] = array("I")
        self._gone: Counter[str] = Counter()
        self._removed: deque[_RemovedDocument] = deque(maxlen=UNDONE)
        self._of_segments: tuple[int, Vocabulary] | None = None
        self._of_tail: tuple[tuple[int, int], Vocabulary] | None = None
        self._range_of_tail: tuple[tuple[int, int, int, int], DocumentRange] | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes, estimated: lengths and norms of documents, and the terms of the tail."""
        return sum(12 * len(part.lengths) for part in self._segments.values()) + TERM * len(self._tail)

    def precedes(self, tx: Transaction, counters: Counters) -> bool:
        """Return whether this view can be updated to the transaction's state."""
        return (
            self.generation == tx.generation
            and self.layout <= counters.layout
            and self.documents <= counters.documents
            and self.removals <= counters.removals
        )

    def covers(self, tx: Transaction, counters: Counters) -> bool:
        """Return whether this view, which is newer, can answer for the transaction's state: see `postings`."""
        return (
            self.generation == tx.generation
            and self.layout == counters.layout
            and self.documents >= counters.documents
            and 0 <= self.removals - counters.removals <= len(self._removed)
        )

    def update(self, tx: Transaction, counters: Counters) -> None:
        """Read new segments, documents and removals."""
        if self.layout != counters.layout:
            self._read_segments(tx, counters)
        if counters.documents > self.documents:
            for doc, terms in self._tail_after(tx, self.documents):
                self._read_document(doc - self._first, terms)
            self.documents = counters.documents
        if counters.removals > self.removals:
            parts = sorted(self._segments.values(), key=lambda part: part.first)
            starts = [part.first for part in parts]
            for number, doc, line in tx.all("index.removals_after", number=self.removals):
                terms = unpack(line)
                self._gone.update(terms.keys())
                self._removed.append(_RemovedDocument(number, doc, sum(terms.values()), frozenset(terms)))
                if doc >= self._first:
                    self._lengths[doc - self._first] = 0
                else:
                    part = parts[bisect_right(starts, doc) - 1]
                    part.lengths[doc - part.first] = 0
            self.removals = counters.removals

    def postings(
        self, tx: Transaction, terms: Sequence[str], counters: Counters | None = None
    ) -> tuple[list[tuple[DocumentRange, dict[str, PostingList]]], Counter[str]]:
        """Return the posting lists of the terms per part, newest first, and the document frequency of each term.

        With the counters of an older snapshot that the view `covers`, it is what that snapshot has: later documents are
        left out, and later removals undone.
        """
        holding: Counter[str] = Counter()
        found: dict[int, dict[str, PostingList]] = {segment: {} for segment in self._segments}
        if self._segments:
            for segment, term, data in tx.all(f"{self.queries}.postings", segments=list(self._segments), terms=terms):
                found[segment][term] = posting_list(data)
                holding[term] += len(found[segment][term][0])
        undone = [one for one in self._removed if one.number > counters.removals] if counters is not None else []
        size = len(self._lengths) if counters is None else counters.documents - self._first + 1
        fresh: dict[str, PostingList] = {}
        for term in set(terms):
            if term in self._tail:
                tail_docs, tail_counts = self._tail[term]
                held = bisect_left(tail_docs, size)
                if held:
                    fresh[term] = np.array(tail_docs[:held], np.uint16), np.array(tail_counts[:held], np.uint8)
                holding[term] += held
            holding[term] -= self._gone[term] - sum(term in one.terms for one in undone)
        tail = self._tail_range(size)
        newest_first = sorted(self._segments.items(), key=lambda item: -item[1].first)
        lists = [(tail, fresh), *((part, found[segment]) for segment, part in newest_first)]
        return [(_with_lengths(part, undone), held) for part, held in lists] if undone else lists, holding

    def _tail_range(self, size: int) -> DocumentRange:
        """Return the first documents of the tail, cached until the view is updated."""
        state = self.layout, self.documents, self.removals, size
        if self._range_of_tail is None or self._range_of_tail[0] != state:
            self._range_of_tail = state, _part(self._first, np.array(self._lengths[:size], np.uint32))
        return self._range_of_tail[1]

    def is_whole(self, tx: Transaction, counters: Counters) -> bool:
        """Return whether the lengths add up to the counter of terms and every segment has posting lists."""
        filled = {segment for segment, part in self._segments.items() if part.lengths.any()}
        terms = sum(int(self._segments[segment].lengths.sum()) for segment in filled) + sum(self._lengths)
        return terms == counters.tokens and all(tx.one("index.posting", segment=segment) for segment in filled)

    def known(self, tx: Transaction, terms: Sequence[str], counters: Counters) -> set[str]:
        """Return those of the terms that occur in a document."""
        return {term for term, count in self.postings(tx, terms, counters)[1].items() if count > 0}

    def vocabularies(self, tx: Transaction) -> tuple[Vocabulary, Vocabulary]:
        """Return the vocabularies of the segments (slow to read, seldom changed) and of the tail, cached separately."""
        if self._of_segments is None or self._of_segments[0] != self.layout:
            rows = tx.all("index.vocabulary", segments=list(self._segments))
            self._of_segments = self.layout, Vocabulary(term for (term,) in rows)
        state = self.layout, self.documents
        if self._of_tail is None or self._of_tail[0] != state:
            self._of_tail = state, Vocabulary(self._tail)
        return self._of_segments[1], self._of_tail[1]

    def _read_segments(self, tx: Transaction, counters: Counters) -> None:
        known, self._segments = self._segments, {}
        for segment, _, first, _ in tx.all(f"{self.queries}.segments"):
            if segment in known:
                self._segments[segment] = known[segment]
            else:
                ((blob,),) = tx.all(f"{self.queries}.lengths", segment=segment)
                self._segments[segment] = _part(first, self._lengths_in(first, blob))
        self.layout = counters.layout
        self._first = counters.flushed + 1
        self.documents, self.removals = counters.flushed, 0
        self._tail, self._lengths, self._gone = {}, array("I"), Counter()
        self._removed.clear()

    def _tail_after(self, tx: Transaction, doc: int) -> Iterable[tuple[int, Mapping[str, int]]]:
        """Return the documents of the tail after `doc`, with their terms."""
        return ((number, unpack(line)) for number, line in tx.all("index.tail_after", doc=doc))

    def _lengths_in(self, first: int, blob: bytes) -> NDArray[np.uint32]:
        """Decode the document lengths of a segment."""
        return np.frombuffer(blob, "<u4").copy()

    def _read_document(self, offset: int, terms: Mapping[str, int]) -> None:
        if offset >= FARTHEST:
            raise Corrupt(f"document {self._first + offset} is not in its place; run `recollect check --repair`")
        self._lengths.extend([0] * (offset + 1 - len(self._lengths)))
        self._lengths[offset] = sum(terms.values())
        for term, count in terms.items():
            docs, counts = self._tail.setdefault(term, (array("H"), bytearray()))
            docs.append(offset)
            counts.append(min(count, MOST))


def posting_list(data: bytes) -> PostingList:
    """Decode a stored posting list. Raises ValueError if it is empty, which only damage makes it."""
    size = len(data) // 3
    if not size:
        raise ValueError("a posting list is empty")
    return np.frombuffer(data, "<u2", size), np.frombuffer(data, "u1", size, 2 * size)


def postings_of(documents: Iterable[tuple[int, Mapping[str, int]]]) -> Iterator[tuple[str, bytes]]:
    """Build posting lists, sorted by term, from documents given as (offset in the segment, terms), in order."""
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    number_of = numbers.__getitem__
    offsets, sizes, found, counts = array("H"), array("I"), array("I"), array("I")
    for offset, terms in documents:
        offsets.append(offset)
        sizes.append(len(terms))
        found.extend(map(number_of, terms))
        counts.extend(terms.values())
    order = np.argsort(np.array(found, np.uint32), kind="stable")
    doc_bytes = np.repeat(np.array(offsets, "<u2"), np.array(sizes, np.uint32))[order].tobytes()
    count_bytes = np.minimum(np.array(counts, np.uint32), MOST).astype("u1")[order].tobytes()
    ends = np.cumsum(np.bincount(np.array(found, np.uint32))).tolist()
    for term in sorted(numbers):
        number = numbers[term]
        start, end = ends[number - 1] if number else 0, ends[number]
        yield term, doc_bytes[2 * start : 2 * end] + count_bytes[start:end]


def merge(
    first: int, segments: Sequence[tuple[int, int, bytes]], rows: Sequence[Row], removed: Sequence[int], size: int
) -> tuple[bytes, Iterator[tuple[str, bytes]]]:
    """Merge adjacent segments: return the new lengths, and the posting lists sorted by term.

    `segments` are (number, first document, lengths), `rows` their posting lists, `removed` the documents to leave out.
    A length may be a larger fixed-size record, which is carried over whole.
    """
    gone = np.zeros(size, bool)
    gone[[doc - first for doc in removed]] = True
    lengths = np.concatenate([np.frombuffer(blob, np.uint8) for _, _, blob in segments]).reshape(size, -1)
    lengths[gone] = 0

    shift_of = {segment: start - first for segment, start, _ in segments}
    # By document, not by segment number: a rewritten segment has a newer number than its neighbours.
    rows = sorted(rows, key=lambda row: (row[1], shift_of[row[0]]))
    sizes = np.array([len(data) // 3 for _, _, data in rows], np.int64)
    shifts = np.array([shift_of[segment] for segment, _, _ in rows], np.uint16)
    docs = np.frombuffer(b"".join(data[: len(data) // 3 * 2] for _, _, data in rows), "<u2") + np.repeat(shifts, sizes)
    counts = np.frombuffer(b"".join(data[len(data) // 3 * 2 :] for _, _, data in rows), "u1")
    kept = ~gone[docs]
    # Number of kept postings up to the end of each row.
    left = np.concatenate(([0], np.cumsum(kept)))[np.cumsum(sizes)].tolist()
    doc_bytes, count_bytes = docs[kept].astype("<u2").tobytes(), counts[kept].tobytes()

    def lists() -> Iterator[tuple[str, bytes]]:
        start = 0
        for i, (_, term, _) in enumerate(rows):
            if i + 1 < len(rows) and rows[i + 1][1] == term:
                continue
            if left[i] > start:
                yield term, doc_bytes[2 * start : 2 * left[i]] + count_bytes[start : left[i]]
            start = left[i]

    return lengths.tobytes(), lists()


def without(lists: Iterable[bytes], offsets: Sequence[int]) -> Iterator[bytes]:
    """Yield posting lists without some documents."""
    kept = np.ones(2**16, np.bool_)
    kept[list(offsets)] = False
    for data in lists:
        docs, counts = posting_list(data)
        keep = kept[docs]
        yield docs[keep].tobytes() + counts[keep].tobytes()


def count_in(data: bytes, offset: int) -> int:
    """Return a document's term frequency in a posting list."""
    docs, counts = posting_list(data)
    return int(counts[docs == offset].sum())


def fingerprint(terms: Mapping[str, int]) -> int:
    """Return a 64-bit, order-independent hash of a document's terms and counts."""
    return sum(_mark(term) * (2 * min(count, MOST) + 1) for term, count in terms.items()) % 2**64


def fingerprints(size: int, rows: Sequence[Row]) -> NDArray[np.uint64]:
    """Return the fingerprints of all documents of a segment, computed from its posting lists."""
    sums = np.zeros(size, np.uint64)
    for _, term, data in rows:
        docs, counts = posting_list(data)
        sums[docs] += np.uint64(_mark(term)) * (2 * counts.astype(np.uint64) + np.uint64(1))
    return sums


def _part(first: int, lengths: NDArray[np.uint32]) -> DocumentRange:
    present = lengths[lengths > 0]
    return DocumentRange(first, lengths, int(present.min()) if len(present) else 1)


def _with_lengths(part: DocumentRange, removed: Sequence[_RemovedDocument]) -> DocumentRange:
    """Return a part with the lengths of those of the documents that are in it; a copy, because others read it."""
    inside = [one for one in removed if 0 <= one.doc - part.first < len(part.lengths)]
    if not inside:
        return part
    lengths = part.lengths.copy()
    for one in inside:
        lengths[one.doc - part.first] = one.length
    return DocumentRange(part.first, lengths, min(part.shortest, *(one.length for one in inside)))


def _mark(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "big")
