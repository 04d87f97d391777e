"""An overview of a memory, from queries whose cost does not grow with it: counts stop at COUNTED, and the rest is read
from indexes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from recollect.engine import net_changes, reminders
from recollect.engine.agent_store import Store
from recollect.model.entry import Entry
from recollect.model.filters import Filters
from recollect.model.listing import ListPage, Sort
from recollect.model.overview import COUNTED, MemoryHealth, Overview
from recollect.storage import listing
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction

__all__ = ["DAY", "overview"]

DAY = 86_400_000
DAYS = 30
"""Number of days with a count of entries."""
SHOWN = 5
"""Changes, reminders and recalled notes that an overview lists."""
_RECALLED = ListPage(sort=Sort.RECALLS, descending=True, limit=SHOWN)


def overview(stores: Sequence[Store], shared: Store, now: int, *, since: int, shift: int) -> Overview:
    """Return the overview of an agent's stores, the workspace's first; `shared` holds the jobs of the workspace.

    Days begin `shift` milliseconds before UTC days.
    """
    notes = Filters(transcripts=False, current_at=now)
    total = never = review = missing = 0
    recalled, days, complete = list[Entry](), Counter[int](), True
    today = (now + shift) // DAY
    first = today - DAYS + 1
    for store in stores:
        with store.read() as tx:
            counters = Counters.get(tx)
            total += counters.live
            complete = complete and (not counters.live or store.index.whole(tx, counters))
            recalled += listing.page(tx, _RECALLED, notes)
            never += listing.count(tx, replace(notes, recalled=False), COUNTED)
            review += _number(tx, "overview.open_pairs", now=now)
            days.update(dict(tx.all("overview.entries_by_day", since=first * DAY - shift, shift=shift)))
            if store.vectors is not None:
                missing += _number(tx, "overview.vectors_missing")
    with stores[0].read() as tx:
        due = _number(tx, "overview.due", now=now)
        conversations = _number(tx, "overview.conversations")
    last_upkeep_at, failing = _upkeep(shared)
    return Overview(
        at=now,
        entries=total,
        conversations=conversations,
        changes=net_changes.net_changes(stores, since, limit=SHOWN),
        due=due,
        reminders=tuple(reminders.listed(stores[0], include_delivered=False, limit=SHOWN)),
        review=min(review, COUNTED),
        most_recalled=tuple(listing.merged(recalled, _RECALLED)),
        never_recalled=min(never, COUNTED),
        health=MemoryHealth(
            last_upkeep_at=last_upkeep_at,
            failing=failing,
            index_complete=complete,
            vectors_missing=None if stores[0].vectors is None else missing,
            bytes=stores[0].database.admin.size(),
        ),
        entries_by_day=tuple((day * DAY - shift, days[day]) for day in range(first, today + 1)),
    )


def _number(tx: Transaction, query: str, **values: int) -> int:
    ((found,),) = tx.all(query, **values, limit=COUNTED)
    return int(found)


def _upkeep(shared: Store) -> tuple[int | None, tuple[str, ...]]:
    """Return when a job of the workspace last ran, and the names of jobs whose last run failed."""
    with shared.read() as tx:
        jobs = tx.all("upkeep.jobs")
    runs = [last_run_at for _, _, last_run_at, *_ in jobs if last_run_at is not None]
    return max(runs, default=None), tuple(name for name, _, _, _, failures, *_ in jobs if failures)
