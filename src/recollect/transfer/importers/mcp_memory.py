"""Reader for the MCP memory server's `memory.jsonl`: an entity becomes a note with its observations and relations.

A relation becomes a line in the note of its source entity, with a link to the target: `works at [[Acme]]`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import Invalid
from recollect.transfer.archive import opened
from recollect.transfer.importers.reading import clean, first, line, mappings, name
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark

__all__ = ["is_graph", "read"]


def is_graph(value: Mapping[str, Any]) -> bool:
    """True if an object is the whole graph, as the server's tool `read_graph` returns it."""
    return isinstance(value.get("entities"), list) and isinstance(value.get("relations"), list)


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the entities. Reads the file twice: relations may follow their entities, so they are collected first."""
    relations: dict[str, list[str]] = {}
    entities: set[str] = set()
    for row in _rows(path):
        if row.get("type") == "relation":
            relation = f"{line(row.get('relationType')) or 'relates to'} [[{line(row.get('to')) or ''}]]"
            relations.setdefault(clean(row.get("from")), []).append(relation)
        else:
            entities.add(clean(row.get("name")))
    read_so_far = 0
    for row in _rows(path):
        if row.get("type") != "entity":
            continue
        whole, kind = clean(row.get("name")), line(row.get("entityType"), 64)
        observations = row.get("observations")
        said = [clean(one) for one in observations] if isinstance(observations, list) else []
        content = "\n".join([one for one in said if one.strip()] + relations.get(whole, []))
        read_so_far += len(content)
        done(read_so_far)
        called = name(whole)
        if called is None:
            yield Remark("an entity without a name was left out")
            continue
        yield ImportedNote(
            content=content or f"{called} ({kind})" if kind else content or called,
            source="mcp-memory",
            name=called,
            tags=[kind] if kind else [],
        )
    for start in relations.keys() - entities:
        yield Remark(f"the relations of {line(start)!r} were left out: there is no entity of that name")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    graph = first(path)
    if is_graph(graph):
        yield from ({**one, "type": "entity"} for one in mappings(graph.get("entities")))
        yield from ({**one, "type": "relation"} for one in mappings(graph.get("relations")))
        return
    with opened(path) as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                row = json.loads(text.decode("utf-8-sig"))
            except (ValueError, RecursionError):
                raise Invalid(
                    f"line {number} of {path} is not JSON; nothing was imported. Repair or remove it"
                ) from None
            if not isinstance(row, dict) or row.get("type") not in ("entity", "relation"):
                raise Invalid(f"line {number} of {path} is neither an entity nor a relation; nothing was imported")
            yield row
