"""The full-text index over the journal: turns of users and models in conversations. It never holds tool output.

The document number of an event is its sequence number in the journal. The journal itself is the tail of this index, so
appending an event writes nothing here; every TAIL events are flushed to a segment, as for entries (`index.py`). Besides
the length of a turn, a segment stores what ranking needs in a fixed-size record: conversation, previous turn, speaker,
time, and flags (asks a question, mentions time, from the assistant). A process reads the records once, so a search over
a million events reads posting lists and the rows of its hits, and nothing else.

Imported by the first search or flush and not with the package, because it needs numpy.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from recollect import standing_rules, text
from recollect.errors import Corrupt
from recollect.model.history import Event, EventType
from recollect.search import bm25, index, ranking, turn_text, turns
from recollect.search.confidence import of_turns
from recollect.search.lookup import weigh
from recollect.search.segments import View, fingerprint, fingerprints, posting_list, postings_of
from recollect.storage import history
from recollect.storage.counters import Counters
from recollect.storage.database import Row, Transaction
from recollect.storage.history import Journal

__all__ = ["JournalIndex", "JournalLookup", "Span", "document", "is_turn"]

PAGE = 1_000
CANDIDATES = 500
"""Number of turns selected by BM25 before the other evidence is applied."""
THEN = 100
"""Additional candidates from a date that the question names: this many by BM25, and this many of the newest."""
BEST = 10
"""Number of best turns by BM25 around which more turns become candidates: a short answer repeats nothing of what it is
about, and may come some turns later."""
FAR = 6
"""Distance in turns up to which those are candidates."""
NEAREST = 20
"""Number of nearest texts about conversations whose turns become candidates without a word match."""
UNRELATED = 0.2
"""Texts with a cosine up to this are treated as unrelated."""
RECORD = np.dtype(
    [
        ("length", "<u4"),
        ("conversation", "<u4"),  # sequence number of its first event; 0 for an event that is not a turn
        ("before", "<u4"),  # previous turn in the conversation; 0 for the first
        ("speaker", "<u4"),  # an event with the same speaker; 0 if no name is given
        ("at", "<i8"),
        ("flags", "u1"),
    ]
)
ASKS, TELLS_TIME, ASSISTANT = 1, 2, 4
RULES = 128
"""Flag of a turn with a word of standing rules; only in the cached view, not stored."""
DAY = 86_400_000

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Records = NDArray[np.void]


def is_turn(event: Event) -> bool:
    """Return whether an event is searchable: from a user or a model, not internal, and not blank."""
    return event.type in (EventType.USER, EventType.MODEL) and not event.internal and bool(event.content.strip())


def document(event: Event) -> dict[str, int]:
    """Return the terms of a turn: those of its speaker and its content.

    Of a very long turn its beginning and end count: every process analyses the end of the journal, which is not flushed
    yet, and a pasted log of megabytes would take seconds each time. The date is not among the terms: the record has it,
    and as words it did a little harm wherever it was measured.
    """
    return text.terms(f"{event.speaker or ''}\n{text.ends(event.content, text.LONG_TURN)}")


class JournalIndex(index.Segmented):
    """The index over one agent's journal: flush, look, rebuild, check. Thread-safe."""

    queries = "turns"
    postings = "turn_postings"

    def flush(self, tx: Transaction, journal: Journal) -> None:
        """Write segments while TAIL or more events are unindexed; the caller saves the journal."""
        if journal.analysis != text.ANALYSIS_VERSION:
            self._clear(tx, journal)
        numbers = _numbers(journal)
        while numbers.documents - numbers.flushed >= index.TAIL:
            first, size = numbers.flushed + 1, index.TAIL
            records = np.zeros(size, RECORD)
            documents: list[tuple[int, Mapping[str, int]]] = []
            _must_go_on(tx, numbers.flushed)
            for seq, terms, record in _EventReader(first).after(tx, numbers.flushed, numbers.flushed + size):
                records[seq - first] = record
                documents.append((seq - first, terms))
            lists = postings_of(documents)
            self._write_segment(tx, numbers, lists, level=0, first=first, size=size, lengths=records.tobytes())
            numbers.flushed += size
            numbers.live += int(np.count_nonzero(records["conversation"]))
            numbers.tokens += int(records["length"].sum())
            self._merge_due(tx, numbers)
        journal.flushed, journal.live = numbers.flushed, numbers.live
        journal.tokens, journal.layout = numbers.tokens, numbers.layout

    def rebuild(self, tx: Transaction, journal: Journal) -> None:
        """Rebuild the index from the journal; the caller saves the journal."""
        self._clear(tx, journal)
        self.flush(tx, journal)

    def erase(self, tx: Transaction, journal: Journal, seq: int) -> int:
        """Remove the terms of erased events, the first of which is `seq`; return the number of segments rewritten.

        The events are blank by now. All segments from that of the first one on are written again, because records of
        later events may refer to it. The caller saves the journal.
        """
        dropped = [(segment, first) for segment, _, first, size in tx.all("turns.segments") if first + size > seq]
        for segment, first in dropped:
            ((blob,),) = tx.all("turns.lengths", segment=segment)
            records = np.frombuffer(blob, RECORD)
            journal.live -= int(np.count_nonzero(records["conversation"]))
            journal.tokens -= int(records["length"].sum())
            journal.flushed = min(journal.flushed, first - 1)
        for query in ("segments_drop", "postings_drop") if dropped else ():
            tx.run(f"turns.{query}", segments=[segment for segment, _ in dropped])
        journal.layout += 1  # every process reads the tail again
        self.flush(tx, journal)
        return len(dropped)

    def holding(self, tx: Transaction, journal: Journal, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of turns that contain each term."""
        if not terms or not journal.events:
            return {}
        with self._lock:
            return dict(self._current(tx, _numbers(journal)).postings(tx, terms)[1])

    def stale(self, journal: Journal) -> bool:
        """Return whether the segments were made by another version of the text analysis."""
        return journal.flushed > 0 and journal.analysis != text.ANALYSIS_VERSION

    def look(self, tx: Transaction, journal: Journal, query: str, words: Sequence[Sequence[str]]) -> "JournalLookup":
        """Look up a query; `words` are its `text.query_terms()`."""
        terms = [term for word in words for term in word]
        with self._lock:
            view = self._current(tx, _numbers(journal))
            assert isinstance(view, _TurnView)
            lists, holding = view.postings(tx, terms) if terms else ([], {})
            records, following, names = view.records[: journal.events + 1], view.following, view.names
        tail = records[journal.flushed + 1 :]
        live = journal.live + int(np.count_nonzero(tail["conversation"]))
        average = (journal.tokens + int(tail["length"].sum())) / (live or 1) or 1.0
        weighted = weigh(words, holding, live)
        idf = np.zeros(len(words))
        for weight, place, _ in weighted:
            idf[place] = weight
        parts = [
            (part, [(weight, place, found[term]) for weight, place, term in weighted if term in found])
            for part, found in lists
            if found
        ]
        return JournalLookup(
            query=query,
            words=words,
            records=records,
            following=following,
            names=names,
            average=average,
            idf=idf,
            parts=parts,
        )

    def check(self, tx: Transaction, journal: Journal) -> list[str]:
        """Return the differences between the index and the journal."""
        if self.stale(journal):
            return []  # the next search or flush rebuilds it
        _must_be_there(tx, journal.flushed)
        size = journal.flushed + 1
        expected, right = np.zeros(size, RECORD), np.zeros(size, np.uint64)
        for seq, terms, record in _EventReader(1).after(tx, 0, journal.flushed):
            expected[seq], right[seq] = record, fingerprint(terms)
        stored, prints = np.zeros(size, RECORD), np.zeros(size, np.uint64)
        covered = np.zeros(size, bool)
        for segment, _, first, count in tx.all("turns.segments"):
            ((blob,),) = tx.all("turns.lengths", segment=segment)
            if first + count > size or len(blob) != count * RECORD.itemsize:
                return [f"segment {segment} of the index over the journal does not fit the journal"]
            stored[first : first + count] = np.frombuffer(blob, RECORD)
            prints[first : first + count] = fingerprints(count, tx.all("turns.postings_of", segments=[segment]))
            covered[first : first + count] = True

        problems = []
        live, tokens = int(np.count_nonzero(expected["conversation"])), int(expected["length"].sum())
        if (journal.live, journal.tokens) != (live, tokens):
            problems.append(
                f"the index over the journal counts {journal.live} turns and {journal.tokens} terms; "
                f"there are {live} and {tokens}"
            )
        same = (prints == right) & covered
        for name in ("length", "conversation", "before", "at", "flags"):
            same &= stored[name] == expected[name]
        # A name is stored as the number of any event with the same speaker.
        named = np.minimum(stored["speaker"], journal.flushed)
        same &= expected["speaker"][named] == expected["speaker"]
        problems += [f"event {seq} is not indexed as it was said" for seq in np.flatnonzero(~same).tolist() if seq]
        return problems

    def _clear(self, tx: Transaction, journal: Journal) -> None:
        tx.run("turns.clear_segments")
        tx.run("turns.clear_postings")
        journal.flushed = journal.live = journal.tokens = 0
        journal.layout += 1
        journal.analysis = text.ANALYSIS_VERSION

    def _new_view(self, generation: int) -> "_TurnView":
        return _TurnView(generation)


@dataclass(frozen=True, slots=True)
class Span:
    """The range of a conversation that a text covers, and the cosine of its vector with the query's."""

    conversation: int
    """Sequence number of its first event."""
    first: int
    last: int
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLookup:
    """A snapshot of the journal for one search: records of the turns, and postings of the query's words."""

    query: str
    words: Sequence[Sequence[str]]
    records: Records
    following: NDArray[np.uint32]
    names: dict[int, str]
    average: float
    """Average length of a turn in terms."""
    idf: NDArray[np.float64]
    """Inverse document frequency of each query word."""
    parts: list[tuple[bm25.DocumentRange, list[tuple[float, int, bm25.PostingList]]]]
    events: dict[int, Event] = field(default_factory=dict)
    """The events that `best` has read, which are most of the best ones."""

    def allowed(
        self, since: int | None, until: int | None, conversations: Sequence[int] | None, without: Collection[int] = ()
    ) -> Flags | None:
        """Return a mask of the events in this time range and these conversations, `without` some; None for all."""
        tests = []
        if since is not None:
            tests.append(self.records["at"] >= since)
        if until is not None:
            tests.append(self.records["at"] < until)
        if conversations is not None:
            tests.append(np.isin(self.records["conversation"], conversations))
        if without:
            others = np.ones(len(self.records), np.bool_)
            others[[seq for seq in without if seq < len(others)]] = False
            tests.append(others)
        return np.logical_and.reduce(tests) if tests else None

    def best(
        self,
        tx: Transaction,
        limit: int,
        spans: Sequence[Span],
        allowed: Flags | None,
        *,
        by_conversation: bool = False,
        candidates: int | None = None,
        contextual: bool = False,
    ) -> tuple[list[tuple[int, float]], float]:
        """Return the best allowed turns as (number, score), and the confidence; ties are ordered newest first.

        `spans` are sorted nearest first. `by_conversation` returns only the best turn of each conversation. So many
        `candidates` are selected by BM25, by default CANDIDATES. `contextual` says that the cosines are those of a
        transformer.
        """
        first = self.rank(CANDIDATES if candidates is None else candidates, allowed)
        chosen = [np.array([seq for seq, _ in first], np.int64)]
        chosen += self._said_then(allowed)
        chosen += [self._within(span) for span in spans[:NEAREST] if span.cosine > UNRELATED]
        seqs = np.union1d(self._beside(np.concatenate(chosen)), self._beside(chosen[0][:BEST], FAR))
        found = self._candidates(tx, seqs, spans, contextual)
        question = turns.TurnQuery.read(self.query, self.words, {name for name in found.speaker if name})
        scores = turns.scores(question, found, average=self.average)
        mask = None if allowed is None else allowed[seqs]
        confidence = turns.confidence(question, found, self.idf, scores, mask)
        people = found.role == turns.Role.PERSON
        scores += turn_text.length_score(self.records["length"][seqs], people, self.average)
        wanted = turn_text.TurnTextQuery.read(self.query, set(found.speaker))
        ruling = ((self.records["flags"][seqs] & RULES) > 0) & (found.role == turns.Role.USER)
        read = _best_first(seqs, scores, mask, turn_text.READ if wanted else 0)
        rules = _best_first(seqs, scores, ruling if mask is None else ruling & mask, turn_text.READ)
        if len(read) or len(rules):
            self._read(tx, seqs[np.union1d(read, rules)].tolist())
            scores[read] += [wanted.score(self._content(seq)) for seq in seqs[read].tolist()]
            asked = {term for word in self.words for term in word}
            scores[rules] += [turn_text.rule_score(self._content(seq), asked) for seq in seqs[rules].tolist()]
        order = _best_first(seqs, scores, mask, len(seqs) if by_conversation else limit)
        if by_conversation:
            _, places = np.unique(found.conversation[order], return_index=True)
            order = order[np.sort(places)]
        order = order[:limit]
        return list(zip(seqs[order].tolist(), scores[order].tolist(), strict=True)), confidence

    def _read(self, tx: Transaction, seqs: Sequence[int]) -> None:
        read = map(_event, tx.all("history.events_by_seq", seqs=seqs))
        self.events.update((event.seq, event) for event in read if event is not None)

    def _content(self, seq: int) -> str:
        event = self.events.get(seq)
        return "" if event is None else event.content

    def rank(self, limit: int, allowed: Flags | None = None) -> list[tuple[int, float]]:
        """Return the best allowed turns by BM25 alone, as (number, score)."""
        b = ranking.b_for(self.average)
        parts = []
        for part, lists in self.parts:
            if allowed is not None:
                part = part.only(allowed[part.first : part.first + len(part.lengths)], self.average, b)
            parts.append((part, [(weight, [found]) for weight, _, found in lists]))
        return bm25.rank(parts, limit, self.average, b)

    def confidence_by_words(self, without: Sequence[int]) -> float:
        """Return the confidence by the share of the words that a single turn holds, cheaply: without other evidence.

        Turns of the conversations `without`, and those that ask, do not count: a question that was asked before has the
        same words, and no answer.
        """
        mass = float(self.idf.sum())
        share, words = 0.0, 0
        for part, lists in self.parts:
            shares, counts = np.zeros(len(part.lengths)), np.zeros(len(part.lengths), np.int64)
            for weight, docs in _by_word(lists):
                shares[docs] += weight
                counts[docs] += 1
            records = self.records[part.first : part.first + len(shares)]
            telling = (records["flags"] & ASKS == 0) & (records["conversation"] > 0)
            telling &= ~np.isin(records["conversation"], without)
            shares = shares[: len(records)] * telling
            place = int(shares.argmax()) if len(shares) else 0
            if len(shares) and shares[place] > share:
                share, words = float(shares[place]), int(counts[place])
        return of_turns(share / mass, words) if share else 0.0

    def around(self, seq: int, reach: int) -> list[int]:
        """Return the turns up to `reach` places before and after one, in order."""
        found: list[int] = []
        for step in (self._before, self._after):
            at = np.array([seq])
            for _ in range(reach):
                at = step(at)
                found += [int(at[0])] if at[0] else []
        return sorted(found)

    def _said_then(self, allowed: Flags | None) -> list[Integers]:
        """If the query names a date, return the best turns of that time by BM25, and the newest of that time."""
        periods = turns.periods(self.query)
        if not periods:
            return []
        day = self.records["at"] // DAY
        starts, ends = np.array(sorted(turns.spans_of(periods, day[day > 0].min(initial=day.max()), day.max()))).T
        begun = np.searchsorted(starts, day, "right") - 1  # the last period that starts on or before the day
        said = (begun >= 0) & (day <= np.maximum.accumulate(ends)[begun]) & (self.records["conversation"] > 0)
        if allowed is not None:
            said &= allowed
        best = [seq for seq, _ in self.rank(THEN, said)]
        return [np.array(best, np.int64), np.flatnonzero(said)[-THEN:]]

    def _within(self, span: Span) -> Integers:
        """Return the turns of a span."""
        return span.first + np.flatnonzero(
            self.records["conversation"][span.first : span.last + 1] == span.conversation
        )

    def _before(self, seqs: Integers) -> Integers:
        """Return the previous turn of each in its conversation; 0 where there is none."""
        return self.records["before"][seqs].astype(np.int64)

    def _after(self, seqs: Integers) -> Integers:
        """Return the next turn of each in its conversation; 0 where there is none."""
        following = self.following[seqs].astype(np.int64)
        # Turns appended since this snapshot are ignored, and those that were erased.
        following = np.where(following < len(self.records), following, 0)
        return np.where(self.records["before"][following] == seqs, following, 0)

    def _beside(self, seqs: Integers, reach: int = turns.REACH) -> Integers:
        """Return the turns and those up to `reach` places before and after them, ascending."""
        back = forth = seqs
        every = [seqs]
        for _ in range(reach):
            back, forth = self._before(back), self._after(forth)
            every += [back, forth]
        found = np.sort(np.concatenate(every))
        return found[np.diff(found, prepend=0) > 0]  # each once, and without 0

    def _candidates(self, tx: Transaction, seqs: Integers, spans: Sequence[Span], contextual: bool) -> turns.Turns:
        """Return the ranking features of turns; `seqs` are ascending."""
        records = self.records[seqs]
        conversation = records["conversation"].astype(np.int64)
        assistant = (records["flags"] & ASSISTANT) > 0
        # In a conversation with an assistant every other speaker is its user, whatever the name.
        assisted = np.zeros(len(self.records), np.bool_)
        assisted[conversation[assistant]] = True
        among_people = (records["speaker"] > 0) & ~assisted[conversation]
        return turns.Turns(
            conversation=conversation,
            position=self._positions(seqs, conversation),
            words=bm25.gains(self.parts, len(self.words), seqs, self.average, ranking.b_for(self.average)),
            speaker=self._speakers(tx, records["speaker"]),
            role=np.where(assistant, turns.Role.ASSISTANT, np.where(among_people, turns.Role.PERSON, turns.Role.USER)),
            day=records["at"] // DAY,
            asks=(records["flags"] & ASKS) > 0,
            tells_time=(records["flags"] & TELLS_TIME) > 0,
            cosine=_cosines(seqs, conversation, spans),
            contextual=contextual,
        )

    def _positions(self, seqs: Integers, conversation: Integers) -> Integers:
        """Return a position for each turn: one more than its previous turn's, and over REACH from any other."""
        order = np.lexsort((seqs, conversation))
        linked = self._before(seqs[order])[1:] == seqs[order][:-1]
        positions = np.zeros(len(seqs), np.int64)
        positions[order[1:]] = np.cumsum(np.where(linked, 1, turns.REACH + 1))
        return positions

    def _speakers(self, tx: Transaction, numbers: NDArray[np.uint32]) -> list[str]:
        if not numbers.any():
            return [""] * len(numbers)
        wanted = [number for number in sorted(set(numbers.tolist())) if number and number not in self.names]
        for event in history.events(tx, "events_by_seq", seqs=wanted) if wanted else ():
            self.names[event.seq] = event.speaker or ""
        return [self.names.get(number, "") for number in numbers.tolist()]


def _best_first(seqs: Integers, scores: NDArray[np.float64], mask: Flags | None, count: int) -> Integers:
    """Return the positions of the best turns that pass the mask, up to `count`, by score, ties newest first.

    `seqs` are ascending.
    """
    places: Integers = np.arange(len(seqs)) if mask is None else np.flatnonzero(mask)
    if 0 < count < len(places):  # sorting thousands takes longer than scoring them
        among = scores[places]
        places = places[among >= np.partition(among, -count)[-count]]
    newest_first = places[::-1]
    return newest_first[np.argsort(-scores[newest_first], kind="stable")][:count]


def _by_word(lists: Sequence[tuple[float, int, bm25.PostingList]]) -> Iterator[tuple[float, NDArray[np.integer]]]:
    """Yield the weight of each word, and the offsets of the documents that hold any of its spellings."""
    words: dict[int, list[NDArray[np.integer]]] = {}
    weights = {place: weight for weight, place, _ in lists}
    for _, place, (docs, _) in lists:
        words.setdefault(place, []).append(docs)
    for place, found in words.items():
        yield weights[place], found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def _cosines(seqs: Integers, conversation: Integers, spans: Sequence[Span]) -> NDArray[np.float64] | None:
    """Return for each turn the highest cosine of the spans that cover it; NaN where there is none."""
    if not spans:
        return None
    keys = (conversation << 32) + seqs
    order = np.argsort(keys)
    home = np.array([span.conversation for span in spans], np.int64) << 32
    start = np.searchsorted(keys[order], home + [span.first for span in spans])
    sizes = np.searchsorted(keys[order], home + [span.last for span in spans], "right") - start
    # The positions of all spans, concatenated: each span's start, counting up.
    places = np.arange(sizes.sum()) + np.repeat(start - np.cumsum(sizes) + sizes, sizes)
    found = np.full(len(seqs), -np.inf)
    np.maximum.at(found, order[places], np.repeat([span.cosine for span in spans], sizes))
    return np.where(np.isinf(found), np.nan, found)


class _TurnView(View):
    """A process's cache: the posting lists of the tail, and the record of every event."""

    queries = "turns"

    def __init__(self, generation: int) -> None:
        super().__init__(generation)
        self.records: Records = np.zeros(1, RECORD)
        self.following: NDArray[np.uint32] = np.zeros(1, np.uint32)
        """The next turn of each turn in its conversation."""
        self.names: dict[int, str] = {}
        self._reader = _EventReader(1)
        self._last = 0

    @property
    def size(self) -> int:
        """Bytes that it takes, estimated; the record of every event included."""
        return super().size + self.records.nbytes + self.following.nbytes

    def update(self, tx: Transaction, counters: Counters) -> None:
        """Read new segments and events."""
        if len(self.records) <= counters.documents:
            if counters.documents - len(self.records) > index.SPAN:
                _must_be_there(tx, counters.documents)
            more = max(counters.documents + 1 - len(self.records), len(self.records) // 4, index.TAIL)
            self.records = np.concatenate((self.records, np.zeros(more, RECORD)))
            self.following = np.concatenate((self.following, np.zeros(more, np.uint32)))
        if self.layout != counters.layout:
            self._reader = _EventReader(counters.flushed + 1)
        self._last = counters.documents
        super().update(tx, counters)

    def _read_segments(self, tx: Transaction, counters: Counters) -> None:
        known = self._segments.keys()
        super()._read_segments(tx, counters)
        if new := list(self._segments.keys() - known):
            for segment, _, data in tx.all("turns.postings", segments=new, terms=list(_ruling())):
                part, (offsets, _) = self._segments[segment], posting_list(data)
                inside = offsets[offsets < len(part.lengths)]  # not so in a damaged row
                self.records["flags"][part.first + inside.astype(np.int64)] |= RULES

    def _lengths_in(self, first: int, blob: bytes) -> NDArray[np.uint32]:
        records = np.frombuffer(blob, RECORD)
        self.records[first : first + len(records)] = records
        later = np.flatnonzero(records["before"])
        self.following[records["before"][later]] = first + later
        return records["length"].copy()

    def _tail_after(self, tx: Transaction, doc: int) -> Iterator[tuple[int, Mapping[str, int]]]:
        for seq, terms, record in self._reader.after(tx, doc, self._last):
            self.records[seq] = record
            if not _ruling().isdisjoint(terms):
                self.records["flags"][seq] |= RULES
            if record[2]:
                self.following[record[2]] = seq
            yield seq, terms


class _EventReader:
    """Reads events in sequence and yields the terms and the record of each."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._last: dict[str, tuple[int, int]] = {}
        """For each conversation, its number and the last turn read."""
        self._speakers: dict[str, int] = {}

    def after(self, tx: Transaction, seq: int, last: int) -> Iterator[tuple[int, dict[str, int], Row]]:
        """Yield the events after `seq` up to `last`; an event that is not a turn has no terms."""
        while seq < last and (rows := tx.all("history.journal_after", after=seq, limit=min(PAGE, last - seq))):
            for row in rows:
                seq = row[0]
                if seq > last:
                    return  # events are missing before it
                event = _event(row)
                if event is not None and is_turn(event):
                    yield seq, *self._turn(tx, event)
                else:
                    yield seq, {}, (0, 0, 0, 0, 0, 0)

    def _turn(self, tx: Transaction, event: Event) -> tuple[dict[str, int], Row]:
        terms = document(event)
        number, before = self._last.get(event.conversation_id) or self._earlier(tx, event)
        self._last[event.conversation_id] = number, event.seq
        speaker = self._speakers.setdefault(event.speaker, event.seq) if event.speaker else 0
        flags = (
            ASKS * turns.asks(event.content)
            | TELLS_TIME * turns.tells_time(event.content)
            | ASSISTANT * (event.type is EventType.MODEL)
        )
        return terms, (sum(terms.values()), number, before, speaker, event.created_at, flags)

    def _earlier(self, tx: Transaction, event: Event) -> tuple[int, int]:
        """Return the number of a conversation, and its last turn before the first event of this reader."""
        ((number,),) = tx.all("turns.first", conversation=event.conversation_id)
        before, size = self._first, 4
        while before > number:
            rows = tx.all("history.events_back", conversation=event.conversation_id, before=before, limit=size)
            for row in rows:
                found = _event(row)
                if found is not None and is_turn(found):
                    return number, found.seq
            before, size = rows[-1][0] if rows else 0, PAGE
        return number, 0


@cache
def _ruling() -> frozenset[str]:
    """Return the words of standing rules as the index has them."""
    return frozenset(term for word in text.query_terms(standing_rules.QUERY) for term in word)


def _event(row: Row) -> Event | None:
    """Decode an event; None if it is damaged, so that the others remain searchable."""
    try:
        return history.event(row)
    except Corrupt:
        return None


def _must_go_on(tx: Transaction, seq: int) -> None:
    """Raise Corrupt if the next event is missing or over SPAN away: the segments between would be empty."""
    rows = tx.all("history.journal_after", after=seq, limit=1)
    if not rows or rows[0][0] - seq > index.SPAN:
        raise Corrupt(
            f"the journal ends with event {seq}, which is not its recorded end; run `recollect check --repair`"
        )


def _must_be_there(tx: Transaction, event: int) -> None:
    """Raise Corrupt if the journal ends before an event that its counter reports: arrays are sized by the counter."""
    last = history.last_event(tx)
    if event > last:
        raise Corrupt(
            f"the journal should have {event} events, but it ends with {last}; run `recollect check --repair`"
        )


def _numbers(journal: Journal) -> Counters:
    """Return the counters of a journal in the form that an index uses."""
    return Counters(
        documents=journal.events,
        flushed=journal.flushed,
        live=journal.live,
        tokens=journal.tokens,
        layout=journal.layout,
    )
