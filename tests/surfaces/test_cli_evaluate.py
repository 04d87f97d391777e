"""`recollect evaluate`, seen from outside: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from surfaces.command import Command

PUMP = "The pump was repaired by Nora on Monday."


def written(folder: Path, *lines: object) -> str:
    file = folder / "questions.jsonl"
    file.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines), encoding="utf-8")
    return str(file)


def test_evaluate_reports_how_often_a_context_holds_what_an_answer_needs(
    cli: Command, location: str, tmp_path: Path
) -> None:
    where = ("--home", location)
    cli(*where, "remember", PUMP, "--name", "pump")
    file = written(
        tmp_path,
        {"question": "Who repaired the pump?", "answer": ["NORA", "Tom"]},
        "",
        {"question": "When was the pump\u2028repaired?", "evidence": ["on monday", "The pump"]},
        {"question": "What about the pump?", "notes": "pump"},
        {"question": "Which pump?", "answer": "pum"},
    )
    assert cli(*where, "evaluate", file, "--budget", "500").lines == [
        "4 questions; in brackets the 95% confidence interval",
        "prompt     tokens  holds the answer",
        "no memory  0       0% (0% to 0%)",
        "context    500     75% (25% to 100%)",
        "newest     500     75% (25% to 100%)",
        "missed in 500 tokens: Which pump?",
    ]
    received = cli(*where, "evaluate", file, "--budget", "5", "--budget", "500", "--json").json
    assert received["questions"] == 4
    assert [(one["prompt"], one["budget"], one["held"]["mean"]) for one in received["prompts"]] == [
        ("no memory", 0, 0.0),
        ("context", 5, 0.0),
        ("newest", 5, 0.0),
        ("context", 500, 0.75),
        ("newest", 500, 0.75),
    ]
    assert received["prompts"][3]["missed"] == ["Which pump?"]
    assert received["prompts"][3]["f1"] is None


def test_an_empty_memory_is_named(cli: Command, tmp_path: Path) -> None:
    file = written(tmp_path, {"question": "Who?", "answer": "Nora"})
    cli("--home", "m.db", "remember", PUMP)
    asked = ("--home", "m.db", "evaluate", file, "--budget", "99")
    received = cli(*asked, "--agent", "bob").err
    assert received == f"the memory of bob in {cli.folder}/m.db, workspace default, is empty\n"
    assert cli(*asked).err == ""


def test_a_sample_is_the_same_each_time(cli: Command, tmp_path: Path) -> None:
    cli("remember", PUMP)
    file = written(tmp_path, *({"question": f"Is it pump {n}?", "answer": "never"} for n in range(20)))
    first, second = (cli("evaluate", file, "--budget", "9", "--sample", "3", "--json").json for _ in range(2))
    assert first == second
    assert first["questions"] == len(set(first["prompts"][0]["missed"])) == 3


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", "it is not a JSON object"),
        ("{", "it is not valid JSON: Expecting"),
        ("[" * 100_000, "it is not valid JSON"),
        ('{"question": "a?"}', "it has no answer, evidence or notes"),
        ('{"question": " ", "answer": "b"}', "its question is missing or blank"),
        ('{"question": "a?", "answer": ["?"]}', "its answer must be a text that contains a word"),
        ('{"question": "a?", "evidence": [true]}', "its evidence must be a text that contains a word"),
        ('{"question": "a?", "anwser": "b"}', "it has the unknown field 'anwser'; the fields are question, answer"),
    ],
)
def test_a_line_that_is_no_question_is_named_with_its_number_and_what_is_wrong(
    cli: Command, tmp_path: Path, line: str, says: str
) -> None:
    ended = cli("evaluate", written(tmp_path, '{"question": "a?", "answer": "b"}', line), code=2)
    assert f"line 2 of '{tmp_path}/questions.jsonl' is not a question: {says}" in ended.err
    assert not ended.out


def test_a_file_without_questions_and_other_things_that_cannot_be_evaluated(cli: Command, tmp_path: Path) -> None:
    assert "has no questions" in cli("evaluate", written(tmp_path, ""), code=2).err
    assert "cannot be read" in cli("evaluate", str(tmp_path / "none.jsonl"), code=2).err
    unknown = written(tmp_path, {"question": "Who?", "notes": ["gone"]})
    assert "a note that the question 'Who?' expects is missing" in cli("evaluate", unknown, code=3).err
    file = written(tmp_path, {"question": "Who?", "answer": "Nora"})
    assert "no language model is configured" in cli("evaluate", file, "--answers", code=8).err
