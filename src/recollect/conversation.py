"""The facade of conversations: methods check their input and delegate to the engine."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recollect import names
from recollect.clock import Clock, Moment, milliseconds
from recollect.config import ConversationSettings
from recollect.engine import access_policy, compaction, conversation_search, conversations, ending, prompt, saved_view
from recollect.engine.agent_store import Store
from recollect.engine.background import Background
from recollect.engine.compaction import Limits
from recollect.engine.embedding import Later
from recollect.engine.recall import query_vector
from recollect.errors import Denied, Invalid, NotFound, RecollectError
from recollect.model.checks import count, member, optional_name
from recollect.model.history import (
    Channel,
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
from recollect.model.working import Delta, SummaryDocument
from recollect.providers.base import LanguageModel
from recollect.storage import entries, history
from recollect.text import estimate_tokens
from recollect.vault.identity import identity_files

__all__ = ["Channels", "Conversation", "Conversations", "Scratchpad", "Talk"]

VALUE_BYTES = 1_000_000
HOUR = 3_600_000
"""Milliseconds."""
LOOKED_AT = 10
"""Conversations that may be dead and are looked at when another one starts."""
TIMES = ("created_at", "timestamp", "at")
"""Where a message may say when it was."""
_log = logging.getLogger("recollect.conversations")


@dataclass(frozen=True, slots=True)
class Talk:
    """What the conversations of one agent need besides its rows."""

    workspace: str
    store: Store
    shared: Store
    """The rows that all agents of the workspace see: its channels."""
    other: Callable[[str], Store]
    clock: Clock
    model: LanguageModel | None
    limits: Limits
    settings: ConversationSettings
    later: Later
    background: Background
    folder: Path | None
    """The agent's folder in the vault, where its identity files are."""
    closed: Callable[[str], None] = lambda conversation: None
    """Told of every conversation that was ended."""
    failures: dict[tuple[str, Lane], "_Failures"] = field(default_factory=dict)
    """Of the lanes whose last compaction failed, by conversation."""
    around: dict[tuple[str, Lane], int] = field(default_factory=dict)
    """Tokens of the last prompt of each lane beside its summary and window; they cannot be compacted."""


@dataclass(slots=True)
class _Failures:
    """Consecutive failures to compact a lane, and how many events to append before the next attempt.

    The next event tries again; then the wait doubles, up to the length of a window. A short outage costs nothing, and a
    model that stays down is called about once per window.
    """

    count: int = 0
    wait: int = 0

    def add(self, longest: int) -> None:
        self.count += 1
        self.wait = min(2 ** min(self.count - 1, 30), longest)

    def due(self, added: int) -> bool:
        self.wait -= added
        return self.wait <= 0


