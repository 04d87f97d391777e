"""Encoding of file texts as entries, including blank texts and those larger than an entry.

An entry cannot be blank, so a blank text is stored in its field `context`, as JSON. A text larger than an entry
continues in further entries with a tag of their own, whose ids are in the context of the first. These parts are stored
before it and removed after it, so that a crash may leave orphaned parts, but never a file without its parts.
"""

import json
from typing import Any

from recollect import Add, Entry, Memory

__all__ = ["PIECE", "FileTexts"]

TAG = "memory-file-part"
BLANK = "[a file without text]"
"""Content of an entry whose text is blank."""
BYTES, PIECE = 1_000_000, 250_000
"""Maximum size of an entry; number of characters of a part, each of which has at most four bytes."""


class FileTexts:
    """The texts of the files of one agent."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def stored(self, text: str) -> tuple[str, str | None]:
        """Return content and context of the entry for a text, after storing the parts that exceed it."""
        size = len(text.encode(errors="surrogatepass"))
        if size <= BYTES:
            return _fields(text)
        pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        drafts = [Add(content, tags=[TAG], context=context) for content, context in map(_fields, pieces[1:])]
        parts = [entry.id for entry in self._memory.remember_many(drafts)]
        content, blank = _fields(pieces[0])
        first = None if blank is None else pieces[0]
        return content, json.dumps({"first": first, "parts": parts, "bytes": size})

    def text(self, entry: Entry) -> str:
        """Return the text of a file. Raises NotFound if one of its parts was deleted."""
        about = _about(entry.context)
        if not isinstance(about, dict):
            return about if entry.content == BLANK and isinstance(about, str) else entry.content
        first = entry.content if about["first"] is None else about["first"]
        return str(first) + "".join(self.text(self._memory.get(part)) for part in about["parts"])

    def size(self, entry: Entry) -> int:
        """Return the number of bytes of a file."""
        about = _about(entry.context)
        return int(about["bytes"]) if isinstance(about, dict) else len(self.text(entry).encode())

    def drop(self, context: str | None) -> None:
        """Move the parts that a context lists to the trash."""
        about = _about(context)
        for part in about["parts"] if isinstance(about, dict) else ():
            self._memory.forget(part)


def _fields(text: str) -> tuple[str, str | None]:
    """Return content and context for a text that one entry can hold."""
    return (text, None) if text.strip() and "\0" not in text else (BLANK, json.dumps(text))


def _about(context: str | None) -> Any:
    """Decode a context: a blank text, or an object that lists parts; None if it has another format."""
    try:
        found = json.loads(context) if context else None
    except ValueError:
        return None
    return found if isinstance(found, str) or (isinstance(found, dict) and "parts" in found) else None
