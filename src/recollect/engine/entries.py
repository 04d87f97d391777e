"""An agent's entries over its two stores: those of the account lie apart from the workspace's, but names are one
namespace. Where both stores are one, as in a single file, nothing here makes a difference.
"""

from collections.abc import Sequence

from recollect.clock import Clock
from recollect.engine import embedding, remember
from recollect.engine.embedding import Later
from recollect.engine.store import Store
from recollect.errors import Conflict, NotFound
from recollect.model.entry import Entry, Scope
from recollect.model.operation import Add, Alias, Operation, Write
from recollect.storage import entries

__all__ = ["Entries"]


class Entries:
    """The entries of one agent: each operation goes to the store that holds its entry."""

    def __init__(self, workspace: Store, account: Store, clock: Clock, later: Later) -> None:
        self.stores = [workspace] if account is workspace else [workspace, account]
        self._workspace, self._account = workspace, account
        self._clock, self._later = clock, later

    def holder(self, target: str) -> tuple[Store, Entry]:
        """The entry with this name, alias or id, and where it is; NotFound if there is none."""
        for store in self.stores:
            with store.read() as tx:
                entry_id = entries.find(tx, target)
                entry = entries.get(tx, entry_id) if entry_id else None
            if entry is not None:
                return store, entry
        raise NotFound(f"nothing is remembered under {target!r}; `list` and `recall` show what there is")

    def apply(self, operation: Operation, if_version: str | None) -> Entry:
        """Apply an operation that was checked; the entry as it is afterwards."""
        if isinstance(operation, Add):
            store = self._home_of(operation)
        else:
            store, _ = self.holder(operation.target)
        if isinstance(operation, Alias):
            return self._alias(store, operation, if_version)
        self._free_elsewhere(store, getattr(operation, "name", None))
        return self._apply_in(store, operation, if_version)

    def add(self, drafts: Sequence[Add]) -> list[Entry]:
        """Add entries that were checked, those of a store in one transaction."""
        made: dict[int, Entry] = {}
        for store in self.stores:
            own = {place: draft for place, draft in enumerate(drafts) if self._home_of(draft) is store}
            if not own:
                continue
            for draft in own.values():
                self._free_elsewhere(store, draft.name)
            embedding.compare_models(store)
            now = self._clock.now()
            vectors = embedding.at_once(store, [draft.content for draft in own.values()])
            with store.write() as work:
                for (place, draft), vector in zip(own.items(), vectors, strict=True):
                    made[place] = remember.apply(work, draft, actor=store.agent, now=now)
                    embedding.attach(store, work, made[place], vector)
            if any(vector is None for vector in vectors):
                self._later.wake(store)
        return [made[place] for place in range(len(drafts))]

    def restore(self, target: str, name: str | None) -> Entry:
        """Bring an entry back from the trash."""
        for store in self.stores:
            with store.read() as tx:
                known = entries.removed_id(tx, target)
                removal = None if known is None else entries.last_removal(tx, known)
            if known is None or removal is None:
                continue
            wanted = [name or removal.before.get("name"), *removal.before.get("aliases", ())]
            taken = frozenset(one for one in wanted if one and self._bound_elsewhere(store, one))
            content, now = str(removal.before.get("content", "")), self._clock.now()
            (vector,) = embedding.at_once(store, [content])
            with store.write() as work:
                entry = remember.restore(work, known, name, actor=store.agent, now=now, taken=taken)
                embedding.attach(store, work, entry, vector if entry.content == content else None)
            if vector is None:
                self._later.wake(store)
            return entry
        raise NotFound(f"there is nothing in the trash under {target!r}")

    def _home_of(self, draft: Add) -> Store:
        return self._account if draft.scope is Scope.ACCOUNT else self._workspace

    def _bound_elsewhere(self, store: Store, name: str) -> tuple[Store, str, bool] | None:
        """Where else a name is bound, to which entry, and whether it is that one's canonical name."""
        for other in self.stores:
            if other is not store:
                with other.read() as tx:
                    taken = entries.binding(tx, name)
                if taken is not None:
                    return other, *taken
        return None

    def _free_elsewhere(self, store: Store, name: str | None) -> None:
        taken = None if name is None else self._bound_elsewhere(store, name)
        if taken is not None:
            raise Conflict(f"{name!r} is already a name of entry {taken[1]} in another scope; choose another")

    def _alias(self, store: Store, alias: Alias, if_version: str | None) -> Entry:
        """An alias moves between scopes as it moves within one; a canonical name never does."""
        taken = self._bound_elsewhere(store, alias.name)
        if taken is not None and taken[2]:
            self._free_elsewhere(store, alias.name)
        entry = self._apply_in(store, alias, if_version)
        if taken is not None:
            with taken[0].write() as work:
                work.tx.run("names.drop", name=alias.name)
        return entry

    def _apply_in(self, store: Store, operation: Operation, if_version: str | None) -> Entry:
        content = operation.content if store.embedder and isinstance(operation, Add | Write) else None
        vector = None
        if content is not None:
            embedding.compare_models(store)
            (vector,) = embedding.at_once(store, [content])
        with store.write() as work:
            before = work.counters.operations
            entry = remember.apply(work, operation, actor=store.agent, now=self._clock.now(), if_version=if_version)
            if vector is not None and work.counters.operations > before:
                embedding.attach(store, work, entry, vector)
        if content is not None and vector is None:
            self._later.wake(store)
        return entry
