"""The facade of one conversation: methods check their input and delegate to the engine."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect import names
from recollect.clock import Clock, Moment
from recollect.config import ConversationSettings
from recollect.engine import checkpoints, conversation_search, conversations, lanes, prompt, resent_messages, saved_view
from recollect.engine.agent_store import Store
from recollect.engine.auto_compaction import AutoCompaction, CompactionServices
from recollect.errors import Denied, Invalid, NotFound
from recollect.model.checks import count, member, optional_name
from recollect.model.entry import Origin
from recollect.model.events import checked_event, dialogue, events_of_messages
from recollect.model.history import (
    Compacted,
    ConversationInfo,
    Ended,
    Event,
    EventType,
    Lane,
    Loaded,
    Recovery,
    Status,
    Turn,
)
from recollect.model.report import Receipt
from recollect.model.working import Delta, SummaryDocument
from recollect.providers.base import Reranker
from recollect.scratchpad import Scratchpad
from recollect.storage import history

__all__ = ["Conversation", "ConversationServices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationServices:
    """What the conversations of one agent need."""

    workspace: str
    store: Store
    shared: Store
    """The rows that all agents of the workspace see: its channels."""
    other: Callable[[str], Store]
    """Returns the store of another agent in the workspace."""
    clock: Clock
    settings: ConversationSettings
    compaction: CompactionServices
    erase: Callable[[ConversationInfo, Sequence[int] | None, bool], Receipt]
    """Erases events of a conversation by number, all of them for None; the last argument is whether it is a dry run."""
    origin: Origin = Origin.USER
    """The most trusted origin whose events the caller may append and erase."""
    reranker: Reranker | None = None
    """Orders the best turns of a search by meaning."""
    on_end: Callable[[str], None] = lambda conversation: None
    """Called with the id of each conversation that has ended."""

    def must_be_claimable(self, origin: Origin) -> None:
        """Raise Denied if events of this origin are more trusted than what the caller may say."""
        if not self.origin.at_least(origin):
            raise Denied(f"this token may not append or erase what the {origin} said; its origin is {self.origin}")


class Conversation:
    """One conversation of an agent, returned by `conversations.start()` and `conversations.get()`."""

    def __init__(self, services: ConversationServices, info: ConversationInfo) -> None:
        self._services, self._info = services, info
        self._store, self._clock = services.store, services.clock
        self._compaction = AutoCompaction(services.compaction, info)

    def __repr__(self) -> str:
        return f"Conversation({self.ref_code!r}, agent={self._store.agent!r})"

    @property
    def id(self) -> str:
        """The id."""
        return self._info.id

    @property
    def ref_code(self) -> str:
        """A short id of eleven characters, for links and for display."""
        return self._info.ref_code

    @property
    def info(self) -> ConversationInfo:
        """All properties of the conversation, read now."""
        return conversations.find(self._store, self.id)

    @property
    def status(self) -> Status:
        """The current status: active, idle or archived."""
        return self.info.status

    @property
    def saved(self) -> Recovery | None:
        """The checkpoint saved last by `checkpoint()` or `end()`; None if there is none or it has expired."""
        return checkpoints.saved(self._store, self.id)

    @property
    def scratchpad(self) -> Scratchpad:
        """The scratchpad: JSON values by key."""
        return Scratchpad(self._store, self._clock, self.id)

    # The journal

    def append(self, event: Event | Iterable[Event]) -> Event | list[Event]:
        """Append an event, or several in one transaction, and return what was stored. The write is durable when this
        returns.

        Raises Conflict if the conversation has ended, and Invalid if an event is malformed.
        """
        now = self._clock.now()
        if isinstance(event, Event) or not isinstance(event, Iterable):
            return self._append([self._claimed(event, now)])[0]
        return self._append([self._claimed(one, now) for one in event])

    def user(
        self,
        text: str,
        *,
        speaker: str | None = None,
        at: Moment | None = None,
        lane: Lane | str = Lane.EDGE,
        internal: bool = False,
    ) -> Event:
        """Append a message of the user."""
        return self._one(EventType.USER, text, lane, at, speaker=speaker, internal=internal)

    def assistant(
        self,
        text: str,
        *,
        tool_calls: Iterable[Mapping[str, Any]] = (),
        speaker: str | None = None,
        at: Moment | None = None,
        lane: Lane | str = Lane.EDGE,
        internal: bool = False,
    ) -> Event:
        """Append a message of the model, with its tool calls."""
        return self._one(EventType.MODEL, text, lane, at, speaker=speaker, tool_calls=tool_calls, internal=internal)

    def tool(self, text: str, tool_call_id: str, *, at: Moment | None = None, lane: Lane | str = Lane.EDGE) -> Event:
        """Append the result of a tool call.

        Raises Invalid if the conversation has no such call.
        """
        return self._one(EventType.TOOL, text, lane, at, tool_call_id=tool_call_id)

    def instruct(self, text: str, *, lane: Lane | str = Lane.EDGE) -> Event:
        """Append an instruction of the system between messages."""
        return self._one(EventType.INSTRUCTION, text, lane, None)

    def job(self, text: str) -> Event:
        """Append the start of a job in the lane `core`."""
        return self._one(EventType.JOB, text, Lane.CORE, None)

    def extend(self, messages: Iterable[Mapping[str, Any]], *, lane: Lane | str = Lane.EDGE) -> list[Event]:
        """Append the new messages of a list in OpenAI's format; the same list again appends nothing.

        The list may be the whole conversation or its end. System messages and messages without text or tool calls are
        skipped. A message may set `internal`, and its time as `created_at`, `timestamp` or `at` (UTC milliseconds or
        RFC 3339 text).
        """
        lane = member(Lane, lane, "lane")
        now = self._clock.now()
        given = [self._claimed(event, now) for event in events_of_messages(messages, lane)]
        stored = resent_messages.extend(self._store, self.id, lane, given)
        self._compaction.appended(stored)
        return stored

    def save(self, messages: Iterable[Mapping[str, Any]], *, model_id: str | None = None) -> None:
        """Replace the messages that `load()` returns, for a client that holds the conversation and sends it whole.

        Messages that were edited, regenerated or dropped are no longer loaded, and stay in the journal. Messages that
        are in the journal are not appended again. Each message has a role (`user`, `assistant` or `agent`) and text.

        Raises Invalid if a message has tool calls or is the result of one; use `extend()` for those.
        """
        now = self._clock.now()
        given = [self._claimed(event, now) for event in dialogue(messages)]
        stored = saved_view.save(self._store, self.id, given, now, optional_name(model_id, "model id"))
        self._compaction.appended(stored)

    def load(self) -> Loaded:
        """Return the messages saved last, and those appended since."""
        return saved_view.load(self._store, self._info)

    def events(
        self, after: Event | int | None = None, *, before: Event | int | None = None, limit: int = history.LONGEST
    ) -> Iterator[Event]:
        """Iterate over the events in order, optionally those after an event or a sequence number.

        With `before`, iterate over those before it, newest first; a number greater than any starts at the end.

        Raises Invalid if both `after` and `before` are given.
        """
        most = count(limit, "events")
        if before is None:
            return conversations.events(self._store, self.id, _seq(after or 0), most)
        if after is not None:
            raise Invalid("pass `after` or `before`, not both")
        return conversations.events_back(self._store, self.id, _seq(before), most)

    def event(self, reference: str) -> Event:
        """Return the event with this hash, or with a unique prefix of it.

        Raises NotFound if there is none.
        """
        return conversations.referenced(self._store, self.id, reference)

    def find(self, query: str, *, limit: int = 10) -> list[Turn]:
        """Return the events of this conversation that contain words of the query, tool results included; best first."""
        words = names.plain("query", query, lines=True)
        return conversation_search.within(self._store, self._info, words, limit=count(limit, "hits"))

    def erase(self, event: Event | int | str, *, dry_run: bool = False) -> Receipt:
        """Erase an event, given itself or by its number, its hash or a unique prefix of it, and return a receipt.

        Its text is removed from the journal and from everything that was made from it: chunks, archives, summaries,
        hand-offs, decisions, lessons, vectors, recorded queries and vault files. What covers other events as well is
        rebuilt without it. The results of its tool calls are erased with it. The event stays as a tombstone with its
        number and hashes, so that the hash chain still proves the others. This cannot be undone.

        The receipt lists what was removed and rewritten, and where the same words remain: other turns, notes, backups,
        git history. With `dry_run=True` nothing is changed, and it lists what would be. Erasing an event again
        overwrites deleted rows once more.

        Raises NotFound if the conversation has no such event, and Invalid if it is a compaction marker.
        """
        found = self._erasable(event)
        self._services.must_be_claimable(found.origin)
        return self._services.erase(self._info, [found.seq], dry_run)

    # Working memory

    def window(self, lane: Lane | str = Lane.EDGE) -> list[Event]:
        """Return the events of a lane that are not replaced by an archive."""
        with self._store.read() as tx:
            found = lanes.window(tx, self.id, member(Lane, lane, "lane"))[1]
        return [event for event in found if event.erased_at is None]

    def messages(
        self,
        lane: Lane | str = Lane.EDGE,
        *,
        instructions: str | None = None,
        skills: Iterable[Mapping[str, Any]] = (),
        identity: Mapping[str, str] | None = None,
        context: object | None = None,
    ) -> list[dict[str, Any]]:
        """Return the prompt of a lane as messages in OpenAI's format.

        `identity` maps the names of identity files (USER.md, SOUL.md, SOUL-CORE.md) to their text; by default they are
        read from the agent's folder in the vault. `context` is the result of `mem.context()`, or any text.
        """
        lane = member(Lane, lane, "lane")
        with self._store.read() as tx:
            state, window = lanes.window(tx, self.id, lane)
        if identity is None:
            identity = self._services.compaction.identity(lane)
        text = context if isinstance(context, str) or context is None else str(getattr(context, "text", context))
        skills = list(skills)
        opening = prompt.opening_texts(lane, instructions=instructions, skills=skills, identity=identity)
        self._compaction.prompted(lane, (*opening, text or ""))
        return prompt.messages(
            lane, state.document, window, instructions=instructions, skills=skills, identity=identity, context=text
        )

    def replay(self, lane: Lane | str = Lane.EDGE) -> list[dict[str, Any]]:
        """Return what remains of a lane: the text of its latest archive, then every event of the window, as messages.

        An archive that was removed is replaced by a placeholder with its name.
        """
        lane = member(Lane, lane, "lane")
        with self._store.read() as tx:
            state, window = lanes.window(tx, self.id, lane)
            name, archive = lanes.latest_archive(tx, state)
        return prompt.replay(name, archive, window)

    def summary(self, lane: Lane | str = Lane.EDGE) -> SummaryDocument:
        """Return the summary document of a lane, which stands for everything that has left its window."""
        with self._store.read() as tx:
            return lanes.lane_state(tx, self.id, member(Lane, lane, "lane")).document

    def apply_delta(self, lane: Lane | str, delta: Delta | Mapping[str, Any]) -> SummaryDocument:
        """Apply a delta to the summary document of a lane and return the new document.

        Raises Invalid if any part of the delta is wrong; nothing is changed then.
        """
        lane = member(Lane, lane, "lane")
        change = delta if isinstance(delta, Delta) else Delta.read(delta)
        return lanes.apply_delta(self._store, self.id, lane, change, self._clock.now())

    def compact(self, lane: Lane | str = Lane.EDGE) -> Compacted | None:
        """Replace the events before the newest user message by an archive; None if there is nothing to compact.

        Raises Unavailable if the language model fails; nothing is changed then.
        """
        return self._compaction.compact(member(Lane, lane, "lane"))

    def checkpoint(self) -> None:
        """Save the current position, so that `mem.recover()` returns it for the next seven days."""
        with self._store.database.write(self._store.agent) as tx:
            checkpoints.checkpoint(tx, self.id, self._clock.now())

    # Its life

    def idle(self) -> None:
        """Set the status to idle, without the steps of `end()`.

        Raises Conflict if the conversation is not active.
        """
        self._become(Status.IDLE)

    def archive(self) -> None:
        """Set the status to archived, which hides the conversation from lists.

        Raises Conflict if it is archived already.
        """
        self._become(Status.ARCHIVED)

    def end(self) -> Ended:
        """End the conversation: summary, hand-off, decisions and lessons, chunks; remove its own entries and set it
        idle.

        Each step runs exactly once: a call after a crash resumes where the first one stopped.

        Raises Conflict if the conversation has ended.
        """
        from recollect.engine import ending

        services = self._services
        ended = ending.end(
            self._store,
            self.id,
            services.compaction.model,
            self._clock.now,
            timeout=services.settings.summary_timeout,
            context_tokens=services.compaction.limits.context_tokens,
            mid_term=services.settings.mid_term,
            by=services.settings.extraction,
        )
        services.compaction.later.wake(self._store)
        self._compaction.ended()
        services.on_end(self.id)
        return ended

    # Steps

    def _erasable(self, event: Event | int | str) -> Event:
        if isinstance(event, Event) and event.conversation_id != self.id:
            raise NotFound(f"event {event.seq} belongs to another conversation; erase it there")
        if isinstance(event, str):
            found = conversations.referenced(self._store, self.id, event)
        else:
            found = conversations.numbered(self._store, self.id, _seq(event))
        if found.type is EventType.MARKER:
            raise Invalid(f"event {found.seq} records a compaction; erase the events that it covers")
        return found

    def _become(self, status: Status) -> None:
        with self._store.database.write(self._store.agent) as tx:
            conversations.transition(tx, self.id, status, self._clock.now())

    def _one(self, kind: EventType, text: str, lane: Lane | str, at: Moment | None, **fields: Any) -> Event:
        event = Event(type=kind, content=text, lane=lane, created_at=at, **fields)  # type: ignore[arg-type]
        return self._append([self._claimed(event, self._clock.now())])[0]

    def _claimed(self, event: Event, now: int) -> Event:
        """Return a validated event. Raises Denied if the caller may not say it in this role."""
        new = checked_event(event, self.id, now)
        self._services.must_be_claimable(Origin.USER if new.type is EventType.USER else new.origin)
        return new

    def _append(self, new: Sequence[Event]) -> list[Event]:
        stored = conversations.append(self._store, self.id, new)
        self._compaction.appended(stored)
        return stored


def _seq(event: Event | int) -> int:
    return event.seq if isinstance(event, Event) else count(event, "events")
