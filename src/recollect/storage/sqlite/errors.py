"""Translates errors of SQLite and the file system to recollect's; no other module does."""

import errno
from pathlib import Path

import apsw

from recollect.errors import ConfigError, Corrupt, RecollectError, Unavailable
from recollect.storage.sqlite.opening import BUSY_MS

__all__ = ["Errors", "raise_translated"]

_DAMAGED_FILE = (apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_DATA)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_SPACE = "no space left for {written}: nothing was written. Free some space and try again"
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], type[RecollectError], str], ...] = (
    ((UnicodeEncodeError,), ConfigError, "cannot use {written!r}: its name is not valid Unicode; choose another"),
    (
        # SQLite's own errors, and those caused by inconsistent or invalid rows of a damaged file.
        (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, ValueError, IndexError),
        Corrupt,
        "{memory} is damaged ({error}). Restore it from a backup; `recollect check` shows what is affected",
    ),
    (
        (apsw.BusyError,),
        Unavailable,
        f"{{memory}} is in use: another process held the write lock for {BUSY_MS // 1000} s; try again",
    ),
    ((apsw.FullError,), Unavailable, _NO_SPACE),
    (
        (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, PermissionError),
        ConfigError,
        "cannot use {written}: {error}. Choose a location that this user may write to, or change its permissions",
    ),
    (
        (apsw.IOError,),
        Unavailable,
        "{written} cannot be written ({error}): nothing was changed. Is the disk full or failing?",
    ),
    ((apsw.Error,), Unavailable, "{memory} cannot be used right now ({error}); try again"),
    ((OSError,), ConfigError, "cannot use {written}: {reason}; choose another location"),
)
"""The first row that matches an error gives its translation."""


def raise_translated(error: BaseException, memory: Path, written: Path | None = None) -> None:
    """Raise recollect's error for one of SQLite or the file system; return for any other.

    `written` is the file that was written, if it is not the memory.
    """
    if isinstance(error, RecollectError):
        return
    translated = _translated(error, str(memory), str(written or memory))
    if translated is not None:
        raise translated from error


def _translated(error: BaseException, memory: str, written: str) -> RecollectError | None:
    if isinstance(error, apsw.IOError) and getattr(error, "extendedresult", None) in _DAMAGED_FILE:
        return Corrupt(f"{memory} cannot be read completely ({error}). Restore it from a backup")
    if isinstance(error, OSError) and error.errno in _FULL:
        return Unavailable(_NO_SPACE.format(written=written))
    reason = getattr(error, "strerror", None) or error
    for kinds, meaning, message in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(message.format(memory=memory, written=written, error=error, reason=reason))
    return None


class Errors:
    """Context manager that translates errors. A class, not a generator, because it is on a hot path."""

    __slots__ = ("_memory", "_written")

    def __init__(self, memory: Path, written: Path | None = None) -> None:
        self._memory, self._written = memory, written

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            raise_translated(error, self._memory, self._written)
