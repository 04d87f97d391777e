"""What only a PostgreSQL server can do to a memory: few connections, lost schemas and tables, locks, other settings."""

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from crash.evidence import raw, schemas
from embedders import HashEmbedder
from postgres import Server, free_port, wait_for
from proxy import Proxy

import recollect
from recollect import Add, Alias, ConfigError, Corrupt, Home, Memory, Unavailable, Write
from recollect.storage.named_queries import queries
from recollect.storage.postgres import administration, table_groups
from recollect.storage.postgres import server as postgres_module
from recollect.storage.postgres.schemas import ACCOUNT, Schemas, schema_of
from recollect.storage.schema import layout

ANA, BEN = schema_of("default", "ana"), schema_of("default", "ben")


@pytest.fixture
def home(postgres_url: str) -> Iterator[Home]:
    """An empty home on the server."""
    with recollect.open(postgres_url) as opened:
        yield opened


@contextmanager
def administrator(url: str) -> Iterator[Callable[[str], Any]]:
    """A function that runs SQL at once, past recollect."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection.execute


def make_all_tables(url: str, *schemas: str) -> None:
    """Create the groups of tables that schemas do not have yet."""
    server = postgres_module.PostgresServer(url)
    for schema in schemas:
        for group in table_groups.FOLLOWING:
            Schemas(server).add_group(schema, group)
    server.close()


# Connections


@pytest.mark.parametrize(("query", "patience"), [("", 5_000), ("?tcp_user_timeout=90000", 90_000)])
def test_a_connection_gives_up_a_silent_host_after_seconds_unless_the_address_says_otherwise(
    postgres_url: str, query: str, patience: int
) -> None:
    server = postgres_module.PostgresServer(postgres_url + query)
    with server.connection(None) as connection, socket.socket(fileno=os.dup(connection.fileno())) as opened:
        options = {
            name: opened.getsockopt(socket.IPPROTO_TCP, number)
            for name, number in (
                ("user_timeout", socket.TCP_USER_TIMEOUT),
                ("idle", socket.TCP_KEEPIDLE),
                ("interval", socket.TCP_KEEPINTVL),
                ("count", socket.TCP_KEEPCNT),
            )
        }
    server.close()
    assert options == {"user_timeout": patience, "idle": 3, "interval": 2, "count": 3}


def test_a_server_that_is_gone_is_unavailable_and_never_damaged(postgres_url: str) -> None:
    with Proxy(postgres_url) as proxy:
        home = recollect.open(proxy.url, settings=recollect.Settings(embedder={"kind": "none"}))
        mem = home.agent("ana")
        mem.remember("likes tea", name="tea")
        mem.recall("tea")
        home.flush()
    for call in (lambda: mem.get("tea"), lambda: mem.recall("tea"), lambda: mem.remember("likes cake")):
        with pytest.raises(Unavailable, match="cannot reach"):
            call()
    home.close()


def test_a_commit_that_the_server_turns_into_a_rollback_is_an_error(postgres_url: str) -> None:
    server = postgres_module.PostgresServer(postgres_url)
    with (
        pytest.raises(Unavailable, match="nothing was written"),
        server.session("BEGIN") as session,
        suppress(psycopg.errors.DivisionByZero),
    ):
        session.fetch([(b"SELECT 1 / 0", None)])
    server.close()


def everything(home: Home, agent: str, folder: Path) -> None:
    """Each way to read and write, in both scopes."""
    mem = home.agent(agent)
    first = mem.remember("likes tea", scope="account", name=f"{agent} tea")  # no workspace yet
    mem.remember("likes the kettle", name=f"{agent} kettle")
    mem.remember("likes cake", scope="account", name=f"{agent} cake")
    mem.remember_many([Add("one", name=f"{agent} 1"), Add("two", name=f"{agent} 2", scope="account"), Add("three")])
    mem.apply(Alias(f"{agent} kettle", name=f"{agent} pot"))
    mem.apply(Alias(f"{agent} tea", name=f"{agent} pot"))  # the alias moves to the other scope, and back
    mem.apply(Alias(f"{agent} kettle", name=f"{agent} pot"))
    mem.apply(Write(f"{agent} tea", content="likes green tea"))
    mem.upsert(f"{agent} key", "a value")
    mem.forget(f"{agent} cake")
    mem.restore(f"{agent} cake")
    assert mem.get(first.id).content == "likes green tea"
    assert len(mem.list()) == 7
    assert {hit.entry.name for hit in mem.recall("likes")} == {f"{agent} {name}" for name in ("tea", "kettle", "cake")}
    conversation = mem.conversations.start()
    conversation.user("hello")
    conversation.end()
    mem.context("tea")
    mem.history(first.id)
    home.flush()
    assert len(mem.forget(f"{agent} 1", erase=True).verified) > 1
    home.backup(folder / f"{agent}.backup")
    home.export(folder / f"{agent}.jsonl")


def test_one_connection_is_enough_for_everything_on_many_threads(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "POOL_SIZE", 1)
    monkeypatch.setattr(postgres_module, "WAIT_SECONDS", 300)
    agents = ["ana", "ben", "cleo"]
    with recollect.open(postgres_url) as home, ThreadPoolExecutor(len(agents)) as threads:
        list(threads.map(lambda agent: everything(home, agent, tmp_path), agents))
        home.jobs.run_due()
        assert home.stats().agents
        assert home.check().findings == ()
        home.delete_workspace("default")


@pytest.fixture
def pgbouncer_url(postgres_url: str, tmp_path: Path) -> Iterator[str]:
    """The same database behind a PgBouncer that gives each transaction another of two sessions."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if program is None:
        pytest.skip("no pgbouncer is installed here; `apt-get install pgbouncer` brings one")
    server, _, database = postgres_url.removeprefix("postgresql://postgres@127.0.0.1:").partition("/")
    port, settings = free_port(), tmp_path / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={server} user=postgres\n[pgbouncer]\npool_mode = transaction\n"
        f"auth_type = any\ndefault_pool_size = 2\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
    )
    account = ["-u", "nobody"] if os.geteuid() == 0 else []
    with (tmp_path / "pgbouncer.log").open("wb") as log, settings.open("rb") as given:
        process = subprocess.Popen([program, *account, "/dev/stdin"], stdin=given, stdout=log, stderr=log)
    url = f"postgresql://postgres@127.0.0.1:{port}/{database}"
    try:
        wait_for("PgBouncer to take connections", lambda: process.poll() is not None or accepts(url))
        yield url
    finally:
        process.kill()
        process.wait()


