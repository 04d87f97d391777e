"""Provenance of an entry: the tree of what it was made from, down to the turns of conversations. Reads only.

Only what the reader may read is shown: its own entries and turns, and the entries of `_shared`. Everything else looks
the same as what no longer exists. A source that occurs twice is expanded once, so a cycle ends; depth and size are
limited.
"""

import re
from collections.abc import Sequence

from recollect import names
from recollect.engine import access_policy
from recollect.engine.agent_store import Store
from recollect.model.entry import Entry
from recollect.model.history import Event
from recollect.model.provenance import Provenance
from recollect.storage import entries, history
from recollect.storage.database import Transaction

__all__ = ["DEPTH", "SIZE", "provenance"]

DEPTH = 8
"""Maximum number of steps from the entry to a source."""
SIZE = 200
"""Maximum number of sources in a tree."""
SHOWN = 200
"""Maximum characters of a text."""
_NUMBER = re.compile("[0-9]{1,18}")


def provenance(stores: Sequence[Store], reader: str, entry: Entry) -> Provenance:
    """Return the tree of what an entry was made from. `stores` are those that the reader reads."""
    return _Reading(stores, reader).of_entry(entry, DEPTH)


class _Reading:
    """One walk through the sources of an entry."""

    def __init__(self, stores: Sequence[Store], reader: str) -> None:
        self._stores, self._reader = stores, reader
        self._own = [store for store in stores if store.agent == reader]
        self._left = SIZE
        self._expanded: set[str] = set()
        self._ref_codes: dict[str, str | None] = {}

    def of_entry(self, entry: Entry, depth: int, *, in_trash: bool = False) -> Provenance:
        """Return an entry with its sources."""
        ref = f"entry:{entry.id}"
        made_from, left_out = self._sources(entry, depth) if ref not in self._expanded else ((), 0)
        return Provenance(
            ref=ref,
            origin=entry.origin,
            who=entry.source,
            at=entry.created_at,
            conversation=self._ref_code(entry.conversation_id),
            name=entry.name,
            text=_beginning(entry.content),
            in_trash=in_trash,
            made_from=made_from,
            left_out=left_out,
        )

    def _sources(self, entry: Entry, depth: int) -> tuple[tuple[Provenance, ...], int]:
        """Return the sources of an entry, and the number of those that the limits leave out."""
        self._expanded.add(f"entry:{entry.id}")
        made: list[Provenance] = []
        left_out = 0
        refs = entry.evidence or _covered(entry)
        for place, ref in enumerate(refs):
            if depth == 0 or self._left <= 0:
                return tuple(made), left_out + len(refs) - place
            found, more = self._source(ref, depth - 1)
            made += found
            left_out += more
        return tuple(made), left_out

    def _source(self, ref: str, depth: int) -> tuple[list[Provenance], int]:
        """Return the sources that a reference names, and the number of those that the limits leave out."""
        self._left -= 1
        kind, _, rest = ref.partition(":")
        if kind == "event" and ":" in rest:
            return self._events(ref, *rest.split(":", 1))
        if kind == "entry" or names.is_id(ref):
            return [self._entry(rest or ref, depth)], 0
        return [Provenance(ref=ref)], 0

    def _entry(self, entry_id: str, depth: int) -> Provenance:
        for store in self._stores:
            with store.read() as tx:
                found = entries.get(tx, entry_id)
                visible = found is not None and access_policy.shows(tx, found, self._reader)
            if found is not None and visible:
                return self.of_entry(found, depth)
        for store in self._own:
            with store.read() as tx:
                removal = entries.last_removal(tx, entry_id)
            if removal is not None and removal.before:
                return self.of_entry(entries.from_snapshot(entry_id, removal.before), depth, in_trash=True)
        return Provenance(ref=f"entry:{entry_id}", gone=True)

    def _events(self, ref: str, conversation: str, which: str) -> tuple[list[Provenance], int]:
        """Return the events that a reference names: one, or all from one to another."""
        first, _, last = which.partition("..")
        for store in self._own:
            with store.read() as tx:
                found, total = _between(tx, conversation, first, last or first, self._left + 1)
            if found:
                self._left -= len(found) - 1
                return [self._event(event) for event in found], total - len(found)
        return [Provenance(ref=ref, gone=True)], 0

    def _event(self, event: Event) -> Provenance:
        return Provenance(
            ref=f"event:{event.conversation_id}:{event.id}",
            origin=event.origin,
            who=event.speaker or event.role,
            at=event.created_at,
            conversation=self._ref_code(event.conversation_id),
            seq=event.seq,
            text=_beginning(event.content),
            gone=event.erased_at is not None,
        )

    def _ref_code(self, conversation: str | None) -> str | None:
        if conversation is not None and conversation not in self._ref_codes:
            self._ref_codes[conversation] = None
            for store in self._own:
                with store.read() as tx:
                    found = history.conversation(tx, conversation)
                if found is not None:
                    self._ref_codes[conversation] = found.ref_code
        return self._ref_codes.get(conversation or "")


def _covered(entry: Entry) -> tuple[str, ...]:
    """Return a reference to the events that an archive or a chunk covers, for one without evidence."""
    if entry.conversation_id is None or entry.first_event is None or entry.last_event is None:
        return ()
    return (f"event:{entry.conversation_id}:{entry.first_event}..{entry.last_event}",)


def _between(tx: Transaction, conversation: str, first: str, last: str, limit: int) -> tuple[list[Event], int]:
    """Return the events of a conversation from one to another, at most `limit`, and how many there are.

    Both are given by id or number. Markers do not count: no participant said them.
    """
    ends = {event.id: event.seq for event in history.events(tx, "ends", conversation=conversation, ids=[first, last])}
    ends |= {number: int(number) for number in (first, last) if _NUMBER.fullmatch(number)}
    if first not in ends or last not in ends:
        return [], 0
    span = {"conversation": conversation, "first": ends[first], "last": ends[last]}
    row = tx.one("history.count_between", **span)
    return history.events(tx, "between", **span, limit=limit), row[0] if row else 0


def _beginning(content: str) -> str:
    words = " ".join(content.split())
    return words if len(words) <= SHOWN else f"{words[: SHOWN - 1]}…"
