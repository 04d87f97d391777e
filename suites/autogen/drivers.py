"""How the tests of every adapter use the memory for AutoGen, which has no keys."""

from autogen_core.memory import MemoryContent
from driver import Driver

from recollect.adapters.autogen import RecollectMemory


class OfMemory(Driver):
    keyed = False

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._memory = RecollectMemory(location, agent=agent, limit=100)

    async def put(self, key: str, text: str) -> None:
        await self._memory.add(MemoryContent(content=text, mime_type="text/plain"))

    async def put_unstorable(self, key: str) -> None:
        await self._memory.add(MemoryContent(content={"x": object()}, mime_type="application/json"))

    async def read(self, key: str) -> list[str]:
        found = await self._memory.query("staging port wrote number next text")
        return [str(content.content) for content in found.results]

    async def close(self) -> None:
        await self._memory.close()


DRIVERS = [OfMemory]
