"""Bad input of every kind: the right error, a message that says what to do, and nothing changed."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from crash.evidence import files, schemas, tables
from postgres import Server

import recollect
from recollect import (
    Add,
    Alias,
    ConfigError,
    Conflict,
    Home,
    Invalid,
    Memory,
    NotFound,
    Remove,
    Rename,
    Unavailable,
    Write,
)
from recollect.storage.postgres import server as postgres_server_module

NOBODYS_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
SURROGATE = "half \ud83d of a pair"
Call = Callable[[Memory], object]

BAD_TEXTS = {
    "with a NUL byte": ("zero \0 byte", "control character|NUL byte"),
    "with a lone surrogate": (SURROGATE, "lone surrogate.*errors='replace'"),
    "as a number": (7, "must be text, not int"),
    "as bytes": (b"raw", "must be text, not bytes"),
}
BAD_NAMES = BAD_TEXTS | {
    "empty": ("", "is empty; it must have at least one visible character"),
    "blank": (" \t ", "is empty; it must have at least one visible character"),
    "of what nobody sees": ("\u200b\u3164\u2060", "is empty; it must have at least one visible character"),
    "that is turned around": ("invoice\u202efdp.exe", "control character"),
    "with a newline": ("one\ntwo", "control character"),
    "with an escape": ("one\x1btwo", "control character"),
    "of 10,000 characters": ("n" * 10_000, "10,000 characters; at most 256"),
}
BAD_CONTENTS = BAD_TEXTS | {
    "empty": ("", "content is empty; there is nothing to remember"),
    "blank": (" \n\t ", "content is empty; there is nothing to remember"),
    "of what nobody sees": ("\ufeff \u200b\n\u2800", "content is empty; there is nothing to remember"),
    "of 10 MB": ("ten megabytes " * 750_000, "at most 1,000,000 are allowed. Split it"),
    "as nothing": (None, "must be text, not NoneType"),
}


def each(
    kind: str, values: dict[str, tuple[object, str]], call: Callable[[object], Call]
) -> dict[str, tuple[Call, str]]:
    return {f"{kind} {label}": (call(value), message) for label, (value, message) in values.items()}


INVALID: dict[str, tuple[Call, str]] = {
    **each("content", BAD_CONTENTS, lambda value: lambda mem: mem.remember(value)),
    **each("name", BAD_NAMES, lambda value: lambda mem: mem.remember("fine", name=value)),
    **each("tag", BAD_NAMES, lambda value: lambda mem: mem.remember("fine", tags=["good", value])),
    **each("context", BAD_TEXTS, lambda value: lambda mem: mem.remember("fine", context=value)),
    **each("source", BAD_NAMES, lambda value: lambda mem: mem.remember("fine", source=value)),
    **each("channel", BAD_NAMES, lambda value: lambda mem: mem.remember("fine", scope="channel", channel=value)),
    **each("query", BAD_TEXTS, lambda value: lambda mem: mem.recall(value)),
    **each("target of get", BAD_NAMES, lambda value: lambda mem: mem.get(value)),
    **each("target of history", BAD_NAMES, lambda value: lambda mem: mem.history(value)),
    **each("target of forget", BAD_NAMES, lambda value: lambda mem: mem.forget(value)),
    **each("target of erase", BAD_NAMES, lambda value: lambda mem: mem.forget(value, erase=True)),
    **each("target of restore", BAD_NAMES, lambda value: lambda mem: mem.restore(value)),
    **each("target of a write", BAD_NAMES, lambda value: lambda mem: mem.apply(Write(value, content="x"))),
    **each("target of a removal", BAD_NAMES, lambda value: lambda mem: mem.apply(Remove(value))),
    **each("new name", BAD_NAMES, lambda value: lambda mem: mem.apply(Rename("kept", value))),
    **each("alias", BAD_NAMES, lambda value: lambda mem: mem.apply(Alias("kept", value))),
    **each("key", BAD_NAMES, lambda value: lambda mem: mem.upsert(value, "fine")),
    **each("upserted content", BAD_TEXTS, lambda value: lambda mem: mem.upsert("kept", value)),
    **each("rewritten content", BAD_TEXTS, lambda value: lambda mem: mem.apply(Write("kept", content=value))),
    **each("one of many", BAD_CONTENTS, lambda value: lambda mem: mem.remember_many([Add("good"), Add(value)])),
    **{
        f"importance {value!r}"[:60]: (
            lambda mem, value=value: mem.remember("fine", importance=value),
            "a number from 0 to 1",
        )
        for value in (float("nan"), float("inf"), -0.1, 1.1, True, "0.5", None, 10**400)
    },
    **{
        f"limit {limit!r} of a list": (lambda mem, limit=limit: mem.list(limit=limit), "0 or more")
        for limit in (-1, 2.5, "3", True, None)
    },
    **{
        f"limit {limit!r} of a recall": (lambda mem, limit=limit: mem.recall("fine", limit=limit), "0 or more")
        for limit in (-1, 2.5, "3", True, None)
    },
    "tags as one text": (lambda mem: mem.remember("fine", tags="one"), "a list of words"),
    "tags as a number": (lambda mem: mem.remember("fine", tags=5), "a list of words"),
    "tags as nothing": (lambda mem: mem.remember("fine", tags=None), "a list of words"),
    "too many tags": (lambda mem: mem.remember("fine", tags=[f"t{n}" for n in range(65)]), "at most 64"),
    "a scope that is none": (lambda mem: mem.remember("fine", scope="galaxy"), "one of 'conversation', 'channel'"),
    "a conversation's scope alone": (lambda mem: mem.remember("fine", scope="conversation"), "needs the conversation"),
    "a channel's scope alone": (lambda mem: mem.remember("fine", scope="channel"), "needs the channel"),
    "a category that is none": (lambda mem: mem.remember("fine", category="gossip"), "one of 'decisions', 'lessons'"),
    "a lifetime that is none": (lambda mem: mem.remember("fine", lifetime="eternal"), "'short_term', 'mid_term'"),
    "a kind that is none": (lambda mem: mem.apply(Add("fine", kind="poem")), "one of 'note', 'archive', 'chunk'"),
    "a mode that is none": (lambda mem: mem.recall("fine", mode="magic"), "one of hybrid, keyword, vector"),
    "a time that is none": (lambda mem: mem.remember("fine", at="yesterday"), "2026-03-16T14:32:00Z"),
    "a time out of range": (lambda mem: mem.remember("fine", at=-1), "between 1970 and 9999"),
    "an operation that is none": (lambda mem: mem.apply("remove kept"), "use Add, Rename, Alias, Write or Remove"),
    "a write of nothing": (lambda mem: mem.apply(Write("kept")), "needs something to write"),
    "many of something else": (lambda mem: mem.remember_many(["text"]), "takes Add values, not str"),
    "a direction that is none": (lambda mem: mem.list(descending="no"), "True or False"),
    "an event that is too far": (lambda mem: mem.apply(Add("x", first_event=10**30)), "less than 2 to the 63rd"),
    "filters: scopes": (lambda mem: mem.recall("fine", scopes=["galaxy"]), "one of 'conversation', 'channel'"),
    "filters: kinds": (lambda mem: mem.recall("fine", kinds=["poem"]), "one of 'note', 'archive', 'chunk'"),
    "filters: tags": (lambda mem: mem.recall("fine", tags="one"), "a list of words"),
    "filters: since": (lambda mem: mem.recall("fine", since="yesterday"), "2026-03-16T14:32:00Z"),
    "filters of a list: kind": (lambda mem: mem.list(kind="poem"), "one of 'note', 'archive', 'chunk'"),
    "filters of a list: before": (lambda mem: mem.list(before="yesterday"), "2026-03-16T14:32:00Z"),
    **each("filter by source", BAD_TEXTS, lambda value: lambda mem: mem.recall("fine", source=value)),
    **each("filter by channel", BAD_TEXTS, lambda value: lambda mem: mem.recall("fine", channel=value)),
    **each("filter by conversation", BAD_TEXTS, lambda value: lambda mem: mem.recall("fine", conversation=value)),
    **each("list by source", BAD_TEXTS, lambda value: lambda mem: mem.list(source=value)),
    **each("list by tag", BAD_TEXTS, lambda value: lambda mem: mem.list(tag=value)),
    "many of nothing": (lambda mem: mem.remember_many(None), "takes a list of Add values, not NoneType"),
    "filters: scopes as a number": (lambda mem: mem.recall("fine", scopes=5), "scopes must be a list"),
    "filters: kinds as a number": (lambda mem: mem.recall("fine", kinds=5), "kinds must be a list"),
    "filters of a list: empty category": (lambda mem: mem.list(category=""), "one of 'decisions', 'lessons'"),
    "filters of a list: empty kind": (lambda mem: mem.list(kind=""), "one of 'note', 'archive', 'chunk'"),
    "another agent's name": (lambda mem: mem.recall("fine", target_agent="../ben"), "one plain word such as 'ana'"),
}

BAD_SEGMENTS = {
    "../x": "contains /",
    "..": "starts with a dot",
    ".": "starts with a dot",
    "": "is empty",
    " ": "is empty",
    "a/b": "contains /",
    "a\\b": r"contains \\",
    "con": "is a reserved word",
    "a" * 300: "at most 256|longer than 64",
    "a" * 65: "longer than 64",
    "zero\0byte": "control character",
    "two\nlines": "control character",
    SURROGATE: "lone surrogate",
    7: "must be text, not int",
    None: "must be text, not NoneType",
}


def refusals(mem: Memory, calls: dict[str, tuple[Call, str]], changed: Callable[[], object]) -> list[str]:
    """The calls that were not refused as they should be, or that changed something."""
    wrong: list[str] = []
    before = changed()
    for label, (call, message) in calls.items():
        try:
            with pytest.raises(Invalid, match=message):
                call(mem)
        except BaseException as error:
            wrong.append(f"{label}: {type(error).__name__}: {str(error)[:200]}")
        if changed() != before:
            wrong.append(f"{label}: something was changed")
            before = changed()
    return wrong


def test_bad_input_is_invalid_and_creates_nothing(mem: Memory, location: str, tmp_path: Path) -> None:
    on_server = location.startswith("postgresql")
    assert refusals(mem, INVALID, lambda: schemas(location) if on_server else files(tmp_path)) == []


def test_bad_input_is_invalid_and_changes_nothing_that_is_there(mem: Memory, location: str) -> None:
    mem.remember("fine and good", name="kept", tags=["good"])
    mem.remember("gone", name="gone")
    mem.forget("gone")
    assert refusals(mem, INVALID, lambda: tables(location)) == []


@pytest.mark.directory
@pytest.mark.unprepared
@pytest.mark.parametrize("what", ["agent", "workspace"])
def test_an_agent_or_workspace_that_is_no_safe_word_is_invalid_and_creates_nothing(
    home: Home, location: str, tmp_path: Path, what: str
) -> None:
    for bad, message in BAD_SEGMENTS.items():
        with pytest.raises(Invalid, match=message):
            home.agent(bad) if what == "agent" else home.agent("ana", workspace=bad)
        with pytest.raises(Invalid, match=message):
            home.delete_workspace(bad)
    if location.startswith("postgresql"):
        assert schemas(location) == []
    assert files(tmp_path) == {}


@pytest.mark.directory
def test_emoji_and_other_scripts_are_good_names_of_agents_and_workspaces(location: str) -> None:
    names = ["🦊", "👩🏽‍🚀 crew", "アナ", "žluťoučký kůň", "ana.b-c_d", "_shared", "x" * 64]
    single = location.endswith(".db")
    with recollect.open(location) as home:
        for name in names:
            home.agent(name).remember(f"note of {name}", name=f"{name} 🦊", tags=["🏷️"])
            if not single:
                home.agent("ana", workspace=name).remember(f"note in {name}")
    with recollect.open(location) as home:
        for name in names:
            assert [entry.content for entry in home.agent(name).list(tag="🏷️")] == [f"note of {name}"]
            assert home.agent(name).get(f"{name} 🦊").content == f"note of {name}"
            if not single:
                assert [entry.content for entry in home.agent("ana", workspace=name).list()] == [f"note in {name}"]
        assert home.workspaces() == sorted({"default"} | (set() if single else set(names)))
        assert home.check().ok


def test_what_is_not_there_is_not_found_and_nothing_changes(mem: Memory, location: str) -> None:
    for there_is_something in (False, True):
        if there_is_something:
            mem.remember("fine", name="kept")
        before = tables(location)
        for target in (NOBODYS_ID, "no such name"):
            for call in (
                lambda: mem.get(target),  # noqa: B023
                lambda: mem.history(target),  # noqa: B023
                lambda: mem.restore(target),  # noqa: B023
                lambda: mem.forget(target, erase=True),  # noqa: B023
                lambda: mem.apply(Write(target, content="x")),  # noqa: B023
                lambda: mem.apply(Rename(target, "x")),  # noqa: B023
                lambda: mem.apply(Alias(target, "x")),  # noqa: B023
                lambda: mem.apply(Remove(target)),  # noqa: B023
            ):
                with pytest.raises(NotFound, match=target):
                    call()
            assert mem.forget(target) is False
        assert tables(location) == before


# Locations


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("mysql://host/db", "mysql:// is not a supported location; pass a directory"),
        ("file:///tmp/memory.db", "file:// is not a supported location"),
        ("", "pass a directory or a path ending in .db"),
        ("  ", "pass a directory or a path ending in .db"),
        ("zero\0byte.db", "NUL byte"),
        ("zero\0byte", "NUL byte"),
        ("postgresql://zero\0byte", "NUL byte"),
        (SURROGATE, "valid Unicode"),
        (f"{SURROGATE}.db", "valid Unicode"),
        ("x" * 300 + ".db", "choose another location"),
        ("x" * 300, "choose another location"),
        (7, "a location must be a path"),
        (b"memory.db", "a location must be a path"),
    ],
)
def test_a_location_that_is_none_is_a_config_error(location: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        recollect.open(location)


def test_a_directory_called_like_a_file_and_a_file_called_like_a_directory_are_config_errors(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "file").write_text("somebody's notes")
    before = files(tmp_path)
    with pytest.raises(ConfigError, match=r"folder\.db is a directory; .* must be a file"):
        recollect.open(tmp_path / "folder.db")
    with pytest.raises(ConfigError, match=r"file is a file; .* a file whose name ends in \.db"):
        recollect.open(tmp_path / "file")
    for below in ("file/memory.db", "file/home"):
        with recollect.open(tmp_path / below) as home:
            assert home.agent("ana").list() == []
            with pytest.raises(ConfigError, match="choose another location"):
                home.agent("ana").remember("no room here")
    assert files(tmp_path) == before


# The child loads everything first: the account that it goes over to need not be able to read the package.
WITHOUT_PERMISSION = """
import os, sys
import recollect
with recollect.open(sys.argv[2]) as home:
    home.agent("ana").remember("everything is loaded now")
    home.agent("ana").recall("loaded")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for location in sys.argv[3:]:
    with recollect.open(location) as home:
        for call in (lambda: home.agent("ana").remember("not allowed"), lambda: home.backup(sys.argv[1])):
            try:
                call()
                print("done")
            except recollect.RecollectError as error:
                print(type(error).__name__, error)
