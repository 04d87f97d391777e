"""The markdown files of a folder, for the readers of notes. Hidden folders, links and long files are left out."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from recollect.model.fields import CONTENT_BYTES
from recollect.transfer.archive import file_errors
from recollect.transfer.importers.reading import clean, files, line, unfollowed
from recollect.transfer.importers.values import Read, Remark
from recollect.vault.files import LeftAlone, read_bytes

__all__ = ["MOST_TAGS", "MarkdownText", "inline_tags", "markdown_files", "other_files", "tag_list", "texts"]

MOST_TAGS = 64
TAG_LENGTH = 64
_INLINE = re.compile(r"(?<![\w/#&])#(?:\[\[([^\[\]\r\n]+)\]\]|([^\W\d_][\w/-]*))")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MarkdownText:
    """A file: its path in the folder, its text, and when it was modified."""

    where: Path
    text: str
    at: int


def markdown_files(path: Path) -> list[Path]:
    """Return the markdown files of a folder, sorted, or the single file."""
    if path.is_file():
        return [path]
    return sorted(
        file
        for file in path.rglob("*.md")
        if not any(part.startswith(".") for part in file.relative_to(path).parts) and not file.is_dir()
    )


def texts(path: Path, done: Read, chosen: Collection[Path] | None = None) -> Iterator[MarkdownText | Remark]:
    """Yield the files of a folder, or only the `chosen` ones, and a remark about each file that was skipped."""
    root, total = path if path.is_dir() else path.parent, 0
    for file in markdown_files(path) if chosen is None else chosen:
        where = file.relative_to(root)
        try:
            with file_errors(file):
                raw, at = read_bytes(root, where.as_posix(), CONTENT_BYTES) or b"", round(file.lstat().st_mtime * 1000)
        except LeftAlone as problem:
            yield Remark(f"{where.as_posix()} was left out: {problem}")
            continue
        total += len(raw)
        done(total)
        yield MarkdownText(where, clean(raw.decode("utf-8-sig", "replace")), at)


def other_files(path: Path, *suffixes: str) -> Iterator[Remark]:
    """Yield remarks about files with none of the suffixes, such as attachments, and about links."""
    if not path.is_dir():
        return
    yield from unfollowed(path, *suffixes)
    found = Counter(one.suffix.lower() or "without a suffix" for one in files(path))
    listed = ", ".join(f"{count} {suffix}" for suffix, count in sorted(found.items()) if suffix not in suffixes)
    if listed:
        yield Remark(f"files that were not read: {listed}; links to them are kept")


def inline_tags(text: str) -> list[str]:
    """Return the tags in running text, `#tag` and `#[[two words]]`, but not those in code."""
    return [several or single for several, single in _INLINE.findall(_CODE.sub("", text))]


def tag_list(*found: str) -> list[str]:
    """Return valid tags, without duplicates."""
    tags = (line(one.strip().strip("#"), TAG_LENGTH) for one in found)
    return list(dict.fromkeys(tag for tag in tags if tag))[:MOST_TAGS]
