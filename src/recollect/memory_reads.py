"""The reads of the facade: recall, lists, the trash, the log, and what goes into a prompt. `Memory` adds the writes.

Methods only check their input and delegate.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect import names
from recollect.clock import LAST, Moment, milliseconds
from recollect.engine import access_policy, conversation_search, numbering, project, relevance_curve
from recollect.engine.access_policy import SHARED
from recollect.engine.agent_store import Store
from recollect.engine.checkpoints import recover
from recollect.engine.entries import Entries
from recollect.engine.recall_request import Request
from recollect.errors import Invalid, NotFound
from recollect.home_services import HomeServices
from recollect.model import checks
from recollect.model.context import Context, OrientationDocument
from recollect.model.entry import Category, Entry, Kind, Lifetime, Origin, Scope
from recollect.model.filters import Filters
from recollect.model.history import ConversationHandle, Recovery, reference
from recollect.model.listing import LONGEST, ListPage, Removed, Sort
from recollect.model.operation import Revision
from recollect.model.overview import NetChanges, Outcome, Overview
from recollect.model.recall import UNANSWERED, Accesses, Hit
from recollect.storage import history
from recollect.vault_files import VaultFiles

if TYPE_CHECKING:
    from recollect.model.note_graph import NoteGraph
    from recollect.model.provenance import Provenance
    from recollect.model.timeline import Timeline
    from recollect.vault.links import Links

__all__ = ["MemoryReads", "conversations_have_more", "search_notes"]

LIKELY = 0.5
"""Confidence from which a search has probably found an answer."""


class MemoryReads:
    """What one agent may read in one workspace."""

    def __init__(
        self, entries: Entries, account: Store, shared: HomeServices, other: Callable[[str], Store], files: VaultFiles
    ) -> None:
        self.agent = files.agent
        self._entries, self._workspace, self._account = entries, entries.stores[0], account
        self._clock, self._decay, self._signals = shared.clock, shared.decay, shared.signals
        self._services, self._other, self._files = shared, other, files
        self.profiles = tuple(sorted(shared.profiles))

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
        transcripts: bool = True,
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
        time, as far as it was known then; `hit.state` says which. `min_origin` leaves out less trusted origins,
        `transcripts=False` archives, chunks and automatic hand-offs.
        `target_agent` searches the knowledge of another agent; the access is logged. `prefix` and `fuzzy` (0.2 is
        typical) also match longer and similar words, at a lower weight, for search as you type. `hit.confidence` is
        the probability that the first ten hits hold an answer; if it is below `min_confidence`, nothing is returned.
        `explain` sets `why` on each hit. With `record=False` no recall signal is stored, so the entries found do not
        count as used.

        Raises Invalid if a value is unknown or malformed, Denied if `target_agent` is given with scopes that exclude
        the workspace scope, and ConfigError if `mode` is `vector` and there is no embedder.
        """
        self._files.read_edits()
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
            transcripts=transcripts,
        )
        from recollect.engine.recall import recall

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
            reranker=self._services.reranker,
            duplicates=self._services.duplicates,
        ).checked()
        other = access_policy.other_agent(self._workspace, target_agent)
        if other is not None:
            store = self._other(other)
            self._files.read_edits(other)
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
        self._files.read_edits()
        return self._entries.seen(names.name(name_or_id, "name or id"))

    def links(self, name_or_id: str) -> "Links":
        """Return the `[[links]]` of an entry, its backlinks, and its links without a target.

        Raises NotFound if there is no such entry.
        """
        from recollect.vault.links import links

        self._files.read_edits()
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
        transcripts: bool = True,
        recalled: bool | None = None,
        embedded: bool | None = None,
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
        `as_of` if they held at that time. `min_origin` leaves out less trusted origins. `transcripts=False` leaves out
        archives, chunks and automatic hand-offs. `recalled` lists those that recalls found, or never found, `embedded`
        those with a vector, or those that lack one.

        Raises Invalid if a value is unknown, malformed, or a cursor of another sort order.
        """
        self._files.read_edits()
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
            transcripts=transcripts,
            recalled=recalled,
            embedded=embedded,
        )
        from recollect.engine import listing

        return listing.page(self._entries.stores, page, filters)

    def numbers(self, category: Category | str) -> dict[str, int]:
        """Return the number of each note in a category, by id: the number used in vault files and on dashboards.

        It is the creation time in milliseconds, or the next free number. It never changes.
        """
        self._files.read_edits()
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

    def changed_since(
        self,
        since: Moment,
        *,
        outcome: Outcome | str | None = None,
        transcripts: bool = False,
        limit: int = 100,
        before: str | None = None,
    ) -> NetChanges:
        """Return the entries that differ from what they were at a moment, last changed first, and their number.

        Each has the fields that differ, before and after. `outcome` is `added`, `changed` or `forgotten`. Pieces of
        transcripts are left out unless `transcripts` is set. The newest 1,000 operations are compared; `complete` says
        whether the numbers are those of the whole period. That of added entries is exact in any case. `before` takes
        `earlier` of the previous page and continues there; the numbers are then those of the operations compared.

        Raises Invalid if a value is malformed.
        """
        from recollect.engine.net_changes import net_changes

        self._files.read_edits()
        return net_changes(
            self._entries.stores,
            milliseconds(since),
            limit=checks.count(limit, "changes"),
            outcome=None if outcome is None else checks.member(Outcome, outcome, "outcome"),
            transcripts=bool(transcripts),
            before=before,
        )

    def overview(self, *, since: Moment | None = None, utc_offset: int = 0) -> Overview:
        """Return the state of the memory: what changed since a moment, by default 24 hours ago, what is due, what waits
        for review, what is recalled most and never, its health, and entries per day.

        Counts stop at 1,000, so that it takes milliseconds. `utc_offset` is the number of minutes by which the caller's
        clock is ahead of UTC, for the counts per day.

        Raises Invalid if a value is malformed.
        """
        from recollect.engine.overview import DAY, overview

        if isinstance(utc_offset, bool) or not isinstance(utc_offset, int) or abs(utc_offset) > 24 * 60:
            raise Invalid(f"utc_offset must be a number of minutes between -1440 and 1440, not {utc_offset!r}")
        self._files.read_edits()
        self._signals.flush()
        now = self._clock.now()
        return overview(
            self._entries.stores,
            self._other(SHARED),
            now,
            since=now - DAY if since is None else milliseconds(since),
            shift=utc_offset * 60_000,
        )

    def history(self, name_or_id: str) -> Sequence[Revision]:
        """Return the operations on an entry, oldest first; also for a forgotten entry.

        Raises NotFound if there is and was no such entry.
        """
        from recollect.engine import listing

        self._files.read_edits()
        return listing.history(self._entries.stores, names.name(name_or_id, "name or id"))

    def timeline(
        self, *, since: Moment | None = None, until: Moment | None = None, buckets: int = 200, limit: int = 500
    ) -> "Timeline":
        """Return the notes and conversations of a span of time, without bounds of all time.

        They are counted in `buckets` parts of equal length, and listed if there are at most `limit`. Notes that
        were written at another time are listed, too, if they have an end of validity and hold in the span.

        Raises Invalid if `since` is not before `until`, or if there are no or too many buckets.
        """
        from recollect.engine import timeline

        self._files.read_edits()
        start, end = (None if at is None else milliseconds(at) for at in (since, until))
        parts, most = checks.count(buckets, "buckets"), min(checks.count(limit, "items"), timeline.MOST_ITEMS)
        return timeline.of_stores(self._entries.stores, self._clock.now(), start, end, buckets=parts, limit=most)

    def graph(self, *, limit: int = 5_000) -> "NoteGraph":
        """Return the newest notes as a graph: their `[[links]]`, evidence, successors, and names that a few share."""
        from recollect.vault import note_graph

        self._files.read_edits()
        return note_graph.of_stores(self._entries.stores, min(checks.count(limit, "notes"), note_graph.MAX_NOTES))

    def provenance(self, name_or_id: str) -> "Provenance":
        """Return where an entry comes from: the tree of what it was made from, down to the turns of conversations.

        Each source has its author, time, conversation and the beginning of its text. A source that no longer exists, or
        that this agent may not read, is `gone`. The tree has at most 200 sources in 8 levels; `left_out` counts others.

        Raises NotFound if there is no such entry.
        """
        from recollect.engine import provenance

        self._files.read_edits()
        entry = self._entries.seen(names.name(name_or_id, "name or id"))
        return provenance.provenance(self._entries.readable, self.agent, entry)

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
        built = self._context(command, budget=budget, profile=profile, conversation=conversation)
        shown = {item.entry_id for section in built.sections for item in section.items if item.entry_id}
        now = self._clock.now()
        for store in self._entries.readable:
            self._signals.use(store, shown, now)
        return built

    def _context(
        self,
        command: str,
        *,
        budget: int | None = None,
        profile: str = "default",
        conversation: ConversationHandle | str | None = None,
    ) -> Context:
        """Return the context without recording what it shows."""
        from recollect.engine import context

        self._files.read_edits()
        known = self._services.profiles.get(names.name(profile, "profile"))
        if known is None:
            raise NotFound(f"there is no profile {profile!r}; there are {', '.join(sorted(self._services.profiles))}")
        if budget is not None:
            known = replace(known, budget=checks.count(budget, "tokens"))
        within, channel = self._within(conversation, None)
        return context.build(
            self._entries.readable,
            names.plain("command", command, lines=True),
            known,
            shared=self._other(SHARED),
            decay=self._decay,
            now=self._clock.now(),
            conversation=within,
            channel=channel,
        )

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
        return orientation.orient(chosen, command, self._services.model)

    def project(self) -> str | None:
        """Return the project description, shared by all agents of the workspace; None if it is not set.

        A vault shows it as `_project.md`. A context starts with it.
        """
        self._files.read_edits()
        found = project.find(self._other(SHARED), self._workspace)
        return None if found is None else found.content.strip()

    def recover(self) -> Recovery | None:
        """Return where this agent stopped: its last messages and summaries. None after seven days."""
        return recover(self._workspace, self._clock.now())

    def _log(self, account: bool) -> Store | None:
        """Return the store that holds the log; None for the account if it has no log of its own."""
        return self._workspace if not account else self._account if self._account is not self._workspace else None

    def _within(self, given: ConversationHandle | str | None, channel: str | None) -> tuple[str | None, str | None]:
        """Resolve a conversation, or its id or ref code, to its id, and the channel that it implies."""
        conversation, channel = _text(reference(given), "conversation"), _text(channel, "channel")
        if conversation is not None:
            with self._workspace.read() as tx:
                known = history.conversation(tx, conversation)
            if known is not None:
                return known.id, channel or known.channel_id
        return conversation, channel


def search_notes(
    memories: Sequence[MemoryReads], query: str, *, limit: int, categories: Iterable[Category], fuzzy: float
) -> list[Hit]:
    """Search notes of several agents of a workspace by words, with prefix and fuzzy matching; return hits, best first.

    For callers that may read all of these memories. Each hit is recorded as found by its own agent.
    """
    from recollect.engine.recall import recall

    if not memories:
        return []
    first = memories[0]
    for memory in memories:
        memory._files.read_edits()
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
        duplicates=first._services.duplicates,
    )
    found = recall(access_policy.readable(own, first._other(SHARED)), request)
    for memory in memories:
        hits = [(store, hit.entry.id) for store, hit in found if store.agent == memory.agent]
        memory._signals.record(memory.agent, query, hits, now)
    return [hit for _, hit in found]


def conversations_have_more(
    memory: MemoryReads, query: str, hits: Sequence[Hit], *filters: object, conversation: str | None = None
) -> bool:
    """Return whether the hits of a recall probably answer nothing, and a conversation of the agent does.

    That is one that is active or imported, because only ended ones are made into entries. If nothing at all was found,
    one that may answer suffices. Conversations are searched only if the hits do not answer, and in the cheapest way. A
    recall with a filter asked for certain entries, and conversations have none of them. `conversation` is the caller's
    own, of which it knows what was said.
    """
    if any(filters) or (hits and hits[0].confidence >= LIKELY):
        return False
    own, _ = memory._within(conversation, None)
    known = {one for one in (own, *(hit.entry.conversation_id for hit in hits)) if one is not None}
    confidence = conversation_search.confidence_by_words(memory._workspace, query, without=known)
    return confidence >= (LIKELY if hits else UNANSWERED)


def _number(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{what} must be the number of an operation, not {value!r}")
    return max(min(value, LAST), -LAST)


def _text(value: object, what: str) -> str | None:
    return None if value is None else names.plain(what, value)
