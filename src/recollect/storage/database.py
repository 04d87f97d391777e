"""The interface between recollect and a database: run a named query in a transaction, for one agent.

Queries live in `queries/*.sql` under names such as `entries.insert`. They are written once, in the SQL that SQLite and
PostgreSQL share: parameters are `:name`, `:name*` is a list inside `IN (…)`, and `:name!` an integer that is inlined
as a literal. The transaction binds the agent, never the caller, so no caller can forget it or pass another one.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

from recollect.model.report import Finding

__all__ = [
    "Database", "Migration", "Row", "Transaction", "expand", "layout", "migrations", "plain", "queries", "statement",
]  # fmt: skip

Row = tuple[Any, ...]
FEW = 32
"""Longest list whose items are bound one by one; a database that can read JSON gets a longer list as one parameter."""
_HERE = Path(__file__).parent
_NAME = re.compile(r"^-- (name|part): (\S+)$", re.MULTILINE)
_LIST = re.compile(r":(\w+)\*")
_LITERAL = re.compile(r":(\w+)!")
_MADE = re.compile(r"^(CREATE|DROP) (?:UNIQUE )?(TABLE|INDEX) (\w+)", re.MULTILINE)


class Transaction(ABC):
    """One transaction of one agent. Every query gets the parameter `agent` from here."""

    agent: str
    generation: int = 0
    """Changes when the database at this location is replaced by another one, which invalidates caches."""
    ranks_vectors: bool = False
    """True if the database can run vector searches itself."""
    alone: bool = False
    """True if the database serialises writers, so SELECT … FOR UPDATE is unnecessary."""
    counters: Row | None = None
    """The agent's row of counters, if its cached value is known to be current."""

    @abstractmethod
    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return the rows of a named query."""

    @abstractmethod
    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query and return the number of rows it changed."""

    @abstractmethod
    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once for each row of values."""

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Bulk-load complete rows, as `Database.dump` yields them. Only for copying from another database."""

    def beside(self, database: "Database", agent: str, *, write: bool) -> AbstractContextManager["Transaction"]:
        """Open a transaction on another database of the same home while this one is open, but not in use.

        It ends with its block. If one connection serves both databases, it is part of this transaction and ends with
        it.
        """
        return database.write(agent) if write else database.read(agent)

    def sees(self, database: "Database", agent: str) -> bool:
        """Return `Database.exists` for another database of the same home, while this transaction is open."""
        return database.exists(agent)

    def vector(self, values: bytes) -> Any:
        """Convert a vector (little-endian f32) to a query parameter."""
        return values

    def vector_bytes(self, raw: Any) -> bytes:
        """Convert a vector returned by a query to little-endian f32."""
        return bytes(raw)

    def one(self, query: str, /, **values: Any) -> Row | None:
        """Return the first row of a named query, or None."""
        rows = self.all(query, **values)
        return rows[0] if rows else None


class Database(ABC):
    """Storage with recollect's tables. Nothing is created before the first write."""

    @abstractmethod
    def read(self, agent: str) -> AbstractContextManager[Transaction]:
        """Open a snapshot: one consistent state. A memory that does not exist yet reads as empty."""

    @abstractmethod
    def write(self, agent: str) -> AbstractContextManager[Transaction]:
        """Open a transaction that is on disk when the block ends, and rolled back when the block raises.

        Writers of the same agent are serialised, so the sequence numbers they assign are dense and in commit order.
        """

    @abstractmethod
    def exists(self, agent: str) -> bool:
        """Return whether anything was ever written for the agent (or may have been, if agents share a file)."""

    def prepare(self, agent: str) -> None:
        """Create the agent's storage ahead of a write `beside` another one, which cannot create it."""
        return None

    @abstractmethod
    def agents(self) -> list[str]:
        """Return the agents that have rows here."""

    @abstractmethod
    def check(self) -> list[Finding]:
        """Return the defects of the storage itself, below the level of tables."""

    @abstractmethod
    def scrub(self, agent: str) -> tuple[list[str], list[str]]:
        """Make deleted rows unrecoverable; return (places rewritten without them, places out of reach)."""

    def in_files(self, words: Sequence[str]) -> set[str]:
        """Return the words (lowercase) whose bytes are in its files; none if a server manages the files."""
        return set()

    @abstractmethod
    def tidy(self) -> int:
        """Release the space of deleted rows in short transactions that do not block others; return the page count."""

    @abstractmethod
    def size(self) -> int:
        """Return its size on disk, in bytes."""

    @abstractmethod
    def dump(self, agent: str) -> AbstractContextManager[Iterator[tuple[str, list[str], Iterator[Row]]]]:
        """Yield every table of the agent as (table, columns, rows), all from one snapshot, rows in key order."""

    @abstractmethod
    def close(self) -> None:
        """Release every connection. The database can be used again afterwards."""


class Migration:
    """One numbered step of the schema: `0001_entries.sql` has number 1 and name `entries`."""

    def __init__(self, path: Path) -> None:
        number, _, name = path.stem.partition("_")
        self.number, self.name = int(number), name
        self.sql = path.read_text(encoding="utf-8")

    def statements(self, dialect: str) -> list[str]:
        """Return its statements. A line that starts with `-- postgres: ` applies to PostgreSQL only."""
        lines = [line.strip().removeprefix(f"-- {dialect}: ") for line in self.sql.splitlines()]
        text = "\n".join(line for line in lines if not line.startswith("--"))
        return [part.strip() for part in text.split(";") if part.strip()]


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations, in order."""
    return tuple(Migration(path) for path in sorted((_HERE / "migrations").glob("*.sql")))


@cache
def layout() -> dict[str, str]:
    """Return the tables and indexes that the migrations create, as name to TABLE or INDEX."""
    made: dict[str, str] = {}
    for migration in migrations():
        for verb, kind, name in _MADE.findall(migration.sql):
            if verb == "CREATE":
                made[name] = kind
            else:
                del made[name]
    return made


@cache
def queries() -> dict[str, str]:
    """Return all named queries: `entries.insert` is the query `insert` of `queries/entries.sql`.

    A fragment that several queries of a file share is defined once as `-- part: NAME` and included as {NAME}.
    """
    found: dict[str, str] = {}
    for path in sorted((_HERE / "queries").glob("*.sql")):
        parts = _NAME.split(path.read_text(encoding="utf-8"))
        shared: dict[str, str] = {}
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
    sql, lists, literals = _parsed(query)
    for name in literals:
        sql = sql.replace(f":{name}!", str(int(values.pop(name))))
    for name in lists:
        items = list(values.pop(name))
        if long_list is not None and len(items) > FEW:
            sql = sql.replace(f":{name}*", long_list.format(name))
            values[name] = json.dumps(items)
            continue
        # An empty list must match nothing; `IN (NULL)` does that on both databases.
        sql = sql.replace(f":{name}*", ", ".join(f":{name}_{i}" for i in range(len(items))) or "NULL")
        values.update((f"{name}_{i}", item) for i, item in enumerate(items))
    return sql, values
