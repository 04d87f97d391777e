"""Make os.fork safe with SQLite: a fork waits for running operations of other threads, and blocks new ones.

SQLite tracks in process memory which file locks the process holds. A child forked in the middle of another thread's
transaction would rely on locks that only its parent holds, and its writes could be lost. If the wait times out, the
child is marked as `torn` and must not use SQLite.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Forks"]

PATIENCE = 10.0
"""Maximum number of seconds that a fork waits for operations of other threads."""


class Forks:
    """Registry of the running operations and their threads."""

    def __init__(self, quieten: Callable[[], None], forget: Callable[[], None]) -> None:
        """Register the fork hooks: `quieten` closes idle connections before a fork, `forget` runs in the child."""
        self.torn = False
        """True if this process was forked while an operation was running in its parent."""
        self._quieten, self._forget = quieten, forget
        self._workers: dict[object, int] = {}
        self._under_way = False
        self._own()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before, after_in_parent=self._in_parent, after_in_child=self._in_child)

    def _own(self) -> None:
        self._one_at_a_time, self._changed = threading.Lock(), threading.Condition()

    def begin(self, work: object) -> None:
        """Register an operation; block during a fork, unless this thread already runs another one."""
        # Register before checking: either the fork sees this operation, or this thread sees the fork.
        self._workers[work] = threading.get_ident()
        if self._under_way:
            self._wait(work)

    def end(self, work: object) -> None:
        """Unregister an operation."""
        del self._workers[work]
        if self._under_way:
            with self._changed:
                self._changed.notify_all()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Register an operation for the duration of the block."""
        work = object()
        self.begin(work)
        try:
            yield
        finally:
            self.end(work)

    def _wait(self, work: object) -> None:
        own = threading.get_ident()
        while self._under_way and list(self._workers.values()).count(own) == 1:
            self.end(work)
            with self._changed:
                self._changed.wait_for(lambda: not self._under_way)
            self._workers[work] = own

    def _alone(self) -> bool:
        own = threading.get_ident()
        return all(worker == own for worker in list(self._workers.values()))

    def _before(self) -> None:
        self._one_at_a_time.acquire()
        self._under_way = True
        with self._changed:
            self._changed.wait_for(self._alone, PATIENCE)
        self._quieten()

    def _in_parent(self) -> None:
        self._under_way = False
        with self._changed:
            self._changed.notify_all()
        self._one_at_a_time.release()

    def _in_child(self) -> None:
        self.torn = self.torn or bool(self._workers)
        self._workers.clear()
        self._under_way = False
        self._own()
        self._forget()
