"""`SqliteDatabase`: a `Database` in one SQLite file."""

from pathlib import Path

from recollect.storage.database import Database
from recollect.storage.sqlite.administration import SqliteAdministration
from recollect.storage.sqlite.encryption import EncryptionKey
from recollect.storage.sqlite.file import SqliteFile
from recollect.storage.sqlite.transactions import SqliteRead, SqliteWrite

__all__ = ["SqliteDatabase"]


class SqliteDatabase(Database):
    """One SQLite file with recollect's tables. Opening creates nothing; the first write creates the file."""

    def __init__(self, path: Path, key: EncryptionKey | None = None) -> None:
        self.path = path
        self.file = SqliteFile(path, key)
        self.admin: SqliteAdministration = SqliteAdministration(self.file)

    def read(self, agent: str) -> SqliteRead:
        """Open a snapshot of the file, or of an empty memory if there is no file."""
        return SqliteRead(self.file, agent)

    def write(self, agent: str, *, group: bool = False) -> SqliteWrite:
        """Open a transaction that is on disk when the block ends."""
        return SqliteWrite(self.file, agent, group=group)

    def exists(self, agent: str) -> bool:
        """Return whether the file exists."""
        return self.file.exists()
