"""Conversations and the journal: rows to values and back. Computes and verifies the hash chain."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from recollect.errors import Corrupt
from recollect.model.history import (
    Channel,
    ConversationInfo,
    Event,
    EventType,
    Lane,
    PayloadRow,
    SavedView,
    Status,
    opening_line,
)
from recollect.storage.database import NamedQuery, Row, Transaction

__all__ = [
    "LONGEST",
    "PAGE",
    "SPARE",
    "Journal",
    "append",
    "breaks",
    "channels",
    "conversation",
    "conversations",
    "erase_event",
    "erased",
    "event",
    "event_hash",
    "events",
    "imported_titles",
    "info",
    "last_event",
    "last_hash",
    "miscounts",
    "of_chat",
    "payloads",
    "payloads_back",
    "recount",
    "reproduces",
    "saved_view",
    "strays",
    "titled",
    "written_at",
]

PAGE = 1_000
SPARE = 16
"""Extra events to read beyond the number needed, because some are not messages."""
LONGEST = 9_223_372_036_854_775_807


@dataclass(slots=True)
class Journal:
    """Counters of an agent's journal. Named as in the index, whose documents are the events."""

    events: int = 0
    flushed: int = 0
    """Sequence number of the last event that is in a segment of the index."""
    live: int = 0
    """Number of turns in segments."""
    tokens: int = 0
    """Total length of those turns in tokens."""
    layout: int = 0
    analysis: int = 0

    @classmethod
    def get(cls, tx: Transaction) -> "Journal":
        """Read the counters; all zero before the first event."""
        row = tx.one("history.journal")
        return cls(*row) if row else cls()

    @classmethod
    def advance(cls, tx: Transaction, count: int, analysis: int) -> "Journal":
        """Reserve `count` sequence numbers; concurrent appenders block until this transaction ends."""
        return cls.advance_and_read(tx, count, analysis)[0]

    @classmethod
    def advance_and_read(
        cls, tx: Transaction, count: int, analysis: int, *queries: NamedQuery
    ) -> tuple["Journal", list[list[Row]]]:
        """Reserve `count` sequence numbers as `advance`, and return the rows of queries that run after it."""
        advance: NamedQuery = ("history.journal_advance", {"count": count})
        found, *rows = tx.all_of(advance, *queries)
        if not found:
            tx.run("history.journal_start", analysis=analysis)
            found, *rows = tx.all_of(advance, *queries)
        return cls(*found[0]), rows

    def save(self, tx: Transaction) -> None:
        """Store the fields that the index changes."""
        tx.send(
            "history.journal_save",
            flushed=self.flushed,
            live=self.live,
            tokens=self.tokens,
            layout=self.layout,
            analysis=self.analysis,
        )


# Channels and conversations


def channels(tx: Transaction, workspace: str) -> list[Channel]:
    """Return the channels of the workspace, oldest first."""
    return [
        Channel(
            id=name,
            workspace=workspace,
            name=name,
            description=description,
            is_default=bool(is_default),
            created_at=created_at,
        )
        for name, description, is_default, created_at in tx.all("history.channels")
    ]


def conversation(tx: Transaction, id_or_ref: str) -> ConversationInfo | None:
    """Return the conversation with this id or ref code."""
    row = tx.one("history.conversation", id=id_or_ref) or tx.one("history.by_ref", ref_code=id_or_ref)
    return None if row is None else info(row)


def conversations(
    tx: Transaction,
    statuses: Iterable[Status],
    *,
    channel: str | None,
    chat_id: str | None,
    limit: int,
    before: tuple[int, str] = (LONGEST, ""),
) -> list[ConversationInfo]:
    """Return conversations, newest first, older than the given (started_at, id)."""
    rows = tx.all(
        "history.conversations",
        statuses=[str(status) for status in statuses],
        channel=channel,
        chat_id=chat_id,
        limit=limit,
        started_at=before[0],
        id=before[1],
    )
    return [info(row) for row in rows]


