"""Deduplication of insights: the ending of a conversation and the job `extract` must not store the same line twice."""

import hashlib
import json
from collections.abc import Callable, Container, Sequence

from recollect import text
from recollect.model.entry import Category
from recollect.model.history import Event
from recollect.storage.database import Transaction

__all__ = [
    "COMPACTED",
    "IMPORTED",
    "among",
    "beginning",
    "fingerprint",
    "given_before",
    "read_seen",
    "said_at",
    "stored_beginnings",
]

COMPACTED = "compacted"
"""Tag of notes that a job made from a part of a conversation."""
IMPORTED = "import"
"""Value of `summary_by` for an imported conversation."""
SAME = 100
"""Length of the prefix by which two notes count as the same, in characters."""
LOOKED_AT = 4 * SAME


def beginning(content: str) -> str:
    """Return the deduplication key of a note: its first 100 characters after normalisation."""
    return text.normalise(content[:LOOKED_AT])[:SAME]


def stored_beginnings(tx: Transaction, category: Category) -> set[str]:
    """Return the deduplication keys of the notes of a category."""
    return {beginning(start) for (start,) in tx.all("extraction.beginnings", category=category.value, length=LOOKED_AT)}


def given_before(tx: Transaction, conversation: str) -> Callable[[str, str], bool]:
    """Return a predicate of category and line: whether the conversation has yielded that insight before."""
    row = tx.one("extraction.seen", conversation_id=conversation)
    return among(read_seen(row[0] if row else None))


def among(seen: Container[str]) -> Callable[[str, str], bool]:
    """Return a predicate of category and line: whether its fingerprint is in `seen`."""
    return lambda category, line: fingerprint(category, line) in seen


def read_seen(stored: str | None) -> frozenset[str]:
    """Parse the stored fingerprints of a conversation."""
    return frozenset(json.loads(stored or "[]"))


def fingerprint(category: str, content: str) -> str:
    """Return a digest of a category and the deduplication key of a line."""
    return hashlib.sha256(f"{category}:{beginning(content)}".encode()).hexdigest()[:16]


def said_at(talk: Sequence[Event], now: int) -> int:
    """Return the time of the last event of a talk, at most `now`; `now` if there is none."""
    return min(max((event.created_at or 0 for event in talk), default=now), now)
