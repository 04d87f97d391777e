"""Checkpoints of conversations, and the position to which an agent returns after a crash."""

import json
from collections.abc import Iterator
from heapq import merge
from itertools import count

from recollect.engine.agent_store import Store
from recollect.engine.lanes import lane_state
from recollect.errors import Corrupt
from recollect.model.history import ConversationInfo, Event, Lane, Recovery, Status
from recollect.model.working import SummaryDocument
from recollect.storage import history
from recollect.storage.database import Transaction

__all__ = ["checkpoint", "last_messages", "recover", "saved"]

RECOVERABLE = 7 * 24 * 3_600_000
"""Milliseconds until a checkpoint expires."""
RECOVERED = 50
"""Maximum number of messages in a recovery."""
PAGE = 4
"""Number of checkpoints that are read at once; nearly always the first one is used."""


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


_Position = tuple[int, str, int | None, str | None]
"""Time, conversation, last event and documents of a position; without the last two if it is that of the journal."""


def _positions(
    tx: Transaction, now: int, beside: str | None
) -> Iterator[tuple[int, ConversationInfo, int | None, str | None]]:
    """Yield the positions of the last seven days, newest first: time, conversation, last event and documents."""
    oldest = now - RECOVERABLE
    saved = {"since": oldest, "until": now + RECOVERABLE, "limit": PAGE}
    newest, first = tx.all_of(
        ("history.newest", {"beside": beside or ""}), ("history.checkpoints", {**saved, "start": 0})
    )
    written: list[_Position] = [(history.written_at(event), conversation, None, None) for conversation, event in newest]
    written = [one for one in written if oldest <= one[0] <= now + RECOVERABLE]

    def checkpoints() -> Iterator[_Position]:
        page = first
        for start in count(PAGE, PAGE):
            yield from page
            if len(page) < PAGE:
                return
            page = tx.all("history.checkpoints", **saved, start=start)

    for saved_at, conversation, upto, documents in merge(written, checkpoints(), key=lambda one: -one[0]):
        info = history.conversation(tx, conversation)
        if info is not None and info.id != beside and info.status is not Status.ARCHIVED:
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
