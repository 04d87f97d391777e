"""What fills a context after its fixed sections: rules, notes and turns that answer the command, each told once."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from embedders import HashEmbedder
from numpy.typing import NDArray

import recollect
from recollect import Event, EventType, FixedClock, Home, Memory, Origin, Profile, Settings
from recollect.config import EmbedderSettings

NOTES, EARLIER = "Relevant Notes", "Earlier Conversations"
WEEKS_AGO = datetime(2025, 11, 20, 9, tzinfo=UTC)


def talked(mem: Memory, *lines: tuple[str, str], at: datetime = WEEKS_AGO, end: bool = True) -> str:
    """Store a conversation between people; return its id."""
    talk = mem.conversations.start()
    talk.append(
        [
            Event(type=EventType.USER, content=said, speaker=who, created_at=int(at.timestamp() * 1_000))
            for who, said in lines
        ]
    )
    if end:
        talk.end()
    return talk.id


def notes(mem: Memory, command: str, **asked: object) -> list[str]:
    return [item.text for item in mem.context(command, **asked).section(NOTES)]  # type: ignore[arg-type]


def earlier(mem: Memory, command: str, **asked: object) -> list[str]:
    return [item.text for item in mem.context(command, **asked).section(EARLIER)]  # type: ignore[arg-type]


@pytest.fixture
def filled(mem: Memory) -> Memory:
    talked(
        mem,
        ("Caroline", "I moved to Lisbon in spring."),
        ("Melanie", "Where do you keep the sailing boat now?"),
        ("Caroline", "The sailing boat lies in Cascais, at pier four."),
        ("Melanie", "Nice, my kids would love to see it."),
    )
    talked(mem, ("Caroline", "The dentist moved my appointment."), ("Melanie", "Mine, too."))
    talked(mem, ("Caroline", "Bread is in the oven."), ("Melanie", "Great."))
    return mem


def test_turns_that_answer_are_shown_with_speaker_and_date_and_joined_where_they_are_neighbours(
    filled: Memory,
) -> None:
    block = filled.context("where does the sailing boat lie?").text
    assert (
        "Melanie: Where do you keep the sailing boat now?\n  Caroline: The sailing boat lies in Cascais, at pier four."
    ) in block
    assert "(2025-11-20)" in block
    assert block == filled.context("where does the sailing boat lie?").text


def test_a_turn_of_the_past_is_named_by_its_role_if_the_speaker_has_no_name(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.user("Which port does the staging database use?")
    talk.assistant("The staging database listens on port 5433.")
    talk.archive()
    filled = mem.context("port of the staging database").section(EARLIER)
    assert [(item.speaker, item.text) for item in filled] == [
        ("user", "Which port does the staging database use?"),
        ("agent", "The staging database listens on port 5433."),
    ]
    assert [item.follows for item in filled] == [False, True]


def test_a_turn_a_decision_and_a_hand_off_that_say_the_same_are_shown_once(mem: Memory) -> None:
    said = "We decided to deploy the web shop on Tuesdays at ten."
    talk = mem.conversations.start()
    talk.user(said)
    talk.end()  # leaves a hand-off, a decision and a chunk
    assert mem.recall("deploy the web shop", kinds=["chunk"])
    block = mem.context("when do we deploy the web shop?").text
    assert block.count("web shop on Tuesdays") <= 2  # the decision, and the hand-off with its last messages
    assert earlier(mem, "when do we deploy the web shop?") == []


def test_a_turn_that_says_more_than_the_note_made_from_it_is_shown_without_the_repetition(mem: Memory) -> None:
    talked(
        mem,
        ("Ana", "We decided to paint the harbour gate blue. The harbour gate needs eleven litres of paint, says Rui."),
    )
    for day in range(3):
        talked(mem, ("Ana", f"Bread number {day} is in the oven."))
    mem.remember("We decided to paint the harbour gate blue.", category="decisions")
    block = mem.context("how much paint does the harbour gate need?").text
    assert "Ana: … The harbour gate needs eleven litres of paint, says Rui. (2025-11-20)" in block
    assert block.count("paint the harbour gate blue") == 1


def test_a_long_turn_is_cut_at_sentences_around_what_was_found(mem: Memory) -> None:
    before = [f"Sentence {n} is about bread and nothing else at all." for n in range(20)]
    after = [f"Sentence {n} is about cheese and nothing else at all." for n in range(20)]
    talked(mem, ("Ana", " ".join([*before, "The lighthouse keeper is called Tomás.", *after])))
    talked(mem, ("Ana", "Something else."))
    (turn,) = [one for one in earlier(mem, "who is the lighthouse keeper?") if "lighthouse" in one]
    assert turn.startswith("… Sentence ")
    assert turn.endswith("all. …")
    assert "The lighthouse keeper is called Tomás." in turn
    assert len(turn) < 500


def test_a_standing_rule_is_shown_whatever_the_command_is(mem: Memory) -> None:
    mem.remember("The bread is in the oven")
    for rule in (
        "We use pnpm, never npm",
        "Always answer in short sentences",
        "From now on write commit messages in English",
        "The user prefers tabs",
        "Responder sempre em português",
        "A partir de agora usamos o pnpm",
        "Antworte immer auf Deutsch",
        "Ab sofort nur noch signierte Commits",
        "Siempre usar comillas dobles",
        "De ahora en adelante, sin emojis",
    ):
        made = mem.remember(rule)
        for command in ("install lodash with the package manager", "the bread", ""):
            assert rule in notes(mem, command)
        assert notes(mem, "the bread")[0] == rule
        mem.forget(made.id)


def test_a_report_about_the_past_is_no_standing_rule(mem: Memory) -> None:
    mem.remember("The old pump had never worked in winter")
    assert notes(mem, "install lodash with the package manager") == []


def test_rules_are_shown_in_the_section_of_their_category_or_among_the_notes_and_never_twice(mem: Memory) -> None:
    mem.remember("Never deploy on a Friday", category="decisions")
    assert mem.context("deploy").text.count("Never deploy on a Friday") == 1
    assert mem.context("bake bread").text.count("Never deploy on a Friday") == 1


@pytest.mark.directory
def test_notes_of_the_account_are_shown_whatever_the_command_is(mem: Memory) -> None:
    mem.remember("The user is called Zé and lives in Faro", scope="account")
    assert notes(mem, "sort the imports of module x") == ["The user is called Zé and lives in Faro"]


def test_rules_leave_most_of_the_budget_to_what_answers(mem: Memory) -> None:
    for number in range(200):
        mem.remember(f"Always check the rope number {number} before you leave the harbour at night")
    mem.remember("The bakery opens at seven in the morning")
    found = mem.context("when does the bakery open?", budget=500)
    assert "The bakery opens at seven in the morning" in [item.text for item in found.section(NOTES)]
    assert found.tokens <= 500


def test_what_was_superseded_or_retracted_is_not_shown_and_a_turn_that_states_it_is_marked(mem: Memory) -> None:
    talked(mem, ("Ana", "The bakery delivers bread on Fridays."))
    talked(mem, ("Ana", "Something else."))
    old = mem.remember("The bakery delivers bread on Fridays.")
    mem.supersede(old.id, "The bakery delivers bread on Mondays.")
    gone = mem.remember("The bakery delivers cake on Sundays.")
    mem.retract(gone.id)
    found = mem.context("when does the bakery deliver?")
    assert [item.text for item in found.section(NOTES)] == ["The bakery delivers bread on Mondays."]
    assert [(item.text, item.outdated) for item in found.section(EARLIER)] == [
        ("The bakery delivers bread on Fridays.", True)
    ]
    assert "Ana: The bakery delivers bread on Fridays. (2025-11-20, outdated)" in found.text
    assert "cake" not in found.text


def test_notes_that_wait_for_review_are_shown_together_with_their_dates(
    mem: Memory, clock: FixedClock, home: Home
) -> None:
    mem.remember("The bakery opens at seven")
    clock.advance(90_000_000)
    mem.remember("The bakery opens at eight")
    home.jobs.run("review")
    block = mem.context("when does the bakery open?").text
    assert "- The bakery opens at eight (2026-01-02, agent)\n- The bakery opens at seven (2026-01-01, agent)\n" in block


def test_what_is_in_the_window_of_the_conversation_is_not_shown_again(mem: Memory) -> None:
    talked(mem, ("Ana", "The sailing boat lies in Cascais."))
    talked(mem, ("Ana", "Something else."))
    here = mem.conversations.start()
    here.user("The sailing boat needs a new sail.")
    command = "what about the sailing boat?"
    mem.conversations.start().user("Good morning")  # the session to recover, in place of that conversation
    assert sorted(earlier(mem, command)) == ["The sailing boat lies in Cascais.", "The sailing boat needs a new sail."]
    for given in (here.id, here.ref_code):
        assert earlier(mem, command, conversation=given) == ["The sailing boat lies in Cascais."]


def test_the_context_stays_within_its_budget_and_uses_it(mem: Memory) -> None:
    talked(
        mem, *(("Ana", f"The sailing boat number {n} lies at pier {n} in the harbour of Cascais.") for n in range(150))
    )
    talked(mem, ("Ana", "Something else."))
    for budget in (100, 500, 1_000):
        found = mem.context("where does the sailing boat lie?", budget=budget)
        assert 0.7 * budget < found.tokens <= budget
        assert found.dropped > 0


def test_a_profile_leaves_out_notes_and_turns(filled: Memory) -> None:
    filled.remember("The sailing boat is insured")
    assert [section.name for section in filled.context("the sailing boat").sections][-2:] == [NOTES, EARLIER]
    assert EARLIER not in {section.name for section in filled.context("the sailing boat", budget=0).sections}


def test_the_same_reaches_a_prompt_by_every_way(filled: Memory) -> None:
    filled.remember("We use pnpm, never npm")
    question, boat = "where does the sailing boat lie?", "Caroline: The sailing boat lies in Cascais, at pier four."
    here = filled.conversations.start()
    here.user(question)
    for text in (
        filled.context(question, conversation=here.id).text,
        filled.orient(question, conversation=here.id).markdown,
        filled.context(question, profile="brief").text,
        filled.context(question, profile="prompt").text,
    ):
        assert boat in text
        assert "- We use pnpm, never npm (" in text
    messages = here.messages(context=filled.context(question, conversation=here.id))
    assert [boat in message["content"] for message in messages] == [True, False]
    assert [message["content"].count(question) for message in messages] == [0, 1]


# Whose turns


@pytest.mark.directory
def test_a_context_has_no_turn_of_another_agent_or_workspace(home: Home, location: str) -> None:
    talked(home.agent("ben"), ("Ben", "The sailing boat lies in Cascais."))
    talked(home.agent("ben"), ("Ben", "The sailing boat has a leak."), end=False)
    home.agent("ben").remember("Never lend the sailing boat")
    command = "where does the sailing boat lie?"
    assert home.agent("ana").context(command).text == ""
    if not location.endswith(".db"):
        talked(home.agent("ana", "other"), ("Ana", "The sailing boat lies in Porto."))
        home.agent("ana", "other").remember("Never lend the sailing boat")
        assert home.agent("ana").context(command).text == ""


def test_past_conversations_of_the_shared_agent_are_shown_and_running_ones_are_not(home: Home) -> None:
    shared = home.agent("_shared")
    talked(shared, ("Ben", "The sailing boat lies in Cascais."))
    talked(shared, ("Ben", "The sailing boat is stolen."), end=False)
    assert earlier(home.agent("ana"), "where does the sailing boat lie?") == ["The sailing boat lies in Cascais."]
    assert "The sailing boat is stolen." in shared.context("where does the sailing boat lie?").text


def test_turns_below_the_least_origin_of_the_profile_are_left_out(location: str, clock: FixedClock) -> None:
    settings = Settings(embedder=EmbedderSettings(kind="none"), profiles={"default": Profile()})
    with recollect.open(location, settings=settings, clock=clock) as home:
        mem = home.agent("ana")
        talk = mem.conversations.start()
        talk.append(
            [
                Event(type=EventType.USER, content="The sailing boat lies in Cascais."),
                Event(type=EventType.USER, content="The sailing boat is for sale.", payload={"origin": "external"}),
            ]
        )
        talk.archive()
        mem.conversations.start().user("Good morning")
        assert "user: The sailing boat is for sale. (2026-01-01, external)" in mem.context("the sailing boat").text
    settings = replace(settings, profiles={"default": Profile(min_origin=Origin.AGENT)})
    with recollect.open(location, settings=settings, clock=clock) as home:
        assert earlier(home.agent("ana"), "the sailing boat") == ["The sailing boat lies in Cascais."]


# Curated text before transcript


@pytest.mark.parametrize("name", ["deploy day", None])
@pytest.mark.parametrize("category", ["decisions", None])
def test_a_note_is_shown_although_the_last_session_quotes_it(mem: Memory, name: str | None, category: str) -> None:
    mem.remember("Wednesdays" if name else "deploy day: Wednesdays", name=name, category=category)
    talk = mem.conversations.start()
    talk.user("Is this still our deploy day: Wednesdays?")
    talk.assistant("Yes. We deploy on Wednesdays. I will plan the next deploy.")
    talk.end()
    assert "- deploy day: Wednesdays (2026-01-01, agent)\n" in mem.context("plan the next deploy").text


def test_a_hand_off_does_not_repeat_what_an_entry_states(mem: Memory) -> None:
    mem.remember("The web shop is deployed on Tuesdays at ten.")
    talk = mem.conversations.start()
    talk.user("Where are we with the shop?")
    talk.assistant("The tests are green. The web shop is deployed on Tuesdays at ten. Ana is informed.")
    talk.end()
    block = mem.context("when is the web shop deployed?").text
    assert "- The web shop is deployed on Tuesdays at ten. (2026-01-01, agent)\n" in block
    assert "The tests are green. … Ana is informed." in block
    assert block.count("on Tuesdays at ten") == 1


def test_a_short_reply_to_a_message_that_entries_state_is_left_out_with_it(mem: Memory) -> None:
    mem.remember("The web shop is deployed on Tuesdays at ten.", category="decisions")
    talk = mem.conversations.start()
    talk.user("The web shop is deployed on Tuesdays at ten.")
    talk.assistant("Understood.")
    talk.user("Is the gate painted?")
    talk.assistant("Yes.")
    talk.end()
    (session,) = mem.context("when is the shop deployed?").section("Last Session")
    assert session.text.splitlines() == ["…", "[User]: Is the gate painted?", "[Agent]: Yes."]


def test_a_last_session_that_entries_state_in_full_is_left_out(mem: Memory) -> None:
    mem.remember("The web shop is deployed on Tuesdays at ten.", category="decisions")
    talk = mem.conversations.start()
    talk.user("The web shop is deployed on Tuesdays at ten.")
    talk.end()
    assert [section.name for section in mem.context("when is the shop deployed?").sections] == ["Relevant Decisions"]


@pytest.mark.directory
def test_what_was_written_since_the_last_context_is_in_the_next_one(home: Home) -> None:
    mem, shared = home.agent("ana"), home.agent("_shared")
    assert mem.context("paint the gate").text == ""
    mem.remember("- [ ] Buy paint for the gate", category="tasks")
    assert "Buy paint" in mem.context("paint the gate").text
    shared.remember("- [ ] Ask Rui", category="tasks")
    assert "Ask Rui" in mem.context("paint the gate").text
    mem.remember("Everything is dry.", category="handoffs")
    assert "Everything is dry." in mem.context("paint the gate").text
    mem.remember("We paint at noon, never at night.", scope="account")
    assert "never at night" in mem.context("paint the gate").text
    mem.forget(mem.list(category="tasks")[0].id)
    assert "Buy paint" not in mem.context("paint the gate").text
    assert "Buy paint" not in home.agent("ben").context("paint the gate").text


def test_a_block_says_in_one_line_that_nothing_answers(mem: Memory) -> None:
    mem.set_project("A harbour.")
    mem.remember("The bakery opens at seven")
    found = mem.context("which hospital treated the volcano researcher?")
    assert not found.answered
    assert found.text.splitlines()[:3] == [
        "## MEMORY CONTEXT",
        "Nothing stored seems to answer this command.",
        "Project:",
    ]


def test_the_same_memory_and_command_give_the_same_bytes_in_another_process(location: str, clock: FixedClock) -> None:
    command = "where does the sailing boat lie?"
    blocks = set()
    for attempt in range(3):
        with recollect.open(location, clock=clock) as home:
            mem = home.agent("ana")
            if not attempt:
                mem.set_project("A harbour.")
                for number in range(5):
                    mem.remember(f"The sailing boat number {number} lies at pier four")
                    talked(mem, ("Ana", f"The sailing boat of Rui lies at pier {number}."))
            blocks |= {mem.context(command).text, mem.context(command).text}
    assert len(blocks) == 1


def test_what_does_not_depend_on_the_command_begins_the_block(mem: Memory) -> None:
    mem.set_project("A harbour.")
    talked(mem, ("Ana", "The boats are in the water."))
    mem.remember("The bakery opens at seven", category="decisions")
    mem.remember("The gate is painted blue", category="decisions")
    blocks = [mem.context(command).text for command in ("when does the bakery open?", "the colour of the gate")]
    beginnings = {block[: block.index("Relevant Decisions:")] for block in blocks}
    assert len(beginnings) == 1
    assert "A harbour." in blocks[0][: len(beginnings.pop())]


def test_a_context_embeds_its_command_once(location: str, clock: FixedClock) -> None:
    class Counted(HashEmbedder):
        asked = 0

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.asked += list(texts).count("where does the boat lie?")
            return super().embed(texts)

    embedder = Counted()
    with recollect.open(location, clock=clock, embedder=embedder) as home:
        mem = home.agent("ana")
        mem.remember("The boat lies in Cascais")
        mem.remember("We keep the boat", category="decisions")
        talked(mem, ("Caroline", "The boat lies at pier four."), ("Melanie", "Nice."))
        assert "Cascais" in mem.context("where does the boat lie?").text
    assert embedder.asked == 1
