"""How the tests of every adapter use the message histories for Pydantic AI."""

from driver import Driver
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from recollect.adapters.pydantic_ai import History


class OfHistory(Driver):
    stored_as = "conversations"

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._where, self._agent = location, agent
        self._opened: dict[str, History] = {}

    def _history(self, key: str) -> History:
        if key not in self._opened:
            self._opened[key] = History(key, self._where, agent=self._agent)
        return self._opened[key]

    async def put(self, key: str, text: str) -> None:
        await self._history(key).add([ModelRequest([UserPromptPart(text)])])

    async def put_unstorable(self, key: str) -> None:
        good, bad = ModelRequest([UserPromptPart("good")]), ModelRequest([ToolReturnPart("tool", object(), "1")])
        await self._history(key).add([good, bad])

    async def read(self, key: str) -> list[str]:
        return [str(message.parts[0].content) for message in await self._history(key).messages()]

    async def close(self) -> None:
        for history in self._opened.values():
            history.close()


DRIVERS = [OfHistory]
