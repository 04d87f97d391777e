"""The facade of an agent's conversations: methods check their input and delegate to the engine."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from recollect import names
from recollect.clock import Moment, milliseconds
from recollect.conversation import Conversation, ConversationServices
from recollect.engine import access_policy, channels, chat_payloads, conversation_search, conversations, saved_view
from recollect.engine.agent_store import Store
from recollect.engine.reranking import RERANKED, reranked
from recollect.errors import Denied, Invalid
from recollect.model.checks import count, optional_name, share
from recollect.model.entry import Origin
from recollect.model.history import (
    ConversationHandle,
    ConversationInfo,
    Ended,
    Event,
    PayloadRow,
    Status,
    Turn,
    reference,
)
from recollect.model.report import Receipt
from recollect.scratchpad import Scratchpad
from recollect.storage import history

__all__ = ["Conversations"]

HOUR = 3_600_000
STALE_CHECKED = 10
"""Quiet conversations that are checked for being stale when another one starts."""


class Conversations:
    """The conversations of one agent, as `mem.conversations`."""

    def __init__(self, services: ConversationServices) -> None:
        self._services = services

    def _claiming(self, origin: Origin) -> "Conversations":
        """Return the same conversations for a caller that may claim this origin at most."""
        return Conversations(replace(self._services, origin=origin))

    def start(
        self,
        channel: str | None = None,
        chat_id: str | None = None,
        model_id: str | None = None,
        participants: Iterable[str] = (),
        resume: bool = False,
    ) -> Conversation:
        """Start a conversation.

        With `resume=True`, return the active conversation of `chat_id` instead if there is one; concurrent calls get
        the same one. Up to ten stale conversations are ended first, because their process must have died; the job `age`
        ends the others.

        Raises NotFound if there is no such channel, and Invalid if `resume` is set without a `chat_id`.
        """
        services = self._services
        if resume and chat_id is None:
            raise Invalid("no conversation to resume; pass its chat_id with resume=True")
        if resume and (active := conversations.of_chat(services.store, chat_id)) is not None:
            return Conversation(services, active)
        self._end_stale(STALE_CHECKED)
        info = conversations.start(
            services.store,
            channel=channels.channel_id(services.shared, services.workspace, channel),
            chat_id=chat_id,
            model_id=model_id,
            participants=participants,
            now=services.clock.now(),
            resume=resume,
        )
        return Conversation(services, info)

    def get(self, id_or_ref: ConversationHandle | str) -> Conversation:
        """Return the conversation with this id or ref code.

        Raises NotFound if this agent has none.
        """
        return Conversation(self._services, conversations.find(self._services.store, id_or_ref))

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
            self._services.store,
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
        min_confidence: float = 0.0,
    ) -> Sequence[Turn]:
        """Search the turns of conversations and return them, best first; with `unit="conversation"` the best turn of
        each.

        `target_agent` searches past conversations of another agent, never active ones; the access is logged. With
        `meaning=False` only words count, even if an embedder is configured. `turn.confidence` is the probability that
        the first ten turns found hold an answer; if it is below `min_confidence`, nothing is returned.

        Raises Invalid if a value is unknown or malformed.
        """
        from recollect.engine.recall import query_vector

        query = names.plain("query", query, lines=True)
        store, statuses = self._readable(target_agent, "conversations.search", query)
        limit, reranker = count(limit, "hits"), self._services.reranker if meaning else None
        found = conversation_search.search(
            store,
            query,
            limit=max(limit, RERANKED) if reranker is not None and limit > 0 else limit,
            unit=unit,
            statuses=statuses,
            since=None if since is None else milliseconds(since),
            until=None if until is None else milliseconds(until),
            channel=optional_name(channel, "channel"),
            vector=query_vector(store, query) if meaning else None,
            min_confidence=share(min_confidence, "min_confidence is a probability"),
        )
        return reranked(reranker, query, found, lambda turn: turn.event.content, limit)

    def detail(
        self,
        id_or_ref: ConversationHandle | str,
        *,
        target_agent: str | None = None,
        limit: int = history.LONGEST,
        after: int = 0,
    ) -> Sequence[Event]:
        """Return the events of a conversation, optionally those after a sequence number.

        Conversations of `target_agent` can be read after they have ended; the access is logged.

        Raises NotFound if there is no such conversation, and Denied if it belongs to another agent and is active.
        """
        store, statuses = self._readable(target_agent, "conversations.detail", str(reference(id_or_ref)))
        info = conversations.find(store, id_or_ref)
        if info.status not in statuses:
            raise Denied(f"the conversation {info.ref_code} is active; other agents can read it after it has ended")
        return [*conversations.events(store, info.id, count(after, "events"), count(limit, "events"))]

    def journal(self, after: int = 0, *, limit: int = 100) -> Sequence[Event]:
        """Return events of all conversations of this agent with a sequence number greater than `after`, in order."""
        with self._services.store.read() as tx:
            number, most = count(after, "events"), count(limit, "events")
            return history.events(tx, "journal_after", after=number, limit=most)

    def payloads(
        self, chat_id: str, *, before: int = history.LONGEST, page: int = history.PAGE
    ) -> Iterator[tuple[PayloadRow, dict[str, Any]]]:
        """Iterate over events of a chat with their payloads, newest first, for programs that store data in payloads.

        A chat is all conversations with this `chat_id`. `before` is a sequence number. `page` is the number of events
        to read at first, for callers that need a few of them.
        """
        chat, seq = names.name(chat_id, "chat id"), count(before, "events")
        return chat_payloads.payloads(self._services.store, chat, seq, max(1, count(page, "events")))

    def payload_rows(self, chat_id: str) -> Iterator[PayloadRow]:
        """Iterate over all events of a chat as `payloads` does, with the payloads as JSON texts, for other parsers."""
        chat, store = names.name(chat_id, "chat id"), self._services.store
        return chain.from_iterable(chat_payloads.rows(store, chat, history.LONGEST, history.PAGE))

    def last_event(self) -> int:
        """Return the sequence number of the last event in the journal, 0 if it is empty. Cheap enough to poll."""
        with self._services.store.read() as tx:
            return history.Journal.get(tx).events

    def last_saved(self) -> ConversationInfo | None:
        """Return the conversation saved last, or one started after that; None if none. Skips archived ones."""
        with self._services.store.read() as tx:
            return saved_view.last_saved(tx)

    def scratchpad(self, id_or_ref: ConversationHandle | str, owner: str | None = None) -> Scratchpad:
        """Return the scratchpad of a conversation: an own one, or one of `owner` in which this agent is a participant.

        Raises NotFound if there is no such conversation, and Denied if this agent is not a participant.
        """
        services = self._services
        other = access_policy.other_agent(services.store, owner)
        if other is None:
            return self.get(id_or_ref).scratchpad
        theirs = services.other(other)
        conversation = access_policy.participant(theirs, services.store.agent, str(reference(id_or_ref)))
        return Scratchpad(theirs, services.clock, conversation.id)

    def erase(self, id_or_ref: ConversationHandle | str, *, dry_run: bool = False) -> Receipt:
        """Erase all events of a conversation and everything that was made from them, and return a receipt.

        Works like `Conversation.erase()` for every event; the scratchpad is cleared as well. The conversation itself
        stays, without text, and its tombstones keep the hash chain. This cannot be undone. With `dry_run=True` nothing
        is changed, and the receipt lists what would be.

        Raises NotFound if this agent has no such conversation.
        """
        self._services.must_be_claimable(Origin.USER)
        return self._services.erase(conversations.find(self._services.store, id_or_ref), None, dry_run)

    def end_stale(self) -> Sequence[Ended]:
        """End the conversations without events for longer than the setting `conversation.stale_after`."""
        return self._end_stale(history.LONGEST)

    def _end_stale(self, limit: int) -> Sequence[Ended]:
        services = self._services
        before = services.clock.now() - int(services.settings.stale_after * HOUR)
        stale = conversations.find_stale(services.store, before, limit)
        if not stale:
            return []
        from recollect.engine import ending

        return ending.end_stale(services.store, stale, services.settings, services.clock.now, services.on_end)

    def _readable(self, target_agent: str | None, call: str, query: str) -> tuple[Store, tuple[Status, ...]]:
        """Return the store to read, and the statuses of conversations that may be read in it."""
        own, other = self._services.store, access_policy.other_agent(self._services.store, target_agent)
        if other is None:
            return own, tuple(Status)
        now = self._services.clock.now()
        statuses = access_policy.past_of_another(own, other, call=call, query=query, now=now)
        return self._services.other(other), statuses
