"""Vectors for entries: computed on write by instant embedders, else later. A failing embedder never fails a write.

The vector of a note is made from its name and its content: `staging database port: 5433` answers a question that `5433`
does not. The names of other kinds are generated and say nothing. A vector that was made from another name is stale: it
is searched until the background replaces it.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.engine.agent_store import Store, Work
from recollect.errors import ConfigError, RecollectError
from recollect.model.entry import Entry, Kind, Scope
from recollect.model.operation import Add
from recollect.providers.base import embed
from recollect.storage.abandoned import abandon
from recollect.storage.database import Row, Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = [
    "BACKFILL",
    "BATCH",
    "EmbeddingQueue",
    "TextVector",
    "at_once",
    "attach",
    "backfill",
    "compare_models",
    "embedded_text",
    "reembed",
    "text_of",
]

BACKFILL = 50
BATCH = 32
_log = logging.getLogger("recollect.embedding")


@dataclass(frozen=True, slots=True, eq=False)
class TextVector:
    """A vector, and the text that it was made from."""

    text: str
    row: "Floats"


def embedded_text(kind: Kind | str, name: str | None, content: str) -> str:
    """Return the text that the vector of an entry is made from: its content, behind the name of a note unless it
    contains that.
    """
    if not name or kind != Kind.NOTE or name.casefold() in content.casefold():
        return content
    return f"{name}: {content}"


def text_of(entry: Entry | Add) -> str:
    """Return the text that the vector of an entry or a draft is made from."""
    return embedded_text(entry.kind, entry.name, entry.content)


def at_once(store: Store, texts: Sequence[str]) -> list[TextVector | None]:
    """Return the vectors of texts about to be written, as `text_of` gives them; None for those without one yet.

    Calls only an embedder marked as instant; for others, or if it fails, `backfill` computes the vectors. A zero vector
    means that the text has no vector; it is stored like any other, so that the text is not embedded again.
    """
    none: list[TextVector | None] = [None] * len(texts)
    if store.embedder is None or not getattr(store.embedder, "instant", False):
        return none
    try:
        rows = embed(store.embedder, texts)
    except RecollectError as error:
        _log.warning("%d entries get their vectors later: %s", len(texts), error)
        return none
    return [TextVector(text, row) for text, row in zip(texts, rows, strict=True)]


def attach(store: Store, work: Work, entry: Entry, vector: TextVector | None) -> None:
    """Store the vector of an entry in the transaction that writes the entry. Account-scope entries have none.

    A vector of another text, because the entry was renamed or written meanwhile, is not stored; `backfill` makes one.
    """
    if vector is None or store.vectors is None or entry.scope is Scope.ACCOUNT:
        return
    if vector.text == text_of(entry):
        store.vectors.put(work.tx, work.counters, entry.id, vector.row)


def compare_models(store: Store, *, needed: bool = False) -> None:
    """Warn, once per store, if it has vectors of a model other than its embedder's. Stale ones are recomputed later.

    Raises ConfigError if vectors are `needed` and all of them are of another model.
    """
    if store.vectors is None or (store.compared and not needed) or not (store.compared or store.exists()):
        return
    with store.read() as tx:
        useless = needed and not store.vectors.has_any(tx)
        if store.compared and not useless:
            return
        other, stale = store.vectors.other(tx), not store.compared and store.vectors.has_stale(tx)
    if stale:
        store.embed_later()
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
    """Embed up to `limit` entries that have no vector or a stale one; return how many were embedded.

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
    """Make one pass over the entries without a vector, with a stale one or, with `others`, with one of another model.

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
            texts = _texts(tx, rows)
        if not texts:
            break
        after = max(texts)
        vectors = embed(store.embedder, list(texts.values()))
        if not store.exists():  # deleted while the embedder ran: a write would recreate it
            break
        with store.write() as work:
            # Skip entries whose name or content changed while the embedder ran.
            now = _texts(work.tx, work.tx.all("vectors.texts", ids=list(texts)))
            for (entry_id, text), vector in zip(texts.items(), vectors, strict=True):
                if now.get(entry_id) == text:
                    store.vectors.put(work.tx, work.counters, entry_id, vector)
                    done += 1
        report(done)
    return done


def _texts(tx: Transaction, rows: Sequence[Row]) -> dict[str, str]:
    """Return the texts that vectors are made from, by the entry's id; of rows with id, kind and content."""
    found = tx.all("names.of", ids=[row[0] for row in rows]) if rows else ()
    names: dict[str, str] = {entry_id: name for entry_id, name, canonical in found if canonical}
    return {entry_id: embedded_text(kind, names.get(entry_id), content) for entry_id, kind, content in rows}
