"""A write does not wait for the vault: its file is written after the commit, in one go for a burst, and never lost."""

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect import Add, Home
from recollect.vault import merging, sync

pytestmark = pytest.mark.directory


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is written by itself while a test runs."""
    monkeypatch.setattr(sync, "DELAY", 600.0)


def file_of(tmp_path: Path, category: str = "decisions") -> Path:
    return tmp_path / "home" / "workspaces" / "default" / "vault" / "ana" / f"{category}.md"


def in_a_process(tmp_path: Path, end: str) -> int:
    """Remember a note in a process of its own that ends before the file is written."""
    program = f"""
        import os, signal, sys
        import recollect
        from recollect.vault import sync
        sync.DELAY = 600.0
        home = recollect.open({str(tmp_path / "home")!r})
        home.agent("ana").remember("The gate is blue", category="decisions")
        assert not os.path.exists({str(file_of(tmp_path))!r})
        {end}
    """
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False, timeout=60).returncode


@pytest.mark.usefixtures("slow")
def test_a_burst_of_writes_is_one_sync_of_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[str] = []
    run = merging.Merge.run
    monkeypatch.setattr(merging.Merge, "run", lambda self, *args: (merged.append(self.name), run(self, *args))[1])
    with recollect.open(tmp_path / "home") as home:
        mem = home.agent("ana")
        for number in range(20):
            mem.remember(f"decision {number}", category="decisions")
        mem.remember_many(Add(f"lesson {number}", category="lessons") for number in range(20))
        assert merged == []
        home.flush()
        assert sorted(merged) == ["ana/decisions.md", "ana/lessons.md"]
        for category in ("decision", "lesson"):
            shown = file_of(tmp_path, f"{category}s").read_text()
            assert all(f"\n{category} {number}\n" in shown for number in range(20))


WAITING: dict[str, Callable[[Home, Path], object]] = {
    "flush": lambda home, tmp_path: home.flush(),
    "sync": lambda home, tmp_path: home.vault().sync(),
    "close": lambda home, tmp_path: home.close(),
    "backup": lambda home, tmp_path: home.backup(tmp_path / "copy"),
    "the end of a conversation": lambda home, tmp_path: home.agent("ana").conversations.start().end(),
}


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("how", WAITING)
def test_what_looks_at_the_files_writes_them_first(tmp_path: Path, how: str) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ana").remember("The gate is blue", category="decisions")
        assert not file_of(tmp_path).exists()
        WAITING[how](home, tmp_path)
        assert "The gate is blue" in file_of(tmp_path).read_text()


@pytest.mark.usefixtures("slow")
def test_a_sync_reports_only_what_no_write_has_caused(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ana").remember("The gate is blue", category="decisions")
        assert not home.vault().sync()


def test_the_file_appears_by_itself(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ana").remember("The gate is blue", category="decisions")
        home.vault()._pending.wait()
        assert "The gate is blue" in file_of(tmp_path).read_text()


NEXT: dict[str, Callable[[Home], object]] = {
    "a read": lambda home: home.agent("ana").list(),
    "a sync": lambda home: home.vault().sync(),
    "upkeep": lambda home: home.jobs.run_due(),
}


@pytest.mark.parametrize("how", NEXT)
def test_a_killed_process_loses_no_file(tmp_path: Path, how: str) -> None:
    assert in_a_process(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    assert not file_of(tmp_path).exists()
    with recollect.open(tmp_path / "home") as home:
        NEXT[how](home)
        assert "The gate is blue" in file_of(tmp_path).read_text()


def test_a_process_that_ends_without_closing_writes_its_files(tmp_path: Path) -> None:
    assert in_a_process(tmp_path, "sys.exit()") == 0
    assert "The gate is blue" in file_of(tmp_path).read_text()


@pytest.mark.usefixtures("slow")
def test_a_deleted_workspace_is_not_written_again(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ana").remember("The gate is blue", category="decisions")
        home.delete_workspace("default")
    assert not file_of(tmp_path).exists()


def test_a_conversion_that_reads_many_files_does_not_wait_for_the_sync_that_they_caused(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    with recollect.open(tmp_path / "notes.db", vault=folder) as home:
        home.vault().sync()
    for number in range(300):
        path = folder / "ana" / f"{number % 7}" / f"note {number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"note number {number}\n")
    program = f"""
        import recollect
        from recollect.config import Settings, VaultSettings
        from recollect.vault import sync
        sync.DELAY = 0.0  # the sync starts while the conversion still holds the vault
        settings = Settings(vault=VaultSettings(folder={str(folder)!r}, layout="notes"))
        with recollect.open({str(tmp_path / "notes.db")!r}, settings=settings) as home:
            home.vault().convert()
            assert len(home.agent("ana").list(limit=1000)) == 300
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)
