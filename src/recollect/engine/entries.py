"""An agent's entries over two stores, account and workspace, with one namespace for names. If both are the same store,
as in a single file, this layer changes nothing.

Binding a name holds the workspace's lock while both stores are checked and written, also for an account entry: of two
writers that bind the same name in one workspace, the second sees the first. The workspace is always locked first, which
rules out deadlock. Other workspaces have their own names and may use the same one. One race remains: a workspace that
is created with a name while an account entry is given the same name.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import TypeVar

from recollect import text
from recollect.clock import Clock
from recollect.engine import access_policy, embedding, remember, reviewing, superseding
from recollect.engine.agent_store import Store, Work
from recollect.engine.embedding import EmbeddingQueue
from recollect.errors import Conflict, Denied, NotFound
from recollect.model.entry import Entry, Origin, Scope
from recollect.model.operation import Add, Alias, Operation, Rename, Revision, Write
from recollect.model.review import Resolution, ReviewPair
from recollect.names import is_id
from recollect.storage import entries, reviews
from recollect.storage.counters import Counters
from recollect.storage.database import Row, Transaction

__all__ = ["Entries"]

Result = TypeVar("Result")
Statement = TypeVar("Statement", bound=Add | Write)
STATEMENTS = (Add, Write)
FEW = 10
"""Number of entries up to which a write is short enough to share its commit with others."""
"""The operations that state a content."""
BoundNames = Mapping[str, tuple[str, bool]]
"""Names bound in the other store: the entry's id, and whether the name is canonical."""
Also = Callable[[Work, Mapping[int, Entry]], None]
"""Writes more in the transaction that wrote entries, which it receives by their place among the operations."""


