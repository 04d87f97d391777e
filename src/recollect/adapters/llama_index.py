"""Chat stores and memory blocks for LlamaIndex.

The messages under a key of the store are a conversation of recollect, so what was said is found by searches and
contexts, shown on the page, exported and erased like every other conversation. The block gives a `Memory` of LlamaIndex
what this memory knows about the last message.
"""

import os
from collections.abc import Mapping
from typing import Any

from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.session_items import NotJson
from recollect.adapters.session_log import SessionLog
from recollect.adapters.sessions import SessionLogs, chat_id_of, chat_ids

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.llms import ChatMessage, MessageRole
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.storage.chat_store.base import BaseChatStore
except ImportError:
    raise missing("llama-index-core", "llama-index") from None

__all__ = ["ChatStore", "MemoryBlock"]

PREFIX = "llama-index"


class ChatStore(BaseChatStore):
    """A chat store in the memory of an agent, for `ChatMemoryBuffer.from_defaults(chat_store=…, chat_store_key=…)`.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's messages are never read. Methods raise
    Invalid if a key is not one line of text with at most 240 characters, or a message is not JSON.

        store = ChatStore("memory.db")
        store.add_message("support-4711", ChatMessage("Which port does staging use?"))
    """

    _opened: Opened = PrivateAttr()
    _logs: SessionLogs = PrivateAttr()

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, agent: str | None = None, workspace: str = "default"
    ) -> None:
        super().__init__()
        self._opened = Opened(path, agent, workspace)
        self._logs = SessionLogs(self._opened)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex writes into serialized components."""
        return "RecollectChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Replace the messages of a key, in one transaction. The journal keeps the old ones until they are erased."""
        self._log(key).reset(list(map(_item_of, messages)), message_of)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a key, in order."""
        return [ChatMessage.model_validate(item) for item in self._log(key).items()]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Append a message to those of a key."""
        self._log(key).add([_item_of(message)], message_of)

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Remove the messages of a key and return them; None if there are none."""
        found = self.get_messages(key)
        self._log(key).clear()
        return found or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Remove one message of a key and return it; None if there is no such number."""
        kept = self.get_messages(key)
        if not -len(kept) <= idx < len(kept):
            return None
        gone = kept.pop(idx)
        self.set_messages(key, kept)
        return gone

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Remove the last message of a key and return it; None if there is none."""
        item = self._log(key).pop()
        return None if item is None else ChatMessage.model_validate(item)

    def get_keys(self) -> list[str]:
        """Return the keys that have messages."""
        start = f"{PREFIX}:"
        found = [one.removeprefix(start) for one in chat_ids(self._opened.memory) if one.startswith(start)]
        return [key for key in found if not self._log(key).is_empty()]

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._opened.close()

    def _log(self, key: str) -> SessionLog:
        return self._logs[chat_id_of(key, prefix=PREFIX)]


class MemoryBlock(BaseMemoryBlock[str]):
    """A block for `Memory.from_defaults(memory_blocks=[MemoryBlock("memory.db")])`, with the parameters of ChatStore.

    It gives the context for the last message, and appends the messages that leave the short-term memory to the
    conversation of their session.
    """

    name: str = "recollect"
    _store: ChatStore = PrivateAttr()

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._store = ChatStore(path, agent=agent, workspace=workspace)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        said = [one.content for one in messages or [] if one.role == MessageRole.USER and (one.content or "").strip()]
        return (await in_thread(self._store._opened.memory.context, said[-1])).text if said else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            session = str(message.additional_kwargs.get("session_id", "default"))
            await in_thread(self._store.add_message, session, message)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._store.close()


def _item_of(message: ChatMessage) -> dict[str, Any]:
    """Return the item of a message. Raises NotJson."""
    try:
        item: dict[str, Any] = message.model_dump(mode="json")
    except (ValueError, RecursionError) as error:
        raise NotJson(f"the message is not JSON: {error}") from None
    return item


def message_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return role and content of a message; what a tool returned has no role."""
    texts = [block.get("text") for block in item["blocks"] if block.get("block_type") == "text"]
    if item["role"] in ("tool", "function"):
        return {"content": [{"type": "tool_result", "content": texts}]}
    return {"role": {"chatbot": "assistant", "model": "assistant"}.get(item["role"], item["role"]), "content": texts}
