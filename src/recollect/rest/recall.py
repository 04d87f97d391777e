"""Recall over HTTP, and the query and upsert tools with the same shapes that a model uses."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Discriminator, Field
from pydantic import Tag as Choice

from recollect.compat import store_tools
from recollect.model.entry import Category, Kind, Lifetime, Scope
from recollect.model.recall import Hit
from recollect.rest.caller import SEGMENT, Caller, Reader, Writer
from recollect.rest.idempotency import Route
from recollect.rest.types import (
    FIRST_ERROR,
    Body,
    Content,
    Moment,
    MomentAsked,
    Name,
    Number,
    Short,
    Tag,
    Tags,
    Truth,
    Words,
    answer,
)

__all__ = [
    "Delete",
    "Found",
    "Insert",
    "Knowledge",
    "Question",
    "SessionDetail",
    "Sessions",
    "Update",
    "Working",
    "WorkingEvent",
    "Written",
    "router",
]

router = APIRouter(prefix="/v1", tags=["recall"], route_class=Route)
Agent = Annotated[str, Field(min_length=1, max_length=64, pattern=SEGMENT, examples=["ana"])]
Most = Annotated[int, Field(ge=0, le=10_000), Number]
Hits = Annotated[int, Field(ge=0, le=1_000), Number]


class Question(Body):
    """What to look for, and among what."""

    query: Annotated[Words, Field(examples=["when do we deploy?"])]
    limit: Hits = 5
    mode: Literal["hybrid", "keyword", "vector"] = "hybrid"
    scopes: Annotated[list[Scope], FIRST_ERROR, Field(max_length=8)] | None = None
    channel: Short | None = None
    conversation: Short | None = None
    category: Category | Annotated[list[Category], FIRST_ERROR, Field(min_length=1, max_length=8)] | None = None
    kinds: Annotated[list[Kind], FIRST_ERROR, Field(max_length=8)] | None = None
    tags: Tags | None = None
    source: Short | None = None
    lifetimes: Annotated[list[Lifetime], FIRST_ERROR, Field(max_length=8)] | None = None
    since: Moment | None = None
    until: Moment | None = None
    target_agent: Agent | None = None
    fusion: Literal["weighted", "rrf"] = "weighted"
    prefix: Truth = False
    fuzzy: Annotated[float, Field(ge=0, le=1), Number] = 0.0
    explain: Truth = False
    record: Annotated[Truth, Field(description="Whether what is found counts as used.")] = True


class Knowledge(Body):
    """Among what was written to stay, by meaning or by words."""

    store: Literal["knowledge"] = "knowledge"
    mode: Literal["semantic", "text"] | None = None
    query: Words
    target_agent: Agent | None = None
    limit: Hits = 10


class Sessions(Body):
    """Among past conversations, by meaning or by words."""

    store: Literal["session"]
    mode: Literal["semantic", "text"] | None = None
    query: Words
    target_agent: Agent | None = None
    limit: Hits = 10


class SessionDetail(Body):
    """All of a past conversation."""

    store: Literal["session"]
    mode: Literal["session_detail"]
    session_id: Short
    target_agent: Agent | None = None
    limit: Most = 10
    after: Annotated[int, Field(ge=0, le=2**63 - 1, description="`next` of the page before."), Number] = 0


class Working(Body):
    """In the current conversation, by words."""

    store: Literal["working"]
    mode: Literal["keyword"] | None = None
    query: Words
    conversation: Short
    target_agent: Agent | None = None
    limit: Hits = 10


class WorkingEvent(Body):
    """An event of the current conversation, by its hash."""

    store: Literal["working"]
    mode: Literal["hash"]
    hash: Short
    conversation: Short
    target_agent: Agent | None = None
    limit: Most = 10


def _shape(body: Any) -> str:
    """Return the discriminator of a body."""
    given = body if isinstance(body, dict) else getattr(body, "__dict__", {})
    store, mode = given.get("store", "knowledge"), given.get("mode")
    return str(mode if mode in ("session_detail", "hash") else store)


Lookup = Annotated[
    Annotated[Knowledge, Choice("knowledge")]
    | Annotated[Sessions, Choice("session")]
    | Annotated[SessionDetail, Choice("session_detail")]
    | Annotated[Working, Choice("working")]
    | Annotated[WorkingEvent, Choice("hash")],
    Discriminator(_shape),
    Field(examples=[{"store": "knowledge", "query": "when do we deploy?"}]),
]


class Insert(Body):
    """Write knowledge; under a key that is there it is rewritten."""

    op: Literal["insert"]
    key: Name | None = None
    content: Content
    tags: Tags = ()


class Update(Body):
    """Rewrite knowledge."""

    op: Literal["update"]
    key: Name
    content: Content
    tags: Tags = ()


class Delete(Body):
    """Forget knowledge."""

    op: Literal["delete"]
    key: Name


Change = Annotated[
    Insert | Update | Delete,
    Field(discriminator="op", examples=[{"op": "insert", "key": "deploy day", "content": "We deploy on Tuesdays."}]),
]


class Found(BaseModel):
    """What a read found."""

    ok: bool
    results: list[dict[str, Any]]
    next: int | None = None


class Written(BaseModel):
    """What a write did."""

    ok: bool
    id: str
    created: bool


@router.post("/recall", response_model=list[Hit])
def recall(question: Question, caller: Reader) -> Response:
    """Find entries by their words and, where there is an embedder, by their meaning; best first."""
    return _recall(caller, question)


@router.get("/recall", response_model=list[Hit])
def recall_by_link(
    caller: Reader,
    q: Annotated[Words, Query(max_length=4_000, description="What to look for; a longer question goes with POST.")],
    limit: Annotated[int, Query(ge=0, le=1_000)] = 5,
    mode: Literal["hybrid", "keyword", "vector"] = "hybrid",
    channel: Annotated[Short | None, Query()] = None,
    conversation: Annotated[Short | None, Query()] = None,
    category: Category | None = None,
    kind: Kind | None = None,
    tag: Annotated[Tag | None, Query()] = None,
    source: Annotated[Short | None, Query()] = None,
    lifetime: Lifetime | None = None,
    since: Annotated[MomentAsked | None, Query()] = None,
    until: Annotated[MomentAsked | None, Query()] = None,
    prefix: bool = False,
    fuzzy: Annotated[float, Query(ge=0, le=1)] = 0.0,
    explain: bool = False,
) -> Response:
    """The same for links and for search as you type; with one value of each filter."""
    question = Question(
        query=q, limit=limit, mode=mode, channel=channel, conversation=conversation, category=category,
        kinds=None if kind is None else [kind], tags=None if tag is None else (tag,), source=source,
        lifetimes=None if lifetime is None else [lifetime], since=since, until=until, prefix=prefix, fuzzy=fuzzy,
        explain=explain,
    )  # fmt: skip
    return _recall(caller, question)


@router.post("/query", response_model=Found)
def query(lookup: Lookup, caller: Reader) -> Response:
    """Read a store (working, session, knowledge) in the shape that a model's tool has."""
    caller.others(lookup.target_agent)
    return answer(caller.memory.query(**dict(lookup)))


@router.post("/upsert", response_model=Written)
def upsert(change: Change, caller: Writer) -> Response:
    """Write knowledge in the shape that a model's tool has: insert, update or delete by a key."""
    return answer(store_tools.upsert(caller.memory, **dict(change)))


def _recall(caller: Caller, question: Question) -> Response:
    caller.others(question.target_agent)
    return answer(caller.memory.recall(**dict(question)))
