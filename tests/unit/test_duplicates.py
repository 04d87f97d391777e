"""Which of the hits that say the same stays, and which are near each other."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.search.duplicates import SAME, distinct, groups, wording

Vectors = dict[int, NDArray[np.float32]]


def at(cosine: float) -> NDArray[np.float32]:
    """A vector of unit length with this cosine to (1, 0)."""
    return np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)


def unnamed(*texts: str) -> list[tuple[int, str, str | None]]:
    return [(number, text, None) for number, text in enumerate(texts, start=1)]


# What says the same


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("We deploy on Fridays", "we  deploy\non FRIDAYS."),
        ("We deploy, on Fridays!", "We deploy on Fridays"),
        ("São João decidiu", "sao joao decidiu"),
        ("Call it \u201cblue whale\u201d", 'call it "blue whale".'),
        ("don\u2019t deploy", "don't deploy"),
        ("ｒｅｄ apple", "red apple"),
        ("decision: use apsw", "Decision, use apsw"),
        ("the answer is 42.", "The answer is 42"),
        ("リリースは金曜日。", "リリースは金曜日"),
        ("...", "..."),
    ],
)
def test_case_accents_punctuation_and_white_space_make_no_difference(text: str, other: str) -> None:
    assert wording(text) == wording(other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("we deploy on Fridays", "we do not deploy on Fridays"),
        ("Ana reports to Ben", "Ben reports to Ana"),
        ("Room 3 has 5 seats", "Room 5 has 3 seats"),
        ("team A ships", "team B ships"),
        ("written in C", "written in C++"),
        ("written in C", "written in C#"),
        ("stored on C:", "stored on C"),
        ("the limit is -5", "the limit is 5"),
        ("the limit is .5", "the limit is 5"),
        ("the factor is 1.5", "the factor is 15"),
        ("the factor is 1,5", "the factor is 15"),
        ("a < b", "a > b"),
        ("x=1", "x 1"),
        ("board ab 12", "board ab-12"),
        ("it costs $5", "it costs €5"),
        ("it costs 5%", "it costs 5"),
        ("a shelf of 6'", 'a shelf of 6"'),
        ("10² units", "102 units"),
        ("in Maßen", "in Massen"),
        ("we deploy?", "we deploy"),
        ("use the NET", "use the .NET"),
        ("release 👍", "release 👎"),
        ("release 👍", "release"),
        ("[ ] ship", "[x] ship"),
        ("か", "が"),
        ("мой", "мои"),
        ("田中さんが来る", "田辺さんが来る"),
        ("क", "क्"),
        (":)", ":("),
        ("", "a"),
        ("set it to ''", 'set it to ""'),
    ],
)
def test_what_may_carry_a_meaning_makes_a_difference(text: str, other: str) -> None:
    assert wording(text) != wording(other)


def duplicates(
    text: str, other: str, *, names: tuple[str | None, str | None] = (None, None), cosine: float | None = None
) -> bool:
    """Whether `distinct` drops the second of two entries whose vectors have this cosine."""
    vectors: Vectors = {}
    if cosine is not None:
        vectors = {0: np.array([1, 0], np.float32), 1: np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)}
    return distinct([(0, text, names[0]), (1, other, names[1])], vectors, 2) == [0]


def test_only_the_same_name_or_none_makes_a_duplicate() -> None:
    assert duplicates("8080", "8080", names=("port", "port"))
    assert not duplicates("8080", "8080", names=("port of alpha", "port of beta"))
    assert not duplicates("8080", "8080", names=("port of alpha", None))


@pytest.mark.parametrize(("cosine", "same"), [(None, True), (1.0, True), (0.91, True), (SAME, False), (0.0, False)])
def test_vectors_may_object_to_equal_words(cosine: float | None, same: bool) -> None:
    assert duplicates("red apple", "Red apple", cosine=cosine) is same
    assert not duplicates("red apple", "green apple", cosine=cosine)


words = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@given(words)
def test_the_wording_of_a_wording_is_itself(text: str) -> None:
    assert wording(wording(text)) == wording(text)


WORDS = ["we", "do", "not", "deploy", "fridays", "a", "b", "c", "1", "2", "-1", "1.2", "<", ">", "c++"]


@given(st.lists(st.sampled_from(WORDS), max_size=8), st.data())
def test_one_other_word_is_another_wording(said: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(said)))
    word = data.draw(st.sampled_from(["not", "x", "7", "-7", ">", "ana", "日", "🎉"]))
    assert wording(" ".join([*said[:place], word, *said[place:]])) != wording(" ".join(said))


# Which stay


def test_the_better_of_two_that_say_the_same_stays() -> None:
    ranked = [(7, "Red  apple", None), (3, "green pear", None), (9, "red APPLE.\n", None), (1, "red apple", "fruit")]
    assert distinct(ranked, {}, 10) == [7, 3, 1]


def test_similarity_alone_hides_nothing() -> None:
    vectors = {number: at(1.0) for number in range(1, 5)}
    texts = unnamed("port 8080", "port 8081", "the port is 8080", "port")
    assert distinct(texts, vectors, 10) == [1, 2, 3, 4]


def test_equal_words_with_vectors_far_apart_both_stay() -> None:
    assert distinct(unnamed("same", "Same", "same!"), {1: at(1.0), 2: at(0.5), 3: at(1.0)}, 10) == [1, 2]


def test_where_one_has_no_vector_the_words_decide() -> None:
    zero = np.zeros(2, np.float32)
    assert distinct(unnamed("same", "Same"), {1: at(1.0)}, 10) == [1]
    assert distinct(unnamed("same", "Same"), {1: zero, 2: zero}, 10) == [1]
    assert distinct(unnamed("same", "other"), {2: at(1.0)}, 10) == [1, 2]


@pytest.mark.parametrize(
    ("cosine", "kept"), [(0.91, [1]), (0.9001, [1]), (0.8999, [1, 2]), (0.0, [1, 2]), (-1.0, [1, 2])]
)
def test_by_cosine_those_above_nine_tenths_leave(cosine: float, kept: list[int]) -> None:
    assert SAME == 0.9
    assert distinct(unnamed("port 1", "port 2"), {1: at(1.0), 2: at(cosine)}, 10, by_cosine=True) == kept


def test_by_cosine_a_vector_is_compared_with_each_one_that_stays_and_with_none_that_left() -> None:
    vectors = {1: at(1.0), 2: at(0.95), 3: at(0.75), 4: at(0.0), 5: at(-1.0), 6: at(0.02), 7: at(-0.98)}
    assert float(vectors[2] @ vectors[3]) > SAME > float(vectors[1] @ vectors[3])
    texts = unnamed("one", "two", "three", "four", "five", "six", "seven")
    assert distinct(texts, vectors, 10, by_cosine=True) == [1, 3, 4, 5]


def test_by_cosine_equal_words_leave_where_there_are_no_vectors() -> None:
    assert distinct([(1, "same", "a"), (2, "Same", "b")], {}, 10, by_cosine=True) == [1]


@pytest.mark.parametrize(("limit", "kept"), [(0, []), (-1, []), (1, [1]), (2, [1, 3]), (9, [1, 3, 4])])
def test_the_limit_counts_what_stays(limit: int, kept: list[int]) -> None:
    assert distinct(unnamed("a", "a", "b", "c"), {}, limit) == kept


def test_no_more_is_read_than_is_needed() -> None:
    read = []

    def ranked() -> Iterator[tuple[int, str, str | None]]:
        for number in range(100):
            read.append(number)
            yield number, f"text {number // 2}", None

    assert distinct(ranked(), {}, 3) == [0, 2, 4]
    assert read == [0, 1, 2, 3, 4]
    read.clear()
    assert distinct(ranked(), {}, 0) == []
    assert read == []


texts = st.sampled_from(["apple", "Apple", " apple. ", *(f"fruit {number % 3}" for number in range(6))])
angles = st.one_of(st.none(), st.floats(0, 6.28))


@given(st.lists(st.tuples(texts, angles), max_size=30), st.integers(0, 12))
def test_what_stays_repeats_nothing_and_what_leaves_repeats_something_better(
    hits: list[tuple[str, float | None]], limit: int
) -> None:
    vectors: Vectors = {
        number: np.array([np.cos(angle), np.sin(angle)], np.float32)
        for number, (_, angle) in enumerate(hits)
        if angle is not None
    }
    kept = distinct([(number, text, None) for number, (text, _) in enumerate(hits)], vectors, limit)

    def repeats(one: int, other: int) -> bool:
        cosine = float(vectors[one] @ vectors[other]) if one in vectors and other in vectors else None
        return wording(hits[one][0]) == wording(hits[other][0]) and (cosine is None or cosine > SAME)

    assert kept == sorted(set(kept))
    assert len(kept) <= limit
    assert not any(repeats(one, other) for one in kept for other in kept if one < other)
    looked_at = range(kept[-1]) if len(kept) == limit and kept else range(len(hits) if limit else 0)
    for number in looked_at:
        assert number in kept or any(repeats(better, number) for better in kept if better < number)


# Which are near each other


def test_those_near_the_best_of_a_group_belong_to_it() -> None:
    vectors = {1: at(1.0), 2: at(0.0), 3: at(0.95), 4: at(-1.0), 5: at(0.05), 6: at(0.99)}
    assert groups([1, 2, 3, 4, 5, 6, 7], vectors) == [[1, 3, 6], [2, 5]]
    assert groups([6, 5, 4, 3, 2, 1], vectors) == [[6, 3, 1], [5, 2]]


def test_nothing_is_in_two_groups() -> None:
    vectors = {1: at(1.0), 2: at(0.95), 3: at(0.75), 4: at(0.76)}
    assert groups([1, 2, 3, 4], vectors) == [[1, 2], [3, 4]]


def test_what_has_no_vector_is_in_no_group() -> None:
    assert groups([1, 2, 3], {}) == []
    assert groups([1, 2], {1: at(1.0)}) == []
    assert groups([], {}) == []
    zero = np.zeros(2, np.float32)
    assert groups([1, 2], {1: zero, 2: zero}) == []
