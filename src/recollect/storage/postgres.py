"""PostgreSQL implementation of `Database`: one schema per workspace and agent. The only file that imports psycopg.

Each transaction sets its search_path to the schema and runs the same SQL as on SQLite. `recollect_control` lists
workspaces, agents and their schemas; `recollect_account` holds the account's entries of all agents. Everything used
here works on a cluster that shards by schema: no triggers, no identity columns, no foreign keys.
"""

import logging
import os
import re
import threading
import time
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
from recollect.storage.database import Administration, Database, DumpedTables, Row, Transaction
from recollect.storage.named_queries import expand, statement
from recollect.storage.schema import layout, migrations

__all__ = ["PostgresDatabase", "PostgresServer", "PostgresTransaction", "dialect", "schema_of"]

ACCOUNT = "recollect_account"
CONTROL = "recollect_control"
MINIMUM = 15
CONNECT_SECONDS = 5
WAIT_SECONDS = 30
POOL_SIZE = 10
LOCK_SECONDS = 3
"""lock_timeout of an erasure: while it waits for a table lock, the agent's other calls queue behind it."""
PAUSES = (0.05, 0.15, 0.4, 1.4)
"""Backoff of an erasure in seconds, while the server keeps deleted rows that an open transaction may still see."""
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PARAMETER = re.compile(r"(?<!:):(\w+)")
_DIALECT = (
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) STRICT(, WITHOUT ROWID)?"), ")"),
)
# Text columns without user content: the planner may keep statistics of their values.
_PLANNED = ("agent", "id", "entry_id", "kind", "category", "scope", "lifetime", "operation", "phase")
# Connection errors that are permanent: retrying with the same address cannot succeed.
_REFUSALS = ("does not exist", "authentication failed", "no password supplied", "connection is bad: invalid")
_CONTROL_TABLES = (
    'CREATE TABLE IF NOT EXISTS {}.agents (workspace TEXT COLLATE "C" NOT NULL, agent TEXT COLLATE "C" NOT NULL, '
    "schema TEXT NOT NULL, PRIMARY KEY (workspace, agent))"
)
# Queries are sent as UTF-8, regardless of PGCLIENTENCODING and the locale.
_CONNECTING: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "client_encoding": "utf8"}
# Errors of the pool's background threads are raised where a connection is requested; do not also log them to stderr.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
Owner = tuple[str, str] | None
"""The workspace and agent that own a schema; None for the account's schema."""
# Pools inherited by a forked child. Their connections belong to the parent, so keep them alive but never use them.
_inherited: list[ConnectionPool[psycopg.Connection[Row]]] = []


@cache
def _converted(text: str) -> bytes:
    """Convert a query to psycopg's parameter style."""
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")).encode()


