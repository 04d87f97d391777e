"""Reader for ChatGPT's `conversations.json`: a list of chats, each a message tree with one current branch."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.transfer.importers.reading import clean, line, moment, objects
from recollect.transfer.importers.values import ImportedChat, ImportedItem, ImportedMessage, Read, Remark

__all__ = ["read"]


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the chats in file order, each with the messages of its current branch."""
    for number, found in enumerate(objects(path, done), 1):
        identity = line(found.get("conversation_id") or found.get("id"))
        mapping = found.get("mapping")
        if identity is None or not isinstance(mapping, Mapping):
            yield Remark(f"chat {number} of the file has no id or no messages, and was left out")
            continue
        messages = [message for node in _branch(found, mapping) if (message := _message(node)) is not None]
        yield ImportedChat(
            id=identity,
            messages=messages,
            title=line(found.get("title"), 1_000),
            model=line(found.get("default_model_slug")),
            started=moment(found.get("create_time")),
        )


def _branch(chat: Mapping[str, Any], mapping: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the nodes from the root to the current one; by default the newest leaf."""
    current = chat.get("current_node")
    if current not in mapping:
        leaves = [key for key, node in mapping.items() if isinstance(node, Mapping) and not node.get("children")]
        current = max(leaves, key=lambda key: _time(mapping[key]), default=None)
    nodes: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(current, str) and current not in seen and isinstance(mapping.get(current), Mapping):
        seen.add(current)
        nodes.append(mapping[current])
        current = mapping[current].get("parent")
    return nodes[::-1]


def _time(node: Mapping[str, Any]) -> int:
    message = node.get("message")
    return (moment(message.get("create_time")) if isinstance(message, Mapping) else None) or 0


def _message(node: Mapping[str, Any]) -> ImportedMessage | None:
    message = node.get("message")
    if not isinstance(message, Mapping):
        return None
    author, content, about = (_mapping(message.get(key)) for key in ("author", "content", "metadata"))
    role, text = author.get("role"), _text(content)
    if role not in ("user", "assistant", "tool") or not text.strip():
        return None
    spoken = content.get("content_type") in ("text", "multimodal_text") and message.get("recipient", "all") == "all"
    hidden = bool(about.get("is_visually_hidden_from_conversation"))
    return ImportedMessage(
        text=text,
        by_user=role == "user",
        by_tool=role == "tool",
        at=moment(message.get("create_time")),
        speaker=line(author.get("name")) or ("tool" if role == "tool" else None),
        internal=role == "tool" or hidden or not spoken,
    )


def _text(content: Mapping[str, Any]) -> str:
    """Return the text of a message; other content is replaced by its type in brackets."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return clean(content.get("text") or content.get("result") or content.get("content"))
    texts = (clean(part) if isinstance(part, str) else _other(_mapping(part)) for part in parts)
    return "\n".join(one for one in texts if one)


def _other(part: Mapping[str, Any]) -> str:
    kind = line(part.get("content_type")) or "attachment"
    return clean(part.get("text")) or f"[{kind.removesuffix('_asset_pointer').replace('_', ' ')}]"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
