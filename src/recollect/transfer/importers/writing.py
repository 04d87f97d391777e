"""Batched, idempotent import of notes and chats into memory.

A chat is identified by its foreign id; if it has grown, only new messages are added, to the same conversation unless it
is archived. A note is identified by its name,
or by its text. A note that was not changed since its import is updated from the file; any other is left as it is, and
forgotten notes stay forgotten.
"""

import secrets
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field

from recollect import names, text
from recollect.engine import (
    channels,
    conversation_search,
    conversations,
    embedding,
    ending,
    lanes,
    remember,
    resent_messages,
)
from recollect.engine.agent_store import Store
from recollect.engine.insights import IMPORTED
from recollect.errors import Invalid
from recollect.model.entry import Lifetime, Origin
from recollect.model.events import checked_event
from recollect.model.history import ConversationInfo, Event, EventType, Lane, Status
from recollect.model.operation import Add, Alias, Write, checked
from recollect.model.transfer import Part
from recollect.storage import entries, history
from recollect.storage.database import Transaction
from recollect.storage.history import Journal
from recollect.transcripts import LinePosition
from recollect.transfer.importers.values import (
    ImportedChat,
    ImportedItem,
    ImportedNote,
    LeftOut,
    Remark,
    Retire,
    Skipped,
)
from recollect.transfer.known import LoggedEntries
from recollect.transfer.restoring import ACTOR

__all__ = ["ImportWriter"]

NOTES = 500
"""Notes per transaction."""
MESSAGES = 2_000
"""Approximate number of messages per transaction."""
REMARKS = 100
"""Remarks that are reported individually; the rest are counted."""
_REF = string.digits + string.ascii_letters


