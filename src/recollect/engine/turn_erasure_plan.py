"""The plan of an erasure of turns: what was made from them, and whether it is removed or rebuilt.

What was made from turns is found in two ways. By structure: chunks and archives record which events they cover, so
those are rebuilt from the remaining events, and so are the summary documents from that compaction on, the closing
summary and the hand-off. They are made by extraction, never by a model, so that the result is a function of the text
that remains. By text: notes that jobs took from the conversation (decisions, lessons, lines of a shelf, facts of a
document) do not record their event; they are removed if they quote the text or share a word with it that no other turn
or entry contains. Notes, other turns and reminders that an agent or a user wrote are never changed.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import itemgetter
from typing import Any

from recollect import text
from recollect.concepts import concept_tags
from recollect.engine import ending, erasing, lanes, summarising
from recollect.engine.chunks import chunk_draft, chunked_to, chunks
from recollect.engine.compaction import SOURCE, summary_turns
from recollect.engine.handoffs import handoff_of
from recollect.engine.lanes import LaneState
from recollect.engine.origins import MadeFrom, made_from_events
from recollect.engine.turn_erasure_target import ErasureTarget, citing
from recollect.model.entry import Category, Entry, Kind
from recollect.model.history import Event, Lane
from recollect.model.operation import Add
from recollect.model.working import SummaryDocument
from recollect.storage import entries, history
from recollect.storage.database import Transaction

__all__ = ["ErasurePlan", "planned"]

_FROM_SHELF = '"source":"shelve"'
"""How the log records the summary of a shelf."""


@dataclass(slots=True, kw_only=True)
class ErasurePlan:
    """What an erasure changes. Made in the transaction that applies it, or in a read transaction for a dry run."""

    markers: list[Event] = field(default_factory=list)
    """Markers with another document."""
    lanes: dict[Lane, LaneState] = field(default_factory=dict)
    checkpoint: str | None = None
    closing: str | None = None
    steps: str | None = None
    """The recorded steps of the ending, which hold decisions and lessons."""
    drops: dict[str, str] = field(default_factory=dict)
    """Entries to remove: id to place in the receipt."""
    rewrites: dict[str, tuple[Entry, str]] = field(default_factory=dict)
    """Entries to rewrite: id to the new entry and its place in the receipt."""
    adds: list[tuple[Add, str]] = field(default_factory=list)

    def put(self, entry: Entry, content: str | None, place: str, **fields: Any) -> None:
        """Plan to rewrite an entry, or to remove it if nothing is left of its content."""
        if content is None or not content.strip():
            self.drops[entry.id] = place
            return
        written = replace(
            entry, content=content, content_hash=entries.content_hash(content), concept_tags=concept_tags(content)
        )
        self.rewrites[entry.id] = replace(written, **fields), place


def planned(tx: Transaction, target: ErasureTarget) -> ErasurePlan:
    """Return what erasing the target removes and rewrites."""
    plan = ErasurePlan()
    if not target.events:
        return plan
    left = [event for event in ending.talk_of(tx, target.info.id) if event.seq not in target.seqs]
    made = {entry.id: entry for entry in _made(tx, target.info.id)}
    documents = _plan_lanes(tx, target, plan, made)
    _plan_checkpoint(tx, target, plan, documents)
    _plan_closing(tx, target, plan, left, made)
    own = sorted((one for one in made.values() if one.kind is Kind.CHUNK), key=lambda one: one.seq)
    if ending.is_half_chunked(tx, target.info.id):  # its next run makes its own chunks again
        start = chunked_to(tx, target.info.id)
        plan.drops.update({entry.id: "chunks" for entry in own if (entry.first_event or 0) > start})
        own = [entry for entry in own if entry.id not in plan.drops]
    _plan_chunks(target, plan, left, own)
    written = [text.normalise(event.content) for event in left]
    for entry in made.values():
        if entry.kind is Kind.NOTE:
            _plan_note(target, plan, entry, left, written)
    for entry in citing(tx, target):
        if entry.id not in made:
            plan.put(entry, None, "notes made from them")
    _plan_past(tx, target, plan, made)
    return plan


def _made(tx: Transaction, conversation: str) -> Iterator[Entry]:
    """Yield the living entries that jobs made: from this conversation, or from several notes of any."""
    ids = [entry_id for (entry_id,) in tx.all("history.made_from", conversation=conversation)]
    for start in range(0, len(ids), entries.CHUNK):
        yield from (found.entry for found in entries.stored(tx, ids[start : start + entries.CHUNK]).values())


def _plan_lanes(
    tx: Transaction, target: ErasureTarget, plan: ErasurePlan, made: Mapping[str, Entry]
) -> dict[Lane, list[tuple[int, SummaryDocument]]]:
    """Plan the markers, archives and summary documents of the lanes; return the documents by number of their marker."""
    found = {}
    for lane in Lane:
        documents: list[tuple[int, SummaryDocument]] = []
        written = lanes.lane_events(tx, target.info.id, lane)
        state = lanes.lane_state(tx, target.info.id, lane)
        before = LaneState()
        old = document = SummaryDocument()
        made_again = False
        markers = history.events(tx, "markers", conversation=target.info.id, lane=str(lane), limit=history.LONGEST)
        for event in reversed(markers):
            marker, old = lanes.read_marker(event), SummaryDocument.read(event.payload["document"])
            folded = [one for one in written if _covers(marker.boundary, marker.kept, one) and not _is_in(before, one)]
            hit = not target.seqs.isdisjoint(one.seq for one in folded)
            made_again = made_again or hit
            archive = None
            rest = [one for one in folded if one.seq not in target.seqs and one.erased_at is None]
            if made_again:
                archive, summary = _folded(document, [one for one in folded if one.seq not in target.seqs])
                document = target.without_facts(old, summary)
            else:
                document = target.without_facts(old, target.cleaned(old.summary))
            if hit and (entry := made.get(event.payload["archive_id"])) is not None:
                plan.put(entry, archive, "archives", **made_from_events(rest))
            if document != old:
                plan.markers.append(replace(event, payload={**event.payload, "document": document.to_json()}))
            documents.append((event.seq, document))
            before = LaneState(event.seq, marker.boundary, marker.kept)
        if made_again:
            # What the agent has added since the last compaction stays, as far as it does not quote.
            added = state.document.summary.removeprefix(old.summary) if old.summary else state.document.summary
            summary = "\n\n".join(part for part in (document.summary, target.cleaned(added)) if part)
        else:
            summary = target.cleaned(state.document.summary)
        document = target.without_facts(state.document, summary)
        if document != state.document:
            plan.lanes[lane] = replace(state, document=document)
        found[lane] = documents
    return found


def _covers(boundary: int, kept: Sequence[int], event: Event) -> bool:
    return event.seq <= boundary and event.seq not in kept


def _is_in(state: LaneState, event: Event) -> bool:
    return _covers(state.boundary, state.kept, event)


def _folded(document: SummaryDocument, events: Sequence[Event]) -> tuple[str | None, str]:
    """Summarise the events of a compaction that are left: return the archive and the summary of the document."""
    turns = summary_turns(events, calls=False)
    if not turns:
        return None, document.summary
    folding = summarising.fold(None, document, turns)
    return folding.archive, document.apply(folding.delta).summary


def _plan_checkpoint(
    tx: Transaction,
    target: ErasureTarget,
    plan: ErasurePlan,
    documents: Mapping[Lane, Sequence[tuple[int, SummaryDocument]]],
) -> None:
    row = tx.one("history.checkpoint", conversation=target.info.id)
    if row is None:
        return
    upto, stored, _ = row
    rebuilt: dict[str, Any] = {}
    try:
        old = {Lane(lane): SummaryDocument.read(one) for lane, one in json.loads(stored).items()}
    except (ValueError, AttributeError):
        old = {}  # unreadable, so of no use
    for lane, document in old.items():
        then = [one for seq, one in documents[lane] if seq <= upto]
        changed = any(marker.lane is lane and marker.seq <= upto for marker in plan.markers)
        summary = then[-1].summary if changed else target.cleaned(document.summary)
        rebuilt[str(lane)] = target.without_facts(document, summary).to_json()
    written = json.dumps(rebuilt, ensure_ascii=False)
    if written != stored:
        plan.checkpoint = written


def _plan_closing(
    tx: Transaction, target: ErasureTarget, plan: ErasurePlan, left: Sequence[Event], made: Mapping[str, Entry]
) -> None:
    """Plan the closing summary, the insights recorded with an ending, and the archives of an old conversation."""
    steps = tx.one("history.ending", id=target.info.id)
    if steps and steps[0]:
        recorded = json.loads(steps[0])
        kept = [
            [line for line in one if not (target.whole or target.quoted_in(line))] if isinstance(one, list) else one
            for one in ending.without_batches(recorded)
        ]
        plan.steps = json.dumps(kept, ensure_ascii=False) if kept != recorded else None
    if target.info.closing_summary is None:
        return
    plan.closing = summarising.close(None, ending.turns_of(left)).summary
    archives = [one for one in made.values() if one.kind is Kind.ARCHIVE and one.source != SOURCE]
    parts = ending.summary_parts(plan.closing) if archives else []
    _pair(plan, sorted(archives, key=lambda one: one.seq), parts, made_from_events(left))


def _pair(plan: ErasurePlan, old: Sequence[Entry], parts: Sequence[str], made_from: MadeFrom) -> None:
    """Plan to rewrite entries with new parts in order. There are never more parts than entries of the same text."""
    for number, entry in enumerate(old):
        last = number == len(old) - 1
        content = "\n\n".join(parts[number:]) if last else parts[number] if number < len(parts) else None
        plan.put(entry, content, "archives", **made_from)


def _plan_chunks(target: ErasureTarget, plan: ErasurePlan, left: Sequence[Event], own: Sequence[Entry]) -> None:
    """Plan the chunks that cover an erased event, and those that share an event with one of them."""
    spans = [(first, last) for first, last in _joined(own) if target.covers(first, last)]
    affected = [one for one in own if _within(one.first_event or 0, spans)]
    covered = [event for event in left if _within(event.seq, spans)]
    for entry, part in zip_longest(affected, chunks(covered)):
        if entry is None:
            plan.adds.append((chunk_draft(target.info, *part), "chunks"))
        elif part is None:
            plan.put(entry, None, "chunks")
        else:
            content, quoted = part
            span = {"first_event": quoted[0].seq, "last_event": quoted[-1].seq}
            plan.put(entry, content, "chunks", **span, **made_from_events(quoted))


def _joined(own: Sequence[Entry]) -> list[tuple[int, int]]:
    """Return the ranges of events that chunks cover, in order; those that share an event are one range."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted((one.first_event or 0, one.last_event or 0) for one in own):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _within(seq: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether an event is in one of the ranges, which are in order."""
    place = bisect_right(spans, seq, key=itemgetter(0)) - 1
    return place >= 0 and seq <= spans[place][1]


