"""`SqliteDatabase`: a `Database` in one SQLite file."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from recollect.storage.database import Database
from recollect.storage.sqlite.administration import SqliteAdministration
from recollect.storage.sqlite.encryption import EncryptionKey
from recollect.storage.sqlite.file import SqliteFile
from recollect.storage.sqlite.transactions import PartOfRead, SharedRead, SqliteRead, SqliteWrite

__all__ = ["SqliteDatabase"]


class SqliteDatabase(Database):
    """One SQLite file with recollect's tables. Opening creates nothing; the first write creates the file."""

    def __init__(self, path: Path, key: EncryptionKey | None = None) -> None:
        self.path = path
        self.file = SqliteFile(path, key)
        self.admin: SqliteAdministration = SqliteAdministration(self.file)
        self._of_thread = threading.local()

    def read(self, agent: str) -> SqliteRead | PartOfRead:
        """Open a snapshot of the file, or of an empty memory if there is no file."""
        shared: SharedRead | None = getattr(self._of_thread, "read", None)
        return SqliteRead(self.file, agent) if shared is None else shared.part(agent)

    @contextmanager
    def snapshot(self, places: Sequence[tuple[Database, str]]) -> Iterator[None]:
        """Let all reads of this file by this thread in the block share one transaction."""
        if getattr(self._of_thread, "read", None) is not None:
            yield
            return
        shared = self._of_thread.read = SharedRead(self.file)
        try:
            yield
        finally:
            self._of_thread.read = None
            shared.end()

    def write(self, agent: str, *, group: bool = False) -> SqliteWrite:
        """Open a transaction that is on disk when the block ends."""
        shared: SharedRead | None = getattr(self._of_thread, "read", None)
        if shared is not None:
            shared.end()  # the next read sees what is written
        return SqliteWrite(self.file, agent, group=group)

    def exists(self, agent: str) -> bool:
        """Return whether the file exists."""
        return self.file.exists()
