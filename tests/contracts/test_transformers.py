"""Models of the user in the ONNX format: their vectors find notes, and a reranker orders hits, on every database."""

import logging
from pathlib import Path

import numpy as np
import onnx_models
import pytest

import recollect
from recollect import Add, ConfigError, Settings
from recollect.providers.base import embed, scores
from recollect.providers.onnx import OnnxEmbedder, OnnxReranker

VECTORS = {"harbour": [1, 0, 0], "port": [0.9, 0.1, 0], "egg": [0, 1, 0], "boils": [0, 0.8, 0.2]}


def test_the_vector_of_a_text_is_the_mean_of_its_tokens_without_padding(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(onnx_models.embedder(tmp_path, VECTORS))
    found = embedder.embed(["harbour", "harbour egg egg egg", "unknown"])
    assert embedder.dimension == 3
    np.testing.assert_allclose(found, [[1, 0, 0], [0.25, 0.75, 0], [0, 0, 0]], atol=1e-6)
    assert embedder.embed([]).shape == (0, 3)


def test_texts_of_several_batches_and_all_lengths_keep_their_order(tmp_path: Path) -> None:
    words = [(number * 7) % 41 for number in range(41)]
    embedder = OnnxEmbedder(onnx_models.embedder(tmp_path / "embedder", VECTORS))
    found = embedder.embed([" ".join(["harbour", *["egg"] * count]) for count in words])
    np.testing.assert_allclose(found[:, 0], [1 / (1 + count) for count in words], atol=1e-6)
    reranker = OnnxReranker(onnx_models.cross_encoder(tmp_path / "reranker", {"egg": 1}))
    assert reranker.scores("which", [" ".join(["egg"] * count) for count in words]) == words


def test_the_name_of_the_model_changes_with_its_weights(tmp_path: Path) -> None:
    made = {"one": VECTORS, "same": VECTORS, "other": VECTORS | {"egg": [0, 0, 1]}}
    one, same, other = (OnnxEmbedder(onnx_models.embedder(tmp_path / name, rows)) for name, rows in made.items())
    assert one.model == same.model != other.model


def test_a_note_is_found_by_the_vectors_of_a_model_that_the_settings_name(location: str, tmp_path: Path) -> None:
    folder = onnx_models.embedder(tmp_path / "model", VECTORS)
    settings = Settings(embedder={"kind": "onnx", "folder": str(folder)})  # type: ignore[arg-type]
    with recollect.open(location, settings=settings) as home:
        mem = home.agent("ana")
        mem.remember_many([Add("port"), Add("boils")])
        home.backfill()
        assert [hit.entry.content for hit in mem.recall("harbour", mode="vector")] == ["port"]


def test_a_reranker_orders_the_hits_and_turns_that_the_search_finds(location: str, tmp_path: Path) -> None:
    folder = onnx_models.cross_encoder(tmp_path / "model", {"oak": 3, "elm": 2, "fir": 1, "ash": -1})
    texts = [f"tree {name}" for name in ("ash", "fir", "yew", "elm", "oak")]
    settings = Settings(embedder={"kind": "none"}, recall={"reranker": str(folder)})  # type: ignore[arg-type]
    with recollect.open(location, settings=settings) as home:
        mem = home.agent("ana")
        mem.remember_many(Add(text) for text in texts)
        conversation = mem.conversations.start()
        for text in texts:
            conversation.user(text)
        assert [hit.entry.content for hit in mem.recall("tree", limit=3)] == ["tree oak", "tree elm", "tree fir"]
        assert [turn.event.content for turn in mem.conversations.search("tree", limit=2)] == ["tree oak", "tree elm"]
        assert mem.recall("tree", limit=0) == []
        assert [hit.entry.content for hit in home.agent("ben").recall("tree")] == []


def test_a_reranker_that_fails_leaves_the_order_of_the_search(
    location: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = onnx_models.cross_encoder(tmp_path / "model", {"oak": 3})
    (folder / "model.onnx").write_bytes(b"no model")
    settings = Settings(embedder={"kind": "none"}, recall={"reranker": str(folder)})  # type: ignore[arg-type]
    with recollect.open(location, settings=settings) as home, caplog.at_level(logging.WARNING):
        mem = home.agent("ana")
        mem.remember_many([Add("tree oak"), Add("tree ash")])
        expected = [hit.entry.content for hit in mem.recall("tree", mode="keyword")]
        assert [hit.entry.content for hit in mem.recall("tree")] == expected
    assert "the hits are not reranked" in caplog.text


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_file_is_refused_when_the_home_is_opened(tmp_path: Path, name: str) -> None:
    folder = onnx_models.embedder(tmp_path / "model", VECTORS)
    (folder / name).unlink()
    with pytest.raises(ConfigError, match=f"has no file {name}"):
        recollect.open(tmp_path / "a.db", settings=Settings(recall={"reranker": str(folder)}))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="its folder is not set"):
        recollect.open(tmp_path / "a.db", settings=Settings(embedder={"kind": "onnx"}))  # type: ignore[arg-type]


def test_a_model_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    sentences = onnx_models.embedder(tmp_path / "sentences", VECTORS)
    with pytest.raises(ConfigError, match="use a cross-encoder"):
        scores(OnnxReranker(sentences), "egg", ["harbour"])
    broken = onnx_models.embedder(tmp_path / "broken", VECTORS)
    (broken / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match="cannot be used"):
        embed(OnnxEmbedder(broken), ["egg"])
