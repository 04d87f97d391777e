"""Concurrency limits, in all and per caller. A request above the limit waits a moment for a slot, here a place.

Each caller may hold only a share of the places, so that none can take them all. While a request waits for its body it
holds no place, only a part of its caller's share, so that many slow clients do not block other callers.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException

__all__ = ["WAIT", "Place", "Places"]

WAIT = 2.0
"""Maximum wait for a place in seconds."""
SHARE = 2
"""Divisor: one caller may hold half of all places."""


class _Room:
    """A semaphore with a bounded FIFO queue: at most `size` holders and `size` waiters."""

    def __init__(self, size: int, status: int, detail: str) -> None:
        self._size, self._status, self._detail = size, status, detail
        self._free, self._waiting, self.taken = asyncio.Semaphore(size), 0, 0

    async def enter(self) -> None:
        """Take a place; raise if none becomes free in time or the queue is full."""
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
        """Release a place."""
        self.taken -= 1
        self._free.release()

    def _refusal(self) -> HTTPException:
        return HTTPException(self._status, self._detail, {"Retry-After": "1"})


class Place:
    """The place of one request."""

    def __init__(self, every: _Room, own: _Room) -> None:
        self._every, self._own = every, own
        self._held = self._shared = False

    async def take(self) -> None:
        """Take the place, or raise."""
        await self._own.enter()
        self._shared = True
        await self.resume()

    def pause(self) -> None:
        """Release the place while the request waits for its body."""
        if self._held:
            self._held = False
            self._every.leave()

    async def resume(self) -> None:
        """Take the place again, if the request had taken it before."""
        if self._shared and not self._held:
            await self._every.enter()
            self._held = True

    def give_back(self) -> None:
        """Release the place and the share at the end of the request."""
        self.pause()
        if self._shared:
            self._shared = False
            self._own.leave()


class Places:
    """The concurrency limits of a server process."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._every = _Room(number, 503, f"{number} requests are being answered; come again in a moment")
        self._own: WeakValueDictionary[str, _Room] = WeakValueDictionary()

    def taken(self) -> int:
        """Return the number of requests that hold a place."""
        return self._every.taken

    @contextmanager
    def of(self, caller: str | None) -> Iterator[Place]:
        """Yield a place, not yet taken, for a caller's request; None is a local caller, who may use all places."""
        place = Place(self._every, self._room(caller))
        try:
            yield place
        finally:
            place.give_back()

    def _room(self, caller: str | None) -> _Room:
        key = caller or ""
        found = self._own.get(key)
        if found is None:
            size = self._number if caller is None else max(self._number // SHARE, 1)
            detail = f"{size} requests of this caller are being answered; come again in a moment"
            found = self._own[key] = _Room(size, 503 if caller is None else 429, detail)
        return found
