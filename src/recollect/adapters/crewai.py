"""Storage for the memory of CrewAI: `Crew(memory=Memory(storage=make_backend()))`.

A record is an entry of recollect, so it is found by recalls and contexts, shown on the page, exported and erased like
every other entry. Its vector is that of CrewAI's embedder and is stored beside it. A search compares all records in
the scope, which is exact.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from recollect import Entry, Memory, SystemClock
from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.items import Draft, Items, as_json

try:
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ImportError:
    raise missing("crewai", "crewai") from None

__all__ = ["Backend", "make_backend"]

FIELDS = {"scope", "categories", "metadata", "importance", "created_at", "last_accessed", "source", "private"}
_clock = SystemClock()
MODEL, VECTOR, BYTES = "crewai", "content", 4
"""The embedder of vectors, their field, and the bytes of each of their numbers."""
BLANK = "[a record without text]"
"""Content of the entry of a blank record, which an entry cannot be; its text is in the field `context`."""


def make_backend(
    path: str | os.PathLike[str] | None = None, *, agent: str | None = None, workspace: str = "default"
) -> "Backend":
    """Return a storage backend in the memory of an agent.

    `path` is what `recollect.open()` takes: a directory, a path ending in `.db`, or `postgresql://…`; by default
    RECOLLECT_HOME. `agent` and `workspace` select the memory; another agent's records are never read.

        memory = Memory(storage=make_backend("memory.db"))
    """
    return Backend(path, agent=agent, workspace=workspace)


class Backend:
    """A storage backend of CrewAI, returned by `make_backend()`.

    A scope prefix is compared as text: `/team` covers `/team-b`, too. When a record was last accessed is stored with it
    when it is saved; what is accessed later is only known to this process, because reading writes nothing.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, agent: str | None = None, workspace: str = "default"
    ) -> None:
        self._where = path, agent, workspace
        self._lock = threading.Lock()
        self._opened = Opened(*self._where)
        self._accessed: dict[str, datetime] = {}

    @property
    def _memory(self) -> Memory:
        """The memory. CrewAI closes a backend with each of its memories, and may use it in another one."""
        with self._lock:
            if self._opened.closed:
                self._opened = Opened(*self._where)
            return self._opened.memory

    @property
    def _items(self) -> Items:
        return Items(self._memory, "crewai", MODEL)

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records; those with the same id are replaced.

        Raises EmbeddingDimensionMismatchError if the vectors differ in length from each other or from those stored, and
        NotJson, a TypeError, if metadata is not JSON; nothing is stored then.
        """
        if not records:
            return
        unique = list({record.id: record for record in records}.values())
        drafts = [_draft(record) for record in unique]
        self._check([record.embedding for record in records if record.embedding])
        self._items.put(drafts)
        for record in unique:
            self._accessed.pop(record.id, None)

    def update(self, record: MemoryRecord) -> None:
        """Store a record in place of the one with its id, which stays in the history of the entry."""
        self.save([record])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return the record with an id; None if there is none."""
        entry = self._items.get([record_id])
        return None if entry is None else self._records([entry])[0]

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records nearest to a vector with their cosines, at least 0; best first.

        Raises EmbeddingDimensionMismatchError if the vectors that are stored have another length.
        """
        import numpy as np

        records = self._records([entry for entry, _ in self._kept(scope_prefix, categories, metadata_filter)])
        vectors = [record.embedding or [0.0] * len(query_embedding) for record in records]
        if different := [vector for vector in vectors if len(vector) != len(query_embedding)]:
            raise EmbeddingDimensionMismatchError(len(different[0]), len(query_embedding))
        if not records:
            return []
        rows, asked = np.asarray(vectors), np.asarray(query_embedding)
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(asked)
        cosines = np.divide(rows @ asked, lengths, out=np.zeros(len(rows)), where=lengths > 0).clip(0.0, 1.0)
        best = np.argsort(-cosines, kind="stable")
        return [(records[place], float(cosines[place])) for place in best if cosines[place] >= min_score][:limit]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Move the records that fit all criteria to the trash; return how many."""
        return sum(
            self._items.delete([record.id])
            for _, record in self._kept(scope_prefix, categories, metadata_filter)
            if (record_ids is None or record.id in record_ids)
            and (older_than is None or _utc(record.created_at) < _utc(older_than))
        )

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return the records of a scope, newest first."""
        if limit <= 0 or offset < 0:
            return []
        found = sorted(self._kept(scope_prefix), key=lambda one: _utc(one[1].created_at), reverse=True)
        return self._records([entry for entry, _ in found[offset : offset + limit]])

    def touch_records(self, record_ids: list[str]) -> None:
        """Note that records were accessed now."""
        now = datetime.fromtimestamp(_clock.now() / 1000, UTC).replace(tzinfo=None)  # as CrewAI's own times
        self._accessed.update(dict.fromkeys(record_ids, now))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return how many records a scope has, their categories and times, and the scopes below it."""
        path = "/" + scope.strip("/")
        found = self._found(path)
        times = sorted((record.created_at for record in found), key=_utc)
        return ScopeInfo(
            path=path,
            record_count=len(found),
            categories=sorted({name for record in found for name in record.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=_children(path, found),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below another one."""
        return _children("/" + parent.strip("/"), self._found(parent))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the categories of the records of a scope, and how many records have each."""
        return dict(Counter(name for record in self._found(scope_prefix) for name in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return the number of records in a scope."""
        return len(self._found(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Move all records of a scope to the trash."""
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Store records in a worker thread."""
        await in_thread(self.save, records)

    async def asearch(self, *args: Any, **kwargs: Any) -> list[tuple[MemoryRecord, float]]:
        """Search in a worker thread."""
        return await in_thread(self.search, *args, **kwargs)

    async def adelete(self, *args: Any, **kwargs: Any) -> int:
        """Delete in a worker thread."""
        return await in_thread(self.delete, *args, **kwargs)

    def close(self) -> None:
        """Close the home, if nothing else in this process uses it. The next call opens it again."""
        with self._lock:
            self._opened.close()

    def _found(self, scope_prefix: str | None) -> list[MemoryRecord]:
        """Return the records of a scope without their vectors."""
        return [record for _, record in self._kept(scope_prefix)]

    def _kept(
        self,
        scope_prefix: str | None,
        categories: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[tuple[Entry, MemoryRecord]]:
        scope = (scope_prefix or "").rstrip("/")
        scope = scope if scope.startswith("/") or not scope else f"/{scope}"
        return [
            (entry, record)
            for entry in self._items.below()
            if (record := self._record(entry)).scope.startswith(scope)
            and (not categories or not set(categories).isdisjoint(record.categories))
            and all(record.metadata.get(key) == value for key, value in (metadata or {}).items())
        ]

    def _records(self, entries: Sequence[Entry]) -> list[MemoryRecord]:
        """Return the records of entries with their vectors."""
        stored = self._memory.item_vectors.get(MODEL, entries)
        return [self._record(entry, stored.get(entry.id, {}).get(VECTOR)) for entry in entries]

    def _record(self, entry: Entry, vector: bytes | None = None) -> MemoryRecord:
        about = json.loads(entry.context or "{}")
        (record_id,) = self._items.path(entry)
        content = about.pop("content", entry.content)
        if record_id in self._accessed:
            about["last_accessed"] = self._accessed[record_id]
        return MemoryRecord(id=record_id, content=content, embedding=vector and _unpacked(vector), **about)

    def _check(self, vectors: Sequence[Sequence[float]]) -> None:
        """Raise EmbeddingDimensionMismatchError if vectors differ in length from each other or from a stored one."""
        if not vectors:
            return
        items = self._items
        first = items.memory.item_vectors.size(MODEL, items.root) // BYTES or len(vectors[0])
        for vector in vectors:
            if len(vector) != first:
                raise EmbeddingDimensionMismatchError(first, len(vector))


def _draft(record: MemoryRecord) -> Draft:
    about = record.model_dump(include=FIELDS, exclude={"created_at", "last_accessed"}, exclude_none=True)
    about |= {name: getattr(record, name).isoformat() for name in ("created_at", "last_accessed")}
    content = record.content
    if not content.strip() or "\0" in content:
        about["content"], content = content, BLANK
    vectors = {VECTOR: _packed(record.embedding)} if record.embedding else {}
    return Draft((record.id,), content, as_json(about, f"the record {record.id!r}"), vectors=vectors)


def _children(parent: str, records: Sequence[MemoryRecord]) -> list[str]:
    start = f"{parent.rstrip('/')}/"
    below = (record.scope[len(start) :] for record in records if record.scope.startswith(start))
    return sorted({start + rest.partition("/")[0] for rest in below if rest.strip("/")})


def _utc(moment: datetime) -> datetime:
    """Return a time that can be compared: CrewAI's own are UTC without saying so."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _packed(vector: Sequence[float]) -> bytes:
    import numpy as np

    return np.asarray(vector, "<f4").tobytes()


def _unpacked(vector: bytes) -> list[float]:
    import numpy as np

    return np.frombuffer(vector, "<f4").astype(float).tolist()
