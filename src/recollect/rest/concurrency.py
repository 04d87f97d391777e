"""Concurrency limits, in total and per caller. A request above the limit waits briefly for a slot.

Each caller may hold only a share of the slots, so that none can take them all. While a request waits for its body it
holds no slot, only a part of its caller's share, so that many slow clients do not block other callers.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException

__all__ = ["WAIT", "Slot", "Slots"]

WAIT = 2.0
"""Maximum wait for a slot in seconds."""
SHARE = 2
"""Divisor: one caller may hold half of all slots."""


class _BoundedSemaphore:
    """A semaphore with a bounded FIFO queue: at most `size` holders and `size` waiters."""

    def __init__(self, size: int, status: int, detail: str) -> None:
        self._size, self._status, self._detail = size, status, detail
        self._free, self._waiting, self.taken = asyncio.Semaphore(size), 0, 0

    async def enter(self) -> None:
        """Take a slot; raise if none becomes free in time or the queue is full."""
        if self._free.locked() and self._waiting >= self._size:
            raise self._refusal()
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT):
                await self._free.acquire()
        except TimeoutError:
            raise self._refusal() from None
        finally:
            self._waiting -= 1
        self.taken += 1

    def leave(self) -> None:
        """Release a slot."""
        self.taken -= 1
        self._free.release()

    def _refusal(self) -> HTTPException:
        return HTTPException(self._status, self._detail, {"Retry-After": "1"})


class Slot:
    """The slot of one request."""

    def __init__(self, all_slots: _BoundedSemaphore, own: _BoundedSemaphore) -> None:
        self._all, self._own = all_slots, own
        self._held = self._shared = False

    async def take(self) -> None:
        """Take the slot, or raise."""
        await self._own.enter()
        self._shared = True
        await self.resume()

    def pause(self) -> None:
        """Release the slot while the request waits for its body."""
        if self._held:
            self._held = False
            self._all.leave()

    async def resume(self) -> None:
        """Take the slot again, if the request had taken it before."""
        if self._shared and not self._held:
            await self._all.enter()
            self._held = True

    def close(self) -> None:
        """Release the slot and the share at the end of the request."""
        self.pause()
        if self._shared:
            self._shared = False
            self._own.leave()


class Slots:
    """The concurrency limits of a server process."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._all = _BoundedSemaphore(number, 503, f"too many requests in progress (limit {number}); retry later")
        self._own: WeakValueDictionary[str, _BoundedSemaphore] = WeakValueDictionary()

    def taken(self) -> int:
        """Return the number of requests that hold a slot."""
        return self._all.taken

    @contextmanager
    def of(self, caller: str | None) -> Iterator[Slot]:
        """Yield a slot, not yet taken, for a caller's request; None is a local caller, who may use all slots."""
        slot = Slot(self._all, self._share(caller))
        try:
            yield slot
        finally:
            slot.close()

    def _share(self, caller: str | None) -> _BoundedSemaphore:
        key = caller or ""
        found = self._own.get(key)
        if found is None:
            size = self._number if caller is None else max(self._number // SHARE, 1)
            detail = f"too many requests of this caller in progress (limit {size}); retry later"
            found = self._own[key] = _BoundedSemaphore(size, 503 if caller is None else 429, detail)
        return found
