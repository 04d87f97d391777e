"""The write path: five operations, applied to the entries, names, log and index of one agent.

An operation makes all its changes in one transaction and appends one row to the log; an operation that changes nothing
appends none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import Any

from recollect import names, text
from recollect.concepts import concept_tags
from recollect.engine import log_replay
from recollect.engine.agent_store import Work, document
from recollect.engine.former_values import former_values, removed_with
from recollect.errors import Conflict, Invalid, NotFound, Stale
from recollect.model.entry import Category, Entry, Kind, Lifetime, Origin, Scope
from recollect.model.operation import (
    ENTRY_FIELDS,
    WRITABLE,
    Add,
    Alias,
    Operation,
    Remove,
    Rename,
    Write,
    must_be_in_order,
)
from recollect.storage import entries

__all__ = [
    "MADE_FROM",
    "add_all",
    "apply",
    "changed",
    "find",
    "index_again",
    "knowledge",
    "log",
    "must_be_unchanged",
    "origin_of",
    "put_back",
    "remove_alias",
    "restore",
    "set_made_from",
    "store",
]

MADE_FROM = ("origin", "evidence")
"""Fields that say what an entry was made from. They follow from the sources, so that no operation of a caller changes
them."""

_tags_of = itemgetter(3)
_ADDED = [ENTRY_FIELDS.get(name, name) for name in Add.__dataclass_fields__]
_added = attrgetter(*Add.__dataclass_fields__)


def knowledge(entry: Entry) -> Entry:
    """Return the entry if it is knowledge; raise Conflict for an archive, a chunk or a hand-off."""
    if entry.kind is Kind.NOTE and entry.category is not Category.HANDOFFS:
        return entry
    what = "hand-off" if entry.kind is Kind.NOTE else str(entry.kind)
    raise Conflict(f"{entry.name or entry.id!r} is not knowledge but the {what} of a conversation; use another key")


def apply(work: Work, operation: Operation, *, actor: str, now: int, if_version: str | None = None) -> Entry:
    """Apply one checked operation; return the resulting entry (for a remove: the removed one).

    With `if_version`, raise Stale unless the entry still has this version.
    """
    must_be_unchanged(work, operation, if_version)
    match operation:
        case Add():
            return _add(work, operation, actor, now)
        case Rename():
            return _rename(work, operation, actor, now)
        case Alias():
            return _alias(work, operation, actor, now)
        case Write():
            return _write(work, operation, actor, now)
        case Remove():
            return _remove(work, operation, actor, now)


def restore(
    work: Work, target: str, name: str | None, *, actor: str, now: int, taken: frozenset[str] = frozenset()
) -> Entry:
    """Restore an entry from the trash under its old id. Its name must be free, unless a new `name` is given.

    `taken` are names bound in another store of the agent, which are not free either.
    """
    entry_id = entries.removed_id(work.tx, target)
    if entry_id is None:
        raise NotFound(f"there is nothing in the trash under {target!r}; `list` shows what is remembered")
    if entries.get(work.tx, entry_id) is not None:
        raise Conflict(f"{target!r} is not in the trash: the entry {entry_id} is there already")
    removal = entries.last_removal(work.tx, entry_id)
    if removal is None or not removal.before:
        raise NotFound(f"the content of {target!r} was erased or has expired; it cannot be restored")
    entry = entries.from_snapshot(entry_id, removal.before)
    wanted = names.name(name) if name is not None else entry.name
    if wanted in taken:
        raise Conflict(f"{wanted!r} is already a name of an entry in another scope; pass another one with name=…")
    if wanted is not None:
        _must_be_free(work, wanted, "pass another one with name=…")
    free = tuple(
        alias
        for alias in entry.aliases
        if alias != wanted and alias not in taken and entries.binding(work.tx, alias) is None
    )
    entry = replace(entry, name=wanted, aliases=free, updated_at=now)
    put_back(work, entry, actor, now)
    return entry


def put_back(work: Work, entry: Entry, actor: str, now: int) -> None:
    """Store an entry that was removed under its id, with its former values; its name and aliases must be free."""
    removal = entries.last_removal(work.tx, entry.id)
    for former in removed_with(work.tx, removal) if removal is not None else ():
        if former.before and entries.get(work.tx, former.entry_id) is None:
            put_back(work, entries.from_snapshot(former.entry_id, former.before), actor, now)
    store(work, entry, now)
    for alias in entry.aliases:
        work.tx.send("names.bind", name=alias, entry_id=entry.id, canonical=0)
    changed(work, entry.category)
    log(work, "add", entry.id, actor, now, after=entries.snapshot(entry))


def _add(work: Work, add: Add, actor: str, now: int) -> Entry:
    entry, chunks = _new_entry(work, add, now)
    work.counters.operations += 1
    store(work, entry, now, chunks, added=work.counters.operations)
    changed(work, entry.category)
    entries.record_addition(work.tx, entry, work.counters.operations, at=now, actor=actor)
    return entry


def add_all(work: Work, drafts: Iterable[Add], *, actor: str, now: int) -> list[Entry]:
    """Apply checked `Add`s as `apply` does one by one, with few statements; return the entries."""
    made: list[Entry] = []
    documents: list[dict[str, int]] = []
    for add in drafts:
        entry, chunks = _new_entry(work, add, now)
        made.append(entry)
        documents.append(document(entry, chunks))
        _bind_name(work, entry)
        changed(work, entry.category)
    first_doc, first_seq = work.index.put_all(work.tx, work.counters, documents), work.counters.operations + 1
    entries.insert_all(work.tx, made, first_doc, first_seq, used_at=now)
    entries.record_additions(work.tx, made, first_seq, at=now, actor=actor)
    work.counters.operations += len(made)
    return made


def _new_entry(work: Work, add: Add, now: int) -> tuple[Entry, list[text.Chunk]]:
    """Return the entry that a draft becomes, and its chunked content. Raises Conflict if the name is taken."""
    if add.name is not None:
        _must_be_free(work, add.name, "rewrite that entry, or choose another name")
    work.counters.entries += 1
    at = add.at if isinstance(add.at, int) else now
    chunks = text.chunks(add.content)
    given: dict[str, Any] = dict(zip(_ADDED, _added(add), strict=True))
    given["lifetime"], given["origin"] = _lifetime(add), origin_of(add)
    given["created_at"] = given["updated_at"] = at
    if add.kind is Kind.NOTE and add.valid_from is None and add.valid_until is None:
        given |= _stated(add.content, at)
    entry = Entry(
        id=names.new_id(now),
        seq=work.counters.entries,
        **given,
        concept_tags=concept_tags(add.content, known=map(_tags_of, chunks)),
        content_hash=entries.content_hash(add.content),
    )
    return entry, chunks


def origin_of(stated: Add | Write) -> Origin:
    """Return the origin of a draft or of a new content: the given one, or that of its source."""
    return Origin.of_source(stated.source or "agent") if stated.origin is None else Origin(stated.origin)


def _stated(content: str, at: int) -> dict[str, Any]:
    """Return the fields of the validity that a text states, if it states one."""
    from recollect.validity import stated_validity

    stated = stated_validity(content, at)
    if stated is None:
        return {}
    return {"valid_from": stated.valid_from, "valid_until": stated.valid_until, "validity_inferred": True}


def _rename(work: Work, rename: Rename, actor: str, now: int) -> Entry:
    old = find(work, rename.target)
    entry = old.entry
    if entry.name == rename.name:
        return entry
    _must_be_no_id(work, rename.name)
    taken = entries.binding(work.tx, rename.name)
    if taken is not None and taken[0] != entry.id:
        _must_be_free(work, rename.name, "choose another one")
    if entry.name is not None:
        work.tx.send("names.bind", name=entry.name, entry_id=entry.id, canonical=0)
    work.tx.send("names.bind", name=rename.name, entry_id=entry.id, canonical=1)
    aliases = {*entry.aliases, *([entry.name] if entry.name else [])} - {rename.name}
    # Giving a short-term note its first name marks it as worth keeping.
    keeps = entry.name is None and entry.lifetime is Lifetime.SHORT_TERM
    lifetime = Lifetime.LONG_TERM if keeps else entry.lifetime
    renamed = replace(entry, name=rename.name, aliases=tuple(sorted(aliases)), lifetime=lifetime, updated_at=now)
    entries.rename(work.tx, renamed, index_again(work, old, renamed))
    log(work, "rename", entry.id, actor, now, before={"name": entry.name}, after={"name": rename.name})
    return renamed


def _alias(work: Work, alias: Alias, actor: str, now: int) -> Entry:
    entry = find(work, alias.target).entry
    _must_be_no_id(work, alias.name)
    taken = entries.binding(work.tx, alias.name)
    if taken is not None:
        owner, canonical = taken
        if owner == entry.id:
            return entry
        if canonical:
            raise Conflict(
                f"{alias.name!r} is the name of entry {owner}; a name is never taken over. Rename that entry first"
            )
    work.tx.send("names.bind", name=alias.name, entry_id=entry.id, canonical=0)
    before = {"alias": alias.name, "entry_id": taken[0]} if taken else None
    log(work, "alias", entry.id, actor, now, before=before, after={"alias": alias.name})
    return replace(entry, aliases=tuple(sorted([*entry.aliases, alias.name])))


def remove_alias(work: Work, entry: Entry, alias: str, *, actor: str, now: int) -> Entry:
    """Remove an alias of an entry; nothing happens if it is bound to another one."""
    if entries.binding(work.tx, alias) != (entry.id, False):
        return entry
    work.tx.run("names.drop", name=alias)
    log(work, "alias", entry.id, actor, now, before={"alias": alias})
    return replace(entry, aliases=tuple(one for one in entry.aliases if one != alias))


def _write(work: Work, write: Write, actor: str, now: int) -> Entry:
    old = find(work, write.target)
    entry = old.entry
    given = {name: value for name in WRITABLE if (value := getattr(write, name)) is not None}
    changes: dict[str, Any] = {}
    for name, value in given.items():
        current = getattr(entry, name)
        if value != current and (value or current):  # an empty text clears a field
            changes[name] = None if value == "" else value
    if not changes:
        return entry
    content = changes.get("content", entry.content)
    changes |= _validity_changes(entry, changes, now)
    written = replace(entry, **changes, updated_at=now, content_hash=entries.content_hash(content))
    must_be_in_order(written.valid_from, written.valid_until)
    doc = index_again(work, old, written) if {"content", "tags"} & changes.keys() else old.doc
    if "content" in changes:
        for query in ("vectors.forget", "item_vectors.forget"):
            work.tx.run(query, entry_id=entry.id)
        entries.complete_addition(work.tx, entry.id)
    entries.update(work.tx, written, doc)
    changed(work, entry.category, written.category)
    log(
        work,
        "write",
        entry.id,
        actor,
        now,
        before={name: getattr(entry, name) for name in changes},
        after=changes,
    )
    return written


def _validity_changes(entry: Entry, changes: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return how a write changes an inferred validity: a new content states another, a given bound replaces it."""
    bounds = ("valid_from", "valid_until")
    if "content" not in changes or entry.kind is not Kind.NOTE:
        replaced = entry.validity_inferred and any(name in changes for name in bounds)
        return {"validity_inferred": False} if replaced else {}
    free = [
        name for name in bounds if name not in changes and (entry.validity_inferred or getattr(entry, name) is None)
    ]
    stated = _stated(changes["content"], now)
    wanted = {name: stated.get(name) for name in free}
    start = wanted.get("valid_from", changes.get("valid_from", entry.valid_from))
    if start is not None and (wanted.get("valid_until") or start + 1) <= start:
        wanted["valid_until"] = None  # the text speaks of a time before this value held
    wanted["validity_inferred"] = any(wanted.values())
    return {name: value for name, value in wanted.items() if value != getattr(entry, name)}


