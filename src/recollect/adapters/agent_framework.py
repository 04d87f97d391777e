"""Histories for the Microsoft Agent Framework: `Agent(client, context_providers=[HistoryProvider()])`.

The messages of a session are a conversation of recollect, so what was said in it is found by searches and contexts,
shown on the page, exported and erased like every other conversation.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.session_log import SessionLog
from recollect.adapters.sessions import SessionLogs, chat_id_of

try:
    import agent_framework
    from agent_framework import Message
except ImportError:
    raise missing("agent-framework-core", "agent-framework") from None

__all__ = ["HistoryProvider"]


class HistoryProvider(agent_framework.HistoryProvider):
    """A history provider that stores the messages of each session in the memory of an agent.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's sessions are never read. With
    `recall=True` each run also gets, as instructions, what the memory knows about its last message. Further settings,
    such as `store_outputs=False`, are those of the framework. Methods raise Invalid if a session id is not one line of
    text with at most 240 characters.

        helper = Agent(client, context_providers=[HistoryProvider("memory.db", recall=True)])
        await helper.run("Which port does staging use?", session=helper.create_session(session_id="support-4711"))
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
        recall: bool = False,
        source_id: str = "recollect",
        **settings: Any,
    ) -> None:
        super().__init__(source_id, **settings)
        self.recall = recall
        self._opened = Opened(path, agent, workspace)
        self._logs = SessionLogs(self._opened)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **_: Any
    ) -> list[Message]:
        """Return the messages of a session, in order."""
        items = await in_thread(self._log(session_id).items)
        # What another program appended to the conversation has only a role and a text.
        return [
            Message.from_dict(one) if "contents" in one else Message(one["role"], [one["content"]]) for one in items
        ]

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], *, state: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Append messages to a session, all of them or none."""
        await in_thread(self._log(session_id).add, [message.to_dict() for message in messages], message_of)

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Add the stored messages to a run and, with `recall=True`, what the memory knows about its last message."""
        await super().before_run(agent=agent, session=session, context=context, state=state)
        said = [message.text for message in context.input_messages if message.text.strip()]
        if self.recall and said and (known := await in_thread(self._context, context.session_id, said[-1])):
            context.extend_instructions(self.source_id, known)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._opened.close()

    def _context(self, session_id: str | None, said: str) -> str:
        current = next(self._log(session_id).conversations(), None)
        return self._opened.memory.context(said, conversation=current).text

    def _log(self, session_id: str | None) -> SessionLog:
        return self._logs[chat_id_of("default" if session_id is None else session_id, prefix="agent-framework")]


def message_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return role and content of a message; what a tool returned has no role."""
    texts = [content.get("text") for content in item["contents"] if content.get("type") == "text"]
    results = [str(one.get("result")) for one in item["contents"] if one.get("type") == "function_result"]
    if item["role"] == "tool" or results:
        return {"content": [{"type": "tool_result", "content": text} for text in results or texts]}
    return {"role": item["role"], "content": texts}
