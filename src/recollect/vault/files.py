"""File access under a vault, for reading and for writing; no other module opens these files.

A file is named by the vault's folder and a relative path. The folder itself may be a symbolic link, because its owner
chose it; no component below it may be. Folders are opened one by one with `dir_fd` and `O_NOFOLLOW`, so a component
cannot be swapped for a link between check and use. Only regular files are opened, and opening never blocks. Files are
replaced atomically.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, TypeVar

__all__ = [
    "ATTEMPTS",
    "DIARY",
    "FILE_BYTES",
    "MEMORY",
    "Edited",
    "LeftAlone",
    "StagedFile",
    "discard_files",
    "disk_state",
    "markdown_files",
    "move_file",
    "opened",
    "publish_files",
    "read_bytes",
    "remove_file",
    "remove_leftovers",
    "replace_file",
    "rewrite_file",
    "stage_file",
    "sync_folders",
]

ATTEMPTS = 3
"""How often a change is attempted while the file is edited concurrently."""
BACKDATED = 2_000_000_000
"""Nanoseconds subtracted from the mtime of written files, so that an immediate edit always has a different mtime."""
MEMORY, DIARY = "MEMORY.md", "DREAMS.md"
"""Files of dreaming in an agent's folder: the promoted notes, and one record per sweep."""
FILE_BYTES = 64 << 20
"""Larger files are not read."""
SYNCED_TOGETHER = 16
"""How many files are synced to disk at the same time."""
LEFTOVER = 3_600_000
"""Milliseconds after which a temporary file is considered abandoned by a killed writer."""
_EDITED = "it is being edited right now; try again"
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_RELATIVE = os.open in os.supports_dir_fd
_Item = TypeVar("_Item")
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\..+\.tmp")


class LeftAlone(Exception):
    """The file must not be read or replaced; the message says why."""


class Edited(Exception):
    """The file changed between reading and replacing."""


def disk_state(path: Path | str) -> str:
    """Return size, mtime and inode of a file, to detect changes without opening it; empty if it does not exist."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""
    return _state(found)


@contextmanager
def opened(root: Path, name: str) -> Iterator[BinaryIO]:
    """Open a regular file under `root` for reading; raise FileNotFoundError if there is none."""
    with _folder_of(root, name) as folder, folder.open(folder.last) as file:
        yield file


def read_bytes(root: Path, name: str, longest: int = FILE_BYTES) -> bytes | None:
    """Read a regular file under `root`; None if it does not exist. Raise LeftAlone if it exceeds `longest` bytes."""
    with suppress(FileNotFoundError), _folder_of(root, name) as folder:
        return folder.read(folder.last, longest)
    return None


def rewrite_file(root: Path, name: str, change: Callable[[bytes], bytes]) -> bool:
    """Replace a file's bytes with `change(bytes)`; False if they are equal. A missing file counts as empty.

    Raises Edited and leaves the file as it is if it is modified concurrently at each attempt.
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
    """Replace the file if it still has the expected bytes (None: no file), else raise Edited; return its disk state."""
    staged = stage_file(root, name, content, expected)
    try:
        publish_files(root, [staged])
    except BaseException:
        discard_files(root, [staged])
        raise
    sync_folders(root, [name])
    return staged.state


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A new version of a file under a temporary name."""

    name: str
    temporary: str
    expected: bytes | None
    """The bytes of the version that it replaces; None if there must be no file."""
    state: str
    """Its disk state, which it keeps."""

    @property
    def path(self) -> str:
        """The path of the temporary file."""
        folder, slash, _ = self.name.rpartition("/")
        return f"{folder}{slash}{self.temporary}"


def stage_file(root: Path, name: str, content: bytes, expected: bytes | None) -> StagedFile:
    """Write a new version of a file for `publish_files`; raise Edited if a version is expected and there is no file."""
    root.mkdir(parents=True, exist_ok=True)
    with _folder_of(root, name, make=True) as folder:
        try:
            mode = stat.S_IMODE(folder.stat(folder.last).st_mode) if expected is not None else 0o666
        except FileNotFoundError:
            raise Edited(_EDITED) from None
        temporary = f".{os.urandom(16).hex()}.{folder.last}.tmp"  # unique: concurrent writers may replace the same file
        try:
            return StagedFile(name, temporary, expected, folder.create(temporary, content, mode))
        except OSError:
            with suppress(OSError):
                os.unlink(folder.path(temporary), dir_fd=folder.fd)
            raise


def publish_files(root: Path, staged: Sequence[StagedFile]) -> None:
    """Make new versions durable and give them their names; the caller makes these durable with `sync_folders`.

    Raises Edited if a file does not have the expected bytes. Those before it then have their new versions.
    """
    _in_parallel(lambda one: _sync_file(root, one.path), staged)
    for one in staged:
        with _folder_of(root, one.name) as folder:
            if folder.read(folder.last, FILE_BYTES) != one.expected:
                raise Edited(_EDITED)
            folder.publish(one.temporary, new=one.expected is None)


def discard_files(root: Path, staged: Iterable[StagedFile]) -> None:
    """Remove the temporary files of staged files that were not published."""
    for one in staged:
        with suppress(FileNotFoundError), _folder_of(root, one.path) as folder:
            os.unlink(folder.path(one.temporary), dir_fd=folder.fd)


def _in_parallel(action: Callable[[_Item], None], items: Sequence[_Item]) -> None:
    """Run an action that waits for the disk on all items at once: a file system writes many files in one go."""
    if len(items) < 2:
        for item in items:
            action(item)
        return
    with ThreadPoolExecutor(min(len(items), SYNCED_TOGETHER)) as pool:
        list(pool.map(action, items))


def _sync_file(root: Path, name: str) -> None:
    with _folder_of(root, name) as folder:
        at = os.open(folder.path(folder.last), os.O_RDWR | _PLAIN, dir_fd=folder.fd)
        try:
            os.fsync(at)
        finally:
            os.close(at)


def markdown_files(root: Path, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the disk states of the markdown files in a folder under `root` and its subfolders, by path from `root`,
    and why others cannot be read. Hidden files and folders are skipped, and links are not followed.
    """
    found: dict[str, str] = {}
    skipped: dict[str, str] = {}
    folders = [name]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as inside:
                for entry in inside:
                    path = f"{folder}/{entry.name}"
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif entry.name.lower().endswith(".md"):
                        try:
                            path.encode()
                            found[path] = _state(entry.stat(follow_symlinks=False))
                        except UnicodeEncodeError:
                            skipped[ascii(path)] = "its name is not UTF-8; rename it"
                        except LeftAlone as problem:
                            skipped[path] = str(problem)
                        except FileNotFoundError:  # removed meanwhile
                            pass
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            skipped[folder] = str(error)
    return found, skipped


