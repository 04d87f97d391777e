"""The routes of an agent dashboard under /api/memory: saved chats, checkpoints, notes by category, compaction.

They use the vocabulary of that dashboard: `agentId`, `chatId`, the roles `user` and `agent`, ids in milliseconds.
Unknown fields of a body are ignored, because the dashboard may send more than is stored. Messages marked `internal`
are never stored.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi import Body as Carried
from starlette.exceptions import HTTPException

from recollect.clock import iso
from recollect.compat.dashboard_types import (
    AgentQuery,
    AppendNote,
    CategoryQuery,
    ChangedVaultEntry,
    ChatCheckpoint,
    ChatCheckpointBody,
    ChatMessage,
    CompactionFigures,
    DashboardChat,
    InitProject,
    LastCompaction,
    MigratedFiles,
    NewVaultEntry,
    OneAgent,
    RecoveredCheckpoint,
    SaveChats,
    SavedChat,
    SavedChats,
    SaveRequest,
    VaultAgents,
    VaultCounts,
    VaultEntries,
    VaultEntry,
    VaultEntryResult,
    VaultSearchResult,
    VaultSearchResults,
)
from recollect.conversation import Conversation
from recollect.errors import ConfigError, NotFound
from recollect.memory import Memory, search_notes
from recollect.model.access import ANY, Right
from recollect.model.entry import Category, Entry, Kind
from recollect.model.history import EventType, Status
from recollect.model.operation import Write
from recollect.rest.caller import Anyone, Caller, Owner, local_only
from recollect.rest.idempotency import Route
from recollect.rest.types import LINES, ShortText

__all__ = ["router"]

router = APIRouter(prefix="/api/memory", tags=["dashboard"], route_class=Route)
RESULTS, MOST = 10, 100
FUZZY = 0.2
CLOSED = "session-close"
ALL = 1_000_000
_TAG = re.compile(r"#(\w+)")
_ROLES: dict[EventType, Literal["user", "agent"]] = {EventType.USER: "user", EventType.MODEL: "agent"}


# Chats


@router.get("")
def conversations(caller: Anyone, agent_id: AgentQuery = None) -> SavedChats:
    """The most recently saved conversation of one agent or of each, with its messages as last saved."""
    agents = _agents(caller, agent_id)
    return SavedChats(conversations=[saved for agent in agents for saved in _newest(caller, agent)])


@router.post("")
def save(request: Annotated[SaveRequest, Carried()], caller: Anyone) -> dict[str, Any]:
    """Save conversations, add a note, or set the project description."""
    match request:
        case AppendNote():
            memory = _memory(caller, request.agentId, Right.WRITE)
            return {"ok": True, "entry": _append(memory, request.category, request.content, request.tags)}
        case InitProject():
            memory = _memory(caller, request.agentId or caller.agent, Right.WRITE)
            caller.must(Right.WRITE, agent=ANY)  # the text applies to all agents
            return {"ok": True, "created": memory.set_project(request.content, replace=False)}
        case _:
            chats = request.conversations if isinstance(request, SaveChats) else [request]
            memories = [_memory(caller, chat.agentId, Right.WRITE) for chat in chats]  # checks all rights first
            for memory, chat in zip(memories, chats, strict=True):
                _saved(memory, chat)
            return {"ok": True, "saved": [chat.agentId for chat in chats]}


@router.get("/checkpoint")
def recover(caller: Anyone, agent_id: OneAgent) -> RecoveredCheckpoint:
    """The last 50 messages of an agent's conversation, to resume after a crash; null after seven days."""
    found = _memory(caller, agent_id, Right.READ).recover()
    if found is None:
        return RecoveredCheckpoint(checkpoint=None)
    return RecoveredCheckpoint(
        checkpoint=ChatCheckpoint(
            agentId=agent_id,
            savedAt=found.saved_at,
            messages=[ChatMessage.model_validate(one) for one in found.messages],
            chatId=_chat_id(agent_id, found.conversation.chat_id),
            modelId=found.conversation.model_id,
        )
    )


@router.post("/checkpoint")
def checkpoint(body: ChatCheckpointBody, caller: Anyone) -> dict[str, Any]:
    """Save a conversation and its checkpoint; with `close` also end it and store a hand-off, decisions and lessons."""
    conversation = _saved(_memory(caller, body.agentId, Right.WRITE), body)
    if conversation is None:
        return {"ok": True, "conversation": None, "closed": False}
    closed = body.close and conversation.status is Status.ACTIVE
    if closed:
        conversation.end()
    else:
        conversation.checkpoint()
    return {"ok": True, "conversation": conversation.ref_code, "closed": closed}


# Notes


