"""Search in past conversations: the turns that answer a query, or the conversations that contain them.

The argument. Words select the candidates: the best turns by BM25, and the turns next to each. If there are vectors,
the nearest texts about conversations (chunks of recent ones, archives of older ones) add the turns that they cover, so
that a query also finds an answer with which it shares no word. `search/turns.py` then combines all signals of a turn.
Filters are applied before the best are selected, so a filtered search misses nothing.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from recollect import names, text
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

    from recollect.search.journal import JournalLookup, Span

__all__ = [
    "LIMIT",
    "UNITS",
    "RankedTurn",
    "check",
    "common",
    "confidence_by_words",
    "erase",
    "events_of",
    "holding",
    "imported_titles",
    "keep_up",
    "ranked",
    "rebuild",
    "rebuild_stale",
    "search",
    "within",
]

LIMIT = 1_000
"""Maximum number of hits of one search."""
UNITS = ("turn", "conversation")
QUERY_LENGTH = 10_000
"""Maximum length of a query in characters; the rest is ignored."""
FEWER_CANDIDATES = 120
"""Number of turns selected by BM25 for a context, which shows fewer than a search may return. Among 41,000 turns of
real conversations, twice as many found no more of the evidence in the first 10, 30 or 100."""
AROUND = 2
"""Number of turns returned before and after each hit."""
SPANS = 1_000
"""Number of nearest vectors that are searched for texts about conversations."""
DEEPEST = 4_096
"""The same, if such texts are rare among the vectors of other entries."""
_log = logging.getLogger("recollect.past")
T = TypeVar("T")


class RankedTurn(NamedTuple):
    """The sequence number of a turn, its score, and the number of the turn before it in its conversation (0: none)."""

    seq: int
    score: float
    before: int
    event: Event | None
    """The turn itself, if the search has read it."""


def keep_up(store: Store, tx: Transaction, journal: Journal) -> None:
    """Flush events to the index once the unindexed tail, which every search reads in full, has index.TAIL events."""
    if journal.events - journal.flushed >= index.TAIL:
        store.turns.flush(tx, journal)
        journal.save(tx)


def rebuild(store: Store, tx: Transaction) -> None:
    """Rebuild the index from the journal."""
    journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
    store.turns.rebuild(tx, journal)
    journal.save(tx)


def erase(store: Store, tx: Transaction, seq: int) -> int:
    """Remove erased events from the index, the first of which is `seq`; return the number of segments rewritten."""
    journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
    try:
        segments = store.turns.erase(tx, journal, seq)
    except ValueError:  # a damaged segment
        store.turns.rebuild(tx, journal)
        segments = len(tx.all("turns.segments"))
    journal.save(tx)
    return segments


def common(store: Store, tx: Transaction, terms: Sequence[str]) -> dict[str, int]:
    """Return the number of turns that contain each term."""
    journal = Journal.get(tx)
    return {} if store.turns.stale(journal) else store.turns.holding(tx, journal, terms)


def check(store: Store, tx: Transaction) -> list[str]:
    """Return the differences between the index and the journal."""
    journal = Journal.get(tx)
    if not journal.flushed:
        return []
    try:
        return store.turns.check(tx, journal)
    except (Corrupt, ValueError, IndexError, KeyError) as error:
        return [f"the index over the journal cannot be read ({error})"]


def search(
    store: Store,
    query: str,
    *,
    limit: int,
    unit: str = "turn",
    vector: "NDArray[np.float32] | None" = None,
    since: int | None = None,
    until: int | None = None,
    conversations: Collection[str] | None = None,
    channel: str | None = None,
    statuses: Collection[Status] | None = None,
    min_confidence: float = 0.0,
) -> list[Turn]:
    """Return the turns that answer a query, best first; with `unit="conversation"`, only the best of each conversation.

    `vector` is the embedding of the query. Filters: said at or after `since` and before `until`, in one of the
    conversations (by id), in the channel, in conversations with these statuses. Below `min_confidence`
    nothing is returned.
    """
    if unit not in UNITS:
        raise Invalid(f"unknown unit {unit!r}; use one of {', '.join(UNITS)}")
    if limit > LIMIT:
        raise Invalid(f"a search returns at most {LIMIT:,} hits, not {limit:,}; use a smaller limit")
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
            best, confidence = look.best(
                tx, limit, spans, allowed, by_conversation=unit == "conversation", contextual=_contextual(store)
            )
            return _hits(tx, look, query, best, confidence) if confidence >= min_confidence else []

    return _by_words_if_damaged(by, vector, words)


def ranked(
    store: Store,
    query: str,
    *,
    limit: int,
    vector: "NDArray[np.float32] | None",
    statuses: Collection[Status] | None = None,
    without: Collection[int] = (),
) -> tuple[list[RankedTurn], float]:
    """Return the turns that answer a query, best first, and the confidence; without the events with these numbers.

    Most of the turns are not read; see `events_of`.
    """
    query = query[:QUERY_LENGTH]
    words = text.query_terms(query)
    if limit < 1 or not (words or vector is not None):
        return [], 0.0

    def by(vector: "NDArray[np.float32] | None") -> tuple[list[RankedTurn], float]:
        with _reading(store) as (tx, journal):
            if not journal.events:
                return [], 0.0
            look = store.turns.look(tx, journal, query, words)
            allowed = look.allowed(None, None, _numbers(tx, None, None, statuses), without)
            spans = _spans(tx, store, vector, journal.events) if vector is not None else []
            best, confidence = look.best(
                tx, limit, spans, allowed, candidates=max(limit, FEWER_CANDIDATES), contextual=_contextual(store)
            )
            before = look.records["before"]
            read = look.events.get
            return [RankedTurn(seq, score, int(before[seq]), read(seq)) for seq, score in best], confidence

    return _by_words_if_damaged(by, vector, words)


def events_of(store: Store, seqs: Collection[int]) -> dict[int, Event]:
    """Return the events with these sequence numbers, by number; those that are missing are omitted."""
    with store.read() as tx:
        return {event.seq: event for event in history.events(tx, "events_by_seq", seqs=seqs)}


def imported_titles(store: Store, conversations: Sequence[str]) -> dict[str, str]:
    """Return the titles that these conversations were imported with; empty for the others."""
    with store.read() as tx:
        return history.imported_titles(tx, conversations)


def _contextual(store: Store) -> bool:
    return getattr(store.embedder, "contextual", False)


def _by_words_if_damaged(
    by: "Callable[[NDArray[np.float32] | None], T]", vector: "NDArray[np.float32] | None", words: Sequence[object]
) -> T:
    """Search with the vector, or by words alone if the vectors are damaged."""
    try:
        return by(vector)
    except Corrupt as error:
        if vector is None or not words:
            raise
        found = by(None)  # raises again if more than the vectors is damaged
        _log.warning("search by words alone: %s", error)
        return found


def within(store: Store, conversation: ConversationInfo, query: str, *, limit: int) -> list[Turn]:
    """Return the events of one conversation that contain words of a query, most words first, then newest first.

    Scans all events except markers and internal ones, including tool results and arguments, which the index omits.
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
    visible = [
        event
        for event in events
        if event.type is not EventType.MARKER and not event.internal and event.erased_at is None
    ]
    scored = [(_share(words, event), place) for place, event in enumerate(visible)]
    best = sorted((one for one in scored if one[0]), reverse=True)[: min(limit, LIMIT)]
    return [
        Turn(
            event=visible[place],
            conversation=conversation,
            score=score,
            snippet=text.snippet(visible[place].content, query),
            before=tuple(visible[max(place - AROUND, 0) : place]),
            after=tuple(visible[place + 1 : place + 1 + AROUND]),
        )
        for score, place in best
    ]


