"""The vault: markdown files as a live view of notes, edited from both sides, on every kind of database."""

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect import Add, Alias, FixedClock, Home, Memory, NotFound, Rename, Write
from recollect.model.vault import SyncReport
from recollect.vault.links import Link, links, targets
from recollect.vault.sync import ACTOR, Vault

pytestmark = pytest.mark.directory

NOW = "2026-01-01T00:00"
ON_A_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what is about files and folders only, whatever the database is."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def vault(home: Home, folder: Path, clock: FixedClock) -> Vault:
    return vault_of(home, folder, clock)


def vault_of(home: Home, folder: Path, clock: FixedClock) -> Vault:
    database = home._place.workspace("default")
    return Vault(folder, lambda agent: home._store("default", agent), database.admin.agents, clock)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())


def contents(mem: Memory, category: str = "decisions") -> list[str]:
    return sorted(entry.content for entry in mem.list(category=category))


# From the database to the file


def test_a_note_with_a_category_is_in_the_file_of_its_agent(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("Use SSE.", category="decisions", tags=["react", "auto-extract"])
    mem.remember("no category")
    report = vault.sync()
    assert report == SyncReport(written=("ana/decisions.md",))
    assert (folder / "ana" / "decisions.md").read_text() == (
        f"<!-- id:1767225600000 -->\n## {NOW} · #react #auto-extract\n\nUse SSE.\n\n---\n"
    )
    assert sorted(path.name for path in (folder / "ana").iterdir()) == ["decisions.md"]
    assert not vault.sync()


def test_the_newest_note_stands_first_and_each_has_its_own_number(
    vault: Vault, mem: Memory, folder: Path, clock: FixedClock
) -> None:
    mem.remember("first", category="lessons")
    mem.remember("second", category="lessons")
    clock.advance(60_000)
    vault.sync()
    mem.remember("third", category="lessons")
    vault.written("ana", "lessons")
    text = (folder / "ana" / "lessons.md").read_text()
    assert re.findall(r"id:(\d+)", text) == ["1767225660000", "1767225600001", "1767225600000"]
    assert re.findall(r"^(?:first|second|third)$", text, re.M) == ["third", "second", "first"]


def test_a_changed_note_changes_its_block_and_no_other_byte(vault: Vault, mem: Memory, folder: Path) -> None:
    path = folder / "ana" / "decisions.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(
        b"\xef\xbb\xbf# Mine\r\n\r\n## 2026-02-01T10:00   \xc2\xb7 #x-y  \r\n\r\n```\r\n---\r\n```\r\n<!-- why -->"
    )
    vault.sync()
    mem.remember("two", category="decisions", name="two")
    vault.sync()
    before = path.read_bytes()
    mem.apply(Write("two", content="zwei\n---\n", tags=["t"]))
    vault.written("ana", "decisions")
    assert path.read_bytes() == before.replace(b"\r\n\r\ntwo\r\n", b" \xc2\xb7 #t\r\n\r\nzwei\r\n---\r\n")
    assert before.startswith(
        b"\xef\xbb\xbf# Mine\r\n\r\n<!-- id:1769940000000 -->\r\n## 2026-02-01T10:00   \xc2\xb7 #x-y  \r\n"
    )


def test_a_forgotten_note_leaves_the_file_and_a_restored_one_comes_back(
    vault: Vault, mem: Memory, folder: Path
) -> None:
    entry = mem.remember("gone", category="decisions")
    mem.remember("stays", category="decisions")
    vault.sync()
    mem.forget(entry.id)
    assert vault.sync().written == ("ana/decisions.md",)
    assert "gone" not in (folder / "ana" / "decisions.md").read_text()
    mem.restore(entry.id)
    vault.sync()
    assert "gone" in (folder / "ana" / "decisions.md").read_text()
    assert contents(mem) == ["gone", "stays"]