class Entries:
    """The entries of one agent; routes each operation to the store that holds its entry."""

    def __init__(self, workspace: Store, account: Store, shared: Store, clock: Clock, later: EmbeddingQueue) -> None:
        self.stores = [workspace] if account is workspace else [workspace, account]
        """The agent's own stores, the only ones it writes to."""
        self.readable = access_policy.readable(self.stores, shared)
        """The stores it reads: its own, and that of `_shared`."""
        self._workspace, self._account = workspace, account
        self._clock, self._later = clock, later
        self._protected = frozenset[str]()
        self._origin = Origin.USER

    def protecting(self, names: Iterable[str]) -> "Entries":
        """Return the same entries for a caller that must not change the entry with one of these names, or bind one."""
        limited = copy(self)
        limited._protected = frozenset(names)
        return limited

    def claiming(self, origin: Origin) -> "Entries":
        """Return the same entries for a caller limited to an origin: it cannot claim or change a more trusted one."""
        limited = copy(self)
        limited._origin = origin
        return limited

    def _claimed(self, draft: Statement) -> Statement:
        """Return a draft or a write with an origin that the caller may claim. Raises Denied if it names a more trusted
        one.
        """
        if self._origin.at_least(remember.origin_of(draft)) or draft.content is None:
            return draft
        if draft.origin is not None:
            raise Denied(f"this token may not write what the {draft.origin} said; its origin is {self._origin}")
        return replace(draft, origin=self._origin)

    def require_claim(self, origin: Origin, what: str) -> None:
        """Raise Denied if the caller may not claim an origin, which `what` needs."""
        if not self._origin.at_least(origin):
            raise Denied(f"a token of the origin {self._origin} cannot {what}. Nothing was changed")

    def require_unprotected(self, names: Iterable[str], targets: Iterable[str] = ()) -> None:
        """Raise Denied if one of the names is protected, or one of the targets is an entry with a protected name, or of
        an origin that the caller may not claim.
        """
        if not self._protected and self._origin is Origin.USER:
            return
        bound = {*names}
        for store in self.stores:
            with store.read() as tx:
                found = [entries.find(tx, target) for target in targets]
                for known in entries.stored(tx, [one for one in found if one]).values():
                    bound |= {known.entry.name or "", *known.entry.aliases}
                    if not self._origin.at_least(known.entry.origin):
                        raise Denied(
                            f"entry {known.entry.id} was stated by the {known.entry.origin}; a token of the origin "
                            f"{self._origin} cannot change it. Nothing was changed"
                        )
        if bound & self._protected:
            raise Denied(
                f"{min(bound & self._protected)!r} is shown to all agents of the workspace; only a token for all of "
                "them may change it. Nothing was changed"
            )

    def holder(self, target: str) -> tuple[Store, Entry]:
        """Return the agent's own entry with this name, alias or id, and its store. Raises NotFound."""
        found = self._found(self.stores, target)
        if found is None:
            raise self._missing(target)
        return found

    def seen(self, target: str) -> Entry:
        """Return the readable entry with this name, alias or id: the agent's own, else one of `_shared`."""
        found = self._found(self.readable, target)
        if found is None:
            raise self._missing(target)
        return found[1]

    def _found(self, stores: Sequence[Store], target: str) -> tuple[Store, Entry] | None:
        for store in stores:
            with store.read() as tx:
                entry = entries.lookup(tx, target)
                if entry is not None and access_policy.shows(tx, entry, self._workspace.agent):
                    return store, entry
        return None

    def _missing(self, target: str) -> NotFound:
        # The agent may reuse a name of `_shared`, so only an id identifies the shared entry.
        if is_id(target) and self._found(self.readable, target) is not None:
            return NotFound(
                f"entry {target} belongs to {access_policy.SHARED!r}: every agent can read it, only that one can "
                "change it"
            )
        return NotFound(f"nothing is remembered under {target!r}; `list` and `recall` show what there is")

    def _place_of(self, target: str) -> Store:
        """Return the store of the entry with this name, alias or id, even if its row is corrupt. Raises NotFound."""
        for store in self.stores:
            with store.read() as tx:
                entry_id = entries.find(tx, target)
                if entry_id and tx.one("entries.by_ids", ids=[entry_id]):
                    return store
        raise self._missing(target)

    def holder_or_trash(self, target: str) -> Store | None:
        """Return the store of an entry with this name, alias or id, living or in the trash; None if there is none."""
        for store in self.stores:
            with store.read() as tx:
                if entries.find(tx, target) or entries.removed_id(tx, target):
                    return store
        return None

    def apply(self, operation: Operation, if_version: str | None, also: Also | None = None) -> Entry:
        """Apply a checked operation; return the resulting entry. `also` is for operations that bind no name."""
        if isinstance(operation, STATEMENTS):
            operation = self._claimed(operation)
        name = getattr(operation, "name", None)
        self.require_unprotected([name] if name else [], [] if isinstance(operation, Add) else [operation.target])
        store = self._home_of(operation) if isinstance(operation, Add) else self._place_of(operation.target)
        text = _embedded_after(store, operation) if store.embedder else None
        vector = None
        if text is not None:
            embedding.compare_models(store)
            (vector,) = embedding.at_once(store, [text])
        if name is None or len(self.stores) == 1:
            with store.write(group=True) as work:
                entry = self._apply(store, work, operation, if_version, vector)
                if also is not None:
                    also(work, {0: entry})
        else:
            # An alias can move to another entry, also across scopes; a canonical name cannot.
            moves = isinstance(operation, Alias)

            def write(work: Work, taken: BoundNames) -> Entry:
                _must_be_free(taken, aliases=not moves)
                return self._apply(store, work, operation, if_version, vector)

            entry = self._bind(store, [name], write, moves=moves)
        if text is not None and vector is None:
            self._later.wake(store)
        return entry

    def add(self, drafts: Sequence[Add], also: Also | None = None) -> list[Entry]:
        """Add checked entries: all, or none if a name is taken."""
        drafts = [self._claimed(draft) for draft in drafts]
        self.require_unprotected(_names(drafts))
        parts = self._by_store(drafts)
        vectors = {store: _vectors(store, part.values()) for store, part in parts.items()}
        made: dict[int, Entry] = {}
        now = self._clock.now()

        def fill(store: Store, work: Work) -> None:
            added = remember.add_all(work, parts[store].values(), actor=store.agent, now=now)
            made.update(zip(parts[store], added, strict=True))
            for entry, vector in zip(added, vectors[store], strict=True):
                embedding.attach(store, work, entry, vector)
            if also is not None:
                also(work, dict(zip(parts[store], added, strict=True)))

        def write(work: Work, taken: BoundNames) -> None:
            _must_be_free(taken)
            fill(first, work)
            for other in others:
                _must_be_free(entries.bindings(work.tx, _names(parts[other].values())))
                with other.write(work.tx) as beside:
                    fill(other, beside)

        first, *others = parts
        names = _names(parts[first].values())
        for other in others:  # before the transaction that theirs joins
            other.database.prepare(other.agent)
        if others or (names and len(self.stores) > 1):
            self._bind(first, names, write)
        else:
            with first.write(group=len(drafts) <= FEW) as work:
                fill(first, work)
        for store, given in vectors.items():
            if any(vector is None for vector in given):
                self._later.wake(store)
        return [made[place] for place in range(len(drafts))]

    def must_be_free(self, drafts: Iterable[Add]) -> None:
        """Raise Conflict if a name of the drafts is taken, or occurs twice among them."""
        names = _names(drafts)
        for name, times in Counter(names).items():
            if times > 1:
                raise Conflict(f"{name!r} is the name of {times} of the new entries; each needs its own")
        for store in self.stores:
            with store.read() as tx:
                _must_be_free(entries.bindings(tx, names))

    def restore(self, target: str, name: str | None) -> Entry:
        """Restore an entry from the trash."""
        store, known, removal = self._removed(target)
        names = [one for one in (name or removal.before.get("name"), *removal.before.get("aliases", ())) if one]
        self.require_unprotected(names)
        now = self._clock.now()
        vector = None
        if removal.before:  # else its text has expired
            before = entries.from_snapshot(known, removal.before)
            (vector,) = embedding.at_once(store, [embedding.text_of(replace(before, name=name or before.name))])

        def write(work: Work, taken: BoundNames) -> Entry:
            entry = remember.restore(work, known, name, actor=store.agent, now=now, taken=frozenset(taken))
            embedding.attach(store, work, entry, vector)
            return entry

        entry = self._bind(store, names, write)
        if vector is None:
            self._later.wake(store)
        return entry

    def supersede(self, target: str, draft: Add, why: str | None) -> Entry:
        """Add a checked entry that replaces another, and close that one."""
        draft = self._claimed(draft)
        self.require_unprotected([draft.name] if draft.name else [], [target])
        store, replaced = self.holder(target)
        # Without a name of its own, the new entry takes that of the old one.
        (vector,) = embedding.at_once(store, [embedding.text_of(replace(draft, name=draft.name or replaced.name))])
        now = self._clock.now()

        def write(work: Work, taken: BoundNames) -> Entry:
            _must_be_free(taken)
            old = remember.find(work, target).entry
            full = superseding.successor_draft(old, draft)
            entry = superseding.supersede(work, old.id, full, actor=store.agent, now=now, why=why)
            embedding.attach(store, work, entry, vector)
            return entry

        entry = self._bind(store, [] if draft.name is None else [draft.name], write)
        if vector is None:
            self._later.wake(store)
        return entry

    def retract(self, target: str, why: str | None) -> Entry:
        """Close an entry without a successor."""
        self.require_unprotected([], [target])
        store = self._place_of(target)
        with store.write() as work:
            return superseding.retract(work, target, actor=store.agent, now=self._clock.now(), why=why)

    def reopen(self, target: str) -> Entry | None:
        """Undo a retraction or a supersession; None if there is none."""
        self.require_unprotected([], [target])
        for store in self.stores:
            with store.read() as tx:
                known = entries.find(tx, target)
            if known is not None:
                with store.write() as work:
                    return superseding.reopen(work, known, actor=store.agent, now=self._clock.now())
        return None

    def resolve(self, pair_id: str, resolution: Resolution, draft: Add | None, why: str | None) -> ReviewPair:
        """Resolve a pair for review; return it with its entries after that."""
        store = next((one for one in self.stores if self._pair(one, pair_id)), self._workspace)
        known = self._pair(store, pair_id)
        draft = None if draft is None else self._claimed(draft)
        self.require_unprotected([], [] if known is None else known[1:3])
        vector = None if draft is None else embedding.at_once(store, [embedding.text_of(draft)])[0]
        with store.write() as work:
            now = self._clock.now()
            made = reviewing.resolve(work, pair_id, resolution, draft, actor=store.agent, now=now, why=why)
            if made is not None:
                embedding.attach(store, work, made, vector)
            resolved = reviews.pair(work.tx, pair_id)
        if made is not None and (vector is None or vector.text != embedding.text_of(made)):  # it may take over a name
            self._later.wake(store)
        assert resolved is not None
        return resolved

    def reopen_pair(self, pair_id: str) -> ReviewPair:
        """Open a pair again whose entries were both kept; return it."""
        store = next((one for one in self.stores if self._pair(one, pair_id)), self._workspace)
        with store.write() as work:
            reviewing.open_entries(work, pair_id)
            reviews.resolve(work.tx, pair_id, None, None)
            opened = reviews.pair(work.tx, pair_id)
        assert opened is not None
        return opened

    def _pair(self, store: Store, pair_id: str) -> Row | None:
        with store.read() as tx:
            return reviews.get(tx, pair_id)

    def replace_value(self, write: Write, if_version: str | None) -> Entry:
        """Apply a checked write of a new content, and keep the old content as a superseded entry."""
        write = self._claimed(write)
        content = write.content
        assert content is not None
        self.require_unprotected([], [write.target])
        store = self._place_of(write.target)
        embedding.compare_models(store)
        (vector,) = embedding.at_once(store, [_embedded_after(store, write) or content])
        with store.write() as work:
            now, old = self._clock.now(), remember.find(work, write.target).entry
            if old.content != content:
                remember.must_be_unchanged(work, write, if_version)
                write = superseding.with_origin(work, write)
                superseding.keep_past(work, old.id, content, actor=store.agent, now=now)
                write = replace(write, valid_from=now)
            entry = self._apply(store, work, write, if_version, vector)
        if vector is None:
            self._later.wake(store)
        return entry

    def _removed(self, target: str) -> tuple[Store, str, Revision]:
        for living in (False, True):
            for store in self.stores:
                with store.read() as tx:
                    known = entries.removed_id(tx, target, living=living)
                    removal = None if known is None else entries.last_removal(tx, known)
                if known is not None and removal is not None:
                    return store, known, removal
        raise NotFound(f"there is nothing in the trash under {target!r}")

    def _by_store(self, drafts: Sequence[Add]) -> dict[Store, dict[int, Add]]:
        """Return the drafts of each store that gets some, by their place in the list."""
        parts: dict[Store, dict[int, Add]] = {}
        for store in self.stores:
            part = {place: draft for place, draft in enumerate(drafts) if self._home_of(draft) is store}
            if part:
                parts[store] = part
        return parts

    def _home_of(self, draft: Add) -> Store:
        return self._account if draft.scope is Scope.ACCOUNT else self._workspace

    def _apply(
        self,
        store: Store,
        work: Work,
        operation: Operation,
        if_version: str | None,
        vector: embedding.TextVector | None,
    ) -> Entry:
        before = work.counters.operations
        if isinstance(operation, Write) and operation.content is not None:
            remember.must_be_unchanged(work, operation, if_version)
            operation = superseding.with_origin(work, operation)
        entry = remember.apply(work, operation, actor=store.agent, now=self._clock.now(), if_version=if_version)
        if vector is not None and work.counters.operations > before:
            embedding.attach(store, work, entry, vector)
        return entry

    def _bind(
        self, store: Store, names: Sequence[str], write: Callable[[Work, BoundNames], Result], *, moves: bool = False
    ) -> Result:
        """Run a write that binds names in a store; `write` receives the names that are taken in the other store.

        With `moves` those names are dropped there. Across two files that is two commits: a process killed in between
        leaves an alias in both stores or in neither; repeating the operation repairs it.
        """
        workspace, account = self._workspace, self._account
        if store is workspace:
            if moves and account.exists():  # dropping a name there is part of this transaction
                account.database.prepare(account.agent)
            with workspace.write() as work:
                taken = _bound(account, names, work.tx) if account is not workspace else {}
                made = write(work, taken)
                if moves and taken:
                    with account.write(work.tx) as beside:
                        _drop(beside.tx, taken)
            return made
        while not workspace.exists():  # nothing to lock, and no reason to create it
            with suppress(_Begun), account.write() as work:
                made = write(work, {})
                if workspace.exists(work.tx):
                    raise _Begun
                return made
        account.database.prepare(account.agent)
        with workspace.database.write(workspace.agent) as tx:
            Counters.lock(tx, text.ANALYSIS_VERSION)
            taken = entries.bindings(tx, names)
            with account.write(tx) as work:
                made = write(work, taken)
            if moves:
                _drop(tx, taken)
        return made


