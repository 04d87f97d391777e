"""Backups are whole while others write; the check finds every kind of damage and repairs what is derived."""

import itertools
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from crash import program
from crash.children import Child, children
from crash.evidence import files, raw, rows, tables
from crash.model import word

import recollect
from recollect import Add, Alias, ConfigError, Conflict, Finding, Home, Memory, NotFound, Rename, Write, wiring
from recollect.config import GitSettings, Settings
from recollect.search import index
from recollect.transfer.copying import copy_folder

pytestmark = pytest.mark.directory


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts child processes and sees to it that none is left."""
    with children() as starter:
        yield starter


@pytest.fixture
def copy(location: str, tmp_path: Path) -> Path:
    """Where the backup of the location goes: a file for a file, a directory for everything else."""
    return tmp_path / "copies" / ("copy.db" if location.endswith(".db") else "copy")


def fill(home: Home, location: str) -> None:
    """Something of everything, for two agents and, where there can be, two workspaces."""
    for workspace in ("default",) if location.endswith(".db") else ("default", "other"):
        for agent in ("ana", "ben"):
            mem = home.agent(agent, workspace=workspace)
            mem.remember_many(
                [Add(f"note {number} of {agent} in {workspace}", tags=["t"], importance=0.0) for number in range(9)]
            )
            named = mem.remember(f"a named note of {agent}", name="named", context="why", category="decisions")
            mem.apply(Rename("named", "renamed"))
            mem.apply(Alias(named.id, "also"))
            mem.apply(Write(named.id, content="rewritten: quotes ' \" and 漢字 🦊\n\ttabs"))
            mem.remember("forgotten", name="gone")
            mem.forget("gone")
    home.agent("ana").remember("of the account", name="preference", scope="account")
    home.agent("ben").recall("note", target_agent="ana")


# Backups


def test_a_backup_has_every_row_of_every_agent_and_workspace(home: Home, location: str, copy: Path) -> None:
    fill(home, location)
    home.backup(copy)
    original, copied = tables(location), tables(str(copy))
    for table in (
        "entries",
        "names",
        "operations",
        "counters",
        "tail",
        "segments",
        "postings",
        "removals",
        "access_log",
    ):
        for agent in ("ana", "ben"):
            assert sorted(rows(str(copy), table, agent)) == sorted(rows(location, table, agent)), table
    assert sum(map(len, copied.values())) > 50
    if not location.startswith("postgresql"):
        assert list(copied.values()) == list(original.values())


def test_a_backup_opens_as_a_home_that_answers_the_same(home: Home, location: str, copy: Path) -> None:
    fill(home, location)
    home.backup(copy)
    with recollect.open(copy) as second:
        assert second.workspaces() == home.workspaces()
        report = second.check()
        assert report == home.check()
        assert report.ok
        for workspace in home.workspaces():
            for agent in ("ana", "ben"):
                mem, theirs = home.agent(agent, workspace=workspace), second.agent(agent, workspace=workspace)
                assert theirs.list() == mem.list()
                found = [hit.entry for hit in theirs.recall("note rewritten", record=False)]
                assert found == [hit.entry for hit in mem.recall("note rewritten", record=False)] != []
                assert theirs.history("also") == mem.history("also")
        assert second.agent("ana").get("preference").content == "of the account"
        # It is a home of its own: both go on without the other.
        second.agent("ana").restore("gone")
        second.agent("ana").remember("only in the copy")
        assert home.agent("ana").recall("copy") == []
        assert second.check().ok


def test_a_backup_can_be_read_by_its_owner_only(home: Home, copy: Path) -> None:
    home.agent("ana").remember("private")
    home.backup(copy)
    for path in copy.rglob("*.db") if copy.is_dir() else [copy]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_target_is_refused_and_stays(home: Home, location: str, copy: Path) -> None:
    home.agent("ana").remember("first")
    home.backup(copy)
    before = files(copy.parent)
    home.agent("ana").remember("second")
    with pytest.raises(Conflict, match=r"already exists.*choose a new path"):
        home.backup(copy)
    assert files(copy.parent) == before
    with recollect.open(copy) as second:
        assert [entry.content for entry in second.agent("ana").list()] == ["first"]


@pytest.mark.unprepared
def test_a_memory_that_is_not_there_yet_has_no_backup(home: Home, copy: Path) -> None:
    with pytest.raises(NotFound, match="nothing to back up"):
        home.backup(copy)
    assert not copy.parent.exists()


def vaulted(folder: Path) -> Home:
    """A directory home with a vault: notes in files, and what is in no database."""
    home = recollect.open(folder)
    mem = home.agent("ana")
    mem.remember("We deploy on Tuesdays", category="decisions", name="deploy day")
    home.vault().sync()
    mem.set_project("A shop for tea.")
    for name, text in {
        "ana/decisions.md": "# What we decided\n\n" + (home.vault().folder / "ana" / "decisions.md").read_text(),
        "ana/MEMORY.md": "- a promoted line\n",
        "ana/SOUL.md": "I am Ana.\n",
        "notes/deep/tea list.txt": "oolong\n",
    }.items():
        path = home.vault().folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (home.vault().folder / os.fsdecode(b"not \xff Unicode")).write_bytes(b"\xff\0")
    return home


def test_the_backup_of_a_directory_has_the_vault_that_lies_in_it(tmp_path: Path) -> None:
    with vaulted(tmp_path / "home") as home:
        home.agent("ben", "other").set_project("Only a file, and no note yet.")
        home.backup(tmp_path / "copy")
        original = files(tmp_path / "home" / "workspaces" / "default" / "vault")
        assert files(tmp_path / "copy" / "workspaces" / "default" / "vault") == original
        assert {"ana/MEMORY.md", "ana/SOUL.md", "_project.md", "notes/deep/tea list.txt", ".vault/id"} <= set(original)
    for path in (tmp_path / "copy" / "workspaces" / "default" / "vault").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    with recollect.open(tmp_path / "copy") as second:
        mem = second.agent("ana")
        assert mem.project() == "A shop for tea."
        assert second.agent("ben", "other").project() == "Only a file, and no note yet."
        assert second.vault().sync().changed == 0
        # It is kept in step as the original is, and what people wrote around the notes is there.
        mem.remember("The gate is blue", category="decisions")
        second.flush()
        shown = (second.vault().folder / "ana" / "decisions.md").read_text()
        assert shown.startswith("# What we decided\n")
        assert "The gate is blue" in shown
        assert "We deploy on Tuesdays" in shown
        assert second.check().ok


def test_notes_that_come_between_the_databases_and_the_files_are_no_removals_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with vaulted(tmp_path / "home") as home:
        mem = home.agent("ana")

        def copy_later(source: Path, target: Path) -> None:
            mem.remember("The gate is blue", category="decisions")
            mem.apply(Write("deploy day", content="We deploy on Wednesdays"))
            home.flush()
            copy_folder(source, target)
            mem.remember("Too late for this copy", category="decisions")

        monkeypatch.setattr(wiring, "copy_folder", copy_later)
        home.backup(tmp_path / "copy")
    with recollect.open(tmp_path / "copy") as second:
        report = second.vault().sync()
        assert (report.added, report.changed, report.removed) == (1, 1, 0)
        contents = {entry.content for entry in second.agent("ana").list()}
        assert contents == {"The gate is blue", "We deploy on Wednesdays"}
        assert second.agent("ana").get("deploy day").content == "We deploy on Wednesdays"


def test_links_and_files_of_a_moment_are_not_in_a_backup(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not part of this memory")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "note.md").write_text("not part of this memory, either")
    with vaulted(tmp_path / "home") as home:
        vault = home.vault().folder
        (vault / "ana" / "link.md").symlink_to(tmp_path / "secret.txt")
        (vault / "linked").symlink_to(tmp_path / "elsewhere")
        (vault / "ana" / ".0.lessons.md.tmp").write_text("half of a no")
        os.mkfifo(vault / "ana" / "pipe")
        whole = home.agent("ana", "other")
        whole.remember("of a workspace whose vault is elsewhere")
        home.vault("other").folder.rename(tmp_path / "moved")
        home.vault("other").folder.symlink_to(tmp_path / "elsewhere")
        home.backup(tmp_path / "copy")
    inside = {path.name for path in (tmp_path / "copy").rglob("*")}
    assert not inside & {"link.md", "linked", ".0.lessons.md.tmp", "pipe", "note.md"}
    assert (tmp_path / "copy" / "workspaces" / "other" / "memory.db").exists()
    assert not (tmp_path / "copy" / "workspaces" / "other" / "vault").exists()


def test_the_history_of_a_vault_is_whole_in_its_backup(tmp_path: Path) -> None:
    settings = Settings(git=GitSettings(repository="agent"))
    with recollect.open(tmp_path / "home", settings=settings) as home:
        home.agent("ana").remember("We deploy on Tuesdays", category="decisions")
        home.vault().sync()
        home.vault().checkpoint("ana", "first")
        (home.vault().folder / "ana" / ".git" / "index.lock").write_text("")
        home.backup(tmp_path / "copy")
        known = home.vault().history("ana").commits
    with recollect.open(tmp_path / "copy", settings=settings) as second:
        assert second.vault().history("ana").commits == known
        second.agent("ana").remember("The gate is blue", category="decisions")
        assert second.vault().checkpoint("ana", "second").skipped is False
        assert [commit.subject for commit in second.vault().history("ana").commits][:2] == [
            "checkpoint: second",
            "checkpoint: first",
        ]


def test_files_that_come_change_and_go_while_they_are_copied_are_whole_in_the_copy(tmp_path: Path) -> None:
    stop = threading.Event()
    with vaulted(tmp_path / "home") as home:
        folder = home.vault().folder

        def edit() -> None:
            for number in itertools.cycle(range(10)):
                (folder / "new").write_text(str(number) * 300_000)
                os.replace(folder / "new", folder / "MEMORY.md")
                (folder / "passing").mkdir()
                (folder / "passing" / "note").write_text("for a moment")
                shutil.rmtree(folder / "passing")
                if stop.is_set():
                    break

        (folder / "MEMORY.md").write_text("0" * 300_000)
        editor = threading.Thread(target=edit)
        editor.start()
        try:
            for number in range(20):
                home.backup(tmp_path / f"copy {number}")
                copied = (tmp_path / f"copy {number}/workspaces/default/vault/MEMORY.md").read_text()
                assert (len(copied), len(set(copied))) == (300_000, 1)
        finally:
            stop.set()
            editor.join()


def test_a_file_that_is_written_in_place_while_it_is_copied_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("green")
    copyfileobj, rest = shutil.copyfileobj, ["green and black", "green, black and white"]

    def edited(source: IO[bytes], target: IO[bytes]) -> None:
        copyfileobj(source, target)
        if rest:
            (tmp_path / "notes" / "tea.md").write_text(rest.pop(0))

    monkeypatch.setattr(shutil, "copyfileobj", edited)
    copy_folder(tmp_path / "notes", tmp_path / "copy")
    assert files(tmp_path / "copy") == {"tea.md": b"green, black and white"}


def test_a_backup_into_a_vault_is_refused(tmp_path: Path) -> None:
    with vaulted(tmp_path / "home") as home:
        home.flush()
        before = files(home.vault().folder)
        with pytest.raises(ConfigError, match=r"lies in a vault.*choose a path outside of it"):
            home.backup(home.vault().folder / "copy")
        assert files(home.vault().folder) == before


@pytest.mark.parametrize("location", ["directory", "postgres"], indirect=True)
def test_a_target_that_is_filled_during_the_backup_is_left_alone(
    home: Home, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.agent("ana").remember("private")
    replace = os.replace

    def too_late(source: Path, target: Path) -> None:
        target.mkdir()
        (target / "note.txt").write_text("somebody's")
        replace(source, target)

    monkeypatch.setattr(os, "replace", too_late)
    with pytest.raises(Conflict, match="created by another process in the meantime"):
        home.backup(copy)
    assert files(copy.parent) == {"copy/note.txt": b"somebody's"}


def test_an_export_never_replaces_a_file_that_was_made_meanwhile(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.agent("ana").remember("private")
    path, link = tmp_path / "all.jsonl", os.link

    def too_late(source: Path, target: Path) -> None:
        path.write_text("somebody's")
        link(source, target)

    monkeypatch.setattr(os, "link", too_late)
    with pytest.raises(Conflict, match="created by another process in the meantime"):
        home.export(path)
    assert path.read_text() == "somebody's"
    assert not list(tmp_path.glob(".*.new"))


def test_backups_are_whole_while_others_write(start: Callable[..., Child], location: str, tmp_path: Path) -> None:
    writer = start(program.add_until_killed, location, ["ana", "ben"])
    writer.go()
    writer.next("done")
    last = 0
    with recollect.open(location) as home:
        for number in range(6):
            for _ in range(10):
                last = writer.next("done")[1].key
            target = tmp_path / f"copy {number}{'.db' if location.endswith('.db') else ''}"
            home.backup(target)
            with recollect.open(target) as second:
                assert second.check().findings == ()
                entries = [entry for agent in ("ana", "ben") for entry in second.agent(agent).list(limit=100_000)]
                received = {message[2]: message[3] for message in writer.messages if message[0] == "done"}
                assert last == len(received)
                # Everything that was acknowledged before the backup began is in it, word for word.
                assert received.items() <= {entry.id: entry.content_hash for entry in entries}.items()
                assert second.agent("ana" if last % 2 == 0 else "ben").recall(word(last))
            for agent in ("ana", "ben"):
                numbers = sorted(row[1] for row in rows(str(target), "operations", agent))
                assert numbers == list(range(1, len(numbers) + 1))
    writer.kill()
    assert writer.failure is None


def test_a_backup_does_not_wait_for_writers_nor_writers_for_it(location: str, copy: Path) -> None:
    with recollect.open(location) as home:
        home.agent("ana").remember("before")
        database = home.agent("ana")._workspace.database
        with database.write("ana"):
            home.backup(copy)
        with recollect.open(copy) as second:
            assert [entry.content for entry in second.agent("ana").list()] == ["before"]


# The check


@pytest.fixture
def filled(home: Home, location: str, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory with segments, a tail, removals, names and a trash, in which everything is right."""
    monkeypatch.setattr(index, "TAIL", 6)
    monkeypatch.setattr(index, "FAN", 2)
    fill(home, location)
    mem = home.agent("ana")
    mem.remember("the last note, in the tail")
    assert all(rows(location, table, "ana") for table in ("segments", "postings", "tail", "removals"))
    assert home.check().findings == ()
    return mem


