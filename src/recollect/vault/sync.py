"""The vault: category files that show the notes of every agent, and take what people and programs write into them.

The argument. Three texts meet: what the file says, what the entry says, and what both said when they last agreed. Of
the last one only fingerprints are kept, one for the block and one for the entry. A block that is what it was shows the
entry as it is now; a block that was edited is written into the entry. If both changed, the file wins, because nobody
types a text twice, and the entry's history keeps the other one. A text that the entry had since they last agreed was
put into the file by us (a crash left no fingerprint), so then the entry wins.

A number that was there and is gone is a removal, which the trash keeps. A whole file that is gone, or has lost all of
several blocks at once, is not: that is what a crashed editor leaves, or a program that writes a file without reading
it first, and the entries are written again. A file that looks cut off is believed only when it stays so.

Everything about one file happens in one write transaction of its agent: writers take turns, and a file that changed
between reading and replacing rolls everything back. Nothing is read or replaced through a link, and nothing outside
the folder is touched. What cannot be understood is left alone and told in the report.
"""

import json
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from recollect import names
from recollect.clock import Clock
from recollect.engine import remember
from recollect.engine.store import Store, Work
from recollect.errors import ConfigError, Conflict, Invalid, NotFound
from recollect.model.entry import Category, Entry, Lifetime
from recollect.model.operation import Add, Operation, Remove, Write
from recollect.model.transfer import Imported
from recollect.model.vault import Problem, Report
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction
from recollect.vault.git import Checkpoint, Commit, History, Repository
from recollect.vault.markdown import Block, File, clean, new_block, parse, slug

__all__ = ["ACTOR", "Vault", "is_made"]

ACTOR = "vault"
"""Who the history names for an edit of a file, and the source of notes that were written into one."""
SETTLE = 2_000
"""Milliseconds after which a file that looks cut off is believed."""
ATTEMPTS = 3
BACKDATED = 2_000_000_000
"""Nanoseconds. Our files look older than they are, so that an edit right after always has another time than ours."""
_CHUNK = 500
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


class _LeftAlone(Exception):
    """The file is not ours to read or replace; the message says why."""


class _Edited(Exception):
    """The file changed between reading and replacing."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """Fingerprints of a block and of its entry when they last agreed, and how long the block was."""

    size: int
    block: str
    entry: str


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of a file from the last time."""

    stat: str = ""
    operations: int = 0
    marks: dict[int, _Mark] = field(default_factory=dict)
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class _Member:
    """An entry that belongs into the file."""

    id: str
    fingerprint: str


def is_made(folder: Path) -> bool:
    """Whether there is a vault in a folder."""
    return (folder / ".vault" / "id").exists()


