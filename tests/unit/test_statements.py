"""Decisions, lessons, rules and preferences by their words: statements of all speakers, or lines with a keyword."""

from collections.abc import Callable

import pytest

from recollect import statements
from recollect.statements import Insights


def insights(
    lines: list[str], wide: bool = False, known: Callable[[str, str], bool] = lambda category, line: False
) -> Insights:
    """What the agent's lines give by their keywords."""
    turns = [("assistant", line) for line in lines]
    return statements.insights(turns, wide=wide, known=known, by="keywords")


# By keywords

DECISIONS = [
    "They decided on Friday",
    "She chose the blue gate",
    "We will use apsw for it",
    "A decisão é esta, amigos",
    "Escolhemos o portão azul",
    "Nós optamos pelo azul aqui",
    "Adotamos o apsw no porto",
    "Vamos usar o apsw no porto",
    "They went with the blue one",
    "We settled on Friday noon",
]
LESSONS = [
    "I learned it the hard way",
    "It is IMPORTANT to wait",
    "Note: the gate is shut",
    "Aprendemos com o portão",
    "É importante esperar aqui",
    "Uma lição para o porto",
    "What a discovery it was",
    "One insight of the day",
    "Descobrimos o erro no log",
    "As observed in the log",
]


@pytest.mark.parametrize("line", DECISIONS)
def test_each_word_of_a_decision_makes_one(line: str) -> None:
    assert insights([line]) == Insights((line,), ())


@pytest.mark.parametrize("line", LESSONS)
def test_each_word_of_a_lesson_makes_one(line: str) -> None:
    assert insights([line]) == Insights((), (line,))


def test_letters_that_come_in_two_characters_are_the_same_words() -> None:
    assert insights(["A decisa\u0303o é esta, amigos", "Uma lic\u0327a\u0303o para o porto"]) == Insights(
        ("A decisa\u0303o é esta, amigos",), ("Uma lic\u0327a\u0303o para o porto",)
    )


@pytest.mark.parametrize(
    "line", ["The undecided voters went home", "He is chosen for the job", "We will useful things", "A footnote: shut"]
)
def test_a_word_inside_another_makes_none(line: str) -> None:
    assert insights([line]) == Insights((), ())


def test_the_wide_words_count_only_when_they_are_asked_for() -> None:
    lines = ["A recomendação é esperar", "A stack principal é Python", "O risco é o portão azul"]
    assert insights(lines) == Insights((), ())
    assert insights(lines, wide=True) == Insights(tuple(lines[:2]), tuple(lines[2:]))
    assert insights([*DECISIONS, *LESSONS], wide=True) == insights([*DECISIONS, *LESSONS])


def test_only_lines_longer_than_fifteen_characters_count() -> None:
    assert insights(["  We decided that  ", "We decided that."]).decisions == ("We decided that.",)
    assert insights(["short\n- We chose the red gate\nshort"]).decisions == ("- We chose the red gate",)


def test_there_are_at_most_ten_of_each_and_the_first_ones_stay() -> None:
    decided = [f"We decided thing number {n}, an important one" for n in range(15)]
    noted = [f"Note: the gate number {n} is shut" for n in range(15)]
    assert insights([*decided, *noted]) == Insights(tuple(decided[:10]), tuple(noted[:10]))


def test_a_line_with_words_of_both_kinds_is_a_decision_and_nothing_else() -> None:
    assert insights(["Important: we decided on granite."]) == Insights(("Important: we decided on granite.",), ())


def test_what_is_known_is_left_out_and_makes_room_for_more() -> None:
    lines = [f"We decided thing number {n}." for n in range(15)]
    asked: list[tuple[str, str]] = []

    def known(category: str, line: str) -> bool:
        asked.append((category, line))
        return line in lines[:10]

    assert insights(lines, known=known) == Insights(tuple(lines[10:]), ())
    assert asked[0] == ("decisions", lines[0])


@pytest.mark.parametrize(
    "content",
    [
        "```python\nresult = decide(important=True)\n```",
        "~~~\nwe decided to loop here\n~~~",
        "Run this:\n\n    if decided: note: important\n    observe(the_gate)\n",
        "| Option | Note: important |\n|---|---|\n| granite | decided on it |",
        "Option | Decided on | Important\n--- | --- | ---",
        "> We decided on marble, said the mail.",
        "Call `decide(important)` on the object.",
        "Let me see what is important here.",
        "OK, let me check which database they decided on",
        "Now I'll look at the important files first.",
        "Let me know if this is important to you!",
        "Vou verificar o que é importante aqui.",
    ],
)
def test_code_tables_quotes_and_announcements_state_nothing(content: str) -> None:
    assert insights([content], wide=True) == Insights((), ())