@dataclass(slots=True)
class _Agent:
    """Pending items and counts of one agent."""

    stores: Sequence[Store]
    """The workspace's store, and the account's if it is a separate one."""
    known: LoggedEntries
    chats: dict[str, list[str]]
    """Conversation ids by foreign chat id, oldest first."""
    events: int
    """Length of the journal when `chats` was read."""
    _: KW_ONLY
    notes: list[ImportedNote] = field(default_factory=list)
    waiting: list[ImportedChat] = field(default_factory=list)
    messages: int = 0
    names: set[str] = field(default_factory=set)
    """Names seen in the file so far."""
    added: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)

    @property
    def store(self) -> Store:
        return self.stores[0]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The decision for one note."""

    operation: Add | Write | None = None
    figures: Counter[str] | None = None
    """The counter to increment."""
    remark: str | None = None


class ImportWriter:
    """Write the items of a reader in batches; a dry run only counts."""

    def __init__(
        self,
        stores: Callable[[str], Sequence[Store]],
        agent: str,
        clock: Callable[[], int],
        *,
        evidence: Sequence[str] = (),
        dry_run: bool = False,
    ) -> None:
        """`evidence` names the import in the notes that it adds."""
        self._evidence = evidence
        self._stores, self._agent, self._clock, self._dry = stores, agent, clock, dry_run
        self._agents: dict[str, _Agent] = {}
        self.migrated: list[str] = []
        self.skipped: list[str] = []
        self._remarks: list[str] = []
        self._more = 0
        self._left_out: Counter[str] = Counter()

    def take(self, items: Iterable[ImportedItem]) -> None:
        """Consume all items and write them."""
        for item in items:
            match item:
                case Remark():
                    self._remark(item.text)
                case LeftOut():
                    self._left_out.update(item.parts)
                case Skipped():
                    self.skipped.append(item.file)
                    self._remark(f"{item.file} was skipped: {item.why}")
                case ImportedNote():
                    one = self._of(item.agent)
                    one.notes.append(item)
                    if len(one.notes) >= NOTES:
                        self._write_notes(one)
                case ImportedChat() if item.messages:
                    one = self._of(item.agent)
                    one.waiting.append(item)
                    one.messages += len(item.messages)
                    if one.messages >= MESSAGES:
                        self._write_chats(one)
                case Retire():
                    self.migrated.append(item.path.name)
                    self._write_all()
                    if not self._dry:
                        with suppress(FileNotFoundError):  # a concurrent import has renamed it
                            item.path.rename(item.name)
        self._write_all()

    def position(self, chat: str) -> LinePosition | None:
        """Return the line of a transcript that the last stored message of a chat is in, if it is known."""
        one = self._of(None)
        with one.store.read() as tx:
            return _position(one, tx, chat)

    def parts(self, workspace: str) -> tuple[Part, ...]:
        """Return the counts per agent."""
        return tuple(
            Part(
                where=f"{workspace}/{name}", added=dict(+one.added), changed=dict(+one.changed), known=dict(+one.there)
            )
            for name, one in sorted(self._agents.items())
        )

    def agents(self) -> list[str]:
        """Return the agents that were written to."""
        return [name for name, one in self._agents.items() if one.added or one.changed]

    def remarks(self) -> tuple[str, ...]:
        """Return remarks about what could not be imported."""
        parts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._left_out.items()))
        return (
            *([f"left out of messages: {parts}"] if parts else []),
            *self._remarks,
            *([f"and {self._more} more of the kind"] if self._more else []),
        )

    def _remark(self, text: str) -> None:
        if len(self._remarks) < REMARKS:
            self._remarks.append(text)
        else:
            self._more += 1

    def _of(self, agent: str | None) -> _Agent:
        name = self._agent
        if agent is not None:
            try:
                name = names.segment(agent, "an agent")
            except Invalid as error:
                self._remark(f"what belongs to {agent[:80]!r} went to {name!r}: {error}")
        if name not in self._agents:
            stores = self._stores(name)
            with stores[0].read() as tx:
                self._agents[name] = _Agent(stores, LoggedEntries(), _chats(tx), Journal.get(tx).events)
        return self._agents[name]

    def _write_all(self) -> None:
        for one in self._agents.values():
            self._write_notes(one)
            self._write_chats(one)

    # Notes

    def _write_notes(self, one: _Agent) -> None:
        drafts = [(note, add) for note in one.notes if (add := self._draft(one, note)) is not None]
        one.notes = []
        new = []
        if not drafts:
            return
        with one.store.read() as tx:
            one.known.read_on(tx)
            taken = _taken(one, tx, drafts)
            for note, add in drafts:
                plan = _plan(one, tx, add, taken)
                if self._dry or plan.operation is None:
                    self._settle(one, add, plan)
                else:
                    new.append((note, add))
        if not new:
            return
        now = self._clock()
        vectors = embedding.at_once(one.store, [embedding.text_of(add) for _, add in new])
        with one.store.write() as work:
            # Another writer may have imported the same file meanwhile; under the write lock, decide again.
            taken = _taken(one, work.tx, new)
            one.known.read_on(work.tx)
            for (note, add), vector in zip(new, vectors, strict=True):
                operation = self._settle(one, add, _plan(one, work.tx, add, taken))
                if operation is None:
                    continue
                entry = remember.apply(work, operation, actor=ACTOR, now=now)
                embedding.attach(one.store, work, entry, vector)
                for alias in note.aliases:
                    if alias not in taken and entries.binding(work.tx, alias) is None:
                        remember.apply(work, checked(Alias(entry.id, alias)), actor=ACTOR, now=now)
            one.known.seq = work.counters.operations

    def _draft(self, one: _Agent, note: ImportedNote) -> Add | None:
        """Validate a note as an Add; None, with a remark, if it is invalid or its name already occurred in the file."""
        try:
            add = checked(
                Add(
                    note.content,
                    name=note.name,
                    tags=note.tags,
                    context=note.context,
                    category=note.category,
                    source=note.source,
                    at=note.at,
                    valid_until=note.valid_until,
                    lifetime=Lifetime.LONG_TERM,
                    origin=note.origin,
                    evidence=self._evidence,
                )
            )
        except Invalid as error:
            self._remark(f"{note.name or note.content[:40]!r} was left out: {error}")
            return None
        assert isinstance(add, Add)
        if add.name is not None:
            if add.name in one.names:
                self._remark(f"{add.name!r} is in the file more than once; the first one counts")
                return None
            one.names.add(add.name)
        return add

    def _settle(self, one: _Agent, add: Add, plan: _Plan) -> Add | Write | None:
        """Record the decision for a note and return the operation to apply, if any."""
        if isinstance(plan.operation, Add):
            one.known.add(add.name, _category(add), add.content)
        if plan.figures is not None:
            plan.figures["entries"] += 1
        if plan.remark is not None:
            self._remark(plan.remark)
        return plan.operation

    # Chats

    def _write_chats(self, one: _Agent) -> None:
        taken, one.waiting, one.messages = one.waiting, [], 0
        if not taken:
            return
        if self._dry:
            with one.store.read() as tx:
                for chat in taken:
                    self._count(one, chat, len(self._new(one, tx, chat, "")))
                    one.chats.setdefault(chat.id, [])
            return
        begun = []
        with one.store.database.write(one.store.agent) as tx:
            journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)  # blocks concurrent appenders
            if journal.events != one.events:  # another writer appended, perhaps the same chats
                one.chats = _chats(tx)
            for chat in taken:
                last = self._open(one, tx, chat)
                identity = last.id if last else names.new_id(chat.messages[0].at or chat.started or self._clock())
                new = self._new(one, tx, chat, identity)
                self._count(one, chat, len(new))
                if not new:
                    continue
                if last is None:
                    _begin(tx, chat, identity, new)
                    one.chats.setdefault(chat.id, []).append(identity)
                    begun += [identity] if chat.digest else []
                if last is not None and last.status is Status.ACTIVE:
                    conversations.append(one.store, identity, new, tx)
                else:
                    _append(tx, last, new, chat.title)
            journal = Journal.advance(tx, 0, text.ANALYSIS_VERSION)
            one.events = journal.events
            conversation_search.keep_up(one.store, tx, journal)
        for identity in begun:
            ending.end(one.store, identity, None, self._clock, handoff=False)

    def _count(self, one: _Agent, chat: ImportedChat, new: int) -> None:
        one.added["messages"] += new
        one.there["messages"] += len(chat.messages) - new
        figures = one.added if chat.id not in one.chats else one.changed if new else one.there
        figures["conversations"] += 1

    def _open(self, one: _Agent, tx: Transaction, chat: ImportedChat) -> ConversationInfo | None:
        """Return the chat's last conversation if it can be continued: it is active, or was imported and is idle."""
        before = one.chats.get(chat.id)
        info = history.conversation(tx, before[-1]) if before else None
        if info is None:
            return None
        if info.status is Status.ACTIVE:
            (ending_,) = tx.one("history.ending", id=info.id) or ("",)
            return None if ending_ else info
        return info if info.status is Status.IDLE and info.summary_by == IMPORTED else None

    def _new(self, one: _Agent, tx: Transaction, chat: ImportedChat, identity: str) -> Sequence[Event]:
        """Return the events of a chat that are not yet stored."""
        given: list[Event] = []
        at = chat.started
        for message in chat.messages:
            # A message without a time gets that of the previous one.
            at = message.at if message.at is not None else at
            kind = EventType.USER if message.by_user else EventType.MODEL
            event = Event(
                type=kind,
                content=message.text,
                speaker=message.speaker,
                internal=message.internal,
                # A tool's message has no call that it answers, so it is kept as an output of the model.
                payload={
                    **({"origin": str(Origin.TOOL)} if message.by_tool else {}),
                    **(message.position.payload if message.position else {}),
                },
            )
            try:
                # The event id encodes that time too, so an old message does not count as the agent's latest.
                given.append(checked_event(event, identity, self._clock() if at is None else at))
            except Invalid as error:
                self._remark(f"a message of the chat {chat.id} was left out: {error}")
        if chat.after is not None and (last := _position(one, tx, chat.id)) is not None:
            # Another import or a hook may have stored some of the lines since they were read.
            return [event for event in given if (LinePosition.of(event.payload) or last).end > last.end]
        own = _stored(one, tx, (chat.id,))
        others = _stored(one, tx, [other for other in chat.family if other != chat.id])
        if not own and not others:
            return given
        own = resent_messages.recognised(own, given)
        new = resent_messages.new_part(own, given) if own else given
        # What is new in this order may be stored in another, because another branch of the chat was current then.
        there = Counter(map(_identity, (*own, *resent_messages.recognised(others, given))))
        there.subtract(map(_identity, given[: len(given) - len(new)]))
        kept = []
        for event in new:
            same = _identity(event)
            there[same] -= 1
            if there[same] < 0:
                kept.append(event)
        return kept


