"""Memory for LangGraph: `graph.compile(store=make_store(), checkpointer=…)`, with the checkpointer of `saver()`.

An item of the store is an entry of recollect, so what a graph stores is found by recalls and contexts, shown on the
page, exported and erased like every other entry.
"""

import json
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from recollect import Entry, SystemClock
from recollect.adapters.graph_saver import GraphSaver
from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.item_filters import covers, matches
from recollect.adapters.item_search import EmbeddedItems
from recollect.adapters.items import Draft, Items, Sweeper, as_json

try:
    from langgraph.store import base
    from langgraph.store.base.batch import AsyncBatchedBaseStore
except ImportError:
    raise missing("langgraph", "langgraph") from None

__all__ = ["AsyncGraphStore", "GraphStore", "make_async_store", "make_store", "saver"]

Path = str | os.PathLike[str]
MINUTE = 60_000
SWEEP_MINUTES = 5.0
FRESH = 20
"""A time to live is extended by a read if at least this fraction of it has passed, so that most reads do not write."""


def make_store(path: Path | None = None, index: Any = None, ttl: Any = None, **where: Any) -> "GraphStore":
    """Return a store for the memory of an agent.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `index` and `ttl` are those of LangGraph. Without `index`, a query ranks items by their words and by
    the embedder of the home. `agent` and `workspace` select the memory; another agent's items are never read.

        store = make_store("memory.db", index={"dims": 1536, "embed": "openai:text-embedding-3-small"})
        store.put(("users", "ana"), "preferences", {"text": "Ana prefers short answers."})
    """
    return GraphStore(path, index, ttl, **where)


def make_async_store(path: Path | None = None, index: Any = None, ttl: Any = None, **where: Any) -> "AsyncGraphStore":
    """Return the same store for asyncio. Call it inside of a running loop.

    async with make_async_store("memory.db") as store:
        await store.aput(("users", "ana"), "preferences", {"text": "Ana prefers short answers."})
    """
    return AsyncGraphStore(path, index, ttl, **where)


@asynccontextmanager
async def saver(path: Path | None = None, **where: Any) -> AsyncIterator[GraphSaver]:
    """Open a checkpointer for the threads of an agent; `path`, `agent` and `workspace` are as for `make_store`.

    async with saver("memory.db") as checkpointer:
        graph = builder.compile(checkpointer=checkpointer)
    """
    opened = await in_thread(GraphSaver, path, **where)
    try:
        yield opened
    finally:
        await in_thread(opened.close)


class _StoreItems:
    """What both stores share: operations on the items of one agent, and the sweeper of expired ones."""

    supports_ttl = True

    def _open(self, path: Path | None, index: Any, ttl: Any, agent: str | None, workspace: str) -> None:
        self.index_config = None if index is None else dict(index)
        self.embeddings = None if index is None else base.ensure_embeddings(index.get("embed"))
        self.ttl_config = ttl
        self._fields = list((index or {}).get("fields") or ["$"])
        self._opened = Opened(path, agent, workspace)
        self._items = Items(self._opened.memory, "langgraph")
        self._embedded = None if self.embeddings is None else EmbeddedItems(self._opened.memory, self.embeddings)
        self._clock = SystemClock()
        self._sweeper = Sweeper(self._sweep)

    def _run(self, ops: Iterable[Any]) -> list[Any]:
        """Run operations: first the reads, then the writes, of which the last one to a key counts."""
        listed = list(ops)
        for op in listed:
            base.validate_op_namespace(op)
        if self._opened.closed:
            raise RuntimeError(f"{type(self).__name__} is closed")
        results = [None if isinstance(op, base.PutOp) else self._read(op) for op in listed]
        puts = {(op.namespace, op.key): op for op in listed if isinstance(op, base.PutOp)}
        self._put([op for op in puts.values() if op.value is not None])
        for op in puts.values():
            if op.value is None:
                self._items.delete((*op.namespace, op.key))
        return results

    def _read(self, op: Any) -> Any:
        if isinstance(op, base.GetOp):
            entry = self._items.get((*op.namespace, op.key))
            return None if entry is None else self._item(entry, op.refresh_ttl)
        return self._search(op) if isinstance(op, base.SearchOp) else self._namespaces(op)

    def _put(self, ops: list[Any]) -> None:
        now = self._clock.now()
        drafts = []
        for op in ops:
            about = {"ttl": op.ttl, "index": op.index}
            kept = {name: value for name, value in about.items() if value is not None}
            until = None if op.ttl is None else now + max(1, round(op.ttl * MINUTE))
            content = as_json(op.value, f"the value of {op.key!r}")
            drafts.append(Draft((*op.namespace, op.key), content, json.dumps(kept) if kept else None, until))
        entries = self._items.put(drafts)
        if self._embedded is not None:
            self._embedded.add([(entry, self._texts(entry)) for entry in entries])

    def _texts(self, entry: Entry) -> dict[str, str]:
        """Return the texts of an item to embed, by field."""
        fields = _about(entry).get("index")
        texts = {}
        for path in (self._fields if fields is None else fields) or ():
            for number, text in enumerate(base.get_text_at_path(_value(entry), path)):
                texts[f"{path}.{number}"] = text
        return texts

    def _search(self, op: Any) -> list[Any]:
        entries = [entry for entry in self._items.below(op.namespace_prefix) if matches(_value(entry), op.filter)]
        entries.sort(key=lambda entry: (entry.updated_at, entry.seq), reverse=True)
        ranked: list[tuple[Entry, float | None]] = [(entry, None) for entry in entries]
        if op.query:
            scores = self._scores(op.query, entries)
            ranked = [(entry, scores.get(entry.id)) for entry in entries]
            ranked.sort(key=lambda one: (one[1] is not None, one[1] or 0.0), reverse=True)
        page = ranked[op.offset : op.offset + op.limit]
        return [self._item(entry, op.refresh_ttl, base.SearchItem, score=score) for entry, score in page]

    def _scores(self, query: str, entries: list[Entry]) -> dict[str, float]:
        if self._embedded is not None:
            items = [(entry, lambda entry=entry: self._texts(entry)) for entry in entries]
            return self._embedded.nearest(self._embedded.query(query), items)
        hits = self._opened.memory.recall(query, tags=[self._items.kind], limit=1_000, include_past=True, record=False)
        return {hit.entry.id: hit.score for hit in hits}

    def _namespaces(self, op: Any) -> list[tuple[str, ...]]:
        found = {self._items.path(entry)[:-1] for entry in self._items.below()}
        kept = {
            path[: op.max_depth]
            for path in found
            if all(covers(one.match_type, one.path, path) for one in op.match_conditions or ())
        }
        return sorted(kept)[op.offset : op.offset + op.limit]

    def _item(self, entry: Entry, refresh: bool, kind: Any = base.Item, **more: Any) -> Any:
        ttl = _about(entry).get("ttl") if refresh and (self.ttl_config or {}).get("refresh_on_read") else None
        if ttl is not None and entry.valid_until is not None:
            until, whole = self._clock.now() + round(ttl * MINUTE), ttl * MINUTE
            if until - entry.valid_until > whole / FRESH:
                self._items.extend(entry, until)
        *namespace, key = self._items.path(entry)
        times = {
            name: datetime.fromtimestamp(getattr(entry, name) / 1_000, UTC) for name in ("created_at", "updated_at")
        }
        return kind(namespace=tuple(namespace), key=key, value=_value(entry), **times, **more)

    def _sweep(self) -> int:
        now = self._clock.now()
        over = [
            one for one in self._items.below(past=True) if _about(one).get("ttl") and (one.valid_until or now) < now
        ]
        return sum(self._items.delete(self._items.path(entry)) for entry in over)

    def _start(self, minutes: float | None) -> None:
        if self.ttl_config:
            self._sweeper.start(60 * float(minutes or self.ttl_config.get("sweep_interval_minutes") or SWEEP_MINUTES))

    def _close(self) -> None:
        self._sweeper.stop()
        self._opened.close()


