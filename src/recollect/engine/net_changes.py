"""Net changes of entries between a moment and now, from the operation log.

The argument. An entry's oldest operation in the period says whether it existed before, its newest one whether it exists
now. Fields take their old value from the oldest operation that changed them and their new one from the newest, so a
reverted change is no difference. Only the newest operations are read, up to a limit; beyond it the database counts the
added entries, so that this number is right after an import, and says which of those read are new.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from recollect.engine.agent_store import Store
from recollect.model.entry import Kind
from recollect.model.operation import Revision
from recollect.model.overview import COUNTED, NetChange, NetChanges, Outcome
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction

__all__ = ["AUTOMATIC", "net_changes"]

AUTOMATIC = "auto-handoff"
"""Tag of hand-offs that were written automatically when a conversation ended."""
LABEL_LENGTH = 80
"""Maximum length of the label of an entry without a name."""
IGNORED_FIELDS = ("updated_at", "accessed_at", "access_count", "validity_inferred", "why")
"""Fields whose changes are not reported."""
_OUTCOMES = {
    (False, True): Outcome.ADDED,
    (True, True): Outcome.CHANGED,
    (True, False): Outcome.FORGOTTEN,
}
"""By whether the entry existed before, and whether it exists now."""


def net_changes(
    stores: Sequence[Store],
    since: int,
    *,
    limit: int,
    outcome: Outcome | None = None,
    transcripts: bool = False,
) -> NetChanges:
    """Return the net changes since a moment, last changed first, and how many there are of each outcome."""
    found, complete, added = list[NetChange](), True, 0
    for store in stores:
        with store.read() as tx:
            start = entries.last_before(tx, Counters.get(tx).operations, since)
            log = entries.logged_newest(tx, start, COUNTED + 1)
            whole = len(log) <= COUNTED
            changes = _differences(tx, log[:COUNTED], None if whole else start, transcripts=transcripts)
            added += (
                _number(changes, Outcome.ADDED) if whole else entries.count_added(tx, start, transcripts=transcripts)
            )
            complete = complete and whole
            found += changes
    found.sort(key=lambda one: one.at, reverse=True)
    wanted = (change for change in found if outcome in (None, change.outcome))
    return NetChanges(
        since=since,
        added=added,
        changed=_number(found, Outcome.CHANGED),
        forgotten=_number(found, Outcome.FORGOTTEN),
        complete=complete,
        items=tuple(islice(wanted, limit)),
    )


def _number(changes: Sequence[NetChange], outcome: Outcome) -> int:
    return sum(one.outcome is outcome for one in changes)


def _differences(
    tx: Transaction, log: Sequence[Revision], earlier: int | None, *, transcripts: bool
) -> list[NetChange]:
    """Return the net change of each entry in a part of the log, newest operation first.

    `earlier` is the last operation before the period, if the part is not the whole period.
    """
    by_entry: dict[str, list[Revision]] = {}
    for revision in log:
        by_entry.setdefault(revision.entry_id, []).append(revision)
    older = [entry_id for entry_id, revisions in by_entry.items() if revisions[-1].operation != "add"]
    existed = set(older) - (set() if earlier is None else entries.added_after(tx, earlier, older))
    outcomes = {
        entry_id: _OUTCOMES.get((entry_id in existed, revisions[0].operation != "remove"))
        for entry_id, revisions in by_entry.items()
    }
    ids = [entry_id for entry_id in older if outcomes[entry_id] in (Outcome.ADDED, Outcome.CHANGED)]
    now: dict[str, entries.Stored] = {}
    for start in range(0, len(ids), entries.CHUNK):
        now |= entries.stored(tx, ids[start : start + entries.CHUNK])
    found = []
    for entry_id, revisions in by_entry.items():
        outcome = outcomes[entry_id]
        if outcome is None:
            continue
        known = entries.snapshot(now[entry_id].entry) if entry_id in now else _last_state(revisions)
        if not transcripts and _is_transcript(known):
            continue
        before, after = _fields(revisions, outcome, known)
        if outcome is Outcome.CHANGED and not before and not after:
            continue
        last = revisions[0]
        label = known.get("name") or " ".join(str(known.get("content", "")).split())[:LABEL_LENGTH]
        found.append(
            NetChange(
                entry_id=entry_id,
                outcome=outcome,
                at=last.at,
                actor=last.actor,
                label=label,
                before=before,
                after=after,
            )
        )
    return found


def _last_state(revisions: Sequence[Revision]) -> Mapping[str, Any]:
    """Return the fields of an added or forgotten entry, from its operations, newest first."""
    if revisions[0].operation == "remove":
        return revisions[0].before
    known: dict[str, Any] = {}
    for revision in reversed(revisions):
        known |= revision.after
    return known


def _fields(
    revisions: Sequence[Revision], outcome: Outcome, known: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the old and the new values of the fields that differ."""
    content = {"content": known["content"]} if "content" in known else {}
    if outcome is not Outcome.CHANGED:
        return ({}, content) if outcome is Outcome.ADDED else (content, {})
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for revision in revisions:  # newest first
        before |= revision.before
        after = dict(revision.after) | after
    differing = {
        name
        for name in before.keys() | after.keys()
        if name not in IGNORED_FIELDS and _comparable(before.get(name)) != _comparable(after.get(name))
    }
    return (
        {name: before[name] for name in sorted(differing) if name in before},
        {name: after[name] for name in sorted(differing) if name in after},
    )


def _comparable(value: Any) -> Any:
    """Return a value for comparison: absent, empty and zero are equal, because the log omits them."""
    return value or None


def _is_transcript(known: Mapping[str, Any]) -> bool:
    return known.get("kind", Kind.NOTE) != Kind.NOTE or AUTOMATIC in known.get("tags", ())