def accepts(url: str) -> bool:
    """Whether a client can connect."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def test_everything_works_behind_a_pooler_that_changes_sessions_between_transactions(
    pgbouncer_url: str, tmp_path: Path
) -> None:
    agents = ["ana", "ben", "cleo"]
    with recollect.open(pgbouncer_url) as home, ThreadPoolExecutor(len(agents)) as threads:
        list(threads.map(lambda agent: everything(home, agent, tmp_path), agents))
        for agent in agents:  # often enough for the driver to prepare its statements
            assert [len(home.agent(agent).recall("likes")) for _ in range(8)] == [3] * 8
        home.jobs.run_due()
        assert home.check().findings == ()
        home.delete_workspace("default")


def test_a_write_waits_for_the_disk_where_the_default_of_the_server_is_not_to(postgres_url: str) -> None:
    with administrator(postgres_url) as run:
        run("ALTER DATABASE " + postgres_url.rpartition("/")[2] + " SET synchronous_commit TO off")
    server = postgres_module.PostgresServer(postgres_url)
    with server.connection("BEGIN") as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    server.close()


@pytest.mark.parametrize("made", [False, True], ids=["a new account", "an account that is there"])
def test_many_threads_that_name_notes_of_the_account_do_not_starve_each_other(
    postgres_url: str, made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "POOL_SIZE", 2)
    monkeypatch.setattr(postgres_module, "WAIT_SECONDS", 300)
    names = [f"agent-{number}" for number in range(4)]
    with recollect.open(postgres_url) as home:
        for name in names:
            home.agent(name).remember("x")
        if made:
            home.agent("ana").remember("x", scope="account", name="first")
    together = threading.Barrier(len(names))

    def write(mem: Memory) -> None:
        together.wait()
        mem.remember("a preference", scope="account", name="preference")

    with recollect.open(postgres_url) as home, ThreadPoolExecutor(len(names)) as threads:
        memories = [home.agent(name) for name in names]
        for mem in memories:
            mem.list(scope="workspace")
        home._place._schemas.known.pop(ACCOUNT, None)  # type: ignore[attr-defined]
        list(threads.map(write, memories))
        assert [mem.get("preference").content for mem in memories] == ["a preference"] * len(names)


# A schema that is gone


def calls(home: Home, tmp_path: Path) -> list[Callable[[], object]]:
    mem = home.agent("ana")
    return [
        mem.list,
        lambda: mem.recall("kettle"),
        lambda: mem.get("k"),
        lambda: mem.remember("again"),
        lambda: mem.remember("again", name="again"),
        lambda: mem.remember("again", scope="account", name="again"),
        lambda: home.backup(tmp_path / "copy"),
        lambda: home.export(tmp_path / "all.jsonl"),
    ]


@pytest.mark.parametrize("open_meanwhile", [False, True], ids=["a new process", "a process that knew it"])
def test_an_agent_whose_schema_is_lost_is_damaged_and_never_empty(
    postgres_url: str, tmp_path: Path, open_meanwhile: bool
) -> None:
    with recollect.open(postgres_url) as home, administrator(postgres_url) as run:
        for agent in ("ana", "ben", "cleo"):
            home.agent(agent).remember("kettle", name="k")
        run(f'DROP SCHEMA "{ANA}" CASCADE')
        run(f'DROP SCHEMA "{BEN}" CASCADE')
        with recollect.open(postgres_url) as new:
            used = home if open_meanwhile else new
            for call in calls(used, tmp_path):
                with pytest.raises(Corrupt, match=rf"'ana'.* has no schema {ANA}\. Restore .*delete the workspace"):
                    call()
            findings = used.check().findings
            for agent, schema in (("ana", ANA), ("ben", BEN)):
                assert any(one.where == f"default/{agent}" and schema in one.message for one in findings)
            assert not any("cleo" in one.where for one in findings)
            assert [entry.content for entry in used.agent("cleo").list()] == ["kettle"]
        assert schemas(postgres_url) == ["recollect_control", schema_of("default", "cleo")]


def test_what_the_message_of_a_lost_schema_advises_works(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home, administrator(postgres_url) as run:
        for workspace in ("default", "other"):
            home.agent("ana", workspace).remember("kettle")
            run(f'DROP SCHEMA "{schema_of(workspace, "ana")}" CASCADE')
        run("DELETE FROM recollect_control.agents WHERE workspace = 'default' AND agent = 'ana'")
        home.delete_workspace("other")
        for workspace in ("default", "other"):
            assert home.agent("ana", workspace).list() == []
            assert home.agent("ana", workspace).remember("afresh").seq == 1
        assert home.check().findings == ()


def test_an_agent_that_was_deleted_or_never_was_is_an_empty_memory(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle")
    with recollect.open(postgres_url) as other:
        other.delete_workspace("default")
    assert home.agent("ana").list() == []
    assert home.agent("nobody").list() == []
    assert home.check().findings == ()
    assert home.agent("ana").remember("afresh").seq == 1


def test_an_agent_that_another_process_makes_at_this_moment_is_not_lost(
    home: Home, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.agent("ben").remember("the list of agents is there")
    looked = Schemas.is_visible
    with recollect.open(postgres_url) as other:
        looks: list[bool] = []

        def sees(self: Any, connection: Any, schema: str) -> bool:
            there = looked(self, connection, schema)
            if schema == ANA:
                looks.append(there)
                if len(looks) == 2:  # it is not there, and the list is read next
                    other.agent("ana").remember("kettle")
            return there

        with monkeypatch.context() as patch:
            patch.setattr(home._place._schemas, "is_visible", sees.__get__(home._place._schemas))  # type: ignore[attr-defined]
            assert home.agent("ana").list() == []
        assert looks == [False, False]
        assert [entry.content for entry in home.agent("ana").list()] == ["kettle"]


# A part of a schema that is gone


@pytest.mark.parametrize("table", ["tail", "counters", "migrations"])
def test_a_missing_table_is_damage_and_check_names_it(postgres_url: str, table: str) -> None:
    with recollect.open(postgres_url) as home, raw(postgres_url) as run, recollect.open(postgres_url) as used:
        home.agent("ana").remember("kettle", name="k")
        home.agent("ana", "other").remember("kettle", name="k")
        run(f"DROP TABLE {table}")
        run("COMMIT")
        mem = used.agent("ana")
        for call in (lambda: mem.recall("kettle"), lambda: mem.remember("x"), lambda: home.agent("ana").remember("x")):
            with pytest.raises(Corrupt, match=rf"{ANA} on .* has no {table}\b.* Restore the schema"):
                call()
        for report in (used.check(), used.check(repair=True)):
            assert any(one.where == "default/ana" and f"has no {table}" in one.message for one in report.findings)
            assert not report.ok
            assert report.entries == 1
        assert [hit.entry.name for hit in used.agent("ana", "other").recall("kettle")] == ["k"]


def test_a_missing_column_is_damage(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle")
    with raw(postgres_url) as run:
        run("ALTER TABLE entries DROP COLUMN importance")
    with pytest.raises(Corrupt, match=f"{ANA} on .*importance.* Restore the schema"):
        home.agent("ana").list()
    assert any("importance" in finding.message for finding in home.check().findings)


def test_a_missing_table_of_the_account_is_damage_also_beside_a_workspace(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle", name="k")
    home.agent("ana").remember("kettle", name="a", scope="account")
    with administrator(postgres_url) as run:
        run("DROP TABLE recollect_account.names")
    with pytest.raises(Corrupt, match=r"recollect_account on .* has no names\b"):
        home.agent("ana").remember("tea", name="t")
    findings = home.check().findings
    assert any(one.where == "account" and "has no names" in one.message for one in findings)


def test_missing_keys_and_indexes_are_found(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle", name="k")
    home.agent("ana").remember("kettle", name="a", scope="account")
    make_all_tables(postgres_url, ACCOUNT)
    assert home.check().findings == ()
    with raw(postgres_url) as run:
        run("ALTER TABLE names DROP CONSTRAINT names_pkey")
        run("DROP INDEX entries_doc")
        run("DROP INDEX recollect_account.tokens_hash")
    account, ana = home.check().findings
    assert (account.where, ana.where) == ("account", "default/ana")
    assert "has no tokens_hash." in account.message
    assert "has no entries_doc and no names_pkey." in ana.message


def test_what_a_schema_should_have_is_what_a_new_one_has(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("kettle")
    with raw(postgres_url) as run:
        new = {name for (name,) in run(f"SELECT relname FROM pg_class WHERE relnamespace = '{ANA}'::regnamespace")}
    assert new == table_groups.parts_of(frozenset({"core"})) | {"migrations", "migrations_pkey"}
    make_all_tables(postgres_url, ANA)
    with raw(postgres_url) as run:
        tables = {name for (name,) in run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{ANA}'")}
        indexes = {name for (name,) in run(f"SELECT indexname FROM pg_indexes WHERE schemaname = '{ANA}'")}
    assert {name for name, kind in layout().items() if kind == "TABLE"} == tables - {"migrations"}
    assert {name for name, kind in layout().items() if kind == "INDEX"} == {
        name for name in indexes if not name.endswith("_pkey")
    }


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and made again"])
def test_a_workspace_that_goes_while_it_is_read_is_to_be_tried_again(
    home: Home, postgres_url: str, again: bool
) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")

    def read() -> None:
        with mem._workspace.read() as tx:
            assert tx.generation  # which begins the transaction and locks no table
            other.delete_workspace("default")
            try:
                tx.all("names.of", ids=["x"])
            finally:
                if again:
                    other.agent("ana").remember("kettle")

    with recollect.open(postgres_url) as other, pytest.raises(Unavailable, match="try again"):
        read()
    assert len(mem.list()) == again


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and made again"])
def test_a_workspace_that_goes_before_the_first_query_is_read_as_it_is_then(
    home: Home, postgres_url: str, again: bool
) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")
    with recollect.open(postgres_url) as other, mem._workspace.read() as tx:
        other.delete_workspace("default")
        if again:
            other.agent("ana").remember("teapot")
        assert [row[0] for row in tx.all("entries.after_id", id="", limit=9)] == [
            entry.id for entry in other.agent("ana").list()
        ]
        assert tx.all("names.of", ids=["x"]) == []


def test_a_write_into_a_workspace_that_was_just_deleted_makes_it_again(home: Home, postgres_url: str) -> None:
    mem = home.agent("ana")
    mem.remember("kettle")
    with recollect.open(postgres_url) as other:
        other.delete_workspace("default")
        mem.remember("teapot", name="pot")
        assert [entry.content for entry in other.agent("ana").list()] == ["teapot"]


# Erasing while others use the server


def test_an_erasure_does_not_wait_for_who_reads_the_table(
    home: Home, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administration, "LOCK_SECONDS", 0.05)
    mem = home.agent("ana")
    entry = mem.remember("the secret of the mat")
    with raw(postgres_url) as reader:
        reader("SELECT count(*) FROM entries")
        receipt = mem.forget(entry.id, erase=True)
        assert any("keeps the deleted rows for an open transaction; erase again" in one for one in receipt.remaining)
        assert receipt.verified == ("entries", "operation log", "every table")
    with home._place._server.connection(None) as connection:  # type: ignore[attr-defined]
        assert connection.execute("SHOW lock_timeout").fetchone() == ("0",)
    assert f"tables and indexes of schema {ANA}" in mem.forget(entry.id, erase=True).verified


def test_an_erasure_looks_again_for_rows_that_a_transaction_kept_for_a_moment(
    home: Home, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem = home.agent("ana")
    entry = mem.remember("the secret of the mat")
    files: list[dict[str, int]] = []

    def written() -> dict[str, int]:
        with raw(postgres_url) as run:
            return dict(
                run("SELECT relname, relfilenode FROM pg_class WHERE relnamespace = current_schema::regnamespace")
            )

    with psycopg.connect(postgres_url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM pg_class")

        def sleep(seconds: float) -> None:
            reader.rollback()
            files.append(written())
            time.sleep(seconds)

        monkeypatch.setattr(administration, "time", SimpleNamespace(sleep=sleep))
        receipt = mem.forget(entry.id, erase=True)
    assert f"tables and indexes of schema {ANA}" in receipt.verified
    assert not any("keeps the deleted rows" in one for one in receipt.remaining)
    assert files
    again = {name for name, file in written().items() if file != files[0][name]}
    assert "entries" in again
    assert "names" not in again  # nothing of it was kept


# Other servers


@pytest.mark.parametrize("options", ["", "?options=-c%20search_path%3D%22Own%22"], ids=["made before", "made by us"])
def test_the_extension_may_be_in_any_schema(postgres_url: str, options: str) -> None:
    with administrator(postgres_url) as run:
        run('CREATE SCHEMA "Own"')
        if not options:
            run('CREATE EXTENSION vector SCHEMA "Own"')
    for _ in range(2):
        with recollect.open(postgres_url + options, embedder=HashEmbedder()) as home:
            mem = home.agent("ana")
            mem.remember("the kettle is in the kitchen")
            mem.remember("a preference", scope="account", name=f"p{len(mem.list())}")
            assert mem.recall("kettle kitchen", mode="vector")[0].entry.content == "the kettle is in the kitchen"
            assert home.check().findings == ()
    with administrator(postgres_url) as run:
        row = run(
            "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'"
        )
        assert row.fetchone() == ("Own",)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text_is_refused(postgres_server: Server, encoding: str) -> None:
    name = f"encoded_{encoding.lower()}"
    with administrator(postgres_server.url()) as run:
        run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE_PROVIDER libc LOCALE 'C'")
        try:
            with pytest.raises(ConfigError, match=f"encoded in {encoding}.*ENCODING 'UTF8'"):
                recollect.open(postgres_server.url(name))
            assert schemas(postgres_server.url(name)) == []
        finally:
            run(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_encoding_of_the_environment_changes_nothing(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with recollect.open(postgres_url) as home:
        entry = home.agent("ana").remember("東京 é", name="名")
        assert home.agent("ana").get("名").content == entry.content == "東京 é"


def test_a_server_that_only_reads_can_be_read_and_says_what_to_do_on_a_write(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home:
        home.agent("ana").remember("kettle")
    with administrator(postgres_url) as run:
        run(f'ALTER DATABASE "{postgres_url.rpartition("/")[2]}" SET default_transaction_read_only TO on')
    with recollect.open(postgres_url) as home:
        assert [entry.content for entry in home.agent("ana").list()] == ["kettle"]
        assert home.check().findings == ()
        for agent in ("ana", "new"):
            with pytest.raises(ConfigError, match=r"is read-only.*nothing was written\. Use the address"):
                home.agent(agent).remember("x")


def test_no_query_compares_each_row_with_all_rows_of_another_table(home: Home, postgres_url: str) -> None:
    home.agent("ana").remember("a note")
    make_all_tables(postgres_url, ANA)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'SET search_path TO "{schema_of("default", "ana")}", recollect_control')
        explained = 0
        for name, sql in queries().items():
            with suppress(psycopg.Error):  # a value of a type that '1' is not
                plan = connection.execute("EXPLAIN " + re.sub(r"(?<!:):\w+[*!]?", "'1'", sql)).fetchall()
                explained += 1
                assert not [step for (step,) in plan if re.search(r"Join Filter:.*SubPlan", step)], name
        assert explained > 0.9 * len(queries())
