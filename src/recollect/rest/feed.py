"""The change feed: server-sent events for what happens in a memory.

A listener costs only a connection: one task per memory with listeners polls for changes twice a second, whichever
process wrote them, and fans them out; a write through this process wakes it at once. A message id holds three sequence
numbers (the workspace's operation log, the journal, the account's operation log), so a client that reconnects with the
last id it saw misses none of these messages and gets none twice; due reminders are sent again on each connection, and
changes of the pairs for review only to those connected. Each listener tracks its own position, because the three logs
advance independently. A client that reads too slowly is disconnected and resumes by the same rule. Messages carry no
content, only what there is to read.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from recollect.clock import stopwatch
from recollect.errors import RecollectError
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.history import Event
from recollect.model.operation import Revision
from recollect.model.reminder import Reminder
from recollect.rest.caller import Reader, secret_of
from recollect.rest.idempotency import Route

__all__ = ["FeedBatch", "FeedEvent", "Feeds", "Listener", "Position", "Source", "router"]

EVERY = 0.5
"""Polling interval in seconds."""
PING = 15.0
PAGE = 200
WAITING = 1_000
"""Queue length at which a slow client is disconnected."""
TAKEN_WITHIN = 1.0
"""Seconds for a client to read the queue after the feed has ended; then its connection is aborted."""
DUE = 100
ID = r"^[0-9]{1,18}(\.[0-9]{1,18}){1,2}$"
"""Ids with two numbers come from feeds older than the account's log."""
_log = logging.getLogger("recollect.rest")

router = APIRouter(prefix="/v1", tags=["feed"], route_class=Route)


@dataclass(frozen=True, slots=True)
class Position:
    """Sequence numbers of the last operation, event and account operation that a listener has read."""

    operation: int
    event: int
    account: int

    @classmethod
    def read(cls, id: str, now: "Position") -> "Position":
        """Parse a message id. Numbers that it lacks are taken from `now`.

        So are numbers beyond `now`: the id is from before the memory was recreated or restored from a backup.
        """
        last = (now.operation, now.event, now.account)
        numbers = [min(int(part), most) for part, most in zip(id.split("."), last, strict=False)]
        return cls(*numbers, *last[len(numbers) :])

    def moved(self, log: str, number: int) -> "Position":
        """Return the position with one log advanced to `number`."""
        return replace(self, **{log: max(getattr(self, log), number)})

    def message(self, message: bytes) -> bytes:
        """Return the message with this position as its id."""
        return f"id: {self.operation}.{self.event}.{self.account}\n".encode() + message


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """A message with its log and sequence number; without a log it does not advance the position."""

    message: bytes
    log: str | None = None
    number: int = 0

    def is_new(self, position: Position) -> bool:
        """Return whether a listener at this position has not seen it."""
        return self.log is None or self.number > getattr(position, self.log)

    def brings(self, position: Position) -> Position:
        """Return the position of a listener after this message."""
        return position if self.log is None else position.moved(self.log, self.number)


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """A page of messages, the position it reaches, and whether more follow before the requested end."""

    events: list[FeedEvent]
    reached: Position
    more: bool


@dataclass(eq=False, slots=True)
class Listener:
    """One client of a feed. None in the queue ends it."""

    secret: str | None
    abort: Callable[[], object] | None = None
    """Aborts the connection."""
    queue: asyncio.Queue[FeedEvent | None] = field(default_factory=lambda: asyncio.Queue(WAITING))

    def put(self, event: FeedEvent) -> bool:
        """Enqueue a message; return False if the queue is full."""
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            return False
        return True

    def end(self) -> None:
        """End the feed after the queued messages, and abort the connection if they are not read soon."""
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)
        if self.abort is not None:
            asyncio.get_running_loop().call_later(TAKEN_WITHIN, self.abort)


