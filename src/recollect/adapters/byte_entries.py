"""Bytes under keys as entries, for the key-value stores of frameworks.

A value is an entry named `PREFIX/KEY`. Text is its content, so that recalls and contexts find it and the page shows it.
Other bytes are in the field `context`, in base64, and their content says so.
"""

import base64
import re
from dataclasses import dataclass

from recollect import Conflict, Entry, Invalid, Memory, NotFound, Stale, Write

__all__ = ["ByteEntries", "KeyHit", "NotBytes"]

BINARY, EMPTY = "[bytes that are not text]", "="
"""Content of an entry for bytes that are not text, or blank; its context if there are none."""
MOST_HITS = 100


class NotBytes(Invalid, TypeError):
    """A value is not bytes."""


@dataclass(frozen=True, slots=True)
class KeyHit:
    """A value that a search found."""

    key: str
    score: float
    data: bytes


class ByteEntries:
    """The values of one agent whose names begin with a prefix, which is also their tag.

    Methods raise Invalid if the name is longer than 256 characters or not one line, and if a value has more than 1 MB.
    """

    def __init__(self, memory: Memory, prefix: str) -> None:
        self._memory, self._tag, self._root = memory, prefix, f"{prefix}/"

    def put(self, key: str, data: bytes) -> None:
        """Store bytes under a key. What was there stays in the entry's history. Raises NotBytes for anything else."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise NotBytes(f"values are bytes, not {type(data).__name__}")
        name = self._root + key
        content, context = _stored(bytes(data))
        while True:
            try:
                self._memory.remember(content, name=name, tags=[self._tag], context=context)
                return
            except Conflict:
                if (entry := self._entry(key)) is None:
                    raise
            try:
                self._memory.apply(Write(entry.id, content, context=context or ""), if_version=entry.version)
                return
            except (Stale, NotFound):  # another process wrote or deleted it in between
                continue

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key; None if there are none."""
        entry = self._entry(key)
        return None if entry is None else _data_of(entry)

    def delete(self, key: str) -> None:
        """Move the entry of a key to the trash, if there is one."""
        if (entry := self._entry(key)) is not None:
            self._memory.forget(entry.id)

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys that begin with a prefix, sorted."""
        found = (one for one in self._memory.item_names.below(self._root + prefix) if self._tag in one.tags)
        return [str(entry.name).removeprefix(self._root) for entry in found]

    def search(self, query: str, prefix: str = "") -> list[KeyHit]:
        """Return the values that answer a query and whose keys begin with a prefix, best first."""
        # The words of the prefix are in all of these names, so that they would find every one.
        known = set(re.findall(r"\w+", prefix.lower()))
        words = " ".join(word for word in query.split() if word.lower() not in known) if known else query
        hits = self._memory.recall(words, tags=[self._tag], limit=MOST_HITS)
        named = ((str(hit.entry.name).removeprefix(self._root), hit) for hit in hits)
        return [KeyHit(key, hit.score, _data_of(hit.entry)) for key, hit in named if key.startswith(prefix)]

    def _entry(self, key: str) -> Entry | None:
        name = self._root + key
        try:
            entry = self._memory.get(name)
        except NotFound:
            return None
        return entry if self._tag in entry.tags and entry.name == name else None


def _stored(data: bytes) -> tuple[str, str | None]:
    """Return content and context of the entry for bytes."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    return (text, None) if text.strip() and "\0" not in text else (BINARY, base64.b64encode(data).decode() or EMPTY)


def _data_of(entry: Entry) -> bytes:
    """Return the bytes that an entry holds; its text may have been edited elsewhere."""
    if entry.content != BINARY or entry.context is None:
        return entry.content.encode()
    return b"" if entry.context == EMPTY else base64.b64decode(entry.context)
