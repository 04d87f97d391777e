"""Checkpoints of graphs, and the writes that are pending at each: rows of their own, without a log or an index."""

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict

from recollect.engine.agent_store import Store
from recollect.errors import ConfigError, Corrupt, Invalid
from recollect.model.graph import GraphCheckpoint, GraphWrite
from recollect.names import plain
from recollect.storage.database import Row, Transaction

__all__ = ["GraphCheckpoints", "damage"]

FORMAT = 1
"""Of the rows; a newer recollect may have written others."""
LONGEST = 1_000
"""Characters of an id of a thread, a namespace, a checkpoint or a task."""

_COLUMNS = ("thread", "namespace", "id", "parent", "run", "format", "metadata", "type", "state", "hash")
_WRITE_COLUMNS = ("task", "number", "path", "channel", "type", "value", "hash")
"""The columns that the queries `get` and `writes` return."""


class GraphCheckpoints:
    """The checkpoints of an agent's graphs, as `mem.graphs`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, checkpoint: GraphCheckpoint) -> None:
        """Store a checkpoint, in place of one with the same thread, namespace and id.

        Raises Invalid if an id is too long, or is not text that every database can store.
        """
        given = asdict(checkpoint)
        for name in ("thread", "namespace", "id", "parent", "run"):
            _check_id(given[name], name)
        with self._store.database.write(self._store.agent) as tx:
            tx.run("graphs.put", **given, format=FORMAT, hash=_hash(checkpoint.type, checkpoint.state))

    def put_writes(
        self, thread: str, namespace: str, checkpoint: str, writes: Sequence[GraphWrite], *, replace: bool
    ) -> None:
        """Store what a task wrote. Writes with the same task and number are replaced, or else stay as they are.

        Raises Invalid if an id is too long, or is not text that every database can store.
        """
        key = {"thread": thread, "namespace": namespace, "checkpoint": checkpoint}
        rows = [{**key, **asdict(write), "hash": _hash(write.type, write.value)} for write in writes]
        for row in rows:
            for name in (*key, "task", "path", "channel"):
                _check_id(row[name], name)
        with self._store.database.write(self._store.agent) as tx:
            tx.many("graphs.write_put" if replace else "graphs.write_add", rows)

    def get(
        self, thread: str, namespace: str, id: str | None = None
    ) -> tuple[GraphCheckpoint, list[GraphWrite]] | None:
        """Return a checkpoint, by default the latest of the namespace, and its writes; None if there is none.

        Raises ConfigError if a newer recollect wrote it, and Corrupt if it is not what was written.
        """
        key = {"thread": thread, "namespace": namespace}
        with self._store.read() as tx:
            latest = tx.one("graphs.latest", **key) if id is None else (id,)
            row = None if latest is None else tx.one("graphs.get", **key, id=latest[0])
            if row is None:
                return None
            if wrong := _wrong(row):
                raise (ConfigError if row[5] > FORMAT else Corrupt)(f"checkpoint {row[2]} of thread {thread!r} {wrong}")
            return _checkpoint(row), _writes(tx, row)

    def list(self, thread: str | None = None) -> Sequence[tuple[str, str, str, str]]:
        """Return (thread, namespace, id, metadata) of all checkpoints, or of those of a thread, newest first."""
        with self._store.read() as tx:
            rows = tx.all("graphs.every") if thread is None else tx.all("graphs.of_thread", thread=thread)
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def delete(self, thread: str) -> None:
        """Delete a thread: its checkpoints and their writes. Cannot be undone."""
        with self._store.database.write(self._store.agent) as tx:
            for query in ("graphs.drop_thread", "graphs.drop_thread_writes"):
                tx.run(query, thread=thread)

    def delete_runs(self, runs: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made, and their writes. Cannot be undone."""
        if runs:
            with self._store.database.write(self._store.agent) as tx:
                _drop(tx, tx.all("graphs.of_runs", runs=list(runs)))

    def copy(self, source: str, target: str) -> None:
        """Copy all checkpoints of a thread and their writes to another one. What the other one has stays.

        Raises Invalid if the id of the other thread is too long.
        """
        _check_id(target, "thread")
        with self._store.database.write(self._store.agent) as tx:
            for thread, namespace, id, _ in tx.all("graphs.of_thread", thread=source):
                key = {"namespace": namespace, "id": id}
                (row,) = tx.all("graphs.get", thread=thread, **key)
                tx.run("graphs.add", **dict(zip(_COLUMNS, row, strict=True)) | {"thread": target})
                for write in tx.all("graphs.writes", thread=thread, **key):
                    values = dict(zip(_WRITE_COLUMNS, write, strict=True))
                    tx.run("graphs.write_add", thread=target, namespace=namespace, checkpoint=id, **values)

    def keep(self, thread: str, needed: Collection[tuple[str, str]]) -> None:
        """Delete the checkpoints of a thread, except those of these namespaces and ids. Cannot be undone."""
        with self._store.database.write(self._store.agent) as tx:
            rows = [row[:3] for row in tx.all("graphs.of_thread", thread=thread)]
            _drop(tx, [row for row in rows if row[1:] not in needed])


def damage(tx: Transaction) -> Iterator[str]:
    """Iterate over what is wrong with the checkpoints of an agent and their writes."""
    for thread, namespace, id, _ in tx.all("graphs.every"):
        row = tx.one("graphs.get", thread=thread, namespace=namespace, id=id)
        if row is not None and (wrong := _wrong(row)):
            yield f"checkpoint {id} of thread {thread!r} {wrong}"
        if row is not None:
            try:
                _writes(tx, row)
            except Corrupt as error:
                yield str(error)


def _drop(tx: Transaction, keys: Sequence[Row]) -> None:
    for thread, namespace, id in keys:
        for query in ("graphs.drop", "graphs.drop_writes"):
            tx.run(query, thread=thread, namespace=namespace, id=id)


def _checkpoint(row: Row) -> GraphCheckpoint:
    thread, namespace, id, parent, run, _, metadata, kind, state, _ = row
    return GraphCheckpoint(
        thread=thread,
        namespace=namespace,
        id=id,
        parent=parent,
        run=run,
        metadata=metadata,
        type=kind,
        state=bytes(state),
    )


def _writes(tx: Transaction, row: Row) -> list[GraphWrite]:
    found = []
    thread, namespace, checkpoint = row[:3]
    rows = tx.all("graphs.writes", thread=thread, namespace=namespace, id=checkpoint)
    for task, number, path, channel, kind, value, stored in rows:
        if _hash(kind, bytes(value)) != stored:
            raise Corrupt(
                f"a write to {channel!r} at checkpoint {checkpoint} of thread {thread!r} is not what was written"
            )
        found.append(GraphWrite(task=task, number=number, path=path, channel=channel, type=kind, value=bytes(value)))
    return found


def _wrong(row: Row) -> str:
    """Return what is wrong with the row of a checkpoint, or ""."""
    *_, written, metadata, kind, state, stored = row
    if written > FORMAT:
        return "was written by a newer recollect; upgrade this one to read it"
    try:
        json.loads(metadata)
    except ValueError:
        return "has metadata that is not JSON"
    return "" if _hash(kind, bytes(state)) == stored else "is not what was written: its hash differs"


def _hash(kind: str, data: bytes) -> str:
    return hashlib.sha256(kind.encode() + b"\0" + data).hexdigest()[:32]


def _check_id(value: object, what: str) -> None:
    if value is not None and len(plain(what, value, lines=True)) > LONGEST:
        raise Invalid(f"the {what} has {len(str(value)):,} characters; at most {LONGEST:,} are allowed")
