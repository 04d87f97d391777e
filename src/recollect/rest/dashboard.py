"""Routes under /api/memory for an existing agent dashboard: saved conversations, checkpoints, notes by category.

They use the vocabulary of that dashboard: `agentId`, `chatId`, the roles `user` and `agent`, ids in milliseconds.
Unknown fields of a body are ignored, as its page may send more than is kept. Messages marked `internal` are machinery
of the page and are never stored.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi import Body as Carried
from pydantic import BaseModel, ConfigDict, Discriminator, Field
from pydantic import Tag as Choice
from starlette.exceptions import HTTPException

from recollect.clock import iso
from recollect.conversation import Conversation
from recollect.errors import ConfigError, NotFound
from recollect.memory import Memory, search_notes
from recollect.model.access import ANY, Right
from recollect.model.entry import Category, Entry, Kind
from recollect.model.history import EventType, Status
from recollect.model.operation import Write
from recollect.rest.caller import SEGMENT, Anyone, Caller, Owner, local_only
from recollect.rest.idempotency import Route
from recollect.rest.types import FIRST_ERROR, LINES, Content, Short, Tags

__all__ = [
    "Agents",
    "Append",
    "ChangedEntry",
    "Checkpoint",
    "CheckpointBody",
    "Compaction",
    "Conversations",
    "Counts",
    "Entries",
    "InitProject",
    "LastCompaction",
    "Message",
    "Migrated",
    "NewEntry",
    "OneEntry",
    "Recovered",
    "Results",
    "SaveAll",
    "SaveOne",
    "Saved",
    "SearchResult",
    "Talk",
    "VaultEntry",
    "router",
]

router = APIRouter(prefix="/api/memory", tags=["dashboard"], route_class=Route)
RESULTS, MOST = 10, 100
FUZZY = 0.2
CLOSED = "session-close"
ALL = 1_000_000
_TAG = re.compile(r"#(\w+)")
_SPOKEN: dict[EventType, Literal["user", "agent"]] = {EventType.USER: "user", EventType.MODEL: "agent"}

AgentId = Annotated[str, Field(min_length=1, max_length=64, pattern=SEGMENT, examples=["dev"])]
OneAgent = Annotated[AgentId, Query(alias="agentId")]
AgentQuery = Annotated[AgentId | None, Query(alias="agentId", description="One agent; else all that may be read.")]
CategoryQuery = Annotated[Category | None, Query()]
ALONE = ConfigDict(json_schema_extra={"not": {"required": ["conversations"]}})
"""Excludes `conversations` from the schemas of the other bodies: a body with that key always means `SaveAll`."""


# What is sent and what comes back


class Message(BaseModel):
    """Something that was said."""

    role: Literal["user", "agent"]
    text: Annotated[str, Field(max_length=16_000_000, pattern=r"^[^\x00]*$")]
    internal: Annotated[bool, Field(strict=True)] = False


class Talk(BaseModel):
    """A conversation as the page has it. It may be sent again and again; what was sent last is what loads."""

    agentId: AgentId
    messages: Annotated[list[Message], FIRST_ERROR, Field(max_length=20_000)]
    chatId: Short | None = None
    modelId: Short | None = None


class SaveOne(Talk):
    """Save a conversation."""

    model_config = ALONE

    action: Literal["save"] = "save"


class SaveAll(BaseModel):
    """Save several conversations."""

    conversations: Annotated[list[Talk], FIRST_ERROR, Field(max_length=1_000)]


class Append(BaseModel):
    """Add to what an agent remembers."""

    model_config = ALONE

    action: Literal["append"]
    agentId: AgentId
    content: Content
    category: Category = Category.LESSONS
    tags: Tags | None = None


class InitProject(BaseModel):
    """Say what the project is about, unless that was said before."""

    model_config = ALONE

    action: Literal["init-project"]
    content: Content
    agentId: AgentId | None = None


def _wanted(value: object) -> str:
    given = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    return "save-all" if "conversations" in given else str(given.get("action", "save"))


Wanted = Annotated[
    Annotated[SaveOne, Choice("save")]
    | Annotated[SaveAll, Choice("save-all")]
    | Annotated[Append, Choice("append")]
    | Annotated[InitProject, Choice("init-project")],
    Discriminator(_wanted, custom_error_type="action", custom_error_message="action is save, append or init-project"),
]


class Saved(BaseModel):
    """A conversation as it is kept."""

    agentId: str
    savedAt: str
    messages: list[Message]
    chatId: str | None
    modelId: str | None


class Conversations(BaseModel):
    """The conversation of each agent that was saved last."""

    conversations: list[Saved]


class CheckpointBody(Talk):
    """Where a conversation stands; with `close` it is over: a hand-off, decisions and lessons are kept of it."""

    close: Annotated[bool, Field(strict=True)] = False


class Checkpoint(BaseModel):
    """Where an agent was when it stopped."""

    agentId: str
    savedAt: int
    messages: list[Message]
    chatId: str | None
    modelId: str | None


class Recovered(BaseModel):
    """The checkpoint of an agent; null when it has none of the last seven days."""

    checkpoint: Checkpoint | None


class NewEntry(BaseModel):
    """A note for a category. Without `tags` those are taken that the content names with a #."""

    agentId: AgentId
    category: Category
    content: Content
    tags: Tags | None = None


