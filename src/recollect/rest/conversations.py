"""Channels and conversations over HTTP: the journal, working memory, and how a conversation ends."""

import sys
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Body as Carried
from pydantic import BaseModel, Discriminator, Field, JsonValue
from pydantic import Tag as Choice

from recollect.conversation import Conversation
from recollect.model.history import (
    Channel,
    Compacted,
    ConversationInfo,
    Ended,
    Event,
    EventType,
    Lane,
    Recovery,
    Turn,
)
from recollect.model.report import Receipt
from recollect.model.working import SummaryDocument
from recollect.rest.caller import AgentName, Caller, Reader, Writer
from recollect.rest.idempotency import Route
from recollect.rest.types import (
    FIRST_ERROR,
    KEYS,
    LINES,
    Body,
    BodyMoment,
    FewKeys,
    HitLimit,
    InPath,
    Page,
    PageLimit,
    QueryMoment,
    QueryText,
    ShortText,
    StrictBool,
    StrictNumber,
    json_response,
    page,
    short_tag,
)
from recollect.rest.vault import redacted

__all__ = [
    "ConversationQuery",
    "ConversationSearch",
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
    "OldFact",
    "Prompt",
    "PromptContext",
    "Ref",
    "SavedMessage",
    "SavedMessages",
    "ShortToolCall",
    "Skill",
    "SummaryChange",
    "ToolCall",
    "ToolFunction",
    "ToolResult",
    "UserMsg",
    "WrappedDelta",
    "router",
]

router = APIRouter(prefix="/v1", tags=["conversations"], route_class=Route)

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


# What is sent


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


# Which conversation


def _readable(ref: Ref, caller: Reader) -> Conversation:
    return caller.memory.conversations.get(ref)


def _writable(ref: Ref, caller: Writer) -> Conversation:
    return caller.memory.conversations.get(ref)


DryRun = Annotated[bool, Query(description="Change nothing; return what would be removed and rewritten.")]
ReadableConversation = Annotated[Conversation, Depends(_readable)]
WritableConversation = Annotated[Conversation, Depends(_writable)]


# Channels


@router.get("/channels", tags=["channels"])
def channels(caller: Reader) -> Page[Channel]:
    """The channels of the workspace, oldest first."""
    return Page(items=caller.memory.channels.list())


@router.post("/channels", status_code=201, tags=["channels"])
def create_channel(new: NewChannel, caller: Writer) -> Channel:
    """Create a channel."""
    return caller.memory.channels.create(new.name, new.description)


# Conversations


@router.get("/conversations")
def conversations(
    caller: Reader,
    include_archived: bool = False,
    channel: Annotated[ShortText | None, Query()] = None,
    chat_id: Annotated[ShortText | None, Query()] = None,
    limit: PageLimit = 100,
    cursor: ListCursor = None,
) -> Page[ConversationInfo]:
    """Conversations, newest first; archived ones only on request."""
    found = caller.memory.conversations.list(
        include_archived, channel=channel, chat_id=chat_id, limit=limit, before=cursor
    )
    return page(found, limit, found[-1].cursor if found else None)


@router.post("/conversations", status_code=201)
def start(new: NewConversation, caller: Writer, response: Response) -> ConversationInfo:
    """Start a conversation. Stale conversations are ended first."""
    info = caller.memory.conversations.start(**dict(new)).info
    response.headers["Location"] = f"/v1/conversations/{info.ref_code}"
    return info


@router.get("/conversations/search")
def search(
    q: SearchQuery,
    caller: Reader,
    *,
    limit: HitLimit = 10,
    unit: Literal["turn", "conversation"] = "turn",
    target_agent: Annotated[AgentName | None, Query(description="Search another agent's past conversations.")] = None,
    channel: Annotated[ShortText | None, Query()] = None,
    since: Annotated[QueryMoment | None, Query()] = None,
    until: Annotated[QueryMoment | None, Query()] = None,
    meaning: Annotated[bool, Query(description="Whether to search by vectors as well as by words.")] = True,
    min_confidence: Annotated[float, Query(ge=0, le=1)] = 0.0,
) -> list[Turn]:
    """Search the turns of conversations; best first, or the best of each conversation."""
    caller.others(target_agent)
    found = caller.memory.conversations.search(
        q,
        limit=limit,
        unit=unit,
        target_agent=target_agent,
        channel=channel,
        since=since,
        until=until,
        meaning=meaning,
        min_confidence=min_confidence,
    )
    return list(found)


