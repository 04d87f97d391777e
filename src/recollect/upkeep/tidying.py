"""Cleanup jobs. They remove only what is derived, has expired or belongs to a finished conversation."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from recollect import names
from recollect.clock import LAST
from recollect.compat.figures import CHECKPOINTS_CLEANED, CONVERSATIONS_TRIMMED, ENTRIES_MERGED, compaction
from recollect.engine import conversation_search, conversations, embedding, ending, erasing
from recollect.engine.agent_store import PAGE, Store, Work, document, every
from recollect.engine.agent_store import reindex as build_index
from recollect.engine.former_values import former_values
from recollect.errors import Conflict, Corrupt, RecollectError
from recollect.model.entry import Category
from recollect.model.history import Lane
from recollect.model.upkeep import Run
from recollect.model.working import SummaryDocument
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction
from recollect.upkeep.job_run import JobRun
from recollect.vault.git import close_message

__all__ = ["age", "checkpoints", "embed", "empty_trash", "five_steps", "reindex", "retain", "vacuum"]

BATCH = 500
DAY = 86_400_000
CHECKPOINT = 7 * DAY
"""How long `recover()` accepts a checkpoint."""
RUNS = "_shared"
"""The agent whose rows hold the records of runs."""


def checkpoints(job_run: JobRun, store: Store) -> None:
    """Delete checkpoints that have expired or cannot be parsed."""
    job_run.count(CHECKPOINTS_CLEANED, 0)
    last = ""
    while True:
        with job_run.read(store) as tx:
            rows = tx.all("tidying.checkpoints", after=last, limit=BATCH)
        if not rows:
            return
        last = rows[-1][0]
        useless = [
            conversation
            for conversation, documents, saved_at in rows
            if job_run.now - saved_at > CHECKPOINT or not _readable(documents)
        ]
        if useless:
            with job_run.step(store) as step:
                step.tx.run("tidying.drop_checkpoints", ids=useless)
            job_run.count(CHECKPOINTS_CLEANED, len(useless))


def _readable(documents: str) -> bool:
    try:
        for lane, one in json.loads(documents).items():
            Lane(lane)
            SummaryDocument.read(one)
    except (ValueError, AttributeError, Corrupt):
        return False
    return True


def embed(job_run: JobRun, store: Store) -> None:
    """Embed entries without a vector, up to 50 per run. Does nothing without an embedder."""
    left = embedding.BACKFILL - job_run.figures["embedded"]
    if store.vectors is None or left < 1:
        return
    if job_run.dry_run:  # calling the model may cost money
        model, dim = store.vectors.model, store.vectors.dimension
        with job_run.read(store) as tx:
            made = len(tx.all("vectors.missing", model=model, dim=dim, others=0, after="", limit=left))
    else:
        made = embedding.backfill(store, left)
    job_run.count("embedded", made)


def age(job_run: JobRun, store: Store) -> None:
    """End stale conversations, clear leftover conversation-scope entries, and move all but the most recently ended
    conversations to long-term memory."""
    job_run.count("ended", 0)
    settings = job_run.settings.conversation
    silent = job_run.now - int(settings.stale_after * 3_600_000)
    _clear(job_run, store, silent)
    dead, _ = conversations.stale(store, silent)
    if job_run.dry_run:
        with job_run.read(store) as tx:
            old = tx.all("history.ended_oldest", keep=max(settings.mid_term - len(dead), 0))
        job_run.count("ended", len(dead))
        job_run.count("aged", len(old))
        return
    for conversation in dead:
        try:
            # Without a model: no caller waits for the summary of a stale conversation.
            ended = ending.end(
                store,
                conversation,
                None,
                lambda: job_run.now,
                mid_term=settings.mid_term,
                by=settings.extraction,
            )
        except Conflict:  # another process has ended it
            continue
        except RecollectError as error:
            job_run.skip(f"the conversation {conversation} was not ended", error)
        else:
            job_run.count("ended")
            job_run.count("aged", len(ended.aged))
            job_run.record(store.agent, *close_message(conversation, store.agent))
        job_run.alive()
    job_run.count("aged", len(ending.age(store, job_run.now, settings.mid_term)))


def _clear(job_run: JobRun, store: Store, before: int) -> None:
    """Move to the trash the entries of scope `conversation` that no ending will clear."""
    job_run.count("cleared", 0)
    last, written = "", names.id_prefix(before)
    while True:
        with job_run.step(store) as step:
            rows = step.tx.all("tidying.left_over", after=last, written=written, before=before, limit=BATCH)
            left = entries.stored(step.tx, [entry_id for (entry_id,) in rows])
            for found in left.values():
                if entries.find(step.tx, found.entry.id) is None:  # a former value, which has left with its note
                    continue
                step.remove(found.entry, "its conversation is over, or was never there")
        job_run.count("cleared", len(rows))
        if len(rows) < BATCH:
            return
        last = rows[-1][0]


def retain(job_run: JobRun, store: Store) -> None:
    """Delete recall signals, delivered reminders and records of runs past their retention, and the text of entries
    removed by hand; what a job removed stays in the trash until a user empties it."""
    settings = job_run.settings.upkeep
    signals, trash = job_run.now - int(settings.recall_days * DAY), job_run.now - int(settings.trash_days * DAY)
    while True:
        with job_run.step(store) as step:
            gone = step.tx.run("tidying.old_signals", before=signals, limit=PAGE)
        job_run.count("signals", gone)
        if gone < PAGE:
            break
    rows = [0]
    job_run.count("expired", 0)
    while rows:
        with job_run.step(store) as step:
            rows = _expire(step.work, trash, job_run.jobs, rows[-1], job_run.now)
        job_run.count("expired", len(rows))
    with job_run.step(store) as step:
        job_run.count("reminders", step.tx.run("reminders.expire", before=trash))
        step.tx.run("marks.expire", before=job_run.now - DAY)
    _forget_runs(job_run, store, trash)


def empty_trash(store: Store, now: int) -> int:
    """Delete the text of all entries in the trash, also of those that a job removed; return how many."""
    rows, emptied = [0] if store.exists() else [], 0
    while rows:
        with store.write() as work:
            rows = _expire(work, LAST, ("",), rows[-1], now)
        emptied += len(rows)
    return emptied


def _expire(work: Work, before: int, kept: Sequence[str], after: int, now: int) -> list[int]:
    """Delete the text of a batch of entries removed before a moment, except by an actor in `kept`, with their former
    values.

    Return the sequence numbers of their removals, all greater than `after`; empty if there are no more.
    """
    found = work.tx.all("tidying.expired", before=before, jobs=kept, after=after, limit=BATCH)
    rows = [seq for seq, _, _ in found]
    # The rows stay as tombstones: sequence numbers have no gaps, and the history shows that there was an entry.
    work.tx.run("tidying.expire", seqs=rows)
    for _, entry_id, actor in found:
        if former := former_values(work.tx, entry_id):
            erasing.purge(work, former, actor=actor, now=now)
    return rows


def _forget_runs(job_run: JobRun, store: Store, before: int) -> None:
    """Delete records of runs whose removals have left the trash and cannot be undone. Runs go before their changes, so
    that an existing run can always be undone completely."""
    if not job_run.dry_run:
        with store.database.write(RUNS) as tx:
            job_run.count("runs", tx.run("upkeep.runs_expire", before=before))
    with job_run.step(store) as step:
        step.tx.run("upkeep.changes_expire", before=names.id_prefix(before))


def reindex(job_run: JobRun, store: Store) -> None:
    """Compare both indexes with their sources, and rebuild one that differs."""
    with job_run.read(store) as tx:
        words, turns = _differences(job_run, store, tx), conversation_search.check(store, tx)
    if words:
        with job_run.step(store) as step:
            build_index(step.work)
    if turns:
        with job_run.step(store) as step:
            conversation_search.rebuild(store, step.tx)
    job_run.count("differences", len(words) + len(turns))
    job_run.count("repaired", bool(words) + bool(turns))


def _differences(job_run: JobRun, store: Store, tx: Transaction) -> list[str]:
    def documents() -> Iterator[tuple[int, dict[str, int]]]:
        for number, stored in enumerate(every(tx)):
            if number % PAGE == 0:
                job_run.alive()
            yield stored.doc, document(stored.entry)

    try:
        return store.index.check(tx, Counters.get(tx), documents())
    except (ValueError, IndexError, KeyError) as error:
        return [f"the index cannot be read ({error})"]


def vacuum(job_run: JobRun, stores: Sequence[Store]) -> None:
    """Release the space of deleted rows."""
    if stores and not job_run.dry_run:
        job_run.count("pages", stores[0].database.admin.tidy())


# The five steps


def five_steps(run_job: Callable[[str], Run], folders: Iterable[Path], now: int) -> dict[str, Any]:
    """Run checkpoints, insights, shelves, index and legacy files in this order; return six figures.

    `run_job` runs a job by name; `folders` are the folders of the workspaces' files.
    """
    done = {name: run_job(name) for name in ("checkpoints", "extract", "shelve", "reindex")}
    index = done["reindex"]
    return compaction(
        now,
        checkpoints=done["checkpoints"].figures.get(CHECKPOINTS_CLEANED, 0),
        conversations=done["extract"].figures.get(CONVERSATIONS_TRIMMED, 0),
        entries=done["shelve"].figures.get(ENTRIES_MERGED, 0),
        index_rebuilt=index.error is None and not index.skipped,
        files=sum(_clean(folder) for folder in folders),
    )


def _clean(folder: Path) -> int:
    """Delete files left over by the migration from flat files to folders; skip those that cannot be deleted."""
    cleaned = 0
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            if path.is_file() and (path.name.endswith(".md.bak") or _moved(path)):
                with suppress(OSError):
                    path.unlink()
                    cleaned += 1
    return cleaned


def _moved(path: Path) -> bool:
    """Whether a file is an agent's from before it had a folder. A folder with only dreams does not replace it."""
    agent = path.with_suffix("")
    own = path.suffix == ".md" and not path.name.startswith(("_", "."))
    return own and any((agent / f"{category}.md").is_file() for category in Category)
