"""Split and join the account's part of an agent's rows: directories and servers store it separately, a single file
together with the rest. Pure: rows in, rows out.

Sequence numbers are assigned per agent and database, and the log has no gaps. So a part that is split off is
renumbered, and the numbers of a part that is joined continue after those of the other.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from recollect.storage import additions
from recollect.storage.database import Row
from recollect.transfer.archive import Tables

__all__ = ["NOTHING", "AccountRows", "found_in", "joined", "part"]

_REFERRING = ("names", "operations", "recall_events", "promotions", "job_changes", "embeddings")
_ENTRY = {"entries": "id", **dict.fromkeys(_REFERRING, "entry_id")}
"""Tables whose rows belong to an entry, and the column with the entry's id."""
_ONE_EACH = {"jobs": "name", "job_runs": "run"}
"""Tables in which both parts may have the same row, and its key; the workspace's row is kept."""
_NUMBERED = {"operations": "seq", "recall_events": "id", "job_changes": "number"}
"""Tables whose rows have a number that no other row refers to."""


@dataclass(frozen=True, slots=True)
class AccountRows:
    """Ids of an agent's account entries, including trashed ones, and the log lengths of the account and the rest."""

    ids: frozenset[str]
    operations: int
    others: int


NOTHING = AccountRows(frozenset(), 0, 0)
"""No account entries."""


def found_in(tables: Tables) -> AccountRows:
    """Find the account entries among an agent's rows."""
    ids: set[str] = set()
    logged: list[str] = []
    total = 0
    for table, columns, rows in tables:
        if table == "entries":
            identity, scope = columns.index("id"), columns.index("scope")
            ids.update(row[identity] for row in rows if row[scope] == "account")
        elif table == "operations":
            identity, operation, after = (columns.index(name) for name in ("entry_id", "operation", "after"))
            for row in rows:
                total += 1
                if row[identity] in ids:
                    logged.append(row[identity])
                elif row[operation] == "add" and '"scope":"account"' in (row[after] or ""):
                    ids.add(row[identity])  # trashed
                    logged.append(row[identity])
    return AccountRows(frozenset(ids), len(logged), total - len(logged))


def part(tables: Tables, found: AccountRows, *, account: bool) -> Tables:
    """Return only the account's rows, or all others. Without account entries, the others are unchanged."""
    if not found.ids and not account:
        yield from tables
        return
    for table, columns, rows in tables:
        if table == "counters":
            values = {"operations": found.operations if account else found.others}
            yield table, columns, [_with(columns, row, **values) for row in rows]
        elif table in _ENTRY and not (account and table == "embeddings"):  # the account never has vectors
            place = columns.index(_ENTRY[table])
            own = (row for row in rows if (row[place] in found.ids) is account)
            yield table, columns, _numbered(columns, own) if table == "operations" else own
        elif not account:
            yield table, columns, rows


def joined(own: Tables, account: Tables) -> Tables:
    """Join both parts. The account's part is held in memory: it holds what applies everywhere, and is small."""
    more = {table: (columns, list(rows)) for table, columns, rows in account}
    entries = 0
    for table, columns, rows in own:
        added = more.pop(table, (columns, []))[1]
        if table == "counters":
            (row,) = rows
            entries = _value(columns, row, "entries")
            values = {
                name: _value(columns, row, name) + sum(_value(columns, other, name) for other in added)
                for name in ("entries", "operations")
            }
            yield table, columns, [_with(columns, row, **values)]
        elif table in _ONE_EACH:
            place = columns.index(_ONE_EACH[table])
            yield table, columns, _one_each(place, rows, added)
        else:
            yield table, columns, _together(table, columns, rows, _moved(table, columns, added, entries))
    for table, (columns, added) in more.items():
        yield table, columns, _moved(table, columns, added, entries)


def _moved(table: str, columns: Sequence[str], rows: Iterable[Row], by: int) -> Iterator[Row]:
    """Shift the sequence numbers of entries, also in the log, so that they do not collide with the other part's."""
    for row in rows:
        if table == "entries":
            row = _with(columns, row, seq=_value(columns, row, "seq") + by)
        elif table == "operations":
            values = {name: additions.renumbered(_value(columns, row, name), by) for name in ("before", "after")}
            row = _with(columns, row, **values)
        yield row


def _together(table: str, columns: Sequence[str], rows: Iterable[Row], added: Iterable[Row]) -> Iterator[Row]:
    """Chain the rows of both parts; the numbers of the second continue after those of the first."""
    number = _NUMBERED.get(table)
    if table == "entries":  # document numbers follow the order of ids
        place = columns.index("id")
        yield from heapq.merge(rows, added, key=lambda row: str(row[place]))
        return
    if number is None:
        yield from chain(rows, added)
        return
    last = 0
    for row in rows:
        last = max(last, _value(columns, row, number))
        yield row
    for row in added:
        yield _with(columns, row, **{number: last + _value(columns, row, number)})


def _one_each(place: int, rows: Iterable[Row], added: Iterable[Row]) -> Iterator[Row]:
    known = set()
    for row in chain(rows, added):
        if row[place] not in known:
            known.add(row[place])
            yield row


def _numbered(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[Row]:
    for number, row in zip(count(1), rows, strict=False):
        yield _with(columns, row, seq=number)


def _value(columns: Sequence[str], row: Row, name: str) -> Any:
    return row[columns.index(name)]


def _with(columns: Sequence[str], row: Row, **values: Any) -> Row:
    """Return the row with some columns replaced."""
    return tuple(values.get(name, value) for name, value in zip(columns, row, strict=True))