def holding(turns: Sequence[Turn], query: str) -> list[Turn]:
    """Return the turns that contain a word of the query themselves, not only in neighbouring turns."""
    words = text.query_terms(query[:QUERY_LENGTH])
    return [turn for turn in turns if _share(words, turn.event)]


def confidence_by_words(store: Store, query: str, without: Collection[str] = ()) -> float:
    """Return the probability that a turn holds an answer, by the words that the best turns hold and nothing else.

    It costs a fraction of a search. Turns of the conversations `without` do not count.
    """
    query = names.plain("query", query, lines=True)[:QUERY_LENGTH]
    words = text.query_terms(query)
    if not words:
        return 0.0
    with _reading(store) as (tx, journal):
        if not journal.events:
            return 0.0
        look = store.turns.look(tx, journal, query, words)
        return look.confidence_by_words([number for _, number in tx.all("turns.numbers", ids=list(without)) if number])


def _share(words: Sequence[Sequence[str]], event: Event) -> float:
    """Return the share of the words that an event contains."""
    terms = set(text.analyse("\n".join([event.content, *event.called])))
    return sum(not terms.isdisjoint(word) for word in words) / max(len(words), 1)


@contextmanager
def _reading(store: Store) -> Iterator[tuple[Transaction, Journal]]:
    """Open a snapshot to search in; an index of another analysis version is rebuilt first.

    A large one is searched as it is while the background rebuilds it.
    """
    with store.read() as tx:
        journal = Journal.get(tx)
        # Without events there is no index; the modules of `store.turns` take a tenth of a short command to import.
        stale = bool(journal.events) and store.turns.stale(journal) and not store.rebuilds_later(journal.live)
        if not stale:
            yield tx, journal
    if stale:
        _rebuild_if_stale(store)
        with store.read() as tx:
            yield tx, Journal.get(tx)


