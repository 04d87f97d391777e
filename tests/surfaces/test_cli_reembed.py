"""`recollect reembed`: from the vectors of one model to those of another, seen from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from embedders import EmbeddingServer
from surfaces.command import Command

import recollect
from recollect import Add, Settings
from recollect.config import EmbedderSettings

MODEL = {"RECOLLECT_EMBEDDER_KIND": "openai", "RECOLLECT_EMBEDDER_DIMENSION": "64"}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def model(server: EmbeddingServer) -> dict[str, Any]:
    """The settings of the new model."""
    return {**MODEL, "RECOLLECT_EMBEDDER_BASE_URL": server.url, "RECOLLECT_EMBEDDER_MODEL": "newer"}


def keep(location: str, *contents: str) -> None:
    with recollect.open(location, settings=Settings(embedder=EmbedderSettings(kind="none"))) as home:
        home.agent("ana").remember_many([Add(content) for content in contents])


def test_every_entry_gets_a_vector_of_the_new_model(
    cli: Command, location: str, server: EmbeddingServer, model: dict[str, Any]
) -> None:
    contents = ["green pear", *(f"note {number}" for number in range(39))]
    keep(location, *contents)
    done = cli("--home", location, "reembed", **model)
    assert (done.text, done.err) == ("embedded 40 entries\n", "")
    assert sorted(text for request in server.requests for text in request.texts) == sorted(contents)
    hits = cli("recall", "pear green", "--mode", "vector", "--home", location, "--agent", "ana", "--json", **model).json
    assert hits[0]["entry"]["content"] == "green pear"


def test_only_what_has_no_vector_of_the_model_is_embedded(cli: Command, model: dict[str, Any]) -> None:
    location = str(cli.folder / ".recollect")
    keep(location, "green pear", "red apple")
    assert cli("reembed", "--json", **model).json == {"embedded": 2}
    keep(location, "one more")
    assert cli("reembed", **model).text == "embedded 1 entry\n"
    assert cli("reembed", **model).text == "nothing to do: all vectors are up to date\n"


def test_with_another_model_a_command_says_what_to_do(cli: Command, model: dict[str, Any]) -> None:
    keep(str(cli.folder / ".recollect"), "an apple a day")
    cli("reembed", **model)
    newest = {**model, "RECOLLECT_EMBEDDER_MODEL": "newest"}
    found = cli("recall", "apple", "--agent", "ana", **newest)
    assert "an apple a day" in found.text
    assert "recollect reembed" in found.err
    refused = cli("recall", "apple", "--mode", "vector", "--agent", "ana", code=8, **newest)
    assert "recollect reembed" in refused.err


def test_an_embedder_that_fails_is_an_error_and_the_next_call_continues(
    cli: Command, server: EmbeddingServer, model: dict[str, Any]
) -> None:
    keep(str(cli.folder / ".recollect"), *(f"note {number}" for number in range(40)))
    good = server.always
    server.script = [good, lambda request: request.json({"error": "who are you?"}, 401)]
    failed = cli("reembed", code=8, **model)
    assert failed.text == ""
    assert "api_key" in failed.err
    assert cli("reembed", **model).text == "embedded 8 entries\n"


def test_without_an_embedder_it_is_an_error(cli: Command) -> None:
    keep(str(cli.folder / ".recollect"), "an apple a day")
    refused = cli("reembed", code=8, RECOLLECT_EMBEDDER_KIND="none")
    assert refused.err == "recollect: no embedder is configured; set one in the settings to compute vectors\n"


def test_on_a_terminal_a_bar_shows_how_far_it_is(cli: Command, model: dict[str, Any]) -> None:
    keep(str(cli.folder / ".recollect"), *(f"note {number}" for number in range(40)))
    ended, sent = cli.on_terminal("reembed", **model)
    assert ended == 0
    plain = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", sent)
    assert "default/ana" in plain
    assert "100%" in plain
    assert plain.splitlines()[-1].endswith("embedded 40 entries")


def test_nothing_is_there_to_embed_in_an_empty_home(cli: Command, model: dict[str, Any]) -> None:
    assert cli("reembed", **model).text == "nothing to do: all vectors are up to date\n"
    assert list(cli.folder.iterdir()) == []
