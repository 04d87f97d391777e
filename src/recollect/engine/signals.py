"""Recall signals: which entries a query found, and at which rank; and which entries a context showed.

They are off the hot path of recall and context: buffered in memory and written in batches by a thread a second later,
at the latest when the interpreter exits. Losing signals in a crash is acceptable.
"""

import atexit
import logging
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakSet

from recollect.engine.agent_store import Store
from recollect.errors import RecollectError
from recollect.storage import entries, recall_signals

__all__ = ["Signals"]

AFTER_SECONDS = 1.0
EXIT_SECONDS = 2.0
"""Maximum delay of the interpreter's exit, in seconds."""
MOST = 10_000
CHUNK = 10_000
"""Signals of one transaction; with fewer, each commit would write much the same pages again."""
QUERY_LENGTH = 500
_log = logging.getLogger("recollect.signals")


class _Signal(NamedTuple):
    store: Store
    entry_id: str
    query: str | None
    place: int
    at: int


class Signals:
    """The signal buffer of a home. `flush()` writes it; a thread calls that after a second."""

    def __init__(self) -> None:
        self._own()
        _buffers.add(self)

    def _own(self) -> None:
        """Reset the per-process state. A forked child starts empty, as the parent writes the pending signals."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._pending: list[_Signal] = []
        self._used: dict[tuple[Store, str], int] = {}
        self._soon: _Soon | None = None
        self._owner = os.getpid()

    def record(self, reader: str, query: str, found: Sequence[tuple[Store, str]], now: int) -> None:
        """Buffer the hits of a recall, best first; the score of a hit is its reciprocal rank.

        A hit in the store of another agent (`_shared`) only counts as an access there: the reader's query is never
        stored in that agent's rows.
        """
        if self._owner != os.getpid():
            self._own()
        with self._lock:
            room = MOST - len(self._pending)
            self._pending += [
                _Signal(store, entry_id, query[:QUERY_LENGTH] if store.agent == reader else None, place, now)
                for place, (store, entry_id) in enumerate(found[:room], start=1)
            ]
            self._flush_soon()

    def use(self, store: Store, ids: Iterable[str], now: int) -> None:
        """Buffer that entries of a store were shown: their age restarts at `now`, their rank does not change."""
        if self._owner != os.getpid():
            self._own()
        with self._lock:
            shown = {(store, entry_id): now for entry_id in ids}
            if len(self._used) + len(shown) <= MOST:
                self._used |= shown
            self._flush_soon()

    def _flush_soon(self) -> None:
        if (self._pending or self._used) and self._soon is None:
            self._soon = _Soon(self)
            self._soon.start()

    def flush_at_exit(self) -> None:
        """Make the existing thread flush now, as none can be started at exit; wait EXIT_SECONDS at most."""
        if self._owner != os.getpid():
            return
        with self._lock:
            soon = self._soon
        if soon is not None:
            soon.due.set()
            soon.join(EXIT_SECONDS)
        elif self._writing.acquire(timeout=EXIT_SECONDS):  # wait for a flush in progress
            self._writing.release()

    def flush(self) -> None:
        """Write all pending signals and the access counts of their entries. On failure they are dropped and logged."""
        if self._owner != os.getpid():
            self._own()
        with self._writing:
            with self._lock:
                pending, self._pending = self._pending, []
                used, self._used = self._used, {}
                soon, self._soon = self._soon, None
            if soon is not None:
                soon.due.set()
            by_store: dict[Store, list[_Signal]] = {}
            for signal in pending:
                by_store.setdefault(signal.store, []).append(signal)
            shown: dict[Store, dict[int, list[str]]] = {}
            for (store, entry_id), at in used.items():
                shown.setdefault(store, {}).setdefault(at, []).append(entry_id)
            for store in by_store.keys() | shown.keys():
                signals = by_store.get(store, [])
                try:
                    self._write(store, signals, shown.get(store, {}))
                except RecollectError as error:
                    _log.warning("%d recall signals were not stored: %s", len(signals), error)

    @staticmethod
    def _write(store: Store, signals: Sequence[_Signal], shown: Mapping[int, Sequence[str]]) -> None:
        """Write the signals of a store."""
        if not store.exists():  # deleted: a write would recreate it
            return
        if shown:
            with store.write() as work:
                for at, ids in shown.items():
                    entries.use(work.tx, ids, at)
        unasked = set[str | None]()
        for start in range(0, len(signals), CHUNK):
            with store.write() as work:
                rest = signals[start:]
                gone = recall_signals.gone(work.tx, {signal.entry_id for signal in rest})
                # The query of a hit that is gone may quote an entry that another process has erased.
                unasked |= {signal.query for signal in rest if signal.entry_id in gone}
                living = [signal for signal in rest[:CHUNK] if signal.entry_id not in gone]
                counts: dict[str, tuple[int, int]] = {}
                for signal in living:
                    times, last = counts.get(signal.entry_id, (0, 0))
                    counts[signal.entry_id] = times + 1, max(last, signal.at)
                rows = (
                    recall_signals.Signal(
                        signal.entry_id, "" if signal.query in unasked else signal.query, signal.place, signal.at
                    )
                    for signal in living
                    if signal.query is not None
                )
                recall_signals.record(work.tx, rows, counts)


class _Soon(threading.Thread):
    """Flushes a buffer after AFTER_SECONDS, or as soon as `due` is set."""

    def __init__(self, signals: Signals) -> None:
        super().__init__(name="recollect-signals", daemon=True)
        self.due = threading.Event()
        self._signals = signals

    def run(self) -> None:
        self.due.wait(AFTER_SECONDS)
        self._signals.flush()


_buffers: "WeakSet[Signals]" = WeakSet()


@atexit.register
def _flush_at_exit() -> None:
    for signals in list(_buffers):
        signals.flush_at_exit()
