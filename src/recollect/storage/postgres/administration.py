"""Administration of a workspace or the account on PostgreSQL: check its schemas, rewrite, measure and dump them."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql as quoting

from recollect.errors import Corrupt
from recollect.model.report import Finding
from recollect.model.stats import ConnectionCounts
from recollect.storage.database import Administration, Database, DumpedTables
from recollect.storage.named_queries import statement
from recollect.storage.postgres import citus
from recollect.storage.postgres.dialect import translate_query, vector_from_binary
from recollect.storage.postgres.schemas import Schemas, schema_of, tables_of
from recollect.storage.postgres.server import SNAPSHOT
from recollect.storage.postgres.session import Connection
from recollect.storage.postgres.table_groups import Groups, tables_in
from recollect.storage.schema import key_length

__all__ = ["PostgresAdministration"]

LOCK_SECONDS = 3
"""lock_timeout of an erasure: while it waits for a table lock, the agent's other calls queue behind it."""
PAUSES = (0.05, 0.15, 0.4, 1.4)
"""Backoff of an erasure in seconds, while the server keeps deleted rows that an open transaction may still see."""
_KEPT = "the server keeps the deleted rows for an open transaction; erase again by the id when it has ended"


class PostgresAdministration(Administration):
    """Operations on the schemas of a workspace, or on that of the account."""

    def __init__(self, database: Database, schemas: Schemas, workspace: str | None) -> None:
        self._database, self._schemas, self._workspace = database, schemas, workspace

    def agents(self) -> list[str]:
        """Return the agents of this workspace, or of the account."""
        if self._workspace is not None:
            return [agent for workspace, agent in self._schemas.owners() if workspace == self._workspace]
        with self._database.read("") as tx:
            return [agent for (agent,) in tx.all("admin.agents")]

    def check(self) -> list[Finding]:
        """Check that every schema exists and is complete. The server is responsible for its own files."""
        findings = []
        for agent in [""] if self._workspace is None else self.agents():
            where = "account" if self._workspace is None else f"{self._workspace}/{agent}"
            schema = schema_of(self._workspace, agent)
            try:
                if self._database.exists(agent) and (missing := self._schemas.missing_parts(schema)):
                    raise self._schemas.incomplete(schema, " and no ".join(missing))
            except Corrupt as error:
                findings.append(Finding(part="file", where=where, message=str(error)))
        return findings

    def scrub(self, agent: str) -> tuple[list[str], list[str]]:
        """Rewrite the agent's tables with VACUUM FULL, so that no page holds a deleted row."""
        schema = schema_of(self._workspace, agent)
        distributed = self._schemas.server.citus
        beyond = ["the server's write-ahead log, replicas and backups are out of reach; they expire by its own rules"]
        with self._schemas.connection(None) as connection:
            left = tables_of(connection, schema)
            try:
                if distributed and not _without_readers(connection):
                    return [], [_KEPT, *beyond]
                for pause in (*PAUSES, 0):
                    left = [one for one in left if _rewrite(connection, schema, one, citus_is_used=distributed)]
                    if not left:
                        return [f"tables and indexes of schema {schema}"], beyond
                    time.sleep(pause)
            except psycopg.errors.LockNotAvailable:
                pass  # a reader that holds its lock this long may hold it for hours
        return [], [_KEPT, *beyond]

    def tidy(self) -> int:
        """Do nothing: the server's autovacuum reclaims space."""
        return 0

    def connections(self) -> ConnectionCounts:
        """Return the connections to the server, which all schemas share."""
        return self._schemas.server.connections()

    def size(self) -> int:
        """Return the size of the tables and indexes of its schemas, in bytes."""
        schemas = [schema_of(self._workspace, agent) for agent in ([""] if self._workspace is None else self.agents())]
        with self._schemas.connection(None) as connection:
            if self._schemas.server.citus:
                return citus.size(connection, schemas)
            row = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class "
                "JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind = 'r' AND nspname = ANY(%s)",
                (schemas,),
            ).fetchone()
        return row[0] if row else 0

    @contextmanager
    def dump(self, agent: str, *, complete: bool = False) -> Iterator[DumpedTables]:
        """Yield the tables that the agent has as (table, columns, rows), all from one snapshot."""
        schema = schema_of(self._workspace, agent)
        with self._schemas.connection(SNAPSHOT, schema) as connection:
            owner = None if self._workspace is None else (self._workspace, agent)
            self._schemas.require_not_lost(connection, schema, owner)
            state = self._schemas.state(connection, schema)
            yield iter(()) if state is None else _dumped(connection, schema, agent, state.groups, complete=complete)

    def close(self) -> None:
        """Do nothing: `PostgresServer` owns the connections."""


def _dumped(connection: Connection, schema: str, agent: str, groups: Groups, *, complete: bool) -> DumpedTables:
    for table in sorted(tables_in(groups)):
        key = quoting.SQL(", ").join(map(quoting.Literal, range(1, key_length(table) + 1)))
        select = quoting.SQL("SELECT * FROM {} WHERE agent = %s ORDER BY {}")
        with connection.cursor("dump", binary=True) as cursor:
            if complete and table == "operations":
                connection.execute(quoting.SQL("SET LOCAL search_path TO {}").format(quoting.Identifier(schema)))
                cursor.execute(translate_query(statement("operations.dump")), {"agent": agent})
            else:
                cursor.execute(select.format(quoting.Identifier(schema, table), key), (agent,))
            assert cursor.description is not None
            columns = [column.name for column in cursor.description]
            if table == "embeddings":
                at = columns.index("vector")  # in the format of the SQLite file
                vectors = ((*row[:at], vector_from_binary(row[at]), *row[at + 1 :]) for row in cursor)
                yield table, columns, vectors
            else:
                yield table, columns, iter(cursor)


def _without_readers(connection: Connection) -> bool:
    """Return whether no transaction of a cluster is left that may see deleted rows: its workers send no notices."""
    waited = 0.0  # at least so long ago the rows were deleted
    for pause in (*PAUSES, 0):
        if citus.transactions_older_than(connection, waited) == 0:
            return True
        time.sleep(pause)
        waited += pause
    return False


def _rewrite(connection: Connection, schema: str, table: str, *, citus_is_used: bool) -> bool:
    """Rewrite a table without its deleted rows; return True if open transactions forced the server to keep some."""
    details: list[str] = []

    def listen(notice: psycopg.errors.Diagnostic) -> None:
        details.append(notice.message_detail or "")

    name = quoting.Identifier(schema, table)
    # VACUUM runs in no transaction, and a setting of the session could become that of another client of a pooler: so
    # wait here until the lock can be had.
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout TO '{LOCK_SECONDS}s'".encode())
        connection.execute(quoting.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(name))
    connection.add_notice_handler(listen)
    # Without the option, which PostgreSQL 16 brought, it reads the catalog of all tables for each one.
    plain = citus_is_used or connection.info.server_version < 160_000
    options = quoting.SQL("FULL, VERBOSE" if plain else "FULL, VERBOSE, SKIP_DATABASE_STATS")
    try:
        connection.execute(quoting.SQL("VACUUM ({}) {}").format(options, name))
    finally:
        connection.remove_notice_handler(listen)
    # The notice's detail begins with the number of dead rows that could not be removed.
    return any(int(number) for detail in details for number in re.findall(r"\d+", detail)[:1])
