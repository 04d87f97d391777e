"""A disk that fails at one moment of a story after the other: the memory is whole after each of them.

With `--exhaustive` it fails at every single moment, otherwise at every fifth, for each kind of fault at others.

The story makes the file, adds, rewrites, renames and forgets with an index that flushes and merges all the time.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crash import program
from crash.children import Child
from crash.model import Expected, Step, fact

import recollect

pytestmark = pytest.mark.slow
FAULTS = ("power", "kill", "shuffle", "full")


@pytest.fixture
def step(pytestconfig: pytest.Config) -> int:
    """From one moment to the next. It is odd, so that both kinds of stories are met."""
    return 1 if pytestconfig.getoption("exhaustive") else 5


def moments_of_the_story(start: Callable[..., Child], location: str) -> int:
    """How many moments the story has on a disk that never fails."""
    child = start(program.write_on_a_faulty_disk, location, 0, "none", 0, 0)
    child.go()
    child.rest()
    assert child.failure is None
    return int(next(message[1] for message in child.messages if message[0] == "moments"))


def stories_that_fail(
    start: Callable[..., Child], folder: Path, fault: str, step: int
) -> Iterator[tuple[str, Child, Expected]]:
    """The story once per moment to fail at: where the memory is, and what was acknowledged before."""
    prepared = [Step("add", key, fact(key, 0)) for key in (91, 92, 93)]
    first = 1 + FAULTS.index(fault) % step
    for moment in range(first, moments_of_the_story(start, str(folder / "whole.db")) + 1, step):
        location = str(folder / f"{moment}.db")
        expected = Expected()
        if moment % 2:  # half of the stories begin in a memory that is there already, the other half make it
            with recollect.open(location) as home:
                ids: dict[int, str] = {}
                for one in prepared:
                    entry = program.act(home.agent("ana"), one, ids)
                    expected.take([("done", one, entry.id, entry.content_hash)])
        child = start(program.write_on_a_faulty_disk, location, 100, fault, moment, moment)
        child.go()
        expected.take(child.rest())
        yield location, child, expected


@pytest.mark.parametrize("fault", FAULTS[:3])
def test_a_process_that_ends_at_any_moment_leaves_every_acknowledged_write_on_the_disk(
    start: Callable[..., Child], tmp_path: Path, fault: str, step: int
) -> None:
    stories = 0
    for location, child, expected in stories_that_fail(start, tmp_path, fault, step):
        assert child.failure is None
        with recollect.open(location) as home:
            assert expected.settle(home) == [], location
            # And it can be written to, as if nothing had happened.
            home.agent("ana").remember("after the fault")
            assert home.check().ok, location
        stories += 1
    assert stories * step > 150


def test_a_disk_that_is_full_at_any_moment_refuses_clearly_and_takes_writes_again_when_there_is_room(
    start: Callable[..., Child], tmp_path: Path, step: int
) -> None:
    refused = 0
    for location, child, expected in stories_that_fail(start, tmp_path, "full", step):
        assert child.failure is None, (location, child.failure)
        messages = [message[1] for message in child.messages if message[0] == "refused"]
        assert all("no space left" in message for message in messages)
        refused += len(messages)
        with recollect.open(location) as home:
            assert expected.settle(home) == [], location
        assert sorted(path.name for path in tmp_path.glob(f"*{Path(location).name}*")) == [Path(location).name]
    assert refused * step > 150
