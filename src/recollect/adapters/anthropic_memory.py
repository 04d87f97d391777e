"""The memory tool of Claude (`memory_20250818`) with recollect as its file system: files are entries, named by path."""

import os
from collections.abc import Callable
from typing import Any

from recollect import RecollectError
from recollect.adapters.homes import Opened, missing
from recollect.adapters.memory_files import MemoryFiles

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anyio.to_thread import run_sync
except ImportError:
    raise missing("anthropic", "anthropic-memory") from None

__all__ = ["AsyncMemoryTool", "MemoryTool"]


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `client.beta.messages.run_tools(tools=[MemoryTool()], …)`.

    `base_path` is what `recollect.open()` takes: a folder, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory. Errors are ToolErrors with a text for the model.

        tool = MemoryTool("memory.db")
        tool.call({"command": "create", "path": "/memories/ports.md", "file_text": "Staging listens on 8080."})
    """

    def __init__(
        self,
        base_path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
        cache_control: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._opened = Opened(base_path, agent, workspace)
        self._files = MemoryFiles(self._opened.memory)

    def view(self, command: Any) -> str:
        """Return the lines of a file, or the files of a directory."""
        return with_tool_errors(self._opened, self._files.view, command)

    def create(self, command: Any) -> str:
        """Create a file that does not exist yet."""
        return with_tool_errors(self._opened, self._files.create, command)

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once in a file."""
        return with_tool_errors(self._opened, self._files.str_replace, command)

    def insert(self, command: Any) -> str:
        """Insert text after a line of a file."""
        return with_tool_errors(self._opened, self._files.insert, command)

    def delete(self, command: Any) -> str:
        """Move a file, or all files of a directory, to the trash."""
        return with_tool_errors(self._opened, self._files.delete, command)

    def rename(self, command: Any) -> str:
        """Give a file, or all files of a directory, another path."""
        return with_tool_errors(self._opened, self._files.rename, command)

    def clear_all_memory(self) -> str:
        """Move all files to the trash. Other entries stay."""
        return with_tool_errors(self._opened, self._files.clear)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._opened.close()


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`MemoryTool` for `AsyncAnthropic`: the same parameters, and each command runs in a worker thread."""

    def __init__(
        self,
        base_path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
        cache_control: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._opened = Opened(base_path, agent, workspace)
        self._files = MemoryFiles(self._opened.memory)

    async def view(self, command: Any) -> str:
        """Return the lines of a file, or the files of a directory."""
        return await run_sync(with_tool_errors, self._opened, self._files.view, command)

    async def create(self, command: Any) -> str:
        """Create a file that does not exist yet."""
        return await run_sync(with_tool_errors, self._opened, self._files.create, command)

    async def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once in a file."""
        return await run_sync(with_tool_errors, self._opened, self._files.str_replace, command)

    async def insert(self, command: Any) -> str:
        """Insert text after a line of a file."""
        return await run_sync(with_tool_errors, self._opened, self._files.insert, command)

    async def delete(self, command: Any) -> str:
        """Move a file, or all files of a directory, to the trash."""
        return await run_sync(with_tool_errors, self._opened, self._files.delete, command)

    async def rename(self, command: Any) -> str:
        """Give a file, or all files of a directory, another path."""
        return await run_sync(with_tool_errors, self._opened, self._files.rename, command)

    async def clear_all_memory(self) -> str:
        """Move all files to the trash. Other entries stay."""
        return await run_sync(with_tool_errors, self._opened, self._files.clear)

    async def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        await run_sync(self._opened.close)


def with_tool_errors(opened: Opened, function: Callable[..., str], *args: Any) -> str:
    """Call a command; an error of recollect becomes a ToolError, whose text the model reads."""
    try:
        opened.ensure_open()
        return function(*args)
    except RecollectError as error:
        raise ToolError(str(error)) from error
