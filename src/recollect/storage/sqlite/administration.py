"""Administration of a SQLite file: check, rewrite, search its bytes, release space, remove, copy, dump and load."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from recollect.errors import Conflict
from recollect.model.report import Finding
from recollect.model.stats import ConnectionCounts
from recollect.storage.database import Administration, DumpedTables
from recollect.storage.files import new_file, publish
from recollect.storage.named_queries import statement
from recollect.storage.schema import key_length
from recollect.storage.sqlite.file import SqliteFile, forks
from recollect.storage.sqlite.opening import open_file
from recollect.storage.sqlite.transactions import SqliteRead, SqliteWrite

__all__ = ["SqliteAdministration"]

PIECE, OVERLAP = 1 << 20, 1 << 10
"""Bytes searched at a time, and bytes by which two pieces overlap, so that a word on the boundary is found."""
TIDY_PAGES, TIDY_STEPS = 1_000, 1_000
"""Free pages released per transaction, and maximum number of transactions per call of `tidy`."""
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('migrations') ORDER BY name"


class SqliteAdministration(Administration):
    """Operations on a whole file."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    def agents(self) -> list[str]:
        """Return the agents that have rows in this file."""
        with SqliteRead(self._file, "") as tx:
            return [agent for (agent,) in tx.all("admin.agents")]

    def check(self) -> list[Finding]:
        """Run SQLite's integrity check over the whole file."""
        if not self._file.exists():
            return []
        with self._file.connection() as connection:
            try:
                messages = [str(message) for (message,) in connection.execute("PRAGMA integrity_check")]
            except (apsw.CorruptError, apsw.NotADBError) as error:
                messages = [str(error)]
        return [Finding(part="file", where=self._file.path.name, message=text) for text in messages if text != "ok"]

    def scrub(self, agent: str) -> tuple[list[str], list[str]]:
        """Rewrite the whole file with VACUUM and truncate the write-ahead log.

        Nothing less suffices: secure_delete overwrites deleted content, but not the copies that SQLite leaves in the
        slack space of a page when it moves rows.
        """
        beyond = ["copies outside this file (backups, snapshots of the file system) are out of reach"]
        with self._file.connection(alone=True) as connection:
            connection.execute("VACUUM")
            busy = connection.execute("PRAGMA wal_checkpoint(truncate)").fetchall()[0][0]
        if busy:
            return [], [
                "a reader held the file and its write-ahead log as they were; erase again by the id when it has ended",
                *beyond,
            ]
        return [f"file {self._file.path.name}", "free pages", "write-ahead log"], beyond

    def in_files(self, words: Sequence[str]) -> set[str]:
        """Return the words (lowercase) whose bytes are in the file or its log, except words of the schema.

        The pages of an encrypted file are searched decrypted, in memory.
        """
        if not words:
            return set()
        pattern = re.compile(b"|".join(re.escape(word.encode()) for word in words), re.IGNORECASE)
        with self._file.connection() as connection:
            schema = " ".join(str(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_schema")).lower()
            found = [] if self._file.key is None else pattern.findall(connection.serialize("main"))
        with self._file.errors(), forks.working():
            for path in (self._file.path, self._file.wal):
                found += _matches(path, pattern)
        return {word for word in (match.decode().lower() for match in found) if word not in schema}

    def connections(self) -> ConnectionCounts:
        """Return the connections to the file."""
        return self._file.connections()

    def size(self) -> int:
        """Return the size of the file and its log, in bytes."""
        size = 0
        for path in (self._file.path, self._file.wal):
            with suppress(FileNotFoundError, NotADirectoryError):
                size += path.stat().st_size
        return size

    def cached(self) -> int:
        """Return the bytes that SQLite holds in this process, for all files together."""
        return int(apsw.memory_used())

    def release(self) -> None:
        """Close the idle connections, and with them their caches."""
        self._file.close()

    def tidy(self) -> int:
        """Release free pages with incremental_vacuum, a limited number per transaction; then checkpoint the log."""
        released = 0
        for _ in range(TIDY_STEPS):
            if not self._file.exists():
                break
            with self._file.connection(alone=True) as connection:
                free = connection.pragma("freelist_count")
                list(connection.execute(f"PRAGMA incremental_vacuum({TIDY_PAGES})"))
                step = free - connection.pragma("freelist_count")
                released += max(step, 0)
                if step < TIDY_PAGES:
                    list(connection.execute("PRAGMA wal_checkpoint(passive)"))
                    break
        return released

    def remove(self) -> None:
        """Remove the file and its log."""
        self._file.remove()

    def backup(self, target: Path) -> None:
        """Copy the file, consistent despite concurrent writers. Raise Conflict if the target exists."""
        if target.exists():
            raise Conflict(f"{target} already exists; choose a new path for the backup, or remove it first")
        with self._file.connection() as source, self._file.errors(target), new_file(target) as aside:
            copy = open_file(aside, self._file.key)
            try:
                # A single step over all pages: the copy is one snapshot, and does not block writers.
                with copy.backup("main", source, "main") as work:
                    work.step(-1)
            finally:
                copy.close()
            if not publish(aside, target):
                raise Conflict(
                    f"{target} was created by another process in the meantime; choose a new path for the backup"
                )

    @contextmanager
    def dump(self, agent: str, *, complete: bool = False) -> Iterator[DumpedTables]:
        """Yield every table of the agent as (table, columns, rows), all from one snapshot."""
        with SqliteRead(self._file, agent) as tx:
            connection = tx.connection
            tables = [name for (name,) in connection.execute(_TABLES)]

            def contents() -> DumpedTables:
                for table in tables:
                    described = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
                    columns = [column for (column,) in described]
                    key = ", ".join(map(str, range(1, key_length(table) + 1)))
                    select = f"SELECT * FROM {table} WHERE agent = ? ORDER BY {key}"  # noqa: S608
                    if complete and table == "operations":
                        yield table, columns, connection.execute(statement("operations.dump"), {"agent": agent})
                    else:
                        yield table, columns, connection.execute(select, (agent,))

            yield contents()

    def load(self, tables: DumpedTables) -> None:
        """Load rows from another database into the tables of this file, in one transaction."""
        with SqliteWrite(self._file, "") as tx:
            for table, columns, rows in tables:
                tx.load(table, columns, rows)

    def close(self) -> None:
        """Close every idle connection."""
        self._file.close()


def _matches(path: Path, pattern: re.Pattern[bytes]) -> Iterator[bytes]:
    """Yield the matches of a pattern in a file, read in overlapping pieces."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        tail = b""
        while piece := file.read(PIECE):
            yield from pattern.findall(tail + piece)
            tail = piece[-OVERLAP:]
