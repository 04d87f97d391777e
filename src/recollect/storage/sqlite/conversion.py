"""Replaces a SQLite file by a copy under another key, or by a plain one. The old file goes when the copy is verified.

No other process may use the file meanwhile, and none may write to the old one afterwards. So the file leaves the
write-ahead log first: that succeeds only without other connections, and keeps the lock. A process that opens the file
now waits for that lock, and `opening.connect` notices that the file was replaced while it waited. As the old file uses
no log, such a connection cannot touch the log of the new one. A kill at any point leaves the old file or the new one.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path

import apsw

from recollect.errors import ConfigError, Corrupt, Unavailable
from recollect.storage.files import alone_in, new_file, remove_leftovers, sync_file, sync_folder
from recollect.storage.sqlite import opening
from recollect.storage.sqlite.encryption import EncryptionKey, Form, form_of, with_key
from recollect.storage.sqlite.errors import Errors

__all__ = ["convert", "counted_forms"]

CLAIM_MS = 2_000
"""How long to wait for other processes: one that stays connected is not going to leave within a longer time."""
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"


def counted_forms(paths: Iterable[Path]) -> Counter[Form]:
    """Return how many of the files are plain, encrypted or unknown."""
    found: Counter[Form] = Counter()
    for path in paths:
        with Errors(path):
            found[form_of(path)] += 1
    return found


def convert(path: Path, old: EncryptionKey | None, new: EncryptionKey | None) -> bool:
    """Give a file the key `new`, or none; `old` is the key of a file that is encrypted already.

    Return False if there was nothing to do. Raises Unavailable if another process uses the file, Corrupt if it is
    damaged, and ConfigError if it has neither of the keys.
    """
    with Errors(path):
        with alone_in(path.parent):  # a killed conversion may have left a plain copy
            remove_leftovers(path.parent)
        plain = form_of(path) is Form.PLAIN
        if (plain and new is None) or (not plain and new is not None and _has_key(path, new)):
            return False
        key = None if plain else old
        opening.connect(path, key).close()  # checks that the file is whole and ours
        _replace(path, key, new)
        return True


def _has_key(path: Path, key: EncryptionKey) -> bool:
    try:
        opening.connect(path, key).close()
    except ConfigError:
        return False
    return True


def _replace(path: Path, key: EncryptionKey | None, new: EncryptionKey | None) -> None:
    source = opening.open_file(path, key)
    try:
        _claim(source, path)
        with new_file(path) as aside:
            try:
                _copy(source, aside, new)
                _verify(source, aside, new)
                os.chmod(aside, path.stat().st_mode & 0o7777)
                sync_file(aside)
            except BaseException:
                with suppress(apsw.Error):
                    source.pragma("journal_mode", "wal")
                raise
            if sys.platform == "win32":  # an open file cannot be replaced there
                source.close()
            os.replace(aside, path)
        sync_folder(path.parent)
    finally:
        source.close()


def _claim(source: apsw.Connection, path: Path) -> None:
    """Leave the write-ahead log and lock the file until the connection is closed."""
    source.set_busy_timeout(CLAIM_MS)
    try:
        source.pragma("journal_mode", "delete")
        # Only now: with this mode a change would leave a journal, which a kill could leave beside the new file.
        source.pragma("locking_mode", "exclusive")
        source.execute("BEGIN EXCLUSIVE; COMMIT")
        claimed = source.pragma("journal_mode") == "delete"
    except apsw.BusyError:
        claimed = False
    if not claimed:
        raise Unavailable(
            f"{path} is in use by another process. Stop the servers and clients of this home, then run the command "
            "again; files that are done stay done"
        )


def _copy(source: apsw.Connection, aside: Path, new: EncryptionKey | None) -> None:
    try:
        source.execute("VACUUM INTO ?", (with_key(aside, new),))
    except apsw.Error as error:  # its message may contain the key
        raise type(error)(f"the copy beside it cannot be written: {type(error).__name__}") from None


def _verify(source: apsw.Connection, aside: Path, new: EncryptionKey | None) -> None:
    """Compare every row of the copy with its source, and put the copy into the mode of a memory."""
    copy = opening.open_file(aside, new)
    try:
        _require_equal(source.execute(_SCHEMA), copy.execute(_SCHEMA), "schema")
        for (table,) in source.execute(_TABLES).fetchall():
            rows = f'SELECT * FROM "{table}" NOT INDEXED'  # noqa: S608
            _require_equal(source.execute(rows), copy.execute(rows), str(table))
        if copy.pragma("integrity_check") != "ok":
            raise Corrupt("the new copy is damaged; the old file is unchanged. Is the disk failing?")
        copy.pragma("journal_mode", "wal")
    finally:
        copy.close()


def _require_equal(one: Iterable[object], other: Iterable[object], what: str) -> None:
    if any(left != right for left, right in zip_longest(one, other)):
        raise Corrupt(f"the new copy differs in {what}; the old file is unchanged. Is the disk failing?")
