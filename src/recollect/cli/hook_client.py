"""The quick way of a hook: a running `recollect mcp` or `recollect serve` of the same user handles it.

A hook runs for every prompt and every answer, so this module imports only what a request over a socket needs; a test
lists what it must not load. Where no process serves the home, or it fails, the hook does its work itself, so nothing
depends on the server. Both ends are the same user: the folder of the sockets is readable by its owner only.
"""

import io
import json
import os
import stat
import sys
import zlib

import recollect
from recollect.cli.streams import drop
from recollect.environment import project_folder, runtime_folder, variables

TYPE_CHECKING = False  # without an import of `typing`, see `recollect/__init__.py`
if TYPE_CHECKING:
    from typing import Any, TextIO

__all__ = ["TIMEOUT", "delegated", "is_private", "plain_options", "socket_prefix"]

OPTIONS = ("--home", "--workspace", "--agent", "--folder", "--profile")
TIMEOUT = 10.0
"""Seconds to wait for the answer, before the hook does its work itself. Doing it twice stores nothing twice."""
ATTEMPTS = 4
"""Maximum number of processes to ask."""


def delegated(words: "list[str]") -> bool:
    """Let a running process handle the hook with these arguments; return whether it did."""
    options = plain_options(words)
    if options is None or sys.platform == "win32":
        return False
    given = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))  # for the command, if no process answers
    try:
        answer = _asked(options, given)
    except (OSError, ValueError):
        return False
    if answer is None:
        return False
    _write(sys.stdout, answer["out"])
    _write(sys.stderr, answer["err"])
    return True


def socket_prefix(home: str) -> str:
    """Return how the names of the sockets for a location begin. Locations may share it; the server compares them."""
    place = home.rpartition("@")[2].partition("?")[0] if "://" in home else os.path.abspath(os.path.expanduser(home))
    return f"{zlib.crc32(place.encode(errors='surrogateescape')):08x}-"


def is_private(folder: str) -> bool:
    """Return whether a folder belongs to this user and nobody else may read or write it."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def plain_options(words: "list[str]") -> "dict[str, str] | None":
    """Return the event and the options of a plain call, as `connect` writes it; None for any other."""
    if not words or len(words) % 2 == 0 or words[0].startswith("-") or "--home" not in words[1::2]:
        return None
    if any(word not in OPTIONS for word in words[1::2]):
        return None
    return {"event": words[0], **{name[2:]: value for name, value in zip(words[1::2], words[2::2], strict=True)}}


def _asked(options: "dict[str, str]", given: bytes) -> "dict[str, Any] | None":
    """Return the answer of the first process that serves the location with the same settings."""
    folder = runtime_folder()
    if not is_private(folder):
        return None
    said = json.loads(given) if given.strip() else {}
    project = options.pop("folder", None) or project_folder() or said.get("cwd") or ""
    options["home"] = _within(project, options["home"])
    options["folder"] = os.path.abspath(project)
    request = {**options, "given": said, "version": recollect.__version__, "variables": variables()}
    begin = socket_prefix(options["home"])
    for name in sorted(name for name in os.listdir(folder) if name.startswith(begin))[:ATTEMPTS]:
        try:
            answer = _exchanged(os.path.join(folder, name), json.dumps(request).encode())
        except ConnectionError:  # the process is gone
            continue
        if answer:
            return answer
    return None


def _within(folder: str, home: str) -> str:
    """Resolve a relative path against the project folder, wherever in the project the session runs."""
    return home if "://" in home or not home.strip() else os.path.join(folder, os.path.expanduser(home))


def _exchanged(path: str, request: bytes) -> "dict[str, Any]":
    import socket  # only where a process listens

    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(path)
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65_536):
            parts.append(part)
    return json.loads(b"".join(parts) or b"{}")  # type: ignore[no-any-return]


def _write(stream: "TextIO | None", text: str) -> None:
    if stream is None or not text:
        return
    try:
        stream.flush()
        stream.buffer.write(text.encode())
        stream.flush()
    except OSError:  # a hook never fails its host
        drop(stream)
