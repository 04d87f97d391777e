"""The schemas in a PostgreSQL database: one per workspace and agent, and one for the account's entries of all agents.

`recollect_control` lists workspaces, agents and their schemas. One transaction creates or deletes a schema and its row
in that list, so a schema that is listed but missing, or incomplete, was damaged from outside.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql as quoting

from recollect.errors import ConfigError, Corrupt, Unavailable
from recollect.names import short_hash
from recollect.storage.postgres import citus
from recollect.storage.postgres.dialect import translate_migration
from recollect.storage.postgres.errors import MISSING, first_line
from recollect.storage.postgres.server import SNAPSHOT, PostgresServer
from recollect.storage.postgres.session import Connection, ResultCursor, ServerSession, Statement
from recollect.storage.postgres.table_groups import (
    ALL,
    CORE,
    FOLLOWING,
    Groups,
    SchemaState,
    empty_schema,
    parts_of,
    statements_of,
    tables_in,
)
from recollect.storage.schema import Migration, migrations

__all__ = ["ACCOUNT", "SchemaOwner", "Schemas", "schema_of", "tables_of"]

ACCOUNT = "recollect_account"
CONTROL = "recollect_control"
# Text columns without user content: the planner may keep statistics of their values.
_PLANNED = ("agent", "id", "entry_id", "kind", "category", "scope", "lifetime", "operation", "phase")
_CONTROL_TABLES = (
    'CREATE TABLE IF NOT EXISTS {}.agents (workspace TEXT COLLATE "C" NOT NULL, agent TEXT COLLATE "C" NOT NULL, '
    "schema TEXT NOT NULL, PRIMARY KEY (workspace, agent))"
)
# Without the schemas of which only one of the two tables was seen: they are incomplete, or being deleted.
_GENERATIONS = b"""
SELECT schema, counters::oid::bigint, (
    SELECT description FROM pg_catalog.pg_description
    WHERE objoid = migrations AND classoid = 'pg_catalog.pg_class'::regclass AND objsubid = 0
), (
    SELECT description FROM pg_catalog.pg_description
    WHERE objoid = counters AND classoid = 'pg_catalog.pg_class'::regclass AND objsubid = 0
)
FROM (
    SELECT schema, to_regclass(quote_ident(schema) || '.counters') AS counters,
        to_regclass(quote_ident(schema) || '.migrations') AS migrations
    FROM unnest(%(schemas)s::text[]) AS schema
) AS found
WHERE (counters IS NULL) = (migrations IS NULL)
"""
LOCK_SECONDS = 3
"""lock_timeout of creating tables: the caller's transaction may itself hold what another process waits for."""
SchemaOwner = tuple[str, str] | None
"""The workspace and agent that own a schema; None for the account's schema."""


