"""Put our stores in the place of InMemoryStore and InMemoryVectorStore, before the vendor's tests import them."""

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import langchain_core.stores
import langchain_core.vectorstores
from suite_plugin import location

from recollect.adapters.langchain import ByteStore, VectorStore

_numbers = itertools.count()
_folder = tempfile.mkdtemp()


def _where() -> str:
    """Return a location for what the vendor keeps in memory."""
    return location(Path(_folder, f"{next(_numbers)}.db"))


class InMemoryStore(ByteStore):
    """Our store in an empty home, with the texts that the vendor's tests store as values."""

    def __init__(self) -> None:
        super().__init__(_where())

    def mget(self, keys: Sequence[str]) -> list[str | None]:
        return [value and value.decode() for value in super().mget(keys)]

    def mset(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().mset([(key, value.encode()) for key, value in pairs])


class InMemoryVectorStore(VectorStore):
    """Our store in an empty home."""

    def __init__(self, embedding: Any) -> None:
        super().__init__(embedding, _where())


langchain_core.stores.InMemoryStore = InMemoryStore
langchain_core.vectorstores.InMemoryVectorStore = InMemoryVectorStore
