"""What happens to a home that is open while its file is removed or replaced, or while its process forks."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import program
from crash.children import Child
from crash.model import Expected

import recollect
from recollect.storage.sqlite import SqliteDatabase


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


def test_after_its_file_was_removed_a_home_reads_as_empty_and_begins_anew(tmp_path: Path) -> None:
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


def test_a_removed_directory_is_made_again_by_the_next_write(tmp_path: Path) -> None:
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


def test_a_file_that_takes_the_place_and_the_number_of_another_is_noticed(tmp_path: Path) -> None:
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
            assert second.all("entries.page", **PAGE)[0][7] == "new words"
        assert tx.all("entries.page", **PAGE)[0][7] == "old words"
    for _ in range(3):
        with database.read("ana") as tx:
            assert tx.all("entries.page", **PAGE)[0][7] == "new words"
    database.close()


def test_a_reader_of_an_empty_memory_is_not_disturbed_by_the_one_who_makes_it(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "memory.db")

    def make() -> None:
        with database.write("ana"):
            pass

    with database.read("ana") as tx:
        maker = threading.Thread(target=make)
        maker.start()
        maker.join()
        assert tx.all("entries.page", **PAGE) == []
    assert (tmp_path / "memory.db").exists()
    database.close()


PAGE = {
    **dict.fromkeys(("kind", "category", "scope", "source", "tag")),
    "limit": 10,
    "created_at": 1 << 60,
    "id": "",
}
