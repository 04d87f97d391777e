"""Entries as items of a context: what the caller reaches, the newest first, and the pairs that wait for review."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from recollect import text
from recollect.engine import access_policy, project
from recollect.engine.agent_store import Store
from recollect.engine.insights import COMPACTED
from recollect.model.context import Item
from recollect.model.entry import Category, Entry, Origin, State
from recollect.model.filters import Filters
from recollect.storage import entries, reviews
from recollect.storage.database import Row, Transaction

__all__ = [
    "DERIVED",
    "FULL_LENGTH",
    "OpenPairs",
    "Reach",
    "beginning",
    "is_shown_elsewhere",
    "item_of",
    "items_of",
    "one_line",
]

FULL_LENGTH = 300
"""Length in characters up to which a decision or lesson is shown in full; extracted ones are never longer."""
CHUNK = 500
DERIVED = (Category.HANDOFFS, Category.PROJECTS)
"""Categories of what is made from turns, or shown in a section of its own."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What the caller may read: its stores, its own store of the workspace first, and the filters that apply."""

    stores: Sequence[Store]
    filters: Filters

    def newest(self, query: str, limit: int, **values: object) -> list[Item]:
        """Run a named query on all stores and return the newest items."""
        found: list[Item] = []
        for store in self.stores:
            seen = access_policy.narrowed(self.filters, store, self.stores[0].agent)
            with store.read() as tx:
                rows = tx.all(
                    query,
                    scopes=[str(scope) for scope in seen.scopes],
                    conversation=seen.conversation,
                    channel=seen.channel,
                    now=seen.current_at,
                    origins=[str(origin) for origin in seen.origins],
                    limit=limit,
                    **values,
                )
                found += items_of(tx, rows)
        return sorted(found, key=lambda item: (item.at or 0, item.entry_id or ""), reverse=True)[:limit]

    def shows(self, tx: Transaction, entry: Entry) -> bool:
        """Return whether an entry holds now and the caller may read it."""
        now = self.filters.current_at or 0
        return entry.state_at(now) is State.CURRENT and access_policy.shows(tx, entry, self.stores[0].agent)


class OpenPairs:
    """The pairs that wait for review, as far as they were looked up."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._known: set[str] = set()
        self._partners: dict[str, Entry] = {}

    def look_up(self, ids: Iterable[str | None]) -> None:
        """Read the pairs of these entries, unless they are known."""
        new = [entry_id for entry_id in ids if entry_id is not None and entry_id not in self._known]
        for store in self._reach.stores if new else ():
            with store.read() as tx:
                pairs = reviews.open_of(tx, new)
                both = [entry_id for pair in pairs for entry_id in (pair.older_id, pair.newer_id)]
                stored = entries.stored(tx, both) if both else {}
                for pair in pairs:
                    for entry_id in (pair.older_id, pair.newer_id):
                        other = stored.get(pair.other(entry_id))
                        if other is not None and self._reach.shows(tx, other.entry):
                            self._partners[entry_id] = other.entry
        self._known.update(new)

    def beside(self, items: Sequence[Item]) -> list[Item]:
        """Return the items, each followed or preceded by the other one of its pair, the newer one first."""
        self.look_up(item.entry_id for item in items)
        given = {item.entry_id: item for item in items}
        chosen, done = list[Item](), set[str | None]()
        for item in items:
            if item.entry_id in done:
                continue
            partner = self._partners.get(item.entry_id or "")
            if partner is None or partner.id in done:
                chosen.append(item)
            else:
                other = given.get(partner.id) or item_of(partner, beginning(partner.content))
                newer, older = sorted((item, other), key=lambda one: (one.at or 0, one.entry_id or ""), reverse=True)
                chosen += [newer, replace(older, beside=newer.entry_id)]
                done.add(partner.id)
            done.add(item.entry_id)
        return chosen


def is_shown_elsewhere(entry: Entry) -> bool:
    """Return whether an entry is the project, or a hand-off made from turns, which the journal has."""
    made = entry.category in DERIVED and (entry.conversation_id is not None or COMPACTED in entry.tags)
    return made or entry.name in project.NAMES


def items_of(tx: Transaction, rows: Sequence[Row]) -> list[Item]:
    """Return entries as items, from rows of id, content, time, source and origin."""
    named: dict[str, str] = {}
    for start in range(0, len(rows), CHUNK):
        for entry_id, name, canonical in tx.all("names.of", ids=[row[0] for row in rows[start : start + CHUNK]]):
            named |= {entry_id: name} if canonical else {}
    return [
        Item(text=content, at=at, source=source, entry_id=entry_id, name=named.get(entry_id), origin=Origin(origin))
        for entry_id, content, at, source, origin in rows
    ]


def item_of(entry: Entry, content: str) -> Item:
    """Return an entry as an item with this text."""
    return Item(
        text=content,
        at=entry.created_at,
        source=entry.source,
        entry_id=entry.id,
        name=entry.name,
        origin=entry.origin,
    )


def beginning(content: str) -> str:
    """Return a text on one line if it is short, else its beginning."""
    content = one_line(content)
    return content if len(content) <= FULL_LENGTH else f"{text.snippet(content, '', FULL_LENGTH)} …"


def one_line(content: str) -> str:
    """Return a text on one line."""
    return " ".join(content.split())
