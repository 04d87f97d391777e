"""Named queries: `entries.insert` is the query `insert` of `queries/entries.sql`.

They are written once, in the SQL that SQLite and PostgreSQL share: parameters are `:name`, `:name*` is a list inside
`IN (…)`, and `:name!` an integer that is inlined as a literal.
"""

import json
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from recollect.storage.columns import PARTS

__all__ = ["expand", "plain", "queries", "statement"]

FEW = 32
"""Longest list whose items are bound one by one; a database that can read JSON gets a longer list as one parameter."""
_FOLDER = Path(__file__).parent / "queries"
_NAME = re.compile(r"^-- (name|part): (\S+)$", re.MULTILINE)
_LIST = re.compile(r":(\w+)\*")
_LITERAL = re.compile(r":(\w+)!")


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
    return sql, tuple(_LIST.findall(sql)), frozenset(_LITERAL.findall(sql))


class _Plain(dict[str, str | None]):
    def __missing__(self, query: str) -> str | None:
        sql, lists, literals = _parsed(query)
        self[query] = None if lists or literals else sql
        return self[query]


plain = _Plain()
"""The SQL of each named query without list or literal parameters; None for queries that need `expand`."""


def statement(query: str) -> str:
    """Return the SQL of a named query that has no list parameters."""
    return queries()[query]


def expand(query: str, values: dict[str, Any], long_list: str | None = None) -> tuple[str, dict[str, Any]]:
    """Return the SQL of a named query with its list and literal parameters expanded, and the values to bind.

    If the database can read a list from JSON, `long_list` is the SQL that does so: a long list becomes one parameter.
    """
    _, lists, literals = _parsed(query)
    items = {name: list(values.pop(name)) for name in lists}
    # A size of -1 is a list in one parameter.
    sizes = [-1 if long_list is not None and len(found) > FEW else len(found) for found in items.values()]
    sql = _with_lists(query, tuple(sizes), long_list)
    for name in literals:
        sql = sql.replace(f":{name}!", str(int(values.pop(name))))
    for (name, found), size in zip(items.items(), sizes, strict=True):
        if size < 0:
            values[name] = json.dumps(found)
        else:
            values.update(zip(_parameters(name, size), found, strict=True))
    return sql, values


@lru_cache(maxsize=512)
def _with_lists(query: str, sizes: tuple[int, ...], long_list: str | None) -> str:
    """Return the SQL of a named query for lists of these sizes. Cached, because it is on the path of every search."""
    sql, lists, _ = _parsed(query)
    for name, size in zip(lists, sizes, strict=True):
        if size < 0 and long_list is not None:
            sql = sql.replace(f":{name}*", long_list.format(name))
        else:
            # An empty list must match nothing; `IN (NULL)` does that on both databases.
            sql = sql.replace(f":{name}*", ", ".join(f":{one}" for one in _parameters(name, size)) or "NULL")
    return sql


@lru_cache(maxsize=512)
def _parameters(name: str, size: int) -> tuple[str, ...]:
    """Return the names of the parameters of a list."""
    return tuple(f"{name}_{i}" for i in range(size))
