"""Background tasks: one thread that runs one task at a time, and at most one pending task per key.

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

    def __init__(self, *, delay: float = 0.0, finish: bool = False) -> None:
        """A task starts up to `delay` seconds after its trigger, so that a burst of triggers becomes one task.

        With `finish` no trigger is lost: one that arrives while its task runs schedules another run, and closing runs
        the pending tasks instead of dropping them.
        """
        self._delay, self._finish = delay, finish
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
        """Schedule a task, unless one with the same key is pending or, without `finish`, running."""
        if self._owner != os.getpid():
            self._own()
        with self._changed:
            if key in self._waiting or (key in self._running and not self._finish):
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

    def drain(self) -> None:
        """Run the pending tasks in the calling thread; on return none is pending or running."""
        while self._owner == os.getpid():
            with self._changed:
                self._changed.wait_for(lambda: not self._running)
                if not self._waiting:
                    return
                running, work = self._running, self._take()
            _do(work)
            self._end(running)

    def cancel(self) -> None:
        """Drop the pending tasks."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()

    def close(self, seconds: float = CLOSING) -> list[Hashable]:
        """Wait up to `seconds` for the running task; return the keys of unfinished tasks, running or pending."""
        if self._owner != os.getpid():
            return []
        if self._finish:
            self.drain()
        with self._changed:
            left, self._waiting = list(self._waiting), {}
            if not self._changed.wait_for(lambda: not self._running, seconds):
                if self._thread is not None:
                    abandon(self._thread)
                self._thread = None
                left = [*self._running, *left]
                self._running = set()
        return left

    def _work(self) -> None:
        running = self._running
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._waiting, self._delay)
                self._changed.wait_for(lambda: self._running is not running or not running)  # drain() may run a task
                if self._running is not running:  # abandoned by close(); another thread may have taken over
                    return
                if not self._waiting:
                    self._thread = None
                    return
                work = self._take()
            _do(work)
            self._end(running)

    def _take(self) -> Callable[[], object]:
        """Remove the next pending task and mark it as running; the caller holds the lock."""
        key = next(iter(self._waiting))
        self._running.add(key)
        return self._waiting.pop(key)

    def _end(self, running: set[Hashable]) -> None:
        with self._changed:
            running.clear()
            self._changed.notify_all()


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
