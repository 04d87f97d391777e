"""Closing a home while a model, an embedder or a job hangs: nothing is written after `close()` has returned."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from faulty_embedder import FaultyEmbedder

import recollect
from recollect import FixedClock, Home, Settings
from recollect.config import EmbedderSettings
from recollect.engine.agent_store import Store
from recollect.upkeep import runner, schedule
from recollect.upkeep.job_run import JobRun
from recollect.upkeep.schedule import Job

pytestmark = pytest.mark.directory

NO_EMBEDDER = Settings(embedder=EmbedderSettings(kind="none"))


class Hanging:
    """A call that hangs until it is released."""

    thread: threading.Thread
    """The first thread that hangs, once `reached` is set."""

    def __init__(self) -> None:
        self.reached, self.release = threading.Event(), threading.Event()

    def __call__(self) -> None:
        if not self.reached.is_set():
            self.thread = threading.current_thread()
        self.reached.set()
        assert self.release.wait(60)

    def end(self) -> None:
        """Release the call, and wait until its thread has ended."""
        self.release.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


def rows(location: str) -> dict[str, list[Any]]:
    """Every row of the workspace, read by a home of its own."""
    with recollect.open(location, settings=NO_EMBEDDER) as home:
        database = home._place.workspace("default").admin
        found: dict[str, list[Any]] = {}
        for agent in database.agents():
            with database.dump(agent) as tables:
                found |= {f"{agent}.{table}": list(values) for table, _, values in tables}
        return found


def test_a_hanging_embedder_writes_no_vector_after_close(location: str) -> None:
    hanging, embedder = Hanging(), FaultyEmbedder(instant=False)
    embedder.before = hanging
    home = recollect.open(location, embedder=embedder)
    home.agent("ana").remember("The gate opens at nine")
    assert hanging.reached.wait(60)
    assert home.close(timeout=0) == ("vectors of new entries",)
    before = rows(location)
    hanging.end()
    assert rows(location) == before


def test_a_thread_that_was_given_up_stays_out_of_a_home_that_is_used_again(location: str) -> None:
    hanging, embedder = Hanging(), FaultyEmbedder(instant=False)
    embedder.before = hanging
    home = recollect.open(location, embedder=embedder)
    home.agent("ana").remember("The gate opens at nine")
    assert hanging.reached.wait(60)
    home.close(timeout=0)
    home.agent("ana").remember("The gate closes at five")
    embedder.wait_until_asked(2)
    hanging.end()
    home.close(timeout=60)
    assert home.backfill() == 0


def steps(home: Home, write: Callable[[JobRun, Store], None], monkeypatch: pytest.MonkeyPatch) -> Hanging:
    """Let a job of this home hang, then write."""
    hanging = Hanging()

    def work(job_run: JobRun, store: Store) -> None:
        hanging()
        write(job_run, store)

    for module in (runner, schedule):
        monkeypatch.setattr(module, "JOBS", (Job("age", work),))
    home.agent("ana").remember("The gate opens at nine", name="gate")
    home.jobs.start()
    assert hanging.reached.wait(60)
    return hanging


def in_a_step(job_run: JobRun, store: Store) -> None:
    with job_run.step(store) as step:
        step.tx.run("names.bind", name="portal", entry_id="00000000-0000-7000-8000-000000000000", canonical=0)


def by_itself(job_run: JobRun, store: Store) -> None:
    with store.database.write(store.agent) as tx:
        tx.run("names.bind", name="portal", entry_id="00000000-0000-7000-8000-000000000000", canonical=0)


def nothing(job_run: JobRun, store: Store) -> None:
    pass


@pytest.mark.parametrize("write", [in_a_step, by_itself, nothing])
def test_a_hanging_job_writes_nothing_after_close(
    write: Callable[[JobRun, Store], None], location: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = recollect.open(location, clock=clock, settings=NO_EMBEDDER)
    hanging = steps(home, write, monkeypatch)
    assert home.close(timeout=0) == ("a job",)
    before = rows(location)
    hanging.end()
    assert rows(location) == before


def test_a_transaction_that_is_open_at_close_is_rolled_back(
    location: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = Hanging()

    def write(job_run: JobRun, store: Store) -> None:
        with store.database.write(store.agent) as tx:
            tx.run("names.bind", name="portal", entry_id="00000000-0000-7000-8000-000000000000", canonical=0)
            inside()

    home = recollect.open(location, clock=clock, settings=NO_EMBEDDER)
    hanging = steps(home, write, monkeypatch)
    hanging.release.set()
    assert inside.reached.wait(60)
    assert home.close(timeout=0) == ("a job",)
    before = rows(location)
    inside.end()
    assert rows(location) == before
