"""The vault with one file per note: two-way, on every kind of database."""

import os
from pathlib import Path

import pytest

import recollect
from recollect import Alias, FixedClock, Home, Memory, NotFound, Rename, Write
from recollect.model.vault import SyncReport
from recollect.vault.sync import Vault

pytestmark = pytest.mark.directory

ON_A_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what is about files and folders only, whatever the database is."""
WRITTEN = """---
# my own comment
rating:   5
tags: [garden, 'home/roof']  # both
aliases:
- Tomatoes
created: 2024-03-01
---

# Beds

Water [[roof]] daily, see ![[plan.png]] and #garden/beds.\r
> [!note] callout ^block-1
due:: 2024-05-01
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def vault(home: Home, folder: Path, clock: FixedClock) -> Vault:
    return vault_of(home, folder, clock)


def vault_of(home: Home, folder: Path, clock: FixedClock, layout: str = "notes") -> Vault:
    database = home._place.workspace("default")
    return Vault(folder, lambda agent: home._store("default", agent), database.admin.agents, clock, layout=layout)


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())


def without_id(path: Path) -> str:
    """The text of a file without what recollect adds to it."""
    lines = path.read_bytes().decode().splitlines(keepends=True)
    rest = [line for line in lines if not line.startswith("recollect_id:")]
    return "".join(rest[2:] if rest[:2] == ["---\n", "---\n"] else rest)


def files(folder: Path, agent: str = "ana") -> list[str]:
    return sorted(path.relative_to(folder / agent).as_posix() for path in (folder / agent).rglob("*.md"))


# From entries to files


def test_each_note_has_a_file_named_after_it_with_its_properties(
    vault: Vault, mem: Memory, folder: Path, clock: FixedClock
) -> None:
    entry = mem.remember(
        "Run `undo`.\n\n## Then\n\ncheck", name="rollback", category="lessons", tags=["ops", "a: b"], importance=0.9
    )
    mem.apply(Alias("rollback", "roll back"))
    mem.remember("The gate is blue, and it has been so for as long as anyone here can remember")
    report = vault.sync()
    assert report.problems == ()
    assert len(report.written) == 2
    assert files(folder) == [
        "lessons/rollback.md",
        "notes/The gate is blue, and it has been so for as long as anyone.md",
    ]
    assert (folder / "ana/lessons/rollback.md").read_text() == (
        f"---\nrecollect_id: {entry.id}\ntitle: rollback\naliases:\n  - roll back\ntags:\n  - ops\n"
        '  - "a: b"\ncategory: lessons\nimportance: 0.9\norigin: agent\ncreated: 2026-01-01T00:00:00Z\n'
        "updated: 2026-01-01T00:00:00Z\n---\nRun `undo`.\n\n## Then\n\ncheck\n"
    )
    assert not vault.sync()
    assert mem.get("rollback").content == "Run `undo`.\n\n## Then\n\ncheck"


def test_a_change_of_an_entry_changes_its_lines_in_the_file_and_no_other_byte(
    vault: Vault, mem: Memory, folder: Path
) -> None:
    path = put(folder / "ana/garden/beds.md", WRITTEN)
    vault.sync()
    before = path.read_bytes().decode()
    mem.apply(Write("beds", category="projects", tags=["garden", "home/roof", "garden/beds", "new"]))
    assert vault.sync() == SyncReport(written=("ana/garden/beds.md",))
    after = path.read_bytes().decode()
    assert after == before.replace("[garden, 'home/roof']", "[garden, home/roof, new]").replace(
        "\n---\n\n#", "\ncategory: projects\n---\n\n#"
    )
    assert not vault.sync()


def test_a_note_that_was_forgotten_or_closed_loses_its_file(vault: Vault, mem: Memory, folder: Path) -> None:
    for name in ("one", "two", "three"):
        mem.remember(f"number {name}", name=name)
    vault.sync()
    mem.forget("one")
    mem.retract("two")
    assert sorted(vault.sync().deleted) == ["ana/notes/one.md", "ana/notes/two.md"]
    assert files(folder) == ["notes/three.md"]
    mem.restore("one")
    vault.sync()
    assert files(folder) == ["notes/one.md", "notes/three.md"]


