"""The graph of an agent's notes: `[[links]]`, evidence, successors, and names that a few notes share. Reads only.

A name is a tag or a concept tag. A name of most notes carries no information, and connecting all its notes pairwise
would take a quadratic number of edges. So a name counts if at most eight notes have it, and each of these is connected
to the next older one.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from recollect.engine.agent_store import Store
from recollect.model.note_graph import NoteEdge, NoteGraph, NoteNode
from recollect.sentences import shortened
from recollect.storage import tag_places
from recollect.storage.database import Row, Transaction
from recollect.vault.links import targets

__all__ = ["MAX_NOTES", "of_stores"]

MAX_NOTES = 10_000
MAX_SHARED = 8
"""Maximum number of notes that share a name, for the name to connect them."""
TITLE_LENGTH = 80
"""Maximum characters of a title."""


@dataclass
class _NotesRead:
    """What was read from the stores: rows of notes, names, and the total number of notes."""

    rows: dict[str, Row] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    """Ids by name and alias."""
    titles: dict[str, str] = field(default_factory=dict)
    """Names by id."""
    count: int = 0


def of_stores(stores: Sequence[Store], limit: int) -> NoteGraph:
    """Return the graph of the newest notes. `stores` are the agent's own."""
    found = _NotesRead()
    for store in stores:
        with store.read() as tx:
            _read(tx, limit, found)
    newest = sorted(found.rows.values(), key=lambda row: (row[2], row[0]), reverse=True)[:limit]
    rows = {row[0]: row for row in newest}
    edges = dict[tuple[str, str], NoteEdge]()
    for edge in (*_explicit_edges(rows, found.ids), *_shared_name_edges(rows)):
        if edge.source != edge.target and edge.target in rows:
            edges.setdefault((min(edge.source, edge.target), max(edge.source, edge.target)), edge)
    nodes = tuple(_node(row, found.titles.get(row[0])) for row in newest)
    return NoteGraph(nodes=nodes, edges=tuple(edges.values()), left_out=found.count - len(nodes))


def _read(tx: Transaction, limit: int, found: _NotesRead) -> None:
    found.rows |= {row[0]: row for row in tx.all("note_graph.notes", limit=limit)}
    counted = tx.one("note_graph.count")
    found.count += counted[0] if counted else 0
    for name, entry_id, canonical in tx.all("note_graph.names"):
        found.ids.setdefault(name, entry_id)
        if canonical:
            found.titles[entry_id] = name


def _node(row: Row, name: str | None) -> NoteNode:
    entry_id, content, at, category, successor, closed, *_ = row
    lines = (line.strip("#>*- \t") for line in content[:1_000].splitlines())
    title = name or shortened(next(filter(None, lines), ""), TITLE_LENGTH)
    return NoteNode(id=entry_id, title=title, category=category, at=at, past=bool(successor or closed))


def _explicit_edges(rows: Mapping[str, Row], ids: Mapping[str, str]) -> Iterator[NoteEdge]:
    """Yield the explicit edges: links first, then evidence and successors."""
    for entry_id, content, *_ in rows.values():
        for link in targets(content) if "[[" in content else ():
            known = ids.get(f"{link.name}#{link.part}") or ids.get(link.name) or link.name
            yield NoteEdge(source=entry_id, target=known, kind="link")
    for entry_id, _, _, _, successor, _, evidence, *_ in rows.values():
        for ref in json.loads(evidence) if evidence != "[]" else ():
            yield NoteEdge(source=entry_id, target=ref.removeprefix("entry:"), kind="evidence")
        if successor:
            yield NoteEdge(source=entry_id, target=successor, kind="successor")


def _shared_name_edges(rows: Mapping[str, Row]) -> Iterator[NoteEdge]:
    """Yield an edge between each note and the next older one with the same name, for names that few notes have."""
    having = defaultdict[str, list[str]](list)
    for entry_id, content, *_, tags, concepts in rows.values():
        for name in {*json.loads(tags), *tag_places.unpack(concepts, content)}:
            having[name].append(entry_id)
    for name, ids in sorted(having.items()):
        if len(ids) <= MAX_SHARED:
            for newer, older in pairwise(ids):
                yield NoteEdge(source=newer, target=older, kind="name", name=name)
