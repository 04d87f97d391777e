"""Dreaming: promote notes that are recalled repeatedly to long-term memory. Decided by counting; calls no model.

The argument. A sweep has three phases. Light sleep gathers the notes that were recalled at all. Deep sleep gives each a
score between 0 and 0.94 and promotes the best that pass every gate: recalled often enough, on at least one day, by
enough distinct queries (counted directly: one query on three days is one query). The third phase writes the diary.
The limit on promotions applies to the whole interval until the next sweep, so repeating a sweep changes nothing.

A promotion is three things in two places: the lifetime and a ledger row in the database, a line in MEMORY.md. The
ledger row is written first, as `pending`, in one transaction with the lifetime; in a second one the file is replaced
as a whole and the row becomes `done`. Each line ends in a marker with the entry's id. A process that dies in between
leaves pending rows: the next sweep writes the lines of those without a marker and sets all of them to done, so that no
line is lost or written twice. Otherwise the file belongs to the user:

- a concurrent edit during a sweep or an erasure is kept: the change is retried on the edited file;
- a deleted line or file stays deleted, as its row is done; the next promotion creates a new file;
- text between our lines is never touched, in whatever encoding it is;
- a marker that the ledger does not know (a restored database) is added to the ledger, and the entry is promoted;
- an undone promotion keeps its row, so it is not repeated, and its line is removed;
- the line of a forgotten entry is removed, because its text would return to prompts. A line whose entry this database
  has never seen stays: it may belong to another database.
"""

import logging
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.clock import iso
from recollect.config import DreamSettings
from recollect.engine.agent_store import Store
from recollect.errors import Unavailable
from recollect.model.entry import Lifetime, Origin
from recollect.storage import entries
from recollect.storage.database import Row, Transaction
from recollect.upkeep.job_run import JobRun
from recollect.vault.files import DIARY, MEMORY, Edited, LeftAlone, read_bytes, rewrite_file
from recollect.vault.git import dream_subject

__all__ = ["CANDIDATES", "WEIGHTS", "Candidate", "dream", "leave_out"]

CANDIDATES = 10_000
"""Maximum number of notes in one sweep, those with the most hits."""
WEIGHTS = {"frequency": 0.24, "relevance": 0.30, "recency": 0.15, "diversity": 0.15, "consolidation": 0.10}
ENOUGH = 5
"""Number of distinct queries, or days, at which the signal saturates."""
BATCH = 500
DAY = 86_400_000
_MARKER = re.compile(rb"<!-- promo:([0-9a-f-]{36}) -->[ \t\r]*$", re.MULTILINE)
_log = logging.getLogger("recollect.dreaming")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note with statistics of its recalls."""

    entry_id: str
    hits: int
    relevance: float
    """Mean score of its hits."""
    idle_days: float
    """Days since the last hit."""
    queries: int
    """Distinct queries, ignoring case and surrounding whitespace."""
    days: int
    """Distinct days in UTC."""

    def score(self, half_life: float) -> float:
        """Weighted sum of the signals, from 0 to the sum of the weights."""
        signals = {
            "frequency": min(1.0, math.log(1 + self.hits) / math.log(7)),
            "relevance": min(1.0, max(0.0, self.relevance)),
            "recency": math.exp(-max(0.0, self.idle_days) * math.log(2) / max(half_life, 1e-6)),
            "diversity": min(1.0, max(self.queries, self.days) / ENOUGH),
            "consolidation": min(1.0, self.days / ENOUGH),
        }
        return sum(WEIGHTS[name] * value for name, value in signals.items())

    def passes(self, settings: DreamSettings) -> bool:
        """Whether it passes every gate except the minimum score."""
        enough = self.queries >= settings.min_unique_queries
        return self.hits >= settings.min_recall_count and self.days >= 1 and enough


def dream(job_run: JobRun, store: Store) -> None:
    """Run one sweep over an agent's memory: light sleep, deep sleep, diary."""
    folder = job_run.folder
    written = _read(folder, f"{store.agent}/{MEMORY}") if folder else b""
    leaving = _reconcile(job_run, store, {marker.decode() for marker in _MARKER.findall(written)})
    with job_run.read(store) as tx:
        light = tx.all("dreaming.light", limit=CANDIDATES)
    skipped = sum(promoted for *_, promoted in light)
    promoted = _promote(job_run, store, _to_promote(job_run, store, light), "pending" if folder else "done")
    for figure, number in (("candidates", len(light)), ("promoted", promoted), ("skipped", skipped)):
        job_run.count(figure, number)
    if folder is None or job_run.dry_run:
        return
    _write_lines(job_run, store, folder, leaving)
    _keep_diary(job_run, folder, f"{store.agent}/{DIARY}", len(light), promoted, skipped)
    job_run.record(store.agent, dream_subject(promoted))


