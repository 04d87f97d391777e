"""Channels and conversations over HTTP: the journal, working memory, and how a conversation ends."""

import sys
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
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
from recollect.model.working import SummaryDocument
from recollect.rest.caller import SEGMENT, Reader, Writer
from recollect.rest.idempotency import Route
from recollect.rest.types import (
    FIRST_ERROR,
    KEYS,
    LINES,
    Body,
    FewKeys,
    Hits,
    InPath,
    Limit,
    Moment,
    MomentAsked,
    Number,
    Page,
    Short,
    Truth,
    Words,
    page,
)

__all__ = [
    "Agent",
    "Call",
    "Change",
    "Context",
    "Function",
    "Instruction",
    "JobStart",
    "LastEvent",
    "MemoryDelta",
    "Message",
    "Messages",
    "ModelOutput",
    "NewChannel",
    "NewFact",
    "OfLane",
    "OldFact",
    "Place",
    "Prompt",
    "Question",
    "Ref",
    "Search",
    "ShortCall",
    "Skill",
    "Start",
    "ToolResult",
    "UserMsg",
    "WrappedDelta",
    "router",
]

router = APIRouter(prefix="/v1", tags=["conversations"], route_class=Route)

NO_NUL = r"^[^\x00]*$"
Place = Annotated[
    str | None, Query(pattern=r"^[0-9]{1,15}-[0-9a-f-]{36}$", description="`next` of the page before.", max_length=52)
]
"""Cursor of a list: the time and id of the last item, valid even after that item is gone."""
Ref = InPath
"""The id or the ref code of a conversation."""
Text = Annotated[str, Field(max_length=16_000_000, pattern=NO_NUL)]
Said = Annotated[str, Field(max_length=16_000_000, pattern=LINES, examples=["When do we deploy?"])]
Asked = Annotated[
    str, Query(max_length=4_000, pattern=NO_NUL, description="What to look for; a longer question goes with POST.")
]
Agent = Annotated[str, Field(min_length=1, max_length=64, pattern=SEGMENT, examples=["bob"])]
Key = Annotated[str, Field(max_length=1_000)]
Object = Annotated[dict[Key, JsonValue], Field(max_length=KEYS), FewKeys]
"""Any JSON object."""


# What is sent


class Question(Body):
    """What to look for in a conversation."""

    query: Annotated[Words, Field(examples=["when do we deploy?"])]
    limit: Annotated[int, Field(ge=0, le=1_000, description="How many at most."), Number] = 10


class Search(Question):
    """What to look for, and in which conversations."""

    unit: Literal["turn", "conversation"] = "turn"
    target_agent: Annotated[Agent | None, Field(description="Search another agent's past conversations.")] = None
    channel: Short | None = None
    since: Moment | None = None
    until: Moment | None = None
    meaning: Annotated[Truth, Field(description="Whether vectors count besides words.")] = True


class NewChannel(Body):
    """A new channel."""

    name: Short
    description: Annotated[str, Field(max_length=100_000, pattern=NO_NUL)] = ""


class Start(Body):
    """A new conversation."""

    channel: Annotated[Short | None, Field(description="A channel that there is; else the default one.")] = None
    chat_id: Short | None = None
    model_id: Short | None = None
    participants: Annotated[
        list[Agent], FIRST_ERROR, Field(max_length=100, description="Other agents that may use its scratchpad.")
    ] = Field(default_factory=list)
    resume: Annotated[Truth, Field(description="Give the one of the chat id that still goes on, if there is one.")] = (
        False
    )


class Function(BaseModel):
    """What a model calls, and with what."""

    name: Short
    arguments: Text | Object = "{}"


class Call(BaseModel):
    """A tool call as OpenAI's messages have it."""

    id: Short
    type: Literal["function"] = "function"
    function: Function


class ShortCall(Function):
    """A tool call without the frame."""

    id: Short


Calls = Annotated[list[Call | ShortCall], FIRST_ERROR, Field(max_length=1_000)]


class _Happened(Body):
    lane: Lane = Lane.EDGE
    speaker: Annotated[Short | None, Field(description="Who said it, where that is more than the role tells.")] = None
    internal: Annotated[Truth, Field(description="Machinery: left out of checkpoints, hand-offs and search.")] = False
    payload: Annotated[Object, Field(description="Anything else that belongs to it.")] = Field(default_factory=dict)
    created_at: Annotated[Moment | None, Field(description="When it happened; now, if it is not said.")] = None


class UserMsg(_Happened):
    """What a user said."""

    type: Literal[EventType.USER]
    content: Said


class ModelOutput(_Happened):
    """What a model answered, with the tools that it called. Without calls it says something."""

    type: Literal[EventType.MODEL]
    content: Text
    tool_calls: Calls = Field(default_factory=list)


