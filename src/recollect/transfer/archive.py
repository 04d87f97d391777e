"""The export format of recollect: all data that is not derived, as JSON Lines in one file.

The first line is a header. Each agent follows: a line that names workspace and agent, then a line per row. The last
line is a manifest with the row count of each table and a SHA-256 over its lines. Derived data (the indexes and their
document numbers) is omitted and rebuilt on import, so the same memory gives the same lines on every database. A file is
verified completely before the first row is written, and an agent is written in one transaction.
"""

import base64
import errno
import gzip
import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, count, groupby
from pathlib import Path
from typing import IO, Any, Protocol

from recollect import names
from recollect.clock import iso
from recollect.errors import ConfigError, Conflict, Invalid, RecollectError, Unavailable
from recollect.model.transfer import Exported
from recollect.storage.columns import to_export
from recollect.storage.database import Database, DumpedTables, Row
from recollect.storage.entries import content_hash
from recollect.storage.files import new_file, publish
from recollect.storage.schema import migrations

__all__ = [
    "MAGIC_ZIP",
    "RATIO",
    "UNPACKED",
    "VERSION",
    "ArchiveSection",
    "HomeDatabases",
    "Progress",
    "Tables",
    "databases_of",
    "export",
    "file_errors",
    "is_archive",
    "kept",
    "label",
    "opened",
    "plain",
    "quiet",
    "rows_of",
    "tables_of",
    "verified",
]

VERSION = 1
LONGEST_LINE = 256_000_000
UNPACKED, RATIO = 10_000_000, 100
"""Limit of decompression: UNPACKED bytes plus RATIO times the compressed size. Text rarely compresses by more than 90%,
while a decompression bomb expands about a thousandfold."""
MAGIC_GZIP, MAGIC_ZIP = b"\x1f\x8b", b"PK\x03\x04"
_INDEXES = ("tail", "segments", "postings", "removals", "codes", "turn_segments", "turn_postings")
_LOCAL = ("vault_files", "vault_notes", "tokens", "requests")
DERIVED = frozenset((*_INDEXES, *_LOCAL))
"""Tables that are derived, or that describe files and access on this machine."""
_KEPT = {"counters": ("entries", "operations"), "journals": ("events",)}
"""The columns to export from these tables; their other columns describe the indexes."""
_LEFT_OUT = {"entries": ("doc", "used_at", "added"), "embeddings": ("number",)}
LIFETIMES = 9
"""Number of the migration since which a note is short_term only on request."""
VALIDITY = 12
"""Number of the migration since which entries have an origin."""
NAMED_VECTORS = 14
"""Number of the migration since which vectors are made from the name as well."""
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*)\)[^)]*\Z", re.DOTALL)
_COLUMN = re.compile(r"^\s*(?:ALTER TABLE (\w+) ADD COLUMN )?(\w+) (TEXT|INTEGER|REAL|BLOB|VECTOR)( NOT NULL)?", re.M)
_TYPES: dict[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "REAL": (float, int),
    "BLOB": (str,),
    "VECTOR": (str,),
}

Tables = Iterable[tuple[str, Sequence[str], Iterable[Row]]]
"""Tables as (name, exported columns, rows), without the agent column."""
Progress = Callable[[str, int, int], None]
"""Progress callback: called with the current part, the amount done and the total."""


class HomeDatabases(Protocol):
    """The databases of a home."""

    def account(self) -> Database:
        """Return the database of the account's entries."""
        ...

    def workspace(self, name: str) -> Database:
        """Return the database of a workspace."""
        ...

    def workspaces(self) -> list[str]:
        """Return the existing workspaces."""
        ...

    def delete(self, workspace: str) -> None:
        """Remove a workspace with everything in it."""
        ...


def quiet(where: str, done: int, total: int) -> None:
    """Ignore progress."""


# Writing


