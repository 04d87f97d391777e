"""The block of text that a new session starts with: chosen, trimmed to a budget, and safe to put into a prompt.

The argument. What a colleague needs who takes over: what the project is, where the last one stopped, what was decided
and learned about the task at hand, what is open. Decisions and lessons are found by the command, and are the newest as
long as there is none; the rest is the newest. When it is too much, lessons leave first, then decisions, then the
hand-off, but never the project or a task.

Memory is data: items enter the block through `Section.lines()`, which fences them (see `recollect.fencing`). The same
inputs give the same bytes, so that a prompt cache stays warm. A part that fails is left out and named, never raised.
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
    Context,
    Item,
    OrientationDocument,
    Profile,
    Section,
)
from recollect.model.entry import Category, Entry, Kind, Scope
from recollect.model.history import Status
from recollect.model.recall import Filters, Hit
from recollect.providers.base import LanguageModel, complete, json_object, prompt
from recollect.search.ranking import DecayConfig
from recollect.storage.database import Row, Transaction

__all__ = ["HEADINGS", "build", "orient"]

TOLD = 300
"""Characters of a decision or lesson that is told as a whole; those that are taken from conversations have no more."""
MESSAGE_LENGTH = 100
TASKS_READ = 1_000
UNBOXED = 20
"""Tasks without a box that are told: they are never trimmed."""
OPEN = "[ ]"
CHUNK = 500
TRIMMED = (NOTES, LESSONS, DECISIONS, HANDOFF)
"""What leaves over the budget, in this order."""
NARROWED = (DECISIONS, LESSONS, NOTES)
"""What a model may leave out."""
NOTES_READ = 20
"""Of so many hits for the command those that are notes of the account, the channel or the conversation are shown."""
NOTES_AMONG = 1_000
"""Among so many of the newest entries the newest notes are looked for when there is no command."""
GATE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Reach:
    """What the caller may read: its stores, the first of them its own of the workspace, and the scopes in them."""

    stores: Sequence[Store]
    filters: Filters

    def newest(self, query: str, limit: int, **values: object) -> list[Item]:
        """The newest items over all stores that a named query gives."""
        found: list[Item] = []
        for store in self.stores:
            seen = access_policy.narrowed(self.filters, store, self.stores[0].agent)
            with store.read() as tx:
                rows = tx.all(
                    query, scopes=[str(scope) for scope in seen.scopes], conversation=seen.conversation,
                    channel=seen.channel, limit=limit, **values,
                )  # fmt: skip
                found += _items(tx, rows)
        return sorted(found, key=lambda item: (item.at or 0, item.entry_id or ""), reverse=True)[:limit]


def build(
    stores: Sequence[Store], command: str, profile: Profile, *, shared: Store, decay: DecayConfig, now: int,
    conversation: str | None = None, channel: str | None = None,
) -> Context:  # fmt: skip
    """Choose, order and trim. `stores` are those that the agent reads, its own of the workspace first.

    `shared` has the rows that all agents of the workspace share.
    """
    if profile.budget < 0:
        raise Invalid(f"a budget is 0 tokens or more, not {profile.budget}")
    store = stores[0]
    reach = _Reach(stores, Filters(scopes=tuple(Scope), conversation=conversation, channel=channel))
    request = Request(
        query=command, limit=NOTES_READ, mode="hybrid", fusion="weighted", decay=decay, now=now, filters=reach.filters
    )
    failed: list[str] = []

    def part(name: str, find: Callable[[], Sequence[Item]]) -> Section:
        try:
            return Section(name=name, items=tuple(find()))
        except (RecollectError, OSError) as error:
            failed.append(f"{name}: {error}")
            return Section(name=name, items=())

    @cache  # a failure is not kept, so that each section tells of it
    def found() -> dict[Category, list[Item]]:
        limits = {Category.DECISIONS: profile.decisions, Category.LESSONS: profile.lessons}
        return _found(reach, request, limits)

    handoff = part(HANDOFF, lambda: _handoff(store) if profile.handoff else ())
    sections = [
        part(PROJECT, lambda: _project(store, shared) if profile.project else ()),
        handoff,
        part(DECISIONS, lambda: found()[Category.DECISIONS] if profile.decisions else ()),
        part(LESSONS, lambda: found()[Category.LESSONS] if profile.lessons else ()),
        part(TASKS, lambda: _tasks(reach) if profile.tasks else ()),
        part(NOTES, lambda: _notes(reach, request, profile.notes) if profile.notes else ()),
        part(RECOVERY, lambda: _recovery(store, profile, now, conversation, handoff.items)),
    ]
    sections, dropped, block = _trimmed(sections, profile.budget)
    return Context(
        text=block,
        tokens=text.estimate_tokens(block),
        sections=tuple(section for section in sections if section.items),
        dropped=dropped,
        failed=tuple(failed),
    )


def orient(context: Context, command: str, model: LanguageModel | None) -> OrientationDocument:
    """The context as markdown. With a model it is asked once, and not for long, whether all of it is needed."""
    narrowed = context
    if model is not None:
        narrowed = _refined(context, command, model)
    lines = [f"# {ORIENTATION}"]
    for section in narrowed.sections:
        lines += ["", f"## {section.name}", "", *section.lines()]
    markdown = "\n".join(lines) + "\n" if narrowed.sections else ""
    return OrientationDocument(markdown=markdown, context=narrowed, refined=narrowed is not context)


def _refined(context: Context, command: str, model: LanguageModel) -> Context:
    """What a model would keep of the decisions and lessons; everything when it fails or answers nonsense."""
    chosen = [item for section in context.sections if section.name in NARROWED for item in section.items]
    if not chosen:
        return context
    listed = "\n".join(f"{number}. {fencing.one_line(item.text)}" for number, item in enumerate(chosen, 1))
    schema = {
        "type": "object", "required": ["keep"], "additionalProperties": False,
        "properties": {"keep": {"type": "array", "items": {"type": "integer"}}},
    }  # fmt: skip
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
    if len(kept) == len(chosen):
        return context
    left = {id(item) for number, item in enumerate(chosen, 1) if number not in kept}
    sections = [
        replace(section, items=tuple(item for item in section.items if id(item) not in left))
        for section in context.sections
    ]
    block = _block(sections)
    return replace(
        context, text=block, tokens=text.estimate_tokens(block), dropped=context.dropped + len(left),
        sections=tuple(section for section in sections if section.items),
    )  # fmt: skip


# What is chosen


def _project(store: Store, shared: Store) -> list[Item]:
    """What the project is about: the whole text, whatever its length.

    The workspace's text is the operator's. An agent's own note of that name, as older versions kept it, is not: any
    text that reached the agent may be in it.
    """
    if (note := project.find(shared)) is not None:
        return [replace(_item(note, note.content), operator=True)]
    own = project.find(store)
    return [] if own is None else [_item(own, own.content)]


def _handoff(store: Store) -> list[Item]:
    """The newest hand-off that somebody left; one that upkeep made of older ones only when there is no other."""
    with store.read() as tx:
        return _items(tx, tx.all("context.handoffs"))


def _found(reach: _Reach, request: Request, limits: Mapping[Category, int]) -> dict[Category, list[Item]]:
    if not request.query.strip():
        return {
            category: _shortened(reach.newest("context.newest", limit, category=str(category), needle=None))
            for category, limit in limits.items()
        }
    hits = recall_each(reach.stores, replace(request, limit=max(limits.values())), limits)
    return {category: [_item(hit.entry, _told(hit)) for _, hit in hits[category]] for category in limits}


def _notes(reach: _Reach, request: Request, limit: int) -> list[Item]:
    """Notes without a category, of every scope but the workspace: preferences, and what belongs to this talk."""
    scopes = tuple(scope for scope in Scope if scope is not Scope.WORKSPACE)
    if not request.query.strip():
        near = replace(reach, filters=replace(reach.filters, scopes=scopes))
        return _shortened(near.newest("context.notes", limit, among=NOTES_AMONG))
    hits = recall(reach.stores, replace(request, filters=replace(reach.filters, kinds=(Kind.NOTE,))))
    chosen = [hit for _, hit in hits if hit.entry.category is None and hit.entry.scope in scopes]
    return [_item(hit.entry, _told(hit)) for hit in chosen[:limit]]


def _shortened(notes: Sequence[Item]) -> list[Item]:
    return [replace(note, text=_beginning(note.text)) for note in notes]


def _told(hit: Hit) -> str:
    """A decision or lesson as it is told: whole, if it is short; else the part that was found, marked as such."""
    content = hit.entry.content.strip()
    if len(content) <= TOLD:
        return content
    start, end = content.startswith(hit.snippet), content.endswith(hit.snippet)
    return f"{'' if start else '… '}{hit.snippet}{'' if end else ' …'}"


def _beginning(content: str) -> str:
    content = _one_line(content)
    return content if len(content) <= TOLD else f"{text.snippet(content, '', TOLD)} …"


def _tasks(reach: _Reach) -> list[Item]:
    """Every line with an open box, and the newest tasks that have no box at all; oldest note first."""
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
    """The last messages of the last session; what was said in this one, whoever asks knows.

    Nothing where that session came to its end and its hand-off is told: there is nothing to recover from.
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
        Item(text=f"[{message['role']}]: {_one_line(message['text'])[:MESSAGE_LENGTH]}", at=event.created_at)
        for event, message in zip(found.events, found.messages, strict=True)
    ][-profile.recovery :]


