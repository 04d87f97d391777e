"""The one table from errors to exit codes."""

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
    Invalid: 2,  # also what a misspelt option gives
    NotFound: 3,
    Stale: 9,  # before Conflict, of which it is a kind
    Conflict: 4,
    Denied: 5,
    Unavailable: 6,
    Corrupt: 7,
    ConfigError: 8,
}


def exit_code(error: RecollectError) -> int:
    """The exit code for an error; 1 for one that is not in the table."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
