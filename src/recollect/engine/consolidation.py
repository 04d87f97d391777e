"""The job `consolidate`: score, promote, prune, merge and cap the passing notes of an agent. It touches nothing else.

The argument. Passing notes are those of lifetime short_term without a name; archives, chunks, named notes, knowledge
and everything of a conversation are never read here. Each note is scored in one way through all of them, and leaves at
once where its score says so. The rest are compared with each other, in their scope (and channel, where that is their
scope):

- Notes with the same words are one note, whatever their vectors say.
- Then notes whose vectors have a cosine above SAME, unless they hold different numbers: for vectors port 8080 is as
  good as port 8081. All pairs would be too many, so there are BANDS of BITS random planes, and only notes that lie on
  the same side of all the planes of a band are compared: at a cosine of 0.95 a pair is missed in 6 of 1,000 cases, and
  the nearer it is, the less often. The planes are the same in every run.
- In the order of importance, then age, each note takes over what is near it and ranks lower, and is not compared any
  further itself when it was taken over. So of a chain a-b-c (a near b, b near c, a not near c) a takes over b, and c
  stays. Of what is left no two are near each other, which is why a second run finds nothing to do; and a merge changes
  no rank, which is why a run that was stopped half-way can simply be run again.
- A note that took others over may now deserve to be promoted: that is looked at once more.

What is kept in memory are some 200 bytes for each note, and 700 more for each that has a vector.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from recollect.clock import iso
from recollect.engine import remember
from recollect.engine.store import Store
from recollect.model.entry import Entry, Kind, Lifetime, Scope
from recollect.search.ranking import relevance
from recollect.storage import entries
from recollect.storage.database import Transaction
from recollect.text import figures, normalise
from recollect.upkeep.shift import Shift

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Keys = NDArray[np.uint32]
    Table = NDArray[np.uint64]

__all__ = ["consolidate"]

PROMOTED = 0.7
ACCESSES = 3
PRUNED = 0.01
SAME = 0.95
CAP = 10_000
"""Notes of a scope; of each channel, where the channel is their scope."""
SOURCE = "consolidation"
PAGE = 500
"""Notes that are read, and compared, at once."""
STEP = 100
"""Notes that are changed in one transaction; a survivor and up to PAGE notes that it takes over are never split."""
BANDS, BITS = 40, 20
SIFT = 16
"""Bands by which pairs are sifted before their vectors are read."""
DIFFERENT = 60
"""The most planes of SIFT bands (320) that lie between two vectors with a cosine of SAME: 32 are usual, and a deviation
is 5.4."""
PAIRS = 65_536
LOW = 0xFFFF_FFFF
DIGITS = 6
HOUR = 3_600_000


def consolidate(shift: Shift, store: Store) -> None:
    """Tidy the passing notes of one agent."""
    for figure in ("scored", "promoted", "pruned", "merged", "capped"):
        shift.count(figure, 0)
    pool = _Pool(store)
    _score(shift, store, pool)
    _merge(shift, store, pool)
    _cap(shift, store, pool)


class _Pool:
    """What a run keeps of each note that stays, in the order of their ids."""

    def __init__(self, store: Store) -> None:
        self._dimension = 0 if store.vectors is None else store.vectors.dimension
        self.ids: list[str] = []
        self.groups: dict[tuple[str, str], array[int]] = {}
        """The notes of a scope, or of a channel."""
        self.relevance, self.importance = array("d"), array("d")
        self.created, self.text, self.figures = array("q"), array("q"), array("q")
        self.left = bytearray()
        """Whether a note is no longer among them."""
        self.placed = array("q")
        """The place of a note's keys, -1 where it has no vector."""
        self.keys: list[Keys] = []
        self._planes: NDArray[np.float32] | None = None
        self._with_keys = 0

    def add(
        self, entry_id: str, group: tuple[str, str], score: float, importance: float, created: int, content: str
    ) -> None:
        self.groups.setdefault(group, array("q")).append(len(self.ids))
        self.ids.append(entry_id)
        self.relevance.append(score)
        self.importance.append(importance)
        self.created.append(created)
        words = normalise(content)
        self.text.append(_fingerprint(words))
        self.figures.append(_fingerprint(" ".join(figures(words))))
        self.left.append(0)

    def unchanged(self, number: int, found: Mapping[str, Entry]) -> Entry | None:
        """A note among those found, unless somebody has written it anew since it was read."""
        note = found.get(self.ids[number])
        return note if note is not None and _fingerprint(normalise(note.content)) == self.text[number] else None

    def add_vectors(self, vectors: Sequence[bytes | None]) -> None:
        """The vectors of the notes that were added last; only on which side of the planes they lie is kept."""
        import numpy as np

        found = [vector for vector in vectors if vector is not None]
        rows = np.frombuffer(b"".join(found), "<f4").reshape(len(found), -1 if found else 0)
        filled: list[bool] = (rows != 0).any(axis=1).tolist()  # a row of zeros says that the text has no vector
        some = iter(filled)
        for vector in vectors:
            real = vector is not None and next(some)
            self.placed.append(self._with_keys if real else -1)
            self._with_keys += real
        rows = rows[filled]
        if len(rows):
            if self._planes is None:
                made = np.random.default_rng(20).standard_normal((self._dimension, BANDS * BITS), np.float32)
                self._planes = made
            sides = (rows @ self._planes > 0).reshape(len(rows), BANDS, BITS)
            self.keys.append(sides @ (1 << np.arange(BITS, dtype=np.uint32)))


