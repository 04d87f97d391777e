"""Conversion of a vault's folder to another layout.

The database has every note with its front matter, so a conversion is: read all edits, record the new layout in the
folder, write the files of the new layout, and delete those of the old one that hold nothing else. Each step can be
repeated, so a conversion that was killed is finished by running it again. A file that cannot be read, or was edited
meanwhile, is kept and reported.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from recollect.engine.agent_store import Store
from recollect.model.entry import Category
from recollect.model.vault import Problem
from recollect.storage import entries
from recollect.storage.database import Transaction
from recollect.vault.files import Edited, LeftAlone, read_bytes, remove_file, replace_file
from recollect.vault.markdown import File, parse
from recollect.vault.note_file import stem_of
from recollect.vault.note_folder import note_files
from recollect.vault.state import digest, known_notes, known_state, of_block

__all__ = ["OldFile", "category_files", "former_paths", "note_files_of", "remove_old"]


@dataclass(frozen=True, slots=True)
class OldFile:
    """A file of the old layout: its bytes, and the part that is not a note and is kept."""

    path: str
    raw: bytes = b""
    rest: str = ""
    problem: str = ""
    """Why it must not be deleted."""

    @property
    def kept(self) -> bool:
        """True if the file stays, with the part that is not a note."""
        return bool(self.rest.strip("\ufeff \t\r\n"))


def category_files(store: Store, folder: Path, vault_id: str) -> Iterator[OldFile]:
    """Yield an agent's files of the layout with one file per category."""
    for category in Category:
        path = f"{store.agent}/{category}.md"
        try:
            raw = read_bytes(folder, path)
            file = parse((raw or b"").decode())
        except (LeftAlone, OSError, UnicodeDecodeError) as error:
            yield OldFile(path, problem=str(error))
            continue
        if raw is None or not file.blocks:  # a file without blocks is a note of that name
            continue
        with store.read() as tx:
            known = _all_known(tx, file, vault_id, category)
        problem = "" if known else "it has text that is not stored; sync, and convert again"
        yield OldFile(path, raw, file.preamble, problem)


def _all_known(tx: Transaction, file: File, vault_id: str, category: Category) -> bool:
    marks = known_state(tx, vault_id, category).marks
    return all(
        block.number is not None and block.number in marks and marks[block.number].block == of_block(block)
        for block in file.blocks
    )


def note_files_of(store: Store, folder: Path, vault_id: str) -> Iterator[OldFile]:
    """Yield an agent's files of the layout with one file per note."""
    with store.read() as tx:
        marks = {mark.path: mark.file for mark in known_notes(tx, vault_id).values()}
    for path in sorted(note_files(folder, store.agent)[0]):
        known = marks.get(digest(path.encode()))
        if known is None:
            continue
        try:
            raw = read_bytes(folder, path)
        except (LeftAlone, OSError) as error:
            yield OldFile(path, problem=str(error))
            continue
        if raw is not None:
            same = digest(raw) == known
            yield OldFile(path, raw, problem="" if same else "it has text that is not stored; sync, and convert again")


def former_paths(store: Store, folder: Path, vault_id: str) -> dict[str, str]:
    """Return the paths, by entry id, that an agent's notes had when it last had one file per note.

    Only digests of the paths are stored, so the file name of each note is tried in each folder that still exists.
    """
    with store.read() as tx:
        marks = known_notes(tx, vault_id)
        found = [entry for entry_id in marks if (entry := entries.get(tx, entry_id)) is not None]
    paths: dict[str, str] = {}
    for inside in _folders(folder, store.agent):
        for entry in found:
            stems = {stem_of(entry), PurePosixPath(entry.name or "-").name}
            for path in (f"{inside}/{stem}.md" for stem in stems):
                if digest(path.encode(errors="replace")) == marks[entry.id].path:
                    paths[entry.id] = path
    return paths


def _folders(root: Path, agent: str) -> Iterator[str]:
    """Yield the paths of the folders that can have files of notes. Hidden ones are skipped, links are not followed."""
    for inside, folders, _ in os.walk(root / agent):
        folders[:] = [one for one in folders if not one.startswith(".")]
        yield Path(inside).relative_to(root).as_posix()


def remove_old(folder: Path, old: OldFile) -> Problem | None:
    """Delete a file of the old layout, or its notes if it has other text; return the problem if that fails."""
    if old.problem:
        return Problem(old.path, old.problem)
    try:
        if old.kept:
            replace_file(folder, old.path, old.rest.encode(), old.raw)
        else:
            remove_file(folder, old.path, old.raw)
    except (Edited, LeftAlone, OSError) as error:
        return Problem(old.path, str(error))
    return None
