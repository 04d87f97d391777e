"""Compares an agent's files with its notes, and names the files that a sync leaves out. Read-only."""

from collections.abc import Iterator
from pathlib import Path

from recollect.engine.agent_store import Store
from recollect.errors import Invalid
from recollect.model.entry import Category
from recollect.model.operation import Add, checked
from recollect.model.vault import Problem, UnreadText, VaultStatus
from recollect.vault.files import LeftAlone, disk_state, read_bytes
from recollect.vault.markdown import parse
from recollect.vault.note_folder import note_files, read_note
from recollect.vault.state import digest, known_notes, known_state, note_members

__all__ = ["category_status", "files_not_read", "note_status"]

NAMED = 20
"""Maximum number of unread files to name in a report."""


def note_status(store: Store, folder: Path, vault_id: str) -> VaultStatus:
    """Compare the files of the layout with one file per note."""
    found, skipped = note_files(folder, store.agent)
    with store.read() as tx:
        marks, members = known_notes(tx, vault_id), note_members(tx)
    states = {mark.path: mark.stat for mark in marks.values()}
    problems, edited = [Problem(path, why) for path, why in sorted(skipped.items())], 0
    for path, stat in sorted(found.items()):
        known = states.get(digest(path.encode()))
        if known == stat:
            continue
        problem = _problem(folder, path, new=known is None)
        problems += [Problem(path, problem)] if problem else []
        edited += not problem
    changed = sum(one not in marks or marks[one].of_entry != values for one, values in members.items())
    return VaultStatus(files=len(found), notes=len(members), edited=edited, changed=changed, problems=tuple(problems))


def _problem(folder: Path, path: str, *, new: bool) -> str:
    """Return why a file is left out; empty if it is not."""
    _, note = read_note(folder, path)
    if isinstance(note, str):
        return note
    try:
        checked(Add(note.body))
    except Invalid as error:
        return f"it is not read: {error}" if new else f"its note was left as it was: {error}"
    return ""


def category_status(store: Store, folder: Path, vault_id: str) -> VaultStatus:
    """Compare the files of the layout with one file per category."""
    files, shown, edited, problems = 0, 0, 0, list[Problem]()
    for category in Category:
        path = f"{store.agent}/{category}.md"
        with store.read() as tx:
            state, members = known_state(tx, vault_id, category), tx.all("vault.members", category=str(category))
        shown += len(members)
        try:
            stat = disk_state(folder / path)
            file = parse((read_bytes(folder, path) or b"").decode())
            problems += [UnreadText(path, file.unread)] if file.unread else []
            edited += bool(stat) and stat != state.stat
            files += bool(stat)
        except UnicodeDecodeError as error:
            problems.append(Problem(path, f"it is not UTF-8 (byte {error.start}); save it as UTF-8"))
        except (LeftAlone, OSError) as error:
            problems.append(Problem(path, str(error)))
    problems += files_not_read(folder, store.agent)
    return VaultStatus(files=files, notes=shown, edited=edited, problems=tuple(problems))


def files_not_read(folder: Path, agent: str) -> Iterator[Problem]:
    """Yield a problem for each markdown file that the layout with one file per category does not read."""
    ours = {f"{agent}/{category}.md" for category in Category}
    others = sorted(path for path in note_files(folder, agent)[0] if path not in ours)
    for path in others[:NAMED]:
        known = f"{agent}/{path.rpartition('/')[2].lower()}"
        advice = f"the file is called {known}" if known in ours else '[vault] layout = "notes" reads every file'
        yield Problem(path, f"it is not read; {advice}")
    if len(others) > NAMED:
        yield Problem(agent, f"{len(others) - NAMED} more markdown files are not read")
