"""What conversations leave behind by themselves, each thing once; and categories that are kept short."""

from __future__ import annotations

from crash.evidence import raw, rows

from recollect import Add, Category, FixedClock, Home, Kind, Lifetime, Memory, Origin, Write
from recollect.conversation import Conversation
from recollect.model.entry import Entry
from recollect.model.history import Event, EventType

DAY = 86_400_000
DECISION = "We decided to use PostgreSQL for the harbour office."
LESSON = "Note: the gate must stay shut at night."


def said(conv: Conversation, *lines: str) -> None:
    """So many answers, each after a question."""
    for line in lines:
        conv.user("We decided nothing, said the user.")
        conv.assistant(line)


def notes(mem: Memory, category: Category | str | None = None) -> list[str]:
    return [entry.content for entry in mem.list(kind=Kind.NOTE, category=category, limit=1_000)]


def everything(mem: Memory) -> list[Entry]:
    return mem.list(limit=1_000)


# Insights


def test_a_short_conversation_gives_its_decisions_and_lessons(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    said(conv, f"Good morning.\n{DECISION}\n{LESSON}")
    conv.append(Event(type=EventType.MODEL, content="We decided it inside the machine.", internal=True))
    run = home.jobs.run("extract")
    assert run.error is None
    assert run.figures == {"conversations": 1, "conversationsTrimmed": 0, "extracted": 2}
    (decision,), (lesson,) = mem.list(category="decisions"), mem.list(category="lessons")
    assert (decision.content, lesson.content) == (DECISION, LESSON)
    assert decision.tags == lesson.tags == ("compacted", "auto-extract")
    assert decision.conversation_id == conv.id
    assert decision.lifetime is Lifetime.LONG_TERM
    assert [change.reason for change in run.changes] == [f"the agent stated it in the conversation {conv.ref_code}"] * 2
    assert len(list(conv.events())) == 3


def test_what_the_user_states_is_extracted_with_its_origin_and_turn(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    received = conv.user("Good morning. Never push to main directly.")
    conv.assistant("OK.")
    run = home.jobs.run("extract")
    (rule,) = mem.list(category="decisions")
    assert (rule.content, rule.origin) == ("Never push to main directly.", Origin.USER)
    assert rule.evidence == (f"event:{conv.id}:{received.id}",)
    assert [change.reason for change in run.changes] == [f"the user stated it in the conversation {conv.ref_code}"]


def test_what_the_user_stated_is_not_shelved_by_itself(home: Home, mem: Memory, clock: FixedClock) -> None:
    for number in range(40):
        conv = mem.conversations.start()
        conv.user(f"Never use crane {number} at night.")
        conv.end()
        clock.advance(1_000)
    home.jobs.run("extract")
    with_rules = mem.list(category="decisions", limit=1_000)
    assert len(with_rules) == 40
    clock.advance(DAY)
    home.jobs.run_due()
    assert len([one for one in mem.list(category="decisions", limit=1_000) if one.origin is Origin.USER]) == 40


def test_a_line_of_both_kinds_is_a_decision_only(home: Home, mem: Memory) -> None:
    said(mem.conversations.start(), "Important: we decided to use granite.")
    home.jobs.run("extract")
    assert notes(mem, "decisions") == ["Important: we decided to use granite."]
    assert notes(mem, "lessons") == []


def test_of_a_long_conversation_only_the_old_part_is_read(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    said(conv, "We decided on granite at first.", "Second answer.", *(f"Answer {number}." for number in range(9)))
    said(conv, "We decided on marble at last.")
    run = home.jobs.run("extract")
    assert run.figures == {"conversations": 1, "conversationsTrimmed": 1, "extracted": 2}
    assert notes(mem, "decisions") == ["We decided on granite at first."]
    (handoff,) = mem.list(category="handoffs")
    assert handoff.tags == ("compacted", "auto-handoff")
    assert handoff.content == (
        "Session compacted (4 msgs removed):\n- We decided on granite at first.\n- Second answer."
    )
    assert len(list(conv.events())) == 24


def test_aged_out_events_are_read_later_and_the_hand_off_is_rewritten(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    said(conv, *(f"Answer {number}. {'long ' * 40}" for number in range(11)), "We decided on marble at last.")
    home.jobs.run("extract")
    (first,) = mem.list(category="handoffs")
    said(conv, *(f"Later answer {number}." for number in range(12)))
    run = home.jobs.run("extract")
    assert run.figures == {"conversations": 1, "conversationsTrimmed": 1, "extracted": 1}
    assert notes(mem, "decisions") == ["We decided on marble at last."]
    (second,) = mem.list(category="handoffs")
    assert second.id == first.id
    lines = second.content.splitlines()
    assert lines[0] == "Session compacted (28 msgs removed):"
    assert [len(line) for line in lines[1:]] == [len("- We decided on marble at last."), 17, 17]
    assert [change.what for change in run.changes] == ["added", "changed"]


def test_a_preview_in_the_hand_off_has_150_characters(home: Home, mem: Memory) -> None:
    said(mem.conversations.start(), *("a" * 400 for _ in range(11)))
    home.jobs.run("extract")
    assert notes(mem, "handoffs") == [f"Session compacted (2 msgs removed):\n- {'a' * 150}"]


def test_a_long_conversation_loads_its_last_twenty_messages_from_then_on(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    said(conv, *(f"Answer {number}." for number in range(12)))
    home.jobs.run("extract", dry_run=True)
    assert len(conv.load().events) == 24
    home.jobs.run("extract")
    assert [event.content for event in conv.load().events][::19] == ["We decided nothing, said the user.", "Answer 11."]
    assert len(list(conv.events())) == 24
    assert len(mem.recover().events) == 24  # type: ignore[union-attr]


def test_a_conversation_gives_more_than_ten_decisions_while_it_continues(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    decided = [f"We decided to buy boat {number}." for number in range(25)]
    said(conv, "\n".join(decided[:10]))
    home.jobs.run("extract")
    said(conv, "\n".join(decided[10:15]))
    assert home.jobs.run("extract").figures["extracted"] == 5
    mem.forget(mem.list(category="decisions")[0].id)
    said(conv, "\n".join(decided[15:]))
    ended = conv.end()
    assert [entry.content for entry in ended.decisions] == decided[15:]
    assert len(notes(mem, "decisions")) == 24  # what was forgotten does not come back


def test_what_is_read_late_has_the_time_of_its_conversation(home: Home, mem: Memory, clock: FixedClock) -> None:
    received = clock.now()
    said(mem.conversations.start(), DECISION, *(f"Answer {number}." for number in range(20)))
    clock.advance(12 * 3_600_000)
    home.jobs.run("extract")
    clock.advance(20 * 3_600_000)
    home.jobs.run("age")
    assert {entry.created_at for entry in mem.list(kind=Kind.NOTE)} == {received}
    assert len(notes(mem)) == 3


def test_the_last_session_is_the_one_that_ended_last_in_the_world(home: Home, mem: Memory, clock: FixedClock) -> None:
    silent = mem.conversations.start()
    silent.user("I go for lunch.")
    clock.advance(3_600_000)
    last = mem.conversations.start()
    last.user("The gate is next.")
    last.end()
    clock.advance(24 * 3_600_000)
    home.jobs.run("age")
    assert len(notes(mem, "handoffs")) == 2
    assert [item.text for item in mem.context("").section("Last Session")] == ["[User]: The gate is next."]


def test_a_conversation_that_has_not_changed_is_not_read_again(home: Home, mem: Memory) -> None:
    said(mem.conversations.start(), DECISION)
    home.jobs.run("extract")
    before = everything(mem)
    run = home.jobs.run("extract")
    assert (set(run.figures.values()), run.changes, everything(mem)) == ({0}, (), before)


def test_what_is_stored_already_is_not_stored_again(home: Home, mem: Memory) -> None:
    mem.remember("WE DECIDED  to use PostgreSQL for the harbour office.", category="decisions")
    mem.remember(LESSON, category="decisions")
    mem.remember("From now on use pnpm, never npm.")
    first, second = mem.conversations.start(), mem.conversations.start()
    said(first, DECISION, LESSON)
    said(second, DECISION)
    second.user("From now on use pnpm, never npm.")
    home.jobs.run("extract")
    assert len(notes(mem, "decisions")) == 2
    assert notes(mem, "lessons") == []
    assert len(notes(mem)) == 3


def test_notes_are_the_same_by_their_first_hundred_characters(home: Home, mem: Memory) -> None:
    start = "We decided " + "a" * 89
    said(mem.conversations.start(), start + " one", start + " two", start[:99] + "b")
    home.jobs.run("extract")
    assert sorted(notes(mem, "decisions")) == [start + " one", start[:99] + "b"]


def test_an_insight_that_was_forgotten_does_not_come_back(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    said(conv, DECISION)
    home.jobs.run("extract")
    mem.forget(mem.list(category="decisions")[0].id)
    said(conv, LESSON)
    home.jobs.run("extract")
    assert (notes(mem, "decisions"), notes(mem, "lessons")) == ([], [LESSON])


def test_a_conversation_that_ended_has_given_its_insights_already(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    said(conv, DECISION, *(f"Answer {number}." for number in range(20)))
    conv.end()
    before = everything(mem)
    run = home.jobs.run("extract")
    assert run.figures == {"conversations": 1, "conversationsTrimmed": 1, "extracted": 0}
    assert everything(mem) == before


def test_a_conversation_that_was_only_put_away_is_read(home: Home, mem: Memory) -> None:
    conv = mem.conversations.start()
    said(conv, DECISION)
    conv.archive()
    home.jobs.run("extract")
    assert notes(mem, "decisions") == [DECISION]


def test_a_conversation_that_cannot_be_read_is_reported_and_the_rest_continues(
    home: Home, mem: Memory, location: str
) -> None:
    broken, whole = mem.conversations.start(), mem.conversations.start()
    said(broken, "We decided to be unreadable here.")
    said(whole, DECISION)
    with raw(location) as execute:
        execute(f"UPDATE events SET payload = 'no json' WHERE conversation_id = '{broken.id}'")
    run = home.jobs.run("extract")
    assert run.error is None  # one broken conversation must not make the job wait longer and longer
    (problem,) = run.problems
    assert f"the conversation {broken.id} was left out" in problem
    assert home.jobs.runs("extract")[0].error == problem
    assert notes(mem, "decisions") == [DECISION]
    assert run.figures["conversations"] == 1


def test_a_dry_run_of_extract_tells_and_changes_nothing(home: Home, mem: Memory, location: str) -> None:
    said(mem.conversations.start(), DECISION)
    run = home.jobs.run("extract", dry_run=True)
    assert run.figures == {"conversations": 1, "conversationsTrimmed": 0, "extracted": 1}
    assert [change.label for change in run.changes] == [DECISION]
    assert everything(mem) == []
    assert rows(location, "extracted", "ana") == []


def test_extract_can_be_undone_and_stays_undone(home: Home, mem: Memory) -> None:
    said(mem.conversations.start(), DECISION, LESSON)
    home.jobs.undo(home.jobs.run("extract").id)
    assert everything(mem) == []
    home.jobs.run("extract")
    assert everything(mem) == []


def test_insights_belong_to_the_agent_whose_conversation_it_was(home: Home, mem: Memory) -> None:
    said(mem.conversations.start(), DECISION)
    ben = home.agent("ben")
    said(ben.conversations.start(), DECISION)
    home.jobs.run("extract")
    assert notes(mem) == notes(ben) == [DECISION]


def test_many_conversations_are_read_in_one_run(home: Home, mem: Memory) -> None:
    for number in range(60):
        mem.conversations.start().assistant(f"We decided number {number} of many.")
    assert home.jobs.run("extract").figures["extracted"] == 60
    assert len(notes(mem, "decisions")) == 60


# Shelves


def fill(mem: Memory, clock: FixedClock, count: int, category: str = "lessons", first: int = 0) -> list[Entry]:
    """So many notes, an hour apart."""
    start = clock.now()
    clock.advance(count * 3_600_000)
    return mem.remember_many(
        Add(f"Lesson {number} of the harbour.", category=category, at=start + (number - first) * 3_600_000)
        for number in range(first, first + count)
    )


def test_thirty_notes_stay_as_they_are(home: Home, mem: Memory, clock: FixedClock) -> None:
    fill(mem, clock, 30)
    run = home.jobs.run("shelve")
    assert (dict(run.figures), run.changes, len(everything(mem))) == ({"vaultEntriesMerged": 0}, (), 30)


def test_of_more_the_twenty_newest_stay_and_the_rest_becomes_one_summary(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    made = fill(mem, clock, 31)
    fill(mem, clock, 5, "decisions")
    run = home.jobs.run("shelve")
    assert run.figures == {"vaultEntriesMerged": 11}
    left = mem.list(category="lessons")
    assert [entry.id for entry in left[:20]] == [entry.id for entry in reversed(made[11:])]
    assert len(left) == 21
    summary = left[-1]
    assert summary.content.splitlines() == [
        "Compacted 11 older entries:",
        *(f"- [2026-01-01] Lesson {number} of the harbour." for number in range(10, -1, -1)),
    ]
    assert summary.tags == ("compacted",)
    assert summary.created_at == made[11].created_at - 1
    assert summary.lifetime is Lifetime.LONG_TERM
    assert run.changes[0].reason == "lessons has more than 30 notes, and it is not among the 20 newest"
    assert run.changes[-1].reason == "it replaces 11 older notes of lessons"
    assert len(notes(mem, "decisions")) == 5
    again = home.jobs.run("shelve")
    assert (dict(again.figures), again.changes) == ({"vaultEntriesMerged": 0}, ())


def test_a_preview_has_200_characters_in_one_line(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("one\n\ntwo " + "x" * 300, category="lessons")
    clock.advance(1)
    fill(mem, clock, 30)
    home.jobs.run("shelve")
    assert mem.list(category="lessons")[-1].content.splitlines()[-1] == "- [2026-01-01] one two " + "x" * 192


def test_a_new_summary_takes_over_the_lines_of_the_old_one(home: Home, mem: Memory, clock: FixedClock) -> None:
    fill(mem, clock, 31)
    home.jobs.run("shelve")
    made = fill(mem, clock, 10, first=31)
    run = home.jobs.run("shelve")
    assert run.figures == {"vaultEntriesMerged": 10}
    left = mem.list(category="lessons")
    assert len(left) == 21
    assert left[0].id == made[-1].id
    assert left[-1].content.splitlines() == [
        "Compacted 21 older entries:",
        *(f"- [2026-01-01] Lesson {number} of the harbour." for number in range(20, -1, -1)),
    ]


def test_the_latest_hand_off_is_never_the_summary(home: Home, mem: Memory, clock: FixedClock) -> None:
    made = fill(mem, clock, 45, "handoffs")
    home.jobs.run("shelve")
    assert mem.list(category="handoffs", limit=1)[0].id == made[-1].id


def test_open_tasks_named_notes_and_narrow_scopes_are_never_touched(home: Home, mem: Memory, clock: FixedClock) -> None:
    drafts = [Add(f"- [ ] task {number}", category="tasks") for number in range(40)]
    drafts += [Add(f"task {number}", category="tasks", name=f"task-{number}") for number in range(5)]
    drafts += [Add(f"here {number}", category="tasks", scope="channel", channel="general") for number in range(5)]
    kept = mem.remember_many(drafts)
    clock.advance(1)
    fill(mem, clock, 30, "tasks")
    assert home.jobs.run("shelve").changes == ()
    fill(mem, clock, 1, "tasks", first=30)
    assert home.jobs.run("shelve").figures == {"vaultEntriesMerged": 11}
    assert {entry.id for entry in kept} <= {entry.id for entry in everything(mem)}
    assert len(everything(mem)) == 50 + 21
    assert home.jobs.run("shelve").changes == ()


def test_what_dreaming_promoted_is_not_shelved(home: Home, mem: Memory, clock: FixedClock) -> None:
    hot = mem.remember("The lighthouse is white.", category="lessons")
    for query in ("lighthouse", "which lighthouse", "white lighthouse"):
        mem.recall(query)
        clock.advance(DAY)
    home.flush()
    assert home.jobs.run("dream").figures["promoted"] == 1
    fill(mem, clock, 31)
    home.jobs.run("shelve")
    assert mem.get(hot.id).content == hot.content


def test_a_summary_that_was_edited_is_left_alone(home: Home, mem: Memory, clock: FixedClock) -> None:
    fill(mem, clock, 31)
    home.jobs.run("shelve")
    summary = mem.list(category="lessons")[-1]
    mem.apply(Write(summary.id, "My own words about the early days."))
    fill(mem, clock, 11, first=31)
    home.jobs.run("shelve")
    assert mem.get(summary.id).content == "My own words about the early days."
    assert mem.list(category="lessons")[-2].content.startswith("Compacted 11 older entries:\n")


def test_shelving_can_be_undone_as_a_whole(home: Home, mem: Memory, clock: FixedClock) -> None:
    fill(mem, clock, 31)
    home.jobs.run("shelve")
    fill(mem, clock, 10, first=31)
    before = [(entry.id, entry.content, entry.created_at) for entry in everything(mem)]
    run = home.jobs.run("shelve")
    home.jobs.undo(run.id)
    assert [(entry.id, entry.content, entry.created_at) for entry in everything(mem)] == before
    assert home.check().ok


def test_a_shelved_note_comes_back_from_the_trash_and_is_counted_once(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    made = fill(mem, clock, 31)
    home.jobs.run("shelve")
    assert mem.restore(made[0].id).content == made[0].content
    fill(mem, clock, 9, first=31)
    home.jobs.run("shelve")
    summary = mem.list(category="lessons")[-1].content
    assert summary.count("Lesson 0 of") == 1


def test_a_dry_run_of_shelve_tells_and_changes_nothing(home: Home, mem: Memory, clock: FixedClock) -> None:
    fill(mem, clock, 31)
    before = everything(mem)
    run = home.jobs.run("shelve", dry_run=True)
    assert run.figures == {"vaultEntriesMerged": 11}
    assert [change.what for change in run.changes] == ["removed"] * 11 + ["added"]
    assert everything(mem) == before


def test_a_very_long_category_is_shelved_step_by_step(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember_many(Add(f"Lesson {number} is short.", category="lessons", at=number) for number in range(750))
    run = home.jobs.run("shelve")
    assert run.figures == {"vaultEntriesMerged": 730}
    left = mem.list(category="lessons", limit=100)
    assert len(left) == 21
    lines = left[-1].content.splitlines()
    assert (lines[0], lines[1], len(lines)) == (
        "Compacted 730 older entries:",
        "- [1970-01-01] Lesson 729 is short.",
        501,
    )
    assert home.jobs.run("shelve").changes == ()
    assert home.check().ok


def test_one_agents_notes_never_fill_anothers_shelf(home: Home, mem: Memory, clock: FixedClock) -> None:
    fill(mem, clock, 20)
    fill(home.agent("ben"), clock, 20)
    assert home.jobs.run("shelve").changes == ()
