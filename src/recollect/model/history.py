"""Channels, conversations and the events of the journal. Frozen values; no I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from recollect.model.entry import Entry, Origin
from recollect.model.working import SummaryDocument

__all__ = [
    "Channel",
    "Compacted",
    "ConversationHandle",
    "ConversationInfo",
    "Ended",
    "Event",
    "EventType",
    "Lane",
    "Loaded",
    "Marker",
    "PayloadRow",
    "Recovery",
    "SavedView",
    "Status",
    "Turn",
    "opening_line",
    "reference",
]

TITLE = 80
"""Maximum length of a title that is made from a text."""
_PLACEHOLDER = re.compile(r"\[[^\[\]]*\]")


class Status(StrEnum):
    """State of a conversation. Transitions: active to idle to archived, or active directly to archived."""

    ACTIVE = "active"
    IDLE = "idle"
    ARCHIVED = "archived"


class Lane(StrEnum):
    """A view of a conversation with its own prompt: `edge` talks to the user, `core` works in the background."""

    EDGE = "edge"
    CORE = "core"


class EventType(StrEnum):
    """Type of an event."""

    USER = "UserMsg"
    MODEL = "ModelOutput"
    TOOL = "ToolResultCommitted"
    INSTRUCTION = "InjectedInstruction"
    JOB = "CoreJobStart"
    MARKER = "CompactMarker"

    @property
    def role(self) -> str:
        """The role of the event's message in a prompt."""
        return _ROLES[self]

    @property
    def compactable(self) -> bool:
        """Whether a compaction may replace the event by a summary."""
        return self in (EventType.USER, EventType.MODEL, EventType.TOOL)


_ORIGINS = {EventType.USER: Origin.USER, EventType.TOOL: Origin.TOOL}
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
    """One session of an agent in a channel, as of when it was read. Times are UTC milliseconds."""

    id: str
    ref_code: str
    """Short identifier of eleven characters, for links and for display."""
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
    """`model`, `fallback` if no model was available or it failed, or `import`."""
    title: str = ""
    """The title that it was imported with, else the beginning of the first message of the user; empty without one."""

    @property
    def label(self) -> str:
        """The title, or a description if it has none, for lists that people read."""
        return self.title or ("no message of a user yet" if self.status is Status.ACTIVE else "no message of a user")

    @property
    def cursor(self) -> str:
        """The pagination cursor that follows it in a list."""
        return f"{self.started_at}-{self.id}"


class ConversationHandle(Protocol):
    """What stands for a conversation where an id or ref code is expected: any `Conversation` or `ConversationInfo`."""

    @property
    def id(self) -> str:
        """The id of the conversation."""

    @property
    def ref_code(self) -> str:
        """The ref code of the conversation."""


