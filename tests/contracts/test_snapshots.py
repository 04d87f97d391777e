"""Reads that share one snapshot: they see one state, and a write of their thread is seen by the reads after it."""

import threading
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory
from recollect.engine import conversation_search
from recollect.engine.agent_store import Store
from recollect.errors import Corrupt
from recollect.storage.counters import Counters


def count(store: Store) -> int:
    with store.read() as tx:
        return Counters.get(tx).live


def used(store: Store) -> int:
    return store.database.admin.connections().used


def in_a_thread(mem: Memory, content: str) -> None:
    thread = threading.Thread(target=mem.remember, args=(content,))
    thread.start()
    thread.join()


def test_reads_in_a_snapshot_see_one_state(mem: Memory) -> None:
    mem.remember("a heron")
    store = mem._workspace
    with store.database.snapshot([(store.database, store.agent)]):
        assert count(store) == 1
        in_a_thread(mem, "a larch")
        assert count(store) == 1
        with store.database.snapshot([(store.database, store.agent)]):
            assert count(store) == 1
        assert count(store) == 1
    assert count(store) == 2


def test_a_write_in_a_snapshot_is_seen_by_the_reads_after_it(mem: Memory) -> None:
    mem.remember("a heron")
    store = mem._workspace
    with store.database.snapshot([(store.database, store.agent)]):
        assert count(store) == 1
        mem.remember("a larch")
        assert count(store) == 2
    assert used(store) == 0


def test_a_read_that_is_open_during_a_write_of_its_thread_keeps_its_state(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        mem = home.agent("ana")
        mem.remember("a heron")
        store = mem._workspace
        with store.database.snapshot([]):
            with store.read() as tx:
                assert Counters.get(tx).live == 1
                mem.remember("a larch")
                assert count(store) == 2
                assert Counters.get(tx).live == 1
                assert used(store) == 2
            assert used(store) == 1
            assert count(store) == 2
        assert used(store) == 0


def test_an_error_ends_the_transaction_that_reads_share(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        mem = home.agent("ana")
        mem.remember("a heron")
        store = mem._workspace
        with store.database.snapshot([]):
            with store.read() as outer:
                with pytest.raises(Corrupt), store.read():
                    raise Corrupt("a damaged row")
                assert Counters.get(outer).live == 1
                in_a_thread(mem, "a larch")
                assert count(store) == 2
            with pytest.raises(Corrupt), store.read():
                raise Corrupt("another one")
            assert used(store) == 0
            assert count(store) == 2
        assert used(store) == 0


def test_a_context_shows_one_state(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    mem.remember("The heron nests in the old oak.")
    earlier, later = mem.conversations.start(), mem.conversations.start()
    earlier.user("I saw where the heron nests: in the larch.")
    search = conversation_search.ranked

    def after_a_write(*args: Any, **options: Any) -> Any:
        """Search the turns, while another thread has just appended one."""
        thread = threading.Thread(target=later.user, args=("Now the heron nests in the elm.",))
        thread.start()
        thread.join()
        return search(*args, **options)

    monkeypatch.setattr(conversation_search, "ranked", after_a_write)
    shown = mem.context("where does the heron nest?").text
    assert "oak" in shown
    assert "larch" in shown
    assert "elm" not in shown
    assert "elm" in mem.context("where does the heron nest?").text
