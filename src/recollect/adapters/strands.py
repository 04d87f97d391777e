"""Storage and sessions for Strands Agents.

`Storage` keeps each value as an entry named `strands/KEY`; text is found by recalls and contexts. `SessionRepository`
keeps the messages of each agent of a session as a conversation. The state of agents is an internal event beside them,
so that a session is exported and erased as a whole. The newest event with a message id or a state is the valid one.
"""

import builtins
import copy
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ParamSpec, TypeVar

from recollect import RecollectError
from recollect.adapters.byte_entries import ByteEntries
from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.session_log import SessionLog
from recollect.adapters.sessions import SessionLogs, chat_id_of

try:
    import strands.storage.storage
    from strands.session import session_repository
    from strands.storage.storage import StorageSearchResult
    from strands.types.exceptions import SessionException, StorageError
    from strands.types.session import Session, SessionAgent, SessionMessage, decode_bytes_values
except ImportError:
    raise missing("strands-agents", "strands") from None

__all__ = ["SessionRepository", "Storage"]

P = ParamSpec("P")
T = TypeVar("T")

FIELDS = {field.name for field in fields(SessionMessage)}
SESSION, AGENT, MULTI_AGENT, MESSAGE = "session", "agent", "multi_agent", "message"


class Storage:
    """A storage of Strands Agents in the memory of an agent: `Agent(storage=Storage())`.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory. A search is a recall over the stored values, unless a
    `search_strategy` of the SDK is given. All errors are StorageErrors.

        storage = Storage("memory.db")
        await storage.write("notes/ports.md", b"Staging listens on port 8080.")
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
        search_strategy: Any = None,
    ) -> None:
        self._opened = Opened(path, agent, workspace)
        self._entries = ByteEntries(self._opened.memory, "strands")
        self._search_strategy, self._prefix = search_strategy, ""

    async def write(self, key: str, data: bytes) -> None:
        """Store bytes under a key; they replace what was there, which stays in the entry's history.

        Raises StorageError if the key is empty, longer than 248 characters or has a `..` segment or a backslash, and if
        the data has more than 1 MB.
        """
        normal = _key(key)
        await self._run(self._entries.put, self._prefix + normal, data)
        if self._search_strategy is not None:
            try:
                await self._search_strategy.index(self, normal, data)
            except Exception as error:
                raise StorageError(f"{key!r} was written, but indexing it failed") from error

    async def read(self, key: str) -> bytes | None:
        """Return the bytes of a key; None if there are none."""
        return await self._run(self._entries.get, self._prefix + _key(key))

    async def delete(self, key: str) -> None:
        """Move the entry of a key to the trash, if there is one."""
        await self._run(self._entries.delete, self._prefix + _key(key))

    async def list(self, query: str = "") -> builtins.list[str]:
        """Return the keys that begin with a prefix, sorted."""
        keys = await self._run(self._entries.keys, self._prefix + _prefix(query))
        return [key.removeprefix(self._prefix) for key in keys]

    async def search(self, query: str) -> builtins.list[StorageSearchResult]:
        """Return the keys whose values answer a query, best first."""
        if self._search_strategy is not None:
            return await self._search_strategy.search(self, query)
        hits = await self._run(self._entries.search, query, self._prefix)
        return [StorageSearchResult(hit.key.removeprefix(self._prefix), hit.score, hit.data) for hit in hits]

    def namespace(self, prefix: str) -> "Storage":
        """Return a storage for the keys below a prefix. It shares this one's home, and is closed with it."""
        scoped = copy.copy(self)
        normal = _prefix(prefix).rstrip("/")
        scoped._prefix = f"{self._prefix}{normal}/" if normal else self._prefix
        # The SDK puts a storage with this mark into no further namespace.
        scoped._namespaced = getattr(strands.storage.storage, "_NAMESPACED", None)  # type: ignore[attr-defined]
        return scoped

    def clear(self) -> None:
        """Move everything that this storage or namespace holds to the trash."""
        for key in self._entries.keys(self._prefix):
            self._entries.delete(key)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it. Later calls raise StorageError."""
        self._opened.close()

    async def _run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._opened.closed:
            raise StorageError("the storage is closed")
        try:
            return await in_thread(function, *args, **kwargs)
        except RecollectError as error:
            raise StorageError(str(error)) from error


class SessionRepository(session_repository.SessionRepository):
    """Sessions for `RepositorySessionManager(session_id="s", session_repository=SessionRepository())`.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's sessions are never read.

    Methods raise SessionException if what they change does not exist or after `close()`, and Invalid if the ids are
    longer than 256 characters in total or a state is not JSON.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, agent: str | None = None, workspace: str = "default"
    ) -> None:
        self._opened = Opened(path, agent, workspace)
        self._logs = SessionLogs(self._opened)

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Create a session. Raises SessionException if it exists."""
        if self.read_session(session.session_id) is not None:
            raise SessionException(f"Session {session.session_id} already exists")
        self._add(self._session(session.session_id), SESSION, session.session_id, session.to_dict())
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return a session; None if there is none."""
        record = _newest(self._session(session_id), SESSION, session_id)
        return None if record is None else Session.from_dict(record)

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Remove a session and its agents. The journal keeps what was said until it is erased."""
        if self.read_session(session_id) is None:
            raise SessionException(f"Session {session_id} does not exist")
        agents = {item["id"] for item in self._session(session_id).items() if item["type"] == AGENT}
        for agent_id in agents:
            self._agent(session_id, agent_id).clear()
        self._session(session_id).clear()

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Add an agent to a session. Raises SessionException if there is no such session."""
        if self.read_session(session_id) is None:
            raise SessionException(f"Session {session_id} does not exist")
        agent_id = session_agent.agent_id
        self._add(self._agent(session_id, agent_id), AGENT, agent_id, session_agent.to_dict())
        self._add(self._session(session_id), AGENT, agent_id, {})

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return the state of an agent; None if there is none."""
        record = _newest(self._agent(session_id, agent_id), AGENT, agent_id)
        return None if record is None else SessionAgent.from_dict(record)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Replace the state of an agent."""
        agent_id = session_agent.agent_id
        if (previous := self.read_agent(session_id, agent_id)) is None:
            raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
        session_agent.created_at = previous.created_at
        self._add(self._agent(session_id, agent_id), AGENT, agent_id, session_agent.to_dict())

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Append a message."""
        self._add(self._agent(session_id, agent_id), MESSAGE, session_message.message_id, session_message.to_dict())

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """Return a message; None if there is none."""
        record = _newest(self._agent(session_id, agent_id), MESSAGE, message_id)
        return None if record is None else _message(record)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Replace a message. If it is redacted, the text of its earlier versions is erased from the journal."""
        message_id, log = session_message.message_id, self._agent(session_id, agent_id)
        if (previous := self.read_message(session_id, agent_id, message_id)) is None:
            raise SessionException(f"Message {message_id} does not exist")
        session_message.created_at = previous.created_at
        if session_message.redact_message is None:
            self._add(log, MESSAGE, message_id, session_message.to_dict())
            return
        new = {"type": MESSAGE, "id": message_id, "record": session_message.to_dict()}
        log.replace(new, lambda item: (item["type"], item["id"]) == (MESSAGE, message_id), _said)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Return messages in the order of their ids. Raises SessionException if there is no such agent."""
        log, found = self._agent(session_id, agent_id), dict[int, Any]()
        items = log.items()
        if not items:
            raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
        found.update((item["id"], item["record"]) for item in items if item["type"] == MESSAGE)
        end = None if limit is None else offset + limit
        return [_message(found[number]) for number in sorted(found)[offset:end]]

    def create_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: Any) -> None:
        """Store the state of a graph or swarm."""
        self._add(self._session(session_id), MULTI_AGENT, multi_agent.id, multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """Return the state of a graph or swarm; None if there is none."""
        return _newest(self._session(session_id), MULTI_AGENT, multi_agent_id)

    def update_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: Any) -> None:
        """Replace the state of a graph or swarm."""
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent state {multi_agent.id} in session {session_id} does not exist")
        self.create_multi_agent(session_id, multi_agent)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._opened.close()

    def _session(self, session_id: str) -> SessionLog:
        return self._opened_log(session_id, "", "")

    def _agent(self, session_id: str, agent_id: str) -> SessionLog:
        return self._opened_log(session_id, AGENT, agent_id)

    def _opened_log(self, *parts: str) -> SessionLog:
        if self._opened.closed:
            raise SessionException("the session repository is closed")
        return self._logs[chat_id_of("strands", *parts)]

    def _add(self, log: SessionLog, kind: str, key: object, record: Mapping[str, Any]) -> None:
        log.add([{"type": kind, "id": key, "record": record}], _said)


def _newest(log: SessionLog, kind: str, key: object) -> dict[str, Any] | None:
    items = log.newest_first()
    return next((item["record"] for item in items if item["type"] == kind and item["id"] == key), None)


def _message(record: Mapping[str, Any]) -> SessionMessage:
    """Return the message of a record, as its `from_dict`, which looks at its own signature each time."""
    return SessionMessage(**decode_bytes_values({key: value for key, value in record.items() if key in FIELDS}))


def _said(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the role and text of a message: a tool result is none of the user, and a tool call is no text."""
    if item["type"] != MESSAGE:
        return {}
    message = item["record"]["redact_message"] or item["record"]["message"]
    blocks = [block for block in message["content"] if isinstance(block, Mapping)]
    if results := [block["toolResult"] for block in blocks if "toolResult" in block]:
        return {"content": [{"type": "tool_result", "content": result.get("content")} for result in results]}
    if any(block.get("text") for block in blocks):
        return {"role": message["role"], "content": [{"text": block.get("text")} for block in blocks]}
    calls = [block["toolUse"] for block in blocks if "toolUse" in block]
    return {"content": [f"[called {call['name']}({json.dumps(call.get('input'), default=str)})]" for call in calls]}


def _key(key: str) -> str:
    normal = _prefix(key).rstrip("/")
    if not normal.strip() or normal != normal.rstrip():
        raise StorageError("a storage key must not be empty or end with white space")
    return normal


def _prefix(prefix: str) -> str:
    if not isinstance(prefix, str):
        raise StorageError(f"a storage key must be text, not {type(prefix).__name__}")
    normal = re.sub(r"/+", "/", prefix).lstrip("/")
    if "\\" in normal or ".." in normal.split("/"):
        raise StorageError(f"a storage key must not contain a backslash or a '..' segment: {prefix[:80]!r}")
    return normal