def _score(shift: Shift, store: Store, pool: _Pool) -> None:
    """Go through all notes: promote and prune, and put the others into the pool."""
    model, dim = ("", 0) if store.vectors is None else (store.vectors.model, store.vectors.dimension)
    after = ""
    while True:
        with shift.read(store) as tx:
            rows = tx.all("consolidation.page", after=after, limit=PAGE, model=model, dim=dim)
            raws = [None if row[-1] is None else tx.vector_bytes(row[-1]) for row in rows]
        if not rows:
            return
        after = rows[-1][0]
        deserving, vectors = [], []
        for (entry_id, scope, channel, content, importance, created, accessed, count, _), raw in zip(
            rows, raws, strict=True
        ):
            score = _relevance(shift, scope, importance, created, accessed, count)
            if _verdict(score, count):
                deserving.append(entry_id)
                continue
            group = (scope, channel if scope == Scope.CHANNEL else "")
            pool.add(entry_id, group, score, importance, created, content)
            vectors.append(raw)
        pool.add_vectors(vectors)
        _judge(shift, store, deserving)
        shift.count("scored", len(rows))
        shift.alive()


def _judge(shift: Shift, store: Store, ids: Sequence[str]) -> set[str]:
    """Promote and prune those of these notes that deserve it now; the ids of those."""
    judged: set[str] = set()
    for start in range(0, len(ids), STEP):
        with shift.step(store) as step:
            for entry in _passing(step.tx, ids[start : start + STEP]).values():
                score = _score_of(shift, entry)
                verdict = _verdict(score, entry.access_count)
                if verdict == "promoted":
                    reason = f"its relevance is {score:.2f}, and it was asked for {entry.access_count} times"
                    step.change(entry, reason, lifetime=Lifetime.LONG_TERM)
                elif verdict == "pruned":
                    asked = (
                        _day(entry.accessed_at) if entry.accessed_at else f"it was written on {_day(entry.created_at)}"
                    )
                    step.remove(entry, f"its relevance fell to {score:.2g}; nobody has asked for it since {asked}")
                if verdict:
                    shift.count(verdict)
                    judged.add(entry.id)
    return judged


def _verdict(score: float, access_count: int) -> str | None:
    if score > PROMOTED and access_count > ACCESSES:
        return "promoted"
    return "pruned" if score < PRUNED else None


# Merging


def _merge(shift: Shift, store: Store, pool: _Pool) -> None:
    """Let each note take over those that say the same."""
    survivors: list[int] = []
    batch: list[tuple[int, Sequence[int]]] = []
    size = 0
    for survivor, others in _plan(shift, store, pool):
        survivors.append(survivor)
        for start in range(0, len(others), PAGE):
            part = others[start : start + PAGE]
            batch.append((survivor, part))
            size += len(part)
            if size >= STEP:
                _take_over(shift, store, pool, batch)
                batch, size = [], 0
    _take_over(shift, store, pool, batch)
    pool.keys.clear()
    judged = _judge(shift, store, [pool.ids[survivor] for survivor in survivors])
    for survivor in survivors:
        if pool.ids[survivor] in judged:
            pool.left[survivor] = 1


