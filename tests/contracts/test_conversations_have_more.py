"""A recall that finds no answer says whether a conversation has one, and never whether another one's has."""

from pathlib import Path

import recollect
from recollect import Home, Memory
from recollect.memory import conversations_have_more

ASKED = "who is the lighthouse keeper?"
ANSWER = "The lighthouse keeper is called Tomas."


def more(mem: Memory, query: str = ASKED, *filters: object, conversation: str | None = None) -> bool:
    return conversations_have_more(mem, query, mem.recall(query), *filters, conversation=conversation)


def test_an_active_conversation_that_answers_is_announced_if_the_notes_do_not(mem: Memory) -> None:
    mem.remember("The bakery opens at seven")
    assert not more(mem)
    mem.conversations.start().user(ANSWER)
    assert more(mem)
    assert not more(mem, "when does the bakery open?")
    assert not more(mem, ASKED, ["decisions"])  # a filter asks for certain entries


def test_a_conversation_that_only_asked_the_same_is_not_announced(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.user(ASKED)
    assert not more(mem)
    talk.assistant(ANSWER)
    assert more(mem)


def test_if_nothing_at_all_is_found_a_conversation_that_may_answer_is_announced(mem: Memory) -> None:
    mem.conversations.start().user("My sister Rita turns 40 on 12 September.")
    vague = "when is the birthday of my sister?"
    assert more(mem, vague)
    assert not more(mem, "who paints the gate?")
    mem.remember("The birthday of the harbour is a holiday")
    assert not more(mem, vague), "a note was found, and the conversation is too uncertain"


def test_the_conversation_of_the_caller_is_not_announced(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.user(ANSWER)
    assert not more(mem, conversation=talk.id)
    assert not more(mem, conversation=talk.ref_code)


def test_an_ended_conversation_whose_text_was_found_is_not_announced(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.user(ANSWER)
    talk.end()
    assert "Tomas" in mem.recall(ASKED)[0].entry.content
    assert not more(mem)


def test_notes_that_answer_make_it_silent(mem: Memory) -> None:
    mem.conversations.start().user(ANSWER)
    mem.remember("Tomas is the lighthouse keeper")
    assert not more(mem)


def test_a_conversation_of_another_agent_is_never_announced(home: Home) -> None:
    home.agent("ben").conversations.start(participants=["ana"]).user(ANSWER)
    ended = home.agent("ben").conversations.start()
    ended.user(ANSWER)
    ended.end()
    home.agent("_shared").conversations.start().user(ANSWER)
    assert not more(home.agent("ana"))
    assert more(home.agent("_shared"))


def test_a_conversation_of_another_workspace_is_never_announced(tmp_path: Path, postgres_url: str) -> None:
    for location in (str(tmp_path / "home"), postgres_url):
        with recollect.open(location) as home:
            home.agent("ana", "elsewhere").conversations.start().user(ANSWER)
            assert not more(home.agent("ana"))
            assert more(home.agent("ana", "elsewhere"))
