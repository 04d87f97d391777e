"""Bodies and parameters of the routes of conversations."""

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Discriminator, Field, JsonValue
from pydantic import Tag as Choice

from recollect.model.history import (
    EventType,
    Lane,
)
from recollect.rest.caller import AgentName
from recollect.rest.types import (
    FIRST_ERROR,
    KEYS,
    LINES,
    Body,
    BodyMoment,
    FewKeys,
    InPath,
    QueryText,
    ShortText,
    StrictBool,
    StrictNumber,
    short_tag,
)

__all__ = [
    "NO_NUL",
    "AnyEvent",
    "AppendBody",
    "Calls",
    "ConversationQuery",
    "ConversationSearch",
    "EventText",
    "Instruction",
    "JobStart",
    "LaneBody",
    "LastEvent",
    "ListCursor",
    "MemoryDelta",
    "ModelOutput",
    "NewChannel",
    "NewConversation",
    "NewFact",
    "Object",
    "ObjectKey",
    "OldFact",
    "Prompt",
    "PromptContext",
    "Ref",
    "Reference",
    "SavedMessage",
    "SavedMessages",
    "SearchQuery",
    "ShortToolCall",
    "Skill",
    "SpokenText",
    "SummaryChange",
    "ToolCall",
    "ToolFunction",
    "ToolResult",
    "UserMsg",
    "WrappedDelta",
]


NO_NUL = r"^[^\x00]*$"
ListCursor = Annotated[
    str | None, Query(pattern=r"^[0-9]{1,15}-[0-9a-f-]{36}$", description="`next` of the previous page.", max_length=52)
]
"""Cursor of a list: the time and id of the last item, valid even after that item is gone."""
Ref = InPath
"""The id or the ref code of a conversation."""
EventText = Annotated[str, Field(max_length=16_000_000, pattern=NO_NUL)]
SpokenText = Annotated[str, Field(max_length=16_000_000, pattern=LINES, examples=["When do we deploy?"])]
SearchQuery = Annotated[
    str, Query(max_length=4_000, pattern=NO_NUL, description="The query; use POST for a longer one.")
]
ObjectKey = Annotated[str, Field(max_length=1_000)]
Object = Annotated[dict[ObjectKey, JsonValue], Field(max_length=KEYS), FewKeys]
"""Any JSON object."""


class ConversationQuery(Body):
    """A search in one conversation."""

    query: Annotated[QueryText, Field(examples=["when do we deploy?"])]
    limit: Annotated[int, Field(ge=0, le=1_000, description="How many at most."), StrictNumber] = 10


class ConversationSearch(ConversationQuery):
    """A search over conversations."""

    unit: Literal["turn", "conversation"] = "turn"
    target_agent: Annotated[AgentName | None, Field(description="Search another agent's past conversations.")] = None
    channel: ShortText | None = None
    since: BodyMoment | None = None
    until: BodyMoment | None = None
    meaning: Annotated[StrictBool, Field(description="Whether to search by vectors as well as by words.")] = True
    min_confidence: Annotated[float, Field(ge=0, le=1), StrictNumber] = 0.0


class NewChannel(Body):
    """A new channel."""

    name: ShortText
    description: Annotated[str, Field(max_length=100_000, pattern=NO_NUL)] = ""


class NewConversation(Body):
    """A new conversation."""

    channel: Annotated[ShortText | None, Field(description="An existing channel; by default the default channel.")] = (
        None
    )
    chat_id: ShortText | None = None
    model_id: ShortText | None = None
    participants: Annotated[
        list[AgentName], FIRST_ERROR, Field(max_length=100, description="Other agents that may use its scratchpad.")
    ] = Field(default_factory=list)
    resume: Annotated[
        StrictBool, Field(description="Return the active conversation of the chat id, if there is one.")
    ] = False


class ToolFunction(BaseModel):
    """The name and arguments of a tool call."""

    name: ShortText
    arguments: EventText | Object = "{}"


class ToolCall(BaseModel):
    """A tool call in the format of OpenAI messages."""

    id: ShortText
    type: Literal["function"] = "function"
    function: ToolFunction


class ShortToolCall(ToolFunction):
    """A tool call as name and arguments only."""

    id: ShortText


Calls = Annotated[list[ToolCall | ShortToolCall], FIRST_ERROR, Field(max_length=1_000)]


class _EventBody(Body):
    lane: Lane = Lane.EDGE
    speaker: Annotated[ShortText | None, Field(description="The speaker, if the role is not enough.")] = None
    internal: Annotated[
        StrictBool, Field(description="Internal event: excluded from checkpoints, hand-offs and search.")
    ] = False
    payload: Annotated[Object, Field(description="Additional data of the event.")] = Field(default_factory=dict)
    created_at: Annotated[BodyMoment | None, Field(description="Time of the event; default: now.")] = None


class UserMsg(_EventBody):
    """A message of a user."""

    type: Literal[EventType.USER]
    content: SpokenText


