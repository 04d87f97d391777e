"""Pairs of entries for review: which ones are open, and what a resolution does. It removes nothing on its own."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.engine import remember, superseding
from recollect.engine.agent_store import Store, Work
from recollect.errors import Conflict, NotFound
from recollect.model.entry import Entry, Origin
from recollect.model.operation import Add
from recollect.model.review import Resolution, ReviewPair
from recollect.storage import entries, reviews

__all__ = ["listed", "open_entries", "resolve"]

LAST_ID = "g"
"""Greater than every id, which are hexadecimal."""


def listed(stores: Sequence[Store], now: int, *, after: str | None, limit: int, resolved: bool) -> list[ReviewPair]:
    """Return the open pairs of an agent, found last first; with `resolved`, the resolved ones too."""
    found: list[ReviewPair] = []
    for store in stores:
        with store.read() as tx:
            found += reviews.page(tx, after or LAST_ID, limit, now, resolved=resolved)
    return sorted(found, key=lambda pair: pair.id, reverse=True)[:limit]


def open_entries(work: Work, pair_id: str) -> tuple[Entry, Entry]:
    """Return the older and the newer entry of a pair that is open, or whose entries were both kept.

    Raises NotFound if there is no such pair, and Conflict if one of its entries was closed or no longer holds.
    """
    row = reviews.get(work.tx, pair_id)
    if row is None:
        raise NotFound(f"there is no pair {pair_id!r} for review; erasing an entry removes its pairs")
    _, older_id, newer_id, _, _, _, resolved_at, resolution = row
    if resolved_at is not None and resolution != Resolution.BOTH:  # keeping both has closed nothing
        raise Conflict(f"the pair {pair_id} has already been resolved as {resolution!r}; `restore` undoes that")
    found = []
    for entry_id in (older_id, newer_id):
        entry = entries.get(work.tx, entry_id)
        if entry is None:
            raise Conflict(
                f"entry {entry_id} of the pair was forgotten in the meantime, and there is nothing to resolve"
            )
        superseding.must_be_open(entry)
        found.append(entry)
    return found[0], found[1]


def resolve(
    work: Work,
    pair_id: str,
    resolution: Resolution,
    draft: Add | None,
    *,
    actor: str,
    now: int,
    why: str | None = None,
) -> Entry | None:
    """Resolve an open pair; return the new entry if both were merged. `draft` is the entry that replaces both."""
    older, newer = open_entries(work, pair_id)
    made = None
    closed: Sequence[Entry] = ()
    if resolution is Resolution.MERGE:
        assert draft is not None
        made = remember.apply(work, _merged(older, newer, draft), actor=actor, now=now)
        closed, winner = (newer, older), made.id
    elif resolution is not Resolution.BOTH:
        keeps_newer = resolution is Resolution.NEWER
        closed, winner = (older if keeps_newer else newer,), (newer if keeps_newer else older).id
    for entry in closed:
        superseding.close_for(work, entry.id, winner, review=pair_id, actor=actor, now=now, why=why)
    reviews.resolve(work.tx, pair_id, resolution, now)
    return made if made is None else remember.find(work, made.id).entry


def _merged(older: Entry, newer: Entry, draft: Add) -> Add:
    """Return the draft of what replaces both, made from both: by default of the least trusted origin among them."""
    if draft.origin is None:
        known = (remember.origin_of(draft), older.origin, newer.origin)
        draft = replace(draft, origin=next(one for one in reversed(Origin) if one in known))
    return replace(superseding.successor_draft(newer, draft), evidence=(older.id, newer.id))