class _Begun(Exception):
    """The workspace was created during the write."""


def _vectors(store: Store, drafts: Iterable[Add]) -> list[embedding.TextVector | None]:
    embedding.compare_models(store)
    return embedding.at_once(store, [embedding.text_of(draft) for draft in drafts])


def _embedded_after(store: Store, operation: Operation) -> str | None:
    """Return the text that the vector of an entry is made from after an operation; None if it does not change."""
    if isinstance(operation, Add):
        return embedding.text_of(operation)
    if not isinstance(operation, Rename | Write) or (isinstance(operation, Write) and operation.content is None):
        return None
    with store.read() as tx:
        found = entries.find(tx, operation.target)
        entry = entries.get(tx, found) if found else None
    if entry is None:
        return None
    if isinstance(operation, Rename):
        return embedding.text_of(replace(entry, name=operation.name))
    return embedding.text_of(replace(entry, content=operation.content or ""))


def _names(drafts: Iterable[Add]) -> list[str]:
    return [draft.name for draft in drafts if draft.name is not None]


def _bound(store: Store, names: Sequence[str], beside: Transaction) -> BoundNames:
    if not names:
        return {}
    with store.read(beside) as tx:
        return entries.bindings(tx, names)


def _must_be_free(taken: BoundNames, *, aliases: bool = True) -> None:
    for name, (owner, canonical) in taken.items():
        if canonical or aliases:
            raise Conflict(f"{name!r} is already a name of entry {owner}; choose another")


def _drop(tx: Transaction, taken: BoundNames) -> None:
    """Drop aliases; raise Conflict if one has become a canonical name."""
    for name in taken:
        found = entries.binding(tx, name)
        _must_be_free({} if found is None else {name: found}, aliases=False)
        tx.run("names.drop", name=name)
