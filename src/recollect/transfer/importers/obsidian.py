"""Reader for a folder of Obsidian notes, or a single note. The file name becomes the note's name, links are kept, and
tags, aliases and dates come from the frontmatter. Its other properties become the context of the note.

Only files inside the folder are read; hidden folders and symbolic links are skipped.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from recollect.model.fields import CONTENT_BYTES
from recollect.transfer.archive import file_errors
from recollect.transfer.importers.reading import clean, line, moment, name
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark
from recollect.vault.files import LeftAlone, read_bytes

__all__ = ["frontmatter", "markdown_files", "read"]

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([\w-]+):[ \t]*(.*)")
_INLINE = re.compile(r"(?<![\w/#&])#([^\W\d_][\w/-]*)")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
MOST_TAGS = 64


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the notes in path order."""
    path = path if path.is_dir() else path.resolve()
    root = path if path.is_dir() else path.parent
    taken: set[str] = set()
    total = 0
    for file in markdown_files(path):
        where = file.relative_to(root)
        try:
            with file_errors(file):
                raw, at = read_bytes(root, where.as_posix(), CONTENT_BYTES) or b"", round(file.lstat().st_mtime * 1000)
        except LeftAlone as problem:
            yield Remark(f"{where} was left out: {problem}")
            continue
        total += len(raw)
        done(total)
        text = clean(raw.decode("utf-8-sig", "replace"))
        fields, body = frontmatter(text)
        if not body.strip():
            yield Remark(f"{where} is empty and was left out")
            continue
        # Links use the file name; if two files share one, the second note is named by its path.
        called = name(file.stem)
        if called is None or called in taken:
            called = name(where.with_suffix("").as_posix())
        taken.add(called or "")
        inline = _INLINE.findall(_CODE.sub("", body))
        tags = [
            tag for one in (*fields.get("tags", fields.get("tag", [])), *inline) if (tag := line(one.strip("#"), 64))
        ]
        yield ImportedNote(
            content=body.strip("\r\n"),
            source="obsidian",
            name=called,
            aliases=[one for found in fields.get("aliases", fields.get("alias", [])) if (one := name(found))],
            tags=list(dict.fromkeys(tags))[:MOST_TAGS],
            context=_properties(text) if fields else None,
            at=next((when for key in ("created", "date") for one in fields.get(key, []) if (when := moment(one))), at),
        )


def markdown_files(path: Path) -> list[Path]:
    """Return the markdown files of a folder, sorted, or the single file."""
    if path.is_file():
        return [path]
    return sorted(
        file
        for file in path.rglob("*.md")
        if not any(part.startswith(".") for part in file.relative_to(path).parts) and not file.is_dir()
    )


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