def export(
    place: HomeDatabases, path: Path, now: int, *, include_vectors: bool = False, progress: Progress = quiet
) -> Exported:
    """Write everything to a new file, compressed if its name ends in .gz. Each agent is a consistent snapshot."""
    if path.exists():
        raise Conflict(f"{path} already exists; choose a new path for the export, or remove it first")
    header = {
        "format": "recollect",
        "version": VERSION,
        "schema": migrations()[-1].number,
        "created_at": iso(now),
        "vectors": include_vectors,
    }
    manifest: list[dict[str, Any]] = []
    parts: list[str] = []
    with _new_file(path) as file:
        file.write(_line(header))
        for workspace, database in databases_of(place):
            for agent in sorted(database.admin.agents()):
                with database.admin.dump(agent, complete=True) as tables:
                    written = _write_agent(file, workspace, agent, kept(tables, include_vectors), manifest)
                if written:
                    parts.append(label(workspace, agent))
                    progress(parts[-1], written, written)
        file.write(_line({"manifest": manifest}))
    return Exported(path=str(path), rows=sum(one["rows"] for one in manifest), parts=tuple(parts))


def _write_agent(
    file: IO[bytes], workspace: str | None, agent: str, tables: Tables, manifest: list[dict[str, Any]]
) -> int:
    """Write the lines of one agent; return the number of rows. An agent without rows writes no line."""
    written = 0
    for table, columns, rows in tables:
        before, digest = written, hashlib.sha256()
        for row in rows:
            if not written:
                file.write(_line({"workspace": workspace, "agent": agent}))
            line = _line([table, dict(zip(columns, map(plain, row), strict=True))])
            digest.update(line)
            file.write(line)
            written += 1
        manifest.append(
            {
                "workspace": workspace,
                "agent": agent,
                "table": table,
                "rows": written - before,
                "sha256": digest.hexdigest(),
            }
        )
    return written


def kept(tables: DumpedTables, include_vectors: bool) -> Tables:
    """Filter an agent's tables for export: drop derived tables, derived columns and the agent column."""
    for table, columns, rows in tables:
        if table in DERIVED or (table == "embeddings" and not include_vectors):
            continue
        out = ("agent", *_LEFT_OUT.get(table, ()))
        places = [place for place, name in enumerate(columns) if name not in out and name in _KEPT.get(table, (name,))]
        first = next(rows, None)
        if first is not None:
            names_kept = [columns[place] for place in places]
            kept = (tuple(row[place] for place in places) for row in chain([first], rows))
            if table == "entries":
                kept = (to_export(names_kept, row, content_hash) for row in kept)
            yield table, names_kept, kept


def databases_of(place: HomeDatabases) -> Iterator[tuple[str | None, Database]]:
    """Yield every database with the name of its workspace; the account's last, as None, if it is a separate one."""
    account = place.account()
    known = [(name, place.workspace(name)) for name in sorted(place.workspaces())]
    yield from known
    if all(database is not account for _, database in known):
        yield None, account


def label(workspace: str | None, agent: str) -> str:
    """Return the name of an agent in reports."""
    return f"{workspace or 'account'}/{agent}"


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def plain(value: object) -> object:
    """Return a value as JSON can hold it: bytes in base64."""
    return base64.b64encode(value).decode() if isinstance(value, bytes | memoryview) else value


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a private temporary file that is published under its name once complete and synced, and removed on error."""
    with file_errors(path), new_file(path) as aside:
        with aside.open("wb") as raw:
            if path.suffix == ".gz":
                # No file name and no mtime in the header: the same memory gives the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        if not publish(aside, path):
            raise Conflict(f"{path} was created by another process in the meantime; choose a new path for the export")


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Translate file system, decompression and encoding errors to RecollectError subclasses."""
    try:
        if b"\0" in os.fsencode(path) or not str(path).encode():
            raise ConfigError(f"{str(path)!r} contains a NUL byte and is not a path; choose another")
    except UnicodeError:
        raise ConfigError(f"{str(path)!r} is not valid Unicode; choose another path") from None
    try:
        yield
    except RecollectError:
        raise
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {error.filename or path}; pass the path of an existing file") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Invalid(f"{path} is damaged or cut off ({error}); nothing was changed. Get a complete copy") from error
    except UnicodeError as error:
        raise Invalid(f"{path} is not UTF-8 text; nothing was changed. Give it in UTF-8") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise Unavailable(f"no space left for {path}; free some and try again") from error
        raise ConfigError(f"cannot use {path}: {error.strerror or error}; choose another path") from error


# Reading


