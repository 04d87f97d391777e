"""The turns that are erased, and how to recognise their text elsewhere."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from recollect import text
from recollect.engine import conversation_search, erasing
from recollect.engine.agent_store import Store
from recollect.engine.erasing import Traces
from recollect.engine.origins import made_from_events
from recollect.model.entry import Entry
from recollect.model.history import ConversationInfo, Event, EventType, Lane
from recollect.model.working import SummaryDocument
from recollect.storage import entries, history
from recollect.storage.database import Transaction

__all__ = ["LONG_ENOUGH", "ErasureTarget", "citing", "target_of"]

LONG_ENOUGH = 8
"""Minimum length of a text that counts as a quote, in characters."""
_LEAD = re.compile(r"^(?:- )?(?:\[\d{4}-\d\d-\d\d\] )?(?:\[?(?:user|agent|assistant|system|tool)\]?: )?")
"""What precedes a quote in a summary: the mark of an item, a date, a role."""
PIECES = 512
"""Maximum number of pieces by which recorded queries and files are compared with the erased text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureTarget:
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
        """Return whether a range of events contains an erased one."""
        place = bisect_left(self.events, first or 0, key=attrgetter("seq"))
        return place < len(self.events) and self.events[place].seq <= (last or 0)

    def quoted_in(self, written: str) -> bool:
        """Return whether a line or sentence quotes the erased text, is a part of it, or shares a rare word with it."""
        quote = _LEAD.sub("", text.normalise(written))
        if len(quote) >= LONG_ENOUGH and quote in self.corpus:
            return True
        return self.traces.shares_rare(written) or not self.sentences.isdisjoint(_sentences(quote))

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


def target_of(
    stores: Sequence[Store], tx: Transaction, info: ConversationInfo, seqs: Sequence[int] | None
) -> tuple[ErasureTarget, int]:
    """Return what is erased, and the number of events that were erased before."""
    info = history.conversation(tx, info.id) or info  # it may have ended since it was read
    talk = history.events(tx, "events", conversation=info.id, after=0, limit=history.LONGEST)
    written = [event for event in talk if event.type is not EventType.MARKER]
    chosen = written if seqs is None else _with_results(written, set(seqs))
    events = tuple(event for event in chosen if event.erased_at is None)
    contents = {part for event in events for part in _texts(event) if part.strip()}
    target = ErasureTarget(
        info=info,
        events=events,
        seqs=frozenset(event.seq for event in events),
        whole=len(chosen) == len(written),
        traces=Traces.of(contents, set(), most=PIECES),
        corpus="\n".join(map(text.normalise, contents)),
        sentences=frozenset(one for content in contents for one in _sentences(content)),
    )
    common = _common(stores, tx, target)
    return replace(target, traces=Traces.of(contents, common, most=PIECES)), len(chosen) - len(events)


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


def _common(stores: Sequence[Store], tx: Transaction, target: ErasureTarget) -> set[str]:
    """Return the terms of the text that another turn, or an entry not made from conversations, contains as well."""
    terms = list(target.traces.rare)
    made = {entry_id for (entry_id,) in tx.all("history.made_from", conversation=target.info.id)}
    made.update(entry.id for entry in citing(tx, target))
    return erasing.common_terms(stores, terms, sorted(made)) | {
        term for term, turns in _in_other_turns(stores[0], tx, target, terms).items() if turns > 0
    }


def _in_other_turns(store: Store, tx: Transaction, target: ErasureTarget, terms: Sequence[str]) -> Counter[str]:
    from recollect.search.journal import document, is_turn

    holding = Counter(conversation_search.common(store, tx, terms))
    for event in filter(is_turn, target.events):
        holding.subtract(document(event).keys())
    return holding


def citing(tx: Transaction, target: ErasureTarget) -> Iterator[Entry]:
    """Yield the living entries whose evidence is nothing but erased turns."""
    ids = [entry_id for (entry_id,) in tx.all("entries.citing", probe=f"event:{target.info.id}:")]
    for start in range(0, len(ids), entries.CHUNK):
        for found in entries.stored(tx, ids[start : start + entries.CHUNK]).values():
            if target.is_only_source(found.entry):
                yield found.entry
