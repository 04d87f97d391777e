"""How the tests of every adapter use the storage backend for CrewAI."""

import os

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from crewai.memory.types import MemoryRecord
from driver import Driver

from recollect.adapters.crewai import make_backend


class OfBackend(Driver):
    reopens = True

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._backend = make_backend(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        await self._backend.asave([MemoryRecord(id=key, content=text, embedding=[1.0, 0.0])])

    async def put_unstorable(self, key: str) -> None:
        good = MemoryRecord(id="good", content="good", embedding=[1.0, 0.0])
        bad = MemoryRecord(id=key, content="bad", embedding=[1.0, 0.0], metadata={"x": object()})
        await self._backend.asave([good, bad])

    async def read(self, key: str) -> list[str]:
        found = self._backend.get_record(key)
        return [] if found is None else [found.content]

    async def close(self) -> None:
        self._backend.close()


DRIVERS = [OfBackend]
