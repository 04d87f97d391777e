"""The exit codes of errors. The only place that maps them."""

from recollect.errors import (
    ConfigError,
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    RecollectError,
    Stale,
    Unavailable,
)

__all__ = ["EXIT_CODES", "exit_code"]

EXIT_CODES: dict[type[RecollectError], int] = {
    Invalid: 2,  # also the exit code of usage errors
    NotFound: 3,
    Stale: 9,  # before Conflict, its base class
    Conflict: 4,
    Denied: 5,
    Unavailable: 6,
    Corrupt: 7,
    ConfigError: 8,
}


def exit_code(error: RecollectError) -> int:
    """Return the exit code of an error; 1 if it is not in the table."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
