"""The facade: one agent's memory in one workspace. Methods only check their input and delegate."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, overload

from recollect import names
from recollect.channels import Channels
from recollect.clock import Moment
from recollect.conversation import ConversationServices
from recollect.conversations import Conversations
from recollect.engine import project, remember
from recollect.engine.access_policy import SHARED
from recollect.engine.agent_store import Store
from recollect.engine.auto_compaction import CompactionServices
from recollect.engine.entries import Entries
from recollect.engine.graph_checkpoints import GraphCheckpoints
from recollect.engine.item_names import ItemNames
from recollect.engine.item_vectors import ItemVectors
from recollect.errors import Conflict, Invalid, NotFound
from recollect.home_services import HomeServices
from recollect.memory_reads import MemoryReads, conversations_have_more, search_notes
from recollect.model import checks
from recollect.model.entry import TAGS, Category, Entry, Kind, Lifetime, Origin, Scope
from recollect.model.history import ConversationHandle
from recollect.model.operation import Add, Operation, Remove, Write, checked
from recollect.model.report import Receipt
from recollect.reminders import Reminders
from recollect.review import Review
from recollect.vault_files import VaultFiles

if TYPE_CHECKING:
    from recollect.erasure import Erasure

__all__ = [
    "SHARED",
    "Memory",
    "claiming",
    "conversations_have_more",
    "search_notes",
    "without_project",
]

BATCH = 8_192
TRIES = 3


class Memory(MemoryReads):
    """The memory of one agent in one workspace, returned by `home.agent(name)`."""

    def __init__(
        self,
        workspace: Store,
        account: Store,
        shared: HomeServices,
        other: Callable[[str], Store],
        files: VaultFiles,
        *,
        place: str = "default",
    ) -> None:
        entries = Entries(workspace, account, other(SHARED), shared.clock, shared.later)
        super().__init__(entries, account, shared, other, files)
        services = ConversationServices(
            workspace=place,
            store=workspace,
            shared=other(SHARED),
            other=other,
            clock=shared.clock,
            settings=shared.conversation,
            compaction=CompactionServices(
                store=workspace,
                clock=shared.clock,
                model=shared.model,
                limits=shared.limits,
                later=shared.later,
                background=shared.background,
                identity=files.identity,
            ),
            erase=lambda *turns: self._erasure().turns(self._entries.stores, *turns),
            reranker=shared.reranker,
            on_end=files.conversation_ended,
        )
        self.channels = Channels(other(SHARED), place, shared.clock)
        self.conversations = Conversations(services)
        self.reminders = Reminders(workspace, shared.clock)
        self.graphs, self.item_vectors = GraphCheckpoints(workspace), ItemVectors(workspace, entries)
        self.item_names = ItemNames(entries.stores, files.read_edits)
        self.review = Review(entries, shared.clock)
        self._claiming: dict[Origin, Memory] = {}
        """The same memory for callers that are limited to an origin."""

    # Entries

    def remember(
        self,
        content: str,
        *,
        name: str | None = None,
        tags: Iterable[str] = (),
        context: str | None = None,
        category: Category | str | None = None,
        scope: Scope | str = Scope.WORKSPACE,
        channel: str | None = None,
        conversation: ConversationHandle | str | None = None,
        importance: float = 0.5,
        source: str = "agent",
        lifetime: Lifetime | str | None = None,
        at: Moment | None = None,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        origin: Origin | str | None = None,
        evidence: Iterable[str] = (),
        supersedes: str | None = None,
    ) -> Entry:
        """Store a note and return it. The write is durable when this returns.

        A name makes the note addressable: `get`, links and operations accept it. A note without a name gets the
        lifetime of the setting `remember.lifetime` unless `lifetime` is given. `at` sets the time of creation.
        `valid_from` and `valid_until` say when the statement holds; a date that the text states beyond doubt ("until
        Friday") is read from it. `origin` says who stated it: user, agent, tool or external. `supersedes` names an
        entry that this one replaces, see `supersede`.

        Raises Conflict if the name is taken, and Invalid if a value is malformed or exceeds its limit.
        """
        within, implied = (None, None) if conversation is None else self._within(conversation, channel)
        channel = implied if within is not None and scope == Scope.CHANNEL else channel
        if lifetime is None and name is None and supersedes is None and scope != Scope.CONVERSATION:
            lifetime = self._services.lifetime  # as `_draft` does, which would copy the draft
        add = Add(
            content,
            name,
            tags=tags,
            context=context,
            category=category,
            scope=scope,
            channel=channel,
            conversation=within,
            importance=importance,
            source=source,
            lifetime=lifetime,
            at=at,
            valid_from=valid_from,
            valid_until=valid_until,
            origin=origin,
            evidence=evidence,
        )
        return self.apply(add) if supersedes is None else self._supersede(supersedes, add, None)

    def remember_many(self, drafts: Iterable[Add]) -> list[Entry]:
        """Store many entries, 8,192 per transaction, and return them.

        A sequence is validated completely before the first write, including the names; an iterator is validated batch
        by batch.

        Raises Conflict if a name is taken, and Invalid if a draft is not an `Add` or has a bad value.
        """
        if not isinstance(drafts, Iterable):
            raise Invalid(f"remember_many takes a list of Add values, not {type(drafts).__name__}")
        pending: Iterator[Add] = map(self._draft, drafts)
        made: list[Entry] = []
        if isinstance(drafts, Sequence):
            checked_drafts = list(pending)
            if len(checked_drafts) > BATCH:
                self._entries.must_be_free(checked_drafts)
            pending = iter(checked_drafts)
        while batch := list(islice(pending, BATCH)):
            made += self._entries.add(batch)
        return made

    def upsert(
        self,
        key: str,
        content: str,
        *,
        tags: Iterable[str] = (),
        origin: Origin | str | None = None,
        if_version: str | None = None,
    ) -> Entry:
        """Create the note named `key`, or replace its content. Empty `tags` leave the tags of an existing note
        unchanged.

        `origin` says who states the content, by default the agent. With `if_version` the note must exist and have that
        version.

        Raises Stale if the note has another version, NotFound if `if_version` is given and there is no such note,
        Conflict if the key is the name or id of an archive, a chunk or a hand-off, and Denied if the origin of the note
        is more trusted than `origin`.
        """
        key, tags = names.name(key, "key"), TAGS.check(tags, "tags")
        add = Add(content, name=key, tags=tags, origin=origin, lifetime=Lifetime.LONG_TERM)
        for _ in range(TRIES):  # others may make and forget it in between
            with suppress(NotFound):
                return self._replace(key, add, if_version)
            if if_version is None:
                with suppress(Conflict):
                    return self.apply(add)
        return self._replace(key, add, if_version)

    def _replace(self, key: str, new: Add, if_version: str | None) -> Entry:
        known = remember.knowledge(self._entries.holder(key)[1])
        write = checked(Write(known.id, content=new.content, tags=new.tags or None, origin=new.origin))
        assert isinstance(write, Write)
        return self._entries.replace_value(write, _text(if_version, "version"))

    def supersede(
        self,
        name_or_id: str,
        content: str,
        *,
        since: Moment | None = None,
        why: str | None = None,
        origin: Origin | str | None = None,
        evidence: Iterable[str] = (),
    ) -> Entry:
        """Store what holds instead of an entry, close that entry, and return the new one. `restore` undoes it.

        The new entry takes over the names, category, tags and scope of the old one. The old one keeps its id and text,
        and holds until `since`, by default until now; `get` and `recall(include_past=True)` still return it. `evidence`
        lists what the new entry was made from, for instance `event:CONVERSATION:EVENT`: erasing that turn erases it.

        Raises NotFound if there is no such entry, Conflict if it was superseded or retracted already, and Denied if
        its origin is more trusted than `origin`.
        """
        draft = Add(content, valid_from=since, origin=origin, evidence=evidence)
        return self._supersede(name_or_id, draft, checks.reason(why))

    def _supersede(self, target: str, draft: Add, why: str | None) -> Entry:
        checked_draft = checked(draft)
        assert isinstance(checked_draft, Add)
        return self._entries.supersede(names.name(target, "name or id"), checked_draft, why)

    def retract(self, name_or_id: str, *, why: str | None = None) -> Entry:
        """Withdraw a statement without a successor, and return the entry. `restore` undoes it.

        The entry keeps its id, name and text, and no longer holds; `get` and `recall(include_past=True)` still return
        it.

        Raises NotFound if there is no such entry, and Conflict if it was superseded or retracted already.
        """
        return self._entries.retract(names.name(name_or_id, "name or id"), checks.reason(why))

    def apply(self, operation: Operation, *, if_version: str | None = None) -> Entry:
        """Apply one operation and return the entry after it; for a `Remove`, the entry before it.

        With `if_version` the entry must have that `version`.

        Raises NotFound if there is no such entry, Conflict if a name is taken, Stale if the entry has another version,
        Denied if a `Write` replaces a content of a more trusted origin, and Invalid if a value is malformed. Nothing is
        changed then.
        """
        if_version = _text(if_version, "version")
        operation = self._draft(operation) if isinstance(operation, Add) else checked(operation)
        return self._entries.apply(operation, if_version)

    def _draft(self, value: object) -> Add:
        """Validate an `Add`. A note without a name gets the lifetime of the settings unless it has one."""
        if not isinstance(value, Add):
            raise Invalid(f"remember_many takes Add values, not {type(value).__name__}; write Add('content', name=…)")
        draft = checked(value)
        assert isinstance(draft, Add)
        lifetime = self._services.lifetime
        if lifetime is Lifetime.LONG_TERM or draft.lifetime is not None:  # what a note has without one
            return draft
        plain = draft.kind is Kind.NOTE and draft.name is None and draft.scope is not Scope.CONVERSATION
        return replace(draft, lifetime=lifetime) if plain else draft

    @overload
    def forget(self, name_or_id: str, *, erase: Literal[False] = False, if_version: str | None = None) -> bool: ...
    @overload
    def forget(self, name_or_id: str, *, erase: Literal[True], if_version: str | None = None) -> Receipt: ...
    def forget(self, name_or_id: str, *, erase: bool = False, if_version: str | None = None) -> bool | Receipt:
        """Move an entry to the trash, with the former values that `upsert` kept; return False if there is none.
        `restore()` brings them back until the trash expires.

        With `erase=True` the text is removed permanently, also from the trash: from every table, index, log and free
        page, with the former values. The receipt lists what was removed and verified.

        Raises Stale if `if_version` is given and the entry has another version; with `erase=True`, NotFound if there is
        no such entry.
        """
        target = names.name(name_or_id, "name or id")
        if not erase:
            try:
                self.apply(Remove(target), if_version=if_version)
            except NotFound:
                return False
            return True
        return self._erasure().entry(self._entries, target, _text(if_version, "version"))

    def restore(self, name_or_id: str, *, name: str | None = None) -> Entry:
        """Restore a forgotten entry with its id, under its old name or under `name`; or make an entry hold again that
        was superseded or retracted. What superseded it goes to the trash.

        Raises NotFound if no such entry is in the trash or closed, and Conflict if the name is taken, or if it is a
        former value that an upsert replaced: upsert that content again.
        """
        target = names.name(name_or_id, "name or id")
        return (None if name else self._entries.reopen(target)) or self._entries.restore(target, name)

    def empty_trash(self) -> int:
        """Permanently remove the text of everything in the trash; return the number of entries. Cannot be undone."""
        from recollect.upkeep import tidying

        self._entries.require_claim(Origin.USER, "empty the trash")
        return sum(tidying.empty_trash(store, self._clock.now()) for store in self._entries.stores)

    # Everything else

    def set_project(self, content: str, *, replace: bool = True) -> bool:
        """Set the project description for all agents of the workspace; return whether it was written.

        With `replace=False` it is written only if there is none yet.
        """
        content = names.plain("content", content, lines=True)
        if not content.strip():
            raise Invalid("the content is empty; say what the project is about")
        self._entries.require_claim(Origin.AGENT, "set the project description")
        self._files.read_edits()
        shared = self._other(SHARED)
        written = project.put(shared, self._workspace, content.rstrip(), replace=replace, now=self._clock.now())
        self._services.later.wake(shared)
        return written

    def query(
        self,
        store: str = "knowledge",
        mode: str | None = None,
        query: str | None = None,
        *,
        hash: str | None = None,
        session_id: str | None = None,
        conversation: ConversationHandle | str | None = None,
        target_agent: str | None = None,
        limit: int = 10,
        after: int = 0,
    ) -> dict[str, Any]:
        """Read a store (`working`, `session` or `knowledge`) as the tool `memory_query` does."""
        from recollect.compat import store_tools

        return store_tools.query(
            self,
            store,
            mode,
            query,
            hash=hash,
            session_id=session_id,
            conversation=conversation,
            target_agent=target_agent,
            limit=limit,
            after=after,
        )

    def _erasure(self) -> "Erasure":
        from recollect.erasure import Erasure

        return Erasure(
            agent=self.agent,
            clock=self._clock,
            signals=self._signals,
            later=self._services.later,
            folder=None if self._files.folder is None else self._files.folder.parent,
            vault=self._files.vault,
            read_edits=self._files.read_edits,
            forget_answers=self._services.forget_answers,
        )


def without_project(memory: Memory) -> Memory:
    """Return the same memory for a caller that must not change the project description, which all agents see."""
    return _limited(memory, memory._entries.protecting(project.NAMES))


def claiming(memory: Memory, origin: Origin) -> Memory:
    """Return the same memory for a caller limited to an origin: it cannot claim or change a more trusted one."""
    if origin not in memory._claiming:
        limited = _limited(memory, memory._entries.claiming(origin))
        limited.conversations = memory.conversations._claiming(origin)
        memory._claiming[origin] = limited
    return memory._claiming[origin]


def _limited(memory: Memory, entries: Entries) -> Memory:
    limited = copy(memory)
    limited._claiming = {}
    limited._entries, limited.review = entries, Review(entries, memory._clock)
    limited.item_vectors = ItemVectors(memory._workspace, entries)
    return limited


def _text(value: object, what: str) -> str | None:
    return None if value is None else names.plain(what, value)