def test_names_that_no_file_system_takes_get_a_safe_file_name_and_come_back(
    vault: Vault, mem: Memory, folder: Path, home: Home, clock: FixedClock
) -> None:
    given = ["../../etc/passwd", "CON", "a/b: c?", "Plan", "plan", "PLAN", "🦊 fox", "x" * 256, "...", ".hidden", "C#"]
    for name in given:
        mem.remember(f"about {name}", name=name)
    vault.sync()
    assert sorted(path.name for path in folder.parent.iterdir() if path.name in ("etc", "passwd")) == []
    found = files(folder)
    assert len({one.casefold() for one in found}) == len(given)
    assert "notes/🦊 fox.md" in found
    assert all(len(one.encode()) < 220 for one in found)
    assert all(not set(':*?"<>|#^[]\\').intersection(one) for one in found)
    assert not vault.sync()
    for path in (folder / "ana").rglob("*.md"):
        path.write_bytes(path.read_bytes() + b"\nedited")
    report = vault.sync()
    assert (report.changed, report.added, report.problems) == (len(given), 0, ())
    assert sorted(entry.name or "" for entry in mem.list()) == sorted(given)


# From files to entries


def test_a_file_of_a_person_is_taken_in_with_its_properties_and_keeps_its_bytes(
    vault: Vault, mem: Memory, folder: Path, clock: FixedClock, home: Home, tmp_path: Path
) -> None:
    path = put(folder / "ana/garden/beds.md", WRITTEN)
    plain = put(folder / "ana/plain.md", "Just text, no newline")
    report = vault.sync()
    assert (report.added, report.problems) == (2, ())
    entry = mem.get("beds")
    assert entry.content == WRITTEN.partition("\n---\n")[2]
    assert entry.tags == ("garden", "home/roof", "garden/beds")
    assert (entry.aliases, entry.category, entry.origin) == (("Tomatoes",), None, "user")
    assert recollect.clock.iso(entry.created_at) == "2024-03-01T00:00:00Z"
    assert without_id(path) == WRITTEN
    assert without_id(plain) == "Just text, no newline"
    assert not vault.sync()
    other = vault_of(home, tmp_path / "other", clock)
    other.sync()
    assert (tmp_path / "other/ana/notes/beds.md").read_bytes() == path.read_bytes()
    assert (tmp_path / "other/ana/notes/plain.md").read_bytes() == plain.read_bytes()
    assert not vault.sync()
    assert not other.sync()


def test_a_new_file_has_the_date_that_it_states_or_is_named_by(vault: Vault, mem: Memory, folder: Path) -> None:
    put(folder / "ana/created.md", "---\ndate: 2020-02-02\ncreated: 2016-05-04T08:15\n---\nx")
    put(folder / "ana/2019-01-01 dated.md", "---\ndate: 2020-02-02\n---\nx")
    put(folder / "ana/daily/2018-04-07.md", "---\ndate: someday\n---\nx")
    for name in ("2018-13-40", "12018-04-07", "2018-04-071"):
        os.utime(put(folder / f"ana/{name}.md", "x"), (1_462_363_200, 1_462_363_200))
    vault.sync()
    assert {entry.name: recollect.clock.iso(entry.created_at) for entry in mem.list()} == {
        "created": "2016-05-04T08:15:00Z",
        "2019-01-01 dated": "2020-02-02T00:00:00Z",
        "2018-04-07": "2018-04-07T00:00:00Z",
        "2018-13-40": "2016-05-04T12:00:00Z",
        "12018-04-07": "2016-05-04T12:00:00Z",
        "2018-04-071": "2016-05-04T12:00:00Z",
    }


