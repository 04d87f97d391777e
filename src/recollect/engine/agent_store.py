"""One agent's rows in one database, with their index. The engine opens its transactions here."""

import logging
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect import text
from recollect.errors import Corrupt
from recollect.model.entry import Category, Entry
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
    """A write transaction: rows, counters and index change atomically."""

    tx: Transaction
    counters: Counters
    index: Index
    categories: set[Category] = field(default_factory=set)
    """The categories whose notes were changed."""


class Store:
    """One agent's rows in one database. Without an embedder there are no vectors, and search uses words alone."""

    def __init__(self, database: Database, agent: str, embedder: Embedder | None = None) -> None:
        self.database, self.agent, self.embedder = database, agent, embedder
        self.on_commit: Callable[[str, Set[Category]], None] = lambda agent, categories: None
        """Called after each commit that added to the operation log, with the agent and the changed categories."""
        self.embed_later: Callable[[], None] = lambda: None
        """Has the entries without a vector, or with a stale one, embedded in the background."""
        self.index = Index()
        self.newest: tuple[int, int, str, str] = (-1, 0, "", "")
        """Last event appended here: database generation, sequence number, conversation and hash."""
        self.context_cache: object = None
        """What the last context had whatever its command was; see `engine/context_cache.py`."""
        self.compared = False
        """Whether the stored vectors are known to match the embedder, or the user was warned that they do not."""
        self._whole: int | None = None
        """Database generation for which the index was found complete."""

    @cached_property
    def vectors(self) -> "Vectors | None":
        """The vectors of the store's embedder; None without one."""
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
        """Open a read snapshot; `beside` a write transaction on another database, it is as recent as possible."""
        if beside is None:
            return self.database.read(self.agent)
        return beside.beside(self.database, self.agent, write=False)

    @contextmanager
    def search(self) -> Iterator[tuple[Transaction, Counters]]:
        """Open a snapshot to search in: like `read`, but a stale or incomplete index is rebuilt first."""
        with self.read() as tx:
            counters = Counters.get(tx)
            stale = counters.live > 0 and counters.analysis != text.ANALYSIS_VERSION
            if not stale and self._is_whole(tx, counters):
                yield tx, counters
                return
        with self.write() as work:  # write() rebuilds an index of another analysis version
            if not self._is_whole(work.tx, work.counters):  # no other process was first
                _log.warning("the index of %s does not hold all entries; it is rebuilt", self.agent)
                reindex(work)
        with self.read() as tx:
            yield tx, Counters.get(tx)

    def _is_whole(self, tx: Transaction, counters: Counters) -> bool:
        """Return whether the index has all its rows; checked until it succeeds once per database generation."""
        if self._whole != tx.generation:
            lost = not counters.live and tx.one("entries.some") is not None
            if lost and not counters.documents:
                raise Corrupt(f"the counters of {self.agent} are lost; run `recollect check --repair`")
            whole = not lost and (not counters.live or self.index.whole(tx, counters))
            self._whole = tx.generation if whole else None
        return self._whole == tx.generation

    def write(self, beside: Transaction | None = None) -> AbstractContextManager[Work]:
        """Open a write transaction: durable when the block ends, rolled back if the block raises.

        One opened `beside` another transaction may become durable only when that one ends.
        """
        if beside is None:
            return _WriteBlock(self, self.database.write(self.agent))
        return _WriteBlock(self, beside.beside(self.database, self.agent, write=True))

    def exists(self, beside: Transaction | None = None) -> bool:
        """Return whether the database may hold anything for the agent."""
        return self.database.exists(self.agent) if beside is None else beside.sees(self.database, self.agent)


class _WriteBlock:
    """A transaction that locks the counters first and saves them last. Not a generator: the hot path of writes."""

    __slots__ = ("_block", "_operations", "_store", "_work")

    def __init__(self, store: Store, block: AbstractContextManager[Transaction]) -> None:
        self._store, self._block = store, block

    def __enter__(self) -> Work:
        store = self._store
        tx = self._block.__enter__()
        try:
            counters = Counters.lock(tx, text.ANALYSIS_VERSION)
            self._work, self._operations = Work(tx, counters, store.index), counters.operations
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
        if error is None and self._work.counters.operations > self._operations:
            self._store.on_commit(self._store.agent, self._work.categories)


def document(entry: Entry, content: Sequence[text.Chunk] | None = None) -> dict[str, int]:
    """Return the index terms of an entry with their counts: of its name, content and tags, but not its aliases.

    `content` is the chunked content, if the caller already has it.
    """
    name, tags = entry.name or "", " ".join(entry.tags)
    if content is None:
        return text.terms(f"{name}\n{entry.content}\n{tags}")
    return text.count([*text.chunks(name), *content, *text.chunks(tags)] if name or tags else content)


def every(tx: Transaction) -> Iterator[entries.Stored]:
    """Yield all entries of the agent, reading page by page."""
    last = ""
    while batch := entries.after(tx, last, PAGE):
        yield from batch
        last = batch[-1].entry.id


def reindex(work: Work) -> None:
    """Rebuild the index from the entries."""
    work.index.rebuild(work.tx, work.counters)
    for found in every(work.tx):
        doc = work.index.put(work.tx, work.counters, document(found.entry))
        entries.move(work.tx, found.entry.id, doc)
    work.counters.analysis = text.ANALYSIS_VERSION
