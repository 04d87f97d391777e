"""The text of a turn counts beyond its words: phrases, numbers and names that a question asks for."""

import numpy as np
import pytest

from recollect import text
from recollect.search.turn_text import (
    BREVITY,
    LENGTH,
    NAME,
    NUMBER,
    PHRASE,
    RULE,
    TurnTextQuery,
    length_score,
    rule_score,
)


def score(query: str, content: str, speakers: tuple[str, ...] = ()) -> float:
    return TurnTextQuery.read(query, speakers).score(content)


def test_words_that_stand_together_as_in_the_question_count_as_a_phrase() -> None:
    assert score("did I integrate session management?", "I integrated the session management today.") == PHRASE
    assert score("did I integrate session management?", "The management of a session is hard.") == 0


def test_a_phrase_is_found_in_another_form_and_with_a_short_word_between() -> None:
    assert score("mountain trail", "We walked mountains and trails.") == pytest.approx(PHRASE)
    assert score("mountain trail", "We walked mountains, and then there were trails.") == 0


def test_a_share_of_the_phrases_counts_as_that_share() -> None:
    assert score("first sprint deadline", "The first sprint went well.") == pytest.approx(PHRASE / 2)


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("How many children does she have?", "She has 3."),
        ("Quantos filhos ela tem?", "Tem três."),
        ("Wie viele Katzen?", "Sie hat zwei."),
        ("What is the version?", "It runs 2.1"),
    ],
)
def test_a_number_counts_if_the_question_asks_for_one(query: str, content: str) -> None:
    assert score(query, content) == pytest.approx(NUMBER)
    assert score("What does she like?", content) == 0


def test_names_count_if_the_question_asks_for_one_but_not_those_of_the_speakers() -> None:
    assert score("Where did she go?", "We went to Lisbon") == pytest.approx(NAME / 3)
    assert score("Where did she go?", "I asked for Ana", ("Ana",)) == 0
    assert score("Why did she go?", "We went to Lisbon") == 0


def test_three_names_count_as_much_as_ten() -> None:
    three = "We saw Lisbon, Porto, Faro"
    assert score("which?", three) == score("which?", three + ", Braga, Evora, Beja, Sines") == pytest.approx(NAME)


def test_a_query_of_one_word_that_asks_for_nothing_needs_no_text() -> None:
    assert not TurnTextQuery.read("sprint", ())
    assert not TurnTextQuery.read("of the", ())
    assert TurnTextQuery.read("first sprint", ())


def test_names_of_speakers_are_no_part_of_a_phrase() -> None:
    assert not TurnTextQuery.read("Ana's sprint", ("Ana",))


def test_operators_and_brackets_in_a_query_are_plain_text() -> None:
    assert score("a.b* (c|d)+ [x", "nothing of it") == 0


def test_a_longer_turn_scores_more_among_people_and_less_with_an_assistant() -> None:
    added = length_score(np.array([30, 30, 10]), np.array([True, False, True]), 10.0)
    assert added[0] == pytest.approx(LENGTH * np.log(31 / 11))
    assert added[1] == pytest.approx(-BREVITY * np.log(31 / 11))
    assert added[2] == pytest.approx(0)


def score_of_rule(query: str, content: str) -> float:
    return rule_score(content, {term for word in text.query_terms(query) for term in word})


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("How do I list my sources?", "Always use APA when I ask about sources."),
        ("How do I list my sources?", "If I ask for sources, never use footnotes."),
        ("Onde estão as fontes?", "Usa sempre APA quando eu perguntar sobre fontes."),
        ("¿Dónde están las fuentes?", "Usa siempre APA cuando pregunte por fuentes."),
        ("Wo sind die Quellen?", "Nimm immer APA, wenn ich nach Quellen frage."),
    ],
)
def test_a_standing_rule_counts_for_a_question_about_what_it_is_for(query: str, rule: str) -> None:
    assert score_of_rule(query, rule) > 0
    assert score_of_rule("Wann kommt Anna nach Porto?", rule) == 0


def test_a_standing_rule_counts_by_the_share_of_its_scope_that_the_question_holds() -> None:
    rule = "Always name the narrator when I ask about audiobook recommendations."
    assert score_of_rule("audiobook recommendations", rule) == pytest.approx(RULE)
    assert score_of_rule("a good audiobook", rule) == pytest.approx(RULE / 2)


@pytest.mark.parametrize("content", ["Always check the sources.", "He said so when I asked about sources."])
def test_a_rule_without_a_scope_and_a_scope_without_a_rule_do_not_count(content: str) -> None:
    assert score_of_rule("sources", content) == 0
