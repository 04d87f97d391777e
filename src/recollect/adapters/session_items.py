"""Encoding of a framework's session items as events of the journal.

The text of an item is the content of its event, for search and for the page; the item itself is in the payload.
Removals are events, too; `session_log.py` defines how they are applied.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from recollect import Event, EventType, Invalid, Origin
from recollect.model.history import PayloadRow

__all__ = [
    "AFTER",
    "CHANGE",
    "CLEARED",
    "ENCODED",
    "GONE",
    "ITEM",
    "REMOVED",
    "REPLACED",
    "REPLACES",
    "MessageOf",
    "NotJson",
    "StoredItem",
    "change_of",
    "event_of",
]

ITEM, ENCODED, CHANGE = "item", "item_json", "session"
"""Payload keys: the item; the item as JSON text if it cannot be stored as an object; a change of the session."""
AFTER, GONE, REPLACES = "after", "gone", "replaces"
"""Payload keys of a replacement: the last event seen and the removed ones; payload key of its new items."""
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

StoredItem = tuple[PayloadRow, dict[str, Any]]
"""An event and its payload."""
MessageOf = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns the part of an item that has a role and content."""


class NotJson(Invalid, TypeError):
    """An item is not a JSON object. Frameworks expect the TypeError of `json.dumps`."""


def change_of(what: str, more: Mapping[str, Any] | None = None) -> Event:
    """Return the event of a removal or replacement."""
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
