"""Put our tools in the place of the file system tools, before the vendor's tests import them."""

import tempfile
from pathlib import Path
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as vendor
import anyio
from suite_plugin import location

from recollect.adapters.anthropic_memory import AsyncMemoryTool, MemoryTool


class Folder:
    """The attribute `base_path`: a folder with what is stored now, for tests that read the files after a command."""

    @property
    def base_path(self) -> Path:
        """Write all files to a new folder and return it."""
        folder = Path(tempfile.mkdtemp())
        for path, text in self._files.texts().items():
            file = folder / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        return folder

    @property
    def memory_root(self) -> Path:
        """The folder /memories, which always exists."""
        root = self.base_path / "memories"
        root.mkdir(exist_ok=True)
        return root


class SubstitutedTool(Folder, MemoryTool):
    """Our tool, with files to look at."""

    def __init__(self, base_path: Any) -> None:
        super().__init__(location(base_path))


class SubstitutedAsyncTool(Folder, AsyncMemoryTool):
    """Our asynchronous tool, with files to look at."""

    def __init__(self, base_path: Any) -> None:
        super().__init__(location(base_path))

    @property
    def memory_root(self) -> anyio.Path:
        """The folder /memories, with asynchronous methods."""
        return anyio.Path(super().memory_root)


vendor.BetaLocalFilesystemMemoryTool = SubstitutedTool
vendor.BetaAsyncLocalFilesystemMemoryTool = SubstitutedAsyncTool
