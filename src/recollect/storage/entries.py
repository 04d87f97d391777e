"""Entries, names and the operation log: rows in, values out."""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from recollect.errors import Corrupt
from recollect.model.entry import Category, Entry, Kind, Scope
from recollect.model.filters import Filters
from recollect.model.operation import Revision
from recollect.names import is_id
from recollect.storage import additions
from recollect.storage.columns import (
    BOOKKEEPING,
    COLUMNS,
    WRITTEN,
    category_of,
    filter_values,
    fits,
    from_json,
    from_row,
    scope_of,
    to_columns,
    to_json,
    to_row,
)
from recollect.storage.database import NamedQuery, Row, Transaction

__all__ = [
    "CHUNK",
    "CLOSING",
    "RankingInputs",
    "Stored",
    "added_after",
    "adjust",
    "after",
    "binding",
    "bindings",
    "changed_between",
    "close",
    "complete_addition",
    "content_hash",
    "content_is_once",
    "count_added",
    "find",
    "forget_reasons",
    "from_snapshot",
    "get",
    "insert",
    "insert_all",
    "is_known",
    "is_logged",
    "last_before",
    "last_removal",
    "log",
    "logged_after",
    "logged_newest",
    "lookup",
    "matching",
    "move",
    "named_between",
    "of_rows",
    "read_docs",
    "record",
    "record_addition",
    "record_additions",
    "removed_id",
    "removed_superseded",
    "rename",
    "revision_rows",
    "revisions",
    "rewrite",
    "set_made_from",
    "snapshot",
    "stored",
    "superseded",
    "touched_from",
    "update",
    "use",
]

CLOSING = ("valid_until", "superseded_by", "closed_at")
"""Fields that change when an entry is superseded, retracted or reopened."""
CHUNK = 500
"""Longest list per query: PostgreSQL binds one parameter per item."""
ALIASES_READ = 50
"""Maximum number of entries in the trash to search for an alias: the newest whose snapshot contains it as a string."""
_ADVICE = "Run `recollect check --repair`, which repairs it if the log proves its value; otherwise restore a backup"
_LOG_COLUMNS = ("seq", "at", "actor", "operation", "entry_id", "before", "after")
_CONTENT, _HASH = COLUMNS.index("content"), COLUMNS.index("content_hash")
_NUMBERS = {int, float, type(None)}
"""Types of the stored ranking inputs."""
_KEPT = [name for name in Entry.__dataclass_fields__ if name not in ("id", "content_hash")]
_kept = attrgetter(*_KEPT)


class Stored:
    """An entry and its document number in the index."""

    __slots__ = ("doc", "entry")

    def __init__(self, entry: Entry, doc: int) -> None:
        self.entry, self.doc = entry, doc


def content_hash(content: str) -> str:
    """Return the SHA-256 of the content, which detects damage."""
    return sha256(content.encode()).hexdigest()


def find(tx: Transaction, target: str) -> str | None:
    """Return the id of the entry with this name, alias or id."""
    # Ids take precedence, so that a name that looks like an id cannot shadow the entry with that id.
    if is_id(target) and tx.one("entries.by_ids", ids=[target]):
        return target
    row = tx.one("names.find", name=target.strip())
    return str(row[0]) if row else None


def is_known(tx: Transaction, entry_id: str) -> bool:
    """Return whether this is the id of an entry that exists or was removed."""
    return bool(tx.one("entries.by_ids", ids=[entry_id]) or tx.one("operations.last_removal", entry_id=entry_id))


def is_logged(tx: Transaction, entry_id: str) -> bool:
    """Return whether the log has an operation on an entry with this id."""
    return bool(tx.one("transfer.logged", entry_id=entry_id) or tx.one("entries.by_ids", ids=[entry_id]))


def binding(tx: Transaction, name: str) -> tuple[str, bool] | None:
    """Return the id of the entry with this name, and whether the name is canonical."""
    row = tx.one("names.find", name=name)
    return (row[0], bool(row[1])) if row else None


