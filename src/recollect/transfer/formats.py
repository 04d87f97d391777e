"""Format detection by content, and the common entry point of all imports."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from recollect import names
from recollect.engine.agent_store import Store
from recollect.errors import ConfigError, Invalid, RecollectError
from recollect.model.checks import member
from recollect.model.entry import Category
from recollect.model.transfer import Format, Imported
from recollect.transfer import restoring
from recollect.transfer.archive import HomeDatabases, Progress, file_errors, is_archive, opened, quiet
from recollect.transfer.importers import (
    chatgpt,
    claude,
    gemini,
    letta,
    logseq,
    mcp_memory,
    mem0,
    memory_folder,
    notion,
    obsidian,
    openclaw,
    transcripts,
)
from recollect.transfer.importers.markdown_texts import markdown_files
from recollect.transfer.importers.reading import each, files, listed, objects, unfollowed
from recollect.transfer.importers.reading import line as one_line
from recollect.transfer.importers.values import ImportedItem, Read, Remark
from recollect.transfer.importers.writing import ImportWriter
from recollect.transfer.unpacking import unpacked

__all__ = ["import_", "recognise"]

FIRST_LINE = 1 << 20
LINES = 8
"""How many lines of a file are looked at to detect its format."""
PARTS = (".json", ".jsonl", ".af", ".html", ".txt")
"""Suffixes of the files in a folder whose content is looked at to detect its format."""
PROBED = 100
"""How many of each suffix are looked at."""
MEM0 = ("results", "memories")
"""Lists of memories of mem0."""
_READERS: Mapping[Format, Callable[[Path, Read], Iterator[ImportedItem]]] = {
    Format.MCP_MEMORY: mcp_memory.read,
    Format.CHATGPT: chatgpt.read,
    Format.CLAUDE: claude.read,
    Format.GEMINI: gemini.read,
    Format.LETTA: letta.read,
    Format.MEM0: mem0.read,
    Format.OPENCLAW: openclaw.read,
    Format.NOTION: notion.read,
    Format.LOGSEQ: logseq.read,
    Format.BASIC_MEMORY: obsidian.read_basic_memory,
    Format.OBSIDIAN: obsidian.read,
    Format.MEMORY_FOLDER: memory_folder.read,
    Format.CONVERSATION: memory_folder.read_conversation,
}
_OBJECTS: Sequence[tuple[Format, Callable[[Mapping[str, Any]], bool]]] = (
    (Format.CHATGPT, lambda value: isinstance(value.get("mapping"), dict)),
    (Format.CLAUDE, claude.is_claude),
    (Format.LETTA, letta.is_agent_file),
    (Format.GEMINI, gemini.is_activity),
    (Format.GEMINI, gemini.is_conversation),
    (Format.MCP_MEMORY, mcp_memory.is_graph),
    (Format.MEM0, lambda value: "memory" in value or any(isinstance(value.get(key), list) for key in MEM0)),
    (Format.CONVERSATION, lambda value: isinstance(value.get("messages"), list)),
)
"""How the first object of a JSON file tells its format."""
_TRANSCRIPTS = (Format.CLAUDE_CODE, Format.CODEX)
_IN_FOLDERS = (
    Format.CHATGPT,
    Format.CLAUDE,
    *_TRANSCRIPTS,
    Format.GEMINI,
    Format.LETTA,
    Format.MCP_MEMORY,
    Format.MEM0,
)
"""Formats whose files may be in a folder with others, in the order in which they are preferred."""
_NOTE_FOLDERS: Sequence[tuple[Format, Callable[[Path], object]]] = (
    (Format.OPENCLAW, openclaw.is_workspace),
    (Format.LOGSEQ, logseq.graph_of),
    (Format.NOTION, notion.is_export),
    (Format.BASIC_MEMORY, obsidian.is_basic_memory),
)
"""How a folder of notes tells its format."""
_WHOLE_FOLDERS = (
    Format.CHATGPT,
    Format.CLAUDE,
    *(kind for kind, _ in _NOTE_FOLDERS),
    Format.OBSIDIAN,
    Format.MEMORY_FOLDER,
)
"""Formats whose readers take the folder."""


def recognise(path: Path) -> Format:
    """Detect the format of a file or folder; raise Invalid, listing the supported formats, if it is unknown."""
    with file_errors(path):
        found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        raise Invalid(f"{path} is none of the formats that can be imported: {', '.join(Format)}. Name it with format=…")
    return found


def _of_folder(path: Path) -> Format | None:
    marks = (path / memory_folder.PROJECT, path / ".vault")
    categories = (one for category in Category for one in path.glob(f"*/{category}.md"))
    saved = path.glob("conversations/*.json")
    if path.name == ".memory" or any(mark.exists() for mark in marks) or next(categories, None) or next(saved, None):
        return Format.MEMORY_FOLDER
    if kind := next((kind for kind, recognised in _NOTE_FOLDERS if recognised(path)), None):
        return kind
    if not (path / ".obsidian").is_dir():
        found = {_of_part(file) for suffix in PARTS for file in files(path, suffix)[:PROBED]}
        if kind := next((kind for kind in _IN_FOLDERS if kind in found), None):
            return kind
    return Format.OBSIDIAN if markdown_files(path) else None


def _of_part(path: Path) -> Format | None:
    """Detect the format of one file among others, which may be damaged or of no format."""
    try:
        return _of_file(path)
    except RecollectError:
        return None


def _of_file(path: Path) -> Format | None:
    if path.suffix.lower() in (".md", ".markdown"):
        path.stat()
        return Format.MEMORY_FOLDER if path.resolve().parent.name == ".memory" else Format.OBSIDIAN
    if path.suffix.lower() in (".html", ".htm"):
        with opened(path) as file:
            return Format.GEMINI if gemini.is_page(file.read(FIRST_LINE).decode("utf-8", "replace")) else None
    with opened(path) as file:
        lines = [file.readline(FIRST_LINE) for _ in range(LINES)]
    if is_archive(lines[0]):
        return Format.RECOLLECT
    if found := next((kind for line in lines if (kind := _of_row(_row(line)))), None):
        return found
    return _of_object(next(objects(path, lambda done: None), {}))


def _of_row(row: Mapping[str, Any]) -> Format | None:
    if row.get("type") in ("entity", "relation"):
        return Format.MCP_MEMORY
    if transcripts.is_codex(row):
        return Format.CODEX
    return Format.CLAUDE_CODE if transcripts.is_claude_code(row) else None


def _row(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _of_object(value: Mapping[str, Any]) -> Format | None:
    for kind, recognised in _OBJECTS:
        if recognised(value):
            return kind
    return None


def _read(kind: Format, path: Path, done: Read, writer: ImportWriter) -> Iterator[ImportedItem]:
    """Yield the items of a file or folder, and what of a folder was not read."""
    reader = partial(transcripts.read, stored=writer.position) if kind in _TRANSCRIPTS else _READERS[kind]
    if kind in _WHOLE_FOLDERS or not path.is_dir():
        yield from reader(path, done)
    else:
        parts = [file for file in files(path, *PARTS) if _of_part(file) is kind]
        for file, read_so_far in each(parts, done):
            yield from reader(file, read_so_far)
    if path.is_dir() and kind in _IN_FOLDERS:
        yield from _unread(kind, path)


def _unread(kind: Format, path: Path) -> Iterator[Remark]:
    """Yield remarks about the links of a folder and its files of no format."""
    yield from unfollowed(path)
    other = [file.relative_to(path).as_posix() for file in files(path) if _of_part(file) is not kind]
    if other:
        many = len(other) > 1
        yield Remark(f"{len(other)} other file{'s were' if many else ' was'} not read: {listed(other)}")


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
        raise ConfigError(f"there is no file {path}; pass the path of an existing file")
    with file_errors(path), unpacked(path) as (root, left_out):
        try:
            kind = recognise(root) if format is None else member(Format, format, "format")
            if kind is Format.RECOLLECT:
                return restoring.import_(place, root, clock(), dry_run=dry_run, progress=progress, touched=touched)
            names.segment(agent, "an agent")
            evidence = f"import:{kind}:{one_line(path.name, 200) or 'file'}"
            writer = ImportWriter(stores, agent, clock, evidence=(evidence,), dry_run=dry_run)
            total = sum(file.stat().st_size for file in files(root)) if root.is_dir() else root.stat().st_size
            writer.take(map(Remark, left_out))
            writer.take(_read(kind, root, lambda done: progress(path.name, done, max(total, done)), writer))
        except RecollectError as error:
            raise type(error)(str(error).replace(str(root), str(path))) from error.__cause__
    if not dry_run:
        for name in writer.agents():
            touched(workspace, name)
    return Imported(
        format=kind,
        path=str(path),
        dry_run=dry_run,
        parts=writer.parts(workspace),
        remarks=tuple(remark.replace(f"{root}{os.sep}", "") for remark in writer.remarks()),
        migrated=tuple(writer.migrated),
        skipped=tuple(writer.skipped),
    )
