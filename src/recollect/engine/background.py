"""Work that nobody waits for: one thread per home, one run at a time for each key."""

import logging
import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor

from recollect.errors import RecollectError

__all__ = ["Background"]

_log = logging.getLogger("recollect.background")


class Background:
    """Runs functions in a thread. What fails is logged, and the next trigger tries again."""

    def __init__(self) -> None:
        self._own()

    def _own(self) -> None:
        """What belongs to this process; threads do not survive a fork."""
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._running: dict[Hashable, Future[None]] = {}
        self._owner = os.getpid()

    def run(self, key: Hashable, work: Callable[[], object]) -> None:
        """Run this soon, unless something with the same key is waiting or under way."""
        if self._owner != os.getpid():
            self._own()
        with self._lock:
            if key not in self._running:
                self._executor = self._executor or ThreadPoolExecutor(1, thread_name_prefix="recollect-background")
                self._running[key] = self._executor.submit(self._do, key, work)

    def wait(self) -> None:
        """Return when nothing is waiting or under way."""
        while self._running and self._owner == os.getpid():
            for future in list(self._running.values()):
                future.exception()

    def close(self) -> None:
        """Finish what is under way, and leave out what is waiting."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None and self._owner == os.getpid():
            executor.shutdown(cancel_futures=True)
            self._running.clear()

    def _do(self, key: Hashable, work: Callable[[], object]) -> None:
        try:
            work()
        except RecollectError as error:
            _log.warning("%s", error)
        except Exception:  # a mistake of ours: nobody waits for this, so the log is all that tells of it
            _log.exception("work in the background failed")
        finally:
            with self._lock:
                self._running.pop(key, None)