def damage(location: str, *statements: str) -> None:
    """Run SQL past recollect; each statement must change something."""
    with raw(location) as run:
        for statement in statements:
            before = dump(run)
            run(statement)
            assert dump(run) != before, statement


def dump(run: Callable[..., Any]) -> list[object]:
    return [
        list(run(f"SELECT * FROM {table}"))
        for table in ("counters", "entries", "names", "operations", "tail", "segments", "postings", "removals")
    ]


ID = "(SELECT entry_id FROM names WHERE agent = 'ana' AND name = 'renamed')"
LAST = "(SELECT max(seq) FROM operations WHERE agent = 'ana')"

DAMAGE: dict[str, tuple[str, str, str, bool]] = {
    # what: (SQL, the part that is named, the message, whether it can be mended)
    "a name without an entry": (
        "INSERT INTO names VALUES ('ana', 'ghost', '01890a5d-ac96-774b-bcce-b302099a8057', 1)",
        "names",
        "the name 'ghost' refers to no entry",
        True,
    ),
    "a name that is missing": (
        "DELETE FROM names WHERE agent = 'ana' AND name = 'renamed'",
        "names",
        "the name of entry .* is None, but the log says otherwise",
        True,
    ),
    "a name that was changed": (
        "UPDATE names SET name = 'forged' WHERE agent = 'ana' AND name = 'renamed'",
        "names",
        "the name of entry .* is 'forged', but the log says otherwise",
        True,
    ),
    "an alias that took the place of the name": (
        "UPDATE names SET canonical = 1 - canonical WHERE agent = 'ana' AND name IN ('renamed', 'also')",
        "names",
        "the name of entry .* is 'also', but the log says otherwise",
        True,
    ),
    "two names of one entry": (
        "UPDATE names SET canonical = 1 WHERE agent = 'ana' AND name = 'also'",
        "names",
        "entry .* has more than one name",
        True,
    ),
    "a posting list that is missing": (
        "DELETE FROM postings WHERE agent = 'ana' AND term = 'note' AND segment IN (SELECT min(segment) FROM segments)",
        "index",
        "is not indexed under the words that its entry has",
        True,
    ),
    "a posting list that was changed": (
        "UPDATE postings SET term = 'forged' WHERE agent = 'ana' AND term = 'note' "
        "AND segment IN (SELECT min(segment) FROM segments)",
        "index",
        "is not indexed under the words that its entry has",
        True,
    ),
    "a posting list that makes no sense": (
        "UPDATE postings SET data = segments.lengths FROM segments WHERE postings.agent = 'ana' AND term = 'note' "
        "AND segments.segment = postings.segment AND segments.agent = 'ana'",
        "index",
        "the index cannot be read|is not indexed under|no entry has it",
        True,
    ),
    "a segment that is missing": (
        "DELETE FROM segments WHERE agent = 'ana'",
        "index",
        "is not indexed under the words that its entry has",
        True,
    ),
    "a row of the tail that is missing": (
        "DELETE FROM tail WHERE agent = 'ana' AND doc IN (SELECT doc FROM entries WHERE agent = 'ana')",
        "index",
        "is not indexed under the words that its entry has",
        True,
    ),
    "a row of the tail that makes no sense": (
        "UPDATE tail SET terms = 'not a count' WHERE agent = 'ana'",
        "index",
        "the index cannot be read",
        True,
    ),
    "a removal that is missing": (
        "DELETE FROM removals WHERE agent = 'ana'",
        "index",
        "document .* is in the index, but no entry has it",
        True,
    ),
    "a removal of a living document": (
        "UPDATE removals SET doc = (SELECT min(doc) FROM entries WHERE agent = 'ana') WHERE agent = 'ana' "
        "AND number IN (SELECT max(number) FROM removals WHERE agent = 'ana')",
        "index",
        "is marked as removed, but an entry has it",
        True,
    ),
    "an entry with the wrong document": (
        f"UPDATE entries SET doc = 4711 WHERE agent = 'ana' AND id = {ID}",
        "index",
        "document 4711 is not indexed",
        True,
    ),
    "a count of documents that was changed": (
        "UPDATE counters SET live = live + 1 WHERE agent = 'ana'",
        "index",
        "the index counts",
        True,
    ),
    "a count of terms that was changed": (
        "UPDATE counters SET tokens = 0 WHERE agent = 'ana'",
        "index",
        "the index counts",
        True,
    ),
    "a boundary of the tail that was changed": (
        "UPDATE counters SET flushed = documents WHERE agent = 'ana'",
        "index",
        "is not indexed",
        True,
    ),
    "a counter of entries that went back": (
        "UPDATE counters SET entries = 1 WHERE agent = 'ana'",
        "index",
        "counter of entries says 1, but",
        True,
    ),
    "a counter of operations that went back": (
        "UPDATE counters SET operations = 1 WHERE agent = 'ana'",
        "index",
        "counter of operations says 1, but",
        True,
    ),
    "a counter of documents that went back": (
        "UPDATE counters SET documents = flushed WHERE agent = 'ana'",
        "index",
        "counter of documents says",
        True,
    ),
    "a counter of segments that went back": (
        "UPDATE counters SET layout = 0 WHERE agent = 'ana'",
        "index",
        "counter of layout says 0, but",
        True,
    ),
    "a counter of removals that went back": (
        "UPDATE counters SET removals = 0 WHERE agent = 'ana'",
        "index",
        "counter of removals says 0, but",
        True,
    ),
    "counters that are missing": (
        "DELETE FROM counters WHERE agent = 'ana'",
        "index",
        "counter of operations says 0, but",
        True,
    ),
    "content that was changed": (
        f"UPDATE entries SET content = 'forged' WHERE agent = 'ana' AND id = {ID}",
        "entries",
        "its fingerprint differs",
        True,
    ),
    "content that was changed together with its fingerprint": (
        "UPDATE entries SET content = 'forged', content_hash = "
        "'51ec93ed6b06e5b6b6bd7d2b9ee0b4a5d0b1f5f8d6f0a4b5b8b4ffb5bd5e3b5e' WHERE agent = 'ana' AND id = " + ID,
        "entries",
        "its fingerprint differs",
        False,
    ),
    "tags that were changed": (
        f"UPDATE entries SET tags = '[\"forged\"]' WHERE agent = 'ana' AND id = {ID}",
        "entries",
        r"the tags of entry .* is \['forged'\], but the log says otherwise",
        True,
    ),
    "an importance that was changed": (
        f"UPDATE entries SET importance = 0.9 WHERE agent = 'ana' AND id = {ID}",
        "entries",
        "the importance of entry .* is 0.9, but the log says otherwise",
        True,
    ),
    "a context that was changed": (
        f"UPDATE entries SET context = 'forged' WHERE agent = 'ana' AND id = {ID}",
        "entries",
        "the context of entry .* is 'forged', but the log says otherwise",
        True,
    ),
    "a kind that is none": (
        f"UPDATE entries SET kind = 'poem' WHERE agent = 'ana' AND id = {ID}",
        "entries",
        "the row of entry .* is damaged",
        True,
    ),
    "an entry that is missing": (
        f"DELETE FROM entries WHERE agent = 'ana' AND id = {ID}",
        "entries",
        "entry .* is in the log, but does not exist",
        True,
    ),
    "two entries of one number": (
        f"UPDATE entries SET seq = 1 WHERE agent = 'ana' AND id = {ID}",
        "entries",
        "has the number 1, which another entry has, too",
        True,
    ),
    "a row of the log that is missing": (
        "DELETE FROM operations WHERE agent = 'ana' AND seq = 4",
        "log",
        "operations 4 to 4 are missing",
        False,
    ),
    "an end of the log that is missing": (
        f"DELETE FROM operations WHERE agent = 'ana' AND seq > {LAST} - 2",
        "log",
        "operations .* are missing",
        False,
    ),
    "a row of the log that was changed": (
        "UPDATE operations SET after = replace(after, 'rewritten', 'forged') "
        "WHERE agent = 'ana' AND operation = 'write'",
        "entries",
        "the content of entry .* but the log says otherwise",
        False,
    ),
    "a row of the log about the past that was changed": (
        "UPDATE operations SET before = replace(before, 'a named note', 'forged') "
        "WHERE agent = 'ana' AND operation = 'write'",
        "log",
        "operation .* on entry .* contradicts the log before it",
        False,
    ),
    "a row of the log about a forgotten entry that was changed": (
        "UPDATE operations SET before = replace(before, 'forgotten', 'forged') "
        "WHERE agent = 'ana' AND operation = 'remove'",
        "log",
        "operation .* on entry .* contradicts the log before it",
        False,
    ),
    "a row of the log that cannot be read": (
        "UPDATE operations SET after = '{' WHERE agent = 'ana' AND seq = 2",
        "log",
        "operation 2 .* cannot be read",
        False,
    ),
    "an entry that the log does not know": (
        "UPDATE operations SET entry_id = '01890a5d-ac96-774b-bcce-b302099a8057' "
        f"WHERE agent = 'ana' AND entry_id = {ID}",
        "log",
        "entry .* exists, but is not in the log",
        False,
    ),
}