def sync_folders(root: Path, names: Iterable[str]) -> None:
    """Make the names of files durable that were created, moved or removed."""
    _in_parallel(lambda name: _sync_folder(root, name), sorted({str(PurePosixPath(name).parent) for name in names}))


def _sync_folder(root: Path, name: str) -> None:
    with suppress(FileNotFoundError), _folder_of(root, f"{name}/*") as folder:
        folder.sync()


def remove_file(root: Path, name: str, expected: bytes) -> None:
    """Remove the file if it still has the expected bytes, else raise Edited; nothing happens if it does not exist."""
    with suppress(FileNotFoundError), _folder_of(root, name) as folder:
        if read_bytes(root, name) not in (expected, None):
            raise Edited(_EDITED)
        os.unlink(folder.path(folder.last), dir_fd=folder.fd)


def move_file(root: Path, old: str, new: str) -> None:
    """Give a file another name in its folder; raise Edited if there is a file with that name."""
    target = PurePosixPath(new).name
    with _folder_of(root, old) as folder:
        _state(folder.stat(folder.last))
        try:
            same = os.path.samestat(folder.stat(target), folder.stat(folder.last))
        except FileNotFoundError:
            same = False
        if not same:  # the same file: a name that differs only in case, on a file system that ignores it
            try:
                os.link(folder.path(folder.last), folder.path(target), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
                os.unlink(folder.path(folder.last), dir_fd=folder.fd)
                return
            except FileExistsError:
                raise Edited(_EDITED) from None
            except OSError:  # a file system without hard links
                pass
        os.replace(folder.path(folder.last), folder.path(target), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)


def remove_leftovers(root: Path, name: str, now: int) -> int:
    """Remove temporary files of killed writers from a folder under `root`; return how many."""
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
    """An open folder and the name of a file in it. Without dir_fd (Windows), `fd` is None and paths are used."""

    fd: int | None
    where: str
    last: str

    def path(self, name: str) -> str:
        return os.path.join(self.where, name)

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self.path(name), dir_fd=self.fd, follow_symlinks=False)

    def sync(self) -> None:
        if os.name == "posix":
            os.fsync(self.fd)  # type: ignore[arg-type]

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        _state(self.stat(name))  # rejects devices: opening one may have side effects
        with open(os.open(self.path(name), os.O_RDONLY | _PLAIN | _NO_WAIT, dir_fd=self.fd), "rb") as file:
            _state(os.fstat(file.fileno()))
            yield file

    def read(self, name: str, longest: int) -> bytes | None:
        """Read a file; None if it does not exist. Raise LeftAlone if it exceeds `longest` bytes."""
        try:
            with self.open(name) as file:
                content = file.read(longest + 1)
                size = max(len(content), os.fstat(file.fileno()).st_size)
        except FileNotFoundError:
            return None
        if len(content) > longest:
            raise LeftAlone(f"it has {size:,} bytes; at most {longest:,} are read")
        return content

    def create(self, name: str, content: bytes, mode: int) -> str:
        """Create a file and write it; return its disk state."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN
        with open(os.open(self.path(name), flags, mode, dir_fd=self.fd), "wb") as file:
            file.write(content)
        made = self.stat(name)
        os.utime(self.path(name), ns=(made.st_atime_ns, made.st_mtime_ns - BACKDATED), dir_fd=self.fd)
        return _state(self.stat(name))

    def publish(self, temporary: str, *, new: bool) -> None:
        """Move a finished file to its final name; with `new`, raise Edited if a file was created there meanwhile."""
        if new:
            try:
                os.link(self.path(temporary), self.path(self.last), src_dir_fd=self.fd, dst_dir_fd=self.fd)
                os.unlink(self.path(temporary), dir_fd=self.fd)
                return
            except FileExistsError:
                raise Edited(_EDITED) from None
            except OSError:  # a file system without hard links
                pass
        os.replace(self.path(temporary), self.path(self.last), src_dir_fd=self.fd, dst_dir_fd=self.fd)


@contextmanager
def _folder_of(root: Path, name: str, *, make: bool = False) -> Iterator[_Folder]:
    """Open the parent folder of a file under `root`, component by component, without following links."""
    *folders, last = [part for part in name.split("/") if part not in ("", ".")] or [""]
    if name.startswith("/") or not last or ".." in (*folders, last):
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
    return LeftAlone(f"{name} is a link or not a folder; make it a folder inside the vault")


def _state(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "a folder" if stat.S_ISDIR(found.st_mode) else "a device"
        raise LeftAlone(f"it is {kind}; put a plain file in its place, or remove it")
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
