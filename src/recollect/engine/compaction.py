"""Compaction: replace the oldest events of a window with an archive.

The argument. A prompt is limited and the journal keeps everything; so every event that leaves the window must be
covered by an archive, without a gap between the two.

- Selection: the oldest events that a summary may replace. The newest user message, instructions and job starts stay. A
  tool call and its results leave together, and only once all results exist. A manual compaction takes everything before
  the newest user message; an automatic one stops at half of the limits, so that the next event does not trigger it
  again.
- The summary is made outside of any transaction: a model may be slow, and other writers keep appending.
- Then one transaction writes the archive, appends the marker and swaps in the new summary document. A process that dies
  earlier writes nothing; one that finds another marker than at its start has lost the race and writes nothing, either.
- The marker says which events its archive covers: those up to the boundary, except those it lists as kept. So every
  event is either in the window, or at or before the boundary of a marker and not kept by it: covered by an archive.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect import names, text
from recollect.engine import conversations, embedding, lanes, prompt, remember
from recollect.engine.agent_store import Store
from recollect.engine.lanes import LaneState
from recollect.engine.origins import made_from_events
from recollect.errors import Invalid
from recollect.model.entry import Kind
from recollect.model.history import Compacted, ConversationInfo, Event, EventType, Lane
from recollect.model.operation import Add, checked
from recollect.model.working import Delta, SummaryDocument
from recollect.providers.base import LanguageModel
from recollect.storage import entries, history
from recollect.storage.database import Transaction

if TYPE_CHECKING:
    from recollect.engine import summarising

__all__ = ["SOURCE", "WindowLimits", "compact", "due", "summary_turns", "tokens"]

SOURCE = "compaction"


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """Limits of a window: a number of events, and a share of the model's context."""

    events: int = 50
    share: float = 0.8
    context_tokens: int = 128_000
    around: int = 0
    """Tokens of the prompt outside summary and window: instructions, skills, identity and context."""

    def tokens(self, fixed: int) -> int:
        """Return the maximum of compactable tokens, if `fixed` tokens of summary and window cannot be compacted."""
        return int(self.share * max(self.context_tokens - self.around - fixed, 0))


