"""Finding what was said in past conversations: the turns that answer a question, or the conversations they stand in.

The argument. The words choose the candidates: the best turns by BM25, and the turns beside each. Where there are
vectors, the nearest texts about conversations (chunks of recent ones, the archives of older ones) bring the turns that
they are about, so that a question is answered that shares no word with its answer. `search/turns.py` then weighs
everything that speaks for a turn. A filter is applied before the best are chosen, so it never hides what exists.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect import text
from recollect.engine.agent_store import Store
from recollect.errors import Corrupt, Invalid
from recollect.model.history import ConversationInfo, Event, EventType, Status, Turn
from recollect.search import index
from recollect.storage import history
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction
from recollect.storage.history import Journal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.search.journal import Look, Span

__all__ = ["LIMIT", "UNITS", "check", "holding", "keep_up", "rebuild", "search", "within"]

LIMIT = 1_000
"""The most hits that one search gives."""
UNITS = ("turn", "conversation")
QUERY_LENGTH = 10_000
"""Characters of a query that count; what follows is cut off."""
AROUND = 2
"""How many turns before and after a hit come with it."""
SPANS = 1_000
"""Among so many of the nearest vectors the texts about conversations are looked for."""
DEEPEST = 4_096
"""The same where they are few among those of other entries."""
_log = logging.getLogger("recollect.past")


def keep_up(store: Store, tx: Transaction, journal: Journal) -> None:
    """Put events into the index, when so many came since the last time that a search would have to read them all."""
    if journal.events - journal.flushed >= index.TAIL:
        store.turns.flush(tx, journal)
        journal.save(tx)


def rebuild(store: Store, tx: Transaction) -> None:
    """Make the index anew from the journal."""
    journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
    store.turns.rebuild(tx, journal)
    journal.save(tx)


def check(store: Store, tx: Transaction) -> list[str]:
    """What differs between the index and the journal."""
    journal = Journal.get(tx)
    if not journal.flushed:
        return []
    try:
        return store.turns.check(tx, journal)
    except (Corrupt, ValueError, IndexError, KeyError) as error:
        return [f"the index over the journal cannot be read ({error})"]


def search(
    store: Store, query: str, *, limit: int, unit: str = "turn", vector: "NDArray[np.float32] | None" = None,
    since: int | None = None, until: int | None = None, conversations: Collection[str] | None = None,
    channel: str | None = None, statuses: Collection[Status] | None = None,
) -> list[Turn]:  # fmt: skip
    """The turns that answer a query, best first; of each conversation only the best with `unit="conversation"`.

    `vector` is the query's. The filters: said at or after `since` and before `until`, in one of the conversations (by
    id), in the channel, in conversations of these statuses.
    """
    if unit not in UNITS:
        raise Invalid(f"unit {unit!r} is not known; use one of {', '.join(UNITS)}")
    if limit > LIMIT:
        raise Invalid(f"a search gives at most {LIMIT:,} hits, not {limit:,}; use a smaller limit")
    query = query[:QUERY_LENGTH]
    words = text.query_terms(query)
    if limit < 1 or not (words or vector is not None):
        return []

    def by(vector: "NDArray[np.float32] | None") -> list[Turn]:
        with _reading(store) as (tx, journal):
            if not journal.events:
                return []
            look = store.turns.look(tx, journal, query, words)
            allowed = look.allowed(since, until, _numbers(tx, conversations, channel, statuses))
            spans = _spans(tx, store, vector, journal.events) if vector is not None else []
            best = look.best(tx, limit, spans, allowed, by_conversation=unit == "conversation")
            return _hits(tx, look, query, best)

    try:
        return by(vector)
    except Corrupt as error:
        if vector is None or not words:
            raise
        found = by(None)  # if not only the vectors are at fault, this raises, too
        _log.warning("search by words alone: %s", error)
        return found


def within(store: Store, conversation: ConversationInfo, query: str, *, limit: int) -> list[Turn]:
    """The events of one conversation that hold words of a query, those with the most of them first, then the newest.

    All events are looked through, also results and arguments of tools, which the index of turns leaves out.
    """
    words = text.query_terms(query[:QUERY_LENGTH])
    events: list[Event] = []
    while True:
        with store.read() as tx:
            after = events[-1].seq if events else 0
            page = history.events(tx, "events", conversation=conversation.id, after=after, limit=history.PAGE)
        events += page
        if len(page) < history.PAGE:
            break
    told = [event for event in events if event.type is not EventType.MARKER and not event.internal]
    scored = [(_share(words, event), place) for place, event in enumerate(told)]
    best = sorted((one for one in scored if one[0]), reverse=True)[: min(limit, LIMIT)]
    return [
        Turn(
            event=told[place],
            conversation=conversation,
            score=score,
            snippet=text.snippet(told[place].content, query),
            before=tuple(told[max(place - AROUND, 0) : place]),
            after=tuple(told[place + 1 : place + 1 + AROUND]),
        )
        for score, place in best
    ]


def holding(turns: Sequence[Turn], query: str) -> list[Turn]:
    """Those of the turns that hold a word of the query themselves, not only turns beside them."""
    words = text.query_terms(query[:QUERY_LENGTH])
    return [turn for turn in turns if _share(words, turn.event)]


def _share(words: Sequence[Sequence[str]], event: Event) -> float:
    """How much of the words an event holds."""
    terms = set(text.analyse("\n".join([event.content, *event.called])))
    return sum(not terms.isdisjoint(word) for word in words) / max(len(words), 1)


@contextmanager
def _reading(store: Store) -> Iterator[tuple[Transaction, Journal]]:
    """A consistent state to search in; an index of another analysis is made anew first."""
    with store.read() as tx:
        journal = Journal.get(tx)
        stale = store.turns.stale(journal)
        if not stale:
            yield tx, journal
    if stale:
        with store.database.write(store.agent) as tx:
            journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
            if store.turns.stale(journal):  # and no other process was first
                store.turns.rebuild(tx, journal)
                journal.save(tx)
        with store.read() as tx:
            yield tx, Journal.get(tx)


def _numbers(
    tx: Transaction, conversations: Collection[str] | None, channel: str | None, statuses: Collection[Status] | None
) -> list[int] | None:
    """The numbers of the conversations that pass the filters; None when all do."""
    wanted = [str(status) for status in (Status if statuses is None else statuses)]
    if conversations is None and channel is None and set(wanted) == set(Status):
        return None
    if conversations is None:
        rows = tx.all("turns.numbers_of", statuses=wanted, channel=channel)
    else:
        rows = tx.all("turns.numbers_among", ids=list(conversations), statuses=wanted, channel=channel)
    return [number for _, number in rows if number]


def _spans(tx: Transaction, store: Store, vector: "NDArray[np.float32]", end: int) -> "list[Span]":
    """The nearest texts about conversations, the nearest first. An archive may be about all of one, up to the end."""
    from recollect.search.journal import Span

    counters = Counters.get(tx)
    if store.vectors is None or not counters.vectors:
        return []
    for depth in (SPANS, DEEPEST):
        near = store.vectors.search(tx, counters, vector, depth)
        about = {row[0]: row[1:] for row in tx.all("turns.spans", docs=[doc for doc, _ in near])}
        if 2 * len(about) >= SPANS or len(near) < depth:
            break  # else they are rare among the vectors of other entries
    rows = tx.all("turns.numbers", ids=list({conversation for conversation, _, _ in about.values()}))
    number_of: dict[str, int] = {conversation: number for conversation, number in rows if number}
    found = []
    for doc, cosine in near:
        conversation, first, last = about.get(doc, ("", None, None))
        if number := number_of.get(conversation):
            found.append(Span(number, first or number, last or end, cosine))
    return found


def _hits(tx: Transaction, look: "Look", query: str, best: Sequence[tuple[int, float]]) -> list[Turn]:
    """Read the hits, what was said around them, and their conversations."""
    around = {seq: look.around(seq, AROUND) for seq, _ in best}
    wanted = {one for seq, beside in around.items() for one in (seq, *beside)}
    events = {event.seq: event for event in history.events(tx, "events_by_seq", seqs=sorted(wanted))}
    ids = {event.conversation_id for event in events.values()}
    infos = {row[0]: history.info(row) for row in tx.all("history.conversations_by_id", ids=sorted(ids))}
    # An event or its conversation may be missing from a damaged journal.
    best = [(seq, score) for seq, score in best if seq in events and events[seq].conversation_id in infos]
    return [
        Turn(
            event=events[seq],
            conversation=infos[events[seq].conversation_id],
            score=score,
            snippet=text.snippet(events[seq].content, query),
            before=tuple(events[one] for one in around[seq] if one < seq and one in events),
            after=tuple(events[one] for one in around[seq] if one > seq and one in events),
        )
        for seq, score in best
    ]