class ToolResult(_Happened):
    """What a tool returned; its call must be there."""

    type: Literal[EventType.TOOL]
    content: Text
    tool_call_id: Short


class Instruction(_Happened):
    """What the system says in between."""

    type: Literal[EventType.INSTRUCTION]
    content: Said


class JobStart(_Happened):
    """The start of a job in the lane `core`."""

    type: Literal[EventType.JOB]
    content: Said
    lane: Literal[Lane.CORE] = Lane.CORE


Happened = Annotated[UserMsg | ModelOutput | ToolResult | Instruction | JobStart, Field(discriminator="type")]


class Message(BaseModel):
    """A message as OpenAI has it, or one with `text`. What else it holds is left out."""

    role: Literal["user", "assistant", "agent", "tool", "system", "developer"]
    content: Text | Annotated[list[Text | Object], FIRST_ERROR, Field(max_length=1_000)] | None = None
    text: Text | None = None
    name: Short | None = None
    tool_calls: Calls | None = None
    tool_call_id: Short | None = None
    internal: Truth = False
    created_at: Annotated[Moment | None, Field(description="When it was said; `timestamp` and `at` mean the same.")] = (
        None
    )
    timestamp: Moment | None = None
    at: Moment | None = None


class Messages(Body):
    """A talk as its client has it, whole or its end. Only what is new in it is appended."""

    messages: Annotated[list[Message], FIRST_ERROR, Field(max_length=20_000)]
    lane: Lane = Lane.EDGE


def _sent(value: object) -> str:
    if isinstance(value, list):
        return "events"
    return "messages" if isinstance(value, Messages) or (isinstance(value, dict) and "messages" in value) else "event"


Sent = Annotated[
    Annotated[Happened, Choice("event")]
    | Annotated[Annotated[list[Happened], FIRST_ERROR, Field(min_length=1, max_length=10_000)], Choice("events")]
    | Annotated[Messages, Choice("messages")],
    Discriminator(_sent),
]


class Skill(Body):
    """Something that a model is told it can do."""

    name: Short
    description: Text = ""


class Context(BaseModel):
    """What /v1/context gave."""

    text: Text


class Prompt(Body):
    """What goes into a prompt besides the conversation."""

    lane: Lane = Lane.EDGE
    instructions: Text | None = None
    skills: Annotated[list[Skill], FIRST_ERROR, Field(max_length=1_000)] = Field(default_factory=list)
    identity: Annotated[
        Annotated[dict[Key, Text], Field(max_length=KEYS), FewKeys] | None,
        Field(description="USER.md, SOUL.md, SOUL-CORE.md: text by name; else the vault has them."),
    ] = None
    context: Text | Context | None = None


class LastEvent(BaseModel):
    """The number of the last event."""

    seq: int


class OfLane(Body):
    """Which lane is meant."""

    lane: Lane = Lane.EDGE


class NewFact(Body):
    """Something to keep word for word."""

    key: Annotated[Short, Field(max_length=200)]
    value: Annotated[str, Field(max_length=1_000, pattern=NO_NUL)]
    source_event: Annotated[str | None, Field(max_length=64, pattern=r"^[0-9a-f]{64}$")] = None


class OldFact(Body):
    """A fact to remove, by its key."""

    key: Text
    value: Annotated[str, Field(max_length=1_000, pattern=NO_NUL)] | None = None
    source_event: Annotated[str | None, Field(max_length=64, pattern=r"^[0-9a-f]{64}$")] = None


Reference = Annotated[str, Field(max_length=64, pattern=r"^([0-9a-f]{64}|[0-9A-Za-z]{11})$")]


class MemoryDelta(Body):
    """What changes in a summary document. Removals come before additions."""

    mode: Literal["append", "overwrite"] = "append"
    summary_update: Annotated[str, Field(max_length=16_000, pattern=NO_NUL)] | None = None
    add_references: Annotated[list[Reference], FIRST_ERROR, Field(max_length=400)] | None = None
    remove_references: Annotated[list[Text], FIRST_ERROR, Field(max_length=400)] | None = None
    add_fact: Annotated[list[NewFact], FIRST_ERROR, Field(max_length=200)] | NewFact | None = None
    remove_fact: Annotated[list[Text | OldFact], FIRST_ERROR, Field(max_length=200)] | Text | OldFact | None = None


class WrappedDelta(Body):
    """A delta as a model writes it."""

    memory_delta: MemoryDelta


class Change(OfLane):
    """A change of a lane's summary document."""

    delta: MemoryDelta | WrappedDelta


# Which conversation


def _readable(ref: Ref, caller: Reader) -> Conversation:
    return caller.memory.conversations.get(ref)


