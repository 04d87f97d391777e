"""Consistency check of an agent's data, and repair of everything that is derived.

The log records how each entry came to be. Replaying it reveals an entry that was altered or is missing, and a log row
that contradicts the rows before it. Names, index and vectors derive from entries and log, so they can be rebuilt, and
so can an entry if the log proves its content. Other damage cannot be repaired and is only reported.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field

from recollect import text
from recollect.engine import conversation_search, graph_checkpoints, log_replay
from recollect.engine.agent_store import PAGE, Store, Work, document, every, reindex
from recollect.errors import Corrupt
from recollect.model.entry import Entry
from recollect.model.report import Finding, Report
from recollect.search import index
from recollect.storage import entries, history
from recollect.storage.columns import COLUMNS
from recollect.storage.counters import Counters
from recollect.storage.database import Database, Row, Transaction

__all__ = ["check", "check_all"]

SHOWN = 20
"""Maximum number of findings listed for one part; the rest is only counted."""
PARTS = ("names", "log", "entries", "index", "vectors", "journal", "turns", "graphs")
REBUILT = ("names", "index", "turns")
"""Derived parts that are only rebuilt as a whole."""
_NUMBERS = ("entries", "operations", "documents", "layout", "removals")


@dataclass(slots=True)
class _Findings:
    """Result of one pass over an agent's rows."""

    entries: int
    operations: int
    _: KW_ONLY
    problems: dict[str, list[str]] = field(default_factory=lambda: {part: [] for part in PARTS})
    highest: Counters = field(default_factory=Counters)
    """Highest numbers in use; no counter may be lower."""
    unreadable: bool = False
    differing: list[str] = field(default_factory=list)
    """Ids of entries whose rows are unreadable, missing, or different from the log."""
    miscounted: bool = False
    """Whether the journal's counters are wrong."""


def check_all(databases: Iterable[tuple[str, Database]], *, repair: bool) -> Report:
    """Check every agent of these databases; with `repair`, rebuild derived data."""
    entry_count = operation_count = event_count = erased = 0
    findings: list[Finding] = []

    def add_damage(where: str, error: Corrupt) -> None:
        if not any(one.message == str(error) for one in findings):  # the same damage may stop every agent
            findings.append(Finding(part="file", where=where, message=str(error)))

    for label, database in databases:
        try:
            findings += database.admin.check()
            agents = database.admin.agents()
        except Corrupt as error:
            add_damage(label, error)
            continue
        for agent in agents:
            try:
                more = check(Store(database, agent), f"{label}/{agent}", repair=repair)
                entry_count, operation_count = entry_count + more[0], operation_count + more[1]
                findings += more[2]
                with database.read(agent) as tx:
                    event_count += history.Journal.get(tx).events
                    erased += tx.all("history.erased_count")[0][0]
            except Corrupt as error:
                add_damage(f"{label}/{agent}", error)
    return Report(
        entries=entry_count,
        operations=operation_count,
        events=event_count,
        erased=erased,
        findings=tuple(findings),
    )


def check(store: Store, where: str, *, repair: bool) -> tuple[int, int, list[Finding]]:
    """Return the number of entries, of operations, and the findings; with `repair`, rebuild derived data."""
    found = last = _look(store)
    problems = found.problems
    if repair and (found.differing or found.problems["vectors"] or found.miscounted):
        with store.database.write(store.agent) as tx:
            # Not store.write(): it first rebuilds an index of another analysis version, which reads all entries.
            counters = Counters.lock(tx, text.ANALYSIS_VERSION)
            _mend_rows(store, Work(tx, counters, store.index), found)
            counters.save(tx)
        last = _look(store)  # names and index can only be checked against all entries
        problems = {part: list(dict.fromkeys([*problems[part], *last.problems[part]])) for part in PARTS}
    if repair and any(last.problems[part] for part in REBUILT):
        with store.write() as work:
            if last.problems["index"] or last.problems["names"]:
                _rebuild(work, last)
            if last.problems["turns"]:
                conversation_search.rebuild(store, work.tx)
        last = _look(store)
    findings = [
        Finding(part=part, where=where, message=message, repaired=repair and message not in _left(last, part, messages))
        for part, messages in problems.items()
        for message in _shown(messages)
    ]
    return found.entries, found.operations, findings


def _left(last: _Findings, part: str, messages: Sequence[str]) -> Sequence[str]:
    """Return the messages that still hold; of a part that is rebuilt as a whole, all of them if any holds."""
    left = last.problems[part]
    return _shown(messages) if left and (part in REBUILT or len(messages) > SHOWN) else left


def _shown(messages: Sequence[str]) -> list[str]:
    more = len(messages) - SHOWN
    return [*messages[:SHOWN], *([f"and {more} more of the kind"] if more > 0 else [])]


# Looking


