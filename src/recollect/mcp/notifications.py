"""Notifications from the server, in the old revision of the protocol: a resource has changed, a tool failed.

Changes are found by polling, so any process may have written them: a session with subscriptions compares sequence
numbers twice a second and reads its resources again only if one has moved. The new revision has neither kind, so
nothing is sent there.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any, get_args

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from starlette.concurrency import run_in_threadpool

from recollect.errors import RecollectError
from recollect.mcp.request_context import request_context

__all__ = ["add_notifications", "notify_failure"]

EVERY = 0.5
"""Polling interval in seconds."""
SUBSCRIPTIONS = 100
"""Maximum number of subscriptions per session."""
LEVEL, WATCH = "recollect.level", "recollect.watch"
"""Keys of the log level and the watch in the connection's state."""
LEVELS: tuple[str, ...] = get_args(LoggingLevel)
_log = logging.getLogger("recollect.mcp")


def add_notifications(server: MCPServer[Any]) -> None:
    """Register the handlers for subscriptions to resources and for the log level."""

    async def subscribe(ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams) -> EmptyResult:
        connection = _connection(ctx.session)
        watch: _Watch = connection.state.setdefault(WATCH, _Watch(server, connection))
        await watch.add(params.uri)
        return EmptyResult()

    async def unsubscribe(ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams) -> EmptyResult:
        watch: _Watch | None = _connection(ctx.session).state.get(WATCH)
        if watch is not None:
            watch.seen.pop(params.uri, None)
        return EmptyResult()

    async def set_level(ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> EmptyResult:
        _connection(ctx.session).state[LEVEL] = params.level
        return EmptyResult()

    # Private: MCPServer offers no way to register handlers for these methods of the old revision.
    inner = server._lowlevel_server
    inner.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    inner.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
    inner.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)


async def notify_failure(session: ServerSession, tool: str) -> None:
    """Send a log message about a failed tool, if the client enabled logging; the reason is in the server's log only."""
    level = _connection(session).state.get(LEVEL)
    if level is not None and LEVELS.index(level) <= LEVELS.index("error"):
        params = LoggingMessageNotificationParams(
            level="error", logger="recollect", data=f"{tool} failed unexpectedly; see the log of the server"
        )
        await session.send_notification(LoggingMessageNotification(params=params))


class _Watch:
    """The subscriptions of one session."""

    def __init__(self, server: MCPServer[Any], connection: Connection) -> None:
        self._server, self._connection = server, connection
        self._task: asyncio.Task[None] | None = None
        self._last: tuple[int, int, int] | None = None
        self.seen: dict[str, str | None] = {}
        """Last known content by URI; None if the resource is gone."""

    async def add(self, uri: str) -> None:
        """Subscribe to a resource, which must exist."""
        try:
            content = await self._read(uri)
        except ResourceError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error), data={"uri": uri}) from error
        if uri not in self.seen and len(self.seen) >= SUBSCRIPTIONS:
            full = f"too many subscriptions (limit {SUBSCRIPTIONS} per session); unsubscribe from one first"
            raise MCPError(code=INVALID_PARAMS, message=full)
        self.seen[uri], self._last = content, None  # it may have changed since the read, so force a poll
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._connection.exit_stack.push_async_callback(self._end, self._task)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                if self.seen:
                    await self._look()
            except RecollectError as error:  # the database is briefly unavailable
                _log.warning("subscriptions: %s", error)

    async def _look(self) -> None:
        now = await run_in_threadpool(_last)
        if now == self._last:
            return
        self._last = now
        for uri in [*self.seen]:
            content = None
            with suppress(ResourceError):
                content = await self._read(uri)
            if uri in self.seen and self.seen[uri] != content:
                self.seen[uri] = content
                await self._connection.send_resource_updated(uri)

    async def _read(self, uri: str) -> str:
        parts = await self._server.read_resource(uri)
        return "".join(str(part.content) for part in parts)  # type: ignore[union-attr]

    @staticmethod
    async def _end(task: asyncio.Task[None]) -> None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _last() -> tuple[int, int, int]:
    """Return the sequence numbers of the last workspace operation, account operation and event."""
    mem = request_context().memory
    return mem.last_change(), mem.last_change(account=True), mem.conversations.last_event()


def _connection(session: ServerSession) -> Connection:
    return (
        session._connection
    )  # private: holds state and teardown of a session, but handlers only get the `ServerSession`
