"""The tools for the current conversation: conversation, scratchpad and memory_compact."""

import sys
from itertools import islice
from typing import Annotated, Any, Literal, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import BeforeValidator, Field, JsonValue, WithJsonSchema, with_config
from typing_extensions import TypedDict

from recollect import Scratchpad
from recollect.compat import store_tools
from recollect.errors import Invalid, NotFound
from recollect.mcp.request_context import request_context
from recollect.mcp.schemas import (
    STRICT,
    ConversationRef,
    ConversationView,
    EventView,
    Line,
    MessageInput,
    conversation_view,
    event_view,
)
from recollect.mcp.tool import ERRORS, Actions, checked, listed, tool

__all__ = [
    "TOOLS",
    "CompactResult",
    "ConversationResult",
    "Json",
    "ScratchpadResult",
    "conversation",
    "memory_compact",
    "scratchpad",
]

CONVERSATION: Actions = {
    "append": (("messages",), ("conversation",)),
    "start": ((), ("channel", "chat_id", "participants", "resume")),
    "idle": ((), ("conversation",)),
    "archive": ((), ("conversation",)),
    "end": ((), ("conversation",)),
}
UNLISTED_CONVERSATION: Actions = {
    "start": ((), ("channel", "chat_id", "model_id", "participants", "resume")),
    "get": ((), ("conversation", "limit")),
    "list": ((), ("channel", "chat_id", "include_archived", "limit")),
}
SCRATCHPAD: Actions = {
    "write": (("key", "value"), ("conversation", "owner")),
    "clear": ((), ("key", "conversation", "owner")),
}
UNLISTED_SCRATCHPAD: Actions = {
    "read": (("key",), ("conversation", "owner")),
    "list": ((), ("conversation", "owner")),
}
Json = Annotated[JsonValue, WithJsonSchema({"type": ["string", "number", "boolean", "null", "array", "object"]})]
"""Any JSON value, with an explicit schema: some clients reject an empty one."""


@with_config(STRICT)
class ConversationResult(TypedDict):
    """What the tool `conversation` gives; `appended` counts the messages that were new."""

    ok: bool
    conversation: NotRequired[ConversationView]
    conversations: NotRequired[list[ConversationView]]
    events: NotRequired[list[EventView]]
    appended: NotRequired[int]
    decisions: NotRequired[list[str]]
    lessons: NotRequired[list[str]]


@with_config(STRICT)
class ScratchpadResult(TypedDict):
    """What the tool `scratchpad` gives, with the ref code of the conversation it belongs to."""

    ok: bool
    conversation: str
    key: NotRequired[str]
    value: NotRequired[Json]
    values: NotRequired[dict[str, Json]]
    cleared: NotRequired[int]


@with_config(STRICT)
class CompactResult(TypedDict):
    """What memory_compact gives: whether there was something to do, and how many events an archive now stands for."""

    ok: bool
    started: bool
    folded: int
    conversation: str


def _with_few_keys(value: object) -> object:
    """Limit the keys of a message before validation, because each unknown key would be an error of its own."""
    if isinstance(value, dict) and len(value) > ERRORS:
        raise ValueError(
            f"a message has {listed(tuple(MessageInput.__annotations__))}, and this one {len(value):,} keys"
        )
    return value


