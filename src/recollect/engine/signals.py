"""Recall signals: which entries were found, by what query, at which place.

A recall never waits for them: they are kept in memory and written by a thread a moment later, many at once. A signal
that is lost with its process is no lost data.
"""

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.engine.store import Store
from recollect.errors import RecollectError

__all__ = ["Signals"]

AFTER_SECONDS = 1.0
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
    """The buffer of a home. `flush()` writes what is in it; a timer does so after a second."""

    def __init__(self) -> None:
        self._own()

    def _own(self) -> None:
        """What belongs to this process; a forked child starts with nothing, as its parent writes what is waiting."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._pending: list[_Signal] = []
        self._timer: threading.Timer | None = None
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
            if self._pending and self._timer is None:
                self._timer = threading.Timer(AFTER_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write everything that is waiting, and bump the counts of the entries. A failure drops it and is logged."""
        if self._owner != os.getpid():
            self._own()
        with self._writing:
            with self._lock:
                pending, self._pending = self._pending, []
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            by_store: dict[Store, list[_Signal]] = {}
            for signal in pending:
                by_store.setdefault(signal.store, []).append(signal)
            for store, signals in by_store.items():
                try:
                    self._write(store, signals)
                except RecollectError as error:
                    _log.warning("%d recall signals were not stored: %s", len(signals), error)

    @staticmethod
    def _write(store: Store, signals: Sequence[_Signal]) -> None:
        if not store.exists():  # deleted meanwhile: writing would make it again
            return
        counts: dict[str, tuple[int, int]] = {}
        for signal in signals:
            times, last = counts.get(signal.entry_id, (0, 0))
            counts[signal.entry_id] = times + 1, max(last, signal.at)
        with store.write() as work:
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
