"""The graph of notes as values: nodes are notes, edges are links, evidence, successors and shared names."""

from dataclasses import dataclass

__all__ = ["NoteEdge", "NoteGraph", "NoteNode"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteNode:
    """A note in the graph."""

    id: str
    title: str
    category: str | None
    at: int
    """When it was written, in UTC milliseconds."""
    past: bool
    """True if it was superseded or retracted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEdge:
    """A connection of two notes."""

    source: str
    target: str
    kind: str
    """`link`, `evidence`, `successor` or `name`."""
    name: str | None = None
    """What both mention, if the kind is `name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteGraph:
    """The newest notes of a memory and their connections."""

    nodes: tuple[NoteNode, ...]
    """Newest first."""
    edges: tuple[NoteEdge, ...]
    left_out: int
    """How many older notes are not in the graph."""
