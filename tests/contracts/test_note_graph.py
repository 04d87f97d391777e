"""The graph of notes: links, evidence, successors and shared names, on both databases, and nothing of another agent."""

from recollect import FixedClock, Home, Memory

DAY = 86_400_000


def test_links_evidence_and_successors_connect_notes(mem: Memory, clock: FixedClock) -> None:
    office = mem.remember("Lisbon, third floor.", name="office")
    clock.advance(DAY)
    route = mem.remember("Take the tram to the [[office|place]].")
    clock.advance(DAY)
    summary = mem.remember("Commuting works well.", evidence=[f"entry:{route.id}"])
    clock.advance(DAY)
    moved = mem.supersede("office", "Porto, ground floor.")
    found = mem.graph()
    assert {one.id for one in found.nodes} == {office.id, route.id, summary.id, moved.id}
    assert {one.id: one.past for one in found.nodes}[office.id] is True
    stated = {(one.source, one.target, one.kind) for one in found.edges if one.kind != "name"}
    assert (office.id, moved.id, "successor") in stated
    assert (summary.id, route.id, "evidence") in stated
    assert {target for source, target, kind in stated if kind == "link" and source == route.id} <= {office.id, moved.id}
    assert any(kind == "link" for _, _, kind in stated)


def test_a_name_connects_the_notes_that_share_it_unless_they_are_many(mem: Memory, clock: FixedClock) -> None:
    def note(text: str, tag: str) -> str:
        clock.advance(DAY)
        return mem.remember(text, tags=[tag]).id

    first, second = note("Crates arrive in spring.", "harbour"), note("Ropes were ordered twice.", "harbour")
    edges = [one for one in mem.graph().edges if one.name == "harbour"]
    assert [(one.source, one.target, one.kind) for one in edges] == [(second, first, "name")]
    for number in range(8):
        note(f"Delivery {number * 7919} was checked.", "harbour")
    assert not [one for one in mem.graph().edges if one.name == "harbour"]


def test_the_newest_notes_are_taken_and_the_rest_is_counted(mem: Memory, clock: FixedClock) -> None:
    for text in ("Crates arrive in spring.", "Ropes were ordered twice.", "Lamps burn at night."):
        mem.remember(text)
        clock.advance(DAY)
    found = mem.graph(limit=2)
    assert [one.title for one in found.nodes] == ["Lamps burn at night.", "Ropes were ordered twice."]
    assert found.left_out == 1


def test_nothing_of_another_agent_is_in_it(mem: Memory, home: Home) -> None:
    other = home.agent("somebody-else")
    secret = other.remember("The vault code is 4711.", name="code", tags=["harbour"])
    mine = mem.remember("Ask for the [[code]].", tags=["harbour"], evidence=[f"entry:{secret.id}"])
    found = mem.graph()
    assert [one.id for one in found.nodes] == [mine.id]
    assert (found.edges, found.left_out) == ((), 0)
