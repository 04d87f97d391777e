"""What works without a language model: summaries of chosen sentences, decisions and lessons by their words."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Invalid
from recollect.providers.extractive import Insights, insights, summarise

HARBOUR = [
    "Hello there! Nice to see you.",
    "The harbour office moves to pier four in May. We decided to keep PostgreSQL for the harbour office. Thanks a lot!",
    "Yes. The weather is fine today, by the way. The crane on pier four needs a new motor before May.",
]


def test_a_text_that_fits_is_kept_whole_line_by_line() -> None:
    whole = "One thing. Another thing.\nA third."
    assert summarise(["One thing. Another thing.", "A third."], len(whole)) == whole
    assert len(summarise(["One thing. Another thing.", "A third."], len(whole) - 1)) < len(whole) - 1


def test_the_sentences_that_say_most_are_kept_in_their_order() -> None:
    assert summarise(HARBOUR, 153) == (
        "The harbour office moves to pier four in May. We decided to keep PostgreSQL for the harbour office.\n"
        "The crane on pier four needs a new motor before May."
    )


def test_what_has_been_said_is_not_said_again() -> None:
    said = "The crane needs a new motor. " * 5 + "The gate was painted blue by Rui."
    assert summarise([said], 70) == "The crane needs a new motor. The gate was painted blue by Rui."


def test_a_topic_that_is_covered_leaves_room_for_another() -> None:
    cranes = "The crane needs a motor. The crane motor needs oil. The motor of the crane needs bolts."
    gate = "Rui and Ana painted the harbour gate blue."
    assert summarise([cranes, gate], 70) == f"The crane motor needs oil.\n{gate}"


def test_the_order_is_that_of_the_text_and_not_that_of_the_choice() -> None:
    talk = ["The gate is blue.", "The pier of the harbour got a crane. We decided on a crane for the harbour pier."]
    assert summarise(talk, 70) == "The gate is blue.\nWe decided on a crane for the harbour pier."


def test_portuguese_and_scripts_without_spaces_are_summarised_too() -> None:
    portuguese = [
        "Olá! Tudo bem?",
        "Decidimos usar o PostgreSQL no porto. O porto precisa de um motor novo.",
        "Obrigado.",
    ]
    assert summarise(portuguese, 75) == "Decidimos usar o PostgreSQL no porto. O porto precisa de um motor novo."
    chinese = ["你好。", "港口办公室五月搬到四号码头。四号码头的起重机需要新电机。", "谢谢。"]
    assert summarise(chinese, 16) == "港口办公室五月搬到四号码头。"


def test_code_blocks_are_left_out_and_long_sentences_are_cut() -> None:
    talk = "Run this.\n```python\nimport secrets\nprint(1)\n```\nThen restart the server.\n~~~\nopen block"
    assert summarise([talk], 1000) == "Run this. Then restart the server."
    cut = summarise(["word " * 1000], 1000)
    assert len(cut) <= 400
    assert cut.endswith("word…")


@pytest.mark.parametrize("content", ["```\nx = 1\n```", "the of and", "...", "漢", "a" * 10_000, "the " * 500 + "."])
@pytest.mark.parametrize("most", [1, 3, 50])
def test_no_text_is_summarised_as_nothing_and_the_limit_is_kept(content: str, most: int) -> None:
    assert 1 <= len(summarise(["", content], most)) <= most


def test_nothing_is_summarised_as_nothing() -> None:
    assert summarise([], 100) == summarise(["", " \n"], 100) == ""


def test_a_summary_without_room_is_refused() -> None:
    with pytest.raises(Invalid):
        summarise(["One thing."], 0)


@given(st.lists(st.text(max_size=80), max_size=8), st.integers(1, 120))
def test_any_text_keeps_the_limit_and_gives_something_when_there_is_something(texts: list[str], most: int) -> None:
    made = summarise(texts, most)
    assert len(made) <= most
    assert bool(made) == any(text.strip() for text in texts)
    assert made == summarise(list(texts), most)


def test_every_process_makes_the_same_summary() -> None:
    program = (
        "from recollect.providers.extractive import summarise\n"
        "texts = [f'Pier {n % 7} has crane {n % 11} and rope {n % 13}. Ship {n % 5} left.' for n in range(300)]\n"
        "print(summarise(texts, 900))"
    )
    source = str(Path(recollect.__file__).parents[1])
    made = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": source, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(made) == 1
    assert len(made.pop()) > 500


def test_ten_thousand_sentences_are_no_burden() -> None:
    texts = [f"Ship {n} reached pier {n % 97} with load {n * 7919 % 1009} of kind {n % 31}." for n in range(10_000)]
    assert 3_000 < len(summarise(texts, 4_000)) <= 4_000


# Insights

DECISIONS = [
    "They decided on Friday",
    "She chose the blue gate",
    "We will use apsw for it",
    "A decisão é esta, amigos",
    "Escolhemos o portão azul",
    "Nós optamos pelo azul aqui",
    "Adotamos o apsw no porto",
    "Vamos usar o apsw no porto",
    "They went with the blue one",
    "We settled on Friday noon",
]
LESSONS = [
    "I learned it the hard way",
    "It is IMPORTANT to wait",
    "Note: the gate is shut",
    "Aprendemos com o portão",
    "É importante esperar aqui",
    "Uma lição para o porto",
    "What a discovery it was",
    "One insight of the day",
    "Descobrimos o erro no log",
    "As observed in the log",
]


@pytest.mark.parametrize("line", DECISIONS)
def test_each_word_of_a_decision_makes_one(line: str) -> None:
    assert insights([line]) == Insights((line,), ())


@pytest.mark.parametrize("line", LESSONS)
def test_each_word_of_a_lesson_makes_one(line: str) -> None:
    assert insights([line]) == Insights((), (line,))


def test_letters_that_come_in_two_characters_are_the_same_words() -> None:
    assert insights(["A decisa\u0303o é esta, amigos", "Uma lic\u0327a\u0303o para o porto"]) == Insights(
        ("A decisa\u0303o é esta, amigos",), ("Uma lic\u0327a\u0303o para o porto",)
    )


@pytest.mark.parametrize(
    "line", ["The undecided voters went home", "He is chosen for the job", "We will useful things", "A footnote: shut"]
)
def test_a_word_inside_another_makes_none(line: str) -> None:
    assert insights([line]) == Insights((), ())


def test_the_wide_words_count_only_when_they_are_asked_for() -> None:
    lines = ["A recomendação é esperar", "A stack principal é Python", "O risco é o portão azul"]
    assert insights(lines) == Insights((), ())
    assert insights(lines, wide=True) == Insights(tuple(lines[:2]), tuple(lines[2:]))
    assert insights([*DECISIONS, *LESSONS], wide=True) == insights([*DECISIONS, *LESSONS])


def test_only_lines_longer_than_fifteen_characters_count() -> None:
    assert insights(["  We decided that  ", "We decided that."]).decisions == ("We decided that.",)
    assert insights(["short\n- We chose the red gate\nshort"]).decisions == ("- We chose the red gate",)


def test_there_are_at_most_ten_of_each_and_the_first_ones_stay() -> None:
    decided = [f"We decided thing number {n}, an important one" for n in range(15)]
    noted = [f"Note: the gate number {n} is shut" for n in range(15)]
    assert insights([*decided, *noted]) == Insights(tuple(decided[:10]), tuple(noted[:10]))


def test_a_line_with_words_of_both_kinds_is_a_decision_and_nothing_else() -> None:
    assert insights(["Important: we decided on granite."]) == Insights(("Important: we decided on granite.",), ())


def test_what_is_known_is_left_out_and_makes_room_for_more() -> None:
    lines = [f"We decided thing number {n}." for n in range(15)]
    asked: list[tuple[str, str]] = []

    def known(category: str, line: str) -> bool:
        asked.append((category, line))
        return line in lines[:10]

    assert insights(lines, known=known) == Insights(tuple(lines[10:]), ())
    assert asked[0] == ("decisions", lines[0])


@pytest.mark.parametrize(
    "content",
    [
        "```python\nresult = decide(important=True)\n```",
        "~~~\nwe decided to loop here\n~~~",
        "Run this:\n\n    if decided: note: important\n    observe(the_gate)\n",
        "| Option | Note: important |\n|---|---|\n| granite | decided on it |",
        "Option | Decided on | Important\n--- | --- | ---",
        "> We decided on marble, said the mail.",
        "Call `decide(important)` on the object.",
        "Let me see what is important here.",
        "OK, let me check which database they decided on",
        "Now I'll look at the important files first.",
        "Let me know if this is important to you!",
        "Vou verificar o que é importante aqui.",
    ],
)
def test_code_tables_quotes_and_announcements_state_nothing(content: str) -> None:
    assert insights([content], wide=True) == Insights((), ())


@pytest.mark.parametrize(
    "line",
    [
        "Let me see. We decided on granite.",
        "Let me check: we decided on granite.",
        "We decided to use `granite` for the quay.",
        "We decided on A | B for the quay.",
        "I will use granite, it is decided.",
    ],
)
def test_what_is_stated_beside_code_or_an_announcement_counts(line: str) -> None:
    assert insights([line]).decisions == (line,)


def test_what_is_indented_below_an_item_is_no_code() -> None:
    content = "- The quay\n\n    - We decided on granite.\n      Note: it is heavy.\n"
    assert insights([content]) == Insights(("- We decided on granite.",), ("Note: it is heavy.",))


def test_the_same_line_counts_once_however_it_is_spaced_and_cased() -> None:
    lines = ["We decided on Friday", "we  decided on FRIDAY", "We decided on Monday"]
    assert insights(lines).decisions == ("We decided on Friday", "We decided on Monday")


def test_a_long_line_is_cut_to_three_hundred_characters_that_hold_its_words() -> None:
    assert insights(["We decided " + "a" * 1000]).decisions == ("We decided " + "a" * 289,)
    (late,) = insights(["It rains. " * 100 + "Then we decided on Friday. " + "It rains. " * 100]).decisions
    assert late.startswith("Then we decided on Friday. It rains.")
    (run,) = insights(["a" * 1000 + " decided " + "b" * 1000]).decisions
    assert len(run) == 300
    assert " decided " in run