def _look(store: Store) -> _Findings:
    with store.read() as tx:
        counters = Counters.get(tx)
        ((entry_count,),), ((operation_count,),) = tx.all("entries.count"), tx.all("operations.count")
        found = _Findings(entry_count, operation_count)
        _look_at_entries(store, tx, counters, found)
        if tx.all("vectors.after", entry_id="", limit=1) or tx.all("vectors.every_pack"):
            from recollect.search import vectors

            found.problems["vectors"] += vectors.damage(tx, counters)
        _look_back(store, tx, found)
        found.problems["graphs"] += graph_checkpoints.damage(tx)
    return found


def _look_at_entries(store: Store, tx: Transaction, counters: Counters, found: _Findings) -> None:
    problems = found.problems
    problems["names"] += [f"the name {name!r} refers to no entry" for (name,) in tx.all("names.dangling")]
    for entry_id, least, most in tx.all("names.crowded"):
        strange = least < 0 or most > 1
        message = "a name that is neither canonical nor an alias" if strange else "more than one name"
        problems["names"].append(f"entry {entry_id} has {message}")
    living, removed = _read_log(tx, counters, found)
    logged = living | removed
    numbers: set[int] = set()

    def documents() -> Iterator[tuple[int, dict[str, int]]]:
        for stored in _readable(tx, found, living):
            entry = stored.entry
            if entry.seq in numbers:
                problems["entries"].append(f"entry {entry.id} has the number {entry.seq}, which another entry has, too")
            numbers.add(entry.seq)
            yield stored.doc, document(entry)

    try:
        wrong = store.index.check(tx, counters, documents())
    except (ValueError, IndexError, KeyError) as error:
        wrong = [f"the index cannot be read ({error})"]
    if found.unreadable or counters.analysis != text.ANALYSIS_VERSION:
        # Without all entries the index cannot be verified; of another analysis version it is rebuilt before it is used.
        wrong = []
    for entry_id in sorted(living):
        problems["entries"].append(f"entry {entry_id} is in the log, but does not exist")
        found.differing.append(entry_id)
    for entry_id, rows in _logs(tx, sorted(removed)):
        log_replay.replay(entry_id, rows, problems["log"])
    problems["index"] += [*wrong, *_strange_removals(tx, logged), *_low_counters(tx, counters, found.highest)]


def _look_back(store: Store, tx: Transaction, found: _Findings) -> None:
    """Check the journal's sequence numbers, hashes and counters, then the index over it."""
    broken, miscounted = list(history.breaks(tx)), list(history.miscounts(tx))
    found.miscounted = bool(miscounted)
    found.problems["journal"] += [*broken, *miscounted, *history.strays(tx)]
    if not broken and not miscounted:
        found.problems["turns"] += conversation_search.check(store, tx)


def _read_log(tx: Transaction, counters: Counters, found: _Findings) -> tuple[set[str], set[str]]:
    """Read the whole log; return the ids of the entries that exist according to it, and of those removed."""
    problems, highest = found.problems["log"], found.highest
    living: set[str] = set()
    removed: set[str] = set()
    while rows := tx.all("operations.after", seq=highest.operations, limit=PAGE):
        for row in rows:
            seq, _, _, operation, entry_id, _, _ = row
            if seq != highest.operations + 1:
                problems.append(f"operations {highest.operations + 1} to {seq - 1} are missing")
            highest.operations = seq
            (removed if operation == "remove" else living).add(entry_id)
            (living if operation == "remove" else removed).discard(entry_id)
            if operation not in log_replay.OPERATIONS:
                problems.append(f"operation {seq} on entry {entry_id} is {operation!r:.80}, which is not an operation")
            try:
                seqs = [values.get("seq") for values in log_replay.fields(row)]
            except ValueError as error:
                problems.append(f"operation {seq} on entry {entry_id} cannot be read ({error})")
            else:
                highest.entries = max([highest.entries, *(number for number in seqs if isinstance(number, int))])
    if counters.operations > highest.operations:
        problems.append(f"operations {highest.operations + 1} to {counters.operations} are missing")
    return living, removed


def _readable(tx: Transaction, found: _Findings, living: set[str]) -> Iterator[entries.Stored]:
    """Yield every readable entry, compared with its log; report the others. Ids with a row leave `living`."""
    last = ""
    while rows := tx.all("entries.after_id", id=last, limit=PAGE):
        logs = entries.revision_rows(tx, [row[0] for row in rows])
        for entry_id, seq, *_, doc in rows:
            found.highest.entries = max(found.highest.entries, seq)
            found.highest.documents = max(found.highest.documents, doc)
            if entry_id not in living:
                found.problems["log"].append(f"entry {entry_id} exists, but is not in the log")
        for stored in _batch(tx, rows, found):
            if stored.entry.id in living:
                _compare(stored.entry, logs[stored.entry.id], found)
            yield stored
        living.difference_update(logs)
        last = rows[-1][0]


