"""Many processes and threads write to one memory at once: nothing is lost, and nobody sees a raw error."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import program
from crash.children import Child
from crash.evidence import rows
from crash.model import fact, word
from postgres import Server

import recollect

pytestmark = pytest.mark.directory

SEQ = {"entries": 2, "operations": 1}
"""The column of the number in each table that has one."""


def dense(location: str, agent: str) -> None:
    """The numbers of an agent's entries and operations are 1, 2, 3, … without gap and repetition."""
    for table, column in SEQ.items():
        numbers = sorted(row[column] for row in rows(location, table, agent))
        assert numbers == list(range(1, len(numbers) + 1)), (agent, table)


def write_at_once(start: Callable[..., Child], location: str, agents: list[list[str]], notes: int) -> list[Child]:
    """One child per list of agents, all from one starting line; they have ended when this returns."""
    writers = [
        start(program.write_notes, location, names, number, notes) for number, names in enumerate(agents, start=1)
    ]
    for writer in writers:
        writer.go()
    for writer in writers:
        writer.rest()
    assert [writer.failure for writer in writers if writer.failure] == []
    return writers


def test_eight_processes_write_at_once_and_nothing_is_lost(start: Callable[..., Child], location: str) -> None:
    agents = [["ana"], ["ana"], ["ana", "ben"], ["ben"], ["cleo"], ["dora", "ana"], ["eve"], ["fay", "eve"]]
    writers = write_at_once(start, location, agents, 60)
    with recollect.open(location) as home:
        stored = {
            agent: {entry.id: entry.content_hash for entry in home.agent(agent).list(limit=1_000)}
            for agent in ("ana", "ben", "cleo", "dora", "eve", "fay")
        }
        for writer, names in zip(writers, agents, strict=True):
            acknowledged = [(message[2], message[3]) for message in writer.messages if message[0] == "done"]
            assert len(acknowledged) == 60
            for number, (entry_id, content_hash) in enumerate(acknowledged):
                assert stored[names[number % len(names)]][entry_id] == content_hash
        assert sum(map(len, stored.values())) == 8 * 60
        report = home.check()
        assert (report.findings, report.entries, report.operations) == ((), 480, 480)
        assert [hit.entry.content for hit in home.agent("cleo").recall(word(5_007))] == [fact(5_007, 0)]
    for agent in stored:
        dense(location, agent)


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_eight_processes_that_make_the_same_file_at_once_all_use_it(
    start: Callable[..., Child], tmp_path: Path, kind: str
) -> None:
    for number in range(10):
        location = str(tmp_path / f"{number}" / ("memory.db" if kind == "file" else "home"))
        write_at_once(start, location, [["ana"]] * 8, 2)
        with recollect.open(location) as home:
            assert len(home.agent("ana").list()) == 16
            assert home.check().ok
        dense(location, "ana")


def test_a_directory_that_another_process_makes_meanwhile_is_never_taken_for_a_file(
    start: Callable[..., Child], tmp_path: Path
) -> None:
    folder = str(tmp_path / "home")
    maker = start(program.make_and_remove_until_killed, folder)
    maker.go()
    maker.next("making")
    for _ in range(1_000):
        recollect.open(folder).close()
    maker.kill()
    assert maker.failure is None


def test_eight_processes_that_make_the_same_schemas_at_once_all_use_them(
    start: Callable[..., Child], postgres_server: Server
) -> None:
    for agents in ([["ana"]] * 8, [[f"agent {number}"] for number in range(8)], [["ana", "ben"], ["ben", "ana"]] * 4):
        url = postgres_server.fresh_database()
        write_at_once(start, url, agents, 2)
        with recollect.open(url) as home:
            report = home.check()
            assert (report.findings, report.entries) == ((), 16)
        for agent in {name for names in agents for name in names}:
            dense(url, agent)
        postgres_server.drop_database(url)


def test_sixteen_threads_share_one_home(home: recollect.Home, location: str) -> None:
    errors: list[BaseException] = []
    missed: list[int] = []
    line = threading.Barrier(16)

    def work(number: int) -> None:
        mem = home.agent("ana" if number % 2 else f"agent {number}")
        try:
            line.wait()
            for note in range(12):
                key = number * 1_000 + note
                mem.recall("fact")  # the first of these find no memory yet
                mem.remember(fact(key, 0))
                if [hit.entry.content for hit in mem.recall(word(key))] != [fact(key, 0)]:
                    missed.append(key)
                mem.list(limit=3)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert missed == []
    report = home.check()
    assert (report.findings, report.entries) == ((), 16 * 12)
    assert len(home.agent("ana").list(limit=1_000)) == 8 * 12
    home.close()
    for agent in ("ana", "agent 4"):
        dense(location, agent)


def test_processes_that_open_and_close_the_same_file_all_the_time_do_not_disturb_each_other(
    start: Callable[..., Child], tmp_path: Path
) -> None:
    location = str(tmp_path / "memory.db")
    with recollect.open(location) as home:
        home.agent("ana").remember("the file is there")
    # A file grows when its log is written back, and the log goes away when the last process closes it.
    reader, writer = start(program.open_read_close, location), start(program.open_write_close, location, 120)
    reader.go()
    writer.go()
    writer.rest()
    reader.go()
    reader.rest()
    assert (writer.failure, reader.failure) == (None, None)
    with recollect.open(location) as home:
        assert len(home.agent("ana").list(limit=1_000)) == 121
        assert home.check().ok


def test_a_writer_waits_for_another_process_instead_of_failing(start: Callable[..., Child], tmp_path: Path) -> None:
    location = str(tmp_path / "memory.db")
    with recollect.open(location) as home:
        home.agent("ana").remember("the file is there")
        database = home.agent("ana")._workspace.database
        with database.write("ben"):
            child = start(program.write_notes, location, ["ana"], 1, 1)
            child.go()
            child.wait(0.3)
            assert len(home.agent("ana").list()) == 1  # it waits for the lock, and readers go on
        child.rest()
        assert child.failure is None
        assert len(home.agent("ana").list()) == 2
