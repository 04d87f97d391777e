"""Job runner: claims due jobs with a lease in the database, so that each runs once across all processes.

The argument. A queue or a leader would be one more service to run; one row per job, claimed by one UPDATE, works on
SQLite and PostgreSQL alike. A claim is a lease: if its process dies, the job can be claimed again after LEASE; a long
job renews its lease. Runs missed while no process was up collapse into one, because a job has a single due time. A
failing job backs off exponentially, up to four hours. A due time much later than the job's interval allows, or a lease
much longer than LEASE, was written by a clock that has since gone back: both count as past. "Much" leaves room for
clock skew between machines and for a claim that waits for the write lock.
"""

import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from recollect import names
from recollect.clock import Clock
from recollect.config import Settings
from recollect.engine.agent_store import Store
from recollect.errors import Conflict, Invalid, NotFound, RecollectError
from recollect.model.reminder import Reminder
from recollect.model.upkeep import Change, JobStatus, Run
from recollect.providers.base import LanguageModel
from recollect.search.ranking import DecayConfig
from recollect.storage.abandoned import abandon, refuse_abandoned
from recollect.storage.database import Transaction
from recollect.upkeep.job_run import JobRun, Record, TakenOver
from recollect.upkeep.run_records import changes_of, combined, reverse, run_of
from recollect.upkeep.schedule import JOBS, Job, job

__all__ = ["Jobs", "Workplace"]

LEASE = 5 * 60_000
LONGEST_WAIT = 4 * 3_600_000
"""Upper bound of the backoff after failures, in milliseconds."""
PAUSE = 5.0
"""Polling interval of the background thread, in seconds."""
_log = logging.getLogger("recollect.upkeep")


class _JobRow(NamedTuple):
    """A row of the jobs table."""

    next_due_at: int
    last_run_at: int | None
    duration: int | None
    failures: int
    error: str | None
    figures: str
    lease_owner: str | None
    lease_until: int | None

    def held(self, now: int) -> bool:
        """Whether a process holds a valid lease on the job."""
        return self.lease_until is not None and now <= self.lease_until <= now + 2 * LEASE


@dataclass(frozen=True, slots=True)
class Workplace:
    """One database with its agents: a workspace, or the account."""

    name: str
    shared: Store
    """The store that holds the rows of jobs and runs."""
    agents: Callable[[], Sequence[Store]]
    folder: Path | None = None
    record: Record | None = None
    """Commits an agent's files to git; None if the workspace has no files."""


