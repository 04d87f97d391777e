"""The context of a job run: an agent's rows, short transactions, and a record of every change to an entry.

A job changes and removes entries only through a step of its run, so that `undo` can reverse all of it. A dry run
executes the same steps in one transaction and rolls it back.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from recollect.clock import Clock, SystemClock
from recollect.config import Settings
from recollect.engine import remember
from recollect.engine.agent_store import Store, Work
from recollect.errors import NotFound, RecollectError
from recollect.model.entry import Entry
from recollect.model.operation import Add, Remove, Write, checked
from recollect.model.reminder import Reminder
from recollect.model.upkeep import Change
from recollect.providers.base import LanguageModel
from recollect.search.ranking import DecayConfig
from recollect.storage import entries
from recollect.storage.columns import BOOKKEEPING
from recollect.storage.database import Transaction
from recollect.storage.reviews import OpenPair

__all__ = ["JobRun", "Record", "Step", "TakenOver", "set_fields"]

MOST_CHANGES = 10_000
"""Maximum number of changes that a run keeps in memory; all are on disk."""
SHOWN = 60
"""Characters of the text that label an entry without a name."""


class Record(Protocol):
    """Callback that commits an agent's files to git, if it is on. Never raises."""

    def __call__(self, agent: str, subject: str, body: str = "") -> None:
        """Commit one agent's files with a message."""
        ...


@dataclass(slots=True, kw_only=True)
class JobRun:
    """One run of a job in one workspace. `now` is its start time, used throughout the run."""

    run: str
    job: str
    workspace: str
    now: int
    settings: Settings
    decay: DecayConfig
    dry_run: bool = False
    requested: bool = False
    """True if the job was requested by name, False if the schedule started it."""
    jobs: tuple[str, ...] = ()
    """The names of all jobs; the log records a job's name as the actor of its operations."""
    model: LanguageModel | None = None
    folder: Path | None = None
    """The folder of the workspace's files, if any."""
    clock: Clock = field(default_factory=SystemClock)
    """Current time, for the one job that needs it while it runs: delivering reminders."""
    deliver: Callable[[Reminder], object] | None = None
    """Receives due reminders."""
    record: "Record" = field(default_factory=lambda: _not_recorded)
    """Commits an agent's files to git."""
    alive: Callable[[], None] = field(default_factory=lambda: _nothing)
    """Renews the lease; raises TakenOver if it was lost. Called by each step, and by jobs that go long without one."""
    figures: Counter[str] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Items that failed; the run continued without them."""
    _dry: dict[int, Work] = field(default_factory=dict)

    def count(self, figure: str, by: int = 1) -> None:
        """Add to one of the run's figures."""
        self.figures[figure] += by

    def skip(self, what: str, error: Exception) -> None:
        """Record that an item failed, without ending the run."""
        kind = "" if isinstance(error, RecollectError) else f"{type(error).__name__}: "
        self.problems.append(f"{what}: {kind}{error}")

    @contextmanager
    def read(self, store: Store) -> Iterator[Transaction]:
        """Open a read transaction; in a dry run it sees the uncommitted changes of the run."""
        if id(store) in self._dry:
            yield self._dry[id(store)].tx
        else:
            with store.read() as tx:
                yield tx

    @contextmanager
    def step(self, store: Store) -> Iterator["Step"]:
        """Open a short write transaction; changes and their record are durable when it ends."""
        self.alive()
        alive, self.alive = self.alive, _nothing  # renewing inside would block on this transaction
        made, figures = len(self.changes), self.figures.copy()
        try:
            if id(store) in self._dry:
                yield Step(self, store, self._dry[id(store)])
            else:
                with store.write() as work:
                    yield Step(self, store, work)
        except BaseException:
            del self.changes[made:]  # the transaction was rolled back
            self.figures.clear()
            self.figures.update(figures)
            raise
        finally:
            self.alive = alive

    @contextmanager
    def agent(self, store: Store) -> Iterator[Store]:
        """Return the agent's store for the block; in a dry run changes are rolled back at its end."""
        if not self.dry_run:
            yield store
            return
        # A separate store: its caches must not leak rows that are never committed.
        aside = Store(store.database, store.agent, store.embedder)
        try:
            with aside.write() as work:
                self._dry[id(aside)] = work
                yield aside
                raise _RollBack
        except _RollBack:
            pass
        finally:
            self._dry.pop(id(aside), None)


