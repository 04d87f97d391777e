"""What every embedder must do: the local one, an OpenAI-compatible server over real HTTP, and the one the tests use."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from embedders import EmbeddingServer, HashEmbedder
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.providers.base import Embedder, embed
from recollect.providers.local import LocalEmbedder
from recollect.providers.openai import OpenAIEmbedder

HARBOUR = "the harbour office opens at eight in the morning"
QUESTION = "when does the harbour office open?"
RECIPE = "stir two eggs into melted chocolate"
MEGA = 1_000_000


@pytest.fixture(scope="module", params=["local", "openai", "hash"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    """Each embedder; the server behind the second one answers as the protocol says."""
    match request.param:
        case "local":
            yield LocalEmbedder()
        case "openai":
            # No proxy of this machine may stand between the two.
            with pytest.MonkeyPatch.context() as patch, EmbeddingServer() as server:
                patch.setenv("no_proxy", "127.0.0.1")
                yield OpenAIEmbedder(base_url=server.url, model="hash", dimension=64)
        case _:
            yield HashEmbedder()


def cosine(embedder: Embedder, one: str, other: str) -> float:
    first, second = embed(embedder, [one, other])
    return float(first @ second)


def test_it_has_a_name_and_a_dimension(embedder: Embedder) -> None:
    assert embedder.model
    assert embed(embedder, [HARBOUR]).shape == (1, embedder.dimension)


def test_each_text_gets_a_row_of_unit_length(embedder: Embedder) -> None:
    rows = embed(embedder, [HARBOUR, QUESTION, RECIPE])
    assert rows.dtype == np.float32
    assert rows.shape == (3, embedder.dimension)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)


def test_no_text_gives_no_row(embedder: Embedder) -> None:
    assert embed(embedder, []).shape == (0, embedder.dimension)
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_blank_text_has_no_vector_and_its_neighbours_keep_theirs(embedder: Embedder) -> None:
    rows = embed(embedder, ["", HARBOUR, " \t\r\n ", RECIPE, "\u3000"])
    assert rows.any(axis=1).tolist() == [False, True, False, True, False]
    assert rows[[1, 3]] == pytest.approx(embed(embedder, [HARBOUR, RECIPE]), abs=1e-6)


def test_a_question_is_nearer_to_its_answer_than_to_something_else(embedder: Embedder) -> None:
    assert cosine(embedder, QUESTION, HARBOUR) > cosine(embedder, QUESTION, RECIPE)


def test_the_same_text_always_has_the_same_vector(embedder: Embedder) -> None:
    assert np.array_equal(embed(embedder, [HARBOUR, RECIPE]), embed(embedder, [HARBOUR, RECIPE]))


def test_any_sequence_of_texts_is_taken(embedder: Embedder) -> None:
    assert np.array_equal(embed(embedder, (HARBOUR, RECIPE)), embed(embedder, [HARBOUR, RECIPE]))


@pytest.mark.parametrize("count", [1, 31, 32, 33, 64, 65, 100])
def test_every_text_keeps_its_place_however_many_there_are(embedder: Embedder, count: int) -> None:
    texts = [f"pier {number} was painted in year {number * number}" for number in range(count)]
    rows = embed(embedder, texts)
    for number in {0, count // 2, count - 1}:
        assert rows[number] == pytest.approx(embed(embedder, [texts[number]])[0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "harbour " * (MEGA // 8),
        "a" * MEGA,
        "漢字仮名" * (MEGA // 12),
        "😀" * (MEGA // 4),
        "x y\n" * (MEGA // 4),
        "\n" * MEGA + "harbour",
    ],
    ids=["words", "one letter", "ideographs", "emoji", "lines", "blanks"],
)
def test_a_text_of_a_megabyte_is_one_row_like_any_other(embedder: Embedder, text: str) -> None:
    rows = embed(embedder, [HARBOUR, text])
    assert rows.shape == (2, embedder.dimension)
    assert np.isfinite(rows).all()
    assert rows[0].any()


def test_threads_that_ask_at_once_all_get_their_own_rows(embedder: Embedder) -> None:
    texts = [f"boat {number} carries cargo {number}" for number in range(16)]
    expected = embed(embedder, texts)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: embed(embedder, [text])[0], texts))
    assert np.array(found) == pytest.approx(expected, abs=1e-6)


@given(texts=st.lists(st.text(max_size=200), max_size=6))
@example(texts=["\0", "<s>", "</s>", "<unk>", "\u0301", "\ufeff"])
def test_whatever_the_texts_are_each_row_is_finite_and_of_length_one_or_zero(
    embedder: Embedder, texts: list[str]
) -> None:
    rows = embed(embedder, texts)
    assert rows.shape == (len(texts), embedder.dimension)
    for text, row in zip(texts, rows, strict=True):
        length = math.sqrt(float(row @ row))
        assert length == pytest.approx(1, abs=1e-5) or (length == 0 and not row.any())
        assert text.strip() or length == 0


@given(texts=st.lists(st.text(alphabet="ab é漢", min_size=1, max_size=30), min_size=1, max_size=5), data=st.data())
def test_a_vector_depends_on_its_text_alone_not_on_the_company(
    embedder: Embedder, texts: list[str], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(texts))))
    rows = embed(embedder, texts)
    shuffled = embed(embedder, [texts[place] for place in order])
    assert shuffled == pytest.approx(rows[order], abs=1e-6)
