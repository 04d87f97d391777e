"""Translates errors of psycopg and of damaged rows to recollect's; no other module does."""

from psycopg import Error, OperationalError, ProgrammingError, errors
from psycopg_pool import PoolTimeout

from recollect.errors import ConfigError, Conflict, Corrupt, RecollectError, Unavailable

__all__ = ["MISSING", "WAIT_SECONDS", "first_line", "translated"]

WAIT_SECONDS = 30
"""How long to wait for a connection from the pool."""
MISSING = (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName)
"""Errors for a table, column or schema that does not exist."""
# Connection errors that are permanent: retrying with the same address cannot succeed.
_REFUSALS = ("does not exist", "authentication failed", "no password supplied", "connection is bad: invalid")
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], type[RecollectError], str], ...] = (
    (MISSING, Unavailable, "the tables on {where} changed while they were in use; try again"),
    (
        (errors.InsufficientPrivilege,),
        ConfigError,
        "the user of {where} may not do this ({reason}); grant it CREATE on the database, and let an administrator run "
        "CREATE EXTENSION vector once",
    ),
    (
        # pgvector raises DataException for a vector whose dimension differs from the others.
        (errors.DataCorrupted, errors.IndexCorrupted, errors.DataException),
        Corrupt,
        "{where} reports damaged data ({reason}); restore a backup",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        ConfigError,
        "{where} is read-only ({reason}): nothing was written. Use the address of the primary server; if this "
        "one should accept writes, turn off default_transaction_read_only for the database and the user",
    ),
    (
        (errors.SerializationFailure, errors.DeadlockDetected),
        Unavailable,
        "another writer was faster on {where}; try again",
    ),
    ((errors.UniqueViolation,), Conflict, "another writer was faster on {where} ({reason}); try again"),
    ((PoolTimeout,), Unavailable, f"no connection to {{where}} within {WAIT_SECONDS} s: all are in use"),
    ((ProgrammingError,), Unavailable, "{where} refused a query: {reason}"),
    (
        (errors.DiskFull,),
        Unavailable,
        "no space left on the server of {where} ({reason}): nothing was written. Free some space there and try again",
    ),
    (
        (OperationalError,),
        Unavailable,
        "cannot reach {where} ({reason}). Is the server running, and are address, user and password right? A write "
        "that was in progress may or may not have been stored",
    ),
    ((Error,), Unavailable, "{where} cannot be used: {reason}"),
    (
        (ValueError, IndexError),
        Corrupt,
        "{where} contains invalid rows ({error}). `recollect check` shows what is affected",
    ),
)
"""The first row that matches an error gives its translation."""


def translated(error: Exception, where: str) -> RecollectError | None:
    """Return recollect's error for one of the driver; None for any other, which is raised as it is."""
    if isinstance(error, RecollectError | UnicodeEncodeError):  # the latter is caused by a parameter, not by a row
        return None
    if _is_refusal(error):
        return ConfigError(
            f"{where} is not a usable address ({_lines(error)[-1].strip()}). Create the database or the user, or "
            "correct the address"
        )
    for kinds, meaning, message in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(message.format(where=where, reason=first_line(error), error=error))
    return None


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type if it has none."""
    return _lines(error)[0]


def _is_refusal(error: Exception) -> bool:
    if not isinstance(error, OperationalError) or isinstance(error, PoolTimeout):
        return False
    return error.sqlstate is None and any(words in str(error) for words in _REFUSALS)


def _lines(error: Exception) -> list[str]:
    return str(error).strip().splitlines() or [type(error).__name__]
