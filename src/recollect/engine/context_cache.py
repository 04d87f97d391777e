"""What the contexts of an agent have whatever their command is, kept in the process until something is written."""

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
    """The project, the hand-off, the tasks and the standing rules, as far as a context has needed them."""

    state: object
    """The state of the stores in which they were read."""
    sections: dict[str, RenderedSection] = field(default_factory=dict)
    rules: dict[bool, Sequence[Item]] = field(default_factory=dict)
    """Standing rules, by whether there was a command."""


def cache_of(reach: Reach, now: int) -> ContextCache:
    """Return the cache for what the caller reaches.

    It is empty after a write to one of the stores, and a minute later, because an entry may expire.
    """
    own, written = reach.stores[0], []
    for store in reach.stores:
        with store.read() as tx:
            written.append((tx.generation, Counters.get(tx).operations))
    state = (tuple(written), replace(reach.filters, current_at=None), now // MINUTE)
    known = own.context_cache
    if not isinstance(known, ContextCache) or known.state != state:
        known = own.context_cache = ContextCache(state)
    return known
