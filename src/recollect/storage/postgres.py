"""The PostgreSQL side of the database seam: a schema per workspace and agent. The only file that imports psycopg.

The schema is selected for the transaction and the same SQL runs as on SQLite. `recollect_control` lists workspaces,
agents and their schemas; `recollect_account` holds the account's entries of all agents. Nothing used here is beyond
what a cluster that shards by schema accepts: no triggers, no identity columns, no foreign keys.
"""

import logging
import os
import re
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg import sql as quoting
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from recollect.errors import ConfigError, Conflict, Corrupt, RecollectError, Unavailable
from recollect.model.report import Finding
from recollect.names import short_hash
from recollect.storage.database import Database, Row, Transaction, expand, migrations, statement

__all__ = ["PostgresDatabase", "PostgresServer", "PostgresTransaction", "dialect", "schema_of"]

ACCOUNT = "recollect_account"
CONTROL = "recollect_control"
MINIMUM = 15
CONNECT_SECONDS = 5
WAIT_SECONDS = 30
POOL_SIZE = 10
_PARAMETER = re.compile(r"(?<!:):(\w+)")
_DIALECT = (
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) STRICT(, WITHOUT ROWID)?"), ")"),
)
# Columns of text that hold nothing of what people wrote, so that the planner may know their values.
_PLANNED = ("agent", "id", "entry_id", "kind", "category", "scope", "lifetime", "operation", "phase")
# What a server says to an address that will not do however often it is tried.
_REFUSALS = ("does not exist", "authentication failed", "no password supplied", "connection is bad: invalid")
_CONTROL_TABLES = (
    'CREATE TABLE IF NOT EXISTS {}.agents (workspace TEXT COLLATE "C" NOT NULL, agent TEXT COLLATE "C" NOT NULL, '
    "schema TEXT NOT NULL, PRIMARY KEY (workspace, agent))"
)
# What goes wrong in the background is raised where a connection is needed; it is not for the terminal as well.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
# Pools that a forked child inherited: their connections are the parent's, so they are only kept.
_inherited: list[ConnectionPool[psycopg.Connection[Row]]] = []


@cache
def _converted(text: str) -> bytes:
    """A query in psycopg's own parameter style."""
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")).encode()