def set_made_from(work: Work, target: str, fields: Mapping[str, Any], *, actor: str, now: int) -> Entry:
    """Set the origin or the evidence of an entry that was rebuilt from other sources; logged as a write."""
    old = find(work, target)
    given: dict[str, Any] = {
        "origin": Origin(fields.get("origin", old.entry.origin)),
        "evidence": tuple(fields.get("evidence", old.entry.evidence)),
    }
    after = {name: value for name, value in given.items() if value != getattr(old.entry, name)}
    if not after:
        return old.entry
    entry = replace(old.entry, **after, updated_at=now)
    entries.set_made_from(work.tx, entry)
    before = {name: getattr(old.entry, name) for name in after}
    log(work, "write", entry.id, actor, now, before=before, after=after)
    return entry


def _remove(work: Work, remove: Remove, actor: str, now: int) -> Entry:
    entry_id = entries.find(work.tx, remove.target)
    found = log_replay.removable(work.tx, entry_id) if entry_id else None
    if found is None:
        raise NotFound(f"nothing is remembered under {remove.target!r}; `list` and `recall` show what there is")
    old, readable = found
    entry = old.entry
    for former in former_values(work.tx, entry.id):
        _remove(work, Remove(former), actor, now)
    # For a corrupt entry, only the index has the terms.
    terms = document(entry) if readable else work.index.terms_of(work.tx, work.counters, old.doc)
    work.index.remove(work.tx, work.counters, old.doc, entry.id, terms)
    entries.complete_addition(work.tx, entry.id)
    for query in ("entries.delete", "entries.forget_signals", "entries.forget_promotions"):
        work.tx.run(query, id=entry.id)
    for query in ("names.unbind", "vectors.forget", "item_vectors.forget"):
        work.tx.run(query, entry_id=entry.id)
    changed(work, entry.category)
    log(work, "remove", entry.id, actor, now, before=entries.snapshot(entry))
    return entry