class ChangedEntry(NewEntry):
    """Another content for a note."""

    id: Short


class VaultEntry(BaseModel):
    """A note."""

    id: str
    date: str
    content: str
    tags: list[str]
    agentId: str
    category: Category


class OneEntry(BaseModel):
    """A note as it is now."""

    entry: VaultEntry


class Agents(BaseModel):
    """The agents that remember anything."""

    agents: list[str]


class Counts(BaseModel):
    """How many notes an agent has in each category."""

    agentId: str
    counts: dict[Category, int]


class Entries(BaseModel):
    """Notes, newest first."""

    entries: list[VaultEntry]


class SearchResult(BaseModel):
    """A note that was found."""

    entry: VaultEntry
    score: float
    snippet: str


class Results(BaseModel):
    """Notes that were found, best first."""

    results: list[SearchResult]


class Compaction(BaseModel):
    """What a compaction did."""

    timestamp: str
    checkpointsCleaned: int
    conversationsTrimmed: int
    vaultEntriesMerged: int
    indexRebuilt: bool
    legacyFilesCleaned: int


class LastCompaction(BaseModel):
    """What the last compaction did; null before the first one."""

    lastCompaction: Compaction | None


class Migrated(BaseModel):
    """The flat files that became entries, and those that were left alone."""

    migrated: list[str]
    skipped: list[str]


# Conversations


@router.get("")
def conversations(caller: Anyone, agent_id: AgentQuery = None) -> Conversations:
    """The conversation of an agent, or of each, that was saved last, with the messages as they were saved last."""
    agents = _agents(caller, agent_id)
    return Conversations(conversations=[saved for agent in agents for saved in _newest(caller, agent)])


@router.post("")
def save(wanted: Annotated[Wanted, Carried()], caller: Anyone) -> dict[str, Any]:
    """Save conversations, add to what an agent remembers, or say what the project is about."""
    match wanted:
        case Append():
            memory = _memory(caller, wanted.agentId, Right.WRITE)
            return {"ok": True, "entry": _append(memory, wanted.category, wanted.content, wanted.tags)}
        case InitProject():
            memory = _memory(caller, wanted.agentId or caller.agent, Right.WRITE)
            caller.must(Right.WRITE, agent=ANY)  # the text applies to all agents
            return {"ok": True, "created": memory.set_project(wanted.content, replace=False)}
        case _:
            talks = wanted.conversations if isinstance(wanted, SaveAll) else [wanted]
            memories = [_memory(caller, talk.agentId, Right.WRITE) for talk in talks]  # checks all rights first
            for memory, talk in zip(memories, talks, strict=True):
                _saved(memory, talk)
            return {"ok": True, "saved": [talk.agentId for talk in talks]}


@router.get("/checkpoint")
def recover(caller: Anyone, agent_id: OneAgent) -> Recovered:
    """Where an agent was when it stopped: its last 50 messages. Null after seven days."""
    found = _memory(caller, agent_id, Right.READ).recover()
    if found is None:
        return Recovered(checkpoint=None)
    made = Checkpoint(
        agentId=agent_id, savedAt=found.saved_at, messages=[Message.model_validate(one) for one in found.messages],
        chatId=_chat(agent_id, found.conversation.chat_id), modelId=found.conversation.model_id,
    )  # fmt: skip
    return Recovered(checkpoint=made)


