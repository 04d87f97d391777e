"""Checking that names, log, entries and index of an agent agree, and mending what is derived."""

from collections.abc import Iterator

from recollect.engine.store import Store, document, every, reindex
from recollect.errors import Corrupt
from recollect.model.entry import Entry
from recollect.model.report import Finding
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction

__all__ = ["check"]

SHOWN = 20
"""Findings of one kind that are told one by one; the rest is counted."""


def check(store: Store, where: str, *, repair: bool) -> tuple[int, int, list[Finding]]:
    """How many entries and operations there are, and what is wrong with them. Repairing rebuilds index and names."""
    with store.read() as tx:
        try:
            entry_count, operation_count, problems = _problems(store, tx)
        except Corrupt as error:
            return 0, 0, [Finding(part="entries", where=where, message=str(error))]
    repaired = False
    if repair and any(part in ("index", "names") for part, _ in problems):
        with store.write() as work:
            for (name,) in work.tx.all("names.dangling"):
                work.tx.run("names.drop", name=name)
            reindex(work)
        with store.read() as tx:
            left = {part for part, _ in _problems(store, tx)[2]}
        repaired = not {"index", "names"} & left
    findings = [
        Finding(part=part, where=where, message=message, repaired=repaired and part in ("index", "names"))
        for part, message in problems
    ]
    return entry_count, operation_count, findings


def _problems(store: Store, tx: Transaction) -> tuple[int, int, list[tuple[str, str]]]:
    counters = Counters.get(tx)
    ((entry_count,),), ((operation_count,),) = tx.all("entries.count"), tx.all("operations.count")
    problems = [("names", f"the name {name!r} belongs to no entry") for (name,) in tx.all("names.dangling")]
    problems += [("names", f"entry {id_} has more than one name") for (id_,) in tx.all("names.crowded")]
    if operation_count != counters.operations:
        problems.append(
            ("log", f"the log has {operation_count} rows, but {counters.operations} operations were counted")
        )
    reached = 0

    def documents() -> Iterator[tuple[int, dict[str, int]]]:
        nonlocal reached
        for found in every(tx):
            reached += 1
            problems.extend(("log", message) for message in _against_log(tx, found.entry))
            yield found.doc, document(found.entry)

    index = store.index.check(tx, counters, documents())
    if reached != entry_count:
        problems.append(("entries", f"{entry_count} entries are counted, but {reached} can be reached by their ids"))
    problems += [("index", message) for message in index[:SHOWN]]
    if len(index) > SHOWN:
        problems.append(("index", f"and {len(index) - SHOWN} more of the kind"))
    return entry_count, operation_count, problems


def _against_log(tx: Transaction, entry: Entry) -> list[str]:
    """Whether the log, replayed, ends in the entry as it is."""
    content, name, erased, known = "", None, False, False
    for revision in entries.revisions(tx, entry.id):
        known = True
        erased = erased or not (revision.before or revision.after)
        content = revision.after.get("content", content)
        if revision.operation in ("add", "rename"):
            name = revision.after.get("name")
    if not known:
        return [f"entry {entry.id} is not in the log"]
    if erased:
        return []
    problems = []
    if content != entry.content:
        problems.append(f"the content of entry {entry.id} is not what the log says was written last")
    if name != entry.name:
        problems.append(f"entry {entry.id} is named {entry.name!r}, but the log says {name!r}")
    return problems