def _chats(tx: Transaction) -> dict[str, list[str]]:
    """Return conversation ids by foreign chat id, oldest first."""
    chats: dict[str, list[str]] = {}
    for chat_id, identity in tx.all("transfer.chats"):
        chats.setdefault(chat_id, []).append(identity)
    return chats


def _position(one: _Agent, tx: Transaction, chat: str) -> LinePosition | None:
    """Return the line that the last message of a chat is in; None if it has none or was erased."""
    for identity in reversed(one.chats.get(chat, ())):
        before = history.LONGEST
        for event in history.events(tx, "events_back", conversation=identity, before=before, limit=history.SPARE):
            if event.type in (EventType.USER, EventType.MODEL):
                return None if event.erased_at is not None else LinePosition.of(event.payload)
    return None


def _stored(one: _Agent, tx: Transaction, chats: Iterable[str]) -> list[Event]:
    """Return the events of chats."""
    found = (identity for chat in chats for identity in one.chats.get(chat, ()))
    return [event for identity in found for event in lanes.lane_events(tx, identity, Lane.EDGE)]


def _identity(event: Event) -> tuple[object, ...]:
    return event.type, event.content, event.internal, event.created_at


def _taken(one: _Agent, tx: Transaction, drafts: Iterable[tuple[ImportedNote, Add]]) -> set[str]:
    """Return the names and aliases of the drafts that are taken in the account."""
    wanted = [name for note, add in drafts for name in (add.name, *note.aliases) if name is not None]
    found: set[str] = set()
    for other in one.stores[1:] if wanted else ():
        with other.read(tx) as beside:
            found.update(entries.bindings(beside, wanted))
    return found


