"""A directory home has its vault from the first write on, and reads by itself what agents write into the files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import recollect
from recollect.clock import FixedClock
from recollect.vault.files import LEFTOVER, remove_leftovers

pytestmark = pytest.mark.directory

if TYPE_CHECKING:
    from recollect.home import Home
    from recollect.memory import Memory

ENTRY = "## 2026-01-02T10:00 · #boats\n\nThe gate is blue\n"


def vault_folder(tmp_path: Path, workspace: str = "default") -> Path:
    return tmp_path / "home" / "workspaces" / workspace / "vault"


def write_as_instructed(home: Home, agent: str, workspace: str = "default") -> None:
    """What an agent does with its instructions: make the file that they name, and add an entry to it."""
    text = home.vault(workspace).instructions(agent, host_project="/")
    shared, personal = text.splitlines()[1].removeprefix("Shared: ").split(" | Personal: ")
    for place, content in (
        (personal.replace("{decisions,lessons,tasks,handoffs}", "decisions"), ENTRY),
        (shared, "Boats\n"),
    ):
        file = Path("/") / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


def contents(mem: Memory) -> list[str]:
    return [entry.content for entry in mem.list()]


def test_the_first_write_makes_the_vault_and_opening_or_reading_does_not(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        mem = home.agent("ana")
        assert (contents(mem), mem.context("x").text, mem.project()) == ([], "", None)
        home.jobs.run_due()
        assert not (tmp_path / "home").exists()
        mem.remember("no category")
        assert (vault_folder(tmp_path) / ".vault" / "id").is_file()
        mem.remember("The gate is blue", category="decisions")
        home.flush()
        assert "The gate is blue" in (vault_folder(tmp_path) / "ana" / "decisions.md").read_text()


def test_without_a_folder_nothing_is_written_beside_the_database(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        home.agent("ana").remember("The gate is blue", category="decisions")
        home.agent("ana").set_project("Boats")
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} <= {"memory.db"}


READS: dict[str, Callable[[Memory], object]] = {
    "recall": lambda mem: [hit.entry.content for hit in mem.recall("gate")],
    "list": lambda mem: contents(mem),
    "context": lambda mem: [item.text for item in mem.context("gate").section("Relevant Decisions")],
    "query": lambda mem: [one["content"] for one in mem.query("knowledge", "text", "gate")["results"]],
}


@pytest.mark.parametrize("read", READS)
def test_a_file_that_an_agent_writes_as_instructed_is_read_at_once(tmp_path: Path, read: str) -> None:
    with recollect.open(tmp_path / "home") as home:
        write_as_instructed(home, "ana")
        assert READS[read](home.agent("ana")) == ["The gate is blue"]
        assert home.agent("ben").project() == "Boats"
        assert contents(home.agent("ben")) == []


TAKING_IN: dict[str, Callable[[Home], object]] = {
    "compact": lambda home: home.compact(),
    "run_due": lambda home: home.jobs.run_due(),
    "a job": lambda home: home.jobs.run("reindex"),
}


@pytest.mark.parametrize("how", TAKING_IN)
@pytest.mark.parametrize("workspace", ["default", "shop"])
def test_upkeep_takes_in_the_files_of_every_agent(tmp_path: Path, how: str, workspace: str) -> None:
    with recollect.open(tmp_path / "home") as home:
        write_as_instructed(home, "ana", workspace)
        write_as_instructed(home, "ben", workspace)
        TAKING_IN[how](home)
        assert home.agents(workspace) == ["ana", "ben"]
    for path in vault_folder(tmp_path, workspace).rglob("*.md"):
        path.rename(path.with_suffix(".taken"))
    with recollect.open(tmp_path / "home") as home:
        with home._place.workspace(workspace).read("ana") as tx:  # without the files, so that no read takes them in
            assert tx.all("entries.containing", probe="The gate is blue")
        with home._place.workspace(workspace).read("_shared") as tx:
            assert tx.all("entries.containing", probe="Boats")


def test_a_file_that_was_edited_while_nothing_ran_is_read_after_reopening(location: str, tmp_path: Path) -> None:
    file = tmp_path / "notes" / "ana" / "decisions.md"
    with recollect.open(location, vault=tmp_path / "notes") as home:
        home.agent("ana").remember("The gate is blue", category="decisions", name="gate")
    file.write_text(file.read_text().replace("blue", "green"))
    with recollect.open(location, vault=tmp_path / "notes") as home:
        assert home.agent("ana").get("gate").content == "The gate is green"
    file.write_text(file.read_text().replace("green", "red"))
    with recollect.open(location, vault=tmp_path / "notes") as home:
        home.jobs.run_due()
        assert home.agent("ana").history("gate")[-1].after["content"] == "The gate is red"


def test_a_dry_run_takes_nothing_in(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ben").remember("x")
        write_as_instructed(home, "ana")
        home.jobs.run("reindex", dry_run=True)
        assert home.agents() == ["ben"]


def test_a_recall_of_unchanged_files_opens_none_and_looks_once_at_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recollect.open(tmp_path / "home") as home:
        mem = home.agent("ana")
        for category in ("decisions", "lessons", "tasks", "projects", "handoffs"):
            mem.remember_many(recollect.Add(f"{category} {number}", category=category) for number in range(50))
        mem.set_project("Boats")
        home.flush()
        mem.recall("boats")
        looked: list[str] = []
        opened: list[object] = []
        really, opening = os.lstat, os.open

        def lstat(path: os.PathLike[str]) -> os.stat_result:
            looked.append(os.fspath(path))
            return really(path)

        def counting(path: object, *rest: int, **more: int | None) -> int:
            opened.append(path)
            return opening(path, *rest, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "lstat", lstat)
        monkeypatch.setattr(os, "open", counting)
        mem.recall("boats")
        assert opened == []
        assert len(looked) == len(set(looked)) <= 11  # five of the agent, five of `_shared`, and _project.md


# Files that a killed writer left


def test_leftovers_of_killed_writers_are_removed_and_nothing_else_is(tmp_path: Path) -> None:
    clock = FixedClock()
    with recollect.open(tmp_path / "home", clock=clock) as home:
        home.agent("ana").remember("x", category="tasks")
        home.flush()
        folder = vault_folder(tmp_path)
        (tmp_path / "outside").mkdir()
        (folder / "linked").symlink_to(tmp_path / "outside")
        name = f".{'0' * 32}.tasks.md.tmp"
        old = [folder / name, folder / ".vault" / f".{'1' * 32}.id.tmp", folder / "ana" / name]
        kept = [
            folder / "ana" / other for other in (".notes.tmp", "a.tmp", f"{'0' * 32}.tmp", f".{'2' * 32}.tasks.md.tmp")
        ]
        kept.append(tmp_path / "outside" / name)
        now = clock.now() / 1_000
        for path in (*old, *kept):
            path.write_text("half a fi")
            os.utime(path, (0, now - LEFTOVER / 1_000 - 1))
        os.utime(kept[3], (0, now))  # of a writer that may still be at it
        os.symlink(tmp_path / "nowhere", folder / "ana" / f".{'3' * 32}.tasks.md.tmp")
        home.compact()
        assert [path for path in (*old, *kept) if path.exists()] == kept
        assert (folder / "ana" / f".{'3' * 32}.tasks.md.tmp").is_symlink()
        assert remove_leftovers(folder, "linked", clock.now()) == 0
        for path in old:
            path.write_text("half a fi")
            os.utime(path, (0, now - LEFTOVER / 1_000 - 1))
        home.vault().sync()
        assert not [path for path in old if path.exists()]
