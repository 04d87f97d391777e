"""Replay the log of an entry: derive its state, compare it with the row, and prove that the log is right.

If the log is complete, the row follows from it. The proof is the content hash in the row: if the content that the log
ends in has this hash, the log is authentic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.errors import Corrupt
from recollect.model.entry import Entry, Kind, Lifetime, Scope, SetBy, fields_set_by
from recollect.storage import additions, entries
from recollect.storage.columns import COLUMNS, fits
from recollect.storage.database import Row, Transaction

__all__ = ["OPERATIONS", "differences", "fields", "proven", "removable", "replay"]

OPERATIONS = ("add", "rename", "alias", "write", "remove")
_LOGGED = fields_set_by(SetBy.OPERATION)
"""Fields that change only through an operation."""
_UNLOGGED = ("updated_at", *(name for name in fields_set_by(SetBy.UPKEEP, SetBy.VAULT) if name != "lifetime"))

FieldValues = dict[str, Any]


def fields(row: Row) -> tuple[FieldValues, FieldValues]:
    """Return the fields before and after a log row. Raises ValueError if the row cannot be parsed."""
    before, after = (_plain(additions.of_log(written, row[1])) for written in row[5:7])
    return before, after


def replay(entry_id: str, rows: Sequence[Row], problems: list[str]) -> FieldValues | None:
    """Return an entry's state from its log, None if erased or unreadable; append inconsistencies to `problems`."""
    state: FieldValues = {}
    try:
        parsed = [fields(row) for row in rows]
    except ValueError:
        return None  # reported when the log was read
    # An erasure blanks the rows up to it; an entry that was rewritten without the erased text begins again after them.
    blank = [place for place, (before, after) in enumerate(parsed) if not (before or after)]
    if blank:
        rows, parsed = rows[blank[-1] + 1 :], parsed[blank[-1] + 1 :]
        if not rows or rows[0][3] != "add":
            return None
    for (seq, at, _, operation, *_), (before, after) in zip(rows, parsed, strict=True):
        if not _fits(operation, before, after, state):
            problems.append(f"operation {seq} on entry {entry_id} contradicts the log before it")
        if operation == "add":
            state = after
        elif operation in ("rename", "write"):
            state = {**state, **after, "updated_at": at}
    return state


def differences(entry: Entry, state: FieldValues) -> dict[str, Any]:
    """Return the fields in which an entry differs from its log, with the entry's values."""
    actual = _plain(entries.snapshot(entry))
    return {name: actual.get(name) for name in _LOGGED if state.get(name) != actual.get(name)}


def proven(entry_id: str, row: Row | None, state: FieldValues, *, once: bool = False) -> Entry | None:
    """Return the entry from the log, with the fields that only the row has; None without proof that the log is right.

    Without a row, nothing contradicts a complete log. With `once` the content is that of the row, which must fit its
    hash.
    """
    known = {name: value for name, value in state.items() if value is not None}
    try:
        if row is not None:
            stored = dict(zip(COLUMNS, row, strict=True))
            content = known["content"]
            is_whole = fits(entries.content_hash(content), stored["content_hash"])
            if not is_whole and (once or content != stored["content"]):
                return None
            known |= {name: stored[name] for name in _UNLOGGED}
            if stored["lifetime"] in list(Lifetime):
                known["lifetime"] = stored["lifetime"]
        return entries.from_snapshot(entry_id, known)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def removable(tx: Transaction, entry_id: str) -> tuple[entries.Stored, bool] | None:
    """Return an entry to be removed, and whether its row is readable; None if there is no row.

    For an unreadable row, return the entry from its log, else what the row still contains.
    """
    row = tx.one("entries.by_ids", ids=[entry_id])
    if row is None:
        return None
    try:
        return entries.of_rows(tx, [row])[0], True
    except Corrupt:
        pass
    state = replay(entry_id, entries.revision_rows(tx, [entry_id])[entry_id], [])
    once = entries.content_is_once(tx, entry_id)
    entry = None if state is None else proven(entry_id, row, state, once=once) or proven(entry_id, None, state)
    stored = dict(zip(COLUMNS, row, strict=True))
    if entry is None:
        rest = {name: stored[name] for name in ("seq", "content", "source", "created_at", "updated_at")}
        plain = {"kind": Kind.NOTE, "scope": Scope.WORKSPACE, "lifetime": Lifetime.LONG_TERM}
        entry = entries.from_snapshot(entry_id, {**rest, **plain})
    names = {name: canonical for _, name, canonical in tx.all("names.of", ids=[entry_id])}
    name = entry.name if state else next((one for one, canonical in names.items() if canonical), None)
    aliases = tuple(one for one in names if one != name)
    return entries.Stored(replace(entry, name=name, aliases=aliases), stored["doc"]), False


def _fits(operation: str, before: FieldValues, after: FieldValues, state: FieldValues) -> bool:
    """Whether the `before` fields of an operation match the state that the log gives up to it."""
    if operation == "add":
        return True
    if operation in ("rename", "write") and before.keys() != after.keys():
        return False
    names = _LOGGED if operation == "remove" else [name for name in _LOGGED if name in before]
    return all(before.get(name) == state.get(name) for name in names)


def _plain(values: Mapping[str, Any]) -> FieldValues:
    """Normalise fields to the form in the log: lists for tuples, None for empty values."""
    return {name: list(value) if isinstance(value, tuple) else value or None for name, value in values.items()}