class Source:
    """Polls one memory and sends its changes to all of its listeners."""

    def __init__(self, home: Home, workspace: str, agent: str, position: Position) -> None:
        self._home, self._workspace, self._agent = home, workspace, agent
        self.position, self.listeners = position, set[Listener]()
        self.due: dict[str, dict[str, Any]] = {}
        """Due reminders by id."""
        self.pair: str | None = None
        """The open pair for review that was found last."""
        self.woken = asyncio.Event()
        self._looking = asyncio.Lock()

    async def run(self, stopping: asyncio.Event, forget: Callable[[], object]) -> None:
        """Poll as long as there are listeners."""
        pinged = stopwatch()
        while self.listeners and not stopping.is_set():
            try:
                await self.look()
                if stopwatch() - pinged >= PING:
                    pinged = stopwatch()
                    self._send(FeedEvent(_message("ping", {})))
            except RecollectError as error:  # the database is briefly unavailable: keep the listeners
                _log.warning("the feed of %s/%s: %s", self._workspace, self._agent, error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.woken.wait(), EVERY)
            self.woken.clear()
        forget()  # first, so that a new listener does not join a source that has stopped
        for listener in list(self.listeners):
            self._leave(listener)

    async def look(self) -> None:
        """Drop listeners whose token is no longer valid, and send what is new to the others."""
        async with self._looking:
            more = True
            while more:
                secrets = {listener.secret for listener in self.listeners if listener.secret is not None}
                bad, news, due, pair = await run_in_threadpool(self._news, self.position, secrets)
                for listener in [one for one in self.listeners if one.secret in bad]:
                    self._leave(listener)
                self.position, more = news.reached, news.more
                for event in news.events:
                    self._send(event)
                for one in due.keys() - self.due.keys():
                    self._send(FeedEvent(_message("reminder", due[one])))
                if pair != self.pair:
                    self._send(FeedEvent(_message("review", {"id": pair})))
                self.due, self.pair = due, pair

    def _news(
        self, since: Position, secrets: set[str]
    ) -> tuple[set[str], FeedBatch, dict[str, dict[str, Any]], str | None]:
        memory = self._home.agent(self._agent, self._workspace)
        news = _between(memory, since, _now(memory))
        due = {one.id: _reminder(one) for one in memory.reminders.due(DUE)}
        pair = next((one.id for one in memory.review.list(limit=1)), None)
        return {one for one in secrets if self._home.tokens.check(one) is None}, news, due, pair

    def _send(self, event: FeedEvent) -> None:
        for listener in list(self.listeners):
            if not listener.put(event):
                self._leave(listener)

    def _leave(self, listener: Listener) -> None:
        self.listeners.discard(listener)
        listener.end()


class Feeds:
    """All sources and listeners of this process. Bound to one event loop."""

    def __init__(self, home: Home, stopping: asyncio.Event) -> None:
        self._home, self._stopping = home, stopping
        self._sources: dict[tuple[str, str], Source] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Poll now, because this process has written something."""
        for source in self._sources.values():
            source.woken.set()

    async def now(self, workspace: str, agent: str) -> Position:
        """Return the current end of a memory's logs."""
        return await run_in_threadpool(lambda: _now(self._home.agent(agent, workspace)))

    async def stream(
        self, workspace: str, agent: str, listener: Listener, after: Position, now: Position
    ) -> AsyncIterator[bytes]:
        """Yield due reminders, what was missed after a position, then changes as they happen."""
        source = self._join(workspace, agent, listener, now)
        begin, more = source.position, True
        try:
            yield b"retry: 1000\n" + after.message(_message("ping", {}))
            for one in source.due.values():
                yield after.message(_message("reminder", one))
            while more:
                missed = await run_in_threadpool(self._missed, workspace, agent, after, begin)
                for event in missed.events:
                    after = event.brings(after)
                    yield after.message(event.message)
                after, more = missed.reached, missed.more
            while (news := await listener.queue.get()) is not None:
                if news.is_new(after):
                    after = news.brings(after)
                    yield after.message(news.message)
            yield b'event: end\ndata: {"reason": "reconnect with the last id"}\n\n'
        finally:
            source.listeners.discard(listener)

    def _missed(self, workspace: str, agent: str, after: Position, begin: Position) -> FeedBatch:
        return _between(self._home.agent(agent, workspace), after, begin)

    def _join(self, workspace: str, agent: str, listener: Listener, now: Position) -> Source:
        key = workspace, agent
        source = self._sources.get(key)
        if source is None:
            source = self._sources[key] = Source(self._home, workspace, agent, now)
            self._start(source.run(self._stopping, lambda: self._sources.pop(key)))
            if len(self._tasks) == 1:
                self._start(self._wake_at_the_end())
        source.listeners.add(listener)
        return source

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the event loop keeps only weak references to tasks
        task.add_done_callback(self._tasks.discard)

    async def _wake_at_the_end(self) -> None:
        await self._stopping.wait()
        self.wake()


