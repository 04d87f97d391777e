"""The facade: one agent's memory in one workspace. Methods only check their input and delegate."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from recollect import names
from recollect.channels import Channels
from recollect.clock import LAST, Clock, Moment
from recollect.config import ConversationSettings
from recollect.conversation import ConversationServices
from recollect.conversations import Conversations
from recollect.engine import access_policy, conversation_search, numbering, project, relevance_curve, remember
from recollect.engine.access_policy import SHARED
from recollect.engine.agent_store import Store
from recollect.engine.auto_compaction import CompactionServices
from recollect.engine.background import Background
from recollect.engine.compaction import WindowLimits
from recollect.engine.conversations import recover
from recollect.engine.embedding import EmbeddingQueue
from recollect.engine.entries import Entries
from recollect.engine.graph_checkpoints import GraphCheckpoints
from recollect.engine.item_vectors import ItemVectors
from recollect.engine.signals import Signals
from recollect.errors import Conflict, Invalid, NotFound, RecollectError
from recollect.model import checks
from recollect.model.context import Context, OrientationDocument, Profile
from recollect.model.entry import TAGS, Category, Entry, Kind, Lifetime, Origin, Scope
from recollect.model.filters import Filters
from recollect.model.history import ConversationHandle, Lane, Recovery, reference
from recollect.model.listing import LONGEST, ListPage, Removed, Sort
from recollect.model.operation import Add, Operation, Remove, Revision, Write, checked
from recollect.model.provenance import Provenance
from recollect.model.recall import Accesses, Hit
from recollect.model.report import Receipt
from recollect.model.vault import SyncReport
from recollect.providers.base import LanguageModel
from recollect.reminders import Reminders
from recollect.review import Review
from recollect.search.ranking import DecayConfig
from recollect.storage import history
from recollect.vault.links import Links, links

if TYPE_CHECKING:
    from recollect.erasure import Erasure
    from recollect.vault.sync import Vault

__all__ = [
    "SHARED",
    "HomeServices",
    "Memory",
    "claiming",
    "conversations_have_more",
    "search_notes",
    "without_project",
]

BATCH = 1_000
TRIES = 3
_log = logging.getLogger("recollect.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeServices:
    """What all memories of a home share."""

    clock: Clock
    decay: DecayConfig
    signals: Signals
    later: EmbeddingQueue
    background: Background
    model: LanguageModel | None
    limits: WindowLimits
    conversation: ConversationSettings
    profiles: Mapping[str, Profile]
    forget_answers: Callable[[], tuple[int, Sequence[str]]]
    """Forgets the answers to requests that are kept in case they come twice; see `Requests`."""
    duplicates: str = "words"
    """Which hits leave a recall; see `RecallSettings`."""
    lifetime: Lifetime = Lifetime.LONG_TERM
    """Of a note without a name whose author asks for none."""


class Memory:
    """The memory of one agent in one workspace, returned by `home.agent(name)`."""

    def __init__(
        self,
        agent: str,
        workspace: Store,
        account: Store,
        shared: HomeServices,
        other: Callable[[str], Store],
        *,
        place: str = "default",
        folder: Path | None = None,
        vault: "Callable[..., Vault | None]" = lambda *, make=False: None,
    ) -> None:
        self.agent = agent
        self._workspace, self._account, self._other = workspace, account, other
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
                identity=self._identity,
            ),
            erase=lambda *turns: self._erasure().turns(self._entries.stores, *turns),
            on_end=self._closed,
        )
        self.channels = Channels(other(SHARED), place, shared.clock)
        self.conversations = Conversations(services)
        self.reminders = Reminders(workspace, shared.clock)
        self.graphs, self.item_vectors = GraphCheckpoints(workspace), ItemVectors(workspace)
        self._clock, self._decay, self._signals = shared.clock, shared.decay, shared.signals
        self._model, self._profiles, self._lifetime = shared.model, shared.profiles, shared.lifetime
        self._later, self._duplicates = shared.later, shared.duplicates
        self.profiles = tuple(sorted(shared.profiles))
        self._vault, self._folder, self._forget_answers = vault, folder, shared.forget_answers
        self._entries = Entries(workspace, account, other(SHARED), shared.clock, shared.later)
        self.review = Review(self._entries, shared.clock)

    # Writing

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
            lifetime = self._lifetime  # as `_draft` does, which would copy the draft
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
        """Store many entries, 1,000 per transaction, and return them.

        A sequence is validated completely before the first write, including the names; an iterator is validated batch
        by batch.

        Raises Conflict if a name is taken, and Invalid if a draft is not an `Add` or has a bad value.
        """
        if not isinstance(drafts, Iterable):
            raise Invalid(f"remember_many takes a list of Add values, not {type(drafts).__name__}")
        if isinstance(drafts, Sequence):
            drafts = [self._draft(draft) for draft in drafts]
            if len(drafts) > BATCH:
                self._entries.must_be_free(drafts)
        pending, made = iter(drafts), list[Entry]()
        while batch := [self._draft(draft) for draft in islice(pending, BATCH)]:
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
        plain = draft.kind is Kind.NOTE and draft.name is None and draft.scope is not Scope.CONVERSATION
        return replace(draft, lifetime=self._lifetime) if plain and draft.lifetime is None else draft

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

    # Reading

    def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        mode: str = "hybrid",
        scopes: Iterable[Scope | str] | None = None,
        channel: str | None = None,
        conversation: ConversationHandle | str | None = None,
        category: Category | str | Iterable[Category | str] | None = None,
        kinds: Iterable[Kind | str] | None = None,
        tags: Iterable[str] | None = None,
        source: str | None = None,
        lifetimes: Iterable[Lifetime | str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        include_past: bool = False,
        min_origin: Origin | str = Origin.EXTERNAL,
        target_agent: str | None = None,
        fusion: str = "weighted",
        prefix: bool = False,
        fuzzy: float = 0.0,
        min_confidence: float = 0.0,
        explain: bool = False,
        record: bool = True,
    ) -> list[Hit]:
        """Search entries by their words and, if an embedder is configured, by their meaning. Return hits, best first.

        `mode` is `keyword` (words only), `vector` (meaning only) or `hybrid` (both). Entries of a conversation or a
        channel are found only if that conversation or channel is passed. Entries of the agent `_shared` are found by
        every agent of the workspace. Filters apply before the limit, so they never hide results. Entries that were
        superseded, retracted or have expired are found only with `include_past`, or with `as_of` if they held at that
        time, as far as it was known then; `hit.state` says which. `min_origin` leaves out less trusted origins.
        `target_agent` searches the knowledge of another agent; the access is logged. `prefix` and `fuzzy` (0.2 is
        typical) also match longer and similar words, at a lower weight, for search as you type. `hit.confidence` is
        the probability that the first ten hits hold an answer; if it is below `min_confidence`, nothing is returned.
        `explain` sets `why` on each hit. With `record=False` no recall signal is stored, so the entries found do not
        count as used.

        Raises Invalid if a value is unknown or malformed, Denied if `target_agent` is given with scopes that exclude
        the workspace scope, and ConfigError if `mode` is `vector` and there is no embedder.
        """
        self._look()
        within, channel = self._within(conversation, channel)
        now = self._clock.now()
        filters = Filters.checked(
            scopes=scopes,
            conversation=within,
            channel=channel,
            category=category,
            kinds=kinds,
            lifetimes=lifetimes,
            tags=tags,
            source=source,
            since=since,
            until=until,
            as_of=as_of,
            current_at=None if include_past else now,
            min_origin=min_origin,
        )
        from recollect.engine.recall import Request, recall

        request = Request(
            query=query,
            limit=limit,
            mode=mode,
            filters=filters,
            fusion=fusion,
            decay=self._decay,
            now=now,
            prefix=prefix,
            fuzzy=fuzzy,
            min_confidence=min_confidence,
            explain=explain,
            duplicates=self._duplicates,
        ).checked()
        other = access_policy.other_agent(self._workspace, target_agent)
        if other is not None:
            store = self._other(other)
            self._look(other)
            narrowed = access_policy.of_another(
                self._workspace, other, filters, call="recall", query=request.query, now=now
            )
            return [hit for _, hit in recall([store], replace(request, filters=narrowed))]
        found = recall(self._entries.readable, request)
        if record:
            self._signals.record(self.agent, request.query, [(store, hit.entry.id) for store, hit in found], now)
        return [hit for _, hit in found]

    def get(self, name_or_id: str) -> Entry:
        """Return the entry with this name, alias or id, of this agent or else of `_shared`.

        Raises NotFound if there is none.
        """
        self._look()
        return self._entries.seen(names.name(name_or_id, "name or id"))

    def links(self, name_or_id: str) -> Links:
        """Return the `[[links]]` of an entry, its backlinks, and its links without a target.

        Raises NotFound if there is no such entry.
        """
        self._look()
        return links(self._entries.stores, names.name(name_or_id, "name or id"))

    def list(
        self,
        *,
        kind: Kind | str | None = None,
        category: Category | str | None = None,
        scope: Scope | str | None = None,
        lifetime: Lifetime | str | None = None,
        source: str | None = None,
        tag: str | None = None,
        conversation: ConversationHandle | str | None = None,
        channel: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        include_past: bool = False,
        min_origin: Origin | str = Origin.EXTERNAL,
        sort: Sort | str = Sort.CREATED,
        descending: bool | None = None,
        limit: int = 100,
        before: Moment | Entry | None = None,
        after: Entry | str | None = None,
    ) -> list[Entry]:
        """Return entries, newest first. Other sort orders put the greatest first, but names in alphabetical order.

        For the next page, pass the last entry of this page as `after`, with the same sort and filters, or its cursor
        `Cursor.of(entry, sort).text(sort)`. `before` does the same for lists with the newest first, and also accepts a
        time. Entries that were superseded, retracted or have expired are listed only with `include_past`, or with
        `as_of` if they held at that time. `min_origin` leaves out less trusted origins.

        Raises Invalid if a value is unknown, malformed, or a cursor of another sort order.
        """
        self._look()
        page = ListPage.checked(sort=sort, descending=descending, limit=limit, before=before, after=after)
        filters = Filters.checked(
            kinds=None if kind is None else [kind],
            category=None if category is None else [category],
            scopes=None if scope is None else [scope],
            lifetimes=None if lifetime is None else [lifetime],
            tags=None if tag is None else [tag],
            source=source,
            conversation=self._within(conversation, None)[0],
            channel=channel,
            since=since,
            until=until,
            as_of=as_of,
            current_at=None if include_past else self._clock.now(),
            min_origin=min_origin,
        )
        from recollect.engine import listing

        return listing.page(self._entries.stores, page, filters)

    def numbers(self, category: Category | str) -> dict[str, int]:
        """Return the number of each note in a category, by id: the number used in vault files and on dashboards.

        It is the creation time in milliseconds, or the next free number. It never changes.
        """
        self._look()
        wanted, found = checks.member(Category, category, "category"), dict[str, int]()
        for store in self._entries.stores:
            found |= numbering.numbers(store, wanted, set(found.values()))
        return found

    def trash(self, *, limit: int = 100, before: int | None = None) -> Sequence[Removed]:
        """Return forgotten entries that can be restored, newest first. For the next page, pass the last `seq` as
        `before`.

        If the account is a store of its own, its removals follow those of the workspace and have negative numbers.
        """
        from recollect.engine import listing

        limit = min(checks.count(limit, "entries"), LONGEST)
        end = LAST if before is None else _number(before, "before")
        return listing.trash(self._entries.stores, end, limit)

    def empty_trash(self) -> int:
        """Permanently remove the text of everything in the trash; return the number of entries. Cannot be undone."""
        from recollect.upkeep import tidying

        self._entries.require_claim(Origin.USER, "empty the trash")
        return sum(tidying.empty_trash(store, self._clock.now()) for store in self._entries.stores)

    def accesses(self, name_or_id: str) -> Accesses:
        """Return when recalls found an entry, for which queries, and its relevance over time.

        Raises NotFound if there is no such entry.
        """
        self._signals.flush()
        store, entry = self._entries.holder(names.name(name_or_id, "name or id"))
        return relevance_curve.accesses(store, entry, self._decay, self._clock.now())

    def changes(self, after: int = 0, *, limit: int = 100, account: bool = False) -> Sequence[Revision]:
        """Return the operations on entries of this workspace with a sequence number greater than `after`, in order.

        With `account=True`, return those of the account, whose log has its own numbers. In a single file there is one
        log for both, the workspace's; the log of the account is empty there, so that no operation is listed twice.
        """
        from recollect.engine import listing

        seq, limit = _number(after, "after"), min(checks.count(limit, "operations"), LONGEST)
        store = self._log(account)
        return [] if store is None else listing.operations(store, seq, limit)

    def last_change(self, *, account: bool = False) -> int:
        """Return the sequence number of the last operation in the log, 0 if it is empty. Cheap enough to poll."""
        from recollect.engine import listing

        store = self._log(account)
        return 0 if store is None else listing.last_operation(store)

    def _log(self, account: bool) -> Store | None:
        """Return the store that holds the log; None for the account if it has no log of its own."""
        return self._workspace if not account else self._account if self._account is not self._workspace else None

    def history(self, name_or_id: str) -> Sequence[Revision]:
        """Return the operations on an entry, oldest first; also for a forgotten entry.

        Raises NotFound if there is and was no such entry.
        """
        from recollect.engine import listing

        self._look()
        return listing.history(self._entries.stores, names.name(name_or_id, "name or id"))

    def provenance(self, name_or_id: str) -> Provenance:
        """Return where an entry comes from: the tree of what it was made from, down to the turns of conversations.

        Each source has its author, time, conversation and the beginning of its text. A source that no longer exists, or
        that this agent may not read, is `gone`. The tree has at most 200 sources in 8 levels; `left_out` counts others.

        Raises NotFound if there is no such entry.
        """
        from recollect.engine import provenance

        self._look()
        entry = self._entries.seen(names.name(name_or_id, "name or id"))
        return provenance.provenance(self._entries.readable, self.agent, entry)

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

    # What goes into a prompt

    def context(
        self,
        command: str,
        *,
        budget: int | None = None,
        profile: str = "default",
        conversation: ConversationHandle | str | None = None,
    ) -> Context:
        """Return the context block for a new session, within a token budget.

        It contains the project description, the last hand-off, decisions and lessons relevant to `command`, open tasks,
        standing rules, the notes and the turns of earlier conversations that answer `command`, and the last messages of
        an interrupted session. It reads the same entries as `recall`. `budget` overrides that
        of the profile.

        Raises NotFound if there is no such profile.
        """
        from recollect.engine import context

        self._look()
        known = self._profiles.get(names.name(profile, "profile"))
        if known is None:
            raise NotFound(f"there is no profile {profile!r}; there are {', '.join(sorted(self._profiles))}")
        if budget is not None:
            known = replace(known, budget=checks.count(budget, "tokens"))
        within, channel = self._within(conversation, None)
        now = self._clock.now()
        built = context.build(
            self._entries.readable,
            names.plain("command", command, lines=True),
            known,
            shared=self._other(SHARED),
            decay=self._decay,
            now=now,
            conversation=within,
            channel=channel,
        )
        shown = {item.entry_id for section in built.sections for item in section.items if item.entry_id}
        for store in self._entries.readable:
            self._signals.use(store, shown, now)
        return built

    def orient(
        self,
        command: str,
        *,
        budget: int | None = None,
        profile: str = "default",
        conversation: ConversationHandle | str | None = None,
    ) -> OrientationDocument:
        """Return the same selection as markdown for a system prompt. A language model, if configured, may narrow it."""
        from recollect.engine import orientation

        chosen = self.context(command, budget=budget, profile=profile, conversation=conversation)
        return orientation.orient(chosen, command, self._model)

    def project(self) -> str | None:
        """Return the project description, shared by all agents of the workspace; None if it is not set.

        A vault shows it as `_project.md`. A context starts with it.
        """
        self._look()
        found = project.find(self._other(SHARED), self._workspace)
        return None if found is None else found.content.strip()

    def set_project(self, content: str, *, replace: bool = True) -> bool:
        """Set the project description for all agents of the workspace; return whether it was written.

        With `replace=False` it is written only if there is none yet.
        """
        content = names.plain("content", content, lines=True)
        if not content.strip():
            raise Invalid("the content is empty; say what the project is about")
        self._entries.require_claim(Origin.AGENT, "set the project description")
        self._look()
        shared = self._other(SHARED)
        written = project.put(shared, self._workspace, content.rstrip(), replace=replace, now=self._clock.now())
        self._later.wake(shared)
        return written

    # The past

    def recover(self) -> Recovery | None:
        """Return where this agent stopped: its last messages and summaries. None after seven days."""
        return recover(self._workspace, self._clock.now())

    # Where things are

    def _within(self, given: ConversationHandle | str | None, channel: str | None) -> tuple[str | None, str | None]:
        """Resolve a conversation, or its id or ref code, to its id, and the channel that it implies."""
        conversation, channel = _text(reference(given), "conversation"), _text(channel, "channel")
        if conversation is not None:
            with self._workspace.read() as tx:
                known = history.conversation(tx, conversation)
            if known is not None:
                return known.id, channel or known.channel_id
        return conversation, channel

    def _erasure(self) -> "Erasure":
        from recollect.erasure import Erasure

        return Erasure(
            agent=self.agent,
            clock=self._clock,
            signals=self._signals,
            later=self._later,
            folder=None if self._folder is None else self._folder.parent,
            vault=self._vault,
            read_edits=self._look,
            forget_answers=self._forget_answers,
        )

    # The files

    def _identity(self, lane: Lane) -> dict[str, str]:
        if self._folder is None or not self._folder.is_dir():
            return {}
        from recollect.vault.identity import identity_files

        return identity_files(self._folder, lane)

    def _look(self, agent: str | None = None) -> None:
        """Read edited vault files before a read: those of another agent, or of this one and `_shared`."""
        try:
            vault = self._vault()
            if vault is not None:
                for owner in (agent,) if agent else (self.agent, SHARED):
                    _tell(vault.refresh(owner))
        except (RecollectError, OSError) as error:
            _log.warning("what was edited in the vault is not taken in: %s", error)

    def _closed(self, conversation: str) -> None:
        """Write the entries that a conversation left to the vault, and commit them."""
        try:
            vault = self._vault(make=True)
            if vault is not None:
                from recollect.vault.git import close_message

                vault.record(self.agent, *close_message(conversation, self.agent))
        except (RecollectError, OSError) as error:
            _log.warning("the vault does not show what a conversation left: %s", error)


def without_project(memory: Memory) -> Memory:
    """Return the same memory for a caller that must not change the project description, which all agents see."""
    limited = copy(memory)
    limited._entries = memory._entries.protecting(project.NAMES)
    limited.review = Review(limited._entries, memory._clock)
    return limited


def claiming(memory: Memory, origin: Origin) -> Memory:
    """Return the same memory for a caller that may claim this origin at most, and change no more trusted entry."""
    limited = copy(memory)
    limited._entries = memory._entries.claiming(origin)
    limited.review = Review(limited._entries, memory._clock)
    limited.conversations = memory.conversations._claiming(origin)
    return limited


def search_notes(
    memories: Sequence[Memory], query: str, *, limit: int, categories: Iterable[Category], fuzzy: float
) -> list[Hit]:
    """Search notes of several agents of a workspace by words, with prefix and fuzzy matching; return hits, best first.

    For callers that may read all of these memories. Each hit is recorded as found by its own agent.
    """
    from recollect.engine.recall import Request, recall

    if not memories:
        return []
    first = memories[0]
    for memory in memories:
        memory._look()
    own = [store for memory in memories for store in memory._entries.stores]
    now = first._clock.now()
    request = Request(
        query=names.plain("query", query, lines=True),
        limit=limit,
        mode="keyword",
        fusion="weighted",
        now=now,
        filters=Filters(scopes=tuple(Scope), categories=tuple(categories), kinds=(Kind.NOTE,), current_at=now),
        decay=first._decay,
        prefix=True,
        fuzzy=fuzzy,
        duplicates=first._duplicates,
    )
    found = recall(access_policy.readable(own, first._other(SHARED)), request)
    for memory in memories:
        hits = [(store, hit.entry.id) for store, hit in found if store.agent == memory.agent]
        memory._signals.record(memory.agent, query, hits, now)
    return [hit for _, hit in found]


LIKELY = 0.5
"""Confidence from which a search has probably found an answer."""


def conversations_have_more(
    memory: Memory, query: str, hits: Sequence[Hit], *filters: object, conversation: str | None = None
) -> bool:
    """Return whether the hits of a recall probably answer nothing, and a conversation of the agent does.

    That is one that is active or imported, because only ended ones are made into entries. Conversations are searched
    only if the hits do not answer, and in the cheapest way. A recall with a filter asked for certain entries, and
    conversations have none of them. `conversation` is the caller's own, of which it knows what was said.
    """
    if any(filters) or (hits and hits[0].confidence >= LIKELY):
        return False
    own, _ = memory._within(conversation, None)
    known = {one for one in (own, *(hit.entry.conversation_id for hit in hits)) if one is not None}
    return conversation_search.confidence_by_words(memory._workspace, query, without=known) >= LIKELY


def _tell(report: SyncReport) -> None:
    for problem in report.problems:
        _log.warning("the vault: %s", problem)


def _number(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{what} is the number of an operation, not {value!r}")
    return max(min(value, LAST), -LAST)


def _text(value: object, what: str) -> str | None:
    return None if value is None else names.plain(what, value)
