"""Two-way sync between the notes of every agent and the vault: one markdown file per agent and category, or per note.

The argument. Sync is a three-way merge of the file, the entry, and the base: the text both had at the last sync. Only
fingerprints of the base are stored, one for the block and one for the entry. An unedited block is updated from its
entry; an edited block is written to the entry. If both changed, the file wins, because a user's edit is expensive to
redo, and the entry's history keeps the other text. Exception: if the block holds a text that the entry had since the
last sync, recollect wrote it itself (and crashed before saving the fingerprint), so the entry wins.

A block that disappeared removes its entry, into the trash. A missing file, or one that lost all of several blocks at
once, does not: a crashed editor leaves that, or a program that writes a file without reading it first, so the entries
are written again. A file that looks truncated is accepted only if it is still the same after a delay.

Each file is merged in one write transaction of its agent: writers are serialised, and a file that changed between
read and replace rolls the transaction back. Symbolic links are never followed, and nothing outside the folder is
touched. A file or block that cannot be parsed or stored is left alone and reported.

The vault learns of changes to entries in one way: every commit that adds to the operation log calls `entries_changed`,
which schedules a sync of the files concerned. The commit is the acknowledgement, so the writer does not wait for files.
`flush` syncs what is pending; all methods that report on files, and `commit`, call it first. If the process dies, the
stored sync state shows which files are out of date, and the first read or sync of the next process writes them.

The layout with one file per note is in `vault.note_merging`. The folder records its layout, so that two processes with
different settings do not write both.
"""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import names
from recollect.clock import Clock
from recollect.engine.access_policy import SHARED
from recollect.engine.agent_store import Store, Work
from recollect.engine.background import Background
from recollect.engine.project import FILE
from recollect.errors import ConfigError, Conflict, RecollectError
from recollect.model.entry import Category
from recollect.model.transfer import Imported
from recollect.model.vault import FILES_LOG, Conversion, Problem, SyncReport, UnreadText, VaultStatus
from recollect.storage.counters import Counters
from recollect.storage.entries import content_hash
from recollect.vault.files import ATTEMPTS, Edited, LeftAlone, disk_state, read_bytes, remove_leftovers, rewrite_file
from recollect.vault.folder import CATEGORIES, LAYOUT, LAYOUTS, NOTES, VaultFolder
from recollect.vault.instructions import instructions
from recollect.vault.project import KEY, ProjectMerge, agrees
from recollect.vault.state import ACTOR, fingerprint, known_state, note_members

if TYPE_CHECKING:
    from recollect.vault.converting import OldFile
    from recollect.vault.git import Checkpoint, Commit, GitHistory, Repository
    from recollect.vault.merging import Merge

__all__ = ["ACTOR", "Vault"]

DELAY = 0.25
"""Seconds between a commit and the sync of its files, so that a burst of writes is one sync."""
_log = logging.getLogger("recollect.vault")
_files_log = logging.getLogger(FILES_LOG)


