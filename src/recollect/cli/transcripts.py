"""Transcripts of coding agents in JSON Lines: the messages between user and model, from a position on.

A transcript grows, and a hook reads it after every turn. Every stored message therefore keeps in its payload where its
line ends and a checksum of that line. The next hook checks the line, and reads on from there. If it is not there any
more, because the file was replaced or cut, the whole file is read and compared with what is stored.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["LinePosition", "Message", "locked_transcript", "messages_from"]

ASIDE = ("isMeta", "isSidechain", "isCompactSummary")
"""Flags of transcript lines that are not part of the conversation between user and model."""
CODEX = {"user_message": "user", "agent_message": "assistant"}
"""Events of a Codex transcript that are messages, and their roles."""
INSERTED = re.compile(
    r"<(/?)(system-reminder|command-(?:name|message|contents)|local-command-[a-z]+|bash-(?:input|stdout|stderr)"
    r"|user-prompt-submit-hook|task-notification|new-diagnostics|ide_[a-z_]+)\b"
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

    def is_in(self, file: BinaryIO) -> bool:
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


@contextmanager
def locked_transcript(path: object) -> Iterator[BinaryIO | None]:
    """Open a transcript, and keep other hooks from reading it at the same time; yield None if there is none."""
    if not isinstance(path, str) or not Path(path).expanduser().is_file():
        yield None
        return
    with Path(path).expanduser().open("rb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        yield file


def messages_from(file: BinaryIO, start: int = 0) -> Iterator[Message]:
    """Yield the messages of the complete lines after a place in the file."""
    file.seek(start)
    end = start
    for line in file:
        end += len(line)
        if not line.endswith(b"\n") and not _is_whole(line):  # it is still being written
            return
        if (said := _message(line)) is not None:
            yield Message(*said, LinePosition(end, len(line), zlib.crc32(line)))


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _message(line: bytes) -> tuple[str, str] | None:
    """Return the role and the text of a line that is a message."""
    try:
        record = json.loads(line.decode(errors="replace"))
    except ValueError:
        return None
    if not isinstance(record, dict) or any(record.get(mark) for mark in ASIDE):
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
    message = record.get("message")
    if not isinstance(message, dict):
        return None, None
    return message.get("role") or record.get("role"), message.get("content")


def _texts(content: Any) -> list[str]:
    """Return the texts of a message, whose content is a string or a list of typed parts."""
    if isinstance(content, str):
        return [content]
    parts = [part for part in content or () if isinstance(part, dict) and part.get("type") == "text"]
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
