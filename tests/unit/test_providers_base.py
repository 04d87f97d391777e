"""What the embedder seam promises: unit rows or a clear error, whatever an embedder returns or raises."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from embedders import HashEmbedder, in_a_new_process
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recollect import ConfigError, Conflict, Invalid, Unavailable
from recollect.providers.base import embed


class Foreign:
    """An embedder that returns whatever it is told to."""

    def __init__(self, answer: Callable[[Sequence[str]], Any], dimension: int = 3) -> None:
        self.model = "foreign"
        self.dimension = dimension
        self.asked: list[Sequence[str]] = []
        self._answer = answer

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked.append(texts)
        return self._answer(texts)


def returns(answer: object) -> Foreign:
    return Foreign(lambda texts: answer)


def raises(error: BaseException) -> Foreign:
    def fail(texts: Sequence[str]) -> None:
        raise error

    return Foreign(fail)


# Good answers


@pytest.mark.parametrize(
    "answer",
    [
        [[3, 0, 4], [0, 2, 0]],
        ([3.0, 0.0, 4.0], (0.0, 2.0, 0.0)),
        np.array([[3, 0, 4], [0, 2, 0]], np.float64),
        np.array([[3, 0, 4], [0, 2, 0]], np.float16),
        np.array([[3, 0, 4], [0, 2, 0]], np.uint8),
        [np.array([3, 0, 4]), np.array([0, 2, 0])],
    ],
    ids=["lists", "tuples", "doubles", "halves", "bytes", "list of arrays"],
)
def test_rows_come_back_as_floats_of_unit_length_in_whatever_form_they_were_given(answer: object) -> None:
    rows = embed(returns(answer), ["one", "two"])
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0.6, 0, 0.8], [0, 1, 0]]), abs=1e-7)


def test_the_array_of_the_embedder_is_not_changed() -> None:
    own = np.array([[3, 0, 4]], np.float64)
    embed(returns(own), ["one"])
    assert own.tolist() == [[3, 0, 4]]


def test_a_row_of_zeros_stays_and_says_that_the_text_has_no_vector() -> None:
    rows = embed(returns([[0, 0, 0], [0, 5, 0]]), ["one", "two"])
    assert rows.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert rows.any(axis=1).tolist() == [False, True]


def test_an_embedder_is_never_asked_about_blank_texts() -> None:
    embedder = Foreign(lambda texts: [[1, 0, 0]] * len(texts))
    rows = embed(embedder, ["", "one", "  \n", "two"])
    assert embedder.asked == [["one", "two"]]
    assert rows.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0]]


def test_an_embedder_is_not_asked_when_there_is_nothing_to_ask() -> None:
    embedder = raises(AssertionError("asked"))
    assert embed(embedder, []).shape == (0, 3)
    assert embed(embedder, ["", " "]).tolist() == [[0, 0, 0], [0, 0, 0]]


@given(
    vectors=arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 5)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_any_finite_vectors_become_rows_of_length_one_in_the_same_direction(vectors: np.ndarray[Any, Any]) -> None:
    count, dimension = vectors.shape
    rows = embed(Foreign(lambda texts: vectors, dimension), ["text"] * count)
    for row, vector in zip(rows.tolist(), vectors.tolist(), strict=True):
        largest = max(abs(number) for number in vector)
        if largest == 0:
            assert not any(row)
            continue
        length = math.hypot(*(number / largest for number in vector))
        assert row == pytest.approx([number / largest / length for number in vector], abs=1e-6)


# Bad answers


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([[1, 2, 3]], "1 vector(s) of 3 numbers"),
        ([[1, 2, 3]] * 3, "3 vector(s) of 3 numbers"),
        ([[1, 2], [3, 4]], "2 vector(s) of 2 numbers"),
        ([[1, 2, 3, 4]] * 2, "2 vector(s) of 4 numbers"),
        ([], "shape (0,)"),
        ([1, 2, 3], "shape (3,)"),
        ([[[1, 2, 3]], [[1, 2, 3]]], "shape (2, 1, 3)"),
        (7, "shape ()"),
        ([[1, 2, 3], [1, 2]], "no table of numbers"),
        (None, "not real numbers"),
        ([[1, None, 3], [1, 2, 3]], "not real numbers"),
        ([["1", "2", "3"], ["1", "2", "3"]], "not real numbers"),
        ([[True, False, True]] * 2, "not real numbers"),
        ([[1j, 2, 3]] * 2, "not real numbers"),
        ([[10**400, 2, 3]] * 2, "not real numbers"),
        ("nonsense", "not real numbers"),
        ({"data": []}, "not real numbers"),
        (iter([[1, 2, 3]] * 2), "not real numbers"),
        ([[1, 2, 3], [1, math.nan, 3]], "1 of 2 vector(s), first in number 1"),
        ([[1, math.inf, 3], [1, 2, 3]], "1 of 2 vector(s), first in number 0"),
        ([[1, 2, -math.inf], [math.nan, 2, 3]], "2 of 2 vector(s), first in number 0"),
    ],
    ids=str,
)
def test_a_wrong_answer_is_unavailable_and_the_message_says_what_came_and_what_was_expected(
    answer: object, said: str
) -> None:
    with pytest.raises(Unavailable) as caught:
        embed(returns(answer), ["one", "two"])
    assert said in str(caught.value)
    assert "expected 2 vector(s) of 3 numbers" in str(caught.value)
    assert "'foreign'" in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [RuntimeError("out of memory"), KeyError("x"), TimeoutError(), MemoryError(), Conflict("no"), Invalid("no")],
    ids=repr,
)
def test_whatever_an_embedder_raises_is_unavailable_with_its_cause(error: Exception) -> None:
    with pytest.raises(Unavailable) as caught:
        embed(raises(error), ["one"])
    assert caught.value.__cause__ is error
    assert f"'foreign' failed on 1 text(s) with {type(error).__name__}" in str(caught.value)


@pytest.mark.parametrize("error", [ConfigError("no such model"), Unavailable("down")], ids=repr)
def test_an_error_that_already_says_what_is_wrong_passes_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        embed(raises(error), ["one"])
    assert caught.value is error


def test_an_interrupt_is_not_taken_for_a_failing_embedder() -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(raises(KeyboardInterrupt()), ["one"])


def test_a_message_stays_short_when_an_embedder_raises_a_novel() -> None:
    with pytest.raises(Unavailable) as caught:
        embed(raises(RuntimeError("x" * 100_000)), ["one"])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("dimension", [0, -1])
def test_an_embedder_without_dimensions_is_a_wrong_setting(dimension: int) -> None:
    with pytest.raises(ConfigError):
        embed(HashEmbedder(dimension), ["one"])


# The price of the seam


def test_importing_the_package_and_the_seam_loads_no_numpy_and_no_embedder() -> None:
    program = (
        "import sys, recollect, recollect.providers.base; "
        "print(sorted({'numpy', 'tokenizers', 'wordllama', 'urllib.request', "
        "'recollect.providers.openai'} & sys.modules.keys()))"
    )
    assert in_a_new_process(program) == "[]\n"
