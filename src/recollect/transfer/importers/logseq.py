"""Reader for a graph of Logseq: one note per page and per day of the journal. Outlines are kept as they are.

The properties at the start of a page become its tags, aliases and context. References to blocks are replaced by the
text of the block, because a note has no blocks; properties for Logseq only, such as `collapsed::`, are dropped.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from recollect.transfer.importers.markdown_texts import (
    MarkdownText,
    inline_tags,
    markdown_files,
    other_files,
    tag_list,
    texts,
)
from recollect.transfer.importers.reading import moment, name
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark

__all__ = ["graph_of", "read"]

PAGES, JOURNALS = "pages", "journals"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = re.compile(r"(\d{4})[_-](\d\d)[_-](\d\d)")
_PROPERTY = re.compile(r"(?:- )?([^\s:,#]+):: ?(.*)")
_BLOCK = re.compile(r"\s*- (.*)")
_BLOCK_ID = re.compile(r"\s*(?:- )?id:: *([0-9a-f-]{36})\s*")
_MARK = re.compile(r"\s*(?:id|collapsed):: .*")
_REFERENCE = re.compile(r"\{\{embed \(\(([0-9a-f-]{36})\)\)\}\}|\(\(([0-9a-f-]{36})\)\)")
_ESCAPED = {"%2F": "/", "%3A": ":", "%3F": "?", "%22": '"', "%2A": "*", "%7C": "|", "%3C": "<", "%3E": ">"}


def graph_of(path: Path) -> Path | None:
    """Return the folder of the graph: the given one or its only subfolder; None if neither is a graph."""
    inside = [one for one in path.iterdir() if one.is_dir() and not one.is_symlink() and not one.name.startswith(".")]
    for folder in (path, *inside) if len(inside) == 1 else (path,):
        both = (folder / JOURNALS).is_dir() and (folder / PAGES).is_dir()
        if both or ((folder / "logseq/config.edn").is_file() and markdown_files(folder)):
            return folder
    return None


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the pages and the days of the journal, in path order."""
    root = graph_of(path) or path
    chosen = [file for part in (JOURNALS, PAGES) for file in markdown_files(root / part) if (root / part).is_dir()]
    blocks = {key: text for file in texts(root, lambda read: None, chosen) for key, text in _blocks(file)}
    empty = unresolved = 0
    for found in texts(root, done, chosen):
        if isinstance(found, Remark):
            yield found
            continue
        fields, body = _page(found.text)
        body, missing = _resolved(body, blocks)
        unresolved += missing
        if not body.strip("- \t\r\n"):
            empty += 1
            continue
        yield _note(found, fields, body)
    if empty:
        yield Remark(f"{empty} empty page{'s were' if empty > 1 else ' was'} left out")
    if unresolved:
        yield Remark(f"{unresolved} references lead to blocks that are not in the graph, and were kept as they are")
    yield from other_files(root, ".md")


def _note(found: MarkdownText, fields: dict[str, str], body: str) -> ImportedNote:
    day = _DAY.fullmatch(found.where.stem) if found.where.parts[0] == JOURNALS else None
    if day:
        called: str | None = "-".join(day.groups())
        aliases = [_spoken(*map(int, day.groups()))]
    else:
        stem = found.where.relative_to(PAGES).with_suffix("").as_posix() if found.where.parts[0] == PAGES else None
        called = name(fields.get("title") or _page_name(stem or found.where.stem))
        aliases = []
    aliases += _items(fields.get("alias", ""))
    rest = {key: value for key, value in fields.items() if key not in ("alias", "tags", "title")}
    return ImportedNote(
        content=body.strip("\r\n"),
        source="logseq",
        name=called,
        aliases=[one for one in dict.fromkeys(map(name, aliases)) if one and one != called],
        tags=tag_list(*_items(fields.get("tags", "")), *inline_tags(body)),
        context="\n".join(f"{key}:: {value}" for key, value in rest.items()) or None,
        at=moment(called) if day else found.at,
    )


def _page_name(stem: str) -> str:
    """Return the name of a page from its file name, in which characters such as `/` are escaped."""
    stem = stem.replace("___", "/")
    return unquote(stem) if any(mark in stem.upper() for mark in _ESCAPED) else stem


def _spoken(year: int, month: int, day: int) -> str:
    """Return a day in the default format of links, "Mar 5th, 2024"."""
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{MONTHS[month - 1] if 1 <= month <= 12 else month} {day}{ending}, {year}"


def _items(value: str) -> list[str]:
    return [one.strip().removeprefix("#").removeprefix("[[").removesuffix("]]") for one in value.split(",")]


def _page(text: str) -> tuple[dict[str, str], str]:
    """Split a page into the properties at its start and the rest, without the properties of blocks."""
    fields: dict[str, str] = {}
    lines = text.splitlines(keepends=True)
    start = 0
    while start < len(lines) and (found := _PROPERTY.fullmatch(lines[start].strip())):
        fields[found[1].lower()] = found[2].strip()
        start += 1
    kept, drawer = [], False
    for line in lines[start:]:
        drawer = drawer or line.strip() == ":LOGBOOK:"
        if not drawer and not _MARK.fullmatch(line.rstrip()):
            kept.append(line)
        drawer = drawer and line.strip() != ":END:"
    return {key: value for key, value in fields.items() if key not in ("id", "collapsed")}, "".join(kept)


def _blocks(found: MarkdownText | Remark) -> Iterator[tuple[str, str]]:
    """Yield the id and first line of each block that has an id."""
    last = ""
    for line in found.text.splitlines() if isinstance(found, MarkdownText) else ():
        if identity := _BLOCK_ID.fullmatch(line):
            yield identity[1], last
        elif block := _BLOCK.fullmatch(line):
            last = block[1]


def _resolved(text: str, blocks: dict[str, str]) -> tuple[str, int]:
    """Replace references by the text of their blocks; return the text and the number of broken references."""
    missing = 0

    def shown(found: re.Match[str]) -> str:
        nonlocal missing
        block = blocks.get(found[1] or found[2])
        missing += block is None
        return found[0] if block is None else block

    return _REFERENCE.sub(shown, text), missing