def _plan_note(
    target: ErasureTarget, plan: ErasurePlan, entry: Entry, left: Sequence[Event], written: Sequence[str]
) -> None:
    """Plan a note that a job made: a hand-off, a decision, a lesson, or the lines of several notes."""
    own = entry.conversation_id == target.info.id
    if entry.category is Category.HANDOFFS and own:
        if target.whole or not target.references.isdisjoint(entry.evidence) or _shows(target, entry.content):
            _plan_handoff(target, plan, entry, left)
    elif own and entry.source == "conversation":
        line = text.normalise(entry.content)
        quoted = target.is_only_source(entry) or target.quoted_in(entry.content)
        if target.whole or (quoted and not any(line in one for one in written)):
            plan.put(entry, None, "decisions and lessons")
    elif (content := target.cleaned(entry.content)) != entry.content.strip():
        plan.put(entry, content if content.count("\n") or not content.endswith(":") else None, "summaries of notes")


def _plan_handoff(target: ErasureTarget, plan: ErasurePlan, entry: Entry, left: Sequence[Event]) -> None:
    """Plan a hand-off: that of an ending is rebuilt, any other loses the lines that quote."""
    if ending.CLOSED not in entry.tags:
        plan.put(entry, None if target.whole else target.cleaned(entry.content), "hand-offs")
        return
    content, quoted = next(iter(handoff_of(left)), (None, ()))
    plan.put(entry, None if target.whole else content, "hand-offs", **made_from_events(quoted))


