"""How the tests of every adapter use the chat store for LlamaIndex."""

from driver import Driver
from llama_index.core.llms import ChatMessage

from recollect.adapters.llama_index import ChatStore


class OfChatStore(Driver):
    stored_as = "conversations"

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._store = ChatStore(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        await self._store.async_add_message(key, ChatMessage(text))

    async def put_unstorable(self, key: str) -> None:
        bad = ChatMessage("bad", additional_kwargs={"x": object()})
        await self._store.aset_messages(key, [ChatMessage("good"), bad])

    async def read(self, key: str) -> list[str]:
        return [str(message.content) for message in await self._store.aget_messages(key)]

    async def close(self) -> None:
        self._store.close()


DRIVERS = [OfChatStore]
