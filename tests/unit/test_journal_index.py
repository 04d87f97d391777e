"""The parts of the index over the journal that are pure: what is a turn, what a word adds, what a text is about."""

import math

import numpy as np
import pytest
from bm25_oracle import bm25
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.history import Event, EventType
from recollect.search.bm25 import DocumentRange, PostingList, gains, rank
from recollect.search.journal import RECORD, JournalLookup, Span, _cosines, document, is_turn
from recollect.search.turns import REACH, Period, spans_of

TERMS = "abcd"


@pytest.mark.parametrize("kind", [EventType.USER, EventType.MODEL])
def test_what_users_and_models_say_is_a_turn(kind: EventType) -> None:
    assert is_turn(Event(type=kind, content="hello"))
    assert not is_turn(Event(type=kind, content=" \n"))
    assert not is_turn(Event(type=kind, content="hello", internal=True))


@pytest.mark.parametrize("kind", sorted(set(EventType) - {EventType.USER, EventType.MODEL}))
def test_nothing_else_is_a_turn(kind: EventType) -> None:
    assert not is_turn(Event(type=kind, content="hello"))


def test_a_turn_is_found_by_its_words_and_its_speaker_and_never_by_the_arguments_of_a_call() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "secret", "arguments": "hidden"}}
    event = Event(
        type=EventType.MODEL, speaker="Nora Lima", content="an amber amber lamp", tool_calls=[call], created_at=0
    )
    assert document(event) == {"nora": 1, "lima": 1, "amber": 2, "lamp": 1}


def lists(documents: dict[int, dict[str, int]], part: DocumentRange, term: str) -> PostingList | None:
    inside = range(part.first, part.first + len(part.lengths))
    held = [(doc - part.first, documents[doc][term]) for doc in inside if term in documents[doc]]
    if not held:
        return None
    return np.array([doc for doc, _ in held], np.uint16), np.array([count for _, count in held], np.uint8)


@given(
    st.lists(st.dictionaries(st.sampled_from(TERMS), st.integers(1, 5), min_size=1), min_size=1, max_size=30),
    st.integers(1, 30),
    st.sets(st.integers(1, 30), max_size=12),
)
def test_what_the_words_add_is_together_the_score_of_the_oracle(
    found: list[dict[str, int]], cut: int, wanted: set[int]
) -> None:
    documents = dict(enumerate(found, 1))
    lengths = np.array([sum(terms.values()) for terms in found], np.uint32)
    average = float(lengths.mean())
    query = [["a", "b"], ["c"], ["z"]]
    holding = {term: sum(term in terms for terms in found) for term in "abcz"}
    parts, whole = [], []
    for first, part_lengths in ((1, lengths[:cut]), (cut + 1, lengths[cut:])):
        part = DocumentRange(first, part_lengths, 1)
        weighted = [
            (math.log(1 + (len(found) - many + 0.5) / (many + 0.5)), place, postings)
            for place, word in enumerate(query)
            for many in (min(sum(holding[term] for term in word), len(found)),)
            for term in word
            if (postings := lists(documents, part, term)) is not None
        ]
        parts.append((part, weighted))
        whole.append((part, [(weight, [postings]) for weight, _, postings in weighted]))
    docs = np.array(sorted(doc for doc in wanted if doc <= len(found)), np.int64)
    added = gains(parts, len(query), docs, average)
    exact = dict(bm25(documents, query))
    assert added.shape == (3, len(docs))
    assert not added[2].any()
    for place, doc in enumerate(docs.tolist()):
        assert math.isclose(added[:, place].sum(), exact.get(doc, 0.0), rel_tol=1e-9)
        assert (added[1, place] > 0) == ("c" in documents[doc])
    allowed = [part.only(np.isin(np.arange(len(part.lengths)) + part.first, docs), average, 0.75) for part, _ in whole]
    some = rank([(part, words) for part, (_, words) in zip(allowed, whole, strict=True)], 100, average)
    assert {doc for doc, _ in some} == {doc for doc in docs.tolist() if doc in exact}
    assert all(math.isclose(score, exact[doc], rel_tol=1e-9) for doc, score in some)


def test_a_turn_has_the_cosine_of_the_nearest_text_about_it() -> None:
    seqs = np.array([3, 4, 5, 6, 9])
    conversation = np.array([3, 4, 3, 4, 3])
    spans = [Span(3, 3, 5, 0.8), Span(4, 4, 4, 0.7), Span(3, 3, 9, 0.5), Span(4, 4, 4, 0.1), Span(7, 7, 8, 0.9)]
    found = _cosines(seqs, conversation, spans)
    assert found is not None
    assert np.array_equal(found, [0.8, 0.7, 0.8, np.nan, 0.5], equal_nan=True)
    assert _cosines(seqs, conversation, []) is None


def test_turns_stand_side_by_side_only_where_nothing_was_said_between_them() -> None:
    records = np.zeros(12, RECORD)
    for seq, conversation, before in ((1, 1, 0), (2, 2, 0), (3, 1, 1), (5, 1, 3), (6, 2, 2), (7, 1, 5)):
        records[seq]["conversation"], records[seq]["before"] = conversation, before
    look = JournalLookup(
        query="",
        words=[],
        records=records,
        following=np.zeros(12, np.uint32),
        names={},
        idf=np.ones(0),
        average=1.0,
        parts=[],
    )
    seqs = np.array([1, 2, 3, 6, 7])
    places = dict(zip(seqs.tolist(), look._positions(seqs, np.array([1, 2, 1, 2, 1])).tolist(), strict=True))
    assert places[3] - places[1] == 1
    assert places[7] - places[3] > REACH
    assert places[6] - places[2] == 1


def test_a_period_without_a_year_is_meant_in_every_year() -> None:
    day = np.datetime64("2022-03-01").astype(int)
    assert spans_of([Period(2023, 5, 7)], day, day) == [(19_484, 19_484)]
    assert spans_of([Period(None, 5, 7)], day, day + 500) == [(19_119, 19_119), (19_484, 19_484)]
    assert spans_of([], day, day) == []
