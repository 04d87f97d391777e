"""Sessions of frameworks as conversations: each item is an event of the journal, with the item itself in its payload.

The journal is append-only, and a session can remove its last item or all items. So a removal is an event, too, and the
items are what is left when the events are read from the newest to the oldest: "removed" skips one item before it,
"cleared" ends the reading. Two processes that remove an item at the same time remove two different ones, because each
finds its item before its own event. What was removed stays in the journal until it is erased.

The last items can be replaced by others, for instance by a summary: an event "replaced" names the removed ones, and the
new ones follow it in the same transaction. It also names the last event that its author has seen. If another one came
in between, readers ignore the replacement, so nothing is removed that its author did not know.

A session may continue after its conversation has ended, for instance because it was silent for a day: the next items go
to a new conversation with the same chat id, and reading goes through all of them.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect import Conversation, Event, EventType, Invalid, Memory, Origin, Status

__all__ = ["CHAT_ID_LENGTH", "NotJson", "SessionEnd", "SessionLog", "chat_id_of", "chat_ids", "event_of"]

CHAT_ID_LENGTH = 256
PAGE = 1_000
NEWEST = 2**62
"""Greater than every sequence number."""
ITEM, ENCODED, CHANGE = "item", "item_json", "session"
"""Keys of the payload: the item; the item as JSON text if it cannot be stored as it is; a removal."""
AFTER, GONE, REPLACES = "after", "gone", "replaces"
"""Keys of the payload of a replacement: the last event seen, the removed ones; and a mark of the new items."""
REMOVED, CLEARED, REPLACED = "removed", "cleared", "replaced"
_CONTENT = {
    REMOVED: "[the last item was removed from the session]",
    CLEARED: "[the session was cleared]",
    REPLACED: "[the last items of the session were replaced]",
}
_TYPES = {
    "user": EventType.USER,
    "human": EventType.USER,
    "assistant": EventType.MODEL,
    "system": EventType.INSTRUCTION,
    "developer": EventType.INSTRUCTION,
}

MessageOf = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns the part of an item that has a role and content."""


def chat_id_of(*parts: str, prefix: str = "") -> str:
    """Return the chat id of a session, made of one or more parts that the framework gives.

    The prefix separates sessions of frameworks that could not read each other's items. Raises Invalid if a part is not
    text, is blank, or has a control character, and if the id is too long.
    """
    for part in parts:
        if not isinstance(part, str):
            raise Invalid(f"a session id is text, not {type(part).__name__}")
    found = parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False)
    if prefix and found.strip():
        found = f"{prefix}:{found}"
    if len(found) > CHAT_ID_LENGTH:
        raise Invalid(f"the session id has {len(found):,} characters; at most {CHAT_ID_LENGTH} are allowed")
    return found


def chat_ids(memory: Memory) -> list[str]:
    """Return the chat ids of all conversations of an agent, those of the newest ones first."""
    found: dict[str, None] = {}
    before = None
    while page := memory.conversations.list(True, limit=PAGE, before=before):
        found.update({info.chat_id: None for info in page if info.chat_id is not None})
        before = page[-1]
    return list(found)


class NotJson(Invalid, TypeError):
    """An item is not a JSON object. Frameworks expect the TypeError of `json.dumps`."""