class Channels:
    """The channels of a workspace, as `mem.channels`."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    @property
    def default(self) -> Channel:
        """The channel of conversations that are started without one."""
        return next(channel for channel in self.list() if channel.is_default)

    def create(self, name: str, description: str = "") -> Channel:
        """Create a channel and return it.

        Raises Conflict if the name is taken.
        """
        talk = self._talk
        return conversations.create_channel(talk.shared, talk.workspace, name, description, talk.clock.now())

    def list(self) -> list[Channel]:
        """Return all channels, oldest first."""
        return conversations.channels(self._talk.shared, self._talk.workspace)


class Conversations:
    """The conversations of one agent, as `mem.conversations`."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def start(
        self,
        channel: str | None = None,
        chat_id: str | None = None,
        model_id: str | None = None,
        participants: Iterable[str] = (),
        resume: bool = False,
    ) -> "Conversation":
        """Start a conversation.

        With `resume=True`, return the active conversation of `chat_id` instead if there is one; concurrent calls get
        the same one. Up to ten stale conversations are ended first, because their process must have died; the job `age`
        ends the others.

        Raises NotFound if there is no such channel, and Invalid if `resume` is set without a `chat_id`.
        """
        talk = self._talk
        if resume:
            if chat_id is None:
                raise Invalid("which conversation is to go on? Give its chat_id with resume=True")
            known_chat = conversations.of_chat(talk.store, chat_id)
            if known_chat is not None:
                return Conversation(talk, known_chat)
        self._end_stale(LOOKED_AT)
        known = {one.id: one for one in conversations.channels(talk.shared, talk.workspace)}
        wanted = next(one.id for one in known.values() if one.is_default) if channel is None else names.name(channel)
        if wanted not in known:
            raise NotFound(f"there is no channel {wanted!r}; create it first, or use one that is in the list")
        info = conversations.start(
            talk.store, channel=wanted, chat_id=chat_id, model_id=model_id, participants=participants,
            now=talk.clock.now(), resume=resume,
        )  # fmt: skip
        return Conversation(talk, info)

    def get(self, id_or_ref: str) -> "Conversation":
        """Return the conversation with this id or ref code.

        Raises NotFound if this agent has none.
        """
        return Conversation(self._talk, conversations.find(self._talk.store, id_or_ref))

    def list(
        self,
        include_archived: bool = False,
        *,
        channel: str | None = None,
        chat_id: str | None = None,
        limit: int = 100,
        before: ConversationInfo | str | None = None,
    ) -> Sequence[ConversationInfo]:
        """Return conversations, newest first, without archived ones unless `include_archived` is set.

        For the next page, pass the last one of this page as `before`, or its `cursor`.
        """
        statuses = [status for status in Status if include_archived or status is not Status.ARCHIVED]
        return conversations.listed(
            self._talk.store,
            statuses,
            channel=optional_name(channel, "channel"),
            chat_id=optional_name(chat_id, "chat id"),
            limit=count(limit, "conversations"),
            before=(history.LONGEST, "") if before is None else names.place(getattr(before, "cursor", before)),
        )

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        unit: str = "turn",
        target_agent: str | None = None,
        channel: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        meaning: bool = True,
    ) -> Sequence[Turn]:
        """Search the turns of conversations and return them, best first; with `unit="conversation"` the best turn of
        each.

        `target_agent` searches past conversations of another agent, never active ones; the access is logged. With
        `meaning=False` only words count, even if an embedder is configured.

        Raises Invalid if a value is unknown or malformed.
        """
        query = names.plain("query", query, lines=True)
        store, statuses = self._whose(target_agent, "conversations.search", query)
        return conversation_search.search(
            store, query, limit=count(limit, "hits"), unit=unit, statuses=statuses,
            since=None if since is None else milliseconds(since),
            until=None if until is None else milliseconds(until), channel=optional_name(channel, "channel"),
            vector=query_vector(store, query) if meaning else None,
        )  # fmt: skip

    def detail(
        self, id_or_ref: str, *, target_agent: str | None = None, limit: int = history.LONGEST, after: int = 0
    ) -> Sequence[Event]:
        """Return the events of a conversation, optionally those after a sequence number.

        Conversations of `target_agent` can be read after they have ended; the access is logged.

        Raises NotFound if there is no such conversation, and Denied if it belongs to another agent and is active.
        """
        store, statuses = self._whose(target_agent, "conversations.detail", id_or_ref)
        info = conversations.find(store, id_or_ref)
        if info.status not in statuses:
            raise Denied(f"the conversation {info.ref_code} still goes on; its working memory is its agent's own")
        return [*conversations.events(store, info.id, count(after, "events"), count(limit, "events"))]

    def journal(self, after: int = 0, *, limit: int = 100) -> Sequence[Event]:
        """Return events of all conversations of this agent with a sequence number greater than `after`, in order."""
        with self._talk.store.read() as tx:
            number, most = count(after, "events"), min(count(limit, "events"), history.LONGEST)
            return history.events(tx, "journal_after", after=number, limit=most)

    def last_event(self) -> int:
        """Return the sequence number of the last event in the journal, 0 if it is empty. Cheap enough to poll."""
        with self._talk.store.read() as tx:
            return history.Journal.get(tx).events

    def last_saved(self) -> ConversationInfo | None:
        """Return the conversation saved last, or one started after that; None if none. Skips archived ones."""
        with self._talk.store.read() as tx:
            return saved_view.last_saved(tx)

    def scratchpad(self, id_or_ref: str, owner: str | None = None) -> "Scratchpad":
        """Return the scratchpad of a conversation: an own one, or one of `owner` in which this agent is a participant.

        Raises NotFound if there is no such conversation, and Denied if this agent is not a participant.
        """
        talk = self._talk
        other = access_policy.other_agent(talk.store, owner)
        if other is None:
            return Scratchpad(talk.store, talk.clock, conversations.find(talk.store, id_or_ref).id)
        theirs = talk.other(other)
        return Scratchpad(theirs, talk.clock, access_policy.participant(theirs, talk.store.agent, id_or_ref).id)

    def _whose(self, target_agent: str | None, call: str, query: str) -> tuple[Store, tuple[Status, ...]]:
        """Return the store to read, and the statuses of conversations that may be read in it."""
        talk = self._talk
        other = access_policy.other_agent(talk.store, target_agent)
        if other is None:
            return talk.store, tuple(Status)
        statuses = access_policy.past_of_another(talk.store, other, call=call, query=query, now=talk.clock.now())
        return talk.other(other), statuses

    def end_stale(self) -> Sequence[Ended]:
        """End the conversations without events for longer than the setting `conversation.stale_after`."""
        return self._end_stale(history.LONGEST)

    def _end_stale(self, limit: int) -> Sequence[Ended]:
        """Check up to `limit` quiet conversations, and end those that are stale."""
        talk = self._talk
        dead, alive = ending.stale(talk.store, talk.clock.now() - int(talk.settings.stale_after * HOUR), limit)
        if alive:
            with talk.store.database.write(talk.store.agent) as tx:
                tx.many("history.quiet_set", ({"id": identity, "since": at} for identity, at in alive.items()))
        ended = []
        for identity in dead:
            try:
                # Without the model: nobody waits for the summary of a conversation that died.
                ended.append(ending.end(talk.store, identity, None, talk.clock.now, mid_term=talk.settings.mid_term))
                talk.closed(identity)
            except RecollectError as error:
                _log.warning("the conversation %s could not be ended: %s", identity, error)
        return ended


