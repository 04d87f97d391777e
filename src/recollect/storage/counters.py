"""Sequence counters of an agent. A writer locks the row first, so sequence numbers are dense and in commit order."""

from dataclasses import dataclass
from operator import attrgetter

from recollect.storage.database import Transaction

__all__ = ["Counters"]


@dataclass(slots=True)
class Counters:
    """One agent's counters. They only grow, except `live` and `tokens`, which describe the current index."""

    entries: int = 0
    operations: int = 0
    documents: int = 0
    """The last document number of the index."""
    flushed: int = 0
    """The last document that is in a segment; later ones are in the tail."""
    live: int = 0
    """Number of documents that are indexed and not removed."""
    tokens: int = 0
    """Total length of those documents in tokens."""
    removals: int = 0
    """The number of the last removal."""
    layout: int = 0
    """Increases whenever the set of segments changes; also the source of segment numbers."""
    analysis: int = 0
    """The version of the text analysis that built the index."""
    vectors: int = 0
    """The number of the last vector."""

    @classmethod
    def get(cls, tx: Transaction) -> "Counters":
        """Read the counters; all zero before the agent's first write."""
        row = tx.counters or tx.one("counters.get")
        return cls(*row) if row else cls()

    @classmethod
    def lock(cls, tx: Transaction, analysis: int) -> "Counters":
        """Read and lock the counters: another writer of the same agent blocks until this transaction ends."""
        query = "counters.get" if tx.alone else "counters.lock"
        row, tx.counters = tx.counters or tx.one(query), None
        if row is None:
            tx.run("counters.start", analysis=analysis)
            row = tx.one(query)
            assert row is not None
        return cls(*row)

    def save(self, tx: Transaction) -> None:
        """Store the counters."""
        values = _values(self)
        tx.send("counters.save", **dict(zip(_NAMES, values, strict=True)))
        tx.counters = values


_NAMES = tuple(Counters.__dataclass_fields__)
_values = attrgetter(*_NAMES)
