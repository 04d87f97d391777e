"""Channels and conversations over HTTP: the journal, working memory, and how a conversation ends."""

import sys
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Body as Carried

from recollect.conversation import Conversation
from recollect.model.history import (
    Channel,
    Compacted,
    ConversationInfo,
    Ended,
    Event,
    Lane,
    Recovery,
    Turn,
)
from recollect.model.report import Receipt
from recollect.model.working import SummaryDocument
from recollect.rest.caller import AgentName, Caller, Reader, Writer
from recollect.rest.conversation_types import (
    AppendBody,
    ConversationQuery,
    ConversationSearch,
    LaneBody,
    LastEvent,
    ListCursor,
    NewChannel,
    NewConversation,
    Prompt,
    Ref,
    SavedMessages,
    SearchQuery,
    SummaryChange,
)
from recollect.rest.idempotency import Route
from recollect.rest.types import (
    HitLimit,
    InPath,
    Page,
    PageLimit,
    QueryMoment,
    ShortText,
    json_response,
    page,
)
from recollect.rest.vault import redacted

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["conversations"], route_class=Route)


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