def _batch(tx: Transaction, rows: Sequence[Row], found: _Findings) -> list[entries.Stored]:
    try:
        return entries.of_rows(tx, rows)
    except Corrupt as error:
        if len(rows) > 1:
            return [stored for row in rows for stored in _batch(tx, [row], found)]
        found.problems["entries"].append(str(error))
        found.unreadable = True
        found.differing.append(rows[0][0])
        return []


def _compare(entry: Entry, rows: Sequence[Row], found: _Findings) -> None:
    """Replay the log of an entry and report the fields in which the stored row differs."""
    state = log_replay.replay(entry.id, rows, found.problems["log"])
    for name, value in log_replay.differences(entry, state).items() if state is not None else ():
        message = f"the {name} of entry {entry.id} is {value!r:.80}, but the log says otherwise"
        found.problems["names" if name == "name" else "entries"].append(message)
        if name != "name":
            found.differing.append(entry.id)


def _strange_removals(tx: Transaction, logged: Collection[str]) -> Iterator[str]:
    """Yield index removals of entries that the log does not know; erasing relies on these rows."""
    for _, doc, entry_id in tx.all("index.removals"):
        if entry_id not in logged:
            yield f"document {doc} was removed for entry {entry_id:.80}, which the log does not know"


def _low_counters(tx: Transaction, counters: Counters, highest: Counters) -> Iterator[str]:
    """Yield counters below a number in use, which would be assigned twice."""
    highest.layout = max((segment for segment, _, _, _ in tx.all("index.segments")), default=0)
    for number, doc, _ in tx.all("index.removals"):
        highest.removals, highest.documents = max(highest.removals, number), max(highest.documents, doc)
    for name in _NUMBERS:
        counted, used = getattr(counters, name), getattr(highest, name)
        if counted < used:
            yield f"the counter of {name} says {counted}, but {used} is in use"


def _logs(tx: Transaction, ids: Sequence[str]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the log rows of each entry, reading page by page."""
    for start in range(0, len(ids), PAGE):
        yield from entries.revision_rows(tx, ids[start : start + PAGE]).items()


# Mending


def _mend_rows(store: Store, work: Work, found: _Findings) -> None:
    """Repair the sources of names and index (entries proven by the log), vectors, and the event counters."""
    if not found.problems["log"]:  # a damaged log may lack the newest operations
        for entry_id, rows in _logs(work.tx, list(dict.fromkeys(found.differing))):
            _mend_entry(work, entry_id, rows, found)
    if found.problems["vectors"]:
        from recollect.search import vectors

        vectors.mend(work.tx, work.counters)
    if found.miscounted:
        history.recount(work.tx, text.ANALYSIS_VERSION)
        conversation_search.rebuild(store, work.tx)


def _mend_entry(work: Work, entry_id: str, rows: Sequence[Row], found: _Findings) -> None:
    """Rewrite an entry from its log, if the log is proven right."""
    stored = work.tx.one("entries.by_ids", ids=[entry_id])
    state = log_replay.replay(entry_id, rows, [])
    once = entries.content_is_once(work.tx, entry_id)
    entry = None if state is None else log_replay.proven(entry_id, stored, state, once=once)
    if entry is None:
        return
    if stored is None:
        work.counters.documents = max(work.counters.documents, found.highest.documents)
        entries.insert(work.tx, entry, work.index.put(work.tx, work.counters, document(entry)))
    else:
        entries.rewrite(work.tx, entry, stored[COLUMNS.index("doc")])


def _rebuild(work: Work, found: _Findings) -> None:
    """Rebuild names, counters and index from the entries and the log."""
    for (name,) in work.tx.all("names.dangling"):
        work.tx.run("names.drop", name=name)
    counters = work.counters
    for number in _NUMBERS:
        setattr(counters, number, max(getattr(counters, number), getattr(found.highest, number)))
    if found.unreadable:
        return  # a rebuilt index would hide the unreadable entries
    if not 0 <= counters.documents - counters.flushed < index.TAIL:
        counters.documents = found.highest.documents
    for entry_id, rows in _logs(work.tx, [stored.entry.id for stored in every(work.tx)]):
        _mend_name(work, entry_id, rows)
    reindex(work)


def _mend_name(work: Work, entry_id: str, rows: Sequence[Row]) -> None:
    """Bind an entry to the name in its log, and turn its other names into aliases."""
    state = log_replay.replay(entry_id, rows, [])
    if state is None:
        return
    wanted = state.get("name")
    names = work.tx.all("names.of", ids=[entry_id])
    if {name: canonical for _, name, canonical in names if canonical} == ({wanted: 1} if wanted else {}):
        return
    for _, name, _ in names:
        work.tx.run("names.bind", name=name, entry_id=entry_id, canonical=0)
    if wanted and (entries.binding(work.tx, wanted) or (entry_id, False))[0] == entry_id:
        work.tx.run("names.bind", name=wanted, entry_id=entry_id, canonical=1)
