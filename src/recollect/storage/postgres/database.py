"""`PostgresDatabase`: a `Database` of one workspace, or of the account, in schemas on a server."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg import sql as quoting

from recollect.errors import Unavailable
from recollect.storage.abandoned import refuse_abandoned
from recollect.storage.database import Database, Row, Transaction
from recollect.storage.named_queries import expand, statement
from recollect.storage.postgres.administration import PostgresAdministration
from recollect.storage.postgres.dialect import translate_query, vector_from_binary, vector_to_text
from recollect.storage.postgres.schemas import SchemaOwner, Schemas, schema_of
from recollect.storage.postgres.server import SNAPSHOT, Connection

__all__ = ["PostgresDatabase", "PostgresTransaction"]


class PostgresTransaction(Transaction):
    """A transaction on one connection, with the agent's schema selected."""

    ranks_vectors = True

    def __init__(self, connection: Connection, agent: str, generation: int) -> None:
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
        return vector_to_text(values)

    def vector_bytes(self, raw: Any) -> bytes:
        """Convert a vector from pgvector's binary format to little-endian f32."""
        return vector_from_binary(raw)

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return the rows of a named query."""
        text, bound = expand(query, values)
        bound["agent"] = self.agent
        return self._cursor.execute(translate_query(text), bound).fetchall()

    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query and return the number of rows it changed."""
        text, bound = expand(query, values)
        bound["agent"] = self.agent
        return self._cursor.execute(translate_query(text), bound).rowcount

    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once for each row of values."""
        agent = self.agent
        self._cursor.executemany(translate_query(statement(query)), [{**row, "agent": agent} for row in rows])

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Bulk-load complete rows into a table."""
        target = quoting.Identifier(table), quoting.SQL(", ").join(map(quoting.Identifier, columns))
        with self._cursor.copy(quoting.SQL("COPY {} ({}) FROM STDIN").format(*target)) as copy:
            for row in rows:
                copy.write_row(row)


class PostgresDatabase(Database):
    """One workspace (a schema per agent), or the account (one schema for all agents)."""

    def __init__(self, schemas: Schemas, workspace: str | None, empty: Database) -> None:
        """`empty` is a database without rows, to read where there is no schema."""
        self._schemas = schemas
        self._workspace = workspace
        self._empty = empty
        self.admin = PostgresAdministration(self, schemas, workspace)

    def _schema(self, agent: str) -> str:
        return schema_of(self._workspace, agent)

    def _owner(self, agent: str) -> SchemaOwner:
        return None if self._workspace is None else (self._workspace, agent)

    @contextmanager
    def read(self, agent: str) -> Iterator[Transaction]:
        """Open a snapshot of the agent's schema, or of an empty memory if there is no schema."""
        schema, schemas = self._schema(agent), self._schemas
        while schema in schemas.known or schemas.exists(schema, self._owner(agent)):
            begin = f"{SNAPSHOT}; SET LOCAL search_path TO {schemas.path(schema)}"
            with schemas.connection(begin, schema) as connection:
                if generation := schemas.generation(connection, schema):
                    yield PostgresTransaction(connection, agent, generation)
                    return
            schemas.known.discard(schema)  # the workspace was deleted concurrently, or `exists` raises Corrupt
        with self._empty.read(agent) as tx:
            yield tx

    @contextmanager
    def write(self, agent: str) -> Iterator[Transaction]:
        """Open a transaction that commits when the block ends."""
        refuse_abandoned()
        schema, schemas = self._schema(agent), self._schemas
        for _ in range(2):
            schemas.prepare(schema, self._owner(agent))
            begin = f"BEGIN; SET LOCAL search_path TO {schemas.path(schema)}"
            with schemas.connection(begin, schema) as connection:
                if generation := schemas.generation(connection, schema):
                    yield PostgresTransaction(connection, agent, generation)
                    refuse_abandoned()
                    return
            schemas.known.discard(schema)  # the workspace was deleted concurrently: create it again
        raise Unavailable(f"schema {schema} is being deleted by another process; try again")

    @contextmanager
    def within(self, connection: Connection, agent: str, *, write: bool) -> Iterator[Transaction]:
        """Continue a transaction of another schema in this one, and restore its search_path at the end.

        A schema to write to must be prepared before: no thread may take a second connection while it holds one.
        """
        schema = self._schema(agent)
        choose = "SELECT current_setting('search_path'), set_config('search_path', %s, true)"
        (before, _), *_ = connection.execute(choose, (self._schemas.path(schema),)).fetchall()
        generation = self._schemas.generation(connection, schema)
        if generation is not None:
            yield PostgresTransaction(connection, agent, generation)
        elif write:
            self._schemas.known.discard(schema)
            raise Unavailable(f"schema {schema} is being deleted by another process; try again")
        else:
            with self._empty.read(agent) as tx:
                yield tx
        connection.execute(choose, (before,))

    def exists(self, agent: str) -> bool:
        """Return whether the agent's schema exists."""
        return self._schemas.exists(self._schema(agent), self._owner(agent))

    def seen_by(self, connection: Connection, agent: str) -> bool:
        """Return whether the agent's schema is visible to an open transaction."""
        return self._schemas.is_visible(connection, self._schema(agent))

    def prepare(self, agent: str) -> None:
        """Create or migrate the agent's schema."""
        self._schemas.prepare(self._schema(agent), self._owner(agent))
