"""End a conversation: a resumable pipeline whose steps each run exactly once, across retries and processes.

Once it begins, nothing can be appended to the conversation. The order: closing summary, checkpoint, hand-off, decisions
and lessons, chunks, conversation-scope entries cleared, idle; then conversations older than the most recent ones age to
long-term memory. Each step commits its rows and its name in one transaction, so if a process dies, the next call to end
the conversation resumes there.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from recollect import text
from recollect.config import ConversationSettings
from recollect.engine import checkpoints, conversations, embedding, remember, summarising
from recollect.engine.agent_store import Store, Work
from recollect.engine.chunks import CHUNK, CHUNKS_PER_STEP, chunk_draft, chunked_to, chunks, is_talk, split
from recollect.engine.handoffs import handoff_of
from recollect.engine.insights import COMPACTED, beginning, given_before, said_at, stored_beginnings, stored_elsewhere
from recollect.engine.origins import made_from_events, stated_in
from recollect.errors import Conflict, RecollectError
from recollect.model.entry import Category, Entry, Kind, Lifetime
from recollect.model.history import ConversationInfo, Ended, Event, Status
from recollect.model.operation import Add, Remove, checked
from recollect.providers.base import LanguageModel
from recollect.storage import entries, history
from recollect.storage.database import Transaction
from recollect.storage.history import Journal

__all__ = [
    "CLOSED",
    "INSIGHTS",
    "LONG_TERM",
    "age",
    "end",
    "end_stale",
    "free_summary_name",
    "is_half_chunked",
    "summary_archive",
    "summary_parts",
    "talk_of",
    "turns_of",
    "without_batches",
]

CLOSED = "session-close"
BEGUN, SUMMARY, CHECKPOINT, HANDOFF = "begun", "summary", "checkpoint", "handoff"
INSIGHTS, CHUNKED, CLEARED, IDLE, LONG_TERM = "insights", "chunked", "cleared", "idle", "long_term"
"""Keys of the steps. They are stored with the conversation, and an ending resumes by them: do not change them."""
_log = logging.getLogger("recollect.conversations")


def end(
    store: Store,
    conversation: str,
    model: LanguageModel | None,
    clock: Callable[[], int],
    *,
    timeout: float = 30.0,
    context_tokens: int = summarising.CONTEXT_TOKENS,
    mid_term: int | None = None,
    by: str = "sentences",
    handoff: bool = True,
) -> Ended:
    """End a conversation, or resume its ending. Raises Conflict if it has ended already.

    With `mid_term`, all but that many most recently ended conversations age to long-term memory. `by` says how
    decisions and lessons are found. Without `handoff` none is written: an import is not the last session.
    """
    info = conversations.find(store, conversation)
    if info.status is not Status.ACTIVE:
        raise Conflict(f"the conversation {info.ref_code} has already ended; it is {info.status}")
    with store.write() as work:
        Journal.advance(work.tx, 0, text.ANALYSIS_VERSION)  # blocks until concurrent appenders have committed
        if not _steps(work.tx.one("history.ending", id=info.id)):
            # From here on appends are refused, so that the summary covers everything.
            work.tx.run("history.ending_set", id=info.id, ending=json.dumps([BEGUN]))
    with store.read() as tx:
        erased, talk = history.erased(tx, info.id), talk_of(tx, info.id)
    closing = summarising.Closing(info.closing_summary or "", (), (), info.summary_by or "fallback")
    if SUMMARY not in _done(store, info.id):
        with store.read() as tx:
            known = given_before(tx, info.id)
        closing = summarising.close(
            model, turns_of(talk), timeout=timeout, context_tokens=context_tokens, known=known, by=by
        )
        _store_summary(store, info.id, closing, erased)
    ending = _Ending(store, info, talk, said_at(talk, clock()), handoff=handoff)
    for key, step in ending.steps():
        _once(store, info.id, erased, key, step, clock())
    result = replace(ending.result, summary=closing.summary, by=closing.by)
    return result if mid_term is None else replace(result, aged=tuple(age(store, clock(), mid_term)))


def _store_summary(store: Store, conversation: str, closing: summarising.Closing, erased: Sequence[int]) -> None:
    done = json.dumps([BEGUN, SUMMARY, [*closing.decisions], [*closing.lessons]], ensure_ascii=False)
    with store.write() as work:
        _must_be_whole(work, conversation, erased)
        if SUMMARY not in _steps(work.tx.one("history.ending", id=conversation)):  # else another process was faster
            work.tx.run("history.summary_set", id=conversation, summary=closing.summary, by=closing.by, ending=done)


class _Ending:
    """The steps after the summary, and the result so far. A step may run in another process than the one before it."""

    def __init__(self, store: Store, info: ConversationInfo, talk: Sequence[Event], at: int, *, handoff: bool) -> None:
        """`at` is the time of the last message, which may be long past."""
        self._store, self._info = store, info
        self.result = Ended(conversation=info, summary="", by="")
        decisions, lessons = _insights(store, info.id)
        with store.read() as tx:
            start = chunked_to(tx, info.id)
        known = stored_elsewhere(store, [*decisions, *lessons], at)
        stated = stated_in([*decisions, *lessons], talk)
        self._drafts = {
            HANDOFF: [
                replace(_note(info, content, Category.HANDOFFS, "auto-handoff", at), **made_from_events(said))
                for content, said in (handoff_of(talk) if handoff else ())
            ],
            INSIGHTS: [
                replace(_note(info, content, category, "auto-extract", at), **stated[content])
                for category, found in ((Category.DECISIONS, decisions), (Category.LESSONS, lessons))
                for content in found
                if content not in known
            ],
            CHUNKED: [chunk_draft(info, *part) for part in chunks([event for event in talk if event.seq > start])],
        }
        # Outside of any transaction: an embedder may be slow.
        self._vectors = {
            key: embedding.at_once(store, list(map(embedding.text_of, drafts))) for key, drafts in self._drafts.items()
        }

    def steps(self) -> Sequence[tuple[str, Callable[[Work, int], None]]]:
        """Return the steps in order, each with the key under which it is recorded as done."""
        return (
            (CHECKPOINT, self._checkpoint),
            (HANDOFF, self._hand_off),
            (INSIGHTS, self._store_insights),
            *self._chunk_steps(),
            (CLEARED, self._clear),
            (IDLE, self._set_idle),
        )

    def _chunk_steps(self) -> Iterator[tuple[str, Callable[[Work, int], None]]]:
        """Yield a step per batch of chunks: "chunked 500" when 500 are written, and so on; the last is "chunked"."""
        total = len(self._drafts[CHUNKED])
        start = _chunks_written(_done(self._store, self._info.id))
        while start + CHUNKS_PER_STEP < total:
            stop = start + CHUNKS_PER_STEP
            yield f"{CHUNKED} {stop}", partial(self._store_chunks, slice(start, stop))
            start = stop
        yield CHUNKED, partial(self._store_chunks, slice(start, None))

    def _checkpoint(self, work: Work, now: int) -> None:
        checkpoints.checkpoint(work.tx, self._info.id, now)

    def _hand_off(self, work: Work, now: int) -> None:
        # A hand-off written by the agent takes precedence; one made by upkeep from a part of the talk does not count.
        rows = work.tx.all("history.handoffs_of", conversation=self._info.id, since=self._info.started_at)
        left = next((entry_id for entry_id, tags in rows if COMPACTED not in json.loads(tags)), None)
        made = self._write(HANDOFF, work, now) if left is None else [entries.get(work.tx, left)]
        self.result = replace(self.result, handoff=next(iter(made), None))

    def _store_insights(self, work: Work, now: int) -> None:
        made = self._write(INSIGHTS, work, now)
        self.result = replace(
            self.result,
            decisions=tuple(entry for entry in made if entry.category is Category.DECISIONS),
            lessons=tuple(entry for entry in made if entry.category is Category.LESSONS),
        )

    def _store_chunks(self, batch: slice, work: Work, now: int) -> None:
        made = self._write(CHUNKED, work, now, batch)
        self.result = replace(self.result, chunks=self.result.chunks + len(made))

    def _clear(self, work: Work, now: int) -> None:
        own = work.tx.all("history.in_conversation", conversation=self._info.id)
        for (entry_id,) in own:
            if entries.find(work.tx, entry_id) is None:  # a former value, which has left with its note
                continue
            remember.apply(work, checked(Remove(entry_id)), actor=self._store.agent, now=now)
        self.result = replace(self.result, cleared=len(own))

    def _set_idle(self, work: Work, now: int) -> None:
        conversations.transition(work.tx, self._info.id, Status.IDLE, now)
        found = history.conversation(work.tx, self._info.id)
        assert found is not None
        self.result = replace(self.result, conversation=history.titled(work.tx, [found])[0])

    def _write(self, key: str, work: Work, now: int, batch: slice = slice(None)) -> list[Entry]:
        """Add the entries of a step, or a batch of them; skip insights that upkeep has extracted already."""
        categories = (Category.DECISIONS, Category.LESSONS) if key == INSIGHTS else ()
        known = {start for one in categories for start in stored_beginnings(work.tx, one)}
        made = []
        for draft, vector in zip(self._drafts[key][batch], self._vectors[key][batch], strict=True):
            if beginning(draft.content) in known:
                continue
            made.append(remember.apply(work, checked(draft), actor=self._store.agent, now=now))
            embedding.attach(self._store, work, made[-1], vector)
        return made


def end_stale(
    store: Store,
    stale: Iterable[str],
    settings: ConversationSettings,
    clock: Callable[[], int],
    on_end: Callable[[str], None],
) -> list[Ended]:
    """End stale conversations; call `on_end` for each. Failures are logged."""
    ended = []
    for identity in stale:
        try:
            # Without the model: no caller waits for the summary of an abandoned conversation.
            ended.append(end(store, identity, None, clock, mid_term=settings.mid_term, by=settings.extraction))
            on_end(identity)
        except RecollectError as error:
            _log.warning("the conversation %s could not be ended: %s", identity, error)
    return ended


def age(store: Store, now: int, keep: int) -> list[str]:
    """Move all but the `keep` most recently ended conversations to long-term memory; return their ids.

    Their summaries become archives with vectors; their chunks keep their text and lose their vectors; the journal does
    not change.
    """
    with store.read() as tx:
        old = [identity for (identity,) in tx.all("history.ended_oldest", keep=keep)]
    for identity in old:
        with store.read() as tx:
            erased = history.erased(tx, identity)
        info = conversations.find(store, identity)
        if info.closing_summary is None:  # archived without an ending
            with store.read() as tx:
                talk = talk_of(tx, identity)
            summary = summarising.close(None, turns_of(talk)).summary
            info = replace(info, closing_summary=summary, summary_by="fallback")
        parts = summary_parts(info.closing_summary or "")
        with store.read() as tx:
            made_from = made_from_events(talk_of(tx, identity))
        vectors = embedding.at_once(store, parts)
        with store.write() as work:
            if LONG_TERM in _steps(work.tx.one("history.ending", id=identity)):
                continue  # another process was faster
            if history.erased(work.tx, identity) != erased:
                continue  # the summary may quote a turn that was erased meanwhile; the next call reads it again
            for number, (content, vector) in enumerate(zip(parts, vectors, strict=True), 1):
                draft = replace(summary_archive(info, content, free_summary_name(work, info, number)), **made_from)
                made = remember.apply(work, checked(draft), actor=store.agent, now=now)
                embedding.attach(store, work, made, vector)
            work.tx.run("history.forget_chunk_vectors", conversation=identity)
            work.tx.run("history.age", conversation=identity)
            closed = {"summary": info.closing_summary, "by": info.summary_by}
            work.tx.run("history.summary_set", id=identity, **closed, ending=json.dumps([LONG_TERM]))
    return old


def talk_of(tx: Transaction, conversation: str) -> list[Event]:
    """Return the events of the conversation, without markers, internal and erased events and messages that a save
    replaced."""
    view = history.saved_view(tx, conversation)
    happened = history.events(tx, "events", conversation=conversation, after=0, limit=history.LONGEST)
    return [event for event in happened if view.holds(event) and is_talk(event)]


def turns_of(talk: Sequence[Event]) -> list[summarising.SummaryTurn]:
    """Return what a closing summary is made of."""
    return [summarising.SummaryTurn(event.role, event.content, event.hash) for event in talk if event.content.strip()]


# Summaries


def summary_parts(summary: str) -> list[str]:
    """Split a closing summary into paragraphs; short ones are joined."""
    parts: list[str] = []
    for paragraph in (one.strip() for one in summary.split("\n\n")):
        for piece in split(paragraph, CHUNK) if paragraph else ():
            if parts and len(parts[-1]) + len(piece) < CHUNK // 2:
                parts[-1] = f"{parts[-1]}\n\n{piece}"
            else:
                parts.append(piece)
    return parts


# Steps


def _once(
    store: Store, conversation: str, erased: Sequence[int], step: str, run: Callable[[Work, int], None], now: int
) -> None:
    """Run a step and record it as done in the same transaction; do nothing if it is recorded, or all batches are."""
    with store.write() as work:
        _must_be_whole(work, conversation, erased)
        row = work.tx.one("history.ending", id=conversation)
        done = _steps(row)
        if step not in done and step.partition(" ")[0] not in done:
            run(work, now)
            recorded = json.loads(row[0]) if row and row[0] else []
            work.tx.run("history.ending_set", id=conversation, ending=json.dumps([*recorded, step], ensure_ascii=False))


def _must_be_whole(work: Work, conversation: str, erased: Sequence[int]) -> None:
    """Raise Conflict if a turn was erased after the talk was read: the next step would bring its text back."""
    if history.erased(work.tx, conversation) != erased:
        raise Conflict(f"a turn of the conversation {conversation} was erased while it was being ended; end it again")


def _done(store: Store, conversation: str) -> set[str]:
    with store.read() as tx:
        return _steps(tx.one("history.ending", id=conversation))


def _steps(row: tuple[str, ...] | None) -> set[str]:
    return {step for step in json.loads(row[0]) if isinstance(step, str)} if row and row[0] else set()


def _chunks_written(done: Iterable[str]) -> int:
    """Return how many chunks the recorded batches have written."""
    return max((int(step.removeprefix(f"{CHUNKED} ")) for step in done if step.startswith(f"{CHUNKED} ")), default=0)


def is_half_chunked(tx: Transaction, conversation: str) -> bool:
    """Return whether an ending has written some batches of chunks, and not all."""
    done = _steps(tx.one("history.ending", id=conversation))
    return CHUNKED not in done and _chunks_written(done) > 0


def without_batches(recorded: Sequence[Any]) -> list[Any]:
    """Return the recorded steps without the batches of chunks, unless all are written."""
    if CHUNKED in recorded:
        return list(recorded)
    return [one for one in recorded if not (isinstance(one, str) and one.startswith(f"{CHUNKED} "))]


def _insights(store: Store, conversation: str) -> tuple[list[str], list[str]]:
    """Return the decisions and lessons stored by the summary step, so that any process can run the later steps."""
    with store.read() as tx:
        row = tx.one("history.ending", id=conversation)
    lists = [part for part in json.loads(row[0]) if isinstance(part, list)] if row and row[0] else []
    return (lists[0], lists[1]) if len(lists) == 2 else ([], [])


def _note(info: ConversationInfo, content: str, category: Category, tag: str, at: int) -> Add:
    return Add(
        content,
        category=category,
        tags=(tag, CLOSED),
        conversation=info.id,
        channel=info.channel_id,
        source="conversation",
        lifetime=Lifetime.LONG_TERM,
        at=at,
    )


def summary_archive(info: ConversationInfo, content: str, name: str) -> Add:
    """Return the archive of a part of a closing summary."""
    return Add(
        content,
        name=name,
        kind=Kind.ARCHIVE,
        conversation=info.id,
        channel=info.channel_id,
        source=f"summary-{info.summary_by or 'fallback'}",
        at=info.ended_at,
    )


def free_summary_name(work: Work, info: ConversationInfo, number: int) -> str:
    """Return the name of that part, with the first number from `number` on that is free."""
    name = f"summary-{info.ref_code}-{number}"
    while entries.binding(work.tx, name) is not None:
        number += 1
        name = f"summary-{info.ref_code}-{number}"
    return name
