"""Reader for a workspace of OpenClaw: `MEMORY.md`, `USER.md` and the notes in `memory/`, each file one note.

The agent wrote them itself. Files with its instructions (`SOUL.md`, `AGENTS.md`, …) are no memories and are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from recollect.model.entry import Origin
from recollect.transfer.importers.markdown_texts import markdown_files, other_files, texts
from recollect.transfer.importers.reading import moment, name
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark

__all__ = ["is_workspace", "read"]

MEMORIES = ("MEMORY.md", "memory.md", "USER.md", "DREAMS.md")
INSTRUCTIONS = ("SOUL.md", "AGENTS.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def is_workspace(path: Path) -> bool:
    """True if a folder has a file of memories, and daily notes or instructions beside it."""
    days = any(_DAY.match(file.stem) for file in (path / "memory").glob("*.md"))
    instructions = any((path / one).is_file() for one in INSTRUCTIONS)
    return (days and instructions) or ((path / "MEMORY.md").is_file() and (days or instructions))


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the notes in path order."""
    chosen: list[Path] = []
    left_out: list[Path] = []
    for file in markdown_files(path):
        where = file.relative_to(path).as_posix()
        (chosen if where in MEMORIES or where.startswith("memory/") else left_out).append(file)
    for found in texts(path, done, chosen):
        if isinstance(found, Remark):
            yield found
            continue
        where, text = found.where.as_posix(), found.text.strip("\r\n")
        if not text.strip():
            yield Remark(f"{where} is empty and was left out")
            continue
        day = _DAY.match(found.where.stem)
        yield ImportedNote(
            content=text,
            source="openclaw",
            name=name(f"OpenClaw {where.removesuffix('.md')}"),
            at=moment(day[0]) if day else found.at,
            origin=Origin.AGENT,
        )
    if left_out:
        shown = [file.relative_to(path).as_posix() for file in left_out[:20]]
        yield Remark(f"files that are no memories were left out: {', '.join(shown)}")
    yield from other_files(path, ".md")
