"""`PostgresDatabase`: a `Database` of one workspace, or of the account, in schemas on a server."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from psycopg import sql as quoting

from recollect.errors import Unavailable
from recollect.storage import marks
from recollect.storage.abandoned import refuse_abandoned
from recollect.storage.database import Database, NamedQuery, Row, Transaction
from recollect.storage.named_queries import expand, statement
from recollect.storage.postgres.administration import PostgresAdministration
from recollect.storage.postgres.dialect import translate_query, vector_from_binary, vector_to_text
from recollect.storage.postgres.schemas import ACCOUNT, SchemaOwner, Schemas, schema_of
from recollect.storage.postgres.server import SNAPSHOT
from recollect.storage.postgres.session import ResultCursor, ServerSession, Statement, set_path
from recollect.storage.postgres.table_groups import (
    ALL,
    CORE,
    Groups,
    SchemaState,
    group_of,
    group_written_by,
)

__all__ = ["PostgresDatabase", "PostgresTransaction", "SharedSnapshot"]

FEW = 100
"""Largest number of rows of `many` that wait for the next statement."""
_LOCKING = {"counters.lock", "history.journal_advance"}
"""Queries that wait until other writers of the agent have ended, which may have created tables."""


class PostgresTransaction(Transaction):
    """A transaction in the schema of an agent. Nothing is sent before the first query.

    The message of that query also begins the transaction and finds out whether the schema still exists. If it does not,
    `recover` is called: it returns a transaction to use instead, that of an empty memory, or None to start over.
    """

    ranks_vectors = True

    def __init__(
        self,
        session: ServerSession,
        schemas: Schemas,
        schema: str,
        agent: str,
        recover: Callable[[], Transaction | None],
    ) -> None:
        self.agent = agent
        self._session, self._schemas, self._schema = session, schemas, schema
        self._recover = recover
        state = session.states.get(schema)
        self._generation = state.generation if state is not None else None
        self._instead: Transaction | None = None

    @property
    def generation(self) -> int:  # type: ignore[override]
        """Changes when the schema is recreated."""
        if self._generation is None and self._instead is None:
            self._fetch([])
        return self._instead.generation if self._instead is not None else self._generation or 0

    @contextmanager
    def beside(self, database: Database, agent: str, *, write: bool) -> Iterator[Transaction]:
        """Run as part of this transaction, on its connection: a lock holder must not wait for a second connection."""
        assert isinstance(database, PostgresDatabase)
        if self._generation is None:
            self._fetch([])
        with ExitStack() as stack:
            yield database.within(self._session, agent, stack, write=write)

    def sees(self, database: Database, agent: str) -> bool:
        """Return whether the agent's schema of another database exists, queried on this connection."""
        assert isinstance(database, PostgresDatabase)
        return database.seen_by(self._session, agent)

    def vector(self, values: bytes) -> Any:
        """Return a vector in pgvector's text format."""
        if self._instead is not None:
            return self._instead.vector(values)
        return vector_to_text(values)

    def vector_bytes(self, raw: Any) -> bytes:
        """Convert a vector from pgvector's binary format to little-endian f32."""
        if self._instead is not None:
            return self._instead.vector_bytes(raw)
        return vector_from_binary(raw)

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return the rows of a named query."""
        return self.all_of((query, values))[0]

    def all_of(self, *queries: NamedQuery) -> list[list[Row]]:
        """Return the rows of several named queries, which are sent in one message."""
        written = frozenset(group_written_by(query) for query, _ in queries)
        statements = [self._statement(query, dict(values)) for query, values in queries]
        locking = any(query in _LOCKING for query, _ in queries)
        if locking:
            statements.append(self._schemas.query_generations((self._schema,)))
        cursors = self._fetch(statements, written)
        if self._instead is not None:
            return self._instead.all_of(*queries)
        if locking:
            self._use_new_tables(cursors.pop())
        return [cursor.fetchall() for cursor in cursors]

    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query and return the number of rows it changed."""
        (cursor,) = self._fetch([self._statement(query, values)], frozenset({group_written_by(query)}))
        return cursor.rowcount

    def send(self, query: str, /, **values: Any) -> None:
        """Run a named query with the next one whose result is needed, or with the commit."""
        self._select(group_written_by(query))
        self._session.queue(*self._statement(query, values))

    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once for each row of values."""
        sql, agent = translate_query(statement(query)), self.agent
        bound = [{**row, "agent": agent} for row in rows]
        self._select(group_written_by(query) if bound else CORE)
        if len(bound) <= FEW:
            for values in bound:
                self._session.queue(sql, values)
        else:
            self._session.connection().cursor(binary=True).executemany(sql, bound)

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Bulk-load complete rows into a table."""
        self._select(group_of(table))
        target = quoting.Identifier(table), quoting.SQL(", ").join(map(quoting.Identifier, columns))
        cursor = self._session.connection().cursor(binary=True)
        with cursor.copy(quoting.SQL("COPY {} ({}) FROM STDIN").format(*target)) as copy:
            for row in rows:
                copy.write_row(row)

    def _statement(self, query: str, values: dict[str, Any]) -> Statement:
        text, bound = expand(query, values)
        bound["agent"] = self.agent
        return translate_query(text), bound

    def _select(self, written: str) -> None:
        """Have the statements that follow run in the schema, which exists and has this group of tables."""
        if self._generation is None:
            self._fetch([])
        self._use_tables(frozenset({written}))

    def _use_tables(self, written: Groups) -> None:
        """Set the search_path, and create the groups of tables into which rows are inserted and that are not there."""
        states, schemas, schema = self._session.states, self._schemas, self._schema
        state = states.get(schema)
        for group in written - (state.groups if state is not None else ALL):
            states[schema] = state = SchemaState(self._generation or 0, schemas.add_group(schema, group))
        self._session.select(schemas.path(schema, state.groups if state is not None else ALL))

    def _use_new_tables(self, generations: ResultCursor) -> None:
        """Use the tables that other writers created while this transaction waited for its lock.

        Without a new search_path, prepared queries would still be those of the empty tables.
        """
        state = self._schemas.read_generations(generations).get(self._schema)
        if state is not None:
            self._session.states[self._schema] = state

    def _fetch(self, statements: Sequence[Statement], written: Groups = frozenset()) -> list[ResultCursor]:
        """Return the cursors of statements; none if another transaction is used instead.

        `written` are the groups of tables into which they insert rows.
        """
        while self._generation is None and self._instead is None:
            if (cursors := self._first(statements, written)) is not None:
                return cursors
            self._instead = self._recover()
        if self._instead is not None:
            self.ranks_vectors = self._instead.ranks_vectors
            return []
        self._use_tables(written)
        return self._session.fetch(statements)

    def _first(self, statements: Sequence[Statement], written: Groups) -> list[ResultCursor] | None:
        """Send the first statements of the transaction and what precedes them; return None if there is no schema."""
        session, schemas, schema = self._session, self._schemas, self._schema
        guess = schemas.known.get(schema, ALL)
        while True:
            session.select(schemas.path(schema, guess))
            sent = statements if written <= guess else []
            failure = session.attempt([schemas.query_generations((schema, ACCOUNT)), *sent])
            found, *cursors = session.answered
            session.states = schemas.read_generations(found)
            state = session.states.get(schema)
            if state is None:
                return None
            if state.groups == guess:
                break
            # Another process has created tables: the statements may have used the empty ones.
            session.abandon()
            schemas.known[schema] = guess = state.groups
        self._generation = state.generation
        if failure is not None:
            raise failure
        return cursors if sent is statements else self._fetch(statements, written)


