"""How the tests of every adapter use the stores and the checkpointer for LangGraph."""

from driver import Driver
from langgraph.checkpoint.base import empty_checkpoint

from recollect.adapters.langgraph import GraphSaver, make_async_store, make_store


class OfStore(Driver):
    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._store = make_store(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        self._store.put(("notes",), key, {"text": text})

    async def put_unstorable(self, key: str) -> None:
        self._store.put(("notes",), key, {"x": object()})

    async def read(self, key: str) -> list[str]:
        item = self._store.get(("notes",), key)
        return [] if item is None else [item.value["text"]]

    async def close(self) -> None:
        self._store.close()


class OfAsyncStore(Driver):
    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._store = make_async_store(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        await self._store.aput(("notes",), key, {"text": text})

    async def put_unstorable(self, key: str) -> None:
        await self._store.aput(("notes",), key, {"x": object()})

    async def read(self, key: str) -> list[str]:
        item = await self._store.aget(("notes",), key)
        return [] if item is None else [item.value["text"]]

    async def close(self) -> None:
        await self._store.close()


class OfSaver(Driver):
    stored_as = "checkpoints"

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._saver = GraphSaver(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        state = {**empty_checkpoint(), "channel_values": {"text": text}}
        await self._saver.aput({"configurable": {"thread_id": key, "checkpoint_ns": ""}}, state, {}, {})

    async def put_unstorable(self, key: str) -> None:
        config = {"configurable": {"thread_id": key, "checkpoint_ns": ""}}
        await self._saver.aput(config, empty_checkpoint(), {"x": object()}, {})

    async def read(self, key: str) -> list[str]:
        found = await self._saver.aget_tuple({"configurable": {"thread_id": key}})
        return [] if found is None else [found.checkpoint["channel_values"]["text"]]

    async def close(self) -> None:
        self._saver.close()


DRIVERS = [OfStore, OfAsyncStore, OfSaver]
