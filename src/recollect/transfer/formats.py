"""Format detection by content, and the common entry point of all imports."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect import names
from recollect.engine.agent_store import Store
from recollect.errors import ConfigError, Invalid
from recollect.model.checks import member
from recollect.model.entry import Category
from recollect.model.transfer import Format, Imported
from recollect.transfer import restoring
from recollect.transfer.archive import HomeDatabases, Progress, file_errors, is_archive, opened, quiet
from recollect.transfer.importers import chatgpt, claude, mcp_memory, mem0, memory_folder, obsidian
from recollect.transfer.importers.reading import line as one_line
from recollect.transfer.importers.reading import objects
from recollect.transfer.importers.values import ImportedItem, Read
from recollect.transfer.importers.writing import ImportWriter

__all__ = ["import_", "recognise"]

FIRST_LINE = 1 << 20
_READERS: Mapping[Format, Callable[[Path, Read], Iterator[ImportedItem]]] = {
    Format.MCP_MEMORY: mcp_memory.read,
    Format.CHATGPT: chatgpt.read,
    Format.CLAUDE: claude.read,
    Format.MEM0: mem0.read,
    Format.OBSIDIAN: obsidian.read,
    Format.MEMORY_FOLDER: memory_folder.read,
    Format.CONVERSATION: memory_folder.read_conversation,
}


def recognise(path: Path) -> Format:
    """Detect the format of a file or folder; raise Invalid, listing the supported formats, if it is unknown."""
    with file_errors(path):
        if path.is_dir():
            return _folder(path)
        if path.suffix.lower() in (".md", ".markdown"):
            path.stat()
            return Format.MEMORY_FOLDER if path.resolve().parent.name == ".memory" else Format.OBSIDIAN
        with opened(path) as file:
            line = file.readline(FIRST_LINE)
    if is_archive(line):
        return Format.RECOLLECT
    if _row(line).get("type") in ("entity", "relation"):
        return Format.MCP_MEMORY
    found = _of_object(next(objects(path, lambda done: None), {}))
    if found is None:
        raise Invalid(f"{path} is none of the formats that can be imported: {', '.join(Format)}. Name it with format=…")
    return found


def _folder(path: Path) -> Format:
    marks = (path / memory_folder.PROJECT, path / ".vault")
    categories = (one for category in Category for one in path.glob(f"*/{category}.md"))
    saved = path.glob("conversations/*.json")
    if path.name == ".memory" or any(mark.exists() for mark in marks) or next(categories, None) or next(saved, None):
        return Format.MEMORY_FOLDER
    if obsidian.markdown_files(path):
        return Format.OBSIDIAN
    raise Invalid(f"{path} holds no markdown files; there is nothing to import")


def _row(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _of_object(first: Mapping[str, Any]) -> Format | None:
    for key, kind in (("mapping", Format.CHATGPT), ("chat_messages", Format.CLAUDE), ("memory", Format.MEM0)):
        if key in first:
            return kind
    if isinstance(first.get("results"), list):
        return Format.MEM0
    return Format.CONVERSATION if isinstance(first.get("messages"), list) else None


def import_(
    place: HomeDatabases,
    path: Path,
    *,
    stores: Callable[[str], Sequence[Store]],
    agent: str,
    workspace: str,
    clock: Callable[[], int],
    format: Format | str | None = None,
    dry_run: bool = False,
    progress: Progress = quiet,
    touched: Callable[[str | None, str], None] = lambda workspace, agent: None,
) -> Imported:
    """Import a file or folder of any format. Idempotent.

    `stores` returns an agent's store in the workspace, and that of the account if it is separate. `touched` is called
    with each workspace (None: the account) and agent that was written to.
    """
    if not path.exists():
        raise ConfigError(f"there is no file {path}; give the path of one that is there")
    kind = recognise(path) if format is None else member(Format, format, "format")
    if kind is Format.RECOLLECT:
        return restoring.import_(place, path, clock(), dry_run=dry_run, progress=progress, touched=touched)
    names.segment(agent, "an agent")
    evidence = f"import:{kind}:{one_line(path.name, 200) or 'file'}"
    writer = ImportWriter(stores, agent, clock, evidence=(evidence,), dry_run=dry_run)
    with file_errors(path):
        total = path.stat().st_size if path.is_file() else 0
        writer.take(_READERS[kind](path, lambda done: progress(path.name, done, max(total, done))))
    if not dry_run:
        for name in writer.agents():
            touched(workspace, name)
    return Imported(
        format=kind,
        path=str(path),
        dry_run=dry_run,
        parts=writer.parts(workspace),
        remarks=writer.remarks(),
        migrated=tuple(writer.migrated),
        skipped=tuple(writer.skipped),
    )
