"""One agent's rows in one database, with their index. The engine opens its transactions here."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect import names, text
from recollect.errors import Corrupt
from recollect.model.entry import Category, Entry
from recollect.providers.base import Embedder
from recollect.search.index import STALE, Index
from recollect.storage import entries, marks
from recollect.storage.counters import Counters
from recollect.storage.database import Database, Transaction

if TYPE_CHECKING:
    from recollect.search.journal import JournalIndex
    from recollect.search.vectors import Vectors

__all__ = ["PAGE", "Store", "Work", "document", "every", "reindex"]

PAGE = 1_000
REBUILT_AT_ONCE = 10_000
"""Number of entries, or of turns, up to which an index of another analysis version is rebuilt before it is searched."""
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
        self.rebuild_later: Callable[[], None] | None = None
        """Has the indexes rebuilt in the background; None if there is no background."""
        self.index = Index()
        self.newest: tuple[int, int, str, str] = (-1, 0, "", "")
        """Last event appended here: database generation, sequence number, conversation and hash."""
        self.context_cache: object = None
        """The parts of the last context that do not depend on the command; see `engine/context_cache.py`."""
        self.context_reads: Counter[str] = Counter()
        """How often it was reused, and how often it was recomputed."""
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

    def cached(self) -> dict[str, int]:
        """Return the bytes of what is cached of the index of words, of turns, and of the vectors."""
        made = self.__dict__  # without building an index for it
        return {
            "words": self.index.cached(),
            "turns": made["turns"].cached() if "turns" in made else 0,
            "vectors": made["vectors"].cached() if made.get("vectors") is not None else 0,
        }

    def release(self) -> None:
        """Drop what is cached; the next search reads it again."""
        self.index.release()
        self.context_cache = None
        for cache in (self.__dict__.get("turns"), self.__dict__.get("vectors")):
            if cache is not None:
                cache.release()

    def read(self, beside: Transaction | None = None) -> AbstractContextManager[Transaction]:
        """Open a read snapshot; `beside` a write transaction on another database, it is as recent as possible."""
        if beside is None:
            return self.database.read(self.agent)
        return beside.beside(self.database, self.agent, write=False)

    @contextmanager
    def search(self) -> Iterator[tuple[Transaction, Counters]]:
        """Open a snapshot to search in: like `read`, but a stale or incomplete index is rebuilt first.

        A large index of an older analysis version is searched as it is while the background rebuilds it.
        """
        with self.read() as tx:
            counters = Counters.get(tx)
            stale = counters.live > 0 and counters.analysis != text.ANALYSIS_VERSION
            if stale and counters.analysis != STALE and self.rebuilds_later(counters.live):
                stale = False
            if not stale and self._is_whole(tx, counters):
                yield tx, counters
                return
        with self.write() as work:  # write() rebuilds an index of another analysis version
            if not self._is_whole(work.tx, work.counters):  # no other process was first
                _log.warning("the index of %s does not hold all entries; it is rebuilt", self.agent)
                reindex(work)
        with self.read() as tx:
            yield tx, Counters.get(tx)

    def rebuilds_later(self, size: int) -> bool:
        """Return whether an index of this size is rebuilt in the background, and have it rebuilt there."""
        if size <= REBUILT_AT_ONCE or self.rebuild_later is None:
            return False
        self.rebuild_later()
        return True

    def _is_whole(self, tx: Transaction, counters: Counters) -> bool:
        """Return whether the index has all its rows; checked until it succeeds once per database generation."""
        if self._whole != tx.generation:
            lost = not counters.live and tx.one("entries.some") is not None
            if lost and not counters.documents:
                raise Corrupt(f"the counters of {self.agent} are lost; run `recollect check --repair`")
            whole = not lost and (not counters.live or self.index.whole(tx, counters))
            self._whole = tx.generation if whole else None
        return self._whole == tx.generation

    def write(self, beside: Transaction | None = None, *, group: bool = False) -> AbstractContextManager[Work]:
        """Open a write transaction: durable when the block ends, rolled back if the block raises.

        One opened `beside` another transaction may become durable only when that one ends. `group` is described at
        `Database.write`.
        """
        if beside is None:
            return _WriteBlock(self, self.database.write(self.agent, group=group))
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
                if self._work.counters.operations > self._operations:
                    marks.record(self._work.tx, self._operations + 1, self._work.counters.operations)
                self._work.counters.save(self._work.tx)
            except BaseException as failed:
                self._block.__exit__(type(failed), failed, failed.__traceback__)
                raise
        self._block.__exit__(kind, error, trace)
        if error is None and self._work.counters.operations > self._operations:
            self._store.on_commit(self._store.agent, self._work.categories)


def document(entry: Entry, content: Sequence[text.Chunk] | None = None) -> dict[str, int]:
    """Return the index terms of an entry with their counts: of its name, content and tags, but not its aliases.

    A generated name is left out: the characters of its random code would match words and numbers of a query.
    `content` is the chunked content, if the caller already has it.
    """
    name, tags = entry.name or "", " ".join(entry.tags)
    if name and names.is_generated(name):
        name = ""
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
