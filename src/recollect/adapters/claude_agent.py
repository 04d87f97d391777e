"""Session transcripts of the Claude Agent SDK: `ClaudeAgentOptions(session_store=SessionStore())`.

A transcript is a conversation of recollect, and each of its lines an event, so what was said is found by searches and
contexts, shown on the page, exported and erased like every other conversation. The transcript of a subagent is a
conversation of its own.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.adapters.homes import Opened, missing
from recollect.adapters.session_log import SessionLog
from recollect.adapters.sessions import SessionLogs, chat_id_of, chat_ids

try:
    import claude_agent_sdk
    from anyio.to_thread import run_sync
    from claude_agent_sdk import fold_session_summary
except ImportError:
    raise missing("claude-agent-sdk", "claude-agent") from None

__all__ = ["SessionStore"]


class SessionStore(claude_agent_sdk.SessionStore):
    """A store for session transcripts in the memory of an agent.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's transcripts are never read. A line with a
    `uuid` that is stored already is not stored again.

        store = SessionStore("memory.db")
        async for message in query(prompt="…", options=ClaudeAgentOptions(session_store=store)):
            print(message)
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, agent: str | None = None, workspace: str = "default"
    ) -> None:
        self._opened = Opened(path, agent, workspace)
        self._logs = SessionLogs(self._opened)
        self._known: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    async def append(self, key: claude_agent_sdk.SessionKey, entries: list[Any]) -> None:
        """Append lines to a transcript, in one transaction.

        Raises Invalid if a key is not text of at most 256 characters in total, or a line is not a JSON object.
        """
        await run_sync(self._append, key, list(entries))

    async def load(self, key: claude_agent_sdk.SessionKey) -> list[Any] | None:
        """Return the lines of a transcript; None if there is none."""
        return await run_sync(self._load, key)

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Return the ids of the project's sessions, each with the time of its last write."""
        return await run_sync(self._sessions, project_key)

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """Return the summaries of the project's sessions."""
        return await run_sync(self._summaries, project_key)

    async def delete(self, key: claude_agent_sdk.SessionKey) -> None:
        """Remove a transcript and those of its subagents. The journal keeps them until they are erased."""
        await run_sync(self._delete, key)

    async def list_subkeys(self, key: Any) -> list[str]:
        """Return the subpaths of a session: the transcripts of its subagents."""
        return await run_sync(self._subkeys, key)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._opened.close()

    def _log(self, *parts: str) -> SessionLog:
        return self._logs[chat_id_of(*parts)]

    def _append(self, key: Any, entries: Sequence[Any]) -> None:
        parts = parts_of(key)
        log, chat_id = self._log(*parts), chat_id_of(*parts)
        with self._lock:  # a batch that is sent again while its first attempt still runs waits for it
            if chat_id not in self._known:
                self._known[chat_id] = {item["uuid"] for item in log.items() if "uuid" in item}
            known = self._known[chat_id]
            new = [entry for entry in entries if not isinstance(entry, Mapping) or entry.get("uuid") not in known]
            log.add(new, message_of)
            known |= {entry["uuid"] for entry in new if "uuid" in entry}

    def _load(self, key: Any) -> list[Any] | None:
        return self._log(*parts_of(key)).items() or None

    def _delete(self, key: Any) -> None:
        project, session, *subpath = parts_of(key)
        below = [] if subpath else self._subkeys(key)
        for parts in ((project, session, *subpath), *((project, session, one) for one in below)):
            with self._lock:
                self._log(*parts).clear()
                self._known.pop(chat_id_of(*parts), None)

    def _subkeys(self, key: Any) -> list[str]:
        project, session = key["project_key"], key["session_id"]
        return [parts[2] for parts in self._transcripts() if parts[:2] == [project, session] and len(parts) == 3]

    def _sessions(self, project: str) -> list[Any]:
        return [{"session_id": session, "mtime": mtime} for session, mtime, _ in self._of_project(project)]

    def _summaries(self, project: str) -> list[Any]:
        found = []
        for session, mtime, log in self._of_project(project):
            key: Any = {"project_key": project, "session_id": session}
            summary: Any = fold_session_summary(None, key, log.items())
            found.append({**summary, "mtime": mtime})
        return found

    def _of_project(self, project: str) -> Iterator[tuple[str, int, SessionLog]]:
        """Iterate over a project's sessions, without those of subagents: id, time of the last write, and log.

        They are in the order of their last writes. The times increase: a write in the same millisecond is later.
        """
        logs = [
            (parts[1], self._log(*parts)) for parts in self._transcripts() if len(parts) == 2 and parts[0] == project
        ]
        last = 0
        for (at, _), session, log in sorted((log.last_write(), session, log) for session, log in logs):
            last = max(at, last + 1)
            yield session, last, log

    def _transcripts(self) -> list[list[str]]:
        """Return the keys of all transcripts that are not empty."""
        keys = [parts for parts in map(split, chat_ids(self._opened.memory)) if parts is not None]
        return [parts for parts in keys if not self._log(*parts).is_empty()]


def parts_of(key: Any) -> tuple[str, ...]:
    """Return the parts of a key: project, session and, for a subagent, its path."""
    subpath = key.get("subpath")
    return (
        (key["project_key"], key["session_id"]) if subpath is None else (key["project_key"], key["session_id"], subpath)
    )


def split(chat_id: str) -> list[str] | None:
    """Return the parts of the key that a chat id was made from; None if it is not of this store."""
    if not chat_id.startswith("["):
        return None
    try:
        found = json.loads(chat_id)
    except ValueError:
        return None
    is_key = isinstance(found, list) and len(found) in (2, 3) and all(isinstance(part, str) for part in found)
    return found if is_key else None


def message_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of a line, which has a role and content; the line itself if it has none."""
    message = entry.get("message")
    return message if isinstance(message, Mapping) else entry