def store(
    work: Work, entry: Entry, now: int, content: Sequence[text.Chunk] | None = None, *, added: int | None = None
) -> None:
    """Store a new entry with its document in the index and its name; see `entries.insert`."""
    doc = work.index.put(work.tx, work.counters, document(entry, content))
    entries.insert(work.tx, entry, doc, used_at=now, added=added)
    _bind_name(work, entry)


def _bind_name(work: Work, entry: Entry) -> None:
    if entry.name is not None:
        work.tx.send("names.bind", name=entry.name, entry_id=entry.id, canonical=1)


def index_again(work: Work, old: entries.Stored, entry: Entry) -> int:
    """Index an entry as a new document, because segments are immutable; return its number.

    Its vector is stale if its name has changed.
    """
    if entry.name != old.entry.name and entry.kind is Kind.NOTE:
        work.tx.run("vectors.outdate", entry_id=entry.id)
    work.index.remove(work.tx, work.counters, old.doc, old.entry.id, document(old.entry))
    return work.index.put(work.tx, work.counters, document(entry))


def find(work: Work, target: str) -> entries.Stored:
    """Return the entry with this name, alias or id. Raises NotFound."""
    entry_id = entries.find(work.tx, target)
    found = entries.stored(work.tx, [entry_id]) if entry_id else {}
    if not found:
        raise NotFound(f"nothing is remembered under {target!r}; `list` and `recall` show what there is")
    return next(iter(found.values()))


