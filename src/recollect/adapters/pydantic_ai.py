"""Message histories for Pydantic AI: `agent.run(text, message_history=await history.messages())`.

A history is a conversation of recollect, so what was said in it is found by searches and contexts, shown on the page,
exported and erased like every other conversation.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.session_items import NotJson
from recollect.adapters.session_log import SessionLog
from recollect.adapters.sessions import chat_id_of

try:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
except ImportError:
    raise missing("pydantic-ai-slim", "pydantic-ai") from None

__all__ = ["History"]


class History:
    """The messages of one session in the memory of an agent.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's session with the same id is another
    session.

    Raises Invalid if the session id is not one line of text with at most 240 characters.

        async with History("support-4711", "memory.db") as history:
            helper = Agent("openai:gpt-5", instructions=history.instructions)
            result = await helper.run("Which port?", message_history=await history.messages())
            await history.add(result.new_messages())
    """

    def __init__(
        self,
        session_id: str,
        path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
    ) -> None:
        self.session_id = session_id
        chat_id = chat_id_of(session_id, prefix="pydantic-ai")
        self._opened = Opened(path, agent, workspace)
        self._log = SessionLog(self._opened.memory, chat_id)

    async def messages(self, limit: int | None = None) -> list[ModelMessage]:
        """Return the messages in order; with a limit, the last ones."""
        self._opened.ensure_open()
        return ModelMessagesTypeAdapter.validate_python(list(map(as_message, await in_thread(self._log.items, limit))))

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Append messages, all of them or none. Their instructions are not stored: each run makes its own.

        Raises Invalid if a message is not valid JSON.
        """
        self._opened.ensure_open()
        try:
            items = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        except ValueError as error:
            raise NotJson(f"the messages are not JSON: {error}") from None
        await in_thread(self._log.add, [{**item, "instructions": None} for item in items], message_of)

    async def clear(self) -> None:
        """Remove all messages from the session. The journal keeps them until they are erased."""
        self._opened.ensure_open()
        await in_thread(self._log.clear)

    async def instructions(self, context: RunContext[Any]) -> str:
        """Return what the memory knows about the prompt of a run, for `Agent(instructions=history.instructions)`."""
        prompt = context.prompt if isinstance(context.prompt, str) else ""
        return await in_thread(self._context, prompt) if prompt.strip() else ""

    def _context(self, prompt: str) -> str:
        current = next(self._log.conversations(), None)
        return self._opened.memory.context(prompt, conversation=current).text

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it."""
        self._opened.close()

    async def __aenter__(self) -> "History":
        return self

    async def __aexit__(self, *_: object) -> None:
        await in_thread(self.close)


def as_message(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item as a message: what another program appended to the conversation has only a role and a text."""
    if "parts" in item:
        return item
    if item["role"] == "assistant":
        return {"kind": "response", "parts": [{"part_kind": "text", "content": item["content"]}]}
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": item["content"]}]}


def message_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return role and content of a message: of a request, what the user said, else what tools returned."""
    parts: dict[str, list[Any]] = {}
    for part in item["parts"]:
        parts.setdefault(part["part_kind"], []).append(part.get("content"))
    if item["kind"] == "response":
        return {"role": "assistant", "content": parts.get("text")}
    if said := parts.get("user-prompt"):
        return {"role": "user", "content": said}
    returned = parts.get("tool-return") or parts.get("retry-prompt")
    if returned is None:
        return {"role": "system", "content": parts.get("system-prompt")}
    return {"content": [{"type": "tool_result", "content": str(one)} for one in returned]}
