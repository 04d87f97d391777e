"""The fast paths of text analysis give the same results as the plain ones."""

import json

from hypothesis import given
from hypothesis import strategies as st

from recollect import concepts
from recollect.concepts import LIMIT, chunk_tags, concept_tags
from recollect.storage import columns

WORDS = st.sampled_from(
    [
        "backup",
        "s3",
        "kv",
        "the",
        "Deploy",
        "x_y",
        "a-b",
        "blue-green/deploy.yml",
        "2026-01-02",
        "12",
        "gpt4o",
        "it's",
        "v1.2",
        "_",
        "ab",
        "abc",
        "n" * 33,
        "networking",
        "end.",
        "(so)",
        "10.0.0.1",
        "QMD",
        "copia de seguridad",
    ]
)


def plainly(text: str) -> tuple[str, ...]:
    folded = text.lower()
    words = concepts._WORD.findall(folded)
    known = [term for term in concepts._GLOSSARY if term in folded and (len(term) > 2 or term in words)]
    candidates = [*known, *concepts._COMPOUND.findall(text), *concepts._WORD.findall(text)]
    return tuple(dict.fromkeys(concepts._tags(candidates)))[:LIMIT]


@given(st.lists(st.one_of(WORDS, st.text(st.characters(max_codepoint=127), max_size=8))).map(" ".join))
def test_an_ascii_text_has_the_tags_that_its_candidates_have_one_by_one(text: str) -> None:
    assert concept_tags(text) == plainly(text)


@given(st.lists(st.one_of(WORDS, st.text(max_size=8))).map(" ".join), st.integers(-1, LIMIT + 1))
def test_what_is_known_of_the_chunks_of_a_text_gives_the_same_tags(text: str, limit: int) -> None:
    known = [chunk_tags(chunk) for chunk in text.split()]
    assert concept_tags(text, limit, known) == concept_tags(text, limit)


def test_a_term_of_the_glossary_is_found_over_several_chunks() -> None:
    text = "hay una copia de seguridad semanal"
    assert concept_tags(text, known=map(chunk_tags, text.split()))[0] == "copia de seguridad"


def test_a_chunk_without_end_is_left_to_the_whole_text() -> None:
    assert chunk_tags("a" * 1_000_000) is None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists))
def test_the_log_is_written_in_the_json_that_everyone_reads(value: object) -> None:
    assert columns.to_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(st.lists(st.text(alphabet='ab",\\ \u00e9[]')), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_a_stored_list_is_read_as_json(words: list[str], separators: tuple[str, str]) -> None:
    stored = json.dumps(words, ensure_ascii=False, separators=separators)
    assert columns._words(stored) == tuple(words)
