"""Pairs of entries for review, and how far the job `review` has come: rows in, values out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from recollect.model.review import Relation, Resolution, ReviewPair
from recollect.storage import entries
from recollect.storage.database import Row, Transaction

__all__ = [
    "OpenPair",
    "change",
    "drop",
    "forget",
    "get",
    "open_of",
    "page",
    "pair",
    "progress",
    "put",
    "resolve",
    "reviewed_at",
    "set_progress",
    "written_after",
]


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair without its entries."""

    id: str
    older_id: str
    newer_id: str
    relation: Relation
    reason: str

    def other(self, entry_id: str) -> str:
        """Return the id of the other entry of the pair."""
        return self.newer_id if entry_id == self.older_id else self.older_id


def put(tx: Transaction, new: OpenPair, found_at: int) -> bool:
    """Store a pair; return False if the two entries are a pair already, resolved or not."""
    return bool(
        tx.run(
            "reviews.put",
            id=new.id,
            older_id=new.older_id,
            newer_id=new.newer_id,
            relation=str(new.relation),
            reason=new.reason,
            found_at=found_at,
        )
    )


def change(tx: Transaction, new: OpenPair) -> None:
    """Store another relation and reason of an unresolved pair."""
    tx.run("reviews.change", id=new.id, relation=str(new.relation), reason=new.reason)


def drop(tx: Transaction, pair_id: str) -> bool:
    """Remove a pair unless it was resolved; return whether it was removed."""
    return bool(tx.run("reviews.drop", id=pair_id))


def forget(tx: Transaction, entry_id: str) -> int:
    """Remove all pairs of an entry; return how many."""
    return tx.run("reviews.forget", entry_id=entry_id)


def get(tx: Transaction, pair_id: str) -> Row | None:
    """Return the row of a pair: id, older_id, newer_id, relation, reason, found_at, resolved_at, resolution."""
    return tx.one("reviews.get", id=pair_id)


def page(tx: Transaction, before: str, limit: int, now: int, *, resolved: bool) -> list[ReviewPair]:
    """Return pairs whose entries hold, newest first; with `resolved`, all whose entries still exist."""
    return _pairs(tx, tx.all("reviews.page", before=before, limit=limit, now=now, resolved=int(resolved)))


def pair(tx: Transaction, pair_id: str) -> ReviewPair | None:
    """Return a pair whose entries exist, resolved or not."""
    row = get(tx, pair_id)
    return next(iter(_pairs(tx, [] if row is None else [row])), None)


def _pairs(tx: Transaction, rows: Sequence[Row]) -> list[ReviewPair]:
    ids = list(dict.fromkeys(entry_id for row in rows for entry_id in row[1:3]))
    found: dict[str, entries.Stored] = {}
    for start in range(0, len(ids), entries.CHUNK):
        found |= entries.stored(tx, ids[start : start + entries.CHUNK])
    return [
        ReviewPair(
            id=pair_id,
            kind=Relation(relation),
            reason=reason,
            older=found[older_id].entry,
            newer=found[newer_id].entry,
            found_at=found_at,
            resolved_at=resolved_at,
            resolution=None if resolution is None else Resolution(resolution),
        )
        for pair_id, older_id, newer_id, relation, reason, found_at, resolved_at, resolution in rows
        if older_id in found and newer_id in found
    ]


def open_of(tx: Transaction, ids: Iterable[str]) -> list[OpenPair]:
    """Return the unresolved pairs that one of these entries belongs to, in the order in which they were found."""
    wanted = list(ids)
    found: dict[str, OpenPair] = {}
    for start in range(0, len(wanted), entries.CHUNK):
        some = wanted[start : start + entries.CHUNK]
        rows = tx.all_of(("reviews.open_older", {"ids": some}), ("reviews.open_newer", {"ids": some}))
        for pair_id, older, newer, relation, reason in chain.from_iterable(rows):
            found[pair_id] = OpenPair(pair_id, older, newer, Relation(relation), reason)
    return [found[pair_id] for pair_id in sorted(found)]


def resolve(tx: Transaction, pair_id: str, resolution: Resolution | None, now: int | None) -> None:
    """Store how and when a pair was resolved; None opens it again."""
    tx.run(
        "reviews.resolve",
        id=pair_id,
        resolution=None if resolution is None else str(resolution),
        resolved_at=None if resolution is None else now,
    )


def progress(tx: Transaction) -> int:
    """Return the number of the operation up to which entries were compared."""
    row = tx.one("reviews.progress")
    return 0 if row is None else int(row[0])


def reviewed_at(rows: Sequence[Row]) -> int:
    """Return when entries were last compared, from the rows of `reviews.reviewed_at`; 0 if never."""
    return int(rows[0][0]) if rows else 0


def set_progress(tx: Transaction, operation: int, now: int) -> None:
    """Store the number of the operation up to which entries were compared."""
    tx.run("reviews.set_progress", operation=operation, reviewed_at=now)


def written_after(tx: Transaction, seq: int, limit: int) -> Sequence[Row]:
    """Return the next operations of the log as (number, id of the entry, name of the operation)."""
    return tx.all("reviews.written_after", seq=seq, limit=limit)