@router.post("/conversations/search")
def search_at_length(wanted: ConversationSearch, caller: Reader) -> list[Turn]:
    """The same for queries that are too long for a URL."""
    caller.others(wanted.target_agent)
    return list(caller.memory.conversations.search(**dict(wanted)))


@router.post("/conversations/end-stale")
def end_stale(caller: Writer) -> list[Ended]:
    """End stale conversations: those without events for the configured time."""
    return list(caller.memory.conversations.end_stale())


@router.get("/events")
def journal(
    caller: Reader,
    after: Annotated[
        int, Query(ge=0, le=sys.maxsize, description="Sequence number of the last event that the caller has.")
    ] = 0,
    limit: PageLimit = 100,
) -> Page[Event]:
    """The events of all conversations of the agent, in order. Pass `next` as `after` for the next page."""
    found = caller.memory.conversations.journal(after, limit=limit)
    return page(found, limit, str(found[-1].seq) if found else None)


@router.get("/events/last")
def last_event(caller: Reader) -> LastEvent:
    """The sequence number of the last event, 0 if there is none. Cheap enough to poll."""
    return LastEvent(seq=caller.memory.conversations.last_event())


@router.get("/recovery")
def recovery(caller: Reader) -> Recovery | None:
    """The last messages and summaries of an interrupted session; null after seven days."""
    return caller.memory.recover()


@router.get("/conversations/{ref}/detail")
def detail(
    ref: Ref,
    caller: Reader,
    target_agent: Annotated[
        AgentName | None, Query(description="The agent of the conversation; default: the caller's.")
    ] = None,
    limit: Annotated[int, Query(ge=0, le=100_000)] = 10_000,
    after: Annotated[
        int, Query(ge=0, le=sys.maxsize, description="Sequence number before the first event to return.")
    ] = 0,
) -> list[Event]:
    """All events of a conversation; of another agent only if the conversation has ended."""
    caller.others(target_agent)
    return list(caller.memory.conversations.detail(ref, target_agent=target_agent, limit=limit, after=after))


@router.get("/conversations/{ref}")
def get(conversation: ReadableConversation) -> ConversationInfo:
    """A conversation without its events."""
    return conversation.info


@router.delete("/conversations/{ref}")
def erase(
    request: Request,
    ref: Ref,
    caller: Writer,
    erase: Annotated[Literal["true"], Query(description="Must be `true`: a conversation is erased or kept.")],
    dry_run: DryRun = False,
) -> Receipt:
    """Erase all events of a conversation and everything that was made from them. Tombstones stay in the journal."""
    return _shown(request, caller, caller.memory.conversations.erase(ref, dry_run=dry_run))


def _shown(request: Request, caller: Caller, receipt: Receipt) -> Receipt:
    return replace(receipt, remaining=tuple(redacted(request, caller, receipt.remaining)))


# The journal


@router.get("/conversations/{ref}/events")
def events(
    conversation: ReadableConversation,
    after: Annotated[
        int, Query(ge=0, le=sys.maxsize, description="Sequence number before the first event to return.")
    ] = 0,
    before: Annotated[
        int | None, Query(ge=0, le=sys.maxsize, description="Backwards: events before this sequence number.")
    ] = None,
    limit: PageLimit = 100,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}$", description="`next` of the previous page.")] = None,
) -> Page[Event]:
    """Events in order; with `before`, newest first from the event before that number."""
    place = None if cursor is None else int(cursor)
    if before is None:
        found = list(conversation.events(after if place is None else place, limit=limit))
    else:
        found = list(conversation.events(after or None, before=before if place is None else place, limit=limit))
    return page(found, limit, str(found[-1].seq) if found else None)


@router.post(
    "/conversations/{ref}/events",
    status_code=201,
    response_model=list[Event],
    responses={200: {"model": list[Event], "description": "Nothing of it was new."}},
)
def append(conversation: WritableConversation, sent: Annotated[AppendBody, Carried()]) -> Response:
    """Append an event, several, or the new ones of a list of messages. The write is durable when the response is sent.

    A client may send its whole list of messages again and again: what is known already is not appended twice.
    """
    if isinstance(sent, SavedMessages):
        added = conversation.extend([one.model_dump(exclude_unset=True) for one in sent.messages], lane=sent.lane)
        return json_response(added, 201 if added else 200)
    events = sent if isinstance(sent, list) else [sent]
    # The payload is plain JSON already: dumping it would only copy it.
    return json_response(
        conversation.append([Event(**one.model_dump(exclude={"payload"}), payload=one.payload) for one in events]), 201
    )