class Conversation:
    """One conversation of an agent, returned by `conversations.start()` and `conversations.get()`."""

    def __init__(self, talk: Talk, info: ConversationInfo) -> None:
        self._talk, self._info = talk, info
        self._sizes: dict[Lane, tuple[int, int]] = {}
        """Per lane how many events and tokens its window has, as far as this object knows."""

    def __repr__(self) -> str:
        return f"Conversation({self.ref_code!r}, agent={self._talk.store.agent!r})"

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
        return conversations.find(self._talk.store, self.id)

    @property
    def status(self) -> Status:
        """The current status: active, idle or archived."""
        return self.info.status

    @property
    def saved(self) -> Recovery | None:
        """The checkpoint saved last by `checkpoint()` or `end()`; None if there is none or it has expired."""
        return conversations.saved(self._talk.store, self.id)

    @property
    def scratchpad(self) -> "Scratchpad":
        """The scratchpad: JSON values by key."""
        return Scratchpad(self._talk.store, self._talk.clock, self.id)

    # The journal

    def append(self, event: Event | Iterable[Event]) -> Event | list[Event]:
        """Append an event, or several in one transaction, and return what was stored. The write is durable when this
        returns.

        Raises Conflict if the conversation has ended, and Invalid if an event is malformed.
        """
        now = self._talk.clock.now()
        if isinstance(event, Event) or not isinstance(event, Iterable):
            return self._append([conversations.checked(event, self.id, now)])[0]
        return self._append([conversations.checked(one, self.id, now) for one in event])

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
        now = self._talk.clock.now()
        if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
            raise Invalid("messages are a list of mappings with role and content")
        said = [replace(one, lane=lane) for one in map(_event, messages) if one is not None]
        given = [conversations.checked(one, self.id, now) for one in said]
        while given:
            with self._talk.store.read() as tx:
                new, last = conversations.new_in_lane(tx, self.id, lane, given)
            if not new:
                return []
            stored = self._append(new, after=last)
            if stored:
                return stored
        return []

    def save(self, messages: Iterable[Mapping[str, Any]], *, model_id: str | None = None) -> None:
        """Replace the messages that `load()` returns, for a client that holds the conversation and sends it whole.

        Messages that were edited, regenerated or dropped are no longer loaded, and stay in the journal. Messages that
        are in the journal are not appended again. Each message has a role (`user`, `assistant` or `agent`) and text.

        Raises Invalid if a message has tool calls or is the result of one; use `extend()` for those.
        """
        now = self._talk.clock.now()
        said = [one for one in map(_event, messages) if one is not None]
        if any(one.type is EventType.TOOL or one.tool_calls for one in said):
            raise Invalid("a saved talk has messages of users and models only; use extend() for tool calls and results")
        given = [conversations.checked(one, self.id, now) for one in said if not one.internal]
        stored = saved_view.save(self._talk.store, self.id, given, now, optional_name(model_id, "model id"))
        self._stored(stored)

    def load(self) -> Loaded:
        """Return the messages saved last, and those appended since."""
        with self._talk.store.read() as tx:
            found = saved_view.saved_messages(tx, self.id)
            at = history.saved_view(tx, self.id).saved_at
        last = max((event.created_at or 0 for event in found), default=self._info.started_at)
        return Loaded(events=tuple(found), saved_at=last if at is None else at)

    def events(
        self, after: Event | int | None = None, *, before: Event | int | None = None, limit: int = history.LONGEST
    ) -> Iterator[Event]:
        """Iterate over the events in order, optionally those after an event or a sequence number.

        With `before`, iterate over those before it, newest first; a number greater than any starts at the end.

        Raises Invalid if both `after` and `before` are given.
        """
        most = count(limit, "events")
        if before is None:
            return conversations.events(self._talk.store, self.id, _place(after or 0), most)
        if after is not None:
            raise Invalid("give `after` or `before`, not both: the one reads on from an event, the other back")
        return conversations.events_back(self._talk.store, self.id, _place(before), most)

    def event(self, reference: str) -> Event:
        """Return the event with this hash, or with a unique prefix of it.

        Raises NotFound if there is none.
        """
        return conversations.referenced(self._talk.store, self.id, reference)

    def find(self, query: str, *, limit: int = 10) -> list[Turn]:
        """Return the events of this conversation that contain words of the query, tool results included; best first."""
        words = names.plain("query", query, lines=True)
        return conversation_search.within(self._talk.store, self._info, words, limit=count(limit, "hits"))

    # Working memory

    def window(self, lane: Lane | str = Lane.EDGE) -> list[Event]:
        """Return the events of a lane that are not replaced by an archive."""
        with self._talk.store.read() as tx:
            return conversations.window(tx, self.id, member(Lane, lane, "lane"))[1]

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
        with self._talk.store.read() as tx:
            state, window = conversations.window(tx, self.id, lane)
        if identity is None:
            identity = identity_files(self._talk.folder, lane)
        text = context if isinstance(context, str) or context is None else str(getattr(context, "text", context))
        skills = list(skills)
        opening = prompt.opening_texts(lane, instructions=instructions, skills=skills, identity=identity)
        self._talk.around[self.id, lane] = sum(map(estimate_tokens, (*opening, text or "")))
        return prompt.messages(
            lane, state.document, window, instructions=instructions, skills=skills, identity=identity, context=text
        )

    def replay(self, lane: Lane | str = Lane.EDGE) -> list[dict[str, Any]]:
        """Return what remains of a lane: the text of its latest archive, then every event of the window, as messages.

        An archive that was removed is replaced by a placeholder with its name.
        """
        lane = member(Lane, lane, "lane")
        with self._talk.store.read() as tx:
            state, window = conversations.window(tx, self.id, lane)
            name = archive = None
            if state.marker:
                (marker,) = history.events(tx, "events_by_seq", seqs=[state.marker])
                name = str(marker.payload["archive_name"])
                entry = entries.get(tx, marker.payload["archive_id"])
                archive = entry.content if entry else None
        return prompt.replay(name, archive, window)

    def summary(self, lane: Lane | str = Lane.EDGE) -> SummaryDocument:
        """Return the summary document of a lane, which stands for everything that has left its window."""
        with self._talk.store.read() as tx:
            return conversations.lane_state(tx, self.id, member(Lane, lane, "lane")).document

    def apply_delta(self, lane: Lane | str, delta: Delta | Mapping[str, Any]) -> SummaryDocument:
        """Apply a delta to the summary document of a lane and return the new document.

        Raises Invalid if any part of the delta is wrong; nothing is changed then.
        """
        lane = member(Lane, lane, "lane")
        change = delta if isinstance(delta, Delta) else Delta.read(delta)
        with self._talk.store.write() as work:  # as compaction does, so that neither undoes what the other did
            state = conversations.lane_state(work.tx, self.id, lane)
            changed = replace(state, document=state.document.apply(change))
            conversations.set_document(work.tx, self.id, lane, changed, self._talk.clock.now())
        return changed.document

    def compact(self, lane: Lane | str = Lane.EDGE) -> Compacted | None:
        """Replace the events before the newest user message by an archive; None if there is nothing to compact.

        Raises Unavailable if the language model fails; nothing is changed then.
        """
        return self._compact(member(Lane, lane, "lane"), asked=True)

    def checkpoint(self) -> None:
        """Save the current position, so that `mem.recover()` returns it for the next seven days."""
        with self._talk.store.database.write(self._talk.store.agent) as tx:
            conversations.checkpoint(tx, self.id, self._talk.clock.now())

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
        talk = self._talk
        ended = ending.end(
            talk.store,
            self.id,
            talk.model,
            talk.clock.now,
            timeout=talk.settings.summary_timeout,
            context_tokens=talk.limits.context_tokens,
            mid_term=talk.settings.mid_term,
        )
        talk.later.wake(talk.store)
        for lane in Lane:
            talk.around.pop((self.id, lane), None)
            talk.failures.pop((self.id, lane), None)
        talk.closed(self.id)
        return ended

    # Steps

    def _become(self, status: Status) -> None:
        with self._talk.store.database.write(self._talk.store.agent) as tx:
            conversations.transition(tx, self.id, status, self._talk.clock.now())

    def _one(self, kind: EventType, text: str, lane: Lane | str, at: Moment | None, **fields: Any) -> Event:
        event = Event(type=kind, content=text, lane=lane, created_at=at, **fields)  # type: ignore[arg-type]
        return self._append([conversations.checked(event, self.id, self._talk.clock.now())])[0]

    def _append(self, new: Sequence[Event], after: int | None = None) -> list[Event]:
        stored = conversations.append(self._talk.store, self.id, new, after=after)
        self._stored(stored)
        return stored

    def _stored(self, stored: Sequence[Event]) -> None:
        """Compact the lanes that have grown, if they are full."""
        for lane in {event.lane for event in stored}:
            try:
                self._grown(lane, [event for event in stored if event.lane is lane])
            except RecollectError as error:  # what was appended is on disk; the window stays longer
                _log.warning("the lane %s of %s could not be compacted: %s", lane, self.ref_code, error)

    def _grown(self, lane: Lane, added: Sequence[Event]) -> None:
        """Compact the window if it may be full. Other processes append too, so the first call reads its size."""
        limits = self._limits(lane)
        failures = self._talk.failures.get((self.id, lane))
        if failures is not None and not failures.due(len(added)):
            return
        count, size = self._sizes.get(lane, (limits.events, 0))
        count, size = count + len(added), size + sum(map(compaction.tokens, added))
        self._sizes[lane] = count, size
        if count < limits.events and size <= limits.tokens(0) // 2:
            return
        with self._talk.store.read() as tx:
            state, window = conversations.window(tx, self.id, lane)
        self._sizes[lane] = len(window), sum(map(compaction.tokens, window))
        if compaction.due(limits, state, window):
            if self._talk.model is None:
                self._compact(lane, asked=False)
            else:
                self._talk.background.run((self.id, lane), lambda: self._compact(lane, asked=False))

    def _limits(self, lane: Lane) -> Limits:
        """Return the limits of a window, minus the tokens around it in the last prompt, or of the identity files."""
        around = self._talk.around.get((self.id, lane))
        if around is None:
            files = identity_files(self._talk.folder, lane).values()
            around = self._talk.around[self.id, lane] = sum(map(estimate_tokens, files))
        return replace(self._talk.limits, around=around)

    def _compact(self, lane: Lane, *, asked: bool) -> Compacted | None:
        talk = self._talk
        try:
            done = compaction.compact(
                talk.store,
                self._info,
                lane,
                talk.model,
                self._limits(lane),
                asked=asked,
                now=talk.clock.now(),
                check=talk.background.check,
            )
        except RecollectError:
            talk.failures.setdefault((self.id, lane), _Failures()).add(talk.limits.events)
            raise
        finally:
            self._sizes.pop(lane, None)
        talk.failures.pop((self.id, lane), None)
        if done is not None:
            talk.later.wake(talk.store)
        return done


