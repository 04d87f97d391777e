"""Transcripts of coding agents in JSON Lines: the messages between user and model, from a position on.

A transcript grows, and a hook or an import reads it again and again. Every stored message therefore keeps in its
payload where its line ends and a checksum of that line. The next reader checks the line, and reads on from there. If it
is not there any more, because the file was replaced or cut, the whole file is read and compared with what is stored.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

__all__ = ["ASIDE", "TEXT", "LinePosition", "Message", "message_of", "messages_from", "records_from"]

ASIDE = ("isMeta", "isSidechain", "isCompactSummary")
"""Flags of transcript lines that are not part of the conversation between user and model."""
TEXT = ("text", "input_text", "output_text")
"""Types of message parts that hold text."""
CODEX = {"user_message": "user", "agent_message": "assistant"}
"""Events of a Codex transcript that are messages, and their roles."""
INSERTED = re.compile(
    r"<(/?)(system-reminder|command-(?:name|message|contents)|local-command-[a-z]+|bash-(?:input|stdout|stderr)"
    r"|user-prompt-submit-hook|environment_context|user_instructions|task-notification|new-diagnostics|ide_[a-z_]+)\b"
)
"""Start and end tags of elements that the host inserts into user messages."""
MARKS = re.compile(r"</?(?:command-args|user_query)>|\A\[Request interrupted by user[^\]]*\]")
"""Other insertions of the host. The arguments of a command stay, because the user typed them."""


@dataclass(frozen=True, slots=True)
class LinePosition:
    """Where a line of a transcript ends, its length and its checksum."""

    end: int = 0
    length: int = 0
    checksum: int = 0

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "LinePosition | None":
        """Return the position that an event of the journal keeps, if any."""
        values = payload.get("transcript")
        whole = isinstance(values, list) and len(values) == 3 and all(isinstance(value, int) for value in values)
        return cls(*values) if whole else None  # type: ignore[misc]

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of an event at this position."""
        return {"transcript": [self.end, self.length, self.checksum]}

    def is_in(self, file: IO[bytes]) -> bool:
        """Return whether the file has this line at this place."""
        file.seek(max(self.end - self.length, 0))
        line = file.read(self.length)
        return len(line) == self.length and zlib.crc32(line) == self.checksum


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the user or the model."""

    role: str
    content: str
    position: LinePosition


def messages_from(file: IO[bytes], start: int = 0) -> Iterator[Message]:
    """Yield the messages of the complete lines after a place in the file."""
    for record, position in records_from(file, start):
        if (said := message_of(record)) is not None:
            yield Message(*said, position)


def records_from(file: IO[bytes], start: int = 0) -> Iterator[tuple[Mapping[str, Any] | None, LinePosition]]:
    """Yield the objects of the complete lines after a place in the file; None for a line that is no JSON object."""
    file.seek(start)
    end = start
    for line in file:
        end += len(line)
        record = _record(line)
        if record is None and not line.endswith(b"\n"):  # it is still being written
            return
        if line.strip():
            yield record, LinePosition(end, len(line), zlib.crc32(line))


def _record(line: bytes) -> Mapping[str, Any] | None:
    try:
        record = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def message_of(record: Mapping[str, Any] | None) -> tuple[str, str] | None:
    """Return the role and the text of a record that is a message."""
    if record is None or any(record.get(mark) for mark in ASIDE):
        return None
    role, content = _parts(record)
    text = "\n".join(_by_user(part) if role == "user" else part for part in _texts(content))
    text = text.replace("\0", "").strip()
    text = text.encode(errors="replace").decode()  # a lone surrogate would be rejected
    return (role, text) if role in ("user", "assistant") and text else None


def _parts(record: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the role and the content of a record of Claude Code, Cursor or Codex."""
    payload = record.get("payload")
    if record.get("type") == "event_msg" and isinstance(payload, dict):
        return CODEX.get(str(payload.get("type"))), payload.get("message")
    if record.get("type") == "message":  # older versions of Codex
        return record.get("role"), record.get("content")
    message = record.get("message")
    if not isinstance(message, dict):
        return None, None
    return message.get("role") or record.get("role"), message.get("content")


def _texts(content: Any) -> list[str]:
    """Return the texts of a message, whose content is a string or a list of typed parts."""
    if isinstance(content, str):
        return [content]
    parts = [
        part
        for part in (content if isinstance(content, list) else ())
        if isinstance(part, dict) and part.get("type") in TEXT
    ]
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def _by_user(text: str) -> str:
    """Remove the elements that the host inserted. An element without an end tag was typed by the user.

    Takes linear time for any text: one pass collects the end tags by name, one pass cuts.
    """
    ends: dict[str, list[int]] = {}
    marks = list(INSERTED.finditer(text))
    for mark in reversed(marks):
        if mark[1] and text.startswith(">", mark.end()):
            ends.setdefault(mark[2], []).append(mark.start())
    kept, place, tag_end = [], 0, 0
    for mark in marks:
        if mark[1] or mark.start() < place:
            continue
        if tag_end <= mark.end():
            tag_end = text.find(">", mark.end()) + 1 or len(text) + 1
        closing = ends.get(mark[2], [])
        while closing and closing[-1] < tag_end:
            closing.pop()
        if closing:
            kept.append(text[place : mark.start()])
            place = closing[-1] + len(f"</{mark[2]}>")
    return MARKS.sub("", "".join([*kept, text[place:]]))
