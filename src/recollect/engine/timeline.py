"""The timeline of an agent over its stores: notes and conversations, counted in buckets, and listed if few."""

from collections import Counter
from collections.abc import Sequence

from recollect.engine.agent_store import Store
from recollect.errors import Invalid
from recollect.model.timeline import Timeline, TimelineBucket, TimelineItem
from recollect.storage import timeline

__all__ = ["MOST_BUCKETS", "MOST_ITEMS", "of_stores"]

MOST_BUCKETS = 2_000
MOST_ITEMS = 5_000


def of_stores(
    stores: Sequence[Store], now: int, since: int | None, until: int | None, *, buckets: int, limit: int
) -> Timeline:
    """Return the timeline of a period, by default from the first to the last item. `stores` are the agent's own."""
    if not 1 <= buckets <= MOST_BUCKETS:
        raise Invalid(f"buckets must be 1 to {MOST_BUCKETS}, not {buckets}")
    times = list[int]()
    for store in stores:
        with store.read() as tx:
            times += timeline.extent(tx)
    first, last = min(times, default=None), max(times, default=None)
    start = since if since is not None else first if first is not None else now
    end = until if until is not None else max(start, last if last is not None else now) + 1
    if since is None:
        start = min(start, end - 1)
    if start >= end:
        raise Invalid("`since` must be before `until`")
    width = -(-(end - start) // buckets)
    counted = _counts(stores, start, end, width)
    total = sum(one.entries + one.conversations for one in counted)
    return Timeline(
        first=first,
        last=last,
        since=start,
        until=end,
        width=width,
        buckets=counted,
        items=_items(stores, start, end, limit) if total <= limit else None,
    )


def _counts(stores: Sequence[Store], since: int, until: int, width: int) -> tuple[TimelineBucket, ...]:
    notes, talks = Counter[int](), Counter[int]()
    for store in stores:
        with store.read() as tx:
            notes.update(timeline.counts(tx, "note", since, until, width))
            talks.update(timeline.counts(tx, "conversation", since, until, width))
    return tuple(
        TimelineBucket(at=since + place * width, entries=notes[place], conversations=talks[place])
        for place in sorted({*notes, *talks})
    )


def _items(stores: Sequence[Store], since: int, until: int, limit: int) -> tuple[TimelineItem, ...]:
    found = list[TimelineItem]()
    for store in stores:
        with store.read() as tx:
            found += timeline.notes(tx, since, until, limit)
            found += timeline.conversations(tx, since, until, limit)
    return tuple(sorted(found, key=lambda item: (item.at, item.id)))
