"""A vault that was made once is kept in step by itself: writes show in its files, edits in its files show in reads."""

from pathlib import Path

import pytest

import recollect
from recollect import Add, ConfigError, FixedClock, Write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def contents(mem: recollect.Memory) -> list[str]:
    return sorted(entry.content for entry in mem.list())


def test_after_the_first_sync_both_sides_see_everything(location: str, folder: Path) -> None:
    with recollect.open(location, vault=folder, clock=FixedClock()) as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays", category="decisions", name="deploy day")
        assert not folder.exists()  # nobody asked for files yet
        home.vault().sync()
        file = folder / "ana" / "decisions.md"
        assert "We deploy on Tuesdays" in file.read_text()

        mem.remember("The gate is blue", category="decisions")
        mem.remember_many([Add("Ropes rot", category="lessons")])
        assert "The gate is blue" in file.read_text()
        assert "Ropes rot" in (folder / "ana" / "lessons.md").read_text()
        file.write_text(file.read_text().replace("The gate is blue", "The gate is red"))
        assert contents(mem) == ["Ropes rot", "The gate is red", "We deploy on Tuesdays"]
        assert [hit.entry.content for hit in mem.recall("gate")] == ["The gate is red"]

        mem.apply(Write("deploy day", category="lessons"))
        assert "deploy" not in file.read_text()
        mem.forget("deploy day")
        assert "deploy" not in (folder / "ana" / "lessons.md").read_text()
        mem.restore("deploy day")
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
        assert contents(mem) == ["still stored", "to begin with"]


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
