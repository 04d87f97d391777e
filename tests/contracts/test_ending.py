"""The end of a conversation: one pipeline, each step done once, by any caller; and what remains of it later."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crash.evidence import raw, rows
from dialogue import Blocking, Writing, call, said, talk, use_tool
from embedders import HashEmbedder
from faulty_embedder import FaultyEmbedder
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Category, Conflict, FixedClock, Home, Kind, Lifetime, Memory, Origin, Unavailable
from recollect.config import ConversationSettings, Settings
from recollect.conversation import Conversation
from recollect.engine import checkpoints, ending
from recollect.engine.chunks import CHUNK, chunks
from recollect.engine.ending import summary_parts
from recollect.model.history import Event, EventType, Status
from recollect.model.working import SummaryDocument
from recollect.storage.postgres.database import PostgresTransaction
from recollect.storage.sqlite.transactions import SqliteTransaction

DAY = 86_400_000
HOUR = 3_600_000


def harbour(mem: Memory) -> Conversation:
    """A short talk with something of everything."""
    conv = mem.conversations.start()
    conv.user("Which database do we take for the harbour?", speaker="Marta")
    conv.assistant("secret machinery: we decided to say nothing", internal=True)
    conv.assistant("", tool_calls=[call("c1", "databases")])
    conv.tool("PostgreSQL, SQLite", "c1")
    conv.assistant("We decided to use PostgreSQL for the harbour office.")
    conv.user("And the gate?")
    conv.assistant("Note: the gate must stay shut at night.")
    conv.user("Good. " + "Very good. " * 30)
    return conv


def notes(mem: Memory, **filters: Any) -> list[str]:
    return [entry.content for entry in mem.list(kind=Kind.NOTE, limit=1_000, **filters)]


def everything(mem: Memory) -> list[tuple[Any, ...]]:
    """All entries, without their ids."""
    return sorted(
        (entry.kind, entry.content, entry.name, entry.tags, entry.category, entry.lifetime)
        for entry in mem.list(limit=1_000)
    )


def vectors(location: str, mem: Memory, kind: Kind) -> int:
    """How many entries of a kind have a vector."""
    ids = {entry.id for entry in mem.list(kind=kind, limit=1_000)}
    return sum(row[1] in ids for row in rows(location, "embeddings", "ana"))


# The pipeline


def test_the_end_leaves_a_summary_a_hand_off_insights_and_chunks(home: Home, mem: Memory, clock: FixedClock) -> None:
    conv = harbour(mem)
    clock.advance(1_000)
    ended = conv.end()
    assert ended.conversation == conv.info
    assert (conv.status, conv.info.ended_at) == (Status.IDLE, clock.now())
    assert (ended.summary, ended.by) == (conv.info.closing_summary, conv.info.summary_by)
    assert ended.by == "fallback"
    assert "PostgreSQL" in ended.summary
    assert ended.handoff is not None
    assert ended.handoff.content == "\n".join(
        [
            "[Marta]: Which database do we take for the harbour?",
            "[Agent]: We decided to use PostgreSQL for the harbour office.",
            "[User]: And the gate?",
            "[Agent]: Note: the gate must stay shut at night.",
            "[User]: Good. " + "Very good. " * 5 + "Very … " + ("Very good. " * 12).strip(),
        ]
    )
    assert (ended.handoff.category, set(ended.handoff.tags)) == (Category.HANDOFFS, {"auto-handoff", "session-close"})
    assert [one.content for one in ended.decisions] == ["We decided to use PostgreSQL for the harbour office."]
    assert [one.content for one in ended.lessons] == ["Note: the gate must stay shut at night."]
    for one in (*ended.decisions, *ended.lessons):
        assert set(one.tags) == {"auto-extract", "session-close"}
        assert one.conversation_id == conv.id
    assert (ended.decisions[0].category, ended.lessons[0].category) == (Category.DECISIONS, Category.LESSONS)
    found = sorted(mem.list(kind=Kind.CHUNK), key=lambda entry: entry.first_event or 0)
    assert ended.chunks == len(found) == 3
    assert {entry.lifetime for entry in found} == {Lifetime.MID_TERM}
    assert [(entry.first_event, entry.last_event) for entry in found] == [(1, 5), (6, 7), (8, 8)]
    assert found[0].content.splitlines() == [
        "Marta: Which database do we take for the harbour?",
        "Agent: [called databases({})]",
        "Tool: PostgreSQL, SQLite",
        "Agent: We decided to use PostgreSQL for the harbour office.",
    ]
    assert not any("machinery" in str(entry) for entry in mem.list(limit=1_000))
    assert len(list(conv.events())) == 8
    assert home.check().findings == ()


def test_the_hand_off_has_the_last_six_messages(mem: Memory) -> None:
    conv = mem.conversations.start()
    talk(conv, 5)
    use_tool(conv, "c1")
    ended = conv.end()
    assert ended.handoff is not None
    assert ended.handoff.content.splitlines() == [
        f"[{who}]: {kind} {number}" for number in (2, 3, 4) for who, kind in (("User", "question"), ("Agent", "answer"))
    ]


def test_what_is_next_has_one_label(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("TODO: rename the table of orders after the release.")
    conv.assistant("Next, I will write the handler for refunds.")
    talk(conv, 3)
    ended = conv.end()
    assert ended.handoff is not None
    assert ended.handoff.content.splitlines()[6:] == [
        "Next: Rename the table of orders after the release.",
        "Next: I will write the handler for refunds.",
    ]


def test_the_hand_off_keeps_the_end_of_a_message_what_was_agreed_and_what_is_next(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("We decided to deploy on Wednesdays instead of Tuesdays.", speaker="Marta")
    conv.assistant("The crane is done. Tomorrow we paint the gate of the harbour.", speaker="Rui")
    talk(conv, 3)
    conv.user("The wind was strong at the pier. " * 20 + "Please order the motor.", speaker="Marta")
    ended = conv.end()
    assert ended.handoff is not None
    *messages, last, agreed, later = ended.handoff.content.splitlines()
    assert len(messages) == 5
    assert last.startswith("[Marta]: The wind was strong at the pier.")
    assert last.endswith(" The … " + "The wind was strong at the pier. " * 3 + "Please order the motor.")
    assert len(last) <= len("[Marta]: ") + 200
    assert agreed == "Agreed: We decided to deploy on Wednesdays instead of Tuesdays."
    assert later == "Next: Tomorrow we paint the gate of the harbour."
    first, second, *_ = conv.events()
    assert {f"event:{conv.id}:{event.id}" for event in (first, second)} < set(ended.handoff.evidence)


def test_the_hand_off_has_the_date_of_the_talk(mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    said = conv.user("The gate is next.")
    clock.advance(30 * HOUR)
    ended = conv.end()
    assert ended.handoff is not None
    assert ended.handoff.created_at == said.created_at


def beside(home: Home, location: str) -> list[Memory]:
    """Another agent, and the same agent in another workspace if the location has several."""
    other = [] if location.endswith(".db") else [home.agent("ana", workspace="other")]
    return [home.agent("ben"), *other]


def test_what_the_user_states_is_stored_as_the_users_with_its_turn(home: Home, mem: Memory, location: str) -> None:
    conv = mem.conversations.start()
    conv.user("Hello there.")
    said = conv.user("It rains today. We decided to deploy on Wednesdays instead of Tuesdays. Thanks!")
    conv.assistant("Got it: we decided to deploy on Wednesdays instead of Tuesdays.")
    (decision,) = conv.end().decisions
    assert decision.content == "We decided to deploy on Wednesdays instead of Tuesdays."
    assert (decision.origin, decision.evidence) == (Origin.USER, (f"event:{conv.id}:{said.id}",))
    assert [other.list() for other in beside(home, location) if other.list()] == []


def test_what_the_agent_remembered_in_the_talk_is_not_extracted_again(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("From now on use pnpm, never npm.")
    kept = mem.remember("from now on use pnpm, never npm")
    assert conv.end().decisions == ()
    assert [entry.id for entry in mem.list(kind=Kind.NOTE) if entry.category is not Category.HANDOFFS] == [kept.id]


@pytest.mark.parametrize("profile", ["default", "prompt"])
def test_a_rule_that_was_said_in_a_session_reaches_the_next_one_once(
    home: Home, mem: Memory, location: str, profile: str
) -> None:
    conv = mem.conversations.start()
    conv.user("From now on use pnpm, never npm")
    conv.assistant("Understood: from now on I use pnpm, never npm.")
    talk(conv, 4)
    conv.end()
    received = mem.context("install lodash with the package manager", profile=profile).text
    assert received.count("use pnpm, never npm") == 1
    for other in beside(home, location):
        assert "pnpm" not in other.context("install lodash with the package manager", profile=profile).text


def test_the_letter_of_the_keywords_is_a_setting(location: str, clock: FixedClock) -> None:
    settings = Settings(conversation=ConversationSettings(extraction="keywords"))
    with recollect.open(location, clock=clock, settings=settings) as home:
        conv = home.agent("ana").conversations.start()
        conv.user("We decided to deploy on Wednesdays.")
        conv.assistant("It is important to keep the gate shut. It rains.")
        ended = conv.end()
        assert ended.decisions == ()
        assert [one.content for one in ended.lessons] == ["It is important to keep the gate shut. It rains."]


def test_a_conversation_in_which_nothing_was_said_ends_without_leaving_anything(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("nudge", internal=True)
    ended = conv.end()
    assert (ended.handoff, ended.decisions, ended.lessons, ended.chunks, ended.summary) == (None, (), (), 0, "")
    assert conv.status is Status.IDLE
    assert mem.list() == []


def test_entries_of_the_conversation_are_cleared_and_its_scratchpad_is_not(mem: Memory) -> None:
    conv, other = harbour(mem), mem.conversations.start()
    mem.remember("only for this talk", scope="conversation", conversation=conv.id)
    mem.remember("for the other talk", scope="conversation", conversation=other.id)
    mem.remember("for the channel", scope="channel", channel="general", conversation=conv.id)
    conv.scratchpad["plan"] = 7
    assert conv.end().cleared == 1
    left = notes(mem)
    assert "only for this talk" not in left
    assert {"for the other talk", "for the channel"} <= set(left)
    assert dict(conv.scratchpad) == {"plan": 7}


def test_a_model_writes_the_summary_and_may_add_insights(location: str) -> None:
    model = Writing()
    with recollect.open(location, model=model) as home:
        ended = harbour(home.agent("ana")).end()
        assert (ended.summary, ended.by) == ("The model's summary of 6 turns.", "model")
        assert [one.content for one in ended.decisions] == [
            "We decided to use PostgreSQL for the harbour office.",
            "The model found that they agreed on granite.",
        ]
        assert "machinery" not in model.asked[0]


@pytest.mark.parametrize("bad", [RuntimeError("on fire"), "", '{"summary": "half', "x" * 1_000_000])
def test_without_an_answer_of_the_model_the_summary_is_made_without_it(tmp_path: Path, bad: Any) -> None:
    with recollect.open(tmp_path / "memory.db", model=Writing(bad)) as home:
        ended = harbour(home.agent("ana")).end()
        assert (ended.by, ended.conversation.summary_by) == ("fallback", "fallback")
        assert "PostgreSQL" in ended.summary


def test_a_slow_model_is_not_waited_for(tmp_path: Path) -> None:
    model = Blocking()
    settings = Settings(conversation=ConversationSettings(summary_timeout=0.05))
    with recollect.open(tmp_path / "memory.db", model=model, settings=settings) as home:
        assert harbour(home.agent("ana")).end().by == "fallback"
        model.go.set()


def test_what_was_compacted_is_part_of_the_chunks_and_the_summary(mem: Memory) -> None:
    conv = mem.conversations.start()
    talk(conv, 60)
    assert conv.end().chunks == 60
    found = mem.list(kind=Kind.CHUNK, limit=1_000)
    assert {entry.content for entry in found} == {
        f"User: question {number}\nAgent: answer {number}" for number in range(60)
    }


# Chunks


def event(seq: int, kind: EventType, content: str, **fields: Any) -> Event:
    return Event(seq=seq, type=kind, content=content, **fields)


def test_a_chunk_is_a_users_turn_with_what_followed_it() -> None:
    events = [
        event(1, EventType.MODEL, "Welcome."),
        event(2, EventType.USER, "q0"),
        event(3, EventType.INSTRUCTION, "Be short."),
        event(4, EventType.MODEL, "a0"),
        event(5, EventType.USER, "q1"),
    ]
    assert [(text, received[0].seq, received[-1].seq) for text, received in chunks(events)] == [
        ("Agent: Welcome.", 1, 1),
        ("User: q0\nSystem: Be short.\nAgent: a0", 2, 4),
        ("User: q1", 5, 5),
    ]


def test_a_long_turn_is_split_at_the_ends_of_sentences_and_tools_stay_together() -> None:
    sentence = "The tide comes in at the old granite quay. "
    events = [
        event(1, EventType.USER, sentence * 100),
        event(2, EventType.MODEL, "I look.", tool_calls=[call("c1", place="quay"), call("c2")]),
        event(3, EventType.TOOL, "x" * 1_900, tool_call_id="c1"),
        event(4, EventType.TOOL, "y" * 9_000, tool_call_id="c2"),
        event(5, EventType.MODEL, "z" * 5_000),
    ]
    made = chunks(events)
    assert [(received[0].seq, received[-1].seq) for _, received in made] == [
        (1, 1),
        (1, 1),
        (1, 4),
        (4, 4),
        (4, 4),
        (4, 4),
        (4, 4),
        (5, 5),
        (5, 5),
        (5, 5),
    ]
    for text, _ in made[:2]:
        assert text.endswith("quay.")
        assert len(text) <= CHUNK
    together = next(text for text, received in made if received[-1].seq == 4)
    assert '[called search({"place": "quay"})]' in together
    assert "x" * 1_900 in together
    assert "y" * 1_900 in together
    assert sum(text.count("y") for text, *_ in made) == 9_000 + 101  # the whole result of the tool, and each "quay"
    assert "".join(text for text, *_ in made).count("The tide comes in") == 100


# Any text

ODD_TEXTS = [
    "a" + " " * 4_000 + "b",
    "\u200b" * 4_000,
    "a. " + "\u200b" * 4_000 + " b.",
    "\u3164" * 2_500,
    "e" + "\u0301" * 5_000,
    "decided " + "\x1c" * 4_000 + "x",
    "```" * 2_000,
    "\U0001f9ea\u200d" * 1_500,
]


def test_a_conversation_ends_whatever_was_said_in_it(home: Home, mem: Memory) -> None:
    for odd in ODD_TEXTS:
        conv = mem.conversations.start()
        conv.user(odd)
        conv.assistant(odd, tool_calls=[call("c1", what=odd)])
        conv.tool(odd, "c1")
        assert conv.end().conversation.status is Status.IDLE
    assert home.check().findings == ()


RUNS = st.builds(
    str.__mul__,
    st.sampled_from([" ", "\t", "\n", "\u200b", "\ufeff", "\u3164", "\u0301", ".", "|", "`", ">", "a"]),
    st.integers(1, 5_000),
)
WORDS = st.sampled_from(
    ["We decided on granite. ", "Note: the gate\n", "```\n", "Let me see. ", "\U0001f9ea\u200d", "門は"]
)
SPOKEN = st.lists(st.one_of(RUNS, WORDS, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
TEXTS = SPOKEN.map("".join).filter(str.strip)


def test_any_text_lets_a_conversation_end_once(tmp_path: Path) -> None:
    config = Settings(conversation=ConversationSettings(mid_term=0))  # each conversation also ages at once
    with recollect.open(tmp_path / "memory.db", settings=config, clock=FixedClock()) as home:
        ended: list[Memory] = []

        @given(said=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=3))
        def ends(said: list[tuple[str, str, str]]) -> None:
            mem = home.agent(f"agent{len(ended)}")
            ended.append(mem)
            conv = mem.conversations.start()
            for question, answer, result in said:
                conv.user(question)
                conv.assistant(answer, tool_calls=[call("c1", what=question)])
                conv.tool(result, "c1")
            done = conv.end()
            assert done.conversation.status is Status.IDLE
            assert (done.chunks > 0) is bool(said)
            with pytest.raises(Conflict):
                conv.end()

        ends()
        left = [everything(mem) for mem in ended]
        for job in ("extract", "age"):
            assert home.jobs.run(job).changes == ()
        assert [everything(mem) for mem in ended] == left
        assert home.check().findings == ()


# Again after a crash

STEPS = [
    ("history.summary_set", 1),
    ("history.checkpoint_put", 1),
    ("history.ending_set", 1),
    ("history.ending_set", 2),
    ("history.ending_set", 3),
    ("history.ending_set", 4),
    ("history.ending_set", 5),
    ("history.ending_set", 6),
    ("history.ending_set", 7),
    ("entries.insert", 1),
    ("entries.insert", 2),
    ("entries.insert", 3),
    ("entries.insert", 4),
    ("history.status", 1),
    ("entries.delete", 1),
]


def failing(monkeypatch: pytest.MonkeyPatch, name: str, time: int) -> Callable[[], None]:
    """Make a query fail when it is run for that time; call the returned function to repair it."""
    seen = 0
    for kind, way in ((SqliteTransaction, "run"), (PostgresTransaction, "run"), (PostgresTransaction, "send")):
        run = getattr(kind, way)

        def broken(self: Any, query: str, run: Any = run, **values: Any) -> Any:
            nonlocal seen
            seen += query == name
            if query == name and seen == time:
                raise Unavailable(f"{name} fails")
            return run(self, query, **values)

        monkeypatch.setattr(kind, way, broken)
    return monkeypatch.undo


def test_an_ending_that_broke_off_anywhere_is_finished_by_the_next_one(
    home: Home, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepared(agent: str) -> tuple[Memory, Conversation]:
        mem = home.agent(agent)
        conv = harbour(mem)
        mem.remember("only for this talk", scope="conversation", conversation=conv.id)
        return mem, conv

    mem, conv = prepared("whole")
    conv.end()
    expected = everything(mem)
    assert len(expected) == 6
    for number, (query, time) in enumerate(STEPS):
        mem, conv = prepared(f"broken{number}")
        mend = failing(monkeypatch, query, time)
        with pytest.raises(Unavailable, match=query):
            conv.end()
        mend()
        assert conv.status is Status.ACTIVE
        assert len(list(conv.events())) == 8
        ended = mem.conversations.get(conv.id).end()
        assert ended.conversation.status is Status.IDLE
        assert ended.summary == conv.info.closing_summary != ""
        assert everything(mem) == expected, (query, time)
    assert home.check().findings == ()


def test_an_ending_resumes_after_the_step_that_an_earlier_version_recorded_last(mem: Memory) -> None:
    conv = harbour(mem)
    done = ["begun", "summary", ["We decided to use PostgreSQL."], [], "checkpoint", "handoff", "insights"]
    with mem._workspace.write() as work:
        work.tx.run("history.summary_set", id=conv.id, summary="A harbour.", by="model", ending=json.dumps(done))
    ended = conv.end()
    assert (ended.summary, ended.by, ended.conversation.status) == ("A harbour.", "model", Status.IDLE)
    assert (ended.handoff, ended.decisions, ended.lessons, notes(mem)) == (None, (), (), [])
    assert ended.chunks == 3
    assert recorded_steps(mem, conv) == [*done, "chunked", "cleared", "idle"]


def recorded_steps(mem: Memory, conv: Conversation) -> list[Any]:
    with mem._workspace.read() as tx:
        row = tx.one("history.ending", id=conv.id)
    assert row is not None
    steps: list[Any] = json.loads(row[0])
    return steps


def long_talk(mem: Memory) -> Conversation:
    """A conversation of one turn that makes 22 chunks."""
    conv = mem.conversations.start()
    conv.user(" ".join(f"Boat {number} is at the pier." for number in range(1_700)))
    return conv


def test_the_chunks_of_a_long_talk_are_written_in_several_transactions_that_resume(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "CHUNKS_PER_STEP", 8)
    conv = long_talk(mem)
    expected = [content for content, *_ in chunks(list(conv.events()))]
    assert len(expected) == 22
    mend = failing(monkeypatch, "entries.insert", 1 + 8 + 3)  # the hand-off, one batch, and a part of the next
    with pytest.raises(Unavailable):
        conv.end()
    mend()  # sets the size of a batch back, too: an ending resumes whatever it was
    assert recorded_steps(mem, conv)[-1] == "chunked 8"
    assert len(mem.list(kind=Kind.CHUNK, limit=1_000)) == 8
    assert conv.end().chunks == 14  # those of this call
    assert sorted(entry.content for entry in mem.list(kind=Kind.CHUNK, limit=1_000)) == sorted(expected)
    assert recorded_steps(mem, conv)[-4:] == ["chunked 8", "chunked", "cleared", "idle"]
    monkeypatch.setattr(ending, "CHUNKS_PER_STEP", 8)
    conv = long_talk(mem)
    assert conv.end().chunks == 22
    assert recorded_steps(mem, conv)[-5:] == ["chunked 8", "chunked 16", "chunked", "cleared", "idle"]


def test_chunks_that_an_earlier_version_wrote_in_one_step_are_not_written_twice(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "CHUNKS_PER_STEP", 8)
    conv = long_talk(mem)
    done = ["begun", "summary", [], [], "checkpoint", "handoff", "insights", "chunked"]
    with mem._workspace.write() as work:
        work.tx.run("history.summary_set", id=conv.id, summary="Boats.", by="model", ending=json.dumps(done))
    assert conv.end().chunks == 0
    assert mem.list(kind=Kind.CHUNK) == []
    assert recorded_steps(mem, conv) == [*done, "cleared", "idle"]


def test_nothing_can_be_added_once_the_ending_has_begun(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    conv = harbour(mem)
    mend = failing(monkeypatch, "history.summary_set", 1)
    with pytest.raises(Unavailable):
        conv.end()
    mend()
    with pytest.raises(Conflict, match="being ended"):
        conv.user("one more thing")
    assert conv.end().chunks == 3


def test_homes_that_end_the_same_conversation_leave_what_one_would(location: str) -> None:
    with recollect.open(location) as first:
        harbour(first.agent("one")).end()
        expected = everything(first.agent("one"))
        conv = harbour(first.agent("ana"))
        other: list[type[Exception]] = []

        def end() -> None:
            try:
                with recollect.open(location) as home:
                    home.agent("ana").conversations.get(conv.id).end()
            except Conflict as error:
                other.append(type(error))

        threads = [threading.Thread(target=end) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(other) < 3
        assert conv.status is Status.IDLE
        assert everything(first.agent("ana")) == expected
        assert first.check().findings == ()


# Those whose process died


def test_a_conversation_that_fell_silent_is_ended_when_the_next_one_starts(
    home: Home, mem: Memory, clock: FixedClock, location: str
) -> None:
    dead, spoken, empty = harbour(mem), mem.conversations.start(), mem.conversations.start()
    clock.advance(23 * HOUR)
    spoken.user("still here", at="2020-01-01T00:00:00Z")
    clock.advance(HOUR)
    mem.conversations.start()
    assert dead.status is Status.ACTIVE  # not longer than a day
    clock.advance(1)
    with recollect.open(location, clock=clock) as again:
        again.agent("ana").conversations.start()
    assert (dead.status, spoken.status, empty.status) == (Status.IDLE, Status.ACTIVE, Status.IDLE)
    assert dead.info.summary_by == "fallback"
    assert len(mem.list(kind=Kind.CHUNK)) == 3
    assert [one.conversation.id for one in mem.conversations.end_stale()] == []


def test_a_start_looks_at_few_of_many_active_conversations(
    location: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, int]] = []

    def rows_read_by_start(agent: str, active: int) -> list[tuple[str, int]]:
        mem = home.agent(agent)
        conversations = [mem.conversations.start(chat_id=f"chat {number}") for number in range(active)]
        clock.advance(20 * HOUR)
        for conv in conversations:
            conv.user("still here")
        clock.advance(10 * HOUR)
        read.clear()
        mem.conversations.start(chat_id="new", resume=True)
        by_start = list(read)
        assert all(conv.status is Status.ACTIVE for conv in conversations)
        return by_start

    with recollect.open(location, clock=clock) as home:
        for kind in (SqliteTransaction, PostgresTransaction):
            every = kind.all

            def counted(self: Any, query: str, every: Any = every, **values: Any) -> Any:
                found = every(self, query, **values)
                read.append((query, len(found)))
                return found

            monkeypatch.setattr(kind, "all", counted)
        assert rows_read_by_start("few", 11) == rows_read_by_start("many", 40) != []


def test_a_conversation_that_was_read_while_active_is_ended_when_it_is_stale(mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    clock.advance(20 * HOUR)
    conv.user("still here")
    clock.advance(10 * HOUR)
    mem.conversations.start()
    assert conv.status is Status.ACTIVE
    clock.advance(14 * HOUR + 1)
    mem.conversations.start()
    assert conv.status is Status.IDLE


# Mid-term and long-term


def test_the_oldest_beyond_ten_age_to_long_term_memory(location: str, clock: FixedClock) -> None:
    embedder = HashEmbedder()
    embedder.instant = True  # type: ignore[attr-defined]
    with recollect.open(location, clock=clock, embedder=embedder) as home:
        mem = home.agent("ana")
        first = harbour(mem)
        journal = list(first.events())
        assert first.end().aged == ()
        assert vectors(location, mem, Kind.CHUNK) == 3
        for number in range(9):
            clock.advance(1_000)
            conv = mem.conversations.start()
            talk(conv, 1, first=number)
            assert conv.end().aged == ()
        assert vectors(location, mem, Kind.CHUNK) == 12
        clock.advance(1_000)
        conv = mem.conversations.start()
        talk(conv, 1, first=9)
        assert conv.end().aged == (first.id,)
        assert list(first.events()) == journal
        (summary,) = mem.list(kind=Kind.ARCHIVE)
        assert (summary.name, summary.content, summary.conversation_id) == (
            f"summary-{first.ref_code}-1",
            first.info.closing_summary,
            first.id,
        )
        assert (summary.source, summary.lifetime) == ("summary-fallback", Lifetime.LONG_TERM)
        assert vectors(location, mem, Kind.ARCHIVE) == 1
        old = [entry for entry in mem.list(kind=Kind.CHUNK, limit=1_000) if entry.conversation_id == first.id]
        assert [entry.lifetime for entry in old] == [Lifetime.LONG_TERM] * 3
        assert vectors(location, mem, Kind.CHUNK) == 10
        assert home.backfill() == 0
        assert home.reembed() == 0
        assert vectors(location, mem, Kind.CHUNK) == 10
        assert mem.recall("databases for the harbour office", kinds=["chunk"])[0].entry.conversation_id == first.id
        assert home.check().findings == ()
        assert mem.conversations.search("which database for the harbour")[0].conversation.id == first.id


def test_the_settings_say_how_many_stay_in_mid_term_memory(location: str, clock: FixedClock) -> None:
    settings = Settings.read(environ={"RECOLLECT_CONVERSATION_MID_TERM": "2", "RECOLLECT_EMBEDDER_KIND": "none"})
    with recollect.open(location, clock=clock, settings=settings) as home:
        mem = home.agent("ana")
        ended = []
        for number in range(4):
            clock.advance(1_000)
            conv = mem.conversations.start()
            talk(conv, 1, first=number)
            ended.append((conv.id, conv.end().aged))
        assert [aged for _, aged in ended] == [(), (), (ended[0][0],), (ended[1][0],)]
        assert home.jobs.run("age").figures["aged"] == 0


def test_ageing_that_broke_off_is_done_with_the_next_end(
    home: Home, mem: Memory, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for number in range(11):
        clock.advance(1_000)
        made.append(mem.conversations.start())
        talk(made[-1], 1, first=number)
    for conv in made[:10]:
        clock.advance(1_000)
        conv.end()
    mend = failing(monkeypatch, "history.age", 1)
    clock.advance(1_000)
    with pytest.raises(Unavailable):
        made[10].end()
    mend()
    assert made[10].status is Status.IDLE
    assert mem.list(kind=Kind.ARCHIVE) == []
    last = mem.conversations.start()
    clock.advance(1_000)
    assert last.end().aged == (made[1].id, made[0].id)
    assert len(mem.list(kind=Kind.ARCHIVE)) == 2
    assert home.check().findings == ()


def test_two_that_age_the_same_conversation_do_it_once(location: str, clock: FixedClock) -> None:
    embedder = FaultyEmbedder()
    with recollect.open(location, clock=clock, embedder=embedder) as first, recollect.open(location) as second:
        mem = first.agent("ana")
        for number in range(10):
            clock.advance(1_000)
            conv = mem.conversations.start()
            talk(conv, 1, first=number)
            conv.end()
        clock.advance(1_000)
        mem.conversations.start().idle()
        clock.advance(1_000)
        last = mem.conversations.start()

        def meanwhile() -> None:
            if last.status is Status.IDLE:  # its own texts are embedded by now, and those of the oldest are next
                embedder.before = lambda: None
                second.agent("ana").conversations.start().end()

        embedder.before = meanwhile
        assert len(last.end().aged) == 2
        names = [entry.name or "" for entry in mem.list(kind=Kind.ARCHIVE)]
        assert len(names) == 3
        assert all(name.endswith("-1") for name in names)
        assert first.check().findings == ()


def test_a_conversation_that_was_set_aside_without_an_end_gets_a_summary_when_it_ages(
    mem: Memory, clock: FixedClock
) -> None:
    idle = harbour(mem)
    idle.idle()
    for number in range(10):
        clock.advance(1_000)
        conv = mem.conversations.start()
        talk(conv, 1, first=number)
        conv.end()
    (summary,) = mem.list(kind=Kind.ARCHIVE)
    assert (summary.conversation_id, summary.source) == (idle.id, "summary-fallback")
    assert "PostgreSQL" in summary.content
    assert (idle.info.closing_summary, idle.info.summary_by) == (summary.content, "fallback")


def test_a_long_summary_ages_in_logical_parts() -> None:
    parts = summary_parts("\n\n".join(["Short one.", "Short two.", "A long paragraph. " * 200, "Last."]))
    assert parts[0] == "Short one.\n\nShort two."
    assert all(len(part) <= CHUNK for part in parts)
    assert "".join(parts).count("A long paragraph.") == 200
    assert parts[-1].endswith("Last.")
    assert summary_parts("") == []


# Recovery


def test_the_last_fifty_messages_and_the_summaries_are_recovered(
    home: Home, mem: Memory, location: str, clock: FixedClock
) -> None:
    assert mem.recover() is None
    other, conv = mem.conversations.start(), mem.conversations.start()
    other.user("elsewhere")
    talk(conv, 40)
    use_tool(conv, "c1")
    conv.user("nudge", internal=True)
    clock.advance(7 * DAY)
    home.close()
    with recollect.open(location, clock=clock) as again:
        found = again.agent("ana").recover()
        assert found is not None
        assert found.conversation.id == conv.id
        assert found.messages == [
            {"role": role, "text": f"{kind} {number}"}
            for number in range(15, 40)
            for role, kind in (("user", "question"), ("agent", "answer"))
        ]
        assert found.summaries == {"edge": conv.summary()}
        assert conv.summary() != SummaryDocument()
    clock.advance(1)
    assert mem.recover() is None


def test_old_events_that_are_recorded_today_are_recovered_today(mem: Memory) -> None:
    conv = mem.conversations.start()
    conv.user("long ago", at="2020-01-01T00:00:00Z")
    found = mem.recover()
    assert found is not None
    assert said(found.events) == ["long ago"]


def test_a_checkpoint_on_request_counts_from_when_it_was_saved(mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    conv.user("hello")
    clock.advance(6 * DAY)
    conv.checkpoint()
    clock.advance(6 * DAY)
    found = mem.recover()
    assert found is not None
    assert (said(found.events), found.saved_at) == (["hello"], clock.now() - 6 * DAY)
    clock.advance(DAY + 1)
    assert mem.recover() is None


def test_each_conversation_has_its_own_checkpoint_and_keeps_the_last_one(mem: Memory, clock: FixedClock) -> None:
    first, second = mem.conversations.start(), mem.conversations.start()
    assert first.saved is None
    first.user("one")
    first.checkpoint()
    clock.advance(1_000)
    first.user("two")
    first.checkpoint()
    saved_at = clock.now()
    clock.advance(1_000)
    first.user("three")
    second.user("elsewhere")
    second.checkpoint()
    found = first.saved
    assert found is not None
    assert (said(found.events), found.saved_at, found.conversation.id) == (["one", "two"], saved_at, first.id)
    assert second.saved == mem.recover()


def test_archived_conversations_are_not_recovered_and_ended_ones_are(mem: Memory, clock: FixedClock) -> None:
    first, second = mem.conversations.start(), mem.conversations.start()
    first.user("first")
    clock.advance(1_000)
    first.checkpoint()
    clock.advance(1_000)
    second.user("second")
    second.end()
    found = mem.recover()
    assert found is not None
    assert said(found.events) == ["second"]
    second.archive()
    found = mem.recover()
    assert found is not None
    assert said(found.events) == ["first"]
    first.archive()
    assert mem.recover() is None


def test_a_conversation_is_recovered_behind_many_archived_ones(mem: Memory, clock: FixedClock) -> None:
    kept = mem.conversations.start()
    kept.user("kept")
    kept.checkpoint()
    for number in range(3 * checkpoints.PAGE):
        clock.advance(1_000)
        other = mem.conversations.start()
        other.user(f"other {number}")
        other.end()
        other.archive()
    found = mem.recover()
    assert found is not None
    assert said(found.events) == ["kept"]


@pytest.mark.parametrize("documents", ["{", "[]", "7", '{"edge": {"summary": 7}}', '{"left": {}}', '{"edge": "x"}'])
def test_a_checkpoint_that_cannot_be_read_is_as_if_absent(tmp_path: Path, clock: FixedClock, documents: str) -> None:
    where = str(tmp_path / "memory.db")
    with recollect.open(where, clock=clock) as home:
        mem = home.agent("ana")
        conv = mem.conversations.start()
        conv.user("hello")
        clock.advance(8 * DAY)
        conv.checkpoint()
        assert mem.recover() is not None
        with raw(where) as run:
            run(f"UPDATE checkpoints SET documents = '{documents}'")
        assert (mem.recover(), conv.saved) == (None, None)


def test_a_hand_off_that_was_written_meanwhile_for_no_conversation_is_kept_and_no_other_is_made(
    mem: Memory, clock: FixedClock
) -> None:
    mem.remember("Of the day before.", category="handoffs")
    clock.advance(1)
    conv = mem.conversations.start()
    conv.user("Please paint the gate.")
    conv.assistant("Done.")
    left = mem.remember("The gate is blue, the fence is next.", category="handoffs")
    ended = conv.end()
    assert ended.handoff is not None
    assert ended.handoff.id == left.id
    assert [item.text for item in mem.context("").section("Last Session")] == [left.content]
    clock.advance(1)
    later = mem.conversations.start()
    later.user("And the fence?")
    handoff = later.end().handoff
    assert handoff is not None
    assert handoff.content == "[User]: And the fence?"


def test_a_hand_off_that_was_left_for_the_conversation_is_kept_and_no_other_is_made(mem: Memory) -> None:
    conv = harbour(mem)
    mem.remember("of another talk", category="handoffs", conversation=mem.conversations.start().id)
    mem.remember("made of a part of it", category="handoffs", tags=["compacted", "auto-handoff"], conversation=conv.id)
    left = mem.remember("The gate is next.", category="handoffs", tags=["session-close"], conversation=conv.ref_code)
    ended = conv.end()
    assert ended.handoff == left
    assert notes(mem, category="handoffs", conversation=conv.id) == ["The gate is next.", "made of a part of it"]
    assert ended.decisions != ()