def schema_of(workspace: str | None, agent: str) -> str:
    """Return the schema name of an agent: readable, unique, and within PostgreSQL's 63 bytes.

    The account, a workspace of None, has one schema for all agents.
    """
    if workspace is None:
        return ACCOUNT
    words = (re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_")[:18] or "x" for part in (workspace, agent))
    return f"recollect_{'_'.join(words)}_{short_hash(workspace, agent)}"


def tables_of(connection: Connection, schema: str) -> list[str]:
    """Return the tables of a schema, without that of the migrations."""
    # By their names: the catalog has no index that finds the tables of a schema among those of a thousand others.
    rows = connection.execute(
        "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(quote_ident(%s) || '.' || name) IS NOT NULL",
        (sorted(tables_in(ALL)), schema),
    ).fetchall()
    return [table for (table,) in rows]


class _Shared(threading.local):
    """What belongs to one thread."""

    snapshot: Any = None
    """The snapshot that its reads share; see `PostgresDatabase.snapshot`."""


class Schemas:
    """The schemas in one database: which exist, and whether they are complete and of the current version."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.known: dict[str, Groups] = {}
        """Schemas that were seen complete and current, with the groups of tables that they had."""
        self.shared = _Shared()
        self.listed = False
        """Whether the list of agents was seen."""
        self._vectors = ""
        """The schema of the vector extension, quoted."""

    @contextmanager
    def connection(self, begin: str | None, schema: str | None = None) -> Iterator[Connection]:
        """Yield a connection as `PostgresServer.connection` does.

        `schema` is the schema in use: if only a part of it is missing, the error is reported as Corrupt.
        """
        with self.server.connection(begin, lambda error: self._explain(error, schema), schema) as connection:
            yield connection

    @contextmanager
    def session(self, begin: str, schema: str) -> Iterator[ServerSession]:
        """Yield a transaction as `PostgresServer.session` does. Errors are reported as by `connection`."""
        with self.server.session(begin, lambda error: self._explain(error, schema), schema) as session:
            yield session

    def translating(self, schema: str) -> AbstractContextManager[None]:
        """Raise recollect's errors instead of the driver's in the block."""
        return self.server.translating(lambda error: self._explain(error, schema))

    def _explain(self, error: Exception, schema: str | None) -> Corrupt | None:
        """Return the error for an incomplete schema, if that is what a query failed for."""
        if not isinstance(error, MISSING):
            return None
        self.known.clear()
        self.listed = False
        if schema is None:
            return None
        for one in (schema, ACCOUNT):
            if missing := self.missing_parts(one):
                return self.incomplete(one, " and no ".join(missing))
        if isinstance(error, psycopg.errors.UndefinedColumn) and self._current_groups(schema):
            return self.incomplete(schema, f"such column ({first_line(error)})")
        return None

    def exists(self, schema: str, owner: SchemaOwner) -> bool:
        """Return whether the schema exists now. Queries the server, because another process may have deleted it.

        Raise Corrupt if the schema is missing although its owner is listed.
        """
        with self.connection(None) as connection:
            found = self.is_visible(connection, schema)
        if found:
            self.prepare(schema, None)
            return True
        self.known.pop(schema, None)
        if owner is not None:
            with self.connection(SNAPSHOT) as connection:
                self.require_not_lost(connection, schema, owner)
        return False

    def is_visible(self, connection: Connection, schema: str) -> bool:
        """Return whether the schema exists; raise Corrupt if it is incomplete."""
        found = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename IN ('counters', 'migrations')",
            (schema,),
        ).fetchall()
        if len(found) == 1:
            (table,) = {"counters", "migrations"}.difference(found[0])
            raise self.incomplete(schema, table)
        return bool(found)

    def require_not_lost(self, connection: Connection, schema: str, owner: SchemaOwner) -> None:
        """Raise Corrupt if the agent is listed but its schema is missing.

        Call it within one snapshot, or while holding the advisory lock for schema changes.
        """
        if self.is_visible(connection, schema) or owner is None:
            return
        self.listed = _has_list(connection)
        if not self.listed:
            return
        listed = _control("SELECT 1 FROM {}.agents WHERE workspace = %s AND agent = %s")
        if connection.execute(listed, owner).fetchone():
            workspace, agent = owner
            raise Corrupt(
                f"the memory of agent {agent!r} in workspace {workspace!r} is missing: {self.server.where} has no "
                f"schema {schema}. Restore that schema from a backup; to start with an empty memory, delete the "
                f"workspace, or the agent's row in {CONTROL}.agents"
            )

    def missing_parts(self, schema: str) -> list[str]:
        """Return the missing tables and indexes of a schema; empty if it does not exist or is of another version."""
        groups = self._current_groups(schema)
        if not groups:
            return []
        expected = {*parts_of(groups), "migrations_pkey"}
        with self.connection(None) as connection:
            rows = connection.execute(
                "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
                "WHERE nspname = %s AND relname = ANY(%s)",
                (schema, list(expected)),
            ).fetchall()
        return sorted(expected.difference(name for (name,) in rows)) if rows else []

    def incomplete(self, schema: str, what: str) -> Corrupt:
        """Return the error to raise for a damaged schema."""
        return Corrupt(
            f"the schema {schema} on {self.server.where} is damaged: it has no {what}. Restore the schema from a "
            "backup; an index alone can also be recreated by hand, as in recollect's migrations"
        )

    def prepare(self, schema: str, owner: SchemaOwner) -> None:
        """Create or migrate a schema. Safe when several processes do so concurrently."""
        if schema in self.known:
            return
        groups = self._current_groups(schema)
        if not groups:
            with self.connection("BEGIN") as connection:
                # One advisory lock for all schema changes in this database: they are rare, in any order.
                _lock(connection, CONTROL)
                _lock(connection, schema)
                self.require_not_lost(connection, schema, owner)
                sharding = self.server.citus and citus.is_sharding(connection)
                distributed = self.server.citus and citus.take_back(connection, schema)
                connection.execute(_control("CREATE SCHEMA IF NOT EXISTS {}"))
                connection.execute(_control(_CONTROL_TABLES))
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                self._find_vectors(connection)
                self._make_empty_tables(connection)
                groups = self._migrate(connection, schema)
                if sharding or distributed:
                    citus.distribute(connection, schema)
                if owner is not None:
                    insert = _control("INSERT INTO {}.agents VALUES (%s, %s, %s) ON CONFLICT DO NOTHING")
                    connection.execute(insert, (*owner, schema))
        self.known[schema] = groups

    def _first_groups(self) -> Groups:
        """Return the groups of tables of a new schema.

        On Citus all, because it joins no tables of several schemas; behind a pooler all, because transactions may hold
        all of its connections, and none would be left to create tables.
        """
        return ALL if self.server.citus or self.server.pooled else frozenset({CORE})

    def _migrate(self, connection: Connection, schema: str) -> Groups:
        """Create or migrate a schema; return its groups of tables."""
        connection.execute(quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(quoting.Identifier(schema)))
        state = self.state(connection, schema)
        groups = Groups() if state is None else state.groups
        if state is not None and not _has_comments(connection, schema):
            tables = set(tables_of(connection, schema))
            groups = Groups(group for group in ALL if not tables.isdisjoint(tables_in(Groups([group]))))
        wanted = groups | self._first_groups()
        self._run_migrations(connection, schema, groups, wanted, filled=groups)
        connection.execute(_comment("counters", " ".join(sorted(wanted))))
        return wanted

    def _run_migrations(
        self, connection: Connection, schema: str, made: Groups, wanted: Groups, filled: Groups
    ) -> None:
        """Bring a schema that has the groups `made` to the current version, with those of `wanted`.

        Those in `filled` may have rows.
        """
        newest = migrations()[-1].number
        connection.execute(f"SET LOCAL search_path TO {self.path(schema, wanted)}".encode())
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
        done = {number for (number,) in connection.execute("SELECT number FROM migrations")}
        if done and max(done) > newest:
            raise self._too_new(schema, max(done))
        steps: list[quoting.Composable] = []
        for migration in migrations():
            if migration.number in done:
                steps += _steps(migration, wanted - made, Groups())
            else:
                steps += [*_steps(migration, wanted, filled), _done(migration)]
        # Every transaction reads the version from this catalog comment: a deleted schema raises no error there.
        _run_script(connection, [*steps, _comment("migrations", str(newest))])
        _disable_statistics(connection, schema, wanted)

    def _make_empty_tables(self, connection: Connection) -> None:
        """Create or migrate the schemas with empty tables, which stand for groups that an agent's schema has not."""
        names = {empty_schema(group): group for group in FOLLOWING}
        comments = connection.execute(
            "SELECT name, obj_description(to_regclass(name || '.migrations'), 'pg_class') "
            "FROM unnest(%s::text[]) AS name",
            (list(names),),
        ).fetchall()
        newest = migrations()[-1].number
        current = {name for name, version in comments if (version or "").isdecimal() and int(version) >= newest}
        for schema in sorted(names.keys() - current):
            group = frozenset({names[schema]})
            made = quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(quoting.Identifier(schema))
            connection.execute(made)
            before = tables_of(connection, schema)
            self._run_migrations(connection, schema, group if before else Groups(), group, filled=Groups())
            refuse = quoting.SQL("ALTER TABLE {} ADD CONSTRAINT holds_no_rows CHECK (false)")
            new = [table for table in tables_of(connection, schema) if table not in before]
            _run_script(connection, [refuse.format(quoting.Identifier(schema, table)) for table in new])

    def add_group(self, schema: str, group: str) -> Groups:
        """Create a group of tables in a schema; return the groups that it has then.

        The caller is in a transaction, so this takes a connection of its own, and not one of the pool, whose
        connections may all be held by threads that wait here.
        """
        with self.server.own_connection() as connection, connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout TO '{LOCK_SECONDS}s'".encode())
            try:
                _lock(connection, schema)
                self._find_vectors(connection)
                state = self.state(connection, schema)
                if state is None:
                    raise Unavailable(f"schema {schema} is being deleted by another process; try again")
                groups = state.groups | {group}
                if groups != state.groups:
                    self._run_migrations(connection, schema, state.groups, groups, filled=state.groups)
                    connection.execute(_comment("counters", " ".join(sorted(groups))))
            except psycopg.errors.LockNotAvailable:
                raise Unavailable(f"another process is changing the tables of schema {schema}; try again") from None
        self.known[schema] = groups
        return groups

    def state(self, connection: Connection, schema: str) -> SchemaState | None:
        """Return the state of a schema, None if it does not exist."""
        cursor = connection.cursor(binary=True)
        cursor.execute(*self.query_generations((schema,)))
        return self.read_generations(cursor).get(schema)

    def path(self, schema: str, groups: Groups) -> str:
        """Return the search_path: a prepared schema, the empty tables of groups it has not, the vector extension."""
        empty = [empty_schema(group) for group in FOLLOWING if group not in groups]
        return ", ".join([f'"{schema}"', *empty, *([self._vectors] if self._vectors else [])])

    def _find_vectors(self, connection: Connection) -> None:
        row = connection.execute(
            "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
            "WHERE extname = 'vector'"
        ).fetchone()
        self._vectors = row[0] if row else ""

    def query_generations(self, schemas: Sequence[str]) -> Statement:
        """Return the statement whose rows `read_generations` reads."""
        return _GENERATIONS, {"schemas": list(schemas)}

    def query_listed(self, schemas: Sequence[str]) -> Statement:
        """Return the statement whose rows are those of the schemas that have an owner, if `listed` is true."""
        if not self.listed:
            return b"SELECT 1", None
        return b"SELECT schema FROM recollect_control.agents WHERE schema = ANY(%(schemas)s)", {
            "schemas": list(schemas)
        }

    def read_generations(self, cursor: ResultCursor) -> dict[str, SchemaState | None]:
        """Return the state of each schema; None if it does not exist.

        An incomplete one is left out. Raise ConfigError if a newer recollect migrated one, which can happen after this
        process prepared it.
        """
        found: dict[str, SchemaState | None] = {}
        for schema, generation, version, groups in cursor:
            if version and version.isdecimal() and int(version) > migrations()[-1].number:
                raise self._too_new(schema, int(version))
            # A schema of an earlier version has no comment, and all tables.
            made = frozenset(groups.split()) if groups else ALL
            found[schema] = None if generation is None else SchemaState(generation, made)
        return found

    def _too_new(self, schema: str, number: int) -> ConfigError:
        return ConfigError(
            f"schema {schema} on {self.server.where} was written by a newer recollect (schema {number}, this one knows "
            f"{migrations()[-1].number}): upgrade recollect to open it; nothing was changed"
        )

    def _current_groups(self, schema: str) -> Groups:
        """Return the groups of tables of a schema that is up to date, and so needs no CREATE privilege; else none."""
        with self.connection(None) as connection:
            if connection.execute("SELECT to_regclass(%s)", (f'"{schema}".migrations',)).fetchone() == (None,):
                return Groups()
            rows = connection.execute(
                quoting.SQL("SELECT number FROM {}.migrations").format(quoting.Identifier(schema))
            ).fetchall()
            if not self._vectors:
                self._find_vectors(connection)
            if {number for (number,) in rows} != {migration.number for migration in migrations()}:
                return Groups()
            state = self.state(connection, schema)
            if state is None or not state.groups >= self._first_groups():
                return Groups()
            # A backup of chosen schemas may have left out those with the empty tables, and another one the comments.
            empty = [f"{empty_schema(group)}.migrations" for group in FOLLOWING if group not in state.groups]
            lost = "SELECT 1 FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL LIMIT 1"
            if connection.execute(lost, (empty,)).fetchone() or not _has_comments(connection, schema):
                return Groups()
            return state.groups

    def owners(self) -> list[tuple[str, str]]:
        """Return every (workspace, agent) that has a schema, as listed in `recollect_control`."""
        with self.connection(None) as connection:
            if not _has_list(connection):
                return []
            rows = connection.execute(_control("SELECT workspace, agent FROM {}.agents ORDER BY 1, 2")).fetchall()
        return [(workspace, agent) for workspace, agent in rows]

    def drop_workspace(self, workspace: str) -> None:
        """Drop every schema of a workspace and delete its rows from the list of agents."""
        delete = _control("DELETE FROM {}.agents WHERE workspace = %s AND agent = %s")
        for agent in [agent for owner, agent in self.owners() if owner == workspace]:
            schema = schema_of(workspace, agent)
            with self.connection("BEGIN") as connection:
                connection.execute(quoting.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(quoting.Identifier(schema)))
                connection.execute(delete, (workspace, agent))
            self.known.pop(schema, None)


def _control(statement: LiteralString) -> quoting.Composed:
    """Insert the name of the control schema into a statement."""
    return quoting.SQL(statement).format(quoting.Identifier(CONTROL))


def _has_list(connection: Connection) -> bool:
    """Return whether the list of workspaces and agents exists."""
    return connection.execute("SELECT to_regclass(%s)", (f"{CONTROL}.agents",)).fetchone() != (None,)


def _has_comments(connection: Connection, schema: str) -> bool:
    """Return whether the tables of a schema have their comments; a backup may have left out all of them."""
    found = "SELECT obj_description(to_regclass(%s), 'pg_class')"
    return connection.execute(found, (f'"{schema}".migrations',)).fetchone() != (None,)


def _lock(connection: Connection, name: str) -> None:
    """Wait for the advisory lock of a name, which the transaction holds until it ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (int(short_hash(name), 16),))


def _comment(table: str, text: str) -> quoting.Composed:
    return quoting.SQL("COMMENT ON TABLE {} IS {}").format(quoting.Identifier(table), quoting.Literal(text))


def _steps(migration: Migration, groups: Groups, filled: Groups) -> list[quoting.Composable]:
    """Return the statements of a migration for these groups of tables."""
    # The text of a migration is part of the package: SQL takes it as it is.
    texts = cast("list[LiteralString]", map(translate_migration, statements_of(migration, groups, filled)))
    return [*map(quoting.SQL, texts)]


def _done(migration: Migration) -> quoting.Composed:
    """Return the statement that records that a migration is done."""
    return quoting.SQL("INSERT INTO migrations VALUES ({}, {})").format(migration.number, migration.name)


def _run_script(connection: Connection, statements: list[quoting.Composable]) -> None:
    """Run statements in one round trip."""
    if statements:
        connection.execute(quoting.SQL(";\n").join(statements), prepare=False)


def _disable_statistics(connection: Connection, schema: str, groups: Groups) -> None:
    """Disable planner statistics for user content: an erasure could not remove it from there."""
    tables = [f'"{schema}".{name}' for name in sorted(tables_in(groups))]
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(
        "SELECT relname, attname FROM unnest(%s::text[]) AS name JOIN pg_attribute ON attrelid = to_regclass(name) "
        "JOIN pg_class ON pg_class.oid = attrelid WHERE atttypid = 'text'::regtype "
        "AND attstattarget IS DISTINCT FROM 0 AND attnum > 0 AND NOT attisdropped AND NOT attname = ANY(%s)",
        (tables, list(_PLANNED)),
    ):
        columns.setdefault(table, []).append(column)
    _run_script(connection, [_without_statistics(schema, table, names) for table, names in columns.items()])


def _without_statistics(schema: str, table: str, columns: list[str]) -> quoting.Composed:
    changes = quoting.SQL(", ").join(
        quoting.SQL("ALTER COLUMN {} SET STATISTICS 0").format(quoting.Identifier(name)) for name in columns
    )
    return quoting.SQL("ALTER TABLE {} {}").format(quoting.Identifier(schema, table), changes)
