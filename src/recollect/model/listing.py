"""Lists of entries: sort order and pagination cursor."""

import base64
import json
from dataclasses import dataclass
from enum import StrEnum

from recollect.clock import LAST, Moment, milliseconds
from recollect.errors import Invalid
from recollect.model import checks
from recollect.model.entry import Entry
from recollect.names import plain

__all__ = ["LONGEST", "Cursor", "ListPage", "Removed", "Sort"]

LONGEST = 1_000_000
"""Maximum number of entries in one page."""


class Sort(StrEnum):
    """The sort key of a list."""

    CREATED = "created"
    UPDATED = "updated"
    IMPORTANCE = "importance"
    RECALLS = "recalls"
    """The number of recalls that found it; entries that were never recalled are left out."""
    NAME = "name"
    """Entries without a name come last, in either direction."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Pagination cursor: the position after this sort key and id. Stays valid if that entry changes or is removed."""

    key: int | float | str | None
    id: str
    seq: int = 0
    """The entry's sequence number, by which entries of the same creation time are sorted; 0 in other sort orders."""

    @classmethod
    def of(cls, entry: Entry, sort: Sort) -> "Cursor":
        """Return the cursor that follows an entry in this sort order."""
        key: int | float | str | None
        match sort:
            case Sort.CREATED:
                key = entry.created_at
            case Sort.UPDATED:
                key = entry.updated_at
            case Sort.IMPORTANCE:
                key = entry.importance
            case Sort.RECALLS:
                key = entry.access_count
            case Sort.NAME:
                key = entry.name
        return cls(key, entry.id, entry.seq if sort is Sort.CREATED else 0)

    def text(self, sort: Sort) -> str:
        """Encode the cursor as URL-safe base64."""
        place = [sort, self.key, self.id, *([self.seq] if sort is Sort.CREATED else [])]
        return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str, sort: Sort) -> "Cursor":
        """Decode a cursor; raise Invalid if it is malformed or of another sort order."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            written, key, entry_id, *rest = json.loads(raw)
            if written != sort or not isinstance(entry_id, str) or not _fits(key, sort):
                raise ValueError
            # An id without a sequence number is of an older version; without an id the cursor is a time.
            (seq,) = rest if sort is Sort.CREATED and (rest or entry_id) else (0, *rest)
            if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq <= LAST:
                raise ValueError
            plain("cursor", entry_id + (key if isinstance(key, str) else ""))
        except (ValueError, TypeError, RecursionError, Invalid):
            raise Invalid(
                f"{text[:80]!r} is not a valid cursor of a list by {sort}; pass the last `after` of the previous page"
            ) from None
        return cls(key, entry_id, seq)


def _fits(key: object, sort: Sort) -> bool:
    """Return whether the key has the type and range of this sort order."""
    if sort is Sort.NAME:
        return key is None or isinstance(key, str)
    number = isinstance(key, int | float) if sort is Sort.IMPORTANCE else isinstance(key, int)
    return number and not isinstance(key, bool) and -1 <= key <= LAST + 1  # type: ignore[operator]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """One page of a list: the sort order, the cursor that it follows, and its length."""

    sort: Sort
    descending: bool
    limit: int
    after: Cursor | None = None
    """None for the first page."""

    @classmethod
    def checked(
        cls,
        *,
        sort: Sort | str,
        descending: bool | None,
        limit: int,
        before: Moment | Entry | None,
        after: Entry | str | None,
    ) -> "ListPage":
        """Return the page with every value validated. Raises Invalid."""
        order = checks.member(Sort, sort, "sort")
        if not isinstance(descending, bool | None):
            raise Invalid(f"descending must be True or False, not {descending!r}")
        down = order is not Sort.NAME if descending is None else descending
        place = None
        if isinstance(after, Entry):
            place = Cursor.of(after, order)
        elif after is not None:
            place = Cursor.read(plain("cursor", after), order)
        if before is not None:
            if place is not None or order is not Sort.CREATED or not down:
                raise Invalid("`before` is for lists with the newest first; pass the last entry as `after` instead")
            place = Cursor.of(before, order) if isinstance(before, Entry) else Cursor(milliseconds(before), "")
        return cls(sort=order, descending=down, limit=min(checks.count(limit, "entries"), LONGEST), after=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """An entry in the trash, as it was when removed, and the sequence number of its removal in the operation log."""

    entry: Entry
    removed_at: int
    seq: int