def test_an_edit_of_text_or_of_a_property_is_one_revision(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("The gate is blue", name="gate", tags=["old"], category="decisions")
    vault.sync()
    path = folder / "ana/decisions/gate.md"
    edit(path, "blue", "green")
    edit(path, "  - old", "  - new\n  - other")
    edit(path, "category: decisions", "category: lessons\nvalid_until: 2027-01-01\nmine: kept  # by me")
    text = path.read_bytes()
    assert vault.sync().changed == 1
    entry = mem.get("gate")
    assert (entry.content, entry.tags, entry.category) == ("The gate is green", ("new", "other"), "lessons")
    assert entry.valid_until == recollect.clock.milliseconds("2027-01-01")
    assert path.read_bytes() == text
    assert [revision.actor for revision in mem.history("gate")] == ["ana", "vault"]
    edit(path, "valid_until: 2027-01-01\n", "")
    vault.sync()
    assert mem.get("gate").valid_until is None
    assert not vault.sync()


def test_if_both_sides_changed_the_file_wins_and_the_other_text_is_in_the_history(
    vault: Vault, mem: Memory, folder: Path
) -> None:
    mem.remember("one", name="n")
    vault.sync()
    edit(folder / "ana/notes/n.md", "one", "from the file")
    mem.apply(Write("n", content="from the library", category="tasks"))
    vault.sync()
    entry = mem.get("n")
    assert entry.content == "from the file"
    assert "from the library" in [revision.after.get("content") for revision in mem.history("n")]
    assert not vault.sync()


def test_a_moved_or_renamed_file_keeps_its_identity_and_links_follow(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("Run undo", name="rollback")
    mem.remember("See [[rollback]], [[rollback|that]], ![[rollback#Then]], `[[rollback]]`, [[rollbacks]]", name="index")
    vault.sync()
    (folder / "ana/how to").mkdir()
    os.rename(folder / "ana/notes/rollback.md", folder / "ana/how to/undo.md")
    report = vault.sync()
    assert (report.added, report.removed, report.problems) == (0, 0, ())
    assert (mem.get("undo").id, mem.get("undo").aliases) == (entry.id, ("rollback",))
    wanted = "See [[undo]], [[undo|that]], ![[undo#Then]], `[[rollback]]`, [[rollbacks]]"
    assert mem.get("index").content == wanted
    assert (folder / "ana/notes/index.md").read_text().endswith(f"{wanted}\n")
    assert "title: undo\n" in (folder / "ana/how to/undo.md").read_text()
    mem.apply(Rename("undo", "back out"))
    vault.sync()
    assert files(folder) == ["how to/back out.md", "notes/index.md"]
    assert "[[back out|that]]" in mem.get("index").content
    assert mem.get("back out").id == entry.id
    assert not vault.sync()


def test_links_by_path_follow_a_file_that_is_renamed_or_moved(vault: Vault, mem: Memory, folder: Path) -> None:
    put(folder / "ana/how to/roll back.md", "Run undo\n")
    other = put(folder / "ana/how to/other.md", "same folder")
    index = put(
        folder / "ana/index.md",
        "[[how to/roll back]], [[how to/roll back|that]], ![[how to/roll back#Then]], | [[how to/roll back\\|cell]] |\n"
        "[text](how%20to/roll%20back.md), [text](<how to/roll back.md#Then>), `[text](how%20to/roll%20back.md)`\n"
        "[web](https://example.com/how%20to/roll%20back.md), [[elsewhere/roll back]], [other](how%20to/other.md)\n",
    )
    put(other, "[back](roll%20back.md), [dot](./roll%20back.md), [up](../index.md)\n")
    assert vault.sync().problems == ()
    os.rename(folder / "ana/how to/roll back.md", folder / "ana/how to/undo.md")
    assert vault.sync().problems == ()
    text = index.read_text()
    assert without_id(other) == "[back](undo.md), [dot](./undo.md), [up](../index.md)\n"
    assert without_id(index) == (
        "[[how to/undo]], [[how to/undo|that]], ![[how to/undo#Then]], | [[how to/undo\\|cell]] |\n"
        "[text](how%20to/undo.md), [text](<how to/undo.md#Then>), `[text](how%20to/roll%20back.md)`\n"
        "[web](https://example.com/how%20to/roll%20back.md), [[elsewhere/roll back]], [other](how%20to/other.md)\n"
    )
    (folder / "ana/old").mkdir()
    os.rename(folder / "ana/how to/undo.md", folder / "ana/old/undo.md")
    vault.sync()
    assert index.read_text() == text.replace("how to/undo", "old/undo").replace("how%20to/undo", "old/undo")
    assert without_id(other) == "[back](../old/undo.md), [dot](../old/undo.md), [up](../index.md)\n"
    mem.apply(Rename("undo", "back (out)"))
    vault.sync()
    assert without_id(other).startswith("[back](../old/back%20%28out%29.md), ")
    assert "[[old/back (out)|that]]" in index.read_text()
    assert [entry.name for entry in mem.links("index").out] == ["back (out)"]
    assert {entry.name for entry in mem.links("back (out)").back} == {"index"}
    assert not vault.sync()


def test_an_alias_that_is_removed_in_the_file_is_removed(vault: Vault, home: Home, mem: Memory, folder: Path) -> None:
    path = put(folder / "ana/tom.md", "---\naliases: [Tomato, Tomate]\ntitle: Red\n---\nWater daily\n")
    mem.remember("Sow in May", name="beans")
    mem.apply(Alias("beans", "pulses"))
    vault.sync()
    assert mem.get("tom").aliases == ("Red", "Tomate", "Tomato")
    edit(path, "[Tomato, Tomate]", "[Tomate]")
    assert vault.sync().changed == 1
    assert mem.get("tom").aliases == ("Red", "Tomate")
    with pytest.raises(NotFound):
        mem.get("Tomato")
    assert [(one.operation, one.before.get("alias")) for one in mem.history("tom")][-1] == ("alias", "Tomato")
    beans = folder / "ana/notes/beans.md"
    edit(beans, "aliases:\n  - pulses\n", "")
    mem.apply(Alias("beans", "added meanwhile"))
    vault.sync()
    assert mem.get("beans").aliases == ("added meanwhile",)
    assert "added meanwhile" in beans.read_text()
    mem.remember("Sow in June", name="corn")
    vault.sync()
    os.rename(folder / "ana/notes/corn.md", folder / "ana/notes/maize.md")
    vault.sync()
    edit(folder / "ana/notes/maize.md", "June", "July")
    vault.sync()
    assert mem.get("corn").content == "Sow in July"
    assert home.check().findings == ()
    assert not vault.sync()


def test_text_that_a_program_appends_starts_a_line(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("The gate is blue", name="gate")
    own = put(folder / "ana/own.md", "no line end")
    vault.sync()
    assert without_id(own) == "no line end"
    gate = folder / "ana/notes/gate.md"
    with gate.open("a") as file:
        file.write("- and heavy\n")
    vault.sync()
    assert mem.get("gate").content == "The gate is blue\n- and heavy"
    assert gate.read_text().endswith("The gate is blue\n- and heavy\n")
    edit(gate, "heavy", "light")
    vault.sync()
    assert mem.get("gate").content == "The gate is blue\n- and light"
    mem.apply(Write("gate", content="The gate is gone", origin="user"))
    vault.sync()
    assert gate.read_text().endswith("---\nThe gate is gone\n")
    assert not vault.sync()


def test_a_deleted_file_is_in_the_trash_and_comes_back_with_the_file(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("one", name="first")
    mem.remember("two", name="second")
    vault.sync()
    path = folder / "ana/notes/first.md"
    text = path.read_bytes()
    path.unlink()
    assert vault.sync().removed == 1
    with pytest.raises(NotFound):
        mem.get("first")
    put(folder / "ana/elsewhere/first.md", text.decode())
    assert vault.sync().added == 1
    assert mem.get("first").id == entry.id


def test_a_note_that_is_restored_is_again_in_the_folder_of_its_file(vault: Vault, mem: Memory, folder: Path) -> None:
    for name in ("boat/mast", "boat/winch", "deck"):
        put(folder / f"ana/{name}.md", name)
    vault.sync()
    (folder / "ana/boat/mast.md").unlink()
    vault.sync()
    mem.restore("mast")
    mem.remember("x", name="outside", source="vault", evidence=["file:../other/x.md", "file:ben/y.md"])
    vault.sync()
    assert files(folder) == ["boat/mast.md", "boat/winch.md", "deck.md", "notes/outside.md"]
    assert sorted(path.name for path in folder.iterdir()) == [".vault", "ana"]


def test_if_all_files_are_missing_they_are_written_again(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("one", name="first")
    mem.remember("two", name="second")
    vault.sync()
    for path in (folder / "ana/notes").iterdir():
        path.unlink()
    assert vault.sync().removed == 0
    assert files(folder) == ["notes/first.md", "notes/second.md"]


def test_a_copy_of_a_file_is_a_note_of_its_own(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("one", name="first")
    vault.sync()
    path = folder / "ana/notes/first.md"
    put(folder / "ana/notes/a copy.md", path.read_text())
    assert vault.sync().added == 1
    assert mem.get("first").id == entry.id
    assert mem.get("a copy").id != entry.id
    assert f"recollect_id: {mem.get('a copy').id}\n" in (folder / "ana/notes/a copy.md").read_text()
    assert not vault.sync()


def test_a_file_that_lost_its_front_matter_is_still_the_same_note(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("one", name="first")
    vault.sync()
    put(folder / "ana/notes/first.md", "rewritten by an agent\n")
    assert vault.sync().changed == 1
    assert mem.get(entry.id).content == "rewritten by an agent"
    assert f"recollect_id: {entry.id}" in (folder / "ana/notes/first.md").read_text()


def test_files_with_the_same_name_in_two_folders_are_two_notes(vault: Vault, mem: Memory, folder: Path) -> None:
    put(folder / "ana/a/index.md", "first")
    put(folder / "ana/b/index.md", "second")
    assert vault.sync().added == 2
    assert (mem.get("index").content, mem.get("b/index").content) == ("first", "second")
    assert files(folder) == ["a/index.md", "b/index.md"]
    assert not vault.sync()


def test_a_folder_with_the_name_of_a_category_gives_it(vault: Vault, mem: Memory, folder: Path) -> None:
    put(folder / "ana/decisions/x.md", "We use SSE")
    vault.sync()
    assert mem.get("x").category == "decisions"
    (folder / "ana/lessons").mkdir()
    os.rename(folder / "ana/decisions/x.md", folder / "ana/lessons/x.md")
    vault.sync()
    assert mem.get("x").category == "lessons"


def test_what_is_not_taken_in_is_named_with_the_reason_and_line(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("one", name="known")
    mem.remember("two", name="other")
    vault.sync()
    broken = folder / "ana/notes/known.md"
    edit(broken, "title: known", "title: [known")
    text = broken.read_bytes()
    put(folder / "ana/empty.md", "\n")
    put(folder / "ana/twice.md", "---\na: 1\na: 2\n---\nx")
    put(folder / "ana/open.md", "---\na: 1\nx")
    (folder / "ana/latin.md").write_bytes(b"caf\xe9")
    (folder / "ana/link.md").symlink_to(broken)
    put(folder / "ana/odd.md", "---\nimportance: high\n---\nx")
    before = vault.status()
    assert (before.files, before.notes, before.edited, before.changed) == (7, 2, 1, 0)
    report = vault.sync()
    ignored = {problem for problem in report.problems if problem.path == "ana/odd.md"}
    assert set(before.problems) == set(vault.status().problems) == set(report.problems) - ignored
    assert {problem.path: problem.message for problem in report.problems} == {
        "ana/notes/known.md": "its front matter was not read, line 4: did not find expected ',' or ']'",
        "ana/empty.md": "it is not read: the content is empty; there is nothing to remember",
        "ana/twice.md": "its front matter was not read, line 3: the key 'a' occurs twice",
        "ana/open.md": "its front matter was not read, line 1: no closing `---` line",
        "ana/latin.md": "it is not UTF-8 (byte 3); save it as UTF-8",
        "ana/link.md": "it is a link; put a plain file in its place, or remove it",
        "ana/odd.md": "line 2: the value of importance is not valid and is ignored",
    }
    assert (report.added, report.changed, report.removed) == (1, 0, 0)
    assert mem.get("known").content == "one"
    assert broken.read_bytes() == text
    mem.apply(Write("known", content="changed by the library"))
    vault.sync()
    assert broken.read_bytes() == text
    os.rename(broken, folder / "ana/moved.md")
    vault.sync()
    assert mem.get("known").content == "changed by the library"


def test_a_vault_in_the_other_layout_is_not_touched(home: Home, mem: Memory, folder: Path, clock: FixedClock) -> None:
    mem.remember("We use SSE", category="decisions")
    vault_of(home, folder, clock, "categories").sync()
    before = sorted(folder.rglob("*"))
    report = vault_of(home, folder, clock).sync()
    assert "vault convert" in str(report.problems[0])
    assert sorted(folder.rglob("*")) == before


def test_a_vault_without_a_record_of_its_layout_is_converted_without_a_new_file(
    home: Home, mem: Memory, folder: Path, clock: FixedClock
) -> None:
    mem.remember("We use SSE", name="sse")
    vault_of(home, folder, clock).sync()
    before = files(folder)
    (folder / ".vault/layout").unlink()
    notes = vault_of(home, folder, clock)
    assert notes.convert(dry_run=True).written == ()
    assert not notes.convert().problems
    assert files(folder) == before


# While a home is open


def test_a_folder_of_notes_whose_first_use_is_a_read_keeps_its_layout(tmp_path: Path) -> None:
    settings = recollect.Settings(vault=recollect.config.VaultSettings(layout="notes", folder=str(tmp_path / "v")))
    put(tmp_path / "v/ana/gate.md", "The gate is blue")
    for text in ("blue", "green"):
        with recollect.open(tmp_path / "memory.db", settings=settings) as home:
            assert text in home.agent("ana").get("gate").content
            assert home.vault().sync().problems == ()
        edit(tmp_path / "v/ana/gate.md", "blue" if text == "blue" else "green", "green")


def test_reads_take_in_edits_and_writes_reach_the_files(tmp_path: Path) -> None:
    settings = recollect.Settings(vault=recollect.config.VaultSettings(layout="notes"))
    with recollect.open(tmp_path / "home", settings=settings) as home:
        mem, folder = home.agent("ana"), tmp_path / "home/workspaces/default/vault/ana"
        mem.remember("The gate is blue", name="gate")
        home.flush()
        edit(folder / "notes/gate.md", "blue", "green")
        assert mem.get("gate").content == "The gate is green"
        put(folder / "new.md", "The roof leaks")
        assert [hit.entry.name for hit in mem.recall("roof leaks")] == ["new"]
        (folder / "new.md").unlink()
        assert mem.recall("roof leaks") == []
        mem.apply(Rename("gate", "door"))
        home.flush()
        assert files(folder.parent) == ["notes/door.md"]
        mem.remember("The key is under the stone", name="secret place")
        home.flush()
        mem.forget("secret place", erase=True)
        assert files(folder.parent) == ["notes/door.md"]


def test_the_notes_of_two_agents_stay_apart(vault: Vault, home: Home, mem: Memory, folder: Path) -> None:
    ben = home.agent("ben")
    mine = mem.remember("of ana", name="plan")
    ben.remember("of ben", name="plan")
    vault.sync()
    put(folder / "ben/stolen.md", f"---\nrecollect_id: {mine.id}\n---\nby ben")
    vault.sync()
    assert mem.get(mine.id).content == "of ana"
    assert ben.get("stolen").id != mine.id
    assert [entry.content for entry in mem.list()] == ["of ana"]


# Converting


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".vault" not in path.parts
    }


def remembered(mem: Memory) -> list[tuple[object, ...]]:
    return sorted(
        (entry.id, entry.name, entry.content, entry.tags, entry.category, entry.importance) for entry in mem.list()
    )


def test_a_vault_is_converted_in_both_directions_and_nothing_is_lost(
    home: Home, mem: Memory, folder: Path, clock: FixedClock
) -> None:
    mem.remember("We use SSE", category="decisions", name="sse", tags=["web"])
    mem.remember("no category", name="free", importance=0.8)
    vault_of(home, folder, clock, "categories").sync()
    edit(folder / "ana/decisions.md", "We use SSE", "We use WebSockets")
    put(folder / "ana/decisions.md", "Written above all notes\n\n" + (folder / "ana/decisions.md").read_text())
    put(folder / "ana/roof.md", "The roof leaks")
    put(folder / "ana/latin.md", "").write_bytes(b"caf\xe9")
    before = tree(folder)
    notes = vault_of(home, folder, clock)
    plan = notes.convert(dry_run=True)
    assert sorted(plan.written) == ["ana/decisions/sse.md", "ana/notes/free.md", "ana/roof.md"]
    assert plan.deleted == ()
    assert "not stored" in plan.problems[0].message
    assert tree(folder) == before
    vault_of(home, folder, clock, "categories").sync()
    plan = notes.convert(dry_run=True)
    assert sorted(plan.written)[:2] == ["ana/decisions.md", "ana/decisions/sse.md"]
    assert (plan.deleted, plan.problems) == ((), ())
    assert tree(folder) == before
    done = notes.convert()
    assert (sorted(set(done.written)), done.deleted) == (sorted(plan.written), ())
    assert [problem.message for problem in done.problems] == ["it is not UTF-8 (byte 3); save it as UTF-8"]
    (folder / "ana/latin.md").unlink()
    mem.forget("roof")
    notes.sync()
    assert mem.get("sse").content == "We use WebSockets"
    assert mem.get("decisions").content == "Written above all notes\n\n"
    assert files(folder) == ["decisions.md", "decisions/sse.md", "notes/free.md"]
    assert not notes.sync()
    put(folder / "ana/ideas/pond.md", "---\nrating: 5  # mine\n---\nA pond")
    notes.sync()
    known, shown = remembered(mem), tree(folder)
    categories = vault_of(home, folder, clock, "categories")
    plan = categories.convert(dry_run=True)
    assert tree(folder) == shown
    done = categories.convert()
    assert (done.without_file, done.problems) == (3, ())
    assert sorted(done.deleted) == sorted(plan.deleted)
    assert files(folder) == ["decisions.md"]
    assert remembered(mem) == known
    assert not categories.sync()
    mem.forget("free")
    plan = notes.convert(dry_run=True)
    assert {"ana/decisions/sse.md", "ana/ideas/pond.md"} < set(plan.written)
    done = notes.convert()
    assert sorted(set(done.written)) == sorted(plan.written)
    assert mem.restore("free")
    assert remembered(mem) == known
    assert (folder / "ana/ideas/pond.md").read_bytes() == shown["ana/ideas/pond.md"]
    assert notes.convert(dry_run=True).written == ("ana/notes/free.md",)


@ON_A_FILE
@pytest.mark.parametrize("layout", ["notes", "categories"])
def test_a_conversion_that_was_killed_is_finished_by_the_next(
    home: Home, mem: Memory, folder: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    for number in range(6):
        mem.remember(f"number {number}", name=f"n{number}", category="tasks" if number % 2 else "lessons")
    other = "categories" if layout == "notes" else "notes"
    vault_of(home, folder, clock, other).sync()
    known = remembered(mem)

    class Killed(BaseException):
        pass

    from recollect.vault import files as access

    publish, unlink = access._Folder.publish, os.unlink
    for step in range(40):
        left = iter(range(step))

        def survive(left: object = left) -> None:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise Killed

        def published(*given: object, survive: object = survive, **named: object) -> None:
            survive()  # type: ignore[operator]
            publish(*given, **named)  # type: ignore[arg-type]

        def unlinked(path: str, *given: object, survive: object = survive, **named: object) -> None:
            if not path.endswith(".tmp"):
                survive()  # type: ignore[operator]
            unlink(path, *given, **named)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(access._Folder, "publish", published)
            patch.setattr(access.os, "unlink", unlinked)
            try:
                vault_of(home, folder, clock, layout).convert()
                break
            except Killed:
                assert remembered(mem) == known
    else:
        pytest.fail("the conversion never ended")
    assert remembered(mem) == known
    wanted = ["lessons.md", "tasks.md"]
    if layout == "notes":
        wanted = [f"{'tasks' if number % 2 else 'lessons'}/n{number}.md" for number in range(6)]
    assert files(folder) == sorted(wanted)
    assert not vault_of(home, folder, clock, layout).sync()


def test_the_instructions_say_what_starts_a_note(home: Home, folder: Path, clock: FixedClock) -> None:
    notes = vault_of(home, folder, clock).instructions("ana")
    assert "A heading never starts a new note" in notes
    assert "ana/{decisions,lessons,tasks,notes}/NAME.md" in notes
    assert "Only a heading with such a date starts a new note" in vault_of(
        home, folder, clock, "categories"
    ).instructions("ana")


def test_deleting_a_workspace_removes_the_files_with_an_id_and_no_others(tmp_path: Path) -> None:
    settings = recollect.Settings(vault=recollect.config.VaultSettings(layout="notes", folder=str(tmp_path / "v")))
    with recollect.open(tmp_path / "memory.db", settings=settings) as home:
        home.agent("ana").remember("one", name="first")
        put(tmp_path / "v/ana/broken.md", "---\na: [\n---\nx")
        put(tmp_path / "v/ana/picture.png", "png")
        home.flush()
        home.delete_workspace("default")
        assert sorted(tree(tmp_path / "v")) == ["ana/broken.md", "ana/picture.png"]
        assert home.agent("ana").list() == []


def test_markdown_files_that_the_layout_categories_does_not_read_are_named(
    home: Home, mem: Memory, folder: Path, clock: FixedClock
) -> None:
    vault = vault_of(home, folder, clock, "categories")
    mem.remember("x", category="tasks")
    vault.sync()
    put(folder / "ana/ideas.md", "x")
    assert vault.status().problems == vault.sync().problems
    put(folder / "ana/Tasks.MD" if not (folder / "ana/TASKS.md").exists() else folder / "ana/more.md", "x")
    assert "ana/ideas.md: it is not read" in " ".join(map(str, vault.sync().problems))


def test_text_before_the_first_note_of_a_category_file_is_named_with_its_line(
    home: Home, mem: Memory, folder: Path, clock: FixedClock
) -> None:
    vault = vault_of(home, folder, clock, "categories")
    put(folder / "ana/lessons.md", "---\nmine: 1\n---\n# What I learnt\n\n---\n")
    assert vault.sync().problems == vault.status().problems == ()
    put(folder / "ana/lessons.md", "# What I learnt\n\n## 2024-04-01\n\nWater the beds\n")
    report = vault.sync()
    assert [str(problem) for problem in report.problems] == [
        "ana/lessons.md: line 3 is not read: a note starts with a heading such as `## 2026-03-16T14:32 · #tag`"
    ]
    assert vault.status().problems == report.problems
    edit(folder / "ana/lessons.md", "2024-04-01", "2024-04-01T00:00")
    report = vault.sync()
    assert (report.added, report.problems) == (1, ())
