"""Checkpoints of graphs as values: the state of a run of an agent framework, so that it can go on from there."""

from dataclasses import dataclass

__all__ = ["GraphCheckpoint", "GraphWrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCheckpoint:
    """The state of a thread at one step. Ids of later checkpoints are greater."""

    thread: str
    namespace: str
    """That of a subgraph; empty for the graph itself."""
    id: str
    parent: str | None = None
    run: str | None = None
    metadata: str = "{}"
    """JSON."""
    type: str
    """How the state is serialised, as its framework calls it."""
    state: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphWrite:
    """What a task wrote to a channel after a checkpoint, before the next one."""

    task: str
    number: int
    path: str
    channel: str
    type: str
    value: bytes
