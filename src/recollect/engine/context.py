"""The block of text that a new session starts with: selected, trimmed to a token budget, and safe to put in a prompt.

The argument. A new session needs what a colleague needs who takes over: what the project is, where the last session
stopped, decisions and lessons about the task at hand, open tasks, and what was remembered or said about it before.
Decisions and lessons are recalled with the command as the query, or are the newest if the command is empty; project,
hand-off and tasks are always the newest. Over budget, lessons are dropped first, then decisions and the hand-off, but
never the project or a task. The rest of the budget is filled with standing rules, which hold whatever the command is,
and with the notes and turns that answer it; see `context_filling`.

Output is deterministic, so that a prompt cache stays warm. A section that fails is omitted and listed in `failed`,
never raised. Of the turns that were found only those are read that the budget may show, and what does not depend on
the command is kept in the process (`context_cache`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from recollect import text
from recollect.engine import (
    access_policy,
    checkpoints,
    context_block,
    context_filling,
    context_handoff,
    context_rules,
    conversation_search,
    lanes,
    project,
)
from recollect.engine.agent_store import Store
from recollect.engine.context_block import LineSizes, RenderedSection
from recollect.engine.context_cache import ContextCache, cache_of
from recollect.engine.context_filling import ContextCandidate, UnreadTurn
from recollect.engine.context_items import (
    FULL_LENGTH,
    OpenPairs,
    Reach,
    beginning,
    is_shown_elsewhere,
    item_of,
    one_line,
)
from recollect.engine.recall import query_vector, recall, recall_each
from recollect.engine.recall_candidates import QueryLookups
from recollect.engine.recall_request import Request
from recollect.errors import Invalid, RecollectError
from recollect.model.context import (
    DECISIONS,
    EARLIER,
    HANDOFF,
    HEADINGS,
    LESSONS,
    NOTES,
    PROJECT,
    RECOVERY,
    TASKS,
    Context,
    Item,
    Profile,
    Section,
)
from recollect.model.entry import Category, Kind, State
from recollect.model.filters import Filters
from recollect.model.history import Event, EventType, Lane, Status
from recollect.model.recall import UNANSWERED, Hit
from recollect.search.duplicates import wording
from recollect.search.ranking import DecayConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["HEADINGS", "build"]

MESSAGE_LENGTH = 100
TASKS_READ = 1_000
UNBOXED = 20
"""Maximum number of tasks without a checkbox; tasks are never trimmed."""
OPEN = "[ ]"
HANDOFF_SHARE = 0.1
"""Share of the budget for the hand-off, if there is more to tell than fits; the end of a longer one is kept."""
UNLIKELY_SHARE = 0.25
"""Share of the budget for what was found, if it is not likely to answer the command."""
RULES_SHARE = 0.25
"""Share of the budget for standing rules and preferences."""
RANKED = 200
"""Number of entries that are ranked at once: what the recall of decisions and lessons needs after that of notes."""
NOTE_TOKENS, TURN_TOKENS = 80, 15
"""Small sizes: so many notes and turns are searched as the budget could hold, and a few more."""
CHARACTERS = 4.5
"""Characters per token, for a comparison that needs no estimate."""
MARGIN = 3
"""Tokens that are left free, because the estimates of lines do not add up exactly."""
RULE_FRAME = 12
"""Tokens of the date and source of a rule."""
T = TypeVar("T")


def build(
    stores: Sequence[Store],
    command: str,
    profile: Profile,
    *,
    shared: Store,
    decay: DecayConfig,
    now: int,
    conversation: str | None = None,
    channel: str | None = None,
) -> Context:
    """Build the context: select, order and trim. `stores` are those the agent reads, its own of the workspace first.

    `shared` is the store that all agents of the workspace share.
    """
    if profile.budget < 0:
        raise Invalid(f"the budget must be 0 tokens or more, not {profile.budget}")
    filters = Filters.checked(conversation=conversation, channel=channel, current_at=now, min_origin=profile.min_origin)
    request = Request(
        query=command,
        limit=profile.notes,
        mode="hybrid",
        fusion="weighted",
        decay=decay,
        now=now,
        filters=filters,
        to_the_end=False,
        snippets=False,
    )
    return _Building(Reach(stores, filters), shared, profile, request, beside=conversation).context()


class _Building:
    """One context while it is built: what was found for the command, and which parts failed."""

    def __init__(self, reach: Reach, shared: Store, profile: Profile, request: Request, *, beside: str | None) -> None:
        self._reach, self._shared, self._profile, self._request = reach, shared, profile, request
        self._store, self._beside = reach.stores[0], beside
        self._asked = bool(request.query.strip())
        self._failed: list[str] = []
        self._confidences: list[float] = []
        self._closed: list[str] = []
        self._current: list[Hit] = []
        self._pairs = OpenPairs(reach)
        self._sizes = LineSizes()
        self._looks = QueryLookups(ahead=RANKED)
        self._cache: ContextCache | None = None

    def context(self) -> Context:
        """Build the context from one state of the stores."""
        if self._asked:
            self._vector()  # may take long, so it precedes the snapshot
        stores = dict.fromkeys((*self._reach.stores, self._shared))
        with self._store.database.snapshot([(store.database, store.agent) for store in stores]):
            return self._built()

    def _built(self) -> Context:
        """Select the items, fill the budget and join the sections."""
        profile = self._profile
        if self._asked and profile.notes:
            self._recall_notes()
        standing = self._standing() if profile.notes else ()
        fixed = self._fixed(standing)
        least = self._least_room(fixed)
        notes, turns = self._notes(fixed, least), self._turns(least)
        answered = self._is_answered()
        notes = context_filling.with_few_kept(notes, turns, self._request.query)
        candidates = context_filling.ranking(notes, turns, self._read)
        rules = self._rules(fixed, standing)
        whole, left_out, used = context_block.trimmed(fixed, profile.budget, answered=answered)
        first, more = self._more_than(profile.budget - used, rules, candidates)
        if more:
            whole, used = self._with_shorter_handoff(whole, used)
        shown = [one.section for one in whole]
        filling = context_filling.fill(
            chain(first, candidates),
            rules,
            self._room(used, answered),
            stated=[item for section in shown if section.name in (DECISIONS, LESSONS) for item in section.items],
            quoted=context_handoff.quoted_messages(shown),
            sizes=self._sizes,
        )
        sections = self._placed(whole, filling)
        block, tokens = context_block.joined(sections, answered)
        return Context(
            text=block,
            tokens=tokens,
            sections=tuple(one.section for one in sections if one.section.items),
            dropped=left_out + filling.dropped,
            failed=tuple(self._failed),
            answered=answered,
        )

    def _is_answered(self) -> bool:
        """Return whether what was found is likely to answer the command, or nothing was asked, or a search failed."""
        profile = self._profile
        searched = self._asked and bool(profile.decisions or profile.lessons or profile.notes or profile.turns)
        return not searched or bool(self._failed) or any(one >= UNANSWERED for one in self._confidences)

    @staticmethod
    def _more_than(
        room: float, rules: Sequence[Item], candidates: Iterator[ContextCandidate]
    ) -> tuple[list[ContextCandidate], bool]:
        """Return the first candidates, and whether they and the rules are more than fits into `room` tokens."""
        first = list[ContextCandidate]()
        left = room * CHARACTERS - sum(len(rule.text) for rule in rules)
        while left >= 0 and (one := next(candidates, None)) is not None:
            first.append(one)
            left -= len(one.items[0].text)
        return first, left < 0

    def _with_shorter_handoff(
        self, sections: Sequence[RenderedSection], used: float
    ) -> tuple[list[RenderedSection], float]:
        """Return the sections with a short hand-off, and the tokens of the block."""
        left = list(sections)
        for place, one in enumerate(sections):
            if one.section.name == HANDOFF:
                tokens = HANDOFF_SHARE * self._profile.budget
                left[place] = self._render(context_handoff.with_shorter_handoff(one.section, tokens))
                used += left[place].tokens - one.tokens
        return left, used

    def _placed(self, fixed: Sequence[RenderedSection], filling: context_filling.Filling) -> list[RenderedSection]:
        """Return all sections in the order of the block, with a hand-off that does not repeat what entries state."""
        filled = [Section(name=NOTES, items=filling.notes), Section(name=EARLIER, items=filling.turns)]
        left = [
            self._render(context_handoff.without_stated(one.section, filling.stated))
            if one.section.name == HANDOFF
            else one
            for one in fixed
        ]
        order = {name: place for place, name in enumerate(HEADINGS)}
        return sorted([*left, *map(self._render, filled)], key=lambda one: order[one.section.name])

    def _render(self, section: Section) -> RenderedSection:
        return context_block.render(section, self._sizes)

    def _room(self, used: float, answered: bool) -> float:
        """Return how many tokens the fixed sections leave; less if what was found is not likely to answer."""
        left = self._profile.budget - used - MARGIN
        return left if answered else min(left, UNLIKELY_SHARE * self._profile.budget)

    def _least_room(self, fixed: Sequence[RenderedSection]) -> float:
        """Return how many tokens are left at most beside what is never trimmed."""
        kept = (one.tokens for one in fixed if one.section.name not in context_block.TRIMMED)
        return self._profile.budget - sum(kept) - context_block.FRAME

    def _part(self, name: str, find: Callable[[], Sequence[T]]) -> Sequence[T]:
        """Return what a part finds; nothing, and the reason in `failed`, if it cannot be read."""
        try:
            return find()
        except (RecollectError, OSError) as error:
            self._failed.append(f"{name}: {error}")
            return ()

    def _section(self, name: str, find: Callable[[], Sequence[Item]]) -> RenderedSection:
        return self._rendered(name, self._part(name, find))

    def _rendered(self, name: str, items: Sequence[Item]) -> RenderedSection:
        origins = self._reach.filters.origins
        shown = tuple(item for item in items if item.operator or item.origin in origins)
        return self._render(Section(name=name, items=shown))

    def _kept_section(self, name: str, wanted: bool, find: Callable[[], Sequence[Item]]) -> RenderedSection:
        """Return a section that does not depend on the command; it is looked up again after a write."""

        def kept() -> Sequence[RenderedSection]:
            known = self._unchanged().sections
            if name not in known:
                known[name] = self._rendered(name, find())
            return (known[name],)

        return next(iter(self._part(name, kept) if wanted else ()), self._rendered(name, ()))

    def _unchanged(self) -> ContextCache:
        """Return what does not depend on the command."""
        if self._cache is None:
            self._cache = cache_of(self._reach, self._request.now)
        return self._cache

    def _fixed(self, standing: Sequence[Item]) -> list[RenderedSection]:
        profile, reach, store = self._profile, self._reach, self._store

        @cache  # exceptions are not cached, so each section reports the failure
        def found() -> dict[Category, list[Item]]:
            limits = {Category.DECISIONS: profile.decisions, Category.LESSONS: profile.lessons}
            return self._categories(limits)

        def of(category: Category) -> list[Item]:
            chosen = [item.entry_id for items in (*found().values(), standing) for item in items]
            self._pairs.look_up(chain(chosen, (hit.entry.id for hit in self._current)))  # of all parts at once
            return self._pairs.beside(found()[category])

        handoff = self._kept_section(
            HANDOFF, profile.handoff, lambda: context_handoff.newest_handoff(store, reach.filters.origins)
        )
        return [
            self._kept_section(PROJECT, profile.project, lambda: _project(store, self._shared)),
            handoff,
            self._section(DECISIONS, lambda: of(Category.DECISIONS) if profile.decisions else ()),
            self._section(LESSONS, lambda: of(Category.LESSONS) if profile.lessons else ()),
            self._kept_section(TASKS, profile.tasks, lambda: _tasks(reach)),
            self._section(RECOVERY, lambda: self._recovery(handoff.section.items)),
        ]

    def _categories(self, limits: Mapping[Category, int]) -> dict[Category, list[Item]]:
        """Return the items of each category."""
        reach, request = self._reach, self._request
        if not self._asked:
            return {
                category: [
                    replace(note, text=beginning(note.text))
                    for note in reach.newest("context.newest", limit, category=str(category), needle=None)
                ]
                for category, limit in limits.items()
            }
        chosen = {
            category: [hit for hit in self._current if hit.entry.category is category][:limit]
            for category, limit in limits.items()
        }
        # Few of a category are among the notes that were found, or an entry of another one says the same.
        rest = {category: limit for category, limit in limits.items() if len(chosen[category]) < limit}
        if rest and max(rest.values()):
            hits = recall_each(reach.stores, replace(request, limit=max(rest.values())), rest, self._looks)
            chosen |= {category: [hit for _, hit in hits[category]] for category in rest}
        self._confidences += [hit.confidence for found in chosen.values() for hit in found[:1]]
        return {
            category: [item_of(hit.entry, _excerpt(hit.entry.content, request.query)) for hit in found]
            for category, found in chosen.items()
        }

    def _recall_notes(self) -> None:
        """Find the notes for the command; also those that no longer hold, because turns may state the same."""
        filters = replace(self._reach.filters, kinds=(Kind.NOTE,), current_at=None)
        limit = min(self._profile.notes, self._profile.budget // NOTE_TOKENS + 5)
        request = replace(self._request, filters=filters, limit=limit)
        hits = [hit for _, hit in self._part(NOTES, lambda: recall(self._reach.stores, request, self._looks))]
        self._current = [hit for hit in hits if hit.entry.state_at(request.now) is State.CURRENT]
        if len(self._current) < len(hits):
            holding = {hit.entry.id for hit in self._current}
            self._closed += [wording(hit.entry.content) for hit in hits if hit.entry.id not in holding]
        self._confidences += [hit.confidence for hit in self._current[:1]]

    def _notes(self, fixed: Sequence[RenderedSection], room: float) -> list[ContextCandidate]:
        """Return the notes that answer the command, with those that wait for review beside them."""
        if not self._current or room <= 0:
            return []
        shown = _shown(fixed)
        unwanted = self._unwanted()
        best = self._current[0].score or 1.0
        chosen = [
            hit.entry
            for hit in self._current
            if hit.entry.id not in shown and hit.entry.category not in unwanted and not is_shown_elsewhere(hit.entry)
        ]
        values = {hit.entry.id: hit.confidence * hit.score / best for hit in self._current}
        query = self._request.query
        items = [item_of(entry, context_filling.passage(entry.content, query)) for entry in chosen]
        found: list[ContextCandidate] = []
        for item in self._part(NOTES, lambda: self._pairs.beside(items)):
            value = context_filling.CURATED * values.get(str(item.entry_id), 0.0)
            if item.beside is not None and found:
                found[-1] = ContextCandidate(max(found[-1].value, value), (*found[-1].items, item))
            else:
                found.append(ContextCandidate(value, (item,)))
        return [one for one in found if shown.isdisjoint(item.entry_id for item in one.items)]

    def _unwanted(self) -> set[Category]:
        """Return the categories that the profile leaves out."""
        limits = {Category.DECISIONS: self._profile.decisions, Category.LESSONS: self._profile.lessons}
        return {category for category, limit in limits.items() if not limit}

    def _turns(self, room: float) -> list[UnreadTurn]:
        """Return the turns that answer the command: of the agent's own conversations, and of past ones of `_shared`."""
        if not (self._asked and self._profile.turns and room > 0):
            return []
        limit = min(self._profile.turns, int(room // TURN_TOKENS) + 8, conversation_search.LIMIT)
        return [*self._part(EARLIER, lambda: self._turns_found(limit))]

    def _vector(self) -> "NDArray[np.float32] | None":
        return self._looks.vector(lambda: query_vector(self._store, self._request.query))

    def _turns_found(self, limit: int) -> list[UnreadTurn]:
        query, own, vector = self._request.query, self._store, self._vector()
        found: list[UnreadTurn] = []
        for store in (own,) if own is self._shared else (own, self._shared):
            statuses = None if store is own else access_policy.PAST
            inside = _window(store, self._beside) if store is own else ()
            turns, confidence = conversation_search.ranked(
                store, query, limit=limit, vector=vector, statuses=statuses, without=inside
            )
            self._confidences += [confidence] if turns else []
            found += [
                UnreadTurn(confidence * turn.score / (turns[0].score or 1.0), turn.seq, turn.before, store, turn.event)
                for turn in turns
            ]
        return found

    def _read(self, turns: Sequence[UnreadTurn]) -> Sequence[ContextCandidate]:
        """Read turns; what the profile's origin excludes is left out."""
        query, origins = self._request.query, self._reach.filters.origins

        def read() -> list[ContextCandidate]:
            unread = [turn for turn in turns if turn.event is None]
            events = {(turn.store, turn.seq): turn.event for turn in turns if turn.event is not None}
            for store in dict.fromkeys(turn.store for turn in unread):
                seqs = [turn.seq for turn in unread if turn.store is store]
                read = conversation_search.events_of(store, seqs)
                events.update(((store, seq), event) for seq, event in read.items())
            titles = self._titles(events)
            found = []
            for turn in turns:
                event = events.get((turn.store, turn.seq))
                if event is not None and event.origin in origins:
                    item = context_filling.turn_item(event, query, self._closed, titles.get(event.conversation_id, ""))
                    value = turn.value * (context_filling.OUTDATED if item.outdated else 1.0)
                    found.append(ContextCandidate(value, (item,), turn.seq, turn.before))
            return found

        return self._part(EARLIER, read)

    def _titles(self, events: Mapping[tuple[Store, int], Event]) -> Mapping[str | None, str]:
        """Return the titles of conversations that were imported with one."""
        titles = self._unchanged().titles
        unknown = {(store, event.conversation_id) for (store, _), event in events.items()}
        unknown = {one for one in unknown if one[1] not in titles}
        for store in dict.fromkeys(store for store, _ in unknown):
            asked = sorted(str(one) for place, one in unknown if place is store)
            titles.update(conversation_search.imported_titles(store, asked))
        return titles

    def _standing(self) -> Sequence[Item]:
        """Return standing rules, preferences and notes of the account; without a command, near notes as well."""
        asked = self._asked

        def kept() -> Sequence[Item]:
            known = self._unchanged().rules
            if asked not in known:
                known[asked] = context_rules.standing(self._reach, self._request, asked)
            return known[asked]

        return self._part(NOTES, kept)

    def _rules(self, fixed: Sequence[RenderedSection], standing: Sequence[Item]) -> list[Item]:
        """Return those of the standing notes that a share of the budget holds, with their pairs."""
        shown = _shown(fixed)
        found = {item.entry_id: item for item in standing if item.entry_id not in shown}
        chosen, room = list[Item](), RULES_SHARE * self._profile.budget
        for item in found.values():
            room -= text.token_weight(item.text) + RULE_FRAME
            if room < 0 or len(chosen) == self._profile.notes:
                break
            chosen.append(item)
        chosen.sort(key=lambda item: item.at or 0)
        return [*self._part(NOTES, lambda: self._pairs.beside(chosen))]

    def _recovery(self, handed: Sequence[Item]) -> list[Item]:
        """Return the last messages of the previous session; the caller already has those of the current one.

        Return nothing if that session has ended and its hand-off is in the context: there is nothing to recover.
        """
        store, most = self._store, self._profile.recovery
        found = checkpoints.last_messages(store, self._request.now, most, beside=self._beside) if most else None
        if found is None:
            return []
        info, events = found
        if handed and info.status is not Status.ACTIVE:
            with store.read() as tx:
                own = {row[0] for row in tx.all("history.handoffs_of", conversation=info.id, since=info.started_at)}
            if own & {item.entry_id for item in handed}:
                return []
        return [
            Item(
                text=f"[{'user' if event.type is EventType.USER else 'agent'}]: "
                f"{one_line(event.content)[:MESSAGE_LENGTH]}",
                at=event.created_at,
                origin=event.origin,
            )
            for event in events
        ]


def _shown(fixed: Sequence[RenderedSection]) -> set[str | None]:
    """Return the ids of the entries in the sections."""
    return {item.entry_id for one in fixed for item in one.section.items}


def _window(store: Store, conversation: str | None) -> set[int]:
    """Return the numbers of the events that are in the prompt of the conversation already."""
    if conversation is None:
        return set()
    with store.read() as tx:
        return {event.seq for lane in Lane for event in lanes.window(tx, conversation, lane)[1]}


def _project(store: Store, shared: Store) -> list[Item]:
    """Return the project description in full, whatever its length.

    The workspace's description is trusted operator text. An agent's own note of that name, as older versions stored
    it, is untrusted: it may contain any text that reached the agent.
    """
    if (note := project.find(shared)) is not None:
        return [replace(item_of(note, note.content), operator=True)]
    own = project.find(store)
    return [] if own is None else [item_of(own, own.content)]


def _excerpt(content: str, query: str) -> str:
    """Return a text in full if it is short, else a snippet with ellipses where text was cut."""
    content = content.strip()
    if len(content) <= FULL_LENGTH:
        return content
    snippet = text.snippet(content, query)
    start, end = content.startswith(snippet), content.endswith(snippet)
    return f"{'' if start else '… '}{snippet}{'' if end else ' …'}"


def _tasks(reach: Reach) -> list[Item]:
    """Return every line with an open checkbox, and the newest tasks without any checkbox; oldest note first."""
    boxed = [
        replace(note, text=line.strip())
        for note in reversed(reach.newest("context.newest", TASKS_READ, category=str(Category.TASKS), needle=OPEN))
        for line in note.text.splitlines()
        if OPEN in line
    ]
    plain = reversed(reach.newest("context.unboxed", UNBOXED))
    unboxed = [replace(note, text=f"{OPEN} {beginning(note.text)}") for note in plain]
    return sorted([*boxed, *unboxed], key=lambda note: note.at or 0)
