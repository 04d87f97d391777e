"""What a job works with: the rows of an agent, short transactions, and a record of everything it does to an entry.

A job never removes or changes an entry in any other way than through a step of its shift, so that `undo` can give it
all back. A dry run goes through the same steps in one transaction that is rolled back in the end.
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
from recollect.model.operation import Add, Remove, Revision, Write
from recollect.model.reminder import Reminder
from recollect.model.upkeep import Change
from recollect.providers.base import LanguageModel
from recollect.search.ranking import DecayConfig
from recollect.storage import entries
from recollect.storage.database import Transaction

__all__ = ["Shift", "Show", "Step", "TakenOver", "set_fields"]

KEPT = 10_000
"""Changes of a run that are kept in memory; all of them are on disk."""
SHOWN = 60
"""Characters of an entry's text that stand for its name."""


class Show(Protocol):
    """What lets the files of a workspace show its entries; it raises nothing."""

    def __call__(self, agent: str, subject: str | None = None, body: str = "") -> None:
        """For one agent; a subject and a body are those of a commit."""
        ...


@dataclass(slots=True)
class Shift:
    """One run of a job in one workspace. `now` is when it began; nothing in a run asks the time again."""

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
    """The names of all jobs, which stand in the log as actors of what they did."""
    model: LanguageModel | None = None
    folder: Path | None = None
    """The folder of the workspace's files, where there is one."""
    clock: Clock = field(default_factory=SystemClock)
    """For what must know the time while it runs: delivering reminders."""
    deliver: Callable[[Reminder], object] | None = None
    """Where reminders go."""
    show: "Show" = field(default_factory=lambda: _shown_nowhere)
    """Lets the files show what was done to an agent's entries; with a subject and a body it is worth a commit."""
    alive: Callable[[], None] = field(default_factory=lambda: _nothing)
    """Keeps the lease, and raises TakenOver when it is lost. Each step calls it, and a job that is long without any."""
    figures: Counter[str] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What could not be done; the rest went on."""
    _dry: dict[int, Work] = field(default_factory=dict)

    def count(self, figure: str, by: int = 1) -> None:
        """Add to one of the run's figures."""
        self.figures[figure] += by

    def skip(self, what: str, error: Exception) -> None:
        """Note that something could not be done, and go on."""
        kind = "" if isinstance(error, RecollectError) else f"{type(error).__name__}: "
        self.problems.append(f"{what}: {kind}{error}")

    @contextmanager
    def read(self, store: Store) -> Iterator[Transaction]:
        """A state to read from; in a dry run the one that the run has made so far."""
        if id(store) in self._dry:
            yield self._dry[id(store)].tx
        else:
            with store.read() as tx:
                yield tx

    @contextmanager
    def step(self, store: Store) -> Iterator["Step"]:
        """A short transaction in which entries may be changed; everything about it is on disk when it ends."""
        self.alive()
        alive, self.alive = self.alive, _nothing  # inside, the lease would wait for this very transaction
        made, figures = len(self.changes), self.figures.copy()
        try:
            if id(store) in self._dry:
                yield Step(self, store, self._dry[id(store)])
            else:
                with store.write() as work:
                    yield Step(self, store, work)
        except BaseException:
            del self.changes[made:]  # nothing of it happened
            self.figures.clear()
            self.figures.update(figures)
            raise
        finally:
            self.alive = alive

    @contextmanager
    def agent(self, store: Store) -> Iterator[Store]:
        """The rows of one agent for the time of the block; in a dry run nothing of what happens to them stays."""
        if not self.dry_run:
            yield store
            return
        # A store of its own: what is read of rows that are never committed must not be remembered.
        aside = Store(store.database, store.agent, store.embedder)
        try:
            with aside.write() as work:
                self._dry[id(aside)] = work
                yield aside
                raise _Undone
        except _Undone:
            pass
        finally:
            self._dry.pop(id(aside), None)


