"""Which of the hits that say the same stays."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.search.duplicates import SAME, distinct
from recollect.text import figures, normalise

Vectors = dict[int, NDArray[np.float32]]


def at(cosine: float) -> NDArray[np.float32]:
    """A vector of unit length with this cosine to (1, 0)."""
    return np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)


def test_the_better_of_two_equal_texts_stays() -> None:
    ranked = [(7, "Red  apple"), (3, "green pear"), (9, "red APPLE\n"), (1, "ｒｅｄ apple")]
    assert distinct(ranked, {}, 10) == [7, 3]


@pytest.mark.parametrize(
    ("cosine", "kept"), [(0.91, [1]), (0.9001, [1]), (0.8999, [1, 2]), (0.0, [1, 2]), (-1.0, [1, 2])]
)
def test_vectors_above_nine_tenths_are_the_same(cosine: float, kept: list[int]) -> None:
    assert SAME == 0.9
    assert distinct([(1, "one"), (2, "two")], {1: at(1.0), 2: at(cosine)}, 10) == kept


def test_a_vector_is_compared_with_those_that_stay_and_not_with_those_that_left() -> None:
    vectors = {1: at(1.0), 2: at(0.95), 3: at(0.75)}
    assert float(vectors[2] @ vectors[3]) > SAME > float(vectors[1] @ vectors[3])
    assert distinct([(1, "one"), (2, "two"), (3, "three")], vectors, 10) == [1, 3]


def test_a_vector_is_compared_with_each_one_that_stays() -> None:
    vectors = {1: at(1.0), 2: at(0.0), 3: at(-1.0), 4: at(0.02), 5: at(-0.98)}
    assert distinct(list(zip(vectors, ("one", "two", "three", "four", "five"), strict=True)), vectors, 10) == [1, 2, 3]


def test_texts_that_differ_in_a_number_say_different_things() -> None:
    texts = ["port 8080", "port 8081", "the port is 8080", "port", "ports 8081 and 8080", "ports ８０８０ and 8081"]
    assert distinct(list(enumerate(texts)), {number: at(1.0) for number in range(6)}, 10) == [0, 1, 3, 4]


def test_where_one_has_no_vector_the_texts_decide() -> None:
    assert distinct([(1, "same"), (2, "Same")], {1: at(1.0)}, 10) == [1]
    assert distinct([(1, "same"), (2, "other")], {2: at(1.0)}, 10) == [1, 2]


def test_a_zero_vector_is_like_no_other() -> None:
    zero = np.zeros(2, np.float32)
    assert distinct([(1, "one"), (2, "two"), (3, "three")], {1: zero, 2: zero, 3: at(1.0)}, 10) == [1, 2, 3]


@pytest.mark.parametrize(("limit", "kept"), [(0, []), (-1, []), (1, [1]), (2, [1, 3]), (9, [1, 3, 4])])
def test_the_limit_counts_what_stays(limit: int, kept: list[int]) -> None:
    assert distinct([(1, "a"), (2, "a"), (3, "b"), (4, "c")], {}, limit) == kept


def test_no_more_is_read_than_is_needed() -> None:
    read = []

    def ranked() -> Iterator[tuple[int, str]]:
        for number in range(100):
            read.append(number)
            yield number, f"text {number // 2}"

    assert distinct(ranked(), {}, 3) == [0, 2, 4]
    assert read == [0, 1, 2, 3, 4]
    read.clear()
    assert distinct(ranked(), {}, 0) == []
    assert read == []


texts = st.sampled_from(["apple", "Apple", " apple ", *(f"fruit {number % 3} {'x' * number}" for number in range(20))])
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
    kept = distinct([(number, text) for number, (text, _) in enumerate(hits)], vectors, limit)

    def repeats(one: int, other: int) -> bool:
        if normalise(hits[one][0]) == normalise(hits[other][0]):
            return True
        if figures(hits[one][0]) != figures(hits[other][0]):
            return False
        return one in vectors and other in vectors and float(vectors[one] @ vectors[other]) > SAME

    assert kept == sorted(set(kept))
    assert len(kept) <= limit
    assert not any(repeats(one, other) for one in kept for other in kept if one < other)
    looked_at = range(kept[-1]) if len(kept) == limit and kept else range(len(hits) if limit else 0)
    for number in looked_at:
        assert number in kept or any(repeats(better, number) for better in kept if better < number)
