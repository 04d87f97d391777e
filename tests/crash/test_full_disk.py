"""No room left: a clear refusal, a file that stays good, and writing again once there is room."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from crash import program
from crash.children import Child
from crash.model import Expected
from postgres import Server

import recollect


class SmallDisk:
    """A file system in memory whose size can be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, kilobytes: int) -> None:
        """Give it another size."""
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", self.path], check=True)

    def fill(self) -> Path:
        """Write a file that takes all the room there is."""
        filler = self.path / "filler"
        with filler.open("wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    return filler


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small disk, where the tests may mount one."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", path], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount a file system; the limit of a file's size is tested instead")
    yield SmallDisk(path)
    subprocess.run(["umount", "--lazy", path], check=True)


def until_refused(mem: recollect.Memory, kept: list[recollect.Entry], size: int) -> None:
    """Write notes of a size until one is refused; those before it are kept."""
    while True:
        kept.append(mem.remember(f"note {len(kept)} {os.urandom(size // 2).hex()}"))


@pytest.mark.parametrize("kind", ["memory.db", "home"])
def test_a_write_on_a_full_disk_is_refused_and_what_was_there_stays(disk: SmallDisk, kind: str) -> None:
    with recollect.open(disk.path / kind) as home:
        mem = home.agent("ana")
        kept = [mem.remember(f"note {number}", name=f"name {number}") for number in range(20)]
        filler = disk.fill()
        with pytest.raises(recollect.Unavailable, match=f"no space left for .*{kind}.* Free some space and try again"):
            until_refused(mem, kept, 4_000)
        # The same home still reads, and so does one that is opened now.
        assert {entry.id for entry in mem.list(limit=1_000)} == {entry.id for entry in kept}
        with recollect.open(disk.path / kind) as second:
            assert second.agent("ana").recall("name 7")[0].entry.id == kept[7].id
            with pytest.raises(recollect.Unavailable):
                second.agent("ana").remember("still no room " * 500)
        filler.unlink()
        kept.append(mem.remember("there is room again"))
        assert home.check().ok
    with recollect.open(disk.path / kind) as home:
        assert {entry.id for entry in home.agent("ana").list(limit=1_000)} == {entry.id for entry in kept}
        assert home.check().findings == ()


@pytest.mark.parametrize("kind", ["memory.db", "home"])
def test_a_memory_that_finds_no_room_to_begin_with_begins_when_there_is_some(disk: SmallDisk, kind: str) -> None:
    outcomes, messages = set(), set[str]()
    for kilobytes in range(4, 520, 5):
        disk.resize(kilobytes)
        location = disk.path / f"{kilobytes}" / kind
        with recollect.open(location) as home:
            mem = home.agent("ana")
            try:
                first = [mem.remember("the first note").id]
            except recollect.Unavailable as error:
                messages.add(str(error))
                first = []
                # Reading needs a little room, too; without it there is an error, never another answer.
                with contextlib.suppress(recollect.Unavailable):
                    assert mem.list() == []
        outcomes.add(bool(first))
        disk.resize(4_096)
        with recollect.open(location) as home:
            mem = home.agent("ana")
            second = mem.remember("the second note").id
            assert [entry.id for entry in mem.list()] == [second, *first]
            assert home.check().findings == ()
        # Nothing of a failed beginning is left behind.
        files = [path for path in location.parent.rglob("*") if path.is_file()]
        assert sorted(path.name for path in files) == (["id", "memory.db"] if kind == "home" else ["memory.db"])
        for path in files:
            path.unlink()
    assert outcomes == {True, False}
    assert all("no space left" in message or "Is the disk full" in message for message in messages)


def test_a_backup_that_finds_no_room_is_refused_and_leaves_nothing(disk: SmallDisk, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        home.agent("ana").remember("a note " * 10_000)
        filler = disk.fill()
        with pytest.raises(recollect.Unavailable, match=r"no space left for .*copy\.db"):
            home.backup(disk.path / "copy.db")
        assert os.listdir(disk.path) == ["filler"]
        filler.unlink()
        home.backup(disk.path / "copy.db")
    with recollect.open(disk.path / "copy.db") as copy:
        assert len(copy.agent("ana").list()) == 1


def test_a_server_without_room_refuses_clearly_and_takes_writes_again_when_there_is_some(
    disk: SmallDisk, postgres_server: Server
) -> None:
    disk.resize(24_000)
    user = postgres_server.user
    if user is not None:
        os.chown(disk.path, user.pw_uid, user.pw_gid)
    disk.path.chmod(0o700)
    for folder in disk.path.parents[:-1]:
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o011)  # the server's account must be able to get there
    with psycopg.connect(postgres_server.url(), autocommit=True) as server:
        server.execute(f"CREATE TABLESPACE small LOCATION '{disk.path}'")
        server.execute("CREATE DATABASE in_small_space TEMPLATE template0 TABLESPACE small")
        try:
            with recollect.open(postgres_server.url("in_small_space")) as home:
                mem = home.agent("ana")
                kept = [mem.remember("the first note")]
                with pytest.raises(recollect.Unavailable, match=r"no space left on the server.*Free some space there"):
                    until_refused(mem, kept, 400_000)
                assert [entry.id for entry in mem.list(limit=1_000)] == [entry.id for entry in reversed(kept)]
                disk.resize(100_000)
                kept.append(mem.remember("there is room again"))
                assert [entry.id for entry in mem.list(limit=1_000)] == [entry.id for entry in reversed(kept)]
                assert home.check().findings == ()
        finally:
            server.execute("DROP DATABASE in_small_space WITH (FORCE)")
            server.execute("DROP TABLESPACE small")


def test_a_backup_of_several_files_that_finds_no_room_for_all_of_them_leaves_nothing(
    disk: SmallDisk, tmp_path: Path
) -> None:
    disk.resize(600)
    with recollect.open(tmp_path / "home") as home:
        for workspace in ("one", "two", "three"):
            home.agent("ana", workspace=workspace).remember("a note " * 20_000)
        with pytest.raises(recollect.Unavailable, match="no space left"):
            home.backup(disk.path / "copy")
        assert os.listdir(disk.path) == []
        disk.resize(10_000)
        home.backup(disk.path / "copy")
    with recollect.open(disk.path / "copy") as copy:
        assert copy.check().entries == 3


@pytest.mark.parametrize("limit", [0, 1_000, 30_000, 64_000, 600_000, 2_000_000])
def test_a_file_that_may_not_grow_refuses_clearly_and_takes_writes_again_when_it_may(
    start: Callable[..., Child], tmp_path: Path, limit: int
) -> None:
    location = str(tmp_path / "memory.db")
    child = start(program.write_under_a_size_limit, location, limit)
    child.go()
    expected = Expected()
    acknowledged = expected.take(child.rest())
    assert child.failure is None
    (refused,) = [message[1] for message in child.messages if message[0] == "refused"]
    assert "Is the disk full or failing?" in refused or "no space left" in refused
    assert acknowledged > (1 if limit >= 600_000 else 0)
    with recollect.open(location) as home:
        assert expected.settle(home) == []
    assert os.listdir(tmp_path) == ["memory.db"]
