"""One agent's rows in one database, with the index that belongs to them. Transactions of the engine start here."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from recollect import text
from recollect.model.entry import Entry
from recollect.search.index import Index
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Database, Transaction

__all__ = ["PAGE", "Store", "Work", "document", "every", "reindex"]

PAGE = 1_000


@dataclass(slots=True)
class Work:
    """A write transaction: the rows, the counters and the index move together or not at all."""

    tx: Transaction
    counters: Counters
    index: Index


class Store:
    """One agent's rows in one database."""

    def __init__(self, database: Database, agent: str) -> None:
        self.database, self.agent = database, agent
        self.index = Index()

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
