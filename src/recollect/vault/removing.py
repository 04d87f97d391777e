"""Taking the files of a deleted workspace out of its vault, because a sync would bring their notes back.

Only what recollect has written is removed, which its marks tell. Nothing is removed through a link.
"""

import os
from contextlib import suppress
from pathlib import Path

from recollect import names
from recollect.engine.dreaming import DIARY, MEMORY
from recollect.errors import Invalid, Unavailable
from recollect.model.entry import Category
from recollect.vault.files import LeftAlone, read_bytes

__all__ = ["remove_files"]

NOTES = {f"{category}.md": b"<!-- id:" for category in Category}
DREAMS = {MEMORY: b"<!-- promo:", DIARY: b"## Deep Sleep "}
"""Files of an agent's folder, and what stands in them once recollect has written them."""


def remove_files(folder: Path) -> None:
    """Remove the agents' files and what makes the folder a vault; Unavailable if one of them cannot be removed."""
    identity = folder / ".vault" / "id"
    try:
        made = identity.exists() and not identity.parent.is_symlink()
        ours = DREAMS | (NOTES if made else {})  # dreams are written before there is a vault, too
        for own in _agents(folder):
            for name, mark in ours.items():
                for path in (own / name, *own.glob(f".*.{name}.tmp")):
                    _remove(folder, path, mark)
            _remove_empty(own)
        if made:
            identity.unlink(missing_ok=True)  # last: until then it can be begun again
            _remove_empty(identity.parent)
    except OSError as error:
        raise Unavailable(
            f"a file of the workspace cannot be removed from the vault ({error}). See to it, and delete the workspace "
            "again; if it is gone already, remove the file"
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


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # something else is in it
        folder.rmdir()
