"""The memory of AutoGen agents: `AssistantAgent(…, memory=[RecollectMemory()])`. What an agent adds is an entry."""

import json
import os
from typing import Any

from recollect import Entry, Invalid
from recollect.adapters.homes import Opened, in_thread, missing
from recollect.fencing import one_line

try:
    from autogen_core import CancellationToken, Component
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import SystemMessage
    from pydantic import BaseModel
except ImportError:
    raise missing("autogen-core", "autogen") from None

__all__ = ["RecollectMemory", "RecollectMemoryConfig"]

TAG = "autogen"
PAGE = 500


class RecollectMemoryConfig(BaseModel):
    """What `dump_component()` writes and `load_component()` reads."""

    path: str | None = None
    agent: str | None = None
    workspace: str = "default"
    limit: int = 5


class RecollectMemory(Memory, Component[RecollectMemoryConfig]):
    """The memory of an agent for AutoGen.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory. A query returns at most `limit` contents, best first; it
    reads all entries of the agent, those that AutoGen did not add included.

        memory = RecollectMemory("memory.db")
        await memory.add(MemoryContent(content="Staging listens on port 8080.", mime_type="text/plain"))
    """

    component_type = "memory"
    component_provider_override = "recollect.adapters.autogen.RecollectMemory"
    component_config_schema = RecollectMemoryConfig

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
        limit: int = 5,
    ) -> None:
        where = None if path is None else os.fspath(path)
        self._config = RecollectMemoryConfig(path=where, agent=agent, workspace=workspace, limit=limit)
        self._opened = Opened(path, agent, workspace)

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Store a content as an entry with the tag `autogen`.

        Raises Invalid if it is neither text nor JSON, or blank.
        """
        text = _text_of(content)
        kept = {"mime_type": _mime(content), "metadata": content.metadata}
        try:
            context = json.dumps(kept, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Invalid(f"the metadata is not JSON: {error}") from None
        await in_thread(self._opened.memory.remember, text, tags=[TAG], context=context)

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **_: Any
    ) -> MemoryQueryResult:
        """Return what the memory has about a query, best first; nothing about a blank one."""
        text = query if isinstance(query, str) else _text_of(query)
        if not text.strip():
            return MemoryQueryResult(results=[])
        hits = await in_thread(self._opened.memory.recall, text, limit=self._config.limit)
        return MemoryQueryResult(results=[_content_of(hit.entry) for hit in hits])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add what the memory has about the last message to a model's context, as a message of the system."""
        said = [one.content for one in await model_context.get_messages() if isinstance(one.content, str)]
        found = await self.query(said[-1] if said else "")
        if found.results:
            lines = "\n".join(f"{number}. {one_line(_text_of(one))}" for number, one in enumerate(found.results, 1))
            await model_context.add_message(SystemMessage(content=f"Stored memories, most relevant first:\n{lines}"))
        return UpdateContextResult(memories=found)

    async def clear(self) -> None:
        """Move all entries that AutoGen added to the trash. Other entries stay."""
        await in_thread(self._clear)

    async def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        await in_thread(self._opened.close)

    def _clear(self) -> None:
        while page := self._opened.memory.list(tag=TAG, limit=PAGE):
            for entry in page:
                self._opened.memory.forget(entry.id)

    def _to_config(self) -> RecollectMemoryConfig:
        return self._config

    @classmethod
    def _from_config(cls, config: RecollectMemoryConfig) -> "RecollectMemory":
        return cls(**config.model_dump())


def _mime(content: MemoryContent) -> str:
    return content.mime_type.value if isinstance(content.mime_type, MemoryMimeType) else content.mime_type


def _text_of(content: MemoryContent) -> str:
    if isinstance(content.content, str):
        return content.content
    if isinstance(content.content, dict):
        try:
            return json.dumps(content.content, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Invalid(f"the content is not JSON: {error}") from None
    raise Invalid(f"a memory must be text or JSON, not {type(content.content).__name__}")


def _content_of(entry: Entry) -> MemoryContent:
    """Return the content that was stored as an entry; an entry of another program is plain text."""
    kept = json.loads(entry.context) if TAG in entry.tags and entry.context else {}
    mime_type = kept.get("mime_type", MemoryMimeType.TEXT.value)
    is_json = mime_type == MemoryMimeType.JSON.value and entry.content.startswith("{")
    content = json.loads(entry.content) if is_json else entry.content
    return MemoryContent(content=content, mime_type=mime_type, metadata=kept.get("metadata"))