def conversation(
    action: Literal["append", "start", "idle", "archive", "end", "get", "list"],
    conversation: ConversationRef | None = None,
    *,
    messages: Annotated[
        list[Annotated[MessageInput, BeforeValidator(_with_few_keys)]] | None,
        Field(max_length=1_000, description="Stored ones are skipped."),
    ] = None,
    channel: Line | None = None,
    chat_id: Line | None = None,
    model_id: Line | None = None,
    participants: Annotated[
        list[Line] | None, Field(max_length=100, description="Agents that share its scratchpad.")
    ] = None,
    resume: Annotated[bool | None, Field(description="The active one of the chat_id.")] = None,
    include_archived: bool | None = None,
    limit: Annotated[int | None, Field(ge=1, le=1_000)] = None,
) -> ConversationResult:
    """Keep what is said: append important turns; the first starts the session's conversation. end it when the work is
    done, which makes a summary, hand-off, decisions and lessons. idle and archive only change its status.

    Example: {"action": "append", "messages": [{"role": "assistant", "content": "We decided to use SQLite."}]}
    """
    checked(
        {**CONVERSATION, **UNLISTED_CONVERSATION},
        action,
        conversation=conversation,
        messages=messages,
        channel=channel,
        chat_id=chat_id,
        model_id=model_id,
        participants=participants,
        resume=resume,
        include_archived=include_archived,
        limit=limit,
    )
    if action == "start":
        begun = (
            request_context()
            .writing()
            .conversations.start(channel, chat_id, model_id, participants or (), bool(resume))
        )
        return {"ok": True, "conversation": conversation_view(request_context().begun(begun).info)}
    if action == "list":
        listed = request_context().memory.conversations.list(
            bool(include_archived), channel=channel, chat_id=chat_id, limit=limit or 20
        )
        return {"ok": True, "conversations": [conversation_view(info) for info in listed]}
    if action != "get":
        request_context().writing()
    found = request_context().conversation(conversation, begin=action == "append")
    if action == "get":
        newest = (event for event in found.events(before=sys.maxsize) if event.type.compactable)
        events = [event_view(event) for event in islice(newest, limit or 20)]
        return {"ok": True, "conversation": conversation_view(found.info), "events": events[::-1]}
    result: ConversationResult = {"ok": True}
    if action == "append":
        result["appended"] = len(found.extend(dict(message) for message in messages or ()))
    elif action == "idle":
        found.idle()
    elif action == "archive":
        found.archive()
    else:
        ended = found.end()
        result["decisions"] = [entry.content for entry in ended.decisions]
        result["lessons"] = [entry.content for entry in ended.lessons]
    result["conversation"] = conversation_view(found.info)
    request_context().left(found)
    return result


def scratchpad(
    action: Literal["write", "clear", "read", "list"],
    key: Line | None = None,
    value: Annotated[Json, Field(description="Any JSON but null.")] = None,
    conversation: ConversationRef | None = None,
    owner: Annotated[Line | None, Field(description="If you only take part.")] = None,
) -> ScratchpadResult:
    """Temporary values of this conversation: a plan, the current step. clear removes one key or all, `memory_read`
    reads them. What should last belongs in `memory`.

    Example: {"action": "write", "key": "plan", "value": ["read the log", "fix the test"]}
    """
    checked({**SCRATCHPAD, **UNLISTED_SCRATCHPAD}, action, key=key, value=value, conversation=conversation, owner=owner)
    pad, ref = _pad(conversation, owner, begin=action == "write")
    result: ScratchpadResult = {"ok": True, "conversation": ref}
    if action == "list":
        return {**result, "values": dict(pad)}
    if action == "read":
        if key not in pad:
            raise NotFound(f"the scratchpad of {ref} has no key {key!r}; it has {', '.join(map(repr, pad)) or 'none'}")
        return {**result, "key": str(key), "value": pad[str(key)]}
    request_context().writing()
    if action == "write":
        pad[str(key)] = value
        return {**result, "key": str(key)}
    if key is None:
        count = len(pad)
        pad.clear()
        return {**result, "cleared": count}
    return {**result, "key": key, "cleared": int(pad.pop(key, _ABSENT) is not _ABSENT)}


def memory_compact(
    conversation: ConversationRef | None = None,
    lane: Annotated[Literal["edge", "core"], Field(description="edge: with the user; core: background.")] = "edge",
) -> CompactResult:
    """Fold the older part of the conversation into a summary now; seldom needed, as it happens by itself. Nothing is
    lost: the turns can still be found.

    Example: {}
    """
    request_context().writing()
    found = request_context().conversation(conversation)
    done = store_tools.compact(found, lane)
    return {"ok": True, "started": done["started"], "folded": done["folded"], "conversation": found.ref_code}


_ABSENT: Any = object()


def _pad(conversation: str | None, owner: str | None, *, begin: bool) -> tuple[Scratchpad, str]:
    """Return a scratchpad and the name of its conversation; for another owner that is the name the caller gave."""
    mem = request_context().memory
    if owner is not None and owner != mem.agent:
        if conversation is None:
            raise Invalid(f"which conversation of {owner!r}? Pass the `conversation` that you take part in")
        return mem.conversations.scratchpad(conversation, owner), conversation
    found = request_context().conversation(conversation, begin=begin)
    return found.scratchpad, found.ref_code


TOOLS: list[Tool] = [
    tool(conversation, title="Keep conversations", actions=CONVERSATION, destroys=True),  # `end` clears its entries
    tool(scratchpad, title="Temporary values", actions=SCRATCHPAD, destroys=True, repeats=True),
    tool(memory_compact, title="Shorten the conversation"),
]
