"""Sessions and memory for the Agent Development Kit: `Runner(session_service=…, memory_service=…)`.

A session is a conversation of recollect, and each of its events an event, so what was said is found by searches and
contexts, shown on the page, exported and erased like every other conversation. State is made of changes: those of a
session are in its events, those of a user and of an app in a log of their own, so that writers never overwrite each
other's keys. Both services read and write the same conversations; each event is stored once.
"""

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from recollect import Turn
from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.session_items import NotJson
from recollect.adapters.session_log import SessionLog
from recollect.adapters.sessions import SessionLogs, chat_id_of, chat_ids

try:
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
    from google.adk.sessions.session import Session
    from google.genai import types
    from pydantic import BaseModel, ValidationError
except ImportError:
    raise missing("google-adk", "google-adk") from None

__all__ = ["MemoryService", "SessionService"]

PREFIX, STATE = "adk", "adk-state"
CREATED = "session"
"""Type of the first item of a session: its state when it was created."""
_END_OF_CREATED = f'"type":"{CREATED}"}}}}'
"""End of the payload of that item, in the JSON that the journal stores."""
RECENT = 20
"""Number of last events among which a resent event is looked up."""
MOST = 10
"""Maximum number of memories that a search returns."""


class _Payload(BaseModel):
    """What an event of the journal holds of an event of a session."""

    item: Event


class _Service:
    """The logs of sessions in the memory of one agent."""

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, agent: str | None = None, workspace: str = "default"
    ) -> None:
        self._opened = Opened(path, agent, workspace)
        self._logs = SessionLogs(self._opened)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._opened.close()

    def _log(self, *key: str, prefix: str = PREFIX) -> SessionLog:
        return self._logs[chat_id_of(*key, prefix=prefix)]

    def _keys(self, app: str, user: str | None) -> list[tuple[str, str, str]]:
        """Return app, user and id of each session of an app, or of one of its users."""
        keys = [key for key in map(_key_of, chat_ids(self._opened.memory)) if key]
        return [(key[0], key[1], key[2]) for key in keys if key[0] == app and user in (None, key[1])]

    def _add_new(self, key: tuple[str, str, str], events: Sequence[Event]) -> None:
        """Append the events that are not stored yet."""
        log = self._log(*key)
        known = {item.get("id") for item in log.items()}
        log.add(
            [_item_of(event) for event in events if event.id not in known and not event.partial],
            message_of,
        )


class SessionService(_Service, BaseSessionService):
    """A session service in the memory of an agent.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's sessions are never read. Methods raise
    Invalid if app, user and session together have more than 240 characters, or if state or an event is not JSON.

        runner = Runner(app_name="shop", agent=helper, session_service=SessionService("memory.db"))
    """

    _seen: tuple[tuple[str, str, str], int, tuple[str | None, ...]] | None = None
    """The session this appended to last, the last event of the journal then, and the ids of the session's last events.

    As long as that is the last event, nothing else was appended, and the ids need not be read again.
    """

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session. Raises AlreadyExistsError if there is one with this id."""
        key = (app_name, user_id, (session_id or "").strip() or str(uuid.uuid4()))
        await in_thread(self._create, key, state or {})
        found = await in_thread(self._read, key, None)
        assert found is not None
        return found

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, or with those that the configuration selects; None if there is none."""
        return await in_thread(self._read, (app_name, user_id, session_id), config)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of an app, or of one of its users, without their events."""
        none = GetSessionConfig(num_recent_events=0)
        keys = await in_thread(self._keys, app_name, user_id)
        found = [await in_thread(self._read, key, none) for key in keys]
        return ListSessionsResponse(sessions=[one for one in found if one is not None][::-1])

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Remove a session. The journal keeps its events until they are erased."""
        await in_thread(lambda: self._log(app_name, user_id, session_id).clear())

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state that all sessions of a user share."""
        return await in_thread(self._shared, app_name, user_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event to a session; a part of a message that is not complete is not stored.

        Raises SessionNotFoundError if the session was deleted.
        """
        if event.partial:
            return event
        event = await super().append_event(session, event)
        await in_thread(self._append, (session.app_name, session.user_id, session.id), event)
        session.last_update_time = event.timestamp
        return event

    def _create(self, key: tuple[str, str, str], state: Mapping[str, Any]) -> None:
        log = self._log(*key)
        if not log.is_empty():
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.")
        log.add([{"type": CREATED, "state": {name: state[name] for name in state if not name.startswith("temp:")}}])
        self._share(key, state)

    def _append(self, key: tuple[str, str, str], event: Event) -> None:
        log, newest, seen = self._log(*key), self._opened.memory.conversations.last_event(), self._seen
        recent = seen[2] if seen and seen[:2] == (key, newest) else tuple(item.get("id") for item in log.items(RECENT))
        if not recent:
            raise SessionNotFoundError(f"Session {key[2]} not found.")
        if event.id not in recent:
            seq = log.add([_item_of(event)], message_of)
            # Another number than the next one means that another event was appended in between.
            self._seen = (key, newest + 1, (*recent, event.id)[-RECENT:]) if seq == newest + 1 else None
            self._share(key, event.actions.state_delta)

    def _share(self, key: tuple[str, str, str], state: Mapping[str, Any]) -> None:
        for start, owner in (("app:", key[:1]), ("user:", key[:2])):
            if change := {name.removeprefix(start): value for name, value in state.items() if name.startswith(start)}:
                self._log(*owner, prefix=STATE).add([{"type": "state", "state": change}])

    def _shared(self, *owner: str) -> dict[str, Any]:
        return {
            name: value for item in self._log(*owner, prefix=STATE).items() for name, value in item["state"].items()
        }

    def _read(self, key: tuple[str, str, str], config: GetSessionConfig | None) -> Session | None:
        log = self._log(*key)
        if (stored := _stored(log)) is None:
            return None
        state, events = stored
        for event in events:
            state |= event.actions.state_delta
        state = {name: value for name, value in state.items() if not name.startswith(("app:", "user:"))}
        state |= {f"app:{name}": value for name, value in self._shared(key[0]).items()}
        state |= {f"user:{name}": value for name, value in self._shared(*key[:2]).items()}
        if config is not None and config.num_recent_events is not None:
            events = events[-config.num_recent_events :] if config.num_recent_events else []
        if config is not None and config.after_timestamp is not None:
            events = [event for event in events if event.timestamp >= config.after_timestamp]
        app, user, session = key
        at = log.last_write()[0] / 1000
        return Session(app_name=app, user_id=user, id=session, state=state, events=events, last_update_time=at)


