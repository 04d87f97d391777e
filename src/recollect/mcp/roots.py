"""The workspace of a session, from the roots of its client: the folders that it works in.

Some programs start their servers in the home folder, whatever project is open, so the folder of this process is only
the fallback: for clients without roots, and for the new revision of the protocol, which has none.
"""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.types import ListRootsRequest, ListRootsResult, NotificationParams
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from recollect.locations import project

__all__ = ["ClientRoots"]

TIMEOUT = 5.0
"""Seconds that a client gets to list its roots."""
_log = logging.getLogger("recollect.mcp")


class ClientRoots:
    """The workspace of the only client of this process. It is asked once, and again when its roots have changed."""

    def __init__(self, otherwise: str) -> None:
        self._otherwise, self._known = otherwise, ""
        self._lock = anyio.Lock()

    async def workspace(self, session: ServerSession) -> str:
        """Return the workspace of the first root that is a folder, otherwise the one of this process."""
        async with self._lock:  # concurrent first requests ask once
            if not self._known:
                self._known = await self._asked(session) or self._otherwise
            return self._known

    def add_to(self, server: MCPServer[Any]) -> None:
        """Register the handler for changed roots."""

        async def changed(ctx: ServerRequestContext[Any, Any], params: NotificationParams) -> None:
            self._known = ""

        inner = server._lowlevel_server  # private: MCPServer offers no way to register a handler for a notification
        inner.add_notification_handler("notifications/roots/list_changed", NotificationParams, changed)

    async def _asked(self, session: ServerSession) -> str:
        able = session.client_capabilities
        if session.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS or able is None or able.roots is None:
            return ""
        try:
            with anyio.fail_after(TIMEOUT):
                listed = await session.send_request(ListRootsRequest(), ListRootsResult)
        except (MCPError, TimeoutError) as error:
            _log.warning("the client did not list its roots: %s", error)
            return ""
        places = [urlsplit(str(root.uri)) for root in listed.roots]
        return next((project(Path(url2pathname(one.path))) for one in places if one.scheme == "file"), "")
