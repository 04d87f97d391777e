"""Opens and creates SQLite files: pragmas, migrations, and the checks that a file is complete and ours.

Durability: write-ahead log with synchronous=FULL, so a commit is on disk before it is acknowledged. A new file is built
under a temporary name and hard-linked into place, so a file at the path is always complete: an empty one was truncated
from outside, and is rejected instead of being treated as an empty memory.
"""

import os
from contextlib import suppress
from pathlib import Path

import apsw

from recollect.errors import ConfigError, Corrupt
from recollect.storage.files import new_file, publish
from recollect.storage.schema import Migration, migrations
from recollect.storage.sqlite.encryption import EncryptionKey, require_form, unlock

__all__ = ["BUSY_MS", "connect", "create", "empty", "log_state", "open_file", "require_known_version", "wal_of"]

APPLICATION_ID = 0x52434C54  # "RCLT"
BUSY_MS = 30_000
SMALLEST = 512
"""Size in bytes of the smallest valid SQLite file: one page of the minimum size."""
_NEW_FILE = (("page_size", 4096), ("auto_vacuum", 2), ("application_id", APPLICATION_ID))
_EVERY_CONNECTION = (
    ("synchronous", "full"),
    ("secure_delete", "on"),
    ("cache_size", -16_000),
    ("journal_size_limit", 64_000_000),
)

_schemas: dict[tuple[Migration, ...], str] = {}
"""What migrations have created, as one script: SQLite parses the whole schema again after each ALTER TABLE."""


def wal_of(path: Path) -> Path:
    """Return the path of a file's write-ahead log."""
    return path.with_name(path.name + "-wal")


def log_state(wal: Path) -> tuple[int, int] | None:
    """Return the inode and mtime of a write-ahead log; None if there is no log or it is empty.

    Do not call it after every write: reading a file's timestamps makes the next write to it slower.
    """
    try:
        found = os.stat(wal)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (found.st_ino, found.st_mtime_ns) if found.st_size else None


