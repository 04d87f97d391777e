"""Writers that wait at the same time share a commit: each is on its own all the same."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from recollect import errors
from recollect.home import Home
from recollect.storage.sqlite.database import SqliteDatabase
from recollect.storage.sqlite.group_commit import Batch


class _Queue(deque[Any]):
    """A queue that says when a writer waits in it."""

    def __init__(self) -> None:
        super().__init__()
        self.joined = threading.Semaphore(0)

    def append(self, waiter: Any) -> None:
        super().append(waiter)
        self.joined.release()


class Writers:
    """Threads that write to a file one after the other, all of them waiting before the first one ends."""

    def __init__(self, path: Path) -> None:
        self.database = SqliteDatabase(path)
        with self.database.write("ana"):
            pass
        self.database.file.writing.pace = 60.0  # as if the disk were slow
        self.queue = self.database.file.writing._queue = _Queue()
        self.batches: list[Batch] = []

    def run(self, *blocks: tuple[str, Callable[[Any], object]]) -> list[BaseException | None]:
        """Run the blocks as (agent, block) in this order; return how each ended."""
        inside, go = threading.Event(), threading.Event()

        def one(number: int, agent: str, block: Callable[[Any], object]) -> None:
            write = self.database.write(agent, group=True)
            with write as tx:
                self.batches.append(write._batch)
                if number == 0:
                    inside.set()
                    assert go.wait(60)
                block(tx)

        with ThreadPoolExecutor(len(blocks)) as pool:
            ends: list[Future[None]] = []
            for number, (agent, block) in enumerate(blocks):
                ends.append(pool.submit(one, number, agent, block))
                assert inside.wait(60)
                assert not number or self.queue.joined.acquire(timeout=60)
            go.set()
            return [end.exception(60) for end in ends]


def key(name: str) -> Callable[[Any], object]:
    def write(tx: Any) -> None:
        assert tx.run("access.request_begin", key=name, fingerprint="f", created_at=1)

    return write


def fails(name: str) -> Callable[[Any], object]:
    def write(tx: Any) -> None:
        key(name)(tx)
        raise errors.Invalid("no")

    return write


def known(writers: Writers, name: str, agent: str = "ana") -> bool:
    with writers.database.read(agent) as tx:
        return tx.one("access.request", key=name) is not None


def test_those_that_wait_together_share_a_transaction(tmp_path: Path) -> None:
    writers = Writers(tmp_path / "memory.db")
    assert writers.run(("ana", key("a")), ("bob", key("b")), ("ana", key("c"))) == [None, None, None]
    assert len(set(map(id, writers.batches))) == 1
    assert [known(writers, name) for name in "abc"] == [True, False, True]
    assert [known(writers, name, "bob") for name in "abc"] == [False, True, False]


def test_the_failure_of_one_does_not_touch_the_others(tmp_path: Path) -> None:
    for place in range(3):
        writers = Writers(tmp_path / f"{place}.db")
        blocks = [("ana", fails(name) if number == place else key(name)) for number, name in enumerate("abc")]
        ended = writers.run(*blocks)
        assert [isinstance(end, errors.Invalid) for end in ended] == [number == place for number in range(3)]
        assert [known(writers, name) for name in "abc"] == [number != place for number in range(3)]


def test_if_the_whole_transaction_is_lost_each_of_them_is_told(tmp_path: Path) -> None:
    def lost(tx: Any) -> None:
        tx.connection.execute("ROLLBACK")  # as SQLite does when the disk is full
        raise OSError(28, "No space left on device")

    writers = Writers(tmp_path / "memory.db")
    ended = writers.run(("ana", key("a")), ("ana", lost), ("ana", key("c")))
    assert [type(end) for end in ended] == [errors.Unavailable, errors.Unavailable, type(None)]
    assert [known(writers, name) for name in "ac"] == [False, True]


def test_a_commit_that_fails_is_the_failure_of_all(tmp_path: Path) -> None:
    def prevents(tx: Any) -> None:
        tx.connection.set_commit_hook(lambda: True)  # turns the commit into a rollback

    writers = Writers(tmp_path / "memory.db")
    ended = writers.run(("ana", key("a")), ("ana", prevents))
    assert all(isinstance(end, errors.RecollectError) for end in ended)
    assert not known(writers, "a")


def test_a_write_that_is_not_short_has_a_transaction_of_its_own(tmp_path: Path) -> None:
    writers = Writers(tmp_path / "memory.db")

    def long() -> None:
        with writers.database.write("ana") as tx:
            key("long")(tx)

    def while_it_waits(tx: Any) -> None:
        thread.start()
        assert writers.queue.joined.acquire(timeout=60)
        key("short")(tx)

    thread = threading.Thread(target=long)
    assert writers.run(("ana", while_it_waits)) == [None]
    thread.join()
    assert known(writers, "long")
    assert known(writers, "short")


@pytest.mark.parametrize("agents", [1, 4])
def test_notes_of_many_writers_are_numbered_without_a_gap_and_stay_with_their_agent(home: Home, agents: int) -> None:
    def write(number: int) -> list[str]:
        mem = home.agent(f"agent{number % agents}")
        return [mem.remember(f"note {number} {turn}").id for turn in range(5)]

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(write, range(8)))
    for agent in range(agents):
        mem = home.agent(f"agent{agent}")
        own = {identity for number, ids in enumerate(made) if number % agents == agent for identity in ids}
        assert {entry.id for entry in mem.list(limit=100)} == own
        changes = mem.changes(limit=100)
        assert [change.seq for change in changes] == list(range(1, len(own) + 1))
        assert all(mem.recall(f"note {number}", limit=1) for number in range(8) if number % agents == agent)


def test_turns_of_many_writers_keep_the_hash_chain_whole(home: Home) -> None:
    def talk(number: int) -> None:
        conv = home.agent("ana").conversations.start()
        for turn in range(5):
            conv.user(f"turn {turn} of {number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, range(8)))
    assert home.check().ok
