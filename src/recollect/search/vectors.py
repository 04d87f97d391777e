"""The vectors of one agent: put, forget, search. Cosine over unit vectors, in the same file and transaction.

The argument. Comparing a query with every vector is exact and needs no index; with 256 dimensions that is under a
millisecond up to some 8,000 vectors, and at 100,000 it is ten times slower than the word search. So:

- The newest vectors, about PACK of them, are compared exhaustively: exact, and a new vector is found at once.
- Every PACK of them are also written as a *pack*, quantised to one byte per dimension. The signs of 64 dimensions make
  one word, and the Hamming distance between query and vector takes a few nanoseconds. The best SIFTED by that distance
  are compared by their bytes, and the best of these are read and compared exactly. On real vectors that finds 99 % of
  the true ten nearest. A pack is never appended to; a forgotten or replaced vector is skipped when its row is not
  found, and its bytes are swept when something is erased, or when dead vectors outnumber live ones.
- Where the database can rank vectors (`Transaction.ranks_vectors`), it does so instead: exactly below INDEXED vectors,
  through its index above that, and exactly again for limits beyond what the index supports.

A process caches packs and the newest vectors it has read; the counters row shows what is new. Vectors of different
models, or of different dimensions of one model, are kept apart and never compared.

`np.vecdot` computes the products, one thread for a call: `@` would use all threads of BLAS, which spin for others that
have no processor and take several times the processor time for the same latency.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import Corrupt
from recollect.search.growing_rows import GrowingRows
from recollect.storage.counters import Counters
from recollect.storage.database import NamedQuery, Row, Transaction

__all__ = ["INDEXED", "PACK", "SIFTED", "Vectors", "damage", "mend", "sweep"]

PACK = 8_192
SIFTED = 1_024
SPARE = 8
"""Extra candidates for the exact comparison, because quantisation changes the order slightly."""
INDEXED = 2_000
INDEXABLE = 2_000
"""The most dimensions that the database's index supports; longer vectors are compared exhaustively."""
DEEPEST = 500
"""The highest limit used with the database's index; beyond it the index scan stops before it has enough rows."""
CHUNK = 10_000
"""Parameters per query; databases accept some 30,000."""
DIGITS = 6
"""Decimals of a cosine: equal vectors must tie, but the last bits of a product depend on the row's position."""
PAGE = 1_000
"""Vectors per batch of a check."""

Floats = NDArray[np.float32]