@dataclass(frozen=True)
class SessionEnd:
    """The last items of a session, as they were when they were read."""

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
    ) -> None:
        """Append items in one transaction. `message_of` returns the part of an item that has a role and content.

        Raises Invalid if an item is not a JSON object; nothing is appended then.
        """
        if items:
            self._append([event_of(item, message_of) for item in items])

    def reset(self, items: Sequence[Mapping[str, Any]], message_of: MessageOf) -> None:
        """Remove all items and append others, in one transaction.

        Raises Invalid if an item is not a JSON object; nothing changes then.
        """
        events = [event_of(item, message_of) for item in items]
        if not self.is_empty():
            events.insert(0, _change(CLEARED))
        if events:
            self._append(events)

    def items(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the items in order; with a limit, the last ones."""
        found: list[dict[str, Any]] = []
        if limit is None or limit > 0:
            for item in self.newest_first():
                found.append(item)
                if len(found) == limit:
                    break
        return found[::-1]

    def newest_first(self, before: int = NEWEST) -> Iterator[dict[str, Any]]:
        """Iterate over the items from the newest to the oldest, before a sequence number."""
        return (_item_of(event) for _, event in self._left(before))

    def replace(
        self, item: Mapping[str, Any], replaces: Callable[[Mapping[str, Any]], bool], message_of: MessageOf
    ) -> None:
        """Append an item, then erase the text of the earlier items for which `replaces` returns true."""
        earlier = [(one, event) for one, event in self._left() if replaces(_item_of(event))]
        self.add([item], message_of)
        for one, event in earlier:
            one.erase(event)

    def end(self, limit: int) -> SessionEnd:
        """Return the last items, for `replace_end`."""
        seen = next((event.seq for _, event in self._events()), 0)
        found = [event for _, event in itertools.islice(self._left(seen + 1), limit + 1)][::-1]
        last = found[-limit:] if limit > 0 else []
        return SessionEnd(list(map(_item_of, last)), len(found) <= limit, [event.seq for event in last], seen)

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
            before = [(event.seq, _item_of(event)) for _, event in self._left(gone[0])][::-1]
            gone = [seq for seq, _ in itertools.takewhile(lambda one: expired(one[1]), before)] + gone
        change = _change(REPLACED, {AFTER: end.seen, GONE: gone})
        new = [event_of(item, message_of) for item in items]
        stored = self._append([change, *(replace(one, payload={**one.payload, REPLACES: True}) for one in new)])
        previous = next((event.seq for _, event in self._events(stored[0].seq)), None)
        return previous == end.seen

    def pop(self) -> dict[str, Any] | None:
        """Remove the last item and return it; None if there is none."""
        if self.is_empty():
            return None
        (removal,) = self._append([_change(REMOVED)])
        return next(self.newest_first(removal.seq), None)

    def clear(self) -> None:
        """Remove all items."""
        if not self.is_empty():
            self._append([_change(CLEARED)])

    def is_empty(self) -> bool:
        """Return whether the session has no items."""
        return next(self.newest_first(), None) is None

    def written_at(self) -> int:
        """Return when the session was last written to, in UTC milliseconds; 0 if never."""
        newest = (event for one in self.conversations() for event in one.events(before=NEWEST, limit=1))
        return next((event.created_at or 0 for event in newest), 0)

    def conversations(self) -> list[Conversation]:
        """Return the conversations of the session, newest first."""
        all_of = self._memory.conversations
        return [all_of.get(info.id) for info in all_of.list(True, chat_id=self._chat_id, limit=PAGE)]

    def _append(self, events: list[Event]) -> list[Event]:
        if self._active is None or self._active.status is not Status.ACTIVE:
            self._active = self._memory.conversations.start(chat_id=self._chat_id, resume=True)
        stored = self._active.append(events)
        assert isinstance(stored, list)
        return stored

    def _left(self, before: int = NEWEST) -> Iterator[tuple[Conversation, Event]]:
        """Iterate over the events of items that were not removed, from the newest to the oldest."""
        skipped = 0
        gone: set[int] = set()
        for one, event in self._without_late_replacements(before):
            what = event.payload.get(CHANGE)
            if what == CLEARED:
                return
            if what == REMOVED:
                skipped += 1
            elif what == REPLACED:
                gone.update(event.payload[GONE])
            elif event.seq in gone:
                continue
            elif skipped:
                skipped -= 1
            elif event.erased_at is None:
                yield one, event

    def _without_late_replacements(self, before: int) -> Iterator[tuple[Conversation, Event]]:
        """Iterate over events from the newest to the oldest, without replacements before which another event came."""
        waiting: list[tuple[Conversation, Event]] = []  # the new items of a replacement, and last the replacement
        for one, event in self._events(before):
            if waiting and AFTER in waiting[-1][1].payload:
                if event.seq == waiting[-1][1].payload[AFTER]:
                    yield from waiting
                waiting = []
            if REPLACES in event.payload or AFTER in event.payload:
                waiting.append((one, event))
                continue
            yield from waiting
            waiting = []
            yield one, event
        yield from waiting

    def _events(self, before: int = NEWEST) -> Iterator[tuple[Conversation, Event]]:
        """Iterate over all events but markers from the newest to the oldest, each with its conversation."""
        for one in self.conversations():
            for event in one.events(before=before):
                if event.type is not EventType.MARKER:
                    yield one, event


def _change(what: str, more: Mapping[str, Any] | None = None) -> Event:
    """Return the event that records a removal."""
    return Event(type=EventType.MODEL, content=_CONTENT[what], internal=True, payload={CHANGE: what, **(more or {})})


def event_of(item: Mapping[str, Any], message_of: MessageOf) -> Event:
    """Return the event for an item: its text as content, for search and for the page, and the item in the payload.

    Raises NotJson if the item is not a JSON object.
    """
    if not isinstance(item, Mapping):
        raise NotJson(f"an item of a session is a JSON object, not {type(item).__name__}")
    message, payload = message_of(item), _payload(item)
    said, kind = _text(message.get("content")).strip(), str(item.get("type") or "item")
    if _is_tool_result(kind, message.get("content")):
        payload["origin"] = str(Origin.TOOL)
        said = said or _text(item.get("output"))
    elif said and message.get("role") in _TYPES:
        return Event(type=_TYPES[message["role"]], content=said, payload=payload)
    elif not said and "name" in item:
        said = f"[called {item['name']}({_text(item.get('arguments'))})]"
    content = _storable(said).strip() or f"[{_storable(kind)}]"
    return Event(type=EventType.MODEL, content=content, internal=True, payload=payload)


def _is_tool_result(kind: str, content: object) -> bool:
    parts = content if isinstance(content, list) else []
    kinds = [kind, *(str(part.get("type")) for part in parts if isinstance(part, Mapping))]
    return any(one.endswith(("_output", "_result")) for one in kinds)


def _item_of(event: Event) -> dict[str, Any]:
    """Return the item of an event; of a message that was not appended through a session, its role and text."""
    if (item := event.payload.get(ITEM)) is not None:
        return dict(item)
    if (encoded := event.payload.get(ENCODED)) is not None:
        return dict(json.loads(encoded))
    return {"role": event.role, "content": event.content}


def _payload(item: Mapping[str, Any]) -> dict[str, Any]:
    try:
        encoded = json.dumps(item, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(f"the item is not JSON: {error}") from None
    # Lone surrogates are valid JSON but not valid text, so the databases could not store them.
    return {ENCODED: encoded} if "\\ud" in encoded and _has_surrogate(item) else {ITEM: item}


def _has_surrogate(item: Mapping[str, Any]) -> bool:
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _text(content: object) -> str:
    """Return the text of a content: itself, or the texts of its parts."""
    if isinstance(content, str):
        return _storable(content)
    if isinstance(content, Mapping):
        return _text(content.get("text") or content.get("content"))
    if isinstance(content, Iterable):
        return "\n".join(filter(None, map(_text, content)))
    return ""


def _storable(text: str) -> str:
    return text if text.isascii() and "\0" not in text else text.encode(errors="replace").decode().replace("\0", "")
