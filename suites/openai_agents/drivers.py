"""How the tests of every adapter use the sessions for the OpenAI Agents SDK."""

from driver import Driver

from recollect.adapters.openai_agents import AsyncSession, Session


class OfAsyncSession(Driver):
    stored_as = "conversations"
    session = AsyncSession

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._where, self._agent = location, agent
        self._opened: dict[str, AsyncSession] = {}

    def _session(self, key: str) -> AsyncSession:
        if key not in self._opened:
            self._opened[key] = self.session(key, self._where, agent=self._agent)
        return self._opened[key]

    async def put(self, key: str, text: str) -> None:
        await self._session(key).add_items([{"role": "user", "content": text}])

    async def put_unstorable(self, key: str) -> None:
        await self._session(key).add_items([{"role": "user", "content": "good"}, {"role": "user", "content": object()}])

    async def read(self, key: str) -> list[str]:
        return [item["content"] for item in await self._session(key).get_items()]

    async def close(self) -> None:
        for session in self._opened.values():
            await session.close()


class OfSession(OfAsyncSession):
    session = Session

    async def close(self) -> None:
        for session in self._opened.values():
            session.close()


DRIVERS = [OfAsyncSession, OfSession]