class ModelOutput(_EventBody):
    """A message of a model, with its tool calls. Without tool calls its text must not be empty."""

    type: Literal[EventType.MODEL]
    content: EventText
    tool_calls: Calls = Field(default_factory=list)


class ToolResult(_EventBody):
    """The result of a tool call that is in the journal."""

    type: Literal[EventType.TOOL]
    content: EventText
    tool_call_id: ShortText


class Instruction(_EventBody):
    """A system message."""

    type: Literal[EventType.INSTRUCTION]
    content: SpokenText


class JobStart(_EventBody):
    """The start of a job in the lane `core`."""

    type: Literal[EventType.JOB]
    content: SpokenText
    lane: Literal[Lane.CORE] = Lane.CORE


AnyEvent = Annotated[
    UserMsg | ModelOutput | ToolResult | Instruction | JobStart, Field(discriminator="type"), short_tag("type")
]


class SavedMessage(BaseModel):
    """A message in the format of OpenAI, or one with `text`. Other keys are ignored."""

    role: Literal["user", "assistant", "agent", "tool", "system", "developer"]
    content: EventText | Annotated[list[EventText | Object], FIRST_ERROR, Field(max_length=1_000)] | None = None
    text: EventText | None = None
    name: ShortText | None = None
    tool_calls: Calls | None = None
    tool_call_id: ShortText | None = None
    internal: StrictBool = False
    created_at: Annotated[
        BodyMoment | None, Field(description="Time of the message; `timestamp` and `at` are synonyms.")
    ] = None
    timestamp: BodyMoment | None = None
    at: BodyMoment | None = None


class SavedMessages(Body):
    """The messages of a client, all or the last ones. Only new messages are appended."""

    messages: Annotated[list[SavedMessage], FIRST_ERROR, Field(max_length=20_000)]
    lane: Lane = Lane.EDGE


def _sent(value: object) -> str:
    if isinstance(value, list):
        return "events"
    return (
        "messages" if isinstance(value, SavedMessages) or (isinstance(value, dict) and "messages" in value) else "event"
    )


AppendBody = Annotated[
    Annotated[AnyEvent, Choice("event")]
    | Annotated[Annotated[list[AnyEvent], FIRST_ERROR, Field(min_length=1, max_length=10_000)], Choice("events")]
    | Annotated[SavedMessages, Choice("messages")],
    Discriminator(_sent),
]


class Skill(Body):
    """A skill that the prompt offers to the model."""

    name: ShortText
    description: EventText = ""


class PromptContext(BaseModel):
    """A response of /v1/context."""

    text: EventText


class Prompt(Body):
    """The parts of a prompt besides the conversation."""

    lane: Lane = Lane.EDGE
    instructions: EventText | None = None
    skills: Annotated[list[Skill], FIRST_ERROR, Field(max_length=1_000)] = Field(default_factory=list)
    identity: Annotated[
        Annotated[dict[ObjectKey, EventText], Field(max_length=KEYS), FewKeys] | None,
        Field(description="USER.md, SOUL.md, SOUL-CORE.md: text by file name; default: those of the vault."),
    ] = None
    context: EventText | PromptContext | None = None


class LastEvent(BaseModel):
    """The sequence number of the last event."""

    seq: int


class LaneBody(Body):
    """The lane of a request."""

    lane: Lane = Lane.EDGE


class NewFact(Body):
    """A fact to keep verbatim."""

    key: Annotated[ShortText, Field(max_length=200)]
    value: Annotated[str, Field(max_length=1_000, pattern=NO_NUL)]
    source_event: Annotated[str | None, Field(max_length=64, pattern=r"^[0-9a-f]{64}$")] = None


class OldFact(Body):
    """A fact to remove, by its key."""

    key: EventText
    value: Annotated[str, Field(max_length=1_000, pattern=NO_NUL)] | None = None
    source_event: Annotated[str | None, Field(max_length=64, pattern=r"^[0-9a-f]{64}$")] = None


Reference = Annotated[str, Field(max_length=64, pattern=r"^([0-9a-f]{64}|[0-9A-Za-z]{11})$")]


class MemoryDelta(Body):
    """Changes of a summary document. Removals are applied before additions."""

    mode: Literal["append", "overwrite"] = "append"
    summary_update: Annotated[str, Field(max_length=16_000, pattern=NO_NUL)] | None = None
    add_references: Annotated[list[Reference], FIRST_ERROR, Field(max_length=400)] | None = None
    remove_references: Annotated[list[EventText], FIRST_ERROR, Field(max_length=400)] | None = None
    add_fact: Annotated[list[NewFact], FIRST_ERROR, Field(max_length=200)] | NewFact | None = None
    remove_fact: (
        Annotated[list[EventText | OldFact], FIRST_ERROR, Field(max_length=200)] | EventText | OldFact | None
    ) = None


class WrappedDelta(Body):
    """A delta in the form that models write."""

    memory_delta: MemoryDelta


class SummaryChange(LaneBody):
    """A change of a lane's summary document."""

    delta: MemoryDelta | WrappedDelta
