"""Supersede, retract and reopen entries: a statement that no longer holds is closed, never overwritten.

A closed entry keeps its text and its id, and is left out of what is current. Its successor takes over its names, so
that a name always leads to what holds. Closing is a write in the operation log, in one transaction with the addition of
the successor.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from recollect import names
from recollect.clock import iso
from recollect.concepts import concept_tags
from recollect.engine import remember
from recollect.engine.agent_store import Work
from recollect.engine.former_values import former_values, is_former_value
from recollect.errors import Conflict, Denied, Invalid
from recollect.model.entry import Entry, Origin, Scope
from recollect.model.operation import Add, Remove, Revision, Write
from recollect.storage import entries, reviews
from recollect.storage.database import Transaction

__all__ = [
    "close_for",
    "keep_past",
    "must_be_open",
    "reopen",
    "replaced_by",
    "retract",
    "successor_draft",
    "supersede",
    "with_origin",
]


def successor_draft(old: Entry, draft: Add) -> Add:
    """Return the draft of a successor: what it leaves at its default is taken from the entry that it replaces."""
    same = Add(draft.content)
    inherited: dict[str, Any] = {
        "tags": old.tags,
        "context": old.context,
        "category": old.category,
        "scope": old.scope,
        "channel": old.channel_id,
        "conversation": old.conversation_id,
        "importance": old.importance,
        "lifetime": old.lifetime,
    }
    return replace(
        draft, **{name: value for name, value in inherited.items() if getattr(draft, name) == getattr(same, name)}
    )


def supersede(work: Work, target: str, draft: Add, *, actor: str, now: int, why: str | None = None) -> Entry:
    """Add an entry that replaces another, and close the other; return the new one.

    The old entry holds until the new one does. Without a name of its own, the new entry takes over the names of the
    old one. Raises Conflict if the old one is closed already, and Denied if it is of a more trusted origin.
    """
    old = remember.find(work, target)
    must_be_open(old.entry)
    remember.knowledge(old.entry)
    _must_be_trusted(remember.origin_of(draft), old.entry, target)
    if (draft.scope is Scope.ACCOUNT) is not (old.entry.scope is Scope.ACCOUNT):  # they may be in two databases
        raise Invalid(
            f"an entry of the scope {draft.scope} cannot supersede {old.entry.name or target!r}, which has the scope "
            f"{old.entry.scope}; omit the scope, or retract that one and remember this one by itself"
        )
    since = draft.valid_from if isinstance(draft.valid_from, int) else now
    if old.entry.valid_from is not None and since <= old.entry.valid_from:
        raise Invalid(
            f"{target!r} holds from {iso(old.entry.valid_from)}; what replaces it must begin later, not {iso(since)}"
        )
    takes_names = draft.name is None
    left = replace(old.entry, name=None, aliases=()) if takes_names else old.entry
    if takes_names:
        for name in filter(None, (old.entry.name, *old.entry.aliases)):
            work.tx.run("names.drop", name=name)
    draft = replace(draft, name=old.entry.name if takes_names else draft.name, valid_from=since)
    made = remember.apply(work, draft, actor=actor, now=now)
    if takes_names:
        for alias in old.entry.aliases:
            work.tx.run("names.bind", name=alias, entry_id=made.id, canonical=0)
        made = replace(made, aliases=old.entry.aliases)
    closed = replace(left, valid_until=since, superseded_by=made.id, closed_at=now, updated_at=now)
    _close(work, old, closed, actor, now, why=why)
    return made


def close_for(
    work: Work, target: str, winner_id: str, *, review: str, actor: str, now: int, why: str | None = None
) -> Entry:
    """Close an entry because another one holds instead; return the closed one. The other one takes over its names.

    `review` is the pair that is resolved. Raises Denied if the closed one is of a more trusted origin.
    """
    old, winner = remember.find(work, target), remember.find(work, winner_id)
    must_be_open(old.entry)
    must_be_open(winner.entry)
    _must_be_trusted(winner.entry.origin, old.entry, target)
    begun, since = old.entry.valid_from or old.entry.created_at, winner.entry.valid_from or winner.entry.created_at
    closed = replace(
        old.entry,
        name=None,
        aliases=(),
        valid_until=since if begun < since < now else now,
        superseded_by=winner.entry.id,
        closed_at=now,
        updated_at=now,
    )
    _close(work, old, closed, actor, now, why=why, review=review, aliases=old.entry.aliases)
    _take_names(work, winner, old.entry.name, old.entry.aliases, actor, now)
    return closed


def _must_be_trusted(origin: Origin, old: Entry, target: str) -> None:
    if not origin.at_least(old.origin):
        raise Denied(
            f"{old.name or target!r} was stated by the {old.origin}; what comes from {origin} cannot supersede it. "
            f"Remember it beside, and let the user decide; if it comes from the {old.origin}, give that as its origin"
        )


def with_origin(work: Work, write: Write) -> Write:
    """Return a write with the origin of its content, if that is another one than the entry has.

    Raises Denied if the entry is of a more trusted origin.
    """
    old = remember.find(work, write.target).entry
    if write.content is None or write.content == old.content:
        return replace(write, origin=None)
    origin = remember.origin_of(write)
    _must_be_trusted(origin, old, write.target)
    return replace(write, origin=origin)


def _take_names(
    work: Work, taker: entries.Stored, name: str | None, aliases: Sequence[str], actor: str, now: int
) -> None:
    """Bind the name and the aliases of another entry to this one; the name becomes an alias if it has a name."""
    named = name is not None and taker.entry.name is None
    for one in aliases if name is None else (name, *aliases):
        work.tx.run("names.bind", name=one, entry_id=taker.entry.id, canonical=int(named and one == name))
    if named:
        _close(work, taker, replace(taker.entry, name=name, updated_at=now), actor, now)


def retract(work: Work, target: str, *, actor: str, now: int, why: str | None = None) -> Entry:
    """Close an entry without a successor; return it. It keeps its names."""
    old = remember.find(work, target)
    must_be_open(old.entry)
    remember.knowledge(old.entry)
    until = now if old.entry.valid_until is None else min(now, old.entry.valid_until)
    closed = replace(old.entry, valid_until=until, closed_at=now, updated_at=now)
    _close(work, old, closed, actor, now, why=why)
    return closed


def _remove_successor(work: Work, successor: Entry, target: str, actor: str, now: int) -> None:
    if successor.closed_at is not None:
        raise Conflict(f"entry {successor.id}, which replaced {target!r}, was replaced itself; restore that first")
    remember.apply(work, Remove(successor.id), actor=actor, now=now)


def reopen(work: Work, target: str, *, actor: str, now: int) -> Entry | None:
    """Undo a retraction or a supersession; return the entry that holds again, None if there is nothing to undo.

    The successor goes to the trash, and its names return. Raises Conflict if the successor was replaced itself, and for
    a former value, which no operation closed.
    """
    found = entries.find(work.tx, target)
    if found is None:
        return None
    old = remember.find(work, found)
    if old.entry.closed_at is None:
        before = replaced_by(work.tx, found)
        if not before:
            return None
        old = remember.find(work, before[0])
    elif old.entry.superseded_by is not None and is_former_value(work.tx, found, old.entry.closed_at):
        raise Conflict(
            f"entry {found} is a former value, which an upsert replaced; to make it hold again, upsert that content "
            f"again (the note is {old.entry.superseded_by})"
        )
    closing = _closing(work, old.entry.id)
    if closing is not None and closing.after.get("review"):
        return _reopen_pair(work, old.entry.id, str(closing.after["review"]), actor, now)
    was = {} if closing is None else closing.before
    name, aliases = old.entry.name, old.entry.aliases
    if old.entry.superseded_by is not None:
        successor = entries.get(work.tx, old.entry.superseded_by)  # None if it was erased
        if successor is not None:
            _remove_successor(work, successor, target, actor, now)
        if name is None and was.get("name") and entries.binding(work.tx, was["name"]) is None:
            name, aliases = str(was["name"]), () if successor is None else successor.aliases
    opened = replace(
        old.entry,
        name=name,
        aliases=aliases,
        valid_until=was.get("valid_until"),
        superseded_by=None,
        closed_at=None,
        updated_at=now,
    )
    if name != old.entry.name and name is not None:
        work.tx.run("names.bind", name=name, entry_id=opened.id, canonical=1)
        for alias in aliases:
            work.tx.run("names.bind", name=alias, entry_id=opened.id, canonical=0)
    _close(work, old, opened, actor, now)
    return opened


def _reopen_pair(work: Work, target: str, review: str, actor: str, now: int) -> Entry:
    """Undo the resolution of a pair: its entries hold again, with their names, and the pair is open again.

    An entry that was written to replace both goes to the trash; one that is part of the pair stays.
    """
    row = reviews.get(work.tx, review)
    pair = (target,) if row is None else (str(row[1]), str(row[2]))
    for entry_id in pair:
        found = entries.stored(work.tx, [entry_id]).get(entry_id)
        closing = None if found is None else _closing(work, entry_id)
        if found is None or closing is None or closing.after.get("review") != review or not found.entry.closed_at:
            continue
        winner = entries.stored(work.tx, [found.entry.superseded_by or ""]).get(found.entry.superseded_by or "")
        name, *aliases = _taken_by(work, winner, closing)
        if winner is not None:
            must_be_open(winner.entry)
            if name is not None and winner.entry.name == name:
                _close(work, winner, replace(winner.entry, name=None, updated_at=now), actor, now)
        opened = replace(
            found.entry,
            valid_until=closing.before.get("valid_until"),
            superseded_by=None,
            closed_at=None,
            updated_at=now,
        )
        _close(work, found, opened, actor, now)
        _take_names(work, remember.find(work, entry_id), name, aliases, actor, now)
        if winner is not None and winner.entry.id not in pair and not replaced_by(work.tx, winner.entry.id):
            remember.apply(work, Remove(winner.entry.id), actor=actor, now=now)
    reviews.resolve(work.tx, review, None, None)
    return remember.find(work, target).entry


def _taken_by(work: Work, winner: entries.Stored | None, closing: Revision) -> list[Any]:
    """Return the name, or None, and the aliases that an entry lost when it was closed and its successor still has."""

    def kept(name: str) -> bool:
        found = entries.binding(work.tx, name)
        return found is not None and winner is not None and found[0] == winner.entry.id

    name = closing.before.get("name")
    return [name if name and kept(name) else None, *filter(kept, closing.after.get("aliases") or ())]


def keep_past(work: Work, target: str, content: str, *, actor: str, now: int) -> None:
    """Keep the present content of an entry as a closed entry of its own, if another content is about to replace it."""
    old = remember.find(work, target).entry
    if old.content == content:
        return
    work.counters.entries += 1
    past = replace(
        old,
        id=names.new_id(now),
        seq=work.counters.entries,
        name=None,
        aliases=(),
        concept_tags=concept_tags(old.content),
        created_at=old.valid_from or old.created_at,
        valid_until=now,
        superseded_by=old.id,
        closed_at=now,
        vault_id=None,
        front_matter=None,
    )
    remember.store(work, past, now)
    remember.log(work, "add", past.id, actor, now, after=entries.snapshot(past))


def replaced_by(tx: Transaction, entry_id: str) -> list[str]:
    """Return the ids of the entries that were closed because this one holds instead, newest first."""
    former = set(former_values(tx, entry_id))
    return [other for other, _ in entries.superseded(tx, entry_id) if other not in former]


def must_be_open(entry: Entry) -> None:
    """Raise Conflict if an entry was superseded or retracted."""
    if entry.superseded_by is not None:
        raise Conflict(f"entry {entry.id} was superseded by {entry.superseded_by}; supersede or retract that one")
    if entry.closed_at is not None:
        raise Conflict(f"entry {entry.id} was retracted; `restore` makes it hold again")


def _close(work: Work, old: entries.Stored, closed: Entry, actor: str, now: int, **notes: object) -> None:
    """Store and log the fields of an entry that change when it is closed or reopened; `notes` are only logged."""
    fields = [name for name in ("name", *entries.CLOSING) if getattr(closed, name) != getattr(old.entry, name)]
    doc = remember.index_again(work, old, closed) if "name" in fields else old.doc
    entries.close(work.tx, closed, doc)
    remember.changed(work, closed.category)
    before = {name: getattr(old.entry, name) for name in fields}
    after = {name: getattr(closed, name) for name in fields}
    said = {name: value for name, value in notes.items() if value}
    remember.log(work, "write", closed.id, actor, now, before=before | dict.fromkeys(said), after=after | said)


def _closing(work: Work, entry_id: str) -> Revision | None:
    """Return the operation that closed an entry last."""
    for revision in reversed(entries.revisions(work.tx, entry_id, legible=True)):
        if revision.after.get("closed_at"):
            return revision
    return None
