"""The block of text that a new session starts with: selected, trimmed to a token budget, and safe to put in a prompt.

The argument. A new session needs what a colleague needs who takes over: what the project is, where the last session
stopped, decisions and lessons about the task at hand, open tasks. Decisions, lessons and notes are recalled with the
command as the query, or are the newest if the command is empty; the rest is always the newest. Over budget, notes are
dropped first, then lessons, decisions and the hand-off, but never the project or a task.

Memory is data: items enter the block through `Section.lines()`, which fences them (see `recollect.fencing`). Output is
deterministic, so that a prompt cache stays warm. A section that fails is omitted and listed in `failed`, never raised.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from recollect import fencing, text
from recollect.engine import access_policy, conversations, project
from recollect.engine.agent_store import Store
from recollect.engine.recall import Request, recall, recall_each
from recollect.errors import Invalid, RecollectError, Unavailable
from recollect.model.context import (
    DECISIONS,
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
from recollect.model.history import Status
from recollect.model.recall import UNANSWERED, Hit
from recollect.providers.base import LanguageModel, complete, json_object, prompt
from recollect.search.ranking import DecayConfig
from recollect.storage import entries, reviews
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
TRIMMED = (NOTES, LESSONS, DECISIONS, HANDOFF)
"""Sections that are trimmed to the budget, in this order."""
NARROWED = (DECISIONS, LESSONS, NOTES)
"""Sections that a model may narrow."""
NOTES_READ = 20
"""Number of hits for the command that are searched for notes of account, channel or conversation scope."""
NOTES_AMONG = 1_000
"""Number of newest entries that are searched for notes if the command is empty."""
GATE_SECONDS = 5.0


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
    store = stores[0]
    filters = Filters.checked(conversation=conversation, channel=channel, current_at=now, min_origin=profile.min_origin)
    reach = _Reach(stores, filters)
    request = Request(
        query=command, limit=NOTES_READ, mode="hybrid", fusion="weighted", decay=decay, now=now, filters=reach.filters
    )
    failed: list[str] = []
    hits: list[Hit] = []

    def part(name: str, find: Callable[[], Sequence[Item]]) -> Section:
        try:
            items = (item for item in find() if item.operator or item.origin in filters.origins)
            return Section(name=name, items=tuple(items))
        except (RecollectError, OSError) as error:
            failed.append(f"{name}: {error}")
            return Section(name=name, items=())

    @cache  # exceptions are not cached, so each section reports the failure
    def found() -> dict[Category, list[Item]]:
        limits = {Category.DECISIONS: profile.decisions, Category.LESSONS: profile.lessons}
        return _found(reach, request, limits, hits)

    handoff = part(HANDOFF, lambda: _handoff(store, reach.filters.origins) if profile.handoff else ())
    sections = [
        part(PROJECT, lambda: _project(store, shared) if profile.project else ()),
        handoff,
        part(DECISIONS, lambda: _in_pairs(reach, found()[Category.DECISIONS]) if profile.decisions else ()),
        part(LESSONS, lambda: _in_pairs(reach, found()[Category.LESSONS]) if profile.lessons else ()),
        part(TASKS, lambda: _tasks(reach) if profile.tasks else ()),
        part(NOTES, lambda: _in_pairs(reach, _notes(reach, request, profile.notes, hits)) if profile.notes else ()),
        part(RECOVERY, lambda: _recovery(store, profile, now, conversation, handoff.items)),
    ]
    searched = bool(command.strip() and (profile.decisions or profile.lessons or profile.notes)) and not failed
    answered = not searched or any(hit.confidence >= UNANSWERED for hit in hits)
    sections, dropped, block = _trimmed(sections, profile.budget, answered)
    return Context(
        text=block,
        tokens=text.estimate_tokens(block),
        sections=tuple(section for section in sections if section.items),
        dropped=dropped,
        failed=tuple(failed),
        answered=answered,
    )


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


def _found(
    reach: _Reach, request: Request, limits: Mapping[Category, int], seen: list[Hit]
) -> dict[Category, list[Item]]:
    """Return the items of each category; the hits of the command are added to `seen`."""
    if not request.query.strip():
        return {
            category: _shortened(reach.newest("context.newest", limit, category=str(category), needle=None))
            for category, limit in limits.items()
        }
    hits = recall_each(reach.stores, replace(request, limit=max(limits.values())), limits)
    seen += [hit for found in hits.values() for _, hit in found]
    return {category: [_item(hit.entry, _excerpt(hit)) for _, hit in hits[category]] for category in limits}


def _notes(reach: _Reach, request: Request, limit: int, seen: list[Hit]) -> list[Item]:
    """Return notes without a category outside the workspace scope: preferences, and notes of this conversation.

    All notes found for the command are added to `seen`.
    """
    scopes = tuple(scope for scope in Scope if scope is not Scope.WORKSPACE)
    if not request.query.strip():
        near = replace(reach, filters=replace(reach.filters, scopes=scopes))
        return _shortened(near.newest("context.notes", limit, among=NOTES_AMONG))
    hits = recall(reach.stores, replace(request, filters=replace(reach.filters, kinds=(Kind.NOTE,))))
    seen += [hit for _, hit in hits]
    chosen = [hit for _, hit in hits if hit.entry.category is None and hit.entry.scope in scopes]
    return [_item(hit.entry, _excerpt(hit)) for hit in chosen[:limit]]


def _in_pairs(reach: _Reach, items: Sequence[Item]) -> list[Item]:
    """Return the items, each followed or preceded by the other one of an open pair for review, the newer one first."""
    others = {item.entry_id: item for item in items}
    partners: dict[str | None, Item] = {}
    for store in reach.stores:
        with store.read() as tx:
            pairs = reviews.open_of(tx, [item.entry_id for item in items if item.entry_id])
            known = entries.stored(tx, [entry_id for pair in pairs for entry_id in (pair.older_id, pair.newer_id)])
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


def _trimmed(sections: Sequence[Section], budget: int, answered: bool) -> tuple[list[Section], int, str]:
    """Trim sections to the budget, last items first; return them, the number of items dropped, and the block."""
    left, dropped = list(sections), 0
    lines = [_lines(section) for section in sections]
    for name in TRIMMED:
        place = next(n for n, section in enumerate(left) if section.name == name)
        while left[place].items and text.estimate_tokens(_joined(lines, answered)) > budget:
            gone = 2 if left[place].items[-1].beside is not None else 1
            left[place] = replace(left[place], items=left[place].items[:-gone])
            lines[place] = lines[place][:-gone] if left[place].items else []
            dropped += gone
    return left, dropped, _joined(lines, answered)


def _joined(parts: Sequence[Sequence[str]], answered: bool) -> str:
    lines = [line for part in parts for line in part]
    notice = () if answered else (UNANSWERED_LINE,)
    return "\n".join([f"## {TITLE}", *notice, *lines, "---", ""]) if lines else ""


def _lines(section: Section) -> list[str]:
    """Render a section as lines, heading first; an empty section has none."""
    return [f"{section.name}:", *section.lines()] if section.items else []


def _one_line(content: str) -> str:
    return " ".join(content.split())
