"""Relevance of an entry over its lifetime, as a curve to plot: it decays with time, and each recall restores it.

Uses the formula of ranking with the recalls that are still recorded; older ones count as made at creation.
"""

from collections import Counter

from recollect.engine.agent_store import Store
from recollect.model.entry import Entry
from recollect.model.recall import Accesses
from recollect.search.ranking import DecayConfig, relevance

__all__ = ["accesses"]

POINTS = 60
"""Number of intervals of the curve; each recall adds further points."""
HOUR = 3_600_000


def accesses(store: Store, entry: Entry, decay: DecayConfig, now: int) -> Accesses:
    """Return the recalls of an entry with their queries, and its relevance curve from creation until now."""
    with store.read() as tx:
        recalls = tuple(sorted((at, str(query)) for query, _, at in tx.all("signals.of", entry_id=entry.id)))
    start, end = entry.created_at, max(now, entry.created_at)
    moments = {start + (end - start) * place // POINTS for place in range(POINTS + 1)}
    found = Counter(at for at, _ in recalls)
    count, last = max(entry.access_count - len(recalls), 0), start
    rate, curve = decay.rate(entry.scope), list[tuple[int, float]]()

    def alive(at: int) -> tuple[int, float]:
        return at, relevance(entry.importance, rate, (at - last) / HOUR, count)

    for at in sorted(moments | found.keys()):
        curve.append(alive(at))
        if at in found:  # two points: before and after the recall
            count, last = count + found[at], at
            curve.append(alive(at))
    return Accesses(recalls=recalls, curve=tuple(curve))
