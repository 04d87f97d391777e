"""Validation of events, and conversion of chat messages to events. No I/O."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect import names
from recollect.clock import milliseconds
from recollect.errors import Invalid
from recollect.model.checks import member
from recollect.model.history import Event, EventType, Lane

__all__ = ["EVENT_BYTES", "checked_event", "dialogue", "event_of_message", "events_of_messages"]

EVENT_BYTES = 16_000_000
"""Maximum size of an event's content; tool results can be large."""
TIME_FIELDS = ("created_at", "timestamp", "at")
"""Fields of a message that may hold its time; the first that is set counts."""
_OWN_FIELDS = ("speaker", "tool_calls", "internal")


def checked_event(event: Event, conversation: str, now: int) -> Event:
    """Validate an event and return it with all fields normalised, an id and a timestamp; raise Invalid."""
    if not isinstance(event, Event):
        raise Invalid(f"an event must be an Event value, not {type(event).__name__}; write conv.user(…), or Event(…)")
    kind, lane = member(EventType, event.type, "type of event"), member(Lane, event.lane, "lane")
    if kind is EventType.MARKER:
        raise Invalid("markers are written by compaction; call compact()")
    if kind is EventType.JOB and lane is not Lane.CORE:
        raise Invalid("a CoreJobStart must be in the lane 'core'")
    content = names.plain("content", event.content, lines=True)
    if len(content) * 4 > EVENT_BYTES and len(content.encode()) > EVENT_BYTES:
        raise Invalid(
            f"the content of an event has at most {EVENT_BYTES:,} bytes; store it elsewhere and append a reference"
        )
    calls = _calls(event.tool_calls) if event.tool_calls != () else ()
    if calls and kind is not EventType.MODEL:
        raise Invalid("only the output of a model can have tool_calls")
    if not content.strip() and not calls and kind is not EventType.TOOL:
        raise Invalid(f"the content of a {kind} is empty; there is nothing to append")
    if (event.tool_call_id is None) is (kind is EventType.TOOL):
        raise Invalid("tool results, and only those, must have the tool_call_id of their call")
    return Event(
        type=kind,
        lane=lane,
        content=content,
        speaker=None if event.speaker is None else names.name(event.speaker, "speaker"),
        tool_calls=calls,
        tool_call_id=None if event.tool_call_id is None else names.name(event.tool_call_id, "tool_call_id"),
        internal=bool(event.internal),
        payload=_payload(event.payload),
        created_at=now if event.created_at is None else milliseconds(event.created_at),
        id=names.new_id(now),
        conversation_id=conversation,
    )


def events_of_messages(messages: object, lane: Lane) -> list[Event]:
    """Return the events of a list of chat messages in a lane, without system messages and empty ones."""
    if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
        raise Invalid("messages must be a list of mappings with role and content")
    return [replace(event, lane=lane) for event in map(event_of_message, messages) if event is not None]


def dialogue(messages: object) -> list[Event]:
    """Return the events of a list of messages of users and models, without internal ones; raise Invalid for others."""
    found = events_of_messages(messages, Lane.EDGE)
    if any(event.type is EventType.TOOL or event.tool_calls for event in found):
        raise Invalid("save() takes messages of users and models only; use extend() for tool calls and results")
    return [event for event in found if not event.internal]


def event_of_message(message: object) -> Event | None:
    """Convert an OpenAI message (or one with `text`) to an event; None for a system message and for a blank one."""
    if not isinstance(message, Mapping):
        raise Invalid(f"a message must be a mapping with role and content, not {type(message).__name__}")
    role, content = message.get("role"), _text(message.get("content", message.get("text")))
    at = next((message[name] for name in TIME_FIELDS if message.get(name) is not None), None)
    more: dict[str, Any] = {"content": content, "internal": bool(message.get("internal")), "created_at": at}
    match role:
        case "system" | "developer":
            return None
        case "user" | "assistant" | "agent" if not content.strip() and not message.get("tool_calls"):
            return None
        case "user":
            return Event(type=EventType.USER, speaker=message.get("name"), **more)
        case "assistant" | "agent":
            return Event(type=EventType.MODEL, tool_calls=message.get("tool_calls") or (), **more)
        case "tool":
            return Event(type=EventType.TOOL, tool_call_id=message.get("tool_call_id"), **more)
    raise Invalid(f"{str(role)[:80]!r} is not a role; use one of user, assistant, tool, system")


def _text(content: object) -> str:
    """Return the text of a message: its content, or the texts of its parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Iterable):
        parts = [part.get("text", "") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    raise Invalid(f"the content of a message must be text or a list of parts, not {type(content).__name__}")


def _calls(value: object) -> tuple[dict[str, Any], ...]:
    calls = tuple(_call(call) for call in _listed(value, "tool_calls"))
    if len({call["id"] for call in calls}) < len(calls):
        raise Invalid("two tool_calls have the same id")
    return calls


def _call(call: object) -> dict[str, Any]:
    """Normalise a tool call to the OpenAI message format; the flat form {id, name, arguments} is accepted, too."""
    if not isinstance(call, Mapping):
        raise Invalid(f"a tool call must be a mapping with id and function, not {type(call).__name__}")
    identity = names.name(call.get("id"), "id of a tool call")
    function = call.get("function", {key: call[key] for key in ("name", "arguments") if key in call})
    if not isinstance(function, Mapping):
        raise Invalid("the function of a tool call must be a mapping with name and arguments")
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = _json(arguments, "arguments of a tool call")
    name = names.name(function.get("name"), "name of a tool")
    arguments = names.plain("arguments of a tool call", arguments, lines=True)
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def _listed(value: object, what: str) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise Invalid(f"{what} must be a list, not {type(value).__name__}")
    return list(value)


def _payload(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Invalid(f"the payload of an event must be a mapping, not {type(value).__name__}")
    taken = [name for name in _OWN_FIELDS if name in value]
    if taken:
        raise Invalid(f"the payload of an event cannot hold {taken[0]!r}; an event has a field of that name")
    return json.loads(_json(dict(value), "payload")) if value else {}


def _json(value: object, what: str) -> str:
    try:
        made = json.dumps(value, ensure_ascii=False, allow_nan=False)
        made.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"the {what} is not JSON: {error}") from None
    return names.plain(what, made, lines=True)
