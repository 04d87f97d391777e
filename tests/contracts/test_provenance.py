"""Provenance: where a statement comes from, down to the turn, and nothing of another agent."""

import pytest

from recollect import Add, EventType, FixedClock, Home, Invalid, Memory, NotFound, Origin, Provenance
from recollect.engine.provenance import DEPTH, SIZE

DAY = 86_400_000
DECISION = "We decided to deploy on Tuesdays, because the team is complete then."


def size(source: Provenance) -> int:
    return 1 + sum(map(size, source.made_from))


def depth(source: Provenance) -> int:
    return 1 + max(map(depth, source.made_from), default=0)


def test_a_decision_leads_to_the_turn_in_which_the_user_stated_it(mem: Memory, clock: FixedClock) -> None:
    conv = mem.conversations.start()
    said = conv.user(f"{DECISION}\nIs that clear?")
    clock.advance(DAY)
    conv.assistant(f"Yes:\n{DECISION}")
    (decision,) = conv.end().decisions
    found = mem.provenance(decision.id)
    assert (found.ref, found.origin, found.who) == (f"entry:{decision.id}", Origin.USER, "conversation")
    assert found.conversation == conv.ref_code
    (turn,) = found.made_from
    assert turn == Provenance(
        ref=f"event:{conv.id}:{said.id}",
        origin=Origin.USER,
        who="user",
        at=said.created_at,
        conversation=conv.ref_code,
        seq=said.seq,
        text=f"{DECISION} Is that clear?",
    )


def test_a_shelf_leads_through_the_trash_to_the_turns(mem: Memory, home: Home, clock: FixedClock) -> None:
    for number in range(35):
        conv = mem.conversations.start()
        conv.user("What do you say?")
        conv.assistant(f"We decided to build pier {number}, because the harbour needs it.")
        conv.end()
        clock.advance(DAY)
    home.jobs.run("shelve")
    (shelf,) = mem.list(category="decisions", source="shelve")
    found = mem.provenance(shelf.id)
    assert len(found.made_from) == 15
    assert all(note.in_trash and note.origin is Origin.AGENT for note in found.made_from)
    assert {turn.who for note in found.made_from for turn in note.made_from} == {"assistant"}


def test_what_no_longer_exists_is_named_as_gone(mem: Memory) -> None:
    source = mem.remember("The port is 5433")
    made = mem.remember(
        "Ports are noted", evidence=[f"entry:{source.id}", "file:ana/lessons.md", "event:none:none", "x"]
    )
    mem.forget(source.id, erase=True)
    assert [(one.ref, one.gone, one.text) for one in mem.provenance(made.id).made_from] == [
        (f"entry:{source.id}", True, ""),
        ("file:ana/lessons.md", False, ""),
        ("event:none:none", True, ""),
        ("x", False, ""),
    ]
    with pytest.raises(NotFound):
        mem.provenance("nothing")


def test_an_erased_turn_is_gone(mem: Memory) -> None:
    conv = mem.conversations.start()
    said = conv.user("The password is correct horse battery staple")
    noted = conv.assistant("Noted.")
    note = mem.remember("It was said", evidence=[f"event:{conv.id}:{event.id}" for event in (said, noted)])
    conv.erase(said.seq)
    sources = mem.provenance(note.id).made_from
    assert [(turn.gone, turn.text) for turn in sources] == [(True, ""), (False, "Noted.")]


def test_a_chunk_without_evidence_leads_to_the_events_that_it_covers(mem: Memory) -> None:
    conv = mem.conversations.start()
    first, last = conv.user("Which port?"), conv.assistant("5433.")
    (old,) = mem.remember_many(
        [Add("a chunk", kind="chunk", conversation=conv.id, first_event=first.seq, last_event=last.seq)]
    )
    assert [turn.text for turn in mem.provenance(old.id).made_from] == ["Which port?", "5433."]


def test_depth_and_size_are_limited_and_the_tree_says_what_is_left_out(mem: Memory) -> None:
    ref = mem.remember("note 0").id
    for number in range(1, 20):
        ref = mem.remember(f"note {number}", evidence=[f"entry:{ref}"]).id
    found = mem.provenance(ref)
    assert depth(found) == DEPTH + 1
    conv = mem.conversations.start()
    conv.extend([{"role": "user", "content": f"Line {number}"} for number in range(300)])
    events = [event for event in conv.events() if event.type is EventType.USER]
    many = mem.remember("many", evidence=[f"event:{conv.id}:{events[0].id}..{events[-1].id}", "x"])
    wide = mem.provenance(many.id)
    assert size(wide) <= SIZE + 1
    assert wide.left_out == 300 - SIZE + 1


@pytest.mark.directory
def test_nothing_of_another_agent_or_workspace_is_shown(home: Home, mem: Memory) -> None:
    bob = home.agent("bob")
    secret = bob.remember("The vault code is 4711", name="code")
    conv = bob.conversations.start()
    said = conv.user("The vault code is 4711")
    forged = [f"entry:{secret.id}", f"event:{conv.id}:{said.id}", f"event:{conv.id}:1..9", secret.id]
    made = mem.remember("Look there", evidence=forged)
    found = mem.provenance(made.id)
    assert [(one.gone, one.text, one.conversation, one.at) for one in found.made_from] == [(True, "", None, None)] * 4
    with pytest.raises(NotFound):
        mem.provenance(secret.id)


def test_a_shared_entry_is_shown_without_the_turns_behind_it(home: Home, mem: Memory) -> None:
    shared = home.agent("_shared")
    conv = shared.conversations.start()
    said = conv.user("We deploy on Tuesdays")
    note = shared.remember("We deploy on Tuesdays", evidence=[f"event:{conv.id}:{said.id}"])
    (turn,) = mem.provenance(note.id).made_from
    assert (turn.gone, turn.text) == (True, "")
    (turn,) = shared.provenance(note.id).made_from
    assert turn.text == "We deploy on Tuesdays"


@pytest.mark.directory
def test_another_workspace_shows_nothing_of_this_one(home: Home, mem: Memory, location: str) -> None:
    conv = mem.conversations.start()
    said = conv.user("We deploy on Tuesdays")
    note = mem.remember("We deploy on Tuesdays")
    if location.endswith(".db"):
        with pytest.raises(Invalid):
            home.agent("ana", "elsewhere")
        return
    other = home.agent("ana", "elsewhere")
    made = other.remember("Look there", evidence=[f"entry:{note.id}", f"event:{conv.id}:{said.id}"])
    assert [(one.gone, one.text) for one in other.provenance(made.id).made_from] == [(True, "")] * 2
