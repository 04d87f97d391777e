"""Extraction of zips to a temporary folder, so that an export can be imported as it was downloaded.

Some exports come as several zips, so a folder with nothing to read but zips is extracted, too. The times of files are
kept, because they are the dates of notes that state none.

A zip is untrusted. Its entries are written below the temporary folder or not at all: links and paths that lead out of
it are left out. The unpacked size is counted while writing, including nested zips; the sizes in its headers are not
trusted. Only files that an importer may read are written.
"""

import hashlib
import os
import stat
import struct
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from recollect.errors import Invalid
from recollect.transfer.archive import MAGIC_ZIP, RATIO, UNPACKED
from recollect.transfer.importers.reading import files

__all__ = ["is_zip", "unpacked"]

FILES = 200_000
"""Maximum number of entries, over all nested zips."""
DEPTH = 2
"""How deep zips may be nested."""
READABLE = (".json", ".jsonl", ".md", ".markdown", ".csv", ".html", ".af", ".edn", ".txt")
"""Suffixes of the files that are written; others are counted."""
COPIES = ("chat.html",)
"""Files whose content is also in another file of the export."""
MANIFEST = "manifest"
"""How the list of the zips of an export is named; it is not read."""
NAME_BYTES = 200
BLOCK = 1 << 20
_EXTENDED_TIME = 0x5455
"""The extra field with the time of a file in UTC. The other one is local, and nothing says where."""
_EMPTY_ZIP = b"PK\x05\x06"


@dataclass(slots=True)
class _Extraction:
    """A zip that is being extracted, with counts that include its nested zips."""

    path: Path
    most: int
    """Maximum number of bytes that are written."""
    _: KW_ONLY
    written: int = 0
    entries: int = 0
    outside: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)

    def remarks(self) -> list[str]:
        """Return a remark about each kind of skipped file, with the reason."""
        found = []
        for names, what, why in (
            (self.outside, "file", ", because their paths lead out of the zip"),
            (self.links, "link", ""),
            (self.repeated, "file", ", because the zip has another of the same path"),
        ):
            if names:
                many = len(names) > 1
                more = ", …" if many else ""
                found.append(f"{len(names)} {what}{'s were' if many else ' was'} left out{why}: {names[0]!r}{more}")
        if self.other:
            listed = ", ".join(f"{count} {suffix}" for suffix, count in sorted(self.other.items()))
            found.append(f"files in the zip that were not read: {listed}")
        return found


def is_zip(path: Path) -> bool:
    """True if the file begins like a zip."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) in (MAGIC_ZIP, _EMPTY_ZIP)


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folder with the files of a zip or of a folder of zips, and remarks about what was left out.

    Any other path is yielded unchanged. Raises Invalid if a zip is damaged, encrypted or unpacks to too much.
    """
    zips = [path] if is_zip(path) else _zips_of(path)
    if not zips:
        yield path, []
        return
    with TemporaryDirectory(prefix="recollect-") as folder:
        extraction = _Extraction(path, UNPACKED + RATIO * sum(one.stat().st_size for one in zips))
        for one in zips:
            with open(one, "rb") as file:
                _extract(extraction, file, Path(folder) if one == path else Path(folder, one.stem), 0)
        yield Path(folder), extraction.remarks()


def _zips_of(path: Path) -> list[Path]:
    """Return the zips in a folder; none if it has another file that an importer may read."""
    found = files(path) if path.is_dir() else []
    if any(one.suffix.lower() in READABLE and not one.name.startswith(MANIFEST) for one in found):
        return []
    return [one for one in found if one.suffix.lower() == ".zip" and is_zip(one)]


def _extract(extraction: _Extraction, file: IO[bytes], folder: Path, depth: int) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                extraction.entries += 1
                if extraction.entries > FILES:
                    raise Invalid(f"{extraction.path} contains more than {FILES:,} files; nothing was imported")
                if not info.is_dir():
                    _entry(extraction, archive, info, folder, depth)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeError) as error:
        raise Invalid(f"{extraction.path} is damaged ({error}); nothing was imported. Get a complete copy") from error


def _entry(extraction: _Extraction, archive: zipfile.ZipFile, info: zipfile.ZipInfo, folder: Path, depth: int) -> None:
    """Write one entry, extract it if it is a zip, or count it as skipped."""
    target = _target(folder, info.filename)
    suffix = Path(info.filename).suffix.lower()
    nested = suffix == ".zip" and depth < DEPTH
    if target is None:
        extraction.outside.append(info.filename)
    elif stat.S_ISLNK(info.external_attr >> 16):
        extraction.links.append(info.filename)
    elif _hidden(info.filename):
        return
    elif not nested and (suffix not in READABLE or target.name in COPIES):
        extraction.other[suffix or "without a suffix"] += 1
    elif target.exists() or any(one.is_file() for one in target.parents):  # a file where another needs a folder
        extraction.repeated.append(info.filename)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(extraction, archive, info, target)
        if nested:
            packed = target.rename(target.with_name(f".{hashlib.sha256(target.name.encode()).hexdigest()}.tmp"))
            with open(packed, "rb") as file:
                _extract(extraction, file, target.with_suffix(""), depth + 1)
            packed.unlink()


def _target(folder: Path, name: str) -> Path | None:
    """Return the path below the folder that an entry is written to; None if its name leads elsewhere."""
    parts = name.replace("\\", "/").split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts) or ":" in parts[0]:
        return None
    return folder.joinpath(*map(_short, parts))


def _short(part: str) -> str:
    """Return a path component shortened to what file systems accept, with its suffix."""
    if len(os.fsencode(part)) <= NAME_BYTES:
        return part
    mark = hashlib.sha256(part.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{part[: NAME_BYTES // 4]} {mark}{Path(part).suffix[:20]}"


def _hidden(name: str) -> bool:
    """True for the metadata that operating systems add."""
    return name.startswith("__MACOSX/") or Path(name).name.startswith(("._", ".DS_Store"))


def _write(extraction: _Extraction, archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    if info.flag_bits & 1:
        raise Invalid(f"{extraction.path} is encrypted; nothing was imported. Unpack it, and give the folder")
    with archive.open(info) as source, open(target, "xb") as written:
        while block := _read(source, min(BLOCK, extraction.most - extraction.written + 1)):
            extraction.written += len(block)
            if extraction.written > extraction.most:
                raise Invalid(
                    f"{extraction.path} unpacks to more than {extraction.most:,} bytes, {RATIO} times its own size; "
                    "nothing was imported. If it is meant to be so long, unpack it and give the folder"
                )
            written.write(block)
    with suppress(OSError, OverflowError, ValueError):
        at = _modified(info)
        os.utime(target, (at, at))


def _read(source: IO[bytes], size: int) -> bytes:
    """Return the next bytes of an entry. Raises BadZipFile for the errors of any compression."""
    try:
        return source.read(size)
    except Exception as error:
        if getattr(error, "errno", None) is not None:  # of the disk
            raise
        raise zipfile.BadZipFile(str(error)) from error


def _modified(info: zipfile.ZipInfo) -> float:
    """Return when a file was modified."""
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _EXTENDED_TIME and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            return float(struct.unpack_from("<i", extra, 5)[0])
        extra = extra[4 + size :]
    return time.mktime((*info.date_time, 0, 0, -1))