@router.post("/checkpoint")
def checkpoint(body: CheckpointBody, caller: Anyone) -> dict[str, Any]:
    """Save a conversation and where it stands; with `close` end it, which leaves a hand-off, decisions and lessons."""
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
def vault(caller: Anyone, agent_id: AgentQuery = None, category: CategoryQuery = None) -> Agents | Counts | Entries:
    """The agents; with `agentId` how many notes it has in each category; with `category` the notes themselves."""
    agents = _agents(caller, agent_id)
    if category is not None:
        memories = [_memory(caller, agent, Right.READ) for agent in agents]
        return Entries(entries=[note for one in memories for note in _shown(one, category, _notes(one, category))])
    if agent_id is None:
        return Agents(agents=agents)
    memory = _memory(caller, agent_id, Right.READ)
    return Counts(agentId=agent_id, counts={one: len(memory.numbers(one)) for one in Category})


@router.post("/vault", status_code=201)
def create(new: NewEntry, caller: Anyone) -> OneEntry:
    """Write a note."""
    return OneEntry(entry=_append(_memory(caller, new.agentId, Right.WRITE), new.category, new.content, new.tags))


@router.put("/vault")
def update(changed: ChangedEntry, caller: Anyone) -> OneEntry:
    """Give a note another content. Tags stay, unless there are others in the content or in `tags`."""
    memory = _memory(caller, changed.agentId, Right.WRITE)
    note = _note(memory, changed.category, changed.id)
    tags = _tags(changed.content) or None if changed.tags is None else changed.tags
    written = memory.apply(Write(note.id, content=changed.content, tags=tags))
    return OneEntry(entry=_shown(memory, changed.category, [written])[0])


@router.delete("/vault")
def delete(caller: Anyone, agent_id: OneAgent, category: Category, id: Annotated[Short, Query()]) -> dict[str, bool]:
    """Forget a note; it stays in the trash for a while."""
    memory = _memory(caller, agent_id, Right.WRITE)
    return {"ok": memory.forget(_note(memory, category, id).id)}


def _asked(q: Annotated[str, Query(include_in_schema=False)] = "") -> str:
    """Return the query. The schema marks it as required, but here a missing one is a 400, not a 422."""
    if not re.match(LINES, q):
        raise HTTPException(400, "q is missing; say what to look for: /api/memory/search?q=deploy")
    return q


def _most(limit: Annotated[str | None, Query(description="How many, 1 to 100; else 10 or 100.")] = None) -> int:
    """Parse the limit; an invalid one, or one below 1, becomes the default."""
    try:
        wanted = int(limit or RESULTS)
    except ValueError:
        wanted = RESULTS
    return min(wanted, MOST) if wanted > 0 else RESULTS


_Q = {"name": "q", "in": "query", "required": True, "schema": {"type": "string", "pattern": LINES}}


@router.get("/search", openapi_extra={"parameters": [_Q]})
def search(
    caller: Anyone,
    q: Annotated[str, Depends(_asked)],
    limit: Annotated[int, Depends(_most)],
    agent_id: AgentQuery = None,
    category: CategoryQuery = None,
) -> Results:
    """Notes that hold the words of a question, or words that begin or look like them; best first."""
    memories = [_memory(caller, agent, Right.READ) for agent in _agents(caller, agent_id)]
    categories = Category if category is None else [category]
    hits = search_notes(memories, q, limit=limit, categories=categories, fuzzy=FUZZY)
    shown = dict[str, VaultEntry]()
    for agent, one in {(hit.agent, hit.entry.category) for hit in hits if hit.entry.category}:
        notes = [hit.entry for hit in hits if (hit.agent, hit.entry.category) == (agent, one)]
        as_shown = _shown(caller.home.agent(agent, caller.workspace), one, notes)
        shown |= {note.id: view for note, view in zip(notes, as_shown, strict=True)}
    return Results(
        results=[SearchResult(entry=shown[hit.entry.id], score=hit.score, snippet=hit.snippet) for hit in hits]
    )


# Upkeep


@router.get("/compact")
def last_compaction(caller: Owner) -> LastCompaction:
    """What the last compaction did."""
    last = caller.home.last_compaction()
    return LastCompaction(lastCompaction=None if last is None else Compaction.model_validate(last))


@router.post("/compact", dependencies=[Depends(local_only)])
def compact(caller: Owner) -> Compaction:
    """Tidy everything: checkpoints, conversations, notes, index, old files. From the server's own machine only."""
    return Compaction.model_validate(caller.home.compact())


@router.post("/migrate", dependencies=[Depends(local_only)])
def migrate(caller: Anyone) -> Migrated:
    """Take in the flat files of agents that lie in the vault's folder. From the server's own machine only."""
    caller.must(Right.ADMIN, agent="*")
    vault = caller.home.vault(caller.workspace)
    try:
        there = vault.folder.is_dir()
    except ConfigError:  # a single file, or PostgreSQL: no vault folder is configured
        there = False
    if not there:
        return Migrated(migrated=[], skipped=[])
    done = vault.migrate()
    return Migrated(migrated=[*done.migrated], skipped=[*done.skipped])


