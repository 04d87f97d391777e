"""One transaction on a server. Statements are queued until a result is needed, then sent in one round trip."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import psycopg

from recollect.storage.database import Row
from recollect.storage.postgres.table_groups import SchemaState

__all__ = ["Connection", "Connections", "GiveBack", "ResultCursor", "ServerSession", "Statement", "set_path"]

Connection = psycopg.Connection[Row]
ResultCursor = psycopg.Cursor[Row]
Statement = tuple[bytes, Mapping[str, Any] | None]


def set_path(path: str) -> Statement:
    """Return the statement that sets the search_path of a transaction."""
    return b"SELECT set_config('search_path', %(path)s, true)", {"path": path}


GiveBack = Callable[[], None]


class Connections(Protocol):
    """The source of the connection of a session."""

    def take(self, schema: str | None) -> tuple[Connection, GiveBack]:
        """Return a connection that no transaction uses, and the function that returns it after a rollback.

        `schema` is the one that will be used.
        """

    def drop_closed(self) -> None:
        """Discard the connections that the server closed while they were idle."""


class ServerSession:
    """A transaction that begins with its first statement. Not thread-safe."""

    def __init__(
        self, connections: Connections, begin: Sequence[Statement], schema: str | None, *, commits: bool = True
    ) -> None:
        """`begin` is sent before the first statement. Without `commits` there is no transaction to end."""
        self._connections, self._begin, self._schema, self._commits = connections, begin, schema, commits
        self._connection: Connection | None = None
        self._give_back: GiveBack = lambda: None
        self._queued: list[Statement] = []
        self.path = ""
        """The search_path after the queued statements."""
        self.states: dict[str, SchemaState | None] = {}
        """What this transaction has seen of schemas; see `Schemas.read_generations`."""
        self.answered: list[ResultCursor] = []
        """The cursors of the last `fetch`. After an error those before the failed statement have results."""

    def queue(self, statement: bytes, values: Mapping[str, Any] | None = None) -> None:
        """Queue a statement; it is sent before the next one whose result is needed, or before the commit."""
        self._queued.append((statement, values))

    def select(self, path: str) -> None:
        """Set the search_path for the statements that follow."""
        if path != self.path:
            self.queue(*set_path(path))
            self.path = path

    def fetch(self, statements: Sequence[Statement]) -> list[ResultCursor]:
        """Send the queued statements and these in one message; return the cursors of these."""
        batch = [*self._queued, *statements]
        self._queued, self.answered = [], []
        try:
            if self._connection is None:
                self._start(batch)
            elif batch:
                self._send(self._connection, batch)
        finally:
            self.answered = self.answered[-len(statements) :] if statements else []
        return self.answered

    def attempt(self, statements: Sequence[Statement]) -> psycopg.Error | None:
        """Fetch statements; return the error of a later one if the first has a result, and raise any other error."""
        try:
            self.fetch(statements)
        except psycopg.Error as error:
            if not self.answered or self.answered[0].description is None:
                raise
            return error
        return None

    def connection(self) -> Connection:
        """Return the connection in its transaction, with nothing left in the queue."""
        self.fetch([])
        assert self._connection is not None
        return self._connection

    def _start(self, batch: Sequence[Statement]) -> None:
        """Begin the transaction with its first statements, once more if the server had closed the idle connection."""
        batch = [*self._begin, *batch]
        for last in (False, True):
            connection, self._give_back = self._connections.take(self._schema)
            self._connection = connection
            try:
                return self._send(connection, batch)
            except psycopg.OperationalError:
                if last or not connection.closed:
                    raise
                self._release()
                self._connections.drop_closed()

    def _send(self, connection: Connection, batch: Sequence[Statement]) -> None:
        self.answered = [connection.cursor(binary=True) for _ in batch]
        if len(batch) == 1:
            self.answered[0].execute(*batch[0])
            return
        with connection.pipeline():
            for cursor, (statement, values) in zip(self.answered, batch, strict=True):
                cursor.execute(statement, values)

    def commit(self) -> None:
        """Send what is queued, commit, and give the connection back."""
        if self._connection is None and self._queued:
            self.fetch([])  # it may be repeated on another connection, which a commit may not
        if self._connection is not None:
            self._end()
        self.abandon()

    def _end(self) -> None:
        """Commit; raise if the server rolled back instead, as it does after an error of an earlier statement."""
        if not self._commits:
            self.fetch([])
            return
        (cursor,) = self.fetch([(b"COMMIT", None)])
        if cursor.statusmessage != "COMMIT":
            raise psycopg.errors.InFailedSqlTransaction(
                "a statement of the transaction had failed: nothing was written"
            )

    def abandon(self) -> None:
        """Roll back and give the connection back. The next statement begins another transaction."""
        self._queued, self.path, self.states = [], "", {}
        self._release()

    def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._give_back()
