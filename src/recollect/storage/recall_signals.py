"""Recall signals and what they add to entries: rows in, one statement per table, however many signals there are."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from recollect.storage.database import Transaction

__all__ = ["Signal", "gone", "record"]


class Signal(NamedTuple):
    """One hit of a recall."""

    entry_id: str
    query: str
    place: int
    """Rank of the hit, from 1; its score is the reciprocal."""
    at: int


def gone(tx: Transaction, ids: Collection[str]) -> set[str]:
    """Return those of the distinct ids that belong to no entry, or to a removed one."""
    found = json.dumps([(one,) for one in ids])
    ((living,),) = tx.all("signals.living_count", found=found)
    if living == len(ids):
        return set()
    return set(ids).difference(entry_id for (entry_id,) in tx.all("signals.living", found=found))


def record(tx: Transaction, signals: Iterable[Signal], accesses: Mapping[str, tuple[int, int]]) -> None:
    """Store signals, and how often and when last entries were found, by id."""
    if accesses:
        found = [(entry_id, times, last) for entry_id, (times, last) in accesses.items()]
        tx.run("signals.touch", accesses=json.dumps(found))
    if rows := [(number, *signal) for number, signal in enumerate(signals, 1)]:
        tx.run("signals.record", signals=json.dumps(rows))
