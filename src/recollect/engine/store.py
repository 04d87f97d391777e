"""One agent's rows in one database, with the index that belongs to them. Transactions of the engine start here."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from recollect import text
from recollect.model.entry import Entry
from recollect.providers.base import Embedder
from recollect.search.index import Index
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Database, Transaction

if TYPE_CHECKING:
    from recollect.search.journal import JournalIndex
    from recollect.search.vectors import Vectors

__all__ = ["PAGE", "Store", "Work", "document", "every", "reindex"]

PAGE = 1_000


@dataclass(slots=True)
class Work:
    """A write transaction: the rows, the counters and the index move together or not at all."""

    tx: Transaction
    counters: Counters
    index: Index


class Store:
    """One agent's rows in one database. Without an embedder there are no vectors, and everything works on words."""

    def __init__(self, database: Database, agent: str, embedder: Embedder | None = None) -> None:
        self.database, self.agent, self.embedder = database, agent, embedder
        self.index = Index()
        self.compared = False
        """Whether it is known that its vectors are its embedder's, or was said that they are not."""

    @cached_property
    def vectors(self) -> "Vectors | None":
        """The vectors of the store's embedder."""
        if self.embedder is None:
            return None
        from recollect.search.vectors import Vectors

        return Vectors(self.embedder.model, self.embedder.dimension)

    @cached_property
    def turns(self) -> "JournalIndex":
        """The index over the journal."""
        from recollect.search.journal import JournalIndex

        return JournalIndex()

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A consistent state to read from."""
        with self.database.read(self.agent) as tx:
            yield tx

    @contextmanager
    def search(self) -> Iterator[tuple[Transaction, Counters]]:
        """A consistent state to search in: like `read`, but an index of another analysis is made anew first."""
        with self.read() as tx:
            counters = Counters.get(tx)
            stale = counters.live > 0 and counters.analysis != text.ANALYSIS_VERSION
            if not stale:
                yield tx, counters
        if stale:
            with self.write():
                pass  # opening a write brings the index up to date
            with self.read() as tx:
                yield tx, Counters.get(tx)

    @contextmanager
    def write(self) -> Iterator[Work]:
        """One write, on disk when the block ends; nothing is changed when the block raises."""
        with self.database.write(self.agent) as tx:
            counters = Counters.lock(tx, text.ANALYSIS_VERSION)
            work = Work(tx, counters, self.index)
            if counters.analysis != text.ANALYSIS_VERSION:
                reindex(work)
            yield work
            counters.save(tx)

    def exists(self) -> bool:
        """Whether anything may be stored for the agent."""
        return self.database.exists(self.agent)


def document(entry: Entry) -> dict[str, int]:
    """The terms under which an entry is found: those of its name, content and tags. Aliases never count."""
    return text.terms("\n".join([entry.name or "", entry.content, " ".join(entry.tags)]))


def every(tx: Transaction) -> Iterator[entries.Stored]:
    """All entries of the agent, page by page."""
    last = ""
    while batch := entries.after(tx, last, PAGE):
        yield from batch
        last = batch[-1].entry.id


def reindex(work: Work) -> None:
    """Build the index anew from the entries."""
    work.index.rebuild(work.tx, work.counters)
    for found in every(work.tx):
        doc = work.index.put(work.tx, work.counters, document(found.entry))
        entries.move(work.tx, found.entry, doc)
    work.counters.analysis = text.ANALYSIS_VERSION
