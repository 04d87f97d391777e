"""The same methods for asyncio: each runs in a worker thread. One forwarding file, no second implementation.

To begin with:

    home = await recollect.aio.open("memory.db")
    mem = await home.agent("ana")
    await mem.remember("We deploy on Tuesdays")
"""

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from recollect.access import Requests, Tokens
from recollect.channels import Channels
from recollect.clock import Clock
from recollect.config import Settings
from recollect.conversation import Conversation
from recollect.conversations import Conversations
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.history import Channel, ConversationHandle, ConversationInfo, Event, PayloadRow, Recovery
from recollect.providers.base import Embedder, LanguageModel
from recollect.reminders import Reminders
from recollect.review import Review
from recollect.scratchpad import Scratchpad
from recollect.storage.history import LONGEST, PAGE
from recollect.upkeep.runner import Jobs
from recollect.wiring import open_home

__all__ = [
    "AsyncChannels",
    "AsyncConversation",
    "AsyncConversations",
    "AsyncHome",
    "AsyncJobs",
    "AsyncMemory",
    "AsyncReminders",
    "AsyncRequests",
    "AsyncReview",
    "AsyncScratchpad",
    "AsyncTokens",
    "open",
]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def _forward(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """Return the method of the same name and parameters that runs in a worker thread."""

    @wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._inner, *args, **kwargs)

    return call


class _Around(Generic[S]):
    """Wrapper of an object whose methods run in worker threads."""

    def __init__(self, inner: S) -> None:
        self._inner = inner


class AsyncChannels(_Around[Channels]):
    """`Channels`, awaitable."""

    create = _forward(Channels.create)
    list = _forward(Channels.list)

    async def default(self) -> Channel:
        """Return the channel of conversations that are started without one."""
        return await asyncio.to_thread(lambda: self._inner.default)


class AsyncScratchpad(_Around[Scratchpad]):
    """`Scratchpad`, awaitable: the operations of a mapping as methods."""

    get = _forward(Scratchpad.get)
    pop = _forward(Scratchpad.pop)
    clear = _forward(Scratchpad.clear)

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""
        await asyncio.to_thread(self._inner.__setitem__, key, value)

    async def all(self) -> dict[str, Any]:
        """Return all values by key."""
        return await asyncio.to_thread(lambda: dict(self._inner))


class AsyncConversation(_Around[Conversation]):
    """`Conversation`, awaitable."""

    def __init__(self, inner: Conversation) -> None:
        super().__init__(inner)
        self.id, self.ref_code = inner.id, inner.ref_code
        self.scratchpad = AsyncScratchpad(inner.scratchpad)

    append = _forward(Conversation.append)
    user = _forward(Conversation.user)
    assistant = _forward(Conversation.assistant)
    tool = _forward(Conversation.tool)
    instruct = _forward(Conversation.instruct)
    job = _forward(Conversation.job)
    extend = _forward(Conversation.extend)
    save = _forward(Conversation.save)
    load = _forward(Conversation.load)
    event = _forward(Conversation.event)
    erase = _forward(Conversation.erase)
    find = _forward(Conversation.find)
    window = _forward(Conversation.window)
    messages = _forward(Conversation.messages)
    replay = _forward(Conversation.replay)
    summary = _forward(Conversation.summary)
    apply_delta = _forward(Conversation.apply_delta)
    compact = _forward(Conversation.compact)
    checkpoint = _forward(Conversation.checkpoint)
    idle = _forward(Conversation.idle)
    archive = _forward(Conversation.archive)
    end = _forward(Conversation.end)

    async def info(self) -> ConversationInfo:
        """Return all properties of the conversation, read now."""
        return await asyncio.to_thread(lambda: self._inner.info)

    async def saved(self) -> Recovery | None:
        """Return the checkpoint saved last; None if there is none or it has expired."""
        return await asyncio.to_thread(lambda: self._inner.saved)

    async def events(
        self, after: Event | int | None = None, *, before: Event | int | None = None, limit: int = LONGEST
    ) -> list[Event]:
        """Return the events in order; `after` an event, or `before` it with the newest first."""
        return await asyncio.to_thread(lambda: [*self._inner.events(after, before=before, limit=limit)])


class AsyncConversations(_Around[Conversations]):
    """`Conversations`, awaitable."""

    list = _forward(Conversations.list)
    search = _forward(Conversations.search)
    detail = _forward(Conversations.detail)
    journal = _forward(Conversations.journal)
    last_event = _forward(Conversations.last_event)
    last_saved = _forward(Conversations.last_saved)
    erase = _forward(Conversations.erase)
    end_stale = _forward(Conversations.end_stale)

    async def start(
        self,
        channel: str | None = None,
        chat_id: str | None = None,
        model_id: str | None = None,
        participants: Iterable[str] = (),
        resume: bool = False,
    ) -> AsyncConversation:
        """Start a conversation; with `resume`, return the active one of that chat id if there is one."""
        start = self._inner.start
        return AsyncConversation(await asyncio.to_thread(start, channel, chat_id, model_id, participants, resume))

    async def payloads(
        self, chat_id: str, *, before: int = LONGEST, page: int = PAGE
    ) -> "builtins.list[tuple[PayloadRow, dict[str, Any]]]":
        """Return the payloads of the events of a chat, newest first."""
        return await asyncio.to_thread(lambda: [*self._inner.payloads(chat_id, before=before, page=page)])

    async def payload_rows(self, chat_id: str) -> "builtins.list[PayloadRow]":
        """Return all events of a chat, newest first, with their payloads as JSON texts."""
        return await asyncio.to_thread(lambda: [*self._inner.payload_rows(chat_id)])

    async def get(self, id_or_ref: ConversationHandle | str) -> AsyncConversation:
        """Return the conversation with this id or ref code."""
        return AsyncConversation(await asyncio.to_thread(self._inner.get, id_or_ref))

    async def scratchpad(self, id_or_ref: ConversationHandle | str, owner: str | None = None) -> AsyncScratchpad:
        """Return the scratchpad of an own conversation, or of one of `owner` in which this agent is a participant."""
        return AsyncScratchpad(await asyncio.to_thread(self._inner.scratchpad, id_or_ref, owner))


