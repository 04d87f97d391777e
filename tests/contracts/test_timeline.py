"""The timeline: what was written and said in a span of time, on both databases, and nothing of another agent."""

import pytest

from recollect import FixedClock, Home, Invalid, Memory

DAY = 86_400_000


def test_notes_and_conversations_are_counted_and_listed_by_time(mem: Memory, clock: FixedClock) -> None:
    start = clock.now()
    office = mem.remember("The office is in Lisbon.", name="office")
    clock.advance(DAY)
    mem.conversations.start().user("Where is the office?")
    clock.advance(9 * DAY)
    moved = mem.supersede("office", "The office is in Porto.")
    found = mem.timeline(buckets=10)
    assert (found.first, found.last) == (start, start + 10 * DAY)
    assert [(one.entries, one.conversations) for one in found.buckets] == [(1, 1), (1, 0)]
    assert found.items is not None
    assert [(one.kind, one.at) for one in found.items] == [
        ("entry", start),
        ("conversation", start + DAY),
        ("entry", start + 10 * DAY),
    ]
    assert found.items[1].title == "Where is the office?"
    first = next(one for one in found.items if one.id == office.id)
    assert (first.superseded_by, first.until) == (moved.id, start + 10 * DAY)


def test_pieces_of_conversations_are_neither_in_the_timeline_nor_in_the_graph(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.user("Where is the ladder?")
    talk.assistant("It is in the shed.")
    talk.end()
    assert mem.list()  # its chunks and its hand-off
    found = mem.timeline()
    assert [one.kind for one in found.items or ()] == ["conversation"]
    assert sum(one.entries for one in found.buckets) == 0
    assert mem.graph().nodes == ()


def test_items_are_listed_only_if_they_are_few(mem: Memory, clock: FixedClock) -> None:
    for number in range(5):
        mem.remember(f"Note number {number} about something else entirely: {number * 7919}")
        clock.advance(DAY)
    assert mem.timeline(limit=4).items is None
    assert sum(one.entries for one in mem.timeline(limit=4).buckets) == 5
    assert len(mem.timeline(limit=5).items or ()) == 5


def test_a_span_has_what_was_written_in_it_and_what_holds_in_it(mem: Memory, clock: FixedClock) -> None:
    start = clock.now()
    mem.remember("The fair takes place in hall 3.", valid_from=start + 20 * DAY, valid_until=start + 30 * DAY)
    mem.remember("Tuesdays are for releases.")
    found = mem.timeline(since=start + 25 * DAY, until=start + 26 * DAY)
    assert [one.title for one in found.items or ()] == ["The fair takes place in hall 3."]
    assert found.buckets == ()
    assert mem.timeline(since=start + 40 * DAY, until=start + 41 * DAY).items == ()


def test_an_empty_memory_has_an_empty_timeline(mem: Memory) -> None:
    found = mem.timeline()
    assert (found.first, found.last, found.buckets, found.items) == (None, None, (), ())


def test_a_timeline_that_ends_before_the_first_item_is_empty(mem: Memory, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays.")
    found = mem.timeline(until=clock.now() - 1)
    assert (found.items, found.buckets) == ((), ())
    assert found.since < found.until


def test_bad_bounds_are_refused(mem: Memory) -> None:
    with pytest.raises(Invalid, match="`since` must be before `until`"):
        mem.timeline(since=2, until=1)
    with pytest.raises(Invalid, match="buckets must be 1 to 2000"):
        mem.timeline(buckets=0)


@pytest.mark.directory
def test_nothing_of_another_agent_is_on_it(mem: Memory, home: Home) -> None:
    other = home.agent("somebody-else")
    other.remember("The vault code is 4711.")
    other.conversations.start().user("The vault code is 4711.")
    found = mem.timeline()
    assert (found.buckets, found.items) == ((), ())
