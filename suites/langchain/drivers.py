"""How the tests of every adapter use the stores for LangChain."""

from driver import Driver
from langchain_core.embeddings import DeterministicFakeEmbedding

from recollect.adapters.langchain import ByteStore, VectorStore


class OfByteStore(Driver):
    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._store = ByteStore(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        await self._store.amset([(key, text.encode())])

    async def put_unstorable(self, key: str) -> None:
        await self._store.amset([("good", b"good"), (key, object())])

    async def read(self, key: str) -> list[str]:
        return [value.decode() for value in await self._store.amget([key]) if value is not None]

    async def close(self) -> None:
        self._store.close()


class OfVectorStore(Driver):
    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._store = VectorStore(DeterministicFakeEmbedding(size=6), location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        await self._store.aadd_texts([text], ids=[key])

    async def put_unstorable(self, key: str) -> None:
        await self._store.aadd_texts(["good", "bad"], [{}, {"x": object()}], ids=["good", key])

    async def read(self, key: str) -> list[str]:
        return [document.page_content for document in await self._store.aget_by_ids([key])]

    async def close(self) -> None:
        self._store.close()


DRIVERS = [OfByteStore, OfVectorStore]
