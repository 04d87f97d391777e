"""Lists over the stores of an agent: entries, the trash, and the log of operations."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.clock import LAST
from recollect.engine.agent_store import Store
from recollect.errors import NotFound
from recollect.model.entry import Entry
from recollect.model.filters import Filters
from recollect.model.listing import ListPage, Removed
from recollect.model.operation import Revision
from recollect.storage import entries, listing
from recollect.storage.counters import Counters

__all__ = ["history", "last_operation", "operations", "page", "trash"]


def page(stores: Sequence[Store], wanted: ListPage, filters: Filters) -> list[Entry]:
    """Return one page of the entries of all stores."""
    pages: list[list[Entry]] = []
    for store in stores:
        with store.read() as tx:
            pages.append(listing.page(tx, wanted, filters))
    found = [entry for part in pages for entry in part]
    return listing.merged(found, wanted) if sum(map(bool, pages)) > 1 else found


def trash(stores: Sequence[Store], before: int, limit: int) -> list[Removed]:
    """Return removed entries, newest first. Those of a second store follow, with negative sequence numbers."""
    found: list[Removed] = []
    if before > 0:
        with stores[0].read() as tx:
            found = listing.trash(tx, before, limit)
    if len(stores) > 1 and len(found) < limit:
        with stores[1].read() as tx:
            more = listing.trash(tx, LAST if before > 0 else -before, limit - len(found))
        found += [replace(one, seq=-one.seq) for one in more]
    return found


def history(stores: Sequence[Store], target: str) -> list[Revision]:
    """Return the revisions of an entry, oldest first; also of a removed one. Raises NotFound."""
    for find in (entries.find, entries.removed_id):
        for store in stores:
            with store.read() as tx:
                known = find(tx, target)
                if known is not None:
                    return entries.revisions(tx, known)
    raise NotFound(f"nothing is or was remembered under {target!r}")


def operations(store: Store, after: int, limit: int) -> list[Revision]:
    """Return the operations of a store's log that follow a sequence number."""
    with store.read() as tx:
        return entries.logged_after(tx, after, limit)


def last_operation(store: Store) -> int:
    """Return the sequence number of the last operation in a store's log, 0 if it is empty."""
    with store.read() as tx:
        return Counters.get(tx).operations