def _items(tx: Transaction, rows: Sequence[Row]) -> list[Item]:
    named: dict[str, str] = {}
    for start in range(0, len(rows), CHUNK):
        for entry_id, name, canonical in tx.all("names.of", ids=[row[0] for row in rows[start : start + CHUNK]]):
            named |= {entry_id: name} if canonical else {}
    return [
        Item(text=content, at=at, source=source, entry_id=entry_id, name=named.get(entry_id))
        for entry_id, content, at, source in rows
    ]


def _item(entry: Entry, content: str) -> Item:
    return Item(text=content, at=entry.created_at, source=entry.source, entry_id=entry.id, name=entry.name)


# The block


def _trimmed(sections: Sequence[Section], budget: int) -> tuple[list[Section], int, str]:
    """The sections within the budget, how many items left, and the block: the least of the lessons leaves first."""
    left, dropped = list(sections), 0
    lines = [_lines(section) for section in sections]
    for name in TRIMMED:
        place = next(n for n, section in enumerate(left) if section.name == name)
        while left[place].items and text.estimate_tokens(_joined(lines)) > budget:
            left[place] = replace(left[place], items=left[place].items[:-1])
            lines[place] = lines[place][:-1] if left[place].items else []
            dropped += 1
    return left, dropped, _joined(lines)


def _block(sections: Sequence[Section]) -> str:
    return _joined([_lines(section) for section in sections])


def _joined(parts: Sequence[Sequence[str]]) -> str:
    lines = [line for part in parts for line in part]
    return "\n".join([f"## {TITLE}", *lines, "---", ""]) if lines else ""


def _lines(section: Section) -> list[str]:
    """A section as lines: its heading and its items; nothing where there are none."""
    return [f"{section.name}:", *section.lines()] if section.items else []


def _one_line(content: str) -> str:
    return " ".join(content.split())
