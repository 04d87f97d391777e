"""A fork waits until no other thread is at work in SQLite, and nobody begins while it is under way.

SQLite keeps in the memory of a process which file locks that process has. A child that is forked in the middle of
another thread's transaction would count on locks that only its parent has, and what it writes could be lost. Where the
wait was in vain, the child is told so, and must not use SQLite.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Forks"]

PATIENCE = 10.0
"""Seconds that a fork waits for the work of other threads."""


class Forks:
    """Which threads are at work, each with what identifies its work."""

    def __init__(self, quieten: Callable[[], None], forget: Callable[[], None]) -> None:
        """`quieten` closes what is idle, before a fork; `forget` is called in the child."""
        self.torn = False
        """Whether this process was forked while its parent was at work."""
        self._quieten, self._forget = quieten, forget
        self._workers: dict[object, int] = {}
        self._under_way = False
        self._own()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before, after_in_parent=self._in_parent, after_in_child=self._in_child)

    def _own(self) -> None:
        self._one_at_a_time, self._changed = threading.Lock(), threading.Condition()

    def begin(self, work: object) -> None:
        """Somebody begins; during a fork this waits, except for a thread that has to finish something else first."""
        # In this order: either the fork sees this work, or this sees the fork.
        self._workers[work] = threading.get_ident()
        if self._under_way:
            self._wait(work)

    def end(self, work: object) -> None:
        """The work is done."""
        del self._workers[work]
        if self._under_way:
            with self._changed:
                self._changed.notify_all()

    @contextmanager
    def working(self) -> Iterator[None]:
        """A block of work."""
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
