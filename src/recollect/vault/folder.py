"""The folder of a vault: its id, the layout that it records, and the agents that have files in it."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from recollect import names
from recollect.clock import Clock
from recollect.errors import Invalid
from recollect.model.entry import Category
from recollect.model.vault import Problem, SyncReport
from recollect.vault.files import Edited, LeftAlone, disk_state, read_bytes, rewrite_file

__all__ = ["CATEGORIES", "LAYOUT", "LAYOUTS", "NOTES", "VaultFolder"]

IDENTITY = ".vault/id"
LAYOUT = ".vault/layout"
CATEGORIES, NOTES = LAYOUTS = ("categories", "notes")


class VaultFolder:
    """The folder of the markdown files of a workspace. It has an id and records its layout."""

    def __init__(self, path: Path, agents: Callable[[], Iterable[str]], clock: Clock, layout: str) -> None:
        self.path = path
        self._agents, self._clock, self._layout = agents, clock, layout
        self._spelled: set[str] = set()
        self._made = False

    def file(self, agent: str, category: str) -> Path:
        """Return the path of an agent's file of a category."""
        return self.path / agent / f"{category}.md"

    def agents(self) -> list[str]:
        """Return the agents that have rows, and those that so far have only a file."""
        found = set(self._agents())
        try:
            with os.scandir(self.path) as folders:
                found.update(entry.name for entry in folders if entry.name not in found and self._is_agent(entry))
        except (FileNotFoundError, NotADirectoryError):
            pass
        return sorted(found)

    def _is_agent(self, entry: os.DirEntry[str]) -> bool:
        try:
            names.segment(entry.name, "an agent")
        except Invalid:
            return False
        if not entry.is_dir(follow_symlinks=False):
            return False
        if self._layout == NOTES:
            from recollect.vault.note_folder import note_files

            return bool(note_files(self.path, entry.name)[0])
        return any(os.path.lexists(self.file(entry.name, category)) for category in Category)

    def state_of(self, agent: str, path: Path) -> str:
        """Return the state on disk of an agent's file; raise LeftAlone if its folder is unsafe to use."""
        for folder in (path.parent, self.path / ".vault"):
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise LeftAlone(f"{folder.name} is a link or not a folder; make it a folder inside the vault")
        self.check_layout()
        if agent not in self._spelled and path.parent.exists():
            if agent not in os.listdir(self.path):
                raise LeftAlone("the folder here belongs to an agent whose name differs only in case; rename one")
            self._spelled.add(agent)
        return disk_state(path)

    def identity(self, *, make: bool) -> str:
        """Return the folder's id, which keeps the stored sync state apart from that of any other folder."""
        if make:
            if self._layout == NOTES and not _id(read_bytes(self.path, IDENTITY) or b""):
                rewrite_file(self.path, LAYOUT, lambda raw: raw or f"{NOTES}\n".encode())  # before the folder has an id
            new = f"{names.new_id(self._clock.now())}\n".encode()
            rewrite_file(self.path, IDENTITY, lambda raw: raw if _id(raw) else new)
        return _id(read_bytes(self.path, IDENTITY) or b"")  # read back: another process may have created it first

    def found_layout(self) -> str:
        """Return the layout of the folder; one that is not a vault yet gets the configured layout."""
        known = (read_bytes(self.path, LAYOUT) or b"").decode("ascii", "replace").strip()
        return known or (CATEGORIES if self.identity(make=False) else self._layout)

    def check_layout(self) -> None:
        """Raise LeftAlone if the folder does not have the configured layout."""
        found = self.found_layout()
        if found != self._layout:
            raise LeftAlone(
                f"the files have the layout {found!r}, but [vault] layout is {self._layout!r}; "
                "run `recollect vault convert`, or correct the setting"
            )

    def make(self, *, again: bool = False) -> SyncReport:
        """Initialise the folder as a vault, even while empty; once per object, unless `again` is set."""
        if self._made and not again:
            return SyncReport()
        try:
            self.identity(make=True)
            self._made = True
        except (Edited, LeftAlone, OSError) as error:
            return SyncReport(problems=(Problem(IDENTITY, str(error)),))
        return SyncReport()


def _id(raw: bytes) -> str:
    """Parse the content of the vault's id file; empty if it is not a valid id."""
    known = raw.decode("ascii", "replace").strip()
    return known if names.is_id(known) else ""
