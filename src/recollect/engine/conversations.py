"""Conversations and their journal: start, append, read, change status. A call returns after its data is on disk.

The journal is append-only. Every event is validated completely before it is written, and all events of one call are
written atomically.
"""

import json
import secrets
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from recollect import names, text
from recollect.engine import conversation_search
from recollect.engine.agent_store import Store
from recollect.errors import Conflict, Corrupt, Invalid, NotFound
from recollect.model.history import Channel, ConversationInfo, Event, EventType, Lane, Marker, Recovery, Status
from recollect.model.working import Delta, SummaryDocument
from recollect.storage import entries, history
from recollect.storage.database import NamedQuery, Transaction
from recollect.storage.history import Journal

__all__ = [
    "DEFAULT_CHANNEL",
    "LaneState",
    "append",
    "apply_delta",
    "channel_id",
    "channels",
    "checkpoint",
    "create_channel",
    "events",
    "events_back",
    "extend",
    "find",
    "find_stale",
    "lane_events",
    "lane_state",
    "last_messages",
    "latest_archive",
    "listed",
    "new_in_lane",
    "new_part",
    "numbered",
    "of_chat",
    "read_marker",
    "recognised",
    "recover",
    "referenced",
    "saved",
    "set_document",
    "stale",
    "start",
    "transition",
    "window",
]

DEFAULT_CHANNEL = "general"
REF_LENGTH = 11
RECOVERABLE = 7 * 24 * 3_600_000
"""Milliseconds until a checkpoint expires."""
RECOVERED = 50
"""Maximum number of messages in a recovery."""
PROBES = 4
"""Maximum number of texts of a message list that are looked up in the older part of a lane."""
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FOLLOWS = {Status.IDLE: (Status.ACTIVE,), Status.ARCHIVED: (Status.ACTIVE, Status.IDLE)}


@dataclass(frozen=True, slots=True)
class LaneState:
    """Where the window of a lane begins, and the summary of everything before it."""

    marker: int = 0
    """Sequence number of the marker event; 0 before the first compaction."""
    boundary: int = 0
    kept: tuple[int, ...] = ()
    document: SummaryDocument = field(default_factory=SummaryDocument)


# Channels


def channels(shared: Store, workspace: str) -> list[Channel]:
    """List the channels of the workspace. The default channel is included even if it is not stored yet."""
    with shared.read() as tx:
        found = history.channels(tx, workspace)
    if not any(channel.is_default for channel in found):
        found.insert(0, Channel(id=DEFAULT_CHANNEL, workspace=workspace, name=DEFAULT_CHANNEL, is_default=True))
    return found


def create_channel(shared: Store, workspace: str, name: object, description: object, now: int) -> Channel:
    """Create a channel; raise Conflict if the name is taken."""
    name, description = names.name(name, "channel"), names.plain("description", description, lines=True)
    with shared.database.write(shared.agent) as tx:
        if not any(channel.is_default for channel in history.channels(tx, workspace)):
            tx.run("history.channel_put", id=DEFAULT_CHANNEL, description="", is_default=1, created_at=now)
        if not tx.run("history.channel_put", id=name, description=description, is_default=0, created_at=now):
            raise Conflict(f"there is a channel {name!r} already; choose another name, or use it as it is")
    return Channel(id=name, workspace=workspace, name=name, description=description, created_at=now)


def channel_id(shared: Store, workspace: str, name: object) -> str:
    """Return the id of a channel, of the default one for None; raise NotFound if there is none of that name."""
    known = channels(shared, workspace)
    wanted = next(one.id for one in known if one.is_default) if name is None else names.name(name)
    if all(one.id != wanted for one in known):
        raise NotFound(f"there is no channel {wanted!r}; create it first, or use one that is in the list")
    return wanted


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
        raise Invalid(f"participants are a list of agents, not {participants!r}")
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


def extend(store: Store, conversation: str, lane: Lane, given: Sequence[Event]) -> list[Event]:
    """Append the new events of a list of checked events to a lane; return those that were stored."""
    while given:
        with store.read() as tx:
            new, last = new_in_lane(tx, conversation, lane, given)
        stored = append(store, conversation, new, after=last) if new else []
        if stored or not new:  # else another writer was first: compare again
            return stored
    return []


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


