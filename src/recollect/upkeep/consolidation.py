"""The job `consolidate`: score, promote, prune, merge and cap the short-term notes of an agent, and nothing else.

The argument. Only unnamed notes that were explicitly written as `short_term` are processed. Archives, chunks, named
notes, knowledge, everything of a conversation, and entries that a user restored from the trash are not changed. The
age of a note counts from its last use: when it was written, restored, recalled or shown in a context, or absorbed
another note. So a note about the past is as young as the moment when it was written down.

Notes of different origins are never merged: the words of a tool would otherwise pass for the user's, or those of the
user lose their trust.

Each note is scored in one pass, and promoted or pruned according to its score; an open task is never pruned. The
others are compared within their origin and scope (and channel, for channel scope), ranked by importance, then age: a
note absorbs the lower-ranked ones that match it. An absorbed note absorbs nothing itself, so of a chain a-b-c (a
matches b, b matches c, a does not match c) c survives. No two survivors match, so a second run finds nothing to do;
and a merge changes no rank, so an interrupted run can be repeated.

By default two notes match if they are duplicates by the rule of recall: the same words in the same order. If both have
vectors, their cosine must also exceed SAME. With `[upkeep] merge = "cosine"` the cosine alone decides, whatever the
words are, and each note is compared with all earlier survivors of its scope: at most CAP plus the notes of an hour.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from recollect.clock import iso
from recollect.engine.agent_store import Store
from recollect.engine.origins import made_from_entries
from recollect.model.entry import TAGS, Category, Entry, Lifetime, Scope
from recollect.search.duplicates import wording
from recollect.search.ranking import relevance
from recollect.storage import entries
from recollect.storage.database import Transaction
from recollect.upkeep.job_run import JobRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["consolidate"]

PROMOTED = 0.7
ACCESSES = 3
PRUNED = 0.01
SAME = 0.95
CAP = 10_000
"""Maximum number of notes in a scope, or in each channel for channel scope."""
SOURCE = "consolidation"
PAGE = 500
"""Number of notes that are read, and compared, at once."""
STEP = 100
"""Notes changed in one transaction; a survivor and up to PAGE notes that it absorbs are never split."""
DIGITS = 6
HOUR = 3_600_000
BOXES = ("[ ]", "[x]", "[X]")


def consolidate(job_run: JobRun, store: Store) -> None:
    """Run the job for one agent."""
    for figure in ("scored", "promoted", "pruned", "merged", "capped"):
        job_run.count(figure, 0)
    pool = _Pool()
    _score(job_run, store, pool)
    _merge(job_run, store, pool)
    _cap(job_run, store, pool)


@dataclass(frozen=True, slots=True)
class _ShortTermNote:
    """The current state of a short-term note, and when it was last used."""

    entry: Entry
    used_at: int

    def score(self, job_run: JobRun) -> float:
        entry = self.entry
        return _relevance(job_run, entry.scope, entry.importance, self.used_at, entry.access_count)


class _Pool:
    """The notes that were neither promoted nor pruned, as parallel arrays in id order: about 200 bytes each."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.groups: dict[tuple[str, str], array[int]] = {}
        """Positions of the notes of each scope, or channel."""
        self.origins: list[str] = []
        self.relevance, self.importance = array("d"), array("d")
        self.created, self.text = array("q"), array("q")
        self.left = bytearray()
        """Whether each note has left the pool."""

    def add(
        self,
        entry_id: str,
        group: tuple[str, str],
        *,
        origin: str,
        score: float,
        importance: float,
        created: int,
        content: str,
    ) -> None:
        self.groups.setdefault(group, array("q")).append(len(self.ids))
        self.ids.append(entry_id)
        self.origins.append(origin)
        self.relevance.append(score)
        self.importance.append(importance)
        self.created.append(created)
        self.text.append(_fingerprint(content))
        self.left.append(0)

    def ranked(self, group: tuple[str, str]) -> list[int]:
        """Return the notes of a group by rank: a note can only absorb those after it."""
        return sorted(self.groups[group], key=lambda number: (-self.importance[number], self.created[number], number))

    def unchanged(self, number: int, found: Mapping[str, _ShortTermNote]) -> Entry | None:
        """Return a note from `found`, or None if it is missing or was rewritten since it was read."""
        note = found.get(self.ids[number])
        return note.entry if note is not None and _fingerprint(note.entry.content) == self.text[number] else None


def _score(job_run: JobRun, store: Store, pool: _Pool) -> None:
    """Score all notes: promote and prune, and add the others to the pool."""
    after = ""
    while True:
        with job_run.read(store) as tx:
            rows = tx.all("consolidation.page", after=after, limit=PAGE)
        if not rows:
            return
        after = rows[-1][0]
        deserving = []
        for entry_id, scope, channel, category, content, importance, created, count, origin, used in rows:
            score = _relevance(job_run, scope, importance, job_run.now if used is None else used, count)
            if _verdict(score, count, category, content):
                deserving.append(entry_id)
                continue
            group = (scope, channel if scope == Scope.CHANNEL else "")
            pool.add(
                entry_id, group, origin=origin, score=score, importance=importance, created=created, content=content
            )
        _begin_ageing(job_run, store, [row[0] for row in rows if row[-1] is None])
        _judge(job_run, store, deserving)
        job_run.count("scored", len(rows))
        job_run.alive()