@pytest.mark.parametrize(
    "line",
    [
        "Let me see. We decided on granite.",
        "Let me check: we decided on granite.",
        "We decided to use `granite` for the quay.",
        "We decided on A | B for the quay.",
        "I will use granite, it is decided.",
    ],
)
def test_what_is_stated_beside_code_or_an_announcement_counts(line: str) -> None:
    assert insights([line]).decisions == (line,)


def test_what_is_indented_below_an_item_is_no_code() -> None:
    content = "- The quay\n\n    - We decided on granite.\n      Note: it is heavy.\n"
    assert insights([content]) == Insights(("- We decided on granite.",), ("Note: it is heavy.",))


def test_the_same_line_counts_once_however_it_is_spaced_and_cased() -> None:
    lines = ["We decided on Friday", "we  decided on FRIDAY", "We decided on Monday"]
    assert insights(lines).decisions == ("We decided on Friday", "We decided on Monday")


def test_a_long_line_is_cut_to_three_hundred_characters_that_hold_its_words() -> None:
    assert insights(["We decided " + "a" * 1000]).decisions == ("We decided " + "a" * 289,)
    (late,) = insights(["It rains. " * 100 + "Then we decided on Friday. " + "It rains. " * 100]).decisions
    assert late.startswith("Then we decided on Friday. It rains.")
    (run,) = insights(["a" * 1000 + " decided " + "b" * 1000]).decisions
    assert len(run) == 300
    assert " decided " in run


# By sentences


def of_user(*lines: str) -> Insights:
    return statements.insights([("user", line) for line in lines])


def of_agent(*lines: str) -> Insights:
    return statements.insights([("assistant", line) for line in lines])


@pytest.mark.parametrize(
    "line",
    [
        "We decided to deploy on Wednesdays instead of Tuesdays",
        "From now on use pnpm, never npm",
        "We use pnpm, never npm.",
        "Always run the linter before a commit.",
        "Never push to main directly.",
        "Always answer in Portuguese here.",
        "I prefer tabs over spaces.",
        "Let's go with SQLite for the cache.",
        "Please don't commit generated files.",
        "OK, from now on answer in English.",
        "Decidimos usar o PostgreSQL no porto.",
        "A partir de agora usamos pnpm.",
        "Prefiro respostas curtas, por favor.",
        "Wir haben uns für PostgreSQL entschieden.",
        "Ab sofort deployen wir nur mittwochs.",
        "De ahora en adelante usamos pnpm.",
        "Nunca hagas un deploy los viernes.",
    ],
)
def test_decisions_rules_and_preferences_of_the_user_are_taken(line: str) -> None:
    assert of_user(f"Good morning. {line}") == Insights((line,), ())


@pytest.mark.parametrize(
    "line",
    [
        "We decided to use PostgreSQL for the harbour office.",
        "We chose the red gate for the harbour.",
        "We will use apsw for the harbour office.",
        "We went with granite for the quay.",
        "The team settled on Friday noon.",
        "A decisão é esperar o motor novo.",
        "Escolhemos o portão azul do porto.",
        "Optamos pelo granito no cais.",
        "Adotamos o apsw no porto.",
        "Vamos usar o apsw no porto.",
    ],
)
def test_decisions_of_the_agent_are_taken(line: str) -> None:
    assert of_agent(line) == Insights((line,), ())


