"""Named queries: `entries.insert` is the query `insert` of `queries/entries.sql`.

They are written once, in the SQL that SQLite and PostgreSQL share: parameters are `:name`, `:name*` is a list inside
`IN (…)`, and `:name!` an integer that is inlined as a literal. `json_each(:name)` has the items of a JSON array: one
statement takes many rows. SQLite finds a parameter by its number at once, by its name among all others: `numbered` is
for it, `expand` for PostgreSQL.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from recollect.storage.columns import PARTS

__all__ = ["expand", "numbered", "numbered_rows", "queries", "statement"]

FEW = 32
"""Longest list whose items are bound one by one; a database that can read JSON gets a longer list as one parameter."""
_FOLDER = Path(__file__).parent / "queries"
_NAME = re.compile(r"^-- (name|part): (\S+)$", re.MULTILINE)
_LIST = re.compile(r":(\w+)\*")
_LITERAL = re.compile(r":(\w+)!")
_PARAMETER = re.compile(r":(\w+)(?:\*|\b(?!!))")
"""A parameter of a query, except a literal one."""


@cache
def queries() -> dict[str, str]:
    """Return all named queries.

    A fragment that several queries of a file share is defined once as `-- part: NAME` and included as {NAME}; so are
    the fragments that `columns.py` derives from the fields of an entry.
    """
    found: dict[str, str] = {}
    for path in sorted(_FOLDER.glob("*.sql")):
        parts = _NAME.split(path.read_text(encoding="utf-8"))
        shared = dict(PARTS)
        for kind, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            sql = text.strip().rstrip(";")
            for part, meant in shared.items():
                sql = sql.replace(f"{{{part}}}", meant)
            (shared if kind == "part" else found)[name if kind == "part" else f"{path.stem}.{name}"] = sql
    return found


@cache
def _parsed(query: str) -> tuple[str, tuple[str, ...], frozenset[str]]:
    """Return the SQL of a named query and the names of its list and literal parameters."""
    sql = queries()[query]
    return sql, tuple(dict.fromkeys(_LIST.findall(sql))), frozenset(_LITERAL.findall(sql))


def statement(query: str) -> str:
    """Return the SQL of a named query that has no list parameters."""
    return queries()[query]


def expand(query: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the SQL of a named query with its list and literal parameters expanded, and the values to bind."""
    _, lists, literals = _parsed(query)
    items = {name: list(values.pop(name)) for name in lists}
    sql = _with_lists(query, tuple(map(len, items.values())))
    for name in literals:
        sql = sql.replace(f":{name}!", str(int(values.pop(name))))
    for name, found in items.items():
        values.update(zip(_parameters(name, len(found)), found, strict=True))
    return sql, values


def numbered(query: str, values: Mapping[str, Any], long_list: str) -> tuple[str, list[Any]]:
    """Return the SQL of a named query with parameters ?1, ?2, … and the values to bind, in their order.

    `long_list` is the SQL that reads a list from JSON, which makes a long one a single parameter.
    """
    found = _NUMBERED.get(query)
    if found is None:
        _, lists, literals = _parsed(query)
        if not lists and not literals:
            found = _NUMBERED[query] = _with_numbers(query, (), long_list)
        else:
            items = [list(values[name]) for name in lists]
            sizes = tuple([-1 if len(item) > FEW else len(item) for item in items])  # -1: in one parameter
            sql, names = _with_numbers(query, sizes, long_list)
            for name in literals:
                sql = sql.replace(f":{name}!", str(int(values[name])))
            bound = list(map(values.__getitem__, names))
            for item, size in zip(items, sizes, strict=True):
                bound += [json.dumps(item)] if size < 0 else item
            return sql, bound
    sql, names = found
    return sql, list(map(values.__getitem__, names))


def numbered_rows(query: str, rows: Iterable[Mapping[str, Any]], agent: str) -> tuple[str, Iterator[Sequence[Any]]]:
    """Return what `numbered` does for a query without list and literal parameters, which runs once for each row."""
    sql, names = _with_numbers(query, (), "")
    bind = itemgetter(*names)
    return sql, (bind({**row, "agent": agent}) for row in rows)


_NUMBERED: dict[str, tuple[str, tuple[str, ...]]] = {}
"""The SQL and parameters of queries without list or literal parameters."""


@lru_cache(maxsize=512)
def _with_numbers(query: str, sizes: tuple[int, ...], long_list: str) -> tuple[str, tuple[str, ...]]:
    """Return the SQL of a named query for lists of these sizes, and its parameters without those of lists."""
    sql, lists, _ = _parsed(query)
    names = tuple(dict.fromkeys(name for name in _PARAMETER.findall(sql) if name not in lists))
    numbers = {name: f"?{number}" for number, name in enumerate(names, 1)}
    last = len(names)
    for name, size in zip(lists, sizes, strict=True):
        if size < 0:
            numbers[name] = long_list.format(f"?{last + 1}")
        else:
            numbers[name] = ", ".join(f"?{last + place}" for place in range(1, size + 1)) or "NULL"
        last += abs(size)
    return _PARAMETER.sub(lambda found: numbers[found[1]], sql), names


@lru_cache(maxsize=512)
def _with_lists(query: str, sizes: tuple[int, ...]) -> str:
    """Return the SQL of a named query for lists of these sizes. Cached, because it is on the path of every search."""
    sql, lists, _ = _parsed(query)
    for name, size in zip(lists, sizes, strict=True):
        # An empty list must match nothing; `IN (NULL)` does that on both databases.
        sql = sql.replace(f":{name}*", ", ".join(f":{one}" for one in _parameters(name, size)) or "NULL")
    return sql


@lru_cache(maxsize=512)
def _parameters(name: str, size: int) -> tuple[str, ...]:
    """Return the names of the parameters of a list."""
    return tuple(f"{name}_{i}" for i in range(size))
