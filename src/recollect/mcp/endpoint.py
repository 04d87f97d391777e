"""MCP over HTTP, as one route of another application. The SDK is slow to load, so that waits for the first request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.mcp.request_context import CALLER, Caller

__all__ = ["Endpoint"]


class Endpoint:
    """What answers MCP at a route, while the application is within `running`.

    `who` is asked for every request before anything else, and what it raises goes to the exception handlers of the
    application. It may leave the name of a token as `request.state.caller`: sessions are counted by it, and else by
    address. `hosts` are the values of the Host header that are answered, `*` for any; by default those of the loopback
    addresses. Sessions, which only the old revision has, are in this process alone: where several processes answer, do
    without them.
    """

    def __init__(
        self, who: Callable[[Request], Awaitable[Caller]], *, hosts: Sequence[str] | None = None, sessions: bool = True
    ) -> None:
        self._who, self._hosts, self._sessions = who, hosts, sessions
        self._loaded: asyncio.Future[ASGIApp] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """For the lifespan of the application: at its end, sessions end as well."""
        try:
            yield
        finally:
            self._ended.set()
            if self._serving is not None:
                await self._serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        known = {**scope, CALLER: await self._who(Request(scope))}  # first of all: a stranger makes nothing load
        if self._loaded is None:
            self._loaded = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._loaded))
        inner = await asyncio.shield(self._loaded)  # others wait for it as well
        unfinished = False

        async def noting(message: Message) -> None:
            nonlocal unfinished
            unfinished = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        await inner(known, receive, noting)
        if unfinished:  # a stream that was cut off because the server stops
            await send({"type": "http.response.body", "body": b""})

    async def _serve(self, loaded: asyncio.Future[ASGIApp]) -> None:
        """In a task of its own, because what the SDK begins has to end in the same one."""
        try:
            inner, lifespan = await run_in_threadpool(self._load)
        except Exception as error:
            self._loaded = None  # whoever comes next tries again
            loaded.set_exception(error)
            return
        async with lifespan:
            loaded.set_result(inner)
            await self._ended.wait()

    def _load(self) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
        from recollect.mcp.server import over_http

        return over_http(hosts=self._hosts, sessions=self._sessions)
