"""Years of a person's own chats, imported: what that person asks later is answered by the first page."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_chats import QUESTIONS, export

from recollect.answer_scores import contains
from recollect.evaluation import Question, evaluate
from recollect.home import Home
from recollect.memory import Memory, conversations_have_more

PAGE = 10


@pytest.fixture
def own(home: Home, tmp_path: Path) -> Memory:
    done = home.import_(export(tmp_path), agent="ana")
    assert dict(done.parts[0].added) == {"messages": 243, "conversations": 39}
    return home.agent("ana")


def test_ten_questions_about_ones_own_imported_chats_are_answered_by_the_first_page(own: Memory) -> None:
    unanswered = []
    for question, answer in QUESTIONS:
        page = own.conversations.search(question, limit=PAGE)
        if not any(contains(turn.event.content, answer) for turn in page):
            unanswered.append(question)
    assert not unanswered


def test_a_recall_of_them_points_to_the_conversations(own: Memory) -> None:
    silent = [one for one, _ in QUESTIONS if not conversations_have_more(own, one, own.recall(one))]
    assert not silent


def test_a_context_of_2000_tokens_holds_the_answers_and_the_newest_turns_do_not(own: Memory) -> None:
    asked = [Question(text=question, answers=(answer,)) for question, answer in QUESTIONS]
    held = {one.prompt: one for one in evaluate(own, asked, budgets=(2_000,))}
    assert held["context"].held.mean >= 0.9, held["context"].missed
    assert held["newest"].held.mean <= 0.3
