"""New files that appear under their name whole or not at all, and are on disk with it."""

import errno
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["alone_in", "new_file", "publish", "sync_folder"]

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What file systems without hard links answer."""


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """An empty file for this user only, beside the target, to be filled and published; gone when the block ends."""
    missing = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.new")
    try:
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield aside
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            aside.with_name(aside.name + suffix).unlink(missing_ok=True)


def publish(aside: Path, target: Path) -> bool:
    """Give a finished file its name, and have that on disk; False if somebody else was first."""
    with alone_in(target.parent):
        try:
            os.link(aside, target)
            aside.unlink()
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if target.exists():
                return False
            os.rename(aside, target)
    sync_folder(target.parent)
    return True


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """A block that one process at a time is in: files appear and go there in several steps. Not on Windows."""
    if sys.platform == "win32":
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