def _begin_ageing(job_run: JobRun, store: Store, ids: Sequence[str]) -> None:
    """Mark notes as used now; for those without a last use, as after an import."""
    if ids:
        with job_run.step(store) as step:
            entries.use(step.tx, ids, job_run.now)


def _judge(job_run: JobRun, store: Store, ids: Sequence[str]) -> set[str]:
    """Score these notes again, promote and prune accordingly, and return the ids of those changed."""
    judged: set[str] = set()
    for start in range(0, len(ids), STEP):
        with job_run.step(store) as step:
            for note in _current(job_run, step.tx, ids[start : start + STEP]).values():
                entry, score = note.entry, note.score(job_run)
                verdict = _verdict(score, entry.access_count, entry.category, entry.content)
                if verdict == "promoted":
                    reason = f"its relevance is {score:.2f}, and it was recalled {entry.access_count} times"
                    step.change(entry, reason, lifetime=Lifetime.LONG_TERM)
                elif verdict == "pruned":
                    step.remove(entry, f"its relevance fell to {score:.2g}; it was not used since {_day(note.used_at)}")
                if verdict:
                    job_run.count(verdict)
                    judged.add(entry.id)
    return judged


def _verdict(score: float, access_count: int, category: str | None, content: str) -> str | None:
    if score > PROMOTED and access_count > ACCESSES:
        return "promoted"
    return "pruned" if score < PRUNED and not _is_open_task(category, content) else None


def _is_open_task(category: str | None, content: str) -> bool:
    """Whether a note is a task with an open checkbox, or without any checkbox."""
    return category == Category.TASKS and (BOXES[0] in content or not any(box in content for box in BOXES))


# Merging


def _merge(job_run: JobRun, store: Store, pool: _Pool) -> None:
    """Merge each note with the lower-ranked ones that match it."""
    survivors: list[int] = []
    batch: list[tuple[int, Sequence[int]]] = []
    size = 0
    for survivor, others in _plan(job_run, store, pool):
        survivors.append(survivor)
        for start in range(0, len(others), PAGE):
            part = others[start : start + PAGE]
            batch.append((survivor, part))
            size += len(part)
            if size >= STEP:
                _apply_merges(job_run, store, pool, batch)
                batch, size = [], 0
    _apply_merges(job_run, store, pool, batch)
    judged = _judge(job_run, store, [pool.ids[survivor] for survivor in survivors])
    for survivor in survivors:
        if pool.ids[survivor] in judged:
            pool.left[survivor] = 1


def _apply_merges(job_run: JobRun, store: Store, pool: _Pool, batch: Sequence[tuple[int, Sequence[int]]]) -> None:
    """Merge notes as planned, skipping those that were changed since."""
    if not batch:
        return
    with job_run.step(store) as step:
        numbers = [number for survivor, others in batch for number in (survivor, *others)]
        found = _current(job_run, step.tx, list(dict.fromkeys(pool.ids[number] for number in numbers)))
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
            changed = step.change(
                kept,
                f"it took over the tags and accesses of {what} that said the same",
                tags=tuple(dict.fromkeys(tag for note in notes for tag in note.tags))[: TAGS.count],
                source=SOURCE,
                evidence=made_from_entries(going, [kept])["evidence"],
                access_count=sum(note.access_count for note in notes),
                accessed_at=max((note.accessed_at for note in notes if note.accessed_at is not None), default=None),
            )
            entries.use(step.tx, [kept.id], job_run.now)
            found[kept.id] = _ShortTermNote(changed, job_run.now)
            pool.relevance[survivor] = found[kept.id].score(job_run)
            job_run.count("merged", len(going))
        for _, others in batch:
            for number in others:
                pool.left[number] = 1


def _plan(job_run: JobRun, store: Store, pool: _Pool) -> Iterator[tuple[int, list[int]]]:
    """Yield each survivor with the notes that it absorbs, as positions in the pool."""
    by_words = job_run.settings.upkeep.merge != "cosine"
    for group in sorted(pool.groups):
        ranked = pool.ranked(group)
        alike: dict[tuple[str, int], list[int]] = {}
        for number in ranked:
            alike.setdefault((pool.origins[number], pool.text[number] if by_words else 0), []).append(number)
        compared = [numbers for numbers in alike.values() if len(numbers) > 1]
        vectors = _vectors(job_run, store, pool, [number for numbers in compared for number in numbers])
        for numbers in compared:
            for survivor, others in _absorbed(job_run, pool, numbers, vectors).items():
                if others:
                    yield survivor, others


