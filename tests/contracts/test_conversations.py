"""Channels, conversations and the journal: what was said is there, in order, once, and provably as it was said."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from crash.evidence import raw, rows, tables
from dialogue import call, said, talk, use_tool

import recollect
from recollect import Conflict, Corrupt, Denied, FixedClock, Home, Invalid, Memory, NotFound, RecollectError
from recollect.engine import resent_messages
from recollect.model.history import Event, EventType, Lane, Status
from recollect.storage import history


def messages(*texts: str) -> list[dict[str, Any]]:
    """OpenAI messages: user and assistant in turn."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


# Channels


@pytest.mark.unprepared
def test_there_is_a_default_channel_before_anything_was_written(home: Home, location: str) -> None:
    channels = home.agent("ana").channels
    assert [(one.name, one.is_default, one.workspace) for one in channels.list()] == [("general", True, "default")]
    assert channels.default.id == "general"
    assert tables(location) == {}


def test_channels_belong_to_the_workspace_and_hold_conversations(home: Home, mem: Memory, clock: FixedClock) -> None:
    made = mem.channels.create("harbour", "Ships and tides")
    assert (made.id, made.description, made.is_default, made.created_at) == (
        "harbour",
        "Ships and tides",
        False,
        clock.now(),
    )
    assert [one.id for one in home.agent("ben").channels.list()] == ["general", "harbour"]
    conv = mem.conversations.start(channel="harbour")
    assert conv.info.channel_id == "harbour"
    assert mem.conversations.start().info.channel_id == "general"
    assert [one.id for one in mem.conversations.list(channel="harbour")] == [conv.id]


def test_a_channel_that_cannot_be_made_changes_nothing(mem: Memory, location: str) -> None:
    mem.channels.create("harbour")
    before = tables(location)
    wrong: list[tuple[Any, type[RecollectError]]] = [
        ("harbour", Conflict),
        ("general", Conflict),
        ("", Invalid),
        (7, Invalid),
    ]
    for name, error in wrong:
        with pytest.raises(error):
            mem.channels.create(name)
    assert tables(location) == before


def test_a_conversation_needs_a_channel_that_exists(mem: Memory) -> None:
    with pytest.raises(NotFound, match="no channel 'nowhere'"):
        mem.conversations.start(channel="nowhere")
    assert mem.conversations.list() == []


# The life of a conversation