@dataclass(slots=True)
class Step:
    """A write transaction of a job. Its methods change entries and record each change."""

    job_run: JobRun
    store: Store
    work: Work

    @property
    def tx(self) -> Transaction:
        """The transaction, for reads and for rows other than entries."""
        return self.work.tx

    def add(self, draft: Add, reason: str) -> Entry:
        """Add an entry."""
        made = remember.apply(self.work, checked(draft), actor=self.job_run.job, now=self.job_run.now)
        # Undo removes the entry only if these fields are still the same.
        kept = {"name": made.name, "tags": made.tags, "content_hash": made.content_hash}
        self._note("added", made, reason, after=kept)
        return made

    def remove(self, entry: Entry, reason: str) -> None:
        """Move an entry to the trash."""
        remember.apply(self.work, Remove(entry.id), actor=self.job_run.job, now=self.job_run.now)
        self._note("removed", entry, reason)

    def change(self, entry: Entry, reason: str, **fields: Any) -> Entry:
        """Set fields of an entry: content, tags, context, importance, source, origin and evidence as an operation;
        lifetime, access_count and accessed_at as bookkeeping. Applies to the current row, which may be newer than
        `entry`."""
        current = entries.get(self.tx, entry.id)
        if current is None:
            raise NotFound(f"the entry {entry.id} was removed in the meantime; nothing was changed")
        entry = current
        after = {name: value for name, value in fields.items() if value != getattr(entry, name)}
        if not after:
            return entry
        before = {name: getattr(entry, name) for name in after}
        changed = set_fields(self.work, entry, after, actor=self.job_run.job, now=self.job_run.now)
        self._note("changed", entry, reason, before, after)
        return changed

    def propose(self, pair: OpenPair) -> None:
        """Record a pair for review. The reason names no word of the entries, because it outlives them."""
        newer = entries.get(self.tx, pair.newer_id)
        if newer is not None:
            self._note("proposed", newer, f"it {pair.relation} entry {pair.older_id}", after={"review": pair.id})

    def note(self, entry: Entry, reason: str) -> None:
        """Record a change that leaves the fields of the entry as they are."""
        self._note("changed", entry, reason)

    def _note(
        self,
        what: str,
        entry: Entry,
        reason: str,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        change = Change(
            what=what,
            entry_id=entry.id,
            label=entry.name or " ".join(entry.content.split())[:SHOWN],
            reason=reason,
            where=f"{self.job_run.workspace}/{self.store.agent}",
            before=before or {},
            after=after or {},
        )
        self.work.tx.run(
            "upkeep.change_put",
            run=self.job_run.run,
            what=what,
            entry_id=entry.id,
            label=change.label,
            reason=reason,
            before=json.dumps(change.before, default=str),
            after=json.dumps(change.after, default=str),
        )
        if len(self.job_run.changes) < MOST_CHANGES:
            self.job_run.changes.append(change)


def set_fields(work: Work, entry: Entry, fields: Mapping[str, Any], *, actor: str, now: int) -> Entry:
    """Set fields of an entry: bookkeeping directly, all others through a logged operation."""
    kept = {name: value for name, value in fields.items() if name in BOOKKEEPING}
    # In a Write, None means unchanged, and an empty string clears context and category.
    made_from = {name: value for name, value in fields.items() if name in remember.MADE_FROM}
    written: dict[str, Any] = {
        name: "" if value is None else value
        for name, value in fields.items()
        if name not in kept and name not in made_from
    }
    if made_from:
        entry = remember.set_made_from(work, entry.id, made_from, actor=actor, now=now)
    if written:
        entry = remember.apply(work, checked(Write(entry.id, **written)), actor=actor, now=now)
    if kept:
        entry = replace(entry, **kept)
        entries.adjust(work.tx, entry)
    return entry


class TakenOver(Exception):
    """The lease was lost: the run ends at once. Not a RecollectError, so that no job skips it as a failed item."""


class _RollBack(Exception):
    """Rolls back the transaction of a dry run."""


def _nothing() -> None:
    """Used where there is no lease to renew."""


def _not_recorded(agent: str, subject: str, body: str = "") -> None:
    """Used where there are no files."""