# Between the two


def _memory(caller: Caller, agent: str, right: Right) -> Memory:
    caller.must(right, agent=agent)
    return caller.home.agent(agent, caller.workspace)


def _agents(caller: Caller, agent: str | None) -> list[str]:
    """Return the named agent, otherwise all that the caller may read."""
    if agent is not None:
        caller.must(Right.READ, agent=agent)
        return [agent]
    return [one for one in caller.home.agents(caller.workspace) if caller.may(Right.READ, agent=one)]


def _unnamed(agent: str, said: Sequence[Message] = ()) -> str:
    """Derive a chat id for a talk without one from its first message: a different first message is a different talk.

    Migrated conversations have the same id without the hash of a message.
    """
    name = f"{agent}.json"
    return f"{name}#{hashlib.sha256(said[0].text.encode()).hexdigest()[:16]}" if said else name


def _chat(agent: str, chat: str | None) -> str | None:
    return None if chat is None or chat.partition("#")[0] == _unnamed(agent) else chat


def _saved(memory: Memory, talk: Talk) -> Conversation | None:
    """Save a talk and return its conversation; None if it has no messages yet."""
    said = [message for message in talk.messages if not message.internal and message.text.strip()]
    known = _standing(memory, talk, said)
    if known is not None:
        known.save([{"role": message.role, "text": message.text} for message in said], model_id=talk.modelId)
    return known


def _standing(memory: Memory, talk: Talk, said: Sequence[Message]) -> Conversation | None:
    """Return the conversation of a talk; start one if there is none, or if the talk continued after its end."""
    chat = talk.chatId or _unnamed(talk.agentId, said)
    info = next(iter(memory.conversations.list(chat_id=chat, limit=1)), None)
    if talk.chatId is None:
        last = memory.conversations.last_saved()
        if last is not None and (not said or _loaded(memory.conversations.get(last.id))[:1] == said[:1]):
            info = last
    if info is not None:
        known = memory.conversations.get(info.id)
        # A page that stays open sends the same talk repeatedly, even long after it has ended.
        if info.status is Status.ACTIVE or not said or _loaded(known)[-len(said) :] == said:
            return known
    # A page saves a talk and its checkpoint at the same moment; they are one conversation.
    return memory.conversations.start(chat_id=chat, model_id=talk.modelId, resume=True) if said else None


def _loaded(known: Conversation) -> list[Message]:
    return [Message(role=_SPOKEN[event.type], text=event.content) for event in known.load().events]


def _newest(caller: Caller, agent: str) -> Iterable[Saved]:
    memory = _memory(caller, agent, Right.READ)
    info = memory.conversations.last_saved()
    if info is not None:
        known = memory.conversations.get(info.id)
        at = known.load().saved_at
        yield Saved(
            agentId=agent,
            savedAt=f"{iso(at)[:-1]}.{at % 1_000:03}Z",
            messages=_loaded(known),
            chatId=_chat(agent, info.chat_id),
            modelId=info.model_id,
        )


def _tags(content: str) -> list[str]:
    return [tag for tag in dict.fromkeys(_TAG.findall(content)) if len(tag) <= 64][:64]


def _append(memory: Memory, category: Category, content: str, tags: Sequence[str] | None) -> VaultEntry:
    tags = _tags(content) if tags is None else tags
    talk = None
    if category is Category.HANDOFFS and CLOSED in tags:
        # The page writes its own hand-off, before or while its conversation ends and writes one: keep only one.
        talk = memory.conversations.last_saved()
        left = memory.list(category=category, conversation=talk.id, limit=ALL) if talk else []
        for entry in left:
            if entry.content == content:
                return _shown(memory, category, [entry])[0]
    going_on = talk.id if talk and talk.status is Status.ACTIVE else None
    made = memory.remember(content, category=category, tags=tags, conversation=going_on)
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
            date=iso(note.created_at)[:16], content=note.content, tags=[*note.tags], agentId=memory.agent,
            category=category,
        )
        for note in notes
    ]  # fmt: skip


def _note(memory: Memory, category: Category, id: str) -> Entry:
    found = [entry_id for entry_id, number in memory.numbers(category).items() if id in (entry_id, str(number))]
    if len(found) == 1:
        return memory.get(found[0])
    raise NotFound(f"{memory.agent!r} has no note {id!r} among its {category}; GET /api/memory/vault shows them")
