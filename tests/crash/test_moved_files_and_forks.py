"""What happens to a home that is open while its file is removed or replaced, or while its process forks."""

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import program
from crash.children import Child
from crash.model import Expected
from embedders import in_a_new_process

import recollect
from recollect.storage.columns import COLUMNS
from recollect.storage.files import new_file, publish
from recollect.storage.postgres.database import PostgresDatabase
from recollect.storage.postgres.schemas import Schemas
from recollect.storage.postgres.server import PostgresServer
from recollect.storage.sqlite.database import SqliteDatabase

pytestmark = pytest.mark.directory

CONTENT = COLUMNS.index("content")


def contents(mem: recollect.Memory) -> list[str]:
    """What is remembered, newest first."""
    return [entry.content for entry in mem.list()]


def test_a_home_that_was_open_at_a_fork_works_in_both_processes(start: Callable[..., Child], location: str) -> None:
    child = start(program.use_after_fork, location)
    child.go()
    expected = Expected()
    assert expected.take(child.rest()) == 5
    assert child.failure is None
    with recollect.open(location) as home:
        assert expected.settle(home) == []


def test_after_its_file_was_removed_a_home_reads_as_empty_and_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with recollect.open(path) as home:
        mem = home.agent("ana")
        mem.remember("the old days", name="old")
        assert mem.recall("days")
        path.unlink()
        assert mem.recall("days") == []
        assert contents(mem) == []
        with pytest.raises(recollect.NotFound):
            mem.get("old")
        assert not path.exists()
        mem.remember("the new days")
        assert [hit.entry.content for hit in mem.recall("days")] == ["the new days"]
        assert home.check().ok
    with recollect.open(path) as home:
        assert contents(home.agent("ana")) == ["the new days"]


