"""Three-way merge of one category file with its entries, block by block, within one write transaction.

An unedited block is updated from its entry; an edited block is written to it. If both changed, the file wins.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from recollect.engine import remember
from recollect.engine.agent_store import Work
from recollect.errors import Conflict, Invalid, NotFound
from recollect.model.entry import Category, Entry, Lifetime, Origin
from recollect.model.operation import Add, Operation, Remove, Write, checked
from recollect.model.vault import Problem, SyncReport, UnreadText
from recollect.storage import entries
from recollect.vault.files import LeftAlone, disk_state, read_bytes, replace_file
from recollect.vault.markdown import Block, File, clean, new_block, parse, slug
from recollect.vault.state import (
    ACTOR,
    FileSyncState,
    Mark,
    Member,
    digest,
    fingerprint,
    known_state,
    of_block,
    save_state,
)

__all__ = ["Merge"]

SETTLE = 2_000
"""Milliseconds after which a file that looks truncated is accepted as it is."""
_CHUNK = 500


class Merge:
    """A single merge of one category file with its entries; used once."""

    def __init__(
        self, work: Work, category: Category, folder: Path, name: str, elsewhere: Callable[[str, int], bool]
    ) -> None:
        """The file is `name` in the vault `folder`; `elsewhere` returns True if another file holds a number."""
        self.work, self.tx, self.elsewhere = work, work.tx, elsewhere
        self.category, self.folder, self.name = category, folder, name
        self.added = self.changed = self.removed = 0
        self.problems: list[Problem] = []
        self.settled = ""
        self.troubled: set[int] = set()
        self.after: dict[int, int] = {}

    def run(self, vault_id: str, now: int) -> SyncReport:
        """Read the file, apply its edits to the entries, and write the entries' changes to it."""
        self.now = now
        self.state = known_state(self.tx, vault_id, self.category)
        known_stat = disk_state(self.folder / self.name)  # before the read: the next sync detects an edit in between
        raw = read_bytes(self.folder, self.name)
        try:
            text = (raw or b"").decode()
        except UnicodeDecodeError as error:
            raise LeftAlone(f"it is not UTF-8 (byte {error.start}); save it as UTF-8") from None
        file = parse(text)
        self.newline, self.blocks = file.newline, {block.number: block for block in file.blocks}
        self.marks = self.state.marks if raw is not None else {}
        self.members = self._members()
        if raw is not None and (doubt := self._truncation(file, raw)):
            self._save(vault_id, self.state.stat, self.state.marks, doubt)
            return self._report(read=True, problem="it looks cut off; if it stays so, the next sync believes it")
        if file.unread:
            self.problems.append(UnreadText(self.name, file.unread))
        if len(self.marks) > 1 and not self.marks.keys() & self.blocks.keys():
            self.marks = {}
        final = self._merged(file)
        if final.text != text:
            try:
                known_stat = replace_file(self.folder, self.name, final.text.encode(), raw)
            except UnicodeEncodeError as error:
                raise LeftAlone(f"it cannot be written as UTF-8: {error}") from None
        self.settled = known_stat
        self._save(vault_id, known_stat, self._fingerprints(final), "")
        return self._report(read=raw is not None, written=final.text != text)

    def _report(self, *, read: bool, written: bool = False, problem: str = "") -> SyncReport:
        if problem:
            self.problems.append(Problem(self.name, problem))
        return SyncReport(
            read=(self.name,) if read else (),
            written=(self.name,) if written else (),
            added=self.added,
            changed=self.changed,
            removed=self.removed,
            problems=tuple(self.problems),
        )

    def _save(self, vault_id: str, file_stat: str, marks: dict[int, Mark], doubt: str) -> None:
        state = FileSyncState(file_stat, self.work.counters.operations, marks, doubt)
        save_state(self.tx, vault_id, self.category, state)

    def _members(self) -> dict[int, Member]:
        """Return the entries of the file's category by number; assign a number to those that have none."""
        members: dict[int, Member] = {}
        homeless: list[tuple[int, str, Member]] = []
        for entry_id, number, created_at, content, tags in self.tx.all("vault.members", category=str(self.category)):
            member = Member(entry_id, fingerprint(entries.content_hash(content), json.loads(tags)))
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
        """Return a free number for an entry: its creation time in milliseconds, or the next free one above it."""
        number, passed = max(created_at, 1), list[int]()
        while number in self.after or self._taken(number, entry_id):
            passed.append(number)
            number = self.after.get(number, number + 1)
        # Thousands of entries may share a timestamp: remember taken numbers, so that each is probed only once.
        self.after.update(dict.fromkeys([*passed, number], number + 1))
        return number

    def _taken(self, number: int, entry_id: str) -> bool:
        """True if the number belongs to another entry, or to a block in the file with different content."""
        if number in self.state.marks or self.tx.one("vault.numbered", number=number) is not None:
            return True
        block = self.blocks.get(number)
        return block is not None and block.content != clean(self._entry(entry_id).content)

    def _entry(self, entry_id: str) -> Entry:
        found = entries.get(self.tx, entry_id)
        if found is None:
            raise NotFound(f"the entry {entry_id} no longer exists; sync again")
        return found

    # Truncated files

    def _truncation(self, file: File, raw: bytes) -> str:
        """Return the digest of a file that looks truncated and when it was first seen; empty if it is accepted."""
        if not self.marks or not (not file.blocks or self._cut_off(file)):
            return ""
        seen, _, since = self.state.doubt.partition(" ")
        now = digest(raw)
        if seen == now and self.now - int(since) >= SETTLE:
            return ""
        return f"{now} {since if seen == now else self.now}"

    def _cut_off(self, file: File) -> bool:
        """True if the file equals its previous state up to a point within a block, and ends there."""
        last = file.blocks[-1]
        for block in file.blocks[:-1]:
            if block.number not in self.marks or self.marks[block.number].block != of_block(block):
                return False
        mark = None if last.number is None else self.marks.get(last.number)
        if mark is None or mark.block == of_block(last) or last.number not in self.members:
            return False
        rest = last.text[mark.size :].strip()
        if rest.startswith("<") and "<!-- id:".startswith(rest[:8]) and "-->" not in rest:
            return True  # within the next block's id
        entry = self._entry(self.members[last.number].id)
        whole = new_block(last.number, entry.created_at, entry.tags, entry.content, file.newline).text
        return len(last.text.rstrip()) < mark.size and whole.startswith(last.text.rstrip()) and not last.closed

    # Block by block

    def _merged(self, file: File) -> File:
        """Apply the file's edits to the entries and return the merged file."""
        pieces = list(self._split_blocks(file.blocks))
        present = {block.number for block in pieces}
        for gone in self.marks.keys() & self.members.keys() - present:
            self._apply(Remove(self.members.pop(gone).id))
            self.removed += 1
        missing = [one for one in self.members if one not in present]
        keepers = self._owners(pieces)
        blocks: list[Block] = []
        for place, block in enumerate(pieces):
            number = block.number
            if number is None or keepers[number] != place:
                blocks.append(self._adopt(block, None))
            elif number in self.members:
                blocks.append(self._merge_known(block, number))
            else:
                strange = self._merge_unknown(block, number)
                blocks += [strange] if strange is not None else []
        merged = File(file.preamble, tuple(blocks), file.newline).inserted(self._shown(missing))
        again = parse(merged.text)
        if [block.number for block in again.blocks] != [block.number for block in merged.blocks]:
            raise LeftAlone("its blocks run into each other; put an id comment or a dated heading before each one")
        return again

    def _split_blocks(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """Yield the blocks; text appended below a closed, otherwise unedited block becomes a block of its own."""
        for block in blocks:
            mark = None if block.number is None else self.marks.get(block.number)
            text = block.text
            if mark is not None and len(text.rstrip()) > mark.size and text[mark.size] in "\r\n":
                whole = parse(text[: mark.size]).blocks
                if digest(text[: mark.size].encode()) == mark.block and len(whole) == 1 and whole[0].closed:
                    yield from block.split(mark.size)
                    continue
            yield block

    def _owners(self, pieces: Sequence[Block]) -> dict[int, int]:
        """Map each number to the index of the block that keeps it; other blocks with that number are copies."""
        keepers: dict[int, int] = {}
        for place, block in enumerate(pieces):
            number = block.number
            if number is None:
                continue
            kept, mark = keepers.setdefault(number, place), self.marks.get(number)
            if kept != place and mark is not None and of_block(pieces[kept]) != mark.block == of_block(block):
                keepers[number] = place
        return keepers

    def _merge_known(self, block: Block, number: int) -> Block:
        """Merge a block with its entry, which belongs in this file: update one from the other."""
        mark, member = self.marks.get(number), self.members[number]
        edited = mark is None or mark.block != of_block(block)
        moved_on = mark is None or mark.entry != member.fingerprint
        if not edited and not moved_on:
            return block
        entry = self._entry(member.id)
        if edited and not (moved_on and self._had_text(entry, block)):
            self._write(block, entry, number)
            return block
        return self._showing(block, entry)

    def _had_text(self, entry: Entry, block: Block) -> bool:
        """True if the entry had the block's text at some point since the last sync, so the block is not an edit."""
        return any(
            clean(revision.after["content"]) == block.content
            for revision in entries.revisions(self.tx, entry.id)
            if revision.seq > self.state.operations and "content" in revision.after
        )

    def _merge_unknown(self, block: Block, number: int) -> Block | None:
        """Merge a block whose number matches no entry of this file: removed by the library, moved, pasted or new."""
        mark = self.marks.get(number)
        if mark is not None and mark.block == of_block(block):
            return None
        living = self.tx.one("vault.numbered", number=number)
        if living is not None:
            entry_id, category = living
            if mark is None and category and self.elsewhere(category, number):
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
            self.members[number] = Member(entry.id, "")
            self._write(block, entry, number)
            return block
        return self._adopt(block, number)

    def _adopt(self, block: Block, number: int | None) -> Block:
        """Create an entry from a handwritten block; add the id comment, and a heading if the block has neither."""
        try:
            add = checked(
                Add(
                    block.content,
                    tags=block.tags,
                    category=self.category,
                    at=block.at or self.now,
                    source=ACTOR,
                    origin=Origin.USER,
                    evidence=(f"file:{self.tx.agent}/{self.category}.md",),
                    lifetime=Lifetime.LONG_TERM,
                )
            )
        except Invalid as error:
            self._trouble(block, error)
            return block
        entry = self._apply(add)
        if number is None:
            number = self._number(entry.created_at, entry.id)
        self.tx.run("vault.number", id=entry.id, number=number)
        self.members[number] = Member(entry.id, fingerprint(entry.content_hash, entry.tags))
        self.added += 1
        bare = not block.opening and not block.heading
        block = block if block.number == number else block.with_number(number, self.newline)
        return block.with_heading(entry.created_at, entry.tags, self.newline) if bare else block

    def _write(self, block: Block, entry: Entry, number: int) -> None:
        """Write the block's content, tags and category to its entry, if they differ."""
        content = None if block.content == clean(entry.content) else block.content
        tags = _tags_of(block.tags, entry.tags)
        category = None if entry.category is self.category else self.category
        write = Write(
            entry.id,
            content=content,
            tags=None if tags == entry.tags else tags,
            category=category,
            origin=None if content is None else Origin.USER,
        )
        if content is not None or write.tags is not None or category is not None:
            try:
                entry = self._apply(checked(write))
            except Invalid as error:
                self._trouble(block, error)
                self.troubled.add(number)
                return
            self.changed += 1
        self.members[number] = Member(entry.id, fingerprint(entry.content_hash, entry.tags))

    def _showing(self, block: Block, entry: Entry) -> Block:
        """Return the block updated from the entry; its heading stays if the tags are the same."""
        if block.content != clean(entry.content):
            block = block.with_content(entry.content, self.newline)
        if _tags_of(block.tags, entry.tags) != entry.tags:
            block = block.with_heading(entry.created_at, entry.tags, self.newline)
        return block

    def _shown(self, numbers: Sequence[int]) -> Iterator[Block]:
        """Yield new blocks for entries that are missing from the file."""
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

    def _fingerprints(self, file: File) -> dict[int, Mark]:
        """Return the fingerprints to store: new ones for merged blocks, the previous ones for blocks left alone."""
        marks = {
            block.number: Mark(len(block.text.rstrip()), of_block(block), self.members[block.number].fingerprint)
            for block in file.blocks
            if block.number is not None and block.number in self.members
        }
        for number in self.troubled:
            marks.pop(number, None)
            if number in self.marks:
                marks[number] = self.marks[number]
        return marks


def _tags_of(shown: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """Map heading words back to tags: a word that is the slug of a known tag means that tag.

    Known tags with an empty slug, which no heading can show, are kept.
    """
    meant = [tag for word in shown for tag in ([tag for tag in known if slug(tag) == word] or [word])]
    return tuple(dict.fromkeys([*meant, *(tag for tag in known if not slug(tag))]))
