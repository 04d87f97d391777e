"""Reads and writes of the stores of a model's memory tools, in the form the model sees: plain mappings, no scores.

The acting agent is the owner of the memory; no argument names it. Errors are raised, as everywhere else.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from recollect import names
from recollect.clock import iso
from recollect.engine import conversation_search, remember
from recollect.errors import Denied, Invalid, NotFound
from recollect.model.entry import Entry, Kind, Lifetime, Origin
from recollect.model.history import ConversationHandle, Event, EventType
from recollect.model.operation import Remove

if TYPE_CHECKING:
    from recollect.conversation import Conversation
    from recollect.memory import Memory

__all__ = ["MODES", "compact", "query", "upsert"]

MODES: Mapping[str, tuple[str, ...]] = {
    "working": ("keyword", "hash"),
    "session": ("semantic", "text", "session_detail"),
    "knowledge": ("semantic", "text"),
}
OPERATIONS = ("insert", "update", "delete")


def query(
    memory: "Memory",
    store: str = "knowledge",
    mode: str | None = None,
    query: str | None = None,
    *,
    hash: str | None = None,
    session_id: str | None = None,
    conversation: ConversationHandle | str | None = None,
    target_agent: str | None = None,
    limit: int = 10,
    after: int = 0,
) -> dict[str, Any]:
    """Read one of the stores of a memory: {"ok": True, "results": [{id, store, content, source_agent, created_at, …}]}.

    `working` is the current conversation, by words or by the hash of an event, and never another agent's. `session`
    is past conversations: by meaning, by words, or all of one (`session_detail` with its session_id). `knowledge` is
    the long-term notes.

    If a conversation has more events than the limit, the result has a cursor `next`; pass it as `after` for the next
    page.
    """
    if store not in MODES:
        raise Invalid(f"{str(store)[:80]!r} is not a store; use one of {', '.join(MODES)}")
    chosen = MODES[store][0] if mode is None else mode
    if chosen not in MODES[store]:
        raise Invalid(f"the store {store!r} has no mode {str(chosen)[:80]!r}; use one of {', '.join(MODES[store])}")
    owner = memory.agent if target_agent is None else names.segment(target_agent, "an agent")
    if store == "working":
        if owner != memory.agent:
            raise Denied("the working memory of another agent is never read; omit target_agent")
        results = _working(memory, chosen, query, hash, conversation, limit)
    elif chosen == "session_detail":
        return _detail(memory, _given(session_id, "session_id", chosen), target_agent, owner, limit, after)
    elif store == "session":
        results = _session(memory, chosen, query, target_agent, limit)
    else:
        found = memory.recall(
            _given(query, "query", store),
            limit=limit,
            mode=_recall_mode(chosen),
            kinds=[Kind.NOTE],
            lifetimes=[Lifetime.LONG_TERM],
            target_agent=target_agent,
        )
        results = [{**_entry(hit.entry, store), "source_agent": hit.agent} for hit in found]
    return {"ok": True, "results": [{"source_agent": owner, **result} for result in results]}


def upsert(
    memory: "Memory",
    op: str,
    key: str | None = None,
    content: str | None = None,
    tags: Iterable[str] = (),
    *,
    origin: Origin | str | None = None,
) -> dict[str, Any]:
    """Write knowledge: {"ok": True, "id": …, "created": …}. `insert` with an existing key updates it."""
    if op not in OPERATIONS:
        raise Invalid(f"{str(op)[:80]!r} is not an operation; use one of {', '.join(OPERATIONS)}")
    if op == "delete":
        known = remember.knowledge(memory.get(_given(key, "key", op)))
        removed = memory.apply(Remove(known.id))
        return {"ok": True, "id": removed.id, "created": False}
    text = _given(content, "content", op)
    if key is None:
        if op == "update":
            raise Invalid("an update needs the key of what it updates")
        made = memory.remember(text, tags=tags, origin=origin, lifetime=Lifetime.LONG_TERM)
        return {"ok": True, "id": made.id, "created": True}
    try:
        known = remember.knowledge(memory.get(key))
        made = memory.upsert(key, text, tags=tags, origin=origin, if_version=known.version)
        return {"ok": True, "id": made.id, "created": False}
    except NotFound:
        if op == "update":
            raise
    return {"ok": True, "id": memory.upsert(key, text, tags=tags, origin=origin).id, "created": True}


def compact(conversation: "Conversation", lane: str = "edge") -> dict[str, Any]:
    """Fold the older part of a lane into an archive: {"ok": True, "started": …, "folded": …}."""
    done = conversation.compact(lane)
    return {"ok": True, "started": done is not None, "folded": 0 if done is None else done.folded}


def _working(
    memory: "Memory",
    mode: str,
    query: str | None,
    hash: str | None,
    conversation: ConversationHandle | str | None,
    limit: int,
) -> list[dict[str, Any]]:
    if conversation is None:
        raise Invalid("working memory belongs to a conversation; pass conversation=…")
    current = memory.conversations.get(conversation)
    if mode == "hash":
        return [_event(current.event(_given(hash or query, "hash", mode)), "working")]
    return [_event(turn.event, "working") for turn in current.find(_given(query, "query", mode), limit=limit)]


def _detail(
    memory: "Memory", session: str, target_agent: str | None, owner: str, limit: int, after: int
) -> dict[str, Any]:
    """Return a page of the events of a conversation, without compaction markers."""
    # A marker covers at least one event before it, so at least half of the events are not markers.
    happened = memory.conversations.detail(session, target_agent=target_agent, limit=2 * limit + 2, after=after)
    events = [event for event in happened if event.type is not EventType.MARKER]
    page = events[:limit]
    results = [{"source_agent": owner, **_event(event, "session")} for event in page]
    return {"ok": True, "results": results, **({"next": page[-1].seq} if page and len(events) > limit else {})}


def _session(
    memory: "Memory", mode: str, query: str | None, target_agent: str | None, limit: int
) -> list[dict[str, Any]]:
    if mode == "text":
        asked = _given(query, "query", mode)
        turns = memory.conversations.search(asked, limit=4 * limit, target_agent=target_agent, meaning=False)
        spoken = [_event(turn.event, "session") for turn in conversation_search.holding(turns, asked)[:limit]]
        # Tool output is in the chunks of a conversation; the index of turns covers only users and models.
        blocks = memory.recall(asked, limit=limit, mode="keyword", kinds=[Kind.CHUNK], target_agent=target_agent)
        known = {one["content"] for one in spoken}
        more = [hit for hit in blocks if not any(content in hit.entry.content for content in known)]
        return [*spoken, *({**_entry(hit.entry, "session"), "source_agent": hit.agent} for hit in more)][:limit]
    hits = memory.recall(
        _given(query, "query", mode),
        limit=limit,
        mode=_recall_mode(mode),
        kinds=[Kind.CHUNK, Kind.ARCHIVE],
        target_agent=target_agent,
    )
    return [{**_entry(hit.entry, "session"), "source_agent": hit.agent} for hit in hits]


def _recall_mode(mode: str) -> str:
    """Map `text` to keyword search, other modes to hybrid, which falls back to words where there are no vectors."""
    return "keyword" if mode == "text" else "hybrid"


def _given(value: str | None, what: str, where: str) -> str:
    if value is None:
        raise Invalid(f"{where!r} needs a {what}")
    return value


def _entry(entry: Entry, store: str) -> dict[str, Any]:
    tier_of_chunk = "mid_term" if entry.lifetime is Lifetime.MID_TERM else "long_term_detail"
    tier = {Kind.CHUNK: tier_of_chunk, Kind.ARCHIVE: "long_term_summary"}.get(entry.kind, store)
    return {
        "id": entry.id,
        "store": store,
        "tier": tier,
        **({"key": entry.name} if entry.name else {}),
        **({"session_id": entry.conversation_id} if entry.conversation_id else {}),
        "content": entry.content,
        **({"category": str(entry.category)} if entry.category else {}),
        "origin": str(entry.origin),
        "created_at": iso(entry.created_at),
    }


def _event(event: Event, store: str) -> dict[str, Any]:
    return {
        "id": event.id,
        "store": store,
        "session_id": event.conversation_id,
        "hash": event.hash,
        "role": event.role,
        **({"speaker": event.speaker} if event.speaker else {}),
        "content": event.content,
        "origin": str(event.origin),
        "created_at": iso(event.created_at or 0),
    }