class AsyncReminders(_Around[Reminders]):
    """`Reminders`, awaitable."""

    add = _forward(Reminders.add)
    due = _forward(Reminders.due)
    claim = _forward(Reminders.claim)
    deliver = _forward(Reminders.deliver)
    release = _forward(Reminders.release)
    cancel = _forward(Reminders.cancel)
    list = _forward(Reminders.list)


class AsyncReview(_Around[Review]):
    """`Review`, awaitable."""

    list = _forward(Review.list)
    resolve = _forward(Review.resolve)
    reopen = _forward(Review.reopen)


class AsyncJobs(_Around[Jobs]):
    """`Jobs`, awaitable."""

    run = _forward(Jobs.run)
    run_due = _forward(Jobs.run_due)
    status = _forward(Jobs.status)
    runs = _forward(Jobs.runs)
    undo = _forward(Jobs.undo)
    start = _forward(Jobs.start)
    stop = _forward(Jobs.stop)


class AsyncTokens(_Around[Tokens]):
    """`Tokens`, awaitable."""

    create = _forward(Tokens.create)
    list = _forward(Tokens.list)
    revoke = _forward(Tokens.revoke)
    check = _forward(Tokens.check)
    any = _forward(Tokens.any)


class AsyncRequests(_Around[Requests]):
    """`Requests`, awaitable."""

    begin = _forward(Requests.begin)
    finish = _forward(Requests.finish)
    fail = _forward(Requests.fail)
    forget_answers = _forward(Requests.forget_answers)
    drop = _forward(Requests.drop)

    def executing(self, key: str) -> AbstractContextManager[None]:
        """Execute a request in the block, as `Requests.executing` does."""
        return self._inner.executing(key)


class AsyncMemory(_Around[Memory]):
    """`Memory`, awaitable."""

    def __init__(self, inner: Memory) -> None:
        super().__init__(inner)
        self.agent, self.profiles = inner.agent, inner.profiles
        self.channels, self.conversations = AsyncChannels(inner.channels), AsyncConversations(inner.conversations)
        self.reminders, self.review = AsyncReminders(inner.reminders), AsyncReview(inner.review)

    remember = _forward(Memory.remember)
    remember_many = _forward(Memory.remember_many)
    upsert = _forward(Memory.upsert)
    supersede = _forward(Memory.supersede)
    retract = _forward(Memory.retract)
    apply = _forward(Memory.apply)
    forget = _forward(Memory.forget)
    restore = _forward(Memory.restore)
    recall = _forward(Memory.recall)
    get = _forward(Memory.get)
    list = _forward(Memory.list)
    numbers = _forward(Memory.numbers)
    changes = _forward(Memory.changes)
    last_change = _forward(Memory.last_change)
    trash = _forward(Memory.trash)
    empty_trash = _forward(Memory.empty_trash)
    accesses = _forward(Memory.accesses)
    history = _forward(Memory.history)
    changed_since = _forward(Memory.changed_since)
    overview = _forward(Memory.overview)
    timeline = _forward(Memory.timeline)
    graph = _forward(Memory.graph)
    provenance = _forward(Memory.provenance)
    query = _forward(Memory.query)
    context = _forward(Memory.context)
    orient = _forward(Memory.orient)
    project = _forward(Memory.project)
    set_project = _forward(Memory.set_project)
    links = _forward(Memory.links)
    recover = _forward(Memory.recover)


class AsyncHome(_Around[Home]):
    """`Home`, awaitable."""

    def __init__(self, inner: Home) -> None:
        super().__init__(inner)
        self.jobs, self.tokens = AsyncJobs(inner.jobs), AsyncTokens(inner.tokens)
        self.requests = AsyncRequests(inner.requests)

    workspaces = _forward(Home.workspaces)
    delete_workspace = _forward(Home.delete_workspace)
    check = _forward(Home.check)
    backup = _forward(Home.backup)
    backfill = _forward(Home.backfill)
    reembed = _forward(Home.reembed)
    flush = _forward(Home.flush)
    agents = _forward(Home.agents)
    counts = _forward(Home.counts)
    stats = _forward(Home.stats)
    on_reminder = _forward(Home.on_reminder)
    compact = _forward(Home.compact)
    export = _forward(Home.export)
    import_ = _forward(Home.import_)
    move_to = _forward(Home.move_to)
    last_compaction = _forward(Home.last_compaction)
    vault = _forward(Home.vault)
    close = _forward(Home.close)

    async def agent(self, name: str, workspace: str = "default") -> AsyncMemory:
        """Return the memory of an agent in a workspace."""
        return AsyncMemory(await asyncio.to_thread(self._inner.agent, name, workspace))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def open(
    location: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
    clock: Clock | None = None,
    vault: str | Path | None = None,
) -> AsyncHome:
    """`recollect.open`, awaitable."""
    home = await asyncio.to_thread(
        open_home, location, settings=settings, embedder=embedder, model=model, clock=clock, vault=vault
    )
    return AsyncHome(home)