def of_chat(tx: Transaction, chat_id: str) -> ConversationInfo | None:
    """Return the newest conversation of a chat that accepts further events."""
    row = tx.one("history.of_chat", chat_id=chat_id)
    return None if row is None else info(row)


def info(row: Row) -> ConversationInfo:
    """Build a ConversationInfo from a row; raise Corrupt if the row is invalid."""
    identity, ref_code, channel, status, started, ended, chat, model, participants, summary, by = row
    try:
        people = json.loads(participants)
        if not isinstance(people, list):
            raise ValueError("its participants are not a list")
        return ConversationInfo(
            id=identity,
            ref_code=ref_code,
            channel_id=channel,
            status=Status(status),
            started_at=started,
            ended_at=ended,
            chat_id=chat,
            model_id=model,
            participants=tuple(people),
            closing_summary=summary,
            summary_by=by,
        )
    except ValueError as error:
        raise Corrupt(f"the conversation {identity} cannot be read: {error}; restore it from a backup") from error


def titled(tx: Transaction, found: Sequence[ConversationInfo]) -> list[ConversationInfo]:
    """Return conversations with their titles."""
    openings: dict[str, str | None] = dict(tx.all("history.openings", ids=[one.id for one in found])) if found else {}
    return [replace(one, title=opening_line(_imported_title(one) or openings.get(one.id) or "")) for one in found]


def imported_titles(tx: Transaction, conversations: Sequence[str]) -> dict[str, str]:
    """Return the titles that these conversations were imported with; empty for the others."""
    rows = tx.all("history.imported_titles", ids=conversations) if conversations else []
    return dict.fromkeys(conversations, "") | {one: opening_line(title or "") for one, title in rows}


def _imported_title(info: ConversationInfo) -> str | None:
    return info.closing_summary if info.summary_by == "import" else None


# Events


def last_hash(tx: Transaction, conversation: str) -> str:
    """Return the hash of the last event of a conversation; empty if it has none."""
    row = tx.one("history.last", id=conversation)
    return str(row[0]) if row else ""


def append(tx: Transaction, first: int, previous: str, new: Sequence[Event]) -> list[Event]:
    """Store events of one conversation with sequence numbers from `first` on, each chained to its predecessor."""
    stored = []
    for seq, one in enumerate(new, first):
        payload = _payload(one)
        # The hash of a tombstone, which comes with an import, cannot be computed without its text.
        digest = event_hash(previous, one, payload) if one.erased_at is None else one.hash
        tx.send(
            "history.event_put",
            seq=seq,
            id=one.id,
            conversation_id=one.conversation_id,
            lane=str(one.lane),
            type=str(one.type),
            content=one.content,
            payload=payload,
            tool_call_id=one.tool_call_id,
            hash=digest,
            previous=previous,
            created_at=one.created_at,
        )
        stored.append(
            Event(  # spelled out, because `dataclasses.replace` takes three times as long
                type=one.type,
                content=one.content,
                lane=one.lane,
                speaker=one.speaker,
                tool_calls=one.tool_calls,
                tool_call_id=one.tool_call_id,
                internal=one.internal,
                payload=one.payload,
                created_at=one.created_at,
                seq=seq,
                id=one.id,
                conversation_id=one.conversation_id,
                hash=digest,
                previous=previous,
                erased_at=one.erased_at,
            )
        )
        if one.erased_at is not None:
            erase_event(tx, stored[-1], one.erased_at)
        previous = digest
    return stored


# Calling an enumeration takes ten times as long, and a read returns many events.
_LANES = {str(lane): lane for lane in Lane}
_TYPES = {str(kind): kind for kind in EventType}


