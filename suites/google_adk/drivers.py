"""How the tests of every adapter use the session service for the Agent Development Kit."""

from driver import Driver
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.genai import types

from recollect.adapters.google_adk import SessionService


def said(text: str) -> Event:
    return Event(author="user", content=types.Content(role="user", parts=[types.Part(text=text)]))


class OfSessionService(Driver):
    stored_as = "conversations"
    generates = True

    def __init__(self, location: str | None, agent: str | None = None) -> None:
        self._service = SessionService(location, agent=agent)

    async def put(self, key: str, text: str) -> None:
        known = {"app_name": "a", "user_id": "u", "session_id": key}
        try:
            session = await self._service.create_session(**known)
        except AlreadyExistsError:  # perhaps by another process
            session = await self._service.get_session(**known)
        await self._service.append_event(session, said(text))

    async def put_unstorable(self, key: str) -> None:
        await self._service.create_session(app_name="a", user_id="u", session_id=key, state={"x": object()})

    async def read(self, key: str) -> list[str]:
        session = await self._service.get_session(app_name="a", user_id="u", session_id=key)
        return [event.content.parts[0].text for event in session.events] if session else []

    async def close(self) -> None:
        self._service.close()


DRIVERS = [OfSessionService]
