"""The caches of a process over all memories of a home: their sizes, and dropping them."""

from collections.abc import Callable, Iterable

from recollect.engine.agent_store import Store

__all__ = ["Caches"]


class Caches:
    """The caches of a home. All are derived from the database, and refilled by the next search."""

    def __init__(self, stores: Callable[[], Iterable[Store]]) -> None:
        self._stores = stores

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each kind: the index of words, the index of turns, vectors, pages of databases.

        Those of the indexes are estimated.
        """
        found = {"words": 0, "turns": 0, "vectors": 0, "pages": 0}
        for store in self._stores():
            for kind, size in store.cached().items():
                found[kind] += size
            # One library holds the pages of all databases.
            found["pages"] = max(found["pages"], store.database.admin.cached())
        return found

    def release(self) -> None:
        """Drop everything that is cached. A search in progress keeps what it uses until it ends."""
        for store in self._stores():
            store.release()
            store.database.admin.release()
