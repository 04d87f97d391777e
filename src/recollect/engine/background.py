"""Background tasks: one thread per home, at most one pending or running task per key.

The thread is a daemon, so that a task that hangs (a model that never answers) does not keep the process alive. The
databases refuse the writes of a task that `close()` or process exit abandoned.
"""

import atexit
import logging
import os
import threading
from collections.abc import Callable, Hashable
from weakref import WeakSet

from recollect.errors import RecollectError
from recollect.storage.abandoned import abandon

__all__ = ["CLOSING", "Background"]

CLOSING = 3.0
"""Seconds that a running task gets to finish when a home closes or the process exits."""
_log = logging.getLogger("recollect.background")
_open: "WeakSet[Background]" = WeakSet()


class Background:
    """Runs functions in a thread. Failures are logged; the next trigger retries."""

    def __init__(self) -> None:
        self._own()
        _open.add(self)

    def _own(self) -> None:
        """Reset the state of this process; threads do not survive a fork."""
        self._changed = threading.Condition()
        self._waiting: dict[Hashable, Callable[[], object]] = {}
        self._running: set[Hashable] = set()
        self._thread: threading.Thread | None = None
        self._owner = os.getpid()

    def run(self, key: Hashable, work: Callable[[], object]) -> None:
        """Schedule a task, unless one with the same key is pending or running."""
        if self._owner != os.getpid():
            self._own()
        with self._changed:
            if key in self._waiting or key in self._running:
                return
            self._waiting[key] = work
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="recollect-background", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Block until no task is pending or running."""
        if self._owner == os.getpid():
            with self._changed:
                self._changed.wait_for(lambda: not self._waiting and not self._running)

    def close(self, seconds: float = CLOSING) -> list[Hashable]:
        """Wait up to `seconds` for the running task; return the keys of unfinished tasks, running or pending."""
        if self._owner != os.getpid():
            return []
        with self._changed:
            left, self._waiting = list(self._waiting), {}
            if not self._changed.wait_for(lambda: not self._running, seconds):
                assert self._thread is not None
                abandon(self._thread)
                self._thread = None
                left = [*self._running, *left]
                self._running = set()
        return left

    def _work(self) -> None:
        running = self._running
        while True:
            with self._changed:
                if self._running is not running:  # abandoned by close(); another thread may have taken over
                    return
                running.clear()
                self._changed.notify_all()
                if not self._waiting:
                    self._thread = None
                    return
                key = next(iter(self._waiting))
                work = self._waiting.pop(key)
                running.add(key)
            _do(work)


def _do(work: Callable[[], object]) -> None:
    try:
        work()
    except RecollectError as error:
        _log.warning("%s", error)
    except Exception:  # a bug of ours: no caller waits for the result, so it is only logged
        _log.exception("work in the background failed")


@atexit.register
def _close_all() -> None:
    """Give running tasks a moment to finish at process exit."""
    for background in list(_open):
        left = background.close()
        if left:
            _log.warning("%d pieces of work in the background were not finished", len(left))
