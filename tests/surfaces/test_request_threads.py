"""Frequent requests run in few threads at once, and a long one does not hold up the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from recollect.rest import request_threads
from recollect.rest.request_threads import RequestThreads

NAME: ContextVar[str] = ContextVar("name", default="none")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call counts as long."""
    monkeypatch.setattr(request_threads, "PATIENCE", 3600.0)


@pytest.fixture
def threads() -> Iterator[RequestThreads]:
    made = RequestThreads(1, 4, "test")
    yield made
    made.close()


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await work

    asyncio.run(limited())


def test_a_call_runs_in_the_context_of_its_caller_and_its_result_or_error_is_returned(threads: RequestThreads) -> None:
    async def work() -> None:
        NAME.set("ana")
        assert await threads.run(NAME.get) == "ana"
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)
        assert await asyncio.gather(*(threads.run(lambda n=n: n) for n in range(100))) == list(range(100))  # type: ignore[misc]

    run(work())


@pytest.mark.usefixtures("patient")
def test_no_more_calls_run_at_once_than_usual() -> None:
    many, guard, now, most = RequestThreads(2, 8, "test"), threading.Lock(), 0, 0
    both = threading.Barrier(2, timeout=20)

    def call() -> None:
        nonlocal now, most
        with guard:
            now, most = now + 1, max(most, now + 1)
        both.wait()  # two do run at once
        with guard:
            now -= 1

    async def work() -> None:
        await asyncio.gather(*(many.run(call) for _ in range(40)))

    run(work())
    many.close()
    assert most == 2


def test_a_long_call_does_not_hold_up_the_others(threads: RequestThreads) -> None:
    end = threading.Event()

    async def work() -> None:
        long = asyncio.create_task(threads.run(lambda: end.wait(20)))
        assert await asyncio.gather(*(threads.run(lambda n=n: n) for n in range(5))) == list(range(5))  # type: ignore[misc]
        assert not long.done()
        end.set()
        assert await long

    run(work())


def test_as_many_long_calls_run_as_there_are_threads(threads: RequestThreads) -> None:
    together = threading.Barrier(4, timeout=20)

    async def work() -> None:
        await asyncio.gather(*(threads.run(together.wait) for _ in range(8)))

    run(work())


@pytest.mark.usefixtures("patient")
def test_a_cancelled_call_does_not_run(threads: RequestThreads) -> None:
    end, called = threading.Event(), list[str]()

    async def work() -> None:
        first = asyncio.create_task(threads.run(lambda: end.wait(20)))
        second = asyncio.create_task(threads.run(lambda: called.append("second")))
        third = asyncio.create_task(threads.run(lambda: called.append("third")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        end.set()
        await asyncio.gather(first, third)

    run(work())
    assert called == ["third"]
