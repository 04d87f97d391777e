"""Which messages of a list that a client resends every time are new."""

import json
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from recollect.engine.agent_store import Store
from recollect.engine.conversations import append
from recollect.model.history import Event, EventType, Lane
from recollect.storage import history
from recollect.storage.database import Transaction

__all__ = ["extend", "new_in_lane", "new_part", "recognised"]

PROBES = 4
"""Maximum number of texts of a message list that are looked up in the older part of a lane."""


def extend(store: Store, conversation: str, lane: Lane, given: Sequence[Event]) -> list[Event]:
    """Append the new events of a list of checked events to a lane; return those that were stored."""
    while given:
        with store.read() as tx:
            new, last = new_in_lane(tx, conversation, lane, given)
        stored = append(store, conversation, new, after=last) if new else []
        if stored or not new:  # else another writer was first: compare again
            return stored
    return []


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
