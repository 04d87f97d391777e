"""Threads of the frequent requests: few compute at once, because the interpreter runs one of them at a time.

With sixteen threads that compute, each waits for the interpreter lock whenever it comes back from the database, which
costs a fifth of the processor time of a recall and makes some wait far longer than others. So calls are queued, and a
*runner*, a function in a thread of the pool, takes one after the other. A call that takes long, because it waits for a
network or computes a lot, does not hold up the others: after PATIENCE another runner starts.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, TypeVar

from recollect.clock import stopwatch

__all__ = ["RequestThreads"]

PATIENCE = 0.02
"""Seconds after which a call no longer counts towards the usual number of runners."""
Result = TypeVar("Result")


class _Call:
    """A call that is queued or in progress."""

    __slots__ = ("_context", "_function", "done", "error", "result")

    def __init__(self, function: Callable[[], Any], context: Context, done: "asyncio.Future[Any]") -> None:
        self._function, self._context, self.done = function, context, done
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call the function, unless it was cancelled."""
        if self.done.cancelled():
            return
        try:
            self.result = self._context.run(self._function)
        except BaseException as error:
            self.error = error

    def settle(self) -> None:
        """Pass the outcome on, in the event loop."""
        if self.done.cancelled():
            return
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.result)


class RequestThreads:
    """Runs calls in threads, usually `usual` at once, and at most `most`."""

    def __init__(self, usual: int, most: int, name: str) -> None:
        self._usual, self._most = usual, most
        self._threads = ThreadPoolExecutor(most, name)
        self._guard = threading.Lock()
        self._queue = deque[_Call]()
        self._since: dict[int, float] = {}
        """When the current call of each runner started, by the runner's number."""
        self._number = 0
        self._watched = False

    async def run(self, function: Callable[[], Result]) -> Result:
        """Call a function in a thread, with the context variables of the caller."""
        loop = asyncio.get_running_loop()
        call = _Call(function, copy_context(), loop.create_future())
        with self._guard:
            self._queue.append(call)
            if not self._start_runner():
                self._watch(loop)
        return await call.done  # type: ignore[no-any-return]

    def close(self) -> None:
        """Wait for the calls in progress and end the threads."""
        self._threads.shutdown()

    def _start_runner(self) -> bool:
        """Start a runner for a queued call; return False if there are enough. Call with the lock held."""
        if len(self._since) >= self._most or self._counted() >= self._usual:
            return False
        self._number += 1
        self._since[self._number] = stopwatch()
        self._threads.submit(self._work, self._number)
        return True

    def _counted(self) -> int:
        """Return the number of runners whose current call is not a long one."""
        if len(self._since) < self._usual:
            return len(self._since)
        latest = stopwatch() - PATIENCE
        return sum(since > latest for since in self._since.values())

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look again soon whether calls that take long hold up the queue. Call with the lock held."""
        if not self._watched:
            self._watched = True
            loop.call_later(PATIENCE, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._guard:
            self._watched = False
            while self._queue and self._start_runner():
                pass
            if self._queue:
                self._watch(loop)

    def _next(self, runner: int) -> _Call | None:
        """Return the next call of a runner; None if it ends: nothing is queued, or there are enough others."""
        with self._guard:
            self._since[runner] = stopwatch()
            if self._queue and self._counted() <= self._usual:
                return self._queue.popleft()
            del self._since[runner]
            return None

    def _work(self, runner: int) -> None:
        while (call := self._next(runner)) is not None:
            call.run()
            with suppress(RuntimeError):  # the event loop was closed meanwhile
                call.done.get_loop().call_soon_threadsafe(call.settle)
