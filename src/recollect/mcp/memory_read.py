"""The tool `memory_read`, which shows what is stored and never changes it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, cast

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config

from recollect.mcp.conversations import Json, scratchpad
from recollect.mcp.conversations import conversation as conversation_tool
from recollect.mcp.notes import NoteResult, memory_note
from recollect.mcp.request_context import request_context
from recollect.mcp.schemas import (
    STRICT,
    AsOf,
    CategoryName,
    ConversationRef,
    ConversationView,
    EntryRef,
    EventView,
    Line,
    ReminderView,
    ScopeName,
    Tag,
    ToolLimit,
    reminder_view,
)
from recollect.mcp.tool import Actions, checked, tool

__all__ = ["TOOLS", "ReadResult", "memory_read"]

READ: Actions = {
    "note": (("target",), ()),
    "notes": ((), ("category", "tag", "scope", "as_of", "include_past", "limit", "before")),
    "history": (("target",), ()),
    "links": (("target",), ()),
    "trash": ((), ("limit",)),
    "review": ((), ("limit",)),
    "conversation": ((), ("target", "limit")),
    "conversations": ((), ("include_past", "limit")),
    "scratchpad": ((), ("target", "conversation", "owner")),
    "reminders": ((), ("include_past", "limit")),
    "due_reminders": ((), ("limit",)),
}
NOTE_ACTIONS: Mapping[str, Any] = {
    "note": "show",
    "notes": "list",
    "history": "history",
    "links": "links",
    "trash": "trash",
    "review": "review",
}
"""The action of `memory_note` that reads it."""


@with_config(STRICT)
class ReadResult(NoteResult):
    """What memory_read gives: that of a note, or conversations, values of the scratchpad, or reminders."""

    conversation: NotRequired[ConversationView]
    conversations: NotRequired[list[ConversationView]]
    events: NotRequired[list[EventView]]
    values: NotRequired[dict[str, Json]]
    reminders: NotRequired[list[ReminderView]]


def memory_read(
    what: Literal[
        "note",
        "notes",
        "history",
        "links",
        "trash",
        "review",
        "conversation",
        "conversations",
        "scratchpad",
        "reminders",
        "due_reminders",
    ],
    target: Annotated[
        EntryRef | None, Field(description="Name or id; ref code of a conversation; scratchpad key.")
    ] = None,
    *,
    category: CategoryName | None = None,
    tag: Tag | None = None,
    scope: ScopeName | None = None,
    as_of: AsOf | None = None,
    include_past: Annotated[bool | None, Field(description="Also outdated, archived, delivered.")] = None,
    limit: Annotated[ToolLimit | None, Field(description="Default 20.")] = None,
    before: Annotated[EntryRef | None, Field(description="Last id of the page before.")] = None,
    conversation: ConversationRef | None = None,
    owner: Annotated[Line | None, Field(description="If you only take part.")] = None,
) -> ReadResult:
    """Show what is stored, by name or as a list, newest first. review: pairs of notes that may contradict each other;
    ask the user which one holds. conversation: its last turns. To search use `memory` recall.

    Example: {"what": "notes", "category": "decisions"}
    """
    listing: dict[str, Any] = {"category": category, "tag": tag, "scope": scope, "as_of": as_of, "before": before}
    listing |= {"include_past": include_past, "limit": limit}
    checked(READ, what, target=target, conversation=conversation, owner=owner, **listing)
    found: Any
    match what:
        case "conversation":
            found = conversation_tool("get", target, limit=limit)
        case "conversations":
            found = conversation_tool("list", include_archived=include_past, limit=limit)
        case "scratchpad":
            found = {"ok": True, "values": _values(target, conversation, owner)}
        case "reminders":
            listed = request_context().memory.reminders.list(include_delivered=bool(include_past), limit=limit or 20)
            found = {"ok": True, "reminders": [reminder_view(one) for one in listed]}
        case "due_reminders":
            due = request_context().memory.reminders.due(limit or 20)
            found = {"ok": True, "reminders": [reminder_view(one) for one in due]}
        case _:
            found = memory_note(NOTE_ACTIONS[what], target, **listing)
    return cast(ReadResult, found)


def _values(key: str | None, conversation: str | None, owner: str | None) -> dict[str, Any]:
    """Return one value of a scratchpad by its key, or all of them."""
    if key is None:
        return scratchpad("list", conversation=conversation, owner=owner)["values"]
    return {key: scratchpad("read", key, conversation=conversation, owner=owner)["value"]}


TOOLS: list[Tool] = [tool(memory_read, title="Look at what is stored", actions=READ, reads=True)]
