"""Supersede, retract and reopen entries: a statement that no longer holds is closed, never overwritten.

A closed entry keeps its text and its id, and is left out of what is current. Its successor takes over its names, so
that a name always leads to what holds. Closing is a write in the operation log, in one transaction with the addition of
the successor.
"""

from dataclasses import replace
from typing import Any

from recollect import names
from recollect.clock import iso
from recollect.engine import remember
from recollect.engine.agent_store import Work
from recollect.errors import Conflict, Denied, Invalid
from recollect.model.entry import Entry
from recollect.model.operation import Add, Remove
from recollect.storage import entries

__all__ = ["keep_past", "reopen", "retract", "successor_draft", "supersede"]


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
    _must_be_open(old.entry)
    remember.knowledge(old.entry)
    made_by = remember.origin_of(draft)
    if not made_by.at_least(old.entry.origin):
        raise Denied(
            f"{target!r} was stated by the {old.entry.origin}; what comes from {made_by} cannot supersede it. "
            "Remember it beside, and let the user decide"
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
    _close(work, old, closed, actor, now, why)
    return made


def retract(work: Work, target: str, *, actor: str, now: int, why: str | None = None) -> Entry:
    """Close an entry without a successor; return it. It keeps its names."""
    old = remember.find(work, target)
    _must_be_open(old.entry)
    remember.knowledge(old.entry)
    until = now if old.entry.valid_until is None else min(now, old.entry.valid_until)
    closed = replace(old.entry, valid_until=until, closed_at=now, updated_at=now)
    _close(work, old, closed, actor, now, why)
    return closed


def reopen(work: Work, target: str, *, actor: str, now: int) -> Entry | None:
    """Undo a retraction or a supersession; return the entry that holds again, None if there is nothing to undo.

    The successor goes to the trash, and its names return. Raises Conflict if the successor was replaced itself.
    """
    found = entries.find(work.tx, target)
    if found is None:
        return None
    old = remember.find(work, found)
    if old.entry.closed_at is None:
        before = entries.superseded(work.tx, found)
        if not before:
            return None
        old = remember.find(work, before[0])
    was = _before_closing(work, old.entry.id)
    name, aliases = old.entry.name, old.entry.aliases
    if old.entry.superseded_by is not None and entries.get(work.tx, old.entry.superseded_by) is not None:
        successor = remember.find(work, old.entry.superseded_by).entry
        if successor.closed_at is not None:
            raise Conflict(f"entry {successor.id}, which replaced {target!r}, was replaced itself; restore that first")
        remember.apply(work, Remove(successor.id), actor=actor, now=now)
        if name is None and was.get("name") and entries.binding(work.tx, was["name"]) is None:
            name, aliases = str(was["name"]), successor.aliases
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
    _close(work, old, opened, actor, now, None)
    return opened


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
        created_at=old.valid_from or old.created_at,
        valid_until=now,
        superseded_by=old.id,
        closed_at=now,
        vault_id=None,
    )
    remember.store(work, past, now)
    remember.log(work, "add", past.id, actor, now, after=entries.snapshot(past))


def _must_be_open(entry: Entry) -> None:
    if entry.superseded_by is not None:
        raise Conflict(f"entry {entry.id} was superseded by {entry.superseded_by}; supersede or retract that one")
    if entry.closed_at is not None:
        raise Conflict(f"entry {entry.id} was retracted; `restore` makes it hold again")


def _close(work: Work, old: entries.Stored, closed: Entry, actor: str, now: int, why: str | None) -> None:
    """Store and log the fields of an entry that change when it is closed or reopened."""
    fields = [name for name in ("name", *entries.CLOSING) if getattr(closed, name) != getattr(old.entry, name)]
    doc = remember.index_again(work, old, closed) if "name" in fields else old.doc
    entries.close(work.tx, closed, doc)
    remember.changed(work, closed.category)
    before = {name: getattr(old.entry, name) for name in fields}
    after = {name: getattr(closed, name) for name in fields}
    if why:
        before, after = before | {"why": None}, after | {"why": why}
    remember.log(work, "write", closed.id, actor, now, before=before, after=after)


def _before_closing(work: Work, entry_id: str) -> dict[str, Any]:
    """Return the fields that an entry had before it was closed, from the log."""
    for revision in reversed(entries.revisions(work.tx, entry_id, legible=True)):
        if revision.after.get("closed_at"):
            return dict(revision.before)
    return {}
