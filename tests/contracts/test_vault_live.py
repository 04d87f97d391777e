"""A vault that was made once is kept in step by itself: writes show in its files, edits in its files show in reads."""

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crash.evidence import raw

import recollect
from recollect import Add, ConfigError, FixedClock, Home, RecollectError, Unavailable, Write
from recollect.model.vault import SyncReport

pytestmark = pytest.mark.directory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def contents(mem: recollect.Memory) -> list[str]:
    return sorted(entry.content for entry in mem.list())


def while_writing(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> list[str]:
    """Let something happen once, at the moment when the new file that takes that place is all written."""
    happened: list[str] = []
    whole = os.fsync

    def fsync(descriptor: int) -> None:
        written = os.path.realpath(f"/proc/self/fd/{descriptor}")
        if not happened and re.search(rf"\.{re.escape(name)}\.\w+$", written):
            happened.append(written)
            act()
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return happened


def test_from_the_first_write_on_both_sides_see_everything(location: str, folder: Path) -> None:
    with recollect.open(location, vault=folder, clock=FixedClock()) as home:
        mem = home.agent("ana")
        assert contents(mem) == []
        assert not folder.exists()  # a read makes nothing
        mem.remember("We deploy on Tuesdays", category="decisions", name="deploy day")
        file = folder / "ana" / "decisions.md"
        home.flush()
        assert "We deploy on Tuesdays" in file.read_text()

        mem.remember("The gate is blue", category="decisions")
        mem.remember_many([Add("Ropes rot", category="lessons")])
        home.flush()
        assert "The gate is blue" in file.read_text()
        assert "Ropes rot" in (folder / "ana" / "lessons.md").read_text()
        file.write_text(file.read_text().replace("The gate is blue", "The gate is red"))
        assert contents(mem) == ["Ropes rot", "The gate is red", "We deploy on Tuesdays"]
        assert [hit.entry.content for hit in mem.recall("gate")] == ["The gate is red"]

        mem.apply(Write("deploy day", category="lessons"))
        home.flush()
        assert "deploy" not in file.read_text()
        mem.forget("deploy day")
        home.flush()
        assert "deploy" not in (folder / "ana" / "lessons.md").read_text()
        mem.restore("deploy day")
        home.flush()
        assert "We deploy" in (folder / "ana" / "lessons.md").read_text()
        mem.forget("deploy day", erase=True)
        assert "We deploy" not in (folder / "ana" / "lessons.md").read_text()
        assert home.check().ok


def test_other_workspaces_have_a_folder_of_their_own(tmp_path: Path, folder: Path) -> None:
    with recollect.open(tmp_path / "home", vault=folder) as home:
        for name in ("default", "shop"):
            home.agent("ana", name).remember(f"a decision of {name}", category="decisions")
            home.vault(name).sync()
        assert "of default" in (folder / "ana" / "decisions.md").read_text()
        assert "of shop" in (tmp_path / "notes-shop" / "ana" / "decisions.md").read_text()


def test_a_home_without_a_folder_says_how_to_name_one(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        with pytest.raises(ConfigError, match=r"open\(vault="):
            home.vault().sync()
        home.agent("ana").remember("works without", category="decisions")


def test_a_vault_in_trouble_fails_no_write_and_no_read(tmp_path: Path, folder: Path) -> None:
    with recollect.open(tmp_path / "memory.db", vault=folder) as home:
        mem = home.agent("ana")
        mem.remember("to begin with", category="lessons")
        home.vault().sync()
        (folder / "ana" / "decisions.md").mkdir()
        mem.remember("still stored", category="decisions")
        home.flush()
        assert contents(mem) == ["still stored", "to begin with"]


def test_a_disk_that_is_full_for_the_files_fails_no_write_and_no_read(
    location: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recollect.open(location, vault=folder) as home:
        mem = home.agent("ana")
        mem.remember("one", category="decisions")
        home.vault().sync()
        file, whole = folder / "ana" / "decisions.md", os.fsync

        def full(descriptor: int) -> None:
            if str(folder) in os.path.realpath(f"/proc/self/fd/{descriptor}"):
                raise OSError(errno.ENOSPC, "No space left on device")
            whole(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            two = mem.remember("two", category="decisions")
            home.flush()
            file.write_text(file.read_text() + "\n## 2026-01-02T00:00\n\nby hand\n")
            assert contents(mem) == ["one", "two"]
            assert mem.get(two.id) == two
            assert [hit.entry.content for hit in mem.recall("two")] == ["two"]
            assert [problem.path for problem in home.vault().sync().problems] == ["ana/decisions.md"]
        assert contents(mem) == ["by hand", "one", "two"]
        assert "two" in file.read_text()
        assert not list(folder.rglob("*.tmp"))


def test_a_database_that_cannot_take_in_an_edit_fails_no_write_and_no_read(tmp_path: Path, folder: Path) -> None:
    with recollect.open(tmp_path / "memory.db", vault=folder) as home:
        mem = home.agent("ana")
        mem.remember("one", category="decisions")
        home.vault().sync()
        with raw(str(tmp_path / "memory.db")) as execute:
            execute("CREATE TRIGGER full BEFORE INSERT ON vault_files BEGIN SELECT RAISE(ABORT, 'no space'); END")
        mem.remember("two", category="decisions")
        home.flush()
        file = folder / "ana" / "decisions.md"
        file.write_text(file.read_text() + "\n## 2026-01-02T00:00\n\nby hand\n")
        assert contents(mem) == ["one", "two"]
        with pytest.raises(RecollectError, match="no space"):
            home.vault().sync()  # an explicit sync raises
        with raw(str(tmp_path / "memory.db")) as execute:
            execute("DROP TRIGGER full")
        assert contents(mem) == ["by hand", "one", "two"]
        assert home.check().ok


def test_files_of_an_older_layout_are_taken_in_once(location: str, folder: Path) -> None:
    folder.mkdir()
    (folder / "ana.md").write_text("# ana\n\nThe gate is blue since 2024.\n")
    with recollect.open(location, vault=folder, clock=FixedClock()) as home:
        assert home.vault().migrate().migrated == ("ana.md",)
        assert any("The gate is blue" in content for content in contents(home.agent("ana")))
        assert not home.vault().migrate().changed


def test_links_are_followed_both_ways(location: str) -> None:
    with recollect.open(location) as home:
        mem = home.agent("ana")
        day = mem.remember("See [[gate]] and [[nowhere]]", name="deploy day")
        gate = mem.remember("The gate is blue", name="gate")
        found = mem.links("deploy day")
        assert [entry.id for entry in found.out] == [gate.id]
        assert found.broken == ("nowhere",)
        assert [entry.id for entry in mem.links("gate").back] == [day.id]


def test_upkeep_and_its_undo_show_in_the_files(location: str, folder: Path) -> None:
    with recollect.open(location, vault=folder, clock=FixedClock()) as home:
        mem = home.agent("ana")
        talk = mem.conversations.start()
        talk.user("Which day?")
        talk.assistant("We decided to deploy on Tuesdays.")
        home.vault().sync()
        run = home.jobs.run("extract")
        home.flush()
        assert "deploy on Tuesdays" in (folder / "ana" / "decisions.md").read_text()
        home.jobs.undo(run.id)
        home.flush()
        assert "deploy on Tuesdays" not in (folder / "ana" / "decisions.md").read_text()


def test_the_end_of_a_conversation_shows_in_the_files(location: str, folder: Path) -> None:
    with recollect.open(location, vault=folder, clock=FixedClock()) as home:
        home.vault().sync()
        talk = home.agent("ana").conversations.start()
        talk.user("Which day?")
        talk.end()
        assert "[User]: Which day?" in (folder / "ana" / "handoffs.md").read_text()


def test_an_import_shows_in_the_files(location: str, folder: Path, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "other.db") as other:
        other.agent("ana").remember("The gate is blue", category="decisions")
        other.export(tmp_path / "memory.jsonl")
    with recollect.open(location, vault=folder) as home:
        home.vault().sync()
        home.import_(tmp_path / "memory.jsonl")
        home.flush()
        assert "The gate is blue" in (folder / "ana" / "decisions.md").read_text()


def test_every_read_of_entries_takes_edits_in_first(location: str, folder: Path) -> None:
    reads = {
        "history": lambda mem, ben: mem.history("gate")[-1].after["content"],
        "query": lambda mem, ben: mem.query("knowledge", "text", "gate")["results"][0]["content"],
        "of another": lambda mem, ben: ben.recall("gate", target_agent="ana")[0].entry.content,
        "links": lambda mem, ben: mem.links("gate").broken[0],
        "context": lambda mem, ben: mem.context("gate").section("Relevant Decisions")[0].text,
    }
    with recollect.open(location, vault=folder) as home:
        mem, ben = home.agent("ana"), home.agent("ben")
        mem.remember("The gate is blue", name="gate", category="decisions")
        home.vault().sync()
        file = folder / "ana" / "decisions.md"
        for number, (what, read) in enumerate(reads.items()):
            edited = f"The gate is [[{number}]]"
            file.write_text(file.read_text().replace(mem.get("gate").content, edited))
            assert read(mem, ben) == (str(number) if what == "links" else edited), what


def test_an_erased_note_leaves_the_files_and_what_was_dreamed_of_it(tmp_path: Path) -> None:
    clock = FixedClock()
    with recollect.open(tmp_path / "home", clock=clock) as home:
        mem = home.agent("ana")
        entry = mem.remember("The password of the harbour is mackerel", category="decisions")
        home.vault().sync()
        for query in ("harbour", "which harbour", "harbour?"):
            mem.recall(query)
            clock.advance(86_400_000)
        assert home.jobs.run("dream").figures["promoted"] == 1
        own = home.vault().folder / "ana"
        assert "mackerel" in (own / "MEMORY.md").read_text()
        (own / "notes.md").write_text("my own: The password of the harbour is mackerel")
        receipt = mem.forget(entry.id, erase=True)
        assert [path.name for path in own.iterdir() if "mackerel" in path.read_text()] == ["notes.md"]
        assert f"the file {own / 'notes.md'} contains some of the same words and was not changed" in receipt.remaining


def test_an_edit_that_was_not_read_yet_does_not_survive_an_erasure(location: str, folder: Path) -> None:
    with recollect.open(location, vault=folder) as home:
        mem = home.agent("ana")
        entry = mem.remember("The password is mackerel", category="decisions")
        home.vault().sync()
        file = folder / "ana" / "decisions.md"
        file.write_text(file.read_text().replace("is mackerel", "is still mackerel"))
        mem.forget(entry.id, erase=True)
        assert "mackerel" not in file.read_text()
        assert contents(mem) == []


# Several at once


def test_an_edit_of_the_project_file_while_it_is_written_is_not_lost(
    location: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recollect.open(location, vault=folder) as home, recollect.open(location, vault=folder) as other:
        for said, typed in (("Boats.", "Ropes."), ("Sails.", "Oars.")):
            with monkeypatch.context() as patch:
                happened = while_writing(
                    patch, "_project.md", lambda text=typed: (folder / "_project.md").write_text(text)
                )  # type: ignore[misc]
                assert home.agent("ana").set_project(said) is True
                home.flush()
                assert happened
            assert (folder / "_project.md").read_text() == typed
            assert home.agent("ana").project() == other.agent("ben").project() == typed
        assert sorted(path.name for path in folder.iterdir()) == [".vault", "_project.md"]


@pytest.mark.parametrize("moment", ["writing", "naming"])
def test_a_vault_that_two_processes_make_at_once_is_one(
    location: str, folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    with recollect.open(location) as before:
        before.agent("ana").remember("one", category="decisions")
    with recollect.open(location, vault=folder) as home, recollect.open(location, vault=folder) as other:
        reports: list[object] = []
        link = os.link

        def sync(*names: str, **folders: int) -> None:
            monkeypatch.undo()
            reports.append(other.vault().sync())
            reports.append((folder / ".vault" / "id").read_text())
            if names:
                link(*names, **folders)

        if moment == "writing":
            while_writing(monkeypatch, "id", sync)
        else:
            monkeypatch.setattr(os, "link", sync)
        assert not home.vault().sync().problems
        first, identity = reports
        assert first == SyncReport(written=("ana/decisions.md",))
        assert (folder / ".vault" / "id").read_text() == identity
        assert not home.vault().sync()
        assert not other.vault().sync()


# Deleting the workspace


@pytest.fixture
def shown(location: str, folder: Path) -> Iterator[Home]:
    """A home whose vault is elsewhere, with a note of two agents, and one of them dreamed of."""
    clock = FixedClock()
    with recollect.open(location, vault=folder, clock=clock) as home:
        for agent in ("ana", "ben"):
            home.agent(agent).remember("The harbour opens at seven", category="decisions")
        home.vault().sync()
        for query in ("harbour", "which harbour", "harbour?"):
            home.agent("ana").recall(query)
            clock.advance(86_400_000)
        home.jobs.run("dream")
        yield home


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def test_a_deleted_workspace_takes_its_files_along_and_leaves_those_of_people(shown: Home, folder: Path) -> None:
    assert files(folder) == {".vault/id", "ben/decisions.md", "ben/DREAMS.md"} | {
        f"ana/{name}" for name in ("decisions.md", "DREAMS.md", "MEMORY.md")
    }
    (folder / "ana" / f".{'0' * 32}.decisions.md.tmp").write_text("<!-- id:1 -->\n## cut off by a cra")
    theirs = {"_project.md", "decisions.md", "ana/USER.md", "ana/trip.md", "zoe/tasks.md", "zoe/MEMORY.md"}
    for name in theirs:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("## 2026-01-01T00:00\n\nby hand\n")
    held = shown.vault()
    shown.delete_workspace("default")
    assert files(folder) == theirs
    assert not (folder / "ben").exists()
    assert shown.workspaces() == []
    assert contents(shown.agent("ana")) == []
    held.sync()  # a new vault in the same folder
    assert contents(shown.agent("ana")) == contents(shown.agent("ben")) == []
    shown.agent("ana").remember("a new start", category="decisions")
    shown.flush()
    assert "a new start" in (folder / "ana" / "decisions.md").read_text()
    assert "harbour" not in (folder / "ana" / "decisions.md").read_text()


def test_files_that_are_written_again_while_a_workspace_is_deleted_go_as_well(
    shown: Home, location: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = shown._place.delete
    with recollect.open(location, vault=folder) as watching:

        def deleting(workspace: str) -> None:
            assert watching.vault().sync().written
            delete(workspace)

        monkeypatch.setattr(shown._place, "delete", deleting)
        shown.delete_workspace("default")
        watching.vault().sync()
    assert files(folder) == {".vault/id"}
    assert contents(shown.agent("ana")) == []


@pytest.mark.parametrize("location", ["file"], indirect=True)
def test_a_workspace_whose_files_cannot_be_removed_is_not_deleted(
    shown: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refused)
        with pytest.raises(Unavailable, match="delete the workspace again"):
            shown.delete_workspace("default")
    assert contents(shown.agent("ana")) == ["The harbour opens at seven"]
    shown.delete_workspace("default")
    assert files(folder) == set()


@pytest.mark.parametrize("location", ["file"], indirect=True)
def test_nothing_is_removed_through_a_link_with_a_workspace(shown: Home, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "decisions.md"
    file.write_text("<!-- id:1 -->\n## 2026-01-01T00:00\n\nmine\n")
    (folder / "zoe").symlink_to(tmp_path / "elsewhere")
    (folder / "ana" / "lessons.md").symlink_to(file)
    (folder / "ana" / "tasks.md").mkdir()
    shown.delete_workspace("default")
    assert file.read_text().endswith("mine\n")
    assert sorted(path.name for path in (folder / "ana").iterdir()) == ["lessons.md", "tasks.md"]


def test_a_folder_that_was_never_made_a_vault_keeps_its_notes_when_the_workspace_is_deleted(
    location: str, folder: Path
) -> None:
    (folder / "ana").mkdir(parents=True)
    (folder / "ana" / "decisions.md").write_text("<!-- id:1 -->\n## 2026-01-01T00:00\n\nof another memory\n")
    with recollect.open(location) as home:
        home.agent("ana").remember("one")
    before = files(folder)
    with recollect.open(location, vault=folder) as home:
        home.delete_workspace("default")
    assert files(folder) == before
