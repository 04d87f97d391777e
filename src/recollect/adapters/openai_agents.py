"""Sessions for the OpenAI Agents SDK: `Runner.run(agent, text, session=Session("support-4711"))`.

A session is a conversation of recollect, so what was said in it is found by searches and contexts, shown on the page,
exported and erased like every other conversation.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.session_log import SessionLog
from recollect.adapters.sessions import chat_id_of

try:
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings
except ImportError:
    raise missing("openai-agents", "openai-agents") from None

__all__ = ["AsyncSession", "Session"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class CompactionSnapshot:
    """The last items of a session, and what replaces them from a number on; it returns whether they were replaced."""

    items: list[TResponseInputItem]
    complete: bool
    replace_suffix: Callable[[int, list[TResponseInputItem]], Awaitable[bool]]


class AsyncSession(SessionABC):
    """A session of the OpenAI Agents SDK in the memory of an agent.

    `db_path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `session_settings` is that of the SDK, for instance `SessionSettings(limit=50)`. `agent` and
    `workspace` select the memory; another agent's session with the same id is another session.

    Raises Invalid if the session id is not one line of text with at most 256 characters.

        async with AsyncSession("support-4711", "memory.db") as session:
            await Runner.run(agent, "Which port does staging use?", session=session)
    """

    def __init__(
        self,
        session_id: str,
        db_path: str | os.PathLike[str] | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
    ) -> None:
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        self.session_id, self.db_path = session_id, db_path
        chat_id = chat_id_of(session_id)
        self._opened = Opened(db_path, agent, workspace)
        self._log = SessionLog(self._opened.memory, chat_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in order; with a limit, or one in the settings, the last ones. A negative limit is none."""
        settings = self.session_settings
        most = settings.limit if limit is None and settings is not None else limit
        return await self._run(self._log.items, None if most is None or most < 0 else most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all of them or none.

        Raises Invalid if an item is not a JSON object.
        """
        await self._run(self._log.add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item from the session and return it; None if there is none. The journal keeps it."""
        return await self._run(self._log.pop)

    async def clear_session(self) -> None:
        """Remove all items from the session. The journal keeps them until they are erased."""
        await self._run(self._log.clear)

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[dict[str, Any]], bool] | None = None
    ) -> "CompactionSnapshot | None":
        """Return the last items with a method that replaces them at once. The SDK's compaction asks for it by name."""
        if (type(self).add_items, type(self).get_items) != (AsyncSession.add_items, AsyncSession.get_items):
            return None  # what a subclass does with items would be left out
        end = await self._run(self._log.end, limit)

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            return await self._run(self._log.replace_end, end, start, output, expired=prune_prefix)

        return CompactionSnapshot(end.items, end.complete, replace_suffix)

    async def close(self) -> None:
        """Close the session. Calls that are running finish; later ones raise RuntimeError."""
        await in_thread(self._opened.close)

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._opened.ensure_open(type(self).__name__)
        return await in_thread(function, *args, **kwargs)


class Session(AsyncSession):
    """The same session with a plain `close()`, for programs that create it outside of a running loop.

    session = Session("support-4711", "memory.db")
    Runner.run_sync(agent, "Which port does staging use?", session=session)
    session.close()
    """

    def close(self) -> None:  # type: ignore[override]
        """Close the session. Calls that are running finish; later ones raise RuntimeError."""
        self._opened.close()

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