def schema_of(workspace: str, agent: str) -> str:
    """Return the schema name of an agent in a workspace: readable, unique, and within PostgreSQL's 63 bytes."""
    words = (re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_")[:18] or "x" for part in (workspace, agent))
    return f"recollect_{'_'.join(words)}_{short_hash(workspace, agent)}"


def dialect(text: str) -> str:
    """Translate a migration to PostgreSQL's dialect."""
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
        """Run as part of this transaction, on its connection: a lock holder must not wait for a second connection."""
        assert isinstance(database, PostgresDatabase)
        with database.within(self._cursor.connection, agent, write=write) as tx:
            yield tx

    def sees(self, database: Database, agent: str) -> bool:
        """Return whether the agent's schema of another database exists, queried on this connection."""
        assert isinstance(database, PostgresDatabase)
        return database.seen_by(self._cursor.connection, agent)

    def vector(self, values: bytes) -> str:
        """Return a vector in pgvector's text format."""
        return f"[{','.join(map(repr, array('f', values)))}]"

    def vector_bytes(self, raw: Any) -> bytes:
        """Convert a vector from pgvector's binary format to little-endian f32."""
        return _floats(raw)

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return the rows of a named query."""
        text, bound = expand(query, values)
        bound["agent"] = self.agent
        return self._cursor.execute(_converted(text), bound).fetchall()

    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query and return the number of rows it changed."""
        text, bound = expand(query, values)
        bound["agent"] = self.agent
        return self._cursor.execute(_converted(text), bound).rowcount

    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once for each row of values."""
        agent = self.agent
        self._cursor.executemany(_converted(statement(query)), [{**row, "agent": agent} for row in rows])

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Bulk-load complete rows into a table."""
        place = quoting.Identifier(table), quoting.SQL(", ").join(map(quoting.Identifier, columns))
        with self._cursor.copy(quoting.SQL("COPY {} ({}) FROM STDIN").format(*place)) as copy:
            for row in rows:
                copy.write_row(row)


class PostgresServer:
    """One database on a PostgreSQL server: its connection pool, and the list of workspaces and agents."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.where = _without_password(url)
        self._pool: ConnectionPool[psycopg.Connection[Row]] | None = None
        self._guard = threading.Lock()
        self._owner = os.getpid()
        self._vectors = ""
        self.known: set[str] = set()

    def connect(self) -> ConnectionPool[psycopg.Connection[Row]]:
        """Return the pool, opened after checking the server: version, encoding, pgvector.

        Raise Unavailable or ConfigError, with the remedy, if the server cannot be used.
        """
        self._own()
        with self._guard, self.errors():
            if self._pool is not None:
                return self._pool
            try:
                first = psycopg.connect(self.url, autocommit=True, **_CONNECTING)
            except psycopg.ProgrammingError:
                raise ConfigError(
                    f"{self.where} is not a usable address; write it as postgresql://user:password@host:port/database, "
                    "with %40 for an @ in the password"
                ) from None
            with first as connection:
                version = connection.info.server_version // 10_000
                if version < MINIMUM:
                    raise ConfigError(f"{self.where} is PostgreSQL {version}; recollect needs {MINIMUM} or newer")
                encoding = connection.info.parameter_status("server_encoding")
                if encoding != "UTF8":
                    raise ConfigError(
                        f"{self.where} is encoded in {encoding}, which cannot hold every text; create another database "
                        "with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
                    )
                vector = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()
                if vector is None:
                    raise ConfigError(
                        f"{self.where} has no pgvector; install the package for PostgreSQL {version} "
                        f"(for instance postgresql-{version}-pgvector) on the server and try again"
                    )
            pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
                self.url, min_size=0, max_size=POOL_SIZE, open=False, reconnect_timeout=CONNECT_SECONDS,
                configure=_configure, kwargs={"autocommit": True, **_CONNECTING},
            )  # fmt: skip
            pool.open()
            self._pool = pool
            return pool

    @contextmanager
    def connection(self, begin: str | None, schema: str | None = None) -> Iterator[psycopg.Connection[Row]]:
        """Yield a connection in a transaction opened by the `begin` statements, or in autocommit mode if None.

        `schema` is the schema in use: if only a part of it is missing, the error is reported as Corrupt.
        """
        pool = self.connect()
        with self.errors(schema):
            try:
                connection = self._begin(pool, begin)
            except PoolClosed:
                # Another thread closed the home concurrently. A closed home can be used again, so reopen the pool.
                pool = self.connect()
                connection = self._begin(pool, begin)
            except psycopg.OperationalError:
                # The server closed this connection while it was idle; no transaction was open, so retry with a new one.
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
        """Take a connection from the pool and run the statements on it, which proves that it is alive."""
        try:
            connection = pool.getconn(1)
        except PoolTimeout:
            # Either all connections are in use or the server is unreachable: connecting raises the latter's error.
            psycopg.connect(self.url, connect_timeout=CONNECT_SECONDS).close()
            connection = pool.getconn(WAIT_SECONDS)
        try:
            connection.execute((begin or "SELECT 1").encode())
        except BaseException:
            pool.putconn(connection)
            raise
        return connection

    def has(self, schema: str, owner: Owner) -> bool:
        """Return whether the schema exists now. Queries the server, because another process may have deleted it.

        Raise Corrupt if the schema is missing although its owner is listed.
        """
        with self.connection(None) as connection:
            there = self.sees(connection, schema)
        if there:
            self.prepare(schema, None)
            return True
        self.known.discard(schema)
        if owner is not None:
            with self.connection(SNAPSHOT) as connection:
                self.must_not_be_lost(connection, schema, owner)
        return False

    def sees(self, connection: psycopg.Connection[Row], schema: str) -> bool:
        """Return whether the schema exists; raise Corrupt if it is incomplete."""
        found = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename IN ('counters', 'migrations')",
            (schema,),
        ).fetchall()
        if len(found) == 1:
            (table,) = {"counters", "migrations"}.difference(found[0])
            raise self.incomplete(schema, table)
        return bool(found)

    def must_not_be_lost(self, connection: psycopg.Connection[Row], schema: str, owner: Owner) -> None:
        """Raise Corrupt if the agent is listed but its schema is missing: one transaction creates or deletes both.

        Call it within one snapshot, or while holding the advisory lock for schema changes.
        """
        if self.sees(connection, schema) or owner is None or not _is_listed(connection):
            return
        listed = quoting.SQL("SELECT 1 FROM {}.agents WHERE workspace = %s AND agent = %s")
        if connection.execute(listed.format(quoting.Identifier(CONTROL)), owner).fetchone():
            workspace, agent = owner
            raise Corrupt(
                f"the memory of agent {agent!r} in workspace {workspace!r} is missing: {self.where} has no schema "
                f"{schema}. Restore that schema from a backup; to start afresh, delete the workspace, or the agent's "
                f"row in {CONTROL}.agents"
            )

    def lacking(self, schema: str) -> list[str]:
        """Return the missing tables and indexes of a schema; empty if it does not exist or is of another version."""
        if not self._is_current(schema):
            return []
        wanted = {*layout(), *(f"{name}_pkey" for name, kind in layout().items() if kind == "TABLE"), "migrations_pkey"}
        with self.connection(None) as connection:
            rows = connection.execute(
                "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
                "WHERE nspname = %s AND relname = ANY(%s)",
                (schema, list(wanted)),
            ).fetchall()
        return sorted(wanted.difference(name for (name,) in rows)) if rows else []

    def incomplete(self, schema: str, what: str) -> Corrupt:
        """Return the error to raise for a damaged schema."""
        return Corrupt(
            f"the schema {schema} on {self.where} is damaged: it has no {what}. Restore the schema from a backup; "
            "an index alone can also be made again by hand, as recollect's migrations make it"
        )

    def prepare(self, schema: str, owner: Owner) -> None:
        """Create or migrate a schema. Safe when several processes do so concurrently."""
        if schema in self.known or self._is_current(schema):
            self.known.add(schema)
            return
        name = quoting.Identifier(schema)
        newest = migrations()[-1].number
        with self.connection("BEGIN") as connection:
            # One advisory lock for all schema changes in this database: they are rare, and their order never matters.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (int(short_hash(CONTROL), 16),))
            self.must_not_be_lost(connection, schema, owner)
            connection.execute(quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(quoting.Identifier(CONTROL)))
            connection.execute(quoting.SQL(_CONTROL_TABLES).format(quoting.Identifier(CONTROL)))
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            self._find_vectors(connection)
            connection.execute(quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
            connection.execute(f"SET LOCAL search_path TO {self.path(schema)}".encode())
            connection.execute("CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
            done = {number for (number,) in connection.execute("SELECT number FROM migrations")}
            if done and max(done) > newest:
                raise self._too_new(schema, max(done))
            for migration in migrations():
                if migration.number not in done:
                    for text in migration.statements("postgres"):
                        connection.execute(dialect(text).encode())
                    connection.execute("INSERT INTO migrations VALUES (%s, %s)", (migration.number, migration.name))
            # Every transaction reads the version from this catalog comment: a deleted schema raises no error there.
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

    def path(self, schema: str) -> str:
        """Return the search_path: a prepared schema, then the schema of the vector extension."""
        return f'"{schema}", {self._vectors}' if self._vectors else f'"{schema}"'

    def _find_vectors(self, connection: psycopg.Connection[Row]) -> None:
        row = connection.execute(
            "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
            "WHERE extname = 'vector'"
        ).fetchone()
        self._vectors = row[0] if row else ""

    def generation(self, connection: psycopg.Connection[Row], schema: str) -> int | None:
        """Return a number that changes when the schema is recreated; None if the schema is gone.

        Raise ConfigError if a newer recollect migrated it, which can happen after this process prepared it.
        """
        row = connection.execute(
            "SELECT to_regclass(%(counters)s)::oid::bigint, (SELECT description FROM pg_catalog.pg_description "
            "WHERE objoid = to_regclass(%(migrations)s) AND classoid = 'pg_catalog.pg_class'::regclass "
            "AND objsubid = 0), (to_regclass(%(counters)s) IS NULL) = (to_regclass(%(migrations)s) IS NULL)",
            {"counters": f'"{schema}".counters', "migrations": f'"{schema}".migrations'},
        ).fetchone()
        assert row is not None
        if not row[2]:
            self.sees(connection, schema)  # just deleted, or incomplete: then this raises Corrupt
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
        """Reset the state in a forked child: the connections belong to the parent, so neither use nor close them."""
        if self._owner != os.getpid():
            if self._pool is not None:
                _inherited.append(self._pool)
            self._pool, self._guard, self._owner = None, threading.Lock(), os.getpid()

    def _is_current(self, schema: str) -> bool:
        """Return whether a schema exists and is up to date, in which case no CREATE privilege is needed."""
        with self.connection(None) as connection:
            if connection.execute("SELECT to_regclass(%s)", (f'"{schema}".migrations',)).fetchone() == (None,):
                return False
            rows = connection.execute(
                quoting.SQL("SELECT number FROM {}.migrations").format(quoting.Identifier(schema))
            ).fetchall()
            if not self._vectors:
                self._find_vectors(connection)
        return {number for (number,) in rows} == {migration.number for migration in migrations()}

    def owners(self) -> list[tuple[str, str]]:
        """Return every (workspace, agent) that has a schema, as listed in `recollect_control`."""
        with self.connection(None) as connection:
            if not _is_listed(connection):
                return []
            rows = connection.execute(
                quoting.SQL("SELECT workspace, agent FROM {}.agents ORDER BY 1, 2").format(quoting.Identifier(CONTROL))
            ).fetchall()
        return [(workspace, agent) for workspace, agent in rows]

    def drop_workspace(self, workspace: str) -> None:
        """Drop every schema of a workspace and delete its rows from the list of agents."""
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
        """Close the pool and its connections."""
        self._own()
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def errors(self, schema: str | None = None) -> Iterator[None]:
        """Translate the driver's errors to recollect's, the only place that does. `schema` is the schema in use."""
        try:
            yield
        except RecollectError:
            raise
        except (
            psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.InvalidSchemaName
        ) as error:  # fmt: skip
            self.known.clear()
            # recollect creates and deletes a schema atomically: an incomplete one was damaged from outside.
            for one in (schema, ACCOUNT) if schema is not None else ():
                if missing := self.lacking(one):
                    raise self.incomplete(one, " and no ".join(missing)) from error
            if isinstance(error, psycopg.errors.UndefinedColumn) and schema is not None and self._is_current(schema):
                raise self.incomplete(schema, f"such column ({_first_line(error)})") from error
            raise Unavailable(f"the tables on {self.where} changed while they were in use; try again") from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise ConfigError(
                f"the user of {self.where} may not do this ({_first_line(error)}); grant it CREATE on the database, "
                "and let an administrator run CREATE EXTENSION vector once"
            ) from error
        except (
            # pgvector raises DataException for a vector whose dimension differs from the others.
            psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted, psycopg.errors.DataException
        ) as error:  # fmt: skip
            raise Corrupt(f"{self.where} reports damaged data ({_first_line(error)}); restore a backup") from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            raise ConfigError(
                f"{self.where} only reads ({_first_line(error)}): nothing was written. Give the address of the server "
                "that takes writes; if this one should, turn off default_transaction_read_only for the database and "
                "the user"
            ) from error
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
            raise  # caused by a query parameter, not by stored data
        except (ValueError, IndexError) as error:
            raise Corrupt(
                f"{self.where} holds rows that make no sense ({error}). `recollect check` tells what is affected"
            ) from error


class PostgresDatabase(Database, Administration):
    """One workspace (a schema per agent), or the account (one schema for all agents)."""

    def __init__(self, server: PostgresServer, workspace: str | None, empty: Database) -> None:
        self._server = server
        self.admin = self
        self._workspace = workspace
        self._empty = empty

    def _schema(self, agent: str) -> str:
        return ACCOUNT if self._workspace is None else schema_of(self._workspace, agent)

    def _owner(self, agent: str) -> Owner:
        return None if self._workspace is None else (self._workspace, agent)

    @contextmanager
    def read(self, agent: str) -> Iterator[Transaction]:
        """Open a snapshot of the agent's schema, or of an empty memory if there is no schema."""
        schema = self._schema(agent)
        server = self._server
        while schema in server.known or server.has(schema, self._owner(agent)):
            with server.connection(f"{SNAPSHOT}; SET LOCAL search_path TO {server.path(schema)}", schema) as connection:
                if generation := server.generation(connection, schema):
                    yield PostgresTransaction(connection, agent, generation)
                    return
            server.known.discard(schema)  # the workspace was deleted concurrently, or `has` raises Corrupt
        with self._empty.read(agent) as tx:
            yield tx

    @contextmanager
    def write(self, agent: str) -> Iterator[Transaction]:
        """Open a transaction that commits when the block ends."""
        schema = self._schema(agent)
        server = self._server
        for _ in range(2):
            server.prepare(schema, self._owner(agent))
            with server.connection(f"BEGIN; SET LOCAL search_path TO {server.path(schema)}", schema) as connection:
                if generation := server.generation(connection, schema):
                    yield PostgresTransaction(connection, agent, generation)
                    return
            server.known.discard(schema)  # the workspace was deleted concurrently: create it again
        raise Unavailable(f"schema {schema} is being deleted by another process; try again")

    @contextmanager
    def within(self, connection: psycopg.Connection[Row], agent: str, *, write: bool) -> Iterator[Transaction]:
        """Continue a transaction of another schema in this one, and restore its search_path at the end.

        A schema to write to must be prepared before: no thread may take a second connection while it holds one.
        """
        schema = self._schema(agent)
        choose = "SELECT current_setting('search_path'), set_config('search_path', %s, true)"
        (before, _), *_ = connection.execute(choose, (self._server.path(schema),)).fetchall()
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
        """Return whether the agent's schema exists."""
        return self._server.has(self._schema(agent), self._owner(agent))

    def seen_by(self, connection: psycopg.Connection[Row], agent: str) -> bool:
        """Return whether the agent's schema is visible to an open transaction."""
        return self._server.sees(connection, self._schema(agent))

    def prepare(self, agent: str) -> None:
        """Create or migrate the agent's schema."""
        self._server.prepare(self._schema(agent), self._owner(agent))

    def agents(self) -> list[str]:
        """Return the agents of this workspace, or of the account."""
        if self._workspace is not None:
            return [agent for workspace, agent in self._server.owners() if workspace == self._workspace]
        with self.read("") as tx:
            return [agent for (agent,) in tx.all("admin.agents")]

    def check(self) -> list[Finding]:
        """Check that every schema exists and is complete. The server is responsible for its own files."""
        findings = []
        for agent in [""] if self._workspace is None else self.agents():
            where = "account" if self._workspace is None else f"{self._workspace}/{agent}"
            try:
                if self.exists(agent) and (missing := self._server.lacking(self._schema(agent))):
                    raise self._server.incomplete(self._schema(agent), " and no ".join(missing))
            except Corrupt as error:
                findings.append(Finding(part="file", where=where, message=str(error)))
        return findings

    def scrub(self, agent: str) -> tuple[list[str], list[str]]:
        """Rewrite the agent's tables with VACUUM FULL, so that no page holds a deleted row."""
        schema = self._schema(agent)
        beyond = ["the server's write-ahead log, replicas and backups are out of reach; they expire by its own rules"]
        with self._server.connection(None) as connection:
            left = _tables(connection, schema)
            connection.execute(f"SET lock_timeout TO '{LOCK_SECONDS}s'".encode())
            try:
                for pause in (*PAUSES, 0):
                    left = [table for table in left if _rewrite(connection, schema, table)]
                    if not left:
                        return [f"tables and indexes of schema {schema}"], beyond
                    time.sleep(pause)
            except psycopg.errors.LockNotAvailable:
                pass  # a reader that holds its lock this long may hold it for hours
            finally:
                if not connection.closed:
                    connection.execute("RESET lock_timeout")
        kept = "the server keeps the deleted rows for an open transaction; erase again by the id when it has ended"
        return [], [kept, *beyond]

    def tidy(self) -> int:
        """Do nothing: the server's autovacuum reclaims space."""
        return 0

    def size(self) -> int:
        """Return the size of the tables and indexes of its schemas, in bytes."""
        schemas = [ACCOUNT] if self._workspace is None else [self._schema(agent) for agent in self.agents()]
        with self._server.connection(None) as connection:
            row = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class "
                "JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind = 'r' AND nspname = ANY(%s)",
                (schemas,),
            ).fetchone()
        return row[0] if row else 0

    @contextmanager
    def dump(self, agent: str) -> Iterator[DumpedTables]:
        """Yield every table of the agent as (table, columns, rows), all from one snapshot."""
        schema = self._schema(agent)
        with self._server.connection(SNAPSHOT, schema) as connection:
            self._server.must_not_be_lost(connection, schema, self._owner(agent))

            def rows() -> DumpedTables:
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
                        if columns[-1] == "vector":  # in the format of the SQLite file
                            yield table, columns, ((*row[:-1], _floats(row[-1])) for row in cursor)
                        else:
                            yield table, columns, iter(cursor)

            yield rows()

    def close(self) -> None:
        """Do nothing: `PostgresServer` owns the connections."""


