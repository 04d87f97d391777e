"""SQLite implementation of `Database`: one file, shared by many processes. The only file that imports apsw.

Durability: write-ahead log with synchronous=FULL, so a commit is on disk before it is acknowledged. Writers use BEGIN
IMMEDIATE and wait for the write lock. A new file is built under a temporary name and hard-linked into place, so a file
at the path is always complete: an empty one was truncated from outside, and is rejected instead of being treated as an
empty memory.
"""

import contextlib
import errno
import os
import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import call
from pathlib import Path
from typing import Any

import apsw

from recollect.clock import SystemClock
from recollect.errors import ConfigError, Conflict, Corrupt, RecollectError, Unavailable
from recollect.model.report import Finding
from recollect.storage.database import Administration, Database, DumpedTables, Row, Transaction
from recollect.storage.files import alone_in, new_file, publish
from recollect.storage.forks import Forks
from recollect.storage.named_queries import expand, plain, statement
from recollect.storage.schema import migrations

__all__ = ["SqliteDatabase", "SqliteTransaction"]

APPLICATION_ID = 0x52434C54  # "RCLT"
BUSY_MS = 30_000
PIECE, OVERLAP = 1 << 20, 1 << 10
"""Bytes searched at a time, and bytes by which two pieces overlap, so that a word on the boundary is found."""
IDLE = 8
"""Maximum number of idle connections to keep; each may cache 16 MB of the file."""
SMALLEST = 512
"""Size in bytes of the smallest valid SQLite file: one page of the minimum size."""
TIDY_PAGES, TIDY_STEPS = 1_000, 1_000
"""Free pages released per transaction, and maximum number of transactions per call of `tidy`."""
_NEW_FILE = (("page_size", 4096), ("auto_vacuum", 2), ("application_id", APPLICATION_ID))
_EVERY_CONNECTION = (
    ("synchronous", "full"),
    ("secure_delete", "on"),
    ("cache_size", -16_000),
    ("journal_size_limit", 64_000_000),
)
# Binding named parameters takes time quadratic in their number.
_LONG_LIST = "SELECT value FROM json_each(:{})"
_CLOCK = SystemClock()
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('migrations') ORDER BY name"
# Errors that reading a damaged file can raise: SQLite's own, and those caused by inconsistent or invalid rows.
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, ValueError, IndexError)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Connections inherited by a forked child. Using or closing them would harm the parent, so only keep them alive.
_inherited: list[apsw.Connection] = []
# No connection is open during a fork (see forks.py): idle connections are closed before it.
_databases: "weakref.WeakValueDictionary[int, SqliteDatabase]" = weakref.WeakValueDictionary()
# Connections to empty in-memory databases, for reading where there is no file. Shared by all SqliteDatabase objects,
# so that opening many locations without a file does not use memory for each.
_nowhere: list[apsw.Connection] = []


def _close_idle() -> None:
    for database in map(call, _databases.valuerefs()):
        if database is not None:
            database.close()


def _begin_anew() -> None:
    _nowhere.clear()
    for database in map(call, _databases.valuerefs()):
        if database is not None:
            database.forked()


_forks = Forks(_close_idle, _begin_anew)


class SqliteTransaction(Transaction):
    """A transaction on one connection."""

    alone = True

    def __init__(self, connection: apsw.Connection, agent: str, generation: int) -> None:
        self.agent = agent
        self.generation = generation
        self._connection = connection
        self._execute = connection.cursor().execute  # one cursor suffices, because every result is fetched completely

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return the rows of a named query."""
        sql = plain[query]
        if sql is None:
            sql, values = expand(query, values, _LONG_LIST)
        values["agent"] = self.agent
        return self._execute(sql, values).fetchall()

    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query and return the number of rows it changed."""
        sql = plain[query]
        if sql is None:
            sql, values = expand(query, values, _LONG_LIST)
        values["agent"] = self.agent
        self._execute(sql, values)
        return self._connection.changes()

    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once for each row of values."""
        agent = self.agent
        self._connection.executemany(statement(query), ({**row, "agent": agent} for row in rows))

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Bulk-load complete rows into a table."""
        marks = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        self._connection.executemany(insert, rows)


