"""The vault's files on disk: their state, their bytes, and putting a new one in the place of an old one.

Nothing is read or replaced through a link, and a file is replaced whole or not at all.
"""

import os
import stat
import uuid
from collections.abc import Callable
from pathlib import Path

__all__ = ["ATTEMPTS", "Edited", "LeftAlone", "disk_state", "read_bytes", "replace_file", "rewrite_file"]

ATTEMPTS = 3
"""How often a change begins anew because the file was edited meanwhile."""
BACKDATED = 2_000_000_000
"""Nanoseconds. Our files look older than they are, so that an edit right after always has another time than ours."""
_EDITED = "it is being edited right now; try again"
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


class LeftAlone(Exception):
    """The file is not ours to read or replace; the message says why."""


class Edited(Exception):
    """The file changed between reading and replacing."""


def disk_state(path: Path) -> str:
    """What tells one state of a file from another without reading it; empty when there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "a folder" if stat.S_ISDIR(found.st_mode) else "a device"
        raise LeftAlone(f"it is {kind}; put a plain file in its place, or remove it")
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"


def read_bytes(path: Path) -> bytes | None:
    """The bytes of a plain file; None when there is none."""
    try:
        disk_state(path)
        with open(os.open(path, os.O_RDONLY | _NO_LINKS | getattr(os, "O_BINARY", 0)), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def rewrite_file(path: Path, change: Callable[[bytes], bytes]) -> bool:
    """Put what `change` makes of a file's bytes in its place; False if that is the same. No file has no bytes.

    Edited, and the file is as it is, if somebody else changes it each time.
    """
    for attempt in range(ATTEMPTS):
        known = read_bytes(path)
        wanted = change(known or b"")
        if wanted == (known or b""):
            return False
        try:
            replace_file(path, wanted, known)
            break
        except Edited:
            if attempt == ATTEMPTS - 1:
                raise
    return True


def replace_file(path: Path, content: bytes, expected: bytes | None) -> str:
    """Put a new file in the place of the one that had the expected bytes, whole or not at all; its state on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}.{path.name}.tmp")  # others may be writing the same file
    try:
        mode = stat.S_IMODE(os.lstat(path).st_mode) if expected is not None else 0o666
    except FileNotFoundError:
        raise Edited(_EDITED) from None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made = os.lstat(temporary)
        os.utime(temporary, ns=(made.st_atime_ns, made.st_mtime_ns - BACKDATED))
        told = disk_state(temporary)
        if read_bytes(path) != expected:
            raise Edited(_EDITED)
        _publish(temporary, path, new=expected is None)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return told


def _publish(temporary: Path, path: Path, *, new: bool) -> None:
    """Give a finished file its name; a new one never takes the place of one that somebody else has just made."""
    if new:
        try:
            os.link(temporary, path)
            return
        except FileExistsError:
            raise Edited(_EDITED) from None
        except OSError:  # a file system without hard links
            pass
    os.replace(temporary, path)
