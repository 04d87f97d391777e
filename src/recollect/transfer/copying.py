"""Backup copy of a folder whose files may be edited concurrently. Links are not followed."""

import os
from pathlib import Path

from recollect.errors import ConfigError
from recollect.storage.files import sync_folder
from recollect.transfer.archive import file_errors
from recollect.vault.files import LeftAlone, opened

__all__ = ["copy_folder"]

ATTEMPTS = 3
"""How often to read a file that changes during the copy."""
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def copy_folder(source: Path, target: Path) -> None:
    """Copy the regular files and folders in a folder, readable by this user only, and fsync them.

    Skips files that vanish meanwhile, links, devices, and transient files: temporary files of atomic replacement and
    git locks.
    """
    with file_errors(target):
        try:
            _copy_folder(source, Path("."), target, repository=False)
        except PermissionError as error:
            raise ConfigError(
                f"cannot copy {error.filename!r}: {error.strerror}; make it readable for this user, or remove it from "
                "the folder"
            ) from error


def _copy_folder(root: Path, folder: Path, target: Path, *, repository: bool) -> None:
    target.mkdir(mode=0o700, parents=True)
    try:
        inside = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    if repository:  # objects last, so that the copy has every object that its refs name
        inside.sort(key=lambda entry: entry.name == "objects")
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            within = repository or entry.name == ".git"
            _copy_folder(root, folder / entry.name, target / entry.name, repository=within)
        elif entry.is_file(follow_symlinks=False) and not _is_passing(entry.name, repository):
            _copy_file(root, folder / entry.name, target / entry.name)
    sync_folder(target)


def _is_passing(name: str, repository: bool) -> bool:
    """True for transient files: git locks and temporary files."""
    return name.endswith(".lock") if repository else name.startswith(".") and name.endswith(".tmp")


def _copy_file(root: Path, name: Path, target: Path) -> None:
    """Copy a consistent state of one file; if it changes at every attempt, keep the last copy."""
    for _ in range(ATTEMPTS):
        try:
            with opened(root, name.as_posix()) as file:
                before = os.fstat(file.fileno())
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _PLAIN
                with open(os.open(target, flags, before.st_mode & 0o100 | 0o600), "wb") as copy:
                    import shutil

                    shutil.copyfileobj(file, copy)
                    copy.flush()
                    os.fsync(copy.fileno())
                after = os.fstat(file.fileno())
        except (FileNotFoundError, LeftAlone):
            target.unlink(missing_ok=True)
            return
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return
