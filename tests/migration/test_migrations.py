"""A database of every earlier schema, opened by the current code, is the same as a new one and keeps its rows."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from embedders import HashEmbedder
from postgres import wait_for
from psycopg import sql as quoting

import recollect
from recollect import ConfigError, FixedClock
from recollect.storage.entries import content_hash
from recollect.storage.postgres import schemas as postgres_schemas
from recollect.storage.postgres.schemas import ACCOUNT, Schemas, schema_of
from recollect.storage.postgres.server import PostgresServer
from recollect.storage.postgres.table_groups import ALL, FOLLOWING
from recollect.storage.schema import Migration, migrations
from recollect.storage.sqlite import opening
from recollect.storage.sqlite.database import SqliteDatabase

pytestmark = pytest.mark.directory

NUMBERS = [migration.number for migration in migrations()]
EARLIER = NUMBERS[:-1]
"""Schemas that an older recollect may have left."""
APPLIED = [(migration.number, migration.name) for migration in migrations()]
"""What a database says about its migrations."""

GENERIC = {"TEXT": "x", "text": "x", "REAL": 0.5, "double precision": 0.5, "BLOB": b"", "bytea": b""}
CHECKED = {"metadata": "{}", "hash": sha256(b"x\0").hexdigest()[:32]}
"""Values of graph checkpoints and writes that `check` verifies: the hash is that of the type x without a state."""


CHILD = """
import sys
import recollect
with recollect.open(sys.argv[1]) as home:
    mem = home.agent("ben")
    print("ready", flush=True)
    sys.stdin.readline()
    print(mem.remember("written by " + sys.argv[2]).seq)
