"""What recollect.search.turns promises: what a question is understood to ask for, and which turn answers it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect import text
from recollect.search.turns import (
    Period,
    Role,
    TurnQuery,
    Turns,
    Weights,
    asks,
    confidence,
    conversations,
    evidence,
    periods,
    scores,
    tells_time,
)


def days(*written: str) -> NDArray[np.int64]:
    return np.array([(date.fromisoformat(day) - date(1970, 1, 1)).days for day in written])


def turns(
    words: Sequence[Sequence[float]],
    *,
    conversation: Sequence[int] | None = None,
    position: Sequence[int] | None = None,
    speaker: Sequence[str] | None = None,
    role: Sequence[int] | None = None,
    day: NDArray[np.int64] | None = None,
    asking: Sequence[int] = (),
    telling: Sequence[int] = (),
    cosine: Sequence[float] | None = None,
) -> Turns:
    """Turns in a row of one conversation among people, unless something else is said."""
    matrix = np.array(words, float)
    size = matrix.shape[1]
    return Turns(
        conversation=np.array(conversation or [1] * size),
        position=np.array(position or range(size)),
        words=matrix,
        speaker=speaker or [""] * size,
        role=np.array(role or [Role.PERSON] * size),
        day=days("2023-05-08").repeat(size) if day is None else day,
        asks=np.isin(np.arange(size), asking),
        tells_time=np.isin(np.arange(size), telling),
        cosine=None if cosine is None else np.array(cosine),
    )


def read(query: str, *speakers: str) -> TurnQuery:
    return TurnQuery.read(query, text.query_terms(query), speakers)


def ranked(question: TurnQuery, candidates: Turns, weights: Weights | None = None) -> list[int]:
    """The places of the candidates, best first."""
    found = scores(question, candidates, average=12, weights=weights)
    return [int(place) for place in np.argsort(-found, kind="stable")]


def part(name: str, question: TurnQuery, candidates: Turns, weights: Weights | None = None) -> list[float]:
    values: list[float] = evidence(question, candidates, average=10, weights=weights)[name].round(6).tolist()
    return values


ONE_WORD = TurnQuery(words=(0,))
TWO_WORDS = TurnQuery(words=(0, 1))


# Reading a question


def test_a_named_speaker_is_known_and_the_name_is_no_word_that_counts() -> None:
    question = read("What did Caroline research?", "Caroline", "Melanie")
    assert question.speakers == {"Caroline"}
    assert [text.query_terms("What did Caroline research?")[place] for place in question.words] == [("research",)]


def test_a_part_of_a_name_names_the_speaker() -> None:
    assert read("what did silva say about the port", "Ana Silva", "Rui Costa").speakers == {"Ana Silva"}


def test_two_speakers_may_be_named() -> None:
    assert read("Did Ana tell Rui?", "Ana", "Rui", "Eva").speakers == {"Ana", "Rui"}


def test_a_question_of_nothing_but_a_name_keeps_it_as_its_word() -> None:
    assert read("Caroline?", "Caroline").words == (0,)


def test_without_speakers_all_words_count() -> None:
    question = read("red blue green")
    assert (question.words, question.speakers) == ((0, 1, 2), frozenset())


@pytest.mark.parametrize(
    "query",
    [
        "When did we move?",
        "how long have I lived here",
        "What year was it?",
        "In which month did it start",
        "since when do we use it",
        "Quando foi a mudança?",
        "Em que ano foi?",
        "Há quanto tempo?",
    ],
)
def test_a_question_for_a_time_is_recognised(query: str) -> None:
    assert read(query).asks_when


@pytest.mark.parametrize("query", ["What happened when we moved?", "whenever", "Who knows what time it is"])
def test_another_question_is_not_taken_for_one_for_a_time(query: str) -> None:
    assert not read(query).asks_when


@pytest.mark.parametrize(
    "query",
    [
        "What did you recommend for dinner?",
        "the two companies you mentioned",
        "What was your advice about the visa?",
        "In our previous chat about the rota, who worked on Sunday?",
        "O que você sugeriu para o jantar?",
    ],
)
def test_a_question_for_what_the_assistant_said_is_recognised(query: str) -> None:
    assert read(query).asks_assistant


@pytest.mark.parametrize(
    "query",
    ["Can you list the order in which I told it?", "What would you suggest?", "Where do I take yoga classes?"],
)
def test_a_request_to_the_assistant_is_no_question_for_what_it_said(query: str) -> None:
    assert not read(query).asks_assistant


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("on 7 July, 2023", [Period(2023, 7, 7)]),
        ("on July 7th, 2023", [Period(2023, 7, 7)]),
        ("the 7th of July", [Period(None, 7, 7)]),
        ("on 23January, 2022", [Period(2022, 1, 23)]),
        ("on 2023-07-07", [Period(2023, 7, 7)]),
        ("Sept. 3 2021", [Period(2021, 9, 3)]),
        ("in August 2023", [Period(2023, 8)]),
        ("in August, 2023?", [Period(2023, 8)]),
        ("in 2022", [Period(2022)]),
        ("between May 3 and May 25, 2023", [Period(None, 5, 3), Period(2023, 5, 25)]),
        ("in June and July of the year 2023", [Period(2023, 6), Period(2023, 7)]),
        ("in May", [Period(None, 5)]),
        ("in June, June 7:30 in the morning", [Period(None, 6)]),
        ("em 7 de julho de 2023", [Period(2023, 7, 7)]),
        ("em março de 2024", [Period(2024, 3)]),
        ("em maio", [Period(None, 5)]),
    ],
)
def test_dates_are_read_as_people_write_them(query: str, named: list[Period]) -> None:
    assert list(periods(query)) == named


@pytest.mark.parametrize(
    "query",
    ["it may rain", "a march for peace", "on 5 tables", "12:30", "room 20231", "sat and dec", "the 7th of them"],
)
def test_what_is_no_date_is_not_read_as_one(query: str) -> None:
    assert periods(query) == ()


def test_a_month_that_is_the_name_of_a_speaker_is_no_date() -> None:
    assert read("What did April cook in June?", "April", "Eva").periods == (Period(None, 6),)
    assert read("What did we cook in April?", "Eva").periods == (Period(None, 4),)


@pytest.mark.parametrize("content", ["How are you?", 'He asked "why?"', "Really?  \n", "本当？", "*and then?*"])
def test_a_turn_that_ends_with_a_question_asks(content: str) -> None:
    assert asks(content)


@pytest.mark.parametrize("content", ["", "Fine.", "Why? Because."])
def test_a_turn_that_ends_otherwise_does_not_ask(content: str) -> None:
    assert not asks(content)


@pytest.mark.parametrize(
    "content",
    ["I went yesterday", "two YEARS ago", "on Friday", "back in 2019", "Last June!", "Fui ontem", "há dois anos"],
)
def test_a_turn_that_tells_a_time_is_recognised(content: str) -> None:
    assert tells_time(content)


@pytest.mark.parametrize("content", ["", "I like pottery", "lasting", "we may go", "call 20191"])
def test_a_turn_that_tells_no_time_is_recognised(content: str) -> None:
    assert not tells_time(content)


# The words


def test_the_turn_that_says_the_words_comes_first() -> None:
    assert ranked(TWO_WORDS, turns([[0, 3, 0, 0, 0, 3], [0, 2, 0, 0, 0, 0]]))[0] == 1


def test_a_word_counts_less_with_each_turn_of_distance_and_nothing_beyond_two() -> None:
    assert part("words", ONE_WORD, turns([[0, 0, 0, 5, 0, 0, 0]])) == [0, 0.36, 0.6, 1, 0.6, 0.36, 0]


def test_a_word_counts_by_its_best_match_and_not_by_the_sum() -> None:
    assert part("words", ONE_WORD, turns([[4, 4, 4, 2]])) == [1, 1, 1, 0.6]


def test_different_words_of_neighbours_add_up() -> None:
    # The middle turn is beside both words: 0.6 + 0.6 against 1 + 0.36 at either end.
    assert part("words", TWO_WORDS, turns([[5, 0, 0], [0, 0, 5]])) == [1, pytest.approx(1.2 / 1.36), 1]


def test_words_do_not_reach_into_another_conversation() -> None:
    candidates = turns([[0, 5, 0, 0]], conversation=[1, 1, 2, 2], position=[0, 1, 0, 1])
    assert part("words", ONE_WORD, candidates) == [0.6, 1, 0, 0]


def test_neighbours_are_those_in_the_conversation_and_not_in_the_list() -> None:
    candidates = turns([[5, 0, 0, 0]], conversation=[7, 3, 7, 7], position=[11, 12, 13, 12])
    assert part("words", ONE_WORD, candidates) == [1, 0, 0.36, 0.6]


def test_a_gap_between_candidates_is_a_distance() -> None:
    assert part("words", ONE_WORD, turns([[5, 0, 0]], position=[1, 3, 4])) == [1, 0.36, 0]


def test_the_name_of_the_speaker_does_not_count_as_a_word() -> None:
    question = TurnQuery(words=(1,), speakers=frozenset(["Ana"]))
    assert part("words", question, turns([[9, 0], [0, 1]], position=[0, 5])) == [0, 1]


def test_every_turn_gains_by_the_words_of_its_conversation() -> None:
    candidates = turns(
        [[5, 0, 0, 5, 0, 0], [0, 0, 5, 0, 0, 0]], conversation=[1, 1, 1, 2, 2, 2], position=[0, 5, 9, 0, 5, 9]
    )
    assert part("conversation", TWO_WORDS, candidates) == [0.4, 0.4, 0.4, 0.2, 0.2, 0.2]


def test_a_word_said_twice_in_a_conversation_counts_once() -> None:
    candidates = turns([[5, 5, 5]], conversation=[1, 1, 2], position=[0, 5, 0])
    assert part("conversation", ONE_WORD, candidates) == [0.4, 0.4, 0.4]


# What the words do not hold


def test_the_answer_to_a_matching_question_comes_before_the_question() -> None:
    candidates = turns([[4, 0, 0, 0]], speaker=["Ana", "Rui", "Ana", "Rui"], asking=[0])
    assert part("answer", ONE_WORD, candidates) == [0, 0.5, 0, 0]
    assert ranked(ONE_WORD, candidates)[:2] == [1, 0]


def test_a_matching_turn_that_does_not_ask_gives_nothing_to_the_next() -> None:
    assert part("answer", ONE_WORD, turns([[4, 0]])) == [0, 0]


def test_the_assistant_answers_only_when_it_is_asked_about() -> None:
    candidates = turns([[4, 0]], role=[Role.USER, Role.ASSISTANT], asking=[0])
    assert part("answer", ONE_WORD, candidates) == [0, 0]
    assert part("answer", TurnQuery(words=(0,), asks_assistant=True), candidates) == [0, 0.5]


def test_the_speaker_that_is_asked_about_comes_first() -> None:
    candidates = turns([[3, 0, 0, 3]], speaker=["Ana", "Ana", "Rui", "Rui"])
    assert ranked(TurnQuery(words=(0,), speakers=frozenset(["Rui"])), candidates)[0] == 3
    assert ranked(TurnQuery(words=(0,), speakers=frozenset(["Ana"])), candidates)[0] == 0


def test_among_people_a_question_is_less_likely_the_answer() -> None:
    assert ranked(ONE_WORD, turns([[3, 3]], position=[0, 10], asking=[0])) == [1, 0]


def test_what_a_user_asks_an_assistant_loses_nothing() -> None:
    assert part("question", ONE_WORD, turns([[3, 3]], role=[Role.USER, Role.PERSON], asking=[0, 1])) == [0, -0.2]


def test_a_turn_of_the_named_date_comes_first_then_the_days_after() -> None:
    candidates = turns(
        [[3, 3, 3, 3]], position=[0, 10, 20, 30], day=days("2023-07-06", "2023-07-07", "2023-07-14", "2024-07-07")
    )
    question = TurnQuery(words=(0,), periods=(Period(2023, 7, 7),))
    assert part("date", question, candidates) == [0, 1, pytest.approx(1 / np.e, abs=1e-6), 0]


def test_a_date_without_a_year_is_that_day_of_every_year() -> None:
    day = days("2022-07-07", "2023-07-07", "2023-07-06")
    candidates = turns([[3, 3, 3]], position=[0, 10, 20], day=day)
    assert part("date", TurnQuery(words=(0,), periods=(Period(None, 7, 7),)), candidates) == [1, 1, 0]


def test_a_month_and_a_year_last_until_their_end() -> None:
    day = days("2023-01-31", "2023-02-01", "2023-02-28", "2023-12-31")
    candidates = turns([[3, 3, 3, 3]], position=[0, 10, 20, 30], day=day)
    assert part("date", TurnQuery(words=(0,), periods=(Period(2023, 2),)), candidates)[:3] == [0, 1, 1]
    assert part("date", TurnQuery(words=(0,), periods=(Period(2023),)), candidates) == [1, 1, 1, 1]
    assert part("date", TurnQuery(words=(0,), periods=(Period(2024),)), candidates) == [0, 0, 0, 0]


def test_a_day_that_the_month_does_not_have_is_its_last() -> None:
    candidates = turns([[3, 3]], position=[0, 10], day=days("2023-02-27", "2023-02-28"))
    assert part("date", TurnQuery(words=(0,), periods=(Period(2023, 2, 31),)), candidates) == [0, 1]


def test_a_question_for_a_time_prefers_turns_that_tell_one() -> None:
    candidates = turns([[3, 0, 0, 3]], telling=[3])
    assert ranked(TurnQuery(words=(0,), asks_when=True), candidates)[0] == 3
    assert part("time", ONE_WORD, candidates) == [0, 0, 0, 0]


def test_the_user_holds_the_facts_unless_the_assistant_is_asked_about() -> None:
    candidates = turns([[3, 3]], role=[Role.USER, Role.ASSISTANT])
    assert ranked(ONE_WORD, candidates) == [0, 1]
    assert ranked(TurnQuery(words=(0,), asks_assistant=True), candidates) == [1, 0]


def test_a_near_vector_lifts_a_turn_and_a_missing_one_stands_in_the_middle() -> None:
    candidates = turns([[0, 0, 0]], cosine=[0.9, float("nan"), 0.1])
    assert part("vector", ONE_WORD, candidates) == [0.5, 0.25, 0]


def test_vectors_count_more_where_turns_are_long() -> None:
    found = evidence(ONE_WORD, turns([[0, 0]], cosine=[0.9, 0.1]), average=100)["vector"]
    assert found.tolist() == [1.0, 0.0]


def test_among_people_a_vector_counts_half_for_the_turns_beside_it() -> None:
    cosine = [0.1, 0.9, 0.1, 0.1]
    assert part("beside", ONE_WORD, turns([[0, 0, 0, 0]], cosine=cosine)) == [0.25, 0, 0.25, 0]
    assistant = turns([[0, 0, 0, 0]], cosine=cosine, role=[Role.USER, Role.ASSISTANT] * 2)
    assert part("beside", ONE_WORD, assistant) == [0, 0, 0, 0]


def test_the_vectors_of_a_transformer_count_in_short_turns_as_in_long_ones() -> None:
    short = turns([[0, 0]], cosine=[0.9, 0.1])
    assert part("vector", ONE_WORD, short) == [0.5, 0]
    assert part("vector", ONE_WORD, replace(short, contextual=True)) == [1, 0]


def test_without_vectors_nothing_is_added() -> None:
    assert part("vector", ONE_WORD, turns([[1, 2]])) == [0, 0]
    assert part("vector", ONE_WORD, turns([[1, 2]], cosine=[float("nan"), float("nan")])) == [0, 0]


def test_equal_vectors_are_no_evidence() -> None:
    assert part("vector", ONE_WORD, turns([[1, 2]], cosine=[0.5, 0.5])) == [0, 0]


def test_a_weight_of_zero_leaves_its_evidence_out() -> None:
    candidates = turns([[3, 3]], speaker=["Ana", "Rui"])
    question = TurnQuery(words=(0,), speakers=frozenset(["Rui"]))
    assert part("speaker", question, candidates) == [0, 0.6]
    assert part("speaker", question, candidates, Weights(speaker=0)) == [0, 0]


# Whole conversations


def test_a_conversation_is_as_good_as_its_best_turn() -> None:
    candidates = turns([[0, 0, 0, 0]], conversation=[8, 8, 5, 5], position=[0, 1, 0, 1])
    assert conversations(candidates, np.array([0.5, 2.0, 1.5, 1.0])) == [(8, 2.0), (5, 1.5)]


# Confidence


def sure(
    question: TurnQuery, candidates: Turns, idf: NDArray[np.float64], allowed: NDArray[np.bool_] | None = None
) -> float:
    return confidence(question, candidates, idf, scores(question, candidates, average=10), allowed)


def test_confidence_grows_with_the_share_of_the_question_that_one_turn_says() -> None:
    idf = np.array([3.0, 1.0])
    common, rare, both = ([[0, 0], [1, 1]], [[2, 0], [0, 1]], [[2, 0], [1, 1]])
    found = [sure(TWO_WORDS, turns(words), idf) for words in (common, rare, both)]
    assert found == sorted(set(found))


def test_a_word_that_was_never_said_lowers_the_sure() -> None:
    candidates = turns([[0.1], [0]])
    assert sure(TWO_WORDS, candidates, np.array([1.0, 4.0])) < sure(ONE_WORD, candidates, np.array([1.0, 4.0]))


def test_the_name_of_a_speaker_is_not_missed_in_what_they_say() -> None:
    question = TurnQuery(words=(1,), speakers=frozenset(["Ana"]))
    alone = sure(question, turns([[0], [1]], speaker=["Ana"]), np.array([0.0, 1.0]))
    assert sure(question, turns([[0], [1]], speaker=["Ana"]), np.array([3.0, 1.0])) == alone


def test_a_question_about_the_wrong_person_has_little_sure() -> None:
    idf = np.array([2.0, 2.0])
    candidates = turns([[1, 1], [0, 1]], speaker=["Ana", "Rui"])
    right = sure(TurnQuery(words=(0, 1), speakers=frozenset(["Rui"])), candidates, idf)
    assert 2 * sure(TurnQuery(words=(0, 1), speakers=frozenset(["Ana"])), candidates, idf) < right


def test_few_words_said_by_another_are_a_weak_sign_of_the_wrong_person() -> None:
    question, idf = TurnQuery(words=(0, 1, 2, 3), speakers=frozenset(["Ana"])), np.ones(4)
    few = turns([[0, 1], [0, 0], [0, 0], [0, 0]], speaker=["Ana", "Rui"], position=[0, 10])
    many = turns([[0, 1], [0, 1], [0, 1], [0, 1]], speaker=["Ana", "Rui"], position=[0, 10])
    assert sure(question, many, idf) < sure(question, few, idf) < 0.5


def test_a_question_about_all_speakers_gains_nothing_from_who_said_it() -> None:
    candidates, idf = turns([[1, 0]], speaker=["Ana", "Rui"], position=[0, 10]), np.array([2.0])
    one, other, both = (
        sure(TurnQuery(words=(0,), speakers=frozenset(names)), candidates, idf)
        for names in (["Ana"], ["Rui"], ["Ana", "Rui"])
    )
    assert other < both < one


def test_the_words_of_a_date_are_not_missed_in_what_was_said() -> None:
    question = read("what did Ana bake on 25 May, 2022", "Ana", "Rui")
    assert question.dates == (2, 3, 4)
    candidates = turns([[0, 0], [1, 0], [0, 0], [0, 0], [0, 0]], speaker=["Ana", "Rui"])
    dated = sure(question, candidates, np.array([1.0, 2.0, 7.0, 7.0, 7.0]))
    assert dated == sure(read("what did Ana bake", "Ana", "Rui"), candidates, np.array([1.0, 2.0]))
    only = read("what happened in July 2022", "Ana")
    assert set(only.dates) < set(only.words)


def test_a_question_that_is_only_a_date_is_searched_by_its_words() -> None:
    question = read("July 2022")
    assert sure(question, turns([[1], [1]]), np.array([1.0, 1.0])) > 0.5


def test_turns_that_a_filter_leaves_out_give_no_sure() -> None:
    candidates, idf = turns([[1, 0], [1, 1]]), np.array([1.0, 1.0])
    half = sure(TWO_WORDS, candidates, idf, np.array([False, True]))
    assert 0 < half < sure(TWO_WORDS, candidates, idf, np.array([True, False]))
    assert sure(TWO_WORDS, candidates, idf, np.array([False, False])) == 0.0


def test_a_speaker_without_any_turn_has_little_sure() -> None:
    candidates = turns([[1]], speaker=["Ana"])
    assert sure(TurnQuery(words=(0,), speakers=frozenset(["Eva"])), candidates, np.array([1.0])) < 0.1


def test_a_question_among_people_gives_no_confidence_in_an_answer() -> None:
    assert sure(ONE_WORD, turns([[1]], asking=[0]), np.array([1.0])) == 0.0
    assert sure(ONE_WORD, turns([[1]], asking=[0], role=[Role.USER]), np.array([1.0])) > 0


# In general

columns = st.lists(
    st.tuples(
        st.tuples(st.integers(1, 3), st.integers(0, 12)),
        st.tuples(st.sampled_from([0.0, 1.0, 2.5]), st.sampled_from([0.0, 0.5, 4.0])),
        st.sampled_from(["Ana", "Rui", ""]),
        st.sampled_from(list(Role)),
        st.booleans(),
        st.booleans(),
        st.sampled_from([19_000, 19_400, 19_480]),
        st.sampled_from([0.1, 0.5, float("nan")]),
    ),
    max_size=12,
    unique_by=lambda row: row[0],
)
questions = st.builds(
    TurnQuery,
    words=st.sampled_from([(0,), (1,), (0, 1)]),
    speakers=st.sampled_from([frozenset(), frozenset(["Ana"]), frozenset(["Ana", "Rui"])]),
    periods=st.sampled_from([(), (Period(2023),), (Period(None, 2), Period(2023, 5, 3))]),
    asks_when=st.booleans(),
    asks_assistant=st.booleans(),
)


Row = tuple[tuple[int, int], tuple[float, float], str, Role, bool, bool, int, float]


def made(rows: list[Row]) -> Turns:
    return Turns(
        conversation=np.array([row[0][0] for row in rows], int),
        position=np.array([row[0][1] for row in rows], int),
        words=np.array([row[1] for row in rows], float).reshape(len(rows), 2).T,
        speaker=[row[2] for row in rows],
        role=np.array([row[3] for row in rows], int),
        asks=np.array([row[4] for row in rows], bool),
        tells_time=np.array([row[5] for row in rows], bool),
        day=np.array([row[6] for row in rows], int),
        cosine=np.array([row[7] for row in rows], float),
    )


@given(rows=columns, question=questions, data=st.data())
def test_the_order_of_the_candidates_does_not_matter(rows: list[Row], question: TurnQuery, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    straight = scores(question, made(rows), average=30)
    shuffled = scores(question, made([rows[place] for place in order]), average=30)
    assert np.allclose(shuffled, straight[list(order)])


@given(rows=columns, question=questions)
def test_every_turn_has_a_finite_score_and_the_confidence_lies_between_zero_and_one(
    rows: list[Row], question: TurnQuery
) -> None:
    candidates = made(rows)
    assert np.isfinite(scores(question, candidates, average=30)).all()
    assert 0 <= sure(question, candidates, np.array([1.0, 3.0])) <= 1


@given(rows=columns, question=questions)
def test_no_evidence_outweighs_its_weight(rows: list[Row], question: TurnQuery) -> None:
    bounds = {
        "words": 1.0,
        "conversation": 0.4,
        "answer": 0.5,
        "speaker": 0.6,
        "question": 0.2,
        "date": 1.0,
        "time": 0.5,
        "role": 0.5,
        "vector": 1.25 * 0.8,
        "beside": 1.25 * 0.8 * 0.5,
    }
    found = evidence(question, made(rows), average=100)
    assert found.keys() == bounds.keys()
    for name, values in found.items():
        assert (np.abs(values) <= bounds[name] + 1e-9).all()


def test_cosines_that_hardly_differ_hardly_count() -> None:
    question = TurnQuery(words=(0,))
    near = evidence(question, turns([[1, 1, 1]], cosine=[0.42, 0.40, 0.33]), average=40)["vector"]
    far = evidence(question, turns([[1, 1, 1]], cosine=[0.80, 0.40, 0.10]), average=40)["vector"]
    assert near[0] < 0.2 * far[0]
    assert far[0] == Weights().vector * 0.8
