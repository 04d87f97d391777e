"""Tables of an agent on PostgreSQL that are created by the first row for one of them."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from postgres import wait_for

import recollect
from recollect import ConfigError, Home, wiring
from recollect.storage.postgres import server
from recollect.storage.postgres.schemas import Schemas, schema_of
from recollect.storage.postgres.server import PostgresServer
from recollect.storage.postgres.table_groups import ALL, FOLLOWING, empty_schema, group_of

ANA = schema_of("default", "ana")


@pytest.fixture
def home(postgres_url: str) -> Iterator[Home]:
    """An empty home on the server."""
    with recollect.open(postgres_url) as opened:
        yield opened


def groups_of(url: str, schema: str) -> set[str]:
    """The groups of tables of a schema, by its tables."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    return {group_of(table) for (table,) in rows}


def test_the_tables_of_a_feature_are_created_by_its_first_row(home: Home, postgres_url: str) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")
    assert mem.recall("kettle")
    assert mem.reminders.list() == []
    assert mem.conversations.list() == []
    assert groups_of(postgres_url, ANA) == {"core"}
    mem.reminders.add("1h", "buy tea")
    assert groups_of(postgres_url, ANA) == {"core", "reminders"}
    conversation = mem.conversations.start()
    conversation.user("hello")
    assert groups_of(postgres_url, ANA) == {"core", "reminders", "conversations"}
    assert [event.content for event in conversation.events()] == ["hello"]


def test_tables_that_another_process_creates_are_seen_at_once(home: Home, postgres_url: str) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")
    for _ in range(8):  # a query is prepared after five times
        assert mem.reminders.list() == []
    with recollect.open(postgres_url) as other:
        reminder = other.agent("ana").reminders.add("1h", "buy tea")
    assert [one.id for one in mem.reminders.list()] == [reminder.id]
    with recollect.open(postgres_url) as other:
        other.agent("ana").conversations.start().user("hello")
    mem.conversations.start().user("hello again")
    assert len(mem.conversations.list()) == 2


def test_a_table_that_is_created_is_missing_again_after_the_workspace_was_deleted(
    home: Home, postgres_url: str
) -> None:
    mem = home.agent("ana")
    mem.reminders.add("1h", "buy tea")
    with recollect.open(postgres_url) as other:
        other.delete_workspace("default")
        other.agent("ana").remember("kettle")
    assert groups_of(postgres_url, ANA) == {"core"}
    reminder = mem.reminders.add("1h", "buy milk")
    assert [one.id for one in mem.reminders.list()] == [reminder.id]


def test_first_rows_on_many_threads_create_tables_once(home: Home, postgres_url: str) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")
    start = threading.Barrier(4)

    def create(number: int) -> str:
        start.wait()
        with recollect.open(postgres_url) as own:
            return own.agent("ana").reminders.add("1h", f"task {number}").id

    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(create, range(4)))
    assert {one.id for one in mem.reminders.list()} == made


def test_a_writer_sees_the_tables_that_were_created_while_it_waited_for_the_other_one(
    home: Home, postgres_url: str
) -> None:
    mem = home.agent("ana")
    for _ in range(8):  # a query is prepared after five times
        assert mem.forget(mem.remember("kettle").id)
    entry = mem.remember("teapot")
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with recollect.open(postgres_url) as other, ThreadPoolExecutor(1) as pool:
        with other.agent("ana")._workspace.write() as work:
            forgotten = pool.submit(mem.forget, entry.id)
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                wait_for("the second writer to wait", lambda: connection.execute(waiting).fetchone() is not None)
            vector = work.tx.vector(bytes(4) * 3)
            work.tx.run("vectors.put", entry_id=entry.id, number=1, model="m", dim=3, vector=vector, stale=0)
            work.counters.vectors = 1
        assert forgotten.result()
    assert groups_of(postgres_url, ANA) == {"core", "removals", "vectors"}
    assert mem._workspace.vectors is None  # so no other query has dealt with the vector
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute(f'SELECT entry_id FROM "{ANA}".embeddings'.encode()).fetchall() == []


