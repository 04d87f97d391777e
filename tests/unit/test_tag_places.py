"""Concept tags are stored as places in the content, and come back as they were."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.concepts import concept_tags
from recollect.storage.tag_places import pack, unpack

FAR = "the " * 40


@pytest.mark.parametrize(
    ("content", "packed"),
    [
        ("", ""),
        ("We deploy on Tuesdays.", ")&+'"),
        (f"harbour {FAR}lighthouse", "*#e$o"),
        ("a cellar for the router", None),
        ("blue-green/deploy.yml before the router failover", None),
        ("Ana " * 10 + "x" * 5_000 + " Nora", None),
    ],
)
def test_a_tag_is_a_place_in_the_content(content: str, packed: str | None) -> None:
    tags = concept_tags(content)
    found = pack(tags, content)
    assert found == packed or packed is None
    assert not found.startswith("[")
    assert unpack(found, content) == tags


@pytest.mark.parametrize(
    ("tags", "content"),
    [
        (("other",), "no such word"),
        (("deploy", "other"), "we deploy"),
        (("x" * 33,), "x" * 40),
        (("far",), "y" * 9_000 + "far"),
        (("straße",), "STRASSE"),
        (("i̇stanbul", "kedi"), "İstanbul kedi"),  # in lower case the first letter is two
        (("ως",), "ΩΣ"),
    ],
)
def test_a_tag_that_is_no_part_of_the_content_is_written_out(tags: tuple[str, ...], content: str) -> None:
    assert unpack(pack(tags, content), content) == tags


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400))
def test_the_tags_of_any_text_come_back(content: str) -> None:
    assert unpack(pack(concept_tags(content), content), content) == concept_tags(content)


@given(st.text(max_size=12), st.lists(st.text(min_size=1, max_size=4), max_size=3))
def test_any_tags_come_back(content: str, tags: list[str]) -> None:
    assert unpack(pack(tags, content), content) == tuple(tags)


@given(st.text(max_size=8), st.text(max_size=12))
def test_damaged_tags_are_read_or_a_value_error(packed: str, content: str) -> None:
    try:
        found = unpack(packed, content)
    except (ValueError, TypeError):
        return
    assert isinstance(found, tuple)


def test_tags_of_an_older_version_are_read() -> None:
    assert unpack(json.dumps(["deploys", "日本語"]), "whatever") == ("deploys", "日本語")
    assert unpack("[]", "whatever") == ()
