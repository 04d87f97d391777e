"""The block of text that a new session starts with: selected, trimmed to a token budget, and safe to put in a prompt.

The argument. A new session needs what a colleague needs who takes over: what the project is, where the last session
stopped, decisions and lessons about the task at hand, open tasks, and what was remembered or said about it before.
Decisions and lessons are recalled with the command as the query, or are the newest if the command is empty; project,
hand-off and tasks are always the newest. Over budget, lessons are dropped first, then decisions and the hand-off, but
never the project or a task. The rest of the budget is filled with standing rules, which hold whatever the command is,
and with the notes and turns that answer it; see `context_filling`.

Memory is data: items enter the block through `Section.lines()`, which fences them (see `recollect.fencing`). Output is
deterministic, so that a prompt cache stays warm. A section that fails is omitted and listed in `failed`, never raised.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from recollect import fencing, standing_rules, text
from recollect.engine import access_policy, context_filling, conversation_search, conversations, project
from recollect.engine.agent_store import Store
from recollect.engine.context_filling import ContextCandidate
from recollect.engine.insights import COMPACTED
from recollect.engine.recall import Request, query_vector, recall, recall_each
from recollect.errors import Invalid, RecollectError, Unavailable
from recollect.model.context import (
    DECISIONS,
    EARLIER,
    HANDOFF,
    HEADINGS,
    LESSONS,
    NOTES,
    ORIENTATION,
    PROJECT,
    RECOVERY,
    TASKS,
    TITLE,
    UNANSWERED_LINE,
    Context,
    Item,
    OrientationDocument,
    Profile,
    Section,
)
from recollect.model.entry import Category, Entry, Kind, Origin, Scope, State
from recollect.model.filters import Filters
from recollect.model.history import Lane, Status
from recollect.model.recall import UNANSWERED, Hit
from recollect.providers.base import LanguageModel, complete, json_object, prompt
from recollect.search.duplicates import wording
from recollect.search.ranking import DecayConfig
from recollect.storage import entries, reviews
from recollect.storage.counters import Counters
from recollect.storage.database import Row, Transaction

__all__ = ["HEADINGS", "build", "orient"]

FULL_LENGTH = 300
"""Length in characters up to which a decision or lesson is shown in full; extracted ones are never longer."""
MESSAGE_LENGTH = 100
TASKS_READ = 1_000
UNBOXED = 20
"""Maximum number of tasks without a checkbox; tasks are never trimmed."""
OPEN = "[ ]"
CHUNK = 500
TRIMMED = (LESSONS, DECISIONS, HANDOFF)
"""Fixed sections that are trimmed to the budget, in this order."""
NARROWED = (DECISIONS, LESSONS, NOTES)
"""Sections that a model may narrow."""
HANDOFF_SHARE = 0.1
"""Share of the budget for the hand-off, if there is more to tell than fits; the end of a longer one is kept."""
UNLIKELY_SHARE = 0.25
"""Share of the budget for what was found, if it is not likely to answer the command."""
RULES_SHARE = 0.25
"""Share of the budget for standing rules and preferences."""
RULES_READ = 50
"""Number of entries with words of a rule that are looked at."""
NOTES_AMONG = 1_000
"""Number of newest entries that are searched for notes by their scope, which no index has."""
PHRASE_AMONG = 300
"""Number of newest entries that are searched for a phrase of stop words, which no index has either."""
NOTE_TOKENS, TURN_TOKENS = 80, 15
"""Small sizes: so many notes and turns are read as the budget could hold, and a few more."""
CHARACTERS = 4.5
"""Characters per token, for a comparison that needs no estimate."""
MARGIN = 3
"""Tokens that are left free, because the estimates of lines do not add up exactly."""
MINUTE = 60_000
RULE_FRAME = 12
"""Tokens of the date and source of a rule."""
FRAME = text.token_weight(f"## {TITLE}\n---\n")
"""Tokens of the first and last line of a block."""
NOTICE = text.token_weight(f"{UNANSWERED_LINE}\n")
TOLD_LENGTH = 20_000
"""Number of leading characters of an item that later items are compared with."""
GATE_SECONDS = 5.0
_DERIVED = (Category.HANDOFFS, Category.PROJECTS)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Reach:
    """What the caller may read: its stores, its own store of the workspace first, and the filters that apply."""

    stores: Sequence[Store]
    filters: Filters

    def newest(self, query: str, limit: int, **values: object) -> list[Item]:
        """Run a named query on all stores and return the newest items."""
        found: list[Item] = []
        for store in self.stores:
            seen = access_policy.narrowed(self.filters, store, self.stores[0].agent)
            with store.read() as tx:
                rows = tx.all(
                    query,
                    scopes=[str(scope) for scope in seen.scopes],
                    conversation=seen.conversation,
                    channel=seen.channel,
                    now=seen.current_at,
                    origins=[str(origin) for origin in seen.origins],
                    limit=limit,
                    **values,
                )
                found += _items(tx, rows)
        return sorted(found, key=lambda item: (item.at or 0, item.entry_id or ""), reverse=True)[:limit]


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
        raise Invalid(f"a budget is 0 tokens or more, not {profile.budget}")
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
    )
    return _Building(_Reach(stores, filters), shared, profile, request, beside=conversation).context()


class _Building:
    """One context while it is built: what was found for the command, and which parts failed."""

    def __init__(self, reach: _Reach, shared: Store, profile: Profile, request: Request, *, beside: str | None) -> None:
        self._reach, self._shared, self._profile, self._request = reach, shared, profile, request
        self._store, self._beside = reach.stores[0], beside
        self._asked = bool(request.query.strip())
        self._failed: list[str] = []
        self._confidences: list[float] = []
        self._closed: list[str] = []
        self._current: list[Hit] = []
        self._unchanged: dict[str, Sequence[Item]] | None = None

    def context(self) -> Context:
        """Select the items, fill the budget and join the sections."""
        profile = self._profile
        if self._asked and profile.notes:
            self._recall_notes()
        fixed = self._fixed()
        least = self._least_room(fixed)
        notes, turns = self._notes(fixed, least), self._turns(least)
        searched = self._asked and bool(profile.decisions or profile.lessons or profile.notes or profile.turns)
        answered = not searched or bool(self._failed) or any(one >= UNANSWERED for one in self._confidences)
        candidates = context_filling.ranking(notes, turns)
        rules = self._rules(fixed)
        whole, left_out, used = _trimmed(fixed, profile.budget, answered)
        wanted = [*rules, *(one.items[0] for one in candidates)]
        if profile.budget - used < sum(len(item.text) for item in wanted) / CHARACTERS:
            shorter = _with_shorter_handoff(whole, HANDOFF_SHARE * profile.budget)
            used += sum(map(_weight, shorter[1:2])) - sum(
                map(_weight, whole[1:2])
            )  # the hand-off is the second section
            whole = shorter
        stated = [item for section in whole if section.name in (DECISIONS, LESSONS) for item in section.items]
        room = self._room(used, answered)
        filling = context_filling.fill(candidates, rules, room, stated=stated, quoted=_quoted(whole))
        whole = _without_told(whole, filling.stated)
        sections = _placed(whole, Section(name=NOTES, items=filling.notes), Section(name=EARLIER, items=filling.turns))
        block = _joined([_lines(section) for section in sections], answered)
        return Context(
            text=block,
            tokens=text.estimate_tokens(block),
            sections=tuple(section for section in sections if section.items),
            dropped=left_out + filling.dropped,
            failed=tuple(self._failed),
            answered=answered,
        )

    def _room(self, used: float, answered: bool) -> float:
        """Return how many tokens the fixed sections leave; less if what was found is not likely to answer."""
        left = self._profile.budget - used - MARGIN
        return left if answered else min(left, UNLIKELY_SHARE * self._profile.budget)

    def _least_room(self, fixed: Sequence[Section]) -> float:
        """Return how many tokens are left at most beside what is never trimmed."""
        kept = [section for section in fixed if section.name not in TRIMMED]
        return self._profile.budget - sum(_weight(section) for section in kept) - FRAME

    def _part(self, name: str, find: Callable[[], Sequence[T]]) -> Sequence[T]:
        """Return what a part finds; nothing, and the reason in `failed`, if it cannot be read."""
        try:
            return find()
        except (RecollectError, OSError) as error:
            self._failed.append(f"{name}: {error}")
            return ()

    def _section(self, name: str, find: Callable[[], Sequence[Item]]) -> Section:
        origins = self._reach.filters.origins
        items = (item for item in self._part(name, find) if item.operator or item.origin in origins)
        return Section(name=name, items=tuple(items))

    def _kept(self, name: str, find: Callable[[], Sequence[Item]]) -> Sequence[Item]:
        """Return what does not depend on the command; it is looked up again after a write."""
        if self._unchanged is None:
            self._unchanged = _unchanged(self._reach, self._request.now)
        if name not in self._unchanged:
            self._unchanged[name] = find()
        return self._unchanged[name]

    def _fixed(self) -> list[Section]:
        profile, reach, store = self._profile, self._reach, self._store

        @cache  # exceptions are not cached, so each section reports the failure
        def found() -> dict[Category, list[Item]]:
            limits = {Category.DECISIONS: profile.decisions, Category.LESSONS: profile.lessons}
            return self._categories(limits)

        now = self._request.now
        origins = reach.filters.origins
        handoff = self._section(
            HANDOFF, lambda: self._kept(HANDOFF, lambda: _handoff(store, origins)) if profile.handoff else ()
        )
        return [
            self._section(
                PROJECT, lambda: self._kept(PROJECT, lambda: _project(store, self._shared)) if profile.project else ()
            ),
            handoff,
            self._section(
                DECISIONS, lambda: _in_pairs(reach, found()[Category.DECISIONS]) if profile.decisions else ()
            ),
            self._section(LESSONS, lambda: _in_pairs(reach, found()[Category.LESSONS]) if profile.lessons else ()),
            self._section(TASKS, lambda: self._kept(TASKS, lambda: _tasks(reach)) if profile.tasks else ()),
            self._section(RECOVERY, lambda: _recovery(store, profile, now, self._beside, handoff.items)),
        ]

    def _categories(self, limits: Mapping[Category, int]) -> dict[Category, list[Item]]:
        """Return the items of each category."""
        reach, request = self._reach, self._request
        if not self._asked:
            return {
                category: _shortened(reach.newest("context.newest", limit, category=str(category), needle=None))
                for category, limit in limits.items()
            }
        chosen = {
            category: [hit for hit in self._current if hit.entry.category is category][:limit]
            for category, limit in limits.items()
        }
        # Few of a category are among the notes that were found, or an entry of another one says the same.
        rest = {category: limit for category, limit in limits.items() if len(chosen[category]) < limit}
        if rest and max(rest.values()):
            hits = recall_each(reach.stores, replace(request, limit=max(rest.values())), rest)
            chosen |= {category: [hit for _, hit in hits[category]] for category in rest}
        self._confidences += [hit.confidence for found in chosen.values() for hit in found[:1]]
        return {category: [_item(hit.entry, _excerpt(hit)) for hit in found] for category, found in chosen.items()}

    def _recall_notes(self) -> None:
        """Find the notes for the command; also those that no longer hold, because turns may state the same."""
        filters = replace(self._reach.filters, kinds=(Kind.NOTE,), current_at=None)
        limit = min(self._profile.notes, self._profile.budget // NOTE_TOKENS + 5)
        request = replace(self._request, filters=filters, limit=limit)
        hits = [hit for _, hit in self._part(NOTES, lambda: recall(self._reach.stores, request))]
        self._current = [hit for hit in hits if hit.entry.state_at(request.now) is State.CURRENT]
        if len(self._current) < len(hits):
            holding = {hit.entry.id for hit in self._current}
            self._closed += [wording(hit.entry.content) for hit in hits if hit.entry.id not in holding]
        self._confidences += [hit.confidence for hit in self._current[:1]]

    def _notes(self, fixed: Sequence[Section], room: float) -> list[ContextCandidate]:
        """Return the notes that answer the command, with those that wait for review beside them."""
        if not self._current or room <= 0:
            return []
        shown = {item.entry_id for section in fixed for item in section.items}
        unwanted = self._unwanted()
        best = self._current[0].score or 1.0
        chosen = [
            hit.entry
            for hit in self._current
            if hit.entry.id not in shown and hit.entry.category not in unwanted and not _is_told_elsewhere(hit.entry)
        ]
        values = {hit.entry.id: hit.confidence * hit.score / best for hit in self._current}
        query = self._request.query
        items = [_item(entry, context_filling.passage(entry.content, query)) for entry in chosen]
        found: list[ContextCandidate] = []
        for item in self._part(NOTES, lambda: _in_pairs(self._reach, items)):
            value = context_filling.CURATED * values.get(str(item.entry_id), 0.0)
            if item.beside is not None and found:
                found[-1] = ContextCandidate(max(found[-1].value, value), (*found[-1].items, item))
            else:
                found.append(ContextCandidate(value, (item,)))
        new = [one for one in found if shown.isdisjoint(item.entry_id for item in one.items)]
        return context_filling.with_few_kept(new, query)

    def _unwanted(self) -> set[Category]:
        """Return the categories that the profile leaves out."""
        limits = {Category.DECISIONS: self._profile.decisions, Category.LESSONS: self._profile.lessons}
        return {category for category, limit in limits.items() if not limit}

    def _turns(self, room: float) -> list[ContextCandidate]:
        """Return the turns that answer the command: of the agent's own conversations, and of past ones of `_shared`."""
        if not (self._asked and self._profile.turns and room > 0):
            return []
        limit = min(self._profile.turns, int(room // TURN_TOKENS) + 8, conversation_search.LIMIT)
        return [*self._part(EARLIER, lambda: self._turns_found(limit))]

    def _turns_found(self, limit: int) -> list[ContextCandidate]:
        query, own = self._request.query, self._store
        vector = query_vector(own, query)
        found: list[ContextCandidate] = []
        for store in (own,) if own is self._shared else (own, self._shared):
            statuses = None if store is own else access_policy.PAST
            inside = _window(store, self._beside) if store is own else ()
            turns, confidence = conversation_search.ranked(
                store, query, limit=limit, vector=vector, statuses=statuses, without=inside
            )
            self._confidences += [confidence] if turns else []
            for turn in turns:
                item = context_filling.turn_item(turn.event, query, self._closed)
                if item.origin in self._reach.filters.origins:
                    value = confidence * turn.score / (turns[0].score or 1.0)
                    value *= context_filling.OUTDATED if item.outdated else 1.0
                    found.append(ContextCandidate(value, (item,), turn.event.seq, turn.before))
        return found

    def _rules(self, fixed: Sequence[Section]) -> list[Item]:
        """Return standing rules, preferences and notes of the account; without a command, near notes as well."""
        if not self._profile.notes:
            return []
        reach, request, asked = self._reach, self._request, self._asked
        shown = {item.entry_id for section in fixed for item in section.items}
        found = {
            item.entry_id: item
            for item in self._part(
                NOTES, lambda: self._kept(f"rules, {asked=}", lambda: _standing(reach, request, asked))
            )
            if item.entry_id not in shown
        }
        chosen, room = list[Item](), RULES_SHARE * self._profile.budget
        for item in found.values():
            room -= text.token_weight(item.text) + RULE_FRAME
            if room < 0 or len(chosen) == self._profile.notes:
                break
            chosen.append(item)
        return [*self._part(NOTES, lambda: _in_pairs(self._reach, sorted(chosen, key=lambda item: item.at or 0)))]


def _unchanged(reach: _Reach, now: int) -> dict[str, Sequence[Item]]:
    """Return the cache of what does not depend on the command.

    It is empty after a write to one of the stores, and a minute later, because an entry may expire.
    """
    own, written = reach.stores[0], []
    for store in reach.stores:
        with store.read() as tx:
            written.append((tx.generation, Counters.get(tx).operations))
    key = (tuple(written), replace(reach.filters, current_at=None), now // MINUTE)
    if own.unchanged is None or own.unchanged[0] != key:
        own.unchanged = key, {}
    return own.unchanged[1]


def _standing(reach: _Reach, request: Request, asked: bool) -> tuple[Item, ...]:
    """Return notes that hold whatever the command is, those of the account first, then the newest first."""
    scopes = (Scope.ACCOUNT,) if asked else tuple(scope for scope in Scope if scope is not Scope.WORKSPACE)
    near = replace(reach, filters=replace(reach.filters, scopes=scopes))
    notes = _shortened(near.newest("context.notes", RULES_READ, among=NOTES_AMONG))
    phrases = reach.newest("context.phrase", RULES_READ, among=PHRASE_AMONG, needle=standing_rules.PHRASE)
    filters = replace(reach.filters, kinds=(Kind.NOTE,))
    hits = recall(
        reach.stores,
        replace(request, query=standing_rules.QUERY, mode="keyword", limit=RULES_READ, filters=filters),
    )
    entries_found = (hit.entry for _, hit in hits)
    rules = [
        _item(entry, entry.content)
        for entry in entries_found
        if entry.category not in (Category.TASKS, *_DERIVED) and not _is_told_elsewhere(entry)
    ]
    stated = [item for item in (*phrases, *rules) if standing_rules.is_rule(item.text)]
    stated.sort(key=lambda item: (item.at or 0, item.entry_id or ""), reverse=True)
    shortened = (replace(item, text=context_filling.passage(item.text, standing_rules.QUERY)) for item in stated)
    return (*notes, *shortened)


def _is_told_elsewhere(entry: Entry) -> bool:
    """Return whether an entry is the project, or a hand-off made from turns, which the journal has."""
    made = entry.category in _DERIVED and (entry.conversation_id is not None or COMPACTED in entry.tags)
    return made or entry.name in project.NAMES


def _window(store: Store, conversation: str | None) -> set[int]:
    """Return the numbers of the events that are in the prompt of the conversation already."""
    if conversation is None:
        return set()
    with store.read() as tx:
        return {event.seq for lane in Lane for event in conversations.window(tx, conversation, lane)[1]}


def _quoted(fixed: Sequence[Section]) -> list[str]:
    """Return the messages that the fixed sections quote, without their labels."""
    quoting = (section for section in fixed if section.name in (HANDOFF, RECOVERY))
    texts = [item.text[:TOLD_LENGTH] for section in quoting for item in section.items]
    return [context_filling.split_label(line)[1] for one in texts for line in one.splitlines()]


def _without_told(sections: Sequence[Section], stated: str) -> list[Section]:
    """Return the sections with a hand-off that does not repeat what entries state."""
    found = []
    for section in sections:
        if section.name == HANDOFF:
            left = (replace(item, text=context_filling.without_told(item.text, stated)) for item in section.items)
            section = replace(section, items=tuple(item for item in left if item.text))
        found.append(section)
    return found


def _with_shorter_handoff(sections: Sequence[Section], tokens: float) -> list[Section]:
    """Return the sections with the end of the hand-off that fits."""
    return [
        replace(section, items=tuple(replace(item, text=_ending(item.text, tokens)) for item in section.items))
        if section.name == HANDOFF
        else section
        for section in sections
    ]


def _ending(content: str, tokens: float) -> str:
    """Return the last lines of a text that fit, at least one; `…` stands for the others."""
    lines = content.strip().splitlines()
    kept: list[str] = []
    for line in reversed(lines):
        tokens -= text.token_weight(line) + 2
        if kept and tokens < 0:
            break
        kept.append(line)
    return "\n".join([*(["…"] if len(kept) < len(lines) else []), *reversed(kept)])


def _placed(fixed: Sequence[Section], notes: Section, turns: Section) -> list[Section]:
    """Return all sections in the order of the block."""
    order = {name: place for place, name in enumerate(HEADINGS)}
    return sorted([*fixed, notes, turns], key=lambda section: order[section.name])


def orient(context: Context, command: str, model: LanguageModel | None) -> OrientationDocument:
    """Render the context as markdown. A model, if given, is called once, with a short timeout, to narrow it."""
    narrowed = context
    if model is not None:
        narrowed = _refined(context, command, model)
    lines = [f"# {ORIENTATION}", *(() if narrowed.answered else ("", UNANSWERED_LINE))]
    for section in narrowed.sections:
        lines += ["", f"## {section.name}", "", *section.lines()]
    markdown = "\n".join(lines) + "\n" if narrowed.sections else ""
    return OrientationDocument(markdown=markdown, context=narrowed, refined=narrowed is not context)


def _refined(context: Context, command: str, model: LanguageModel) -> Context:
    """Return the context with the decisions, lessons and notes that a model keeps; unchanged if the model fails."""
    chosen = [item for section in context.sections if section.name in NARROWED for item in section.items]
    if not chosen:
        return context
    listed = "\n".join(f"{number}. {fencing.one_line(item.text)}" for number, item in enumerate(chosen, 1))
    schema = {
        "type": "object",
        "required": ["keep"],
        "additionalProperties": False,
        "properties": {"keep": {"type": "array", "items": {"type": "integer"}}},
    }
    asked = [
        {"role": "system", "content": prompt("refine")},
        {"role": "user", "content": f"The task:\n{fencing.quoted(command)}\n\nThe memories:\n{listed}"},
    ]
    try:
        answer = json_object(complete(model, asked, schema=schema, timeout=GATE_SECONDS)).get("keep")
    except Unavailable:
        return context
    if not isinstance(answer, list) or not all(isinstance(number, int) for number in answer):
        return context
    kept = {number for number in answer if 1 <= number <= len(chosen)}
    for number, item in enumerate(chosen, 1):
        if item.beside is not None and kept & {number - 1, number}:
            kept |= {number - 1, number}
    if len(kept) == len(chosen):
        return context
    left = {id(item) for number, item in enumerate(chosen, 1) if number not in kept}
    sections = [
        replace(section, items=tuple(item for item in section.items if id(item) not in left))
        for section in context.sections
    ]
    block = _joined([_lines(section) for section in sections], context.answered)
    return replace(
        context,
        text=block,
        tokens=text.estimate_tokens(block),
        dropped=context.dropped + len(left),
        sections=tuple(section for section in sections if section.items),
    )


# What is chosen


def _project(store: Store, shared: Store) -> list[Item]:
    """Return the project description in full, whatever its length.

    The workspace's description is trusted operator text. An agent's own note of that name, as older versions stored
    it, is untrusted: it may contain any text that reached the agent.
    """
    if (note := project.find(shared)) is not None:
        return [replace(_item(note, note.content), operator=True)]
    own = project.find(store)
    return [] if own is None else [_item(own, own.content)]


def _handoff(store: Store, origins: Sequence[Origin]) -> list[Item]:
    """Return the newest hand-off; one that upkeep compacted from older ones only if there is no other."""
    with store.read() as tx:
        return _items(tx, tx.all("context.handoffs", origins=[str(origin) for origin in origins]))


def _in_pairs(reach: _Reach, items: Sequence[Item]) -> list[Item]:
    """Return the items, each followed or preceded by the other one of an open pair for review, the newer one first."""
    if not items:
        return []
    others = {item.entry_id: item for item in items}
    partners: dict[str | None, Item] = {}
    for store in reach.stores:
        with store.read() as tx:
            pairs = reviews.open_of(tx, [item.entry_id for item in items if item.entry_id])
            ids = [entry_id for pair in pairs for entry_id in (pair.older_id, pair.newer_id)]
            known = entries.stored(tx, ids) if ids else {}
            for pair in pairs:
                for entry_id in (pair.older_id, pair.newer_id):
                    other = known.get(pair.other(entry_id))
                    if other is not None and _is_shown(reach, tx, other.entry):
                        partners[entry_id] = others.get(other.entry.id) or _item(
                            other.entry, _beginning(other.entry.content)
                        )
    chosen, done = list[Item](), set[str | None]()
    for item in items:
        other_item = partners.get(item.entry_id)
        if item.entry_id in done:
            continue
        if other_item is None or other_item.entry_id in done:
            chosen.append(item)
        else:
            newer, older = sorted((item, other_item), key=lambda one: (one.at or 0, one.entry_id or ""), reverse=True)
            chosen += [newer, replace(older, beside=newer.entry_id)]
            done.add(other_item.entry_id)
        done.add(item.entry_id)
    return chosen


def _is_shown(reach: _Reach, tx: Transaction, entry: Entry) -> bool:
    now = reach.filters.current_at or 0
    return entry.state_at(now) is State.CURRENT and access_policy.shows(tx, entry, reach.stores[0].agent)


def _shortened(notes: Sequence[Item]) -> list[Item]:
    return [replace(note, text=_beginning(note.text)) for note in notes]


def _excerpt(hit: Hit) -> str:
    """Return the text of a hit in full if it is short, else its snippet with ellipses where text was cut."""
    content = hit.entry.content.strip()
    if len(content) <= FULL_LENGTH:
        return content
    start, end = content.startswith(hit.snippet), content.endswith(hit.snippet)
    return f"{'' if start else '… '}{hit.snippet}{'' if end else ' …'}"


def _beginning(content: str) -> str:
    content = _one_line(content)
    return content if len(content) <= FULL_LENGTH else f"{text.snippet(content, '', FULL_LENGTH)} …"


def _tasks(reach: _Reach) -> list[Item]:
    """Return every line with an open checkbox, and the newest tasks without any checkbox; oldest note first."""
    boxed = [
        replace(note, text=line.strip())
        for note in reversed(reach.newest("context.newest", TASKS_READ, category=str(Category.TASKS), needle=OPEN))
        for line in note.text.splitlines()
        if OPEN in line
    ]
    plain = reversed(reach.newest("context.unboxed", UNBOXED))
    unboxed = [replace(note, text=f"{OPEN} {_beginning(note.text)}") for note in plain]
    return sorted([*boxed, *unboxed], key=lambda note: note.at or 0)


def _recovery(store: Store, profile: Profile, now: int, conversation: str | None, handed: Sequence[Item]) -> list[Item]:
    """Return the last messages of the previous session; the caller already has those of the current one.

    Return nothing if that session has ended and its hand-off is in the context: there is nothing to recover.
    """
    found = conversations.recover(store, now, beside=conversation) if profile.recovery else None
    if found is None:
        return []
    info = found.conversation
    if handed and info.status is not Status.ACTIVE:
        with store.read() as tx:
            own = {row[0] for row in tx.all("history.handoffs_of", conversation=info.id, since=info.started_at)}
        if own & {item.entry_id for item in handed}:
            return []
    return [
        Item(
            text=f"[{message['role']}]: {_one_line(message['text'])[:MESSAGE_LENGTH]}",
            at=event.created_at,
            origin=event.origin,
        )
        for event, message in zip(found.events, found.messages, strict=True)
    ][-profile.recovery :]


def _items(tx: Transaction, rows: Sequence[Row]) -> list[Item]:
    named: dict[str, str] = {}
    for start in range(0, len(rows), CHUNK):
        for entry_id, name, canonical in tx.all("names.of", ids=[row[0] for row in rows[start : start + CHUNK]]):
            named |= {entry_id: name} if canonical else {}
    return [
        Item(text=content, at=at, source=source, entry_id=entry_id, name=named.get(entry_id), origin=Origin(origin))
        for entry_id, content, at, source, origin in rows
    ]


def _item(entry: Entry, content: str) -> Item:
    return Item(
        text=content,
        at=entry.created_at,
        source=entry.source,
        entry_id=entry.id,
        name=entry.name,
        origin=entry.origin,
    )


# The block


def _trimmed(sections: Sequence[Section], budget: int, answered: bool) -> tuple[list[Section], int, float]:
    """Trim the fixed sections to the budget, last items first.

    Return them, the number of items dropped, and the tokens of the block.
    """
    left, dropped = list(sections), 0
    weights = [_weight(section) for section in sections]

    def used() -> float:
        return sum(weights) + FRAME + (0 if answered else NOTICE) if any(weights) else 0.0

    for name in TRIMMED:
        place = next(n for n, section in enumerate(left) if section.name == name)
        while left[place].items and used() > budget:
            gone = 2 if left[place].items[-1].beside is not None else 1
            left[place] = replace(left[place], items=left[place].items[:-gone])
            weights[place] = _weight(left[place])
            dropped += gone
    return left, dropped, used() or FRAME


def _weight(section: Section) -> float:
    """Return the tokens of a section."""
    return text.token_weight("\n".join([*_lines(section), ""])) if section.items else 0.0


def _joined(parts: Sequence[Sequence[str]], answered: bool) -> str:
    lines = [line for part in parts for line in part]
    notice = () if answered else (UNANSWERED_LINE,)
    return "\n".join([f"## {TITLE}", *notice, *lines, "---", ""]) if lines else ""


def _lines(section: Section) -> list[str]:
    """Render a section as lines, heading first; an empty section has none."""
    return [f"{section.name}:", *section.lines()] if section.items else []


def _one_line(content: str) -> str:
    return " ".join(content.split())