class Scratchpad(MutableMapping[str, Any]):
    """Temporary values of a conversation: a mutable mapping of JSON values by key. They stay when it is archived."""

    def __init__(self, store: Store, clock: Clock, conversation: str) -> None:
        self._store, self._clock, self._conversation = store, clock, conversation

    def __getitem__(self, key: str) -> Any:
        with self._store.read() as tx:
            row = tx.one("history.scratch_get", conversation=self._conversation, key=names.name(key, "key"))
        if row is None:
            raise KeyError(key)
        return json.loads(row[0])

    def __setitem__(self, key: str, value: Any) -> None:
        key = names.name(key, "key")
        try:
            made = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise Invalid(f"the value of {key!r} is not JSON: {error}") from None
        names.plain(f"value of {key!r}", made, lines=True)
        if len(made.encode()) > VALUE_BYTES:
            raise Invalid(f"the value of {key!r} is longer than {VALUE_BYTES:,} bytes; a scratchpad holds notes")
        with self._store.database.write(self._store.agent) as tx:
            tx.run(
                "history.scratch_put",
                conversation_id=self._conversation,
                key=key,
                value=made,
                created_at=self._clock.now(),
            )

    def __delitem__(self, key: str) -> None:
        with self._store.database.write(self._store.agent) as tx:
            if not tx.run("history.scratch_drop", conversation=self._conversation, key=names.name(key, "key")):
                raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        with self._store.read() as tx:
            return iter([key for (key,) in tx.all("history.scratch_keys", conversation=self._conversation)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Scratchpad({dict(self)!r})"

    def clear(self) -> None:
        """Remove all values."""
        with self._store.database.write(self._store.agent) as tx:
            tx.run("history.scratch_clear", conversation=self._conversation)


def _event(message: Mapping[str, Any]) -> Event | None:
    """Convert an OpenAI message (or one with `text`) to an event; None for a system message and for a blank one."""
    if not isinstance(message, Mapping):
        raise Invalid(f"a message is a mapping with role and content, not {type(message).__name__}")
    role, content = message.get("role"), _text(message.get("content", message.get("text")))
    at = next((message[name] for name in TIMES if message.get(name) is not None), None)
    more: dict[str, Any] = {"content": content, "internal": bool(message.get("internal")), "created_at": at}
    match role:
        case "system" | "developer":
            return None
        case "user" | "assistant" | "agent" if not content.strip() and not message.get("tool_calls"):
            return None
        case "user":
            return Event(type=EventType.USER, speaker=message.get("name"), **more)
        case "assistant" | "agent":
            return Event(type=EventType.MODEL, tool_calls=message.get("tool_calls") or (), **more)
        case "tool":
            return Event(type=EventType.TOOL, tool_call_id=message.get("tool_call_id"), **more)
    raise Invalid(f"{str(role)[:80]!r} is not a role; it is one of user, assistant, tool, system")


def _text(content: object) -> str:
    """Return the text of a message: its content, or the texts of its parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Iterable):
        parts = [part.get("text", "") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    raise Invalid(f"the content of a message is text or a list of parts, not {type(content).__name__}")


def _place(event: Event | int) -> int:
    return event.seq if isinstance(event, Event) else count(event, "events")
