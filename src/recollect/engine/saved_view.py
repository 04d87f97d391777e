"""The talk of a conversation as it was saved last: which messages of the journal form it.

A client that holds a conversation itself saves the whole list of messages again and again, and may edit, regenerate or
drop messages in between. The journal is append-only, so a row of `saved_views` records which events are the talk now.
A message that the journal has already is not appended again: the list is matched with what is loaded from the
beginning, then with the journal in order; what follows the first message that is not found is appended.

Only messages are covered: user messages and model outputs that have text and are not internal. A trimmed talk loads
its end only. The part before it stays in the talk, so that the end of the conversation does not lose it.
"""

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import groupby, takewhile

from recollect import text
from recollect.engine import conversations
from recollect.engine.agent_store import Store
from recollect.model.history import ConversationInfo, Event, SavedView, Status
from recollect.storage import history
from recollect.storage.database import Transaction
from recollect.storage.history import Journal

__all__ = ["last_saved", "save", "saved_messages", "trim"]


def saved_messages(tx: Transaction, conversation: str, *, trimmed: bool = True) -> list[Event]:
    """The messages of the talk as it was saved last; with `trimmed=False` also those that are not loaded any more."""
    view = history.saved_view(tx, conversation)
    belongs = view.loads if trimmed else view.holds
    return list(filter(belongs, _messages(tx, conversation)))


def save(store: Store, conversation: str, given: Sequence[Event], now: int, model_id: str | None = None) -> list[Event]:
    """Make a list of messages the talk of a conversation; the events that were appended for it."""
    with store.database.write(store.agent) as tx:
        Journal.advance(tx, 0, text.ANALYSIS_VERSION)  # concurrent savers block until commit
        view, journal = history.saved_view(tx, conversation), list(_messages(tx, conversation))
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
    """Load only the last messages of a talk from now on; how many are hidden by that. Nothing leaves the journal."""
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
    """The conversation that was saved last, or one that was started after that; archived ones do not count."""
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


def _common(loaded: Iterable[Event], given: Sequence[Event]) -> list[Event]:
    """The beginning that what is loaded shares with a list."""
    pairs = takewhile(lambda pair: _same(*pair), zip(loaded, given, strict=False))
    return [event for event, _ in pairs]


def _in_order(journal: Iterable[Event], given: Sequence[Event]) -> list[Event]:
    """The events of the journal that are the beginning of a list, in its order; others may lie between them."""
    found: list[Event] = []
    for event in journal:
        if len(found) < len(given) and _same(event, given[len(found)]):
            found.append(event)
    return found


def _same(event: Event, given: Event) -> bool:
    return event.type is given.type and event.content == given.content


def _spans(messages: Sequence[int], talk: Container[int]) -> tuple[tuple[int, int], ...]:
    """The messages of a talk as runs of those that follow each other in the conversation."""
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