def _absorbed(
    job_run: JobRun, pool: _Pool, ranked: Sequence[int], vectors: "Mapping[int, Vectors]"
) -> dict[int, list[int]]:
    """Map each survivor, in rank order, to the notes that it absorbs.

    Two notes with vectors match by cosine, others by their words.
    """
    import numpy as np

    taken: dict[int, list[int]] = {}
    same, bare, owners = dict[int, int](), dict[int, int](), list[int]()
    """Ranks of survivors: all by wording, those without a vector by wording, and those with a vector."""
    rows = np.empty((len(ranked), max((len(vector) for vector in vectors.values()), default=0)), np.float32)
    for place, number in enumerate(ranked):
        words, own = pool.text[number], vectors.get(number)
        if own is None:
            matching = [same[words]] if words in same else []
        else:
            near = np.flatnonzero(np.vecdot(rows[: len(owners)], own).round(DIGITS) > SAME)[:1].tolist()
            matching = [owners[one] for one in near] + ([bare[words]] if words in bare else [])
        if matching:
            taken[ranked[min(matching)]].append(number)
            continue
        taken[number] = []
        same.setdefault(words, place)
        if own is None:
            bare.setdefault(words, place)
        else:
            rows[len(owners)] = own
            owners.append(place)
        if place % PAGE == 0:
            job_run.alive()
    return taken


def _vectors(job_run: JobRun, store: Store, pool: _Pool, numbers: Sequence[int]) -> "dict[int, Vectors]":
    """Return the vectors of the notes that have one from the current embedder."""
    import numpy as np

    made = store.vectors
    found: dict[int, Vectors] = {}
    for start in range(0, len(numbers) if made is not None else 0, PAGE):
        some = {pool.ids[number]: number for number in numbers[start : start + PAGE]}
        with job_run.read(store) as tx:
            for entry_id, model, dim, raw in tx.all("consolidation.vectors", ids=list(some)):
                vector = np.frombuffer(tx.vector_bytes(raw), "<f4")
                # A zero vector means that the text has none.
                if made is not None and (model, dim) == (made.model, made.dimension) and vector.any():
                    found[some[entry_id]] = vector
        job_run.alive()
    return found


# The cap


def _cap(job_run: JobRun, store: Store, pool: _Pool) -> None:
    """Remove the least relevant notes of a scope that exceeds CAP."""
    for group in sorted(pool.groups):
        living = [number for number in pool.groups[group] if not pool.left[number]]
        if len(living) <= CAP:
            continue
        where = f"the channel {group[1]}" if group[1] else f"the scope {group[0]}"
        living.sort(key=lambda number: (pool.relevance[number], pool.created[number], number))
        going = living[: len(living) - CAP]
        for start in range(0, len(going), STEP):
            with job_run.step(store) as step:
                some = going[start : start + STEP]
                found = _current(job_run, step.tx, [pool.ids[number] for number in some])
                for number in some:
                    note = found.get(pool.ids[number])
                    if note is not None and _may_be_capped(job_run, note, pool.relevance[number]):
                        reason = (
                            f"{where} has more than {CAP:,} short-term notes, and this one is among the least "
                            f"relevant: {pool.relevance[number]:.2g}"
                        )
                        step.remove(note.entry, reason)
                        job_run.count("capped")


def _may_be_capped(job_run: JobRun, note: _ShortTermNote, relevance: float) -> bool:
    """Whether a note is not an open task, and its relevance has not risen since it was scored."""
    return not _is_open_task(note.entry.category, note.entry.content) and note.score(job_run) <= relevance


# One note


def _current(job_run: JobRun, tx: Transaction, ids: Sequence[str]) -> dict[str, _ShortTermNote]:
    """Return the current state of those entries that the job still applies to, in the order given."""
    found: dict[str, _ShortTermNote] = {}
    for start in range(0, len(ids), PAGE):
        some = ids[start : start + PAGE]
        used: dict[str, int | None] = dict(tx.all("consolidation.current", ids=some))
        known = entries.stored(tx, [one for one in some if one in used])
        for one in some:
            if one in known:
                at = used[one]
                found[one] = _ShortTermNote(known[one].entry, job_run.now if at is None else at)
    return found


def _relevance(job_run: JobRun, scope: str, importance: float, used: int, access_count: int) -> float:
    return relevance(importance, job_run.decay.rate(Scope(scope)), (job_run.now - used) / HOUR, access_count)


def _fingerprint(content: str) -> int:
    """Return a 64-bit hash of the wording: equal for texts with the same words in the same order."""
    return int.from_bytes(blake2b(wording(content).encode(), digest_size=8).digest(), signed=True)


def _short(content: str) -> str:
    words = " ".join(content.split())
    return repr(words if len(words) <= 40 else f"{words[:39]}…")


def _day(moment: int) -> str:
    return iso(moment)[:10]