def open_file(path: Path, key: EncryptionKey | None) -> apsw.Connection:
    """Open a connection to a file and give it the key. Every connection to a file starts here."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI  # the path is absolute, so that it is no URI itself
    connection = apsw.Connection(str(path.absolute()), flags=flags)
    try:
        connection.set_busy_timeout(BUSY_MS)
        if key is not None:
            unlock(connection, key)
    except BaseException:
        connection.close(True)
        raise
    return connection


def connect(path: Path, key: EncryptionKey | None = None) -> apsw.Connection:
    """Open an existing file and migrate it; raise Corrupt or ConfigError if it is damaged or not a memory."""
    found = path.stat()
    if found.st_size < SMALLEST:
        raise Corrupt(
            f"{path} is empty ({found.st_size} bytes): it was truncated, or is not a recollect memory. "
            "Restore it from a backup, or remove it to start with an empty memory"
        )
    require_form(path, key)
    connection = open_file(path, key)
    try:
        first = _first_read(connection)
        # While the first read waited for a lock, the file may have been replaced: see conversion.py.
        if _is_same(path, found):
            _require_ours(first, path, key)
            _require_log(connection, path, key, found)
        if _is_same(path, found):
            for name, value in _EVERY_CONNECTION:
                connection.pragma(name, value)
            _require_whole(connection, path)
            _migrate(connection, path)
            return connection
    except BaseException:
        connection.close(True)
        raise
    connection.close()
    return connect(path, key)


def create(path: Path, key: EncryptionKey | None = None) -> None:
    """Create the file: build it under a temporary name, then link it into place. The first of two creators wins."""
    with new_file(path) as aside:
        connection = open_file(aside, key)
        try:
            for name, value in (*_NEW_FILE, *_EVERY_CONNECTION):
                connection.pragma(name, value)
            connection.execute("BEGIN IMMEDIATE")
            _apply_migrations(connection)
            connection.execute("COMMIT")
            # Enable WAL last, so that no log is left if closing fails to checkpoint it.
            connection.pragma("journal_mode", "wal")
        finally:
            connection.close()
        publish(aside, path)


def empty() -> apsw.Connection:
    """Return a connection to an empty in-memory database that cannot be written."""
    connection = apsw.Connection(":memory:")
    _apply_migrations(connection)
    connection.pragma("query_only", True)  # shared by all databases: a write would be visible to the others
    return connection


def require_known_version(connection: apsw.Connection, path: Path) -> int:
    """Return the schema version of the file; raise ConfigError if a newer recollect wrote it."""
    version: int = connection.pragma("user_version")
    if version > migrations()[-1].number:
        raise ConfigError(
            f"{path} was written by a newer recollect (schema {version}, this one knows "
            f"{migrations()[-1].number}): upgrade recollect to open it; nothing was changed"
        )
    return version


def _first_read(connection: apsw.Connection) -> int | apsw.NotADBError:
    """Return the application id of a file, or the error if its first page makes no sense."""
    try:
        found: int = connection.pragma("application_id")
        return found
    except apsw.NotADBError as error:
        return error


def _require_ours(first: int | apsw.NotADBError, path: Path, key: EncryptionKey | None) -> None:
    """Raise ConfigError if the file is no memory, or the key does not fit."""
    if first == APPLICATION_ID:
        return
    if isinstance(first, int):
        raise ConfigError(f"{path} is an SQLite database, but not a recollect memory; pass the path of another file")
    if key is None:
        raise first
    raise ConfigError(
        f"{path} cannot be decrypted with the key from {key.source}: it has another key. If a change of keys was "
        "interrupted, run it again"
    )


def _require_log(connection: apsw.Connection, path: Path, key: EncryptionKey | None, found: os.stat_result) -> None:
    """Enable the write-ahead log if a conversion was killed after it had left it (see conversion.py)."""
    if connection.pragma("journal_mode") == "wal":
        return
    alone = open_file(path, key)
    try:
        with suppress(apsw.BusyError):  # others use it; the next connection tries again
            alone.pragma("locking_mode", "exclusive")
            alone.execute("BEGIN EXCLUSIVE; COMMIT")  # keeps the lock: nothing replaces the file after the check
            if _is_same(path, found):
                alone.pragma("journal_mode", "wal")
    finally:
        alone.close()


def _is_same(path: Path, found: os.stat_result) -> bool:
    return os.path.samestat(path.stat(), found)


def _require_whole(connection: apsw.Connection, path: Path) -> None:
    """Raise Corrupt if the last page is truncated; SQLite itself detects missing whole pages."""
    connection.execute("BEGIN")  # during this read no other process can shrink the file or reset its log
    whole = connection.pragma("page_count") * connection.pragma("page_size")
    size = path.stat().st_size
    # A log that is not checkpointed yet may hold the end of the file.
    if size < whole and not log_state(wal_of(path)):
        raise Corrupt(f"{path} has {size:,} bytes of {whole:,}: its end is missing. Restore it from a backup")
    connection.execute("COMMIT")


def _migrate(connection: apsw.Connection, path: Path) -> None:
    if require_known_version(connection, path) < migrations()[-1].number:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _apply_migrations(connection)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _apply_migrations(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT")
    done = {number for (number,) in connection.execute("SELECT number FROM migrations")}
    pending = [migration for migration in migrations() if migration.number not in done]
    if not done and migrations() in _schemas:
        connection.execute(_schemas[migrations()])
    else:
        for sql in (sql for migration in pending for sql in migration.statements("sqlite")):
            connection.execute(sql.replace(" VECTOR ", " BLOB "))
    insert = "INSERT INTO migrations VALUES (?, ?)"
    connection.executemany(insert, [(migration.number, migration.name) for migration in pending])
    connection.pragma("user_version", migrations()[-1].number)
    if not done and migrations() not in _schemas:
        created = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'migrations' ORDER BY rowid"
        _schemas[migrations()] = ";\n".join(sql for (sql,) in connection.execute(created))
