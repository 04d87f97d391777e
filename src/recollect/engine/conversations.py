"""Conversations and their journal: start, append, read, change status. A call returns after its data is on disk.

The journal is append-only. Every event is validated completely before it is written, and all events of one call are
written atomically.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from recollect import names, text
from recollect.engine import conversation_search, lanes
from recollect.engine.agent_store import Store
from recollect.errors import Conflict, Invalid, NotFound
from recollect.model.history import ConversationInfo, Event, EventType, Lane, Status
from recollect.storage import history
from recollect.storage.database import NamedQuery, Transaction
from recollect.storage.history import Journal

__all__ = [
    "append",
    "events",
    "events_back",
    "find",
    "find_stale",
    "listed",
    "numbered",
    "of_chat",
    "referenced",
    "stale",
    "start",
    "transition",
]

REF_LENGTH = 11
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FOLLOWS = {Status.IDLE: (Status.ACTIVE,), Status.ARCHIVED: (Status.ACTIVE, Status.IDLE)}


# Conversations


def start(
    store: Store,
    *,
    channel: str,
    chat_id: object,
    model_id: object,
    participants: Iterable[str],
    now: int,
    resume: bool = False,
) -> ConversationInfo:
    """Start a conversation; with `resume`, return the open one of the chat instead, safely under concurrency."""
    if isinstance(participants, str) or not isinstance(participants, Iterable):
        raise Invalid(f"participants must be a list of agents, not {participants!r}")
    info = ConversationInfo(
        id=names.new_id(now),
        ref_code="",
        channel_id=channel,
        status=Status.ACTIVE,
        started_at=now,
        chat_id=None if chat_id is None else names.name(chat_id, "chat id"),
        model_id=None if model_id is None else names.name(model_id, "model id"),
        participants=tuple(dict.fromkeys(names.segment(one, "an agent") for one in participants)),
    )
    with store.database.write(store.agent) as tx:
        if resume and info.chat_id is not None:
            Journal.advance(tx, 0, text.ANALYSIS_VERSION)  # takes the lock that serialises concurrent callers
            known = history.of_chat(tx, info.chat_id)
            if known is not None:
                return known
        while True:
            ref_code = "".join(secrets.choice(_BASE62) for _ in range(REF_LENGTH))
            if tx.run(
                "history.start",
                id=info.id,
                ref_code=ref_code,
                channel_id=channel,
                started_at=now,
                chat_id=info.chat_id,
                model_id=info.model_id,
                participants=json.dumps(info.participants, ensure_ascii=False),
            ):
                return replace(info, ref_code=ref_code)


def of_chat(store: Store, chat_id: object) -> ConversationInfo | None:
    """Return the newest conversation of a chat that still accepts events, or None."""
    with store.read() as tx:
        return history.of_chat(tx, names.name(chat_id, "chat id"))


def stale(store: Store, before: int, limit: int = history.LONGEST) -> tuple[list[str], dict[str, int]]:
    """Return the active conversations without an event since `before`, and the time of the last event of the others.

    Reads at most `limit` conversations, those with the latest `quiet_since` first.
    """
    with store.read() as tx:
        rows = tx.all("history.quiet", before=before, limit=limit)
    last = {identity: max(started, history.written_at(event) if event else 0) for identity, started, event in rows}
    dead = [identity for identity, at in last.items() if at < before]
    return dead, {identity: at for identity, at in last.items() if at >= before}


def find_stale(store: Store, before: int, limit: int) -> list[str]:
    """Return what `stale` does, and record for the other conversations when their last event was."""
    dead, alive = stale(store, before, limit)
    if alive:
        with store.database.write(store.agent) as tx:
            tx.many("history.quiet_set", ({"id": identity, "since": at} for identity, at in alive.items()))
    return dead


def find(store: Store, id_or_ref: object) -> ConversationInfo:
    """Return the conversation with this id or ref code, or of this object; raise NotFound if there is none."""
    target = names.name(getattr(id_or_ref, "id", id_or_ref), "conversation")
    with store.read() as tx:
        found = history.conversation(tx, target)
        if found is None:
            raise NotFound(f"this agent has no conversation {target!r}; list the conversations to see them")
        return history.titled(tx, [found])[0]


def listed(
    store: Store,
    statuses: Iterable[Status],
    *,
    channel: str | None = None,
    chat_id: str | None = None,
    limit: int,
    before: tuple[int, str] = (history.LONGEST, ""),
) -> list[ConversationInfo]:
    """List conversations, newest first; `before` is the cursor (start time, id) of the previous page."""
    with store.read() as tx:
        found = history.conversations(tx, statuses, channel=channel, chat_id=chat_id, limit=limit, before=before)
        return history.titled(tx, found)


def transition(tx: Transaction, conversation: str, status: Status, now: int) -> None:
    """Change the status; raise Conflict if the transition is not allowed."""
    Journal.advance(tx, 0, text.ANALYSIS_VERSION)  # blocks concurrent appenders until commit
    found = history.conversation(tx, conversation)
    if found is None:
        raise NotFound(f"this agent no longer has the conversation {conversation!r}")
    if found.status not in _FOLLOWS[status]:
        raise Conflict(
            f"the conversation {found.ref_code} is {found.status}; only one that is "
            f"{' or '.join(_FOLLOWS[status])} can become {status}"
        )
    tx.run("history.status", id=conversation, status=str(status), ended_at=now)


# The journal


def append(
    store: Store, conversation: str, new: Sequence[Event], tx: Transaction | None = None, *, after: int | None = None
) -> list[Event]:
    """Append checked events to the journal of an active conversation, in transaction `tx` or in a new one.

    With `after`, append only if no event but markers follows that sequence number in the lane; else return [].
    """
    if tx is None:
        with store.database.write(store.agent, group=True) as tx:
            stored = append(store, conversation, new, tx, after=after)
        if stored:
            store.newest = tx.generation, stored[-1].seq, conversation, stored[-1].hash
        return stored
    # First, because it locks out other writers: whatever is read below stays valid until commit.
    standing: NamedQuery = ("history.standing", {"id": conversation})
    journal, (found,) = Journal.advance_and_read(tx, len(new), text.ANALYSIS_VERSION, standing)
    if after is not None and tx.one(
        "history.sent_after", conversation=conversation, lane=str(new[0].lane), after=after
    ):
        Journal.advance(tx, -len(new), text.ANALYSIS_VERSION)
        return []
    if not found:
        raise NotFound(f"this agent has no conversation {conversation!r}; start one")
    ((status, ending),) = found
    *known, previous = store.newest
    if known != [tx.generation, journal.events - len(new), conversation]:  # else no other writer has appended since
        previous = history.last_hash(tx, conversation)
    if status != Status.ACTIVE or ending:
        state = "being ended" if status == Status.ACTIVE else status
        raise Conflict(f"the conversation {conversation} is {state}; nothing can be added to it. Start a new one")
    _answered(tx, conversation, new)
    stored = history.append(tx, journal.events - len(new) + 1, previous, new)
    conversation_search.keep_up(store, tx, journal)
    return stored


def events(store: Store, conversation: str, after: int, limit: int) -> Iterator[Event]:
    """Yield up to `limit` events of a conversation in order, reading page by page."""
    while limit > 0:
        with store.read() as tx:
            page = history.events(tx, "events", conversation=conversation, after=after, limit=min(limit, history.PAGE))
        yield from page
        if len(page) < history.PAGE:
            return
        after, limit = page[-1].seq, limit - len(page)


def events_back(store: Store, conversation: str, before: int, limit: int) -> Iterator[Event]:
    """Yield up to `limit` events before a sequence number, newest first, reading page by page."""
    while limit > 0:
        with store.read() as tx:
            most = min(limit, history.PAGE)
            page = history.events(tx, "events_back", conversation=conversation, before=before, limit=most)
        yield from page
        if len(page) < history.PAGE:
            return
        before, limit = page[-1].seq, limit - len(page)


def numbered(store: Store, conversation: str, seq: int) -> Event:
    """Return the event with this sequence number; raise NotFound if the conversation has none."""
    with store.read() as tx:
        found = history.events(tx, "events", conversation=conversation, after=seq - 1, limit=1)
    if not found or found[0].seq != seq:
        raise NotFound(f"no event of this conversation has the number {seq}")
    return found[0]


def referenced(store: Store, conversation: str, reference: object) -> Event:
    """Return the event whose hash equals or starts with the reference; raise Conflict if it is ambiguous."""
    digest = names.name(reference, "hash").lower()
    with store.read() as tx:
        found = history.events(tx, "by_hash", conversation=conversation, hash=digest, length=len(digest))
    if not found:
        raise NotFound(f"no event of this conversation has a hash that begins with {digest!r}")
    if len(found) > 1:
        raise Conflict(f"more than one event has a hash that begins with {digest!r}; pass more of it")
    return found[0]


def _answered(tx: Transaction, conversation: str, new: Sequence[Event]) -> None:
    """Check that every tool result answers an open call of its lane; raise Invalid or Conflict."""
    calls: dict[tuple[Lane, str], bool] = {}
    read: set[Lane] = set()  # a model may reuse a call id; the latest call counts
    for event in new:
        for call in event.tool_calls:
            calls[event.lane, call["id"]] = False
        if event.type is EventType.TOOL:
            assert event.tool_call_id is not None
            key = event.lane, event.tool_call_id
            if key not in calls and event.lane not in read:
                read.add(event.lane)
                before: dict[tuple[Lane, str], bool] = {}
                for one in lanes.window(tx, conversation, event.lane)[1]:  # a call leaves it only with all its results
                    before |= {(event.lane, call["id"]): False for call in one.tool_calls}
                    if one.tool_call_id is not None:
                        before[event.lane, one.tool_call_id] = True
                calls = before | calls
            if key not in calls:
                raise Invalid(
                    f"no open tool call of the lane {str(event.lane)!r} has the id {event.tool_call_id!r}; append the "
                    "model's output with its tool_calls first"
                )
            if calls[key]:
                raise Conflict(f"the tool call {event.tool_call_id!r} already has its result")
            calls[key] = True
