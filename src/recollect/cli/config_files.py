"""Configuration files that `recollect connect` edits: atomic writes, and undo from a record of their original text."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from recollect.errors import Invalid, RecollectError, Unavailable

__all__ = ["FileEdit", "SavedFile", "applied", "put_back", "read_text", "replace_text", "reverted", "write_all"]

STATE = ".local/state/recollect/connect"
"""Folder for the original contents of changed files, relative to the user's home folder."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """The contents of a file before the change (None if it did not exist) and after it."""

    file: str
    before: str | None
    after: str
    made: list[str]
    """Folders that were created for it."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file with the function that changes its text and the one that reverts the change."""

    file: Path
    do: Callable[[str], str]
    undo: Callable[[str, str], str]


def read_text(file: Path) -> str | None:
    """Return the text of a file; None if it does not exist."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Invalid(f"{file} is not UTF-8 text; nothing was changed") from None
    except OSError as error:
        raise Unavailable(f"{file} cannot be read: {error.strerror}; nothing was changed") from None


def applied(edit: FileEdit, before: str | None) -> str:
    """Return the text of a file after an edit."""
    try:
        return edit.do(before or "")
    except Invalid as error:
        raise Invalid(
            f"{edit.file}: {error}; nothing was changed. Fix the file, or add the output of --print by hand"
        ) from None


def reverted(edit: FileEdit, now: str | None) -> str | None:
    """Return the original text; if the file was changed since, its present text without our additions."""
    saved = _saved(edit.file)
    if saved is not None and saved.after == now:
        return saved.before
    try:
        return _without(edit, now, saved)
    except Invalid as error:
        raise Invalid(f"{edit.file}: {error}; nothing was changed") from None


def _without(edit: FileEdit, now: str | None, saved: SavedFile | None) -> str | None:
    """Return a file's text without our additions; an empty or missing file has none."""
    return edit.undo(now, (saved.before if saved else None) or "") if now and now.strip("\ufeff \t\r\n") else now


def write_all(changes: list[tuple[FileEdit, str | None, str]]) -> None:
    """Write all files, or restore those already written and raise."""
    begun: list[tuple[Path, str | None, SavedFile | None]] = []
    try:
        for edit, before, after in changes:
            begun.append((edit.file, before, _saved(edit.file)))
            _write(edit, before, after)
    except RecollectError:
        for file, before, saved in reversed(begun):
            with contextlib.suppress(RecollectError):
                put_back(file, before)
            if saved is not None:
                _save(saved)
        raise


def _write(edit: FileEdit, before: str | None, after: str) -> None:
    saved, file = _saved(edit.file), edit.file
    if saved is None:
        made = [str(folder) for folder in (file.parent, *file.parent.parents) if not folder.exists()]
        saved = SavedFile(str(file), before, after, made)
    elif saved.after != before:  # changed since: its new original excludes our additions
        saved = replace(saved, before=_without(edit, before, saved))
    # Save the state for undo before the change.
    _save(replace(saved, after=after))
    replace_text(file, after)


def put_back(file: Path, after: str | None) -> None:
    """Write the original text, or remove the file and the folders made for it, and forget its record."""
    saved = _saved(file)
    try:
        if after is None:
            file.unlink(missing_ok=True)
        elif after != read_text(file):
            replace_text(file, after)
    except OSError as error:
        raise Unavailable(f"{file} cannot be restored: {error.strerror}; it is unchanged") from None
    for folder in saved.made if saved and after is None else ():
        with contextlib.suppress(OSError):  # it is no longer empty
            Path(folder).rmdir()
    _state(file).unlink(missing_ok=True)


def replace_text(file: Path, text: str) -> None:
    """Write a file atomically, keeping its permissions; a symlink stays one."""
    name = None
    try:
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(number, "wb") as new:
            new.write(text.encode())
            new.flush()
            os.fsync(new.fileno())
        if target.exists():
            shutil.copymode(target, name)
        os.replace(name, target)
    except OSError as error:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        raise Unavailable(f"{file} cannot be written: {error.strerror}; it is unchanged") from None


def _state(file: Path) -> Path:
    return Path.home() / STATE / f"{sha256(str(file.absolute()).encode()).hexdigest()[:16]}.json"


def _save(saved: SavedFile) -> None:
    state = _state(Path(saved.file))
    with contextlib.suppress(OSError):  # then `replace_text` fails, too, and raises
        state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_text(state, json.dumps(asdict(saved)))


def _saved(file: Path) -> SavedFile | None:
    try:
        return SavedFile(**json.loads(_state(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