def _writable(ref: Ref, caller: Writer) -> Conversation:
    return caller.memory.conversations.get(ref)


Read = Annotated[Conversation, Depends(_readable)]
Written = Annotated[Conversation, Depends(_writable)]


# Channels


@router.get("/channels", tags=["channels"])
def channels(caller: Reader) -> Page[Channel]:
    """The channels of the workspace, oldest first."""
    return Page(items=caller.memory.channels.list())


@router.post("/channels", status_code=201, tags=["channels"])
def create_channel(new: NewChannel, caller: Writer) -> Channel:
    """Make a channel."""
    return caller.memory.channels.create(new.name, new.description)


# Conversations


@router.get("/conversations")
def conversations(
    caller: Reader,
    include_archived: bool = False,
    channel: Annotated[Short | None, Query()] = None,
    chat_id: Annotated[Short | None, Query()] = None,
    limit: Limit = 100,
    cursor: Place = None,
) -> Page[ConversationInfo]:
    """Conversations, newest first; archived ones only when asked for."""
    found = caller.memory.conversations.list(
        include_archived, channel=channel, chat_id=chat_id, limit=limit, before=cursor
    )
    return page(found, limit, found[-1].cursor if found else None)


@router.post("/conversations", status_code=201)
def start(new: Start, caller: Writer, response: Response) -> ConversationInfo:
    """Begin a conversation. Those that fell silent long ago are ended first."""
    info = caller.memory.conversations.start(**dict(new)).info
    response.headers["Location"] = f"/v1/conversations/{info.ref_code}"
    return info


@router.get("/conversations/search")
def search(
    q: Asked,
    caller: Reader,
    limit: Hits = 10,
    unit: Literal["turn", "conversation"] = "turn",
    target_agent: Annotated[Agent | None, Query(description="Search another agent's past conversations.")] = None,
    channel: Annotated[Short | None, Query()] = None,
    since: Annotated[MomentAsked | None, Query()] = None,
    until: Annotated[MomentAsked | None, Query()] = None,
    meaning: Annotated[bool, Query(description="Whether vectors count besides words.")] = True,
) -> list[Turn]:
    """The turns of conversations that answer a question, best first; or one for each conversation."""
    caller.others(target_agent)
    found = caller.memory.conversations.search(
        q, limit=limit, unit=unit, target_agent=target_agent, channel=channel, since=since, until=until,
        meaning=meaning,
    )  # fmt: skip
    return list(found)


@router.post("/conversations/search")
def search_at_length(wanted: Search, caller: Reader) -> list[Turn]:
    """The same for questions that are too long for an address."""
    caller.others(wanted.target_agent)
    return list(caller.memory.conversations.search(**dict(wanted)))


@router.post("/conversations/end-stale")
def end_stale(caller: Writer) -> list[Ended]:
    """End the conversations in which nothing has happened for too long."""
    return list(caller.memory.conversations.end_stale())


@router.get("/events")
def journal(
    caller: Reader,
    after: Annotated[int, Query(ge=0, le=sys.maxsize, description="The number of the last event that is known.")] = 0,
    limit: Limit = 100,
) -> Page[Event]:
    """What happened in any conversation of the agent, in order; `next` is what to give as `after`."""
    found = caller.memory.conversations.journal(after, limit=limit)
    return page(found, limit, str(found[-1].seq) if found else None)


@router.get("/events/last")
def last_event(caller: Reader) -> LastEvent:
    """The number of the last event, 0 before the first: quick, to be asked often."""
    return LastEvent(seq=caller.memory.conversations.last_event())


@router.get("/recovery")
def recovery(caller: Reader) -> Recovery | None:
    """Where the agent was when it stopped: its last messages and summaries. Null after seven days."""
    return caller.memory.recover()


@router.get("/conversations/{ref}/detail")
def detail(
    ref: Ref,
    caller: Reader,
    target_agent: Annotated[
        Agent | None, Query(description="Whose conversation it is; one's own if none is named.")
    ] = None,
    limit: Annotated[int, Query(ge=0, le=100_000)] = 10_000,
    after: Annotated[int, Query(ge=0, le=sys.maxsize, description="The number of the event before the first.")] = 0,
) -> list[Event]:
    """Everything that happened in a conversation; of another agent's only in one that has ended."""
    caller.others(target_agent)
    return list(caller.memory.conversations.detail(ref, target_agent=target_agent, limit=limit, after=after))


@router.get("/conversations/{ref}")
def get(conversation: Read) -> ConversationInfo:
    """Everything about a conversation but what was said in it."""
    return conversation.info


# The journal