def event(row: Row) -> Event:
    """Build an Event from a row; raise Corrupt if the row is invalid."""
    seq, identity, conversation_id, lane, kind, content, payload, tool_call_id, digest, previous, created_at, gone = row
    try:
        extra: dict[str, Any] = json.loads(payload) if payload else {}
        return Event(
            seq=seq,
            id=identity,
            conversation_id=conversation_id,
            lane=_LANES[lane],
            type=_TYPES[kind],
            content=content,
            speaker=extra.pop("speaker", None),
            tool_calls=tuple(extra.pop("tool_calls", ())),
            internal=bool(extra.pop("internal", False)),
            payload=extra,
            tool_call_id=tool_call_id,
            hash=digest,
            previous=previous,
            created_at=created_at,
            erased_at=gone,
        )
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise Corrupt(f"event {seq} of the journal cannot be read: {error}; restore it from a backup") from error


def events(tx: Transaction, query: str, **values: Any) -> list[Event]:
    """Return the events of a named query."""
    return [event(row) for row in tx.all(f"history.{query}", **values)]


def payloads_back(tx: Transaction, conversation_id: str, before: int, limit: int) -> list[PayloadRow]:
    """Return the payloads of events before a sequence number, newest first, without markers."""
    rows: Any = tx.all("history.payloads_back", conversation=conversation_id, before=before, limit=limit)
    return rows  # type: ignore[no-any-return]


def payloads(rows: Sequence[PayloadRow]) -> list[dict[str, Any]]:
    """Return the payloads of rows; raise Corrupt if one is invalid."""
    with suppress(ValueError):
        # Parsing one array takes a third of the time of parsing each payload.
        found: list[dict[str, Any]] = json.loads(f"[{','.join([row[-1] or '{}' for row in rows])}]")
        if len(found) == len(rows) and {dict}.issuperset(map(type, found)):
            return found
    return [_payload_of(row[0], row[-1]) for row in rows]  # names the event that cannot be read


def _payload_of(seq: int, payload: str) -> dict[str, Any]:
    try:
        found = json.loads(payload or "{}")
        if not isinstance(found, dict):
            raise ValueError("its payload is not a JSON object")
        return found
    except ValueError as error:
        raise Corrupt(f"event {seq} of the journal cannot be read: {error}; restore it from a backup") from error


def saved_view(tx: Transaction, conversation_id: str) -> SavedView:
    """Return the last saved view of a conversation: which of its messages it includes."""
    row = tx.one("history.saved_view", conversation=conversation_id)
    if row is None:
        return SavedView()
    spans, upto, shown_from, saved_at = row
    try:
        return SavedView(
            tuple((int(first), int(last)) for first, last in json.loads(spans)), upto, shown_from, saved_at
        )
    except (ValueError, TypeError) as error:
        raise Corrupt(f"the saved view of the conversation {conversation_id} cannot be read: {error}") from error


def event_hash(previous: str, one: Event, payload: str) -> str:
    """Return the hash of an event: SHA-256 over its fields, except `seq`, and the previous hash."""
    lane, kind, call, at = str(one.lane), str(one.type), one.tool_call_id or "", str(one.created_at)
    # Length prefixes delimit the fields, so that no two different events are framed to the same text.
    framed = (
        f"{len(previous)}:{previous}{len(one.id)}:{one.id}{len(one.conversation_id)}:{one.conversation_id}"
        f"{len(lane)}:{lane}{len(kind)}:{kind}{len(call)}:{call}{len(payload)}:{payload}{len(at)}:{at}"
        f"{len(one.content)}:{one.content}"
    )
    return hashlib.sha256(framed.encode()).hexdigest()


def erase_event(tx: Transaction, left: Event, now: int) -> None:
    """Replace an event by its tombstone. Its number and hashes stay, so that the chain remains verifiable."""
    payload = _payload(left)
    tx.run(
        "history.event_erase",
        conversation_id=left.conversation_id,
        seq=left.seq,
        content=left.content,
        payload=payload,
        erased_at=now,
        erased_hash=event_hash(left.previous, left, payload),
    )


def erased(tx: Transaction, conversation_id: str) -> list[int]:
    """Return the sequence numbers of the events of a conversation that were erased or rewritten."""
    return [seq for (seq,) in tx.all("history.erased_of", conversation=conversation_id)]


