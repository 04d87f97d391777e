"""The runner of jobs: each due job runs once, for any caller and any clock; a run can be undone."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crash import upkeepers
from crash.children import Child, children

import recollect
from recollect import (
    Add,
    ConfigError,
    Conflict,
    Entry,
    FixedClock,
    Home,
    Invalid,
    Lifetime,
    NotFound,
    Settings,
    Unavailable,
    Write,
)
from recollect.config import EmbedderSettings, UpkeepSettings
from recollect.engine.agent_store import Store, every
from recollect.model.upkeep import JobStatus
from recollect.search import index
from recollect.storage.postgres.database import PostgresDatabase, PostgresTransaction
from recollect.storage.sqlite.database import SqliteDatabase
from recollect.storage.sqlite.transactions import SqliteTransaction
from recollect.upkeep import runner, schedule
from recollect.upkeep.job_run import JobRun
from recollect.upkeep.schedule import Job

NOW = 1_767_225_600_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
Open = Callable[..., Home]


@pytest.fixture
def opened(location: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens homes in which these are the jobs; all of one test in the same location."""
    homes: list[Home] = []

    def open_with(*jobs: Job, clock: FixedClock = clock, upkeep: UpkeepSettings | None = None) -> Home:
        if jobs:
            monkeypatch.setattr(runner, "JOBS", jobs)
            monkeypatch.setattr(schedule, "JOBS", jobs)
        settings = Settings(embedder=EmbedderSettings(kind="none"), upkeep=upkeep or UpkeepSettings())
        homes.append(recollect.open(location, clock=clock, settings=settings))
        return homes[-1]

    yield open_with
    for home in homes:
        home.close()


def counted(name: str, ran: list[str], failing: list[Exception] | None = None) -> Job:
    """A job that notes that it ran, and fails as long as there is something to fail with."""

    def work(shift: JobRun, store: Store) -> None:
        ran.append(name)
        if failing:
            raise failing[0]

    return Job(name, work)


def status(home: Home, name: str, workspace: str = "default") -> JobStatus:
    return next(one for one in home.jobs.status() if (one.name, one.workspace) == (name, workspace))


def state(home: Home, agent: str = "ana", workspace: str = "default") -> dict[str, Entry]:
    """Every entry, without the time of its last change."""
    return {entry.id: replace(entry, updated_at=0) for entry in home.agent(agent, workspace).list(limit=1_000)}


def every_row(home: Home) -> dict[str, list[Any]]:
    """All that is stored, of everybody."""
    found = {}
    for label, database in home._databases():
        for agent in {*database.admin.agents(), "_shared"}:
            if database.exists(agent):
                with database.admin.dump(agent) as tables:
                    for table, _, rows in tables:
                        found[f"{label}/{agent}/{table}"] = sorted(map(repr, rows))
    return {place: rows for place, rows in found.items() if rows}  # the first write for a feature creates its tables


def pairs(home: Home, agent: str = "ana", workspace: str = "default") -> None:
    """Something to tidy."""
    mem = home.agent(agent, workspace)
    for content in ("left 1", "right 1", "left 2", "old 3", "keep 4", "stay 5"):
        mem.remember(content, lifetime=Lifetime.SHORT_TERM)


# Run, look, undo


