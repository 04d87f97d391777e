"""MCP over HTTP as an ASGI route of another application. The SDK is slow to import, so the first request loads it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.mcp.request_context import ACCESS, MemoryAccess

__all__ = ["McpEndpoint"]


class McpEndpoint:
    """ASGI app that serves MCP at a route while the application is within `running`.

    `who` is called for every request before anything else; its exceptions go to the application's exception handlers.
    It may set `request.state.caller` to the name of a token: sessions are counted per token, otherwise per address.
    `hosts` are the accepted Host headers, `*` for any; by default the loopback names. Sessions, which exist only in the
    old revision of the protocol, live in this process: turn them off where several processes serve.
    """

    def __init__(
        self,
        who: Callable[[Request], Awaitable[MemoryAccess]],
        *,
        hosts: Sequence[str] | None = None,
        sessions: bool = True,
    ) -> None:
        self._who, self._hosts, self._sessions = who, hosts, sessions
        self._loaded: asyncio.Future[ASGIApp] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Context manager for the application's lifespan; ends all sessions on exit."""
        try:
            yield
        finally:
            self._ended.set()
            if self._serving is not None:
                await self._serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        known = {**scope, ACCESS: await self._who(Request(scope))}  # first: a rejected request must not load the SDK
        if self._loaded is None:
            self._loaded = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._loaded))
        inner = await asyncio.shield(self._loaded)  # other requests wait for the same future
        unfinished = False

        async def noting(message: Message) -> None:
            nonlocal unfinished
            unfinished = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        await inner(known, receive, noting)
        if unfinished:  # a stream that was cut off by shutdown
            await send({"type": "http.response.body", "body": b""})

    async def _serve(self, loaded: asyncio.Future[ASGIApp]) -> None:
        """Load the SDK and hold its lifespan, in a separate task: it must be entered and exited in the same one."""
        try:
            inner, lifespan = await run_in_threadpool(self._load)
        except Exception as error:
            self._loaded = None  # the next request retries
            loaded.set_exception(error)
            return
        async with lifespan:
            loaded.set_result(inner)
            await self._ended.wait()

    def _load(self) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
        from recollect.mcp.server import over_http

        return over_http(hosts=self._hosts, sessions=self._sessions)