# What is found does not depend on the database; what reading and mending runs into does, a little.
ON_THE_SERVER = (
    "a name that is missing",
    "a posting list that makes no sense",
    "a counter of documents that went back",
    "content that was changed",
    "an entry that is missing",
    "a row of the log that cannot be read",
)


@pytest.mark.parametrize(
    ("location", "sql", "part", "message", "mendable"),
    [
        *(pytest.param("file", *case, id=f"file: {what}") for what, case in DAMAGE.items()),
        *(pytest.param("postgres", *DAMAGE[what], id=f"postgres: {what}") for what in ON_THE_SERVER),
    ],
    indirect=["location"],
)
def test_each_kind_of_damage_is_found_and_named_and_mended_where_it_is_derived(
    home: Home, filled: Memory, location: str, sql: str, part: str, message: str, mendable: bool
) -> None:
    right = answers(filled)
    damage(location, sql)
    report = home.check()
    assert not report.ok
    assert mentions(report.findings, part, message), report.findings
    assert all(not finding.repaired for finding in report.findings)
    assert all(finding.where == "default/ana" for finding in report.findings)
    assert home.check() == report  # looking changes nothing

    mended = home.check(repair=True)
    assert mentions(mended.findings, part, message)
    assert mended.ok is mendable
    assert all(finding.repaired for finding in mended.findings if mendable)
    after = home.check()
    assert after.ok is mendable
    if mendable:
        assert after.findings == ()
        assert answers(filled) == right
        filled.remember("and it can be written to", name="new")
        filled.apply(Rename("new", "newer"))
        assert home.check().findings == ()
    else:
        assert mentions(after.findings, part, message)


