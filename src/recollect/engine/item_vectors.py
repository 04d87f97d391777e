"""Vectors of the fields of entries, made by an embedder of the caller, such as that of an agent framework.

They are derived from the content of an entry and are forgotten with it. They have no part in `recall`, which uses the
vectors of the home's own embedder.
"""

from collections.abc import Mapping, Sequence

from recollect.engine.agent_store import Store
from recollect.model.entry import Entry

__all__ = ["ItemVectors"]

CHUNK = 10_000
"""Parameters per query; databases accept some 30,000."""


class ItemVectors:
    """The vectors of fields of an agent's entries. A vector is little-endian f32."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, model: str, vectors: Sequence[tuple[Entry, Mapping[str, bytes]]]) -> None:
        """Store the vectors of the fields of entries, in place of those that they had."""
        with self._store.database.write(self._store.agent) as tx:
            tx.many("item_vectors.forget", [{"entry_id": entry.id} for entry, _ in vectors])
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
