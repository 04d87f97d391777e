"""Truncated, scribbled-on, foreign and newer files: an error that says so or the right answer, never a part of it."""

import contextlib
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from crash import program
from crash.children import Child
from crash.evidence import files, schemas, tables

import recollect
from recollect.storage.schema import migrations

PAGE = 4096
Answers = dict[object, Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good file with something of everything in it."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with recollect.open(path) as home:
        mem = home.agent("ana")
        for number in range(40):
            entry = mem.remember(
                f"note number {number} about topic{number % 5} " + "and at length " * (400 if number % 10 == 0 else 1),
                name=f"name {number}" if number % 2 else None,
                tags=[f"tag{number % 3}"],
                context=f"context {number}",
                importance=number / 40,
            )
            if number % 5 == 0:
                mem.apply(recollect.Write(entry.id, content=f"rewritten {number}", tags=["new"]))
        mem.forget("name 3")
        home.agent("ben").remember("another agent's note")
    return path


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Makes a fresh copy of the good file, to be damaged."""
    path = tmp_path / "memory.db"

    def make() -> Path:
        for old in tmp_path.glob("memory.db*"):
            old.unlink()
        shutil.copy(whole, path)
        return path

    return make


def at_rest(answer: object) -> object:
    """An answer without what asking itself changes: how often and when an entry was found."""
    if isinstance(answer, list):
        return [at_rest(one) for one in answer]
    return replace(answer, accessed_at=None, access_count=0) if isinstance(answer, recollect.Entry) else answer


def questions(path: Path, ids: list[str], names: list[str]) -> Answers:
    """The answers to every question about known entries; an error counts as an answer."""
    found: Answers = {}
    with recollect.open(path) as home:
        mem = home.agent("ana")

        def ask(what: object, question: Callable[[], object]) -> None:
            try:
                found[what] = at_rest(question())
            except recollect.RecollectError as error:
                found[what] = error

        for target in (*ids, *names):
            ask(("get", target), lambda target=target: mem.get(target))
            ask(("history", target), lambda target=target: mem.history(target))
        ask("list", lambda: mem.list(limit=1_000))
        for number in range(5):
            # Without a trace: what was found before would stand in another place the next time.
            ask(("recall", number), lambda n=number: [h.entry for h in mem.recall(f"topic{n}", limit=50, record=False)])
        ask("check", lambda: home.check().ok)
    return found


@pytest.fixture
def known(whole: Path) -> tuple[list[str], list[str], Answers]:
    """Ids and names that are in the good file, and the right answers."""
    with recollect.open(whole) as home:
        entries = home.agent("ana").list(limit=1_000)
    ids, names = [entry.id for entry in entries], [entry.name for entry in entries if entry.name]
    answers = questions(whole, ids, names)
    assert answers["check"] is True
    assert len(answers["list"]) == 39
    return ids, names, answers


def assert_right_or_corrupt(path: Path, known: tuple[list[str], list[str], Answers]) -> Answers:
    """Every answer is the right one, or says that the file is damaged."""
    ids, names, right = known
    answers = questions(path, ids, names)
    for question, answer in answers.items():
        if question != "check" and not isinstance(answer, recollect.Corrupt):
            assert answer == right[question], question
    return answers


@pytest.mark.parametrize(
    "size",
    [
        lambda whole: 0,
        lambda whole: 1,
        lambda whole: 50,
        lambda whole: PAGE // 2,
        lambda whole: PAGE,
        lambda whole: whole // 2 // PAGE * PAGE,
        lambda whole: whole // 2 // PAGE * PAGE + 100,
        lambda whole: whole - PAGE,
        lambda whole: whole - 1,
    ],
    ids=["0", "1", "50", "half a page", "one page", "half", "half and a bit", "all but a page", "all but a byte"],
)
def test_a_truncated_file_is_corrupt_and_never_an_empty_memory(
    copy: Callable[[], Path], known: tuple[list[str], list[str], Answers], size: Callable[[int], int]
) -> None:
    path = copy()
    with path.open("r+b") as file:
        file.truncate(size(path.stat().st_size))
    before = path.read_bytes()
    answers = assert_right_or_corrupt(path, known)
    assert isinstance(answers["list"], recollect.Corrupt)
    assert answers["check"] is False
    with recollect.open(path) as home:
        with pytest.raises(recollect.Corrupt, match=r"[Rr]estore it from a backup"):
            home.agent("ana").remember("one more")
        with pytest.raises(recollect.Corrupt):
            home.backup(path.with_name("backup.db"))
        (finding,) = home.check(repair=True).findings
        assert (finding.part, finding.repaired) == ("file", False)
    assert path.read_bytes() == before
    assert not path.with_name("backup.db").exists()


def test_a_file_truncated_while_it_is_open_is_corrupt_or_right(
    copy: Callable[[], Path], known: tuple[list[str], list[str], Answers]
) -> None:
    for size in (0, PAGE, 10 * PAGE):
        path = copy()
        with recollect.open(path) as home:
            mem = home.agent("ana")
            assert at_rest(mem.list(limit=1_000)) == known[2]["list"]
            with path.open("r+b") as file:
                file.truncate(size)
            for _ in range(2):
                with contextlib.suppress(recollect.Corrupt):
                    assert at_rest(mem.list(limit=1_000)) == known[2]["list"]
        assert not isinstance(questions(path, *known[:2])["list"], list)


def test_a_page_of_random_bytes_anywhere_is_found_and_never_answered_with_less(
    copy: Callable[[], Path], known: tuple[list[str], list[str], Answers]
) -> None:
    rng = random.Random(1)
    pages = copy().stat().st_size // PAGE
    assert pages > 30
    for page in range(pages):
        path = copy()
        with path.open("r+b") as file:
            file.seek(page * PAGE)
            file.write(rng.randbytes(PAGE))
        answers = assert_right_or_corrupt(path, known)
        assert answers["check"] is False, page


@pytest.mark.parametrize("length", [16, 100, PAGE])
def test_random_bytes_over_the_header_are_corrupt(
    copy: Callable[[], Path], known: tuple[list[str], list[str], Answers], length: int
) -> None:
    path = copy()
    with path.open("r+b") as file:
        file.write(random.Random(length).randbytes(length))
    answers = assert_right_or_corrupt(path, known)
    assert isinstance(answers["list"], recollect.Corrupt)
    assert answers["check"] is False


def test_a_single_changed_byte_in_a_text_is_found(
    copy: Callable[[], Path], known: tuple[list[str], list[str], Answers]
) -> None:
    data = copy().read_bytes()
    places = [at for at in range(len(data)) if data.startswith(b"note number 11 about", at)]
    assert len(places) == 1  # the entry, to which the log refers
    for place in places:
        path = copy()
        with path.open("r+b") as file:
            file.seek(place + 12)
            file.write(b"7")
        answers = assert_right_or_corrupt(path, (known[0], known[1], known[2] | altered_history(path, known[1])))
        assert answers["check"] is False


def altered_history(path: Path, names: list[str]) -> Answers:
    """Return what the log says now: its text has no hash, so only the check can detect a change."""
    with recollect.open(path) as home:
        history = home.agent("ana").history("name 11")
        return {("history", target): history for target in ("name 11", history[0].entry_id)}


def received(answer: object) -> object:
    """What an answer says about the entries in it: what the log can vouch for, which is not quite all."""
    if isinstance(answer, recollect.Entry):
        return answer.id, answer.content, answer.name, answer.tags, answer.context, answer.importance, answer.created_at
    if isinstance(answer, list):
        return [received(part) for part in answer if isinstance(part, recollect.Entry)]
    return answer


def test_small_scribbles_anywhere_never_end_in_a_raw_error_and_no_wrong_answer_passes_the_check(
    copy: Callable[[], Path], known: tuple[list[str], list[str], Answers]
) -> None:
    rng = random.Random(2)
    ids, names, right = known
    damaged = 0
    for _ in range(150):
        path = copy()
        with path.open("r+b") as file:
            file.seek(rng.randrange(path.stat().st_size))
            file.write(rng.randbytes(rng.choice([1, 4, 16, 64])))
        answers = questions(path, ids, names)
        if any(received(answer) != received(right[question]) for question, answer in answers.items()):
            damaged += 1
            assert answers["check"] is not True
    assert damaged > 20


def test_a_log_without_its_file_is_not_taken_for_an_empty_memory(start: Callable[..., Child], tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    child = start(program.write_until_killed, str(path), 0, 1, 1_024, 8)
    child.go()
    child.next("done")
    child.kill()  # a closed memory has no log
    lost = path.read_bytes()
    path.unlink()
    before = files(tmp_path)
    assert list(before) == ["memory.db-shm", "memory.db-wal"]
    with recollect.open(path) as home:
        mem = home.agent("ana")
        for call in (mem.list, lambda: mem.recall("fact"), lambda: mem.remember("a new beginning")):
            with pytest.raises(recollect.Corrupt, match=r"memory\.db-wal is there and may hold writes"):
                call()
        assert not home.check().ok
    assert files(tmp_path) == before
    path.write_bytes(lost)
    with recollect.open(path) as home:
        assert home.agent("ana").list()
        assert home.check().ok


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        "PRAGMA user_version = 2; CREATE TABLE entries (id, content); INSERT INTO entries VALUES (1, 'mine')"
    )
    connection.close()
    before = files(tmp_path)
    with recollect.open(path) as home:
        mem = home.agent("ana")
        for call in (mem.list, lambda: mem.remember("not here"), lambda: mem.get("x"), home.check):
            with pytest.raises(recollect.ConfigError, match="not a recollect memory; pass the path of another file"):
                call()
    assert files(tmp_path) == before


@pytest.mark.parametrize("text", ["short", "A longer text that somebody saved under this name.\n" * 200])
def test_a_text_file_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "memory.db"
    path.write_text(text)
    with recollect.open(path) as home:
        mem = home.agent("ana")
        for call in (mem.list, lambda: mem.remember("not here"), lambda: mem.get("x")):
            with pytest.raises(recollect.Corrupt, match=r"memory\.db"):
                call()
        assert not home.check().ok
    assert files(tmp_path) == {"memory.db": text.encode()}


@pytest.mark.parametrize("kind", ["memory.db", "home"])
def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    with recollect.open(tmp_path / kind) as home:
        home.agent("ana").remember("from the future")
    (path,) = tmp_path.rglob("memory.db")
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()
    before = files(tmp_path)
    with recollect.open(tmp_path / kind) as home:
        mem = home.agent("ana")
        for call in (mem.list, lambda: mem.recall("x"), lambda: mem.remember("no"), home.check):
            with pytest.raises(recollect.ConfigError, match=r"newer recollect \(schema 99.*upgrade recollect"):
                call()
    assert files(tmp_path) == before


def scribble(folder: Path, kind: str) -> None:
    """A memory with a note, in which nothing can be read any more."""
    with recollect.open(folder / kind) as home:
        home.agent("ana").remember("gone")
    (path,) = folder.rglob("memory.db")
    path.write_bytes(b"scribbled on " * 1_000)


@pytest.mark.parametrize("kind", ["memory.db", "home"])
def test_upkeep_of_nothing_but_a_damaged_memory_is_refused_and_not_done_in_silence(tmp_path: Path, kind: str) -> None:
    scribble(tmp_path, kind)
    with recollect.open(tmp_path / kind) as home, pytest.raises(recollect.Corrupt, match=r"memory\.db is damaged"):
        home.jobs.run_due()


@pytest.mark.parametrize("kind", ["memory.db", "home"])
def test_a_damaged_memory_can_be_deleted(tmp_path: Path, kind: str) -> None:
    scribble(tmp_path, kind)
    with recollect.open(tmp_path / kind) as home:
        home.delete_workspace("default")
        assert home.agent("ana").list() == []
        home.agent("ana").remember("anew")
        assert home.check().ok


def test_a_file_that_a_newer_version_took_over_meanwhile_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with recollect.open(path) as home:
        mem = home.agent("ana")
        mem.remember("from today")
        connection = apsw.Connection(str(path))
        connection.pragma("user_version", 99)
        with pytest.raises(recollect.ConfigError, match=r"newer recollect \(schema 99.*upgrade recollect"):
            mem.remember("no")
        connection.pragma("user_version", migrations()[-1].number)
        connection.close()
        mem.remember("yes")
        assert [entry.content for entry in mem.list()] == ["yes", "from today"]


def test_a_schema_of_a_newer_version_is_refused_and_left_alone(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home:
        home.agent("ana").remember("from the future")
        home.agent("ben").remember("from today")
    (newer,) = [schema for schema in schemas(postgres_url) if "_ana_" in schema]
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"INSERT INTO \"{newer}\".migrations VALUES (99, 'flying_cars')")
    before = tables(postgres_url)
    with recollect.open(postgres_url) as home:
        mem = home.agent("ana")
        for call in (mem.list, lambda: mem.recall("x"), lambda: mem.remember("no"), home.check):
            with pytest.raises(recollect.ConfigError, match=r"newer recollect \(schema 99.*upgrade recollect"):
                call()
        assert [entry.content for entry in home.agent("ben").list()] == ["from today"]
    assert tables(postgres_url) == before


def test_an_older_schema_is_brought_up_to_date_and_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with recollect.open(path) as home:
        home.agent("ana").remember("from long ago")
    connection = apsw.Connection(str(path))
    fresh = sorted(connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    connection.pragma("user_version", 0)
    connection.close()
    with recollect.open(path) as home:
        assert [entry.content for entry in home.agent("ana").list()] == ["from long ago"]
        assert home.check().ok
    connection = apsw.Connection(str(path))
    assert sorted(connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")) == fresh
    assert connection.pragma("user_version") > 0
    connection.close()


def test_a_workspace_that_has_only_its_log_left_is_reported(start: Callable[..., Child], tmp_path: Path) -> None:
    child = start(program.write_until_killed, str(tmp_path / "home"), 0, 1, 1_024, 8)
    child.go()
    child.next("done")
    child.kill()
    (tmp_path / "home" / "workspaces" / "default" / "memory.db").unlink()
    with recollect.open(tmp_path / "home") as home:
        assert home.workspaces() == ["default"]
        assert not home.check().ok
