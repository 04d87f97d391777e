"""Bodies of requests while they arrive: limits on the size and time of each, and on the bytes of all of them together.

A body is read before its request takes a slot, so the number of bodies that arrive is limited by that of connections
only. Where they need too much memory together, the one that has been arriving for longest is refused: a client that
sends at a usual speed is done long before the slow ones.
"""

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from recollect.clock import stopwatch

__all__ = ["SENT_WITHIN", "IncomingBodies", "IncomingBody", "ShutdownEvent"]

SENT_WITHIN = 60.0
"""Timeout in seconds for a body, for an import for each part."""
LAST_WITHIN = 2.0
"""Timeout in seconds for each part of a body during shutdown."""
UNCOUNTED_BYTES = 1 << 16
"""Bytes of each body that do not count towards the limit of all, so that a short body is never refused for it."""
TOTAL_FACTOR = 8
"""Limit of the bytes of all bodies, as a multiple of the limit of one."""


class ShutdownEvent(asyncio.Event):
    """Event that is set on shutdown: feeds end, and the timeouts of pending bodies are shortened."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = set[asyncio.Timeout]()
        """Timeouts of the requests that wait for a part of a body."""

    def set(self) -> None:
        """Signal shutdown. Call it in the server's event loop only."""
        super().set()
        soon = asyncio.get_running_loop().time() + LAST_WITHIN
        for wait in self.waits:
            if not wait.expired():
                wait.reschedule(min(soon, wait.when() or soon))


class IncomingBody:
    """The body of one request."""

    def __init__(self, bodies: "IncomingBodies", receive: Receive, limit: int | None, within: float) -> None:
        self._bodies, self._receive, self._limit, self._within = bodies, receive, limit, within
        self._got, self._until = 0, stopwatch() + within
        self._wait: asyncio.Timeout | None = None
        self.counted = 0
        """Bytes that count towards the limit of all bodies."""
        self.refused = self.complete = False

    async def receive(self) -> Message:
        """Return the next part; raise if it does not arrive in time, or if it is too much."""
        if self.complete:  # only the disconnect is left to come, at any time
            return await self._receive()
        message = await self._next_part()
        self._got += len(message.get("body", b""))
        self.complete = not message.get("more_body", False)
        if self._limit is not None:
            if self._got > self._limit:
                detail = (
                    f"the body has more than {self._limit:,} bytes; send less per request, or see [server] body_limit"
                )
                raise HTTPException(413, detail)
            self._bodies.count(self, max(self._got - UNCOUNTED_BYTES, 0))
            if self.refused:
                raise self._bodies.refusal()
        return message

    def refuse(self) -> None:
        """Let the request fail that waits for this body."""
        self.refused = True
        if self._wait is not None and not self._wait.expired():
            self._wait.reschedule(asyncio.get_running_loop().time())

    def close(self) -> None:
        """Stop counting the body, at the end of the request."""
        if self.counted:
            self._bodies.discard(self)

    async def _next_part(self) -> Message:
        stopping = self._bodies.stopping
        left = self._within if self._limit is None else self._until - stopwatch()
        self._wait = wait = asyncio.timeout(min(left, LAST_WITHIN) if stopping.is_set() else left)
        try:
            async with wait:
                stopping.waits.add(wait)
                return await self._receive()
        except TimeoutError:
            if self.refused:
                raise self._bodies.refusal() from None
            if stopping.is_set():
                detail = "the server is shutting down before the body arrived; nothing was changed. Send it again"
                raise HTTPException(503, detail, {"Connection": "close", "Retry-After": "1"}) from None
            detail = f"the body did not arrive within {self._within:g} seconds; nothing was changed"
            raise HTTPException(408, detail, {"Connection": "close"}) from None
        finally:
            stopping.waits.discard(wait)
            self._wait = None


class IncomingBodies:
    """The bodies of all requests in progress. One that has arrived counts until the end of its request."""

    def __init__(self, limit: int, stopping: ShutdownEvent) -> None:
        """`limit` is the maximum size of one body."""
        self._limit, self.stopping = limit * TOTAL_FACTOR, stopping
        self.bytes = 0
        self._arriving: dict[IncomingBody, None] = {}
        """Those that count and are not complete, in the order in which they began to count."""

    def of(self, receive: Receive, limit: int | None, within: float) -> IncomingBody:
        """Return the body of a request, to be closed at its end; without a limit it is streamed, and not counted."""
        return IncomingBody(self, receive, limit, within)

    def count(self, body: IncomingBody, size: int) -> None:
        """Note the present size of a body, and refuse the oldest ones while all of them are too much."""
        self.bytes += size - body.counted
        body.counted = size
        if size:
            self._arriving[body] = None
        while self.bytes > self._limit and self._arriving:
            oldest = next(iter(self._arriving))
            self.discard(oldest)
            oldest.refuse()
        if body.complete:
            self._arriving.pop(body, None)

    def refusal(self) -> HTTPException:
        """Return the error of a request whose body was refused."""
        detail = f"the bodies of all requests have more than {self._limit:,} bytes; nothing was changed. Retry later"
        return HTTPException(503, detail, {"Connection": "close", "Retry-After": "1"})

    def discard(self, body: IncomingBody) -> None:
        """Stop counting a body."""
        self.bytes -= body.counted
        body.counted = 0
        self._arriving.pop(body, None)
