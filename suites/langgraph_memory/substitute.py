"""Put our stores and checkpointer in the place of the vendor's, before the vendor's tests import them."""

import itertools
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import langgraph.checkpoint.memory
import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio
from suite_plugin import location

from recollect.adapters.graph_saver import GraphSaver
from recollect.adapters.langgraph import AsyncGraphStore, GraphStore

_numbers = itertools.count()
_folder = tempfile.mkdtemp()


def _where(path: str = ":memory:") -> str:
    """Return a location for the path of a test; what the vendor keeps in memory gets a file of its own."""
    return location(f"{path}.db" if path != ":memory:" else Path(_folder, f"{next(_numbers)}.db"))


def _index(given: Any) -> Any:
    """Return the index with the vendor's name for its fields, `text_fields`, as that of the framework."""
    return given and {**given, "fields": given.get("text_fields") or given.get("fields")}


class InMemoryStore(GraphStore):
    """Our store in an empty home."""

    def __init__(self, *, index: Any = None) -> None:
        super().__init__(_where(), _index(index))


class SqliteStore(GraphStore):
    """Our store with the constructor of SqliteStore."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, path: str, *, index: Any = None, ttl: Any = None) -> Iterator[GraphStore]:
        with cls(_where(path), _index(index), ttl) as store:
            yield store

    def setup(self) -> None:
        pass


class AsyncSqliteStore(AsyncGraphStore):
    """Our asynchronous store with the constructor of AsyncSqliteStore."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, path: str, *, index: Any = None, ttl: Any = None) -> AsyncIterator[AsyncGraphStore]:
        async with cls(_where(path), _index(index), ttl) as store:
            yield store

    async def setup(self) -> None:
        pass


langgraph.store.memory.InMemoryStore = InMemoryStore
langgraph.store.sqlite.SqliteStore = SqliteStore
for module in (langgraph.store.sqlite, langgraph.store.sqlite.aio):
    module.AsyncSqliteStore = AsyncSqliteStore


class InMemorySaver(GraphSaver):
    """Our checkpointer in an empty home."""

    def __init__(self) -> None:
        super().__init__(_where())


langgraph.checkpoint.memory.InMemorySaver = InMemorySaver
