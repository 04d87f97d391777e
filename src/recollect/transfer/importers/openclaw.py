"""Reader for a workspace of OpenClaw: `MEMORY.md`, `USER.md` and the notes in `memory/`, each file one note.

The agent wrote them itself. Files with its instructions (`SOUL.md`, `AGENTS.md`, …) are no memories and are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from recollect.model.entry import Origin
from recollect.model.fields import CONTENT_BYTES
from recollect.transfer.archive import file_errors
from recollect.transfer.importers.obsidian import markdown_files
from recollect.transfer.importers.reading import clean, moment, name
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark
from recollect.vault.files import LeftAlone, read_bytes

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
    total, left_out = 0, []
    for file in markdown_files(path):
        where = file.relative_to(path).as_posix()
        if where not in MEMORIES and not where.startswith("memory/"):
            left_out.append(where)
            continue
        try:
            with file_errors(file):
                raw = read_bytes(path, where, CONTENT_BYTES) or b""
        except LeftAlone as problem:
            yield Remark(f"{where} was left out: {problem}")
            continue
        total += len(raw)
        done(total)
        text = clean(raw.decode("utf-8-sig", "replace")).strip("\r\n")
        if not text.strip():
            yield Remark(f"{where} is empty and was left out")
            continue
        day = _DAY.match(file.stem)
        yield ImportedNote(
            content=text,
            source="openclaw",
            name=name(f"OpenClaw {where.removesuffix('.md')}"),
            at=moment(day[0]) if day else round(file.lstat().st_mtime * 1000),
            origin=Origin.AGENT,
        )
    if left_out:
        yield Remark(f"files that are no memories were left out: {', '.join(left_out[:20])}")
