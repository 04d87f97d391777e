"""The tools for entries: memory, memory_query, memory_upsert, memory_note and memory_context."""

from typing import Annotated, Any, Literal, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.compat import store_tools
from recollect.errors import Invalid
from recollect.mcp.request_context import request_context
from recollect.mcp.schemas import (
    STRICT,
    AsOf,
    ChangeView,
    ConversationRef,
    EntryRef,
    HitView,
    IncludePast,
    Line,
    LongText,
    NoteView,
    OriginArgument,
    PairView,
    Tag,
    TagList,
    TargetAgent,
    change_view,
    hit_views,
    note_view,
    pair_view,
)
from recollect.mcp.tool import Actions, checked, tool
from recollect.memory import Memory
from recollect.model.entry import Entry, Scope
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

ToolLimit = Annotated[int, Field(ge=1, le=100)]

MEMORY: Actions = {
    "remember": (("content",), ("tags", "context", "origin")),
    "recall": (("query",), ("limit", "mode", "as_of", "include_past")),
    "forget": (("id",), ()),
}
NOTE: Actions = {
    "add": (
        ("content",),
        (
            *("name", "tags", "context", "category", "scope", "importance", "lifetime", "channel", "conversation"),
            *("valid_from", "valid_until", "origin"),
        ),
    ),
    "supersede": (("target", "content"), ("valid_from", "why", "origin")),
    "retract": (("target",), ("why",)),
    "write": (("target",), ("content", "tags", "context", "category", "importance", "origin")),
    "rename": (("target", "name"), ()),
    "alias": (("target", "name"), ()),
    "remove": (("target",), ()),
    "restore": (("target",), ("name",)),
    "show": (("target",), ()),
    "history": (("target",), ()),
    "links": (("target",), ()),
    "trash": ((), ("limit",)),
    "list": ((), ("kind", "category", "scope", "tag", "limit", "before", "as_of", "include_past")),
    "review": ((), ("limit",)),
    "resolve": (("target", "resolution"), ("content", "why")),
}


@with_config(STRICT)
class MemoryResult(TypedDict):
    """What the tool `memory` gives: an id after remember, results after recall, a confidence if they answer nothing."""

    ok: bool
    id: NotRequired[str]
    results: NotRequired[list[HitView]]
    confidence: NotRequired[float]


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
    action: Annotated[Literal["remember", "recall", "forget"], Field(description="What to do.")],
    content: Annotated[LongText | None, Field(description="For remember: one fact, in a sentence or a few.")] = None,
    *,
    tags: Annotated[TagList | None, Field(description="For remember: tags.")] = None,
    context: Annotated[
        LongText | None, Field(description="For remember: where it came from, or why it matters.")
    ] = None,
    query: Annotated[
        LongText | None, Field(description="For recall: a question or some words; there is no syntax.")
    ] = None,
    limit: Annotated[ToolLimit | None, Field(description="For recall: maximum number of results; default 5.")] = None,
    mode: Annotated[
        Literal["keyword", "vector", "hybrid"] | None,
        Field(description="For recall: by words, by meaning, or both; default hybrid."),
    ] = None,
    id: Annotated[
        EntryRef | None,
        Field(description="For forget: the id that remember or recall gave; ok is false if it is not there."),
    ] = None,
    origin: OriginArgument | None = None,
    as_of: AsOf | None = None,
    include_past: IncludePast | None = None,
) -> MemoryResult:
    """Your long-term memory, which outlives this conversation: remember a fact, recall facts, forget one.

    Recall before you answer anything that may depend on earlier sessions: preferences of the user, decisions,
    conventions, names, how something is done here. Remember what will still matter in a later session, one fact at a
    time, as soon as you learn it. Forget what turned out to be wrong. A recall with a `confidence` found nothing that
    answers the query, only the nearest.

    Examples: {"action": "recall", "query": "when do we deploy?"} and {"action": "remember", "content": "We deploy on
    Tuesdays, never on Fridays.", "tags": ["deploy"]}
    """
    checked(
        MEMORY,
        action,
        content=content,
        tags=tags,
        context=context,
        query=query,
        limit=limit,
        mode=mode,
        id=id,
        origin=origin,
        as_of=as_of,
        include_past=include_past,
    )
    if action == "remember":
        made = request_context().writing().remember(str(content), tags=tags or (), context=context, origin=origin)
        return {"ok": True, "id": made.id}
    if action == "forget":
        return {"ok": request_context().writing().forget(str(id))}
    hits = request_context().memory.recall(
        str(query),
        limit=limit or 5,
        mode=mode or "hybrid",
        conversation=request_context().current(),
        as_of=as_of,
        include_past=bool(include_past),
    )
    found: MemoryResult = {"ok": True, "results": hit_views(hits, past=bool(include_past or as_of))}
    if hits and hits[0].confidence < UNANSWERED:
        found["confidence"] = round(hits[0].confidence, 2)
    return found


