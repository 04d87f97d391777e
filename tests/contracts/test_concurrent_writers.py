"""State that a writer caches between its writes is right when other writers have written meanwhile."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import recollect
from recollect import Conflict, Conversation, Event, EventType, Home
from recollect.clock import FixedClock
from recollect.engine import conversations
from recollect.model.events import checked_event
from recollect.storage import history


def chain(conv: Conversation) -> list[tuple[str, str]]:
    """What was said, and to which event each is chained."""
    said = {event.hash: event.content for event in conv.events()}
    return [(event.content, said.get(event.previous, "")) for event in conv.events()]


def breaks(home: Home) -> list[str]:
    store = home.agent("ana")._workspace
    with store.read() as tx:
        return list(history.breaks(tx))


def test_two_processes_that_append_in_turn_make_one_chain(home: Home, location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock) as other:
        here = home.agent("ana").conversations.start()
        there = other.agent("ana").conversations.get(here.id)
        here.user("one")
        here.user("two")
        there.user("three")
        here.user("four")
        there.user("five")
        there.user("six")
        here.user("seven")
        assert chain(here) == [
            ("one", ""),
            ("two", "one"),
            ("three", "two"),
            ("four", "three"),
            ("five", "four"),
            ("six", "five"),
            ("seven", "six"),
        ]
        assert breaks(home) == []


def test_each_conversation_has_its_own_chain_in_any_order_of_appends(home: Home) -> None:
    first, second = home.agent("ana").conversations.start(), home.agent("ana").conversations.start()
    first.user("one")
    second.user("two")
    first.user("three")
    first.user("four")
    second.user("five")
    assert chain(first) == [("one", ""), ("three", "one"), ("four", "three")]
    assert chain(second) == [("two", ""), ("five", "two")]
    assert breaks(home) == []


def test_one_who_appends_notices_that_another_has_ended_the_conversation(
    home: Home, location: str, clock: FixedClock
) -> None:
    with recollect.open(location, clock=clock) as other:
        here = home.agent("ana").conversations.start()
        here.user("one")
        other.agent("ana").conversations.get(here.id).idle()
        with pytest.raises(Conflict):
            here.user("two")
        assert chain(here) == [("one", "")]


def test_an_append_that_was_undone_leaves_no_trace_in_the_chain(home: Home) -> None:
    conv = home.agent("ana").conversations.start()
    conv.user("one")
    store = home.agent("ana")._workspace
    lost = checked_event(Event(type=EventType.USER, content="lost"), conv.id, 0)
    with suppress(ZeroDivisionError), store.database.write("ana") as tx:
        conversations.append(store, conv.id, [lost], tx)
        raise ZeroDivisionError
    conv.user("two")
    assert chain(conv) == [("one", ""), ("two", "one")]
    assert breaks(home) == []


def test_numbers_are_dense_with_several_writers_and_rollbacks(home: Home, location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock) as other:
        here, there, stranger = home.agent("ana"), other.agent("ana"), home.agent("zoe")
        for content in ("one", "two"):
            here.remember(content)
        there.remember("three")
        here.remember("four", name="four")
        stranger.remember("hers")
        here.remember("five")
        with pytest.raises(Conflict):
            here.remember("taken", name="four")
        here.remember("six")
        with suppress(ZeroDivisionError), here._workspace.write() as work:
            work.counters.entries += 7
            raise ZeroDivisionError
        there.remember("seven")
        there.forget("four")
        here.remember("eight")
        found = sorted(here.list(), key=lambda entry: entry.seq)
        assert [(entry.seq, entry.content) for entry in found] == [
            (1, "one"),
            (2, "two"),
            (3, "three"),
            (5, "five"),
            (6, "six"),
            (7, "seven"),
            (8, "eight"),
        ]
        assert [entry.seq for entry in stranger.list()] == [1]
        assert home.check().ok


def test_numbers_go_on_with_a_file_that_took_the_place_of_another(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        mem = home.agent("ana")
        mem.remember("one")
        home.backup(tmp_path / "backup.db")
        mem.remember("lost")
        os.replace(tmp_path / "backup.db", tmp_path / "memory.db")
        assert mem.remember("two").seq == 2
        assert home.check().ok


def test_of_many_readers_at_once_only_some_keep_their_connection(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        mem = home.agent("ana")
        mem.remember("one")
        with ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(mem._workspace.read())
        assert len(mem._workspace.database.file._idle) == 16  # type: ignore[attr-defined]
        mem.remember("two")
        assert len(mem.list()) == 2


def test_the_chain_starts_over_with_a_file_that_took_the_place_of_another(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        conv = home.agent("ana").conversations.start()
        home.backup(tmp_path / "backup.db")
        conv.user("one")
        with recollect.open(tmp_path / "backup.db") as copy:
            copy.agent("ana").conversations.get(conv.id).user("another one")
        os.replace(tmp_path / "backup.db", tmp_path / "memory.db")
        conv.user("two")
        assert chain(conv) == [("another one", ""), ("two", "another one")]
        assert breaks(home) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_writes_even_if_another_thread_of_its_parent_was_writing_at_the_fork(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        mem = home.agent("ana")
        mem.remember("before")
        begun, done = threading.Event(), threading.Event()

        def write() -> None:
            with mem._workspace.database.file.writing:  # type: ignore[attr-defined]
                begun.set()
                done.wait()

        thread = threading.Thread(target=write)
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            threading.Timer(20, os._exit, [1]).start()  # a child that waits for ever would hold up the tests
            mem.remember("by the child")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        done.set()
        thread.join()
        assert sorted(entry.content for entry in mem.list()) == ["before", "by the child"]


@pytest.mark.directory
def test_many_who_bind_names_do_not_wait_for_each_others_connections(home: Home) -> None:
    mem, together = home.agent("ana"), threading.Barrier(24)

    def write(number: int) -> int:
        together.wait()
        scope = "account" if number % 2 else "workspace"
        return len([mem.remember("x", scope=scope), mem.remember("y", scope=scope, name=f"n{number}")])

    with ThreadPoolExecutor(24) as pool:
        assert sum(pool.map(write, range(24))) == 48
    assert len(mem.list()) == 48
