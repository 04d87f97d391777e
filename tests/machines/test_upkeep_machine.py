"""Upkeep under random operations: no text is ever lost, and an undo restores the exact state."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from crash import upkeepers
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from postgres import Server

import recollect
from recollect import Conflict, Entry, FixedClock, Lifetime, Write
from recollect.model.upkeep import Run
from recollect.upkeep import runner, schedule

MINUTE, DAY = 60_000, 86_400_000
NOTES = st.builds("{} {}".format, st.sampled_from(["left", "right", "old", "keep", "stay"]), st.integers(1, 3))
PLACES = st.integers(0, 1_000)


class UpkeepMachine(RuleBasedStateMachine):
    """An agent that writes, and a job that tidies behind it."""

    def __init__(self, location: str, agent: str) -> None:
        super().__init__()
        self.location, self.agent = location, agent
        self.clock = FixedClock()
        self.open()
        self.written: dict[str, str] = {}
        """What the agent wrote last under each id, and has not forgotten."""
        self.forgotten: set[str] = set()
        self.runs: list[Run] = []

    def open(self) -> None:
        self.home = recollect.open(self.location, clock=self.clock)
        self.mem = self.home.agent(self.agent)

    def teardown(self) -> None:
        assert self.home.check().findings == ()
        self.home.close()

    def state(self) -> dict[str, Entry]:
        return {entry.id: replace(entry, updated_at=0) for entry in self.mem.list(limit=1_000)}

    def living(self, place: int) -> str | None:
        found = sorted(self.state())
        return found[place % len(found)] if found else None

    def ran(self, run: Run) -> None:
        assert run.error is None
        self.runs.append(run)
        changed = {change.entry_id for change in run.changes if change.what == "changed"}
        self.written.update((key, entry.content) for key, entry in self.state().items() if key in changed)

    # What may happen

    @initialize()
    def something_to_merge(self) -> None:
        for content in ("left 1", "right 1", "old 2"):
            self.remember(content)

    @rule(content=NOTES)
    def remember(self, content: str) -> None:
        self.written[self.mem.remember(content, lifetime=Lifetime.SHORT_TERM).id] = content

    @rule(place=PLACES, content=NOTES)
    def rewrite(self, place: int, content: str) -> None:
        if target := self.living(place):
            self.mem.apply(Write(target, content=content, context="mine"))
            self.written[target] = content
            self.forgotten.discard(target)

    @rule(place=PLACES)
    def forget(self, place: int) -> None:
        if target := self.living(place):
            self.mem.forget(target)
            self.forgotten.add(target)

    @rule()
    def run(self) -> None:
        self.ran(self.home.jobs.run("consolidate"))
        assert self.home.jobs.run("consolidate").changes == ()

    @rule()
    def run_what_is_due(self) -> None:
        for run in self.home.jobs.run_due():
            self.ran(run)
        assert self.home.jobs.run_due() == []

    @rule()
    def run_dry(self) -> None:
        before = self.state()
        self.home.jobs.run("consolidate", dry_run=True)
        assert self.state() == before

    @rule()
    def run_and_undo(self) -> None:
        before = self.state()
        run = self.home.jobs.run("consolidate")
        self.home.jobs.undo(run.id)
        assert self.state() == before
        with pytest.raises(Conflict):
            self.home.jobs.undo(run.id)

    @precondition(lambda self: self.runs)
    @rule(place=PLACES)
    def undo_an_older_run(self, place: int) -> None:
        before = self.state()
        run = self.runs.pop(place % len(self.runs))
        self.home.jobs.undo(run.id)
        touched = {change.entry_id for change in run.changes}
        after = self.state()
        assert {key: entry for key, entry in before.items() if key not in touched} == {
            key: entry for key, entry in after.items() if key not in touched
        }

    @precondition(lambda self: self.runs)
    @rule()
    def undo_all_runs_from_the_last_to_the_first(self) -> None:
        while self.runs:
            self.home.jobs.undo(self.runs.pop().id)

    @rule(by=st.sampled_from([1, MINUTE, 90 * MINUTE, 30 * DAY, -MINUTE, -90 * MINUTE, -30 * DAY]))
    def the_clock_moves(self, by: int) -> None:
        self.clock.advance(by)

    @rule()
    def reopen(self) -> None:
        self.home.close()
        self.open()

    # What must be so after each step

    @invariant()
    def no_text_is_lost(self) -> None:
        living = self.state()
        for key, content in self.written.items():
            if key in living:
                assert living[key].content == content
            else:
                last = self.mem.history(key)[-1]
                assert (last.operation, last.before["content"]) == ("remove", content)

    @invariant()
    def every_text_is_found(self) -> None:
        for word in ("left", "old", "joined", "keep"):
            expected = {one.content for one in self.state().values() if word in one.content.split()}
            # Recorded, it would count as an access a moment later, while the entries are compared.
            assert {hit.entry.content for hit in self.mem.recall(word, limit=1_000, record=False)} == expected
        self.home.flush()  # what recall counted is no doing of a job


@contextmanager
def tidying() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "JOBS", (upkeepers.tidy(),))
        patch.setattr(schedule, "JOBS", runner.JOBS)
        yield


def test_upkeep_of_a_file_loses_no_text_and_undo_is_exact() -> None:
    folders: list[str] = []

    def machine() -> UpkeepMachine:
        folders.append(tempfile.mkdtemp(prefix="recollect-machine-"))
        return UpkeepMachine(str(Path(folders[-1]) / "memory.db"), "ana")

    try:
        with tidying():
            run_state_machine_as_test(machine, settings=settings(max_examples=20, stateful_step_count=20))
    finally:
        for folder in folders:
            shutil.rmtree(folder)


def test_upkeep_of_postgresql_loses_no_text_and_undo_is_exact(postgres_server: Server) -> None:
    urls: list[str] = []

    def machine() -> UpkeepMachine:
        urls.append(postgres_server.fresh_database())
        return UpkeepMachine(urls[-1], "ana")

    try:
        with tidying():
            run_state_machine_as_test(machine, settings=settings(max_examples=3, stateful_step_count=15))
    finally:
        for url in urls:
            postgres_server.drop_database(url)