def test_a_note_of_another_category_moves_to_the_other_file(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("moves", category="decisions")
    vault.sync()
    mem.apply(Write(entry.id, category="lessons"))
    vault.sync()
    assert "moves" not in (folder / "ana" / "decisions.md").read_text()
    assert "moves" in (folder / "ana" / "lessons.md").read_text()
    assert mem.get(entry.id).category == "lessons"


def test_an_erased_note_is_in_no_file(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("a secret", category="tasks")
    vault.sync()
    mem.forget(entry.id, erase=True)
    vault.written("ana", "tasks")
    assert not [path for path in folder.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


# From the file to the database


def test_a_block_written_by_hand_becomes_a_note_and_gets_an_id(vault: Vault, mem: Memory, folder: Path) -> None:
    path = folder / "ana" / "tasks.md"
    path.parent.mkdir(parents=True)
    path.write_text("# My tasks\n\n## 2026-03-16T16:51 · #auto-extract\n\n- [ ] call Bo")
    assert vault.sync() == SyncReport(read=("ana/tasks.md",), written=("ana/tasks.md",), added=1)
    (entry,) = mem.list(category="tasks")
    assert (entry.content, entry.tags, entry.source) == ("- [ ] call Bo", ("auto-extract",), "vault")
    assert (entry.created_at, entry.lifetime) == (1_773_679_860_000, "long_term")
    assert path.read_text() == (
        "# My tasks\n\n<!-- id:1773679860000 -->\n## 2026-03-16T16:51 · #auto-extract\n\n- [ ] call Bo"
    )
    assert not vault.sync()


def test_text_appended_below_the_last_rule_becomes_a_note(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("one", category="tasks")
    vault.sync()
    path = folder / "ana" / "tasks.md"
    before = path.read_text()
    path.write_text(before + "\n- [ ] two #soon\n")
    vault.sync()
    assert contents(mem, "tasks") == ["- [ ] two #soon", "one"]
    assert path.read_text() == f"{before}\n<!-- id:1767225600001 -->\n## {NOW} · #soon\n\n- [ ] two #soon\n"


def test_an_edited_block_is_a_write_with_a_history(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("use polling", category="decisions", tags=["a b", "net"])
    vault.sync()
    path = folder / "ana" / "decisions.md"
    edit(path, "use polling", "use SSE\n\n---\n\nbecause")
    edit(path, "#net", "#web-net")
    after = path.read_bytes()
    assert vault.sync() == SyncReport(read=("ana/decisions.md",), changed=1)
    assert path.read_bytes() == after
    now = mem.get(entry.id)
    assert (now.content, now.tags) == ("use SSE\n\n---\n\nbecause", ("a b", "web-net"))
    last = mem.history(entry.id)[-1]
    assert (last.operation, last.actor, last.before["content"]) == ("write", ACTOR, "use polling")


def test_an_edit_of_the_same_length_right_after_ours_is_seen(vault: Vault, mem: Memory, folder: Path) -> None:
    for word in ("aaaa", "bbbb", "cccc"):
        entry = mem.remember(word, category="decisions")
        vault.written("ana", "decisions")
        edit(folder / "ana" / "decisions.md", word, word.upper())
        vault.refresh("ana")
        assert mem.get(entry.id).content == word.upper()


def test_a_block_that_was_taken_out_is_removed_and_in_the_trash(vault: Vault, mem: Memory, folder: Path) -> None:
    one, two = (mem.remember(text, category="decisions") for text in ("one", "two"))
    vault.sync()
    path = folder / "ana" / "decisions.md"
    block = f"<!-- id:1767225600001 -->\n## {NOW}\n\ntwo\n\n---\n\n"
    edit(path, block, "")
    assert vault.sync() == SyncReport(read=("ana/decisions.md",), removed=1)
    assert contents(mem) == ["one"]
    path.write_text(block + path.read_text())
    vault.sync()
    assert sorted(entry.id for entry in mem.list(category="decisions")) == sorted([one.id, two.id])


def test_when_both_sides_changed_the_file_wins_and_the_history_has_the_other_text(
    vault: Vault, mem: Memory, folder: Path
) -> None:
    entry = mem.remember("base", category="decisions")
    vault.sync()
    mem.apply(Write(entry.id, content="by the library"))
    edit(folder / "ana" / "decisions.md", "base", "by hand")
    vault.sync()
    assert mem.get(entry.id).content == "by hand"
    assert mem.history(entry.id)[-1].before["content"] == "by the library"
    assert "by hand" in (folder / "ana" / "decisions.md").read_text()


def test_a_block_edited_while_the_library_forgot_its_note_brings_the_note_back(
    vault: Vault, mem: Memory, folder: Path
) -> None:
    entry = mem.remember("base", category="decisions", name="plan")
    vault.sync()
    mem.forget("plan")
    edit(folder / "ana" / "decisions.md", "base", "by hand")
    vault.sync()
    assert mem.get("plan").content == "by hand"
    assert mem.get("plan").id == entry.id


def test_a_block_whose_note_cannot_come_back_becomes_a_new_one(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("base", category="decisions", name="plan")
    vault.sync()
    mem.forget("plan")
    mem.remember("another", name="plan")
    edit(folder / "ana" / "decisions.md", "base", "by hand")
    vault.sync()
    assert contents(mem) == ["by hand"]
    assert not vault.sync()


@pytest.mark.parametrize("target", ["decisions", "tasks"])  # a file that is read before the other, and one after
def test_a_block_moved_to_another_file_takes_its_note_along(
    vault: Vault, mem: Memory, folder: Path, target: str
) -> None:
    mem.remember("stays", category="lessons")
    entry = mem.remember("wanders", category="lessons", name="w")
    vault.sync()
    block = f"<!-- id:1767225600001 -->\n## {NOW}\n\nwanders\n\n---\n\n"
    edit(folder / "ana" / "lessons.md", block, "")
    (folder / "ana" / f"{target}.md").write_text(block)
    vault.sync()
    assert (mem.get("w").id, mem.get("w").category) == (entry.id, target)
    assert contents(mem, "lessons") == ["stays"]
    assert not vault.sync()


def test_a_copied_block_is_a_note_of_its_own(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("twice", category="decisions")
    vault.sync()
    path = folder / "ana" / "decisions.md"
    copy = path.read_text()
    path.write_text(copy.replace("twice", "changed") + "\n" + copy)
    (folder / "ana" / "lessons.md").write_text(copy)
    vault.sync()
    assert contents(mem) == ["changed", "twice"]
    assert mem.get(entry.id).content == "twice"
    assert contents(mem, "lessons") == ["twice"]
    numbers = re.findall(r"id:(\d+)", path.read_text() + (folder / "ana" / "lessons.md").read_text())
    assert len(set(numbers)) == 3
    assert not vault.sync()


def test_an_agent_that_has_nothing_but_a_file_gets_a_memory(vault: Vault, home: Home, folder: Path) -> None:
    (folder / "ben").mkdir(parents=True)
    (folder / "ben" / "lessons.md").write_text("<!-- id:77 -->\n## 2026-03-16T16:51\n\nfrom elsewhere\n")
    for name in ("conversations", ".obsidian", "ca:t"):
        (folder / name).mkdir()
        (folder / name / "lessons.md").write_text("## 2026-03-16T16:51\n\nnot an agent\n")
    vault.sync()
    (entry,) = home.agent("ben").list()
    assert (entry.content, entry.vault_id) == ("from elsewhere", 77)
    assert len(home.agent("conversations_").list()) == 0


def test_text_before_the_first_entry_is_left_alone(vault: Vault, mem: Memory, folder: Path) -> None:
    path = folder / "ana" / "projects.md"
    path.parent.mkdir(parents=True)
    path.write_text("just some text\n---\nno entry")
    assert not vault.sync().written
    mem.remember("shop", category="projects")
    vault.sync()
    assert path.read_text().startswith("just some text\n---\nno entry\n\n<!-- id:")
    assert contents(mem, "projects") == ["shop"]


# What can go wrong


@pytest.mark.parametrize("front", ["---\ntags: [a, b\n  - : :\n", "---\n\ttitle\n---\n", "---\n---\n---\n"])
def test_frontmatter_that_is_broken_is_left_alone(vault: Vault, mem: Memory, folder: Path, front: str) -> None:
    mem.remember("The gate is blue", category="decisions")
    vault.sync()
    file = folder / "ana" / "decisions.md"
    file.write_text(front + file.read_text().replace("blue", "red"))
    assert vault.sync() == SyncReport(read=("ana/decisions.md",), changed=1)
    mem.remember("Ropes rot", category="decisions")
    vault.sync()
    assert file.read_text().startswith(front)
    assert sorted(entry.content for entry in mem.list()) == ["Ropes rot", "The gate is red"]


def test_a_file_that_is_gone_is_written_again(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("kept", category="decisions")
    vault.sync()
    path = folder / "ana" / "decisions.md"
    text = path.read_text()
    path.unlink()
    vault.refresh("ana")
    assert path.read_text() == text
    assert contents(mem) == ["kept"]


@ON_A_FILE
@pytest.mark.parametrize("left", ["", "\n", "# Decisions\n", "<!-- id:17"])
def test_a_file_without_any_block_removes_nothing(
    vault: Vault, mem: Memory, folder: Path, clock: FixedClock, left: str
) -> None:
    mem.remember("kept", category="decisions")
    mem.remember("kept, too", category="decisions")
    vault.sync()
    path = folder / "ana" / "decisions.md"
    path.write_text(left)
    for _ in range(2):
        assert len(vault.sync().problems) == 1
        assert path.read_text() == left
    clock.advance(2_000)
    vault.sync()
    assert path.read_text().startswith(left)
    assert "kept" in path.read_text()
    assert contents(mem) == ["kept", "kept, too"]


@ON_A_FILE
def test_the_only_block_of_a_file_can_be_taken_out(vault: Vault, mem: Memory, folder: Path, clock: FixedClock) -> None:
    entry = mem.remember("done", category="tasks")
    vault.sync()
    (folder / "ana" / "tasks.md").write_text("")
    assert vault.sync().problems
    clock.advance(2_000)
    assert vault.sync().removed == 1
    assert mem.restore(entry.id).content == "done"


@ON_A_FILE
def test_a_program_that_writes_a_file_without_reading_it_removes_nothing(
    vault: Vault, mem: Memory, folder: Path
) -> None:
    mem.remember("one", category="decisions")
    mem.remember("two", category="decisions")
    vault.sync()
    (folder / "ana" / "decisions.md").write_text("## 2026-01-02T00:00\n\nthree\n")
    vault.sync()
    assert contents(mem) == ["one", "three", "two"]
    assert all(word in (folder / "ana" / "decisions.md").read_text() for word in ("one", "two", "three"))


@ON_A_FILE
@pytest.mark.parametrize("cut", [1, 8, 20, 34, 40, 55, 75, 100])
def test_a_half_written_file_changes_nothing_and_the_whole_one_after_it_does(
    vault: Vault, mem: Memory, folder: Path, cut: int
) -> None:
    for text in ("first note", "second note", "third note"):
        mem.remember(text, category="decisions")
    vault.sync()
    path = folder / "ana" / "decisions.md"
    whole = path.read_text()
    path.write_text(whole[: whole.index("<!-- id:1767225600001") + cut])
    before = len(mem.history(mem.list(limit=1)[0].id))
    vault.sync()
    path.write_text(whole.replace("first note", "FIRST note"))
    vault.sync()
    assert contents(mem) == ["FIRST note", "second note", "third note"]
    assert len(mem.history(mem.list(limit=1)[0].id)) == before


@ON_A_FILE
def test_a_file_that_stays_cut_off_is_believed(vault: Vault, mem: Memory, folder: Path, clock: FixedClock) -> None:
    mem.remember("first note", category="decisions")
    mem.remember("second note", category="decisions")
    vault.sync()
    path = folder / "ana" / "decisions.md"
    path.write_text(path.read_text()[:55])
    assert vault.sync().problems
    clock.advance(2_000)
    assert vault.sync().removed == 1
    assert contents(mem) == ["second n"]


class Editing(FixedClock):
    """A clock that lets an editor save when a sync reads the time: after the state of the file was read."""

    def __init__(self, save: Callable[[], None], times: int) -> None:
        super().__init__()
        self._save, self._times = save, times

    def now(self) -> int:
        if self._times:
            self._times -= 1
            self._save()
        return super().now()


@ON_A_FILE
def test_a_file_that_is_edited_between_reading_and_replacing_is_not_overwritten(
    home: Home, mem: Memory, folder: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "ana" / "decisions.md"
    vault = vault_of(home, folder, clock)
    mem.remember("one", category="decisions")
    vault.sync()
    mem.remember("two", category="decisions")
    saves = []
    whole = os.fsync

    def saving(descriptor: int) -> None:
        if not saves and os.path.realpath(f"/proc/self/fd/{descriptor}").endswith(".decisions.md.tmp"):
            saves.append(path.write_text(path.read_text() + "\n## 2026-01-02T00:00\n\nby hand\n"))
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", saving)
    vault.sync()
    assert saves
    assert contents(mem) == ["by hand", "one", "two"]
    assert all(word in path.read_text() for word in ("one", "two", "by hand"))


@ON_A_FILE
def test_a_file_that_never_stands_still_is_left_for_the_next_sync(
    home: Home, mem: Memory, folder: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "ana" / "decisions.md"
    vault = vault_of(home, folder, clock)
    mem.remember("one", category="decisions")
    vault.sync()
    path.write_text(path.read_text() + "\n## 2026-01-02T00:00\n\nby hand\n")
    whole = os.fsync

    def saving(descriptor: int) -> None:
        if os.path.realpath(f"/proc/self/fd/{descriptor}").endswith(".decisions.md.tmp"):
            path.write_text(path.read_text() + "\n")
        whole(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", saving)
        report = vault.sync()
    assert "being edited" in report.problems[0].message
    assert contents(mem) == ["one"]
    assert not list(folder.rglob("*.tmp"))
    vault.sync()
    assert contents(mem) == ["by hand", "one"]


@ON_A_FILE
def test_a_file_that_vanishes_while_it_is_looked_at_is_written_again(home: Home, mem: Memory, folder: Path) -> None:
    path = folder / "ana" / "decisions.md"
    entry = mem.remember("kept", category="decisions")
    vault_of(home, folder, FixedClock()).sync()
    mem.apply(Write(entry.id, content="changed"))
    vault = vault_of(home, folder, Editing(lambda: path.unlink(missing_ok=True), 1))
    vault.sync()
    assert "changed" in path.read_text()
    assert contents(mem) == ["changed"]


@ON_A_FILE
def test_links_are_never_followed(vault: Vault, mem: Memory, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "decisions.md").write_text("## 2026-01-01T00:00\n\nnot ours\n")
    (outside / "lessons.md").write_text("## 2026-01-01T00:00\n\nnot ours either\n")
    before = {path: path.read_bytes() for path in outside.iterdir()}
    folder.mkdir()
    (folder / "ben").symlink_to(outside)
    (folder / "ana").mkdir()
    (folder / "ana" / "decisions.md").symlink_to(outside / "decisions.md")
    (folder / "ana" / "lessons.md").symlink_to(tmp_path / "nowhere")
    mem.remember("ours", category="decisions")
    mem.remember("ours", category="lessons")
    report = vault.sync()
    assert [problem.path for problem in report.problems] == ["ana/decisions.md", "ana/lessons.md"]
    assert vault.sync("ben").problems
    assert {path: path.read_bytes() for path in outside.iterdir()} == before
    assert not (tmp_path / "nowhere").exists()
    assert contents(mem) == ["ours"]


@ON_A_FILE
def test_a_folder_in_the_place_of_a_file_is_left_alone(vault: Vault, mem: Memory, folder: Path) -> None:
    (folder / "ana" / "decisions.md" / "inside").mkdir(parents=True)
    os.mkfifo(folder / "ana" / "lessons.md")
    mem.remember("kept", category="decisions")
    mem.remember("task", category="tasks")
    report = vault.sync()
    assert [problem.path for problem in report.problems] == ["ana/decisions.md", "ana/lessons.md"]
    assert report.written == ("ana/tasks.md",)
    assert contents(mem) == ["kept"]


@ON_A_FILE
def test_a_file_whose_name_differs_in_case_is_reported_and_left_alone(vault: Vault, mem: Memory, folder: Path) -> None:
    (folder / "ana").mkdir(parents=True)
    (folder / "ana" / "Decisions.md").write_text("## 2026-01-01T00:00\n\nmine\n")
    mem.remember("ours", category="decisions")
    report = vault.sync()
    assert [problem.path for problem in report.problems] == ["ana/Decisions.md"]
    assert (folder / "ana" / "Decisions.md").read_text() == "## 2026-01-01T00:00\n\nmine\n"
    assert contents(mem) == ["ours"]


def test_agents_whose_names_differ_in_case_never_share_a_file(vault: Vault, home: Home, folder: Path) -> None:
    home.agent("ana").remember("small", category="decisions")
    home.agent("Ana").remember("large", category="decisions")
    vault.sync()
    vault.sync()
    assert contents(home.agent("ana")) == ["small"]
    assert contents(home.agent("Ana")) == ["large"]


@ON_A_FILE
@pytest.mark.parametrize("raw", [b"## 2026-01-01T00:00\n\n\xff\xfe\n", b"\xff"])
def test_a_file_that_is_no_text_is_left_alone(vault: Vault, mem: Memory, folder: Path, raw: bytes) -> None:
    path = folder / "ana" / "decisions.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(raw)
    mem.remember("kept", category="decisions")
    assert "UTF-8" in vault.sync().problems[0].message
    assert path.read_bytes() == raw


@ON_A_FILE
@pytest.mark.parametrize("content", ["", "a\0b", "x" * 1_000_001])
def test_a_block_that_cannot_be_a_note_is_left_alone_and_the_others_are_read(
    vault: Vault, mem: Memory, folder: Path, content: str
) -> None:
    entry = mem.remember("good", category="decisions")
    vault.sync()
    path = folder / "ana" / "decisions.md"
    path.write_text(
        path.read_text().replace("good", content)
        + f"\n## 2026-01-02T00:00\n\n{content}\n\n## 2026-01-03T00:00\n\nfine\n"
    )
    report = vault.sync()
    assert len(report.problems) == 2
    assert contents(mem) == ["fine", "good"]
    assert content in path.read_text()
    edit(path, f"{content}\n\n---", "better\n\n---") if content else edit(path, "\n\n\n", "\n\nbetter\n")
    vault.sync()
    assert mem.get(entry.id).content == "better"


@ON_A_FILE
def test_a_folder_that_cannot_be_written_loses_nothing(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("kept", category="decisions")
    folder.write_text("a file where the vault should be")
    report = vault.sync()
    assert report.problems
    assert contents(mem) == ["kept"]
    folder.unlink()
    assert vault.sync().written == ("ana/decisions.md",)


@ON_A_FILE
def test_a_note_changed_again_after_a_crash_is_not_set_back(
    home: Home, mem: Memory, folder: Path, clock: FixedClock
) -> None:
    entry = mem.remember("first", category="decisions")
    vault = vault_of(home, folder, clock)
    vault.sync()
    mem.apply(Write(entry.id, content="second"))
    # What a crash between replacing the file and the end of the transaction leaves.
    edit(folder / "ana" / "decisions.md", "first", "second")
    mem.apply(Write(entry.id, content="third"))
    vault.sync()
    assert mem.get(entry.id).content == "third"
    assert "third" in (folder / "ana" / "decisions.md").read_text()


def test_another_folder_for_the_same_memory_removes_nothing(
    home: Home, mem: Memory, folder: Path, clock: FixedClock, tmp_path: Path
) -> None:
    entry = mem.remember("one", category="decisions")
    vault_of(home, folder, clock).sync()
    mem.apply(Write(entry.id, content="new"))
    other = vault_of(home, tmp_path / "other", clock)
    (tmp_path / "other" / "ana").mkdir(parents=True)
    (tmp_path / "other" / "ana" / "decisions.md").write_text(
        f"<!-- id:1767225600000 -->\n## {NOW}\n\none\n\n---\n\n## 2026-01-05T00:00\n\nmore\n"
    )
    other.sync()
    assert contents(mem) == ["more", "new"]
    vault_of(home, folder, clock).sync()
    assert "new" in (folder / "ana" / "decisions.md").read_text()


@ON_A_FILE
def test_a_new_process_knows_what_the_last_one_wrote(home: Home, mem: Memory, folder: Path, clock: FixedClock) -> None:
    mem.remember("one", category="decisions")
    vault_of(home, folder, clock).sync()
    assert vault_of(home, folder, clock).sync() == SyncReport()
    edit(folder / "ana" / "decisions.md", "one", "two")
    assert vault_of(home, folder, clock).sync().changed == 1


def test_the_memory_is_whole_after_all_of_this(vault: Vault, home: Home, mem: Memory, folder: Path) -> None:
    mem.remember("one", category="decisions", name="n")
    vault.sync()
    edit(folder / "ana" / "decisions.md", "one", "two")
    vault.sync()
    (folder / "ana" / "decisions.md").write_text("## 2026-01-02T00:00\n\nthree\n")
    vault.sync()
    assert home.check().findings == ()
    with pytest.raises(NotFound):
        mem.get("n")
    mem.restore("n")
    vault.sync()
    assert contents(mem) == ["three", "two"]
    assert home.check().findings == ()


@ON_A_FILE
def test_a_block_that_was_left_alone_is_not_overwritten_later(vault: Vault, mem: Memory, folder: Path) -> None:
    entry = mem.remember("old", category="decisions")
    vault.sync()
    edit(folder / "ana" / "decisions.md", "old", "a\0b")
    assert vault.sync().problems
    mem.apply(Write(entry.id, content="newer"))
    assert vault.sync().problems
    assert "a\0b" in (folder / "ana" / "decisions.md").read_text()
    edit(folder / "ana" / "decisions.md", "a\0b", "ab")
    vault.sync()
    assert mem.get(entry.id).content == "ab"


@ON_A_FILE
def test_a_block_edited_while_the_library_moved_its_note_is_in_one_file_only(
    vault: Vault, mem: Memory, folder: Path
) -> None:
    entry = mem.remember("base", category="lessons")
    vault.sync()
    mem.apply(Write(entry.id, category="decisions"))
    edit(folder / "ana" / "lessons.md", "base", "by hand")
    vault.sync()
    assert mem.get(entry.id).category == "lessons"
    assert (folder / "ana" / "decisions.md").read_text() == ""
    assert not vault.sync()


@ON_A_FILE
def test_our_files_look_older_than_any_edit_can(vault: Vault, mem: Memory, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "before").write_text("")
    mem.remember("one", category="decisions")
    vault.sync()
    assert (folder / "ana" / "decisions.md").stat().st_mtime < (tmp_path / "before").stat().st_mtime


# Only what is needed


@pytest.mark.slow
def test_ten_thousand_notes_and_one_edited_file_read_and_rewrite_that_file_only(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FixedClock()
    with recollect.open(tmp_path / "memory.db", clock=clock) as home:
        for agent in ("ana", "ben"):
            home.agent(agent).remember_many(
                Add(f"note {number}", category=category, at=clock.now() + number)
                for category in ("decisions", "lessons", "tasks", "projects", "handoffs")
                for number in range(1_000)
            )
        vault = vault_of(home, folder, clock)
        vault.sync()
        edit(folder / "ben" / "lessons.md", "note 500", "note five hundred")
        edit(folder / "ben" / "lessons.md", "note 400", "note 400\n\n## 2026-03-01T00:00\n\nnew")
        opened: list[str] = []
        really = os.open

        def counting(path: str | Path, *rest: int, dir_fd: int | None = None) -> int:
            if str(path).endswith((".md", ".md.tmp")):
                where = Path(f"/dev/fd/{dir_fd}").resolve().name
                opened.append(re.sub(r"\.[0-9a-f]{32}\.", ".", f"{where}/{path}"))
            return really(path, *rest, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", counting)
        report = vault.sync()
        assert set(opened) == {"ben/lessons.md", "ben/.lessons.md.tmp"}
        assert (report.read, report.written) == (("ben/lessons.md",), ("ben/lessons.md",))
        assert (report.added, report.changed, report.removed) == (1, 1, 0)
        opened.clear()
        vault.sync()
        vault.refresh("ana")
        assert opened == []


@ON_A_FILE
def test_watching_takes_in_edits_until_it_is_stopped(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("one", category="decisions")
    vault.sync()
    edit(folder / "ana" / "decisions.md", "one", "two")
    stop = threading.Event()
    heard: list[SyncReport] = []

    def hear(report: SyncReport) -> None:
        heard.append(report)
        stop.set()

    vault.watch(stop, hear, pause=0.001)
    assert heard[0].changed == 1
    assert contents(mem) == ["two"]


# Instructions for agents


@ON_A_FILE
def test_instructions_name_the_real_paths(
    home: Home, tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = vault_of(home, tmp_path / ".memory", clock).instructions("dev")
    assert text.splitlines()[:2] == [
        "## MEMORY: When asked to save/learn/remember, WRITE to files (don't just say you will).",
        "Shared: .memory/_project.md | Personal: .memory/dev/{decisions,lessons,tasks,handoffs}.md",
    ]
    assert "SCOPE" not in text
    elsewhere = vault_of(home, tmp_path / "tool" / "notes", clock).instructions("dev", host_project=tmp_path / "shop")
    assert f"Shared: {(tmp_path / 'tool' / 'notes').as_posix()}/_project.md" in elsewhere
    assert f"## SCOPE: You work on the project in {(tmp_path / 'shop').as_posix()}." in elsewhere


@ON_A_FILE
def test_a_note_that_an_agent_writes_as_instructed_is_remembered(vault: Vault, mem: Memory, folder: Path) -> None:
    mem.remember("old", category="lessons")
    vault.sync()
    with (folder / "ana" / "lessons.md").open("a") as file:
        file.write("## 2026-02-02T10:00 · #testing\n\nRun them twice.\n")
    vault.sync()
    assert mem.recall("testing twice")[0].entry.content == "Run them twice."


# Links


def linked(home: Home, mem: Memory, target: str) -> tuple[list[str], list[str], list[str]]:
    found = links(mem._entries.stores, target)
    return [entry.content for entry in found.out], [entry.content for entry in found.back], list(found.broken)


def test_links_lead_to_entries_by_name_and_alias_and_back(home: Home, mem: Memory) -> None:
    mem.remember("the plan", name="plan")
    mem.apply(Alias("plan", "the big plan"))
    mem.remember("see [[plan]], [[the big plan|it]], [[plan#costs]] and [[ nowhere ]]", name="note")
    mem.remember("[[ the big plan ]]", scope="account", name="pref")
    mem.remember("[[planet]] and `[[plan]]` and\n```\n[[plan]]\n```\n", name="other")
    assert linked(home, mem, "note") == (["the plan"], [], ["nowhere"])
    assert sorted(linked(home, mem, "the big plan")[1]) == [
        "[[ the big plan ]]",
        "see [[plan]], [[the big plan|it]], [[plan#costs]] and [[ nowhere ]]",
    ]
    assert linked(home, mem, "other") == ([], [], ["planet"])
    with pytest.raises(NotFound):
        links(mem._entries.stores, "nowhere")


def test_links_go_on_working_when_an_entry_is_renamed(home: Home, mem: Memory) -> None:
    mem.remember("the plan", name="plan")
    mem.remember("see [[plan]]", name="note")
    mem.apply(Rename("plan", "strategy"))
    assert linked(home, mem, "note") == (["the plan"], [], [])
    assert linked(home, mem, "strategy") == ([], ["see [[plan]]"], [])
    mem.forget("strategy")
    assert linked(home, mem, "note") == ([], [], ["plan"])


@ON_A_FILE
def test_a_name_that_holds_a_number_sign_is_a_name(home: Home, mem: Memory) -> None:
    mem.remember("sharp", name="C#")
    mem.remember("major", name="C")
    mem.remember("[[C#]] [[C#part]] [[#]] [[]] [[a|b|c]]", name="note")
    assert linked(home, mem, "note") == (["sharp", "major"], [], ["#", "a"])
    assert targets("[[a|b|c]] [[x#y|z]]") == [Link("a", "b|c"), Link("x", "z", "y")]
