"""Cache of the parts of a context that do not depend on the command, valid until the next write."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from recollect.engine.context_block import RenderedSection
from recollect.engine.context_items import Reach
from recollect.model.context import Item
from recollect.storage.counters import Counters

__all__ = ["ContextCache", "cache_of"]

MINUTE = 60_000


@dataclass(slots=True)
class ContextCache:
    """The project, hand-off, tasks and standing rules, filled as contexts need them."""

    state: object
    """The state of the stores when they were read."""
    sections: dict[str, RenderedSection] = field(default_factory=dict)
    rules: dict[bool, Sequence[Item]] = field(default_factory=dict)
    """Standing rules, by whether there was a command."""
    titles: dict[str | None, str] = field(default_factory=dict)
    """Titles of imported conversations; empty for others."""


def cache_of(reach: Reach, now: int) -> ContextCache:
    """Return the cache for the stores and filters of a caller.

    It is invalidated by a write to one of the stores, and every minute, because entries expire.
    """
    own, written = reach.stores[0], []
    for store in reach.stores:
        with store.read() as tx:
            written.append((tx.generation, Counters.get(tx).operations))
    state = (tuple(written), replace(reach.filters, current_at=None), now // MINUTE)
    known = own.context_cache
    found = isinstance(known, ContextCache) and known.state == state
    own.context_reads["hit" if found else "missed"] += 1
    if not isinstance(known, ContextCache) or not found:
        known = own.context_cache = ContextCache(state)
    return known
