"""Reader for the markdown and CSV export of Notion: one note per page, and per row of a database that has no page.

The file of a page is named by its title and its id, begins with the title, and for a row of a database continues with
one line per property. Links between pages become links between notes; links to attachments stay as they are.
"""

import csv
import io
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from recollect.model.fields import CONTENT_BYTES
from recollect.transfer.archive import file_errors
from recollect.transfer.importers.dates import spoken_date
from recollect.transfer.importers.markdown_texts import MarkdownText, other_files, tag_list, texts
from recollect.transfer.importers.reading import clean, files, name
from recollect.transfer.importers.values import ImportedItem, ImportedNote, Read, Remark
from recollect.vault.files import LeftAlone, read_bytes

__all__ = ["is_export", "read"]

CREATED = ("created", "created time", "created at", "date created", "date")
TAGS = ("tags", "tag")
_ID = re.compile(r"[ -]?[0-9a-f]{32}(?:_all)?\Z")
_WRAPPER = re.compile(r"(?:Export|ExportBlock)-[0-9a-f-]+(?:-Part-\d+)?")
_LINK = re.compile(r"\[([^\[\]\r\n]*)\]\(([^()\s]+\.(?:md|csv))\)")
_NOT_IN_LINKS = frozenset("[]|#")


@dataclass(slots=True)
class _Database:
    """A database: the names of its properties, its rows, and the titles of those that have a page."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    pages: set[str] = field(default_factory=set)


def is_export(path: Path) -> bool:
    """True if a folder has a page or a database with an id in its file name."""
    return any(_ID.search(file.stem) for file in files(path, ".md", ".csv"))


def read(path: Path, done: Read) -> Iterator[ImportedItem]:
    """Yield the pages in path order, then the rows of databases that have no page."""
    path = path if path.is_dir() else path.resolve()
    root = path if path.is_dir() else path.parent
    databases: dict[str, _Database] = {}
    for found in _databases(root) if path.is_dir() else ():
        if isinstance(found, Remark):
            yield found
        else:
            databases.setdefault(*found)
    named = _names(path)
    for one in texts(path, done):
        if isinstance(one, Remark):
            yield one
        else:
            yield _page(one, named, databases.get(_plain(one.where.parent)))
    taken = set(named.values())
    for database in databases.values():
        yield from _rows(database, taken)
    yield from other_files(path, ".md", ".csv")


def _names(path: Path) -> dict[str, str]:
    """Return the names of the notes by the paths of their pages; the second page with a title is named by its path."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for one in texts(path, lambda read: None):
        if isinstance(one, MarkdownText):
            title = _title(one)
            called = name(title)
            if called is None or called in taken:
                called = name(f"{_plain(one.where.parent)}/{title}".strip("/"))
            if called is None or called in taken:
                called = name(one.where.with_suffix("").as_posix()) or "page"
            taken.add(called)
            found[one.where.as_posix()] = called
    return found


def _title(page: MarkdownText) -> str:
    first = page.text.lstrip("\r\n").partition("\n")[0].strip()
    return first.removeprefix("# ").strip() if first.startswith("# ") else _ID.sub("", page.where.stem)


def _plain(path: Path) -> str:
    """Return a path without ids, and without the wrapper folders of the export."""
    return "/".join(_ID.sub("", part) for part in path.parts if not _WRAPPER.fullmatch(part))


def _page(page: MarkdownText, named: Mapping[str, str], database: _Database | None) -> ImportedNote:
    title, body = _title(page), page.text.lstrip("\r\n")
    if body.startswith("# "):
        body = body.partition("\n")[2].lstrip("\r\n")
    fields: dict[str, str] = {}
    if database is not None:
        database.pages.add(title)
        fields, body = _properties(body, database.columns)
    body = _LINK.sub(lambda found: _linked(found, page.where, named), body).strip("\r\n")
    shown = "\n".join(f"{key}: {value}" for key, value in fields.items())
    return _note(named[page.where.as_posix()], body, shown or title, fields, page.at)


def _properties(body: str, columns: list[str]) -> tuple[dict[str, str], str]:
    """Split a text into the properties at its start, one per line, and the rest."""
    fields: dict[str, str] = {}
    rest = body
    while rest:
        first, _, below = rest.partition("\n")
        key, mark, value = first.strip().partition(": ")
        if not mark or key not in columns:
            break
        fields[key], rest = value.strip(), below
    return (fields, rest.lstrip("\r\n")) if not rest.strip() or rest.startswith(("\n", "\r")) else ({}, body)


def _note(called: str, body: str, instead: str, fields: Mapping[str, str], modified: int | None = None) -> ImportedNote:
    """Return a note with the text of a page; `instead` is the content if that is blank."""
    known = {key.lower(): value for key, value in fields.items()}
    return ImportedNote(
        content=body if body.strip() else instead,
        source="notion",
        name=called,
        tags=tag_list(*(one for key in TAGS for one in known.get(key, "").split(","))),
        context=("\n".join(f"{key}: {value}" for key, value in fields.items()) or None) if body.strip() else None,
        at=next((at for key in CREATED if (at := spoken_date(known.get(key, ""))) is not None), modified),
    )


def _linked(found: re.Match[str], where: Path, named: Mapping[str, str]) -> str:
    """Convert a link to a page into a link to its note; other links stay as they are."""
    target = posixpath.normpath(posixpath.join(where.parent.as_posix(), unquote(found[2])))
    called = named.get(target)
    if called is None or _NOT_IN_LINKS & set(called):
        return found[0]
    return f"[[{called}]]" if found[1] in (called, "") else f"[[{called}|{found[1]}]]"


def _databases(root: Path) -> Iterator[tuple[str, _Database] | Remark]:
    """Yield the databases by the folder of their pages; a file with all rows before that of a view."""
    for file in sorted(files(root, ".csv"), key=lambda one: (not one.stem.endswith("_all"), one)):
        where = file.relative_to(root)
        try:
            with file_errors(file):
                text = clean((read_bytes(root, where.as_posix(), CONTENT_BYTES) or b"").decode("utf-8-sig", "replace"))
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except (LeftAlone, csv.Error) as problem:
            yield Remark(f"{where.as_posix()} was left out: {problem}")
            continue
        if rows:
            plain = _plain(where.with_suffix(""))
            yield plain, _Database(plain.rpartition("/")[2], rows[0], rows[1:])


def _rows(database: _Database, taken: set[str]) -> Iterator[ImportedItem]:
    """Yield the rows of a database that have no page."""
    for row in database.rows:
        fields = {key: value for key, value in zip(database.columns, row, strict=False) if key and value.strip()}
        title = row[0].strip() if row else ""
        if not fields or title in database.pages:
            continue
        called = name(title) or name(f"{database.title}: {' '.join(fields.values())}") or database.title
        if called in taken:
            called = name(f"{database.title}/{called}") or called
        taken.add(called)
        yield _note(called, "", "\n".join(f"{key}: {value}" for key, value in fields.items()), fields)
