"""Knowing what is not known: the confidence of a recall and of a search in conversations, on every database."""

from pathlib import Path

import pytest

import recollect
from recollect import Home, Invalid, Memory

FACTS = (
    "We deploy on Tuesdays",
    "The staging database listens on port 5433",
    "Olaf is allergic to walnuts",
    "The invoices are sent by Priya on the first of the month",
)
TALK = (
    ("Ana", "I adopted a puppy from the shelter last week"),
    ("Rui", "Congratulations! I spent the weekend repairing my bicycle"),
    ("Ana", "The puppy sleeps in a basket near the stove"),
    ("Rui", "My marathon is in October, I train every morning"),
)
KNOWN, UNKNOWN = "which port does the staging database listen on", "who painted the ceiling of the chapel"


def best(hits: list[recollect.Hit]) -> float:
    return max((hit.confidence for hit in hits), default=0.0)


def filled(mem: Memory) -> Memory:
    conversation = mem.conversations.start()
    conversation.append(
        [recollect.Event(type="UserMsg", speaker=speaker, content=content) for speaker, content in TALK]
    )
    return mem


def asked(mem: Memory, query: str) -> float:
    return max((turn.confidence for turn in mem.conversations.search(query)), default=0.0)


def test_a_recall_is_more_confident_of_an_answer_than_of_something_unrelated(mem: Memory) -> None:
    mem.remember_many(recollect.Add(fact) for fact in FACTS)
    known, partly = best(mem.recall(KNOWN)), best(mem.recall("which port does the printer in the basement listen on"))
    assert 0 <= best(mem.recall(UNKNOWN)) <= partly < known <= 1


def test_all_hits_of_a_recall_have_its_confidence(mem: Memory) -> None:
    mem.remember_many(recollect.Add(fact) for fact in FACTS)
    assert len({hit.confidence for hit in mem.recall("database deploy invoices")}) == 1
    for limit in (1, 3):
        assert best(mem.recall(KNOWN, limit=limit)) == best(mem.recall(KNOWN))


def test_a_recall_below_the_least_confidence_gives_nothing(mem: Memory) -> None:
    mem.remember_many(recollect.Add(fact) for fact in FACTS)
    query = "which port does the printer in the basement listen on"
    confidence = best(mem.recall(query))
    assert mem.recall(query, min_confidence=confidence) == mem.recall(query) != []
    assert mem.recall(query, min_confidence=confidence + 0.01) == []
    assert mem.recall(KNOWN, min_confidence=confidence + 0.01)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, "high", True, float("nan")])
def test_the_least_confidence_must_lie_between_zero_and_one(mem: Memory, wrong: float) -> None:
    with pytest.raises(Invalid, match="from 0 to 1"):
        mem.recall(KNOWN, min_confidence=wrong)
    with pytest.raises(Invalid, match="from 0 to 1"):
        mem.conversations.search(KNOWN, min_confidence=wrong)


@pytest.mark.directory
def test_what_the_caller_may_not_read_gives_no_confidence(home: Home, location: str) -> None:
    home.agent("ben").remember_many(recollect.Add(fact) for fact in FACTS)
    filled(home.agent("ben"))
    if not location.endswith(".db"):  # a file holds one workspace
        filled(home.agent("ana", "other")).remember_many(recollect.Add(fact) for fact in FACTS)
    mem = home.agent("ana")
    mem.remember("The port is closed in winter")
    alone = best(mem.recall(KNOWN))
    assert alone < best(home.agent("ben").recall(KNOWN))
    assert asked(mem, "where does the puppy sleep") == 0.0


def test_every_database_gives_the_same_confidence(mem: Memory, tmp_path: Path) -> None:
    queries = [KNOWN, UNKNOWN, "when do we deploy", "does Ana have a puppy", "does Rui have a puppy", "marathon"]
    mem.remember_many(recollect.Add(fact) for fact in FACTS)
    filled(mem)
    with recollect.open(tmp_path / "reference.db") as home:
        other = filled(home.agent("ana"))
        other.remember_many(recollect.Add(fact) for fact in FACTS)
        for query in queries:
            assert best(mem.recall(query)) == pytest.approx(best(other.recall(query)))
            assert asked(mem, query) == pytest.approx(asked(other, query))


def test_a_search_in_conversations_doubts_a_question_about_the_wrong_person(mem: Memory) -> None:
    filled(mem)
    right, wrong = asked(mem, "where does Ana's puppy sleep"), asked(mem, "where does Rui's puppy sleep")
    assert 0 <= wrong < 0.5 < right <= 1
    assert asked(mem, "where do the elephants of the circus drink") < 0.5
    assert asked(mem, "puppy basket stove") > asked(mem, "puppy submarine periscope")


def test_a_search_in_conversations_below_the_least_confidence_gives_nothing(mem: Memory) -> None:
    filled(mem)
    assert mem.conversations.search("where does Rui's puppy sleep")
    assert mem.conversations.search("where does Rui's puppy sleep", min_confidence=0.5) == []
    assert mem.conversations.search("where does Ana's puppy sleep", min_confidence=0.5)


def test_a_context_says_when_nothing_stored_answers_the_command(mem: Memory) -> None:
    for fact in FACTS:
        mem.remember(fact, category="decisions")
    mem.remember("[ ] order chairs", category="tasks")
    line = "Nothing stored seems to answer this command.\n"
    for command, answered in ((KNOWN, True), (UNKNOWN, False), ("", True)):
        context = mem.context(command)
        assert (context.answered, context.text.count(line)) == (answered, 0 if answered else 1)
        assert context.tokens <= recollect.Profile().budget
    assert mem.orient(UNKNOWN).markdown.count(line) == 1
    assert line not in mem.orient(KNOWN).markdown


def test_a_context_of_an_empty_memory_stays_empty(mem: Memory) -> None:
    assert (mem.context(UNKNOWN).text, mem.orient(UNKNOWN).markdown) == ("", "")
