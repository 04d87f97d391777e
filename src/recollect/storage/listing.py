"""Sorted lists of entries, page by page: rows in, values out."""

import json
from collections.abc import Sequence
from typing import Any

from recollect.clock import LAST
from recollect.model.entry import Category, Entry
from recollect.model.filters import Filters
from recollect.model.listing import Cursor, ListPage, Removed, Sort
from recollect.names import NAME_LENGTH
from recollect.storage import entries
from recollect.storage.columns import filter_values
from recollect.storage.database import Transaction
from recollect.storage.entries import CHUNK

__all__ = ["count", "merged", "numbers", "page", "trash"]

_AFTER_ALL = "\U0010ffff" * (NAME_LENGTH + 1)
"""Greater than every name."""


def page(tx: Transaction, wanted: ListPage, filters: Filters) -> list[Entry]:
    """Return the entries of a page."""
    sort, descending, limit = wanted.sort, wanted.descending, wanted.limit
    after = wanted.after or _start(sort, descending)
    values = _values(filters)
    found: list[Entry] = []
    if sort is not Sort.NAME or after.key is not None:
        query = f"listing.{sort}_{'down' if descending else 'up'}"
        found = _all(tx, query, values, tags=set(filters.tags), sort=sort, after=after, limit=limit)
        after = Cursor(None, "")
    if sort is Sort.NAME and len(found) < limit:
        found += _all(
            tx, "listing.unnamed", values, tags=set(filters.tags), sort=sort, after=after, limit=limit - len(found)
        )
    return found


def count(tx: Transaction, filters: Filters, most: int) -> int:
    """Return how many entries a list with these filters has, without tags; counting stops at `most`."""
    ((found,),) = tx.all("listing.count", **_values(filters), limit=most)
    return int(found)


def numbers(tx: Transaction, category: Category) -> dict[str, tuple[int | None, int]]:
    """Return the notes of a category in the order written, as id to (number in the vault or None, timestamp)."""
    return {entry_id: (number, at) for entry_id, number, at in tx.all("listing.numbers", category=str(category))}


def trash(tx: Transaction, before: int, limit: int) -> list[Removed]:
    """Return the entries that can be restored, newest removal first, removed before that sequence number."""
    return [
        Removed(entry=entries.from_snapshot(entry_id, json.loads(values)), removed_at=at, seq=seq)
        for seq, at, entry_id, values in tx.all("listing.trash", seq=before, limit=limit)
    ]


def merged(found: Sequence[Entry], wanted: ListPage) -> list[Entry]:
    """Merge entries of several stores into one page."""
    down = wanted.descending
    if wanted.sort is not Sort.NAME:
        return sorted(found, key=lambda entry: _key(entry, wanted.sort), reverse=down)[: wanted.limit]
    named = sorted((one for one in found if one.name is not None), key=lambda one: one.name or "", reverse=down)
    return (named + sorted((one for one in found if one.name is None), key=lambda one: one.id))[: wanted.limit]


def _values(filters: Filters) -> dict[str, Any]:
    return filter_values(filters) | {
        "conversation": filters.conversation,
        "channel": filters.channel,
        "tag": json.dumps(filters.tags[0], ensure_ascii=False) if filters.tags else None,
        "recalled": None if filters.recalled is None else int(filters.recalled),
        "embedded": None if filters.embedded is None else int(filters.embedded),
    }


def _key(entry: Entry, sort: Sort) -> tuple[Any, int, str]:
    cursor = Cursor.of(entry, sort)
    return cursor.key, cursor.seq, cursor.id


def _start(sort: Sort, descending: bool) -> Cursor:
    if sort is Sort.NAME:
        return Cursor(_AFTER_ALL if descending else "", "")
    end = LAST + 1 if descending else -1
    return Cursor(float(end) if sort is Sort.IMPORTANCE else end, "")


def _all(
    tx: Transaction, query: str, values: dict[str, Any], *, tags: set[str], sort: Sort, after: Cursor, limit: int
) -> list[Entry]:
    passed: list[Entry] = []
    while len(passed) < limit:
        ids = [row[0] for row in tx.all(query, **values, key=after.key, seq=after.seq, id=after.id, limit=limit)]
        found = [entry for start in range(0, len(ids), CHUNK) for entry in _read(tx, ids[start : start + CHUNK])]
        # The query matches the first tag as a substring of the JSON list, so compare whole tags here.
        passed += [entry for entry in found if tags.issubset(entry.tags)]
        if len(ids) < limit:
            break
        after = Cursor.of(found[-1], sort)
    return passed[:limit]


def _read(tx: Transaction, ids: list[str]) -> list[Entry]:
    found = entries.stored(tx, ids)
    return [found[entry_id].entry for entry_id in ids]
