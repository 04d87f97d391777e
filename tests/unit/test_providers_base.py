"""What the seams promise: unit rows, an answer or a clear error, whatever an embedder or a model returns or raises."""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from embedders import HashEmbedder, in_a_new_process
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recollect import ConfigError, Conflict, Invalid, Unavailable
from recollect.providers.base import ANSWER_LENGTH, complete, embed, json_object, prompt


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
        pytest.param(iter([[1, 2, 3]] * 2), "not real numbers", id="an iterator"),
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


# Language models


class ForeignModel:
    """A model that does whatever it is told to."""

    name = "foreign"

    def __init__(self, behave: Callable[[], Any]) -> None:
        self.asked: list[tuple[Any, Any, Any]] = []
        self._behave = behave

    def complete(self, messages: Any, *, schema: Any = None, timeout: Any = None) -> Any:
        self.asked.append((messages, schema, timeout))
        return self._behave()


MESSAGES = [{"role": "user", "content": "Which pier?"}]


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_an_answer_returns_unchanged(timeout: float | None) -> None:
    model = ForeignModel(lambda: " Pier four.\n")
    assert complete(model, MESSAGES, schema={"type": "object"}, timeout=timeout) == " Pier four.\n"
    assert model.asked == [(MESSAGES, {"type": "object"}, timeout)]


def failing(error: Exception) -> ForeignModel:
    def fail() -> None:
        raise error

    return ForeignModel(fail)


@pytest.mark.parametrize("timeout", [None, 30.0])
@pytest.mark.parametrize(
    "error", [ValueError("a" * 10_000), KeyError(), TimeoutError("late"), Conflict("x"), Invalid("y")], ids=repr
)
def test_whatever_a_model_raises_is_unavailable(error: Exception, timeout: float | None) -> None:
    with pytest.raises(Unavailable, match=type(error).__name__) as caught:
        complete(failing(error), MESSAGES, timeout=timeout)
    assert caught.value.__cause__ is error
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("error", [Unavailable("down"), ConfigError("no key")], ids=repr)
def test_errors_of_our_own_models_stay_what_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        complete(failing(error), MESSAGES, timeout=30.0)
    assert caught.value is error


@pytest.mark.parametrize("answer", ["", " \n", None, 3, b"text", ["text"], "a" * (ANSWER_LENGTH + 1)], ids=type)
def test_an_answer_that_is_no_text_or_far_too_long_is_unavailable(answer: object) -> None:
    with pytest.raises(Unavailable, match="foreign"):
        complete(ForeignModel(lambda: answer), MESSAGES)


def test_an_answer_of_the_allowed_length_is_taken() -> None:
    assert len(complete(ForeignModel(lambda: "a" * ANSWER_LENGTH), MESSAGES)) == ANSWER_LENGTH


def test_a_model_that_does_not_keep_to_the_timeout_is_left_behind() -> None:
    ended = threading.Event()
    model = ForeignModel(lambda: ended.wait(10) and "too late")
    with pytest.raises(Unavailable, match=r"within 0\.01 s"):
        complete(model, MESSAGES, timeout=0.01)
    ended.set()


@pytest.mark.parametrize(
    "answer",
    [
        '{"a": {"b": 1}}',
        ' \n{"a": {"b": 1}}\n',
        '```json\n{"a": {"b": 1}}\n```',
        '```\n{"a": {"b": 1}}\n```',
        'Here you are:\n```JSON\n{"a": {"b": 1}}\n```\nIs that right?',
        'Sure! {"a": {"b": 1}} I hope {this} helps.',
        'I filled in {mode} as you said: {"a": {"b": 1}}',
        '[{"a": {"b": 1}}]',
    ],
)
def test_the_object_in_an_answer_is_found(answer: str) -> None:
    assert json_object(answer) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    "answer",
    ["", "Pier four.", "[1, 2]", '"text"', "{", "}{", "{'a': 1}", '{"a": ', "{" * 100_000, '{"a":' * 100_000],
    ids=lambda answer: answer[:10],
)
def test_an_answer_without_an_object_is_unavailable(answer: str) -> None:
    with pytest.raises(Unavailable, match="instead of a JSON object") as caught:
        json_object(answer)
    assert len(str(caught.value)) < 500


def test_prompts_are_read_from_their_files() -> None:
    assert prompt("fold").startswith("You keep the memory of an assistant.")
    assert "ended" in prompt("close")


# The price of the seam


def test_importing_the_package_and_the_seam_loads_no_numpy_and_no_embedder() -> None:
    program = (
        "import sys, recollect, recollect.providers.base; "
        "print(sorted({'numpy', 'tokenizers', 'wordllama', 'urllib.request', "
        "'recollect.providers.openai'} & sys.modules.keys()))"
    )
    assert in_a_new_process(program) == "[]\n"