def mentions(findings: tuple[Finding, ...], part: str, message: str) -> bool:
    """Whether one of the findings is about this part and says this."""
    return any(finding.part == part and re.search(message, finding.message) for finding in findings)


def answers(mem: Memory) -> list[object]:
    """What a memory says of itself."""
    listed = mem.list(limit=100)
    return [
        [(entry.id, entry.name, entry.content) for entry in listed],
        sorted((hit.entry.id, round(hit.score, 9)) for hit in mem.recall("note rewritten", limit=50, record=False)),
        mem.get("renamed").id,
        mem.get("also").id,
    ]


@pytest.mark.parametrize("location", ["file", "postgres"], indirect=True)
def test_what_is_derived_is_mended_beside_what_cannot_be(home: Home, filled: Memory, location: str) -> None:
    damage(
        location,
        "INSERT INTO names VALUES ('ana', 'ghost', '01890a5d-ac96-774b-bcce-b302099a8057', 1)",
        "UPDATE counters SET live = live + 1 WHERE agent = 'ana'",
        "DELETE FROM operations WHERE agent = 'ana' AND seq = 4",
    )
    report = home.check(repair=True)
    assert {(finding.part, finding.repaired) for finding in report.findings} == {
        ("names", True),
        ("index", True),
        ("log", False),
    } | {("entries", False)} & {(finding.part, finding.repaired) for finding in report.findings}
    assert not report.ok
    assert {finding.part for finding in home.check().findings} <= {"log", "entries"}


