"""Entries, names and the operation log: rows in, values out."""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import Any

from recollect.errors import Corrupt
from recollect.model.entry import Category, Entry, Kind, Scope
from recollect.model.filters import Filters
from recollect.model.operation import Revision
from recollect.names import is_id
from recollect.storage.columns import (
    BOOKKEEPING,
    COLUMNS,
    WRITTEN,
    filter_values,
    from_columns,
    from_json,
    to_columns,
    to_json,
)
from recollect.storage.database import Row, Transaction

__all__ = [
    "CHUNK",
    "CLOSING",
    "RankingInputs",
    "Stored",
    "adjust",
    "after",
    "binding",
    "bindings",
    "close",
    "content_hash",
    "find",
    "forget_reasons",
    "from_snapshot",
    "get",
    "insert",
    "is_known",
    "last_removal",
    "log",
    "logged_after",
    "matching",
    "move",
    "of_rows",
    "record",
    "removed_id",
    "removed_superseded",
    "rename",
    "revision_rows",
    "revisions",
    "set_made_from",
    "snapshot",
    "stored",
    "superseded",
    "update",
    "use",
    "with_docs",
]

CLOSING = ("valid_until", "superseded_by", "closed_at")
"""Fields that change when an entry is superseded, retracted or reopened."""
CHUNK = 500
"""Longest list per query: PostgreSQL binds one parameter per item."""
ALIASES_READ = 50
"""Maximum number of entries in the trash to search for an alias: the newest whose snapshot contains it as a string."""
_ADVICE = "Run `recollect check --repair`, which mends it if the log proves what it was; else restore a backup"
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


def get(tx: Transaction, entry_id: str) -> Entry | None:
    """Return the entry with this id."""
    found = stored(tx, [entry_id])
    return found[entry_id].entry if found else None


def with_docs(tx: Transaction, docs: Sequence[int]) -> dict[int, Entry]:
    """Return entries by document number."""
    return {found.doc: found.entry for found in of_rows(tx, tx.all("entries.by_docs", docs=docs))}


def after(tx: Transaction, entry_id: str, limit: int) -> list[Stored]:
    """Return the next entries in id order: iterates over all entries, page by page."""
    return of_rows(tx, tx.all("entries.after_id", id=entry_id, limit=limit))


@dataclass(frozen=True, slots=True)
class RankingInputs:
    """Ranking inputs of an entry besides its text."""

    scope: Scope
    category: Category | None
    transcript: bool = field(kw_only=True)
    """Whether it quotes a conversation: a hand-off, a chunk or an archive."""
    importance: float
    created_at: int
    accessed_at: int | None
    access_count: int


def matching(tx: Transaction, docs: Sequence[int], filters: Filters) -> dict[int, RankingInputs]:
    """Return the documents whose entries pass the filters, with their ranking inputs."""
    wanted, values = set(filters.tags), filter_values(filters)
    passed: dict[int, RankingInputs] = {}
    for start in range(0, len(docs), CHUNK):
        rows = tx.all(
            "entries.filter_docs",
            docs=docs[start : start + CHUNK],
            **values,
            conversation=filters.conversation,
            channel=filters.channel,
            running=int(filters.running),
            private=int(filters.private),
        )
        for doc, tags, kind, scope, category, *signs in rows:
            if not wanted or wanted.issubset(json.loads(tags)):
                if not all(sign is None or isinstance(sign, int | float) for sign in signs):
                    raise Corrupt(f"document {doc} of the entries table is damaged; restore a backup")
                purpose = Category(category) if category else None
                transcript = kind != Kind.NOTE or purpose is Category.HANDOFFS
                passed[doc] = RankingInputs(Scope(scope), purpose, *signs, transcript=transcript)
    return passed


def insert(tx: Transaction, entry: Entry, doc: int, used_at: int | None = None) -> None:
    """Store a new entry's row; the caller writes names, log and index. Without `used_at` its age is unknown."""
    tx.run("entries.insert", **to_columns(entry, doc), used_at=used_at)


def update(tx: Transaction, entry: Entry, doc: int) -> None:
    """Store the fields that a write may change."""
    values = to_columns(entry, doc)
    tx.run("entries.update", **{name: values[name] for name in ("id", *WRITTEN)})


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
    tx.run(
        "operations.insert",
        seq=seq,
        at=at,
        actor=actor,
        operation=operation,
        entry_id=entry_id,
        before=to_json(before) if before else None,
        after=to_json(after) if after else None,
    )


def revisions(tx: Transaction, entry_id: str, *, legible: bool = False) -> list[Revision]:
    """Return the revisions of an entry, oldest first; skip unreadable ones if `legible`, else raise Corrupt."""
    found = []
    for row in tx.all("operations.of", entry_id=entry_id):
        try:
            found.append(_revision(row))
        except Corrupt:
            if not legible:
                raise
    return found


def revision_rows(tx: Transaction, ids: Sequence[str]) -> dict[str, list[Row]]:
    """Return the raw log rows of each entry, oldest first."""
    found: dict[str, list[Row]] = {entry_id: [] for entry_id in ids}
    for start in range(0, len(ids), CHUNK):
        for row in tx.all("operations.of_each", ids=ids[start : start + CHUNK]):
            found[row[4]].append(row)
    return found


def logged_after(tx: Transaction, seq: int, limit: int) -> list[Revision]:
    """Return a page of the operation log in order, after that sequence number."""
    return [_revision(row) for row in tx.all("operations.after", seq=seq, limit=limit)]


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
        values = [json.loads(text) if text else {} for text in (before, after_)]
        if not all(isinstance(value, dict) for value in values):
            raise ValueError("not a JSON object")
    except ValueError as error:
        raise Corrupt(f"operation {seq} on entry {entry_id} cannot be read ({error}); restore a backup") from error
    return Revision(
        seq=seq, at=at, actor=actor, operation=operation, entry_id=entry_id, before=values[0], after=values[1]
    )


def of_rows(tx: Transaction, rows: Sequence[Row]) -> list[Stored]:
    """Build entries, with their names, from rows of COLUMNS; raise Corrupt if a row is invalid."""
    if not rows:
        return []
    names: dict[str, str] = {}
    aliases: dict[str, list[str]] = {}
    for start in range(0, len(rows), CHUNK):
        for entry_id, name, canonical in tx.all("names.of", ids=[row[0] for row in rows[start : start + CHUNK]]):
            if canonical:
                names[entry_id] = name
            else:
                aliases.setdefault(entry_id, []).append(name)
    return [_entry(row, names.get(row[0]), aliases.get(row[0], ())) for row in rows]


def _entry(row: Row, name: str | None, aliases: Iterable[str]) -> Stored:
    stored = dict(zip(COLUMNS, row, strict=True))
    doc = stored["doc"]
    if content_hash(stored["content"]) != stored["content_hash"]:
        raise Corrupt(f"the content of entry {row[0]} is not what was written: its fingerprint differs. {_ADVICE}")
    try:
        stored["name"], stored["aliases"] = name, tuple(aliases)
        return Stored(from_columns(stored), doc)
    except (ValueError, TypeError) as error:
        raise Corrupt(f"the row of entry {row[0]} is damaged ({error}). {_ADVICE}") from error