class Vault:
    """The markdown files of a workspace: one folder per agent, one file per category."""

    def __init__(
        self,
        folder: Path | None,
        stores: Callable[[str], Store],
        agents: Callable[[], Iterable[str]],
        clock: Clock,
        wake: Callable[[Store], None] = lambda store: None,
        *,
        repository: str | None = None,
        author: str | None = None,
        layout: str = CATEGORIES,
        migrate: Callable[[Path], Imported] | None = None,
    ) -> None:
        """`stores` returns the store of an agent in this workspace; `wake` is called when new text needs embedding.

        `repository` is None for no git, "agent" for one repository per agent folder, "vault" for a single one; the
        commit author is `author`, by default the agent. `layout` is "categories" for one file per agent and category,
        "notes" for one per note.
        """
        if layout not in LAYOUTS:
            raise ConfigError(f"vault.layout must be 'categories' or 'notes', not {layout!r}")
        if repository not in (None, "agent", "vault"):
            raise ConfigError(f"git.repository must be 'agent' or 'vault', or omitted, not {repository!r}")
        self._folder, self._repository, self._author, self._migrate = folder, repository, author, migrate
        self._stores, self._agents, self._clock, self._wake, self._layout = stores, agents, clock, wake, layout
        self._disk = None if folder is None else VaultFolder(folder, agents, clock, layout)
        self._lock = threading.RLock()
        self._pending = Background(delay=DELAY, finish=True)
        self._out_of_date: dict[tuple[str, str], None] = {}
        self._read_once: set[str] = set()
        self._seen: dict[tuple[str, str], str] = {}
        self._seen_notes: dict[str, dict[str, str]] = {}
        self._places: dict[str, dict[str, str]] = {}
        """Where the files of notes were before a conversion, by agent and entry id."""
        self._logged: set[Problem] = set()

    @property
    def layout(self) -> str:
        """The configured layout."""
        return self._layout

    @property
    def folder(self) -> Path:
        """The vault folder; raises ConfigError if none is configured."""
        return self._files.path

    @property
    def _files(self) -> VaultFolder:
        if self._disk is None:
            raise ConfigError("this home has no folder for a vault; name one with open(vault=…) or [vault] folder")
        return self._disk

    def migrate(self) -> Imported:
        """Import files of an older layout from the folder: one flat file per agent, and saved conversations.

        Idempotent.
        """
        if self._migrate is None:
            raise ConfigError("this vault has no home, so old files cannot be imported")
        self.flush()
        with self._lock:  # no file is written while the import reads the folder
            return self._migrate(self.folder)

    def convert(self, *, dry_run: bool = False) -> Conversion:
        """Convert the folder to the configured layout: write its files, and delete those of the other layout.

        Edits are read first. Nothing is lost: the notes are in the memory, and a file with text that is not stored
        stays and is reported. A conversion that was interrupted is finished by the next call. With `dry_run`, return
        what would be written and deleted.
        """
        self.flush()
        with self._lock:
            return self._planned_conversion() if dry_run else self._converted()

    def _converted(self) -> Conversion:
        from recollect.vault.converting import remove_old

        problems, before = list(self._files.make().problems), self._files.found_layout()
        if before not in (self._layout, *LAYOUTS):
            raise ConfigError(f"{LAYOUT} in the vault contains {before!r}; it must be 'categories' or 'notes'")
        if before != self._layout:
            read = self._in_layout(before).sync()
            if self._layout == CATEGORIES:  # else every file is read below, or reported
                problems += read.problems
            self._forget_note_files()
            rewrite_file(self.folder, LAYOUT, lambda raw: f"{self._layout}\n".encode())
        written = list(self._synced(None).written) if self._layout == NOTES else []
        self._places.clear()
        deleted = []
        for old in self._old_files():
            problem = remove_old(self.folder, old)
            problems += [problem] if problem else []
            deleted += [old.path] if problem is None and not old.kept else []
        report = self._synced(None)
        return Conversion(
            layout=self._layout,
            written=(*written, *report.written),
            deleted=tuple(deleted),
            without_file=self._without_file(),
            problems=tuple(dict.fromkeys([*problems, *report.problems])),
        )

    def _planned_conversion(self) -> Conversion:
        from recollect.vault.converting import former_paths
        from recollect.vault.note_merging import NotesMerge

        vault_id, old = self._files.identity(make=False), list(self._old_files())
        written = [one.path for one in old if one.kept and not one.problem]
        first = self._files.found_layout() != self._layout
        for agent in self._files.agents():
            store = self._stores(agent)
            if self._layout == NOTES:
                places = former_paths(store, self.folder, vault_id)
                merge = NotesMerge(store, self.folder, vault_id, self._clock.now(), places=places)
                written += merge.planned({one.path for one in old}, first=first)
            else:
                with store.read() as tx:
                    shown = [one for one in Category if tx.all("vault.members", category=str(one))]
                written += [path for one in shown if not os.path.lexists(self.folder / (path := f"{agent}/{one}.md"))]
        return Conversion(
            layout=self._layout,
            written=tuple(written),
            deleted=tuple(one.path for one in old if not one.problem and not one.kept),
            without_file=self._without_file(),
            problems=tuple(Problem(one.path, one.problem) for one in old if one.problem),
        )

    def _forget_note_files(self) -> None:
        """Before the layout `notes`: forget the files of an earlier time, so that a missing one removes no note.

        They are written again where they were.
        """
        from recollect.vault.converting import former_paths

        vault_id = self._files.identity(make=False)
        for agent in self._files.agents() if self._layout == NOTES else ():
            self._places[agent] = former_paths(self._stores(agent), self.folder, vault_id)
            with self._stores(agent).write() as work:
                work.tx.run("vault.forget_notes", vault=vault_id)

    def _in_layout(self, layout: str) -> "Vault":
        return Vault(self._folder, self._stores, self._agents, self._clock, self._wake, layout=layout)

    def _old_files(self) -> "Iterator[OldFile]":
        """Yield the files of the layout that is not configured."""
        from recollect.vault.converting import category_files, note_files_of

        vault_id = self._files.identity(make=False)
        for agent in self._files.agents():
            found = category_files if self._layout == NOTES else note_files_of
            yield from found(self._stores(agent), self.folder, vault_id)

    def _without_file(self) -> int:
        """Count the notes that the layout does not show."""
        count = 0
        for agent in self._files.agents() if self._layout == CATEGORIES else ():
            with self._stores(agent).read() as tx:
                shown = {row[0] for one in Category for row in tx.all("vault.members", category=str(one))}
                count += len(note_members(tx).keys() - shown)
        return count

    def sync(self, agent: str | None = None) -> SyncReport:
        """Sync files and entries of one agent, or of all agents."""
        self.flush()
        return self._synced(agent)

    def _synced(self, agent: str | None) -> SyncReport:
        """Sync without `flush`, which would block a caller that holds the lock: the pending sync waits for it."""
        from recollect.vault.status import files_not_read

        report = self._files.make(again=True) + self.project()
        self.remove_leftovers()
        for name in self._files.agents() if agent is None else [names.segment(agent, "an agent")]:
            if self._layout == CATEGORIES:
                report += SyncReport(problems=tuple(files_not_read(self.folder, name)))
            first = self.written(name)
            report += first
            if first.changed:  # an edit may have restored or moved a note that another file still shows
                report += replace(self.written(name), problems=())
        return report

    def status(self) -> VaultStatus:
        """Compare files and notes, and name the files that a sync leaves out, with the reason. Changes nothing."""
        from recollect.vault.status import category_status, note_status

        vault_id, status = self._files.identity(make=False), VaultStatus()
        try:
            self._files.check_layout()
        except LeftAlone as error:
            return VaultStatus(problems=(Problem(LAYOUT, str(error)),))
        compared = note_status if self._layout == NOTES else category_status
        for agent in self._files.agents():
            status += compared(self._stores(agent), self.folder, vault_id)
        return status

    def entries_changed(self, agent: str, categories: Set[Category]) -> None:
        """Schedule a sync of these files of an agent; for `_shared` also of `_project.md`. Never raises."""
        try:
            _warn(self._files.make())
        except RecollectError as error:
            _log.warning("the vault in %s cannot be written: %s", self._folder, error)
        self._out_of_date.update(dict.fromkeys((agent, category) for category in categories))
        if categories or agent == SHARED or self._layout == NOTES:
            self._pending.run(agent, partial(self._update_files, agent))

    def _update_files(self, agent: str) -> None:
        """Sync the files of an agent that are out of date, always in the same order: it decides on numbers of notes."""
        if agent == SHARED:
            _warn(self.project())
        if self._layout == NOTES:
            self._log_problems(self._notes(agent))
        for category in Category if self._layout == CATEGORIES else ():
            if (agent, category) in self._out_of_date:
                del self._out_of_date[agent, category]
                report = self._file(agent, category)
                unread = [one for one in report.problems if isinstance(one, UnreadText)]
                self._log_problems(SyncReport(problems=tuple(unread)))
                _warn(SyncReport(problems=tuple(one for one in report.problems if one not in unread)))

    def _log_problems(self, report: SyncReport) -> None:
        """Log each problem once, although every sync of the files reports it."""
        for problem in report.problems:
            if problem not in self._logged:
                self._logged.add(problem)
                _files_log.warning("the vault in %s: %s", self._folder, problem)

    def flush(self) -> None:
        """Write all pending changes to the files."""
        self._pending.drain()

    def written(self, agent: str, category: Category | str | None = None) -> SyncReport:
        """Sync the file of one category, or all of the agent's files that differ from its entries."""
        report = self.project() if agent == SHARED else SyncReport()
        if self._layout == NOTES:
            return report + self._notes(agent)
        for one in Category if category is None else [Category(category)]:
            report += self._file(agent, one)
        return report

    def project(self) -> SyncReport:
        """Sync `_project.md` with the workspace's project note."""
        return self._together(SHARED, KEY, FILE, self._project_differs, lambda work: ProjectMerge(work, self.folder))

    def record(self, agent: str, subject: str, body: str = "") -> None:
        """Write pending changes to the files, and commit those of the agent if git is on.

        File and git errors are logged, never raised: the change to the entries is already committed.
        """
        self.flush()
        try:
            if self._repository is not None:
                self._git(agent).commit_all(subject, body)
        except (RecollectError, OSError) as error:
            _log.warning("git in %s does not record the files of %s: %s", self._folder, agent, error)

    def refresh(self, agent: str) -> SyncReport:
        """Sync the agent's files that changed on disk, before a read; for `_shared` also `_project.md`.

        Costs one `stat` per unchanged file. The first call for an agent also writes files that are out of date, as a
        process that was killed leaves them.
        """
        if agent not in self._read_once:
            self._read_once.add(agent)
            return self.written(agent)
        report = SyncReport()
        if agent == SHARED and not self._is_seen(FILE, (SHARED, KEY)):
            report += self.project()
        if self._layout == NOTES:
            from recollect.vault.note_folder import note_files

            seen = note_files(self.folder, agent)[0] == self._seen_notes.get(agent)
            return report if seen else report + self._notes(agent)
        for category in Category:
            if not self._is_seen(f"{agent}/{category}.md", (agent, category)):
                report += self._file(agent, category)
        return report

    def refresh_all(self) -> SyncReport:
        """Refresh all agents, including those that so far exist only as files."""
        report = SyncReport()
        for agent in sorted({SHARED, *self._files.agents()}):
            report += self.refresh(agent)
        return report

    def remove_leftovers(self) -> int:
        """Remove temporary files of killed writers; return how many."""
        now = self._clock.now()
        return sum(remove_leftovers(self.folder, name, now) for name in (".", ".vault", *self._files.agents()))

    def _is_seen(self, name: str, key: tuple[str, str]) -> bool:
        try:
            return disk_state(f"{self.folder}/{name}") == self._seen.get(key, "")
        except (LeftAlone, OSError):
            return False

    def watch(self, stop: threading.Event, callback: Callable[[SyncReport], None], pause: float = 1.0) -> None:
        """Sync every `pause` seconds until `stop` is set; call back with each report that is new and not empty."""
        last = SyncReport()
        while not stop.is_set():
            report = self.sync()
            if report and report != last:
                callback(report)
            last = report
            stop.wait(pause)

    def commit(self, agent: str, subject: str, body: str = "") -> "Commit | None":
        """Sync the agent and commit its files; None if nothing changed or git is off."""
        if self._repository is None:
            return None
        self.sync(agent)
        return self._git(agent).commit_all(subject, body)

    @property
    def uses_git(self) -> bool:
        """Whether the files have a git history."""
        return self._repository is not None

    def checkpoint(self, agent: str, note: str | None = None) -> "Checkpoint":
        """Sync and commit on request; skipped, with the reason, if nothing changed or git is off."""
        from recollect.vault.git import Checkpoint

        if self._repository is None:
            return Checkpoint(skipped=True, reason="git is off; set git.repository to 'agent' or 'vault'")
        self.sync(agent)
        return self._git(agent).checkpoint(note)

    def history(self, agent: str, limit: int = 10, include_diff: bool = False) -> "GitHistory":
        """Return the commits of the agent's files, newest first; none if git is off. Omits other agents' files."""
        from recollect.vault.git import GitHistory

        return GitHistory(commits=()) if self._repository is None else self._git(agent).history(limit, include_diff)

    def _git(self, agent: str) -> "Repository":
        from recollect.vault.git import Repository

        name, whole = names.segment(agent, "an agent"), self._repository == "vault"
        folder = self.folder if whole else self.folder / name
        if folder != self.folder and folder.is_symlink():
            raise Conflict(f"{name} is a link; nothing is committed through it. Make it a folder inside the vault")
        only = (name, "_project.md") if whole else ()
        return Repository(folder, self._clock, author=self._author or agent, whole_vault=whole, only=only)

    def remove(self) -> None:
        """Remove the agents' files when the workspace is deleted; other files stay."""
        from recollect.vault.removing import remove_files

        if self._folder is not None:
            with self._lock:
                self._pending.cancel()
                self._out_of_date.clear()
                remove_files(self._folder)

    def instructions(self, agent: str, host_project: str | Path | None = None, *, folder: str | None = None) -> str:
        """Return prompt text for an agent that writes files itself: file locations and entry format.

        `folder` replaces the vault's path, for an agent that must not see paths of this machine.
        """
        name = names.segment(agent, "an agent")
        return instructions(self.folder, name, host_project, shown_as=folder, notes=self._layout == NOTES)

    # One file

    def _file(self, agent: str, category: Category) -> SyncReport:
        path, name = self._files.file(agent, category), f"{agent}/{category}.md"
        return self._together(
            agent,
            category,
            name,
            lambda store: self._differs(store, path, category),
            lambda work: self._merge(work, category, name),
        )

    def _merge(self, work: Work, category: Category, name: str) -> "Merge":
        from recollect.vault.merging import Merge

        return Merge(work, category, self.folder, name, partial(self._elsewhere, work.tx.agent))

    def _together(
        self,
        agent: str,
        key: str,
        name: str,
        differs: Callable[[Store], bool],
        merging: "Callable[[Work], Merge | ProjectMerge]",
    ) -> SyncReport:
        """Merge one file with its entries in a write transaction; retry if the file is edited concurrently."""
        store = self._stores(agent)
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    if not differs(store):
                        return SyncReport()
                    with store.write() as work:
                        merge = merging(work)
                        try:
                            found = merge.run(self._files.identity(make=True), self._clock.now())
                        except OSError as error:  # convert here: the database layer would treat it as its own failure
                            raise LeftAlone(str(error)) from error
                except Edited:
                    continue
                except (LeftAlone, OSError) as error:
                    return SyncReport(problems=(Problem(name, str(error)),))
                if merge.settled:
                    self._seen[agent, key] = merge.settled
                if found.added or found.changed:
                    self._wake(store)
                return found
        return SyncReport(problems=(Problem(name, "it is being edited right now; the next sync looks again"),))

    def _notes(self, agent: str) -> SyncReport:
        """Sync the files of an agent's notes; links in other notes follow a rename in a second pass."""
        from recollect.vault.note_merging import BATCH, NotesMerge

        store, report = self._stores(agent), SyncReport()
        with self._lock:
            try:
                self._files.state_of(agent, self.folder / agent / "*")
                vault_id = self._files.identity(make=True)
                for batch in (BATCH, 1):
                    try:
                        places = self._places.get(agent)
                        merge = NotesMerge(store, self.folder, vault_id, self._clock.now(), batch=batch, places=places)
                        report += merge.run()
                        if merge.relinked:
                            merge = NotesMerge(store, self.folder, vault_id, self._clock.now())
                            report += replace(merge.run(), problems=())
                        self._seen_notes[agent] = merge.seen
                        break
                    except Edited:
                        continue
            except (LeftAlone, OSError) as error:
                return SyncReport(problems=(Problem(agent, str(error)),))
        if report.added or report.changed:
            self._wake(store)
        return report

    def _project_differs(self, store: Store) -> bool:
        disk, vault_id = disk_state(self.folder / FILE), self._files.identity(make=False)
        with store.read() as tx:
            if not agrees(tx, vault_id, disk):
                return True
        self._seen[SHARED, KEY] = disk
        return False

    def _differs(self, store: Store, path: Path, category: Category) -> bool:
        """True if the file or its entries changed since the last sync; does not open the file."""
        now, vault_id = self._files.state_of(store.agent, path), self._files.identity(make=False)
        with store.read() as tx:
            state = known_state(tx, vault_id, category)
            if now == state.stat:
                if Counters.get(tx).operations == state.operations:
                    self._seen[store.agent, category] = now
                    return False
                rows = tx.all("vault.members", category=str(category))
                if {row[1]: fingerprint(content_hash(row[3]), json.loads(row[4])) for row in rows} == {
                    number: mark.entry for number, mark in state.marks.items()
                }:
                    self._seen[store.agent, category] = now
                    return False
        return True

    def _elsewhere(self, agent: str, category: str, number: int) -> bool:
        """True if another file of the agent holds the number, or if that file cannot be read."""
        from recollect.vault.markdown import parse

        try:
            raw = read_bytes(self.folder, f"{agent}/{category}.md")
            return raw is not None and any(block.number == number for block in parse(raw.decode()).blocks)
        except (LeftAlone, OSError, UnicodeDecodeError):
            return True


def _warn(report: SyncReport) -> None:
    for problem in report.problems:
        _log.warning("the vault: %s", problem)