def memory_query(
    store: Annotated[
        Literal["working", "session", "knowledge"],
        Field(description="working: this conversation. session: past conversations. knowledge: facts kept by key."),
    ] = "knowledge",
    mode: Annotated[
        Literal["keyword", "hash", "semantic", "text", "session_detail"] | None,
        Field(
            description="working: keyword or hash. session: semantic, text or session_detail. knowledge: semantic or "
            "text. Default: the first of these."
        ),
    ] = None,
    *,
    query: Annotated[
        LongText | None, Field(description="A question or some words; not for hash and session_detail.")
    ] = None,
    hash: Annotated[Line | None, Field(description="For mode hash: the hash of an event, or its beginning.")] = None,
    session_id: Annotated[
        Line | None, Field(description="For session_detail: the id or ref code of a past one.")
    ] = None,
    target_agent: Annotated[TargetAgent | None, Field()] = None,
    conversation: Annotated[
        ConversationRef | None, Field(description="For store working; default: this session's.")
    ] = None,
    limit: Annotated[ToolLimit, Field(description="The most results.")] = 10,
    after: Annotated[
        int | None, Field(ge=0, le=2**63 - 1, description="For session_detail: `next` of the previous page.")
    ] = None,
) -> QueryResult:
    """Look something up in one particular store: what was said in this conversation, what was said in past ones, or
    the knowledge kept by key.

    Use it when `memory` recall is too broad: to read a past conversation from its beginning (`conversation` get reads
    its end), to find exact words, or to read what another agent of this workspace knows. The working memory of other
    agents is never readable.

    Example: {"store": "session", "mode": "text", "query": "port of the staging database"}
    """
    here = None
    detail = "session_detail"
    for name, value, fits in (("hash", hash, "hash"), ("session_id", session_id, detail), ("after", after, detail)):
        if value is not None and mode != fits:
            raise Invalid(f"`{name}` goes with the mode `{fits}`, not with {mode or 'none'}")
    if conversation is not None and store != "working":
        raise Invalid(f"`conversation` goes with the store `working`, not with {store}")
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
    op: Annotated[
        Literal["insert", "update", "delete"],
        Field(description="insert writes, and replaces an existing value; update needs an existing key."),
    ],
    key: Annotated[Line | None, Field(description='The name of the fact, for example "staging database port".')] = None,
    content: Annotated[LongText | None, Field(description="For insert and update: the fact as it is now.")] = None,
    tags: TagList | None = None,
    origin: OriginArgument | None = None,
) -> UpsertResult:
    """Keep knowledge under a key, so that there is exactly one current value: insert, update or delete it.

    Use it for facts that change, where a second note would contradict the first one: a version, an address, the state
    of a task. The old text stays in the history of the entry. For facts that only add up use `memory` remember.

    Example: {"op": "insert", "key": "staging database port", "content": "5433"}
    """
    done = store_tools.upsert(request_context().writing(), op, key, content, tags or (), origin=origin)
    return {"ok": True, "id": done["id"], "created": done["created"]}


