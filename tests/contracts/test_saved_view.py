"""What loads is what was saved last; the journal keeps everything that was ever saved."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recollect
from recollect import FixedClock
from recollect.conversation import Conversation
from recollect.engine import saved_view
from recollect.home import Home
from recollect.memory import Memory

Said = list[tuple[str, str]]


def messages(said: Said) -> list[dict[str, str]]:
    return [{"role": role, "text": text} for role, text in said]


def loaded(conv: Conversation) -> Said:
    return [("user" if event.role == "user" else "agent", event.content) for event in conv.load().events]


def journal(conv: Conversation) -> list[str]:
    return [event.content for event in conv.events()]


def trim(mem: Memory, conv: Conversation, keep: int) -> int:
    with mem._workspace.write() as work:
        return saved_view.trim(work.tx, conv.id, keep)


A, B, C, D = ("user", "a?"), ("agent", "b"), ("user", "c?"), ("agent", "d")


def test_a_longer_version_of_the_last_message_takes_its_place(mem: Memory) -> None:
    conv = mem.conversations.start()
    for text in ("We", "We deploy", "We deploy on Fridays."):
        conv.save(messages([A, ("agent", text)]))
    assert loaded(conv) == [A, ("agent", "We deploy on Fridays.")]
    assert journal(conv) == ["a?", "We", "We deploy", "We deploy on Fridays."]


def test_a_regenerated_answer_replaces_the_old_one_and_the_conversation_continues(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.save(messages([A, B]))
    conv.save(messages([A, ("agent", "b2")]))
    conv.save(messages([A, ("agent", "b2"), C]))
    assert loaded(conv) == [A, ("agent", "b2"), C]
    conv.save(messages([A, B]))
    assert loaded(conv) == [A, B]
    assert journal(conv) == ["a?", "b", "b2", "c?"]


def test_an_empty_list_clears_what_is_loaded_and_nothing_in_the_journal(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.save(messages([A, B]))
    conv.save([])
    assert loaded(conv) == []
    assert journal(conv) == ["a?", "b"]
    conv.end()
    assert mem.list(category="handoffs") == []


def test_the_end_of_a_conversation_tells_what_was_saved_last(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.save(messages([A, ("agent", "We decided to use WebSockets for the feed.")]))
    conv.save(messages([A, ("agent", "We decided to use SSE for the feed.")]))
    ended = conv.end()
    assert [entry.content for entry in ended.decisions] == ["We decided to use SSE for the feed."]
    assert ended.handoff is not None
    assert "WebSockets" not in ended.handoff.content
    assert "WebSockets" not in ended.summary


def test_a_recovery_gives_back_what_was_saved_last(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.save(messages([A, B]))
    conv.save(messages([A, D]))
    conv.checkpoint()
    found = mem.recover()
    assert found is not None
    assert [event.content for event in found.events] == ["a?", "d"]


def test_what_is_appended_after_a_save_belongs_to_the_talk(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("x?")
    assert loaded(conv) == [("user", "x?")]
    conv.save(messages([A]))
    conv.assistant("b")
    assert loaded(conv) == [A, B]


def test_a_trimmed_conversation_loads_its_end_and_continues_from_the_whole_or_from_the_end(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.save(messages([A, B, C, D]))
    assert trim(mem, conv, 2) == 2
    assert trim(mem, conv, 2) == 0
    assert loaded(conv) == [C, D]
    conv.save(messages([C, D, ("user", "e?")]))
    assert loaded(conv) == [C, D, ("user", "e?")]
    conv.save(messages([A, B, C, D, ("user", "e?"), ("agent", "f")]))
    assert loaded(conv) == [A, B, C, D, ("user", "e?"), ("agent", "f")]
    assert journal(conv) == ["a?", "b", "c?", "d", "e?", "f"]


def test_the_end_of_a_trimmed_conversation_still_has_all_of_it(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.save(messages([("user", "the harbour question?"), B, C, D]))
    trim(mem, conv, 2)
    conv.save(messages([C, D, ("user", "e?")]))
    conv.end()
    assert any("harbour" in entry.content for entry in mem.list(kind="chunk"))


def test_the_conversation_that_was_saved_last_is_known(mem: Memory, clock: FixedClock) -> None:
    assert mem.conversations.last_saved() is None
    first, second = mem.conversations.start(), mem.conversations.start()
    clock.advance(1)
    first.save(messages([A]))
    last = mem.conversations.last_saved()
    assert last is not None
    assert last.id == first.id
    clock.advance(1)
    second.save(messages([A]))
    last = mem.conversations.last_saved()
    assert last is not None
    assert last.id == second.id


def test_what_was_saved_travels_to_another_home(home: Home, tmp_path: Path, clock: FixedClock) -> None:
    conv = home.agent("ana").conversations.start()
    conv.save(messages([A, B]))
    conv.save(messages([A, D]))
    home.export(tmp_path / "all.jsonl")
    for number, there in enumerate((False, True)):
        with recollect.open(tmp_path / f"other{number}.db", clock=clock) as other:
            if there:  # then the numbers of the events change
                other.agent("ana").conversations.start().user("something else")
            other.import_(tmp_path / "all.jsonl")
            assert loaded(other.agent("ana").conversations.get(conv.id)) == [A, D]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from([A, B, C, D]), max_size=6), max_size=6), st.integers(0, 3))
def test_what_loads_is_what_was_saved_last_and_the_journal_has_all_of_it(
    home: Home, saves: list[Said], keep: int
) -> None:
    mem = home.agent("ana")
    conv = mem.conversations.start()
    for said in saves:
        conv.save(messages(said))
        assert loaded(conv) == said
        before = journal(conv)
        conv.save(messages(said))
        assert (loaded(conv), journal(conv)) == (said, before)
        trim(mem, conv, keep)
        assert loaded(conv) == (said[-keep:] if keep else [])
    assert {text for said in saves for _, text in said} == set(journal(conv))
