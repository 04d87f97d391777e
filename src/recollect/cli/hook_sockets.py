"""Unix sockets of the processes that handle hooks: their names, and the check that their folder is private."""

import os
import stat
import zlib

__all__ = ["TIMEOUT", "is_private", "socket_prefix"]

TIMEOUT = 10.0
"""Seconds to wait for the answer before the hook runs in its own process. Handling a hook twice is idempotent."""


def socket_prefix(home: str) -> str:
    """Return the prefix of the names of a location's sockets. It may collide; the server compares the location."""
    place = home.rpartition("@")[2].partition("?")[0] if "://" in home else os.path.abspath(os.path.expanduser(home))
    return f"{zlib.crc32(place.encode(errors='surrogateescape')):08x}-"


def is_private(folder: str) -> bool:
    """Return whether a folder belongs to this user, and no other user may read or write it."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
