"""One ranking over notes and turns, of which only those are read that are due; and the size of a block."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from recollect import text
from recollect.engine import context_block
from recollect.engine.context_filling import BATCH, LEAST, ContextCandidate, UnreadTurn, passage, ranking
from recollect.model.context import EARLIER, NOTES, TASKS, Item, Section

STORE: Any = None


def note(value: float, *, kept: bool = False) -> ContextCandidate:
    return ContextCandidate(value, (Item(text=f"note {value}", entry_id=f"{value}"),), kept=kept)


def turn(value: float, seq: int) -> UnreadTurn:
    return UnreadTurn(value, seq, seq - 1, STORE)


def read(turns: Sequence[UnreadTurn], factor: float = 1.0) -> list[ContextCandidate]:
    """Read turns; those with a number that 3 divides are worth less once their text is known."""
    return [
        ContextCandidate(
            one.value * (1.0 if one.seq % 3 else factor), (Item(text=f"turn {one.seq}"),), one.seq, one.before
        )
        for one in turns
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_notes_and_turns_are_ranked_as_if_all_were_read_first(seed: int, factor: float) -> None:
    chance = random.Random(seed)
    notes = [note(chance.random(), kept=not place) for place in range(chance.randrange(20))]
    turns = [turn(chance.random(), seq) for seq in range(1, chance.randrange(1, 5 * BATCH))]
    everything = sorted([*notes, *read(turns, factor)], key=lambda one: -one.value)
    expected = [one for one in everything if one.value > LEAST * everything[0].value or one.kept]

    assert list(ranking(notes, turns, lambda some: read(some, factor))) == expected


def test_a_turn_is_not_read_before_it_is_due() -> None:
    turns = [turn(1 - seq / 1_000, seq) for seq in range(1, 3 * BATCH)]
    reads: list[int] = []

    def counted(some: Sequence[UnreadTurn]) -> list[ContextCandidate]:
        reads.append(len(some))
        return read(some)

    found = ranking([note(2.0), note(0.95)], turns, counted)
    next(found)
    assert reads == []
    next(found)
    assert reads == [BATCH]
    for _ in range(BATCH - 1):
        next(found)
    assert reads == [BATCH]
    next(found)
    assert reads == [BATCH, BATCH]


def test_turns_that_are_worth_too_little_are_not_read() -> None:
    def never(some: Sequence[UnreadTurn]) -> list[ContextCandidate]:
        raise AssertionError("read")

    found = list(ranking([note(1.0), note(0.01, kept=True)], [turn(LEAST, 1), turn(0.001, 2)], never))

    assert [one.value for one in found] == [1.0, 0.01]


def test_turns_that_reading_leaves_out_do_not_set_the_measure_for_the_others() -> None:
    turns = [turn(1.0, 1), turn(0.1, 2)]

    found = list(ranking([note(0.15)], turns, lambda some: [one for one in read(some) if one.seq == 2]))

    assert [one.value for one in found] == [0.15, 0.1]


def test_the_tokens_of_lines_add_up_to_those_of_the_block() -> None:
    said = [
        Item(text="We moved; staging is on 5433.\n  Really?", at=0, event_id="a", conversation_id="c", speaker="Ana"),
        Item(text="Sim, às três.", at=0, event_id="b", conversation_id="c", speaker="Ben", follows=True),
        Item(text="港口 5433", at=0, event_id="d", conversation_id="c", speaker="Ana"),
    ]
    sections = [
        Section(name=TASKS, items=(Item(text="- [ ] call   Bo", at=0),)),
        Section(name=NOTES, items=(Item(text="x_y <= 5 …", at=0, name="limit", entry_id="e"),)),
        Section(name=EARLIER, items=tuple(said)),
    ]
    sizes = context_block.LineSizes()

    for answered in (True, False):
        block, tokens = context_block.joined([context_block.render(one, sizes) for one in sections], answered)
        assert tokens == text.estimate_tokens(block)
    assert context_block.joined([context_block.render(Section(name=NOTES, items=()))], False) == ("", 0)


@pytest.mark.parametrize("before", [0, 60_000])
@pytest.mark.parametrize("after", [0, 60_000])
def test_the_passage_of_a_turn_of_megabytes_is_the_sentence_that_was_found(before: int, after: int) -> None:
    found = "The staging database listens on port 5433."
    content = f"{'Nothing happened at noon. ' * before}{found} {'Nothing happened at night. ' * after}"

    shown = passage(content, "which port does staging use?")

    assert found in shown
    assert len(shown) <= 600
    assert (shown.startswith("… "), shown.endswith(" …")) == (before > 0, after > 0)