def opening_line(text: str) -> str:
    """Return the first line of a text, shortened, as a title. A line such as `[image]` counts only without another."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    title = next((line for line in lines if not _PLACEHOLDER.fullmatch(line)), lines[0] if lines else "")
    return title if len(title) <= TITLE else f"{title[:TITLE].rpartition(' ')[0] or title[:TITLE]}…"


def reference(conversation: ConversationHandle | str | None) -> str | None:
    """Return the id of a conversation; an id or ref code is returned unchanged."""
    if conversation is None or isinstance(conversation, str):
        return conversation
    given: Any = conversation
    found: str = getattr(given, "id", given)  # any other value is rejected where it is used
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A committed event of a conversation. `seq` is its sequence number in the agent's journal, assigned on append.

    The hash covers every field except `seq`, and the hash of the previous event of the conversation. An erased event
    keeps its hashes and has no content.
    """

    type: EventType
    content: str
    lane: Lane = Lane.EDGE
    speaker: str | None = None
    """Name of the speaker, if the role is not specific enough."""
    tool_calls: Sequence[Mapping[str, Any]] = ()
    """Tool calls of a model, in the format of OpenAI's messages."""
    tool_call_id: str | None = None
    """The tool call that a tool's result answers."""
    internal: bool = False
    """Excluded from checkpoints, hand-offs and search, because it is not part of the dialogue."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    """Additional JSON data."""
    created_at: int | None = None
    seq: int = 0
    id: str = ""
    conversation_id: str = ""
    hash: str = ""
    previous: str = ""
    erased_at: int | None = None
    """When its text was erased; of a compaction marker, when it was rewritten because it quoted an erased event."""

    @property
    def role(self) -> str:
        """The role of the event's message in a prompt."""
        return self.type.role

    @property
    def origin(self) -> Origin:
        """Who said it: the user, the agent or a tool. An `origin` in the payload counts if it is less trusted."""
        own = _ORIGINS.get(self.type, Origin.AGENT)
        stated = self.payload.get("origin")
        if stated is None:
            return own
        return Origin.least_trusted((own, Origin(stated))) if stated in tuple(Origin) else own

    @property
    def called(self) -> list[str]:
        """The tool calls as text, each with its arguments."""
        functions = [call["function"] for call in self.tool_calls]
        return [f"[called {function['name']}({function['arguments']})]" for function in functions]

    @property
    def is_message(self) -> bool:
        """Whether it is a non-blank, non-internal message of a user or a model."""
        return self.type in (EventType.USER, EventType.MODEL) and bool(self.content.strip()) and not self.internal


PayloadRow = tuple[int, int | None, str | None, str | None, str]
"""Sequence number, `erased_at`, type, content and payload (JSON) of an event; type and content are None if it has a
payload. For programs that read thousands of payloads: building an `Event` takes several times as long.
"""


@dataclass(frozen=True, slots=True)
class SavedView:
    """The messages that a saved conversation includes. `spans` is None if it was never saved: all of them."""

    spans: tuple[tuple[int, int], ...] | None = None
    """First and last sequence number of each run of messages, both inclusive."""
    upto: int = 0
    """Messages after this event are included as well."""
    shown_from: int = 0
    """Messages before this event were trimmed: included, but not loaded."""
    saved_at: int | None = None

    def holds(self, event: Event) -> bool:
        """Return whether the view includes an event; an event that is not a message is always included."""
        if self.spans is None or event.seq > self.upto or not event.is_message:
            return True
        return any(first <= event.seq <= last for first, last in self.spans)

    def loads(self, event: Event) -> bool:
        """Return whether the view includes an event and did not trim it."""
        return event.seq >= self.shown_from and self.holds(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Record of a compaction in the journal: the archive that replaces the events up to the boundary.

    `kept` are the events up to the boundary that it does not replace, because they stay in the window.
    """

    archive_name: str
    archived_at: int
    boundary: int
    kept: tuple[int, ...] = ()
    folded: int = 0
    """Number of events that the archive replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """Result of a compaction: the archive and the number of events it replaces."""

    archive_name: str
    folded: int
    by: str
    """`model`, or `fallback` if no model was available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """State of an agent when it stopped: the last messages, and the summaries that replace earlier ones."""

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
    """The messages of a conversation as last saved."""

    events: tuple[Event, ...]
    saved_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A hit of a conversation search: an event, its conversation, and the events around it."""

    event: Event
    conversation: ConversationInfo
    score: float
    snippet: str
    before: tuple[Event, ...] = ()
    after: tuple[Event, ...] = ()
    confidence: float = 0.0
    """Confidence of the search, the same for all its hits: the probability that its first ten hits hold an answer.
    `Conversation.find` does not set it."""

    @property
    def speaker(self) -> str:
        """The speaker's name if given, else the role."""
        return self.event.speaker or self.event.role


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Result of ending a conversation."""

    conversation: ConversationInfo
    summary: str
    by: str
    handoff: Entry | None = None
    decisions: tuple[Entry, ...] = ()
    lessons: tuple[Entry, ...] = ()
    chunks: int = 0
    cleared: int = 0
    """Number of entries with conversation scope that were moved to the trash."""
    aged: tuple[str, ...] = ()
    """Conversations that moved to long-term memory."""
