"""How the tests of every adapter use the session store for the Claude Agent SDK."""

from driver import Driver

from recollect.adapters.claude_agent import SessionStore


class OfSessionStore(Driver):
    stored_as = "conversations"

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._store = SessionStore(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        line = {"type": "user", "message": {"role": "user", "content": text}}
        await self._store.append({"project_key": "p", "session_id": key}, [line])

    async def put_unstorable(self, key: str) -> None:
        lines = [{"type": "user", "message": {"role": "user", "content": "good"}}, {"type": "user", "x": object()}]
        await self._store.append({"project_key": "p", "session_id": key}, lines)

    async def read(self, key: str) -> list[str]:
        lines = await self._store.load({"project_key": "p", "session_id": key})
        return [line["message"]["content"] for line in lines or []]

    async def close(self) -> None:
        self._store.close()


DRIVERS = [OfSessionStore]
