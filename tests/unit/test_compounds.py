"""German compounds have parts that are words, and other words have none."""

import pytest

from recollect.compounds import is_compound, parts
from recollect.text import analyse, query_terms


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("hausturschlussel", ("haus", "tur", "schlussel")),
        ("zahnarzttermine", ("zahnarzt", "termin")),
        ("krankenversicherungsvertrag", ("kranken", "versicherung", "vertrag")),
        ("papageienkafig", ("papageien", "kafig")),
        ("stromanbieterin", ("strom", "anbieter")),
        ("heizungsmonteur", ("heizung", "monteur")),
    ],
)
def test_a_compound_is_split_into_the_words_it_is_made_of(word: str, expected: tuple[str, ...]) -> None:
    found = parts(word)
    assert [one.removesuffix("en") for one in found] == [one.removesuffix("en") for one in expected]


@pytest.mark.parametrize(
    "word",
    [
        "struktur",
        "temperatur",
        "beispiel",
        "landschaft",
        "gesellschaft",
        "minuten",
        "stunden",
        "haus",
        "",
        "tür",
        "x" * 9,
    ],
)
def test_a_word_that_is_no_compound_has_no_parts(word: str) -> None:
    assert parts(word) == ()
    assert not is_compound(word)


@pytest.mark.parametrize("word", ["haus" * 12, "tur" * 300, "a" * 1_000, "schlussel" * 100])
def test_a_word_longer_than_any_compound_is_left_whole(word: str) -> None:
    assert len(parts(word)) == 0 or len(word) <= 48


def test_a_compound_is_a_sign_of_german_and_an_english_word_is_none() -> None:
    assert "termin" in analyse("Zahnarzttermin Montag")
    assert analyse("Regenerate tokens") == ["regener", "token"]


def test_only_a_german_text_has_its_compounds_split() -> None:
    assert analyse("Ich brauche die Kaffeemaschine") == ["brauch", "kaffeemaschin", "kaffe", "maschin"]
    assert analyse("She has the kaffeemaschine from the shop") == ["kaffeemaschin", "shop"]


def test_a_query_searches_a_compound_and_its_parts() -> None:
    assert [group[0] for group in query_terms("Wo ist die Kaffeemaschine?")] == ["kaffeemaschin", "kaffe", "maschin"]