@router.get("/conversations/{ref}/events")
def events(
    conversation: Read,
    after: Annotated[int, Query(ge=0, le=sys.maxsize, description="The number of the event before the first.")] = 0,
    before: Annotated[
        int | None, Query(ge=0, le=sys.maxsize, description="Backwards: the events before the one of this number.")
    ] = None,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}$", description="`next` of the page before.")] = None,
) -> Page[Event]:
    """What happened, in order; with `before` newest first, from the end if that number is higher than any."""
    place = None if cursor is None else int(cursor)
    if before is None:
        found = list(conversation.events(after if place is None else place, limit=limit))
    else:
        found = list(conversation.events(after or None, before=before if place is None else place, limit=limit))
    return page(found, limit, str(found[-1].seq) if found else None)


@router.post(
    "/conversations/{ref}/events",
    status_code=201,
    responses={200: {"model": list[Event], "description": "Nothing of it was new."}},
)
def append(conversation: Written, sent: Annotated[Sent, Carried()], response: Response) -> list[Event]:
    """Append one event, several together, or what is new in a list of messages. They are on disk when the answer comes.

    A client may send its whole list of messages again and again: what is known already is not appended twice.
    """
    if isinstance(sent, Messages):
        added = conversation.extend([one.model_dump(exclude_unset=True) for one in sent.messages], lane=sent.lane)
        response.status_code = 201 if added else 200
        return added
    stored = conversation.append([Event(**one.model_dump()) for one in (sent if isinstance(sent, list) else [sent])])
    assert isinstance(stored, list)
    return stored


@router.get("/conversations/{ref}/events/{hash}")
def event(conversation: Read, hash: InPath) -> Event:
    """One event, by its hash."""
    return conversation.event(hash)


@router.get("/conversations/{ref}/find")
def find(conversation: Read, q: Asked, limit: Hits = 10) -> list[Turn]:
    """The turns of this conversation that hold the words of a question, best first."""
    return conversation.find(q, limit=limit)


@router.post("/conversations/{ref}/find")
def find_at_length(conversation: Read, wanted: Question) -> list[Turn]:
    """The same for questions that are too long for an address."""
    return conversation.find(wanted.query, limit=wanted.limit)


# Working memory


@router.get("/conversations/{ref}/window")
def window(conversation: Read, lane: Lane = Lane.EDGE) -> list[Event]:
    """The events of a lane that no archive stands for."""
    return conversation.window(lane)


@router.post("/conversations/{ref}/messages")
def messages(conversation: Read, prompt: Prompt | None = None) -> list[dict[str, Any]]:
    """The prompt of a lane as OpenAI messages."""
    given = prompt or Prompt()
    return conversation.messages(
        given.lane, instructions=given.instructions, skills=[one.model_dump() for one in given.skills],
        identity=given.identity, context=given.context,
    )  # fmt: skip


@router.get("/conversations/{ref}/replay")
def replay(conversation: Read, lane: Lane = Lane.EDGE) -> list[dict[str, Any]]:
    """What is left of a lane's past: the text of its latest archive, then the window."""
    return conversation.replay(lane)


@router.get("/conversations/{ref}/summary")
def summary(conversation: Read, lane: Lane = Lane.EDGE) -> SummaryDocument:
    """What stands for everything that has left a lane's window."""
    return conversation.summary(lane)


@router.post("/conversations/{ref}/summary/delta")
def apply_delta(conversation: Written, change: Change) -> SummaryDocument:
    """Change a summary document; a delta that is wrong in any part changes nothing."""
    return conversation.apply_delta(change.lane, change.delta.model_dump(exclude_unset=True))


@router.post("/conversations/{ref}/compact")
def compact(conversation: Written, which: OfLane | None = None) -> Compacted | None:
    """Let an archive stand for what was said before the newest user message; null when there is nothing to do."""
    return conversation.compact((which or OfLane()).lane)


@router.post("/conversations/{ref}/checkpoint", status_code=204)
def checkpoint(conversation: Written) -> None:
    """Save where it stands, so that /v1/recovery finds it for seven days from now."""
    conversation.checkpoint()


@router.get("/conversations/{ref}/checkpoint")
def saved(conversation: Read) -> Recovery | None:
    """Its checkpoint: its last messages and summaries as they were saved last. Null if none is kept."""
    return conversation.saved


# Its life


@router.post("/conversations/{ref}/idle", status_code=204)
def idle(conversation: Written) -> None:
    """Say that it has ended, and do nothing else."""
    conversation.idle()


@router.post("/conversations/{ref}/archive", status_code=204)
def archive(conversation: Written) -> None:
    """Put it away: it leaves the usual lists."""
    conversation.archive()


@router.post("/conversations/{ref}/end")
def end(conversation: Written) -> Ended:
    """End it: summary, hand-off, decisions and lessons, chunks; its own entries are cleared."""
    return conversation.end()
