"""Checkpoints of LangGraph threads: states of graphs, and the writes that are pending at each.

They are serialised by LangGraph and stored in tables of their own, which exports, moves and checks of the home include.
"""

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from recollect import ConfigError
from recollect.adapters.homes import Opened, in_thread, missing
from recollect.adapters.item_filters import matches
from recollect.adapters.items import as_json
from recollect.model.graph import GraphCheckpoint, GraphWrite

try:
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
except ImportError:
    raise missing("langgraph", "langgraph") from None

try:
    from langgraph.pregel._checkpoint import LATEST_VERSION
except ImportError:  # another version of LangGraph has it elsewhere, and migrates what it reads by itself
    LATEST_VERSION = None

__all__ = ["GraphSaver"]

DELTAS = "counters_since_delta_snapshot"
"""Key of the metadata that lists the channels whose values are in earlier checkpoints."""


class GraphSaver(BaseCheckpointSaver[str]):
    """A checkpointer in the memory of an agent; `saver()` opens one. Its methods are those of BaseCheckpointSaver.

    Another agent's threads are never read. An id has at most 1,000 characters.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        serde: Any = None,
        agent: str | None = None,
        workspace: str = "default",
    ) -> None:
        super().__init__(serde=serde)
        self._opened = Opened(path, agent, workspace)

    def get_tuple(self, config: Any) -> Any:
        """Return the checkpoint of a config, or the latest one of its thread; None if there is none.

        Raises ConfigError if a newer version of LangGraph or recollect wrote it.
        """
        thread, namespace = _thread(config)
        return self._tuple(thread, namespace, get_checkpoint_id(config) or None)

    def list(
        self,
        config: Any,
        *,
        filter: dict[str, Any] | None = None,
        before: Any = None,
        limit: int | None = None,
    ) -> Iterator[Any]:
        """Iterate over checkpoints, newest first: of a thread, a namespace, with values of their metadata."""
        wanted = config["configurable"] if config else {}
        thread = wanted.get("thread_id")
        end = get_checkpoint_id(before) if before else None
        left = -1 if limit is None else int(limit)
        for found, namespace, id, metadata in self._graphs.list(None if thread is None else str(thread)):
            if left == 0:
                return
            if "checkpoint_ns" in wanted and namespace != wanted["checkpoint_ns"]:
                continue
            if (wanted.get("checkpoint_id") or id) != id or (end is not None and id >= end):
                continue
            if matches(json.loads(metadata), filter) and (one := self._tuple(found, namespace, id)) is not None:
                left -= 1
                yield one

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store a checkpoint and return its config.

        Raises Invalid if an id is too long, or the metadata is not JSON.
        """
        thread, namespace = _thread(config)
        about = get_checkpoint_metadata(config, metadata)
        kind, state = self.serde.dumps_typed(checkpoint)
        run = about.get("run_id")
        self._graphs.put(
            GraphCheckpoint(
                thread=thread,
                namespace=namespace,
                id=checkpoint["id"],
                parent=config["configurable"].get("checkpoint_id"),
                run=None if run is None else str(run),
                metadata=as_json(about, f"the metadata of checkpoint {checkpoint['id']}"),
                type=kind,
                state=state,
            )
        )
        return _config(thread, namespace, checkpoint["id"])

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what a task wrote after a checkpoint. Special channels are replaced; others stay as they are."""
        thread, namespace = _thread(config)
        rows = []
        for number, (channel, value) in enumerate(writes):
            kind, data = self.serde.dumps_typed(value)
            place = WRITES_IDX_MAP.get(channel, number)
            rows.append(GraphWrite(task=task_id, number=place, path=task_path, channel=channel, type=kind, value=data))
        special = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        self._graphs.put_writes(thread, namespace, str(get_checkpoint_id(config)), rows, replace=special)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread: its checkpoints and their writes. Cannot be undone."""
        self._graphs.delete(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made, and their writes. Cannot be undone."""
        self._graphs.delete_runs([str(one) for one in run_ids])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread and their writes to another one."""
        self._graphs.copy(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads, or all but the latest of each namespace and those it is made from.

        Raises ValueError if the strategy is neither `keep_latest` nor `delete`.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"unknown strategy {strategy!r}; use keep_latest or delete")
        for thread in map(str, thread_ids):
            namespaces = {namespace for _, namespace, _, _ in self._graphs.list(thread)}
            latest = namespaces if strategy == "keep_latest" else ()
            self._graphs.keep(thread, {(one, id) for one in latest for id in self._needed(thread, one)})

    async def aget_tuple(self, config: Any) -> Any:
        """Return the checkpoint of a config, or the latest one of its thread; None if there is none."""
        return await in_thread(self.get_tuple, config)

    async def alist(self, config: Any, **wanted: Any) -> AsyncIterator[Any]:
        """Iterate over checkpoints, newest first."""
        found = self.list(config, **wanted)
        while (one := await in_thread(next, found, None)) is not None:
            yield one

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store a checkpoint and return its config."""
        return await in_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote after a checkpoint."""
        await in_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread: its checkpoints and their writes. Cannot be undone."""
        await in_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made, and their writes. Cannot be undone."""
        await in_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread and their writes to another one."""
        await in_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads, or all but the latest of each namespace."""
        await in_thread(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Mapping[str, Any]:
        """Return the writes to channels since the last checkpoint that has their value."""
        return await in_thread(self.get_delta_channel_history, config=config, channels=channels)

    def close(self) -> None:
        """Close the saver. Calls that are running finish; later ones raise RuntimeError."""
        self._opened.close()

    @property
    def _graphs(self) -> Any:
        if self._opened.closed:
            raise RuntimeError("GraphSaver is closed")
        return self._opened.memory.graphs

    def _tuple(self, thread: str, namespace: str, id: str | None) -> Any:
        found = self._graphs.get(thread, namespace, id)
        if found is None:
            return None
        stored, writes = found
        checkpoint = self.serde.loads_typed((stored.type, stored.state))
        if LATEST_VERSION is not None and checkpoint["v"] > LATEST_VERSION:
            raise ConfigError(
                f"checkpoint {stored.id} of thread {thread!r} has version {checkpoint['v']}, and this LangGraph knows "
                f"{LATEST_VERSION}; upgrade langgraph to read it"
            )
        return CheckpointTuple(
            _config(thread, namespace, stored.id),
            checkpoint,
            json.loads(stored.metadata),
            None if stored.parent is None else _config(thread, namespace, stored.parent),
            [(one.task, one.channel, self.serde.loads_typed((one.type, one.value))) for one in writes],
        )

    def _needed(self, thread: str, namespace: str) -> Iterator[str]:
        """Iterate over the ids of the latest checkpoint and of those that hold the values of its delta channels."""
        one = self._tuple(thread, namespace, None)
        channels = set(one.metadata.get(DELTAS) or ()) if one is not None else set()
        while one is not None:
            yield one.checkpoint["id"]
            channels -= one.checkpoint["channel_values"].keys()
            parent = get_checkpoint_id(one.parent_config) if channels and one.parent_config else None
            one = None if parent is None else self._tuple(thread, namespace, parent)


def _thread(config: Any) -> tuple[str, str]:
    given = config["configurable"]
    return str(given["thread_id"]), given.get("checkpoint_ns", "")


def _config(thread: str, namespace: str, id: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}}