def test_a_conversation_is_found_by_its_id_and_its_ref_code(mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start(chat_id="chat-9", model_id="gpt", participants=["ben", "ben", "cai"])
    assert len(conv.ref_code) == 11
    assert conv.ref_code.isascii()
    assert conv.ref_code.isalnum()
    for key in (conv.id, conv.ref_code):
        assert mem.conversations.get(key).info == conv.info
    info = conv.info
    assert (info.chat_id, info.model_id, info.participants, info.started_at) == (
        "chat-9",
        "gpt",
        ("ben", "cai"),
        clock.now(),
    )
    assert (info.status, info.ended_at) == (Status.ACTIVE, None)


def test_lists_are_newest_first_and_leave_archived_ones_out(mem: Memory, clock: FixedClock) -> None:
    made = []
    for number in range(4):
        clock.advance(1_000)
        made.append(mem.conversations.start(chat_id=f"chat-{number % 2}"))
    made[0].archive()
    made[1].idle()
    ids = [conv.id for conv in made]
    assert [one.id for one in mem.conversations.list()] == [ids[3], ids[2], ids[1]]
    assert [one.id for one in mem.conversations.list(True)] == [ids[3], ids[2], ids[1], ids[0]]
    assert [one.id for one in mem.conversations.list(chat_id="chat-1")] == [ids[3], ids[1]]
    assert [one.id for one in mem.conversations.list(limit=1)] == [ids[3]]
    assert mem.conversations.list(limit=0) == []


def test_lists_come_in_pages_and_each_conversation_once(mem: Memory, clock: FixedClock) -> None:
    made = []
    for number in range(7):
        clock.advance(number % 2)  # some began at the same moment
        made.append(mem.conversations.start(chat_id=f"chat-{number % 2}").id)
    for by_text in (False, True):
        found: list[str] = []
        page = mem.conversations.list(limit=3)
        while page:
            found += [one.id for one in page]
            page = mem.conversations.list(limit=3, before=page[-1].cursor if by_text else page[-1])
        assert found == made[::-1]
    second = mem.conversations.list(chat_id="chat-0", limit=2)[-1]
    assert [one.id for one in mem.conversations.list(chat_id="chat-0", before=second)] == [made[2], made[0]]
    for wrong in ("nowhere", "", "12-", "x-" + made[0], 7):
        with pytest.raises(Invalid, match="not a valid cursor"):
            mem.conversations.list(before=wrong)  # type: ignore[arg-type]


def test_a_chat_continues_in_its_conversation_until_that_ends(mem: Memory, clock: FixedClock) -> None:
    first = mem.conversations.start(chat_id="chat-1", resume=True)
    other = mem.conversations.start(chat_id="chat-2", resume=True)
    first.user("hello")
    other.user("hello")
    clock.advance(3 * 86_400_000)  # however long it was silent
    assert mem.conversations.start(chat_id="chat-1", model_id="m-1", resume=True).id == first.id
    assert mem.conversations.start(chat_id="chat-1").id != first.id
    assert other.status is Status.IDLE  # that start ended what fell silent
    for step in ("idle", "archive", "end"):
        going_on = mem.conversations.start(chat_id=f"chat-{step}", resume=True)
        going_on.user("hello")
        getattr(going_on, step)()
        again = mem.conversations.start(chat_id=f"chat-{step}", resume=True)
        assert (again.id != going_on.id, again.status) == (True, Status.ACTIVE)
    with pytest.raises(Invalid, match="chat_id"):
        mem.conversations.start(resume=True)


def test_homes_that_go_on_with_the_same_chat_at_once_share_one_conversation(location: str) -> None:
    barrier, got, failed = threading.Barrier(4), list[str](), list[BaseException]()

    def ask() -> None:
        try:
            with recollect.open(location) as home:
                for number in range(5):
                    barrier.wait()
                    got.append(home.agent("ana").conversations.start(chat_id=f"chat-{number}", resume=True).id)
        except BaseException as error:
            failed.append(error)
            barrier.abort()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(got) == 20
    with recollect.open(location) as home:
        assert {one.id for one in home.agent("ana").conversations.list()} == set(got)
        assert len(set(got)) == 5


def test_an_illegal_transition_is_a_conflict_and_changes_nothing(mem: Memory, location: str, clock: FixedClock) -> None:
    refused = [
        (["idle"], ["idle", "end"]),
        (["archive"], ["idle", "archive", "end"]),
        (["idle", "archive"], ["idle", "archive", "end"]),
        (["end"], ["idle", "end"]),
    ]
    for steps, wrong in refused:
        conv = mem.conversations.start()
        conv.user("hello")
        for step in steps:
            getattr(conv, step)()
        before = tables(location)
        clock.advance(5_000)
        for step in wrong:
            with pytest.raises(Conflict):
                getattr(conv, step)()
        assert tables(location) == before, steps


def test_the_end_is_when_it_first_ended(mem: Memory, clock: FixedClock) -> None:
    conv, forced = mem.conversations.start(), mem.conversations.start()
    clock.advance(1_000)
    ended = clock.now()
    conv.idle()
    forced.archive()
    clock.advance(1_000)
    conv.archive()
    assert (conv.info.ended_at, forced.info.ended_at) == (ended, ended)
    assert (conv.status, forced.status) == (Status.ARCHIVED, Status.ARCHIVED)


def test_nothing_is_added_to_a_conversation_that_has_ended(mem: Memory) -> None:
    for step in ("idle", "archive", "end"):
        conv = mem.conversations.start()
        conv.user("hello")
        getattr(conv, step)()
        with pytest.raises(Conflict):
            conv.user("more")
        with pytest.raises(Conflict):
            conv.extend(messages("hello", "more"))
        with pytest.raises(Conflict):
            conv.append([Event(type=EventType.USER, content="more")])
        assert said(list(conv.events())) == ["hello"]


def test_a_conversation_that_cannot_be_started_changes_nothing(mem: Memory) -> None:
    wrong: list[dict[str, Any]] = [
        {"participants": "ben"},
        {"participants": 7},
        {"participants": ["../x"]},
        {"chat_id": ""},
        {"chat_id": 9},
        {"model_id": "a\nb"},
        {"channel": "\ud800"},
    ]
    for arguments in wrong:
        with pytest.raises(Invalid):
            mem.conversations.start(**arguments)
    assert mem.conversations.list() == []


def test_an_unknown_conversation_is_not_found(mem: Memory) -> None:
    for key in ("nobody", "00000000-0000-7000-8000-000000000000", "aZ09bY18cX2"):
        for read in (mem.conversations.get, mem.conversations.detail, mem.conversations.scratchpad):
            with pytest.raises(NotFound):
                read(key)


# The journal


def test_events_of_all_types_come_back_as_they_were_appended(mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    first = conv.user("Which pier?", speaker="Marta", at="2025-12-01T08:00:00Z")
    conv.assistant("I look.", tool_calls=[call("c1", "piers", free=True), {"id": "c2", "name": "tides"}])
    conv.tool('{"pier": 7}', "c1")
    conv.tool("", "c2")
    conv.instruct("Be short.")
    conv.job("Count the ships.")
    conv.assistant("counted", lane="core", speaker="Counter", internal=True)
    conv.append(Event(type=EventType.USER, content="more", payload={"mood": ["glad", None]}))
    events = list(conv.events())
    assert [(one.type.value, one.lane.value, one.content) for one in events] == [
        ("UserMsg", "edge", "Which pier?"),
        ("ModelOutput", "edge", "I look."),
        ("ToolResultCommitted", "edge", '{"pier": 7}'),
        ("ToolResultCommitted", "edge", ""),
        ("InjectedInstruction", "edge", "Be short."),
        ("CoreJobStart", "core", "Count the ships."),
        ("ModelOutput", "core", "counted"),
        ("UserMsg", "edge", "more"),
    ]
    assert events[0] == first
    assert (first.speaker, first.created_at, first.conversation_id) == ("Marta", 1_764_576_000_000, conv.id)
    assert [one["function"]["name"] for one in events[1].tool_calls] == ["piers", "tides"]
    assert events[1].tool_calls[0]["function"]["arguments"] == '{"free": true}'
    assert [one.tool_call_id for one in events[2:4]] == ["c1", "c2"]
    assert (events[6].internal, events[6].speaker, events[7].payload) == (True, "Counter", {"mood": ["glad", None]})
    assert events[1].created_at == clock.now()
    assert [one.seq for one in events] == list(range(1, 9))
    assert [one.previous for one in events] == ["", *(one.hash for one in events[:-1])]


def test_the_journal_is_read_from_an_event_on_and_in_pages(mem: Memory) -> None:
    conv, other = mem.conversations.start(), mem.conversations.start()
    for number in range(3):
        conv.append([Event(type=EventType.USER, content=f"{number}-{place}") for place in range(700)])
        other.user("in between")
    every = list(conv.events())
    assert said([one for one in every if one.type is EventType.USER]) == [
        f"{number}-{place}" for number in range(3) for place in range(700)
    ]
    assert list(conv.events(every[1_000])) == every[1_001:]
    assert list(conv.events(every[1_000].seq, limit=5)) == every[1_001:1_006]
    assert list(conv.events(limit=1_500)) == every[:1_500]
    assert list(conv.events(limit=0)) == []
    back = every[::-1]
    assert list(conv.events(before=2**63)) == back
    assert list(conv.events(before=back[1_000])) == back[1_001:]
    assert list(conv.events(before=back[1_000].seq, limit=5)) == back[1_001:1_006]
    assert list(conv.events(before=2**63, limit=1_500)) == back[:1_500]
    assert list(conv.events(before=0)) == []
    with pytest.raises(Invalid, match="not both"):
        conv.events(every[0], before=every[9])
    with pytest.raises(Invalid):
        conv.events(before=-1)


def test_many_events_are_appended_together_or_not_at_all(mem: Memory, location: str) -> None:
    conv = mem.conversations.start()
    conv.user("hello")
    before = tables(location)
    for bad in (
        Event(type=EventType.USER, content=""),
        Event(type=EventType.TOOL, content="x", tool_call_id="never asked"),
        Event(type=EventType.MARKER, content="x"),
    ):
        with pytest.raises(RecollectError):
            conv.append([Event(type=EventType.USER, content="fine"), bad])
    assert conv.append([]) == []
    assert rows(location, "events", "ana") == [
        row for name, found in before.items() if name.endswith(".events") for row in found if row[0] == "ana"
    ]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (Event(type=EventType.USER, content="a\0b"), "NUL"),
        (Event(type=EventType.USER, content="a\ud800b"), "surrogate"),
        (Event(type=EventType.USER, content=7), "must be text"),  # type: ignore[arg-type]
        (Event(type=EventType.USER, content="  \n"), "empty"),
        (Event(type="Shout", content="x"), "type of event"),  # type: ignore[arg-type]
        (Event(type=EventType.USER, content="x", lane="left"), "lane"),  # type: ignore[arg-type]
        (Event(type=EventType.MARKER, content="x"), "marker"),
        (Event(type=EventType.JOB, content="x"), "core"),
        (Event(type=EventType.USER, content="x", tool_calls=[call("c1")]), "only the output of a model"),
        (Event(type=EventType.USER, content="x", tool_call_id="c1"), "tool_call_id"),
        (Event(type=EventType.TOOL, content="x"), "tool_call_id"),
        (Event(type=EventType.MODEL, content="x", tool_calls=[call("c1"), call("c1")]), "same id"),
        (Event(type=EventType.MODEL, content="x", tool_calls=[{"id": "c1"}]), "name of a tool"),
        (Event(type=EventType.MODEL, content="x", tool_calls=["c1"]), "tool call must be a mapping"),  # type: ignore[list-item]
        (Event(type=EventType.MODEL, content="x", tool_calls="c1"), "must be a list"),  # type: ignore[arg-type]
        (Event(type=EventType.USER, content="x", payload={"speaker": "me"}), "speaker"),
        (Event(type=EventType.USER, content="x", payload={"x": object()}), "not JSON"),
        (Event(type=EventType.USER, content="x", payload={"x": float("nan")}), "not JSON"),
        (Event(type=EventType.USER, content="x", payload=[1]), "mapping"),  # type: ignore[arg-type]
        (Event(type=EventType.USER, content="x", created_at=-1), "out of range"),
        (Event(type=EventType.USER, content="x" * 16_000_001), "at most"),
        ({"role": "user"}, "Event value"),
        ("hello", "Event value"),
        (7, "Event value"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_event_that_is_wrong_is_refused_before_anything_is_written(tmp_path: Any, event: Any, why: str) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        conv = home.agent("ana").conversations.start()
        before = tables(str(tmp_path / "memory.db"))
        with pytest.raises(Invalid, match=why):
            conv.append(event)
        assert tables(str(tmp_path / "memory.db")) == before


@pytest.mark.slow
def test_large_and_strange_texts_come_back_as_they_were(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    texts = ["x" * 10_000_000, "👩🏽‍🚀 漢字 \u202eabc\r\n\ttab \x1b", "e\u0301"]
    for text in texts:
        conv.user(text)
    assert said([one for one in conv.events() if one.type is EventType.USER]) == texts
    assert home.check().findings == ()


def test_a_tool_result_needs_an_open_call_of_its_lane(mem: Memory) -> None:
    conv = mem.conversations.start()
    with pytest.raises(Invalid, match="no open tool call"):
        conv.tool("x", "c1")
    conv.assistant("", tool_calls=[call("c1")])
    with pytest.raises(Invalid, match="lane 'core'"):
        conv.tool("x", "c1", lane="core")
    conv.tool("x", "c1")
    with pytest.raises(Conflict, match="already has its result"):
        conv.tool("x", "c1")
    twice = [Event(type=EventType.TOOL, content="x", tool_call_id="c2") for _ in range(2)]
    with pytest.raises(Conflict, match="already has its result"):
        conv.append([Event(type=EventType.MODEL, content="", tool_calls=[call("c2")]), *twice])
    assert len(list(conv.events())) == 2


def test_a_model_may_use_the_id_of_a_call_again(mem: Memory) -> None:
    conv = mem.conversations.start()
    for _ in range(3):
        use_tool(conv, "call_0")
    with pytest.raises(Conflict):
        conv.tool("x", "call_0")
    assert len(conv.window()) == 6


def test_times_may_go_backwards_and_the_order_stays(home: Home, mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    conv.user("first")
    clock.advance(-86_400_000)
    conv.assistant("second")
    clock.set(0)
    conv.user("third")
    assert said(list(conv.events())) == ["first", "second", "third"] == said(conv.window())
    assert conv.compact() is not None
    assert said(conv.window()) == ["third"]
    assert conv.end().conversation.status is Status.IDLE
    assert home.check().findings == ()


def test_an_event_is_read_by_its_hash_or_the_beginning_of_it(mem: Memory) -> None:
    conv, other = mem.conversations.start(), mem.conversations.start()
    event = conv.user("hello")
    elsewhere = other.user("elsewhere")
    assert conv.event(event.hash) == conv.event(event.hash[:12]) == conv.event(event.hash[:12].upper()) == event
    for wrong in (elsewhere.hash, "f" * 64, "%", "_" * 64):
        with pytest.raises(NotFound):
            conv.event(wrong)
    with pytest.raises(Invalid):
        conv.event("")
    for number in range(17):
        conv.user(f"number {number}")
    digits = [one.hash[0] for one in conv.events()]
    twice = next(digit for digit in digits if digits.count(digit) > 1)
    with pytest.raises(Conflict, match="pass more of it"):
        conv.event(twice)


def test_words_are_found_inside_the_conversation_only(mem: Memory) -> None:
    conv, other = mem.conversations.start(), mem.conversations.start()
    conv.user("The granite quay is closed.")
    conv.assistant("Noted.")
    other.user("Another granite quay.")
    hits = conv.find("granite")
    assert hits[0].event.content == "The granite quay is closed."
    assert {turn.conversation.id for turn in hits} == {conv.id}
    assert conv.find("basalt") == []


# Payloads of a chat


def test_the_payloads_of_a_chat_are_read_newest_first_from_all_its_conversations(home: Home) -> None:
    mem, other = home.agent("ana"), home.agent("ben")
    for number in range(2):
        conv = mem.conversations.start(chat_id="c")
        conv.append([Event(type=EventType.USER, content="said", payload={"n": f"{number}{n}"}) for n in range(3)])
        conv.end()
    mem.conversations.start(chat_id="another").user("not of this chat")
    other.conversations.start(chat_id="c").append(Event(type=EventType.USER, content="x", payload={"n": "ben's"}))
    for page in (1, 2, 1_000):
        found = list(mem.conversations.payloads("c", page=page))
        assert [payload["n"] for _, payload in found] == ["12", "11", "10", "02", "01", "00"]
    earlier = mem.conversations.payloads("c", before=found[1][0][0])
    assert [payload["n"] for _, payload in earlier] == ["10", "02", "01", "00"]
    assert list(mem.conversations.payloads("none")) == []
    (((_, _, kind, content, _), payload),) = mem.conversations.payloads("another")
    assert (kind, content, payload) == ("UserMsg", "not of this chat", {})


@pytest.mark.parametrize("damage", ["{", "1,2", "[]", "1", "null"])
def test_a_payload_that_cannot_be_read_is_named(home: Home, location: str, damage: str) -> None:
    home.agent("ana").conversations.start(chat_id="c").user("a")
    home.agent("ana").conversations.start(chat_id="c", resume=True).user("b")
    home.close()
    with raw(location, "ana") as run:
        run(f"UPDATE events SET payload = '{damage}' WHERE seq = 2 AND agent = 'ana'")
    with pytest.raises(Corrupt, match="event 2 of the journal cannot be read"):
        list(home.agent("ana").conversations.payloads("c"))


# The chain


DAMAGES = [
    ("UPDATE events SET content = 'forged' WHERE seq = 2", "event 2 is not what was written"),
    ('UPDATE events SET payload = \'{"speaker":"Eve"}\' WHERE seq = 3', "event 3 is not what was written"),
    ("UPDATE events SET payload = '{' WHERE seq = 3", "event 3 of the journal cannot be read"),
    ("UPDATE events SET created_at = created_at + 1 WHERE seq = 1", "event 1 is not what was written"),
    ("UPDATE events SET lane = 'core' WHERE seq = 1", "event 1 is not what was written"),
    ("UPDATE events SET lane = 'left' WHERE seq = 1", "event 1 of the journal cannot be read"),
    ("UPDATE events SET previous = hash WHERE seq = 3", "event 3 does not follow"),
    ("DELETE FROM events WHERE seq = 2", "events 2 to 2 are missing"),
    ("DELETE FROM events WHERE seq = 4", "events 4 to 4 are missing"),
    ("DELETE FROM events WHERE seq > 0", "events 1 to 4 are missing"),
]


def test_the_check_proves_the_chain(home: Home, location: str) -> None:
    agents = [f"agent{number}" for number in range(len(DAMAGES))]
    for agent in agents:
        talk(home.agent(agent).conversations.start(), 2)
    assert home.check().findings == ()
    home.close()
    for agent, (damage, _) in zip(agents, DAMAGES, strict=True):
        with raw(location, agent) as run:
            run(f"{damage} AND agent = '{agent}'")
    findings = home.check().findings
    for agent, (damage, message) in zip(agents, DAMAGES, strict=True):
        own = [one.message for one in findings if one.where.endswith(f"/{agent}") and one.part == "journal"]
        assert any(message in one for one in own), (damage, own)


# The same messages again and again


def test_a_client_that_posts_its_whole_list_again_adds_only_the_new_tail(mem: Memory) -> None:
    conv = mem.conversations.start()
    received = messages("a", "b", "a", "b", "c", "d")
    for length in (1, 2, 2, 3, 5, 5, 6):
        conv.extend([{"role": "system", "content": "You are kind."}, *received[:length]])
        assert said(list(conv.events())) == [one["content"] for one in received[:length]]
    assert conv.extend(received) == []


def test_a_trimmed_list_and_a_stale_one_add_nothing_that_is_known(mem: Memory) -> None:
    conv = mem.conversations.start()
    received = messages(*"abcdefgh")
    conv.extend(received)
    assert conv.extend(received[4:]) == []
    assert conv.extend(received[:3]) == []
    assert conv.extend(received[2:5]) == []
    longer = [*received[6:], *messages("i", "j")]
    assert said(conv.extend(longer)) == ["i", "j"]
    assert conv.extend([]) == []
    assert said(list(conv.events())) == [*"abcdefghij"]


def test_a_list_with_an_edited_message_loses_nothing_and_is_known_from_then_on(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.extend(messages("a", "b", "c", "d"))
    edited = messages("a", "B", "c", "d")
    assert said(conv.extend(edited)) == ["B", "c", "d"]
    for _ in range(3):
        assert conv.extend(edited) == []
    assert said(conv.extend([*edited, {"role": "user", "content": "e"}])) == ["e"]
    assert said(list(conv.events())) == ["a", "b", "c", "d", "B", "c", "d", "e"]


def test_tools_are_part_of_the_list(mem: Memory) -> None:
    conv = mem.conversations.start()
    received: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "Which pier?"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
        {"role": "tool", "tool_call_id": "c2", "content": "8"},
        {"role": "assistant", "content": "Seven or eight."},
    ]
    for length in (2, 3, 5, 5):
        conv.extend(received[:length])
    assert said(list(conv.events())) == ["Which pier?", "", "7", "8", "Seven or eight."]
    edited = [*received[:3], {"role": "tool", "tool_call_id": "c2", "content": "9"}, received[4]]
    for _ in range(2):
        conv.extend(edited)
    assert said(list(conv.events()))[5:] == ["", "7", "9", "Seven or eight."]


def test_what_else_happens_in_the_lane_does_not_disturb_the_list(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.extend(messages("a", "b"))
    conv.instruct("Be short.")
    conv.user("nudge", internal=True)
    conv.user("b", lane="core")
    assert said(conv.extend(messages("a", "b", "c"))) == ["c"]
    conv.compact()
    assert conv.extend(messages("a", "b", "c")) == []
    assert said(conv.extend(messages("a", "b", "c", "d"))) == ["d"]
    assert said(conv.extend(messages("a", "b"), lane="core")) == ["a", "b"]


def test_a_message_keeps_that_it_is_internal_and_when_it_was(mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    received: list[dict[str, Any]] = [
        {"role": "user", "content": "a", "created_at": 5_000},
        {"role": "assistant", "content": "thinking", "internal": True, "timestamp": "1970-01-01T00:00:06Z"},
        {"role": "assistant", "content": "b", "at": 7_000, "internal": False},
        {"role": "user", "content": "c", "at": None},
        {"role": "user", "content": "nudge", "internal": True},
    ]
    for length in (1, 2, 2, 4, 5, 5):
        conv.extend(received[:length])
        assert said(list(conv.events())) == [one["content"] for one in received[:length]]
    assert [(one.created_at, one.internal) for one in conv.events()] == [
        (5_000, False),
        (6_000, True),
        (7_000, False),
        (clock.now(), False),
        (clock.now(), True),
    ]
    conv.user("a nudge of somebody else", internal=True)
    assert conv.extend(received) == []
    assert conv.extend([one for one in received if not one.get("internal")]) == []
    assert said(conv.extend([*received, {"role": "user", "content": "d"}])) == ["d"]
    for wrong in ("soon", 7.5, True):
        with pytest.raises(Invalid):
            conv.extend([{"role": "user", "content": "e", "timestamp": wrong}])


def test_of_a_long_lane_only_the_end_is_read_and_what_is_new_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SPARE", 0)
    monkeypatch.setattr(history, "PAGE", 7)
    numbers = random.Random(7)
    with recollect.open(tmp_path / "memory.db") as home:
        for _ in range(60):
            conv = home.agent("ana").conversations.start()
            conv.append(
                [
                    Event(type=EventType.USER, content=numbers.choice("aab"), internal=numbers.random() < 0.1)
                    for _ in range(numbers.randrange(40))
                ]
            )
            for _ in range(6):
                received = [event for event in conv.events() if not event.internal]
                start, size = numbers.randrange(len(received) + 1), numbers.randrange(1, 6)
                texts = [event.content for event in received[start : start + size]]  # a part of it, and perhaps more
                texts += [numbers.choice("aabc") for _ in range(numbers.randrange(3))]
                expected = resent_messages.new_part(
                    received, [Event(type=EventType.USER, content=text) for text in texts]
                )
                added = conv.extend({"role": "user", "content": text} for text in texts)
                assert said(added) == [event.content for event in expected], (said(received), texts)


def test_a_list_that_stands_long_before_the_end_is_known(mem: Memory) -> None:
    conv = mem.conversations.start()
    received = messages(*(f"message {number}" for number in range(120)))
    conv.extend(received)
    assert conv.extend(received[10:14]) == []
    assert said(conv.extend([*received[10:14], {"role": "user", "content": "new"}])) == [
        *(one["content"] for one in received[10:14]),
        "new",
    ]
    edited = [*received[:3], {"role": "user", "content": "edited"}]
    assert said(conv.extend(edited)) == ["edited"]


def test_messages_of_other_programs_are_understood(mem: Memory) -> None:
    conv = mem.conversations.start()
    received: list[dict[str, Any]] = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "text": "hello", "name": "Marta"},
        {"role": "assistant", "content": ""},
        {"role": "agent", "text": "hi"},
    ]
    conv.extend(received)
    assert conv.extend(received) == []
    assert [(one.role, one.content, one.speaker) for one in conv.events()] == [
        ("user", "hello", "Marta"),
        ("assistant", "hi", None),
    ]


@pytest.mark.parametrize(
    "given",
    [
        "hello",
        {"role": "user", "content": "x"},
        7,
        ["hello"],
        [{"content": "x"}],
        [{"role": "robot", "content": "x"}],
        [{"role": "user", "content": 7}],
        [{"role": "tool", "content": "x"}],
        [{"role": "user", "content": "fine"}, {"role": "tool", "content": "x", "tool_call_id": "never"}],
    ],
)
def test_a_list_that_is_no_list_of_messages_is_refused_whole(tmp_path: Any, given: Any) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        conv = home.agent("ana").conversations.start()
        with pytest.raises(Invalid):
            conv.extend(given)
        with pytest.raises(Invalid):
            conv.extend(messages("a"), lane="left")
        assert list(conv.events()) == []


def test_homes_that_post_the_same_list_at_once_append_it_once(location: str) -> None:
    with recollect.open(location) as first:
        conv = first.agent("ana").conversations.start()
        received = messages(*(f"message {number}" for number in range(30)))
        failed: list[BaseException] = []

        def post() -> None:
            try:
                with recollect.open(location) as home:
                    mine = home.agent("ana").conversations.get(conv.id)
                    for length in range(2, 31, 4):
                        mine.extend(received[:length])
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=post) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert said(list(conv.events())) == [one["content"] for one in received]
        assert first.check().findings == ()


def test_homes_that_append_at_once_leave_one_chain_and_nothing_after_the_end(location: str) -> None:
    with recollect.open(location) as first:
        conv = first.agent("ana").conversations.start()
        acknowledged: list[str] = []
        failed: list[BaseException] = []
        enough = threading.Event()

        def speak(name: str) -> None:
            try:
                with recollect.open(location) as home:
                    mine = home.agent("ana").conversations.get(conv.id)
                    for number in range(10_000):
                        acknowledged.append(mine.user(f"{name} {number}").hash)
                        if len(acknowledged) > 40:
                            enough.set()
            except Conflict:
                pass  # it was ended meanwhile
            except BaseException as error:
                failed.append(error)
                enough.set()

        threads = [threading.Thread(target=speak, args=(name,)) for name in ("ana", "ben", "cai")]
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        ended = conv.end()
        for thread in threads:
            thread.join()
        assert failed == []
        received = [event.hash for event in conv.events() if event.type is EventType.USER]
        assert sorted(received) == sorted(acknowledged)
        assert ended.chunks == len(received)
        assert first.check().findings == ()


# Whose it is


def test_another_agent_sees_nothing_of_a_conversation(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start(participants=["cai"])
    conv.user("The granite quay is closed.")
    for name in ("ben", "cai"):
        other = home.agent(name)
        assert other.conversations.list(True) == []
        assert other.conversations.search("granite") == []
        assert other.recover() is None
        with pytest.raises(NotFound):
            other.conversations.get(conv.id)
        with pytest.raises(NotFound):
            other.conversations.detail(conv.ref_code)
        with pytest.raises(Denied):
            other.conversations.detail(conv.id, target_agent="ana")
        assert other.conversations.search("granite", target_agent="ana") == []


def test_only_participants_share_the_scratchpad(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start(participants=["ben"])
    conv.scratchpad["plan"] = {"pier": 7}
    theirs = home.agent("ben").conversations.scratchpad(conv.ref_code, owner="ana")
    theirs["tide"] = "low"
    assert dict(conv.scratchpad) == {"plan": {"pier": 7}, "tide": "low"} == dict(theirs)
    for name, key in (("cai", conv.id), ("cai", "nothing"), ("ben", mem.conversations.start().id)):
        with pytest.raises(Denied):
            home.agent(name).conversations.scratchpad(key, owner="ana")
    assert dict(mem.conversations.scratchpad(conv.id, owner="ana")) == dict(theirs)


def test_past_conversations_of_another_agent_are_read_by_name_and_recorded(
    home: Home, mem: Memory, location: str, clock: FixedClock
) -> None:
    over, going_on = mem.conversations.start(), mem.conversations.start()
    over.user("The granite quay is closed.")
    going_on.user("The granite bridge is open.")
    over.idle()
    ben = home.agent("ben")
    hits = ben.conversations.search("granite", target_agent="ana")
    assert [turn.event.content for turn in hits] == ["The granite quay is closed."]
    assert said(list(ben.conversations.detail(over.ref_code, target_agent="ana"))) == ["The granite quay is closed."]
    with pytest.raises(Denied, match="is active"):
        ben.conversations.detail(going_on.id, target_agent="ana")
    home.flush()
    recorded = [row[2:] for row in sorted(rows(location, "access_log", "ben"), key=lambda row: row[1])]
    assert recorded == [
        (clock.now(), "ana", "conversations.search", "granite"),
        (clock.now(), "ana", "conversations.detail", over.ref_code),
        (clock.now(), "ana", "conversations.detail", going_on.id),
    ]
    assert rows(location, "events", "ben") == []


def test_arguments_of_the_wrong_type_are_refused_before_a_query(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("hello")
    wrong: list[Any] = [7, b"x", ["x"], "a\0b", "\ud800", ""]
    for value in wrong:
        for call_it in (
            lambda value: mem.conversations.list(channel=value),
            lambda value: mem.conversations.list(chat_id=value),
            lambda value: mem.conversations.search("hello", channel=value),
            lambda value: mem.conversations.get(value),
            lambda value: conv.event(value),
            lambda value: mem.conversations.scratchpad(conv.id, owner=value),
        ):
            with pytest.raises(Invalid):
                call_it(value)
    for value in (-1, "5", True, 2.5):
        for call_it in (
            lambda value: mem.conversations.list(limit=value),
            lambda value: mem.conversations.search("hello", limit=value),
            lambda value: mem.conversations.detail(conv.id, limit=value),
            lambda value: conv.events(limit=value),
            lambda value: conv.events(value),
            lambda value: conv.find("hello", limit=value),
        ):
            with pytest.raises(Invalid):
                call_it(value)
    assert said(list(conv.events(limit=10**30))) == ["hello"]
    assert len(mem.conversations.list(limit=10**30)) == 1
    with pytest.raises(Invalid):
        conv.find(7)  # type: ignore[arg-type]


def test_lanes_are_strings_or_values(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("x", lane=Lane.CORE)
    assert conv.window("core") == conv.window(Lane.CORE) == list(conv.events())
    for read in (conv.window, conv.messages, conv.replay, conv.summary, conv.compact):
        with pytest.raises(Invalid, match="lane"):
            read("left")
