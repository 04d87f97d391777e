"""Records of runs: reading them with their changes, and reversing these changes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from recollect.engine import remember
from recollect.engine.agent_store import Store
from recollect.errors import NotFound
from recollect.model.entry import Lifetime
from recollect.model.operation import Remove
from recollect.model.upkeep import Change, Run
from recollect.storage import entries, reviews
from recollect.storage.database import Row
from recollect.upkeep.job_run import set_fields

__all__ = ["changes_of", "combined", "reverse", "run_of"]


def run_of(row: Row) -> Run:
    """Return the run of a row, without its changes."""
    identity, name, started_at, finished_at, figures, error, undone_at = row
    return Run(
        id=identity,
        job=name,
        started_at=started_at,
        finished_at=finished_at,
        figures=json.loads(figures),
        error=error,
        undone_at=undone_at,
    )


def changes_of(stores: Iterable[Store], workspace: str, run: str) -> list[Change]:
    """Return the changes of a run to the entries of these agents."""
    found = []
    for store in stores:
        with store.read() as tx:
            rows = tx.all("upkeep.changes", run=run)
        found += [
            Change(
                what=what,
                entry_id=entry_id,
                label=label,
                reason=reason,
                where=f"{workspace}/{store.agent}",
                before=json.loads(before),
                after=json.loads(after),
            )
            for _, what, entry_id, label, reason, before, after in rows
        ]
    return found


def combined(run: Run, parts: Sequence[Run], finished_at: int | None) -> Run:
    """Merge the parts of a run over several workspaces into one."""
    figures: dict[str, int] = {}
    for part in parts:
        for name, value in part.figures.items():
            figures[name] = figures.get(name, 0) + value
    errors = [part.error for part in parts if part.error]
    places = {part.workspace for part in parts}
    return replace(
        run,
        workspace=places.pop() if len(places) == 1 else "",
        finished_at=finished_at,
        figures=figures,
        changes=tuple(change for part in parts for change in part.changes),
        error="; ".join(errors) or None,
        problems=tuple(problem for part in parts for problem in part.problems),
        skipped=bool(parts) and all(part.skipped for part in parts),
        undone_at=max((part.undone_at for part in parts if part.undone_at), default=None),
    )


def reverse(store: Store, workspace: str, run: Run, undone: list[Change], now: int) -> int:
    """Reverse a run's changes to one agent's entries, latest first, in one transaction, and add them to `undone`.

    Return the number of entries that cannot be restored.
    """
    where, actor = f"{workspace}/{store.agent}", f"undo {run.job}"
    with store.read() as tx:
        rows = tx.all("upkeep.changes", run=run.id)
    if not rows:
        return 0
    made: list[Change] = []
    gone = 0
    with store.write() as work:
        for _, what, entry_id, label, _, before, after in reversed(rows):
            change = Change(what=what, entry_id=entry_id, label=label, reason=f"{run.job} is undone", where=where)
            entry = entries.get(work.tx, entry_id)
            past, then = json.loads(before), json.loads(after)
            same = {
                field for field in then if entry and what != "proposed" and _plain(getattr(entry, field)) == then[field]
            }
            if what == "removed" and entry is None:
                try:
                    remember.restore(work, entry_id, None, actor=actor, now=now)
                    made.append(replace(change, what="restored"))
                except NotFound:
                    gone += 1
            elif what == "proposed":
                if reviews.drop(work.tx, then["review"]):
                    made.append(replace(change, what="withdrawn"))
            elif what == "added" and entry is not None and len(same) == len(then):
                remember.apply(work, Remove(entry_id), actor=actor, now=now)
                made.append(replace(change, what="removed"))
            elif what == "changed" and entry is not None and (same or not then):
                fields = {field: _typed(field, past[field]) for field in same}
                set_fields(work, entry, fields, actor=actor, now=now)
                entries.use(work.tx, [entry_id], now)
                if run.job == "dream":  # else MEMORY.md would keep the line of an entry that is no longer long_term
                    work.tx.run("dreaming.set_state", ids=[entry_id], state="undone")
                made.append(replace(change, what="changed", before=then, after=past))
    undone += made
    return gone


def _plain(value: object) -> object:
    """Return a field's value as the record of changes stores it."""
    return json.loads(json.dumps(value, default=str))


def _typed(field: str, value: object) -> object:
    if field == "lifetime":
        return Lifetime(str(value))
    return tuple(value) if field == "tags" and isinstance(value, list) else value
