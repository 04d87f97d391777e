"""Concurrency limits, in total and per caller. A request above a limit waits briefly for a slot.

Each caller may hold only a share of the slots, so that none can take them all, and free slots go to waiting callers
round-robin. While a request waits for its body, or for its client to read the response, it holds no slot and counts
only towards its caller's share, so that many slow clients do not block other callers.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    """The queue of one caller: how many of its requests count towards its share, and those that wait."""

    def __init__(self, size: int, refusal: tuple[int, str]) -> None:
        self.size, self.refusal = size, refusal
        self.held = 0
        self.has_turn = False
        self.waiting, self.resuming = deque[Waiter](), deque[Waiter]()
        """First in, first out; requests that resume go before new ones."""

    def ready(self) -> bool:
        """Return whether a waiting request could use a free slot."""
        return bool(self.resuming or (self.waiting and self.held < self.size))

    def admit(self) -> bool:
        """Admit the next request and count it towards the share; return False if it was cancelled meanwhile."""
        fresh = not self.resuming
        waiter = (self.waiting if fresh else self.resuming).popleft()
        if waiter.done():
            return False
        self.held += fresh
        waiter.set_result(None)
        return True


class Slot:
    """The slot of one request."""

    def __init__(self, slots: "Slots", line: _CallerQueue, gone: Callable[[], bool]) -> None:
        self._slots, self._line, self._gone = slots, line, gone
        self._held = self._shared = False

    async def take(self) -> None:
        """Take the slot, or raise."""
        await self._slots.enter(self._line, self._line.waiting, self._gone)
        self._held = self._shared = True

    def pause(self) -> None:
        """Release the slot while the request waits for its client."""
        if self._held:
            self._held = False
            self._slots.leave()

    async def resume(self) -> None:
        """Take the slot again, if the request had taken it before."""
        if self._shared and not self._held:
            await self._slots.enter(self._line, self._line.resuming, self._gone)
            self._held = True

    def close(self) -> None:
        """Release the slot and the share at the end of the request."""
        if self._shared:
            self._shared = False
            self._slots.return_share(self._line)
        self.pause()


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

    @contextmanager
    def of(self, caller: str | None, gone: Callable[[], bool]) -> Iterator[Slot]:
        """Yield a slot, not yet taken, for a caller's request; None is a local caller, who may use all slots.

        `gone` returns whether the client has disconnected: its request is then not started.
        """
        slot = Slot(self, self._line(caller), gone)
        try:
            yield slot
        finally:
            slot.close()

    async def enter(self, line: _CallerQueue, queue: deque[Waiter], gone: Callable[[], bool]) -> None:
        """Take a slot; raise if none becomes free in time, the queue is full, or the client has disconnected."""
        fresh = queue is line.waiting
        if self._taken < self._number and not queue and not (fresh and line.held >= line.size):
            line.held += fresh
            self._taken += 1
            return
        if self._waiting >= QUEUE_FACTOR * self._number or (fresh and len(queue) >= line.size):
            raise self._refusal(line)
        waiter: Waiter = asyncio.get_running_loop().create_future()
        queue.append(waiter)
        self._waiting += 1
        self._enqueue(line)
        try:
            async with asyncio.timeout(WAIT):
                await waiter
        except BaseException as error:
            self._withdraw(line, queue, waiter)
            if isinstance(error, TimeoutError):
                raise self._refusal(line) from None
            raise
        finally:
            self._waiting -= 1
        if gone():
            self._give_back(line, fresh)
            raise ClientDisconnect

    def leave(self) -> None:
        """Release a slot and admit the next waiting request."""
        self._taken -= 1
        self._serve()

    def return_share(self, line: _CallerQueue) -> None:
        """Stop counting a request towards its caller's share."""
        line.held -= 1
        self._enqueue(line)
        self._serve()

    def _serve(self) -> None:
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

    def _withdraw(self, line: _CallerQueue, queue: deque[Waiter], waiter: Waiter) -> None:
        """Remove a cancelled request from its queue; release its slot if it was admitted at the same moment."""
        if waiter.done() and not waiter.cancelled():
            self._give_back(line, queue is line.waiting)
        elif waiter in queue:
            queue.remove(waiter)

    def _give_back(self, line: _CallerQueue, fresh: bool) -> None:
        if fresh:
            self.return_share(line)
        self.leave()

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