def test_a_removed_directory_is_created_again_by_the_next_write(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ana").remember("the old days")
        shutil.rmtree(tmp_path / "home")
        assert contents(home.agent("ana")) == []
        home.agent("ana").remember("the new days")
        assert contents(home.agent("ana")) == ["the new days"]


@pytest.mark.parametrize("close_before", [False, True], ids=["while it is open", "while it is closed"])
def test_after_its_file_was_replaced_by_a_backup_a_home_finds_what_the_backup_has(
    tmp_path: Path, close_before: bool
) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with recollect.open(path) as home:
        mem = home.agent("ana")
        kept = [mem.remember(f"kept note {number}") for number in range(3)]
        home.backup(copy)
        changed = mem.apply(recollect.Write(kept[0].id, content="a changed note"))
        mem.remember("a late note")
        assert len(mem.recall("late changed")) == 2
        if close_before:
            home.close()
        os.replace(copy, path)
        assert sorted(contents(mem)) == ["kept note 0", "kept note 1", "kept note 2"]
        assert mem.recall("late changed") == []
        assert {hit.entry.id for hit in mem.recall("kept")} == {entry.id for entry in kept}
        assert mem.get(changed.id).content == "kept note 0"
        mem.remember("a note after the return")
        assert [hit.entry.content for hit in mem.recall("return")] == ["a note after the return"]
        assert home.check().findings == ()


def test_a_home_that_is_closed_after_its_file_was_replaced_leaves_the_backup_as_it_is(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with recollect.open(path) as home:
        home.agent("ana").remember("a kept note")
        home.backup(copy)
        home.agent("ana").remember("a late note")
        os.replace(copy, path)
    with recollect.open(path) as home:
        assert contents(home.agent("ana")) == ["a kept note"]
        assert home.check().findings == ()


def test_a_file_that_was_moved_away_takes_its_last_writes_along(tmp_path: Path) -> None:
    path, moved = tmp_path / "memory.db", tmp_path / "moved.db"
    with recollect.open(path) as home:
        mem = home.agent("ana")
        mem.remember("an early note")
        mem.remember("a late note")
        os.rename(path, moved)
        assert contents(mem) == []
    with recollect.open(moved) as home:
        assert contents(home.agent("ana")) == ["a late note", "an early note"]


def test_a_file_replaced_under_two_processes_is_refused_rather_than_mixed_with_the_log_of_the_other(
    start: Callable[..., Child], tmp_path: Path
) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with recollect.open(path) as home:
        mem = home.agent("ana")
        mem.remember("a kept note")
        home.backup(copy)
        writer = start(program.write_until_killed, str(path), 0, 1, 1_024, 8)
        writer.go()
        writer.next("done")
        writer.kill()
        os.replace(copy, path)
        with pytest.raises(recollect.Corrupt, match="may be the log of either file"):
            mem.list()
        with pytest.raises(recollect.Corrupt, match="may be the log of either file"):
            mem.remember("a late note")
        (tmp_path / "memory.db-wal").unlink()
        assert contents(mem) == ["a kept note"]
        assert home.check().findings == ()


@pytest.mark.parametrize("kind", ["memory.db", "home"])
def test_a_memory_that_another_process_deleted_and_recreated_is_used_as_it_is_now(
    start: Callable[..., Child], tmp_path: Path, kind: str
) -> None:
    location = str(tmp_path / kind)
    with recollect.open(location) as home:
        mem = home.agent("ana")
        mem.remember("the old days")
        mem.list()
        other = start(program.delete_and_begin_anew, location)
        other.go()
        other.next("done")
        assert contents(mem) == ["the new days"]
        mem.remember("and after")
        assert contents(mem) == ["and after", "the new days"]
        other.kill()
        assert contents(mem) == ["and after", "the new days"]
        assert home.check().ok


def test_a_file_replaced_while_its_only_connection_is_in_use_keeps_the_log_of_the_old_one_out(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with recollect.open(copy) as home:
        home.agent("ana").remember("from the copy")
    with recollect.open(path) as home:
        mem = home.agent("ana")
        mem.remember("the old days")
        with mem._workspace.read():
            os.replace(copy, path)
            with pytest.raises(recollect.Unavailable, match="replaced while it was in use; try again"):
                mem.list()
            with pytest.raises(recollect.Unavailable, match="replaced while it was in use; try again"):
                mem.remember("no")
        assert contents(mem) == ["from the copy"]
        assert home.check().ok
    with recollect.open(path) as home:
        assert contents(home.agent("ana")) == ["from the copy"]


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_of_two_who_make_a_file_at_once_the_second_uses_the_file_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    path = tmp_path / "memory.db"

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    with new_file(path) as first, new_file(path) as second:
        first.write_text("first")
        second.write_text("second")
        assert publish(first, path)
        assert not first.exists()
        assert not publish(second, path)
    assert path.read_text() == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


def test_a_file_that_replaces_and_has_the_number_of_another_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    other = tmp_path / "other.db"
    with recollect.open(other) as home:
        home.agent("ana").remember("second words")
    with recollect.open(path) as home:
        mem = home.agent("ana")
        mem.remember("first words")
        assert mem.recall("first")
        home.close()
        number = path.stat().st_ino
        # The content of the other file under the same inode: what a file system does that uses numbers again.
        path.write_bytes(other.read_bytes())
        assert path.stat().st_ino == number
        assert mem.recall("first") == []
        assert [hit.entry.content for hit in mem.recall("second")] == ["second words"]


def test_a_reader_that_is_under_way_while_the_file_is_replaced_does_not_bring_the_old_one_back(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for name, words in ((path, "old words"), (tmp_path / "new.db", "new words")):
        with recollect.open(name) as home:
            home.agent("ana").remember(words)
    database = SqliteDatabase(path)
    with database.read("ana") as tx:
        os.replace(tmp_path / "new.db", path)
        with database.read("ana") as second:
            assert second.all("entries.after_id", id="", limit=9)[0][CONTENT] == "new words"
        assert tx.all("entries.after_id", id="", limit=9)[0][CONTENT] == "old words"
    for _ in range(3):
        with database.read("ana") as tx:
            assert tx.all("entries.after_id", id="", limit=9)[0][CONTENT] == "new words"
    database.admin.close()


def test_a_reader_of_an_empty_memory_is_not_disturbed_by_the_one_who_makes_it(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "memory.db")

    def make() -> None:
        with database.write("ana"):
            pass

    with database.read("ana") as tx:
        maker = threading.Thread(target=make)
        maker.start()
        maker.join()
        assert tx.all("entries.after_id", id="", limit=9) == []
    assert (tmp_path / "memory.db").exists()
    database.admin.close()


# PostgreSQL

CLOSE_IN_A_FORKED_CHILD = """
import os, sys
import psycopg, recollect

def backends():
    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY 1"
    with psycopg.connect(sys.argv[1]) as connection:
        return connection.execute(query).fetchall()

home = recollect.open(sys.argv[1])
home.agent("ana").remember("before the fork")
before = backends()
assert before
child = os.fork()
if child == 0:
    home.close()
    home.agent("ana").remember("in the child, which can use it again")
    home.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
for _ in range(1_000):  # the server may be a little late to see that the child is gone
    if (now := backends()) == before:
        break
assert now == before
home.agent("ana").remember("after the fork")
print(len(home.agent("ana").list()))
home.close()
"""


def test_a_forked_child_that_closes_a_home_leaves_the_connections_of_its_parent_alone(postgres_url: str) -> None:
    assert in_a_new_process(CLOSE_IN_A_FORKED_CHILD, postgres_url) == "3\n"


@pytest.mark.parametrize("begun", ["a read", "a write"])
def test_a_home_that_another_thread_closes_at_the_start_of_a_call_is_used_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, begun: str
) -> None:
    server = PostgresServer(postgres_url)
    database = PostgresDatabase(Schemas(server), "default", SqliteDatabase(Path("nowhere.db")))
    with database.write("ana"):
        pass
    connect = server.connect

    def closed_meanwhile() -> object:
        pool = connect()
        monkeypatch.undo()
        server.close()
        return pool

    monkeypatch.setattr(server, "connect", closed_meanwhile)
    with database.read("ana") if begun == "a read" else database.write("ana") as tx:
        assert tx.all("counters.get") == []
    server.close()
