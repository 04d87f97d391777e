"""Reader for Claude's `conversations.json`: a list of chats with their messages in order."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.transfer.importers.reading import clean, line, moment, objects
from recollect.transfer.importers.values import ImportedChat, ImportedItem, ImportedMessage, Read, Remark

__all__ = ["read"]


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the chats in file order."""
    for number, found in enumerate(objects(path, done), 1):
        identity, messages = line(found.get("uuid")), found.get("chat_messages")
        if identity is None or not isinstance(messages, list):
            yield Remark(f"chat {number} of the file has no id or no messages, and was left out")
            continue
        said = [_message(message) for message in messages if isinstance(message, Mapping)]
        yield ImportedChat(
            id=identity,
            messages=[message for message in said if message.text.strip()],
            title=line(found.get("name"), 1_000),
            model=line(found.get("model")),
            started=moment(found.get("created_at")),
        )


def _message(message: Mapping[str, Any]) -> ImportedMessage:
    parts = [part for part in _list(message.get("content")) if part.get("type") == "text"]
    text = "\n".join(clean(part.get("text")) for part in parts) or clean(message.get("text"))
    for attached in _list(message.get("attachments")):
        text += f"\n\n[{line(attached.get('file_name')) or 'attachment'}]\n{clean(attached.get('extracted_content'))}"
    for file in _list(message.get("files")):
        text += f"\n\n[{line(file.get('file_name')) or 'file'}]"
    return ImportedMessage(
        text=text.strip("\n"), by_user=message.get("sender") == "human", at=moment(message.get("created_at"))
    )


def _list(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
