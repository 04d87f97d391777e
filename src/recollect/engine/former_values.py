"""Former values: what upserts replaced. Each is a closed entry without a name that belongs to its note.

A former value goes to the trash with its note, comes back with it, and is erased with it. An entry that was closed by
`supersede` or by a review is an entry of its own, and stays.
"""

from recollect import names
from recollect.model.operation import Revision
from recollect.storage import entries
from recollect.storage.database import Transaction

__all__ = ["former_values", "is_former_value", "removed_with"]

PAGE = 100
"""Operations per read."""


def is_former_value(tx: Transaction, entry_id: str, closed_at: int) -> bool:
    """Return whether a superseded entry is a former value that an upsert kept: it was created and closed at once, so
    no operation has closed it.
    """
    if not entry_id.startswith(names.id_prefix(closed_at)):
        return False
    logged = entries.revisions(tx, entry_id, legible=True)
    return not any(revision.operation == "write" and revision.after.get("closed_at") for revision in logged)


def former_values(tx: Transaction, note_id: str, *, trash: bool = False) -> list[str]:
    """Return the ids of the former values of a note, newest first; with `trash`, then those in the trash."""
    found = [*entries.superseded(tx, note_id), *(entries.removed_superseded(tx, note_id) if trash else ())]
    return [entry_id for entry_id, closed_at in found if is_former_value(tx, entry_id, closed_at)]


def removed_with(tx: Transaction, removal: Revision) -> list[Revision]:
    """Return the removals of the former values that went to the trash with their note: those logged right before it."""
    found: list[Revision] = []
    while True:
        end = removal.seq - len(found)
        logged = entries.logged_after(tx, max(end - 1 - PAGE, 0), min(PAGE, end - 1)) if end > 1 else []
        for revision in reversed(logged):
            same = (revision.operation, revision.at, revision.actor) == ("remove", removal.at, removal.actor)
            if not same or revision.before.get("superseded_by") != removal.entry_id:
                return found
            found.append(revision)
        if not logged:
            return found
