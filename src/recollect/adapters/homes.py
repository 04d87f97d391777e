"""What all adapters share: opened homes, calls in worker threads, and the error for a package that is missing."""

import asyncio
import contextlib
import contextvars
import functools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

import recollect
from recollect.config import Settings

__all__ = ["AlreadyClosed", "Opened", "in_thread", "missing"]

P = ParamSpec("P")
T = TypeVar("T")


def missing(package: str, extra: str) -> ImportError:
    """Return the error to raise if the package of a framework is not installed."""
    return ImportError(f"the package {package} is not installed; run: pip install 'recollect[{extra}]'")


class AlreadyClosed(recollect.Conflict, RuntimeError):
    """An adapter is used after its `close()`. Frameworks expect a RuntimeError."""


@dataclass
class _SharedHome:
    home: recollect.Home
    users: int = 0


_shared: dict[str, _SharedHome] = {}
_lock = threading.Lock()


class Opened:
    """The memory of one agent in a home that all adapters of this process with the same location share.

    The location is what `recollect.open()` takes; None is RECOLLECT_HOME. The home is closed when the last of them is.
    Raises what `recollect.open()` raises.
    """

    def __init__(
        self, location: str | os.PathLike[str] | None, agent: str | None = None, workspace: str = "default"
    ) -> None:
        settings = Settings.read()
        where = os.fspath(location) if location is not None else settings.home
        self._key: str | None = where if "://" in where else str(Path(where).expanduser().resolve())
        with _lock:
            if self._key not in _shared:
                _shared[self._key] = _SharedHome(recollect.open(where, settings=settings))
            shared = _shared[self._key]
            shared.users += 1
        try:
            self._memory = shared.home.agent(agent or settings.agent, workspace)
        except BaseException:
            self.close()
            raise

    @property
    def memory(self) -> recollect.Memory:
        """The memory. Raises AlreadyClosed after `close()`."""
        self.ensure_open()
        return self._memory

    @property
    def closed(self) -> bool:
        """Whether `close()` was called."""
        return self._key is None

    def ensure_open(self, user: str = "the memory of this adapter") -> None:
        """Raise AlreadyClosed, with the name of what uses the memory, if `close()` was called."""
        if self.closed:
            raise AlreadyClosed(f"{user} is closed")

    def close(self) -> None:
        """Give up this use of the home. Calls that are running finish first; closing again does nothing."""
        with _lock:
            key, self._key = self._key, None
            if key is None:
                return
            shared = _shared[key]
            shared.users -= 1
            if shared.users:
                return
            del _shared[key]
        shared.home.close()


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a worker thread. A cancelled caller waits until the call has ended, so that it knows whether
    something was written.
    """
    # As `asyncio.to_thread` does, but without a task around it, which would take a fifth more processor time.
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)
    running = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        raise
