"""The language of a short text is guessed from its words, and its words meet in their other forms."""

import unicodedata

import pytest

from recollect.languages import LANGUAGES, leading
from recollect.text import analyse, chunks, query_terms


def guesses(content: str) -> tuple[str, ...]:
    return leading(sum(chunk[0] for chunk in chunks(content)))


def finds_all_of(query: str, content: str) -> bool:
    there = set(analyse(content))
    return all(not there.isdisjoint(group) for group in query_terms(query))


SAID = {
    "english": ("We moved the meeting to Friday", "meetings"),
    "portuguese": ("Mudámos as reuniões para sexta", "reunião"),
    "spanish": ("Compramos los regalos del abuelo", "regalo"),
    "german": ("Die Häuser sind verkauft", "haus"),
    "french": ("Nous cherchons des appartements", "appartement"),
    "italian": ("Abbiamo cambiato le finestre della cucina", "finestra"),
    "dutch": ("Wij zoeken nog een paar fietsen", "fiets"),
    "swedish": ("Vi har målat dörrarna och fönstren", "dörr"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_short_text_is_guessed_and_its_words_are_found_in_another_form(language: str) -> None:
    content, query = SAID[language]
    assert guesses(content)[0] == language
    assert guesses(content.upper()) == guesses(content) == guesses(unicodedata.normalize("NFD", content))
    assert finds_all_of(query, content)


def test_names_and_words_of_english_texts_are_no_sign_of_another_language() -> None:
    for content in ("Los Angeles trip with Van and Ed", "TODO comment for the AI word list", "Men want more space"):
        assert guesses(content)[0] == "english"


def test_a_text_without_any_sign_is_indexed_as_english_and_asked_for_in_every_language() -> None:
    assert guesses("Kubernetes Katzen") == LANGUAGES
    assert analyse("decisions") == ["decis"]
    assert finds_all_of("Katze", "Die Katzen sind klein")
    assert len(query_terms("the decisions")[0]) == 2


def test_a_query_of_function_words_of_another_language_still_asks_for_them() -> None:
    assert finds_all_of("Hoe", "the garden hoe is new")
    assert query_terms("the") == query_terms("para") == []


@pytest.mark.parametrize(("one", "other"), [("5GB", "5 GB"), ("10ms", "10 ms"), ("80km", "80 km"), ("3kg", "3 KG")])
def test_a_number_and_its_unit_are_found_with_and_without_a_space(one: str, other: str) -> None:
    assert finds_all_of(other, f"about {one} of it")
    assert set(analyse(other)) <= set(analyse(one))


def test_a_name_that_ends_like_a_unit_stays_whole() -> None:
    assert analyse("k8s") == ["k8s"]
