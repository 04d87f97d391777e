"""Recall signals: one row per hit, written a moment later, and never in the way of anybody."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from faulty_embedder import FaultyEmbedder

import recollect
from recollect import FixedClock, Home, Memory, Settings
from recollect.config import EmbedderSettings
from recollect.engine import signals as module
from recollect.storage.postgres.schemas import schema_of
from recollect.storage.sqlite import opening

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
NEW_YEAR_2026 = 1_767_225_600_000


def test_a_recall_that_is_not_recorded_leaves_no_trace(home: Home, mem: Memory) -> None:
    entry = mem.remember("We deploy on Tuesdays")
    assert [hit.entry.id for hit in mem.recall("deploy", record=False)] == [entry.id]
    home.flush()
    assert (mem.get(entry.id).access_count, mem.accesses(entry.id).recalls) == (0, ())
    mem.recall("deploy")
    home.flush()
    assert (mem.get(entry.id).access_count, len(mem.accesses(entry.id).recalls)) == (1, 1)


@pytest.fixture
def home(location: str, clock: FixedClock) -> Iterator[Home]:
    with recollect.open(location, settings=WORDS_ALONE, clock=clock) as opened:
        yield opened


@pytest.fixture
def mem(home: Home) -> Memory:
    return home.agent("ana")


def signals(mem: Memory) -> list[tuple[str, str, float, int]]:
    """(content, query, score, time) of every signal of an agent, oldest first."""
    found = []
    for entry in mem.list(limit=10_000):
        store, _ = mem._entries.holder(entry.id)
        with store.read() as tx:
            found += [(entry.content, *row) for row in tx.all("signals.of", entry_id=entry.id)]
    return sorted(found, key=lambda row: (row[3], -row[2]))


def stored(mem: Memory) -> int:
    """How many signals are in any table of the agent, whatever they are about."""
    number = 0
    for store in mem._entries.stores:
        if store.exists():
            with store.database.admin.dump(mem.agent) as tables:
                number += sum(len(list(rows)) for name, _, rows in tables if name == "recall_events")
    return number


@contextmanager
def locked(location: str) -> Iterator[None]:
    """Another process holds the write lock for a while."""
    if location.startswith("postgresql"):
        with psycopg.connect(location) as connection:
            connection.execute(f'SELECT * FROM "{schema_of("default", "ana")}".counters FOR UPDATE')
            yield
        return
    path = Path(location)
    other = apsw.Connection(str(path if path.suffix == ".db" else path / "workspaces" / "default" / "memory.db"))
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


@pytest.fixture
def impatient(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that waits for a lock gets an error at once."""
    monkeypatch.setattr(opening, "BUSY_MS", 1)
    if location.startswith("postgresql"):
        with psycopg.connect(location, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET lock_timeout TO 1')


# What is recorded


def test_each_hit_leaves_one_row_with_the_reciprocal_of_its_place(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("apple apple apple pie")
    mem.remember("an apple a day keeps the doctor away")
    mem.remember("the apple of my eye and of many other eyes, all day long")
    mem.remember("bread")
    hits = mem.recall("apple", limit=2)
    home.flush()
    assert signals(mem) == [
        (hits[0].entry.content, "apple", 1.0, clock.now()),
        (hits[1].entry.content, "apple", 0.5, clock.now()),
    ]
    assert stored(mem) == 2


def test_recall_bumps_access_count_and_accessed_at(home: Home, mem: Memory, clock: FixedClock) -> None:
    entry = mem.remember("an apple a day", name="apple")
    mem.remember("bread", name="bread")
    assert (entry.access_count, entry.accessed_at) == (0, None)
    mem.recall("apple")
    assert mem.get("apple") == entry  # not yet
    clock.advance(5_000)
    mem.recall("apple day")
    home.flush()
    assert (mem.get("apple").access_count, mem.get("apple").accessed_at) == (2, NEW_YEAR_2026 + 5_000)
    assert (mem.get("bread").access_count, mem.get("bread").accessed_at) == (0, None)
    assert [query for _, query, _, _ in signals(mem)] == ["apple", "apple day"]
    clock.advance(5_000)
    mem.recall("apple")
    home.flush()
    assert (mem.get("apple").access_count, mem.get("apple").accessed_at) == (3, NEW_YEAR_2026 + 10_000)
    assert mem.get("apple").updated_at == entry.updated_at
    assert len(mem.history("apple")) == 1
    assert home.check().ok


def test_every_mode_records_and_nothing_else_does(location: str) -> None:
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        mem = home.agent("ana")
        mem.remember("an apple a day", name="apple")
        mem.get("apple")
        mem.list()
        mem.history("apple")
        mem.recall("zebra")
        mem.recall("apple", limit=0)
        home.flush()
        assert stored(mem) == 0
        for mode in ("keyword", "vector", "hybrid"):
            mem.recall("apple", mode=mode)
        home.flush()
        assert stored(mem) == 3


@pytest.mark.directory
def test_hits_of_the_account_are_recorded_where_they_live(home: Home, mem: Memory) -> None:
    mem.remember("I like apples", scope="account")
    mem.remember("apple pie")
    mem.recall("apple")
    home.flush()
    assert sorted((content, query) for content, query, _, _ in signals(mem)) == [
        ("I like apples", "apple"),
        ("apple pie", "apple"),
    ]


def test_a_long_question_is_kept_in_part(home: Home, mem: Memory) -> None:
    mem.remember("an apple a day")
    mem.recall("apple " * 2_000)
    home.flush()
    ((_, query, _, _),) = signals(mem)
    assert query == ("apple " * 2_000)[:500]


def test_reading_another_agent_s_memory_records_nothing(home: Home, mem: Memory) -> None:
    mem.remember("an apple a day", name="apple")
    ben = home.agent("ben")
    assert ben.recall("apple", target_agent="ana")
    home.flush()
    assert stored(mem) == stored(ben) == 0
    assert mem.get("apple").access_count == 0


def test_what_was_forgotten_meanwhile_gets_no_signal(home: Home, mem: Memory) -> None:
    mem.remember("apple pie", name="pie")
    mem.remember("apple juice", name="juice")
    mem.remember("apple tree", name="tree")
    assert len(mem.recall("apple")) == 3
    mem.forget("pie")
    mem.forget("juice", erase=True)
    home.flush()
    assert [content for content, _, _, _ in signals(mem)] == ["apple tree"]
    assert stored(mem) == 1
    mem.restore("pie")
    assert mem.get("pie").access_count == 0
    mem.recall("apple")
    home.flush()
    mem.forget("tree")
    assert [content for content, _, _, _ in signals(mem)] == ["apple pie"]
    assert stored(mem) == 1


def test_the_last_access_is_the_latest_in_any_order_of_writes(location: str) -> None:
    early, late = FixedClock(NEW_YEAR_2026), FixedClock(NEW_YEAR_2026 + 1_000)
    with (
        recollect.open(location, settings=WORDS_ALONE, clock=early) as one,
        recollect.open(location, settings=WORDS_ALONE, clock=late) as two,
    ):
        one.agent("ana").remember("an apple a day", name="apple")
        for home in (one, two):
            home.agent("ana").recall("apple")
        two.flush()
        one.flush()
        entry = one.agent("ana").get("apple")
        assert (entry.access_count, entry.accessed_at) == (2, NEW_YEAR_2026 + 1_000)


# Recalls do not wait


def test_a_recall_does_not_wait_for_a_writer(home: Home, mem: Memory, location: str, impatient: None) -> None:
    mem.remember("an apple a day")
    home.close()  # the next connection is an impatient one
    with locked(location):
        with pytest.raises(recollect.Unavailable):
            mem.remember("a pear a day")
        assert [hit.entry.content for hit in mem.recall("apple")] == ["an apple a day"]
    home.flush()
    assert stored(mem) == 1


def test_signals_that_cannot_be_written_are_dropped_and_logged(
    home: Home, mem: Memory, location: str, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    mem.remember("an apple a day")
    home.close()
    mem.recall("apple")
    assert caplog.records == []
    with locked(location):
        home.flush()
    assert [record.name for record in caplog.records] == ["recollect.signals"]
    assert "1 recall signals were not stored" in caplog.text
    home.flush()
    assert stored(mem) == 0


@pytest.mark.directory
def test_one_store_that_fails_does_not_keep_the_others_from_theirs(
    home: Home, mem: Memory, location: str, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    if location.endswith(".db"):
        return  # one file has one lock
    mem.remember("apple pie")
    mem.remember("apples, please", scope="account")
    home.close()
    assert len(mem.recall("apple")) == 2
    with locked(location):
        home.flush()
    assert len(caplog.records) == 1
    assert [content for content, _, _, _ in signals(mem)] == ["apples, please"]


def test_closing_a_home_writes_what_is_waiting(location: str) -> None:
    with recollect.open(location, settings=WORDS_ALONE) as home:
        home.agent("ana").remember("an apple a day")
        home.agent("ana").recall("apple")
    with recollect.open(location, settings=WORDS_ALONE) as home:
        assert stored(home.agent("ana")) == 1


def test_signals_are_written_a_moment_later_by_themselves(
    home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AFTER_SECONDS", 0.0)
    mem.remember("an apple a day")
    buffer = home._shared.signals
    for turn in (1, 2):
        with buffer._writing:  # so that the timer can be seen before it is done
            mem.recall("apple")
            timer = buffer._soon
            assert timer is not None
            assert timer.daemon
        timer.join(60)
        assert stored(mem) == turn


def test_the_buffer_does_not_grow_without_end(home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    for number in range(4):
        mem.remember(f"apple {number}")
    for _ in range(3):
        assert len(mem.recall("apple")) == 4
    home.flush()
    assert stored(mem) == 3
    mem.recall("apple", limit=2)
    home.flush()
    assert stored(mem) == 5


def test_recalls_of_many_threads_are_all_recorded(home: Home, mem: Memory) -> None:
    mem.remember("an apple a day", name="apple")

    def ask() -> None:
        for _ in range(20):
            mem.recall("apple")
            home.flush()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stored(mem) == 80
    assert mem.get("apple").access_count == 80


@pytest.mark.directory
@pytest.mark.unprepared
@pytest.mark.parametrize("workspace", ["default", "project"])
def test_a_workspace_that_was_deleted_stays_deleted(home: Home, location: str, workspace: str) -> None:
    if location.endswith(".db") and workspace != "default":
        return  # a file has one workspace
    mem = home.agent("ana", workspace)
    mem.remember("an apple a day")
    mem.recall("apple")
    home.delete_workspace(workspace)
    home.flush()
    assert home.workspaces() == []


def test_a_forked_process_leaves_the_signals_to_its_parent(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", settings=WORDS_ALONE) as home:
        mem = home.agent("ana")
        mem.remember("an apple a day")
        mem.recall("apple")
        with home._shared.signals._writing, warnings.catch_warnings():  # a thread of the parent is just writing
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                home.flush()
                mem.recall("day")
                home.flush()
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        home.flush()
        queries: list[Any] = sorted(query for _, query, _, _ in signals(mem))
        assert queries == ["apple", "day"]


# The end of the interpreter

SCRIPT = """
import sys
import recollect
from recollect import Settings
from recollect.config import EmbedderSettings
from recollect.engine import signals

signals.AFTER_SECONDS = 3_600.0
home = recollect.open(sys.argv[1], settings=Settings(embedder=EmbedderSettings(kind="none")))
mem = home.agent("ana")
mem.remember("an apple a day", category="lessons")
mem.recall("apple")
mem.context("apple")
"""


def ran(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *args],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={"PYTHONPATH": str(Path(recollect.__file__).parents[1])},
    )


def test_a_script_that_ends_without_closing_leaves_its_signals(location: str) -> None:
    ended = ran(SCRIPT, location)
    assert (ended.stdout, ended.stderr) == ("", "")
    with recollect.open(location, settings=WORDS_ALONE) as home:
        mem = home.agent("ana")
        assert stored(mem) == 1
        assert mem.list()[0].access_count == 1


def test_the_exit_does_not_wait_for_a_database_that_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with recollect.open(path, settings=WORDS_ALONE) as home:
        home.agent("ana").remember("an apple a day")
        hold = """
import apsw
writer = apsw.Connection(sys.argv[1])
writer.execute("BEGIN IMMEDIATE")
signals.EXIT_SECONDS = 0.1
"""
        ended = ran(SCRIPT.replace('mem.remember("an apple a day", category="lessons")\n', "") + hold, str(path))
        assert (ended.stdout, ended.stderr) == ("", "")
        assert stored(home.agent("ana")) == 0


def test_signals_of_several_transactions_are_all_written_and_name_no_erased_question(
    home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 2)
    kept = [mem.remember(f"amber number {number}") for number in range(3)]
    erased = mem.remember("amber and the secret of the harbour")
    assert mem.recall("amber number", limit=10)[3].entry == erased
    mem.recall("number", limit=10)
    other = home.agent("ben").remember("amber of another agent")
    store, _ = mem._entries.holder(erased.id)
    with store.write() as work:  # as another process does, whose erasure cannot reach the buffer of this one
        work.tx.run("entries.delete", id=erased.id)
    home.flush()
    assert [mem.get(entry.id).access_count for entry in kept] == [2, 2, 2]
    assert home.agent("ben").get(other.id).access_count == 0
    queries = [query for entry in kept for query, _, _ in _recorded(mem, entry.id)]
    assert sorted(queries) == ["", "", "", "number", "number", "number"]


def _recorded(mem: Memory, entry_id: str) -> list[Any]:
    store, _ = mem._entries.holder(entry_id)
    with store.read() as tx:
        return tx.all("signals.of", entry_id=entry_id)