class Vault:
    """The markdown files of a workspace: one folder per agent, one file per category."""

    def __init__(
        self, folder: Path | None, stores: Callable[[str], Store], agents: Callable[[], Iterable[str]], clock: Clock,
        wake: Callable[[Store], None] = lambda store: None, *, repository: str | None = None,
        author: str | None = None, migrate: Callable[[Path], Imported] | None = None,
    ) -> None:  # fmt: skip
        """`stores` gives the workspace's rows of an agent, `wake` is told when new text wants vectors.

        `repository` is None for no git, "agent" for a repository in each agent's folder, "vault" for one of them all;
        commits are by `author`, else by the agent.
        """
        if repository not in (None, "agent", "vault"):
            raise ConfigError(f"git.repository is 'agent', 'vault' or left out, not {repository!r}")
        self._folder, self._repository, self._author, self._migrate = folder, repository, author, migrate
        self._stores, self._agents, self._clock, self._wake = stores, agents, clock, wake
        self._lock = threading.RLock()
        self._id: str | None = None
        self._seen: dict[tuple[str, str], str] = {}
        self._spelled: set[str] = set()

    @property
    def folder(self) -> Path:
        """Where the files are; ConfigError when no folder is named."""
        if self._folder is None:
            raise ConfigError("this home has no folder for a vault; name one with open(vault=…) or [vault] folder")
        return self._folder

    def migrate(self) -> Imported:
        """Take in the files of an older layout that lie in the folder: a flat file per agent, and saved conversations.

        Doing it again changes nothing.
        """
        if self._migrate is None:
            raise ConfigError("this vault belongs to no home, so there is nowhere to take old files in")
        return self._migrate(self.folder)

    def sync(self, agent: str | None = None) -> Report:
        """Bring files and entries together, for one agent or for all of them."""
        report = Report()
        for name in self._everyone() if agent is None else [names.segment(agent, "an agent")]:
            report += Report(problems=tuple(self._misspelled(name)))
            first = self.written(name)
            report += first
            if first.changed:  # an edit may have brought a note back that another file shows already
                report += replace(self.written(name), problems=())
        return report

    def written(self, agent: str, category: Category | str | None = None) -> Report:
        """Show what the library just wrote: the file of that category, or all of the agent's that differ."""
        report = Report()
        for one in Category if category is None else [Category(category)]:
            report += self._file(agent, one)
        return report

    def refresh(self, agent: str) -> Report:
        """Take in the agent's files that were edited; for the moment before a read. Costs five looks at the disk."""
        report = Report()
        for category in Category:
            try:
                unchanged = _stat(self._path(agent, category)) == self._seen.get((agent, category), "")
            except (_LeftAlone, OSError):
                unchanged = False
            if not unchanged:
                report += self._file(agent, category)
        return report

    def watch(self, stop: threading.Event, callback: Callable[[Report], None], pause: float = 1.0) -> None:
        """Sync again and again until `stop` is set; the callback hears of every sync that did or found something."""
        last = Report()
        while not stop.is_set():
            report = self.sync()
            if report and report != last:
                callback(report)
            last = report
            stop.wait(pause)

    def commit(self, agent: str, subject: str, body: str = "") -> Commit | None:
        """Commit the files as they are after a sync; None when nothing changed, or git is off."""
        if self._repository is None:
            return None
        self.sync(agent)
        return self._git(agent).commit_all(subject, body)

    def checkpoint(self, agent: str, note: str | None = None) -> Checkpoint:
        """Commit on request; skipped, with the reason, when nothing changed or git is off."""
        if self._repository is None:
            return Checkpoint(skipped=True, reason="git is off; set git.repository to 'agent' or 'vault'")
        self.sync(agent)
        return self._git(agent).checkpoint(note)

    def history(self, agent: str, limit: int = 10, include_diff: bool = False) -> History:
        """The commits of the agent's repository, newest first; none when git is off."""
        return History(commits=()) if self._repository is None else self._git(agent).history(limit, include_diff)

    def _git(self, agent: str) -> Repository:
        folder = self.folder / names.segment(agent, "an agent") if self._repository == "agent" else self.folder
        if folder != self.folder and folder.is_symlink():
            raise Conflict(f"{folder} is a link; nothing is committed through it. Make it a folder inside the vault")
        whole = self._repository == "vault"
        return Repository(folder, self._clock, author=self._author or agent, whole_vault=whole)

    def instructions(self, agent: str, host_project: str | Path | None = None) -> str:
        """What to tell an agent that writes files itself: where they are, and what an entry looks like."""
        name = names.segment(agent, "an agent")
        vault = _shown(self.folder, Path(host_project) if host_project is not None else Path.cwd())
        lines = [
            "## MEMORY: When asked to save/learn/remember, WRITE to files (don't just say you will).",
            f"Shared: {vault}/_project.md | Personal: {vault}/{name}/{{decisions,lessons,tasks,handoffs}}.md",
            "Add an entry at the end of a file: a line `## YYYY-MM-DDTHH:MM · #tag #tag`, a blank line, then the text. "
            "Leave the `<!-- id:… -->` lines as they are.",
        ]
        if host_project is not None:
            lines += [
                "",
                f"## SCOPE: You work on the project in {Path(host_project).absolute().as_posix()}.",
                f"Analyse that project. The files in {vault} are your memory, not part of what you work on.",
            ]
        return "\n".join(lines) + "\n"

    # Files and folders

    def _path(self, agent: str, category: str) -> Path:
        return self.folder / agent / f"{category}.md"

    def _everyone(self) -> list[str]:
        """The agents that have rows, and those that have nothing yet but a file."""
        found = set(self._agents())
        try:
            with os.scandir(self.folder) as folders:
                found.update(entry.name for entry in folders if self._is_agent(entry))
        except (FileNotFoundError, NotADirectoryError):
            pass
        return sorted(found)

    def _is_agent(self, entry: os.DirEntry[str]) -> bool:
        try:
            names.segment(entry.name, "an agent")
        except Invalid:
            return False
        return entry.is_dir(follow_symlinks=False) and any(
            os.path.lexists(self._path(entry.name, category)) for category in Category
        )

    def _misspelled(self, agent: str) -> Iterator[Problem]:
        """Files that a person could take for ours, but that differ in case, so that nobody reads them."""
        ours = {f"{category}.md" for category in Category}
        try:
            present = sorted(os.listdir(self.folder / agent))
        except OSError:
            return
        for name in present:
            if name.lower() in ours and name not in ours:
                yield Problem(f"{agent}/{name}", f"it is not read; the file is called {name.lower()}")

    def _checked(self, agent: str, path: Path) -> str:
        """The file's state on disk, or why it is left alone."""
        for folder in (path.parent, self.folder / ".vault"):
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise _LeftAlone(f"{folder.name} is a link or no folder; make it a folder inside the vault")
        if agent not in self._spelled and path.parent.exists():
            if agent not in os.listdir(self.folder):
                raise _LeftAlone("the folder here belongs to an agent whose name differs only in case; rename one")
            self._spelled.add(agent)
        return _stat(path)

    def _identity(self, *, make: bool) -> str:
        """The id that this folder has, so that what is known of its files is never mixed up with another's."""
        if self._id is None:
            path = self.folder / ".vault" / "id"
            try:
                known = path.read_text(encoding="ascii", errors="replace").strip()
            except FileNotFoundError:
                known = ""
            if not names.is_id(known):
                if not make:
                    return ""
                known = names.new_id(self._clock.now())
                path.parent.mkdir(parents=True, exist_ok=True)
                _replace(path, f"{known}\n".encode(), path.read_bytes() if path.exists() else None)
            self._id = known
        return self._id

    # One file

    def _file(self, agent: str, category: Category) -> Report:
        path, name = self._path(agent, category), f"{agent}/{category}.md"
        store = self._stores(agent)
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    if not self._differs(store, path, category):
                        return Report()
                    with store.write() as work:
                        merge = _Merge(work, self, category, path, name)
                        found = merge.run(self._identity(make=True), self._clock.now())
                except _Edited:
                    continue
                except (_LeftAlone, OSError) as error:
                    return Report(problems=(Problem(name, str(error)),))
                if merge.settled:
                    self._seen[agent, category] = merge.settled
                if found.added or found.changed:
                    self._wake(store)
                return found
        return Report(problems=(Problem(name, "it is being edited right now; the next sync looks again"),))

    def _differs(self, store: Store, path: Path, category: Category) -> bool:
        """Whether file or entries are not what they were, told without opening the file."""
        now = self._checked(store.agent, path)
        with store.read() as tx:
            state = _state(tx, self._identity(make=False), category)
            if now == state.stat:
                if Counters.get(tx).operations == state.operations:
                    self._seen[store.agent, category] = now
                    return False
                rows = tx.all("vault.members", category=str(category))
                if {row[1]: _fingerprint(row[3], json.loads(row[4])) for row in rows} == {
                    number: mark.entry for number, mark in state.marks.items()
                }:
                    self._seen[store.agent, category] = now
                    return False
        return True

    def _elsewhere(self, agent: str, category: str, number: int) -> bool:
        """Whether another file of the agent holds the number; also when nobody can tell."""
        try:
            raw = _read(self._path(agent, category))
            return raw is not None and any(block.number == number for block in parse(raw.decode()).blocks)
        except (_LeftAlone, OSError, UnicodeDecodeError):
            return True


