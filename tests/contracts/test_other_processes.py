"""What another process did to a memory that is open here: a deletion stays one, and a newer schema is refused.

Two homes of one place stand for two processes: they share nothing but the files or the server.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from crash.evidence import tables
from faulty_embedder import FaultyEmbedder

import recollect
from recollect import ConfigError, Home
from recollect.clock import FixedClock
from recollect.storage.postgres import schemas
from recollect.storage.schema import Migration, migrations

pytestmark = pytest.mark.directory


@pytest.fixture
def other(location: str, clock: FixedClock) -> Iterator[Home]:
    """The same memory, opened by another process."""
    with recollect.open(location, clock=clock) as opened:
        yield opened


def test_signals_that_wait_do_not_bring_a_workspace_back_that_another_process_deleted(home: Home, other: Home) -> None:
    mem = home.agent("ana")
    mem.remember("an apple a day")
    assert mem.recall("apple")
    other.delete_workspace("default")
    home.flush()
    assert other.workspaces() == home.workspaces() == []


def test_reminders_do_not_bring_a_workspace_back_that_another_process_deleted(home: Home, other: Home) -> None:
    mem = home.agent("ana")
    reminder = mem.reminders.add("10m", "water the plants")
    other.delete_workspace("default")
    assert mem.reminders.cancel(reminder.id) is False
    assert other.workspaces() == home.workspaces() == []


def test_vectors_do_not_bring_a_workspace_back_that_another_process_deleted(location: str, other: Home) -> None:
    other.agent("ana").remember("an apple a day")
    embedder = FaultyEmbedder()
    embedder.before = lambda: other.delete_workspace("default")
    with recollect.open(location, embedder=embedder) as home:
        assert home.backfill() == 0
        assert embedder.asked == [["an apple a day"]]
        assert other.workspaces() == home.workspaces() == []


def test_a_write_after_another_process_deleted_the_workspace_recreates_it(home: Home, other: Home) -> None:
    home.agent("ana").remember("the old days")
    other.delete_workspace("default")
    assert home.agent("ana").list() == []
    home.agent("ana").remember("the new days")
    assert [entry.content for entry in other.agent("ana").list()] == ["the new days"]


@pytest.mark.parametrize("location", ["postgres"], indirect=True)
def test_a_process_that_is_older_than_the_schema_is_refused_from_the_moment_it_is_migrated(
    home: Home, other: Home, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = tmp_path / f"{migrations()[-1].number + 1:04}_newer.sql"
    newer.write_text("CREATE TABLE future (agent TEXT NOT NULL, name TEXT NOT NULL) STRICT;\n")
    mem = home.agent("ana")
    mem.remember("an apple a day")
    with monkeypatch.context() as patch:
        patch.setattr(schemas, "migrations", lambda: (*migrations(), Migration(newer)))
        other.agent("ana").remember("and a pear")
    before = tables(location)
    for call in (
        lambda: mem.remember("too late"),
        mem.list,
        lambda: mem.recall("apple"),
        lambda: mem.remember("again"),
    ):
        with pytest.raises(ConfigError, match=r"newer recollect .* upgrade recollect to open it"):
            call()
    assert tables(location) == before