@dataclass(slots=True)
class ArchiveSection:
    """The rows of one agent in a file."""

    workspace: str | None
    agent: str
    offset: int
    """Byte offset of its first row."""
    schema: int
    """Number of the newest migration when the file was written."""
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The name of the section in reports."""
        return label(self.workspace, self.agent)


class _Unpacked(io.RawIOBase):
    """A decompressing stream that raises Invalid once its output exceeds what text plausibly compresses to."""

    def __init__(self, path: Path, packed: gzip.GzipFile) -> None:
        self._path, self._packed = path, packed
        self._most = UNPACKED + RATIO * path.stat().st_size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        piece = self._packed.read(len(buffer))
        if self._packed.tell() > self._most:
            raise Invalid(
                f"{self._path} unpacks to more than {self._most:,} bytes, {RATIO} times its own size; what came after "
                "is not imported. If it is meant to be so long, unpack it and give the file inside"
            )
        buffer[: len(piece)] = piece
        return len(piece)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._packed.seek(offset, whence)

    def tell(self) -> int:
        return self._packed.tell()


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing gzip. A zip raises Invalid."""
    with file_errors(path), open(path, "rb") as raw:
        magic = raw.read(4)
        raw.seek(0)
        if magic == MAGIC_ZIP:
            raise Invalid(f"{path} is a zip; unpack it and give the file inside, for instance conversations.json")
        if magic[:2] == MAGIC_GZIP:
            with gzip.open(raw) as packed, io.BufferedReader(_Unpacked(path, packed)) as unpacked:
                yield unpacked
        else:
            yield raw


