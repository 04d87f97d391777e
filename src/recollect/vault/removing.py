"""Removal of a deleted workspace's files from its vault; a later sync would otherwise restore their notes.

Only files that recollect has written are removed, recognised by their marks. Links are not followed.
"""

import os
from contextlib import suppress
from pathlib import Path

from recollect import names
from recollect.errors import Invalid, Unavailable
from recollect.model.entry import Category
from recollect.vault.files import DIARY, MEMORY, LeftAlone, read_bytes
from recollect.vault.note_file import written_id
from recollect.vault.note_folder import note_files

__all__ = ["remove_files"]

NOTES = {f"{category}.md": b"<!-- id:" for category in Category}
DREAMS = {MEMORY: b"<!-- promo:", DIARY: b"## Deep Sleep "}
"""File names in an agent's folder, and the mark that shows that recollect has written the file."""


def remove_files(folder: Path) -> None:
    """Remove the agents' files and the vault's id; raise Unavailable if one of them cannot be removed."""
    identity = folder / ".vault" / "id"
    try:
        made = identity.exists() and not identity.parent.is_symlink()
        ours = DREAMS | (NOTES if made else {})  # dreams are written even without a vault
        for own in _agents(folder):
            for name, mark in ours.items():
                for path in (own / name, *own.glob(f".*.{name}.tmp")):
                    _remove(folder, path, mark)
            if made:
                _remove_notes(folder, own.name)
            _remove_empty(own)
        if made:
            (identity.parent / "layout").unlink(missing_ok=True)
            identity.unlink(missing_ok=True)  # last, so that an interrupted removal can be repeated
            _remove_empty(identity.parent)
    except OSError as error:
        raise Unavailable(
            f"a file of the workspace cannot be removed from the vault ({error}). Remove the cause, and delete the "
            "workspace again; if it is gone already, remove the file"
        ) from error


def _agents(folder: Path) -> list[Path]:
    try:
        found = [Path(entry) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in found if _is_segment(path.name)]


def _is_segment(name: str) -> bool:
    try:
        names.segment(name, "an agent")
    except Invalid:
        return False
    return True


def _remove(folder: Path, path: Path, mark: bytes) -> None:
    try:
        written = read_bytes(folder, path.relative_to(folder).as_posix())
    except LeftAlone:
        return
    if written is not None and (mark in written or not written.strip()):
        path.unlink(missing_ok=True)


def _remove_notes(folder: Path, agent: str) -> None:
    """Remove the files with one note each, recognised by their id, and the folders that become empty."""
    for name in note_files(folder, agent)[0]:
        try:
            ours = written_id(read_bytes(folder, name) or b"") is not None
        except LeftAlone:
            continue
        if ours:
            (folder / name).unlink(missing_ok=True)
            for parent in list((folder / name).relative_to(folder / agent).parents)[:-1]:
                _remove_empty(folder / agent / parent)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # not empty
        folder.rmdir()
