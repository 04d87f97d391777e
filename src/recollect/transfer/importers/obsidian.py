"""Readers for folders of Obsidian notes and of basic-memory, or a single note. Links are kept, and tags, aliases and
dates come from the frontmatter. Its other properties become the context of the note.

A note of Obsidian is named by its file, one of basic-memory by its title, because links use these names.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from recollect.transfer.archive import opened
from recollect.transfer.importers.markdown_texts import inline_tags, markdown_files, other_files, tag_list, texts
from recollect.transfer.importers.reading import moment, name
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark

__all__ = ["frontmatter", "is_basic_memory", "read", "read_basic_memory"]

PROBED = 50
"""How many files are looked at to detect basic-memory."""
HEAD = 4_096
"""How many bytes of each."""
BASIC_MEMORY = {"title", "type", "permalink"}
"""Properties of every note of basic-memory."""
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([\w-]+):[ \t]*(.*)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


def is_basic_memory(path: Path) -> bool:
    """True if most of the first notes in a folder have the properties of basic-memory."""
    probed = [file for file in markdown_files(path) if not file.is_symlink()][:PROBED]
    found = sum(frontmatter(_head(file))[0].keys() >= BASIC_MEMORY for file in probed)
    return found * 2 > len(probed)


def _head(file: Path) -> str:
    with opened(file) as head:
        return head.read(HEAD).decode("utf-8-sig", "replace")


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the notes of Obsidian in path order."""
    yield from _notes(path, done, "obsidian")


def read_basic_memory(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the notes of basic-memory in path order; observations and relations are part of their text."""
    yield from _notes(path, done, "basic-memory", titled=True)


def _notes(path: Path, done: Read, source: str, *, titled: bool = False) -> Iterator[ImportedItem]:
    path = path if path.is_dir() else path.resolve()
    taken: set[str] = set()
    for found in texts(path, done):
        if isinstance(found, Remark):
            yield found
            continue
        fields, body = frontmatter(found.text)
        if not body.strip():
            yield Remark(f"{found.where} is empty and was left out")
            continue
        # Links use the file name or the title; if two notes share it, the second one is named by its path.
        named = [*fields.get("title", ()), found.where.stem] if titled else [found.where.stem]
        called = name(named[0])
        if called is None or called in taken:
            called = name(found.where.with_suffix("").as_posix())
        taken.add(called or "")
        aliases = [*fields.get("aliases", fields.get("alias", [])), *named[1:]]
        aliases += fields.get("permalink", []) if titled else []
        stated = [one for key in ("created", "date") for one in fields.get(key, [])]
        named_by = _DAY.match(found.where.stem)  # a daily note is named by its day
        dates = (when for one in (*stated, named_by and named_by[0]) if (when := moment(one)))
        yield ImportedNote(
            content=body.strip("\r\n"),
            source=source,
            name=called,
            aliases=[one for one in dict.fromkeys(map(name, aliases)) if one and one != called],
            tags=tag_list(*fields.get("tags", fields.get("tag", [])), *inline_tags(body)),
            context=_properties(found.text) if fields else None,
            at=next(dates, found.at),
        )
    yield from other_files(path, ".md")


def frontmatter(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the frontmatter fields, each as a list, and the text after them. Invalid frontmatter stays in the text."""
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    fields: dict[str, list[str]] = {}
    last: list[str] | None = None
    for row in found[1].splitlines():
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        entry = _KEY.fullmatch(row.rstrip())
        if entry is not None:
            last = fields.setdefault(entry[1].lower(), [])
            last += _values(entry[2], several=entry[1].lower() in ("tags", "tag", "aliases", "alias"))
        elif row.lstrip().startswith("- ") and last is not None:
            last += _values(row.lstrip()[2:], several=False)
        elif last is None or not row.startswith((" ", "\t")):
            return {}, text
    return fields, text[found.end() :]


def _properties(text: str) -> str | None:
    """Return the lines of the frontmatter that are neither tags nor aliases, as they were written."""
    found = _FRONT.match(text)
    kept: list[str] = []
    keep = False
    for row in found[1].splitlines() if found else ():
        entry = _KEY.fullmatch(row.rstrip())
        if entry is not None:
            keep = entry[1].lower() not in ("tags", "tag", "aliases", "alias")
        if keep and row.strip():
            kept.append(row.rstrip())
    return "\n".join(kept) or None


def _values(text: str, *, several: bool) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text, several = text[1:-1], True
    parts = re.split(r",\s*", text) if several else [text]
    return [part for one in parts if (part := one.strip().strip("\"'"))]
