"""Evaluation of a memory on questions with known answers, with and without a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

import recollect
from recollect import Invalid, NotFound, Unavailable
from recollect.clock import FixedClock
from recollect.evaluation import PromptScores, Question, evaluate, read_question
from recollect.home import Home
from recollect.memory import Memory

DAY = 86_400_000
WHO = Question(text="Who repaired the pump?", answers=("Nora",))


class Parrot:
    """A language model that answers with the last word of the memory in its prompt, or fails."""

    name = "parrot"

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken
        self.asked: list[str] = []

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, object] | None = None,
        timeout: float | None = None,
    ) -> str:
        if self.broken:
            raise Unavailable("the parrot sleeps")
        self.asked.append(messages[-1]["content"])
        return "The NORA." if "Nora" in messages[-1]["content"] else "someone else"


def by_prompt(scores: Sequence[PromptScores]) -> dict[tuple[str, int], PromptScores]:
    return {(one.prompt, one.budget): one for one in scores}


def test_what_an_answer_needs_is_searched_in_each_prompt(mem: Memory) -> None:
    mem.remember("The pump was repaired by Nora on Monday.", name="pump", at="2025-01-01")
    for number in range(30):
        mem.remember(f"The weather report of day {number} is in the blue folder.", at="2025-02-01")
    conv = mem.conversations.start()
    conv.user("We will paint the gate green in April.")
    conv.assistant("Noted, green in April.")
    questions = [
        WHO,
        Question(text="What happened to the pump?", notes=("pump",)),
        Question(text="Which colour will the gate get?", evidence=("green", "in april")),
        Question(text="Who repaired the boat?", answers=("Ben", "Ana")),
    ]
    found = by_prompt(evaluate(mem, questions, budgets=(60, 400, 60)))
    assert list(found) == [("no memory", 0), ("context", 60), ("newest", 60), ("context", 400), ("newest", 400)]
    assert found["no memory", 0].missed == tuple(one.text for one in questions)
    assert found["context", 400].held.mean == 0.75
    assert found["context", 400].missed == ("Who repaired the boat?",)
    assert found["newest", 60].held.mean == 0.25, "only the newest turns fit"
    assert found["newest", 60].tokens <= 60 < found["newest", 400].tokens
    assert found["context", 400].held.low < 0.75 < found["context", 400].held.high <= 1.0
    assert all(one.f1 is None and one.exact is None for one in found.values())


def test_an_evaluation_changes_nothing_and_uses_nothing(home: Home, clock: FixedClock) -> None:
    mem = home.agent("ana")
    entry = mem.remember("The pump was repaired by Nora on Monday.", lifetime="short_term")
    before = mem.get(entry.id), mem.last_change()
    clock.advance(60 * DAY)
    assert evaluate(mem, [WHO], budgets=(500,))[1].held.mean == 1.0
    assert not mem.accesses(entry.id).recalls
    assert (mem.get(entry.id), mem.last_change()) == before
    clock.advance(60 * DAY)
    assert home.jobs.run("consolidate").figures["pruned"] == 1, "its age counts from when it was written"


def test_an_evaluation_reads_the_memory_of_its_agent_only(home: Home) -> None:
    home.agent("ana").remember("The pump was repaired by Nora on Monday.")
    home.agent("ana").conversations.start().user("Nora repaired the pump.")
    scores = evaluate(home.agent("bob"), [WHO], budgets=(500,))
    assert [one.held.mean for one in scores] == [0.0, 0.0, 0.0]
    assert all(not one.tokens for one in scores)


def test_a_language_model_answers_from_every_prompt(location: str) -> None:
    model = Parrot()
    with recollect.open(location, model=model) as home:
        mem = home.agent("ana")
        mem.remember("The pump was repaired by Nora on Monday.", name="pump")
        for number in range(9):
            mem.remember(f"The weather report of day {number} is in the blue folder.")
        questions = [WHO, Question(text="What happened to the pump?", notes=("pump",))]
        progress: list[tuple[str, int, int]] = []
        found = by_prompt(
            evaluate(mem, questions, budgets=(40,), answers=True, progress=lambda *one: progress.append(one))
        )
    assert len(model.asked) == 3, "once for each prompt; the other question has no answer to compare with"
    assert model.asked[0] == "Question: Who repaired the pump?"
    assert [(f1.mean, exact.mean) for one in found.values() if (f1 := one.f1) and (exact := one.exact)] == [
        (0.0, 0.0),
        (1.0, 1.0),
        (0.0, 0.0),
    ]
    assert progress[-1] == ("newest, 40 tokens", 2, 2)


def test_what_cannot_be_evaluated_is_refused(location: str) -> None:
    with recollect.open(location, model=Parrot(broken=True)) as home:
        mem = home.agent("ana")
        with pytest.raises(Invalid, match="no questions"):
            evaluate(mem, [], budgets=(500,))
        with pytest.raises(NotFound, match="'Where\\?' expects is missing"):
            evaluate(mem, [Question(text="Where?", notes=("gone",))], budgets=(500,))
        with pytest.raises(Invalid, match="no question has an expected answer"):
            evaluate(mem, [Question(text="Where?", evidence=("here",))], budgets=(500,), answers=True)
        with pytest.raises(Unavailable, match="sleeps"):
            evaluate(mem, [WHO], budgets=(500,), answers=True)


def test_a_question_is_read_with_single_texts_lists_and_numbers() -> None:
    row = {"question": "How many?", "answer": 3, "evidence": ["three pumps", 2.5], "notes": "pump"}
    assert read_question(row) == Question(
        text="How many?", answers=("3",), evidence=("three pumps", "2.5"), notes=("pump",)
    )