def _shows(target: ErasureTarget, content: str) -> bool:
    """Return whether a hand-off shows an erased message, cut or whole."""
    starts = (text.normalise(event.content[:100]) for event in target.events if event.content.strip())
    shown = text.normalise(content)
    return any(start in shown for start in starts) or any(map(target.quoted_in, content.splitlines()))


def _plan_past(tx: Transaction, target: ErasureTarget, plan: ErasurePlan, made: Mapping[str, Entry]) -> None:
    """Plan the entries in the trash, and the earlier texts of those that stay."""
    rows = [row for probe in (target.info.id, _FROM_SHELF) for row in tx.all("operations.containing", probe=probe)]
    for entry_id in {*made, *(entry_id for (entry_id,) in rows)} - plan.drops.keys() - plan.rewrites.keys():
        entry = made.get(entry_id)
        if entry is None and (tx.one("entries.by_ids", ids=[entry_id]) or not _was_made(tx, target, entry_id)):
            continue  # written on purpose
        past = erasing.contents_of(tx, entry_id) - ({entry.content} if entry else set())
        if any(target.quoted_in(line) for content in past for line in content.splitlines()):
            plan.put(entry, entry.content, "earlier texts") if entry else plan.drops.update({entry_id: "trash"})


def _was_made(tx: Transaction, target: ErasureTarget, entry_id: str) -> bool:
    """Return whether an entry in the trash was made from the conversation by a job."""
    removal = entries.last_removal(tx, entry_id)
    before = (removal.before if removal else None) or {}
    made = before.get("kind") != str(Kind.NOTE) or before.get("source") == "conversation"
    return before.get("source") == "shelve" or (made and before.get("conversation_id") == target.info.id)
