"""Checking that names, log, entries and index of an agent agree, and mending what is derived.

The log tells how each entry came to be. Replaying it shows an entry that was altered or is missing, and a log row that
does not fit what came before it. Names and index follow from entries and log, so they can be made anew; the rest
cannot, and is only told.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recollect.engine import past
from recollect.engine.store import PAGE, Store, Work, document, every, reindex
from recollect.errors import Corrupt
from recollect.model.entry import Entry
from recollect.model.operation import Revision
from recollect.model.report import Finding
from recollect.storage import entries, history
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction

__all__ = ["check"]

SHOWN = 20
"""Findings of one part that are told one by one; the rest is counted."""
PARTS = ("names", "log", "entries", "index", "journal", "turns")
DERIVED = ("index", "names", "turns")
"""What is made from the rest, and can be made anew."""
_LOGGED = (
    "seq", "kind", "content", "name", "category", "scope", "context", "tags", "importance", "source",
    "conversation_id", "channel_id", "created_at",
)  # fmt: skip
"""The fields that only an operation changes."""
_NUMBERS = ("entries", "operations", "documents", "layout", "removals")


@dataclass(slots=True)
class _Found:
    """What one pass over an agent's rows brought to light."""

    entries: int
    operations: int
    problems: dict[str, list[str]] = field(default_factory=lambda: {part: [] for part in PARTS})
    highest: Counters = field(default_factory=Counters)
    """The highest numbers in use; the counters must not be below them."""
    unreadable: bool = False


def check(store: Store, where: str, *, repair: bool) -> tuple[int, int, list[Finding]]:
    """How many entries and operations there are, and what is wrong with them. Repairing rebuilds index and names."""
    with store.read() as tx:
        found = _look(store, tx)
        _look_back(store, tx, found)
    mended: set[str] = set()
    if repair and any(found.problems[part] for part in DERIVED):
        with store.write() as work:
            if found.problems["index"] or found.problems["names"]:
                _mend(work, found)
            if found.problems["turns"]:
                past.rebuild(store, work.tx)
        with store.read() as tx:
            again = _look(store, tx)
            _look_back(store, tx, again)
        mended = {part for part in DERIVED if not again.problems[part]}
    findings = [
        Finding(part=part, where=where, message=message, repaired=part in mended)
        for part, messages in found.problems.items()
        for message in _shown(messages)
    ]
    return found.entries, found.operations, findings


def _shown(messages: Sequence[str]) -> list[str]:
    more = len(messages) - SHOWN
    return [*messages[:SHOWN], *([f"and {more} more of the kind"] if more > 0 else [])]


def _look(store: Store, tx: Transaction) -> _Found:
    counters = Counters.get(tx)
    ((entry_count,),), ((operation_count,),) = tx.all("entries.count"), tx.all("operations.count")
    found = _Found(entry_count, operation_count)
    problems = found.problems
    problems["names"] += [f"the name {name!r} belongs to no entry" for (name,) in tx.all("names.dangling")]
    problems["names"] += [f"entry {id_} has more than one name" for (id_,) in tx.all("names.crowded")]
    living, removed = _read_log(tx, counters, found)
    numbers: set[int] = set()

    def documents() -> Iterator[tuple[int, dict[str, int]]]:
        for stored in _readable(tx, found):
            entry = stored.entry
            found.highest.documents = max(found.highest.documents, stored.doc)
            found.highest.entries = max(found.highest.entries, entry.seq)
            if entry.seq in numbers:
                problems["entries"].append(f"entry {entry.id} has the number {entry.seq}, and so has another one")
            numbers.add(entry.seq)
            if entry.id in living:
                _compare(tx, entry, problems)
            else:
                problems["log"].append(f"entry {entry.id} is there, but the log does not say so")
            living.discard(entry.id)
            yield stored.doc, document(entry)

    try:
        index = store.index.check(tx, counters, documents())
    except (ValueError, IndexError, KeyError) as error:
        index = [f"the index cannot be read ({error})"]
    if found.unreadable:
        index = []  # without all the entries nobody can tell whether it is right
    problems["entries"] += [f"entry {entry_id} is in the log, but it is not there" for entry_id in sorted(living)]
    for entry_id in sorted(removed):
        _replayed(tx, entry_id, problems["log"])
    problems["index"] += [*index, *_low_counters(tx, counters, found.highest)]
    return found


def _look_back(store: Store, tx: Transaction, found: _Found) -> None:
    """Whether the journal is what was written, and the index over it right."""
    found.problems["journal"] += history.breaks(tx)
    if not found.problems["journal"]:
        found.problems["turns"] += past.check(store, tx)


def _compare(tx: Transaction, entry: Entry, problems: dict[str, list[str]]) -> None:
    """Whether the log, replayed, ends in the entry as it is."""
    state = _replayed(tx, entry.id, problems["log"])
    if state is not None:
        actual = _plain(entries.snapshot(entry))
        for name in _LOGGED:
            if state.get(name) != actual.get(name):
                message = f"the {name} of entry {entry.id} is {actual.get(name)!r:.80}, but the log says otherwise"
                problems["names" if name == "name" else "entries"].append(message)


