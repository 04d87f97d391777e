"""The transcript that a hook names, locked while it is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked_transcript"]


@contextmanager
def locked_transcript(path: object) -> Iterator[BinaryIO | None]:
    """Open a transcript, and keep other hooks from reading it at the same time; yield None if there is none."""
    if not isinstance(path, str) or not Path(path).expanduser().is_file():
        yield None
        return
    with Path(path).expanduser().open("rb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        yield file
