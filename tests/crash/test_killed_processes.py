"""Processes end with SIGKILL at any moment: what they were told is stored must be there, and nothing half done."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import program
from crash.children import Child, let_run
from crash.model import Expected, fact
from postgres import Server, without_clients

import recollect

PIECES = ((1_024, 8), (8, 3), (2, 2))
"""TAIL and FAN of the index that the rounds take in turn: as shipped, small, and flushing and merging all the time."""


def rounds_of_writing_and_killing(start: Callable[..., Child], location: str, rounds: int) -> int:
    """Children write to one memory, one after the other, and are killed; how many steps were acknowledged."""
    rng = random.Random(7)
    expected, acknowledged = Expected(), 0
    for number in range(rounds):
        child = start(program.write_until_killed, location, 1_000 * number, rng.random(), *PIECES[number % 3])
        child.go()
        let_run(child, rng, 40)
        acknowledged += expected.take(child.kill())
        without_clients(location)
        assert child.failure is None
        with recollect.open(location) as home:
            assert expected.settle(home) == [], f"after round {number}"
    return acknowledged


@pytest.mark.parametrize("kind", ["memory.db", "home"])
def test_a_writer_killed_again_and_again_loses_nothing_it_acknowledged(
    start: Callable[..., Child], tmp_path: Path, kind: str
) -> None:
    assert rounds_of_writing_and_killing(start, str(tmp_path / kind), 25) > 250


def test_a_client_of_postgresql_killed_again_and_again_loses_nothing_it_acknowledged(
    start: Callable[..., Child], postgres_url: str
) -> None:
    assert rounds_of_writing_and_killing(start, postgres_url, 12) > 100


@pytest.mark.parametrize("kind", ["file", "directory", "postgres"])
def test_processes_killed_while_they_create_the_memory_leave_none_or_one_that_can_be_used(
    start: Callable[..., Child], tmp_path: Path, postgres_server: Server, kind: str
) -> None:
    rng = random.Random(7)
    for number in range(20):
        match kind:
            case "file":
                location = str(tmp_path / f"{number}.db")
            case "directory":
                location = str(tmp_path / f"{number}")
            case _:
                location = postgres_server.fresh_database()
        # Two at once: the second may find what the first one was doing when it was killed.
        writers = [start(program.write_notes, location, ["ana"], writer, 1_000) for writer in (1, 2)]
        for writer in writers:
            writer.go()
        for writer in writers:
            writer.wait(rng.random() * 0.01 * (number + 1))
            writer.kill()
        assert [writer.failure for writer in writers] == [None, None]
        acknowledged = [[message[1].content for message in writer.messages] for writer in writers]
        under_way = {fact(writer * 1_000 + len(notes), 0) for writer, notes in enumerate(acknowledged, start=1)}
        with recollect.open(location) as home:
            found = {entry.content for entry in home.agent("ana").list(limit=10_000)}
            assert found >= {note for notes in acknowledged for note in notes}
            assert found <= {note for notes in acknowledged for note in notes} | under_way
            home.agent("ana").remember("somebody comes after them")
            assert home.check().findings == ()
        if kind == "postgres":
            postgres_server.drop_database(location)


def test_threads_that_share_commits_lose_nothing_acknowledged_when_they_are_killed(
    start: Callable[..., Child], tmp_path: Path
) -> None:
    location, rng = str(tmp_path / "memory.db"), random.Random(5)
    acknowledged: dict[str, dict[str, str]] = {"ana": {}, "ben": {}}
    for number in range(6):
        child = start(program.write_from_threads_until_killed, location, 100 * number, 12)
        child.go()
        let_run(child, rng, 60)
        for _, agent, identity, note in [message for message in child.kill() if message[0] == "done"]:
            acknowledged[agent][identity] = note
        assert child.failure is None
        with recollect.open(location) as home:
            assert home.check().findings == ()
            for agent, notes in acknowledged.items():
                mem = home.agent(agent)
                assert notes.items() <= {entry.id: entry.content for entry in mem.list(limit=10_000)}.items()
                changes = mem.changes(limit=10_000)
                assert [change.seq for change in changes] == list(range(1, len(changes) + 1))


def test_a_server_killed_while_clients_write_loses_nothing_it_acknowledged(
    start: Callable[..., Child], tmp_path: Path
) -> None:
    rng = random.Random(11)
    with Server(log=tmp_path / "server.log") as server:
        url = server.fresh_database()
        expected = {"ana": Expected()}
        with recollect.open(url) as survivor:
            for number in range(4):
                child = start(program.write_until_killed, url, 1_000 * number, rng.random(), *PIECES[number % 3])
                child.go()
                let_run(child, rng, 60)
                server.kill()
                assert expected["ana"].take(child.rest()) > 0 or number > 0
                assert child.failure is not None
                assert child.failure[1] == "recollect.errors.Unavailable", child.failure
                server.restart()
                # A home that was open before the crash finds its way back by itself.
                assert expected["ana"].settle(survivor) == [], f"after round {number}"