def bindings(tx: Transaction, names: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Return the binding of each of the names that is bound."""
    rows = (
        row
        for start in range(0, len(names), CHUNK)
        for row in tx.all("names.bound", names=names[start : start + CHUNK])
    )
    return {name: (entry_id, bool(canonical)) for name, entry_id, canonical in rows}


def stored(tx: Transaction, ids: Sequence[str]) -> dict[str, Stored]:
    """Return entries by id, with their document numbers; unknown ids are omitted."""
    return {found.entry.id: found for found in of_rows(tx, tx.all("entries.by_ids", ids=ids))}


def named_between(tx: Transaction, start: str, end: str, after: str, limit: int) -> list[Entry]:
    """Return the entries with names from `start` to before `end` and after a name, in the order of their names."""
    ids = [row[0] for row in tx.all("names.between", start=start, end=end, after=after, limit=limit)]
    found: dict[str, Stored] = {}
    for begin in range(0, len(ids), CHUNK):
        found |= stored(tx, ids[begin : begin + CHUNK])
    return [found[entry_id].entry for entry_id in ids]


def get(tx: Transaction, entry_id: str) -> Entry | None:
    """Return the entry with this id."""
    found = stored(tx, [entry_id])
    return found[entry_id].entry if found else None


def lookup(tx: Transaction, target: str) -> Entry | None:
    """Return the entry with this name, alias or id."""
    found: list[Stored] = []
    if is_id(target):  # ids take precedence, as in `find`
        rows, names = tx.all_of(("entries.by_ids", {"ids": [target]}), ("names.of", {"ids": [target]}))
        found = _named(rows, names)
    if not found:
        value = {"name": target.strip()}
        rows, names = tx.all_of(("entries.by_name", value), ("names.of_name", value))
        found = _named(rows, names)
    return found[0].entry if found else None


def read_docs(
    tx: Transaction, docs: Sequence[int], *queries: NamedQuery, named: bool = True
) -> tuple[dict[int, Entry], list[list[Row]]]:
    """Return entries by document number, and the rows of further queries; `named` if one of them has a name."""
    some = {"docs": docs}
    rows, *others = tx.all_of(("entries.by_docs", some), *queries, *([("names.of_docs", some)] if named else []))
    names = others.pop() if named else []
    return {found.doc: found.entry for found in _named(rows, names)}, others


def after(tx: Transaction, entry_id: str, limit: int) -> list[Stored]:
    """Return the next entries in id order: iterates over all entries, page by page."""
    return of_rows(tx, tx.all("entries.after_id", id=entry_id, limit=limit))


class RankingInputs(NamedTuple):
    """Ranking inputs of an entry besides its text."""

    content_hash: str
    scope: Scope
    category: Category | None
    transcript: bool
    """Whether it quotes a conversation: a hand-off, a chunk or an archive."""
    importance: float
    created_at: int
    accessed_at: int | None
    access_count: int
    names: int
    """How many names it has."""


def matching(tx: Transaction, docs: Sequence[int], filters: Filters) -> dict[int, RankingInputs]:
    """Return the documents whose entries pass the filters, with their ranking inputs."""
    wanted = set(filters.tags)
    query, values = "entries.current_docs", {"current_at": filters.current_at}
    if not filters.only_current:
        query, values = "entries.filter_docs", filter_values(filters)
    passed: dict[int, RankingInputs] = {}
    for start in range(0, len(docs), CHUNK):
        rows = tx.all(
            query,
            docs=docs[start : start + CHUNK],
            **values,
            conversation=filters.conversation,
            channel=filters.channel,
            running=int(filters.running),
            private=int(filters.private),
        )
        if wanted:
            rows = [row for row in rows if wanted.issubset(json.loads(row[1]))]
        passed |= _ranking_inputs(rows)
    return passed


def _ranking_inputs(rows: Sequence[Row]) -> dict[int, RankingInputs]:
    if not rows:
        return {}
    # By column, because a recall reads tens of rows.
    docs, _, hashes, kinds, scopes, categories, *signs = zip(*rows, strict=True)
    if not _NUMBERS.issuperset(map(type, chain.from_iterable(signs))):
        doc = next(row[0] for row in rows if not _NUMBERS.issuperset(map(type, row[6:])))
        raise Corrupt(f"document {doc} of the entries table is damaged; restore a backup")
    try:
        purposes, ranges = list(map(category_of, categories)), list(map(scope_of, scopes))
    except ValueError as error:
        raise Corrupt(f"a row of the entries table is damaged ({error}). {_ADVICE}") from error
    transcripts = [
        kind != Kind.NOTE or purpose is Category.HANDOFFS for kind, purpose in zip(kinds, purposes, strict=True)
    ]
    return dict(zip(docs, map(RankingInputs, hashes, ranges, purposes, transcripts, *signs), strict=True))


def insert(tx: Transaction, entry: Entry, doc: int, *, used_at: int | None = None, added: int | None = None) -> None:
    """Store a new entry's row; the caller writes names, log and index. Without `used_at` its age is unknown; 0 means
    that it was used when it was created.

    `added` is the sequence number of its addition, if that is logged without the content.
    """
    used_at = 0 if used_at == entry.created_at else used_at
    tx.send("entries.insert", **to_columns(entry, doc), used_at=used_at, added=added)


def insert_all(tx: Transaction, made: Sequence[Entry], first_doc: int, first_seq: int, *, used_at: int) -> None:
    """Store the rows of new entries, whose document numbers and additions follow each other from the first ones."""
    rows = (
        (tx.agent, *to_row(entry, first_doc + place), 0 if used_at == entry.created_at else used_at, first_seq + place)
        for place, entry in enumerate(made)
    )
    tx.load("entries", ("agent", *COLUMNS, "used_at", "added"), rows)


def rewrite(tx: Transaction, entry: Entry, doc: int) -> None:
    """Store a repaired row in the place of a damaged one."""
    ((added, used_at),) = tx.all("entries.added", id=entry.id)
    tx.run("entries.delete", id=entry.id)
    insert(tx, entry, doc, used_at=used_at, added=added)


def complete_addition(tx: Transaction, entry_id: str) -> None:
    """Copy the content of an entry into its addition in the log, before it changes or the entry is removed."""
    tx.send("operations.complete", entry_id=entry_id)


def update(tx: Transaction, entry: Entry, doc: int) -> None:
    """Store the fields that a write may change."""
    values = to_columns(entry, doc)
    tx.send("entries.update", **{name: values[name] for name in ("id", *WRITTEN)})


def adjust(tx: Transaction, entry: Entry) -> None:
    """Store an entry's bookkeeping fields, see BOOKKEEPING."""
    values = to_columns(entry, 0)
    tx.run("entries.adjust", **{name: values[name] for name in ("id", *BOOKKEEPING)})


def close(tx: Transaction, entry: Entry, doc: int) -> None:
    """Store the fields that change when an entry is superseded, retracted or reopened."""
    values = to_columns(entry, doc)
    tx.run("entries.close", **{name: values[name] for name in ("id", *CLOSING, "updated_at", "doc")})


def set_made_from(tx: Transaction, entry: Entry) -> None:
    """Store the origin and the evidence of an entry."""
    values = to_columns(entry, 0)
    tx.run("entries.set_made_from", **{name: values[name] for name in ("id", "origin", "evidence", "updated_at")})


def superseded(tx: Transaction, successor: str) -> list[tuple[str, int]]:
    """Return the ids of the entries that this one replaced, and when, newest first."""
    return [(entry_id, closed_at) for entry_id, closed_at in tx.all("entries.superseded", successor=successor)]


def removed_superseded(tx: Transaction, successor: str) -> list[tuple[str, int]]:
    """Return the ids of the entries in the trash that this one replaced, and when, last removed first."""
    rows = tx.all("operations.removed_superseded", needle=f'"superseded_by":{to_json(successor)}')
    return [(entry_id, json.loads(before)["closed_at"]) for entry_id, before in rows]


def forget_reasons(tx: Transaction, successors: Set[str]) -> int:
    """Remove the reasons that the log keeps for superseding entries by one of these; return how many."""
    forgotten = 0
    for seq, *logged in tx.all("operations.superseding"):
        try:
            before, after = map(json.loads, logged)
        except ValueError:
            continue  # damaged; `check` reports it
        if after.get("superseded_by") in successors and after.pop("why", None) is not None:
            before.pop("why", None)
            forgotten += tx.run("operations.rewrite", seq=seq, before=to_json(before), after=to_json(after))
    return forgotten


def move(tx: Transaction, entry_id: str, doc: int) -> None:
    """Store an entry's new document number."""
    tx.run("entries.set_doc", id=entry_id, doc=doc)


def rename(tx: Transaction, entry: Entry, doc: int) -> None:
    """Store the fields that a rename changes besides the names."""
    tx.run("entries.rename", id=entry.id, doc=doc, lifetime=str(entry.lifetime), updated_at=entry.updated_at)


def use(tx: Transaction, ids: Sequence[str], at: int) -> None:
    """Record the time at which entries were last used: their age counts from it; nothing else changes."""
    for start in range(0, len(ids), CHUNK):
        tx.run("entries.use", ids=ids[start : start + CHUNK], at=at)


def snapshot(entry: Entry) -> dict[str, Any]:
    """Return all fields of an entry that a restore needs, omitting those that are None, zero or an empty tuple."""
    return {name: value for name, value in zip(_KEPT, _kept(entry), strict=True) if value or value == ""}


def from_snapshot(entry_id: str, values: Mapping[str, Any]) -> Entry:
    """Rebuild an entry from its snapshot."""
    return from_json(entry_id, values, content_hash=content_hash(values["content"]))


def log(tx: Transaction, revision: Revision) -> None:
    """Append a revision to the operation log."""
    record(
        tx,
        revision.seq,
        at=revision.at,
        actor=revision.actor,
        operation=revision.operation,
        entry_id=revision.entry_id,
        before=revision.before,
        after=revision.after,
    )


def record(
    tx: Transaction,
    seq: int,
    *,
    at: int,
    actor: str,
    operation: str,
    entry_id: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> None:
    """Append one row to the operation log without building a Revision."""
    logged = None
    if after:
        logged = additions.to_log(after, at) if operation == "add" else to_json(after)
    tx.send(
        "operations.insert",
        seq=seq,
        at=at,
        actor=actor,
        operation=operation,
        entry_id=entry_id,
        before=to_json(before) if before else None,
        after=logged,
    )


def record_addition(tx: Transaction, entry: Entry, seq: int, *, at: int, actor: str) -> None:
    """Append the row of a new entry to the operation log, without the content, which the entry has.

    Its concept tags are those of its content.
    """
    tx.send(
        "operations.insert",
        seq=seq,
        at=at,
        actor="" if actor == tx.agent else actor,
        operation="new",
        entry_id=entry.id,
        before=None,
        after=additions.of_new(entry, at),
    )


def record_additions(tx: Transaction, added: Iterable[Entry], first: int, *, at: int, actor: str) -> None:
    """Append a row for each new entry, as `record_addition` does, from the sequence number `first` on."""
    actor = "" if actor == tx.agent else actor
    rows = (
        (tx.agent, seq, at, actor, "new", entry.id, None, additions.of_new(entry, at))
        for seq, entry in enumerate(added, first)
    )
    tx.load("operations", ("agent", *_LOG_COLUMNS), rows)


def revisions(tx: Transaction, entry_id: str, *, legible: bool = False) -> list[Revision]:
    """Return the revisions of an entry, oldest first; skip unreadable ones if `legible`, else raise Corrupt."""
    found = []
    for row in _rows_of(tx, [entry_id]):
        try:
            found.append(_revision(row))
        except Corrupt:
            if not legible:
                raise
    return found


def revision_rows(tx: Transaction, ids: Sequence[str]) -> dict[str, list[Row]]:
    """Return the log rows of each entry, oldest first."""
    found: dict[str, list[Row]] = {entry_id: [] for entry_id in ids}
    for start in range(0, len(ids), CHUNK):
        for row in _rows_of(tx, ids[start : start + CHUNK]):
            found[row[4]].append(row)
    return found


def _rows_of(tx: Transaction, ids: Sequence[str]) -> list[Row]:
    wanted = frozenset(ids)
    new, later = tx.all_of(("operations.of_new", {"ids": ids}), ("operations.of", {"ids": ids}))
    return [row for row in new if row[4] in wanted] + later  # `check` reports a row that another entry refers to


def content_is_once(tx: Transaction, entry_id: str) -> bool:
    """Return whether the log has no content of an entry, which is only in its row."""
    return tx.one("operations.of_new", ids=[entry_id]) is not None


def logged_after(tx: Transaction, seq: int, limit: int) -> list[Revision]:
    """Return a page of the operation log in order, after that sequence number."""
    return [_revision(row) for row in tx.all("operations.after", seq=seq, limit=limit)]


def last_before(tx: Transaction, last: int, at: int) -> int:
    """Return the sequence number of the last operation before that time, or 0; `last` is that of the last operation.

    It is found by bisection, because sequence numbers follow the clock.
    """
    low, high = 0, last  # operations up to `low` are earlier, those after `high` are not
    while low < high:
        row = tx.one("operations.first_from", seq=(low + high + 1) // 2)
        if row is not None and row[1] < at:
            low = row[0]
        else:
            high = (low + high + 1) // 2 - 1
    return low


def logged_newest(tx: Transaction, seq: int, before: int, limit: int, *, transcripts: bool) -> list[Revision]:
    """Return the newest operations between two sequence numbers, both excluded, newest first.

    Those on existing pieces of transcripts are left out unless `transcripts` is set.
    """
    rows = tx.all("operations.newest", seq=seq, before=before, limit=limit, transcripts=int(transcripts))
    return [_revision(row) for row in rows]


def changed_between(tx: Transaction, seq: int, before: int) -> bool:
    """Return whether an entry that existed before `seq` was changed between two sequence numbers, both excluded."""
    return tx.one("operations.change_between", seq=seq, before=before) is not None


def touched_from(tx: Transaction, seq: int, ids: Sequence[str]) -> set[str]:
    """Return the entries of a list that have an operation with that sequence number or a later one."""
    found = set[str]()
    for start in range(0, len(ids), CHUNK):
        some = {"seq": seq, "ids": ids[start : start + CHUNK]}
        rows = tx.all_of(("operations.touched_from", some), ("entries.added_from", some))
        found.update(row[0] for row in chain(*rows))
    return found


def added_after(tx: Transaction, seq: int, ids: Sequence[str]) -> set[str]:
    """Return the entries of a list that were added after the operation with that sequence number."""
    found = set[str]()
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        rows = tx.all_of(
            ("operations.added_of", {"seq": seq, "ids": some}), ("entries.added_from", {"seq": seq + 1, "ids": some})
        )
        found.update(row[0] for row in chain(*rows))
    return found


def count_added(tx: Transaction, seq: int, *, transcripts: bool) -> int:
    """Return the number of existing entries that were added after the operation with that sequence number."""
    ((found,),) = tx.all("operations.count_added", seq=seq, transcripts=int(transcripts))
    return int(found)


def last_removal(tx: Transaction, entry_id: str) -> Revision | None:
    """Return the last removal of an entry, from which it can be restored."""
    row = tx.one("operations.last_removal", entry_id=entry_id)
    return _revision(row) if row else None


def removed_id(tx: Transaction, target: str, *, living: bool = True) -> str | None:
    """Return the id of the entry in the trash with this id, or with this name or alias when it was last removed.

    If there is none and `living` is set, return that of an existing entry found by the target that was once removed.
    """
    if is_id(target) and tx.one("operations.last_removal", entry_id=target):
        return target
    name = target.strip()
    row = tx.one("operations.removed_name", needle=f'"name":{to_json(name)}', limit=1)
    if row is not None:
        return str(row[0])
    for entry_id, before in tx.all("operations.removed_name", needle=to_json(name), limit=ALIASES_READ):
        if name in json.loads(before).get("aliases", ()):
            return str(entry_id)
    found = find(tx, target) if living else None
    return found if found and tx.one("operations.last_removal", entry_id=found) else None


def _revision(row: Row) -> Revision:
    seq, at, actor, operation, entry_id, before, after_ = row
    try:
        values = [additions.of_log(text, at) for text in (before, after_)]
    except ValueError as error:
        raise Corrupt(f"operation {seq} on entry {entry_id} cannot be read ({error}); restore a backup") from error
    return Revision(
        seq=seq, at=at, actor=actor, operation=operation, entry_id=entry_id, before=values[0], after=values[1]
    )


def of_rows(tx: Transaction, rows: Sequence[Row]) -> list[Stored]:
    """Build entries, with their names, from rows of COLUMNS; raise Corrupt if a row is invalid."""
    named = (
        name
        for start in range(0, len(rows), CHUNK)
        for name in tx.all("names.of", ids=[row[0] for row in rows[start : start + CHUNK]])
    )
    return _named(rows, named)


def _named(rows: Sequence[Row], named: Iterable[Row]) -> list[Stored]:
    """Build entries from rows of COLUMNS and the rows of their names."""
    names: dict[str, str] = {}
    aliases: dict[str, list[str]] = {}
    for entry_id, name, canonical in named:
        if canonical:
            names[entry_id] = name
        else:
            aliases.setdefault(entry_id, []).append(name)
    return [_entry(row, names.get(row[0]), aliases.get(row[0], ())) for row in rows]


def _entry(row: Row, name: str | None, aliases: Iterable[str]) -> Stored:
    found = content_hash(row[_CONTENT])
    if not fits(found, row[_HASH]):
        raise Corrupt(f"the content of entry {row[0]} is not what was written: its fingerprint differs. {_ADVICE}")
    try:
        return Stored(from_row(row, found, name, tuple(aliases)), row[-1])
    except (ValueError, TypeError) as error:
        raise Corrupt(f"the row of entry {row[0]} is damaged ({error}). {_ADVICE}") from error