def leave_out(folder: Path, agent: str, entry_id: str) -> None:
    """Remove the line of an erased entry from an agent's MEMORY.md at once."""
    _rewrite(folder, f"{agent}/{MEMORY}", lambda written: _without(written, {entry_id.encode()}))


def _reconcile(job_run: JobRun, store: Store, marked: Collection[str]) -> set[str]:
    """Reconcile ledger and file; return the ids whose lines must be removed from the file."""
    with job_run.read(store) as tx:
        ledger: dict[str, str] = dict(tx.all("dreaming.ledger"))
        back = [entry_id for (entry_id,) in tx.all("dreaming.taken_back")]
        unknown = sorted(set(marked) - ledger.keys())
        found = [entry_id for entry_id in unknown if entries.get(tx, entry_id) is not None]
        leaving = {one for one in unknown if one not in found and entries.last_removal(tx, one) is not None}
        leaving |= {one for one in marked if one in back or ledger.get(one) == "undone"}
    if back or found:
        with job_run.step(store) as step:
            step.tx.run("dreaming.set_state", ids=back, state="undone")
            for entry in (item.entry for item in entries.stored(step.tx, found).values()):
                _add_to_ledger(step.tx, entry.id, job_run.now, "done")
                step.change(entry, f"{MEMORY} says that it was promoted", lifetime=Lifetime.LONG_TERM)
    return leaving


def _to_promote(job_run: JobRun, store: Store, light: Sequence[Row]) -> list[tuple[float, Candidate]]:
    """Return the candidates to promote with their scores, best first."""
    settings = job_run.settings.dream
    rows = {row[0]: row for row in light if not row[4] and row[1] >= settings.min_recall_count}
    scored = []
    ids = list(rows)
    for start in range(0, len(ids), BATCH):
        queries: dict[str, set[str]] = {}
        days: dict[str, set[int]] = {}
        with job_run.read(store) as tx:
            for entry_id, query, day in tx.all("dreaming.signals", ids=ids[start : start + BATCH]):
                queries.setdefault(entry_id, set()).add(query.strip().lower())
                days.setdefault(entry_id, set()).add(day)
        for entry_id in queries:
            _, hits, total, last, _ = rows[entry_id]
            candidate = Candidate(
                entry_id, hits, total / hits, (job_run.now - last) / DAY, len(queries[entry_id]), len(days[entry_id])
            )
            score = candidate.score(settings.half_life_days)
            if candidate.passes(settings) and score >= settings.min_score:
                scored.append((score, candidate))
    scored.sort(key=lambda one: (-one[0], one[1].entry_id))
    every = int(job_run.settings.upkeep.dream * 1_000)
    with job_run.read(store) as tx:
        ((lately,),) = tx.all("dreaming.lately", since=job_run.now - every, until=job_run.now + every)
    return scored[: max(settings.max_promotions - lately, 0)]


def _promote(job_run: JobRun, store: Store, chosen: Sequence[tuple[float, Candidate]], state: str) -> int:
    if not chosen:
        return 0
    promoted = 0
    with job_run.step(store) as step:
        living = entries.stored(step.tx, [candidate.entry_id for _, candidate in chosen])
        for score, one in chosen:
            if one.entry_id not in living:  # forgotten since light sleep
                continue
            if not _add_to_ledger(step.tx, one.entry_id, job_run.now, state, score=score, hits=one.hits, days=one.days):
                continue
            entry = living[one.entry_id].entry
            reason = (
                f"it was recalled {one.hits} times, by {one.queries} different questions on "
                f"{one.days} {'day' if one.days == 1 else 'days'} (score {score:.2f})"
            )
            if entry.lifetime is Lifetime.LONG_TERM:
                step.note(entry, f"{reason}, so it is worth dreaming of")
            else:
                step.change(entry, reason, lifetime=Lifetime.LONG_TERM)
            promoted += 1
    return promoted


