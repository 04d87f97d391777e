"""The feed: what happens in a memory, as server-sent events, while it happens.

Who listens costs nothing but a connection: one task for each memory that anybody listens to looks twice a second for
what is new, whoever wrote it, and hands it to all listeners; a write through this process wakes it at once. An id
names the place in the log of operations and in the journal, so a client that comes back with the last id it has seen
misses nothing. A client that reads too slowly is sent away, and comes back by the same rule. No text is in the feed:
it says what there is to read.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from recollect.clock import stopwatch
from recollect.errors import RecollectError
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.reminder import Reminder
from recollect.rest.caller import Reader, secret_of
from recollect.rest.once import Route

__all__ = ["Feeds", "Listener", "Position", "Source", "router"]

EVERY = 0.5
"""Seconds between two looks."""
PING = 15.0
PAGE = 200
WAITING = 1_000
"""Messages that wait for a slow client before it is sent away."""
DUE = 100
ID = r"^\d{1,18}\.\d{1,18}$"
_log = logging.getLogger("recollect.rest")

router = APIRouter(prefix="/v1", tags=["feed"], route_class=Route)


@dataclass(frozen=True, slots=True)
class Position:
    """How far somebody has read: the number of the last operation and of the last event."""

    operation: int
    event: int

    def is_behind(self, other: "Position") -> bool:
        """Whether it is further on than the other one."""
        return self.operation > other.operation or self.event > other.event

    def message(self, kind: str, data: dict[str, Any]) -> bytes:
        """A message that brings its reader here."""
        text = json.dumps(data, ensure_ascii=False)
        return f"id: {self.operation}.{self.event}\nevent: {kind}\ndata: {text}\n\n".encode()


Told = tuple[Position | None, bytes]
"""A message, and where it brings its reader; None if it stays where it is."""
News = tuple[list[Told], Position, dict[str, dict[str, Any]], bool]
"""Messages, where the log ends, the reminders that are due, and whether there is more."""


@dataclass(eq=False, slots=True)
class Listener:
    """Somebody who listens. Nothing in the queue means the end."""

    secret: str | None
    queue: asyncio.Queue[Told | None] = field(default_factory=lambda: asyncio.Queue(WAITING))

    def tell(self, told: Told) -> bool:
        """Whether there was room for one more."""
        try:
            self.queue.put_nowait(told)
        except asyncio.QueueFull:
            return False
        return True

    def end(self) -> None:
        """No more after what is waiting already."""
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


class Source:
    """What is new in one memory, for all who listen to it."""

    def __init__(self, home: Home, workspace: str, agent: str, position: Position) -> None:
        self._home, self._workspace, self._agent = home, workspace, agent
        self.position, self.listeners = position, set[Listener]()
        self.due: dict[str, dict[str, Any]] = {}
        """The reminders that wait for somebody, by their ids."""
        self.woken = asyncio.Event()
        self._looking = asyncio.Lock()

    async def run(self, stopping: asyncio.Event, forget: Callable[[], object]) -> None:
        """Look again and again, as long as anybody listens."""
        pinged = stopwatch()
        while self.listeners and not stopping.is_set():
            try:
                await self.look()
                if stopwatch() - pinged >= PING:
                    pinged = stopwatch()
                    self._tell(None, self.position.message("ping", {}))
            except RecollectError as error:  # the store is away for a moment: they wait
                _log.warning("the feed of %s/%s: %s", self._workspace, self._agent, error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.woken.wait(), EVERY)
            self.woken.clear()
        forget()  # at once: whoever comes now must find a source that runs
        for listener in list(self.listeners):
            self._leave(listener)

    async def look(self) -> None:
        """Tell everybody whose token is still good what is new."""
        async with self._looking:
            more = True
            while more:
                secrets = {listener.secret for listener in self.listeners if listener.secret is not None}
                bad, (told, end, due, more) = await run_in_threadpool(self._news, self.position, secrets)
                for listener in [one for one in self.listeners if one.secret in bad]:
                    self._leave(listener)
                for position, message in told:
                    self.position = position or self.position
                    self._tell(position, message)
                if not more:
                    self.position = end
                for one in due.keys() - self.due.keys():
                    self._tell(None, self.position.message("reminder", due[one]))
                self.due = due

    def _news(self, since: Position, secrets: set[str]) -> tuple[set[str], News]:
        memory = self._home.agent(self._agent, self._workspace)
        end = _now(memory)
        told, more = _between(memory, since, end)
        news = told, end, {one.id: _reminder(one) for one in memory.reminders.due(DUE)}, more
        return {one for one in secrets if self._home.tokens.check(one) is None}, news

    def _tell(self, position: Position | None, message: bytes) -> None:
        for listener in list(self.listeners):
            if not listener.tell((position, message)):
                self._leave(listener)

    def _leave(self, listener: Listener) -> None:
        self.listeners.discard(listener)
        listener.end()


class Feeds:
    """Everybody who listens to anything here. Belongs to one event loop."""

    def __init__(self, home: Home, stopping: asyncio.Event) -> None:
        self._home, self._stopping = home, stopping
        self._sources: dict[tuple[str, str], Source] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Something was written here: look now."""
        for source in self._sources.values():
            source.woken.set()

    async def now(self, workspace: str, agent: str) -> Position:
        """Where a memory is now; who listens from there on hears only what comes later."""
        return await run_in_threadpool(lambda: _now(self._home.agent(agent, workspace)))

    async def told(
        self, workspace: str, agent: str, secret: str | None, after: Position, now: Position
    ) -> AsyncIterator[bytes]:
        """What happens in a memory after a position."""
        listener = Listener(secret)
        source = self._join(workspace, agent, listener, now)
        begin, more = source.position, True
        try:
            yield b"retry: 1000\n" + after.message("ping", {})
            for one in source.due.values():
                yield after.message("reminder", one)
            while more:
                missed, more = await run_in_threadpool(self._missed, workspace, agent, after, begin)
                for position, message in missed:
                    after = position or after
                    yield message
            while (news := await listener.queue.get()) is not None:
                if news[0] is None or news[0].is_behind(after):
                    yield news[1]
            yield b'event: end\ndata: {"reason": "come again with the last id"}\n\n'
        finally:
            source.listeners.discard(listener)

    def _missed(self, workspace: str, agent: str, after: Position, begin: Position) -> tuple[list[Told], bool]:
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
        self._tasks.add(task)  # the loop itself holds tasks but weakly
        task.add_done_callback(self._tasks.discard)

    async def _wake_at_the_end(self) -> None:
        await self._stopping.wait()
        self.wake()


