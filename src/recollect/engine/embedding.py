"""Vectors for entries: computed on write by instant embedders, else later. A failing embedder never fails a write."""

import logging
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from recollect.engine.agent_store import Store, Work
from recollect.errors import ConfigError, RecollectError
from recollect.model.entry import Entry, Scope
from recollect.providers.base import embed
from recollect.storage.abandoned import abandon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["BACKFILL", "BATCH", "EmbeddingQueue", "at_once", "attach", "backfill", "compare_models", "reembed"]

BACKFILL = 50
BATCH = 32
_log = logging.getLogger("recollect.embedding")


def at_once(store: Store, contents: Sequence[str]) -> "list[Floats | None]":
    """Return the vectors of contents about to be written; None for those without one yet.

    Calls only an embedder marked as instant; for others, or if it fails, `backfill` computes the vectors. A zero vector
    means that the text has no vector; it is stored like any other, so that the text is not embedded again.
    """
    none: list[Floats | None] = [None] * len(contents)
    if store.embedder is None or not getattr(store.embedder, "instant", False):
        return none
    try:
        rows = embed(store.embedder, contents)
    except RecollectError as error:
        _log.warning("%d entries get their vectors later: %s", len(contents), error)
        return none
    return list(rows)


def attach(store: Store, work: Work, entry: Entry, vector: "Floats | None") -> None:
    """Store the vector of an entry in the transaction that writes the entry. Account-scope entries have none."""
    if vector is not None and store.vectors is not None and entry.scope is not Scope.ACCOUNT:
        store.vectors.put(work.tx, work.counters, entry.id, vector)


def compare_models(store: Store, *, needed: bool = False) -> None:
    """Warn, once per store, if it has vectors of a model other than its embedder's.

    Raises ConfigError if vectors are `needed` and all of them are of another model.
    """
    if store.vectors is None or (store.compared and not needed) or not (store.compared or store.exists()):
        return
    with store.read() as tx:
        useless = needed and not store.vectors.has_any(tx)
        if store.compared and not useless:
            return
        other = store.vectors.other(tx)
    if other is None:
        store.compared = True
        return
    advice = (
        f"there are vectors here that {other[0]!r} made ({other[1]} dimensions), but the embedder is "
        f"{store.vectors.model!r} ({store.vectors.dimension}), and they cannot be compared: until you run "
        "`recollect reembed` to recompute them, those entries are found by their words alone"
    )
    if useless:
        raise ConfigError(advice)
    said, store.compared = store.compared, True
    if not said:
        warnings.warn(advice, stacklevel=2)


def backfill(store: Store, limit: int = BACKFILL) -> int:
    """Embed up to `limit` entries that have no vector; return how many were embedded.

    Does nothing without an embedder. Errors of the embedder propagate; earlier batches are kept. Vectors of another
    model stay: two homes with different embedders would otherwise replace each other's forever.
    """
    return _embed(store, limit, others=False)


def reembed(store: Store, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Embed every entry with the store's embedder, in batches; can be interrupted and resumed at any time.

    Entries stay findable by words throughout, and by vector once they have a new one. `progress` receives the number
    done and the total.
    """
    if store.vectors is None or not store.exists():
        return 0
    model, dim = store.vectors.model, store.vectors.dimension
    with store.read() as tx:
        ((total,),) = tx.all("vectors.to_move", model=model, dim=dim)

    def report(done: int) -> None:
        progress(done, max(done, total))

    report(0)
    done, before = 0, -1
    while done > before:  # another pass for concurrent writes
        before, done = done, _embed(store, None, others=True, done=done, report=report)
    if store.exists():
        with store.write() as work:
            work.tx.run("vectors.packs_drop", model=model, dim=dim)
    return done


class EmbeddingQueue:
    """A background thread that embeds entries after the write, for slow embedders."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Store, None] = {}
        self._work = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self, store: Store) -> None:
        """Queue a store that has entries without a vector. Does not block; does nothing without an embedder."""
        if store.embedder is None:
            return
        with self._lock:
            self._waiting[store] = None
            if self._thread is None or not self._thread.is_alive():  # not running after a fork
                self._thread = threading.Thread(target=self._run, name="recollect-embedding", daemon=True)
                self._thread.start()
        self._work.set()

    def close(self, seconds: float = 5.0) -> bool:
        """Stop after the current batch. Return False if the thread still runs after `seconds`; it cannot write then.

        `backfill` embeds the rest.
        """
        with self._lock:
            thread, self._thread = self._thread, None
            self._waiting.clear()
        self._work.set()
        if thread is None:
            return True
        thread.join(seconds)
        if thread.is_alive():
            abandon(thread)
        return not thread.is_alive()

    def _is_wanted(self) -> bool:
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        while self._is_wanted():
            self._work.wait()
            self._work.clear()
            while self._is_wanted():
                with self._lock:
                    store = next(iter(self._waiting), None)
                    if store is None:
                        break
                    del self._waiting[store]
                try:
                    while self._is_wanted() and backfill(store, BATCH):
                        pass
                except RecollectError as error:
                    _log.warning("vectors are made later: %s", error)


def _embed(
    store: Store, limit: int | None, *, others: bool, done: int = 0, report: Callable[[int], None] = lambda done: None
) -> int:
    """Make one pass over the entries without a vector or, with `others`, with one of another model.

    Return `done` plus the number embedded; `report` is called with it after every batch.
    """
    if store.embedder is None or store.vectors is None or not store.exists():
        return done
    model, dim = store.vectors.model, store.vectors.dimension
    after = ""
    while limit is None or done < limit:
        size = BATCH if limit is None else min(BATCH, limit - done)
        with store.read() as tx:
            rows = tx.all("vectors.missing", model=model, dim=dim, others=int(others), after=after, limit=size)
        if not rows:
            break
        after = rows[-1][0]
        vectors = embed(store.embedder, [content for _, content in rows])
        if not store.exists():  # deleted while the embedder ran: a write would recreate it
            break
        with store.write() as work:
            # Skip entries whose content changed while the embedder ran.
            now: dict[str, str] = dict(work.tx.all("vectors.contents", ids=[entry_id for entry_id, _ in rows]))
            for (entry_id, content), vector in zip(rows, vectors, strict=True):
                if now.get(entry_id) == content:
                    store.vectors.put(work.tx, work.counters, entry_id, vector)
                    done += 1
        report(done)
    return done