def _plan(one: _Agent, tx: Transaction, add: Add, taken: Collection[str]) -> _Plan:
    """Decide what to do with a note: add it, update the entry, or nothing."""
    bound = None if add.name is None else entries.binding(tx, add.name)
    if bound is None:
        if add.name in taken:
            return _Plan(remark=f"{add.name!r} is a name in the account already; the note was left out")
        # A known name without a binding belongs to a forgotten entry.
        known = one.known.has_text(_category(add), add.content) if add.name is None else one.known.has_name(add.name)
        return _Plan(None, one.there) if known else _Plan(add, one.added)
    entry = entries.get(tx, bound[0])
    if entry is None:
        return _Plan(None, one.there)
    same = entry.content == add.content
    if same and add.context in (None, entry.context):
        return _Plan(None, one.there)
    origin = remember.origin_of(add)
    if entries.revisions(tx, entry.id)[-1].actor != ACTOR or not origin.at_least(entry.origin):
        return _Plan(None, one.there, None if same else f"{add.name!r} has another text here, and was left as it is")
    write = checked(Write(entry.id, content=add.content, tags=add.tags or None, context=add.context, origin=origin))
    assert isinstance(write, Write)
    return _Plan(write, one.changed)


def _category(add: Add) -> str | None:
    return None if add.category is None else str(add.category)


def _append(tx: Transaction, last: ConversationInfo | None, new: Sequence[Event], title: str | None) -> None:
    """Append events to a conversation that was just begun, or to an imported one, which may have a new title."""
    journal = Journal.advance(tx, len(new), text.ANALYSIS_VERSION)
    previous = ""
    if last is not None:
        previous = history.last_hash(tx, last.id)
        times = [event.created_at or 0 for event in new]
        tx.run("transfer.ended", id=last.id, ended_at=max(*times, last.ended_at or 0))
        tx.run("transfer.entitled", id=last.id, title=title or last.closing_summary)
    history.append(tx, journal.events - len(new) + 1, previous, new)


def _begin(tx: Transaction, chat: ImportedChat, identity: str, events: Sequence[Event]) -> None:
    """Start a conversation for a chat. Unless digested, it is idle and gets no summary; its text is in the journal."""
    first, last = events[0].created_at, events[-1].created_at
    while not tx.run(
        "history.start",
        id=identity,
        ref_code="".join(secrets.choice(_REF) for _ in range(conversations.REF_LENGTH)),
        channel_id=channels.DEFAULT_CHANNEL,
        started_at=first,
        chat_id=chat.id,
        model_id=chat.model,
        participants="[]",
    ):
        pass
    if not chat.digest:
        tx.run("history.status", id=identity, status=str(Status.IDLE), ended_at=last)
        tx.run("history.summary_set", id=identity, summary=chat.title, by=IMPORTED, ending='["long_term"]')
