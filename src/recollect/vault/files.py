"""The only module that opens files under a vault, for reading and for writing.

A file is named by the vault's folder and a name relative to it. The folder itself may be a link, because its owner
chose it; below it no component is one. Folders are opened one after the other and the next name is looked up in the
open folder, so that nothing can be swapped for a link in between. Only regular files are opened, and opening never
blocks. A file is replaced whole or not at all.
"""

import os
import re
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

__all__ = [
    "ATTEMPTS",
    "FILE_BYTES",
    "Edited",
    "LeftAlone",
    "disk_state",
    "opened",
    "read_bytes",
    "remove_leftovers",
    "replace_file",
    "rewrite_file",
]

ATTEMPTS = 3
"""How often a change is retried because the file was edited meanwhile."""
BACKDATED = 2_000_000_000
"""Nanoseconds. Our files look older than they are, so that an edit right after always has another time than ours."""
FILE_BYTES = 64 << 20
"""A larger file is not read."""
LEFTOVER = 3_600_000
"""Milliseconds after which a temporary file belongs to a writer that was killed."""
_EDITED = "it is being edited right now; try again"
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_RELATIVE = os.open in os.supports_dir_fd
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\..+\.tmp")


class LeftAlone(Exception):
    """The file must not be read or replaced; the message says why."""


class Edited(Exception):
    """The file changed between reading and replacing."""


def disk_state(path: Path | str) -> str:
    """What tells one state of a file from another without opening it; empty when there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""
    return _state(found)


@contextmanager
def opened(root: Path, name: str) -> Iterator[BinaryIO]:
    """Open a regular file under `root` for reading; FileNotFoundError when there is none."""
    with _folder_of(root, name) as folder, folder.open(folder.last) as file:
        yield file


def read_bytes(root: Path, name: str, longest: int = FILE_BYTES) -> bytes | None:
    """The bytes of a regular file under `root`; None when there is none, LeftAlone when it is longer than `longest`."""
    try:
        with opened(root, name) as file:
            content = file.read(longest + 1)
            size = max(len(content), os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        return None
    if len(content) > longest:
        raise LeftAlone(f"it has {size:,} bytes; at most {longest:,} are read")
    return content


def rewrite_file(root: Path, name: str, change: Callable[[bytes], bytes]) -> bool:
    """Replace a file by what `change` makes of its bytes; False if that is the same. A missing file has no bytes.

    Edited, and the file is left as it is, if others change it at each attempt.
    """
    for attempt in range(ATTEMPTS):
        known = read_bytes(root, name)
        wanted = change(known or b"")
        if wanted == (known or b""):
            return False
        try:
            replace_file(root, name, wanted, known)
            break
        except Edited:
            if attempt == ATTEMPTS - 1:
                raise
    return True


def replace_file(root: Path, name: str, content: bytes, expected: bytes | None) -> str:
    """Replace the file that had the expected bytes (None: there was none); its state on disk afterwards."""
    root.mkdir(parents=True, exist_ok=True)
    with _folder_of(root, name, make=True) as folder:
        temporary = f".{uuid.uuid4().hex}.{folder.last}.tmp"  # others may be writing the same file
        try:
            mode = stat.S_IMODE(folder.stat(folder.last).st_mode) if expected is not None else 0o666
        except FileNotFoundError:
            raise Edited(_EDITED) from None
        try:
            state = folder.create(temporary, content, mode)
            if read_bytes(root, name) != expected:
                raise Edited(_EDITED)
            folder.publish(temporary, new=expected is None)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(folder.path(temporary), dir_fd=folder.fd)
        if os.name == "posix":
            os.fsync(folder.fd)  # type: ignore[arg-type]
    return state


def remove_leftovers(root: Path, name: str, now: int) -> int:
    """Remove the temporary files that killed writers left in a folder under `root`; how many there were."""
    removed = 0
    with suppress(FileNotFoundError, LeftAlone), _folder_of(root, f"{name}/*") as folder:
        for found in os.listdir(folder.fd if folder.fd is not None else folder.path("")):
            if _TEMPORARY.fullmatch(found):
                with suppress(FileNotFoundError):
                    known = folder.stat(found)
                    if stat.S_ISREG(known.st_mode) and now - known.st_mtime_ns // 1_000_000 > LEFTOVER:
                        os.unlink(folder.path(found), dir_fd=folder.fd)
                        removed += 1
    return removed


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder, and the name of the file in it that is meant. Without dir_fd (Windows) there are paths only."""

    fd: int | None
    where: str
    last: str

    def path(self, name: str) -> str:
        return os.path.join(self.where, name)

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self.path(name), dir_fd=self.fd, follow_symlinks=False)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        _state(self.stat(name))  # not a device: opening one may already do something
        with open(os.open(self.path(name), os.O_RDONLY | _PLAIN | _NO_WAIT, dir_fd=self.fd), "rb") as file:
            _state(os.fstat(file.fileno()))
            yield file

    def create(self, name: str, content: bytes, mode: int) -> str:
        """Write a new file; its state on disk."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN
        with open(os.open(self.path(name), flags, mode, dir_fd=self.fd), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made = self.stat(name)
        os.utime(self.path(name), ns=(made.st_atime_ns, made.st_mtime_ns - BACKDATED), dir_fd=self.fd)
        return _state(self.stat(name))

    def publish(self, temporary: str, *, new: bool) -> None:
        """Give a finished file its name; a new one never replaces a file that was made meanwhile."""
        if new:
            try:
                os.link(self.path(temporary), self.path(self.last), src_dir_fd=self.fd, dst_dir_fd=self.fd)
                return
            except FileExistsError:
                raise Edited(_EDITED) from None
            except OSError:  # a file system without hard links
                pass
        os.replace(self.path(temporary), self.path(self.last), src_dir_fd=self.fd, dst_dir_fd=self.fd)


@contextmanager
def _folder_of(root: Path, name: str, *, make: bool = False) -> Iterator[_Folder]:
    """Open the folder of a file under `root`, component by component, through no link."""
    *folders, last = PurePosixPath(name).parts
    if PurePosixPath(name).is_absolute() or ".." in (*folders, last):
        raise LeftAlone(f"{name!r} is not a name inside the folder")
    if not _RELATIVE:
        yield _Folder(None, str(_checked_path(root, folders, make=make)), last)
        return
    try:
        at = os.open(root, _FOLDER)
    except NotADirectoryError:
        raise FileNotFoundError(f"{root} is not a folder") from None
    try:
        for folder in folders:
            below = _subfolder(at, folder, make=make)
            os.close(at)
            at = below
        yield _Folder(at, "", last)
    finally:
        os.close(at)


def _subfolder(at: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=at)
    try:
        return os.open(name, _FOLDER | getattr(os, "O_NOFOLLOW", 0), dir_fd=at)
    except FileNotFoundError:
        raise
    except OSError as error:
        if not stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            raise _no_folder(name) from error
        raise


def _checked_path(root: Path, folders: list[str], *, make: bool) -> Path:
    path = root
    for folder in folders:
        path /= folder
        if make:
            path.mkdir(exist_ok=True)
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise _no_folder(folder)
    return path


def _no_folder(name: str) -> LeftAlone:
    return LeftAlone(f"{name} is a link or no folder; make it a folder inside the vault")


def _state(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "a folder" if stat.S_ISDIR(found.st_mode) else "a device"
        raise LeftAlone(f"it is {kind}; put a plain file in its place, or remove it")
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