def must_be_unchanged(work: Work, operation: Operation, version: str | None) -> None:
    """Raise Stale if a version is given and the entry has another."""
    if version is None:
        return
    if isinstance(operation, Add):
        raise Invalid("a new entry has no version yet; omit if_version")
    found = find(work, operation.target).entry.version
    if found != version:
        raise Stale(
            f"{operation.target!r} was changed since it was read: its version is {found}, not {version[:80]!r}. "
            "Read it again, then repeat the change"
        )


def _must_be_free(work: Work, name: str, advice: str) -> None:
    _must_be_no_id(work, name)
    taken = entries.binding(work.tx, name)
    if taken is not None:
        owner, canonical = taken
        raise Conflict(f"{name!r} is already {'the name' if canonical else 'an alias'} of entry {owner}; {advice}")


def _must_be_no_id(work: Work, name: str) -> None:
    """Raise Conflict for a name that is a known id: ids resolve before names, also those of removed entries."""
    if names.is_id(name) and entries.is_known(work.tx, name):
        raise Conflict(f"{name!r} is the id of an entry; choose another name")


def log(
    work: Work,
    operation: str,
    entry_id: str,
    actor: str,
    now: int,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Append one row to the operation log; see `entries.record`."""
    work.counters.operations += 1
    entries.record(
        work.tx,
        work.counters.operations,
        at=now,
        actor=actor,
        operation=operation,
        entry_id=entry_id,
        before=before,
        after=after,
    )


def changed(work: Work, *categories: Category | None) -> None:
    """Note the categories whose vault files must follow this transaction."""
    for category in categories:
        if category is not None:
            work.categories.add(category)


def _lifetime(add: Add) -> Lifetime:
    """Return the requested lifetime; the default is long_term, and mid_term for a chunk."""
    if add.scope is Scope.CONVERSATION:
        return Lifetime.CONVERSATION
    if add.lifetime is not None:
        return Lifetime(add.lifetime)
    return Lifetime.MID_TERM if add.kind is Kind.CHUNK else Lifetime.LONG_TERM
