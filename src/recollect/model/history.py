"""What happened: channels, conversations and the events of the journal. Frozen values; nothing here reads or writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from recollect.model.entry import Entry
from recollect.model.working import SummaryDocument

__all__ = [
    "Channel",
    "Compacted",
    "ConversationInfo",
    "Ended",
    "Event",
    "EventType",
    "Lane",
    "Loaded",
    "Marker",
    "Recovery",
    "SavedView",
    "Status",
    "Turn",
]


class Status(StrEnum):
    """Where a conversation stands. It goes from active to idle to archived, or from active straight to archived."""

    ACTIVE = "active"
    IDLE = "idle"
    ARCHIVED = "archived"


class Lane(StrEnum):
    """A view of a conversation with its own prompt: `edge` talks with the user, `core` works in the background."""

    EDGE = "edge"
    CORE = "core"


class EventType(StrEnum):
    """What kind of thing happened."""

    USER = "UserMsg"
    MODEL = "ModelOutput"
    TOOL = "ToolResultCommitted"
    INSTRUCTION = "InjectedInstruction"
    JOB = "CoreJobStart"
    MARKER = "CompactMarker"

    @property
    def role(self) -> str:
        """The role of its message in a prompt."""
        return _ROLES[self]

    @property
    def compactable(self) -> bool:
        """Whether a summary may stand for it."""
        return self in (EventType.USER, EventType.MODEL, EventType.TOOL)


_ROLES = {
    EventType.USER: "user",
    EventType.MODEL: "assistant",
    EventType.TOOL: "tool",
    EventType.INSTRUCTION: "system",
    EventType.JOB: "system",
    EventType.MARKER: "system",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A topic inside a workspace, shared by its agents. Its name is its id."""

    id: str
    workspace: str
    name: str
    description: str = ""
    is_default: bool = False
    created_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInfo:
    """One session of an agent in a channel, as it was when it was read. Times are UTC milliseconds."""

    id: str
    ref_code: str
    """Eleven characters, for links and for people."""
    channel_id: str
    status: Status
    started_at: int
    ended_at: int | None = None
    chat_id: str | None = None
    model_id: str | None = None
    participants: tuple[str, ...] = ()
    """Other agents that share its scratchpad."""
    closing_summary: str | None = None
    summary_by: str | None = None
    """`model`, or `fallback` where no model was there or it failed."""

    @property
    def cursor(self) -> str:
        """Its place in a list, for the page that comes after it."""
        return f"{self.started_at}-{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One committed thing that happened in a conversation. `seq` is its number in the agent's journal, set on append.

    The hash covers everything but the number, and the hash of the event before it in the conversation.
    """

    type: EventType
    content: str
    lane: Lane = Lane.EDGE
    speaker: str | None = None
    """Who said it, where that is more than the role tells."""
    tool_calls: Sequence[Mapping[str, Any]] = ()
    """What a model asked for, in the form of OpenAI's messages."""
    tool_call_id: str | None = None
    """Which call a tool's result answers."""
    internal: bool = False
    """Left out of checkpoints, hand-offs and search: machinery, not talk."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    """Anything else that belongs to it, as JSON."""
    created_at: int | None = None
    seq: int = 0
    id: str = ""
    conversation_id: str = ""
    hash: str = ""
    previous: str = ""

    @property
    def role(self) -> str:
        """The role of its message in a prompt."""
        return self.type.role

    @property
    def called(self) -> list[str]:
        """Its tool calls as text, each with its arguments."""
        functions = [call["function"] for call in self.tool_calls]
        return [f"[called {function['name']}({function['arguments']})]" for function in functions]

    @property
    def is_message(self) -> bool:
        """Whether it is something that was said by a user or a model, not machinery."""
        return self.type in (EventType.USER, EventType.MODEL) and bool(self.content.strip()) and not self.internal


@dataclass(frozen=True, slots=True)
class SavedView:
    """Which messages of a conversation form its talk. `spans` is None for one that was never saved: all of them."""

    spans: tuple[tuple[int, int], ...] | None = None
    """First and last event number of each run of messages, both inclusive."""
    upto: int = 0
    """Messages after this event belong to the talk as well."""
    shown_from: int = 0
    """Messages before this event were trimmed: part of the talk, but not loaded."""
    saved_at: int | None = None

    def holds(self, event: Event) -> bool:
        """Whether an event is part of the talk; one that is no message always is."""
        if self.spans is None or event.seq > self.upto or not event.is_message:
            return True
        return any(first <= event.seq <= last for first, last in self.spans)

    def loads(self, event: Event) -> bool:
        """Whether an event is part of the talk and was not trimmed."""
        return event.seq >= self.shown_from and self.holds(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What a compaction leaves in the journal: the archive that stands for the events up to the boundary.

    `kept` are those up to the boundary that it does not stand for, because they stay in the window.
    """

    archive_name: str
    archived_at: int
    boundary: int
    kept: tuple[int, ...] = ()
    folded: int = 0
    """How many events the archive stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What a compaction did: how many events an archive now stands for."""

    archive_name: str
    folded: int
    by: str
    """`model`, or `fallback` where no model was there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Where an agent was when it stopped: the last things said, and what stands for those before."""

    conversation: ConversationInfo
    events: tuple[Event, ...]
    summaries: Mapping[str, SummaryDocument]
    """By lane."""
    saved_at: int

    @property
    def messages(self) -> list[dict[str, str]]:
        """The events as plain messages of role `user` or `agent`."""
        return [
            {"role": "user" if event.type is EventType.USER else "agent", "text": event.content}
            for event in self.events
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The messages of a conversation as they were saved last."""

    events: tuple[Event, ...]
    saved_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A hit in the past: an event, its conversation, and what was said around it."""

    event: Event
    conversation: ConversationInfo
    score: float
    snippet: str
    before: tuple[Event, ...] = ()
    after: tuple[Event, ...] = ()

    @property
    def speaker(self) -> str:
        """Who said it: the name that was given, else the role."""
        return self.event.speaker or self.event.role


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What ending a conversation left behind."""

    conversation: ConversationInfo
    summary: str
    by: str
    handoff: Entry | None = None
    decisions: tuple[Entry, ...] = ()
    lessons: tuple[Entry, ...] = ()
    chunks: int = 0
    cleared: int = 0
    """Entries of the conversation's own scope that were cleared away, to the trash."""
    aged: tuple[str, ...] = ()
    """Conversations that moved to long-term memory."""
