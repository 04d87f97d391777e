"""Helpers of the readers: the files of a folder, streaming JSON, timestamps in any form, and text that every database
can store.

Symbolic links in a folder are not followed, and hidden files are not read.
"""

import codecs
import json
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.clock import milliseconds
from recollect.errors import Invalid
from recollect.names import NAME_LENGTH, short_hash
from recollect.transfer.archive import opened
from recollect.transfer.importers.values import Read, Remark

__all__ = [
    "clean",
    "each",
    "files",
    "first",
    "line",
    "listed",
    "mapping",
    "mappings",
    "moment",
    "name",
    "objects",
    "unfollowed",
]

CHUNK = 1 << 20
SECONDS = 100_000_000_000
"""Timestamps below this are in seconds, others in milliseconds."""
LISTED = 10
"""How many paths a remark lists."""
NEAR_THE_END = 16
"""A JSON error within so many characters of the buffer's end may come from a truncated literal or escape."""


def files(path: Path, *suffixes: str) -> list[Path]:
    """Return the files of a folder with one of the suffixes, or with any, those of upper folders first."""
    found = [
        Path(folder, file)
        for folder, _, names in _walk(path)
        for file in names
        if (not suffixes or file.lower().endswith(suffixes)) and not os.path.islink(os.path.join(folder, file))
    ]
    return sorted(found, key=lambda file: (len(file.parts), file))


def unfollowed(path: Path, *reported: str) -> Iterator[Remark]:
    """Yield a remark about the symbolic links in a folder, except files with a suffix that is reported elsewhere."""
    found = sorted(
        Path(folder, one).relative_to(path).as_posix()
        for folder, folders, names in _walk(path)
        for one in (*folders, *names)
        if os.path.islink(os.path.join(folder, one)) and (one in folders or not one.lower().endswith(reported))
    )
    if found:
        yield Remark(f"{len(found)} link{'s were' if len(found) > 1 else ' was'} not followed: {listed(found)}")


def listed(paths: Sequence[str]) -> str:
    """Return the first paths as text."""
    return ", ".join(paths[:LISTED]) + (", …" if len(paths) > LISTED else "")


def _walk(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    for folder, folders, names in os.walk(path):
        folders[:] = [one for one in folders if not one.startswith(".")]
        yield folder, folders, [one for one in names if not one.startswith(".")]


def each(paths: Iterable[Path], read: Read) -> Iterator[tuple[Path, Read]]:
    """Yield each file with a progress callback that adds the size of the files before it."""
    before = 0
    for path in paths:
        yield path, lambda done, before=before: read(before + done)  # type: ignore[misc]
        before += path.stat().st_size


def first(path: Path) -> Mapping[str, Any]:
    """Return the first object of a JSON file; an empty one if there is none."""
    try:
        return next(objects(path, lambda done: None), {})
    except Invalid:
        return {}


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list; an empty list if it is none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def objects(path: Path, read: Read) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON list, or the single top-level object. Holds one at a time in memory."""
    with opened(path) as file:
        reader = _JsonBuffer(path, file, read)
        opening = reader.next_mark()
        if opening == "{":
            yield reader.object()
            return
        if opening != "[":
            raise Invalid(f"{path} is not JSON: it begins with {opening[:1]!r}. Pass the file as it was exported")
        reader.skip()
        while (mark := reader.next_mark()) != "]":
            if mark != "{":
                raise reader.error("there is no object where one should begin")
            yield reader.object()
            if (mark := reader.next_mark()) == ",":
                reader.skip()
            elif mark != "]":
                raise reader.error("a comma is missing")


class _JsonBuffer:
    """A buffer over a JSON text that reads more on demand and drops what was consumed."""

    def __init__(self, path: Path, file: Any, read: Read) -> None:
        self._path, self._file, self._read = path, file, read
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._decoder = json.JSONDecoder()
        self._text, self._at = "", 0
        self._taken = 0
        """Number of characters dropped from the buffer."""

    def _more(self, size: int) -> bool:
        piece = self._file.read(size)
        self._taken += self._at
        self._text, self._at = self._text[self._at :] + self._decode(piece, not piece), 0
        self._read(self._file.tell())
        return bool(piece)

    def next_mark(self) -> str:
        """Return the next non-space character without consuming it; empty at the end."""
        while True:
            rest = len(self._text)
            while self._at < rest and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < rest:
                return self._text[self._at]
            if not self._more(CHUNK):
                return ""

    def skip(self) -> None:
        """Consume one character."""
        self._at += 1

    def object(self) -> dict[str, Any]:
        """Decode the object at the current position."""
        size = CHUNK
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._text, self._at)
                return value  # type: ignore[no-any-return]
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - NEAR_THE_END
                # Double the read size each time, so that a long object is not parsed too often.
                if not cut or not self._more(size):
                    raise self.error("it ends too early" if cut else error.msg) from None
                size *= 2
            except RecursionError:
                raise self.error("it is nested too deep") from None

    def error(self, what: str) -> Invalid:
        """Return an Invalid error for the current position."""
        return Invalid(
            f"{self._path} is damaged at character {self._taken + self._at:,}: {what}. What came before is imported; "
            "get a complete copy and import it, nothing comes twice"
        )


def moment(value: object) -> int | None:
    """Convert a timestamp in seconds, milliseconds or text form to UTC milliseconds; None if it is invalid."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return milliseconds(round(value * 1000 if value < SECONDS else value))
        return milliseconds(value) if isinstance(value, str) and value.strip() else None
    except (Invalid, ValueError, OverflowError):
        return None


def clean(value: object) -> str:
    """Return text without NUL characters and lone surrogates, which databases reject; empty if not a string."""
    if not isinstance(value, str):
        return ""
    if value.isascii():
        return value.replace("\0", "") if "\0" in value else value
    return value.encode("utf-8", "replace").decode().replace("\0", "")


def line(value: object, longest: int = NAME_LENGTH) -> str | None:
    """Return text on one line, truncated to `longest` characters; None if nothing is left."""
    shown = "".join(" " if unicodedata.category(mark) in ("Cc", "Zl", "Zp") else mark for mark in clean(value))
    return " ".join(shown.split())[:longest].strip() or None


def name(value: object) -> str | None:
    """Return a valid entry name; a long one is truncated and gets a hash, so that common prefixes do not collide."""
    whole = line(value, 1_000_000)
    if whole is None or len(whole) <= NAME_LENGTH:
        return whole
    return f"{whole[: NAME_LENGTH - 13]} {short_hash(whole)}"