class Vectors:
    """The vectors of one agent made by one model. Thread-safe."""

    def __init__(self, model: str, dimension: int) -> None:
        self.model, self.dimension = model, dimension
        self._lock = threading.Lock()
        self._known: _CachedVectors | None = None

    def cached(self) -> int:
        """Return the bytes of the cached vectors."""
        known = self._known
        return 0 if known is None else known.size

    def release(self) -> None:
        """Drop the cached vectors."""
        with self._lock:
            self._known = None

    def put(self, tx: Transaction, counters: Counters, entry_id: str, vector: Floats, *, stale: bool = False) -> None:
        """Store the vector of an entry, replacing any earlier one; a `stale` one is searched until it is replaced."""
        counters.vectors += 1
        tx.send(
            "vectors.put",
            entry_id=entry_id,
            number=counters.vectors,
            model=self.model,
            dim=self.dimension,
            vector=tx.vector(np.asarray(vector, "<f4").tobytes()),
            stale=int(stale),
        )
        if tx.ranks_vectors:
            # At every multiple, because all models share one sequence of numbers.
            if counters.vectors % INDEXED == 0 and self.dimension <= INDEXABLE:
                tx.run("vectors.index", dim=self.dimension)
        elif counters.vectors % (PACK // 8) == 0:
            self._pack(tx)

    def search(self, tx: Transaction, counters: Counters, query: Floats, limit: int) -> list[tuple[int, float]]:
        """Return the nearest entries as (document, cosine), best first."""
        if tx.ranks_vectors:
            return self._ranked(tx, self._asked(tx, counters, query, limit), query, limit)
        with self._lock:
            known = self._current(tx, counters)
        wanted = limit + SPARE
        while True:
            numbers = known.nearest(query, wanted)
            rows = self._exact(tx, numbers)
            # Forgotten vectors leave gaps among the candidates: then request more.
            if len(rows) >= limit or len(numbers) < wanted:
                return self._ranked(tx, rows, query, limit)
            wanted *= 4

    def among(self, tx: Transaction, query: Floats, docs: Collection[int], limit: int) -> list[tuple[int, float]]:
        """Return the nearest of some documents, as `search` does."""
        found = self.of(tx, list(docs))
        matrix = np.array(list(found.values()), np.float32).reshape(len(found), self.dimension)
        return _by_cosine(list(found), matrix, query, limit)

    def of(self, tx: Transaction, docs: Sequence[int]) -> dict[int, Floats]:
        """Return the vectors of those documents that have one."""
        (rows,) = tx.all_of(self.query_of(docs))
        return self.read_of(tx, rows)

    def query_of(self, docs: Sequence[int]) -> NamedQuery:
        """Return the query whose rows `read_of` reads: the vectors of documents."""
        return "vectors.of_docs", {"docs": docs, "model": self.model, "dim": self.dimension}

    def read_of(self, tx: Transaction, rows: Sequence[Row]) -> dict[int, Floats]:
        """Return the vectors of those documents that have one, from the rows of `query_of`."""
        found = ((doc, tx.vector_bytes(raw)) for doc, raw in rows if raw is not None)
        # A damaged vector counts as missing.
        return {doc: np.frombuffer(raw, "<f4") for doc, raw in found if len(raw) == 4 * self.dimension}

    def embedded(self, tx: Transaction, docs: Sequence[int]) -> set[int]:
        """Return those of the documents that have a vector."""
        found: set[int] = set()
        for start in range(0, len(docs), CHUNK):
            some = docs[start : start + CHUNK]
            found.update(doc for (doc,) in tx.all("vectors.embedded", docs=some, model=self.model, dim=self.dimension))
        return found

    def has_any(self, tx: Transaction) -> bool:
        """Return whether there is a vector of this model."""
        return tx.one("vectors.some", model=self.model, dim=self.dimension) is not None

    def has_stale(self, tx: Transaction) -> bool:
        """Return whether a vector of this model was made from an earlier text of its entry."""
        return tx.one("vectors.some_stale", model=self.model, dim=self.dimension) is not None

    def other(self, tx: Transaction) -> tuple[str, int] | None:
        """Return the name and dimension of another model with stored vectors, if there is one."""
        for query in ("vectors.other_before", "vectors.other_after"):
            row = tx.one(query, model=self.model, dim=self.dimension)
            if row is not None:
                return row[0], row[1]
        return None

    def _asked(self, tx: Transaction, counters: Counters, query: Floats, limit: int) -> list[Row]:
        """Search in the database: through its index where that applies and finds enough, else exhaustively."""
        rows: list[Row] = []
        for index in ("on", "off") if counters.vectors >= INDEXED and limit <= DEEPEST else ("off",):
            tx.send("vectors.search_list", size=str(max(2 * min(limit, DEEPEST), 100)), index=index)
            rows = tx.all(
                "vectors.nearest",
                model=self.model,
                dim=self.dimension,
                limit=limit,
                vector=tx.vector(np.asarray(query, "<f4").tobytes()),
            )
            if len(rows) >= limit:
                break
        return rows

    def _exact(self, tx: Transaction, numbers: Sequence[int]) -> list[Row]:
        """Return (number, document, vector) rows for those of the numbers that still exist."""
        rows: list[Row] = []
        for start in range(0, len(numbers), CHUNK):
            some = numbers[start : start + CHUNK]
            rows += tx.all("vectors.exact", model=self.model, dim=self.dimension, numbers=some)
        return [row for row in rows if row[1] is not None]

    def _ranked(self, tx: Transaction, rows: Sequence[Row], query: Floats, limit: int) -> list[tuple[int, float]]:
        """Rank (number, document, vector) rows by their exact cosine."""
        matrix = _matrix(tx, [raw for _, _, raw in rows], self.dimension)
        return _by_cosine([doc for _, doc, _ in rows], matrix, query, limit)

    def _pack(self, tx: Transaction) -> None:
        """Write the newest vectors as a pack once there are PACK of them."""
        packs = tx.all("vectors.packs", model=self.model, dim=self.dimension)
        fresh = tx.all("vectors.fresh", model=self.model, dim=self.dimension, number=packs[-1][0] if packs else 0)
        # A damaged vector must not block writes.
        rows = [row for row in fresh if len(tx.vector_bytes(row[1])) == 4 * self.dimension]
        if len(rows) < PACK:
            return
        numbers = np.array([number for number, _ in rows], "<i8")
        matrix = _matrix(tx, [raw for _, raw in rows], self.dimension)
        tx.run(
            "vectors.pack_put",
            pack=int(numbers[-1]),
            model=self.model,
            dim=self.dimension,
            numbers=numbers.tobytes(),
            codes=_bytes(matrix).tobytes(),
        )
        ((living,),) = tx.all("vectors.count", model=self.model, dim=self.dimension)
        if sum(size for _, size in packs) // 8 + len(rows) > 2 * living:
            sweep(tx)

    def _current(self, tx: Transaction, counters: Counters) -> "_CachedVectors":
        """Return the cache with what the transaction sees; later vectors do no harm, as their rows are not found.

        A reader with an older snapshot must not replace what a later one has read: concurrent readers would each read
        all vectors again.
        """
        known = self._known
        if known is None or known.generation != tx.generation:
            known = _CachedVectors(tx.generation, self.dimension)
        self._known = None  # dropped during the update, which may fail half-way
        if known.vectors < counters.vectors:
            known = known.updated(tx, self.model, counters.vectors)
        self._known = known
        return known


class _CachedVectors:
    """A process's cache: all packs, and the vectors since the last pack. Immutable: updates return a new one.

    Updates share arrays: a new one has more rows of them, so that a new vector costs no copy of the others.
    """

    def __init__(self, generation: int, dimension: int) -> None:
        self.generation, self.dimension = generation, dimension
        self.vectors = 0
        self._packs: list[Row] = []
        self._numbers: GrowingRows[np.int64] = GrowingRows(np.empty(0, np.int64))
        self._bytes: GrowingRows[np.int8] = GrowingRows(np.empty((0, dimension), np.int8))
        # One array per 64 dimensions, so that bit counting reads memory sequentially.
        self._signs: list[GrowingRows[np.uint64]] = [
            GrowingRows(np.empty(0, np.uint64)) for _ in range(-(-dimension // 64))
        ]
        self._fresh_numbers: GrowingRows[np.int64] = GrowingRows(np.empty(0, np.int64))
        self._fresh: GrowingRows[np.float32] = GrowingRows(np.empty((0, dimension), np.float32))
        self._most = 2 * PACK
        """Number of fresh vectors above which all are reloaded, to drop deleted ones."""

    def updated(self, tx: Transaction, model: str, vectors: int) -> "_CachedVectors":
        """Return one that includes what is new in the database."""
        new = _CachedVectors(self.generation, self.dimension)
        packs = tx.all("vectors.packs", model=model, dim=self.dimension)
        fresh_numbers = self._fresh_numbers.rows
        if packs[: len(self._packs)] != self._packs or len(fresh_numbers) > self._most:
            return new.updated(tx, model, vectors)
        new.vectors, new._packs = vectors, packs
        new._numbers, new._bytes, new._signs = self._numbers, self._bytes, self._signs
        for pack, _ in packs[len(self._packs) :]:
            ((numbers, raw),) = tx.all("vectors.pack", pack=pack)
            codes = np.frombuffer(raw, np.int8).reshape(-1, self.dimension)
            new._numbers = new._numbers.extended(np.frombuffer(numbers, "<i8"))
            new._bytes = new._bytes.extended(codes)
            new._signs = [known.extended(more) for known, more in zip(new._signs, _signs(codes), strict=True)]
        packed = packs[-1][0] if packs else 0
        last = max(packed, int(fresh_numbers[-1]) if len(fresh_numbers) else 0)
        rows = tx.all("vectors.fresh", model=model, dim=self.dimension, number=last)
        kept = int(np.searchsorted(fresh_numbers, packed, "right"))  # those before it are in a pack now
        new._fresh_numbers = self._fresh_numbers.since(kept).extended(
            np.array([number for number, _ in rows], np.int64)
        )
        new._fresh = self._fresh.since(kept).extended(_matrix(tx, [raw for _, raw in rows], self.dimension))
        new._most = self._most if len(fresh_numbers) else 2 * max(PACK, len(rows))
        return new

    @property
    def size(self) -> int:
        """Bytes of its arrays."""
        parts: list[GrowingRows[Any]] = [self._numbers, self._bytes, *self._signs, self._fresh_numbers, self._fresh]
        return sum(part.size for part in parts)

    def nearest(self, query: Floats, wanted: int) -> list[int]:
        """Return the numbers of the approximate nearest vectors, best first."""
        numbers, cosines = self._fresh_numbers.rows, np.vecdot(self._fresh.rows, query)
        if len(self._numbers.rows):
            near = self._sifted(query, max(SIFTED, 4 * wanted))
            rows = self._bytes.rows[near].astype(np.float32)
            cosines = np.concatenate((cosines, np.vecdot(rows, query) / np.maximum(np.linalg.norm(rows, axis=1), 1)))
            numbers = np.concatenate((numbers, self._numbers.rows[near]))
        if len(numbers) > wanted:
            top = np.argpartition(cosines, len(cosines) - wanted)[len(cosines) - wanted :]
            numbers, cosines = numbers[top], cosines[top]
        return [int(number) for number in numbers[np.argsort(-cosines)]]

    def _sifted(self, query: Floats, enough: int) -> NDArray[np.int64]:
        """Return the positions of at least `enough` vectors with the smallest Hamming distance to the query's signs."""
        differing = np.zeros(len(self._numbers.rows), np.uint16)
        for column, signs in zip(self._signs, _signs(query[None, :]), strict=True):
            differing += np.bitwise_count(column.rows ^ signs)
        # A histogram finds the distance threshold faster than sorting.
        bar = int(np.searchsorted(np.cumsum(np.bincount(differing)), enough))
        return np.flatnonzero(differing <= bar)


def sweep(tx: Transaction) -> int:
    """Remove the codes of deleted vectors from every pack of the agent; return how many there were."""
    gone = 0
    for pack, model, dim in tx.all("vectors.every_pack"):
        ((numbers, codes),) = tx.all("vectors.pack", pack=pack)
        packed = np.frombuffer(numbers, "<i8")
        living = tx.all("vectors.living", model=model, dim=dim, first=int(packed[0]), last=int(packed[-1]))
        kept = np.isin(packed, [number for (number,) in living])
        gone += len(packed) - int(kept.sum())
        if not kept.any():
            tx.run("vectors.pack_drop", pack=pack)
        elif not kept.all():
            left = np.frombuffer(codes, np.int8).reshape(len(packed), -1)[kept]
            tx.run("vectors.pack_set", pack=pack, numbers=packed[kept].tobytes(), codes=left.tobytes())
    return gone


def damage(tx: Transaction, counters: Counters) -> list[str]:
    """Return the problems of the agent's vectors, of all models, and of their packs."""
    return _damaged(tx, counters).problems


def mend(tx: Transaction, counters: Counters) -> None:
    """Drop damaged vectors and packs; their entries are embedded again like any entry without a vector."""
    found = _damaged(tx, counters)
    for entry_id in found.vectors:
        tx.run("vectors.forget", entry_id=entry_id)
    for model, dim in found.packs:
        # All packs of the model: its vectors are compared exhaustively until they are packed again.
        tx.run("vectors.packs_of_drop", model=model, dim=dim)
    counters.vectors = max(counters.vectors, found.highest) + 1  # invalidates the caches of other processes


@dataclass(slots=True)
class _Damaged:
    problems: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    """The entries whose vectors are damaged."""
    packs: set[tuple[str, int]] = field(default_factory=set)
    """The models whose packs are damaged."""
    highest: int = 0


def _damaged(tx: Transaction, counters: Counters) -> _Damaged:
    found = _Damaged()
    numbers = _check_vectors(tx, found)
    found.highest = max((number for used in numbers.values() for number in used), default=0)
    if found.highest > counters.vectors:
        found.problems.append(f"the counter of vectors says {counters.vectors}, but {found.highest} is in use")
    _check_packs(tx, found, numbers)
    return found


def _check_vectors(tx: Transaction, found: _Damaged) -> dict[tuple[str, int], set[int]]:
    """Check every vector; return the numbers of the valid ones by model and dimension."""
    numbers: dict[tuple[str, int], set[int]] = {}
    last = ""
    while rows := tx.all("vectors.after", entry_id=last, limit=PAGE):
        for entry_id, number, model, dim, raw, known in rows:
            used = numbers.setdefault((model, dim), set())
            wrong = _wrong(tx.vector_bytes(raw), dim)
            if known is None:
                wrong = "is of no entry"
            elif number < 1 or number in used:
                wrong = f"has the number {number}, which is not its own"
            if wrong:
                found.problems.append(f"the vector of entry {entry_id} {wrong}")
                found.vectors.append(entry_id)
            else:
                used.add(number)
        last = rows[-1][0]
    return numbers


def _check_packs(tx: Transaction, found: _Damaged, numbers: Mapping[tuple[str, int], set[int]]) -> None:
    """Check every pack against the numbers of the valid vectors."""
    packed: dict[tuple[str, int], set[int]] = {}
    ends: dict[tuple[str, int], int] = {}
    for pack, model, dim in tx.all("vectors.every_pack"):
        ends[model, dim] = pack
        held, wrong = _wrong_pack(tx, pack, model, dim, numbers.get((model, dim), set()))
        packed.setdefault((model, dim), set()).update(held)
        if wrong:
            found.problems.append(f"pack {pack} of the vectors of {model!r} {wrong}")
            found.packs.add((model, dim))
    for of_model, end in ends.items():
        missing = {number for number in numbers.get(of_model, ()) if number <= end} - packed[of_model]
        if missing and of_model not in found.packs:
            found.problems.append(
                f"{len(missing)} vectors of {of_model[0]!r} are in no pack, the first is {min(missing)}"
            )
            found.packs.add(of_model)


def _wrong(raw: bytes, dimension: int) -> str:
    """Return what is wrong with a vector, or "". A valid one has unit length, or is all zeros: the text has none."""
    if dimension < 1 or len(raw) != 4 * dimension:
        return f"has {len(raw)} bytes, which are not {dimension} numbers"
    row = np.frombuffer(raw, "<f4")
    with np.errstate(all="ignore"):
        length = float(row @ row)
    return "" if length == 0 or abs(length - 1) < 0.01 else "is not what was written: its length is not 1"


def _wrong_pack(tx: Transaction, pack: int, model: str, dim: int, good: set[int]) -> tuple[set[int], str]:
    """Return the numbers in a pack and what is wrong with it. `good` are the numbers of valid vectors."""
    ((raw, codes),) = tx.all("vectors.pack", pack=pack)
    if not raw or len(raw) % 8 or len(codes) != len(raw) // 8 * dim:
        return set(), f"has {len(raw)} bytes of numbers and {len(codes)} of codes, which do not fit"
    numbers = np.frombuffer(raw, "<i8")
    if numbers[-1] > pack or (np.diff(numbers) < 1).any():
        return set(), "has numbers that are not in order"
    held: set[int] = set(numbers.tolist())
    checked = held & good
    between = tx.all("vectors.between", model=model, dim=dim, first=int(numbers[0]), last=int(numbers[-1]))
    rows = [(number, raw) for number, raw in between if number in checked]
    living = np.isin(numbers, [number for number, _ in rows])
    right = _bytes(_matrix(tx, [raw for _, raw in rows], dim)).astype(np.int16)
    stored = np.frombuffer(codes, np.int8).reshape(len(numbers), dim)[living]
    fits = stored.shape == right.shape and bool((np.abs(stored - right) <= 1).all())
    return held, "" if fits else "has codes of other vectors"


def _matrix(tx: Transaction, raws: Sequence[object], dimension: int) -> Floats:
    """Decode vectors from the database into a matrix, one row each."""
    joined = b"".join(tx.vector_bytes(raw) for raw in raws)
    if len(joined) != 4 * len(raws) * dimension:
        raise Corrupt(f"a stored vector does not have {dimension} numbers; run `recollect check --repair`")
    return np.frombuffer(joined, "<f4").reshape(len(raws), dimension)


def _by_cosine(docs: Sequence[int], matrix: Floats, query: Floats, limit: int) -> list[tuple[int, float]]:
    """Return the nearest documents as (document, cosine), best first, newest first where they tie."""
    if not np.isfinite(matrix).all():
        raise Corrupt("a stored vector does not consist of numbers; run `recollect check --repair`")
    cosines = np.vecdot(matrix, query).astype(np.float64).round(DIGITS).tolist()
    return sorted(zip(docs, cosines, strict=True), key=lambda hit: (-hit[1], -hit[0]))[:limit]


def _bytes(matrix: Floats) -> NDArray[np.int8]:
    """Quantise to one byte per number. Each row has its own scale, which does not affect cosines; zeros stay zeros."""
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    return np.rint(matrix * (127 / np.where(largest > 0, largest, 1))).astype(np.int8)


def _signs(matrix: NDArray[np.float32 | np.int8]) -> NDArray[np.uint64]:
    """Return the signs as bits: a row per 64 dimensions, with one word per vector."""
    bits = np.packbits(matrix > 0, axis=1)
    padded = np.zeros((len(matrix), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view("<u8").T)
