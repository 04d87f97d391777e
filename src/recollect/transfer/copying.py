"""A folder of people's files, copied for a backup while they may be edited. Nothing is copied through a link."""

import os
import shutil
from pathlib import Path

from recollect.errors import ConfigError
from recollect.storage.files import sync_folder
from recollect.transfer.archive import file_errors
from recollect.vault.files import LeftAlone, opened

__all__ = ["copy_folder"]

ATTEMPTS = 3
"""How often a file is read that changes while it is read."""
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def copy_folder(source: Path, target: Path) -> None:
    """Copy the plain files and folders in a folder, for this user only, and have them on disk.

    What vanishes meanwhile is left out, and so are links, devices, and what is there for a moment only: files that are
    about to take the place of others, and the locks of git.
    """
    with file_errors(target):
        try:
            _copy_folder(source, Path("."), target, repository=False)
        except PermissionError as error:
            raise ConfigError(
                f"cannot copy {error.filename!r}: {error.strerror}; let this user read it, or take it out of the folder"
            ) from error


def _copy_folder(root: Path, folder: Path, target: Path, *, repository: bool) -> None:
    target.mkdir(mode=0o700, parents=True)
    try:
        inside = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    if repository:  # the objects last, so that the copy has all that anything in it names
        inside.sort(key=lambda entry: entry.name == "objects")
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            within = repository or entry.name == ".git"
            _copy_folder(root, folder / entry.name, target / entry.name, repository=within)
        elif entry.is_file(follow_symlinks=False) and not _is_passing(entry.name, repository):
            _copy_file(root, folder / entry.name, target / entry.name)
    sync_folder(target)


def _is_passing(name: str, repository: bool) -> bool:
    """Whether a file is there for a moment only."""
    return name.endswith(".lock") if repository else name.startswith(".") and name.endswith(".tmp")


def _copy_file(root: Path, name: Path, target: Path) -> None:
    """Copy one file as it was at one moment; one that never stands still as it was read at last."""
    for _ in range(ATTEMPTS):
        try:
            with opened(root, name.as_posix()) as file:
                before = os.fstat(file.fileno())
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _PLAIN
                with open(os.open(target, flags, before.st_mode & 0o100 | 0o600), "wb") as copy:
                    shutil.copyfileobj(file, copy)
                    copy.flush()
                    os.fsync(copy.fileno())
                after = os.fstat(file.fileno())
        except (FileNotFoundError, LeftAlone):
            target.unlink(missing_ok=True)
            return
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return
