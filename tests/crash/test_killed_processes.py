"""Processes end with SIGKILL at any moment: what they were told is stored must be there, and nothing half done."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import program
from crash.children import Child, let_run
from crash.model import Expected
from postgres import Server

import recollect

PIECES = ((1_024, 8), (8, 3), (2, 2))
"""TAIL and FAN of the index that the rounds take in turn: as shipped, small, and flushing and merging all the time."""


def rounds_of_writing_and_killing(start: Callable[..., Child], location: str, rounds: int) -> int:
    """Children write to one memory, one after the other, and are killed; how many steps were acknowledged."""
    rng = random.Random(location)
    expected, acknowledged = Expected(), 0
    for number in range(rounds):
        child = start(program.write_until_killed, location, 1_000 * number, rng.random(), *PIECES[number % 3])
        child.go()
        let_run(child, rng, 40)
        acknowledged += expected.take(child.kill())
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


def test_processes_killed_while_they_create_the_memory_leave_one_that_can_be_used(
    start: Callable[..., Child], location: str, tmp_path: Path
) -> None:
    rng = random.Random(7)
    expected = Expected()
    for number in range(12):
        child = start(program.write_until_killed, location, 1_000 * number, rng.random(), 1_024, 8)
        child.go()
        child.wait(rng.random() * 0.06)
        expected.take(child.kill())
        assert child.failure is None
        with recollect.open(location) as home:
            assert expected.settle(home) == [], f"after round {number}"
        # Make it a first creation again, as long as the memory is a file.
        if not location.startswith("postgresql"):
            for path in tmp_path.rglob("*.db*"):
                path.unlink()
            expected = Expected()


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
