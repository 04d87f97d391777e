"""Recall over HTTP, and the query and upsert tools with the same shapes that a model uses."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Discriminator, Field
from pydantic import Tag as Choice

from recollect.compat import store_tools
from recollect.memory import conversations_have_more
from recollect.model.entry import Category, Kind, Lifetime, Origin, Scope
from recollect.model.recall import Hit
from recollect.rest.caller import AgentName, Caller, Reader, Writer
from recollect.rest.idempotency import Route
from recollect.rest.types import (
    FIRST_ERROR,
    AsOf,
    Body,
    BodyMoment,
    Content,
    IncludePast,
    Name,
    QueryMoment,
    QueryText,
    ShortText,
    StrictBool,
    StrictNumber,
    Tag,
    Tags,
    json_response,
    short_tag,
)

__all__ = [
    "MORE",
    "DeleteKnowledge",
    "InsertKnowledge",
    "KnowledgeQuery",
    "QueryResponse",
    "RecallRequest",
    "SessionDetailQuery",
    "SessionQuery",
    "UpdateKnowledge",
    "UpsertResponse",
    "WorkingEventQuery",
    "WorkingQuery",
    "router",
]

router = APIRouter(prefix="/v1", tags=["recall"], route_class=Route)
ResultLimit = Annotated[int, Field(ge=0, le=10_000), StrictNumber]
HitCount = Annotated[int, Field(ge=0, le=1_000), StrictNumber]


class RecallRequest(Body):
    """A query and its filters."""

    query: Annotated[QueryText, Field(examples=["when do we deploy?"])]
    limit: HitCount = 5
    mode: Literal["hybrid", "keyword", "vector"] = "hybrid"
    scopes: Annotated[list[Scope], FIRST_ERROR, Field(max_length=8)] | None = None
    channel: ShortText | None = None
    conversation: ShortText | None = None
    category: Category | Annotated[list[Category], FIRST_ERROR, Field(min_length=1, max_length=8)] | None = None
    kinds: Annotated[list[Kind], FIRST_ERROR, Field(max_length=8)] | None = None
    tags: Tags | None = None
    source: ShortText | None = None
    lifetimes: Annotated[list[Lifetime], FIRST_ERROR, Field(max_length=8)] | None = None
    since: BodyMoment | None = None
    until: BodyMoment | None = None
    as_of: BodyMoment | None = None
    include_past: StrictBool = False
    min_origin: Origin = Origin.EXTERNAL
    transcripts: Annotated[StrictBool, Field(description="Include archives, chunks and automatic hand-offs.")] = True
    target_agent: AgentName | None = None
    fusion: Literal["weighted", "rrf"] = "weighted"
    prefix: StrictBool = False
    fuzzy: Annotated[float, Field(ge=0, le=1), StrictNumber] = 0.0
    min_confidence: Annotated[float, Field(ge=0, le=1), StrictNumber] = 0.0
    explain: StrictBool = False
    record: Annotated[StrictBool, Field(description="Whether hits are recorded as used.")] = True


class KnowledgeQuery(Body):
    """Search long-term notes, by meaning or by words."""

    store: Literal["knowledge"] = "knowledge"
    mode: Literal["semantic", "text"] | None = None
    query: QueryText
    target_agent: AgentName | None = None
    limit: HitCount = 10


class SessionQuery(Body):
    """Search past conversations, by meaning or by words."""

    store: Literal["session"]
    mode: Literal["semantic", "text"] | None = None
    query: QueryText
    target_agent: AgentName | None = None
    limit: HitCount = 10


class SessionDetailQuery(Body):
    """Read a past conversation, page by page."""

    store: Literal["session"]
    mode: Literal["session_detail"]
    session_id: ShortText
    target_agent: AgentName | None = None
    limit: ResultLimit = 10
    after: Annotated[int, Field(ge=0, le=2**63 - 1, description="`next` of the previous page."), StrictNumber] = 0


class WorkingQuery(Body):
    """Search the current conversation, by words."""

    store: Literal["working"]
    mode: Literal["keyword"] | None = None
    query: QueryText
    conversation: ShortText
    target_agent: AgentName | None = None
    limit: HitCount = 10


class WorkingEventQuery(Body):
    """An event of the current conversation, by its hash."""

    store: Literal["working"]
    mode: Literal["hash"]
    hash: ShortText
    conversation: ShortText
    target_agent: AgentName | None = None
    limit: ResultLimit = 10


def _shape(body: Any) -> str:
    """Return the discriminator of a body."""
    given = body if isinstance(body, dict) else getattr(body, "__dict__", {})
    store, mode = given.get("store", "knowledge"), given.get("mode")
    return str(mode if mode in ("session_detail", "hash") else store)


StoreQuery = Annotated[
    Annotated[KnowledgeQuery, Choice("knowledge")]
    | Annotated[SessionQuery, Choice("session")]
    | Annotated[SessionDetailQuery, Choice("session_detail")]
    | Annotated[WorkingQuery, Choice("working")]
    | Annotated[WorkingEventQuery, Choice("hash")],
    Discriminator(_shape),
    short_tag("store"),
    Field(examples=[{"store": "knowledge", "query": "when do we deploy?"}]),
]


class InsertKnowledge(Body):
    """Write knowledge; an existing key is overwritten."""

    op: Literal["insert"]
    key: Name | None = None
    content: Content
    tags: Tags = ()
    origin: Origin | None = None


class UpdateKnowledge(Body):
    """Overwrite the knowledge of an existing key."""

    op: Literal["update"]
    key: Name
    content: Content
    tags: Tags = ()
    origin: Origin | None = None


class DeleteKnowledge(Body):
    """Forget knowledge."""

    op: Literal["delete"]
    key: Name


KnowledgeChange = Annotated[
    InsertKnowledge | UpdateKnowledge | DeleteKnowledge,
    Discriminator("op"),
    short_tag("op"),
    Field(examples=[{"op": "insert", "key": "deploy day", "content": "We deploy on Tuesdays."}]),
]


class QueryResponse(BaseModel):
    """Results of a query."""

    ok: bool
    results: list[dict[str, Any]]
    next: int | None = None


class UpsertResponse(BaseModel):
    """Result of an upsert."""

    ok: bool
    id: str
    created: bool


MORE = "Conversations-Have-More"
"""Header of a recall that conversations answer better; the body is a list."""
_FILTERS = (
    "scopes",
    "category",
    "kinds",
    "tags",
    "source",
    "lifetimes",
    "since",
    "until",
    "as_of",
    "target_agent",
    "prefix",
)
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            MORE: {
                "description": "`true` if a conversation of the agent that is active or imported answers better than "
                "these hits; `GET /v1/conversations/search` finds it. Absent otherwise, and with a filter.",
                "schema": {"type": "string", "enum": ["true"]},
            }
        }
    }
}


@router.post("/recall", response_model=list[Hit], responses=_ANSWERS)
def recall(question: RecallRequest, caller: Reader) -> Response:
    """Search entries by words and, with an embedder, by meaning; best first."""
    return _recall(caller, question)


@router.get("/recall", response_model=list[Hit], responses=_ANSWERS)
def recall_by_link(
    caller: Reader,
    q: Annotated[QueryText, Query(max_length=4_000, description="The query; use POST for a longer one.")],
    *,
    limit: Annotated[int, Query(ge=0, le=1_000)] = 5,
    mode: Literal["hybrid", "keyword", "vector"] = "hybrid",
    channel: Annotated[ShortText | None, Query()] = None,
    conversation: Annotated[ShortText | None, Query()] = None,
    category: Category | None = None,
    kind: Kind | None = None,
    tag: Annotated[Tag | None, Query()] = None,
    source: Annotated[ShortText | None, Query()] = None,
    lifetime: Lifetime | None = None,
    since: Annotated[QueryMoment | None, Query()] = None,
    until: Annotated[QueryMoment | None, Query()] = None,
    as_of: AsOf = None,
    include_past: IncludePast = False,
    min_origin: Origin = Origin.EXTERNAL,
    prefix: bool = False,
    fuzzy: Annotated[float, Query(ge=0, le=1)] = 0.0,
    min_confidence: Annotated[float, Query(ge=0, le=1)] = 0.0,
    explain: bool = False,
) -> Response:
    """Recall for links and search as you type, with one value per filter."""
    question = RecallRequest(
        query=q,
        limit=limit,
        mode=mode,
        channel=channel,
        conversation=conversation,
        category=category,
        kinds=None if kind is None else [kind],
        tags=None if tag is None else (tag,),
        source=source,
        lifetimes=None if lifetime is None else [lifetime],
        since=since,
        until=until,
        as_of=as_of,
        include_past=include_past,
        min_origin=min_origin,
        prefix=prefix,
        fuzzy=fuzzy,
        min_confidence=min_confidence,
        explain=explain,
    )
    return _recall(caller, question)


@router.post("/query", response_model=QueryResponse)
def query(lookup: StoreQuery, caller: Reader) -> Response:
    """Read a store (working, session, knowledge), as the tool `memory_query` does."""
    caller.others(lookup.target_agent)
    return json_response(caller.memory.query(**dict(lookup)))


@router.post("/upsert", response_model=UpsertResponse)
def upsert(change: KnowledgeChange, caller: Writer) -> Response:
    """Write knowledge by key: insert, update or delete, as the tool `memory_upsert` does."""
    return json_response(store_tools.upsert(caller.memory, **dict(change)))


def _recall(caller: Caller, question: RecallRequest) -> Response:
    caller.others(question.target_agent)
    hits = caller.memory.recall(**dict(question))
    # With a prefix it is search as you type, and the query is not complete yet.
    filters = [getattr(question, name) for name in _FILTERS]
    more = question.limit > 0 and conversations_have_more(
        caller.memory, question.query, hits, *filters, conversation=question.conversation
    )
    return json_response(hits, headers={MORE: "true"} if more else None, kind=list[Hit])