@router.get(
    "/feed", response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)  # fmt: skip
async def feed(
    request: Request,
    caller: Reader,
    after: Annotated[str | None, Query(pattern=ID, description="The id of the last message that is known.")] = None,
    last_event_id: Annotated[str | None, Header(pattern=ID, description="The same; browsers send it.")] = None,
) -> StreamingResponse:
    """What happens in a memory, as server-sent events: operation, event, reminder, ping; end before the server goes."""
    known = last_event_id or after
    feeds: Feeds = request.app.state.feeds
    now = await feeds.now(caller.workspace, caller.agent)
    begin = now if known is None else Position(*map(int, known.split(".")))
    told = feeds.told(caller.workspace, caller.agent, secret_of(request), begin, now)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told, media_type="text/event-stream", headers=headers)


def _now(memory: Memory) -> Position:
    return Position(memory.last_change(), memory.conversations.last_event())


def _between(memory: Memory, begin: Position, end: Position) -> tuple[list[Told], bool]:
    """What happened between two positions, a page of it; and whether there is more."""
    told: list[Told] = []
    here, full = begin, False
    if begin.operation < end.operation:
        found = memory.changes(begin.operation, limit=PAGE)
        full = len(found) == PAGE
        for one in found:
            if one.seq <= end.operation:
                here = Position(one.seq, here.event)
                name = one.after.get("name") or one.before.get("name")
                data = {"seq": one.seq, "at": one.at, "actor": one.actor, "operation": one.operation}
                told.append((here, here.message("operation", {**data, "entry_id": one.entry_id, "name": name})))
    if begin.event < end.event:
        happened = memory.conversations.journal(begin.event, limit=PAGE)
        full = full or len(happened) == PAGE
        for event in happened:
            if event.seq <= end.event:
                here = Position(here.operation, event.seq)
                data = {"seq": event.seq, "at": event.created_at, "type": event.type, "lane": event.lane}
                told.append(
                    (
                        here,
                        here.message("event", {**data, "conversation_id": event.conversation_id, "hash": event.hash}),
                    )
                )
    return told, full and bool(told)


def _reminder(one: Reminder) -> dict[str, Any]:
    return {"id": one.id, "due_at": one.due_at, "session_id": one.session_id, "recipient": one.recipient}
