"""Standard streams that are closed or cannot be written."""

import os

TYPE_CHECKING = False  # without an import of `typing`, see `recollect/__init__.py`
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["drop", "nowhere"]


def nowhere() -> "TextIO":
    """Return a stream that discards what is written to it."""
    return open(os.devnull, "w", encoding="utf-8")


def drop(stream: "TextIO") -> int:
    """Redirect a stream to /dev/null, so that flushing its buffer at exit does not fail again; return exit code 1."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 1