class Jobs:
    """The upkeep of a home: `home.jobs`."""

    def __init__(
        self,
        workplaces: Callable[[], Sequence[Workplace]],
        clock: Clock,
        settings: Settings,
        decay: DecayConfig,
        model: LanguageModel | None,
        *,
        before: Callable[[], None] = lambda: None,
        read_files: Callable[[], None] = lambda: None,
    ) -> None:
        """`before` is called before each job, `read_files` before looking for due jobs."""
        self._workplaces, self._clock = workplaces, clock
        self._before, self._read_files = before, read_files
        self.deliver: Callable[[Reminder], object] | None = None
        """Receives due reminders; set by `home.on_reminder()`."""
        self._settings, self._decay, self._model = settings, decay, model
        self._every = {one.name: _interval(settings, one.name) for one in JOBS}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._unfinished: list[threading.Thread] = []
        """Threads that were still running when `stop()` returned."""

    def run(
        self,
        name: str,
        *,
        dry_run: bool = False,
        workspace: str | None = None,
        progress: Callable[[str], None] = lambda where: None,
    ) -> Run:
        """Run a job now, due or not. A dry run reports what it would do and changes nothing."""
        chosen = _known(name)
        if not dry_run:
            self._read_files()
        now = self._clock.now()
        result = Run(id=names.new_id(now), job=chosen.name, started_at=now, dry_run=dry_run)
        done = []
        for place in self._places(workspace):
            progress(place.name)
            ran = self._claimed(chosen, place, replace(result, workspace=place.name), asked=True)
            if ran is not None:
                done.append(ran)
        return combined(result, done, self._clock.now())

    def run_due(self, *, progress: Callable[[str], None] = lambda what: None) -> list[Run]:
        """Run all due jobs in this thread, except those that another process has claimed."""
        return self._run_due(progress, threading.Event())

    def status(self) -> list[JobStatus]:
        """Return the status of each job in each workspace."""
        found = []
        now = self._clock.now()
        for place in self._workplaces():
            rows = self._rows(place)
            for one in JOBS:
                scheduled = one.only_if(self._job_run(one, place, Run(id="", job=one.name, started_at=now)))
                row = rows.get(one.name)
                status = JobStatus(
                    name=one.name,
                    workspace=place.name,
                    every=self._every[one.name],
                    scheduled=scheduled,
                    next_due_at=now + one.first_after if scheduled else None,
                )
                if row is not None:
                    status = replace(
                        status,
                        next_due_at=row.next_due_at if scheduled else None,
                        last_run_at=row.last_run_at,
                        duration=row.duration,
                        failures=row.failures,
                        error=row.error,
                        figures=json.loads(row.figures),
                        running=row.held(now),
                    )
                found.append(status)
        return found

    def runs(self, name: str | None = None, *, limit: int = 20) -> list[Run]:
        """Return the latest runs with their changes, newest first."""
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise Invalid(f"the limit must be a number of runs, 0 or more; not {limit!r}")
        name = None if name is None else _known(name).name
        found: dict[str, list[Run]] = {}
        for place in self._workplaces():
            with place.shared.read() as tx:
                rows = tx.all("upkeep.runs", name=name, limit=limit)
            for row in rows:
                run = replace(run_of(row), workspace=place.name)
                found.setdefault(run.id, []).append(
                    replace(run, changes=tuple(changes_of(place.agents(), place.name, run.id)))
                )
        merged = [combined(parts[0], parts, parts[0].finished_at) for parts in found.values()]
        return sorted(merged, key=lambda run: (run.started_at, run.id), reverse=True)[:limit]

    def undo(self, run: str) -> Run:
        """Reverse all changes of a run to entries, and withdraw the pairs that it proposed for review.

        Entries changed since then keep their current state; erased or expired ones cannot be restored. Raises Conflict
        if the run was undone already, is still running, or would restore a name that is taken now.
        """
        run = names.name(run, "run")
        parts: list[tuple[Workplace, Run]] = []
        now = self._clock.now()
        for place in self._workplaces():
            with place.shared.read() as tx:
                row = tx.one("upkeep.run", run=run)
                standing = _standings(tx)
            if row is not None:
                parts.append((place, run_of(row)))
                if any(one.held(now) and str(one.lease_owner).endswith(run) for one in standing.values()):
                    raise Conflict(f"the run {run} is still in progress; undo it when it has ended")
        if not parts:
            raise NotFound(f"there is no run {run!r}; list the runs to see them")
        # An interrupted undo may be complete in one workspace and not in another.
        parts = [(place, part) for place, part in parts if part.undone_at is None]
        if not parts:
            raise Conflict(f"the run {run} has already been undone")
        undone: list[Change] = []
        gone = 0
        for place, part in parts:
            for store in place.agents():
                gone += reverse(store, place.name, part, undone, self._clock.now())
            with place.shared.database.write(place.shared.agent) as tx:
                tx.run("upkeep.run_undone", run=run, undone_at=self._clock.now())
        figures = {"undone": len(undone)} | ({"gone": gone} if gone else {})
        return Run(
            id=run, job="undo", started_at=now, finished_at=self._clock.now(), changes=tuple(undone), figures=figures
        )

    def start(self, *, after: float = 0.0) -> None:
        """Run due jobs in a background thread until `stop()`, starting after `after` seconds."""
        if self._thread is None or not self._thread.is_alive():
            self._stop = threading.Event()
            work, values = self._loop, (self._stop, after)
            self._thread = threading.Thread(target=work, args=values, name="recollect-upkeep", daemon=True)
            self._thread.start()

    def stop(self, seconds: float = 30.0) -> bool:
        """Stop the thread after its current job. Return False if it is still running after `seconds`."""
        thread, self._thread = self._thread, None
        self._stop.set()
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(seconds)
        self._unfinished = [one for one in (*self._unfinished, thread) if one.is_alive()]
        return not thread.is_alive()

    def _abandon(self) -> None:
        """Bar threads that did not stop from writing; for a home that closes."""
        for thread in self._unfinished:
            abandon(thread)

    # Steps

    def _loop(self, stop: threading.Event, after: float) -> None:
        stop.wait(after)
        while not stop.is_set():
            try:
                self._run_due(lambda what: None, stop)
            except Exception as error:  # a dead thread would stop all upkeep silently
                _log.warning("upkeep could not read the due jobs: %s", error)
            stop.wait(PAUSE)

    def _run_due(self, progress: Callable[[str], None], stop: threading.Event) -> list[Run]:
        ran: list[Run] = []
        trouble: RecollectError | None = None
        self._read_files()
        for place in self._workplaces():
            try:
                for one in self._due(place, self._clock.now()):
                    if stop.is_set():
                        return ran
                    progress(f"{place.name}/{one.name}")
                    started = self._clock.now()
                    result = Run(id=names.new_id(started), job=one.name, started_at=started, workspace=place.name)
                    done = self._claimed(one, place, result, asked=False)
                    if done is not None:
                        ran.append(combined(result, [done], self._clock.now()))
            except RecollectError as error:  # an unusable workspace must not block the others
                trouble = trouble or error
        if trouble is not None:
            raise trouble
        return ran

    def _places(self, workspace: str | None) -> list[Workplace]:
        places = [place for place in self._workplaces() if workspace in (None, place.name)]
        if workspace is not None and not places:
            raise NotFound(f"there is no workspace {workspace!r}; list the workspaces to see them")
        return places

    def _rows(self, place: Workplace) -> dict[str, _JobRow]:
        with place.shared.read() as tx:
            return _standings(tx)

    def _due(self, place: Workplace, now: int) -> list[Job]:
        """Return the due jobs of a workspace; insert rows for jobs that have none yet."""
        rows = self._rows(place)
        due, new = [], []
        for one in JOBS:
            if not one.only_if(self._job_run(one, place, Run(id="", job=one.name, started_at=now))):
                continue
            row = rows.get(one.name)
            if row is None:
                new.append(one)
            elif self._is_due(one, row, now):
                due.append(one)
        if new:
            with place.shared.database.write(place.shared.agent) as tx:
                for one in new:
                    tx.run("upkeep.job_put", name=one.name, next_due_at=now + one.first_after)
            due += [one for one in new if not one.first_after]
        return due

    def _is_due(self, one: Job, row: _JobRow, now: int) -> bool:
        return not now < row.next_due_at <= now + self._wait(one, row.failures) + LEASE

    def _wait(self, one: Job, failures: int) -> int:
        """Return the milliseconds until the next run, after `failures` consecutive failures."""
        every = self._every[one.name]
        return min(every * 2 ** min(failures, 20), LONGEST_WAIT) if failures else every

    def _job_run(self, one: Job, place: Workplace, run: Run) -> JobRun:
        job_run = JobRun(
            run=run.id,
            job=one.name,
            workspace=place.name,
            now=run.started_at,
            settings=self._settings,
            decay=self._decay,
            dry_run=run.dry_run,
            model=self._model,
            folder=place.folder,
            clock=self._clock,
            deliver=self.deliver,
            jobs=tuple(self._every),
        )
        if place.record is not None:
            job_run.record = place.record
        return job_run

    def _claimed(self, one: Job, place: Workplace, run: Run, *, asked: bool) -> Run | None:
        """Claim and run a job in one workspace. If it is not claimable: a skipped run if `asked`, else None."""
        job_run = self._job_run(one, place, run)
        job_run.requested = asked
        if run.dry_run:
            return self._work(one, place, job_run, run)
        shared, owner = place.shared, _owner(run.id)
        with shared.write() as work:  # locks the counters, so that concurrent claims are serialised
            now = self._clock.now()
            work.tx.run("upkeep.job_put", name=one.name, next_due_at=now)
            row = _standings(work.tx)[one.name]
            if row.held(now) or not (asked or self._is_due(one, row, now)):
                return replace(run, skipped=True) if asked else None
            work.tx.all("upkeep.claim", name=one.name, owner=owner, now=now, until=now + LEASE, asked=1, latest=now)
            work.tx.run("upkeep.run_put", run=run.id, name=one.name, started_at=run.started_at)
        job_run.alive = _Lease(shared, one.name, owner, self._clock)
        try:
            done = self._work(one, place, job_run, run)
        except BaseException as ended:  # the process is exiting: release the lease first
            self._finish(one, shared, replace(run, error=f"{type(ended).__name__}: {ended}"), row.failures)
            raise
        self._finish(one, shared, done, row.failures)
        return done

    def _finish(self, one: Job, shared: Store, run: Run, failures: int) -> None:
        finished = self._clock.now()
        failures = failures + 1 if run.error is not None else 0
        trouble = run.error or "; ".join(run.problems[:5]) or None
        with shared.database.write(shared.agent) as tx:
            if one.quiet and trouble is None and not any(run.figures.values()):
                tx.run("upkeep.run_drop", run=run.id)
            tx.run("upkeep.run_end", run=run.id, finished_at=finished, figures=_json(run.figures), error=trouble)
            tx.run(
                "upkeep.finish",
                name=one.name,
                owner=_owner(run.id),
                next_due_at=finished + self._wait(one, failures),
                last_run_at=run.started_at,
                duration=max(finished - run.started_at, 0),
                failures=failures,
                error=trouble,
                figures=_json(run.figures),
            )

    def _work(self, one: Job, place: Workplace, job_run: JobRun, run: Run) -> Run:
        """Run the job's functions. Errors are logged and recorded in the run, never raised."""
        failures: list[str] = []
        try:
            self._before()
            if one.per_workspace is not None:
                one.per_workspace(job_run, place.agents())
            for store in place.agents() if one.per_agent is not None else ():
                assert one.per_agent is not None
                job_run.alive()
                try:
                    with job_run.agent(store) as rows:
                        one.per_agent(job_run, rows)
                except Exception as failed:  # a failure for one agent must not stop the others
                    failures.append(f"{place.name}/{store.agent}: {type(failed).__name__}: {failed}")
                refuse_abandoned()  # the home was closed
        except Exception as failed:
            failures.append(f"{type(failed).__name__}: {failed}")
        for problem in (*failures, *job_run.problems):
            _log.warning("the job %s in %s: %s", one.name, place.name, problem)
        return replace(
            run,
            figures=dict(job_run.figures),
            changes=tuple(job_run.changes),
            error="; ".join(failures[:5]) or None,
            problems=tuple(job_run.problems),
        )


