"""A disk that fails on purpose, under a real SQLite: every write, sync, truncation and deletion is a moment to fail at.

Faults: `kill` ends the process in the middle of a write; `power` ends it and takes back everything that was not synced;
`shuffle` is the same, but some of what was not synced is there all the same, in any order; `full` refuses every write
until the disk is mended. Only for children: nothing is tidied up.
"""

import os
import random
import signal
from typing import Any

import apsw

__all__ = ["FaultyDisk"]

_BASE = apsw.vfs_names()[0]


class FaultyDisk(apsw.VFS):
    """Every database that the process opens from now on lies on this disk."""

    def __init__(self, fault: str, moment: int, seed: int) -> None:
        super().__init__("faulty", _BASE, makedefault=True)
        self.moments = 0
        self._fault, self._moment, self._seed = fault, moment, seed
        self._mended = False
        # What is not synced, oldest first: where, what was there before and how long the file was, what was written.
        self._unsynced: list[tuple[int, int, bytes, int, bytes | None]] = []

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.pass_moment(None, None, 0)
        super().xDelete(filename, syncdir)

    def mend(self) -> None:
        """There is room again."""
        self._mended = True

    def remember(self, fd: int, offset: int, data: bytes | None) -> None:
        """Keep what a write or a truncation is about to change."""
        size = os.fstat(fd).st_size
        old = os.pread(fd, len(data) if data is not None else max(size - offset, 0), offset)
        self._unsynced.append((fd, offset, old, size, data))

    def synced(self, fd: int) -> None:
        """The file's changes are on disk."""
        inode = os.fstat(fd).st_ino
        self._unsynced = [change for change in self._unsynced if os.fstat(change[0]).st_ino != inode]

    def pass_moment(self, fd: int | None, data: bytes | None, offset: int) -> None:
        """One moment passes; at the chosen one the fault happens."""
        self.moments += 1
        if self._fault == "full":
            if self.moments >= self._moment and not self._mended and data is not None:
                raise apsw.FullError("the disk is full")
            return
        if self.moments != self._moment:
            return
        if self._fault == "kill" and fd is not None and data is not None:
            os.pwrite(fd, data[: len(data) // 2], offset)
        if self._fault in ("power", "shuffle"):
            self._lose()
        os.kill(os.getpid(), signal.SIGKILL)

    def _lose(self) -> None:
        for fd, offset, old, size, _ in reversed(self._unsynced):
            os.pwrite(fd, old, offset)
            os.ftruncate(fd, size)
        if self._fault == "shuffle":
            rng = random.Random(self._seed)
            for fd, offset, _, _, data in rng.sample(self._unsynced, rng.randrange(len(self._unsynced) + 1)):
                if data is not None:
                    os.pwrite(fd, data, offset)


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: Any, flags: list[int]) -> None:
        super().__init__(_BASE, name, flags)
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        # Never closed: closing any descriptor of a file gives up the locks that the process has on it.
        self._fd = os.open(path, os.O_RDWR) if path else None

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._fd is None:
            return super().xWrite(data, offset)
        self._disk.pass_moment(self._fd, data, offset)
        self._disk.remember(self._fd, offset, data)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        if self._fd is not None:
            self._disk.pass_moment(self._fd, None, 0)
            self._disk.remember(self._fd, newsize, None)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        # The real disk need not sync: only a machine that loses its power would see a difference.
        if self._fd is not None:
            self._disk.pass_moment(self._fd, None, 0)
            self._disk.synced(self._fd)