@pytest.mark.parametrize("location", ["file", "postgres"], indirect=True)
def test_one_damaged_entry_does_not_hide_the_others(home: Home, filled: Memory, location: str) -> None:
    damage(
        location,
        "UPDATE entries SET content = 'forged' WHERE agent = 'ana' AND content LIKE 'note 2%'",
        "UPDATE entries SET context = 'forged' WHERE agent = 'ana' AND content LIKE 'note 5%'",
        "INSERT INTO names VALUES ('ana', 'ghost', '01890a5d-ac96-774b-bcce-b302099a8057', 1)",
    )
    report = home.check(repair=True)
    assert mentions(report.findings, "entries", "its fingerprint differs")
    assert mentions(report.findings, "entries", "the context of entry .* is 'forged'")
    assert mentions(report.findings, "names", "the name 'ghost' refers to no entry")
    assert [finding.repaired for finding in report.findings if finding.part == "names"] == [True]
    assert (report.entries, report.operations) == (home.check().entries, home.check().operations)
    assert report.entries > 20


@pytest.mark.parametrize("location", ["file", "postgres"], indirect=True)
def test_a_search_in_a_damaged_index_rebuilds_it(home: Home, filled: Memory, location: str) -> None:
    for sql in (
        ["UPDATE tail SET terms = 'not a count' WHERE agent = 'ana'"],
        [
            "INSERT INTO removals VALUES ('ana', 1000, 60000, '01890a5d-ac96-774b-bcce-b302099a8057', 'note 1')",
            "UPDATE counters SET removals = 1000 WHERE agent = 'ana'",
        ],
    ):
        damage(location, *sql)
        with recollect.open(location) as second:
            assert second.agent("ana").get("renamed").name == "renamed"  # the entries are as good as ever
            assert len(second.agent("ana").recall("note", limit=50)) == 10
            assert second.check().ok