def test_a_schema_gets_the_other_tables_where_the_server_needs_all(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle")
    home.agent("ana").reminders.add("1h", "buy tea")
    server = PostgresServer(postgres_url)
    server.connect()
    server.pooled = True
    Schemas(server).prepare(ANA, ("default", "ana"))
    server.close()
    assert groups_of(postgres_url, ANA) == ALL
    assert [one.message for one in home.agent("ana").reminders.list()] == ["buy tea"]


def test_the_empty_tables_refuse_rows(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        checked = connection.execute(
            "SELECT relname, pg_get_constraintdef(pg_constraint.oid) FROM pg_constraint "
            "JOIN pg_class ON pg_class.oid = conrelid WHERE conname = 'holds_no_rows'"
        ).fetchall()
        with pytest.raises(psycopg.errors.CheckViolation, match="holds_no_rows"):
            connection.execute("INSERT INTO recollect_without_removals.removals VALUES ('ana', 1, 1, 'x', 'y')")
    tables = [table for group in FOLLOWING.values() for table in group]
    assert sorted(checked) == sorted((table, "CHECK (false)") for table in tables)


def test_empty_tables_that_a_backup_left_out_are_created_again(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for group in FOLLOWING:
            connection.execute(f'DROP SCHEMA "{empty_schema(group)}" CASCADE'.encode())
    with recollect.open(postgres_url) as restored:
        mem = restored.agent("ana")
        assert mem.reminders.list() == []
        assert [hit.entry.content for hit in mem.recall("kettle")] == ["kettle"]
        assert restored.check().ok


def test_comments_that_a_backup_left_out_are_created_again(home: Home, postgres_url: str) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")
    mem.reminders.add("1h", "buy tea")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for schema in (ANA, *map(empty_schema, FOLLOWING)):
            for table in ("counters", "migrations"):
                with suppress(psycopg.errors.UndefinedTable):
                    connection.execute(f'COMMENT ON TABLE "{schema}".{table} IS NULL'.encode())
    with recollect.open(postgres_url) as restored:
        again = restored.agent("ana")
        assert again.conversations.list() == []
        assert [one.message for one in again.reminders.list()] == ["buy tea"]
        assert [entry.content for entry in again.list()] == ["kettle"]
        assert restored.check().ok
        again.conversations.start().user("hello")
    assert len(mem.conversations.list()) == 1
    assert {"core", "reminders", "conversations"} <= groups_of(postgres_url, ANA) < ALL


def test_an_agent_without_the_right_to_create_tables_reads_and_writes_those_that_are_there(
    home: Home, postgres_url: str
) -> None:
    home.agent("ana").remember("kettle")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        run = connection.execute
        run("CREATE ROLE clerk LOGIN")
        try:
            for schema in [ANA, "recollect_control", *map(empty_schema, FOLLOWING)]:
                run(f'GRANT USAGE ON SCHEMA "{schema}" TO clerk'.encode())
                run(f'GRANT ALL ON ALL TABLES IN SCHEMA "{schema}" TO clerk'.encode())
            with recollect.open(postgres_url.replace("postgres@", "clerk@")) as own:
                mem = own.agent("ana")
                mem.remember("tea")
                assert len(mem.list()) == 2
                with pytest.raises(ConfigError, match="grant it CREATE"):
                    mem.reminders.add("1h", "buy tea")
                assert mem.reminders.list() == []
        finally:
            run("DROP OWNED BY clerk")
            run("DROP ROLE clerk")


def test_a_connection_that_has_used_many_schemas_is_replaced(
    home: Home, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_SCHEMAS", 4)

    def processes() -> set[int]:
        with psycopg.connect(postgres_url) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            return {pid for (pid,) in rows}

    for number in range(3):
        home.agent(f"agent-{number}").remember("kettle")
    before = processes()
    for _ in range(5):
        home.agent("agent-2").remember("tea")
    assert before <= processes()  # few schemas, however often they are used
    home.agent("agent-3").remember("kettle")
    home.agent("agent-4").remember("kettle")
    wait_for("the end of the connection", lambda: not before & processes(), seconds=30)
    assert [len(home.agent(f"agent-{number}").list()) for number in range(5)] == [1, 1, 6, 1, 1]


def test_a_backup_has_the_agents_of_all_its_transactions(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "AGENTS_AT_ONCE", 2)
    for number in range(5):
        home.agent(f"agent-{number}").remember(f"kettle {number}")
    home.agent("agent-3").reminders.add("1h", "buy tea")
    home.backup(tmp_path / "copy")
    with recollect.open(tmp_path / "copy") as copy:
        for number in range(5):
            assert [entry.content for entry in copy.agent(f"agent-{number}").list()] == [f"kettle {number}"]
        assert [one.message for one in copy.agent("agent-3").reminders.list()] == ["buy tea"]
        assert copy.agent("agent-2").reminders.list() == []
        assert copy.check().ok