def reproduces(given: Event, tombstone: Event) -> bool:
    """Return whether an event is the one that was erased: with its text the tombstone's hash can be computed again."""
    same = replace(
        given,
        id=tombstone.id,
        conversation_id=tombstone.conversation_id,
        lane=tombstone.lane,
        created_at=tombstone.created_at,
    )
    return event_hash(tombstone.previous, same, _payload(same)) == tombstone.hash


def written_at(event_id: str) -> int:
    """Return when an event was appended, decoded from its id. `created_at` is when it happened, maybe long before."""
    return int(event_id[:8] + event_id[9:13], 16)


def breaks(tx: Transaction) -> Iterable[str]:
    """Verify the journal; yield a message for each gap in the sequence numbers and each hash mismatch."""
    last: dict[str, str] = {}
    left: dict[int, str] = dict(tx.all("history.erased_hashes"))
    expected = 1
    after = 0
    while rows := tx.all("history.journal_after", after=after, limit=PAGE):
        for row in rows:
            seq, _, conversation_id, *_, payload, _, digest, previous, _, _ = row
            if seq != expected:
                yield f"events {expected} to {seq - 1} are missing from the journal"
            expected = seq + 1
            try:
                right = event_hash(previous, event(row), payload)
            except Corrupt as error:
                yield str(error)
            else:
                if right != left.get(seq, digest):
                    what = "its erasure left" if seq in left else "was written"
                    yield f"event {seq} is not what {what}: its hash does not fit"
            if previous != last.get(conversation_id, ""):
                yield f"event {seq} does not follow the one before it in its conversation"
            last[conversation_id] = digest
        after = rows[-1][0]


def miscounts(tx: Transaction) -> Iterable[str]:
    """Yield a message for each counter of the journal that disagrees with its events."""
    journal, last = Journal.get(tx), last_event(tx)
    if journal.events < last:
        yield f"the counter of events says {journal.events}, but {last} is in use"
    elif journal.events > last:
        yield f"events {last + 1} to {journal.events} are missing from the journal, or its counter is wrong"
    elif journal.flushed > last:
        yield f"the index over the journal ends with event {journal.flushed}, but the journal with {last}"


def recount(tx: Transaction, analysis: int) -> None:
    """Set the journal's counter to its last event; the caller must then rebuild the index over the journal."""
    journal = Journal.advance(tx, 0, analysis)
    # Do not reuse segment numbers: a process may have cached segments under them.
    journal.layout = max([journal.layout, *(segment for segment, _, _, _ in tx.all("turns.segments"))])
    journal.save(tx)
    tx.run("history.journal_set", events=last_event(tx))


def strays(tx: Transaction) -> Iterable[str]:
    """Yield a message for each unreadable conversation, and for each missing one that has events."""
    first: dict[str, int] = {}
    after = ""
    while rows := tx.all("history.talks", after=after, limit=PAGE):
        first.update(rows)
        after = rows[-1][0]
    after = ""
    while rows := tx.all("history.conversations_after", id=after, limit=PAGE):
        for row in rows:
            first.pop(row[0], None)
            try:
                info(row)
            except Corrupt as error:
                yield str(error)
        after = rows[-1][0]
    for conversation_id, seq in sorted(first.items(), key=lambda one: one[1]):
        yield f"the conversation {conversation_id} of event {seq} and others is not there"


def last_event(tx: Transaction) -> int:
    """Return the sequence number of the last event of the journal; 0 if there is none."""
    row = tx.one("history.last_event")
    return row[0] if row else 0


def _payload(one: Event) -> str:
    extra: dict[str, Any] = dict(one.payload)
    if one.speaker is not None:
        extra["speaker"] = one.speaker
    if one.tool_calls:
        extra["tool_calls"] = [dict(call) for call in one.tool_calls]
    if one.internal:
        extra["internal"] = True
    return json.dumps(extra, ensure_ascii=False, separators=(",", ":"), sort_keys=True) if extra else ""
