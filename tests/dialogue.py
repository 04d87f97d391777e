"""Shared by the tests of conversations: scripted language models, and short ways to append turns.

Never part of the library.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.conversation import Conversation
from recollect.model.history import Event, Lane

__all__ = ["Blocking", "Writing", "call", "said", "talk", "use_tool"]


class Writing:
    """A model that answers every prompt in the right form, from the turns that it was shown.

    `moods` holds what to do instead with the next prompts, one each: an exception is raised, a text is the answer.
    """

    name = "writing"

    def __init__(self, *moods: object) -> None:
        self.moods = list(moods)
        self.asked: list[str] = []

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        """The answer to a fold or to a closing, whichever the schema asks for."""
        assert schema is not None
        self.asked.append(messages[-1]["content"])
        if self.moods:
            mood = self.moods.pop(0)
            if isinstance(mood, Exception):
                raise mood
            return str(mood)
        turns = [line for line in messages[-1]["content"].splitlines() if line.startswith("[")]
        if "archive" in schema["required"]:
            return json.dumps(
                {
                    "archive": f"The model's archive of {len(turns)} turns, which began with: {turns[0]}",
                    "memory_delta": {
                        "mode": "append",
                        "summary_update": f"{len(turns)} turns left.",
                        "add_fact": [{"key": "last fold", "value": turns[-1][:200], "source_event": len(turns)}],
                        "remove_fact": [],
                        "add_references": [1],
                        "remove_references": [],
                    },
                }
            )
        return json.dumps(
            {
                "summary": f"The model's summary of {len(turns)} turns.",
                "decisions": ["The model found that they agreed on granite."],
                "lessons": [],
            }
        )


class Blocking(Writing):
    """A model that answers nothing before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = threading.Event()
        self.go = threading.Event()

    def complete(self, *arguments: Any, **named: Any) -> str:
        """The answer, later."""
        self.waiting.set()
        assert self.go.wait(60)
        return super().complete(*arguments, **named)


def call(identity: str, name: str = "search", **arguments: object) -> dict[str, object]:
    """A tool call in the form of OpenAI's messages."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def use_tool(conv: Conversation, identity: str, lane: Lane | str = Lane.EDGE) -> None:
    """A model calls a tool, and the tool answers."""
    conv.assistant("", tool_calls=[call(identity)], lane=lane)
    conv.tool(f"result of {identity}", identity, lane=lane)


def talk(conv: Conversation, turns: int, lane: Lane | str = Lane.EDGE, first: int = 0) -> None:
    """So many questions with their answers: two events each."""
    for number in range(first, first + turns):
        conv.user(f"question {number}", lane=lane)
        conv.assistant(f"answer {number}", lane=lane)


def said(events: Sequence[Event]) -> list[str]:
    """The contents of events."""
    return [event.content for event in events]
