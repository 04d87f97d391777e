"""The project description: one note in the rows that all agents of a workspace share.

A vault shows it as `_project.md`; see `vault.project`. Callers check that the writer may write for all agents.
"""

from recollect.engine import remember
from recollect.engine.agent_store import Store, Work
from recollect.model.entry import Entry, Lifetime
from recollect.model.operation import Add, Write, checked
from recollect.storage import entries
from recollect.storage.database import Transaction

__all__ = ["FILE", "NAMES", "find", "note", "put", "write"]

FILE = "_project.md"
NAMES = (FILE, "_project")


def note(tx: Transaction) -> Entry | None:
    """Return the note with the description, or None."""
    known = next((found for found in (entries.find(tx, name) for name in NAMES) if found), None)
    return entries.get(tx, known) if known else None


def find(*stores: Store) -> Entry | None:
    """Return the note of the first store that has one: the workspace's, then the agent's own (older versions)."""
    for store in stores:
        with store.read() as tx:
            if (found := note(tx)) is not None:
                return found
    return None


def put(shared: Store, own: Store, content: str, *, replace: bool, now: int) -> bool:
    """Set the workspace's description; without `replace`, only if there is none. Return whether `content` was set.

    A description of the agent's own counts as existing: it becomes the workspace's.
    """
    earlier = None if replace else find(own)
    with shared.write() as work:
        if not replace and note(work.tx) is not None:
            return False
        write(work, content if earlier is None else earlier.content, actor=own.agent, now=now)
    return earlier is None


def write(work: Work, content: str, *, actor: str, now: int) -> Entry:
    """Write the description, in a transaction of the shared rows."""
    known = note(work.tx)
    if known is None:
        operation = checked(Add(content, name=FILE, lifetime=Lifetime.LONG_TERM))
    elif known.content == content:
        return known
    else:
        operation = checked(Write(known.id, content=content))
    return remember.apply(work, operation, actor=actor, now=now)