def _floats(raw: bytes) -> bytes:
    """Convert pgvector's binary format (two 16-bit header words, then big-endian floats) to little-endian f32."""
    values = array("f", raw[4:])
    values.byteswap()
    return values.tobytes()


def _is_listed(connection: psycopg.Connection[Row]) -> bool:
    """Return whether the list of workspaces and agents exists."""
    return connection.execute("SELECT to_regclass(%s)", (f"{CONTROL}.agents",)).fetchone() != (None,)


def _rewrite(connection: psycopg.Connection[Row], schema: str, table: str) -> bool:
    """Rewrite a table without its deleted rows; return True if open transactions forced the server to keep some."""
    details: list[str] = []

    def listen(notice: psycopg.errors.Diagnostic) -> None:
        details.append(notice.message_detail or "")

    connection.add_notice_handler(listen)
    try:
        place = quoting.Identifier(schema), quoting.Identifier(table)
        connection.execute(quoting.SQL("VACUUM (FULL, VERBOSE) {}.{}").format(*place))
    finally:
        connection.remove_notice_handler(listen)
    # The notice's detail begins with the number of dead rows that could not be removed.
    return any(int(number) for detail in details for number in re.findall(r"\d+", detail)[:1])


def _tables(connection: psycopg.Connection[Row], schema: str) -> list[str]:
    rows = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'migrations' ORDER BY 1", (schema,)
    ).fetchall()
    return [table for (table,) in rows]


def _without_statistics(connection: psycopg.Connection[Row], schema: str) -> None:
    """Disable planner statistics for user content: an erasure could not remove it from there."""
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
    """Turn synchronous_commit on where the server's default is off, so that a commit is on disk when acknowledged."""
    row = connection.execute("SHOW synchronous_commit").fetchone()
    if row == ("off",):
        connection.execute("SET synchronous_commit TO on")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()


def _without_password(url: str) -> str:
    return re.sub(r"(://[^:/@]*):.*@", r"\1:…@", re.sub(r"password=[^&\s]*", "password=…", url))