@dataclass(slots=True)
class Step:
    """A transaction of a job. Its methods change entries and write down what they did."""

    shift: Shift
    store: Store
    work: Work

    @property
    def tx(self) -> Transaction:
        """For reading, and for rows that are no entries."""
        return self.work.tx

    def add(self, draft: Add, reason: str) -> Entry:
        """Make an entry."""
        made = remember.apply(self.work, remember.checked(draft), actor=self.shift.job, now=self.shift.now)
        # What tells whether it is still as it was made, when this is undone.
        kept = {"name": made.name, "tags": made.tags, "content_hash": made.content_hash}
        self._note("added", made, reason, after=kept)
        return made

    def remove(self, entry: Entry, reason: str) -> None:
        """Remove an entry, to the trash."""
        remember.apply(self.work, Remove(entry.id), actor=self.shift.job, now=self.shift.now)
        self._note("removed", entry, reason)

    def change(self, entry: Entry, reason: str, **fields: Any) -> Entry:
        """Set fields of an entry: content, tags, context, importance and source by an operation; lifetime,
        access_count and accessed_at as bookkeeping. The entry may have changed since it was read."""
        current = entries.get(self.tx, entry.id)
        if current is None:
            raise NotFound(f"the entry {entry.id} was removed meanwhile; nothing of it was changed")
        entry = current
        after = {name: value for name, value in fields.items() if value != getattr(entry, name)}
        if not after:
            return entry
        before = {name: getattr(entry, name) for name in after}
        changed = set_fields(self.work, entry, after, actor=self.shift.job, now=self.shift.now)
        self._note("changed", entry, reason, before, after)
        return changed

    def note(self, entry: Entry, reason: str) -> None:
        """Write down what was done for an entry whose fields stay as they are."""
        self._note("changed", entry, reason)

    def _note(
        self, what: str, entry: Entry, reason: str, before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        change = Change(
            what=what, entry_id=entry.id, label=entry.name or " ".join(entry.content.split())[:SHOWN], reason=reason,
            where=f"{self.shift.workspace}/{self.store.agent}", before=before or {}, after=after or {},
        )  # fmt: skip
        self.work.tx.run(
            "upkeep.change_put", run=self.shift.run, what=what, entry_id=entry.id, label=change.label, reason=reason,
            before=json.dumps(change.before, default=str), after=json.dumps(change.after, default=str),
        )  # fmt: skip
        if len(self.shift.changes) < KEPT:
            self.shift.changes.append(change)


def set_fields(work: Work, entry: Entry, fields: Mapping[str, Any], *, actor: str, now: int) -> Entry:
    """Set fields of an entry, each in the way that is its own."""
    kept = {name: value for name, value in fields.items() if name in entries.BOOKKEEPING}
    emptied = {name: None for name, value in fields.items() if value is None and name not in kept}
    written = {name: value for name, value in fields.items() if name not in kept and name not in emptied}
    if written:
        write = remember.checked(Write(entry.id, **written))
        entry = remember.apply(work, write, actor=actor, now=now)
    if emptied:
        entry = _empty(work, entry, emptied, actor, now)
    if kept:
        entry = replace(entry, **kept)
        entries.adjust(work.tx, entry)
    return entry


def _empty(work: Work, entry: Entry, fields: Mapping[str, Any], actor: str, now: int) -> Entry:
    """Take a context or category away again, which no operation does: to a write, None means that it stays."""
    before = {name: getattr(entry, name) for name in fields}
    entry = replace(entry, **fields, updated_at=now)
    entries.update(work.tx, entry, entries.stored(work.tx, [entry.id])[entry.id].doc)
    work.counters.operations += 1
    revision = Revision(
        seq=work.counters.operations, at=now, actor=actor, operation="write", entry_id=entry.id, before=before,
        after=dict(fields),
    )  # fmt: skip
    entries.log(work.tx, revision)
    return entry


class TakenOver(Exception):
    """The lease was lost: the run ends at once. No RecollectError, so that no job takes it for one thing to skip."""


class _Undone(Exception):
    """Ends the transaction of a dry run."""


def _nothing() -> None:
    """No lease to keep."""


def _shown_nowhere(agent: str, subject: str | None = None, body: str = "") -> None:
    """No files to keep in step."""
