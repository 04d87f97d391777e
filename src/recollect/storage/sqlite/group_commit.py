"""Group commit: writers of one file are queued, and short writes that are queued together share a commit.

A commit waits for the disk, often ten times as long as the statements of a short write take. So a short write that
ends while another one is queued does not commit: it passes its open transaction on and waits. Each runs in a savepoint,
so that rolling it back leaves the others intact, and the last one commits. A write returns only when its commit
is on disk.

A transaction is passed on for as long as the previous commit took. On a fast disk it is committed soon, because waiting
would save nothing.
"""

import _thread
import threading
from collections import deque

import apsw

from recollect.clock import stopwatch
from recollect.errors import Unavailable
from recollect.storage.database import Row

__all__ = ["Batch", "CommittedLater", "WriteTurns"]


class CommittedLater:
    """A write that has ended and waits for the commit of its batch."""

    __slots__ = ("_done", "_error")

    def __init__(self) -> None:
        self._done = threading.Lock()
        self._done.acquire()
        self._error: BaseException | None = None

    def settle(self, error: BaseException | None) -> None:
        """Wake the writer: its write is on disk, or the commit failed."""
        self._error = error
        self._done.release()

    def wait(self) -> None:
        """Wait until the write is on disk; raise if it could not be committed."""
        self._done.acquire()
        if isinstance(self._error, Exception):
            raise self._error
        if self._error is not None:
            raise Unavailable("the commit of a write was interrupted; check whether it took effect") from self._error


class Batch:
    """An open transaction, and the writes in it that wait for its commit."""

    def __init__(self, connection: apsw.Connection, generation: int) -> None:
        self.connection, self.generation = connection, generation
        self.waiting: list[CommittedLater] = []
        self.counters: tuple[str, Row] | None = None
        """The agent of the last write and its counters, if they are known."""
        self.since: float | None = None
        """When the first write ended."""

    def add(self, agent: str, counters: Row | None) -> CommittedLater:
        """Add a write that has ended."""
        if self.waiting:
            self.connection.execute("RELEASE one_write")
        self.counters = None if counters is None else (agent, counters)
        self.waiting.append(CommittedLater())
        return self.waiting[-1]

    def begin(self, agent: str) -> Row | None:
        """Begin another write in a savepoint; return the counters of its agent, if they are known."""
        self.connection.execute("SAVEPOINT one_write")
        return self.counters[1] if self.counters is not None and self.counters[0] == agent else None

    def undo(self) -> None:
        """Undo the write that failed, but not those before it, unless the failure has ended the transaction."""
        if not self.waiting:
            return
        try:
            self.connection.execute("ROLLBACK TO one_write; RELEASE one_write")
        except apsw.Error:
            self.settle(Unavailable("another write of the same transaction failed; nothing was changed, try again"))

    def settle(self, error: BaseException | None) -> None:
        """Wake all writers that wait for the commit."""
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            one.settle(error)


class _Waiter:
    __slots__ = ("batch", "group", "turn")

    def __init__(self, group: bool) -> None:
        self.group = group
        self.batch: Batch | None = None
        self.turn = threading.Lock()
        self.turn.acquire()


class WriteTurns:
    """The write lock of a file in this process, first in, first out."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._queue = deque[_Waiter]()
        self.pace = 0.0
        """Duration of the previous commit in seconds."""

    def acquire(self, group: bool = False) -> Batch | None:
        """Acquire the lock; with `group`, return the open transaction of the previous writer if it was passed on."""
        with self._guard:
            if not self._held:
                self._held = True
                return None
            waiter = _Waiter(group)
            self._queue.append(waiter)
        try:
            waiter.turn.acquire()
        except BaseException:  # Ctrl-C
            with self._guard:
                if waiter in self._queue:
                    self._queue.remove(waiter)
                    raise
            _thread.interrupt_main()  # the lock was granted at the same moment: use it, interrupt afterwards
        return waiter.batch

    def release(self) -> None:
        """Release the lock, to the next writer in the queue if there is one."""
        with self._guard:
            if self._queue:
                self._queue.popleft().turn.release()
            else:
                self._held = False

    def pass_on(self, batch: Batch) -> bool:
        """Pass the lock and an open transaction to the next writer; return False if it must be committed now."""
        now = stopwatch()
        if batch.since is None:
            batch.since = now
        with self._guard:
            if not self._queue or not self._queue[0].group or now - batch.since >= self.pace:
                return False
            waiter = self._queue.popleft()
            waiter.batch = batch
            waiter.turn.release()
            return True

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.release()