def _take_over(shift: Shift, store: Store, pool: _Pool, batch: Sequence[tuple[int, Sequence[int]]]) -> None:
    """Merge notes as planned, but for those that somebody has changed since."""
    if not batch:
        return
    with shift.step(store) as step:
        numbers = [number for survivor, others in batch for number in (survivor, *others)]
        found = _passing(step.tx, list(dict.fromkeys(pool.ids[number] for number in numbers)))
        for survivor, others in batch:
            kept = pool.unchanged(survivor, found)
            going = [note for number in others if (note := pool.unchanged(number, found)) is not None]
            if kept is None or not going:
                continue
            same = f"it says the same as {_short(kept.content)} ({kept.id}), which took over its tags and accesses"
            for note in going:
                step.remove(note, same)
            notes = [kept, *going]
            what = "another note" if len(going) == 1 else f"{len(going)} other notes"
            found[kept.id] = step.change(
                kept,
                f"it took over the tags and accesses of {what} that said the same",
                tags=tuple(dict.fromkeys(tag for note in notes for tag in note.tags))[: remember.TAGS],
                source=SOURCE,
                access_count=sum(note.access_count for note in notes),
                accessed_at=max((note.accessed_at for note in notes if note.accessed_at is not None), default=None),
            )
            pool.relevance[survivor] = _score_of(shift, found[kept.id])
            shift.count("merged", len(going))
        for _, others in batch:
            for number in others:
                pool.left[number] = 1


def _plan(shift: Shift, store: Store, pool: _Pool) -> Iterator[tuple[int, list[int]]]:
    """Who takes over whom, by their numbers in the pool."""
    import numpy as np

    if not pool.ids:
        return
    keys = np.concatenate(pool.keys) if pool.keys else np.empty((0, BANDS), np.uint32)
    importance, created = np.frombuffer(pool.importance), np.frombuffer(pool.created, np.int64)
    text, placed = np.frombuffer(pool.text, np.int64), np.frombuffer(pool.placed, np.int64)
    numbered = np.frombuffer(pool.figures, np.int64)
    for group in sorted(pool.groups):
        numbers = np.array(pool.groups[group])
        ranked = numbers[np.lexsort((created[numbers], -importance[numbers]))]
        _, first, which = np.unique(text[ranked], return_index=True, return_inverse=True)
        into = first[which]
        different = np.flatnonzero((into == np.arange(len(ranked))) & (placed[ranked] >= 0))
        if len(different) > 1:
            some = ranked[different]
            near = _Near(shift, store, [pool.ids[number] for number in some], numbered[some], keys[placed[some]])
            into[different] = different[near.into]
            into = into[into]
        taken: dict[int, list[int]] = {}
        for other in np.flatnonzero(into != np.arange(len(ranked))).tolist():
            taken.setdefault(int(into[other]), []).append(int(ranked[other]))
        for place in sorted(taken):
            yield int(ranked[place]), taken[place]


class _Near:
    """Which of some notes is taken over by which, as their vectors and numbers say; `into` is itself where it stays.

    The notes come in the order of their rank. They are compared block by block with those that stay of the blocks
    before, then among themselves: so a thousand notes that say the same are compared with one, not with each other.
    """

    def __init__(
        self, shift: Shift, store: Store, ids: Sequence[str], numbered: "NDArray[np.int64]", keys: "Keys"
    ) -> None:
        import numpy as np

        self._shift, self._store, self._ids, self._numbered, self._keys = shift, store, ids, numbered, keys
        self.into: Numbers = np.arange(len(ids))
        staying = [np.empty(0, np.uint64)] * BANDS
        for start in range(0, len(ids), PAGE):
            block = self.into[start : start + PAGE].copy()
            self._settle(block, staying)
            block = block[self.into[block] == block]
            self._settle(block, self._tables(block))
            block = block[self.into[block] == block]
            staying = [
                np.insert(table, np.searchsorted(table, more), more)
                for table, more in zip(staying, self._tables(block), strict=True)
            ]
            shift.alive()

    def _tables(self, notes: "Numbers") -> "list[Table]":
        """For each band the notes by their keys: a key in the upper half of a number, the note in the lower."""
        import numpy as np

        return [np.sort(column.astype(np.uint64) << 32 | notes.astype(np.uint64)) for column in self._keys[notes].T]

    def _settle(self, notes: "Numbers", tables: "Sequence[Table]") -> None:
        pairs = self._likely(notes, tables)
        pairs = pairs[self._numbered[pairs[:, 0]] == self._numbered[pairs[:, 1]]]
        for later, earlier in pairs[self._near(pairs)].tolist():
            if self.into[later] == later and self.into[earlier] == earlier:
                self.into[later] = earlier

    def _likely(self, notes: "Numbers", tables: "Sequence[Table]") -> "Numbers":
        """Pairs (later, earlier) that share a key and differ in few, in order."""
        import numpy as np

        found = [np.empty(0, np.uint64)]
        own, keys = notes.astype(np.uint64), self._keys
        for table, column in zip(tables, keys[notes].T, strict=True):
            bucket = column.astype(np.uint64) << 32
            low = np.searchsorted(table, bucket)
            lengths = np.searchsorted(table, bucket | own) - low
            ends = np.cumsum(lengths)
            for start in range(0, int(ends[-1]) if len(ends) else 0, PAIRS):
                places = np.arange(start, min(start + PAIRS, int(ends[-1])))
                which = np.searchsorted(ends, places, side="right")
                earlier = table[low[which] + places - (ends - lengths)[which]] & LOW
                later = own[which]
                differing = np.bitwise_count(keys[later, :SIFT] ^ keys[earlier, :SIFT]).sum(axis=1)
                few = differing <= DIFFERENT
                found.append(later[few] << 32 | earlier[few])
        pairs = np.unique(np.concatenate(found))
        return np.stack((pairs >> 32, pairs & LOW), axis=1).astype(np.int64)

    def _near(self, pairs: "Numbers") -> "NDArray[np.bool_]":
        """Which of the pairs have a cosine above SAME, by their vectors themselves."""
        import numpy as np

        near = np.zeros(len(pairs), bool)
        if not len(pairs):
            return near
        later, earlier = pairs.T
        rows, columns = np.unique(later), np.unique(earlier)
        mine = self._vectors(rows)
        for start in range(0, len(columns), PAGE):
            some = columns[start : start + PAGE]
            cosines = mine @ self._vectors(some).T
            among = np.flatnonzero((earlier >= some[0]) & (earlier <= some[-1]))
            chosen = cosines[np.searchsorted(rows, later[among]), np.searchsorted(some, earlier[among])]
            near[among] = chosen.round(DIGITS) > SAME
        return near

    def _vectors(self, notes: "Numbers") -> "NDArray[np.float32]":
        """The vectors of notes; a row of zeros for one that is gone."""
        import numpy as np

        made = self._store.vectors
        assert made is not None
        ids = [self._ids[note] for note in notes]
        with self._shift.read(self._store) as tx:
            known = {
                entry_id: tx.vector_bytes(raw)
                for entry_id, model, dim, raw in tx.all("consolidation.vectors", ids=ids)
                if (model, dim) == (made.model, made.dimension)
            }
        gone = bytes(4 * made.dimension)
        return np.frombuffer(b"".join(known.get(one, gone) for one in ids), "<f4").reshape(len(ids), made.dimension)


