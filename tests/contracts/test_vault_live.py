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


def test_upkeep_and_its_undo_show_in_the_files(location: str, folder: Path) -> None:
    with recollect.open(location, vault=folder, clock=FixedClock()) as home:
        mem = home.agent("ana")
        talk = mem.conversations.start()
        talk.user("Which day?")
        talk.assistant("We decided to deploy on Tuesdays.")
        home.vault().sync()
        run = home.jobs.run("extract")
        assert "deploy on Tuesdays" in (folder / "ana" / "decisions.md").read_text()
        home.jobs.undo(run.id)
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
        assert f"the file {own / 'notes.md'} holds some of the same words and was left alone" in receipt.remaining


def test_an_edit_that_nobody_read_yet_does_not_survive_an_erasure(location: str, folder: Path) -> None:
    with recollect.open(location, vault=folder) as home:
        mem = home.agent("ana")
        entry = mem.remember("The password is mackerel", category="decisions")
        home.vault().sync()
        file = folder / "ana" / "decisions.md"
        file.write_text(file.read_text().replace("is mackerel", "is still mackerel"))
        mem.forget(entry.id, erase=True)
        assert "mackerel" not in file.read_text()
        assert contents(mem) == []
