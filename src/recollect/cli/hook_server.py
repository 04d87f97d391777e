"""Handles hooks for other processes of the same user, on a Unix socket, while a home is served anyway.

A request names its home, workspace and agent as the options of `recollect hook` do, and is handled as that command
would, in the home that is already open. A request for another home, or with other settings, is declined: the hook then
does its work itself.
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
from recollect.cli.hook_client import TIMEOUT, is_private, socket_prefix
from recollect.cli.invocation import Invocation
from recollect.environment import runtime_folder, variables
from recollect.home import Home
from recollect.wiring import shown

__all__ = ["handling_hooks"]

LARGEST = 32_000_000
"""Maximum size of a request in bytes."""
_log = logging.getLogger("recollect.hooks")


@contextmanager
def handling_hooks(location: str, opened: Callable[[], Home]) -> Iterator[None]:
    """Handle hooks for a home while the context lasts. Without Unix sockets, or a private folder, there are none."""
    try:
        listening, path = _listening(location)
    except (OSError, AttributeError) as error:
        _log.info("hooks do their work themselves: %s", error)
        yield
        return
    threading.Thread(target=_accept, args=(listening, location, opened), name="hooks", daemon=True).start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # wakes the thread, unlike close
        listening.close()


def _listening(location: str) -> tuple[socket.socket, str]:
    folder, begin = runtime_folder(), socket_prefix(location)
    Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(f"{folder} must belong to this user and be closed to others")
    for name in os.listdir(folder):
        if name.startswith(begin):
            _remove_stale(os.path.join(folder, name))
    path = os.path.join(folder, f"{begin}{os.getpid()}.sock")
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


def _accept(listening: socket.socket, location: str, opened: Callable[[], Home]) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # closed
            return
        threading.Thread(target=_handle, args=(connection, location, opened), name="hook", daemon=True).start()


def _handle(connection: socket.socket, location: str, opened: Callable[[], Home]) -> None:
    with connection:
        try:
            connection.settimeout(TIMEOUT)
            if _is_same_user(connection) and (request := _received(connection)) is not None:
                connection.sendall(json.dumps(_answered(request, location, opened)).encode())
        except Exception as error:  # the hook gets no answer, and does its work itself
            _log.warning("a hook was not handled here: %s", error)


def _is_same_user(connection: socket.socket) -> bool:
    """Return whether the peer is this user; where the system does not tell, the mode of the folder has to do."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())


def _received(connection: socket.socket) -> dict[str, Any] | None:
    parts, size = [], 0
    while part := connection.recv(65_536):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            return None
    request = json.loads(b"".join(parts))
    return request if isinstance(request, dict) else None


def _answered(request: dict[str, Any], location: str, opened: Callable[[], Home]) -> dict[str, str]:
    """Return the output of the hook; empty if another home or other settings are asked for."""
    if request.pop("version") != recollect.__version__ or request.pop("variables") != variables():
        return {}
    names = ("home", "workspace", "agent")
    call = Invocation.read("hook", json=False, **{name: request.pop(name, None) for name in names})
    hook = HookCall(call, request["event"], request["given"], request["folder"], request.get("profile", "default"))
    if shown(hook.location, "") != shown(location, ""):
        return {}
    out, err = hook.handle(lambda: contextlib.nullcontext(opened()))
    return {"out": out, "err": err}
