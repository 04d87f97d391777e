"""The tools for entries: memory, memory_query, memory_upsert, memory_note and memory_context."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.compat import store_tools
from recollect.errors import Invalid
from recollect.mcp.request_context import request_context
from recollect.mcp.result_text import found_text
from recollect.mcp.schemas import (
    STRICT,
    AsOf,
    CategoryName,
    ChangeView,
    ConversationRef,
    EntryRef,
    HitView,
    Importance,
    IncludePast,
    LifetimeName,
    Line,
    LongText,
    NoteView,
    OriginName,
    PairView,
    ScopeName,
    Tag,
    TagList,
    ToolLimit,
    change_view,
    hit_views,
    note_view,
    pair_view,
)
from recollect.mcp.tool import Actions, checked, tool
from recollect.memory import Memory, conversations_have_more
from recollect.model.entry import Entry
from recollect.model.operation import Alias, Remove, Rename, Write
from recollect.model.recall import UNANSWERED

__all__ = [
    "TOOLS",
    "ContextResult",
    "MemoryResult",
    "NoteResult",
    "QueryHit",
    "QueryResult",
    "UpsertResult",
    "memory",
    "memory_context",
    "memory_note",
    "memory_query",
    "memory_upsert",
]

_NEW = ("name", "category", "tags", "context", "scope", "valid_from", "valid_until", "origin")
_ADD = (("content",), (*_NEW, "channel", "conversation", "importance", "lifetime"))
MEMORY: Actions = {
    "remember": (("content",), _NEW),
    "recall": (("query",), ("limit", "mode", "as_of", "include_past")),
    "forget": (("id",), ()),
}
NOTE: Actions = {
    "write": (("target",), ("content", "tags", "category", "origin")),
    "supersede": (("target", "content"), ("valid_from", "why", "origin")),
    "retract": (("target",), ("why",)),
    "rename": (("target", "name"), ()),
    "alias": (("target", "name"), ()),
    "remove": (("target",), ()),
    "restore": (("target",), ("name",)),
    "resolve": (("target", "resolution"), ("content", "why")),
}
UNLISTED_NOTE: Actions = {
    "add": _ADD,
    "write": (("target",), ("content", "tags", "context", "category", "importance", "origin")),
    "show": (("target",), ()),
    "history": (("target",), ()),
    "links": (("target",), ()),
    "trash": ((), ("limit",)),
    "list": ((), ("kind", "category", "scope", "tag", "limit", "before", "as_of", "include_past")),
    "review": ((), ("limit",)),
}
"""What is accepted as well: actions that `memory` and `memory_read` offer, and seldom used arguments."""


@with_config(STRICT)
class MemoryResult(TypedDict):
    """What the tool `memory` gives: an id after remember, results after recall, a confidence if they answer nothing,
    and whether conversations answer better."""

    ok: bool
    id: NotRequired[str]
    results: NotRequired[list[HitView]]
    confidence: NotRequired[float]
    conversations_have_more: NotRequired[bool]


@with_config(STRICT)
class QueryHit(TypedDict):
    """One result of memory_query."""

    id: str
    store: str
    tier: NotRequired[str]
    key: NotRequired[str]
    session_id: NotRequired[str]
    hash: NotRequired[str]
    role: NotRequired[str]
    speaker: NotRequired[str]
    content: str
    category: NotRequired[str]
    origin: str
    source_agent: str
    created_at: str


@with_config(STRICT)
class QueryResult(TypedDict):
    """What memory_query gives; the conversation where working memory was read."""

    ok: bool
    results: list[QueryHit]
    conversation: NotRequired[str]
    next: NotRequired[int]


@with_config(STRICT)
class UpsertResult(TypedDict):
    """What memory_upsert gives."""

    ok: bool
    id: str
    created: bool


@with_config(STRICT)
class NoteResult(TypedDict):
    """What memory_note gives: an entry, a list of them, a history, or links."""

    ok: bool
    note: NotRequired[NoteView]
    notes: NotRequired[list[NoteView]]
    history: NotRequired[list[ChangeView]]
    links_to: NotRequired[list[str]]
    linked_from: NotRequired[list[str]]
    broken_links: NotRequired[list[str]]
    pairs: NotRequired[list[PairView]]


@with_config(STRICT)
class ContextResult(TypedDict):
    """What memory_context gives: the text for the prompt."""

    ok: bool
    text: str
    tokens: int
    dropped: int
    recovering: bool


def memory(
    action: Literal["remember", "recall", "forget"],
    content: LongText | None = None,
    *,
    name: Line | None = None,
    category: CategoryName | None = None,
    tags: TagList | None = None,
    context: Annotated[LongText | None, Field(description="Source or reason.")] = None,
    scope: Annotated[ScopeName | None, Field(description="Default workspace.")] = None,
    channel: Line | None = None,
    conversation: ConversationRef | None = None,
    importance: Importance | None = None,
    lifetime: LifetimeName | None = None,
    valid_from: Annotated[Line | None, Field(description="A date.")] = None,
    valid_until: Line | None = None,
    origin: Annotated[OriginName | None, Field(description="Who said it; default agent.")] = None,
    query: Annotated[LongText | None, Field(description="A question or words.")] = None,
    limit: Annotated[ToolLimit | None, Field(description="Default 5.")] = None,
    mode: Literal["keyword", "vector", "hybrid"] | None = None,
    as_of: AsOf | None = None,
    include_past: IncludePast | None = None,
    id: EntryRef | None = None,
) -> MemoryResult:
    """Your memory across sessions. Recall before you answer what may depend on earlier ones: preferences, decisions,
    conventions, names. Remember what will matter later, one fact at a time; later sessions begin with what has a
    category (tasks as `- [ ] …`). Forget what was wrong.

    Examples: {"action": "recall", "query": "when do we deploy?"} {"action": "remember", "content": "We deploy on
    Tuesdays.", "category": "decisions"}
    """
    new: dict[str, Any] = {
        "name": name,
        "category": category,
        "tags": tags,
        "context": context,
        "scope": scope,
        "channel": channel,
        "conversation": conversation,
        "importance": importance,
        "lifetime": lifetime,
        "valid_from": valid_from,
        "valid_until": valid_until,
        "origin": origin,
    }
    searched = {"query": query, "limit": limit, "mode": mode, "as_of": as_of, "include_past": include_past}
    checked({**MEMORY, "remember": _ADD}, action, content=content, id=id, **new, **searched)
    if action == "remember":
        return {"ok": True, "id": _add(str(content), new).id}
    if action == "forget":
        return {"ok": request_context().writing().forget(str(id))}
    here = request_context().current()
    hits = request_context().memory.recall(
        str(query),
        limit=limit or 5,
        mode=mode or "hybrid",
        conversation=here,
        as_of=as_of,
        include_past=bool(include_past),
    )
    found: MemoryResult = {"ok": True, "results": hit_views(hits, past=bool(include_past or as_of))}
    if hits and hits[0].confidence < UNANSWERED:
        found["confidence"] = round(hits[0].confidence, 2)
    if conversations_have_more(request_context().memory, str(query), hits, as_of, conversation=here):
        found["conversations_have_more"] = True
    return found


def _add(content: str, new: Mapping[str, Any]) -> Entry:
    """Store a note. A hand-off belongs to the conversation of the session, so that ending it writes no second one."""
    mem = request_context().writing()
    given = {name: value for name, value in new.items() if value is not None}
    conversation = given.get("conversation")
    if given.get("scope") == "conversation":
        given["conversation"] = request_context().conversation(conversation, begin=True).id
    elif given.get("category") == "handoffs":
        given["conversation"] = conversation or request_context().current()
    return mem.remember(content, **given)


def memory_query(
    store: Literal["working", "session", "knowledge"] = "knowledge",
    mode: Annotated[
        Literal["keyword", "hash", "semantic", "text", "session_detail"] | None,
        Field(description="Default: the first of its store."),
    ] = None,
    *,
    query: Annotated[LongText | None, Field(description="A question or words.")] = None,
    hash: Annotated[Line | None, Field(description="Of a turn.")] = None,
    session_id: Annotated[Line | None, Field(description="Ref code or id.")] = None,
    target_agent: Annotated[Line | None, Field(description="Read another agent.")] = None,
    conversation: Annotated[ConversationRef | None, Field(description="For working.")] = None,
    limit: ToolLimit = 10,
    after: Annotated[int | None, Field(ge=0, le=2**63 - 1, description="`next` of the page before.")] = None,
) -> QueryResult:
    """Search one store. knowledge: notes (modes semantic, text). session: past conversations (semantic, text;
    session_detail reads one from its beginning, by pages). working: this conversation (keyword, hash).

    Example: {"store": "session", "mode": "text", "query": "port of the staging database"}
    """
    here = None
    detail = "session_detail"
    for name, value, fits in (("hash", hash, "hash"), ("session_id", session_id, detail), ("after", after, detail)):
        if value is not None and mode != fits:
            raise Invalid(f"`{name}` applies to the mode `{fits}`, not to {mode or 'none'}")
    if conversation is not None and store != "working":
        raise Invalid(f"`conversation` applies to the store `working`, not to {store}")
    target_agent = request_context().reading(target_agent)
    if store == "working" and target_agent is None:
        here = request_context().conversation(conversation)
    found: dict[str, Any] = request_context().memory.query(
        store,
        mode,
        query,
        hash=hash,
        session_id=session_id,
        conversation=here,
        target_agent=target_agent,
        limit=limit,
        after=after or 0,
    )
    result: QueryResult = {"ok": True, "results": found["results"]}
    if "next" in found:
        result["next"] = found["next"]
    if here is not None:
        result["conversation"] = here.ref_code
    return result


def memory_upsert(
    op: Literal["insert", "update", "delete"],
    key: Line | None = None,
    content: LongText | None = None,
    tags: TagList | None = None,
    origin: OriginName | None = None,
) -> UpsertResult:
    """Keep a fact that changes, such as a version or an address, under a key with one current value. insert replaces,
    update needs an existing key. Old values stay in its history.

    Example: {"op": "insert", "key": "staging database port", "content": "5433"}
    """
    done = store_tools.upsert(request_context().writing(), op, key, content, tags or (), origin=origin)
    return {"ok": True, "id": done["id"], "created": done["created"]}


def memory_note(
    action: Literal[
        "write",
        "supersede",
        "retract",
        "rename",
        "alias",
        "remove",
        "restore",
        "resolve",
        "add",
        "show",
        "history",
        "links",
        "trash",
        "list",
        "review",
    ],
    target: Annotated[EntryRef | None, Field(description="Name, alias or id.")] = None,
    *,
    name: Line | None = None,
    content: LongText | None = None,
    tags: TagList | None = None,
    context: LongText | None = None,
    category: CategoryName | None = None,
    scope: ScopeName | None = None,
    importance: Importance | None = None,
    lifetime: LifetimeName | None = None,
    channel: Line | None = None,
    conversation: ConversationRef | None = None,
    kind: Literal["note", "archive", "chunk"] | None = None,
    tag: Tag | None = None,
    limit: ToolLimit | None = None,
    before: EntryRef | None = None,
    valid_from: Annotated[Line | None, Field(description="A date.")] = None,
    valid_until: Line | None = None,
    origin: OriginName | None = None,
    why: LongText | None = None,
    as_of: AsOf | None = None,
    include_past: IncludePast | None = None,
    resolution: Literal["newer", "older", "both", "merge"] | None = None,
) -> NoteResult:
    """Change an existing note: write (correct), supersede (something else holds now), retract (it holds no longer),
    rename, alias, remove (to the trash), restore; resolve a pair of `memory_read` review as the user says.

    Example: {"action": "supersede", "target": "deploy day", "content": "We deploy on Thursdays."}
    """
    new: dict[str, Any] = {
        "name": name,
        "category": category,
        "tags": tags,
        "context": context,
        "scope": scope,
        "channel": channel,
        "conversation": conversation,
        "importance": importance,
        "lifetime": lifetime,
        "valid_from": valid_from,
        "valid_until": valid_until,
        "origin": origin,
    }
    checked(
        {**NOTE, **UNLISTED_NOTE},
        action,
        target=target,
        content=content,
        **new,
        kind=kind,
        tag=tag,
        limit=limit,
        before=before,
        why=why,
        as_of=as_of,
        include_past=include_past,
        resolution=resolution,
    )
    mem, wanted = request_context().memory, str(target)
    match action:
        case "review":
            return {"ok": True, "pairs": [pair_view(one) for one in mem.review.list(limit=limit or 20)]}
        case "show":
            return {"ok": True, "note": note_view(mem.get(wanted))}
        case "history":
            return {"ok": True, "history": [change_view(one) for one in mem.history(wanted)]}
        case "links":
            found = mem.links(wanted)
            return {
                "ok": True,
                "links_to": [one.name or one.id for one in found.out],
                "linked_from": [one.name or one.id for one in found.back],
                "broken_links": [*found.broken],
            }
        case "trash":
            return {"ok": True, "notes": [note_view(one.entry) for one in mem.trash(limit=limit or 20)]}
        case "list":
            listed = mem.list(
                kind=kind,
                category=category,
                scope=scope,
                tag=tag,
                limit=limit or 20,
                after=mem.get(before) if before else None,
                as_of=as_of,
                include_past=bool(include_past),
            )
            return {"ok": True, "notes": [note_view(one) for one in listed]}
    mem = request_context().writing()
    match action:
        case "resolve":
            done = mem.review.resolve(wanted, str(resolution), content=content, why=why)
            return {"ok": True, "pairs": [pair_view(done)]}
        case "add":
            made = _add(str(content), new)
        case "supersede":
            made = mem.supersede(wanted, str(content), since=valid_from, why=why, origin=origin)
        case "retract":
            made = mem.retract(wanted, why=why)
        case "write":
            made = mem.apply(
                Write(
                    wanted,
                    content=content,
                    tags=tags,
                    context=context,
                    category=category,
                    importance=importance,
                    origin=origin,
                )
            )
        case _:
            made = _renamed(mem, action, wanted, name)
    return {"ok": True, "note": note_view(made)}


def _renamed(mem: Memory, action: str, target: str, name: str | None) -> Entry:
    """Apply an action that changes the names of an entry, or whether it is in the trash."""
    match action:
        case "rename":
            return mem.apply(Rename(target, str(name)))
        case "alias":
            return mem.apply(Alias(target, str(name)))
        case "remove":
            return mem.apply(Remove(target))
    return mem.restore(target, name=name)


def memory_context(
    command: Annotated[str, Field(max_length=100_000, description="The task, in the user's words.")] = "",
    budget: Annotated[int | None, Field(ge=0, le=1_000_000, description="Tokens.")] = None,
    profile: Annotated[Line, Field(description="default, coding, brief.")] = "default",
    conversation: ConversationRef | None = None,
) -> ContextResult:
    """What a new session should know: project, last hand-off, decisions, lessons, open tasks, rules, notes and earlier
    turns that answer the task. Call it once at the beginning of a session or task.

    Example: {"command": "Fix the failing deployment"}
    """
    made = request_context().memory.context(
        command, budget=budget, profile=profile, conversation=conversation or request_context().current()
    )
    return {
        "ok": True,
        "text": made.text,
        "tokens": made.tokens,
        "dropped": made.dropped,
        "recovering": made.recovering,
    }


TOOLS: list[Tool] = [
    tool(memory, title="Remember, recall, forget", actions=MEMORY, text=found_text, destroys=True),
    tool(memory_query, title="Search one store", text=found_text, reads=True),
    tool(memory_upsert, title="Keep knowledge by key", destroys=True),
    tool(memory_note, title="Change notes", actions=NOTE, destroys=True),
    tool(memory_context, title="Context for a new task", reads=True),
]
