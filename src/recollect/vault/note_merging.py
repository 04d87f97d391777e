"""Two-way sync of an agent's notes with one markdown file each.

The argument is that of `vault.sync`: a three-way merge of file, entry and the state at the last sync, and if both
sides changed, the file wins. The difference is that a file, unlike a block, has a path of its own. A file is identified
by the id in its front matter, wherever it is; one without an id by its path. A file with the id of another one is a
copy, and becomes a new note.

First everything is compared without a transaction: the disk state of each file with the stored one, the fingerprint of
each entry with the stored one. Only files that differ are opened. The steps that follow are then taken in short write
transactions, so that the first sync of a large folder does not block other writers. A step whose file changed meanwhile
rolls its transaction back, and everything is compared again. A file that was given its id in a transaction that was
rolled back has an unknown id, and is imported as a new one.

A missing file moves its note to the trash. If all of several files are missing, the folder was probably not mounted,
and the files are written again.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from recollect.engine import remember
from recollect.engine.agent_store import Store, Work
from recollect.errors import Conflict, Invalid, NotFound
from recollect.model.entry import Entry, Kind, Lifetime, Origin, Scope
from recollect.model.operation import Add, Alias, Operation, Remove, Rename, Write, checked
from recollect.model.vault import Problem, SyncReport
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.vault.files import (
    Edited,
    LeftAlone,
    StagedFile,
    discard_files,
    disk_state,
    move_file,
    publish_files,
    read_bytes,
    remove_file,
    stage_file,
    sync_folders,
)
from recollect.vault.links import containing, mentioning, renamed
from recollect.vault.note_file import NoteFile, folded, folder_of, last_shown, parse_note, stem_of, written_id
from recollect.vault.note_folder import note_files, read_note
from recollect.vault.path_links import Moves, path_probes, repointed
from recollect.vault.state import (
    ACTOR,
    NOTES,
    FileSyncState,
    NoteMark,
    digest,
    known_notes,
    known_state,
    note_fingerprint,
    note_members,
    save_state,
)

__all__ = ["BATCH", "NotesMerge"]

BATCH = 100
"""Files per write transaction."""


@dataclass(slots=True)
class _ChangedFile:
    """A file that is new or has changed: its bytes, the parsed note, and the id of its entry if it has one."""

    path: str
    stat: str
    raw: bytes
    note: NoteFile
    entry_id: str | None = None


@dataclass(slots=True)
class _SyncPlan:
    """The work of a sync, by kind of step."""

    changed: list[_ChangedFile] = field(default_factory=list)
    moved_on: list[tuple[str, str]] = field(default_factory=list)
    """Entries that changed, and the paths of their files."""
    missing: list[str] = field(default_factory=list)
    """Entries that have no file yet."""
    gone: list[str] = field(default_factory=list)
    """Entries whose file was removed."""
    closed: list[tuple[str, str]] = field(default_factory=list)
    """Entries that were removed or closed, and the paths of their files; empty if there is none."""

    def steps(self, merge: "NotesMerge") -> "list[_Step]":
        """Return the steps, edits of files first: a file that was renamed frees its name."""
        return [
            *(_Step(one.path, partial(merge.merge_file, one)) for one in self.changed),
            *(_Step(one, partial(merge.remove_entry, one)) for one in self.gone),
            *(_Step(path, partial(merge.remove_note_file, one, path)) for one, path in self.closed),
            *(_Step(path, partial(merge.update_file, one, path)) for one, path in self.moved_on),
            *(_Step(one, partial(merge.write_new, one)) for one in self.missing),
        ]


class _Step(NamedTuple):
    """One step of a sync, and the path or id that it is about."""

    about: str
    take: Callable[[], None]


class NotesMerge:
    """A single sync of an agent's notes with their files; used once."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        vault_id: str,
        now: int,
        *,
        batch: int = BATCH,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """`batch` is the number of steps per transaction; a single one that fails is reported, and the rest goes on.

        `places` are the paths, by entry id, at which new files are created if these are free.
        """
        self.store, self.folder, self.vault_id, self.now, self._batch = store, folder, vault_id, now, batch
        self._places = places or {}
        self.report = SyncReport()
        self.seen: dict[str, str] = {}
        """The disk states of all files after the sync."""
        self.relinked = False
        """Whether links in other notes were changed, whose files follow with the next sync."""
        self._renames: list[tuple[str, str, str]] = []
        self._moves: dict[str, str] = {}
        """New paths of files by the digests of their old ones."""
        self._moved_stems: set[str] = set()
        self._paths: dict[str, str] = {}
        """The paths of the files by entry id."""
        self._staged: list[StagedFile] = []
        """Files whose new versions get their names before the commit."""
        self._touched: list[str] = []
        """Files whose folders must be synced before the commit."""

    def run(self) -> SyncReport:
        """Apply edits of files to entries, and changes of entries to files. Raises Edited."""
        self.seen, skipped = note_files(self.folder, self.store.agent)
        self._add(problems=tuple(Problem(path, why) for path, why in sorted(skipped.items())))
        with self.store.read() as tx:
            self.state = known_state(tx, self.vault_id, NOTES)
            self.marks, self.members = known_notes(tx, self.vault_id), note_members(tx)
            operations = Counters.get(tx).operations
        self._taken = {folded(path) for path in (*self.seen, *skipped)}
        self._folders = {path.rpartition("/")[0] for path in self.seen}
        steps = self._plan().steps(self)
        for start in range(0, len(steps), self._batch):
            self._in_one_transaction(steps[start : start + self._batch])
        if self._renames or self._moves:
            self._in_one_transaction([_Step("links", self._relink)])
        if steps or operations != self.state.operations:
            with self.store.write() as work:  # concurrent changes are not in the files yet
                save_state(work.tx, self.vault_id, NOTES, FileSyncState(operations=operations))
        return self.report

    def planned(self, old: Collection[str], *, first: bool) -> list[str]:
        """Return the paths of the files that a sync would create, or give an id: the `first` one in this layout.

        `old` are the files of the other layout, which are not notes. Changes nothing.
        """
        self.seen, skipped = note_files(self.folder, self.store.agent)
        self._taken = {folded(path) for path in (*self.seen, *skipped)}
        self._folders = {path.rpartition("/")[0] for path in self.seen}
        with self.store.read() as tx:
            known, members = {} if first else known_notes(tx, self.vault_id), note_members(tx)
            paths = {mark.path for mark in known.values()}
            unknown = [path for path in self.seen if path not in old and digest(path.encode()) not in paths]
            new = [note for path in unknown if isinstance(note := read_note(self.folder, path)[1], NoteFile)]
            shown = {note.entry_id for note in new}.union(known)
            found = [entries.get(tx, entry_id) for entry_id in members if entry_id not in shown]
        adopted = [note.path for note in new if note.entry_id not in members]
        return [*adopted, *(self._new_path(entry) for entry in found if entry is not None)]

    def _add(
        self,
        *,
        read: str = "",
        written: str = "",
        deleted: str = "",
        added: int = 0,
        changed: int = 0,
        removed: int = 0,
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.report += SyncReport(
            read=(read,) if read else (),
            written=(written,) if written else (),
            deleted=(deleted,) if deleted else (),
            added=added,
            changed=changed,
            removed=removed,
            problems=problems,
        )

    def _problem(self, path: str, message: str) -> None:
        self._add(problems=(Problem(path, message),))

    def _in_one_transaction(self, steps: Sequence[_Step]) -> None:
        """Run steps in one transaction. If one fails, raise Edited; a single step is reported as a problem instead."""
        before = self.report
        try:
            with self.store.write() as work:
                self.work = work
                try:
                    for step in steps:
                        step.take()
                    publish_files(self.folder, self._staged)
                    self._staged.clear()
                    sync_folders(self.folder, self._touched)  # before the commit, which relies on the files
                except OSError as error:  # convert here: the database layer would treat it as its own failure
                    raise LeftAlone(str(error)) from error
                finally:
                    discard_files(self.folder, self._staged)
                    self._staged.clear()
                    self._touched.clear()
        except (Edited, LeftAlone) as error:
            self.report = before
            if len(steps) > 1:
                raise Edited(str(error)) from error
            self._problem(steps[0].about, str(error))

    # Comparing

    def _plan(self) -> _SyncPlan:
        """Compare files and entries with the stored state. Opens the files that changed."""
        by_path = {mark.path: entry_id for entry_id, mark in self.marks.items()}
        known = {path: by_path[key] for path in self.seen if (key := digest(path.encode())) in by_path}
        owners: dict[str, str] = {}
        changed: list[_ChangedFile] = []
        for path, stat in sorted(self.seen.items()):
            if path in known and self.marks[known[path]].stat == stat:
                owners[known[path]] = path
        for path, stat in sorted(self.seen.items(), key=lambda one: (one[0] not in known, one[0])):
            if owners.get(known.get(path, "")) != path:
                changed += self._read(path, stat, owners, known.get(path))
        self._assign(changed, owners, known)
        self._paths |= owners
        plan = _SyncPlan(changed=changed)
        unread = {one.entry_id for one in changed}
        alone = len(self.marks.keys() & self.members.keys()) > 1 and not self.marks.keys() & owners.keys()
        for entry_id, fingerprint in self.members.items():
            if entry_id not in owners:
                (plan.gone if entry_id in self.marks and not alone else plan.missing).append(entry_id)
            elif entry_id not in unread and entry_id in self.marks and self.marks[entry_id].of_entry != fingerprint:
                plan.moved_on.append((entry_id, owners[entry_id]))
        for entry_id in self.marks.keys() - self.members.keys() - unread:
            plan.closed.append((entry_id, owners.get(entry_id, "")))
        return plan

    def _read(self, path: str, stat: str, owners: dict[str, str], known: str | None) -> Iterable[_ChangedFile]:
        """Read a file that is new or changed. One that cannot be read keeps its entry as it is."""
        raw, note = read_note(self.folder, path)
        if isinstance(note, NoteFile):
            return [_ChangedFile(path, stat, raw, note)]
        self._problem(path, note)
        for entry_id in (written_id(raw), known):
            if entry_id in self.marks or entry_id in self.members:
                owners.setdefault(str(entry_id), path)
        return []

    def _assign(self, changed: list[_ChangedFile], owners: dict[str, str], known: dict[str, str]) -> None:
        """Decide which entry each changed file belongs to; the first file with an id has it, a later one is a copy."""
        for one in changed:
            written = one.note.entry_id
            if written is not None and written not in owners and known.get(one.path, written) == written:
                owners[written], one.entry_id = one.path, written
        for one in changed:
            for entry_id in (one.note.entry_id, known.get(one.path)):
                if one.entry_id is None and entry_id is not None and entry_id not in owners:
                    owners[entry_id], one.entry_id = one.path, entry_id

    # From files to entries

    def merge_file(self, found: _ChangedFile) -> None:
        """Merge a file that is new or changed with its entry."""
        if read_bytes(self.folder, found.path) != found.raw:
            raise Edited("it is being edited right now; try again")
        self._add(read=found.path)
        self._trouble_with_keys(found.note)
        entry = self._entry(found.entry_id)
        if entry is None:
            self._adopt(found)
            return
        mark = self.marks.get(entry.id)
        moved = mark is not None and mark.path != digest(found.path.encode())
        edited = mark is None or mark.file != digest(found.raw)
        moved_on = mark is None or mark.of_entry != note_fingerprint(entry)
        try:
            if (edited or moved) and not (moved_on and self._had_text(entry, found.note.content_of(entry))):
                entry = self._write(found.note, entry, mark, edited=edited, moved=moved)
                moved_on = moved_on and mark is not None  # what changed only in the entry is shown in the file
            if mark is not None and moved:
                self._record_move(mark.path, found.path, entry)
            entry, note = self._rename(found.note, entry, mark)
        except Invalid as error:
            self._problem(found.path, f"its note was left as it was: {error}")
            return
        note = note.showing(entry) if moved_on else note
        self._store(note.with_id(entry.id), entry, found, front=edited or entry.front_matter is not None)

    def _trouble_with_keys(self, note: NoteFile) -> None:
        for key in note.unusable:
            self._problem(note.path, f"line {note.front.line_of(key)}: the value of {key} is not valid and is ignored")

    def _entry(self, entry_id: str | None) -> Entry | None:
        """Return the note with this id, brought back from the trash if it is there; None if there is none."""
        if entry_id is None:
            return None
        entry = entries.get(self.work.tx, entry_id)
        if entry is None:
            try:
                entry = remember.restore(self.work, entry_id, None, actor=ACTOR, now=self.now)
            except (Conflict, NotFound):
                return None
            self._add(added=1)
        shown = entry.kind is Kind.NOTE and entry.scope in (Scope.CHANNEL, Scope.WORKSPACE)
        return entry if shown else None

    def _adopt(self, found: _ChangedFile) -> None:
        """Create an entry from a file, and add its id to the file."""
        note, written_at = found.note, found.note.written_at
        try:
            add = checked(
                Add(
                    note.body,
                    name=self._free_name(note),
                    tags=note.tags,
                    category=note.category,
                    importance=0.5 if note.importance is None else note.importance,
                    valid_from=note.moment("valid_from"),
                    valid_until=note.moment("valid_until"),
                    at=_modified(found.stat) if written_at is None else written_at,
                    source=ACTOR,
                    origin=note.origin or Origin.USER,
                    evidence=(f"file:{found.path}"[:256].strip(),),
                    lifetime=Lifetime.LONG_TERM,
                )
            )
            entry = self._apply(add)
        except (Conflict, Invalid) as error:
            self._problem(found.path, f"it is not read: {error}")
            return
        self._add(added=1)
        entry = self._aliased(note, entry)
        self._store(note.with_id(entry.id), entry, found, front=True)

    def _free_name(self, note: NoteFile) -> str | None:
        """Return the note's name if it is free, else its path: files in different folders may have the same name."""
        path = PurePosixPath(note.path).with_suffix("").parts[1:]
        for name in (note.name, "/".join(path)):
            if name is not None and entries.find(self.work.tx, name) is None and len(name) <= 256:
                return name
        return None

    def _write(self, note: NoteFile, entry: Entry, mark: NoteMark | None, *, edited: bool, moved: bool) -> Entry:
        """Write to the entry what a person changed in its file."""
        base = last_shown(entry, note.path)
        changes: dict[str, object] = {}
        content = note.content_of(entry)
        if edited and content != entry.content:
            changes |= {"content": content, "origin": Origin.USER}
        if note.tags != base.tags and note.tags != entry.tags:
            changes["tags"] = note.tags
        follows = moved and "category" not in note.front
        if (follows or note.category is not base.category) and note.category is not entry.category:
            changes["category"] = note.category or ""
        if note.importance not in (None, base.importance, entry.importance):
            changes["importance"] = note.importance
        for key in ("valid_from", "valid_until"):
            if note.moment(key) != base.moment(key) and key not in note.unusable:
                changes[key] = note.moment(key) or ""
        if changes:
            written = self._apply(checked(Write(entry.id, **changes)))  # type: ignore[arg-type]
            self._add(changed=int(written is not entry))
            entry = written
        if mark is not None:
            entry = self._without_aliases(entry, set(base.aliases) - {*note.aliases, entry.name})
        return self._aliased(note, entry)

    def _without_aliases(self, entry: Entry, missing: set[str]) -> Entry:
        """Remove the aliases that are no longer in the file, except those that the file did not show."""
        for revision in entries.revisions(self.work.tx, entry.id) if missing else ():
            if revision.actor == ACTOR:  # the file that a person renamed does not show its old name
                missing -= {revision.before.get("name")} if entry.front_matter is None else set()
            elif revision.seq > self.state.operations:
                missing -= {revision.after.get("alias"), revision.before.get("name")}
        for alias in sorted(missing.intersection(entry.aliases)):
            entry = remember.remove_alias(self.work, entry, alias, actor=ACTOR, now=self.now)
            self._add(changed=1)
        return entry

    def _aliased(self, note: NoteFile, entry: Entry) -> Entry:
        for alias in note.aliases:
            if alias not in (entry.name, *entry.aliases):
                try:
                    if (bound := entries.binding(self.work.tx, alias)) is not None and bound[0] != entry.id:
                        raise Conflict(f"the alias {alias!r} belongs to another note")
                    entry = self._apply(checked(Alias(entry.id, alias)))
                except (Conflict, Invalid) as error:
                    self._problem(note.path, str(error))
        return entry

    def _rename(self, note: NoteFile, entry: Entry, mark: NoteMark | None) -> tuple[Entry, NoteFile]:
        """Rename the entry if a person renamed its file."""
        new = note.name
        if mark is None or new in (None, entry.name) or mark.stem in (digest(note.stem.encode()), ""):
            return entry, note
        old = entry.name
        try:
            entry = self._apply(checked(Rename(entry.id, str(new))))
        except Conflict as error:
            self._problem(note.path, f"its note keeps the name {old!r}: {error}")
            return entry, note
        self._add(changed=1)
        if old is not None:
            self._renames.append((entry.id, old, str(new)))
        return entry, note.titled(old, str(new))

    def _had_text(self, entry: Entry, content: str) -> bool:
        """True if the entry had this text at some point since the last sync, so that the file is not an edit."""
        return any(
            revision.after["content"] == content
            for revision in entries.revisions(self.work.tx, entry.id)
            if revision.seq > self.state.operations and "content" in revision.after
        )

    def remove_entry(self, entry_id: str) -> None:
        """Move a note to the trash whose file was removed."""
        if entries.get(self.work.tx, entry_id) is not None:
            self._apply(Remove(entry_id))
            self._add(removed=1)
        self.work.tx.run("vault.forget_note", vault=self.vault_id, entry_id=entry_id)

    # From entries to files

    def remove_note_file(self, entry_id: str, path: str) -> None:
        """Remove the file of a note that was removed or closed."""
        raw = read_bytes(self.folder, path) if path else None
        if raw is not None:
            if digest(raw) != self.marks[entry_id].file:
                return  # edited, but it cannot be parsed
            remove_file(self.folder, path, raw)
            self._touched.append(path)
            self.seen.pop(path, None)
            self._taken.discard(folded(path))
            self._add(deleted=path)
        self.work.tx.run("vault.forget_note", vault=self.vault_id, entry_id=entry_id)

    def update_file(self, entry_id: str, path: str) -> None:
        """Write to a file what changed in its entry."""
        raw, entry = read_bytes(self.folder, path), entries.get(self.work.tx, entry_id)
        mark = self.marks[entry_id]
        if raw is None or entry is None or digest(raw) != mark.file:
            raise Edited("it is being edited right now; try again")
        note = parse_note(path, raw.decode())
        old = self._old_names(entry) if mark.of_entry[1] != note_fingerprint(entry)[1] else []
        if old and entry.name is not None:
            self._renames += [(entry.id, name, entry.name) for name in old]
            note = note.titled(str(note.front.get("title")), entry.name)
            note = self._moved(note, entry)
        found = _ChangedFile(note.path, mark.stat, raw, note)
        self._store(note.showing(entry), entry, found, front=entry.front_matter is not None)

    def _old_names(self, entry: Entry) -> list[str]:
        """Return the names that the entry had since the last sync."""
        return [
            revision.before["name"]
            for revision in entries.revisions(self.work.tx, entry.id)
            if revision.seq > self.state.operations and revision.operation == "rename" and revision.before.get("name")
        ]

    def _moved(self, note: NoteFile, entry: Entry) -> NoteFile:
        """Give a file the new name of its note, in the folder where it is."""
        if stem_of(entry) == note.stem:
            return note
        self._taken.discard(folded(note.path))
        new = self._free_path(PurePosixPath(note.path).parent.as_posix(), stem_of(entry))
        move_file(self.folder, note.path, new)
        self._moves[digest(note.path.encode())] = new
        self._moved_stems.add(note.stem)
        self._touched.append(new)
        self.seen.pop(note.path, None)
        return replace(note, path=new)

    def write_new(self, entry_id: str) -> None:
        """Write the file of a note that has none."""
        entry = entries.get(self.work.tx, entry_id)
        if entry is None:
            return
        note = last_shown(entry, self._new_path(entry)).showing(entry)
        self._save(note, entry, self._replace(note, None))

    def _new_path(self, entry: Entry) -> str:
        new = f"{self._former_folder(entry) or f'{self.store.agent}/{folder_of(entry)}'}/{stem_of(entry)}.md"
        place = PurePosixPath(self._places.get(entry.id, new))
        return self._free_path(str(place.parent), place.stem)

    def _former_folder(self, entry: Entry) -> str | None:
        """Return the folder in which the entry was found as a file, if there are other notes in it."""
        if entry.source != ACTOR:
            return None
        read_from = (one.removeprefix("file:") for one in entry.evidence if one.startswith("file:"))
        return next((found for path in read_from if (found := path.rpartition("/")[0]) in self._folders), None)

    def _free_path(self, folder: str, stem: str) -> str:
        """Return an unused path; names that differ only in case count as the same."""
        path, number = f"{folder}/{stem}.md", 1
        while folded(path) in self._taken:
            number += 1
            path = f"{folder}/{stem} {number}.md"
        self._taken.add(folded(path))
        return path

    def _store(self, note: NoteFile, entry: Entry, found: _ChangedFile, *, front: bool) -> None:
        """Write the file if it changed, and store that it and its entry agree."""
        same = note.text.encode() == found.raw
        stat = disk_state(self.folder / note.path) if same else self._replace(note, found.raw)
        if front and entry.front_matter != note.front.text:
            self.work.tx.run("vault.front_matter", id=entry.id, front_matter=note.front.text)
        self._save(note, entry, stat)

    def _replace(self, note: NoteFile, expected: bytes | None) -> str:
        staged = stage_file(self.folder, note.path, note.text.encode(), expected)
        self._staged.append(staged)
        self._touched.append(note.path)
        self._add(written=note.path)
        return staged.state

    def _save(self, note: NoteFile, entry: Entry, stat: str) -> None:
        fields, names = note_fingerprint(entry)
        self.seen[note.path], self._paths[entry.id] = stat, note.path
        self._taken.add(folded(note.path))
        self.work.tx.run(
            "vault.save_note",
            vault=self.vault_id,
            entry_id=entry.id,
            path=digest(note.path.encode()),
            stem=digest(note.stem.encode()),
            stat=stat,
            file=digest(note.text.encode()),
            entry=fields,
            names=names,
        )

    def _record_move(self, old: str, new: str, entry: Entry) -> None:
        """Note that a person moved the file of an entry, from a path that is known by its digest only."""
        self._moves[old] = new
        self._moved_stems |= {stem_of(new), stem_of(entry)}

    def _relink(self) -> None:
        """Let links to the old names of renamed notes, and to the old paths of their files, lead to the new ones."""
        for entry_id, old, new in self._renames:
            if entries.find(self.work.tx, old) in (None, entry_id):  # else the name belongs to another note now
                for other in list(mentioning(self.work.tx, [old])):
                    self._rewrite(other, renamed(other.content, old, new))
        folders = {str(PurePosixPath(path).parent) for path in (*self.seen, *self._moves.values())}
        moves = Moves(self.store.agent, folders, lambda path: self._moves.get(digest(path.encode())))
        probes = [probe for stem in sorted(self._moved_stems) for probe in path_probes(stem)]
        for other in list(containing(self.work.tx, probes)):
            self._rewrite(other, repointed(other.content, self._paths.get(other.id), moves))

    def _rewrite(self, entry: Entry, content: str) -> None:
        if content != entry.content and entry.kind is Kind.NOTE and entry.closed_at is None:
            self._apply(checked(Write(entry.id, content=content, origin=entry.origin)))
            self.relinked = True

    def _apply(self, operation: Operation) -> Entry:
        return remember.apply(self.work, operation, actor=ACTOR, now=self.now)

    work: Work


def _modified(stat: str) -> int:
    """Return the modification time in a disk state, in UTC milliseconds."""
    return max(int(stat.split()[1]) // 1_000_000, 0)