class SqliteDatabase(Database, Administration):
    """One SQLite file with recollect's tables. Opening creates nothing; the first write creates the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.admin = self
        self._name = str(path)
        self._wal = path.with_name(path.name + "-wal")
        self._idle: list[apsw.Connection] = []
        self._used = 0
        """Number of connections in use."""
        self._file: tuple[int, int] | None = None
        self._log: int | None = None
        """Inode of the write-ahead log, once known."""
        self._looked = 0
        """When a transaction of this object last ended, in milliseconds."""
        self._generation = 0
        self._left: tuple[apsw.Connection, int, str, Row] | None = None
        """Cache of the last write: its connection, that connection's data_version, its agent and its counters."""
        self._guard, self._writing = threading.Lock(), threading.Lock()
        _databases[id(self)] = self

    def read(self, agent: str) -> "_Read":
        """Open a snapshot of the file, or of an empty memory if there is no file."""
        return _Read(self, agent)

    def write(self, agent: str) -> "_Write":
        """Open a transaction that is on disk when the block ends."""
        return _Write(self, agent)

    def exists(self, agent: str) -> bool:
        """Return whether the file exists."""
        with self._errors():
            return self._present()

    def agents(self) -> list[str]:
        """Return the agents that have rows in this file."""
        with self.read("") as tx:
            return [agent for (agent,) in tx.all("admin.agents")]

    def check(self) -> list[Finding]:
        """Run SQLite's integrity check over the whole file."""
        with self._errors(), _forks.working():
            if not self._present():
                return []
            connection, generation = self._take()
            try:
                messages = [str(message) for (message,) in connection.execute("PRAGMA integrity_check")]
            except (apsw.CorruptError, apsw.NotADBError) as error:
                messages = [str(error)]
            finally:
                self._end(connection, generation)
        return [Finding(part="file", where=self.path.name, message=text) for text in messages if text != "ok"]

    def scrub(self, agent: str) -> tuple[list[str], list[str]]:
        """Rewrite the whole file with VACUUM and truncate the write-ahead log.

        Nothing less suffices: secure_delete overwrites deleted content, but not the copies that SQLite leaves in the
        slack space of a page when it moves rows.
        """
        beyond = ["copies outside this file (backups, snapshots of the file system) are out of reach"]
        with self._errors(), _forks.working(), self._writing:
            self._present()
            connection, generation = self._take()
            try:
                connection.execute("VACUUM")
                busy = connection.execute("PRAGMA wal_checkpoint(truncate)").fetchall()[0][0]
            finally:
                self._end(connection, generation)
        if busy:
            return [], [
                "a reader held the file and its write-ahead log as they were; erase again by the id when it has ended",
                *beyond,
            ]
        return [f"file {self.path.name}", "free pages", "write-ahead log"], beyond

    def in_files(self, words: Sequence[str]) -> set[str]:
        """Return the words (lowercase) whose bytes are in the file or its log, except words of the schema."""
        if not words:
            return set()
        pattern = re.compile(b"|".join(re.escape(word.encode()) for word in words), re.IGNORECASE)
        with self._errors(), _forks.working():
            connection, generation = self._take()
            try:
                schema = " ".join(str(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_schema")).lower()
            finally:
                self._end(connection, generation)
            found = {word.decode().lower() for path in (self.path, self._wal) for word in _matches(path, pattern)}
        return {word for word in found if word not in schema}

    def size(self) -> int:
        """Return the size of the file and its log, in bytes."""
        size = 0
        for path in (self.path, self._wal):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                size += path.stat().st_size
        return size

    def tidy(self) -> int:
        """Release free pages with incremental_vacuum, a limited number per transaction; then checkpoint the log."""
        given = 0
        for _ in range(TIDY_STEPS):
            with self._errors(), _forks.working(), self._writing:
                if not self._present():
                    break
                connection, generation = self._take()
                try:
                    free = connection.pragma("freelist_count")
                    list(connection.execute(f"PRAGMA incremental_vacuum({TIDY_PAGES})"))
                    cut = free - connection.pragma("freelist_count")
                    given += max(cut, 0)
                    if cut < TIDY_PAGES:
                        list(connection.execute("PRAGMA wal_checkpoint(passive)"))
                        break
                finally:
                    self._end(connection, generation)
        return given

    def remove(self) -> None:
        """Remove the file and its log; a process that recreates the file waits until both are gone."""
        with self._errors(), _forks.working(), self._writing:
            if not self._present():
                return
            with contextlib.suppress(RecollectError, apsw.Error):  # a damaged file must be removable, too
                connection, generation = self._take()
                try:  # if the process is killed below, no log with content is left behind
                    connection.execute("PRAGMA wal_checkpoint(truncate)")
                finally:
                    self._end(connection, generation)
            self._drop(None)
            with alone_in(self.path.parent):
                for suffix in ("", "-wal", "-shm"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def backup(self, target: Path) -> None:
        """Copy the file, consistent despite concurrent writers. Raise Conflict if the target exists."""
        if target.exists():
            raise Conflict(f"{target} exists already; choose a new path for the backup, or remove it first")
        with _forks.working():
            self._copy(target)

    def _copy(self, target: Path) -> None:
        with self._errors():
            self._present()
            source, generation = self._take()
        try:
            with self._errors(target), new_file(target) as aside:
                copy = apsw.Connection(str(aside), flags=apsw.SQLITE_OPEN_READWRITE)
                try:
                    # A single step over all pages: the copy is one snapshot, and does not block writers.
                    with copy.backup("main", source, "main") as work:
                        work.step(-1)
                finally:
                    copy.close()
                if not publish(aside, target):
                    raise Conflict(f"{target} was made by somebody else meanwhile; choose a new path for the backup")
        finally:
            self._end(source, generation)

    @contextmanager
    def dump(self, agent: str) -> Iterator[DumpedTables]:
        """Yield every table of the agent as (table, columns, rows), all from one snapshot."""
        with self.read(agent) as tx:
            connection = tx._connection
            tables = [name for (name,) in connection.execute(_TABLES)]

            def contents() -> DumpedTables:
                for table in tables:
                    described = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
                    columns = [column for (column,) in described]
                    # Every primary key is within the first three columns.
                    select = f"SELECT * FROM {table} WHERE agent = ? ORDER BY 1, 2, 3"  # noqa: S608
                    rows = connection.execute(select, (agent,))
                    yield table, columns, rows

            yield contents()

    def load(self, tables: DumpedTables) -> None:
        """Load rows from another database into the tables of this file, in one transaction."""
        with self.write("") as tx:
            for table, columns, rows in tables:
                tx.load(table, columns, rows)

    def close(self) -> None:
        """Close every idle connection; closing the last one checkpoints the write-ahead log."""
        with contextlib.suppress(RecollectError), self._errors():
            self._present()  # the file may have been replaced since its last use
        self._drop(self._file)

    def _drop(self, file: tuple[int, int] | None) -> None:
        """Switch to another file, to none, or reopen the same: close idle connections and start a new generation."""
        with self._guard:
            connections, self._idle = self._idle, []
            self._file = file
            self._generation += 1
        for connection in connections:
            connection.close()

    # Connections

    def forked(self) -> None:
        """Reset the state in a forked child: inherited locks may be held by threads that no longer exist."""
        _inherited.extend(self._idle)
        self._idle, self._used = [], 0
        self._guard, self._writing = threading.Lock(), threading.Lock()

    def _present(self) -> bool:
        """Return whether the file exists; detects, before each use, that it was replaced or removed."""
        try:
            found = os.stat(self._name)
        except (FileNotFoundError, NotADirectoryError):
            identity = None
        else:
            identity = (found.st_dev, found.st_ino)
        if identity != self._file:
            self._leave()
            self._drop(identity)
        if identity is None and self._log_now():
            if self.path.exists():  # another process created it in between
                return self._present()
            raise Corrupt(
                f"{self.path} is missing, but its write-ahead log {self._wal.name} is there and may hold writes. "
                "Put the file back, or remove the log to start afresh"
            )
        return identity is not None

    def _log_now(self) -> tuple[int, int] | None:
        """Return the inode and mtime of the write-ahead log; None if there is no log or it is empty.

        Do not call it after every write: reading a file's timestamps makes the next write to it slower.
        """
        try:
            found = os.stat(self._wal)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return (found.st_ino, found.st_mtime_ns) if found.st_size else None

    def _leave(self) -> None:
        """Checkpoint the log of a file that was moved or replaced while open, before the next file adopts that log."""
        with self._guard:
            log = self._log_now()
            # While this process has its log open, that inode is not reused: another inode is the next file's log.
            if log is None or (self._log not in (None, log[0]) and (self._idle or self._used)):
                return
            if not self._idle:
                if self._used and log[0] == self._log:
                    raise Unavailable(f"{self.path} was replaced while it was in use; try again")
                return
            connection = self._idle.pop()
            self._used += 1
        try:
            # A log that another process has written to may already belong to the next file.
            if log[0] != self._log or log[1] > self._looked * 1_000_000:
                raise Corrupt(
                    f"{self.path} was replaced while other processes wrote to it, and {self._wal.name} may be the log "
                    "of either file. Stop them; if the new file is a restored backup, remove the log and try again"
                )
            if connection.execute("PRAGMA wal_checkpoint(truncate)").fetchall()[0][0]:
                raise Unavailable(f"{self.path} was replaced while it was in use; try again")
        finally:
            with self._guard:
                self._used -= 1
                self._idle.append(connection)

    def _take(self) -> tuple[apsw.Connection, int]:
        """Return a connection, idle or new, and its generation."""
        with self._guard:
            generation = self._generation
            self._used += 1
            if self._idle:
                return self._idle.pop(), generation
        try:
            return self._connect(), generation
        except BaseException:
            with self._guard:
                self._used -= 1
            raise

    def _end(self, connection: apsw.Connection, generation: int, statement: str | None = None) -> None:
        """End a connection's transaction and make it idle; close it if broken, of an older generation, or surplus."""
        try:
            if statement and connection.in_transaction:
                connection.execute(statement)
        except apsw.Error:
            connection.close(True)
            generation = -1
        with self._guard:
            self._used -= 1
            if generation == self._generation:
                if self._log is None:
                    self._log = (self._log_now() or (None,))[0]
                self._looked = _CLOCK.now() + 1
                if len(self._idle) < IDLE:
                    self._idle.append(connection)
                    return
        connection.close()  # no effect if already closed

    def _connect(self) -> apsw.Connection:
        if _forks.torn:
            raise Unavailable(
                "this process was forked while another thread was reading or writing a memory, so it must not use one. "
                "Start it before there are threads, or with multiprocessing's spawn or forkserver"
            )
        self._log = None
        size = self.path.stat().st_size
        if size < SMALLEST:
            raise Corrupt(
                f"{self.path} is empty ({size} bytes): it was truncated, or is not a recollect memory. "
                "Restore it from a backup, or remove it to start afresh"
            )
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(BUSY_MS)
            for name, value in _EVERY_CONNECTION:
                connection.pragma(name, value)
            if connection.pragma("application_id") != APPLICATION_ID:
                raise ConfigError(
                    f"{self.path} is an SQLite database, but not a recollect memory; give the path of another file"
                )
            self._measure(connection)
            self._migrate(connection)
        except BaseException:
            connection.close(True)
            raise
        return connection

    def _measure(self, connection: apsw.Connection) -> None:
        """Raise Corrupt if the last page is truncated; SQLite itself detects missing whole pages."""
        connection.execute("BEGIN")  # during this read no other process can shrink the file or reset its log
        whole = connection.pragma("page_count") * connection.pragma("page_size")
        size = self.path.stat().st_size
        # A log that is not checkpointed yet may hold the end of the file.
        if size < whole and not self._log_now():
            raise Corrupt(f"{self.path} has {size:,} bytes of {whole:,}: its end is missing. Restore it from a backup")
        connection.execute("COMMIT")

    def _migrate(self, connection: apsw.Connection) -> None:
        newest = migrations()[-1].number
        version = connection.pragma("user_version")
        if version > newest:
            raise self._newer(version)
        if version < newest:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._apply_migrations(connection)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _newer(self, version: int) -> ConfigError:
        return ConfigError(
            f"{self.path} was written by a newer recollect (schema {version}, this one knows "
            f"{migrations()[-1].number}): upgrade recollect to open it; nothing was changed"
        )

    @staticmethod
    def _apply_migrations(connection: apsw.Connection) -> None:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"
        )
        done = {number for (number,) in connection.execute("SELECT number FROM migrations")}
        for migration in migrations():
            if migration.number not in done:
                for sql in migration.statements("sqlite"):
                    connection.execute(sql.replace(" VECTOR ", " BLOB "))
                connection.execute("INSERT INTO migrations VALUES (?, ?)", (migration.number, migration.name))
        connection.pragma("user_version", migrations()[-1].number)

    def _create(self) -> None:
        """Create the file: build it under a temporary name, then link it into place. The first of two creators wins."""
        with new_file(self.path) as aside:
            connection = apsw.Connection(str(aside), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                for name, value in (*_NEW_FILE, *_EVERY_CONNECTION):
                    connection.pragma(name, value)
                connection.execute("BEGIN IMMEDIATE")
                self._apply_migrations(connection)
                connection.execute("COMMIT")
                # Enable WAL last, so that no log is left if closing fails to checkpoint it.
                connection.pragma("journal_mode", "wal")
            finally:
                connection.close()
            publish(aside, self.path)
        self._present()

    def _empty(self) -> apsw.Connection:
        """Return a connection to an empty in-memory database, for one reader."""
        try:
            return _nowhere.pop()
        except IndexError:
            made = apsw.Connection(":memory:")
            self._apply_migrations(made)
            made.pragma("query_only", True)  # shared by all databases: a write would be visible to the others
            return made

    def _errors(self, written: Path | None = None) -> "_Errors":
        """Return a block that translates errors to recollect's. `written` is the file written, if not the memory."""
        return _Errors(self, written or self.path)

    def _translate(self, error: BaseException, written: Path | None = None) -> None:
        """Raise recollect's error for one of SQLite or the file system, the only place that does; ignore others."""
        if isinstance(error, RecollectError):
            return
        written = written or self.path
        match error:
            case UnicodeEncodeError():
                raise ConfigError(
                    f"cannot use {str(written)!r}: its name is not valid Unicode; choose another"
                ) from error
            case _ if isinstance(error, _DAMAGE):
                raise Corrupt(
                    f"{self.path} is damaged ({error}). Restore it from a backup; "
                    "`recollect check` tells what is affected"
                ) from error
            case apsw.BusyError():
                raise Unavailable(
                    f"{self.path} is in use: another process held the write lock for {BUSY_MS // 1000} s; try again"
                ) from error
            case apsw.FullError():
                raise Unavailable(
                    f"there is no room left for {written}: nothing was written. Free some space and try again"
                ) from error
            case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError() | PermissionError():
                raise ConfigError(
                    f"cannot use {written}: {error}. Choose a location that this user may write to, "
                    "or change its permissions"
                ) from error
            case apsw.IOError():
                damaged = (apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_DATA)
                if getattr(error, "extendedresult", None) in damaged:
                    raise Corrupt(f"{self.path} cannot be read whole ({error}). Restore it from a backup") from error
                raise Unavailable(
                    f"{written} cannot be written ({error}): nothing was changed. Is the disk full or failing?"
                ) from error
            case apsw.Error():
                raise Unavailable(f"{self.path} cannot be used right now ({error}); try again") from error
            case OSError():
                if error.errno in _FULL:
                    raise Unavailable(
                        f"there is no room left for {written}: nothing was written. Free some space and try again"
                    ) from error
                raise ConfigError(
                    f"cannot use {written}: {error.strerror or error}; choose another location"
                ) from error


# Context managers. Classes instead of generators, because they are on the hot path of every read and write, and a
# write runs with cold CPU caches after waiting for the disk.


class _Errors:
    """Context manager that translates errors to recollect's."""

    __slots__ = ("_database", "_written")

    def __init__(self, database: SqliteDatabase, written: Path) -> None:
        self._database, self._written = database, written

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._database._translate(error, self._written)


class _Read:
    """Context manager of a read transaction: one snapshot of the file."""

    __slots__ = ("_agent", "_database", "_nowhere", "_tx")

    def __init__(self, database: SqliteDatabase, agent: str) -> None:
        self._database, self._agent = database, agent
        self._nowhere = False
        """True if this reads an empty in-memory database."""

    def __enter__(self) -> SqliteTransaction:
        database = self._database
        _forks.begin(self)
        try:
            if database._present():
                connection, generation = database._take()
                try:
                    connection.execute("BEGIN")
                except BaseException:
                    database._end(connection, generation, "COMMIT")
                    raise
            else:
                connection, generation = database._empty(), database._generation
                self._nowhere = True
        except BaseException as error:
            _forks.end(self)
            database._translate(error)
            raise
        self._tx = SqliteTransaction(connection, self._agent, generation)
        return self._tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if self._nowhere:
                _nowhere.append(self._tx._connection)
            else:
                self._database._end(self._tx._connection, self._tx.generation, "COMMIT")
        finally:
            _forks.end(self)
        if error is not None:
            self._database._translate(error)


class _Write:
    """Context manager of a write transaction: committed to disk when the block ends, rolled back when it raises."""

    __slots__ = ("_agent", "_database", "_lock", "_tx")

    def __init__(self, database: SqliteDatabase, agent: str) -> None:
        self._database, self._agent = database, agent

    def __enter__(self) -> SqliteTransaction:
        database = self._database
        _forks.begin(self)
        self._lock = database._writing
        self._lock.acquire()
        try:
            if not database._present():
                database._create()
            connection, generation = database._take()
            try:
                connection.execute("BEGIN IMMEDIATE")
                left, database._left = database._left, None
                known = left is not None and left[:3] == (connection, connection.data_version(), self._agent)
                if not known and (version := connection.pragma("user_version")) > migrations()[-1].number:
                    raise database._newer(version)  # a newer recollect migrated the file meanwhile
            except BaseException:
                database._end(connection, generation, "ROLLBACK")
                raise
        except BaseException as error:
            self._lock.release()
            _forks.end(self)
            database._translate(error)
            raise
        self._tx = SqliteTransaction(connection, self._agent, generation)
        if known and left is not None:
            self._tx.counters = left[3]
        return self._tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        database, tx = self._database, self._tx
        try:
            try:
                if error is None:
                    tx._connection.execute("COMMIT")
                    if tx.counters is not None:
                        database._left = tx._connection, tx._connection.data_version(), tx.agent, tx.counters
            finally:
                database._end(tx._connection, tx.generation, "ROLLBACK")
        except Exception as failure:
            database._translate(failure)
            raise
        finally:
            self._lock.release()
            _forks.end(self)
        if error is not None:
            database._translate(error)


def _matches(path: Path, pattern: re.Pattern[bytes]) -> Iterator[bytes]:
    """Yield the matches of a pattern in a file, read in overlapping pieces."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        tail = b""
        while piece := file.read(PIECE):
            yield from pattern.findall(tail + piece)
            tail = piece[-OVERLAP:]