def test_the_check_counts_every_workspace_and_agent_and_says_where(home: Home, location: str) -> None:
    assert home.check().ok
    assert (home.check().entries, home.check().operations) == (0, 0)
    fill(home, location)
    report = home.check()
    parts = 2 if location.endswith(".db") else 4
    # Nine notes and a named one in each part, one in the account; each part did 9 + 1 + 3 + 2 operations.
    assert (report.findings, report.entries, report.operations) == ((), parts * 10 + 1, parts * 15 + 1)
    if location.endswith(".db"):
        return
    with raw(location, "ben", "other") as run:
        run("UPDATE counters SET live = 99 WHERE agent = 'ben'")
    assert [finding.where for finding in home.check().findings] == ["other/ben"]


def test_many_findings_of_a_kind_are_counted(home: Home, location: str) -> None:
    home.agent("ana").remember_many([Add(f"note {number}") for number in range(50)])
    damage(location, "DELETE FROM tail WHERE agent = 'ana'")
    findings = [finding.message for finding in home.check().findings]
    assert len(findings) == 21
    assert findings[-1] == "and 30 more of the kind"


def test_a_damaged_workspace_does_not_keep_the_others_from_being_checked(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        for workspace in ("one", "two"):
            home.agent("ana", workspace=workspace).remember("a note")
    broken = tmp_path / "home" / "workspaces" / "one" / "memory.db"
    os.truncate(broken, 4096)
    with recollect.open(tmp_path / "home") as home:
        report = home.check()
        assert not report.ok
        assert report.entries == 1
        assert {finding.part for finding in report.findings} == {"file"}


# What a killed process left

WRITES = """
import os, sys
import recollect
from recollect.storage.sqlite import administration
from recollect.transfer import archive

def stop(*_):
    print("ready", flush=True)
    sys.stdin.readline()
    os._exit(0)

archive.publish = administration.publish = os.replace = stop
with recollect.open(sys.argv[1]) as home:
    getattr(home, sys.argv[2])(sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", ["export", "backup"])
def test_what_a_killed_process_left_is_removed_and_what_a_live_one_uses_is_not(
    location: str, tmp_path: Path, call: str
) -> None:
    with recollect.open(location) as home:
        home.agent("ana").remember("private")
        folder = tmp_path / "copies"

        def write(name: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", WRITES, location, call, str(folder / name)]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            return child

        suffix = ".db" if call == "backup" and location.endswith(".db") else ""
        killed, alive = write(f"killed{suffix}"), write(f"alive{suffix}")
        own = folder / f".mine.{'0' * 32}.new"
        own.write_text("a file of the user")
        (folder / ".notes.new").mkdir()
        killed.kill()
        killed.communicate()
        assert len(list(folder.glob(".killed*.new"))) == 1
        getattr(home, call)(folder / f"new{suffix}")
        assert list(folder.glob(".killed*.new")) == []
        assert len(list(folder.glob(".alive*.new"))) == 1
        alive.communicate("\n")
        getattr(home, call)(folder / f"newer{suffix}")
        assert {path.name for path in folder.iterdir()} == {f"new{suffix}", f"newer{suffix}", own.name, ".notes.new"}