class _Lease:
    """Renews the lease of a running job. Cheap to call often: it writes at most every LEASE / 5."""

    def __init__(self, shared: Store, name: str, owner: str, clock: Clock) -> None:
        self._shared, self._name, self._owner, self._clock = shared, name, owner, clock
        self._renewed = clock.now()
        self._lost = False

    def __call__(self) -> None:
        refuse_abandoned()
        now = self._clock.now()
        if not self._lost and abs(now - self._renewed) > LEASE // 5:
            with self._shared.database.write(self._shared.agent) as tx:
                self._lost = not tx.run("upkeep.renew", name=self._name, owner=self._owner, until=now + LEASE)
            self._renewed = now
        if self._lost:
            raise TakenOver(f"the job {self._name} took so long that another process has taken it over")


def _known(name: str) -> Job:
    """Return the job with this name, or raise NotFound."""
    found = job(names.name(name, "job"))
    if found is None:
        raise NotFound(f"there is no job {name!r}; there are {', '.join(one.name for one in JOBS)}")
    return found


def _owner(run: str) -> str:
    """Return the lease owner of a run: host and pid for the operator, the run id for uniqueness."""
    return f"{socket.gethostname()}-{os.getpid()}-{run}"


def _standings(tx: Transaction) -> dict[str, _JobRow]:
    return {name: _JobRow(*row) for name, *row in tx.all("upkeep.jobs")}


def _interval(settings: Settings, name: str) -> int:
    """Return the interval between runs of a job, in milliseconds."""
    return int(getattr(settings.upkeep, name) * 1_000)


def _json(figures: object) -> str:
    return json.dumps(figures, sort_keys=True)
