"""How many requests are answered at the same time: in all, and of one caller. A request without a place waits a moment.

A caller has a share of the places, so that none can take them all. While a body is on its way its request has no place,
only a part of its caller's share: many slow clients hold up nobody else.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException

__all__ = ["WAIT", "Place", "Places"]

WAIT = 2.0
"""Seconds that a request waits for a place."""
SHARE = 2
"""One caller may have this fraction of all places: a half."""


class _Room:
    """Some places, and as many requests at most that wait for one, in order."""

    def __init__(self, size: int, status: int, detail: str) -> None:
        self._size, self._status, self._detail = size, status, detail
        self._free, self._waiting, self.taken = asyncio.Semaphore(size), 0, 0

    async def enter(self) -> None:
        """Take a place; refused if none becomes free soon, or too many wait already."""
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
        """Give a place back."""
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
        """Take it, or be refused."""
        await self._own.enter()
        self._shared = True
        await self.resume()

    def pause(self) -> None:
        """Let others have it while the body is on its way."""
        if self._held:
            self._held = False
            self._every.leave()

    async def resume(self) -> None:
        """Take it again, if it was taken at all."""
        if self._shared and not self._held:
            await self._every.enter()
            self._held = True

    def give_back(self) -> None:
        """At the end."""
        self.pause()
        if self._shared:
            self._shared = False
            self._own.leave()


class Places:
    """All places of a server."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._every = _Room(number, 503, f"{number} requests are being answered; come again in a moment")
        self._own: WeakValueDictionary[str, _Room] = WeakValueDictionary()

    def taken(self) -> int:
        """How many requests have a place."""
        return self._every.taken

    @contextmanager
    def of(self, caller: str | None) -> Iterator[Place]:
        """A place for a request of a caller, to be taken; None is this machine, which has no share but may use all."""
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
