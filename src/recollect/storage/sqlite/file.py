"""The life of one SQLite file and its connections: whether it exists, was replaced or removed, and who uses it.

A file may be moved, replaced or removed while it is open, and a process may fork. Each use begins with `present`,
which notices another file at the path and starts a new generation of connections. No connection is open during a fork.
"""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from operator import call
from pathlib import Path

import apsw

from recollect.clock import SystemClock
from recollect.errors import Corrupt, RecollectError, Unavailable
from recollect.model.stats import ConnectionCounts
from recollect.storage.database import Row
from recollect.storage.files import alone_in
from recollect.storage.sqlite import opening
from recollect.storage.sqlite.encryption import EncryptionKey
from recollect.storage.sqlite.errors import Errors
from recollect.storage.sqlite.forks import Forks
from recollect.storage.sqlite.group_commit import WriteTurns
from recollect.storage.sqlite.opening import log_state, wal_of

__all__ = ["SqliteFile", "forks", "give_empty", "take_empty"]

IDLE = 16
"""Maximum number of idle connections to keep; each may cache 16 MB of the file. With 8, 5 to 10 % of the recalls of
16 concurrent clients opened one."""
_CLOCK = SystemClock()
# Connections inherited by a forked child. Using or closing them would harm the parent, so only keep them alive.
_inherited: list[apsw.Connection] = []
# No connection is open during a fork (see forks.py): idle connections are closed before it.
_files: "weakref.WeakValueDictionary[int, SqliteFile]" = weakref.WeakValueDictionary()
# Connections to empty in-memory databases, for reading where there is no file. Shared by all files, so that opening
# many locations without a file does not use memory for each.
_empty: list[apsw.Connection] = []


def _close_idle() -> None:
    for file in map(call, _files.valuerefs()):
        if file is not None:
            file.close()


def _reset_in_child() -> None:
    _empty.clear()
    for file in map(call, _files.valuerefs()):
        if file is not None:
            file.reset_in_child()


forks = Forks(_close_idle, _reset_in_child)


def take_empty() -> apsw.Connection:
    """Return a connection to an empty in-memory database, for one reader."""
    try:
        return _empty.pop()
    except IndexError:
        return opening.empty()


def give_empty(connection: apsw.Connection) -> None:
    """Return a connection from `take_empty` when its reader has ended."""
    _empty.append(connection)


