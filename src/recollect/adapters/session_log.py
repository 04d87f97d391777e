"""Sessions of frameworks as conversations: each item is an event of the journal, with the item itself in its payload.

The journal is append-only, and a session can remove its last item or all items. So a removal is an event, too, and the
items are the rest when the events are read from the newest to the oldest: "removed" skips the previous item,
"cleared" stops. Two processes that remove an item at the same time remove two different ones, because each
finds its item before its own event. What was removed stays in the journal until it is erased.

The last items can be replaced by others, for instance by a summary: an event "replaced" names the removed ones, and the
new ones follow it in the same transaction. It also names the last event that its author has read. If another one was
appended in between, readers ignore the replacement, so it removes nothing that its author had not read.

A session may continue after its conversation has ended, for instance because it was idle for a day: the next items go
to a new conversation with the same chat id, and reading goes through all of them.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from recollect import Conflict, Conversation, Event, EventType, Memory, NotFound
from recollect.adapters.session_items import (
    AFTER,
    CHANGE,
    CLEARED,
    ENCODED,
    GONE,
    ITEM,
    REMOVED,
    REPLACED,
    REPLACES,
    MessageOf,
    StoredItem,
    change_of,
    event_of,
)

__all__ = ["SessionEnd", "SessionLog"]

PAGE = 1_000
SPARE = 16
"""Minimum number of events to read for a few items, because some events may be removals."""
_PLAIN = (f'{{"{ITEM}":', f'{{"internal":true,"{ITEM}":')
"""Starts of the payload of an event that is an item, in the JSON that the journal stores."""
NEWEST = 2**62
"""Greater than every sequence number."""


@dataclass(frozen=True)
class SessionEnd:
    """A snapshot of the last items of a session."""

    items: list[dict[str, Any]]
    complete: bool
    """Whether these are all items of the session."""
    seqs: list[int]
    seen: int
    """The sequence number of the last event of the session."""


class SessionLog:
    """The items of one session of an agent."""

    def __init__(self, memory: Memory, chat_id: str) -> None:
        self._memory, self._chat_id = memory, chat_id
        self._active: Conversation | None = None

    def add(
        self,
        items: Sequence[Mapping[str, Any]],
        message_of: MessageOf = lambda item: item,
    ) -> int:
        """Append items in one transaction; return the sequence number of the first event, 0 if there are no items.

        `message_of` returns the part of an item that has a role and content. Raises Invalid if an item is not a JSON
        object; nothing is appended then.
        """
        return self._append([event_of(item, message_of) for item in items]) if items else 0

    def reset(self, items: Sequence[Mapping[str, Any]], message_of: MessageOf) -> None:
        """Remove all items and append others, in one transaction.

        Raises Invalid if an item is not a JSON object; nothing changes then.
        """
        events = [event_of(item, message_of) for item in items]
        if not self.is_empty():
            events.insert(0, change_of(CLEARED))
        if events:
            self._append(events)

    def items(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the items in order; with a limit, the last ones."""
        if limit is None:
            return self._all_items()
        if limit <= 0:
            return []
        return list(itertools.islice(map(self._item_of, self._left(page=min(limit + SPARE, PAGE))), limit))[::-1]

    def payloads(self) -> list[str] | None:
        """Return the payloads of all items in order, as JSON texts, for a framework that parses them itself.

        Return None if that takes more than that: if an item was removed, replaced, erased or stored by others.
        """
        # New items of a replacement look like others, but the replacement, an event before them, does not.
        found = [row[-1] for row in self._memory.conversations.payload_rows(self._chat_id)]
        return found[::-1] if all(payload.startswith(_PLAIN) for payload in found) else None

    def newest_first(self, before: int = NEWEST) -> Iterator[dict[str, Any]]:
        """Iterate over the items from the newest to the oldest, before a sequence number."""
        return map(self._item_of, self._left(before, SPARE))

    def replace(
        self, item: Mapping[str, Any], replaces: Callable[[Mapping[str, Any]], bool], message_of: MessageOf
    ) -> None:
        """Append an item, then erase the text of the earlier items for which `replaces` returns true."""
        earlier = [one for one in self._left() if replaces(self._item_of(one))]
        self.add([item], message_of)
        for (seq, *_), _ in earlier:
            (event,) = self._memory.conversations.journal(seq - 1, limit=1)
            self._memory.conversations.get(event.conversation_id).erase(seq)

    def end(self, limit: int) -> SessionEnd:
        """Return the last items, for `replace_end`."""
        seen = next((seq for (seq, *_), _ in self._events(NEWEST, 1)), 0)
        found = list(itertools.islice(self._left(seen + 1), limit + 1))[::-1]
        last = found[-limit:] if limit > 0 else []
        return SessionEnd(list(map(self._item_of, last)), len(found) <= limit, [seq for (seq, *_), _ in last], seen)

    def replace_end(
        self,
        end: SessionEnd,
        start: int,
        items: Sequence[Mapping[str, Any]],
        message_of: MessageOf = lambda item: item,
        expired: Callable[[dict[str, Any]], bool] | None = None,
    ) -> bool:
        """Replace the items of an end from `start` on by others, in one transaction; return whether it was done.

        It is not if the session has changed since the end was read. The oldest items go as well, as long as `expired`
        returns true for them.
        """
        gone = end.seqs[start:]
        if not gone:
            return False
        if expired is not None:
            before = [(one[0][0], self._item_of(one)) for one in self._left(gone[0])][::-1]
            gone = [seq for seq, _ in itertools.takewhile(lambda one: expired(one[1]), before)] + gone
        change = change_of(REPLACED, {AFTER: end.seen, GONE: gone})
        new = [event_of(item, message_of) for item in items]
        seq = self._append([change, *(replace(one, payload={**one.payload, REPLACES: True}) for one in new)])
        previous = next((row[0] for row, _ in self._events(seq, 1)), None)
        return previous == end.seen

    def pop(self) -> dict[str, Any] | None:
        """Remove the last item and return it; None if there is none."""
        if self.is_empty():
            return None
        return next(self.newest_first(self._append([change_of(REMOVED)])), None)

    def clear(self) -> None:
        """Remove all items."""
        if not self.is_empty():
            self._append([change_of(CLEARED)])

    def is_empty(self) -> bool:
        """Return whether the session has no items."""
        return next(self.newest_first(), None) is None

    def last_write(self) -> tuple[int, int]:
        """Return when the session was last written to, in UTC milliseconds, and the event's number; 0 if never."""
        newest = (event for one in self.conversations() for event in one.events(before=NEWEST, limit=1))
        return next(((event.created_at or 0, event.seq or 0) for event in newest), (0, 0))

    def conversations(self) -> Iterator[Conversation]:
        """Iterate over the conversations of the session, newest first."""
        all_of, before = self._memory.conversations, None
        while page := all_of.list(True, chat_id=self._chat_id, limit=SPARE, before=before):
            yield from (all_of.get(info) for info in page)
            before = page[-1]

    def _all_items(self) -> list[dict[str, Any]]:
        rows = list(self._memory.conversations.payload_rows(self._chat_id))
        # Mostly nothing was removed, replaced or erased; one loop over one array of JSON takes half of the other way.
        with suppress(ValueError, KeyError, TypeError):
            stored = json.loads(f"[{','.join([row[-1] for row in rows])}]")
            items: list[dict[str, Any]] = [one[ITEM] for one in stored]
            if len(items) == len(rows):
                return items[::-1]
        return list(map(self._item_of, self._left()))[::-1]

    def _append(self, events: list[Event]) -> int:
        """Append events in one transaction; return the sequence number of the first."""
        if self._active is not None:
            with suppress(Conflict, NotFound):  # it has ended, or is ending
                return _first(self._active.append(events))
        self._active = self._memory.conversations.start(chat_id=self._chat_id, resume=True)
        return _first(self._active.append(events))

    def _left(self, before: int = NEWEST, page: int = PAGE) -> Iterator[StoredItem]:
        """Iterate over the events of items that were not removed, from the newest to the oldest."""
        return self._left_of(self._events(before, page))

    def _left_of(self, events: Iterator[StoredItem]) -> Iterator[StoredItem]:
        for stored in events:
            row, payload = stored
            if CHANGE in payload or REPLACES in payload:
                yield from self._left_before(itertools.chain([stored], events))
                return
            if row[1] is None:  # not erased
                yield stored

    def _left_before(self, events: Iterator[StoredItem]) -> Iterator[StoredItem]:
        """Iterate over the events of items that were not removed, if some were."""
        skipped = 0
        gone: set[int] = set()
        for stored in self._without_late_replacements(events):
            row, payload = stored
            what = payload.get(CHANGE)
            if what == CLEARED:
                return
            if what == REMOVED:
                skipped += 1
            elif what == REPLACED:
                gone.update(payload[GONE])
            elif row[0] in gone:
                continue
            elif skipped:
                skipped -= 1
            elif row[1] is None:  # not erased
                yield stored

    def _without_late_replacements(self, events: Iterator[StoredItem]) -> Iterator[StoredItem]:
        """Iterate over events without the replacements that another event came before."""
        waiting: list[StoredItem] = []  # the new items of a replacement, and last the replacement
        for stored in events:
            payload = stored[1]
            if waiting and AFTER in waiting[-1][1]:
                if stored[0][0] == waiting[-1][1][AFTER]:
                    yield from waiting
                waiting = []
            if REPLACES in payload or AFTER in payload:
                waiting.append(stored)
                continue
            if waiting:
                yield from waiting
                waiting = []
            yield stored
        yield from waiting

    def _item_of(self, stored: StoredItem) -> dict[str, Any]:
        """Return the item of an event; of a message that was not appended through a session, its role and text."""
        row, payload = stored
        if ITEM in payload:
            item: dict[str, Any] = payload[ITEM]
            return item
        if ENCODED in payload:
            return dict(json.loads(payload[ENCODED]))
        seq, _, kind, content, _ = row
        if kind is not None:
            return {"role": EventType(kind).role, "content": content}
        (event,) = self._memory.conversations.journal(seq - 1, limit=1)
        return {"role": event.role, "content": event.content}

    def _events(self, before: int, page: int) -> Iterator[StoredItem]:
        """Iterate over all events but markers from the newest to the oldest."""
        return self._memory.conversations.payloads(self._chat_id, before=before, page=page)


def _first(stored: Event | Sequence[Event]) -> int:
    assert not isinstance(stored, Event)
    return stored[0].seq
