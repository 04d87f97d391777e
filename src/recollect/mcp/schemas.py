"""Types of the tools' arguments and results, from which their schemas are derived. No result contains a score."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, cast, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from recollect.clock import iso
from recollect.model.entry import Entry
from recollect.model.fields import LINE_LENGTH, Text, Words, limits_of, nullable
from recollect.model.history import ConversationInfo, Event
from recollect.model.operation import Revision
from recollect.model.recall import Hit
from recollect.model.reminder import Reminder
from recollect.model.review import ReviewPair

__all__ = [
    "STRICT",
    "AsOf",
    "CategoryName",
    "ChangeView",
    "ConversationRef",
    "ConversationView",
    "EntryRef",
    "EventView",
    "HitView",
    "Importance",
    "IncludePast",
    "LifetimeName",
    "Line",
    "LongText",
    "MessageInput",
    "NoteView",
    "OriginName",
    "PairView",
    "ReminderView",
    "ScopeName",
    "Tag",
    "TagList",
    "ToolLimit",
    "change_view",
    "conversation_view",
    "event_view",
    "hit_views",
    "note_view",
    "pair_view",
    "reminder_view",
]

STRICT = ConfigDict(extra="forbid")
_LIMITS = limits_of(Entry)
_CONTENT, _TAGS = cast(Text, _LIMITS["content"]), cast(Words, _LIMITS["tags"])

Line = Annotated[str, Field(min_length=1, max_length=LINE_LENGTH)]
"""A single line, such as a name."""
LongText = Annotated[str, Field(min_length=1, max_length=_CONTENT.size)]
"""Text of any number of lines."""
Tag = Annotated[str, Field(min_length=1, max_length=_TAGS.length)]
TagList = Annotated[list[Tag], Field(max_length=_TAGS.count)]
ConversationRef = Annotated[Line, Field(description="Default: this session's.")]
OriginName = Literal["user", "agent", "tool", "external"]
AsOf = Annotated[Line, Field(description="What held on this date.")]
IncludePast = Annotated[bool, Field(description="Also what no longer holds.")]
EntryRef = Annotated[Line, Field(description="Name, alias or id.")]
CategoryName = Literal["decisions", "lessons", "tasks", "projects", "handoffs"]
ScopeName = Literal["conversation", "channel", "workspace", "account"]
LifetimeName = Literal["conversation", "short_term", "mid_term", "long_term"]
Importance = Annotated[float, Field(ge=0, le=1)]
ToolLimit = Annotated[int, Field(ge=1, le=100)]


@with_config(STRICT)
class MessageInput(TypedDict):
    """Something that was said in a conversation."""

    role: Literal["user", "assistant"]
    content: LongText
    name: NotRequired[Line]


@with_config(STRICT)
class HitView(TypedDict):
    """A memory that was recalled."""

    id: str
    name: NotRequired[str]
    content: str
    tags: list[str]
    category: NotRequired[str]
    created_at: str
    origin: str
    state: NotRequired[str]
    since: NotRequired[str]
    until: NotRequired[str]
    similar: NotRequired[Annotated[list[str], Field(description="Ids of near but different ones that are not shown.")]]


_FIRST = (
    "id name aliases content tags context kind category scope lifetime importance source origin created_at updated_at"
)
_INTERNAL = (
    "seq concept_tags conversation_id channel_id first_event last_event accessed_at access_count content_hash "
    "validity_inferred evidence vault_id front_matter"
)
_VIEWED = (*_FIRST.split(), *(one.name for one in fields(Entry) if one.name not in f"{_FIRST} {_INTERNAL}".split()))
"""The fields of an entry that a model sees, in their order."""
_OPTIONAL = {*nullable(Entry), "aliases"}
"""Fields that are left out if they are empty."""
_HINTS = get_type_hints(Entry)
_TIMES = {name for name in _VIEWED if int in (_HINTS[name], *get_args(_HINTS[name]))}
"""Whole numbers, all of which are times."""


def _viewed_type(name: str) -> Any:
    """Return the type in which a model sees a field of an entry; times and members of an enumeration are text."""
    hint = _HINTS[name]
    seen: Any = list[str] if get_origin(hint) is tuple else hint if hint in (float, bool) else str
    return NotRequired[seen] if name in _OPTIONAL else seen


if TYPE_CHECKING:
    NoteView = dict[str, Any]
else:
    NoteView = with_config(STRICT)(TypedDict("NoteView", {name: _viewed_type(name) for name in _VIEWED}))
    NoteView.__doc__ = "An entry with everything that is known about it."


@with_config(STRICT)
class PairView(TypedDict):
    """Two notes that may not both hold."""

    id: str
    kind: str
    reason: str
    newer: str
    newer_at: str
    older: str
    older_at: str


@with_config(STRICT)
class ChangeView(TypedDict):
    """One thing that was done to an entry."""

    at: str
    by: str
    operation: str
    before: dict[str, Any]
    after: dict[str, Any]


@with_config(STRICT)
class ConversationView(TypedDict):
    """A conversation."""

    ref_code: str
    id: str
    title: NotRequired[str]
    status: str
    channel: str
    started_at: str
    ended_at: NotRequired[str]
    chat_id: NotRequired[str]
    model_id: NotRequired[str]
    participants: NotRequired[list[str]]
    summary: NotRequired[str]


@with_config(STRICT)
class EventView(TypedDict):
    """Something that happened in a conversation."""

    hash: str
    role: str
    speaker: NotRequired[str]
    content: str
    at: str


@with_config(STRICT)
class ReminderView(TypedDict):
    """A reminder."""

    id: str
    message: str
    due_at: str
    delivered_at: NotRequired[str]
    recipient: NotRequired[str]
    plugin: NotRequired[str]
    session_id: NotRequired[str]


def hit_views(hits: Sequence[Hit], *, past: bool = False) -> list[HitView]:
    """Convert hits; similar entries are listed only if they are not results themselves.

    With `past`, each says whether and when it holds.
    """
    shown = {hit.entry.id for hit in hits}
    found = []
    for hit in hits:
        entry = hit.entry
        one: HitView = {
            "id": entry.id,
            "content": entry.content,
            "tags": [*entry.tags],
            "created_at": iso(entry.created_at),
            "origin": str(entry.origin),
        }
        if entry.name:
            one["name"] = entry.name
        if entry.category:
            one["category"] = str(entry.category)
        if others := [entry_id for entry_id in hit.similar if entry_id not in shown]:
            one["similar"] = others
        if past:
            one["state"] = str(hit.state)
            one["since"] = iso(entry.valid_from or entry.created_at)
            if entry.valid_until is not None:
                one["until"] = iso(entry.valid_until)
        found.append(one)
    return found


def pair_view(pair: ReviewPair) -> PairView:
    """Convert a pair for review."""
    return {
        "id": pair.id,
        "kind": str(pair.kind),
        "reason": pair.reason,
        "newer": pair.newer.content,
        "newer_at": iso(pair.newer.created_at),
        "older": pair.older.content,
        "older_at": iso(pair.older.created_at),
    }


def note_view(entry: Entry) -> NoteView:
    """Convert an entry."""
    made: NoteView = {}
    for name in _VIEWED:
        value = getattr(entry, name)
        if name in _OPTIONAL and value in (None, "", ()):
            continue
        made[name] = iso(value) if name in _TIMES else [*value] if isinstance(value, tuple) else value
    return made


def reminder_view(one: Reminder) -> ReminderView:
    """Convert a reminder."""
    made: ReminderView = {"id": one.id, "message": one.message, "due_at": iso(one.due_at)}
    if one.delivered_at is not None:
        made["delivered_at"] = iso(one.delivered_at)
    if one.recipient:
        made["recipient"] = one.recipient
    if one.plugin:
        made["plugin"] = one.plugin
    if one.session_id:
        made["session_id"] = one.session_id
    return made


def change_view(revision: Revision) -> ChangeView:
    """Convert a row of the operation log."""
    return {
        "at": iso(revision.at),
        "by": revision.actor,
        "operation": revision.operation,
        "before": dict(revision.before),
        "after": dict(revision.after),
    }


def conversation_view(info: ConversationInfo) -> ConversationView:
    """Convert the description of a conversation."""
    made: ConversationView = {
        "ref_code": info.ref_code,
        "id": info.id,
        "status": str(info.status),
        "channel": info.channel_id,
        "started_at": iso(info.started_at),
    }
    if info.title:
        made["title"] = info.title
    if info.ended_at is not None:
        made["ended_at"] = iso(info.ended_at)
    if info.chat_id:
        made["chat_id"] = info.chat_id
    if info.model_id:
        made["model_id"] = info.model_id
    if info.participants:
        made["participants"] = [*info.participants]
    if info.closing_summary:
        made["summary"] = info.closing_summary
    return made


def event_view(event: Event) -> EventView:
    """Convert an event."""
    made: EventView = {
        "hash": event.hash[:12],
        "role": event.role,
        "content": event.content,
        "at": iso(event.created_at or 0),
    }
    if event.speaker:
        made["speaker"] = event.speaker
    return made
