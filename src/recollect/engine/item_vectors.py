"""Vectors of the fields of entries, made by an embedder of the caller, such as that of an agent framework.

They are derived from the content of an entry and are forgotten with it. They have no part in `recall`, which uses the
vectors of the home's own embedder.
"""

from collections.abc import Mapping, Sequence

from recollect.engine.agent_store import Store, Work
from recollect.engine.entries import Entries
from recollect.engine.item_names import end_of
from recollect.model.entry import Entry
from recollect.model.operation import Add, Write, checked
from recollect.storage.database import Transaction

__all__ = ["ItemVectors"]

CHUNK = 10_000
"""Parameters per query; databases accept some 30,000."""


class ItemVectors:
    """The vectors of fields of an agent's entries. A vector is little-endian f32."""

    def __init__(self, store: Store, entries: Entries) -> None:
        self._store, self._entries = store, entries

    def add(self, model: str, drafts: Sequence[tuple[Add, Mapping[str, bytes]]]) -> list[Entry]:
        """Add entries with the vectors of their fields, all in one transaction.

        Raises Conflict if a name is taken, and Invalid if a draft has a bad value.
        """

        def put(work: Work, made: Mapping[int, Entry]) -> None:
            _insert(work.tx, model, [(entry, drafts[place][1]) for place, entry in made.items()])

        adds = [checked(add) for add, _ in drafts]
        return self._entries.add([add for add in adds if isinstance(add, Add)], put)

    def write(self, model: str, write: Write, vectors: Mapping[str, bytes]) -> Entry:
        """Write an entry with the vectors of its fields, in one transaction. Raises what `apply` raises."""
        return self._entries.apply(checked(write), None, lambda work, made: _put(work.tx, model, [(made[0], vectors)]))

    def put(self, model: str, vectors: Sequence[tuple[Entry, Mapping[str, bytes]]]) -> None:
        """Store the vectors of the fields of entries, in place of those that they had."""
        with self._store.database.write(self._store.agent) as tx:
            _put(tx, model, vectors)

    def size(self, model: str, start: str) -> int:
        """Return the number of bytes of one vector of the entries whose names begin with `start`; 0 if none has one."""
        with self._store.read() as tx:
            row = tx.one("item_vectors.size", model=model, start=start, end=end_of(start))
        return int(row[0]) if row else 0

    def get(self, model: str, entries: Sequence[Entry]) -> dict[str, dict[str, bytes]]:
        """Return the vectors of entries by id and field; none of an entry whose content has changed since."""
        hashes = {entry.id: entry.content_hash for entry in entries}
        ids = list(hashes)
        found: dict[str, dict[str, bytes]] = {}
        with self._store.read() as tx:
            for start in range(0, len(ids), CHUNK):
                some = ids[start : start + CHUNK]
                for entry_id, field, made_of, vector in tx.all("item_vectors.of_entries", ids=some, model=model):
                    if made_of == hashes[entry_id]:
                        found.setdefault(entry_id, {})[field] = bytes(vector)
        return found


def _put(tx: Transaction, model: str, vectors: Sequence[tuple[Entry, Mapping[str, bytes]]]) -> None:
    tx.many("item_vectors.forget", [{"entry_id": entry.id} for entry, _ in vectors])
    _insert(tx, model, vectors)


def _insert(tx: Transaction, model: str, vectors: Sequence[tuple[Entry, Mapping[str, bytes]]]) -> None:
    tx.many(
        "item_vectors.put",
        [
            {
                "entry_id": entry.id,
                "field": field,
                "model": model,
                "content_hash": entry.content_hash,
                "vector": vector,
            }
            for entry, fields in vectors
            for field, vector in fields.items()
        ],
    )
