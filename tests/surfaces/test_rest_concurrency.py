"""Slots: callers take turns, and a request whose client has gone is not started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from recollect.rest import concurrency
from recollect.rest.concurrency import Slots


class Requests:
    """Requests that wait for slots until they are told to end."""

    def __init__(self, number: int) -> None:
        self.slots = Slots(number)
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def arrive(self, caller: str | None, name: str, gone: Callable[[], bool] = lambda: False) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._run(caller, name, gone))
        await self.settle()

    async def _run(self, caller: str | None, name: str, gone: Callable[[], bool]) -> None:
        slot = self.slots.of(caller, gone)
        try:
            await slot.take()
            self.begun.append(name)
            await self._ends[name].wait()
        finally:
            slot.close()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]
        await self.settle()

    async def outcome(self, name: str) -> BaseException | None:
        await asyncio.wait([self._tasks[name]])
        return self._tasks[name].exception()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


def test_callers_take_turns_however_many_requests_one_of_them_has() -> None:
    async def run() -> None:
        requests = Requests(4)
        for name in ("a1", "a2", "a3", "a4"):  # a may hold two of four
            await requests.arrive("a", name)
        for name in ("b1", "b2"):
            await requests.arrive("b", name)
        await requests.arrive("c", "c1")
        await requests.arrive("b", "b3")
        assert requests.begun == ["a1", "a2", "b1", "b2"]
        await requests.end("a1")  # c waited first for a slot that it may have; a could not have one
        assert requests.begun[4:] == ["c1"]
        await requests.end("b1")
        await requests.end("b2")
        assert requests.begun[5:] == ["a3", "b3"]
        for name in ("a2", "c1", "a3", "b3", "a4"):
            await requests.end(name)
        assert (requests.slots.taken(), requests.slots.waiting()) == (0, 0)

    asyncio.run(run())


def test_a_request_whose_client_has_gone_is_not_started() -> None:
    async def run() -> None:
        requests = Requests(1)
        await requests.arrive(None, "first")
        await requests.arrive("a", "gone", lambda: True)
        await requests.arrive("b", "next")
        await requests.end("first")
        assert isinstance(await requests.outcome("gone"), ClientDisconnect)
        await requests.settle()
        assert requests.begun == ["first", "next"]
        await requests.end("next")
        assert requests.slots.taken() == 0

    asyncio.run(run())


def test_a_request_that_waited_too_long_is_refused_and_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "WAIT", 0.01)

    async def run() -> None:
        requests = Requests(2)
        await requests.arrive("a", "first")
        await requests.arrive("a", "second")
        await requests.arrive("b", "third")
        own, of_all = await requests.outcome("second"), None
        await requests.arrive("c", "fourth")
        of_all = await requests.outcome("fourth")
        assert isinstance(own, HTTPException)
        assert isinstance(of_all, HTTPException)
        assert (own.status_code, of_all.status_code) == (429, 503)
        await requests.end("first")
        await requests.end("third")
        assert requests.begun == ["first", "third"]
        assert (requests.slots.taken(), requests.slots.waiting()) == (0, 0)

    asyncio.run(run())


def test_a_request_that_is_done_early_gives_its_slot_back_once() -> None:
    async def run() -> None:
        slots = Slots(2)
        first, second = slots.of("a", lambda: False), slots.of("a", lambda: False)
        await first.take()
        waits = asyncio.create_task(second.take())  # a may hold one of two
        await asyncio.sleep(0)
        assert not waits.done()
        first.close()
        await waits
        first.close()
        assert slots.taken() == 1
        second.close()
        assert slots.taken() == 0

    asyncio.run(run())
