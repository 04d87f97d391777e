"""The interface between recollect and a database, in two parts.

`Database` is what every caller needs: run named queries in a transaction, for one agent. `Administration` is what
checks, backups, exports and erasures need besides. The transaction binds the agent, never the caller, so no caller can
forget it or pass another one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from recollect.model.report import Finding
from recollect.model.stats import ConnectionCounts

__all__ = ["Administration", "Database", "DumpedTables", "NamedQuery", "Row", "Transaction"]

Row = tuple[Any, ...]
NamedQuery = tuple[str, Mapping[str, Any]]
"""The name of a query and its values."""
DumpedTables = Iterator[tuple[str, list[str], Iterator[Row]]]
"""The tables of an agent as (table, columns, rows)."""


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

    def all_of(self, *queries: NamedQuery) -> list[list[Row]]:
        """Return the rows of several named queries; for a server, in one round trip."""
        return [self.all(query, **values) for query, values in queries]

    def send(self, query: str, /, **values: Any) -> None:
        """Run a named query whose result is not needed. A later call, or the end of the transaction, may raise its
        error.
        """
        self.run(query, **values)

    @abstractmethod
    def many(self, query: str, /, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a named query once for each row of values."""

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Bulk-load complete rows, which include the agent, into a table."""

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

    admin: "Administration"

    @abstractmethod
    def read(self, agent: str) -> AbstractContextManager[Transaction]:
        """Open a snapshot: one consistent state. A memory that does not exist yet reads as empty."""

    @abstractmethod
    def write(self, agent: str, *, group: bool = False) -> AbstractContextManager[Transaction]:
        """Open a transaction that is on disk when the block ends, and rolled back when the block raises.

        Writers of the same agent are serialised, so the sequence numbers they assign are dense and in commit order.
        With `group`, concurrent writes may share one commit: only for a short block that opens no other transaction,
        by a caller that holds no lock.
        """

    @abstractmethod
    def exists(self, agent: str) -> bool:
        """Return whether anything was ever written for the agent (or may have been, if agents share a file)."""

    def snapshot(self, places: "Sequence[tuple[Database, str]]") -> AbstractContextManager[None]:
        """Let all reads of this thread in the block see one state, if one server holds these places.

        The places are the databases and agents that will be read. A write in the block is seen by the reads after it.
        """
        return nullcontext()

    def prepare(self, agent: str) -> None:
        """Create the agent's storage ahead of a write `beside` another one, which cannot create it."""
        return None


class Administration(ABC):
    """Operations on a whole database, not on the rows of one transaction."""

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
    def connections(self) -> ConnectionCounts:
        """Return how many connections this process has."""

    @abstractmethod
    def size(self) -> int:
        """Return its size on disk, in bytes."""

    def cached(self) -> int:
        """Return the bytes of pages that the database library caches in this process, for all databases together."""
        return 0

    def release(self) -> None:
        """Drop the cached pages of connections that are not in use."""
        return None

    @abstractmethod
    def dump(self, agent: str, *, complete: bool = False) -> AbstractContextManager[DumpedTables]:
        """Yield the tables of the agent as (table, columns, rows), all from one snapshot, rows in key order.

        A table without rows may be left out. With `complete`, each addition in the log has the content, also one whose
        content only the entry has.
        """

    @abstractmethod
    def close(self) -> None:
        """Release every connection. The database can be used again afterwards."""