class _Merge:
    """One file and the entries that belong into it, brought together within one write transaction."""

    def __init__(self, work: Work, vault: Vault, category: Category, path: Path, name: str) -> None:
        self.work, self.tx, self.vault = work, work.tx, vault
        self.category, self.path, self.name = category, path, name
        self.added = self.changed = self.removed = 0
        self.problems: list[Problem] = []
        self.settled = ""
        self.troubled: set[int] = set()
        self.after: dict[int, int] = {}

    def run(self, vault_id: str, now: int) -> Report:
        self.now = now
        self.state = _state(self.tx, vault_id, self.category)
        known_stat, raw = _stat(self.path), _read(self.path)  # in this order: an edit in between is seen next time
        try:
            text = (raw or b"").decode()
        except UnicodeDecodeError as error:
            raise _LeftAlone(f"it is not UTF-8 (byte {error.start}); save it as UTF-8") from None
        file = parse(text)
        self.newline, self.blocks = file.newline, {block.number: block for block in file.blocks}
        self.marks = self.state.marks if raw is not None else {}
        self.members = self._members()
        if raw is not None and (doubt := self._doubt(file, raw)):
            self._save(vault_id, self.state.stat, self.state.marks, doubt)
            return self._report(read=True, problem="it looks cut off; if it stays so, the next sync believes it")
        if len(self.marks) > 1 and not self.marks.keys() & self.blocks.keys():
            self.marks = {}
        final = self._merged(file)
        if final.text != text:
            try:
                known_stat = _replace(self.path, final.text.encode(), raw)
            except UnicodeEncodeError as error:
                raise _LeftAlone(f"it cannot be written as UTF-8: {error}") from None
        self.settled = known_stat
        self._save(vault_id, known_stat, self._marked(final), "")
        return self._report(read=raw is not None, written=final.text != text)

    def _report(self, *, read: bool, written: bool = False, problem: str = "") -> Report:
        if problem:
            self.problems.append(Problem(self.name, problem))
        return Report(
            read=(self.name,) if read else (), written=(self.name,) if written else (), added=self.added,
            changed=self.changed, removed=self.removed, problems=tuple(self.problems),
        )  # fmt: skip

    def _save(self, vault_id: str, file_stat: str, marks: dict[int, _Mark], doubt: str) -> None:
        blocks = {str(number): [mark.size, mark.block, mark.entry] for number, mark in marks.items()}
        self.tx.run(
            "vault.save", vault=vault_id, category=str(self.category), stat=file_stat, doubt=doubt,
            operations=self.work.counters.operations, blocks=json.dumps(blocks, separators=(",", ":")),
        )  # fmt: skip

    def _members(self) -> dict[int, _Member]:
        """The entries that belong into the file, by their numbers; those that have none yet get one."""
        members: dict[int, _Member] = {}
        homeless: list[tuple[int, str, _Member]] = []
        for entry_id, number, created_at, content_hash, tags in self.tx.all(
            "vault.members", category=str(self.category)
        ):
            member = _Member(entry_id, _fingerprint(content_hash, json.loads(tags)))
            if number is None or number in members:
                homeless.append((created_at, entry_id, member))
            else:
                members[number] = member
        for created_at, entry_id, member in sorted(homeless, key=lambda one: one[:2]):
            number = self._number(created_at, entry_id)
            self.tx.run("vault.number", id=entry_id, number=number)
            members[number] = member
        return members

    def _number(self, created_at: int, entry_id: str) -> int:
        """A number for an entry: its moment, or the next one that is free."""
        number, passed = max(created_at, 1), list[int]()
        while number in self.after or self._taken(number, entry_id):
            passed.append(number)
            number = self.after.get(number, number + 1)
        # Thousands of entries may be of the same moment: nobody looks twice at a number that is taken.
        self.after.update(dict.fromkeys([*passed, number], number + 1))
        return number

    def _taken(self, number: int, entry_id: str) -> bool:
        """Whether a number is another entry's, or a block's in the file that says something else than this entry."""
        if number in self.state.marks or self.tx.one("vault.numbered", number=number) is not None:
            return True
        block = self.blocks.get(number)
        return block is not None and block.content != clean(self._entry(entry_id).content)

    def _entry(self, entry_id: str) -> Entry:
        found = entries.get(self.tx, entry_id)
        if found is None:
            raise NotFound(f"the entry {entry_id} is gone; sync again")
        return found

    # Whether the file can be believed

    def _doubt(self, file: File, raw: bytes) -> str:
        """The fingerprint of a file that looks cut off, and since when; empty when there is no doubt any more."""
        if not self.marks or not (not file.blocks or self._cut_off(file)):
            return ""
        seen, _, since = self.state.doubt.partition(" ")
        now = _digest(raw)
        if seen == now and self.now - int(since) >= SETTLE:
            return ""
        return f"{now} {since if seen == now else self.now}"

    def _cut_off(self, file: File) -> bool:
        """Whether the file is what it was up to a point within a block, and nothing after it."""
        last = file.blocks[-1]
        for block in file.blocks[:-1]:
            if block.number not in self.marks or self.marks[block.number].block != _of(block):
                return False
        mark = None if last.number is None else self.marks.get(last.number)
        if mark is None or mark.block == _of(last) or last.number not in self.members:
            return False
        rest = last.text[mark.size :].strip()
        if rest.startswith("<") and "<!-- id:".startswith(rest[:8]) and "-->" not in rest:
            return True  # within the next block's id
        entry = self._entry(self.members[last.number].id)
        whole = new_block(last.number, entry.created_at, entry.tags, entry.content, file.newline).text
        return len(last.text.rstrip()) < mark.size and whole.startswith(last.text.rstrip()) and not last.closed

    # Block by block

    def _merged(self, file: File) -> File:
        """The file as it is to be, and the operations that its edits ask for."""
        pieces = list(self._pieces(file.blocks))
        present = {block.number for block in pieces}
        for gone in self.marks.keys() & self.members.keys() - present:
            self._apply(Remove(self.members.pop(gone).id))
            self.removed += 1
        missing = [one for one in self.members if one not in present]
        keepers = self._keepers(pieces)
        blocks: list[Block] = []
        for place, block in enumerate(pieces):
            number = block.number
            if number is None or keepers[number] != place:
                blocks.append(self._adopt(block, None))
            elif number in self.members:
                blocks.append(self._known(block, number))
            else:
                strange = self._strange(block, number)
                blocks += [strange] if strange is not None else []
        merged = File(file.preamble, tuple(blocks), file.newline).inserted(self._shown(missing))
        again = parse(merged.text)
        if [block.number for block in again.blocks] != [block.number for block in merged.blocks]:
            raise _LeftAlone("its blocks run into each other; put an id comment or a dated heading before each one")
        return again

    def _pieces(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The blocks; what was written below the end of one is a block of its own."""
        for block in blocks:
            mark = None if block.number is None else self.marks.get(block.number)
            text = block.text
            if mark is not None and len(text.rstrip()) > mark.size and text[mark.size] in "\r\n":
                whole = parse(text[: mark.size]).blocks
                if _digest(text[: mark.size].encode()) == mark.block and len(whole) == 1 and whole[0].closed:
                    yield from block.split(mark.size)
                    continue
            yield block

    def _keepers(self, pieces: Sequence[Block]) -> dict[int, int]:
        """For each number the place of the block that keeps it; other blocks of the same number are copies."""
        keepers: dict[int, int] = {}
        for place, block in enumerate(pieces):
            number = block.number
            if number is None:
                continue
            kept, mark = keepers.setdefault(number, place), self.marks.get(number)
            if kept != place and mark is not None and _of(pieces[kept]) != mark.block == _of(block):
                keepers[number] = place
        return keepers

    def _known(self, block: Block, number: int) -> Block:
        """A block of an entry that belongs here: shows the entry, or is written into it."""
        mark, member = self.marks.get(number), self.members[number]
        edited = mark is None or mark.block != _of(block)
        moved_on = mark is None or mark.entry != member.fingerprint
        if not edited and not moved_on:
            return block
        entry = self._entry(member.id)
        if edited and not (moved_on and self._had(entry, block)):
            self._write(block, entry, number)
            return block
        return self._showing(block, entry)

    def _had(self, entry: Entry, block: Block) -> bool:
        """Whether the entry has had the block's text since they last agreed, so that it is not an edit."""
        return any(
            clean(revision.after["content"]) == block.content
            for revision in entries.revisions(self.tx, entry.id)
            if revision.seq > self.state.operations and "content" in revision.after
        )

    def _strange(self, block: Block, number: int) -> Block | None:
        """A block whose number is no entry's here: removed by the library, moved or pasted by hand, or new."""
        mark = self.marks.get(number)
        if mark is not None and mark.block == _of(block):
            return None
        living = self.tx.one("vault.numbered", number=number)
        if living is not None:
            entry_id, category = living
            if mark is None and category and self.vault._elsewhere(self.tx.agent, category, number):
                return self._adopt(block, None)
            self._write(block, self._entry(entry_id), number)
            return block
        trashed = self.tx.one("vault.removed", needle=f'"vault_id":{number}}}')
        if trashed is not None:
            try:
                entry = remember.restore(self.work, trashed[0], None, actor=ACTOR, now=self.now)
            except (Conflict, NotFound):
                return self._adopt(block, number)
            self.added += 1
            self.members[number] = _Member(entry.id, "")
            self._write(block, entry, number)
            return block
        return self._adopt(block, number)

    def _adopt(self, block: Block, number: int | None) -> Block:
        """A new entry from a block written by hand; the block gets an id, and a heading where it has neither."""
        try:
            add = remember.checked(
                Add(
                    block.content, tags=block.tags, category=self.category, at=block.at or self.now, source=ACTOR,
                    lifetime=Lifetime.LONG_TERM,
                )
            )  # fmt: skip
        except Invalid as error:
            self._trouble(block, error)
            return block
        entry = self._apply(add)
        if number is None:
            number = self._number(entry.created_at, entry.id)
        self.tx.run("vault.number", id=entry.id, number=number)
        self.members[number] = _Member(entry.id, _fingerprint(entry.content_hash, entry.tags))
        self.added += 1
        bare = not block.opening and not block.heading
        block = block if block.number == number else block.with_number(number, self.newline)
        return block.with_heading(entry.created_at, entry.tags, self.newline) if bare else block

    def _write(self, block: Block, entry: Entry, number: int) -> None:
        """Write what a block says into its entry, where it says something else."""
        content = None if block.content == clean(entry.content) else block.content
        tags = _meant(block.tags, entry.tags)
        category = None if entry.category is self.category else self.category
        write = Write(entry.id, content=content, tags=None if tags == entry.tags else tags, category=category)
        if content is not None or write.tags is not None or category is not None:
            try:
                entry = self._apply(remember.checked(write))
            except Invalid as error:
                self._trouble(block, error)
                self.troubled.add(number)
                return
            self.changed += 1
        self.members[number] = _Member(entry.id, _fingerprint(entry.content_hash, entry.tags))

    def _showing(self, block: Block, entry: Entry) -> Block:
        """The block with what the entry says; its heading stays as long as the tags are the same."""
        if block.content != clean(entry.content):
            block = block.with_content(entry.content, self.newline)
        if _meant(block.tags, entry.tags) != entry.tags:
            block = block.with_heading(entry.created_at, entry.tags, self.newline)
        return block

    def _shown(self, numbers: Sequence[int]) -> Iterator[Block]:
        """New blocks for entries that are not in the file."""
        for start in range(0, len(numbers), _CHUNK):
            chunk = numbers[start : start + _CHUNK]
            found = entries.stored(self.tx, [self.members[number].id for number in chunk])
            for number in chunk:
                entry = found[self.members[number].id].entry
                yield new_block(number, entry.created_at, entry.tags, entry.content, self.newline)

    def _apply(self, operation: Operation) -> Entry:
        return remember.apply(self.work, operation, actor=ACTOR, now=self.now)

    def _trouble(self, block: Block, error: Exception) -> None:
        what = f"the block {block.number}" if block.number is not None else "a new block"
        self.problems.append(Problem(self.name, f"{what} was left alone: {error}"))

    def _marked(self, file: File) -> dict[int, _Mark]:
        """The fingerprints to keep: of all that agree now, and the old ones of what was left alone."""
        marks = {
            block.number: _Mark(len(block.text.rstrip()), _of(block), self.members[block.number].fingerprint)
            for block in file.blocks
            if block.number is not None and block.number in self.members
        }
        for number in self.troubled:
            marks.pop(number, None)
            if number in self.marks:
                marks[number] = self.marks[number]
        return marks


def _meant(shown: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """The tags that a heading stands for: a known one that the heading can only show as another word is that one."""
    meant = [tag for word in shown for tag in ([tag for tag in known if slug(tag) == word] or [word])]
    return tuple(dict.fromkeys([*meant, *(tag for tag in known if not slug(tag))]))


def _state(tx: Transaction, vault_id: str, category: str) -> _State:
    row = tx.one("vault.state", vault=vault_id, category=str(category)) if vault_id else None
    if row is None:
        return _State()
    known, operations, blocks, doubt = row
    marks: dict[str, Any] = json.loads(blocks)
    return _State(known, operations, {int(number): _Mark(*mark) for number, mark in marks.items()}, doubt)


def _fingerprint(content_hash: str, tags: Iterable[str]) -> str:
    return _digest("\0".join([content_hash, *tags]).encode())


def _of(block: Block) -> str:
    return _digest(block.text.rstrip().encode())


def _digest(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:16]


def _stat(path: Path) -> str:
    """What tells one state of a file from another without reading it; empty when there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "a folder" if stat.S_ISDIR(found.st_mode) else "a device"
        raise _LeftAlone(f"it is {kind}; put a plain file in its place, or remove it")
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"


def _read(path: Path) -> bytes | None:
    """The bytes of a plain file; None when there is none."""
    try:
        _stat(path)
        with open(os.open(path, os.O_RDONLY | _NO_LINKS | getattr(os, "O_BINARY", 0)), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _replace(path: Path, content: bytes, expected: bytes | None) -> str:
    """Put a new file in the place of the one that had the expected bytes, whole or not at all; its state on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    mode = stat.S_IMODE(os.lstat(path).st_mode) if expected is not None else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made = os.lstat(temporary)
        os.utime(temporary, ns=(made.st_atime_ns, made.st_mtime_ns - BACKDATED))
        told = _stat(temporary)
        if _read(path) != expected:
            raise _Edited
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return told


def _shown(folder: Path, start: Path) -> str:
    """The folder as seen from where the agent works; in full where it is not below that."""
    whole = Path(os.path.abspath(folder))
    try:
        return whole.relative_to(Path(os.path.abspath(start))).as_posix()
    except ValueError:
        return whole.as_posix()