def new_part(
    known: Sequence[Event], given: Sequence[Event], beginning: Callable[[], Sequence[Event]] | None = None
) -> Sequence[Event]:
    """Return the new messages of a list that a client resends every time, in full or from some point on.

    A list that is a contiguous part of the journal has nothing new. If a prefix of the list is a suffix of the
    journal, the rest is new. Any other list was edited: skip the prefix that it shares with the start of the journal
    and match the remainder against the end in the same way. Then a known message may be appended twice, but none is
    lost, and the edited list has nothing new when it is sent again. If `known` is only the end of the journal,
    `beginning` returns its start.
    """
    old, new = [_comparable(event) for event in known], [_comparable(event) for event in given]
    matched, contained = _overlap(old, new)
    if contained:
        return ()
    if not matched:
        first = old if beginning is None else [_comparable(event) for event in beginning()]
        matched = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, new, strict=False)))
        while matched and given[matched].type is EventType.TOOL:
            matched -= 1  # the stored call already has a result, so its call must be appended again, too
        matched += _overlap(old, new[matched:])[0]
    return given[matched:]


def new_in_lane(tx: Transaction, conversation: str, lane: Lane, given: Sequence[Event]) -> tuple[Sequence[Event], int]:
    """Return the new messages of a list for a lane, and the sequence number of the lane's last event but markers.

    Of a long lane only the end is read, twice as long as the list. A list further back would have all its texts there,
    so a query for a few of them rules that out. Internal events are ignored unless the list contains them.
    """
    internal = {_comparable(event) for event in given if event.internal}
    known, last, whole = _end(tx, conversation, lane, 2 * len(given), internal)
    known = recognised(known, given)
    settled = whole or _overlap([_comparable(event) for event in known], [_comparable(event) for event in given])[1]
    if not settled and _all_before(tx, conversation, lane, given, known[len(given) - 1].seq):
        known, last, whole = _end(tx, conversation, lane, history.LONGEST, internal)
        known = recognised(known, given)
    beginning = None if whole else lambda: recognised(_beginning(tx, conversation, lane, len(given), internal), given)
    return new_part(known, given, beginning), last


def recognised(events: Sequence[Event], given: Sequence[Event]) -> list[Event]:
    """Return the events, with erased ones replaced by those of a client's list that they stand for.

    A client that resends a message which was erased here must not bring it back. The hash of the tombstone tells which
    message it was.
    """
    found = []
    for event in events:
        if event.erased_at is not None and event.type is not EventType.MARKER:
            same = (one for one in given if one.type is event.type and history.reproduces(one, event))
            if (original := next(same, None)) is not None:
                event = replace(original, seq=event.seq, id=event.id, conversation_id=event.conversation_id)
        found.append(event)
    return found


def _end(
    tx: Transaction, conversation: str, lane: Lane, count: int, internal: Container[object]
) -> tuple[list[Event], int, bool]:
    """Return the last `count` events of a lane that a list may contain, the sequence number of its last event but
    markers, and whether the whole lane was read."""
    found: list[Event] = []
    last, before, whole = 0, history.LONGEST, False
    while len(found) < count and not whole:
        limit = min(count + history.SPARE, history.PAGE)
        page = history.events(tx, "lane_last", conversation=conversation, lane=str(lane), before=before, limit=limit)
        last = last or next((event.seq for event in page if event.type is not EventType.MARKER), 0)
        found += _listable(page, internal)
        before, whole = (page[-1].seq if page else 0), len(page) < limit
    return found[::-1], last, whole


def _beginning(tx: Transaction, conversation: str, lane: Lane, count: int, internal: Container[object]) -> list[Event]:
    """Return the first `count` events of a lane that a list may contain."""
    found: list[Event] = []
    after, ended = 0, False
    while len(found) < count and not ended:
        limit = min(count + history.SPARE, history.PAGE)
        page = history.events(tx, "lane_first", conversation=conversation, lane=str(lane), after=after, limit=limit)
        found += _listable(page, internal)
        after, ended = (page[-1].seq if page else 0), len(page) < limit
    return found


def _listable(events: Iterable[Event], internal: Container[object]) -> list[Event]:
    return [
        event for event in events if event.type.compactable and (not event.internal or _comparable(event) in internal)
    ]


def _all_before(tx: Transaction, conversation: str, lane: Lane, given: Sequence[Event], before: int) -> bool:
    """Return whether sample texts of a list all occur before an event: the last, likely to be new, and the longest."""
    texts = {given[-1].content, *sorted((event.content for event in given), key=len)[1 - PROBES :]}
    rows = tx.all("history.contents_before", conversation=conversation, lane=str(lane), before=before, contents=texts)
    return len(rows) == len(texts) or any(seq < before for seq in history.erased(tx, conversation))