# The cap


def _cap(shift: Shift, store: Store, pool: _Pool) -> None:
    """Remove the least relevant notes of a scope that has too many."""
    for group in sorted(pool.groups):
        living = [number for number in pool.groups[group] if not pool.left[number]]
        if len(living) <= CAP:
            continue
        where = f"the channel {group[1]}" if group[1] else f"the scope {group[0]}"
        living.sort(key=lambda number: (pool.relevance[number], pool.created[number], number))
        going = living[: len(living) - CAP]
        for start in range(0, len(going), STEP):
            with shift.step(store) as step:
                some = going[start : start + STEP]
                found = _passing(step.tx, [pool.ids[number] for number in some])
                for number in some:
                    note = found.get(pool.ids[number])
                    # Somebody may have asked for it since.
                    if note is not None and _score_of(shift, note) <= pool.relevance[number]:
                        reason = (
                            f"{where} has more than {CAP:,} passing notes, and this one is among the least relevant: "
                            f"{pool.relevance[number]:.2g}"
                        )
                        step.remove(note, reason)
                        shift.count("capped")


# One note


def _passing(tx: Transaction, ids: Sequence[str]) -> dict[str, Entry]:
    """Those of the entries that are still passing notes, in the order given."""
    found: dict[str, Entry] = {}
    for start in range(0, len(ids), PAGE):
        some = ids[start : start + PAGE]
        known = entries.stored(tx, some)
        found.update((one, known[one].entry) for one in some if one in known)
    return {
        entry.id: entry
        for entry in found.values()
        if entry.kind is Kind.NOTE
        and entry.lifetime is Lifetime.SHORT_TERM
        and entry.scope is not Scope.CONVERSATION
        and not (entry.name or entry.aliases)
    }


def _score_of(shift: Shift, entry: Entry) -> float:
    return _relevance(shift, entry.scope, entry.importance, entry.created_at, entry.accessed_at, entry.access_count)


def _relevance(
    shift: Shift, scope: str, importance: float, created: int, accessed: int | None, access_count: int
) -> float:
    # A note may have taken over an access that is older than itself.
    hours = (shift.now - max(created, accessed or 0)) / HOUR
    return relevance(importance, shift.decay.rate(Scope(scope)), hours, access_count)


def _fingerprint(text: str) -> int:
    """A number that only equal texts share."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), signed=True)


def _short(content: str) -> str:
    words = " ".join(content.split())
    return repr(words if len(words) <= 40 else f"{words[:39]}…")


def _day(moment: int) -> str:
    return iso(moment)[:10]