@router.get("/vault")
def vault(
    caller: Anyone, agent_id: AgentQuery = None, category: CategoryQuery = None
) -> VaultAgents | VaultCounts | VaultEntries:
    """The agents; with `agentId` its number of notes per category; with `category` the notes themselves."""
    agents = _agents(caller, agent_id)
    if category is not None:
        memories = [_memory(caller, agent, Right.READ) for agent in agents]
        return VaultEntries(entries=[note for one in memories for note in _shown(one, category, _notes(one, category))])
    if agent_id is None:
        return VaultAgents(agents=agents)
    memory = _memory(caller, agent_id, Right.READ)
    return VaultCounts(agentId=agent_id, counts={one: len(memory.numbers(one)) for one in Category})


@router.post("/vault", status_code=201)
def create(new: NewVaultEntry, caller: Anyone) -> VaultEntryResult:
    """Create a note."""
    return VaultEntryResult(
        entry=_append(_memory(caller, new.agentId, Right.WRITE), new.category, new.content, new.tags)
    )


@router.put("/vault")
def update(changed: ChangedVaultEntry, caller: Anyone) -> VaultEntryResult:
    """Replace the content of a note. Its tags stay unless the content or `tags` has new ones."""
    memory = _memory(caller, changed.agentId, Right.WRITE)
    note = _note(memory, changed.category, changed.id)
    tags = _tags(changed.content) or None if changed.tags is None else changed.tags
    # A dashboard is used by a person, whose edit counts as one in a file of the vault.
    written = memory.apply(Write(note.id, content=changed.content, tags=tags, origin=caller.origin))
    return VaultEntryResult(entry=_shown(memory, changed.category, [written])[0])


@router.delete("/vault")
def delete(
    caller: Anyone, agent_id: OneAgent, category: Category, id: Annotated[ShortText, Query()]
) -> dict[str, bool]:
    """Move a note to the trash."""
    memory = _memory(caller, agent_id, Right.WRITE)
    return {"ok": memory.forget(_note(memory, category, id).id)}


def _asked(q: Annotated[str, Query(include_in_schema=False)] = "") -> str:
    """Return the query. The schema marks it as required, but here a missing one is a 400, not a 422."""
    if not re.match(LINES, q):
        raise HTTPException(400, "q is missing; pass a query, for example /api/memory/search?q=deploy")
    return q


def _most(
    limit: Annotated[str | None, Query(description="Maximum number of results, 1 to 100; 10 by default.")] = None,
) -> int:
    """Parse the limit; an invalid one, or one below 1, becomes the default."""
    try:
        number = int(limit or RESULTS)
    except ValueError:
        number = RESULTS
    return min(number, MOST) if number > 0 else RESULTS


_Q = {"name": "q", "in": "query", "required": True, "schema": {"type": "string", "pattern": LINES}}


@router.get("/search", openapi_extra={"parameters": [_Q]})
def search(
    caller: Anyone,
    q: Annotated[str, Depends(_asked)],
    limit: Annotated[int, Depends(_most)],
    agent_id: AgentQuery = None,
    category: CategoryQuery = None,
) -> VaultSearchResults:
    """Search notes by words, prefixes and similar spelling; best first."""
    memories = [_memory(caller, agent, Right.READ) for agent in _agents(caller, agent_id)]
    categories = Category if category is None else [category]
    hits = search_notes(memories, q, limit=limit, categories=categories, fuzzy=FUZZY)
    shown = dict[str, VaultEntry]()
    for agent, one in {(hit.agent, hit.entry.category) for hit in hits if hit.entry.category}:
        notes = [hit.entry for hit in hits if (hit.agent, hit.entry.category) == (agent, one)]
        as_shown = _shown(caller.home.agent(agent, caller.workspace), one, notes)
        shown |= {note.id: view for note, view in zip(notes, as_shown, strict=True)}
    return VaultSearchResults(
        results=[VaultSearchResult(entry=shown[hit.entry.id], score=hit.score, snippet=hit.snippet) for hit in hits]
    )


# Upkeep


@router.get("/compact")
def last_compaction(caller: Owner) -> LastCompaction:
    """Result of the last compaction."""
    last = caller.home.last_compaction()
    return LastCompaction(lastCompaction=None if last is None else CompactionFigures.model_validate(last))


@router.post("/compact", dependencies=[Depends(local_only)])
def compact(caller: Owner) -> CompactionFigures:
    """Compact checkpoints, conversations, notes, index and legacy files. Only from the server's own machine."""
    return CompactionFigures.model_validate(caller.home.compact())


@router.post("/migrate", dependencies=[Depends(local_only)])
def migrate(caller: Anyone) -> MigratedFiles:
    """Import the flat files of agents in the vault's folder. Only from the server's own machine."""
    caller.must(Right.ADMIN, agent=ANY)
    vault = caller.home.vault(caller.workspace)
    try:
        there = vault.folder.is_dir()
    except ConfigError:  # a single file, or PostgreSQL: no vault folder is configured
        there = False
    if not there:
        return MigratedFiles(migrated=[], skipped=[])
    done = vault.migrate()
    return MigratedFiles(migrated=[*done.migrated], skipped=[*done.skipped])


# Between the dashboard's terms and ours


def _memory(caller: Caller, agent: str, right: Right) -> Memory:
    caller.must(right, agent=agent)
    return caller.memory_of(agent)


