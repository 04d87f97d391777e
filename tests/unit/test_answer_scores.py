"""Scores of answers, by words."""

import pytest

from recollect.answer_scores import answer_words, contains, exact_match, f1, interval, words_in


def test_words_are_compared_without_case_punctuation_and_articles() -> None:
    assert answer_words("The Blue-Boat, a boat!") == ["blue", "boat", "boat"]
    assert answer_words("The") == ["the"], "an answer of an article alone keeps it"
    assert answer_words("Zürich, 北京!") == ["zürich", "北京"]


def test_a_text_contains_an_answer_only_as_whole_words_in_order() -> None:
    assert contains("We met on 7 May, 2023.", "7 may 2023")
    assert not contains("We met in May 2023, on the 7th", "7 May 2023")
    assert not contains("The pump", "pum")
    assert not contains("anything", "?!")
    assert words_in("in May 2023, on the 7th", "7 May 2023") == pytest.approx(2 / 3)


def test_an_answer_is_scored_against_the_best_of_the_expected_ones() -> None:
    assert exact_match("A boat!", ["ship", "the Boat"])
    assert not exact_match("a big boat", ["boat"])
    assert not exact_match("", ["?"])
    assert f1("big blue boat", ["a boat", "blue boat"]) == pytest.approx(0.8)
    assert f1("boat boat", ["boat"]) == pytest.approx(2 / 3), "a word counts as often as in both"
    assert f1("bye bye boat", ["bye bye"]) == pytest.approx(0.8)
    assert f1("ship", ["boat"]) == f1("", ["boat"]) == f1("boat", []) == 0.0


def test_the_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few, many = interval([0.0, 1.0] * 5), interval([0.0, 1.0] * 500)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]
    assert interval([1.0, 1.0]) == (1.0, 1.0)
    assert interval([0.0, 1.0] * 5, seed=1) == few, "the same each time"