def _rebuild_if_stale(store: Store) -> None:
    with store.database.write(store.agent) as tx:
        journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
        if store.turns.stale(journal):  # no other process was first
            store.turns.rebuild(tx, journal)
            journal.save(tx)


def rebuild_stale(store: Store) -> None:
    """Rebuild the indexes of a store that another analysis version made, each in a transaction of its own."""
    with store.write():
        pass  # it rebuilds the index over entries
    with store.read() as tx:
        stale = store.turns.stale(Journal.get(tx))
    if stale:
        _rebuild_if_stale(store)


def _numbers(
    tx: Transaction, conversations: Collection[str] | None, channel: str | None, statuses: Collection[Status] | None
) -> list[int] | None:
    """Return the numbers of the conversations that pass the filters; None if no filter is set."""
    wanted = [str(status) for status in (Status if statuses is None else statuses)]
    if conversations is None and channel is None and set(wanted) == set(Status):
        return None
    if conversations is None:
        rows = tx.all("turns.numbers_of", statuses=wanted, channel=channel)
    else:
        rows = tx.all("turns.numbers_among", ids=list(conversations), statuses=wanted, channel=channel)
    return [number for _, number in rows if number]


def _spans(tx: Transaction, store: Store, vector: "NDArray[np.float32]", end: int) -> "list[Span]":
    """Return the event spans of the nearest texts about conversations, nearest first.

    A text without bounds covers its whole conversation, up to the end of the journal.
    """
    from recollect.search.journal import Span

    counters = Counters.get(tx)
    if store.vectors is None or not counters.vectors:
        return []
    for depth in (SPANS, DEEPEST):
        near = store.vectors.search(tx, counters, vector, depth)
        about = {row[0]: row[1:] for row in tx.all("turns.spans", docs=[doc for doc, _ in near])}
        if 2 * len(about) >= SPANS or len(near) < depth:
            break  # else such texts are rare: search deeper
    rows = tx.all("turns.numbers", ids=list({conversation for conversation, _, _ in about.values()}))
    number_of: dict[str, int] = {conversation: number for conversation, number in rows if number}
    found = []
    for doc, cosine in near:
        conversation, first, last = about.get(doc, ("", None, None))
        if number := number_of.get(conversation):
            found.append(Span(number, first or number, last or end, cosine))
    return found


def _hits(
    tx: Transaction, look: "JournalLookup", query: str, best: Sequence[tuple[int, float]], confidence: float
) -> list[Turn]:
    """Load the hits, the turns around them, and their conversations."""
    around = {seq: look.around(seq, AROUND) for seq, _ in best}
    wanted = {one for seq, beside in around.items() for one in (seq, *beside)}
    events = {seq: look.events[seq] for seq in wanted & look.events.keys()}
    unread = sorted(wanted - events.keys())
    events |= {event.seq: event for event in history.events(tx, "events_by_seq", seqs=unread)}
    ids = {event.conversation_id for event in events.values()}
    talks = [history.info(row) for row in tx.all("history.conversations_by_id", ids=sorted(ids))]
    infos = {info.id: info for info in history.titled(tx, talks)}
    # A damaged journal may lack an event or its conversation.
    best = [(seq, score) for seq, score in best if seq in events and events[seq].conversation_id in infos]
    return [
        Turn(
            event=events[seq],
            conversation=infos[events[seq].conversation_id],
            score=score,
            snippet=text.snippet(events[seq].content, query),
            before=tuple(events[one] for one in around[seq] if one < seq and one in events),
            after=tuple(events[one] for one in around[seq] if one > seq and one in events),
            confidence=confidence,
        )
        for seq, score in best
    ]