def _low_counters(tx: Transaction, counters: Counters, highest: Counters) -> Iterator[str]:
    """Counters that are below a number in use, so that it would be handed out again."""
    highest.layout = max((segment for segment, _, _, _ in tx.all("index.segments")), default=0)
    for number, doc, _ in tx.all("index.removals_after", number=0):
        highest.removals, highest.documents = max(highest.removals, number), max(highest.documents, doc)
    for name in _NUMBERS:
        told, used = getattr(counters, name), getattr(highest, name)
        if told < used:
            yield f"the counter of {name} says {told}, but {used} is in use"


def _read_log(tx: Transaction, counters: Counters, found: _Found) -> tuple[set[str], set[str]]:
    """Read the whole log once; the entries that are there according to it, and those that were removed."""
    problems, highest = found.problems["log"], found.highest
    living: set[str] = set()
    removed: set[str] = set()
    while rows := tx.all("operations.after", seq=highest.operations, limit=PAGE):
        for seq, _, _, operation, entry_id, before, after in rows:
            if seq != highest.operations + 1:
                problems.append(f"operations {highest.operations + 1} to {seq - 1} are missing")
            highest.operations = seq
            (removed if operation == "remove" else living).add(entry_id)
            (living if operation == "remove" else removed).discard(entry_id)
            try:
                values = [json.loads(text) for text in (before, after) if text]
            except ValueError as error:
                problems.append(f"operation {seq} on entry {entry_id} cannot be read ({error})")
            else:
                highest.entries = max([highest.entries, *(value.get("seq", 0) for value in values)])
    if counters.operations > highest.operations:
        problems.append(f"operations {highest.operations + 1} to {counters.operations} are missing")
    return living, removed


def _replayed(tx: Transaction, entry_id: str, problems: list[str]) -> dict[str, Any] | None:
    """What the log makes of an entry, with what does not fit in it; None if the entry was erased or cannot be told."""
    state: dict[str, Any] = {}
    try:
        revisions = entries.revisions(tx, entry_id)
    except ValueError:
        return None  # told already, when the log was read
    if any(not (revision.before or revision.after) for revision in revisions):
        return None
    for revision in revisions:
        before, after = _plain(revision.before), _plain(revision.after)
        if any(before.get(name) != state.get(name) for name in _changed(revision)):
            problems.append(f"operation {revision.seq} on entry {entry_id} does not fit what the log says before it")
        state = after if revision.operation == "add" else {**state, **after}
    return state


def _changed(revision: Revision) -> Sequence[str]:
    """The fields that an operation found before it changed them."""
    if revision.operation == "add":
        return ()
    return _LOGGED if revision.operation == "remove" else [name for name in _LOGGED if name in revision.before]


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as they come out of the log: lists for tuples, and nothing for what is at rest."""
    return {name: list(value) if isinstance(value, tuple) else value or None for name, value in values.items()}


def _readable(tx: Transaction, found: _Found) -> Iterator[entries.Stored]:
    """Every entry that can be read; the others are told."""
    last = ""
    while rows := tx.all("entries.after_id", id=last, limit=PAGE):
        try:
            batch = entries.after(tx, last, PAGE)
        except Corrupt:
            batch = []
            for row in rows:
                try:
                    batch += entries.stored(tx, [row[0]]).values()
                except Corrupt as error:
                    found.problems["entries"].append(str(error))
                    found.unreadable = True
        yield from batch
        last = rows[-1][0]


def _mend(work: Work, found: _Found) -> None:
    """Make names, counters and index anew from the entries and the log."""
    for (name,) in work.tx.all("names.dangling"):
        work.tx.run("names.drop", name=name)
    counters = work.counters
    for number in _NUMBERS:
        setattr(counters, number, max(getattr(counters, number), getattr(found.highest, number)))
    if found.unreadable:
        return  # an index without some of the entries would hide them
    for stored in list(every(work.tx)):
        _mend_name(work, stored.entry.id)
    reindex(work)


def _mend_name(work: Work, entry_id: str) -> None:
    """Give an entry the name that the log says, and make its other names aliases."""
    state = _replayed(work.tx, entry_id, [])
    if state is None:
        return
    wanted = state.get("name")
    names = work.tx.all("names.of", ids=[entry_id])
    if [name for _, name, canonical in names if canonical] == ([wanted] if wanted else []):
        return
    for _, name, _ in names:
        work.tx.run("names.bind", name=name, entry_id=entry_id, canonical=0)
    if wanted and (entries.binding(work.tx, wanted) or (entry_id, False))[0] == entry_id:
        work.tx.run("names.bind", name=wanted, entry_id=entry_id, canonical=1)