def _overlap(old: Sequence[object], new: Sequence[object]) -> tuple[int, bool]:
    """Return the length of the longest prefix of `new` that ends `old`, and whether `old` contains all of `new`.

    Knuth-Morris-Pratt, so linear in both lengths.
    """
    fallback = [0] * len(new)  # length of the longest proper prefix that ends at each place
    matched, contained = 0, not new
    for place in range(1, len(new)):
        while matched and new[place] != new[matched]:
            matched = fallback[matched - 1]
        matched += new[place] == new[matched]
        fallback[place] = matched
    matched = 0
    for one in old if new else ():
        while matched and (matched == len(new) or one != new[matched]):
            matched = fallback[matched - 1]
        matched += one == new[matched]
        contained = contained or matched == len(new)
    return matched, contained


def _comparable(event: Event) -> tuple[object, ...]:
    calls = tuple(json.dumps(dict(call), sort_keys=True) for call in event.tool_calls)
    return event.type, event.content, event.tool_call_id, calls, event.internal


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
                for one in window(tx, conversation, event.lane)[1]:  # a call leaves it only with all its results
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
                raise Conflict(f"the tool call {event.tool_call_id!r} has its result already")
            calls[key] = True


# Windows


def lane_state(tx: Transaction, conversation: str, lane: Lane) -> LaneState:
    """Return the state of a lane; if its row is missing or unreadable, rebuild it from the last marker."""
    row = tx.one("history.lane", conversation=conversation, lane=str(lane))
    if row is None:
        return _from_markers(tx, conversation, lane)
    marker, boundary, kept, document = row
    try:
        numbers = tuple(int(seq) for seq in json.loads(kept))
        return LaneState(marker, boundary, numbers, SummaryDocument.read(json.loads(document)))
    except (ValueError, TypeError, Corrupt):
        return _from_markers(tx, conversation, lane)


def window(tx: Transaction, conversation: str, lane: Lane) -> tuple[LaneState, list[Event]]:
    """Return the state of a lane, and the events that no archive covers."""
    state = lane_state(tx, conversation, lane)
    found = history.events(tx, "events_by_seq", seqs=state.kept) if state.kept else []
    return state, found + lane_events(tx, conversation, lane, state.boundary)


def lane_events(tx: Transaction, conversation: str, lane: Lane, after: int = 0) -> list[Event]:
    """Return the events of a lane after a sequence number, without markers."""
    return history.events(
        tx, "events_of_lane", conversation=conversation, lane=str(lane), after=after, marker=str(EventType.MARKER)
    )


def set_document(tx: Transaction, conversation: str, lane: Lane, state: LaneState, now: int) -> None:
    """Store the state of a lane."""
    tx.run(
        "history.lane_put",
        conversation_id=conversation,
        lane=str(lane),
        marker=state.marker,
        boundary=state.boundary,
        kept=json.dumps(state.kept),
        document=json.dumps(state.document.to_json(), ensure_ascii=False),
        updated_at=now,
    )


def apply_delta(store: Store, conversation: str, lane: Lane, delta: Delta, now: int) -> SummaryDocument:
    """Apply a delta to the summary document of a lane; return the new document."""
    with store.write() as work:  # like compaction, so that neither overwrites the other's change
        state = lane_state(work.tx, conversation, lane)
        changed = replace(state, document=state.document.apply(delta))
        set_document(work.tx, conversation, lane, changed, now)
    return changed.document


def latest_archive(tx: Transaction, state: LaneState) -> tuple[str | None, str | None]:
    """Return name and text of the archive before a window; no name before the first, no text if it was removed."""
    if not state.marker:
        return None, None
    (marker,) = history.events(tx, "events_by_seq", seqs=[state.marker])
    entry = entries.get(tx, marker.payload["archive_id"])
    return str(marker.payload["archive_name"]), entry.content if entry else None


def read_marker(event: Event) -> Marker:
    """Parse the payload of a marker event."""
    payload = event.payload
    return Marker(
        archive_name=payload["archive_name"],
        archived_at=payload["archived_at"],
        boundary=payload["boundary"],
        kept=tuple(payload["kept"]),
        folded=payload["folded"],
    )


def _from_markers(tx: Transaction, conversation: str, lane: Lane) -> LaneState:
    found = history.events(tx, "markers", conversation=conversation, lane=str(lane), limit=1)
    if not found:
        return LaneState()
    marker = read_marker(found[0])
    return LaneState(found[0].seq, marker.boundary, marker.kept, SummaryDocument.read(found[0].payload["document"]))


