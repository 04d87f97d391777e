"""Summaries without a language model: chosen sentences."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Invalid
from recollect.providers.extractive import summarise

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
