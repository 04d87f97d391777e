"""Erasing turns: blank events of the journal, and remove or rewrite everything that was made from them.

The argument. The journal is a hash chain, so an erased event stays as a tombstone: number, type, time and hashes
without content. What was made from it is found in two ways. By structure: chunks and archives record which events they
cover, so those are made again from the events that are left, and so are the summary documents from that compaction on,
the closing summary and the hand-off. They are made by extraction, never by a model, so that the result is a function of
the text that remains. By text: notes that jobs took from the conversation (decisions, lessons, lines of a shelf, facts
of a document) do not record their event; they leave if they quote the text or share a word with it that no other turn
or entry contains.

What an agent or a user wrote on purpose is never touched: notes, other turns, reminders. The receipt lists those that
contain the same words. A tool result goes with its call, because no prompt can contain it without the call.

Everything happens in one transaction that also locks the journal. The compaction, ending or extraction of another
process that has read the text before compares the tombstones when it writes, and writes nothing if there are new ones.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import attrgetter, itemgetter
from typing import Any

from recollect import text
from recollect.concepts import concept_tags
from recollect.engine import conversation_search, ending, erasing, lanes, remember, summarising
from recollect.engine.agent_store import Store, Work
from recollect.engine.chunks import chunk_draft, chunked_to, chunks
from recollect.engine.compaction import SOURCE, summary_turns
from recollect.engine.erasing import Traces
from recollect.engine.handoffs import handoff_of
from recollect.engine.lanes import LaneState
from recollect.engine.origins import MadeFrom, made_from_events
from recollect.model.entry import Category, Entry, Kind
from recollect.model.history import ConversationInfo, Event, EventType, Lane
from recollect.model.operation import Add, checked
from recollect.model.report import Erased, Receipt, Rewritten
from recollect.model.working import SummaryDocument
from recollect.storage import entries, history
from recollect.storage.database import Transaction
from recollect.storage.history import Journal

__all__ = ["erase"]

LONG_ENOUGH = 8
"""Minimum length of a text that counts as a quote, in characters."""
FEW = 3
"""A word that at most this many other turns contain may be what had to be erased: the receipt names the turns."""
_DIGIT = re.compile(r"\d")
_LEAD = re.compile(r"^(?:- )?(?:\[\d{4}-\d\d-\d\d\] )?(?:\[?(?:user|agent|assistant|system|tool)\]?: )?")
"""What precedes a quote in a summary: the mark of an item, a date, a role."""
_FROM_SHELF = '"source":"shelve"'
"""How the log records the summary of a shelf."""
PIECES = 512
"""Maximum number of pieces by which recorded queries and files are compared with the erased text."""
CHECKED = 16
"""Maximum number of pieces that are searched for in other turns and entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What is erased: the events that still have their text, and how to recognise it elsewhere."""

    info: ConversationInfo
    events: tuple[Event, ...]
    """In order."""
    seqs: frozenset[int]
    """Their sequence numbers."""
    whole: bool
    """Whether no event of the conversation keeps its text."""
    traces: Traces
    corpus: str
    """The normalised texts, one below the other."""
    sentences: frozenset[str]
    """The normalised sentences of the texts."""

    @property
    def references(self) -> set[str]:
        """The erased events as they are listed in the evidence of entries."""
        return {reference for event in self.events for reference in made_from_events([event])["evidence"]}

    def is_only_source(self, entry: Entry) -> bool:
        """Return whether an entry was made from erased turns alone."""
        if self.whole and all(one.startswith(f"event:{self.info.id}:") for one in entry.evidence):
            return bool(entry.evidence)
        return bool(entry.evidence) and self.references.issuperset(entry.evidence)

    def covers(self, first: int | None, last: int | None) -> bool:
        place = bisect_left(self.events, first or 0, key=attrgetter("seq"))
        return place < len(self.events) and self.events[place].seq <= (last or 0)

    def quoted_in(self, written: str) -> bool:
        """Return whether a line or sentence quotes the erased text, is a part of it, or shares a rare word with it."""
        said = _LEAD.sub("", text.normalise(written))
        if len(said) >= LONG_ENOUGH and said in self.corpus:
            return True
        return self.traces.shares_rare(written) or not self.sentences.isdisjoint(_sentences(said))

    def cleaned(self, written: str) -> str:
        """Return a text without the lines that quote; of a line with several sentences, only those that quote leave."""
        lines = []
        for line in written.splitlines():
            if self.quoted_in(line):
                sentences = text.sentences(line)
                line = " ".join(one for one in sentences if not self.quoted_in(one)) if len(sentences) > 1 else ""
                if not line:
                    continue
            lines.append(line)
        return "\n".join(lines).strip()

    def without_facts(self, document: SummaryDocument, summary: str) -> SummaryDocument:
        """Return a document with another summary, without the facts and references that come from the text."""
        hashes = {event.hash for event in self.events}
        return replace(
            document,
            summary=summary,
            facts=tuple(
                fact
                for fact in document.facts
                if fact.source_event not in hashes and not self.quoted_in(f"{fact.key}: {fact.value}")
            ),
            referenced_events=tuple(one for one in document.referenced_events if one not in hashes),
        )


@dataclass(slots=True, kw_only=True)
class _ErasurePlan:
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


def erase(
    store: Store,
    info: ConversationInfo,
    seqs: Sequence[int] | None,
    *,
    actor: str,
    now: int,
    dry_run: bool = False,
    beside: Sequence[Store] = (),
    job_stores: Sequence[Store] = (),
    elsewhere: Callable[[Sequence[str], Sequence[str]], Iterable[str]] = lambda ids, pieces: (),
) -> Receipt:
    """Erase events of a conversation, all of them if `seqs` is None, and what was made from them.

    The other parameters are those of `erasing.erase`. A dry run changes nothing and returns what would be changed.
    """
    stores = erasing.existing(store, beside)
    if dry_run:
        with store.read() as tx:
            said, before = _said(stores, tx, info, seqs)
            plan = _planned(tx, said)
            removed, rewritten = _figures(said, plan)
        return _receipt(said, now, removed, rewritten, before=before, dry_run=True)
    with store.write() as work:
        Journal.advance(work.tx, 0, text.ANALYSIS_VERSION)  # concurrent appenders and savers block until commit
        said, before = _said(stores, work.tx, info, seqs)
        plan = _planned(work.tx, said)
        removed, rewritten = _figures(said, plan)
        removed += _apply(work, store, said, plan, actor, now)
        if seqs is None:
            cleared = work.tx.run("history.scratch_clear", conversation=info.id)
            removed.append(Erased(place="scratchpad", removed=cleared))
        asked = said.traces.blank(work.tx)
    again = f"the conversation {info.ref_code}"
    tidied = erasing.tidy(stores, job_stores, said.traces, again=again, asked=asked)
    rows = [line for one in stores for line in erasing.left(one, said.traces.words(), again)]
    with store.read() as tx:
        same = list(_same(stores, tx, said))
    files = elsewhere([*plan.drops, *plan.rewrites], said.traces.probes)
    verified = ["journal", "entries", "operation log", *([] if rows else ["every table"]), *tidied.verified]
    return replace(
        _receipt(said, now, [*removed, *tidied.removed], rewritten, before=before),
        verified=tuple(verified),
        remaining=(*same, *rows, *files, *tidied.remaining),
    )


def _receipt(
    said: _Said,
    now: int,
    removed: Iterable[Erased],
    rewritten: Iterable[Rewritten],
    *,
    before: int,
    dry_run: bool = False,
) -> Receipt:
    return Receipt(
        conversation_id=said.info.id,
        at=now,
        events=tuple(event.seq for event in said.events),
        removed=tuple(one for one in removed if one.removed),
        rewritten=tuple(rewritten),
        verified=(),
        erased_before=before,
        dry_run=dry_run,
    )


# What is erased


def _said(
    stores: Sequence[Store], tx: Transaction, info: ConversationInfo, seqs: Sequence[int] | None
) -> tuple[_Said, int]:
    """Return what is erased, and the number of events that were erased before."""
    info = history.conversation(tx, info.id) or info  # it may have ended since it was read
    talk = history.events(tx, "events", conversation=info.id, after=0, limit=history.LONGEST)
    written = [event for event in talk if event.type is not EventType.MARKER]
    chosen = written if seqs is None else _with_results(written, set(seqs))
    events = tuple(event for event in chosen if event.erased_at is None)
    contents = {part for event in events for part in _texts(event) if part.strip()}
    said = _Said(
        info=info,
        events=events,
        seqs=frozenset(event.seq for event in events),
        whole=len(chosen) == len(written),
        traces=Traces.of(contents, set(), most=PIECES),
        corpus="\n".join(map(text.normalise, contents)),
        sentences=frozenset(one for content in contents for one in _sentences(content)),
    )
    common = _common(stores, tx, said)
    return replace(said, traces=Traces.of(contents, common, most=PIECES)), len(chosen) - len(events)


def _sentences(written: str) -> list[str]:
    """Return the normalised sentences of a text that are long enough to be recognised."""
    found = (text.normalise(one) for one in text.sentences(written))
    return [one for one in found if len(one) >= LONG_ENOUGH]


def _with_results(written: Sequence[Event], seqs: set[int]) -> list[Event]:
    """Return the chosen events, and the results of the tool calls among them."""
    open_calls: dict[tuple[Lane, str | None], bool] = {}  # by lane and call id: whether the call is chosen
    chosen = []
    for event in written:
        for call in event.tool_calls:
            open_calls[event.lane, call["id"]] = event.seq in seqs
        answers = event.type is EventType.TOOL and open_calls.pop((event.lane, event.tool_call_id), False)
        if event.seq in seqs or answers:
            chosen.append(event)
    return chosen


def _texts(event: Event) -> Iterator[str]:
    """Yield every text of an event: content, tool calls and the strings in its payload."""
    yield event.content
    for call in event.tool_calls:
        yield from _strings(call["function"]["arguments"])
    yield from _strings(event.payload)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, Sequence):
        for one in value:
            yield from _strings(one)


def _common(stores: Sequence[Store], tx: Transaction, said: _Said) -> set[str]:
    """Return the terms of the text that another turn, or an entry not made from conversations, contains as well."""
    terms = list(said.traces.rare)
    made = {entry_id for (entry_id,) in tx.all("history.made_from", conversation=said.info.id)}
    made.update(entry.id for entry in _citing(tx, said))
    return erasing.common_terms(stores, terms, sorted(made)) | {
        term for term, turns in _in_other_turns(stores[0], tx, said, terms).items() if turns > 0
    }


def _in_other_turns(store: Store, tx: Transaction, said: _Said, terms: Sequence[str]) -> Counter[str]:
    from recollect.search.journal import document, is_turn

    holding = Counter(conversation_search.common(store, tx, terms))
    for event in filter(is_turn, said.events):
        holding.subtract(document(event).keys())
    return holding


# Planning


def _planned(tx: Transaction, said: _Said) -> _ErasurePlan:
    plan = _ErasurePlan()
    if not said.events:
        return plan
    left = [event for event in ending.talk_of(tx, said.info.id) if event.seq not in said.seqs]
    made = {entry.id: entry for entry in _made(tx, said.info.id)}
    documents = _plan_lanes(tx, said, plan, made)
    _plan_checkpoint(tx, said, plan, documents)
    _plan_closing(tx, said, plan, left, made)
    own = sorted((one for one in made.values() if one.kind is Kind.CHUNK), key=lambda one: one.seq)
    if ending.is_half_chunked(tx, said.info.id):  # its next run makes its own chunks again
        start = chunked_to(tx, said.info.id)
        plan.drops.update({entry.id: "chunks" for entry in own if (entry.first_event or 0) > start})
        own = [entry for entry in own if entry.id not in plan.drops]
    _plan_chunks(said, plan, left, own)
    written = [text.normalise(event.content) for event in left]
    for entry in made.values():
        if entry.kind is Kind.NOTE:
            _plan_note(said, plan, entry, left, written)
    for entry in _citing(tx, said):
        if entry.id not in made:
            plan.put(entry, None, "notes made from them")
    _plan_past(tx, said, plan, made)
    return plan


def _made(tx: Transaction, conversation: str) -> Iterator[Entry]:
    """Yield the living entries that jobs made: from this conversation, or from several notes of any."""
    ids = [entry_id for (entry_id,) in tx.all("history.made_from", conversation=conversation)]
    for start in range(0, len(ids), entries.CHUNK):
        yield from (found.entry for found in entries.stored(tx, ids[start : start + entries.CHUNK]).values())


def _citing(tx: Transaction, said: _Said) -> Iterator[Entry]:
    """Yield the living entries whose evidence is nothing but erased turns."""
    ids = [entry_id for (entry_id,) in tx.all("entries.citing", probe=f"event:{said.info.id}:")]
    for start in range(0, len(ids), entries.CHUNK):
        for found in entries.stored(tx, ids[start : start + entries.CHUNK]).values():
            if said.is_only_source(found.entry):
                yield found.entry


def _plan_lanes(
    tx: Transaction, said: _Said, plan: _ErasurePlan, made: Mapping[str, Entry]
) -> dict[Lane, list[tuple[int, SummaryDocument]]]:
    """Plan the markers, archives and summary documents of the lanes; return the documents by number of their marker."""
    found = {}
    for lane in Lane:
        documents: list[tuple[int, SummaryDocument]] = []
        written = lanes.lane_events(tx, said.info.id, lane)
        state = lanes.lane_state(tx, said.info.id, lane)
        before = LaneState()
        old = document = SummaryDocument()
        made_again = False
        markers = history.events(tx, "markers", conversation=said.info.id, lane=str(lane), limit=history.LONGEST)
        for event in reversed(markers):
            marker, old = lanes.read_marker(event), SummaryDocument.read(event.payload["document"])
            folded = [one for one in written if _covers(marker.boundary, marker.kept, one) and not _is_in(before, one)]
            hit = not said.seqs.isdisjoint(one.seq for one in folded)
            made_again = made_again or hit
            archive = None
            rest = [one for one in folded if one.seq not in said.seqs and one.erased_at is None]
            if made_again:
                archive, summary = _folded(document, [one for one in folded if one.seq not in said.seqs])
                document = said.without_facts(old, summary)
            else:
                document = said.without_facts(old, said.cleaned(old.summary))
            if hit and (entry := made.get(event.payload["archive_id"])) is not None:
                plan.put(entry, archive, "archives", **made_from_events(rest))
            if document != old:
                plan.markers.append(replace(event, payload={**event.payload, "document": document.to_json()}))
            documents.append((event.seq, document))
            before = LaneState(event.seq, marker.boundary, marker.kept)
        if made_again:
            # What the agent has added since the last compaction stays, as far as it does not quote.
            added = state.document.summary.removeprefix(old.summary) if old.summary else state.document.summary
            summary = "\n\n".join(part for part in (document.summary, said.cleaned(added)) if part)
        else:
            summary = said.cleaned(state.document.summary)
        document = said.without_facts(state.document, summary)
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
    tx: Transaction, said: _Said, plan: _ErasurePlan, documents: Mapping[Lane, Sequence[tuple[int, SummaryDocument]]]
) -> None:
    row = tx.one("history.checkpoint", conversation=said.info.id)
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
        summary = then[-1].summary if changed else said.cleaned(document.summary)
        rebuilt[str(lane)] = said.without_facts(document, summary).to_json()
    written = json.dumps(rebuilt, ensure_ascii=False)
    if written != stored:
        plan.checkpoint = written


def _plan_closing(
    tx: Transaction, said: _Said, plan: _ErasurePlan, left: Sequence[Event], made: Mapping[str, Entry]
) -> None:
    """Plan the closing summary, the insights recorded with an ending, and the archives of an old conversation."""
    steps = tx.one("history.ending", id=said.info.id)
    if steps and steps[0]:
        recorded = json.loads(steps[0])
        kept = [
            [line for line in one if not (said.whole or said.quoted_in(line))] if isinstance(one, list) else one
            for one in ending.without_batches(recorded)
        ]
        plan.steps = json.dumps(kept, ensure_ascii=False) if kept != recorded else None
    if said.info.closing_summary is None:
        return
    plan.closing = summarising.close(None, ending.turns_of(left)).summary
    archives = [one for one in made.values() if one.kind is Kind.ARCHIVE and one.source != SOURCE]
    parts = ending.summary_parts(plan.closing) if archives else []
    _pair(plan, sorted(archives, key=lambda one: one.seq), parts, made_from_events(left))


def _pair(plan: _ErasurePlan, old: Sequence[Entry], parts: Sequence[str], made_from: MadeFrom) -> None:
    """Plan to rewrite entries with new parts in order. There are never more parts than entries of the same text."""
    for number, entry in enumerate(old):
        last = number == len(old) - 1
        content = "\n\n".join(parts[number:]) if last else parts[number] if number < len(parts) else None
        plan.put(entry, content, "archives", **made_from)


def _plan_chunks(said: _Said, plan: _ErasurePlan, left: Sequence[Event], own: Sequence[Entry]) -> None:
    """Plan the chunks that cover an erased event, and those that share an event with one of them."""
    spans = [(first, last) for first, last in _joined(own) if said.covers(first, last)]
    affected = [one for one in own if _within(one.first_event or 0, spans)]
    covered = [event for event in left if _within(event.seq, spans)]
    for entry, part in zip_longest(affected, chunks(covered)):
        if entry is None:
            plan.adds.append((chunk_draft(said.info, *part), "chunks"))
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


def _plan_note(said: _Said, plan: _ErasurePlan, entry: Entry, left: Sequence[Event], written: Sequence[str]) -> None:
    """Plan a note that a job made: a hand-off, a decision, a lesson, or the lines of several notes."""
    own = entry.conversation_id == said.info.id
    if entry.category is Category.HANDOFFS and own:
        if said.whole or not said.references.isdisjoint(entry.evidence) or _shows(said, entry.content):
            _plan_handoff(said, plan, entry, left)
    elif own and entry.source == "conversation":
        line = text.normalise(entry.content)
        quoted = said.is_only_source(entry) or said.quoted_in(entry.content)
        if said.whole or (quoted and not any(line in one for one in written)):
            plan.put(entry, None, "decisions and lessons")
    elif (content := said.cleaned(entry.content)) != entry.content.strip():
        plan.put(entry, content if content.count("\n") or not content.endswith(":") else None, "summaries of notes")


def _plan_handoff(said: _Said, plan: _ErasurePlan, entry: Entry, left: Sequence[Event]) -> None:
    """Plan a hand-off: that of an ending is made again, any other loses the lines that quote."""
    if ending.CLOSED not in entry.tags:
        plan.put(entry, None if said.whole else said.cleaned(entry.content), "hand-offs")
        return
    content, quoted = next(iter(handoff_of(left)), (None, ()))
    plan.put(entry, None if said.whole else content, "hand-offs", **made_from_events(quoted))


def _shows(said: _Said, content: str) -> bool:
    """Return whether a hand-off shows an erased message, cut or whole."""
    starts = (text.normalise(event.content[:100]) for event in said.events if event.content.strip())
    shown = text.normalise(content)
    return any(start in shown for start in starts) or any(map(said.quoted_in, content.splitlines()))


def _plan_past(tx: Transaction, said: _Said, plan: _ErasurePlan, made: Mapping[str, Entry]) -> None:
    """Plan the entries in the trash, and the earlier texts of those that stay."""
    rows = [row for probe in (said.info.id, _FROM_SHELF) for row in tx.all("operations.containing", probe=probe)]
    for entry_id in {*made, *(entry_id for (entry_id,) in rows)} - plan.drops.keys() - plan.rewrites.keys():
        entry = made.get(entry_id)
        if entry is None and (tx.one("entries.by_ids", ids=[entry_id]) or not _was_made(tx, said, entry_id)):
            continue  # written on purpose
        past = erasing.contents_of(tx, entry_id) - ({entry.content} if entry else set())
        if any(said.quoted_in(line) for content in past for line in content.splitlines()):
            plan.put(entry, entry.content, "earlier texts") if entry else plan.drops.update({entry_id: "trash"})


def _was_made(tx: Transaction, said: _Said, entry_id: str) -> bool:
    """Return whether an entry in the trash was made from the conversation by a job."""
    removal = entries.last_removal(tx, entry_id)
    before = (removal.before if removal else None) or {}
    made = before.get("kind") != str(Kind.NOTE) or before.get("source") == "conversation"
    return before.get("source") == "shelve" or (made and before.get("conversation_id") == said.info.id)


# Applying


def _apply(work: Work, store: Store, said: _Said, plan: _ErasurePlan, actor: str, now: int) -> list[Erased]:
    """Apply the plan; return what was removed with the entries."""
    if not said.events:
        return []
    tx = work.tx
    conversation = said.info.id
    for event in said.events:
        blank = replace(event, content="", speaker=None, tool_calls=(), internal=False, payload={})
        history.erase_event(tx, blank, now)
    for marker in plan.markers:
        history.erase_event(tx, marker, now)
    for lane, state in plan.lanes.items():
        lanes.set_document(tx, conversation, lane, state, now)
    if plan.checkpoint is not None:
        tx.run("history.checkpoint_documents", conversation=conversation, documents=plan.checkpoint)
    if plan.closing is not None:
        tx.run("history.closing_set", id=conversation, summary=plan.closing)
    if plan.steps is not None:
        tx.run("history.ending_set", id=conversation, ending=plan.steps)
    purged = erasing.purge(work, [*plan.drops, *plan.rewrites], actor=actor, now=now)
    removed = {place: count for place, count in purged.items() if place not in ("entries", "names")}
    for entry, _ in plan.rewrites.values():
        remember.put_back(work, replace(entry, updated_at=now), actor, now)
    for draft, _ in plan.adds:
        remember.apply(work, checked(draft), actor=actor, now=now)
    erasing.sweep_vectors(tx)
    removed["index of turns"] = conversation_search.erase(store, tx, min(said.seqs))
    return [Erased(place=place, removed=count) for place, count in removed.items()]


def _figures(said: _Said, plan: _ErasurePlan) -> tuple[list[Erased], list[Rewritten]]:
    """Return the figures of a plan for a receipt."""
    dropped = Counter(plan.drops.values())
    rewritten = Counter(place for _, place in plan.rewrites.values())
    rewritten += Counter(place for _, place in plan.adds)
    rewritten |= Counter(
        {
            "compaction markers": len(plan.markers),
            "summary documents": len(plan.lanes),
            "checkpoints": int(plan.checkpoint is not None),
            "closing summary": int(plan.closing is not None and plan.closing != said.info.closing_summary),
        }
    )
    return (
        [Erased(place="turns", removed=len(said.events)), *(Erased(place=p, removed=n) for p, n in dropped.items())],
        [Rewritten(place=place, rewritten=count) for place, count in (+rewritten).items()],
    )


# What is left


def _same(stores: Sequence[Store], tx: Transaction, said: _Said) -> Iterator[str]:
    """Yield the entries and turns that contain the same words and were left alone."""
    pieces = [probe for probe in said.traces.probes if len(probe) >= LONG_ENOUGH]
    pieces = pieces[:: max(len(pieces) // CHECKED, 1)][:CHECKED]
    found = {
        other
        for probe in pieces
        for query in ("entries.containing", "operations.containing")
        for (other,) in tx.all(query, probe=probe)
    }
    yield from (f"entry {other} contains some of the same words and was not changed" for other in sorted(found))
    turns = {
        row for word in (*pieces, *_seldom(stores[0], tx, said)) for row in tx.all("history.containing", word=word)
    }
    for seq, ref_code in sorted(turns):
        yield f"turn {seq} of the conversation {ref_code} contains some of the same words and was not changed"


def _seldom(store: Store, tx: Transaction, said: _Said) -> list[str]:
    """Return words with a digit that a few other turns contain: a number or a password may have been repeated."""
    words = {word for content in said.traces.contents for word in erasing.long_words(content) if _DIGIT.search(word)}
    terms = {word: text.analyse(word) for word in words}
    holding = conversation_search.common(store, tx, [term for found in terms.values() for term in found])
    return sorted(word for word, found in terms.items() if any(0 < holding.get(term, 0) <= FEW for term in found))[
        :CHECKED
    ]
