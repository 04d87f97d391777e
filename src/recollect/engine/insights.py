"""Deduplication of insights: the ending of a conversation and the job `extract` must not store the same line twice."""

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

from recollect import text
from recollect.engine.agent_store import Store
from recollect.engine.recall import recall
from recollect.engine.recall_request import Request
from recollect.model.entry import Category, Kind
from recollect.model.filters import Filters
from recollect.model.history import Event
from recollect.search.duplicates import wording
from recollect.search.ranking import DecayConfig
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
    "stored_elsewhere",
]

COMPACTED = "compacted"
"""Tag of notes that a job made from a part of a conversation."""
IMPORTED = "import"
"""Value of `summary_by` for an imported conversation."""
SAME = 100
"""Length of the prefix by which two notes count as the same, in characters."""
LOOKED_AT = 4 * SAME
NOTES_COMPARED = 5
"""Number of notes that a line is compared with: those that match its words best."""


def beginning(content: str) -> str:
    """Return the deduplication key of a note: its first 100 characters after normalisation."""
    return text.normalise(content[:LOOKED_AT])[:SAME]


def stored_beginnings(tx: Transaction, category: Category) -> set[str]:
    """Return the deduplication keys of the notes of a category."""
    return {beginning(start) for (start,) in tx.all("extraction.beginnings", category=category.value, length=LOOKED_AT)}


def stored_elsewhere(store: Store, lines: Iterable[str], now: int) -> set[str]:
    """Return the lines that a note of the agent has word for word, whatever its category."""
    filters = Filters.checked(kinds=(Kind.NOTE,), current_at=now)
    request = Request(
        query="", limit=NOTES_COMPARED, mode="keyword", fusion="weighted", decay=DecayConfig(), now=now, filters=filters
    )
    found: set[str] = set()
    for line in lines:
        hits = recall((store,), replace(request, query=line))
        if any(wording(hit.entry.content) == wording(line) for _, hit in hits):
            found.add(line)
    return found


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
