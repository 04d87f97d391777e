"""The fast path of a hook: a running `recollect mcp` or `recollect serve` of the same user handles it.

A hook runs for every prompt and every answer, so this module imports only what a request over a socket needs; a test
lists what it must not load. Where no process serves the home, or it fails, the hook runs in this process, so nothing
depends on a server. Both ends belong to the same user: only the owner can read the folder of the sockets.
"""

import io
import json
import os
import sys

import recollect
from recollect.cli.hook_sockets import TIMEOUT, is_private, socket_prefix
from recollect.cli.streams import drop
from recollect.environment import folder_of, runtime_folder, variables

TYPE_CHECKING = False  # without an import of `typing`, see `recollect/__init__.py`
if TYPE_CHECKING:
    from typing import Any, TextIO

__all__ = ["LONGEST", "delegated", "plain_options"]

OPTIONS = ("--home", "--workspace", "--agent", "--folder", "--profile", "--keep-running")
LONGEST = 24 * 60.0
"""Maximum idle time in minutes of a process that a hook started."""
MAX_PROCESSES = 4
"""Maximum number of processes to ask."""


def delegated(words: "list[str]") -> bool:
    """Delegate the hook with these arguments to a running process; return whether it was handled."""
    options = plain_options(words)
    if options is None or sys.platform == "win32":
        return False
    given = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))  # for the command, which reads it if no process answers
    try:
        answer = _answer(options, given)
    except (OSError, ValueError):
        return False
    if answer is None:
        return False
    _write(sys.stdout, answer["out"])
    _write(sys.stderr, answer["err"])
    return True


def plain_options(words: "list[str]") -> "dict[str, str] | None":
    """Return the event and the options of a plain call, as `connect` writes it; None for any other."""
    if not words or len(words) % 2 == 0 or words[0].startswith("-") or "--home" not in words[1::2]:
        return None
    if any(word not in OPTIONS for word in words[1::2]):
        return None
    return {"event": words[0], **{name[2:]: value for name, value in zip(words[1::2], words[2::2], strict=True)}}


def _answer(options: "dict[str, str]", given: bytes) -> "dict[str, Any] | None":
    """Return the answer of a process that serves the location; start one if none does and the options allow it."""
    minutes = min(float(options.pop("keep-running", 0)), LONGEST)
    request = _request(options, given)
    answer = _request_answer(request)
    if answer is None and minutes > 0 and hasattr(os, "fork") and len(_sockets(request["home"])) < MAX_PROCESSES:
        from recollect.cli.hook_process import start

        answer = _request_answer(request) if start(request["home"], minutes) else None
    return answer


def _request(options: "dict[str, str]", given: bytes) -> "dict[str, Any]":
    said = json.loads(given) if given.strip() else {}
    project = options.pop("folder", None) or folder_of(said)
    options["folder"] = os.path.abspath(project)
    options["home"] = _resolved_home(options["folder"], options["home"])
    return {**options, "given": said, "version": recollect.__version__, "variables": variables()}


def _sockets(home: str) -> "list[str]":
    """Return the sockets for a location: first those of servers, then those of processes that only handle hooks."""
    folder, begin = runtime_folder(), socket_prefix(home)
    if not os.path.isdir(folder) or not is_private(folder):
        return []
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith(begin)]


def _request_answer(request: "dict[str, Any]") -> "dict[str, Any] | None":
    """Send a request to the processes of the location; return the first answer, from one with the same settings."""
    for path in _sockets(request["home"])[:MAX_PROCESSES]:
        try:
            answer = _exchange(path, json.dumps(request).encode())
        except ConnectionError:  # the process is gone
            continue
        if answer:
            return answer
    return None


def _resolved_home(folder: str, home: str) -> str:
    """Resolve a relative path against the project folder, wherever in the project the session runs."""
    return home if "://" in home or not home.strip() else os.path.join(folder, os.path.expanduser(home))


def _exchange(path: str, request: bytes) -> "dict[str, Any]":
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