@router.get("/conversations/{ref}/events/{hash}")
def event(conversation: ReadableConversation, hash: InPath) -> Event:
    """One event, by its hash."""
    return conversation.event(hash)


@router.delete("/conversations/{ref}/events/{hash}")
def erase_event(
    request: Request, conversation: WritableConversation, caller: Writer, hash: InPath, dry_run: DryRun = False
) -> Receipt:
    """Erase one event, by its hash, and everything that was made from it.

    The event stays as a tombstone with its number and hashes, so that the hash chain still proves the others.
    """
    return _shown(request, caller, conversation.erase(hash, dry_run=dry_run))


@router.get("/conversations/{ref}/find")
def find(conversation: ReadableConversation, q: SearchQuery, limit: HitLimit = 10) -> list[Turn]:
    """Search the turns of this conversation by words, best first."""
    return conversation.find(q, limit=limit)


@router.post("/conversations/{ref}/find")
def find_at_length(conversation: ReadableConversation, wanted: ConversationQuery) -> list[Turn]:
    """The same for queries that are too long for a URL."""
    return conversation.find(wanted.query, limit=wanted.limit)


# Working memory


@router.get("/conversations/{ref}/window")
def window(conversation: ReadableConversation, lane: Lane = Lane.EDGE) -> list[Event]:
    """The window of a lane: events that are not compacted."""
    return conversation.window(lane)


@router.post("/conversations/{ref}/messages")
def messages(conversation: ReadableConversation, prompt: Prompt | None = None) -> list[dict[str, Any]]:
    """The prompt of a lane as OpenAI messages."""
    given = prompt or Prompt()
    return conversation.messages(
        given.lane,
        instructions=given.instructions,
        skills=[one.model_dump() for one in given.skills],
        identity=given.identity,
        context=given.context,
    )


@router.get("/conversations/{ref}/replay")
def replay(conversation: ReadableConversation, lane: Lane = Lane.EDGE) -> list[dict[str, Any]]:
    """The latest archive of a lane, then its window."""
    return conversation.replay(lane)


@router.get("/conversations/{ref}/summary")
def summary(conversation: ReadableConversation, lane: Lane = Lane.EDGE) -> SummaryDocument:
    """The summary document of a lane, which covers the events that left its window."""
    return conversation.summary(lane)


@router.post("/conversations/{ref}/summary/delta")
def apply_delta(conversation: WritableConversation, change: SummaryChange) -> SummaryDocument:
    """Change a summary document. An invalid delta changes nothing."""
    return conversation.apply_delta(change.lane, change.delta.model_dump(exclude_unset=True))


@router.post("/conversations/{ref}/compact")
def compact(conversation: WritableConversation, which: LaneBody | None = None) -> Compacted | None:
    """Compact a lane: archive the events before the newest user message. Null if there is nothing to compact."""
    return conversation.compact((which or LaneBody()).lane)


@router.post("/conversations/{ref}/checkpoint", status_code=204)
def checkpoint(conversation: WritableConversation) -> None:
    """Save a checkpoint, which /v1/recovery returns for seven days."""
    conversation.checkpoint()


@router.get("/conversations/{ref}/checkpoint")
def saved(conversation: ReadableConversation) -> Recovery | None:
    """The checkpoint of the conversation: its last messages and summaries; null if there is none."""
    return conversation.saved


# Its life


@router.post("/conversations/{ref}/idle", status_code=204)
def idle(conversation: WritableConversation) -> None:
    """Mark the conversation as ended without running the ending."""
    conversation.idle()


@router.post("/conversations/{ref}/archive", status_code=204)
def archive(conversation: WritableConversation) -> None:
    """Archive the conversation: default lists no longer show it."""
    conversation.archive()


@router.post("/conversations/{ref}/end")
def end(conversation: WritableConversation) -> Ended:
    """End the conversation: store summary, hand-off, decisions, lessons and chunks; clear its own entries."""
    return conversation.end()
