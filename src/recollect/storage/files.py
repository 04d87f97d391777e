"""Atomic, durable creation of files: a file appears under its name complete or not at all, and synced to disk."""

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = [
    "alone_in",
    "keep_out_of_git",
    "new_file",
    "new_folder",
    "publish",
    "remove_leftovers",
    "sync_file",
    "sync_folder",
]

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{32}\.new", re.DOTALL)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Errors that file systems without hard links return."""


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Create a temporary folder beside the target, private to this user (mode 0700); remove it when the block ends.

    The folder is locked while it is in use. Folders left by killed processes are not locked, and are removed when the
    next one is created beside them.
    """
    missing = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)
    aside = target.with_name(f".{target.name[:100]}.{os.urandom(16).hex()}.new")
    with alone_in(target.parent):  # no other process may remove the folder before it is locked
        remove_leftovers(target.parent)
        aside.mkdir(mode=0o700)
        lock = _lock(aside)
    try:
        yield aside
    finally:
        import shutil

        shutil.rmtree(aside, ignore_errors=True)
        if lock is not None:
            os.close(lock)
        for folder in missing:
            try:
                folder.rmdir()  # a created parent that stayed empty
            except OSError:
                keep_out_of_git(folder)


def keep_out_of_git(folder: Path) -> None:
    """Give a `.recollect` that has none a .gitignore, so that the memory of a project is not committed by accident."""
    if folder.name == ".recollect":
        with suppress(OSError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Create an empty temporary file, private to this user, to fill and `publish`; remove it when the block ends."""
    with new_folder(target) as folder:
        aside = folder / target.name
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield aside


def _lock(folder: Path) -> int | None:
    """Lock a folder until the returned descriptor is closed; return None if it is locked already, or on Windows."""
    if sys.platform == "win32":
        return None
    opened = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


def remove_leftovers(folder: Path) -> None:
    """Remove temporary folders left by killed processes, inside `alone_in`; ignore those that cannot be removed."""
    for found in list(folder.glob(".*.new")):
        if not _LEFTOVER.fullmatch(found.name) or found.is_symlink() or not found.is_dir():
            continue
        with suppress(OSError):
            lock = _lock(found)
            if lock is not None:
                import shutil

                shutil.rmtree(found, ignore_errors=True)
                os.close(lock)


def publish(aside: Path, target: Path) -> bool:
    """Move a finished file to its name and sync the folder; return False if the name is taken already."""
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
    """Hold an exclusive lock on a folder: creating and removing files takes several steps. No lock on Windows."""
    if sys.platform == "win32":
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def sync_file(path: Path) -> None:
    """Sync a file's content to disk. No connection of this process may be open on it: closing releases its locks."""
    opened = os.open(path, os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def sync_folder(folder: Path) -> None:
    """Sync a folder's directory entries to disk."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