def memory_note(
    action: Annotated[
        Literal[
            "add",
            "write",
            "supersede",
            "retract",
            "rename",
            "alias",
            "remove",
            "restore",
            "show",
            "history",
            "links",
            "list",
            "trash",
            "review",
            "resolve",
        ],
        Field(description="What to do."),
    ],
    target: Annotated[
        EntryRef | None, Field(description="The entry; not for add, list, trash, review. For resolve: the pair's id.")
    ] = None,
    *,
    name: Annotated[Line | None, Field(description="For add, rename, alias, restore: a free name.")] = None,
    content: Annotated[LongText | None, Field(description="For add, write, supersede and merge: the text.")] = None,
    tags: Annotated[TagList | None, Field(description="For add and write.")] = None,
    context: Annotated[
        LongText | None, Field(description="For add and write: where it came from, why it matters.")
    ] = None,
    category: Annotated[
        Literal["decisions", "lessons", "tasks", "projects", "handoffs"] | None,
        Field(description="What the note is for; for list: only these."),
    ] = None,
    scope: Annotated[
        Literal["conversation", "channel", "workspace", "account"] | None,
        Field(description="Who sees it; default workspace. For list: only these."),
    ] = None,
    importance: Annotated[float | None, Field(ge=0, le=1, description="For add and write; 0.5 is usual.")] = None,
    lifetime: Annotated[
        Literal["conversation", "short_term", "mid_term", "long_term"] | None,
        Field(description="For add; default long_term. short_term: may be removed when it is not used for months."),
    ] = None,
    channel: Annotated[Line | None, Field(description="For add with scope channel.")] = None,
    conversation: Annotated[ConversationRef | None, Field(description="For add with scope conversation.")] = None,
    kind: Annotated[Literal["note", "archive", "chunk"] | None, Field(description="For list: only these.")] = None,
    tag: Annotated[Tag | None, Field(description="For list: only with this tag.")] = None,
    limit: Annotated[
        ToolLimit | None, Field(description="For list, trash and review: maximum number; default 20.")
    ] = None,
    before: Annotated[
        EntryRef | None, Field(description="For list: entries older than this one, the last of the previous page.")
    ] = None,
    valid_from: Annotated[Line | None, Field(description="For add and supersede: since when it holds.")] = None,
    valid_until: Annotated[Line | None, Field(description="For add: until when it holds.")] = None,
    origin: OriginArgument | None = None,
    why: Annotated[LongText | None, Field(description="For supersede, retract and resolve: the reason.")] = None,
    as_of: AsOf | None = None,
    include_past: IncludePast | None = None,
    resolution: Annotated[
        Literal["newer", "older", "both", "merge"] | None, Field(description="For resolve: which note of a pair holds.")
    ] = None,
) -> NoteResult:
    """Work on single notes by their names: add, write (correct), supersede (it holds no longer, something else does),
    retract (it holds no longer), rename, alias, remove, restore, show, list, list the trash, and see the history or the
    links of one. `review` lists pairs of notes that may contradict each other: ask the user which one holds, then
    `resolve` the pair.

    Use it for notes that people will look up by name and that have a purpose: decisions, lessons, open tasks, projects,
    hand-offs to the next session. Those with a category appear by themselves at the start of later sessions; open tasks
    are lines that begin with `- [ ]`, done ones with `- [x]`. A removed note can be restored for a while.

    Example: {"action": "add", "name": "use SQLite", "category": "decisions", "content": "We chose SQLite, because one
    file is enough."}
    """
    checked(
        NOTE,
        action,
        target=target,
        name=name,
        content=content,
        tags=tags,
        context=context,
        category=category,
        scope=scope,
        importance=importance,
        lifetime=lifetime,
        channel=channel,
        conversation=conversation,
        kind=kind,
        tag=tag,
        limit=limit,
        before=before,
        valid_from=valid_from,
        valid_until=valid_until,
        origin=origin,
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
            if scope == "conversation":
                conversation = request_context().conversation(conversation, begin=True).id
            elif category == "handoffs":
                conversation = conversation or request_context().current()  # ending it then writes no second hand-off
            made = mem.remember(
                str(content),
                name=name,
                tags=tags or (),
                context=context,
                category=category,
                scope=scope or Scope.WORKSPACE,
                channel=channel,
                conversation=conversation,
                importance=0.5 if importance is None else importance,
                lifetime=lifetime,
                valid_from=valid_from,
                valid_until=valid_until,
                origin=origin,
            )
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
    command: Annotated[str, Field(max_length=100_000, description="The task at hand, in the user's words.")] = "",
    budget: Annotated[
        int | None, Field(ge=0, le=1_000_000, description="Maximum number of tokens; default: the profile's.")
    ] = None,
    profile: Annotated[
        Line, Field(description="default, coding (larger), brief, or a profile of the settings.")
    ] = "default",
    conversation: ConversationRef | None = None,
) -> ContextResult:
    """The memory that a new session should start with, as one text within a budget of tokens: the project, the last
    hand-off, decisions and lessons that bear on the task, open tasks, standing rules, notes and earlier turns that
    answer it, and where the last session stopped.

    Use it once at the beginning of a session or of a new task, before anything else.

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
    tool(memory, title="Remember, recall, forget", destroys=True),
    tool(memory_query, title="Look up in one store", reads=True),
    tool(memory_upsert, title="Keep knowledge by key", destroys=True, repeats=True),
    tool(memory_note, title="Work on named notes", destroys=True),
    tool(memory_context, title="Context for a new task", reads=True),
]
