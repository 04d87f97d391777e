"""Recall signals: which entries were found, by what query, at which place; and which entries a context showed.

Neither a recall nor a context waits for them: they are kept in memory and written by a thread a moment later, many at
once, at the latest when the interpreter exits. A signal that is lost with its process is no lost data.
"""

import atexit
import logging
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakSet

from recollect.engine.agent_store import Store
from recollect.errors import RecollectError
from recollect.storage import entries

__all__ = ["Signals"]

AFTER_SECONDS = 1.0
EXIT_SECONDS = 2.0
"""How long the exit of the interpreter waits at most."""
MOST = 10_000
QUERY_LENGTH = 500
_log = logging.getLogger("recollect.signals")


@dataclass(frozen=True, slots=True)
class _Signal:
    store: Store
    entry_id: str
    query: str | None
    score: float
    at: int


class Signals:
    """The buffer of a home. `flush()` writes what is in it; a thread does so after a second."""

    def __init__(self) -> None:
        self._own()
        _buffers.add(self)

    def _own(self) -> None:
        """What belongs to this process; a forked child starts with nothing, as its parent writes what is waiting."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._pending: list[_Signal] = []
        self._used: dict[tuple[Store, str], int] = {}
        self._soon: _Soon | None = None
        self._owner = os.getpid()

    def record(self, reader: str, query: str, found: Sequence[tuple[Store, str]], now: int) -> None:
        """Note the hits of a recall, best first; the score of a hit is the reciprocal of its place.

        A hit in the store of another agent (`_shared`) only counts as an access there: that agent's rows never hold
        the reader's query.
        """
        if self._owner != os.getpid():
            self._own()
        with self._lock:
            room = MOST - len(self._pending)
            self._pending += [
                _Signal(store, entry_id, query[:QUERY_LENGTH] if store.agent == reader else None, 1 / place, now)
                for place, (store, entry_id) in enumerate(found[:room], start=1)
            ]
            self._flush_soon()

    def use(self, store: Store, ids: Iterable[str], now: int) -> None:
        """Note that entries of a store were shown: their age counts from now, and their rank stays as it is."""
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
        """Let the thread write what is waiting now, as none can be started any more; and wait for it, but not long."""
        if self._owner != os.getpid():
            return
        with self._lock:
            soon = self._soon
        if soon is not None:
            soon.due.set()
            soon.join(EXIT_SECONDS)
        elif self._writing.acquire(timeout=EXIT_SECONDS):  # a flush that is under way
            self._writing.release()

    def flush(self) -> None:
        """Write everything that is waiting, and bump the counts of the entries. A failure drops it and is logged."""
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
        if not store.exists():  # deleted meanwhile: writing would make it again
            return
        counts: dict[str, tuple[int, int]] = {}
        for signal in signals:
            times, last = counts.get(signal.entry_id, (0, 0))
            counts[signal.entry_id] = times + 1, max(last, signal.at)
        with store.write() as work:
            for at, ids in shown.items():
                entries.use(work.tx, ids, at)
            for entry_id, (times, last) in counts.items():
                if not work.tx.run("signals.touch", id=entry_id, times=times, at=last):
                    counts[entry_id] = 0, 0  # forgotten meanwhile: no signal may outlive its entry
            # A question that found what is gone now may quote what was erased, by another process perhaps.
            unasked = {signal.query for signal in signals if not counts[signal.entry_id][0]}
            work.tx.many(
                "signals.record",
                (
                    {
                        "entry_id": signal.entry_id,
                        "score": signal.score,
                        "at": signal.at,
                        "query": "" if signal.query in unasked else signal.query,
                    }
                    for signal in signals
                    if signal.query is not None and counts[signal.entry_id][0]
                ),
            )


class _Soon(threading.Thread):
    """Flushes a buffer after a while, or as soon as it is due."""

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