@router.get(
    "/feed",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def feed(
    request: Request,
    caller: Reader,
    after: Annotated[str | None, Query(pattern=ID, description="The id of the last message received.")] = None,
    last_event_id: Annotated[str | None, Header(pattern=ID, description="The same; browsers send it.")] = None,
) -> StreamingResponse:
    """Changes of a memory as server-sent events: operation, event, reminder, review, ping, and end at a shutdown."""
    known = last_event_id or after
    feeds: Feeds = request.app.state.feeds
    now = await feeds.now(caller.workspace, caller.agent)
    begin = now if known is None else Position.read(known, now)
    listener = Listener(secret_of(request), getattr(request.state, "abort", None))
    stream = feeds.stream(caller.workspace, caller.agent, listener, begin, now)
    # No other request uses this connection, so it may be aborted when the feed has ended.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Connection": "close"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


def _now(memory: Memory) -> Position:
    return Position(memory.last_change(), memory.conversations.last_event(), memory.last_change(account=True))


def _between(memory: Memory, begin: Position, end: Position) -> FeedBatch:
    """Read one page of each log between two positions."""
    logs: dict[str, Callable[[int], list[FeedEvent]]] = {
        "operation": lambda after: [_operation(one) for one in memory.changes(after, limit=PAGE)],
        "event": lambda after: [_event(one) for one in memory.conversations.journal(after, limit=PAGE)],
        "account": lambda after: [
            _operation(one, account=True) for one in memory.changes(after, limit=PAGE, account=True)
        ],
    }
    events, reached, more = list[FeedEvent](), begin, False
    for log, read in logs.items():
        first, last = getattr(begin, log), getattr(end, log)
        if first < last:
            found = read(first)
            events += [one for one in found if one.number <= last]
            full = len(found) == PAGE and found[-1].number < last
            reached, more = reached.moved(log, found[-1].number if full else last), more or full
    return FeedBatch(events, reached, more)


def _message(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _operation(one: Revision, *, account: bool = False) -> FeedEvent:
    data = {
        "seq": one.seq,
        "at": one.at,
        "actor": one.actor,
        "operation": one.operation,
        "entry_id": one.entry_id,
        "name": one.after.get("name") or one.before.get("name"),
    }
    log, more = ("account", {"account": True}) if account else ("operation", {})
    return FeedEvent(_message("operation", data | more), log, one.seq)


def _event(one: Event) -> FeedEvent:
    data = {
        "seq": one.seq,
        "at": one.created_at,
        "type": one.type,
        "lane": one.lane,
        "conversation_id": one.conversation_id,
        "hash": one.hash,
    }
    return FeedEvent(_message("event", data), "event", one.seq)


def _reminder(one: Reminder) -> dict[str, Any]:
    return {"id": one.id, "due_at": one.due_at, "session_id": one.session_id, "recipient": one.recipient}
