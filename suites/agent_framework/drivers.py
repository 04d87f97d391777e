"""How the tests of every adapter use the history provider for the Microsoft Agent Framework."""

from agent_framework import Message
from driver import Driver

from recollect.adapters.agent_framework import HistoryProvider


class OfHistoryProvider(Driver):
    stored_as = "conversations"

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._provider = HistoryProvider(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        await self._provider.save_messages(key, [Message("user", [text])])

    async def put_unstorable(self, key: str) -> None:
        bad = Message("user", ["bad"], additional_properties={"x": float("nan")})
        await self._provider.save_messages(key, [Message("user", ["good"]), bad])

    async def read(self, key: str) -> list[str]:
        return [message.text for message in await self._provider.get_messages(key)]

    async def close(self) -> None:
        self._provider.close()


DRIVERS = [OfHistoryProvider]