class GraphStore(_StoreItems, base.BaseStore):
    """A store of LangGraph in the memory of an agent; see `make_store`. Its methods are those of BaseStore."""

    def __init__(
        self,
        path: Path | None = None,
        index: Any = None,
        ttl: Any = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
    ) -> None:
        self._open(path, index, ttl, agent, workspace)

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Run several operations: first the reads, then the writes.

        Raises InvalidNamespaceError for a bad namespace, and Invalid if a value is not JSON or a key is too long.
        """
        return self._run(ops)

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Run several operations in a worker thread."""
        return await in_thread(self._run, ops)

    def sweep_ttl(self) -> int:
        """Move expired items to the trash; return their number."""
        return self._sweep()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in the background, every five minutes or as `ttl` says. Without `ttl`, nothing starts."""
        self._start(sweep_interval_minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper; return False if it still runs after `timeout` seconds."""
        return self._sweeper.stop(timeout)

    def close(self) -> None:
        """Close the store. Calls that are running finish; later ones raise RuntimeError."""
        self._close()

    def __enter__(self) -> "GraphStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncGraphStore(_StoreItems, AsyncBatchedBaseStore):
    """The same store for asyncio, see `make_async_store`: calls of one moment are one batch in a worker thread."""

    def __init__(
        self,
        path: Path | None = None,
        index: Any = None,
        ttl: Any = None,
        *,
        agent: str | None = None,
        workspace: str = "default",
    ) -> None:
        super().__init__()
        self._open(path, index, ttl, agent, workspace)

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Run several operations in a worker thread: first the reads, then the writes."""
        return await in_thread(self._run, ops)

    async def sweep_ttl(self) -> int:
        """Move expired items to the trash; return their number."""
        return await in_thread(self._sweep)

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in the background, every five minutes or as `ttl` says. Without `ttl`, nothing starts."""
        self._start(sweep_interval_minutes)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper; return False if it still runs after `timeout` seconds."""
        return await in_thread(self._sweeper.stop, timeout)

    async def close(self) -> None:
        """Close the store. Calls that are running finish; later ones raise RuntimeError."""
        await in_thread(self._close)

    async def __aenter__(self) -> "AsyncGraphStore":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _value(entry: Entry) -> dict[str, Any]:
    """Return the value of an item; of one whose text was edited and is no JSON object now, that text."""
    try:
        found = json.loads(entry.content)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"text": entry.content}


def _about(entry: Entry) -> dict[str, Any]:
    return json.loads(entry.context) if entry.context else {}