class MemoryService(_Service, BaseMemoryService):
    """A memory service in the memory of an agent, with the parameters of SessionService.

    A search finds turns of all sessions of the user in the app: those of SessionService, and those that were added.

        runner = Runner(app_name="shop", agent=helper, session_service=…, memory_service=MemoryService("memory.db"))
    """

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that are not stored yet."""
        await in_thread(self._add_new, (session.app_name, session.user_id, session.id), session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that are not stored yet."""
        await in_thread(self._add_new, (app_name, user_id, session_id or "default"), events)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the turns of the user's sessions that a query finds, best first."""
        found = await in_thread(self._search, app_name, user_id, query) if query.strip() else []
        return SearchMemoryResponse(memories=found)

    def _search(self, app: str, user: str, query: str) -> list[MemoryEntry]:
        found: list[Turn] = []
        for limit in (MOST, MOST * 10, MOST * 100):  # the turns of other users and programs are among those found
            turns = self._opened.memory.conversations.search(query, limit=limit)
            found = [turn for turn in turns if _key_of(turn.conversation.chat_id)[:2] == (app, user)]
            if len(found) >= MOST or len(turns) < limit:
                break
        return [_memory_of(turn) for turn in found[:MOST]]


def _key_of(chat_id: str | None) -> tuple[str, ...]:
    """Return app, user and session of a chat id; nothing if it is not one of a session."""
    start = f"{PREFIX}:["
    return tuple(json.loads(chat_id[len(start) - 1 :])) if chat_id is not None and chat_id.startswith(start) else ()


def _stored(log: SessionLog) -> tuple[dict[str, Any], list[Event]] | None:
    """Return the state with which a session was created, and its events; None if it is not there.

    Mostly the events can be parsed right from what is stored, without objects of JSON in between.
    """
    if payloads := log.payloads():
        first = json.loads(payloads[0]).get("item") or {}
        # Two processes may have created the session at the same time.
        if first.get("type") == CREATED and not any(text.endswith(_END_OF_CREATED) for text in payloads[1:]):
            with suppress(ValidationError):
                return first["state"], [_Payload.model_validate_json(text).item for text in payloads[1:]]
    items = log.items()
    state = {name: value for item in items if item.get("type") == CREATED for name, value in item["state"].items()}
    return (state, [_event_of(item) for item in items if item.get("type") != CREATED]) if items else None


def _item_of(event: Event) -> dict[str, Any]:
    """Return the item of an event, without defaults, which would take longer to read. Raises NotJson."""
    try:
        item: dict[str, Any] = event.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    except ValueError as error:
        raise NotJson(f"the event {event.id} is not JSON: {error}") from None
    return item | {"id": event.id, "timestamp": event.timestamp}  # they never have a default


def _event_of(item: Mapping[str, Any]) -> Event:
    """Return the event of an item; what another program appended to the conversation has only a role and a text."""
    if "role" not in item:
        return Event.model_validate(item)
    author, role = ("user", "user") if item["role"] == "user" else ("agent", "model")
    return Event(author=author, content=types.Content(role=role, parts=[types.Part(text=item["content"])]))


def _memory_of(turn: Turn) -> MemoryEntry:
    item = turn.event.payload.get("item") or {}
    said = types.Content(role=turn.event.role, parts=[types.Part(text=turn.event.content)])
    at = (turn.event.created_at or 0) / 1000
    when = datetime.fromtimestamp(at, UTC).isoformat()
    return MemoryEntry(id=item.get("id"), author=item.get("author"), content=said, timestamp=when)


def message_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return role and content of an event; what a tool returned has no role."""
    parts = (item.get("content") or {}).get("parts") or []
    if results := [part["function_response"] for part in parts if part.get("function_response")]:
        return {"content": [{"type": "tool_result", "content": json.dumps(one.get("response"))} for one in results]}
    texts = [part.get("text") for part in parts if not part.get("thought")]
    return {"role": "user" if item.get("author") == "user" else "assistant", "content": texts}