def due(limits: WindowLimits, state: LaneState, window: Sequence[Event]) -> bool:
    """Return whether the window is full, by the number of its events or by their tokens."""
    movable = {event.seq for group in _groups(window) for event in group}
    if len(window) >= limits.events and len(movable) >= max(limits.events // 5, 1):
        return True  # with fewer, fixed events fill the window, and each new event would get its own archive
    size = {event.seq: tokens(event) for event in window}
    fixed = text.estimate_tokens(prompt.summary(state.document)) + sum(size[seq] for seq in size.keys() - movable)
    return sum(size[seq] for seq in movable) > limits.tokens(fixed)


def compact(
    store: Store,
    conversation: ConversationInfo,
    lane: Lane,
    model: LanguageModel | None,
    limits: WindowLimits,
    *,
    asked: bool,
    now: int,
) -> Compacted | None:
    """Compact the window of a lane; return None if there is nothing to compact, or another process was first.

    Raise Unavailable if the model fails; nothing is changed then.
    """
    with store.read() as tx:
        state, window = lanes.window(tx, conversation.id, lane)
    folded = _chosen(window, limits, state, asked=asked)
    if not folded:
        return None
    from recollect.engine import summarising

    turns = summary_turns(folded, calls=model is not None)
    if not turns:  # erased events leave the window as well, and no model has anything to summarise
        model, turns = None, [summarising.SummaryTurn(folded[0].role, "", folded[0].hash)]
    folding = summarising.fold(model, state.document, turns, context_tokens=limits.context_tokens)
    (vector,) = embedding.at_once(store, [folding.archive])
    # The boundary never moves back, even if only events leave that the last compaction kept.
    boundary, gone = max(folded[-1].seq, state.boundary), {event.seq for event in folded}
    kept = tuple(event.seq for event in window if event.seq <= boundary and event.seq not in gone)
    with store.write() as work:
        present = lanes.lane_state(work.tx, conversation.id, lane)
        if present.marker != state.marker or _erased_since(work.tx, window):
            return None
        add = checked(
            Add(
                folding.archive,
                name=_free_name(work.tx, conversation),
                kind=Kind.ARCHIVE,
                conversation=conversation.id,
                channel=conversation.channel_id,
                source=SOURCE,
                first_event=folded[0].seq,
                last_event=folded[-1].seq,
                **made_from_events(folded),
            )
        )
        archive = remember.apply(work, add, actor=store.agent, now=now)
        embedding.attach(store, work, archive, vector)
        assert archive.name is not None
        document = _changed(present.document, folding.delta)
        marker_fields = {
            "archive_name": archive.name,
            "archive_id": archive.id,
            "archived_at": now,
            "boundary": boundary,
            "kept": kept,
            "folded": len(folded),
            "document": document.to_json(),
        }
        marker = Event(
            type=EventType.MARKER,
            lane=lane,
            content="",
            payload=json.loads(json.dumps(marker_fields)),
            created_at=now,
            id=names.new_id(now),
            conversation_id=conversation.id,
        )
        (stored,) = conversations.append(store, conversation.id, [marker], work.tx)
        lanes.set_document(work.tx, conversation.id, lane, LaneState(stored.seq, boundary, kept, document), now)
    return Compacted(archive_name=archive.name, folded=len(folded), by=folding.by)


def summary_turns(events: Sequence[Event], *, calls: bool) -> "list[summarising.SummaryTurn]":
    """Return what a summary of events is made of; with `calls`, including tool calls."""
    from recollect.engine import summarising

    return [
        summarising.SummaryTurn(event.role, _event_text(event, calls=calls), event.hash)
        for event in events
        if event.erased_at is None
    ]


def _erased_since(tx: Transaction, events: Sequence[Event]) -> bool:
    """Return whether an event was erased after it was read: a summary would bring its text back."""
    erased = {event.seq for event in events if event.erased_at is not None}
    return bool({event.seq for event in events} & set(history.erased(tx, events[0].conversation_id)) - erased)


def _changed(document: SummaryDocument, delta: Delta) -> SummaryDocument:
    """Apply the delta; if a concurrent edit left too little room, overwrite, without new facts and references."""
    try:
        return document.apply(delta)
    except Invalid:
        return document.apply(replace(delta, mode="overwrite", add_fact=(), add_references=()))


def _chosen(window: Sequence[Event], limits: WindowLimits, state: LaneState, *, asked: bool) -> list[Event]:
    """Return the events to archive, in order."""
    groups = _groups(window)
    if asked:
        newest = _newest_user(window)
        before = [group for group in groups if group[-1].seq < newest]
        chosen = before or groups
    else:
        chosen = []
        movable = {event.seq for group in groups for event in group}
        size = {event.seq: tokens(event) for event in window}
        fixed = text.estimate_tokens(prompt.summary(state.document)) + sum(size[seq] for seq in size.keys() - movable)
        count, room = len(window), sum(size[seq] for seq in movable)
        for group in groups:
            if count <= limits.events // 2 and room <= limits.tokens(fixed) // 2:
                break
            chosen.append(group)
            count, room = count - len(group), room - sum(size[event.seq] for event in group)
    return sorted((event for group in chosen for event in group), key=lambda event: event.seq)


def _newest_user(window: Sequence[Event]) -> int:
    return max((event.seq for event in window if event.type is EventType.USER and event.erased_at is None), default=0)


def _groups(window: Sequence[Event]) -> list[list[Event]]:
    """Return the units that may be archived, oldest first: single events, and tool calls with all their results."""
    newest = _newest_user(window)
    groups: list[list[Event]] = []
    asking: dict[str | None, list[Event]] = {}  # open call id: the group that its result joins
    for event in window:
        if event.type is EventType.TOOL:
            if event.tool_call_id in asking:
                asking.pop(event.tool_call_id).append(event)
            elif event.erased_at is not None:  # together with its call
                groups.append([event])
        elif event.type.compactable and event.seq != newest:
            groups.append([event])
            asking |= {call["id"]: groups[-1] for call in event.tool_calls}
    return [group for group in groups if len(group) == 1 + len(group[0].tool_calls)]


def tokens(event: Event) -> int:
    """Estimate the tokens of an event in a prompt."""
    return sum(map(text.estimate_tokens, [event.content, *event.called]))


def _event_text(event: Event, *, calls: bool) -> str:
    """Return the text of an event to summarise: its content and, with `calls`, the tool calls."""
    said = f"{event.speaker}: {event.content}" if event.speaker and event.content else event.content
    return "\n".join([*([said] if said else []), *(event.called if calls else [])])


def _free_name(tx: Transaction, conversation: ConversationInfo) -> str:
    number = 1
    while entries.binding(tx, f"archive-{conversation.ref_code}-{number}") is not None:
        number += 1
    return f"archive-{conversation.ref_code}-{number}"