@pytest.mark.parametrize(
    "line",
    [
        "We learned that the gate jams in the cold.",
        "Note: the gate must stay shut at night.",
        "Important: the crane needs 400 volts.",
        "Root cause: the pool of connections was exhausted.",
        "It turned out that the fuse was broken.",
        "Aprendemos que o portão trava no frio.",
        "Lição: o portão trava no frio.",
        "Descobrimos que o motor estava partido.",
        "Wichtig: das Tor bleibt nachts zu.",
        "Lesson: the crane fails below zero degrees.",
        "I learned that the sandbox rejects amounts below 50 cents.",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_lessons_of_both_are_taken(role: str, line: str) -> None:
    assert statements.insights([(role, line)]) == Insights((), (line,))


@pytest.mark.parametrize(
    "line",
    [
        "Have we decided to deploy on Wednesdays?",
        "Which database did we settle on, by the way",
        "Maybe we decided too early on granite.",
        "We haven't decided on granite.",
        "They decided to leave the harbour.",
        "It was decided by the others.",
        "We decided to do it.",
        "Let's go with that one.",
        "Let's go with option B for the gate.",
        "Let's keep working hard!",
        "I prefer it that way.",
        "Never saw such a gate before.",
        "Always happy to help with the gate.",
        "Don't push the branch yet.",
        "Don't touch this file, please.",
        "> We decided to use granite for the quay.",
        'The mail says "We decided to use granite for the quay".',
        "| We decided | to use | granite |",
        "# We decided to use granite",
        "```\nwe decided to use granite\n```",
        "Run `git commit -m 'we decided to use granite'` now.",
        "Let me see what we decided on.",
        "You are a careful agent. Always answer in JSON. Never mention the weather.",
    ],
)
def test_what_states_nothing_alone_is_not_taken_from_the_user(line: str) -> None:
    assert of_user(line) == Insights((), ())


@pytest.mark.parametrize(
    "line",
    [
        "I'll use grep to find the gate.",
        "I decided to read the file first.",
        "It's important to keep your gate shut.",
        "Note: replace the key with your own.",
        "I always run the tests before a commit.",
        "Always keep the gate shut at night.",
        "You decided to use granite for the quay.",
        "We decided to revisit [the aspect] later.",
    ],
)
def test_advice_and_steps_of_the_agent_are_not_taken(line: str) -> None:
    assert of_agent(line) == Insights((), ())


def test_only_the_sentence_is_taken_from_a_paragraph_and_from_a_list() -> None:
    talk = (
        "It rains. We decided to use granite for the quay. The wind is strong.\n\n1. **Decision:** the gate stays blue"
    )
    assert of_agent(talk).decisions == ("We decided to use granite for the quay.", "Decision: the gate stays blue")


def test_a_sentence_is_stored_once_and_what_the_agent_repeats_is_the_users() -> None:
    said = "We decided to deploy on Wednesdays instead of Tuesdays."
    found = statements.insights(
        [
            ("user", said),
            ("assistant", "Got it: we decided to deploy on Wednesdays instead of Tuesdays from now on."),
            ("user", f"Note: {said.lower()}"),
            ("user", said.upper()),
        ]
    )
    assert found == Insights((said, f"Note: {said.lower()}"), ())


@pytest.mark.parametrize(
    "recalled",
    [
        "## MEMORY CONTEXT\nRelevant Decisions:\n- We decided to use granite.\n\nProject:\nAlways wear a helmet.\n---",
        "Remembered, and perhaps of use here:\n- We decided to use granite for the quay.\n  Never use marble for it.",
        "We decided to use granite for the quay. (2026-03-02, conversation)",
        "<system-reminder>\nAlways wear a helmet at the quay.\nWe decided to use granite.\n</system-reminder>",
        "# Orientation\n\n## Relevant Notes\n\n- We decided to use granite for the quay.\n",
        "[INJECTED] Always wear a helmet at the quay.",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_was_recalled_or_inserted_is_not_taken(role: str, recalled: str) -> None:
    assert statements.insights([(role, recalled)]) == Insights((), ())


def test_what_the_user_says_below_a_recalled_block_is_taken() -> None:
    block = (
        "## MEMORY CONTEXT\nRelevant Decisions:\n- We decided to use granite.\n---\nFrom now on use pnpm, never npm."
    )
    assert of_user(block).decisions == ("From now on use pnpm, never npm.",)
    assert of_user(f"<context>\nNever say no.\n</context>\n{DECISIONS[5]}.").decisions == (f"{DECISIONS[5]}.",)


def test_a_sentence_of_a_prompt_is_not_taken_from_a_turn() -> None:
    rule = "Never deploy to the harbour on a Friday."
    assert statements.insights([("system", f"Be brief. {rule}"), ("user", rule)]) == Insights((), ())


def test_of_a_pasted_document_only_the_ends_are_read() -> None:
    page = "Always wear a helmet at the quay.\n\n" * 200
    found = of_user(f"From now on follow these rules.\n\n{page}\n\nNever paste a document again.").decisions
    assert found == ("From now on follow these rules.", "Never paste a document again.")


def test_a_long_sentence_is_cut_between_words() -> None:
    (whole,) = of_user("We decided to use granite " + "and granite of the harbour " * 20).decisions
    assert len(whole) <= 300
    assert whole.endswith(("granite …", "and …", "of …", "the …", "harbour …"))


def test_next_steps_are_the_last_sentences_about_what_is_left() -> None:
    talk = [
        ("user", "Tomorrow we paint the gate. Is the crane next?"),
        ("assistant", "The crane is done. Next step: order the motor. We still need to test the gate."),
    ]
    assert statements.next_steps(talk, 2) == ["Next step: order the motor.", "We still need to test the gate."]
