"""The messages of a lane are a sequence that providers of OpenAI's interface accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.engine import prompt
from recollect.model.history import Event, EventType, Lane
from recollect.model.working import SummaryDocument


def refused(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Why a provider would refuse the messages; None if it would not."""
    open_calls: set[str] = set()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"message {place} is a tool's result that answers no call directly before it"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"message {place} follows tool calls without results: {open_calls}"
        calls = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(calls)) < len(calls):
            return f"message {place} has two tool calls of one id"
        if not calls and not isinstance(message["content"], str):
            return f"message {place} has no content"
        open_calls = set(calls)
    return f"the last tool calls have no results: {open_calls}" if open_calls else None


def user(text: str) -> Event:
    return Event(type=EventType.USER, content=text)


def asking(*ids: str) -> Event:
    calls = [{"id": one, "type": "function", "function": {"name": "search", "arguments": "{}"}} for one in ids]
    return Event(type=EventType.MODEL, content="" if ids else "answer", tool_calls=calls)


def result(call: str, text: str = "found") -> Event:
    return Event(type=EventType.TOOL, content=text, tool_call_id=call)


def shown(*window: Event) -> list[dict[str, Any]]:
    made = prompt.messages(
        Lane.EDGE, SummaryDocument(), window, instructions=None, skills=(), identity={}, context=None
    )
    assert made == prompt.replay(None, None, window)
    return made


IDS = st.sampled_from(["a", "b", "c"])
EVENTS = st.one_of(
    st.just(user("hello")),
    st.lists(IDS, unique=True, max_size=3).map(lambda ids: asking(*ids)),
    IDS.map(result),
    st.just(Event(type=EventType.INSTRUCTION, content="be short")),
)


@given(st.lists(EVENTS, max_size=12))
def test_any_window_gives_messages_that_a_provider_accepts(window: list[Event]) -> None:
    made = shown(*window)
    assert refused(made) is None
    roles = [event.role for event in window if event.type is not EventType.TOOL]
    assert [message["role"] for message in made if message["role"] != "tool"] == roles


def test_a_result_that_came_late_directly_follows_its_call() -> None:
    made = shown(user("go"), asking("a", "b"), user("well?"), result("b", "second"), result("a", "first"))
    assert [message["content"] for message in made] == ["go", None, "first", "second", "well?"]


def test_a_call_without_a_result_says_so() -> None:
    made = shown(asking("a", "b"), result("a", "first"), user("well?"))
    assert [message["content"] for message in made] == [None, "first", prompt.NO_RESULT, "well?"]


def test_each_use_of_an_id_keeps_its_own_result() -> None:
    made = shown(asking("a"), result("a", "first"), asking("a"), result("a", "second"))
    assert [message["content"] for message in made] == [None, "first", None, "second"]


def test_the_validator_refuses_what_providers_refuse() -> None:
    call, answer = prompt._message(asking("a")), prompt._message(result("a"))
    hello = {"role": "user", "content": "hello"}
    assert refused([hello, call, answer, hello]) is None
    for wrong in ([call], [call, hello, answer], [answer], [call, answer, answer], [hello, call, hello]):
        assert refused(wrong) is not None, wrong
