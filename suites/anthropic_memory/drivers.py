"""How the tests of every adapter use the memory tools of Claude."""

import inspect
from typing import Any

from anthropic.lib.tools import ToolError
from driver import Driver

from recollect.adapters.anthropic_memory import AsyncMemoryTool, MemoryTool


class OfMemoryTool(Driver):
    refusals = (ToolError,)
    tool: type[Any] = MemoryTool

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._tool = self.tool(location, agent=agent)

    async def _call(self, command: str, key: str, **more: str) -> str:
        done = self._tool.call({"command": command, "path": f"/memories/{key}", **more})
        return str(await done if inspect.isawaitable(done) else done)

    async def put(self, key: str, text: str) -> None:
        try:
            await self._call("create", key, file_text=text)
        except ToolError as error:
            if "already exists" not in str(error):
                raise
            (old,) = await self.read(key)
            await self._call("str_replace", key, old_str=old, new_str=text)

    async def put_unstorable(self, key: str) -> None:
        await self._call("create", key, file_text=5)

    async def read(self, key: str) -> list[str]:
        try:
            shown = await self._call("view", key)
        except ToolError as error:
            if "does not exist" in str(error):
                return []
            raise
        return [line.partition("\t")[2] for line in shown.splitlines()[1:]]

    async def close(self) -> None:
        done = self._tool.close()
        if inspect.isawaitable(done):
            await done


class OfAsyncMemoryTool(OfMemoryTool):
    tool = AsyncMemoryTool


DRIVERS = [OfMemoryTool, OfAsyncMemoryTool]
