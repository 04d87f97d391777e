"""One agent's rows in one database, with the index that belongs to them. Transactions of the engine start here."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect import text
from recollect.errors import Corrupt
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
_log = logging.getLogger("recollect.store")


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
        self.newest: tuple[int, int, str, str] = (-1, 0, "", "")
        """Of the last event that was appended here: the database's generation, its number, conversation and hash."""
        self.compared = False
        """Whether it is known that its vectors are its embedder's, or was said that they are not."""
        self._whole: int | None = None
        """The generation of the database in which the index was seen to be whole."""

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

    def read(self, beside: Transaction | None = None) -> AbstractContextManager[Transaction]:
        """A consistent state to read from; what is read `beside` a write elsewhere is as new as it can be."""
        if beside is None:
            return self.database.read(self.agent)
        return beside.beside(self.database, self.agent, write=False)

    @contextmanager
    def search(self) -> Iterator[tuple[Transaction, Counters]]:
        """A consistent state to search in: like `read`, but an index that is stale or not whole is rebuilt first."""
        with self.read() as tx:
            counters = Counters.get(tx)
            stale = counters.live > 0 and counters.analysis != text.ANALYSIS_VERSION
            if not stale and self._is_whole(tx, counters):
                yield tx, counters
                return
        with self.write() as work:  # opening a write rebuilds an index of another analysis
            if not self._is_whole(work.tx, work.counters):  # and no other process was first
                _log.warning("the index of %s does not hold all entries; it is rebuilt", self.agent)
                reindex(work)
        with self.read() as tx:
            yield tx, Counters.get(tx)

    def _is_whole(self, tx: Transaction, counters: Counters) -> bool:
        """Whether the index has not lost its rows; looked at once after the database was opened."""
        if self._whole != tx.generation:
            lost = not counters.live and tx.one("entries.some") is not None
            if lost and not counters.documents:
                raise Corrupt(f"the counters of {self.agent} are lost; run `recollect check --repair`")
            whole = not lost and (not counters.live or self.index.whole(tx, counters))
            self._whole = tx.generation if whole else None
        return self._whole == tx.generation

    def write(self, beside: Transaction | None = None) -> AbstractContextManager[Work]:
        """One write, on disk when the block ends; nothing is changed when the block raises.

        One that is made `beside` another may only be on disk when that one ends.
        """
        if beside is None:
            return _Write(self, self.database.write(self.agent))
        return _Write(self, beside.beside(self.database, self.agent, write=True))

    def exists(self, beside: Transaction | None = None) -> bool:
        """Whether anything may be stored for the agent."""
        return self.database.exists(self.agent) if beside is None else beside.sees(self.database, self.agent)


class _Write:
    """A transaction that begins with the counters and ends with them. No generator: every write goes through it."""

    __slots__ = ("_block", "_store", "_work")

    def __init__(self, store: Store, block: AbstractContextManager[Transaction]) -> None:
        self._store, self._block = store, block

    def __enter__(self) -> Work:
        store = self._store
        tx = self._block.__enter__()
        try:
            counters = Counters.lock(tx, text.ANALYSIS_VERSION)
            self._work = Work(tx, counters, store.index)
            if counters.analysis != text.ANALYSIS_VERSION:
                reindex(self._work)
        except BaseException as error:
            self._block.__exit__(type(error), error, error.__traceback__)
            raise
        return self._work

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None:
            try:
                self._work.counters.save(self._work.tx)
            except BaseException as failed:
                self._block.__exit__(type(failed), failed, failed.__traceback__)
                raise
        self._block.__exit__(kind, error, trace)


def document(entry: Entry, content: Sequence[text.Chunk] | None = None) -> dict[str, int]:
    """The terms under which an entry is found: those of its name, content and tags. Aliases never count.

    `content` are the chunks of its content, where they are known already.
    """
    name, tags = entry.name or "", " ".join(entry.tags)
    if content is None:
        return text.terms(f"{name}\n{entry.content}\n{tags}")
    return text.count([*text.chunks(name), *content, *text.chunks(tags)] if name or tags else content)


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
        entries.move(work.tx, found.entry.id, doc)
    work.counters.analysis = text.ANALYSIS_VERSION
