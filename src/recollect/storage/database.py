"""The seam between recollect and a database: run a named query in a transaction, for one agent.

Queries live in `queries/*.sql` under names such as `entries.insert`. They are written once, in the SQL that SQLite and
PostgreSQL share: parameters are `:name`, `:name*` stands for a list inside `IN (…)`, and `:name!` for a whole number
that must be part of the text. The agent is bound by the
transaction, never by the caller, so no caller can forget it or choose another one.
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
"""Items of a list that are a parameter each; a database that can read JSON gets more of them as one."""
_HERE = Path(__file__).parent
_NAME = re.compile(r"^-- (name|part): (\S+)$", re.MULTILINE)
_LIST = re.compile(r":(\w+)\*")
_LITERAL = re.compile(r":(\w+)!")
_MADE = re.compile(r"^(CREATE|DROP) (?:UNIQUE )?(TABLE|INDEX) (\w+)", re.MULTILINE)


class Transaction(ABC):
    """One transaction of one agent. Every query gets the parameter `agent` from here."""

    agent: str
    generation: int = 0
    """Changes when the database under the same location is another one than before, so that caches start anew."""
    ranks_vectors: bool = False
    """Whether the database can search vectors by itself."""
    alone: bool = False
    """Whether nobody else writes while this writes, so that a row need not be locked before it is read."""
    counters: Row | None = None
    """The agent's row of counters, where it is certain what it holds without looking."""

    @abstractmethod
    def all(self, query: str, /, **values: Any) -> list[Row]:
        """The rows of a named query."""

    @abstractmethod
    def run(self, query: str, /, **values: Any) -> int:
        """Run a named query; the number of rows it changed."""

    @abstractmethod
    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once per row of values."""

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Put whole rows into a table, as `Database.dump` gives them. Only for moving what another database held."""

    def beside(self, database: "Database", agent: str, *, write: bool) -> AbstractContextManager["Transaction"]:
        """A transaction on another database of the same home while this one is under way, and not used.

        It ends with its block. Where one connection serves both databases, it is a part of this one and ends with it.
        """
        return database.write(agent) if write else database.read(agent)

    def sees(self, database: "Database", agent: str) -> bool:
        """What `Database.exists` says of another database of the same home, while this transaction is under way."""
        return database.exists(agent)

    def vector(self, values: bytes) -> Any:
        """A vector (f32, little endian) as a parameter of a query."""
        return values

    def vector_bytes(self, raw: Any) -> bytes:
        """A vector that a query gave, as f32, little endian."""
        return bytes(raw)

    def one(self, query: str, /, **values: Any) -> Row | None:
        """The first row of a named query, or None."""
        rows = self.all(query, **values)
        return rows[0] if rows else None


class Database(ABC):
    """A place with recollect's tables. Nothing is created before the first write."""

    @abstractmethod
    def read(self, agent: str) -> AbstractContextManager[Transaction]:
        """A transaction that sees one consistent state. On a memory that does not exist yet it sees an empty one."""

    @abstractmethod
    def write(self, agent: str) -> AbstractContextManager[Transaction]:
        """A transaction that is on disk when the block ends, or has changed nothing when the block raises.

        Writers of the same agent go one after the other, so numbers that a writer hands out are dense and in
        commit order.
        """

    @abstractmethod
    def exists(self, agent: str) -> bool:
        """Whether anything was ever written for the agent here (or may have been, where the agents share a file)."""

    def prepare(self, agent: str) -> None:
        """Make what a write `beside` another one cannot make itself."""
        return None

    @abstractmethod
    def agents(self) -> list[str]:
        """The agents that have rows here."""

    @abstractmethod
    def check(self) -> list[Finding]:
        """What is wrong with the storage itself, below the tables."""

    @abstractmethod
    def scrub(self, agent: str) -> tuple[list[str], list[str]]:
        """Make deleted rows unreadable: (places that were rewritten without them, places out of reach)."""

    def in_files(self, words: Sequence[str]) -> set[str]:
        """Those of the words (in small letters) whose bytes are in its files; none where a server keeps the files."""
        return set()

    @abstractmethod
    def tidy(self) -> int:
        """Give back the space of deleted rows, a little at a time, so that nobody waits long; how many pages."""

    @abstractmethod
    def size(self) -> int:
        """How many bytes it takes on disk."""

    @abstractmethod
    def dump(self, agent: str) -> AbstractContextManager[Iterator[tuple[str, list[str], Iterator[Row]]]]:
        """Every table of the agent as (table, columns, rows), all from one state, in the order of their keys."""

    @abstractmethod
    def close(self) -> None:
        """Give back every connection. The database can be used again afterwards."""


class Migration:
    """One numbered step of the schema: `0001_entries.sql` has number 1 and name `entries`."""

    def __init__(self, path: Path) -> None:
        number, _, name = path.stem.partition("_")
        self.number, self.name = int(number), name
        self.sql = path.read_text(encoding="utf-8")

    def statements(self, dialect: str) -> list[str]:
        """Its statements, one by one. A line that starts with `-- postgres: ` counts on PostgreSQL only."""
        lines = [line.strip().removeprefix(f"-- {dialect}: ") for line in self.sql.splitlines()]
        text = "\n".join(line for line in lines if not line.startswith("--"))
        return [part.strip() for part in text.split(";") if part.strip()]


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations, in order."""
    return tuple(Migration(path) for path in sorted((_HERE / "migrations").glob("*.sql")))


@cache
def layout() -> dict[str, str]:
    """The tables and indexes that the migrations make, by name: TABLE or INDEX."""
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
    """All named queries: `entries.insert` is the query `insert` of `queries/entries.sql`.

    What several queries of a file have in common stands there once as `-- part: NAME`, and in them as {NAME}.
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
    """The SQL of a named query, and the names of its list and of its literal parameters."""
    sql = queries()[query]
    return sql, tuple(_LIST.findall(sql)), frozenset(_LITERAL.findall(sql))


class _Plain(dict[str, str | None]):
    def __missing__(self, query: str) -> str | None:
        sql, lists, literals = _parsed(query)
        self[query] = None if lists or literals else sql
        return self[query]


plain = _Plain()
"""The SQL of each named query that is used as it is written; None for those that `expand` must spell out."""


def statement(query: str) -> str:
    """The SQL of a named query that has no list parameters."""
    return queries()[query]


def expand(query: str, values: dict[str, Any], long_list: str | None = None) -> tuple[str, dict[str, Any]]:
    """The SQL of a named query with its list parameters spelled out, and the values that go with it.

    Where the database can read a list from JSON, `long_list` is the SQL that does so: a long one is one parameter then.
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
        # A list of no items must match nothing; NULL inside IN does that on both databases.
        sql = sql.replace(f":{name}*", ", ".join(f":{name}_{i}" for i in range(len(items))) or "NULL")
        values.update((f"{name}_{i}", item) for i, item in enumerate(items))
    return sql, values
