"""The last saved version of a conversation: which messages of the journal belong to it.

A client that owns a conversation saves the whole list of messages repeatedly, and may edit, regenerate or drop messages
in between. The journal is append-only, so a row of `saved_views` records which events are the current talk. Messages
already in the journal are not appended again: the list is matched with the loaded messages from the start, then with
the journal in order; everything from the first unmatched message on is appended.

Only messages are covered: user messages and model outputs that have text and are not internal. Of a trimmed talk only
the end is loaded. The part before it still belongs to the talk, so that the ending of the conversation includes it.
"""

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import groupby, takewhile

from recollect import text
from recollect.engine import conversations, resent_messages
from recollect.engine.agent_store import Store
from recollect.model.history import ConversationInfo, Event, Loaded, SavedView, Status
from recollect.storage import history
from recollect.storage.database import Transaction
from recollect.storage.history import Journal

__all__ = ["last_saved", "load", "save", "saved_messages", "trim"]


def saved_messages(tx: Transaction, conversation: str, *, trimmed: bool = True) -> list[Event]:
    """Return the messages of the last saved talk; with `trimmed=False` also those that a trim hides."""
    view = history.saved_view(tx, conversation)
    belongs = view.loads if trimmed else view.holds
    return list(filter(belongs, _messages(tx, conversation)))


def load(store: Store, info: ConversationInfo) -> Loaded:
    """Return the messages of the last saved talk and when it was saved, or else the time of the last message."""
    with store.read() as tx:
        found, saved_at = saved_messages(tx, info.id), history.saved_view(tx, info.id).saved_at
    last = max((event.created_at or 0 for event in found), default=info.started_at)
    return Loaded(events=tuple(found), saved_at=last if saved_at is None else saved_at)


def save(store: Store, conversation: str, given: Sequence[Event], now: int, model_id: str | None = None) -> list[Event]:
    """Save a list of messages as the talk of a conversation; return the events appended to the journal."""
    with store.database.write(store.agent) as tx:
        Journal.advance(tx, 0, text.ANALYSIS_VERSION)  # concurrent savers block until commit
        view, journal = history.saved_view(tx, conversation), _messages_or_erased(tx, conversation, given)
        kept = _common(filter(view.loads, journal), given)
        shown_from = view.shown_from if kept else 0
        before = [event for event in journal if event.seq < shown_from and view.holds(event)]
        after = kept[-1].seq if kept else 0
        kept += _in_order((event for event in journal if event.seq > after), given[len(kept) :])
        new = given[len(kept) :]
        appended = conversations.append(store, conversation, new, tx) if new else []
        talk = {event.seq for event in (*before, *kept, *appended)}
        numbers = [event.seq for event in (*journal, *appended)]
        _put(tx, conversation, SavedView(_spans(numbers, talk), max(numbers, default=0), shown_from, now))
        if model_id is not None:
            tx.run("history.model_set", id=conversation, model_id=model_id)
    return appended


def trim(tx: Transaction, conversation: str, keep: int) -> int:
    """Hide all but the last `keep` messages of a talk; return how many. The journal does not change."""
    view, journal = history.saved_view(tx, conversation), list(_messages(tx, conversation))
    loaded = list(filter(view.loads, journal))
    if len(loaded) <= keep:
        return 0
    if view.spans is None:
        last = journal[-1]
        view = SavedView(((journal[0].seq, last.seq),), last.seq, 0, history.written_at(last.id))
    shown_from = loaded[-keep].seq if keep else loaded[-1].seq + 1
    _put(tx, conversation, replace(view, shown_from=shown_from))
    return len(loaded) - keep


def last_saved(tx: Transaction) -> ConversationInfo | None:
    """Return the conversation last saved, or a newer one started since; archived ones are ignored."""
    newest = history.conversations(tx, (Status.ACTIVE, Status.IDLE), channel=None, chat_id=None, limit=1)
    row = tx.one("history.last_saved")
    if row is None or (newest and newest[0].started_at > row[1]):
        return next(iter(newest), None)
    return history.conversation(tx, row[0])


def _messages(tx: Transaction, conversation: str) -> Iterable[Event]:
    after = 0
    while page := history.events(tx, "events", conversation=conversation, after=after, limit=history.PAGE):
        yield from (event for event in page if event.is_message)
        after = page[-1].seq


def _messages_or_erased(tx: Transaction, conversation: str, given: Sequence[Event]) -> list[Event]:
    """Return the messages, and in their places those of the list that were erased: they are not appended again."""
    if not history.erased(tx, conversation):
        return list(_messages(tx, conversation))
    found: list[Event] = []
    after = 0
    while page := history.events(tx, "events", conversation=conversation, after=after, limit=history.PAGE):
        found += resent_messages.recognised(page, given)
        after = page[-1].seq
    return [event for event in found if event.is_message]


def _common(loaded: Iterable[Event], given: Sequence[Event]) -> list[Event]:
    """Return the loaded events that form a common prefix with the given list."""
    pairs = takewhile(lambda pair: _same(*pair), zip(loaded, given, strict=False))
    return [event for event, _ in pairs]


def _in_order(journal: Iterable[Event], given: Sequence[Event]) -> list[Event]:
    """Return the journal events that match a prefix of the list, in order and with gaps allowed."""
    found: list[Event] = []
    for event in journal:
        if len(found) < len(given) and _same(event, given[len(found)]):
            found.append(event)
    return found


def _same(event: Event, given: Event) -> bool:
    return event.type is given.type and event.content == given.content


def _spans(messages: Sequence[int], talk: Container[int]) -> tuple[tuple[int, int], ...]:
    """Return the messages of a talk as (first, last) runs of consecutive messages of the conversation."""
    runs = [list(run) for inside, run in groupby(messages, key=lambda seq: seq in talk) if inside]
    return tuple((run[0], run[-1]) for run in runs)


def _put(tx: Transaction, conversation: str, view: SavedView) -> None:
    tx.run(
        "history.saved_view_put",
        conversation_id=conversation,
        spans=json.dumps(view.spans),
        upto=view.upto,
        shown_from=view.shown_from,
        saved_at=view.saved_at,
    )