def is_archive(line: bytes) -> bool:
    """True if this is the first line of an export."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("format") == "recollect"


def verified(path: Path, progress: Callable[[int], None]) -> list[ArchiveSection]:
    """Read the whole file once and return its sections; raise Invalid unless every row matches the manifest."""
    reading = _Verification(path)
    manifest: object = None
    with opened(path) as file:
        schema = _schema_of(path, _read_line(path, file))
        for number in count(2):
            line = _read_line(path, file)
            if not line:
                break
            if manifest is not None:
                raise Invalid(f"line {number} of {path} follows the end; nothing was changed. Get a complete copy")
            value = _parsed(path, number, line)
            match value:
                case {"manifest": listed}:
                    manifest = listed
                case {"workspace": str() | None as workspace, "agent": str() as agent}:
                    reading.start(workspace, agent, file.tell(), schema)
                case [str() as table, dict() as row] if reading.sections:
                    reading.row(number, table, row, line)
                case _:
                    raise Invalid(f"line {number} of {path} is not a row of an export; nothing was changed")
            if number % 1_000 == 0:
                progress(file.tell())
    if manifest is None:
        raise Invalid(f"{path} is cut off: its last line, the manifest, is missing. Nothing was changed")
    reading.compare(manifest)
    return reading.sections


class _Verification:
    """The sections of a file that is being read, with the count and hash of the rows of each table."""

    def __init__(self, path: Path) -> None:
        self.sections: list[ArchiveSection] = []
        self._path = path
        self._found: dict[tuple[str | None, str, str], tuple[int, Any]] = {}
        self._columns: dict[str, Sequence[str]] = {}

    def start(self, workspace: str | None, agent: str, offset: int, schema: int) -> None:
        """Start the section of an agent, whose rows follow."""
        if workspace is not None:
            names.segment(workspace, "a workspace")
        self.sections.append(ArchiveSection(workspace, names.segment(agent, "an agent"), offset, schema))
        self._columns = {}

    def row(self, number: int, table: str, row: dict[str, Any], line: bytes) -> None:
        """Count a row of the current section; raise Invalid if it does not fit its table."""
        if self._columns.setdefault(table, list(row)) != list(row):
            raise Invalid(f"line {number} of {self._path} has other columns than the rows before it")
        _check_row(self._path, number, table, row)
        section = self.sections[-1]
        key = section.workspace, section.agent, table
        rows, digest = self._found.get(key) or (0, hashlib.sha256())
        digest.update(line)
        self._found[key] = rows + 1, digest
        section.counts[table] = rows + 1

    def compare(self, manifest: object) -> None:
        """Raise Invalid unless the manifest lists exactly the counts and hashes that were read."""
        found = [
            {"workspace": key[0], "agent": key[1], "table": key[2], "rows": rows, "sha256": digest.hexdigest()}
            for key, (rows, digest) in self._found.items()
        ]
        if manifest == found:
            return
        wrong = next((one for one in found if not isinstance(manifest, list) or one not in manifest), None)
        at = f"the table {wrong['table']} of {label(wrong['workspace'], wrong['agent'])}" if wrong else "its manifest"
        raise Invalid(f"{self._path} is not what was exported: {at} has another count or hash. Nothing was changed")


def _schema_of(path: Path, line: bytes) -> int:
    """Return the schema number from the header; raise if this version of recollect cannot read the file."""
    if not is_archive(line):
        raise Invalid(f"{path} is not an export of recollect: its first line is not a header. Nothing was changed")
    header = json.loads(line)
    version, schema, newest = header.get("version"), header.get("schema"), migrations()[-1].number
    if not isinstance(version, int) or not isinstance(schema, int):
        raise Invalid(f"the header of {path} has no version; nothing was changed")
    if version > VERSION or schema > newest:
        raise ConfigError(
            f"{path} was written by a newer recollect (format {version}, schema {schema}; this one knows {VERSION} and "
            f"{newest}): upgrade recollect to import it; nothing was changed"
        )
    return schema


def _read_line(path: Path, file: IO[bytes]) -> bytes:
    line = file.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        raise Invalid(
            f"{path} has a line of more than {LONGEST_LINE:,} bytes; it is not an export. Nothing was changed"
        )
    if line and not line.endswith(b"\n"):
        raise Invalid(f"{path} is cut off in the middle of a line, or is not an export; nothing was changed")
    return line


def _parsed(path: Path, number: int, line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise Invalid(f"line {number} of {path} is not JSON; nothing was changed. Get a complete copy") from None


def _check_row(path: Path, number: int, table: str, row: dict[str, Any]) -> None:
    """Raise Invalid unless the row fits a known table that is not derived."""
    known = _schema().get(table)
    if known is None or table in DERIVED:
        raise Invalid(f"line {number} of {path} names the unknown table {table[:40]!r}; nothing was changed")
    for name, value in row.items():
        kind, required = known.get(name, ("", False))
        fits = not required if value is None else isinstance(value, _TYPES.get(kind, ()))
        if name == "agent" or isinstance(value, bool) or not fits or (kind == "BLOB" and not _is_base64(value)):
            raise Invalid(f"line {number} of {path}: {name[:40]!r} of {table} cannot be {str(value)[:40]!r}")


def _is_base64(value: str) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return True


@cache
def _bytes_of(table: str) -> tuple[str, ...]:
    """Return the columns of a table that hold bytes."""
    return tuple(name for name, (kind, _) in _schema()[table].items() if kind == "BLOB")


@cache
def _schema() -> dict[str, dict[str, tuple[str, bool]]]:
    """Return table -> column -> (type, NOT NULL), read from the migrations."""
    tables: dict[str, dict[str, tuple[str, bool]]] = {}
    for migration in migrations():
        for statement in migration.statements("sqlite"):
            made = _TABLE.match(statement)
            for table, name, kind, required in _COLUMN.findall(made[2] if made else statement):
                tables.setdefault(made[1] if made else table, {})[name] = kind, bool(required)
    return tables


def rows_of(file: IO[bytes], section: ArchiveSection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a section as (table, row)."""
    file.seek(section.offset)
    for line in file:
        if not line.startswith(b"["):
            return
        table, row = json.loads(line)
        if section.schema < LIFETIMES and table == "entries" and row["kind"] == "note":
            # Same as the migration: before it, short_term was the default of notes, not a choice.
            row["lifetime"] = "long_term" if row["lifetime"] == "short_term" else row["lifetime"]
        if section.schema < VALIDITY and table == "entries":
            row["origin"] = "user" if row.get("source") == "user" else "agent"  # same as the migration
        if section.schema < NAMED_VECTORS and table == "embeddings":
            row["stale"] = 1
        for name in _bytes_of(table):
            row[name] = base64.b64decode(row[name])
        yield table, row


def tables_of(rows: Iterator[tuple[str, dict[str, Any]]]) -> Tables:
    """Group the rows of a file by table."""
    for table, group in groupby(rows, key=lambda one: one[0]):
        values = (row for _, row in group)
        first = next(values)
        yield table, list(first), (tuple(row.values()) for row in chain([first], values))
