"""How the tests of every adapter use the storage and the sessions for Strands Agents."""

from contextlib import suppress

from driver import Driver
from strands.types.exceptions import SessionException, StorageError
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from recollect.adapters.strands import SessionRepository, Storage


class OfStorage(Driver):
    refusals = (StorageError,)

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._storage = Storage(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        await self._storage.write(key, text.encode())

    async def put_unstorable(self, key: str) -> None:
        await self._storage.write(key, object())

    async def read(self, key: str) -> list[str]:
        found = await self._storage.read(key)
        return [] if found is None else [found.decode()]

    async def close(self) -> None:
        self._storage.close()


class OfSessionRepository(Driver):
    stored_as = "conversations"

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._repository, self._number = SessionRepository(location, agent=agent), 0

    async def put(self, key: str, text: str) -> None:
        repository = self._repository
        if repository.read_session(key) is None:
            with suppress(SessionException):  # another process has created it in the meantime
                repository.create_session(Session(key, SessionType.AGENT))
            repository.create_agent(key, SessionAgent("helper", {}, {}))
        message = {"role": "user", "content": [{"text": text}]}
        # The number of a message is its framework's choice; two processes choose different ones here.
        repository.create_message(key, "helper", SessionMessage(message, hash(text)))

    async def put_unstorable(self, key: str) -> None:
        repository = self._repository
        repository.create_session(Session(key, SessionType.AGENT))
        repository.create_agent(key, SessionAgent("helper", {"x": object()}, {}))

    async def read(self, key: str) -> list[str]:
        try:
            found = self._repository.list_messages(key, "helper")
        except SessionException as error:
            if "does not exist" in str(error):
                return []
            raise
        return [message.message["content"][0]["text"] for message in found]

    async def close(self) -> None:
        self._repository.close()


DRIVERS = [OfStorage, OfSessionRepository]