def _agents(caller: Caller, agent: str | None) -> list[str]:
    """Return the named agent, otherwise all that the caller may read."""
    if agent is not None:
        caller.must(Right.READ, agent=agent)
        return [agent]
    return [one for one in caller.home.agents(caller.workspace) if caller.may(Right.READ, agent=one)]


def _default_chat_id(agent: str, said: Sequence[ChatMessage] = ()) -> str:
    """Derive an id for a chat without one from its first message: a different first message is a different chat.

    Migrated conversations have the same id without the hash of a message.
    """
    name = f"{agent}.json"
    return f"{name}#{hashlib.sha256(said[0].text.encode()).hexdigest()[:16]}" if said else name


def _chat_id(agent: str, stored: str | None) -> str | None:
    """Return the id that the dashboard gave a chat; None for a derived id."""
    return None if stored is None or stored.partition("#")[0] == _default_chat_id(agent) else stored


def _saved(memory: Memory, chat: DashboardChat) -> Conversation | None:
    """Save a chat and return its conversation; None if it has no messages yet."""
    said = [message for message in chat.messages if not message.internal and message.text.strip()]
    known = _conversation_of(memory, chat, said)
    if known is not None:
        known.save([{"role": message.role, "text": message.text} for message in said], model_id=chat.modelId)
    return known


def _conversation_of(memory: Memory, chat: DashboardChat, said: Sequence[ChatMessage]) -> Conversation | None:
    """Return the conversation of a chat; start one if there is none, or if the chat continued after its end."""
    chat_id = chat.chatId or _default_chat_id(chat.agentId, said)
    info = next(iter(memory.conversations.list(chat_id=chat_id, limit=1)), None)
    if chat.chatId is None:
        last = memory.conversations.last_saved()
        if last is not None and (not said or _loaded(memory.conversations.get(last.id))[:1] == said[:1]):
            info = last
    if info is not None:
        known = memory.conversations.get(info.id)
        # A page that stays open sends the same chat repeatedly, even long after it has ended.
        if info.status is Status.ACTIVE or not said or _loaded(known)[-len(said) :] == said:
            return known
    # A page saves a chat and its checkpoint at the same moment; they are one conversation.
    return memory.conversations.start(chat_id=chat_id, model_id=chat.modelId, resume=True) if said else None


def _loaded(known: Conversation) -> list[ChatMessage]:
    return [ChatMessage(role=_ROLES[event.type], text=event.content) for event in known.load().events]


def _newest(caller: Caller, agent: str) -> Iterable[SavedChat]:
    memory = _memory(caller, agent, Right.READ)
    info = memory.conversations.last_saved()
    if info is not None:
        known = memory.conversations.get(info.id)
        at = known.load().saved_at
        yield SavedChat(
            agentId=agent,
            savedAt=f"{iso(at)[:-1]}.{at % 1_000:03}Z",
            messages=_loaded(known),
            chatId=_chat_id(agent, info.chat_id),
            modelId=info.model_id,
        )


def _tags(content: str) -> list[str]:
    return [tag for tag in dict.fromkeys(_TAG.findall(content)) if len(tag) <= 64][:64]


def _append(memory: Memory, category: Category, content: str, tags: Sequence[str] | None) -> VaultEntry:
    tags = _tags(content) if tags is None else tags
    last = None
    if category is Category.HANDOFFS and CLOSED in tags:
        # The page writes its own hand-off, before or while its conversation ends and writes one: keep only one.
        last = memory.conversations.last_saved()
        left = memory.list(category=category, conversation=last.id, limit=ALL) if last else []
        for entry in left:
            if entry.content == content:
                return _shown(memory, category, [entry])[0]
    active = last.id if last and last.status is Status.ACTIVE else None
    made = memory.remember(content, category=category, tags=tags, conversation=active)
    return _shown(memory, category, [made])[0]


def _notes(memory: Memory, category: Category) -> list[Entry]:
    return memory.list(kind=Kind.NOTE, category=category, limit=ALL)


def _shown(memory: Memory, category: Category, notes: Iterable[Entry]) -> list[VaultEntry]:
    """Convert notes of a category to the form of the page.

    A note's id is its number: its creation time in milliseconds, or the next free one. Only if two stores or a restored
    note produced the same number twice, it is the entry's id.
    """
    numbers = memory.numbers(category)
    times = Counter(numbers.values())
    return [
        VaultEntry(
            id=str(numbers[note.id]) if times[numbers.get(note.id, 0)] == 1 else note.id,
            date=iso(note.created_at)[:16],
            content=note.content,
            tags=[*note.tags],
            agentId=memory.agent,
            category=category,
        )
        for note in notes
    ]


def _note(memory: Memory, category: Category, id: str) -> Entry:
    found = [entry_id for entry_id, number in memory.numbers(category).items() if id in (entry_id, str(number))]
    if len(found) == 1:
        return memory.get(found[0])
    raise NotFound(f"{memory.agent!r} has no note {id!r} in {category}; GET /api/memory/vault lists them")