"""


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], pytest.MonkeyPatch]:
    """Makes the code of today that of the day when the migration with a number was the newest one."""

    def until(number: int) -> pytest.MonkeyPatch:
        then = tuple(migration for migration in migrations() if migration.number <= number)
        for module in (opening, postgres_schemas):
            monkeypatch.setattr(module, "migrations", lambda: then)
        return monkeypatch

    return until


@pytest.fixture
def samples(tmp_path: Path) -> Iterator[Callable[[str, list[tuple[str, str]]], list[Any] | None]]:
    """A row for a table with the given columns and types, as one named note of the agent ben leaves it.

    None for the tables of vectors: without an embedder nothing is in them.
    """
    path = tmp_path / "samples" / "memory.db"
    with recollect.open(path, clock=FixedClock()) as home:
        home.agent("ben").remember("an old note", name="old", tags=["kept"])
        home.agent("ben").conversations.start().user("an old message")
    source = apsw.Connection(str(path))
    source.execute("UPDATE counters SET analysis = 0")  # the index is of another day, too
    # The addition has the content, the hash is whole, and the concept tags are written out.
    source.execute("UPDATE operations SET operation = 'add', after = '[\"an old note\",1,' || after || ']'")
    source.execute(
        "UPDATE entries SET added = NULL, content_hash = ?, concept_tags = '[]'", (content_hash("an old note"),)
    )

    def row(table: str, columns: list[tuple[str, str]]) -> list[Any] | None:
        if table in ("embeddings", "codes"):
            return None
        names = [name for (name,) in source.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        checked = CHECKED if table.startswith("graph_") else {}
        known = checked | dict(zip(names, source.execute(f"SELECT * FROM {table}").fetchone() or (), strict=False))
        return [known.get(name, "ben" if name == "agent" else GENERIC.get(kind, 1)) for name, kind in columns]

    yield row
    source.close()


Only = Callable[[int], pytest.MonkeyPatch]
Samples = Callable[[str, list[tuple[str, str]]], list[Any] | None]

# SQLite


def schema_of_file(path: Path) -> set[tuple[str, str, str]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema").fetchall()
    finally:
        connection.close()
    return {(kind, f"{name} of {table}", re.sub(r"\s+", " ", sql)) for kind, name, table, sql in rows}


def rows_of_file(path: Path) -> dict[str, list[Any]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}
    finally:
        connection.close()


def pragma(path: Path, name: str) -> Any:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.pragma(name)
    finally:
        connection.close()


def file_of(path: Path, number: int, only: Only, samples: Samples) -> None:
    """A file as the code of that day made it, with a row in each table that it has."""
    patch = only(number)
    database = SqliteDatabase(path)
    with database.write("ben"):
        pass
    database.admin.close()
    patch.undo()
    connection = apsw.Connection(str(path))
    for table in tables_after(number):
        columns = connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
        row = samples(table, columns)
        if row is not None:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.close()


def tables_after(number: int) -> list[str]:
    text = "\n".join(migration.sql for migration in migrations() if migration.number <= number)
    return sorted(set(re.findall(r"CREATE TABLE (\w+)", text)) - set(re.findall(r"DROP TABLE (\w+)", text)))


def new_file(path: Path) -> Path:
    with recollect.open(path) as home:
        home.agent("ana").remember("new")
    return path


def test_a_new_file_has_the_newest_schema_and_says_so(tmp_path: Path) -> None:
    path = new_file(tmp_path / "memory.db")
    assert pragma(path, "user_version") == NUMBERS[-1]
    assert sorted(rows_of_file(path)["migrations"]) == APPLIED
    names = {name.split(" of ")[0] for kind, name, _ in schema_of_file(path) if kind == "table"}
    assert set(tables_after(NUMBERS[-1])) <= names


def test_the_second_file_of_a_process_is_the_same_as_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_schemas", {})
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    for path in (first, second):
        opening.create(path)
    assert schema_of_file(second) == schema_of_file(first)
    assert rows_of_file(second) == rows_of_file(first)  # also rows that a migration inserts
    assert pragma(second, "user_version") == pragma(first, "user_version")


@pytest.mark.parametrize("number", EARLIER)
def test_an_older_file_becomes_the_same_as_a_new_one_and_keeps_its_rows(
    tmp_path: Path, number: int, only: Only, samples: Samples
) -> None:
    old = tmp_path / "old.db"
    file_of(old, number, only, samples)
    before = rows_of_file(old)
    assert pragma(old, "user_version") == number
    assert len(before["migrations"]) == NUMBERS.index(number) + 1
    assert schema_of_file(old) != schema_of_file(new_file(tmp_path / "new.db"))

    with recollect.open(old) as home:
        assert home.agent("ana").list() == []
    assert schema_of_file(old) == schema_of_file(tmp_path / "new.db")
    assert pragma(old, "user_version") == NUMBERS[-1]
    after = rows_of_file(old)
    assert sorted(after["migrations"]) == APPLIED
    assert_kept({table: rows for table, rows in before.items() if table != "migrations"}, after)

    assert_the_old_note_is_as_good_as_a_new_one(old)
    assert schema_of_file(old) == schema_of_file(tmp_path / "new.db")


def assert_kept(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> None:
    """Every row is there with its values; a migration may have added columns at the end, and shortened the hashes."""
    whole = content_hash("an old note")
    for table, rows in before.items():
        if table == "entries":
            rows = [[value[:16] if value == whole else value for value in row] for row in rows]
        assert len(after[table]) == len(rows)
        assert [tuple(row)[: len(old)] for row, old in zip(after[table], rows, strict=True)] == [
            tuple(row) for row in rows
        ]


def assert_the_old_note_is_as_good_as_a_new_one(location: str | Path) -> None:
    with recollect.open(location) as home:
        ben = home.agent("ben")
        assert ben.get("old").content == "an old note"
        assert [hit.entry.name for hit in ben.recall("kept note")] == ["old"]
        assert ben.remember("a new note", name="new").seq == 2
        assert {hit.entry.name for hit in ben.recall("note")} == {"old", "new"}
        assert [revision.operation for revision in ben.history("old")] == ["add"]
        assert home.check().findings == ()


def test_opening_a_file_again_runs_no_migration_again(tmp_path: Path) -> None:
    path = new_file(tmp_path / "memory.db")
    before = (schema_of_file(path), rows_of_file(path), pragma(path, "schema_version"))
    for _ in range(2):
        with recollect.open(path) as home:
            assert len(home.agent("ana").list()) == 1
    assert (schema_of_file(path), rows_of_file(path), pragma(path, "schema_version")) == before


def test_a_migration_that_fails_half_way_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = new_file(tmp_path / "memory.db")
    before = (schema_of_file(path), rows_of_file(path))
    broken = tmp_path / f"{NUMBERS[-1] + 1:04}_broken.sql"
    broken.write_text("CREATE TABLE half (agent TEXT NOT NULL);\nCREATE TABLE entries (agent TEXT NOT NULL);\n")
    with monkeypatch.context() as patch:
        patch.setattr(opening, "migrations", lambda: (*migrations(), Migration(broken)))
        with recollect.open(path) as home, pytest.raises(Exception, match="entries"):
            home.agent("ana").list()
    assert (schema_of_file(path), rows_of_file(path)) == before
    with recollect.open(path) as home:
        assert len(home.agent("ana").list()) == 1


def test_a_file_of_a_newer_schema_is_refused_and_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = tmp_path / f"{NUMBERS[-1] + 1:04}_newer.sql"
    newer.write_text("CREATE TABLE future (agent TEXT NOT NULL) STRICT;\n")
    path = tmp_path / "memory.db"
    with monkeypatch.context() as patch:
        patch.setattr(opening, "migrations", lambda: (*migrations(), Migration(newer)))
        new_file(path)
    before = (schema_of_file(path), rows_of_file(path))
    with recollect.open(path) as home:
        for call in (lambda: home.agent("ana").list(), lambda: home.agent("ana").remember("x")):
            with pytest.raises(ConfigError, match="newer"):
                call()
    assert (schema_of_file(path), rows_of_file(path)) == before


# PostgreSQL

CATALOG = {
    "columns": """SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name,
        ordinal_position
        FROM information_schema.columns WHERE table_schema = %s""",
    "indexes": """SELECT tablename, indexname, replace(indexdef, schemaname || '.', '')
        FROM pg_indexes WHERE schemaname = %s""",
    "constraints": """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = %s::regnamespace""",
    "storage": """SELECT relname, attname, attstorage::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = %s::regnamespace AND relkind = 'r' AND attnum > 0""",
}


def schema_on_server(url: str, schema: str) -> dict[str, set[tuple[Any, ...]]]:
    with psycopg.connect(url) as connection:
        connection.execute(quoting.SQL("SET search_path TO {}").format(quoting.Identifier(schema)))
        return {what: set(connection.execute(query, (schema,))) for what, query in CATALOG.items()}


def rows_on_server(url: str, schema: str, tables: list[str]) -> dict[str, list[Any]]:
    with psycopg.connect(url) as connection:
        return {
            table: sorted(connection.execute(quoting.SQL("SELECT * FROM {}").format(quoting.Identifier(schema, table))))
            for table in tables
        }


OLD, NEW = schema_of("default", "ben"), schema_of("default", "ana")


def make_all_tables(url: str, *names: str) -> None:
    """Create the groups of tables that schemas do not have yet."""
    server = PostgresServer(url)
    for name in names:
        for group in FOLLOWING:
            Schemas(server).add_group(name, group)
    server.close()


def schema_made_by(url: str, number: int, only: Only, samples: Samples) -> None:
    patch = only(number)
    server = PostgresServer(url)
    patch.setattr(Schemas, "_first_groups", lambda schemas: ALL)
    Schemas(server).prepare(OLD, ("default", "ben"))
    server.close()
    patch.undo()
    with psycopg.connect(url) as connection:
        # Schemas of that day had all tables, and said nothing of groups.
        connection.execute(quoting.SQL("COMMENT ON TABLE {} IS NULL").format(quoting.Identifier(OLD, "counters")))
        for table in tables_after(number):
            columns = connection.execute(
                "SELECT column_name, data_type FROM information_schema.columns"
                " WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
                (OLD, table),
            ).fetchall()
            row = samples(table, columns)
            if row is None:
                continue
            marks = quoting.SQL(", ").join(quoting.Placeholder() * len(row))
            connection.execute(
                quoting.SQL("INSERT INTO {} VALUES ({})").format(quoting.Identifier(OLD, table), marks), row
            )


@pytest.mark.parametrize("number", EARLIER)
def test_an_older_schema_on_postgresql_becomes_the_same_as_a_new_one_and_keeps_its_rows(
    postgres_url: str, number: int, only: Only, samples: Samples
) -> None:
    schema_made_by(postgres_url, number, only, samples)
    before = rows_on_server(postgres_url, OLD, tables_after(number))
    with recollect.open(postgres_url) as home:
        home.agent("ana").remember("this makes a new schema")
        make_all_tables(postgres_url, NEW)
        new = schema_on_server(postgres_url, NEW)
        assert schema_on_server(postgres_url, OLD) != new
        assert len(home.agent("ben").list()) == 1
    assert schema_on_server(postgres_url, OLD) == new
    done = rows_on_server(postgres_url, OLD, ["migrations"])["migrations"]
    assert sorted(done) == APPLIED
    assert_kept(before, rows_on_server(postgres_url, OLD, tables_after(number)))
    assert_the_old_note_is_as_good_as_a_new_one(postgres_url)
    assert schema_on_server(postgres_url, OLD) == new


def test_every_schema_on_postgresql_is_the_same_for_every_owner(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home:
        home.agent("ana").remember("x")
        home.agent("ben").remember("x")
        home.agent("ben").remember("x", scope="account")
    make_all_tables(postgres_url, NEW, OLD, ACCOUNT)
    schemas = [schema_on_server(postgres_url, schema) for schema in (NEW, OLD, ACCOUNT)]
    assert schemas[0] == schemas[1] == schemas[2]
    assert {row[0] for row in schemas[0]["columns"]} == {"migrations", *tables_after(NUMBERS[-1])}
    with recollect.open(postgres_url) as home:
        home.agent("ana").remember("y")
    assert schema_on_server(postgres_url, NEW) == schemas[0]
    done = rows_on_server(postgres_url, NEW, ["migrations"])["migrations"]
    assert sorted(done) == APPLIED


def test_text_on_postgresql_is_ordered_by_its_bytes_and_no_table_has_what_a_cluster_refuses(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home:
        home.agent("ana").remember("x")
    make_all_tables(postgres_url, NEW)
    schema = schema_on_server(postgres_url, NEW)
    ours = {row for row in schema["columns"] if row[0] != "migrations"}
    assert {collation for _, _, kind, _, _, collation, _ in ours if kind == "text"} == {"C"}
    assert {kind for _, _, kind, *_ in ours} == {
        "text",
        "bigint",
        "double precision",
        "bytea",
        "USER-DEFINED",  # pgvector's
    }
    assert {default for *_, default, _, _ in ours} == {None, "0", "'agent'::text", "'[]'::text"}
    assert all(definition.startswith(("PRIMARY KEY", "NOT NULL")) for _, _, definition in schema["constraints"])
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_trigger").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pg_sequences").fetchone() == (0,)


def test_a_schema_of_a_newer_recollect_is_refused(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home:
        home.agent("ana").remember("x")
    with psycopg.connect(postgres_url) as connection:
        query = quoting.SQL("INSERT INTO {} VALUES (%s, 'newer')").format(quoting.Identifier(NEW, "migrations"))
        connection.execute(query, (NUMBERS[-1] + 1,))
    before = schema_on_server(postgres_url, NEW)
    with recollect.open(postgres_url) as home:
        for call in (lambda: home.agent("ana").list(), lambda: home.agent("ana").remember("y")):
            with pytest.raises(ConfigError, match="newer"):
                call()
    assert schema_on_server(postgres_url, NEW) == before


# Both


@pytest.mark.parametrize("number", EARLIER[-1:])
def test_processes_that_migrate_at_once_do_it_once(location: str, number: int, only: Only, samples: Samples) -> None:
    if location.startswith("postgresql"):
        schema_made_by(location, number, only, samples)
    else:
        path = Path(location) if location.endswith(".db") else Path(location) / "workspaces" / "default" / "memory.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        file_of(path, number, only, samples)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, location, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(Path(recollect.__file__).parents[1])},
        )
        for place in range(3)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    outputs = [child.communicate(timeout=60) for child in children]
    assert [error for _, error in outputs] == [""] * 3
    assert sorted(int(seq) for seq, _ in outputs) == [2, 3, 4]
    with recollect.open(location) as home:
        assert len(home.agent("ben").list()) == 4
        assert home.check().findings == ()
    if location.startswith("postgresql"):
        done = rows_on_server(location, OLD, ["migrations"])["migrations"]
    else:
        done = rows_of_file(path)["migrations"]
    assert sorted(done) == APPLIED


@pytest.mark.parametrize(("unnamed", "lifetime"), [(True, "long_term"), (False, "short_term")])
def test_short_term_notes_without_a_name_become_long_term(
    location: str, only: Only, samples: Samples, unnamed: bool, lifetime: str
) -> None:
    changes = ["UPDATE entries SET lifetime = 'short_term'", *(["DELETE FROM names"] if unnamed else [])]
    made_before(location, 8, changes, only, samples)
    with recollect.open(location) as home:
        (entry,) = home.agent("ben").list()
        assert (entry.content, entry.lifetime) == ("an old note", lifetime)


def made_before(location: str, number: int, changes: list[str], only: Only, samples: Samples) -> None:
    """A database as the code of that day made it, with a row in each table, changed by these statements."""
    if location.startswith("postgresql"):
        schema_made_by(location, number, only, samples)
        with psycopg.connect(location) as server:
            server.execute(quoting.SQL("SET search_path TO {}").format(quoting.Identifier(OLD)))
            for change in changes:
                server.execute(change.encode())
    else:
        path = Path(location) if location.endswith(".db") else Path(location) / "workspaces" / "default" / "memory.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        file_of(path, number, only, samples)
        file = apsw.Connection(str(path))
        for change in changes:
            file.execute(change)
        file.close()


def test_vectors_of_contents_are_searched_until_those_of_names_and_contents_are_made(
    location: str, only: Only, samples: Samples
) -> None:
    embedder = HashEmbedder()
    (row,) = embedder.embed(["5433"])
    raw = f"'[{', '.join(map(str, row))}]'" if location.startswith("postgresql") else f"x'{row.tobytes().hex()}'"
    changes = [
        f"UPDATE entries SET content = '5433', content_hash = '{content_hash('5433')}'",
        "UPDATE names SET name = 'staging database port'",
        "UPDATE counters SET vectors = 1",
        "INSERT INTO embeddings (agent, entry_id, number, model, dim, vector)"
        f" SELECT agent, id, 1, 'hash', 64, {raw} FROM entries",
    ]
    made_before(location, 13, changes, only, samples)
    with recollect.open(location, embedder=embedder) as home:
        mem = home.agent("ben")

        def found(query: str) -> list[str]:
            return [hit.entry.content for hit in mem.recall(query, mode="vector")]

        assert found("5433") == ["5433"]  # and this recall has the new vector made
        wait_for("the new vector", lambda: found("staging database") == ["5433"])
        assert home.backfill() == 0


def test_migrations_are_numbered_without_a_gap_and_named_after_what_they_add() -> None:
    assert list(range(1, len(NUMBERS) + 1)) == NUMBERS
    assert all(re.fullmatch(r"[a-z_]+", migration.name) for migration in migrations())