class SharedSnapshot:
    """The transaction that the reads of one thread share within `PostgresDatabase.snapshot`.

    Its first message asks for everything that the places need at first: which of them exist, and their counters.
    """

    def __init__(
        self, session: ServerSession, schemas: Schemas, places: Sequence[tuple[str, SchemaOwner, str]]
    ) -> None:
        self._session, self._schemas, self._places = session, schemas, places
        self._counters: dict[str, Row] = {}

    def covers(self, schema: str) -> bool:
        """Return whether a schema is one of its places."""
        return any(schema == one for one, _, _ in self._places)

    def exists(self, schema: str) -> bool:
        """Return whether a schema exists in the snapshot."""
        while not self._session.states:
            self._begin()
        return self._session.states.get(schema) is not None

    def read(self, schema: str, agent: str) -> AbstractContextManager[Transaction] | None:
        """Return a part of the transaction for a schema; None if it does not exist."""
        if not self.exists(schema):
            return None
        tx = PostgresTransaction(self._session, self._schemas, schema, agent, lambda: None)
        tx.counters = self._counters.get(schema)
        return nullcontext(tx)

    def leave(self) -> None:
        """End the transaction. The next read begins another one."""
        self._session.commit()

    def abandon(self) -> None:
        """End the transaction after an error."""
        self._session.abandon()

    def _begin(self) -> None:
        """Begin the transaction; return without one if a schema must be prepared or was deleted meanwhile."""
        session, schemas = self._session, self._schemas
        guesses = {place: schemas.known.get(place) for place, _, _ in self._places}
        known = [(place, agent, groups) for place, _, agent in self._places if (groups := guesses[place]) is not None]
        counters = translate_query(statement("counters.get"))
        batch = [schemas.query_generations([*guesses]), schemas.query_listed([*guesses])]
        for schema, agent, groups in known:
            batch += [set_path(schemas.path(schema, groups)), (counters, {"agent": agent})]
        failure = session.attempt(batch)
        answered = session.answered
        session.states = states = schemas.read_generations(answered[0])
        seen = {schema: None if state is None else state.groups for schema, state in states.items()}
        changed = {schema for schema, groups in seen.items() if groups != guesses[schema]}
        if changed:
            session.abandon()
            for schema in changed:
                schemas.known.pop(schema, None)
                schemas.exists(schema, None)
            return
        if failure is not None:
            raise failure
        session.path = schemas.path(known[-1][0], known[-1][2]) if known else ""
        found = (cursor.fetchone() for cursor in answered[3::2])
        self._counters = {schema: row for (schema, _, _), row in zip(known, found, strict=True) if row is not None}
        listed = {schema for (schema,) in answered[1]} if schemas.listed else set(guesses)
        for schema, owner, _ in self._places:
            # The account's schema has no owner, and is made by its first entry.
            lost = owner is not None and schema in listed and states.get(schema) is None
            if lost or schema not in states:
                schemas.require_not_lost(session.connection(), schema, owner)


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
        if (shared := self._shared(agent)) is not None:
            with schemas.translating(schema):
                try:
                    with shared.read(schema, agent) or self._empty.read(agent) as tx:
                        yield tx
                except BaseException:
                    shared.abandon()
                    raise
            return
        with ExitStack() as stack:
            if schema not in schemas.known and not schemas.exists(schema, self._owner(agent)):
                yield stack.enter_context(self._empty.read(agent))
                return
            session = stack.enter_context(schemas.session(SNAPSHOT, schema))

            def recover() -> Transaction | None:
                session.abandon()
                schemas.known.pop(schema, None)  # the workspace was deleted concurrently, or `exists` raises Corrupt
                gone = not schemas.exists(schema, self._owner(agent))
                return stack.enter_context(self._empty.read(agent)) if gone else None

            yield PostgresTransaction(session, schemas, schema, agent, recover)

    @contextmanager
    def write(self, agent: str, *, group: bool = False) -> Iterator[Transaction]:
        """Open a transaction that commits when the block ends. Sharing a commit is left to the server."""
        refuse_abandoned()
        schema, schemas = self._schema(agent), self._schemas
        self._leave_snapshot()
        schemas.prepare(schema, self._owner(agent))
        attempts = 1
        with schemas.session("BEGIN", schema) as session:

            def recover() -> None:
                nonlocal attempts
                session.abandon()
                schemas.known.pop(schema, None)  # the workspace was deleted concurrently: create it again
                if attempts == 2:
                    raise _deleted(schema)
                attempts += 1
                if not schemas.exists(schema, self._owner(agent)):  # which raises Corrupt if it is incomplete
                    schemas.prepare(schema, self._owner(agent))

            tx = PostgresTransaction(session, schemas, schema, agent, recover)
            marks.leave(tx)
            yield tx
            refuse_abandoned()

    def within(self, session: ServerSession, agent: str, stack: ExitStack, *, write: bool) -> Transaction:
        """Return the transaction of an agent that is part of the session of another schema.

        A schema to write to must be prepared before: no thread may take a second connection while it holds one.
        """
        schema, schemas = self._schema(agent), self._schemas
        if schema not in session.states:
            (cursor,) = session.fetch([schemas.query_generations((schema,))])
            session.states |= schemas.read_generations(cursor)
        if schema not in session.states:
            schemas.is_visible(session.connection(), schema)  # just deleted, or incomplete: then this raises Corrupt
        if session.states.get(schema) is not None:
            return PostgresTransaction(session, schemas, schema, agent, lambda: None)
        if write:
            schemas.known.pop(schema, None)
            raise _deleted(schema)
        return stack.enter_context(self._empty.read(agent))

    def exists(self, agent: str) -> bool:
        """Return whether the agent's schema exists."""
        if (shared := self._shared(agent)) is not None:
            return shared.exists(self._schema(agent))
        return self._schemas.exists(self._schema(agent), self._owner(agent))

    @contextmanager
    def snapshot(self, places: Sequence[tuple[Database, str]]) -> Iterator[None]:
        """Let all reads of this thread in the block share one transaction."""
        if self._schemas.shared.snapshot is not None:
            yield
            return
        found = [
            (one._schema(agent), one._owner(agent), agent) for one, agent in places if isinstance(one, PostgresDatabase)
        ]
        with self._schemas.session(SNAPSHOT, found[0][0]) as session:
            self._schemas.shared.snapshot = SharedSnapshot(session, self._schemas, found)
            try:
                yield
            finally:
                self._schemas.shared.snapshot = None

    def _shared(self, agent: str) -> SharedSnapshot | None:
        """Return the thread's snapshot if it covers the agent; end it if it does not: a thread holds one connection."""
        shared: SharedSnapshot | None = self._schemas.shared.snapshot
        if shared is not None and not shared.covers(self._schema(agent)):
            shared.leave()
            return None
        return shared

    def _leave_snapshot(self) -> None:
        if (shared := self._schemas.shared.snapshot) is not None:
            shared.leave()

    def seen_by(self, session: ServerSession, agent: str) -> bool:
        """Return whether the agent's schema is visible to an open transaction."""
        return self._schemas.is_visible(session.connection(), self._schema(agent))

    def prepare(self, agent: str) -> None:
        """Create or migrate the agent's schema."""
        self._schemas.prepare(self._schema(agent), self._owner(agent))


def _deleted(schema: str) -> Unavailable:
    return Unavailable(f"schema {schema} is being deleted by another process; try again")
