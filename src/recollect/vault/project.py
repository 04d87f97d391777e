"""Merge of `_project.md` with the workspace's project note, within one write transaction.

An edited file is written to the note, even if both changed; otherwise the file is updated from the note. An empty file
removes the note; a missing file is written again. If the file exceeds the size limit of a note, the note holds its
beginning and says so at the end; such a file is replaced only when the note changes.
"""

from pathlib import Path

from recollect.engine import project, remember
from recollect.engine.agent_store import Work
from recollect.errors import Invalid
from recollect.model.entry import Entry
from recollect.model.fields import CONTENT_BYTES
from recollect.model.operation import Remove
from recollect.model.vault import SyncReport
from recollect.storage.database import Transaction
from recollect.vault.files import LeftAlone, disk_state, read_bytes, replace_file
from recollect.vault.state import ACTOR, FileSyncState, Mark, digest, known_state, save_state

__all__ = ["KEY", "ProjectMerge", "agrees"]

KEY = "_project"
"""Key of the file's stored sync state."""


def agrees(tx: Transaction, vault_id: str, disk: str) -> bool:
    """True if neither the file, judged by its state on disk, nor the note changed since the last sync."""
    state, note = known_state(tx, vault_id, KEY), project.note(tx)
    if not disk and note is None:
        return True
    return disk == state.stat and _hash(note) == _mark(state.marks).entry


class ProjectMerge:
    """A single merge of the file with the note; used once."""

    def __init__(self, work: Work, folder: Path) -> None:
        self.work, self.folder = work, folder
        self.settled = ""

    def run(self, vault_id: str, now: int) -> SyncReport:
        """Write an edited file to the note, or the changed note to the file."""
        mark = _mark(known_state(self.work.tx, vault_id, KEY).marks)
        disk = disk_state(self.folder / project.FILE)  # before the read: the next sync detects an edit in between
        raw, note = read_bytes(self.folder, project.FILE), project.note(self.work.tx)
        report = SyncReport(read=(project.FILE,) if raw is not None else ())
        if raw is not None and digest(raw) != mark.block:
            report += self._store_edit(raw, note, now)
        elif (raw is None and note is not None) or (raw is not None and _hash(note) != mark.entry):
            shown = b"" if note is None else f"{note.content.rstrip()}\n".encode()
            disk = replace_file(self.folder, project.FILE, shown, raw)
            raw, report = shown, report + SyncReport(written=(project.FILE,))
        self.settled = disk
        marks = {0: Mark(len(raw or b""), digest(raw or b""), _hash(project.note(self.work.tx)))}
        save_state(self.work.tx, vault_id, KEY, FileSyncState(disk, self.work.counters.operations, marks))
        return report

    def _store_edit(self, raw: bytes, note: Entry | None, now: int) -> SyncReport:
        content = _kept(raw).decode("utf-8-sig", "replace").replace("\0", "").rstrip()
        if len(raw) > CONTENT_BYTES:
            content += f"\n\n[{project.FILE} has {len(raw):,} bytes; only its beginning is shown here]"
        if not content.strip():
            if note is not None:
                remember.apply(self.work, Remove(note.id), actor=ACTOR, now=now)
            return SyncReport(removed=int(note is not None))
        try:
            made = project.write(self.work, content, actor=ACTOR, now=now)
        except Invalid as error:
            raise LeftAlone(str(error)) from None
        return SyncReport(
            added=int(note is None), changed=int(note is not None and note.content_hash != made.content_hash)
        )


def _kept(raw: bytes) -> bytes:
    """Truncate a file to what fits into a note, at a line end if there is one near."""
    if len(raw) <= CONTENT_BYTES:
        return raw
    beginning = raw[: CONTENT_BYTES - 200]
    return beginning[: beginning.rfind(b"\n")] if b"\n" in beginning[-10_000:] else beginning


def _mark(marks: dict[int, Mark]) -> Mark:
    return marks.get(0, Mark(0, "", ""))


def _hash(note: Entry | None) -> str:
    return "" if note is None else note.content_hash
