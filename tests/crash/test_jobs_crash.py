"""Processes are killed in the middle of a job: what is done is whole, and the next run finishes the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from crash import upkeepers
from crash.children import Child

import recollect
from recollect import Entry, FixedClock, Home
from recollect.upkeep import runner, schedule

NOW = 1_767_225_600_000
LEASE = 5 * 60_000
CONTENTS = ["left 1", "right 1", "left 2", "old 3", "keep 4", "stay 5", "left 6", "right 6"]
TIDY = ["joined 1", "joined 6", "keep 4", "left 2", "stay 5"]


@pytest.fixture(autouse=True)
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "JOBS", (upkeepers.tidy(),))
    monkeypatch.setattr(schedule, "JOBS", runner.JOBS)


def state(home: Home) -> dict[str, Entry]:
    return {entry.id: replace(entry, updated_at=0) for entry in home.agent("ana").list(limit=1_000)}


def contents(home: Home) -> list[str]:
    return sorted(entry.content for entry in home.agent("ana").list(limit=1_000))


def killed_at(start: Callable[..., Child], location: str, clock: FixedClock, moment: int) -> None:
    """A child runs the job and is killed at a moment, between two steps or within one."""
    child = start(upkeepers.tidy_until_killed, location, clock, moment)
    child.go()
    child.next("at")
    child.kill()


def kill_and_go_on(start: Callable[..., Child], location: str, moment: int) -> None:
    clock = FixedClock(NOW)
    with recollect.open(location, clock=clock) as home:
        mem = home.agent("ana")
        for content in CONTENTS:
            mem.remember(content)
        before = state(home)
    killed_at(start, location, FixedClock(NOW), moment)
    with recollect.open(location, clock=clock) as home:
        mem = home.agent("ana")
        assert home.check().findings == ()
        (first,) = home.jobs.runs()
        living = contents(home)
        for entry in before.values():  # nothing is lost, and no step is half done
            trash = mem.history(entry.id)[-1].before
            assert entry.content in living or trash["content"] == entry.content
        for number in (1, 6):
            assert (f"left {number}" in living) == (f"right {number}" in living) == (f"joined {number}" not in living)
        changed = {change.entry_id for change in first.changes}
        assert changed == {key for key in before.keys() | state(home).keys() if before.get(key) != state(home).get(key)}

        assert first.finished_at is None
        clock.set(NOW + LEASE)
        assert home.jobs.run("consolidate").skipped  # the lease still holds
        assert home.jobs.run_due() == []
        clock.advance(1)
        (second,) = home.jobs.run_due()
        assert (second.error, contents(home)) == (None, TIDY)
        assert home.jobs.run("consolidate").changes == ()
        assert home.jobs.status()[0].failures == 0
        home.jobs.undo(second.id)
        home.jobs.undo(first.id)
        assert state(home) == before
        assert home.check().findings == ()


@pytest.mark.parametrize("moment", range(1, 13))
def test_a_job_that_was_killed_is_finished_by_the_next_run(
    start: Callable[..., Child], tmp_path: Path, moment: int
) -> None:
    kill_and_go_on(start, str(tmp_path / "memory.db"), moment)


@pytest.mark.parametrize("moment", [2, 6, 10])
def test_a_job_of_a_client_of_postgresql_that_was_killed_is_finished_by_the_next_run(
    start: Callable[..., Child], postgres_url: str, moment: int
) -> None:
    kill_and_go_on(start, postgres_url, moment)


def test_the_lease_of_a_dead_process_whose_clock_was_far_ahead_is_no_obstacle(
    start: Callable[..., Child], tmp_path: Path
) -> None:
    location = str(tmp_path / "memory.db")
    clock = FixedClock(NOW)
    with recollect.open(location, clock=clock) as home:
        for content in CONTENTS:
            home.agent("ana").remember(content)
    killed_at(start, location, FixedClock(NOW + 365 * 86_400_000), 7)
    with recollect.open(location, clock=clock) as home:
        assert not home.jobs.status()[0].running
        assert [run.error for run in home.jobs.run_due()] == [None]
        assert contents(home) == TIDY
