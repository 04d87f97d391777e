"""A client of the MCP server for the tests: a model's side of the connection, over any transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client
from mcp.types import (
    CallToolResult,
)

from recollect.home import Home
from recollect.mcp.request_context import MemoryAccess
from recollect.mcp.server import build

MODES = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
"""How to connect, and the revision that is spoken then."""
TOOLS = {
    "memory",
    "memory_query",
    "memory_upsert",
    "memory_note",
    "memory_read",
    "memory_context",
    "conversation",
    "scratchpad",
    "memory_compact",
    "forge_reminder",
}
GIT_TOOLS = {"forge_memory_checkpoint", "memory_history"}
"""Listed only where the files have a git history."""
JOBS = {"checkpoints", "extract", "shelve", "consolidate", "age", "retain", "reindex", "vacuum"}
"""Those that run at once where they never ran."""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
OLD = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
"""For what only the old revision has."""


class Agent:
    """A model's side of a connection: calls in, plain values out."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """The structured result, which the text says as well; an error fails the test."""
        done = await self.client.call_tool(tool, arguments)
        assert isinstance(done, CallToolResult)
        assert not done.is_error, done.content
        text = done.content[0].text  # type: ignore[union-attr]
        assert done.structured_content is not None
        assert "results" in done.structured_content or json.loads(text) == done.structured_content
        return done.structured_content

    async def text(self, tool: str, **arguments: Any) -> str:
        """The text of a result."""
        done = await self.client.call_tool(tool, arguments)
        assert isinstance(done, CallToolResult)
        assert not done.is_error, done.content
        return done.content[0].text  # type: ignore[union-attr]

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text of the error; a result fails the test."""
        done = await self.client.call_tool(tool, arguments)
        assert isinstance(done, CallToolResult)
        assert done.is_error, done.structured_content
        return done.content[0].text  # type: ignore[union-attr]

    async def read(self, uri: str) -> str:
        (content,) = (await self.client.read_resource(uri)).contents  # type: ignore[union-attr]
        return content.text  # type: ignore[union-attr]


Story = Callable[[Agent], Awaitable[None]]


def run_story(server: Any, story: Story, mode: str = "2026-07-28") -> None:
    """Connect a client to the server and run a story with it."""

    async def live() -> None:
        async with Client(server, mode=mode) as client:
            await story(Agent(client))

    asyncio.run(live())


def server(home: Home, agent: str = "ana", **options: Any) -> Any:
    return build(MemoryAccess(home=home, workspace="default", agent=agent, **options))
