"""Ids, and the rules for names and path segments. No I/O."""

import hashlib
import os
import re
import threading
import unicodedata
from random import Random

from recollect.errors import Invalid

__all__ = [
    "NAME_LENGTH",
    "SEGMENT_LENGTH",
    "as_file_name",
    "as_segment",
    "id_prefix",
    "is_blank",
    "is_generated",
    "is_id",
    "name",
    "new_id",
    "place",
    "plain",
    "segment",
    "short_hash",
]

NAME_LENGTH = 256
SEGMENT_LENGTH = 64

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_GENERATED = re.compile(r"(?:archive|summary)-[0-9A-Za-z]{11}-[0-9]+")
_SEGMENT_BYTES = 200
_FILE_NAME_LENGTH = 120
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Bidirectional control characters, which can make one name look like another."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_EDGES = re.compile(r"^[\s.]+|[\s.]+$")
_UNSAFE = frozenset('/\\:*?"<>|')
_UNLINKABLE = frozenset("#^[]")
"""Characters that a link `[[name]]` cannot contain."""
_DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))])
"""Names of devices on Windows."""
_RESERVED = _DEVICES | {"conversations"}  # the vault's own folder beside the agents' folders


class _Ids:
    """Generates UUIDv7s; within a millisecond and process they increment, so ids sort in the order of creation."""

    def __init__(self) -> None:
        self._start()
        if hasattr(os, "register_at_fork"):  # a forked child must not repeat its parent's ids
            os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._last = (-1, 0)
        self._bits = Random().getrandbits  # a private generator: seeding the global one must not repeat ids

    def next(self, now: int) -> str:
        with self._lock:
            moment, random = self._last
            # 73 random bits leave room to increment within the 74 of a UUIDv7.
            random = random + 1 if moment == now else self._bits(73)
            self._last = (now, random)
        return (
            f"{now >> 16 & 0xFFFF_FFFF:08x}-{now & 0xFFFF:04x}-7{random >> 62 & 0xFFF:03x}-"
            f"{1 << 15 | random >> 48 & 0x3FFF:04x}-{random & 0xFFFF_FFFF_FFFF:012x}"
        )


new_id = _Ids().next
"""Return a new UUIDv7 for a time in UTC milliseconds."""


def id_prefix(moment: int) -> str:
    """Return the prefix of ids created at a time in UTC milliseconds."""
    written = f"{max(moment, 0):012x}"
    return f"{written[:8]}-{written[8:]}"


def is_id(text: str) -> bool:
    """Return whether the text has the form of an id."""
    return _UUID.match(text) is not None


def is_generated(name: str) -> bool:
    """Return whether a name was generated for an archive or a summary: it has the code of a conversation."""
    return _GENERATED.fullmatch(name) is not None


def place(cursor: object) -> tuple[int, str]:
    """Parse a cursor into time and id: a position in a list that stays valid after its item is deleted."""
    found = re.fullmatch(r"([0-9]{1,15})-([0-9a-f-]{36})", cursor) if isinstance(cursor, str) else None
    if found is None:
        raise Invalid(
            f"{str(cursor)[:80]!r} is not a valid cursor; pass the last item of the previous page, or its cursor"
        )
    return int(found[1]), found[2]


def plain(what: str, value: object, *, lines: bool = False) -> str:
    """Return the value if it is text that every database can store: no lone surrogates, NUL or control characters.

    With `lines=True`, for content, only lone surrogates and NUL are rejected.
    """
    if not isinstance(value, str):
        raise Invalid(f"the {what} must be text, not {type(value).__name__}")
    if value.isascii() and value.isprintable():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"the {what} contains a lone surrogate, which is not valid Unicode; decode the input with errors='replace'"
        ) from None
    if lines:
        if "\0" in value:
            raise Invalid(f"the {what} contains a NUL byte; remove it: only text is stored")
    else:
        control = next((c for c in value if unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in _TURNS), None)
        if control is not None:
            raise Invalid(f"the {what} contains the control character {control!r}; names and tags are one line of text")
    return value


def is_blank(text: str) -> bool:
    """Return whether a text has no visible character: only white space, control, format or blank characters."""
    for character in text:  # usually the first one decides
        if not (character.isspace() or character in _BLANK_LETTERS or unicodedata.category(character) in ("Cc", "Cf")):
            return False
    return True


def name(value: object, what: str = "name", length: int = NAME_LENGTH) -> str:
    """Return the name, trimmed and validated: one line of 1 to `length` characters."""
    trimmed = plain(what, value.strip() if isinstance(value, str) else value)
    if is_blank(trimmed):
        raise Invalid(f"the {what} is empty; it must have at least one visible character")
    if len(trimmed) > length:
        raise Invalid(f"the {what} has {len(trimmed):,} characters; at most {length} are allowed")
    return trimmed


def segment(value: object, what: str) -> str:
    """Validate the name of an agent or a workspace: one path segment that is safe on every platform."""
    text = name(value, what.removeprefix("an ").removeprefix("a "))
    problem = None
    if len(text) > SEGMENT_LENGTH or len(text.encode()) > _SEGMENT_BYTES:
        problem = f"it is longer than {SEGMENT_LENGTH} characters"
    elif bad := sorted(_UNSAFE.intersection(text)):
        problem = f"it contains {' '.join(bad)}"
    elif text.startswith("."):
        problem = "it starts with a dot"
    elif text.endswith("."):
        problem = "it ends with a dot"
    elif text.split(".")[0].lower() in _RESERVED:
        problem = "it is a reserved word"
    elif unicodedata.normalize("NFC", text) != text:
        problem = "it is not in Unicode normal form NFC, so that two spellings of it would look the same"
    if problem:
        raise Invalid(f"{text[:80]!r} cannot be the name of {what}: {problem}; use one plain word such as 'ana'")
    return text


def as_segment(text: str, otherwise: str) -> str:
    """Convert a text to a valid name of an agent or a workspace; `otherwise` if nothing is left."""
    known = unicodedata.normalize("NFC", " ".join(text.encode(errors="replace").decode().split()))
    unsafe = (c in _UNSAFE or unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in known)
    spelled = "".join("-" if bad else c for bad, c in zip(unsafe, known, strict=True))
    short = _cut(_EDGES.sub("", spelled))
    if short.split(".")[0].lower() in _RESERVED:
        short = _cut(f"project-{short}")
    return short if short.strip("-") else otherwise


def as_file_name(text: str, otherwise: str) -> str:
    """Convert a text to a file name without suffix that is safe on every platform and can be linked to."""
    known = unicodedata.normalize("NFC", " ".join(text.encode(errors="replace").decode().split()))
    spelled = "".join(
        "-" if c in _UNSAFE or c in _UNLINKABLE or c in _TURNS or unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in known
    )
    short = _cut(_EDGES.sub("", spelled), _FILE_NAME_LENGTH)
    if short.split(".")[0].lower() in _DEVICES:
        short = f"_{short}"
    return short if short.strip("-") else otherwise


def _cut(text: str, length: int = SEGMENT_LENGTH) -> str:
    return _EDGES.sub("", text[:length].encode()[:_SEGMENT_BYTES].decode(errors="ignore"))


def short_hash(*parts: str) -> str:
    """Return a hash of the parts as twelve hex digits, for identifiers with a length limit."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