# Checkpoints


def checkpoint(tx: Transaction, conversation: str, now: int) -> int:
    """Save a checkpoint and return the number of its last event. The events themselves stay in the journal."""
    row = tx.one("history.last_of", conversation=conversation)
    upto = row[0] if row else 0
    documents = {lane: document.to_json() for lane, document in _documents(tx, conversation, None).items()}
    tx.run(
        "history.checkpoint_put",
        conversation_id=conversation,
        upto=upto,
        saved_at=now,
        documents=json.dumps(documents, ensure_ascii=False),
    )
    return int(upto)


def saved(store: Store, conversation: str) -> Recovery | None:
    """Return the last saved checkpoint, the only one kept; None if there is none or it is unreadable."""
    with store.read() as tx:
        row, info = tx.one("history.checkpoint", conversation=conversation), history.conversation(tx, conversation)
        if row is None or info is None:
            return None
        upto, documents, saved_at = row
        try:
            summaries, last = _documents(tx, conversation, documents), _last_messages(tx, conversation, upto)
        except Corrupt:
            return None
    return Recovery(conversation=info, events=last, summaries=summaries, saved_at=saved_at)


def recover(store: Store, now: int, *, beside: str | None = None) -> Recovery | None:
    """Return the agent's last position if it is at most seven days old; `beside`, its current conversation, is skipped.

    Every event acts as a checkpoint, since the journal holds everything. An explicit checkpoint is as old as its save
    time; an unreadable one is ignored.
    """
    with store.read() as tx:
        for saved_at, info, upto, documents in _positions(tx, now, beside):
            try:
                summaries = _documents(tx, info.id, documents)
                last = _last_messages(tx, info.id, upto)
            except Corrupt:
                continue
            return Recovery(conversation=info, events=last, summaries=summaries, saved_at=saved_at)
    return None


def last_messages(
    store: Store, now: int, limit: int, *, beside: str | None = None
) -> tuple[ConversationInfo, tuple[Event, ...]] | None:
    """Return the conversation that `recover` returns and its last messages, without reading anything else of it."""
    with store.read() as tx:
        for _, info, upto, _ in _positions(tx, now, beside):
            try:
                return info, _last_messages(tx, info.id, upto, limit)
            except Corrupt:
                continue
    return None


def _positions(
    tx: Transaction, now: int, beside: str | None
) -> Iterator[tuple[int, ConversationInfo, int | None, str | None]]:
    """Yield the positions of the last seven days, newest first: time, conversation, last event and documents."""
    oldest = now - RECOVERABLE
    candidates: list[tuple[int, str, int | None, str | None]] = []
    newest = tx.one("history.newest", beside=beside or "")
    if newest is not None and (written := history.written_at(newest[1])) >= oldest:
        candidates.append((written, newest[0], None, None))
    candidates += [
        (saved_at, conversation, upto, documents)
        for conversation, upto, documents, saved_at in tx.all("history.checkpoints", since=oldest)
    ]
    for saved_at, conversation, upto, documents in sorted(candidates, key=lambda one: -one[0]):
        info = history.conversation(tx, conversation)
        if info is None or info.id == beside or info.status is Status.ARCHIVED or saved_at > now + RECOVERABLE:
            continue
        yield saved_at, info, upto, documents


def _documents(tx: Transaction, conversation: str, documents: str | None) -> dict[str, SummaryDocument]:
    if documents is None:
        found = {str(lane): lane_state(tx, conversation, lane).document for lane in Lane}
        return {lane: document for lane, document in found.items() if document != SummaryDocument()}
    try:
        return {str(Lane(lane)): SummaryDocument.read(one) for lane, one in json.loads(documents).items()}
    except (ValueError, AttributeError) as error:
        raise Corrupt(f"the checkpoint of the conversation {conversation} cannot be read: {error}") from error


def _last_messages(tx: Transaction, conversation: str, upto: int | None, limit: int = RECOVERED) -> tuple[Event, ...]:
    """Return the last messages of the conversation's saved view, up to an event."""
    found: list[Event] = []
    view = history.saved_view(tx, conversation)
    before, size = history.LONGEST if upto is None else upto + 1, 2 * limit
    while len(found) < limit:
        page = history.events(tx, "events_back", conversation=conversation, before=before, limit=size)
        found += (event for event in page if event.is_message and view.holds(event))
        if len(page) < size:
            break
        before, size = page[-1].seq, 2 * RECOVERED
    return tuple(reversed(found[:limit]))