class SqliteFile:
    """One file: its idle connections, and what identifies the file that they are open on."""

    def __init__(self, path: Path, key: EncryptionKey | None = None) -> None:
        self.path, self.wal, self.key = path, wal_of(path), key
        self.generation = 0
        self.writing = WriteTurns()
        """Held by the one writer of this process."""
        self.last_write: tuple[apsw.Connection, int, str, Row] | None = None
        """Cache of the last write: its connection, that connection's data_version, its agent and its counters."""
        self._name = str(path)
        self._idle: list[apsw.Connection] = []
        self._used = 0
        """Number of connections in use."""
        self._identity: tuple[int, int] | None = None
        """Device and inode of the file that the connections are open on."""
        self._log: int | None = None
        """Inode of the write-ahead log, once known."""
        self._last_end = 0
        """When a transaction of this object last ended, in milliseconds."""
        self._guard = threading.Lock()
        self._switching = threading.Lock()
        _files[id(self)] = self

    def errors(self, written: Path | None = None) -> Errors:
        """Return a block that translates errors to recollect's. `written` is the file written, if not this one."""
        return Errors(self.path, written)

    def connections(self) -> ConnectionCounts:
        """Return how many connections are open."""
        with self._guard:
            return ConnectionCounts(pool=self._name, used=self._used, idle=len(self._idle))

    def exists(self) -> bool:
        """Return whether the file exists."""
        with self.errors():
            return self.present()

    @contextmanager
    def connection(self, *, alone: bool = False) -> Iterator[apsw.Connection]:
        """Yield a connection outside a transaction; with `alone`, no other thread of this process writes meanwhile."""
        with self.errors(), forks.working(), self.writing if alone else nullcontext():
            self.present()
            connection, generation = self.take()
            try:
                yield connection
            finally:
                self.give_back(connection, generation)

    def present(self) -> bool:
        """Return whether the file exists; detects, before each use, that it was replaced or removed."""
        identity = self._look()
        if identity != self._identity:
            with self._switching:
                identity = self._look()  # the first look may be older than the file that another thread switched to
                if identity != self._identity:
                    self._leave()
                    self._switch(identity)
        if identity is None and log_state(self.wal):
            if self.path.exists():  # another process created it in between
                return self.present()
            raise Corrupt(
                f"{self.path} is missing, but its write-ahead log {self.wal.name} is there and may hold writes. "
                "Put the file back, or remove the log to start with an empty memory"
            )
        return identity is not None

    def _look(self) -> tuple[int, int] | None:
        """Return the device and inode of the file; None if there is no file."""
        try:
            found = os.stat(self._name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def create(self) -> None:
        """Create the file, unless another process was first."""
        opening.create(self.path, self.key)
        self.present()

    def take(self) -> tuple[apsw.Connection, int]:
        """Return a connection, idle or new, and its generation."""
        with self._guard:
            generation = self.generation
            self._used += 1
            if self._idle:
                return self._idle.pop(), generation
        try:
            return self._connect(), generation
        except BaseException:
            with self._guard:
                self._used -= 1
            raise

    def give_back(self, connection: apsw.Connection, generation: int, statement: str | None = None) -> None:
        """End a connection's transaction and make it idle; close it if broken, of an older generation, or surplus."""
        try:
            if statement and connection.in_transaction:
                connection.execute(statement)
        except apsw.Error:
            connection.close(True)
            generation = -1
        with self._guard:
            self._used -= 1
            if generation == self.generation:
                if self._log is None:
                    self._log = (log_state(self.wal) or (None,))[0]
                self._last_end = _CLOCK.now() + 1
                if len(self._idle) < IDLE:
                    self._idle.append(connection)
                    return
        connection.close()  # no effect if already closed

    def remove(self) -> None:
        """Remove the file and its log; a process that recreates the file waits until both are gone."""
        with self.errors(), forks.working(), self.writing:
            if not self.present():
                return
            with suppress(RecollectError, apsw.Error):  # a damaged file must be removable, too
                connection, generation = self.take()
                try:  # if the process is killed below, no log with content is left behind
                    connection.execute("PRAGMA wal_checkpoint(truncate)")
                finally:
                    self.give_back(connection, generation)
            self._switch(None)
            with alone_in(self.path.parent):
                for suffix in ("", "-wal", "-shm"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        """Close every idle connection; closing the last one checkpoints the write-ahead log."""
        with suppress(RecollectError), self.errors():
            self.present()  # the file may have been replaced since its last use
        self._switch(self._identity)

    def reset_in_child(self) -> None:
        """Reset the state in a forked child: inherited locks may be held by threads that no longer exist."""
        _inherited.extend(self._idle)
        self._idle, self._used = [], 0
        self._guard, self.writing, self._switching = threading.Lock(), WriteTurns(), threading.Lock()

    def _connect(self) -> apsw.Connection:
        if forks.torn:
            raise Unavailable(
                "this process was forked while another thread was reading or writing a memory, so it must not use one. "
                "Start it before there are threads, or with multiprocessing's spawn or forkserver"
            )
        self._log = None
        return opening.connect(self.path, self.key)

    def _switch(self, identity: tuple[int, int] | None) -> None:
        """Switch to another file, to none, or reopen the same: close idle connections and start a new generation."""
        with self._guard:
            connections, self._idle = self._idle, []
            self._identity = identity
            self.generation += 1
        for connection in connections:
            connection.close()

    def _leave(self) -> None:
        """Checkpoint the log of a file that was moved or replaced while open, before the next file adopts that log."""
        with self._guard:
            log = log_state(self.wal)
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
            if log[0] != self._log or log[1] > self._last_end * 1_000_000:
                raise Corrupt(
                    f"{self.path} was replaced while other processes wrote to it, and {self.wal.name} may be the log "
                    "of either file. Stop them; if the new file is a restored backup, remove the log and try again"
                )
            if connection.execute("PRAGMA wal_checkpoint(truncate)").fetchall()[0][0]:
                raise Unavailable(f"{self.path} was replaced while it was in use; try again")
        finally:
            with self._guard:
                self._used -= 1
                self._idle.append(connection)