"""


def test_a_place_without_permission_is_a_config_error_and_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if folder.owner() == os.environ.get("USER", "root") and folder != Path(folder.anchor):
            folder.chmod(folder.stat().st_mode | 0o011)
    closed = tmp_path / "closed"
    closed.mkdir()
    with recollect.open(closed / "there.db") as home:
        home.agent("ana").remember("written before")
    (closed / "there.db").chmod(0o444)
    (tmp_path / "warm").mkdir()
    before = files(closed)
    closed.chmod(0o555)
    try:
        places = [closed / "memory.db", closed / "home", closed / "there.db"]
        child = subprocess.run(
            [sys.executable, "-c", WITHOUT_PERMISSION, closed / "copy.db", tmp_path / "warm" / "memory.db", *places],
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        closed.chmod(0o755)
    lines = child.stdout.splitlines()
    assert len(lines) == 6, child.stdout
    for line in (lines[0], lines[2], lines[4]):
        assert line.startswith("ConfigError cannot use")
        assert "Choose a location that this user may write to, or change its permissions" in line
    assert "nothing to back up" in lines[1]
    assert files(closed) == before


@pytest.mark.directory
def test_a_path_in_the_home_of_a_user_who_is_not_there_is_a_config_error(location: str, tmp_path: Path) -> None:
    for name in ("~nosuchuser/memory", "~nosuchuser/memory.db"):
        with pytest.raises(ConfigError, match="names no user of this machine; write the path out"):
            recollect.open(name)
    with pytest.raises(ConfigError, match="names no user"):
        recollect.open(location, vault="~nosuchuser/notes")
    with recollect.open(location) as home:
        home.agent("ana").remember("fine")
        for path in ("~nosuchuser/copy.db", "~nosuchuser/copy", "~zero\0byte/copy", f"~{SURROGATE}/copy"):
            for call in (home.backup, home.export, home.import_):
                with pytest.raises(ConfigError, match="names no user"):
                    call(path)


# PostgreSQL


def test_a_server_that_cannot_be_reached_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: no answer
        port = taken.getsockname()[1]
        with pytest.raises(
            Unavailable, match="Is the server running, and are address, user and password right"
        ) as error:
            recollect.open(f"postgresql://ana:secret@127.0.0.1:{port}/memory")
    assert "secret" not in str(error.value)
    assert f"postgresql://ana:…@127.0.0.1:{port}/memory" in str(error.value)


@pytest.mark.slow
def test_a_server_that_accepts_and_never_answers_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setattr(postgres_server_module, "CONNECT_SECONDS", 2)
        with pytest.raises(Unavailable, match="timeout"):
            recollect.open(f"postgresql://ana@127.0.0.1:{silent.getsockname()[1]}/memory")


@pytest.mark.slow
def test_a_server_that_disconnects_is_unavailable_and_comes_back_without_reopening(tmp_path: Path) -> None:
    with Server(log=tmp_path / "server.log") as server, recollect.open(server.fresh_database()) as home:
        mem = home.agent("ana")
        mem.remember("an early note")
        server.stop()
        for call in (lambda: mem.remember("lost"), home.workspaces):
            with pytest.raises(Unavailable, match="Is the server running"):
                call()
        server.start()
        mem.remember("a late note")
        assert [entry.content for entry in mem.list()] == ["a late note", "an early note"]
        server.restart()
        # Every first use of a connection that the server has closed meanwhile is made good.
        assert home.workspaces() == ["default"]
        assert home.check().ok
        assert len(mem.recall("early late")) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda url: url.rpartition("/")[0] + "/no_such_database", "Create the database or the user"),
        (lambda url: url.replace("postgres@", "no_such_user@"), "Create the database or the user"),
        (lambda url: url.replace("postgres@", "postgres:pass%zzword@"), "with %40 for an @ in the password"),
        (lambda url: url + "?no_such_option=1", "not a usable address"),
        (lambda url: url.replace("127.0.0.1:", "127.0.0.1:x"), "correct the address"),
        (lambda url: url.replace("127.0.0.1:", "127.0.0.1:9"), "correct the address"),
    ],
    ids=["database", "user", "password", "option", "port", "port out of range"],
)
def test_an_address_that_will_not_do_is_a_config_error(
    postgres_url: str, change: Callable[[str], str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        recollect.open(change(postgres_url))
    assert "pass%zzword" not in str(error.value)


@pytest.mark.slow
def test_a_password_that_the_server_refuses_is_a_config_error_and_is_never_shown(tmp_path: Path) -> None:
    with Server(log=tmp_path / "server.log") as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE ROLE ana LOGIN PASSWORD 'right'")
        rules = server.data / "pg_hba.conf"
        rules.write_text("host all ana 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        server.restart()
        for login in ("ana:wrong-one", "ana"):
            with pytest.raises(ConfigError, match=r"authentication failed|no password supplied") as error:
                recollect.open(server.url().replace("postgres@", f"{login}@"))
            assert "wrong-one" not in str(error.value)


def test_a_server_without_pgvector_is_a_config_error_and_stays_as_it_is(postgres_url: str) -> None:
    with pytest.raises(ConfigError, match=r"has no pgvector; install the package .*postgresql-18-pgvector"):
        recollect.open(postgres_url + "?options=-c%20extension_control_path%3D/nonexistent")
    assert schemas(postgres_url) == []


def test_a_role_that_may_not_create_is_refused_with_the_grant_it_needs(postgres_url: str) -> None:
    limited = postgres_url.replace("postgres@", "limited@")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS limited")
        connection.execute("CREATE ROLE limited LOGIN")
        connection.execute("CREATE EXTENSION vector")
    with recollect.open(limited) as home:
        assert home.agent("ana").list() == []
        for call in (
            lambda: home.agent("ana").remember("no"),
            lambda: home.agent("ana").remember("no", scope="account"),
        ):
            with pytest.raises(ConfigError, match="grant it CREATE on the database"):
                call()
    assert schemas(postgres_url) == []
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = postgres_url.rpartition("/")[2]
        connection.execute(f'GRANT CREATE ON DATABASE "{name}" TO limited')
    with recollect.open(limited) as home:
        assert home.agent("ana").remember("now it may").content == "now it may"


def test_a_user_may_go_on_writing_after_the_right_to_create_was_taken_away(postgres_url: str) -> None:
    name, limited = postgres_url.rpartition("/")[2], postgres_url.replace("postgres@", "careful@")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS careful")
        connection.execute("CREATE ROLE careful LOGIN")
        connection.execute("CREATE EXTENSION vector")
        connection.execute(f'GRANT CREATE ON DATABASE "{name}" TO careful')
        with recollect.open(limited) as home:
            home.agent("ana").remember("the schema is there now")
        connection.execute(f'REVOKE CREATE ON DATABASE "{name}" FROM careful')
    with recollect.open(limited) as home:
        home.agent("ana").remember("and can be used")
        assert len(home.agent("ana").list()) == 2
        assert home.check().ok


# Backups


def test_a_backup_to_a_place_that_will_not_do_is_refused_and_changes_nothing(location: str, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "taken.db").write_text("somebody's file")
    (place / "taken").mkdir()
    (place / "taken" / "note.txt").write_text("somebody's note")
    single = location.endswith(".db")
    with recollect.open(location) as home:
        home.agent("ana").remember("fine")
        before = files(place)
        with pytest.raises(Conflict, match="already exists"):
            home.backup(place / ("taken.db" if single else "taken"))
        with pytest.raises(ConfigError, match=r"name (that ends in|without) \.db"):
            home.backup(place / ("copy" if single else "copy.db"))
        with pytest.raises(ConfigError, match=r"cannot use .*note\.txt"):
            home.backup(place / "taken" / "note.txt" / ("copy.db" if single else "copy"))
        for name in ("zero\0byte", SURROGATE):
            with pytest.raises(ConfigError, match="not a valid path for a backup"):
                home.backup(place / f"{name}{'.db' if single else ''}")
    assert files(place) == before
