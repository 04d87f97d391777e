"""The items of a framework's session: what is left after removals and replacements, also by several writers."""

import json

import pytest

from recollect import Memory
from recollect.adapters.session_items import NotJson
from recollect.adapters.session_log import SessionLog


def items(*names: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": name} for name in names]


def left(log: SessionLog) -> str:
    return " ".join(item["content"] for item in log.items())


@pytest.fixture
def log(mem: Memory) -> SessionLog:
    made = SessionLog(mem, "s")
    made.add(items("a", "b", "c", "d"))
    return made


def test_the_end_of_a_session_is_replaced_by_other_items(log: SessionLog) -> None:
    end = log.end(3)
    assert ([item["content"] for item in end.items], end.complete) == (["b", "c", "d"], False)
    assert log.replace_end(end, 1, items("x", "y"))
    assert left(log) == "a b x y"
    assert log.items(3) == items("b", "x", "y")
    assert log.end(4).complete


def test_a_session_continues_after_a_replacement(log: SessionLog) -> None:
    assert log.replace_end(log.end(2), 0, items("x"))
    log.add(items("e"))
    assert left(log) == "a b x e"
    assert [log.pop(), log.pop(), log.pop()] == items("e", "x", "b")
    assert left(log) == "a"
    assert log.replace_end(log.end(9), 0, [])
    assert log.is_empty()
    log.add(items("f"))
    assert left(log) == "f"


def test_items_that_were_removed_before_do_not_come_back(log: SessionLog) -> None:
    assert log.pop() == items("d")[0]
    log.add(items("e"))
    assert log.replace_end(log.end(2), 0, items("x"))
    assert left(log) == "a b x"
    assert log.replace_end(log.end(2), 0, items("y", "z"))
    assert left(log) == "a y z"


def test_a_replacement_that_comes_too_late_changes_nothing(mem: Memory, log: SessionLog) -> None:
    other, end = SessionLog(mem, "s"), log.end(2)
    other.add(items("e"))
    assert not log.replace_end(end, 0, items("x"))
    assert left(log) == "a b c d e"
    end = log.end(2)
    assert other.pop() == items("e")[0]
    assert not log.replace_end(end, 0, items("x"))
    assert left(log) == "a b c d"
    first, second = log.end(2), other.end(2)
    assert other.replace_end(second, 0, items("y"))
    assert not log.replace_end(first, 0, items("x"))
    assert left(log) == "a b y"
    other.clear()
    assert left(log) == ""


def test_expired_items_go_from_the_beginning_as_long_as_they_follow_each_other(log: SessionLog) -> None:
    assert log.replace_end(log.end(1), 0, items("x"), expired=lambda item: item["content"] in ("a", "c"))
    assert left(log) == "b c x"


def test_nothing_is_replaced_by_something_that_is_not_json(log: SessionLog) -> None:
    with pytest.raises(NotJson):
        log.replace_end(log.end(2), 0, [{"content": object()}])
    assert left(log) == "a b c d"
    assert not log.replace_end(log.end(2), 2, items("x"))
    assert log.end(0).items == []


def test_a_replacement_reaches_back_into_an_ended_conversation(mem: Memory, log: SessionLog) -> None:
    mem.conversations.get(mem.conversations.list()[0].id).end()
    log.add(items("e"))
    assert log.replace_end(log.end(3), 0, items("x"))
    assert left(log) == "a b x"


def test_the_session_of_another_agent_is_another_one(home, log: SessionLog) -> None:
    other = SessionLog(home.agent("ben"), "s")
    end = other.end(5)
    assert (end.items, end.complete) == ([], True)
    assert not other.replace_end(end, 0, items("x"))
    other.reset(items("z"), lambda item: item)
    assert left(log) == "a b c d"
    log.reset(items("n"), lambda item: item)
    assert (left(log), left(other)) == ("n", "z")


def test_items_go_to_a_new_conversation_while_the_old_one_is_ending(mem: Memory, log: SessionLog) -> None:
    store = mem.conversations._services.store
    with store.database.write(store.agent) as tx:
        tx.run("history.ending_set", id=mem.conversations.list()[0].id, ending='["handoff"]')
    log.add(items("e"))
    assert left(log) == "a b c d e"
    assert len(mem.conversations.list()) == 2


@pytest.mark.parametrize("limit", [1, 3, 1_007])
def test_the_last_items_are_read_over_several_pages_and_conversations(mem: Memory, limit: int) -> None:
    log, names = SessionLog(mem, "long"), [str(number) for number in range(1_010)]
    log.add(items(*names[:5]))
    next(log.conversations()).end()
    log.add(items(*names[5:]))
    assert log.items(limit) == items(*names[-limit:])
    assert log.items() == items(*names)


def test_messages_of_other_programs_and_erased_items_are_read_as_well(mem: Memory, log: SessionLog) -> None:
    conversation = next(log.conversations())
    conversation.assistant("from elsewhere", speaker="Ben")
    conversation.erase(2)
    assert log.items()[-1] == {"role": "assistant", "content": "from elsewhere"}
    assert left(log) == "a c d from elsewhere"
    assert log.pop() == {"role": "assistant", "content": "from elsewhere"}
    assert left(log) == "a c d"


def test_payloads_are_the_stored_json_of_all_items_unless_one_was_removed_or_stored_by_others(
    log: SessionLog, mem: Memory
) -> None:
    log.add([{"type": "tool_result", "output": "8080"}, {"type": "reasoning"}])
    stored = [json.loads(payload)["item"] for payload in log.payloads() or []]
    assert stored == log.items()
    assert len(stored) == 6
    mem.conversations.start(chat_id="s", resume=True).user("Which port?")
    assert log.payloads() is None
    other = SessionLog(mem, "other")
    other.add(items("a", "b"))
    assert len(other.payloads() or []) == 2
    other.pop()
    assert other.payloads() is None
