"""Net changes of entries between a moment and now, from the operation log.

The argument. An entry's oldest operation in the period says whether it existed before, its newest one whether it exists
now. Fields take their old value from the oldest operation that changed them and their new one from the newest, so a
reverted change is no difference. Only the newest operations are read, up to a limit; beyond it the database counts the
added entries, so that this number is right after an import, and says which of those read are new. The pieces that
upkeep makes of an imported conversation do not count towards the limit, or they would hide every note. A page
continues before the operations of the last one; an entry is shown once, where its newest operation is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.engine.agent_store import Store
from recollect.errors import Invalid
from recollect.model.entry import Kind
from recollect.model.operation import Revision
from recollect.model.overview import COUNTED, NetChange, NetChanges, Outcome
from recollect.sentences import shortened
from recollect.storage import entries
from recollect.storage.counters import Counters
from recollect.storage.database import Transaction

__all__ = ["AUTOMATIC", "net_changes"]

AUTOMATIC = "auto-handoff"
"""Tag of hand-offs that were written automatically when a conversation ended."""
LAST = 2**63 - 1
"""Above every sequence number."""
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
    before: str | None = None,
) -> NetChanges:
    """Return the net changes since a moment, last changed first, and how many there are of each outcome.

    `before` is the cursor of a page: entries with an operation from there on are in an earlier page.
    """
    ends = _ends(before, len(stores))
    parts = [_part(store, since, end, transcripts=transcripts) for store, end in zip(stores, ends, strict=True)]
    found = sorted(
        (
            (change.at, change, number, seq)
            for number, part in enumerate(parts)
            for seq, change in part.changes
            if outcome in (None, change.outcome)
        ),
        key=lambda one: one[0],
        reverse=True,
    )
    shown, cut = found[:limit], {number for _, _, number, _ in found[limit:]}
    for number, part in enumerate(parts):
        shown_of_part = [seq for _, _, store, seq in shown if store == number]
        if number in cut:
            ends[number] = shown_of_part[-1] if shown_of_part else ends[number]
        else:
            ends[number] = part.oldest
    changes = [change for part in parts for _, change in part.changes]
    return NetChanges(
        since=since,
        added=_number(changes, Outcome.ADDED) if before else sum(part.added for part in parts),
        changed=_number(changes, Outcome.CHANGED),
        forgotten=_number(changes, Outcome.FORGOTTEN),
        complete=all(part.complete for part in parts),
        items=tuple(change for _, change, _, _ in shown),
        earlier="-".join(map(str, ends)) if any(ends) else None,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The net changes in the newest operations of one store, with the sequence number of each entry's last one."""

    changes: Sequence[tuple[int, NetChange]]
    added: int
    complete: bool
    oldest: int
    """The sequence number of the oldest operation that was read; 0 if there are none before it."""


def _ends(cursor: str | None, stores: int) -> list[int]:
    """Return the sequence number at which the page of each store ends; 0 if the store has no further page."""
    if not cursor:
        return [LAST] * stores
    found = [int(one) for one in cursor.split("-") if one.isascii() and one.isdigit() and len(one) <= len(str(LAST))]
    if len(found) != stores or "-".join(map(str, found)) != cursor or max(found) > LAST:
        raise Invalid(f"{cursor[:80]!r} is not a valid cursor of changes; pass `earlier` of the previous page")
    return found


def _part(store: Store, since: int, end: int, *, transcripts: bool) -> _Part:
    with store.read() as tx:
        start = entries.last_before(tx, Counters.get(tx).operations, since)
        log = entries.logged_newest(tx, start, end, COUNTED + 1, transcripts=transcripts)
        whole = len(log) <= COUNTED
        log = log[:COUNTED]
        changes = _differences(tx, log, None if whole else start, transcripts=transcripts)
        last = {revision.entry_id: revision.seq for revision in reversed(log)}
        if end != LAST:
            later = entries.touched_from(tx, end, list(last))
            changes = [change for change in changes if change.entry_id not in later]
        return _Part(
            changes=sorted(((last[change.entry_id], change) for change in changes), key=lambda one: -one[0]),
            added=_number(changes, Outcome.ADDED) if whole else entries.count_added(tx, start, transcripts=transcripts),
            complete=whole or not entries.changed_between(tx, start, log[-1].seq),
            oldest=0 if whole else log[-1].seq,
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
        label = known.get("name") or shortened(" ".join(str(known.get("content", "")).split()), LABEL_LENGTH)
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