def schema_of(workspace: str, agent: str) -> str:
    """The name of the schema for an agent of a workspace: readable, unique, and within PostgreSQL's 63 bytes."""
    words = (re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_")[:18] or "x" for part in (workspace, agent))
    return f"recollect_{'_'.join(words)}_{short_hash(workspace, agent)}"


def dialect(text: str) -> str:
    """A migration in PostgreSQL's words."""
    for pattern, words in _DIALECT:
        text = pattern.sub(words, text)
    return text


class PostgresTransaction(Transaction):
    """A transaction on one connection, with the agent's schema selected."""

    ranks_vectors = True

    def __init__(self, connection: psycopg.Connection[Row], agent: str, generation: int) -> None:
        self.agent, self.generation = agent, generation
        self._cursor = connection.cursor(binary=True)

    @contextmanager
    def beside(self, database: Database, agent: str, *, write: bool) -> Iterator[Transaction]:
        """A part of this transaction, on its connection: who holds a lock must not wait for another one."""
        assert isinstance(database, PostgresDatabase)
        with database.within(self._cursor.connection, agent, write=write) as tx:
            yield tx

    def vector(self, values: bytes) -> str:
        """A vector as pgvector reads it."""
        return f"[{','.join(map(repr, array('f', values)))}]"

    def vector_bytes(self, raw: Any) -> bytes:
        """A vector as pgvector sends it, as f32, little endian."""
        return _floats(raw)

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """The rows of a named query."""
        text, bound = expand(query, values)
        bound["agent"] = self.agent
        return self._cursor.execute(_converted(text), bound).fetchall()

    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query; the number of rows it changed."""
        text, bound = expand(query, values)
        bound["agent"] = self.agent
        return self._cursor.execute(_converted(text), bound).rowcount

    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once per row of values."""
        agent = self.agent
        self._cursor.executemany(_converted(statement(query)), [{**row, "agent": agent} for row in rows])

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Put whole rows into a table."""
        place = quoting.Identifier(table), quoting.SQL(", ").join(map(quoting.Identifier, columns))
        with self._cursor.copy(quoting.SQL("COPY {} ({}) FROM STDIN").format(*place)) as copy:
            for row in rows:
                copy.write_row(row)


class PostgresServer:
    """One database on a PostgreSQL server: its connections, and the list of workspaces and agents."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.where = _without_password(url)
        self._pool: ConnectionPool[psycopg.Connection[Row]] | None = None
        self._guard = threading.Lock()
        self._owner = os.getpid()
        self.known: set[str] = set()

    def connect(self) -> ConnectionPool[psycopg.Connection[Row]]:
        """Make sure that the server is there and fit; raises Unavailable or ConfigError with what to do."""
        self._own()
        with self._guard, self.errors():
            if self._pool is not None:
                return self._pool
            try:
                first = psycopg.connect(self.url, connect_timeout=CONNECT_SECONDS, autocommit=True)
            except psycopg.ProgrammingError:
                raise ConfigError(
                    f"{self.where} is not a usable address; write it as postgresql://user:password@host:port/database, "
                    "with %40 for an @ in the password"
                ) from None
            with first as connection:
                version = connection.info.server_version // 10_000
                if version < MINIMUM:
                    raise ConfigError(f"{self.where} is PostgreSQL {version}; recollect needs {MINIMUM} or newer")
                vector = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()
                if vector is None:
                    raise ConfigError(
                        f"{self.where} has no pgvector; install the package for PostgreSQL {version} "
                        f"(for instance postgresql-{version}-pgvector) on the server and try again"
                    )
            pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
                self.url, min_size=0, max_size=POOL_SIZE, open=False, reconnect_timeout=CONNECT_SECONDS,
                configure=_configure, kwargs={"autocommit": True, "connect_timeout": CONNECT_SECONDS},
            )  # fmt: skip
            pool.open()
            self._pool = pool
            return pool

    @contextmanager
    def connection(self, begin: str | None) -> Iterator[psycopg.Connection[Row]]:
        """A connection in a transaction that was begun with the given statements, or in none."""
        pool = self.connect()
        with self.errors():
            try:
                connection = self._begin(pool, begin)
            except PoolClosed:
                # Another thread closed the home at this moment. It can be used again, so this one goes on.
                pool = self.connect()
                connection = self._begin(pool, begin)
            except psycopg.OperationalError:
                # The server closed this connection while it was idle: nothing was begun, so take a new one.
                pool.check()
                connection = self._begin(pool, begin)
            try:
                yield connection
                if begin is not None:
                    connection.execute("COMMIT")
            except BaseException:
                if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.cancel_safe(timeout=1.0)
                    connection.rollback()
                raise
            finally:
                pool.putconn(connection)

    def _begin(self, pool: ConnectionPool[psycopg.Connection[Row]], begin: str | None) -> psycopg.Connection[Row]:
        """A connection of the pool, after the statements; it is known to be alive."""
        try:
            connection = pool.getconn(1)
        except PoolTimeout:
            # All are in use, or the server is gone: this tells which, and why.
            psycopg.connect(self.url, connect_timeout=CONNECT_SECONDS).close()
            connection = pool.getconn(WAIT_SECONDS)
        try:
            connection.execute((begin or "SELECT 1").encode())
        except BaseException:
            pool.putconn(connection)
            raise
        return connection

    def has(self, schema: str) -> bool:
        """Whether a schema of ours is there now: the server is asked, as another process may have deleted it."""
        with self.connection(None) as connection:
            found = connection.execute(
                "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'migrations'", (schema,)
            ).fetchone()
        if found is None:
            self.known.discard(schema)
            return False
        self.prepare(schema, None)
        return True

    def prepare(self, schema: str, owner: tuple[str, str] | None) -> None:
        """Create a schema, or bring it up to date. Safe when several processes do it at once."""
        if schema in self.known or self._is_current(schema):
            self.known.add(schema)
            return
        name = quoting.Identifier(schema)
        newest = migrations()[-1].number
        with self.connection("BEGIN") as connection:
            # One lock for all schema work of recollect in this database: it is rare, and the order never matters.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (int(short_hash(CONTROL), 16),))
            connection.execute(quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(quoting.Identifier(CONTROL)))
            connection.execute(quoting.SQL(_CONTROL_TABLES).format(quoting.Identifier(CONTROL)))
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
            connection.execute(quoting.SQL("SET LOCAL search_path TO {}, public").format(name))
            connection.execute("CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
            done = {number for (number,) in connection.execute("SELECT number FROM migrations")}
            if done and max(done) > newest:
                raise self._too_new(schema, max(done))
            for migration in migrations():
                if migration.number not in done:
                    for text in migration.statements("postgres"):
                        connection.execute(dialect(text).encode())
                    connection.execute("INSERT INTO migrations VALUES (%s, %s)", (migration.number, migration.name))
            # The number as every transaction reads it: in the catalog, where a schema that is gone raises no error.
            connection.execute(quoting.SQL("COMMENT ON TABLE migrations IS {}").format(quoting.Literal(str(newest))))
            _without_statistics(connection, schema)
            if owner is not None:
                connection.execute(
                    quoting.SQL("INSERT INTO {}.agents VALUES (%s, %s, %s) ON CONFLICT DO NOTHING").format(
                        quoting.Identifier(CONTROL)
                    ),
                    (*owner, schema),
                )
        self.known.add(schema)

    def generation(self, connection: psycopg.Connection[Row], schema: str) -> int | None:
        """A number that changes when the schema is made anew; None if it is gone.

        ConfigError if a newer recollect migrated it, which may have happened since it was prepared here.
        """
        row = connection.execute(
            "SELECT to_regclass(%s)::oid::bigint, (SELECT description FROM pg_catalog.pg_description "
            "WHERE objoid = to_regclass(%s) AND classoid = 'pg_catalog.pg_class'::regclass AND objsubid = 0)",
            (f'"{schema}".counters', f'"{schema}".migrations'),
        ).fetchone()
        assert row is not None
        if row[1] and row[1].isdecimal() and int(row[1]) > migrations()[-1].number:
            raise self._too_new(schema, int(row[1]))
        found: int | None = row[0]
        return found

    def _too_new(self, schema: str, number: int) -> ConfigError:
        return ConfigError(
            f"schema {schema} on {self.where} was written by a newer recollect (schema {number}, this one knows "
            f"{migrations()[-1].number}): upgrade recollect to open it; nothing was changed"
        )

    def _own(self) -> None:
        """In a forked child: the connections are the parent's, so they are neither used nor closed."""
        if self._owner != os.getpid():
            if self._pool is not None:
                _inherited.append(self._pool)
            self._pool, self._guard, self._owner = None, threading.Lock(), os.getpid()

    def _is_current(self, schema: str) -> bool:
        """Whether a schema is there and up to date, so that nobody needs the right to create anything."""
        with self.connection(None) as connection:
            if connection.execute("SELECT to_regclass(%s)", (f'"{schema}".migrations',)).fetchone() == (None,):
                return False
            rows = connection.execute(
                quoting.SQL("SELECT number FROM {}.migrations").format(quoting.Identifier(schema))
            ).fetchall()
        return {number for (number,) in rows} == {migration.number for migration in migrations()}

    def owners(self) -> list[tuple[str, str]]:
        """Every (workspace, agent) that has a schema."""
        with self.connection(None) as connection:
            if connection.execute("SELECT to_regclass(%s)", (f"{CONTROL}.agents",)).fetchone() == (None,):
                return []
            rows = connection.execute(
                quoting.SQL("SELECT workspace, agent FROM {}.agents ORDER BY 1, 2").format(quoting.Identifier(CONTROL))
            ).fetchall()
        return [(workspace, agent) for workspace, agent in rows]

    def drop_workspace(self, workspace: str) -> None:
        """Remove every schema of a workspace, and its rows in the list."""
        for owner, agent in self.owners():
            if owner == workspace:
                schema = schema_of(workspace, agent)
                with self.connection("BEGIN") as connection:
                    connection.execute(
                        quoting.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(quoting.Identifier(schema))
                    )
                    connection.execute(
                        quoting.SQL("DELETE FROM {}.agents WHERE workspace = %s AND agent = %s").format(
                            quoting.Identifier(CONTROL)
                        ),
                        (workspace, agent),
                    )
                self.known.discard(schema)

    def close(self) -> None:
        """Give back every connection."""
        self._own()
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """The one place where the driver's errors become recollect's own."""
        try:
            yield
        except RecollectError:
            raise
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
            self.known.clear()
            raise Unavailable(f"the tables on {self.where} changed while they were in use; try again") from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise ConfigError(
                f"the user of {self.where} may not do this ({_first_line(error)}); grant it CREATE on the database, "
                "and let an administrator run CREATE EXTENSION vector once"
            ) from error
        except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
            raise Corrupt(f"{self.where} reports damaged data ({_first_line(error)}); restore a backup") from error
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as error:
            raise Unavailable(f"another writer was faster on {self.where}; try again") from error
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(f"another writer was faster on {self.where} ({_first_line(error)}); try again") from error
        except PoolTimeout as error:
            raise Unavailable(f"no connection to {self.where} within {WAIT_SECONDS} s: all are in use") from error
        except psycopg.ProgrammingError as error:
            raise Unavailable(f"{self.where} refused a query: {_first_line(error)}") from error
        except psycopg.errors.DiskFull as error:
            raise Unavailable(
                f"there is no room left on the server of {self.where} ({_first_line(error)}): nothing was written. "
                "Free some space there and try again"
            ) from error
        except psycopg.OperationalError as error:
            if error.sqlstate is None and any(words in str(error) for words in _REFUSALS):
                raise ConfigError(
                    f"{self.where} is not a usable address ({_last_line(error)}). Create the database or the user, "
                    "or correct the address"
                ) from error
            raise Unavailable(
                f"cannot reach {self.where} ({_first_line(error)}). Is the server running, and are address, user and "
                "password right? A write that was under way may or may not have been stored"
            ) from error
        except psycopg.Error as error:
            raise Unavailable(f"{self.where} cannot be used: {_first_line(error)}") from error
        except UnicodeEncodeError:
            raise  # of something given to a query, not of something read
        except (ValueError, IndexError) as error:
            raise Corrupt(
                f"{self.where} holds rows that make no sense ({error}). `recollect check` tells what is affected"
            ) from error


class PostgresDatabase(Database):
    """One workspace (a schema per agent), or the account (one schema for all agents)."""

    def __init__(self, server: PostgresServer, workspace: str | None, empty: Database) -> None:
        self._server = server
        self._workspace = workspace
        self._empty = empty

    def _schema(self, agent: str) -> str:
        return ACCOUNT if self._workspace is None else schema_of(self._workspace, agent)

    @contextmanager
    def read(self, agent: str) -> Iterator[Transaction]:
        """A snapshot of the agent's schema, or of an empty memory while there is none."""
        schema = self._schema(agent)
        if schema in self._server.known or self._server.has(schema):
            begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path TO "
            with self._server.connection(f'{begin}"{schema}", public') as connection:
                if generation := self._server.generation(connection, schema):
                    yield PostgresTransaction(connection, agent, generation)
                    return
            self._server.known.discard(schema)  # the workspace was deleted meanwhile
        with self._empty.read(agent) as tx:
            yield tx

    @contextmanager
    def write(self, agent: str) -> Iterator[Transaction]:
        """A transaction that is committed when the block ends."""
        schema = self._schema(agent)
        for _ in range(2):
            self._server.prepare(schema, (self._workspace, agent) if self._workspace is not None else None)
            with self._server.connection(f'BEGIN; SET LOCAL search_path TO "{schema}", public') as connection:
                if generation := self._server.generation(connection, schema):
                    yield PostgresTransaction(connection, agent, generation)
                    return
            self._server.known.discard(schema)  # the workspace was deleted meanwhile: it is made anew
        raise Unavailable(f"schema {schema} is being deleted by another process; try again")

    @contextmanager
    def within(self, connection: psycopg.Connection[Row], agent: str, *, write: bool) -> Iterator[Transaction]:
        """A part of a transaction that was begun in another schema; that one is selected again when it ends."""
        schema = self._schema(agent)
        if write:
            self._server.prepare(schema, (self._workspace, agent) if self._workspace is not None else None)
        choose = "SELECT current_setting('search_path'), set_config('search_path', %s, true)"
        (before, _), *_ = connection.execute(choose, (f'"{schema}", public',)).fetchall()
        generation = self._server.generation(connection, schema)
        if generation is not None:
            yield PostgresTransaction(connection, agent, generation)
        elif write:
            self._server.known.discard(schema)
            raise Unavailable(f"schema {schema} is being deleted by another process; try again")
        else:
            with self._empty.read(agent) as tx:
                yield tx
        connection.execute(choose, (before,))

    def exists(self, agent: str) -> bool:
        """Whether the agent's schema is there."""
        return self._server.has(self._schema(agent))

    def agents(self) -> list[str]:
        """The agents of this workspace, or of the account."""
        if self._workspace is not None:
            return [agent for workspace, agent in self._server.owners() if workspace == self._workspace]
        with self.read("") as tx:
            return [agent for (agent,) in tx.all("admin.agents")]

    def check(self) -> list[Finding]:
        """The server looks after its own files; what it reports while reading is raised as Corrupt."""
        return []

    def scrub(self, agent: str) -> tuple[list[str], list[str]]:
        """Rewrite the agent's tables, so that no page holds a deleted row."""
        schema = self._schema(agent)
        beyond = ["the server's write-ahead log, replicas and backups are out of reach; they expire by its own rules"]
        details: list[str] = []

        def listen(notice: psycopg.errors.Diagnostic) -> None:
            details.append(notice.message_detail or "")

        with self._server.connection(None) as connection:
            connection.add_notice_handler(listen)
            for table in _tables(connection, schema):
                place = quoting.Identifier(schema), quoting.Identifier(table)
                connection.execute(quoting.SQL("VACUUM (FULL, VERBOSE) {}.{}").format(*place))
            connection.remove_notice_handler(listen)
        # The detail begins with the number of deleted rows that had to be kept for somebody.
        if any(int(number) for detail in details for number in re.findall(r"\d+", detail)[:1]):
            kept = "the server keeps the deleted rows for an open transaction; erase again by the id when it has ended"
            return [], [kept, *beyond]
        return [f"tables and indexes of schema {schema}"], beyond

    def tidy(self) -> int:
        """Nothing: the server vacuums its tables by itself."""
        return 0

    def size(self) -> int:
        """The tables and indexes of its schemas."""
        schemas = [ACCOUNT] if self._workspace is None else [self._schema(agent) for agent in self.agents()]
        with self._server.connection(None) as connection:
            row = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class "
                "JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind = 'r' AND nspname = ANY(%s)",
                (schemas,),
            ).fetchone()
        return row[0] if row else 0

    @contextmanager
    def dump(self, agent: str) -> Iterator[Iterator[tuple[str, list[str], Iterator[Row]]]]:
        """Every table of the agent as (table, columns, rows), all from one snapshot."""
        schema = self._schema(agent)
        with self._server.connection("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:

            def rows() -> Iterator[tuple[str, list[str], Iterator[Row]]]:
                for table in _tables(connection, schema):
                    with connection.cursor("dump", binary=True) as cursor:
                        cursor.execute(
                            quoting.SQL("SELECT * FROM {}.{} WHERE agent = %s ORDER BY 1, 2, 3").format(
                                quoting.Identifier(schema), quoting.Identifier(table)
                            ),
                            (agent,),
                        )
                        assert cursor.description is not None
                        columns = [column.name for column in cursor.description]
                        if columns[-1] == "vector":  # as the other database stores it
                            yield table, columns, ((*row[:-1], _floats(row[-1])) for row in cursor)
                        else:
                            yield table, columns, iter(cursor)

            yield rows()

    def close(self) -> None:
        """Nothing of its own to close: the server holds the connections."""


def _floats(raw: bytes) -> bytes:
    """A vector as pgvector sends it (two words of header, then big-endian floats) as f32, little endian."""
    values = array("f", raw[4:])
    values.byteswap()
    return values.tobytes()


def _tables(connection: psycopg.Connection[Row], schema: str) -> list[str]:
    rows = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'migrations' ORDER BY 1", (schema,)
    ).fetchall()
    return [table for (table,) in rows]


def _without_statistics(connection: psycopg.Connection[Row], schema: str) -> None:
    """Keep what people wrote out of the planner's statistics: an erasure could not take it out of there again."""
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = %s AND data_type = 'text' AND NOT column_name = ANY(%s)",
        (schema, list(_PLANNED)),
    ):
        columns.setdefault(table, []).append(column)
    for table, names in columns.items():
        changes = quoting.SQL(", ").join(
            quoting.SQL("ALTER COLUMN {} SET STATISTICS 0").format(quoting.Identifier(name)) for name in names
        )
        place = quoting.Identifier(schema), quoting.Identifier(table)
        connection.execute(quoting.SQL("ALTER TABLE {}.{} ").format(*place) + changes)


def _configure(connection: psycopg.Connection[Row]) -> None:
    """A commit is acknowledged when it is on disk, whatever the server's default is."""
    row = connection.execute("SHOW synchronous_commit").fetchone()
    if row == ("off",):
        connection.execute("SET synchronous_commit TO on")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()


def _without_password(url: str) -> str:
    return re.sub(r"(://[^:/@]*):.*@", r"\1:…@", re.sub(r"password=[^&\s]*", "password=…", url))
