"""Concurrency limits, in total and per caller. A request above a limit waits briefly for a slot.

Each caller may hold only a share of the slots, so that none can take them all, and free slots go to waiting callers
round-robin. A request takes its slot when its body has arrived, and gives it back when its response begins, so slow
clients hold none.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

__all__ = ["WAIT", "Slot", "Slots"]

WAIT = 2.0
"""Maximum wait for a slot in seconds."""
SHARE_DIVISOR = 2
"""Divisor of the number of slots: one caller may hold half of them."""
QUEUE_FACTOR = 16
"""Maximum number of waiting requests of all callers, as a multiple of the number of slots."""
Waiter = asyncio.Future[None]


class _CallerQueue:
    """The queue of one caller: how many slots it holds, and its requests that wait."""

    def __init__(self, size: int, refusal: tuple[int, str]) -> None:
        self.size, self.refusal = size, refusal
        self.held = 0
        self.has_turn = False
        self.waiting = deque[Waiter]()

    def ready(self) -> bool:
        """Return whether a waiting request could use a free slot."""
        return bool(self.waiting) and self.held < self.size

    def admit(self) -> bool:
        """Admit the next request; return False if it was cancelled meanwhile."""
        waiter = self.waiting.popleft()
        if waiter.done():
            return False
        self.held += 1
        waiter.set_result(None)
        return True


class Slot:
    """The slot of one request."""

    __slots__ = ("_gone", "_held", "_line", "_slots")

    def __init__(self, slots: "Slots", line: _CallerQueue, gone: Callable[[], bool]) -> None:
        self._slots, self._line, self._gone = slots, line, gone
        self._held = False

    async def take(self) -> None:
        """Take the slot, or raise."""
        await self._slots.enter(self._line, self._gone)
        self._held = True

    def close(self) -> None:
        """Release the slot if it was taken."""
        if self._held:
            self._held = False
            self._slots.leave(self._line)


class Slots:
    """The concurrency limits of a server process."""

    def __init__(self, number: int) -> None:
        self._number, self._taken, self._waiting = number, 0, 0
        self._full = (503, f"too many requests in progress (limit {number}); retry later")
        self._lines: WeakValueDictionary[str, _CallerQueue] = WeakValueDictionary()
        self._turns = deque[_CallerQueue]()
        """Callers with a request that could use a free slot, in round-robin order."""

    def taken(self) -> int:
        """Return the number of requests that hold a slot."""
        return self._taken

    def waiting(self) -> int:
        """Return the number of requests that wait for a slot."""
        return self._waiting

    def of(self, caller: str | None, gone: Callable[[], bool]) -> Slot:
        """Return a slot, not yet taken, for a caller's request; None is a local caller, who may use all slots.

        `gone` returns whether the client has disconnected: its request is then not started.
        """
        return Slot(self, self._line(caller), gone)

    async def enter(self, line: _CallerQueue, gone: Callable[[], bool]) -> None:
        """Take a slot; raise if none becomes free in time, the queue is full, or the client has disconnected."""
        if self._taken < self._number and not line.waiting and line.held < line.size:
            line.held += 1
            self._taken += 1
            return
        if self._waiting >= QUEUE_FACTOR * self._number or len(line.waiting) >= line.size:
            raise self._refusal(line)
        waiter: Waiter = asyncio.get_running_loop().create_future()
        line.waiting.append(waiter)
        self._waiting += 1
        self._enqueue(line)
        try:
            async with asyncio.timeout(WAIT):
                await waiter
        except BaseException as error:
            self._withdraw(line, waiter)
            if isinstance(error, TimeoutError):
                raise self._refusal(line) from None
            raise
        finally:
            self._waiting -= 1
        if gone():
            self.leave(line)
            raise ClientDisconnect

    def leave(self, line: _CallerQueue) -> None:
        """Release a slot and admit the next waiting requests."""
        line.held -= 1
        self._taken -= 1
        self._enqueue(line)
        while self._taken < self._number and self._turns:
            line = self._turns.popleft()
            line.has_turn = False
            if line.ready():
                self._taken += line.admit()
                self._enqueue(line)

    def _enqueue(self, line: _CallerQueue) -> None:
        if not line.has_turn and line.ready():
            line.has_turn = True
            self._turns.append(line)

    def _withdraw(self, line: _CallerQueue, waiter: Waiter) -> None:
        """Remove a cancelled request from its queue; release its slot if it was admitted at the same moment."""
        if waiter.done() and not waiter.cancelled():
            self.leave(line)
        elif waiter in line.waiting:
            line.waiting.remove(waiter)

    def _refusal(self, line: _CallerQueue) -> HTTPException:
        status, detail = line.refusal if line.held >= line.size else self._full
        return HTTPException(status, detail, {"Retry-After": "1"})

    def _line(self, caller: str | None) -> _CallerQueue:
        key = caller or ""
        found = self._lines.get(key)
        if found is None:
            size = self._number if caller is None else max(self._number // SHARE_DIVISOR, 1)
            own = (429, f"too many requests of this caller in progress (limit {size}); retry later")
            found = self._lines[key] = _CallerQueue(size, self._full if caller is None else own)
        return found
