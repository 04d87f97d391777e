"""Transactions on a SQLite file: reads see one snapshot, writes use BEGIN IMMEDIATE and wait for the write lock.

The context managers are classes instead of generators, because they are on the hot path of every read and write, and a
write runs with cold CPU caches after waiting for the disk.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from recollect.clock import stopwatch
from recollect.storage import marks
from recollect.storage.abandoned import refuse_abandoned
from recollect.storage.database import Row, Transaction
from recollect.storage.named_queries import numbered, numbered_rows
from recollect.storage.sqlite.errors import raise_translated
from recollect.storage.sqlite.file import SqliteFile, forks, give_empty, take_empty
from recollect.storage.sqlite.group_commit import Batch
from recollect.storage.sqlite.opening import require_known_version

__all__ = ["PartOfRead", "SharedRead", "SqliteRead", "SqliteTransaction", "SqliteWrite"]

_LONG_LIST = "SELECT value FROM json_each({})"


class SqliteTransaction(Transaction):
    """A transaction on one connection."""

    alone = True

    def __init__(self, connection: apsw.Connection, agent: str, generation: int) -> None:
        self.agent = agent
        self.generation = generation
        self.connection = connection
        self._execute = connection.cursor().execute  # one cursor suffices, because every result is fetched completely

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return the rows of a named query."""
        values["agent"] = self.agent
        return self._execute(*numbered(query, values, _LONG_LIST)).fetchall()

    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query and return the number of rows it changed."""
        values["agent"] = self.agent
        self._execute(*numbered(query, values, _LONG_LIST))
        return self.connection.changes()

    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once for each row of values."""
        self.connection.executemany(*numbered_rows(query, rows, self.agent))

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Bulk-load complete rows into a table."""
        marks = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        self.connection.executemany(insert, rows)


class SqliteRead:
    """Context manager of a read transaction: one snapshot of the file, or an empty memory if there is no file."""

    __slots__ = ("_agent", "_file", "_is_empty", "_tx")

    def __init__(self, file: SqliteFile, agent: str) -> None:
        self._file, self._agent = file, agent
        self._is_empty = False
        """True if this reads an empty in-memory database."""

    def __enter__(self) -> SqliteTransaction:
        file = self._file
        forks.begin(self)
        try:
            if file.present():
                connection, generation = file.take()
                try:
                    connection.execute("BEGIN")
                except BaseException:
                    file.give_back(connection, generation, "COMMIT")
                    raise
            else:
                connection, generation = take_empty(), file.generation
                self._is_empty = True
        except BaseException as error:
            forks.end(self)
            raise_translated(error, file.path)
            raise
        self._tx = SqliteTransaction(connection, self._agent, generation)
        return self._tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if self._is_empty:
                give_empty(self._tx.connection)
            else:
                self._file.give_back(self._tx.connection, self._tx.generation, "COMMIT")
        finally:
            forks.end(self)
        if error is not None:
            raise_translated(error, self._file.path)


class SharedRead:
    """The read transaction that the reads of one thread share within `SqliteDatabase.snapshot`.

    It begins with the first read. After `end`, or after an error, the next read begins another one.
    """

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._read: _CountedRead | None = None

    def part(self, agent: str) -> "PartOfRead":
        """Return the context manager of one of the reads."""
        return PartOfRead(self, agent)

    def enter(self, agent: str) -> "_CountedRead":
        """Begin the transaction unless it has begun, and count a read in it."""
        if self._read is None:
            read = _CountedRead(self._file, agent)
            read.__enter__()
            self._read = read
        self._read.parts += 1
        return self._read

    def leave(self, read: "_CountedRead", error: BaseException | None) -> None:
        """End a read; translate the error that ended it."""
        read.parts -= 1
        if error is not None and read is self._read:
            self._read = None
        if read is not self._read and not read.parts:
            read.__exit__(None, error, None)
        elif error is not None:
            raise_translated(error, self._file.path)

    def end(self) -> None:
        """End the transaction as soon as none of its reads is in progress."""
        read, self._read = self._read, None
        if read is not None and not read.parts:
            read.__exit__(None, None, None)


class _CountedRead(SqliteRead):
    __slots__ = ("parts",)

    def __init__(self, file: SqliteFile, agent: str) -> None:
        super().__init__(file, agent)
        self.parts = 0
        """Number of reads in progress that share the transaction."""

    def of(self, agent: str) -> SqliteTransaction:
        """Return the transaction for the rows of an agent."""
        tx = self._tx
        return tx if tx.agent == agent else SqliteTransaction(tx.connection, agent, tx.generation)


class PartOfRead:
    """Context manager of one of the reads that share a transaction."""

    __slots__ = ("_agent", "_read", "_shared")

    def __init__(self, shared: SharedRead, agent: str) -> None:
        self._shared, self._agent = shared, agent

    def __enter__(self) -> SqliteTransaction:
        self._read = self._shared.enter(self._agent)
        return self._read.of(self._agent)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._shared.leave(self._read, error)


class SqliteWrite:
    """Context manager of a write transaction: committed to disk when the block ends, rolled back when it raises.

    With `group`, other writes may share the transaction (see group_commit.py).
    """

    __slots__ = ("_agent", "_batch", "_file", "_group", "_tx")

    def __init__(self, file: SqliteFile, agent: str, *, group: bool = False) -> None:
        self._file, self._agent, self._group = file, agent, group

    def __enter__(self) -> SqliteTransaction:
        refuse_abandoned()
        file = self._file
        forks.begin(self)
        try:
            batch = file.writing.acquire(self._group)
            if batch is not None:
                self._batch = batch
                return self._begun_in(batch)
            return self._begun()
        except BaseException as error:
            forks.end(self)
            raise_translated(error, file.path)
            raise

    def _begun(self) -> SqliteTransaction:
        file = self._file
        try:
            if not file.present():
                file.create()
            connection, generation = file.take()
            try:
                connection.execute("BEGIN IMMEDIATE")
                last, file.last_write = file.last_write, None
                current = last is not None and last[:3] == (connection, connection.data_version(), self._agent)
                if not current:
                    require_known_version(connection, file.path)  # a newer recollect may have migrated the file
                tx = SqliteTransaction(connection, self._agent, generation)
                marks.leave(tx)
            except BaseException:
                file.give_back(connection, generation, "ROLLBACK")
                raise
        except BaseException:
            file.writing.release()
            raise
        self._batch, self._tx = Batch(connection, generation), tx
        if current and last is not None:
            tx.counters = last[3]
        return self._tx

    def _begun_in(self, batch: Batch) -> SqliteTransaction:
        """Begin in a transaction that another writer has passed on."""
        try:
            counters = batch.begin(self._agent)
            tx = SqliteTransaction(batch.connection, self._agent, batch.generation)
            marks.leave(tx)
        except BaseException:
            batch.undo()
            self._end(batch)
            raise
        self._tx, tx.counters = tx, counters
        return tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        batch, tx, written = self._batch, self._tx, None
        try:
            try:
                if error is None:
                    refuse_abandoned()
                    written = batch.add(tx.agent, tx.counters)
            finally:
                if written is None:
                    batch.undo()
                self._end(batch)
            if written is not None:
                written.wait()
        except Exception as failure:
            raise_translated(failure, self._file.path)
            raise
        finally:
            forks.end(self)
        if error is not None:
            raise_translated(error, self._file.path)

    def _end(self, batch: Batch) -> None:
        """Pass the transaction on, or commit the writes in it."""
        file = self._file
        failure: BaseException | None = None
        if self._group and batch.waiting and file.writing.pass_on(batch):
            return
        try:
            if batch.waiting:
                self._commit(batch)
        except BaseException as error:  # raised by those who wait, also by this one
            failure = error
            if not isinstance(error, Exception):
                raise
        finally:
            file.give_back(batch.connection, batch.generation, "ROLLBACK")
            file.writing.release()
            batch.settle(failure)

    def _commit(self, batch: Batch) -> None:
        file, began = self._file, stopwatch()
        batch.connection.execute("COMMIT")
        file.writing.pace = stopwatch() - began
        if batch.counters is not None:
            file.last_write = batch.connection, batch.connection.data_version(), *batch.counters
