"""Server for hooks of the same user on a Unix socket, in the process of a server, or in one that exits when idle.

A request names its home, workspace and agent as the options of `recollect hook` do, and is handled as that command
would, in the home that is already open. A request for another home, or with other settings, is declined: the hook then
runs in its own process.
"""

import contextlib
import json
import logging
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import recollect
from recollect.cli.hook_call import HookCall
from recollect.cli.hook_sockets import TIMEOUT, is_private, socket_prefix
from recollect.cli.invocation import Invocation
from recollect.environment import runtime_folder, variables
from recollect.home import Home
from recollect.locations import shown

__all__ = ["handle_until_idle", "handling_hooks"]

MAX_REQUEST_BYTES = 32_000_000
"""Maximum size of a request in bytes."""
HANDLER_THREAD = "hook"
"""Name of the threads, one for each hook."""
HookAnswer = Callable[[HookCall], tuple[str, str]]
"""Handles a hook; returns what belongs on stdout and on stderr."""
_log = logging.getLogger("recollect.hooks")


@contextmanager
def handling_hooks(location: str, opened: Callable[[], Home]) -> Iterator[None]:
    """Handle hooks for a home while the context lasts. Does nothing without Unix sockets or a private folder."""
    try:
        listening, path = _listening(location, str(os.getpid()))
    except (OSError, AttributeError) as error:
        _log.info("hooks run in their own processes: %s", error)
        yield
        return

    def answer(hook: HookCall) -> tuple[str, str]:
        return hook.handle(lambda: contextlib.nullcontext(opened()))

    threading.Thread(target=_accept, args=(listening, location, answer), name="hooks", daemon=True).start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # wakes the thread, unlike close
        listening.close()


def handle_until_idle(location: str, minutes: float, ready: Callable[[], None]) -> None:
    """Handle hooks for a home until idle for some minutes. The home is open only while a hook is handled."""
    listening, path = _listening(location, f"idle{os.getpid()}")  # sorts after servers, which have the home open
    try:
        ready()
        listening.settimeout(minutes * 60)
        _accept(listening, location, _handle_in_own_home)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        listening.close()
        for thread in threading.enumerate():
            if thread.name == HANDLER_THREAD:
                thread.join(TIMEOUT)


def _handle_in_own_home(hook: HookCall) -> tuple[str, str]:
    return hook.handle(lambda: recollect.open(hook.location, settings=hook.call.settings))


def _listening(location: str, suffix: str) -> tuple[socket.socket, str]:
    folder, begin = runtime_folder(), socket_prefix(location)
    Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(f"{folder} must belong to this user and be closed to others")
    for name in os.listdir(folder):
        if name.startswith(begin):
            _remove_stale(os.path.join(folder, name))
    path = os.path.join(folder, f"{begin}{suffix}.sock")
    listening = socket.socket(socket.AF_UNIX)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # of an earlier process with this number
        listening.bind(path)
        os.chmod(path, 0o600)
        listening.listen(16)
    except OSError:
        listening.close()
        raise
    return listening, path


def _remove_stale(path: str) -> None:
    """Remove a socket whose process is gone."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(path)
        except ConnectionRefusedError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        except OSError:
            pass


def _accept(listening: socket.socket, location: str, answer: HookAnswer) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # closed, or idle for too long
            return
        threading.Thread(target=_handle, args=(connection, location, answer), name=HANDLER_THREAD, daemon=True).start()


def _handle(connection: socket.socket, location: str, answer: HookAnswer) -> None:
    with connection:
        try:
            connection.settimeout(TIMEOUT)
            if _is_same_user(connection) and (request := _receive(connection)) is not None:
                connection.sendall(json.dumps(_output_of(request, location, answer)).encode())
        except Exception as error:  # the hook gets no answer, and runs in its own process
            _log.warning("a hook failed in this process, and runs in its own: %s", error)


def _is_same_user(connection: socket.socket) -> bool:
    """Return whether the peer is this user; without SO_PEERCRED only the mode of the folder protects the socket."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())


def _receive(connection: socket.socket) -> dict[str, Any] | None:
    parts, size = [], 0
    while part := connection.recv(65_536):
        parts.append(part)
        size += len(part)
        if size > MAX_REQUEST_BYTES:
            return None
    request = json.loads(b"".join(parts))
    return request if isinstance(request, dict) else None


def _output_of(request: dict[str, Any], location: str, answer: HookAnswer) -> dict[str, str]:
    """Return the output of the hook; empty if the request is for another home or other settings."""
    if request.pop("version") != recollect.__version__ or request.pop("variables") != variables():
        return {}
    names = ("home", "workspace", "agent")
    call = Invocation.read("hook", json=False, **{name: request.pop(name, None) for name in names})
    hook = HookCall(call, request["event"], request["given"], request["folder"], request.get("profile", "default"))
    if shown(hook.location, "") != shown(location, ""):
        return {}
    out, err = answer(hook)
    return {"out": out, "err": err}