def test_a_run_tells_what_it_did_to_which_entry_and_why(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    pairs(home)
    run = home.jobs.run("consolidate")
    assert (run.error, run.skipped, run.dry_run, run.undone_at) == (None, False, False, None)
    assert run.figures == {"merged": 1, "dropped": 1, "kept": 1}
    assert sorted(map(str, run.changes)) == [
        "added 'joined 1': left and right 1 are a pair",
        "changed 'keep 4': it is worth it",
        "changed 'old 3': it is marked",
        "removed 'left 1': it is a part of a pair",
        "removed 'old 3': it is old",
        "removed 'right 1': it is a part of a pair",
    ]
    assert {change.where for change in run.changes} == {"default/ana"}
    assert sorted(entry.content for entry in home.agent("ana").list()) == ["joined 1", "keep 4", "left 2", "stay 5"]
    (known,) = home.jobs.runs()
    assert (known.id, known.job, known.figures, known.error) == (run.id, "consolidate", run.figures, None)
    assert sorted(map(str, known.changes)) == sorted(map(str, run.changes))
    assert home.jobs.runs("consolidate", limit=5) == [known]
    assert home.jobs.runs(limit=0) == []
    assert home.check().findings == ()


def test_a_second_run_changes_nothing(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    pairs(home)
    first = home.jobs.run("consolidate")
    before = state(home)
    second = home.jobs.run("consolidate")
    assert (second.changes, second.figures, state(home)) == ((), {}, before)
    assert [run.id for run in home.jobs.runs()] == [second.id, first.id]


@pytest.mark.directory
@pytest.mark.unprepared
def test_status_tells_how_a_job_stands(opened: Open, clock: FixedClock) -> None:
    def work(shift: JobRun, store: Store) -> None:
        clock.advance(90)
        shift.count("seen", 3)

    home = opened(Job("age", work), Job("dream", work, only_if=lambda shift: False), Job("embed", work, None, MINUTE))
    assert home.jobs.status() == []
    home.agent("ana").remember("hello")
    assert status(home, "age") == JobStatus(name="age", workspace="default", every=DAY, scheduled=True, next_due_at=NOW)
    assert [run.job for run in home.jobs.run_due()] == ["age"]
    assert status(home, "age") == JobStatus(
        name="age",
        workspace="default",
        every=DAY,
        scheduled=True,
        next_due_at=NOW + 90 + DAY,
        last_run_at=NOW,
        duration=90,
        figures={"seen": 3},
    )
    assert (status(home, "dream").scheduled, status(home, "dream").next_due_at) == (False, None)
    assert status(home, "embed").next_due_at == NOW + MINUTE  # first after a minute
    clock.set(NOW + MINUTE)
    assert [run.job for run in home.jobs.run_due()] == ["embed"]
    assert home.jobs.run("dream").figures == {"seen": 3}  # asked for by name it always runs


def test_undo_restores_the_exact_state(opened: Open, clock: FixedClock) -> None:
    home = opened(upkeepers.tidy())
    pairs(home)
    mem = home.agent("ana")
    mem.apply(
        recollect.Alias(mem.remember("old 9", name="nine", tags=["a", "b"], context="why", importance=0.9).id, "9")
    )
    before = state(home)
    clock.advance(HOUR)
    run = home.jobs.run("consolidate")
    assert state(home) != before
    clock.advance(HOUR)
    undone = home.jobs.undo(run.id)
    assert state(home) == before
    assert undone.figures == {"undone": len(run.changes)}
    assert {change.reason for change in undone.changes} == {"consolidate is undone"}
    assert home.jobs.runs()[0].undone_at == clock.now()
    assert {hit.entry.content for hit in mem.recall("old")} == {"old 3", "old 9"}
    assert mem.get("nine").aliases == ("9",)
    assert home.check().findings == ()
    with pytest.raises(Conflict):
        home.jobs.undo(run.id)
    assert state(home) == before


def test_what_was_changed_since_the_run_stays_as_it_is(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    pairs(home)
    mem = home.agent("ana")
    run = home.jobs.run("consolidate")
    kept = next(entry for entry in mem.list() if entry.content == "keep 4")
    mem.apply(Write(kept.id, tags=("mine",)))
    made = next(entry for entry in mem.list() if entry.content == "joined 1")
    mem.apply(Write(made.id, content="joined 1, in my words"))
    back = next(change.entry_id for change in run.changes if change.label == "old 3")
    mem.restore(back)
    mem.apply(Write(back, content="old 3, in my words"))
    home.jobs.undo(run.id)
    assert (mem.get(kept.id).tags, mem.get(kept.id).lifetime) == (("mine",), Lifetime.SHORT_TERM)
    assert sorted(entry.content for entry in mem.list()) == [
        "joined 1, in my words",
        "keep 4",
        "left 1",
        "left 2",
        "old 3, in my words",
        "right 1",
        "stay 5",
    ]
    assert (mem.get(back).context, mem.get(back).importance) == (
        None,
        0.5,
    )  # what the run set and no write changed since


def test_what_was_erased_since_the_run_is_gone_and_the_rest_comes_back(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    pairs(home)
    mem = home.agent("ana")
    run = home.jobs.run("consolidate")
    mem.forget(next(change.entry_id for change in run.changes if change.label == "left 1"), erase=True)
    assert home.jobs.undo(run.id).figures == {"undone": len(run.changes) - 1}
    assert sorted(entry.content for entry in mem.list()) == ["keep 4", "left 2", "old 3", "right 1", "stay 5"]


def test_a_name_that_was_taken_since_is_a_conflict_and_nothing_is_half_undone(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    mem = home.agent("ana")
    mem.remember("keep 1")
    mem.remember("old 2", name="two")
    run = home.jobs.run("consolidate")
    taken = mem.remember("another", name="two")
    before = state(home)
    with pytest.raises(Conflict):
        home.jobs.undo(run.id)
    assert state(home) == before
    mem.forget(taken.id)
    home.jobs.undo(run.id)
    assert mem.get("two").content == "old 2"
    assert all(entry.tags == () for entry in mem.list())


def test_a_run_that_is_going_on_cannot_be_undone(opened: Open) -> None:
    caught = []

    def work(shift: JobRun, store: Store) -> None:
        with pytest.raises(Conflict) as info:
            home.jobs.undo(shift.run)
        caught.append(str(info.value))

    home = opened(Job("age", work))
    home.agent("ana").remember("hello")
    run = home.jobs.run("age")
    assert "still in progress" in caught[0]
    assert home.jobs.undo(run.id).figures == {"undone": 0}


@pytest.mark.directory
def test_what_is_not_there_is_said_so(opened: Open) -> None:
    home = opened(counted("age", []))
    home.agent("ana").remember("hello")
    for ask in (
        lambda: home.jobs.run("nonsense"),
        lambda: home.jobs.runs("nonsense"),
        lambda: home.jobs.run("age", workspace="nowhere"),
        lambda: home.jobs.undo("nonsense"),
    ):
        with pytest.raises(NotFound) as caught:
            ask()
        assert "nonsense" in str(caught.value) or "nowhere" in str(caught.value)
    for ask in (
        lambda: home.jobs.run(""),
        lambda: home.jobs.run(7),  # type: ignore[arg-type]
        lambda: home.jobs.undo("\0"),
        lambda: home.jobs.runs(limit=-1),
        lambda: home.jobs.runs(limit=True),
    ):
        with pytest.raises(Invalid):
            ask()


@pytest.mark.parametrize("seconds", [0, -1, 0.5, float("nan"), float("inf")])
def test_an_interval_that_is_none_is_refused(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(ConfigError, match="age"):
        recollect.open(tmp_path / "memory.db", settings=Settings(upkeep=UpkeepSettings(age=seconds)))


# Dry runs


def test_a_dry_run_tells_the_same_and_leaves_nothing(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    pairs(home)
    mem = home.agent("ana")
    assert mem.recall("old")[0].entry.content == "old 3"  # the caches are warm
    home.flush()
    before = every_row(home)
    dry = home.jobs.run("consolidate", dry_run=True)
    assert every_row(home) == before
    assert [hit.entry.content for hit in mem.recall("old")] == ["old 3"]
    assert sorted(hit.entry.content for hit in mem.recall("left")) == ["left 1", "left 2"]
    assert mem.recall("joined") == []
    assert [hit.entry.tags for hit in mem.recall("keep")] == [()]
    assert home.jobs.runs() == []
    assert dry.dry_run
    real = home.jobs.run("consolidate")
    assert real.figures == dry.figures
    assert list(map(str, real.changes)) == list(map(str, dry.changes))
    assert mem.recall("old") == []


def test_a_dry_run_sees_its_own_steps(opened: Open) -> None:
    seen = []

    def work(shift: JobRun, store: Store) -> None:
        with shift.step(store) as step:
            step.add(Add("made"), "for the test")
        with shift.read(store) as tx:
            seen.append(len(tx.all("entries.after_id", id="", limit=10)))
        shift.alive()

    home = opened(Job("age", work))
    home.agent("ana").remember("hello")
    for _ in range(2):
        assert len(home.jobs.run("age", dry_run=True).changes) == 1
    assert seen == [2, 2]
    assert len(home.agent("ana").list()) == 1


def test_what_a_dry_run_looks_up_is_not_remembered(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "TAIL", 2)  # so that there are segments, of which a part is kept in memory
    found = []

    def work(shift: JobRun, store: Store) -> None:
        with shift.step(store) as step:
            step.add(Add("old phantom"), "for the test")
            for one in [one.entry for one in every(step.tx)]:
                if one.content == "old 3":
                    step.remove(one, "for the test")
            for word in ("old", "phantom"):
                found.append(len(store.index.search(step.tx, step.work.counters, [{word: 1.0}], 10)))

    home = opened(Job("age", work))
    pairs(home)
    mem = home.agent("ana")
    mem.recall("old")
    assert home.jobs.run("age", dry_run=True).error is None
    assert found == [1, 1]
    mem.forget(next(entry.id for entry in mem.list() if entry.content == "stay 5"))
    mem.remember("another")
    assert [hit.entry.content for hit in mem.recall("old")] == ["old 3"]
    assert mem.recall("phantom") == []


# Failures


def test_a_failing_job_backs_off_up_to_four_hours_while_others_and_conversations_go_on(
    opened: Open, clock: FixedClock
) -> None:
    ran: list[str] = []
    failing: list[Exception] = [ValueError("the moon is in the way")]
    home = opened(counted("extract", ran, failing), counted("shelve", ran), upkeep=UpkeepSettings(extract=600))
    conv = home.agent("ana").conversations.start()
    waits = []
    for failures in range(1, 8):
        assert sorted(run.job for run in home.jobs.run_due()) == ["extract", "shelve"]
        conv.user(f"message {failures}")
        now = status(home, "extract")
        assert (now.failures, now.running) == (failures, False)
        assert "ValueError: the moon is in the way" in str(now.error)
        assert (status(home, "shelve").failures, status(home, "shelve").error) == (0, None)
        assert now.next_due_at is not None
        waits.append((now.next_due_at - clock.now()) // MINUTE)
        clock.set(now.next_due_at - 1)
        assert "extract" not in [run.job for run in home.jobs.run_due()]
        clock.set(now.next_due_at + 10 * MINUTE)
    assert waits == [20, 40, 80, 160, 240, 240, 240]
    failing.clear()
    assert [run.error for run in home.jobs.run_due()] == [None, None]
    good = status(home, "extract")
    assert (good.failures, good.error, good.next_due_at) == (0, None, clock.now() + 10 * MINUTE)
    assert len(list(conv.events())) == 7


def test_a_daily_job_that_fails_is_tried_again_after_four_hours(opened: Open, clock: FixedClock) -> None:
    ran: list[str] = []
    home = opened(counted("age", ran, [Unavailable("busy")]))
    home.agent("ana").remember("hello")
    home.jobs.run_due()
    assert status(home, "age").next_due_at == NOW + 4 * HOUR
    clock.advance(4 * HOUR)
    home.jobs.run_due()
    assert ran == ["age", "age"]


def test_the_trouble_of_one_agent_does_not_keep_the_others_waiting(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    ran = []

    def work(shift: JobRun, store: Store) -> None:
        ran.append(store.agent)
        with shift.step(store) as step:
            step.add(Add("made by the job"), "for the test")
            shift.count("made")
            if store.agent == "ben":
                raise KeyError("damaged")

    home = opened(Job("age", work))
    for agent in ("ana", "ben", "cleo"):
        home.agent(agent).remember("hello")
    with caplog.at_level(logging.WARNING):
        run = home.jobs.run("age")
    assert ran == ["ana", "ben", "cleo"]
    assert run.error == "default/ben: KeyError: 'damaged'"
    assert run.error in caplog.text
    assert run.figures == {"made": 2}  # nothing of a step that failed has happened
    assert [change.where for change in run.changes] == ["default/ana", "default/cleo"]
    assert [len(home.agent(agent).list()) for agent in ("ana", "ben", "cleo")] == [2, 1, 2]
    assert len(home.jobs.runs()[0].changes) == 2


@pytest.mark.unprepared
@pytest.mark.parametrize("location", ["directory", "postgres"], indirect=True)  # a file has one workspace
def test_a_workspace_that_cannot_be_used_does_not_keep_the_others_waiting(opened: Open) -> None:
    ran: list[str] = []

    def unusable(shift: JobRun) -> bool:
        if shift.workspace == "a":
            raise Unavailable("the disk of a is gone")
        return True

    home = opened(replace(counted("age", ran), only_if=unusable))
    home.agent("ana", "a").remember("hello")
    home.agent("ana", "b").remember("hello")
    with pytest.raises(Unavailable, match="the disk of a"):
        home.jobs.run_due()
    assert ran == ["age"]


def test_a_job_that_is_interrupted_gives_its_lease_back(opened: Open) -> None:
    def work(shift: JobRun, store: Store) -> None:
        with shift.step(store) as step:
            step.add(Add("made by the job"), "for the test")
            raise KeyboardInterrupt

    home = opened(Job("age", work))
    home.agent("ana").remember("hello")
    with pytest.raises(KeyboardInterrupt):
        home.jobs.run("age")
    assert (status(home, "age").running, status(home, "age").failures) == (False, 1)
    assert len(home.agent("ana").list()) == 1
    assert home.jobs.runs()[0].error == "KeyboardInterrupt: "


# Once, across all processes


def test_many_threads_run_a_due_job_once(opened: Open, clock: FixedClock) -> None:
    ran: list[str] = []
    home = opened(counted("age", ran), counted("retain", ran), counted("reindex", ran))
    home.agent("ana").remember("hello")
    homes = [home, home, home, opened(), opened(), opened()]
    problems: list[BaseException] = []
    for day in range(1, 4):

        def work(one: Home) -> None:
            try:
                one.jobs.run_due()
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=work, args=(one,)) for one in homes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert sorted(ran) == sorted(["age", "retain", "reindex"] * day)
        clock.advance(DAY)
    assert len(home.jobs.runs(limit=100)) == 9


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    with children() as starter:
        yield starter


def test_several_processes_run_a_due_job_once(start: Callable[..., Child], location: str, tmp_path: Path) -> None:
    with recollect.open(location) as home:
        home.agent("ana").remember("hello")
    log = tmp_path / "ran.txt"
    those = [start(upkeepers.run_due_and_note, location, str(log), 5) for _ in range(4)]
    for child in those:
        child.go()
    received = [message[1] for child in those for message in child.rest() if message[0] == "ran"]
    assert [child.failure for child in those if child.failure] == []
    assert sorted(received) == ["age", "retain", "vacuum"]
    assert sorted(line.split()[0] for line in log.read_text(encoding="utf-8").splitlines()) == sorted(received)


def test_requesting_a_job_that_is_running_reports_that(opened: Open) -> None:
    seen: list[object] = []

    def work(shift: JobRun, store: Store) -> None:
        seen.append(other.jobs.run("age").skipped)
        seen.append(other.jobs.run_due())
        seen.append(status(other, "age").running)

    home = opened(Job("age", work))
    home.agent("ana").remember("hello")
    other = opened()
    assert not home.jobs.run("age").skipped
    assert seen == [True, [], True]
    assert len(home.jobs.runs()) == 1


def test_a_long_job_keeps_its_lease(opened: Open, clock: FixedClock) -> None:
    taken = []

    def work(shift: JobRun, store: Store) -> None:
        for _ in range(5):
            clock.advance(4 * MINUTE)
            with shift.step(store):
                shift.alive()  # here, too, it waits for no other process
            taken.append(other.jobs.run("age").skipped)

    home = opened(Job("age", work))
    home.agent("ana").remember("hello")
    other = opened()
    assert home.jobs.run("age").error is None
    assert taken == [True] * 5
    assert status(home, "age").duration == 20 * MINUTE


def test_a_job_whose_lease_was_taken_over_stops_at_once(opened: Open, clock: FixedClock) -> None:
    visited: list[str] = []

    def work(shift: JobRun, store: Store) -> None:
        visited.append(f"{shift.run} {store.agent}")
        if len(visited) == 1:
            clock.advance(6 * MINUTE)  # a step that takes too long
            taken.append(other.jobs.run_due())
            with suppress(recollect.RecollectError), shift.step(store) as step:
                step.add(Add("made too late"), "for the test")

    taken: list[list[Any]] = []
    home = opened(Job("age", work))
    for agent in ("ana", "ben"):
        home.agent(agent).remember("hello")
    other = opened()
    (late,) = home.jobs.run_due()
    ((second,),) = taken
    assert "taken it over" in str(late.error)
    assert visited == [f"{late.id} ana", f"{second.id} ana", f"{second.id} ben"]
    assert [entry.content for entry in home.agent("ana").list()] == ["hello"]
    assert (status(home, "age").failures, status(home, "age").error) == (0, None)  # the other's outcome counts
    assert {run.id: run.error for run in home.jobs.runs()} == {late.id: late.error, second.id: None}


# The clock


def test_missed_runs_are_one_run(opened: Open, clock: FixedClock) -> None:
    ran: list[str] = []
    home = opened(counted("age", ran), counted("extract", ran))
    home.agent("ana").remember("hello")
    home.jobs.run_due()
    assert home.jobs.run_due() == []
    clock.advance(100 * DAY)
    home = opened()
    assert len(home.jobs.run_due()) == 2
    assert home.jobs.run_due() == []
    assert sorted(ran) == ["age", "age", "extract", "extract"]


@pytest.mark.parametrize("jump", [10 * 365 * DAY, DAY + 1, -HOUR, -30 * DAY, -10 * 365 * DAY])
def test_a_clock_that_jumps_neither_floods_nor_stalls(
    tmp_path: Path, jump: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    jobs = (counted("extract", ran), counted("shelve", ran, [ValueError("no")]))
    monkeypatch.setattr(runner, "JOBS", jobs)
    monkeypatch.setattr(schedule, "JOBS", jobs)
    clock = FixedClock(NOW)
    with recollect.open(tmp_path / "memory.db", clock=clock) as home:
        home.agent("ana").remember("hello")
        home.jobs.run_due()
        clock.advance(jump)
        for minute in range(60):
            home.jobs.run_due()
            if not minute:
                assert ran.count("extract") == 2  # at once
            clock.advance(MINUTE)
        assert ran.count("extract") == 7  # every ten minutes, as before
        assert 2 <= ran.count("shelve") <= 4


def test_a_clock_that_is_a_little_behind_takes_nothing_over_and_runs_nothing_again(
    opened: Open, clock: FixedClock
) -> None:
    ran: list[str] = []
    seen: list[object] = []

    def work(shift: JobRun, store: Store) -> None:
        ran.append(shift.job)
        seen.extend([behind.jobs.run_due(), behind.jobs.run("age").skipped])

    late = FixedClock(NOW - 2 * SECOND)
    behind = opened(Job("age", work), clock=late)
    home = opened()
    home.agent("ana").remember("hello")
    home.jobs.run_due()
    clock.advance(2 * DAY)
    late.advance(2 * DAY)
    seen.clear()
    assert len(home.jobs.run_due()) == 1
    assert behind.jobs.run_due() == []
    assert seen == [[], True]
    assert ran == ["age", "age"]


# Nothing to do


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[str], list[str]]]:
    """The queries that are run meanwhile, and the writes that are begun."""
    queries: list[str] = []
    writes: list[str] = []
    with monkeypatch.context() as patch:
        for kind in (SqliteTransaction, PostgresTransaction):
            for method in ("all", "run", "many"):
                real = getattr(kind, method)

                def noted(self: Any, query: str, /, *given: Any, real: Any = real, **values: Any) -> Any:
                    queries.append(query)
                    return real(self, query, *given, **values)

                patch.setattr(kind, method, noted)
        for place in (SqliteDatabase, PostgresDatabase):
            begin = place.write

            def writing(self: Any, agent: str, begin: Any = begin) -> Any:
                writes.append(agent)
                return begin(self, agent)

            patch.setattr(place, "write", writing)
        yield queries, writes


def test_with_nothing_due_a_look_takes_a_few_queries_and_no_write(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = opened(*(counted(name, []) for name in ("age", "retain", "reindex", "extract", "shelve")))
    home.agent("ana").remember("hello")
    home.jobs.run_due()
    with watched(monkeypatch) as (few, writes):
        assert home.jobs.run_due() == []
    assert writes == []
    assert few.count("upkeep.jobs") == 1
    assert len(few) <= 6
    for number in range(5):
        home.agent(f"agent{number}").remember("hello")
    home.jobs.run_due()  # the first look at the files of an agent compares them with its entries
    with watched(monkeypatch) as (many, writes):
        assert home.jobs.run_due() == []
    assert (sorted(many), writes) == (sorted(few), [])


@pytest.mark.directory
@pytest.mark.unprepared
def test_where_nothing_is_stored_nothing_is_made(opened: Open) -> None:
    ran: list[str] = []
    home = opened(counted("age", ran))
    assert home.jobs.run_due() == home.jobs.status() == home.jobs.runs() == []
    assert home.jobs.run("age").changes == ()
    assert home.workspaces() == ran == []


# The thread


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "recollect-upkeep"]


def test_the_thread_runs_what_is_due_until_it_is_stopped(opened: Open) -> None:
    done = threading.Event()
    home = opened(Job("age", lambda shift, store: done.set()))
    home.agent("ana").remember("hello")
    home.jobs.start()
    home.jobs.start()
    assert len(threads()) == 1
    assert done.wait(30)
    home.jobs.stop()
    home.jobs.stop()
    assert threads() == []
    assert status(home, "age").failures == 0
    home.jobs.start()
    assert len(threads()) == 1
    home.close()
    assert threads() == []


@pytest.mark.parametrize("again", [False, True])
def test_the_thread_stops_after_the_job_that_it_is_at(opened: Open, again: bool) -> None:
    began, go_on, ran = threading.Event(), threading.Event(), list[str]()

    def slow(shift: JobRun, store: Store) -> None:
        began.set()
        go_on.wait(30)

    home = opened(Job("age", slow), counted("retain", ran))
    home.agent("ana").remember("hello")
    home.jobs.start()
    assert began.wait(30)
    home.jobs.stop(0)
    (left,) = threads()
    if again:
        home.jobs.start()  # the one before stays stopped
    go_on.set()
    left.join(30)
    assert not left.is_alive()
    assert again or ran == []
    home.jobs.stop()
    assert threads() == []
    assert len(home.jobs.runs("age")) == 1


def test_trouble_does_not_end_the_thread(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PAUSE", 0.01)
    done, times = threading.Event(), list[int]()

    def sometimes(shift: JobRun) -> bool:
        times.append(1)
        if len(times) < 3:
            raise Unavailable("busy")
        return True

    home = opened(Job("age", lambda shift, store: done.set(), only_if=sometimes))
    home.agent("ana").remember("hello")
    home.jobs.start()
    assert done.wait(30)
    home.jobs.stop()


# Workspaces


@pytest.mark.parametrize("location", ["directory", "postgres"], indirect=True)  # a file has one workspace
def test_a_job_runs_in_every_workspace_and_in_the_account(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    pairs(home)
    pairs(home, "ben", "work")
    home.agent("ana").remember("old 7", scope="account")
    before = state(home), state(home, "ben", "work")
    assert {one.workspace for one in home.jobs.status()} == {"account", "default", "work"}

    only = home.jobs.run("consolidate", workspace="work", dry_run=True)
    assert {change.where for change in only.changes} == {"work/ben"}
    received: list[str] = []
    run = home.jobs.run("consolidate", progress=received.append)
    assert sorted(received) == ["account", "default", "work"]
    assert {change.where for change in run.changes} == {"account/ana", "default/ana", "work/ben"}
    assert run.figures == {"merged": 2, "dropped": 3, "kept": 2}
    (known,) = home.jobs.runs()
    assert (known.figures, len(known.changes)) == (run.figures, len(run.changes))

    home.jobs.undo(run.id)
    assert (state(home), state(home, "ben", "work")) == before
    with pytest.raises(Conflict):
        home.jobs.undo(run.id)


@pytest.mark.parametrize("location", ["directory", "postgres"], indirect=True)  # a file has one workspace
def test_an_undo_that_was_stopped_half_way_continues(opened: Open) -> None:
    home = opened(upkeepers.tidy())
    for workspace in ("a", "b"):
        home.agent("ana", workspace).remember("old 1", name="one")
    run = home.jobs.run("consolidate")
    taken = home.agent("ana", "b").remember("another", name="one")
    with pytest.raises(Conflict):
        home.jobs.undo(run.id)
    assert home.agent("ana", "a").get("one").content == "old 1"
    home.agent("ana", "b").forget(taken.id)
    home.jobs.undo(run.id)
    assert [home.agent("ana", workspace).get("one").content for workspace in ("a", "b")] == ["old 1", "old 1"]
    with pytest.raises(Conflict):
        home.jobs.undo(run.id)


@pytest.mark.parametrize("location", ["directory", "postgres"], indirect=True)  # a file has one workspace
def test_due_jobs_of_each_workspace_run_by_themselves(opened: Open, clock: FixedClock) -> None:
    ran: list[str] = []
    home = opened(Job("age", lambda shift, store: ran.append(f"{shift.workspace}/{store.agent}")))
    home.agent("ana").remember("hello")
    home.jobs.run_due()
    home.agent("ben", "work").remember("hello")
    clock.advance(HOUR)
    home.jobs.run_due()
    assert ran == ["default/ana", "work/ben"]
    clock.advance(23 * HOUR)
    home.jobs.run_due()
    assert ran == ["default/ana", "work/ben", "default/ana"]
