"""Reader for mem0 memories as JSON: a list, or an object with the list under `results` or `memories`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import Invalid
from recollect.transfer.importers.reading import clean, line, mapping, moment, objects
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark

__all__ = ["read"]


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the memories in file order."""
    number = 0
    for found in objects(path, done):
        listed = [found] if "memory" in found else found.get("results", found.get("memories"))
        if not isinstance(listed, list):
            raise Invalid(f"{path} contains no memories of mem0: an item has neither 'memory' nor 'results'")
        for memory in listed:
            number += 1
            if mapping(memory).get("state") == "deleted":
                yield Remark(f"memory {number} of the file was deleted, and was left out")
                continue
            content = clean(mapping(memory).get("memory") or mapping(memory).get("content"))
            if not content.strip():
                yield Remark(f"memory {number} of the file is empty, and was left out")
                continue
            yield ImportedNote(
                content=content,
                source="mem0",
                tags=[tag for one in _list(memory.get("categories")) if (tag := line(one, 64))],
                context=_context(memory),
                at=moment(memory.get("created_at")),
            )


def _context(memory: Mapping[str, Any]) -> str | None:
    """Return user, agent, run and metadata of a memory as text; None if there are none."""
    parts = [f"{key}: {line(memory[key])}" for key in ("user_id", "agent_id", "run_id") if line(memory.get(key))]
    about = memory.get("metadata")
    if isinstance(about, Mapping) and about:
        parts.append(clean(json.dumps(about, ensure_ascii=False, sort_keys=True)))
    return "\n".join(parts) or None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