def _add_to_ledger(
    tx: Transaction, entry_id: str, now: int, state: str, *, score: float = 0.0, hits: int = 0, days: int = 0
) -> bool:
    """Insert a ledger row; return False if the entry has one."""
    values = {"entry_id": entry_id, "promoted_at": now, "score": score, "state": state, "hits": hits, "days": days}
    return bool(tx.run("dreaming.promote", **values))


# Files


def _write_lines(job_run: JobRun, store: Store, folder: Path, leaving: Collection[str]) -> None:
    """Write the lines of all pending rows, including those of an interrupted sweep, and set the rows to done."""
    with job_run.read(store) as tx:
        if not leaving and not tx.all("dreaming.pending"):
            return
    with job_run.step(store) as step:  # one transaction, so no note is erased between the read and its line
        pending = step.tx.all("dreaming.pending")

        def update(written: bytes) -> bytes:
            marked = {marker.decode() for marker in _MARKER.findall(written)}
            lines = [_line(*row) for row in pending if row[0] not in marked]
            left = _without(written, {one.encode() for one in leaving})
            return _appended(left, MEMORY, f"## Dreamed {_moment(job_run.now)}", lines) if lines else left

        _rewrite(folder, f"{store.agent}/{MEMORY}", update)
        step.tx.run("dreaming.set_state", ids=[row[0] for row in pending], state="done")


def _keep_diary(job_run: JobRun, folder: Path, name: str, candidates: int, promoted: int, skipped: int) -> None:
    """Append one diary entry per sweep. A failure is only logged, because the diary holds no memory."""
    lines = [f"- candidates: {candidates}", f"- promoted: {promoted}", f"- skipped: {skipped}"]
    try:
        _rewrite(
            folder, name, lambda written: _appended(written, DIARY, f"## Deep Sleep {_moment(job_run.now)}", lines)
        )
    except Unavailable as error:
        _log.warning("the diary was not written: %s", error)


def _line(entry_id: str, content: str, score: float, hits: int, days: int, origin: str) -> str:
    """Return the line of a promoted note. The file is shown in prompts, so it says what a tool or a page stated."""
    foreign = "" if Origin(origin).at_least(Origin.AGENT) else f", {origin}"
    about = f"_(score={score:.2f}, hits={hits}, days={days}{foreign})_"
    return f"- {' '.join(content.split())} {about} <!-- promo:{entry_id} -->"


def _without(written: bytes, ids: Collection[bytes]) -> bytes:
    """Return the text without the lines that carry a marker of these ids."""

    def leaves(line: bytes) -> bool:
        found = _MARKER.search(line.rstrip(b"\n"))
        return found is not None and found[1] in ids

    return b"".join(line for line in written.splitlines(keepends=True) if not leaves(line)) if ids else written


def _appended(written: bytes, title: str, heading: str, lines: Sequence[str]) -> bytes:
    if not written.strip():
        written = f"# {title}\n".encode()
    elif not written.endswith(b"\n"):
        written += b"\n"
    return written + "\n".join(["", heading, *lines, ""]).encode()


def _moment(now: int) -> str:
    return f"{iso(now)[:16].replace('T', ' ')} UTC"


def _read(folder: Path, name: str) -> bytes:
    try:
        return read_bytes(folder, name) or b""
    except (LeftAlone, OSError) as error:
        raise Unavailable(f"{folder / name} cannot be read ({error}); make it a plain file, or remove it") from error


def _rewrite(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    try:
        rewrite_file(folder, name, change)
    except (Edited, LeftAlone, OSError) as error:
        raise Unavailable(f"{folder / name} cannot be written ({error}); make it writable and try again") from error
