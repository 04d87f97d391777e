"""What holds, what held, and since when: superseded and retracted entries on every database."""

from pathlib import Path

import pytest

import recollect
from recollect import Conflict, Denied, FixedClock, Home, Invalid, Memory, NotFound
from recollect.model.entry import State

DAY = 86_400_000


def contents(hits: list[recollect.Hit]) -> list[str]:
    return [hit.entry.content for hit in hits]


def test_a_successor_takes_the_name_and_the_old_entry_stays_readable(mem: Memory, clock: FixedClock) -> None:
    old = mem.remember("We deploy on Tuesdays", name="deploy day", category="decisions", tags=["ops"])
    mem.apply(recollect.Alias("deploy day", "release day"))
    clock.advance(60 * DAY)
    new = mem.supersede("deploy day", "We deploy on Wednesdays", why="the team asked for it")
    assert mem.get("deploy day").content == mem.get("release day").content == "We deploy on Wednesdays"
    assert (new.category, new.tags, new.valid_from) == ("decisions", ("ops",), clock.now())
    past = mem.get(old.id)
    assert (past.content, past.name) == ("We deploy on Tuesdays", None)
    assert (past.superseded_by, past.valid_until, past.closed_at) == (new.id, clock.now(), clock.now())
    assert past.state_at(clock.now()) is State.SUPERSEDED


def test_recall_and_list_give_what_is_current(mem: Memory, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day")
    clock.advance(DAY)
    mem.supersede("deploy day", "We deploy on Wednesdays")
    gone = mem.remember("Deploys need two reviewers")
    mem.retract(gone.id)
    assert contents(mem.recall("deploy")) == ["We deploy on Wednesdays"]
    assert [entry.content for entry in mem.list()] == ["We deploy on Wednesdays"]
    found = mem.recall("deploy", include_past=True)
    assert {hit.entry.content: hit.state for hit in found} == {
        "We deploy on Wednesdays": State.CURRENT,
        "We deploy on Tuesdays": State.SUPERSEDED,
        "Deploys need two reviewers": State.RETRACTED,
    }
    assert len(mem.list(include_past=True)) == 3


def test_as_of_gives_what_held_and_was_known_then(mem: Memory, clock: FixedClock) -> None:
    march = clock.now()
    mem.remember("We deploy on Tuesdays", name="deploy day")
    clock.advance(30 * DAY)
    april = clock.now()
    clock.advance(30 * DAY)
    mem.supersede("deploy day", "We deploy on Wednesdays", since=april - DAY)
    may = clock.now()
    clock.advance(30 * DAY)
    assert contents(mem.recall("when do we deploy", as_of=april)) == ["We deploy on Tuesdays"]
    assert contents(mem.recall("when do we deploy", as_of=may)) == ["We deploy on Wednesdays"]
    assert [entry.content for entry in mem.list(as_of=april)] == ["We deploy on Tuesdays"]
    assert mem.recall("when do we deploy", as_of=march - 1) == []


def test_an_entry_expires_with_its_validity(mem: Memory, clock: FixedClock) -> None:
    mem.remember("The code freeze is on", valid_until=clock.now() + DAY)
    assert contents(mem.recall("code freeze")) == ["The code freeze is on"]
    clock.advance(2 * DAY)
    assert mem.recall("code freeze") == []
    (hit,) = mem.recall("code freeze", include_past=True)
    assert hit.state is State.EXPIRED


def test_a_date_in_the_text_sets_the_validity_and_the_entry_shows_it(mem: Memory, clock: FixedClock) -> None:
    clock.set(1_773_187_200_000)  # 2026-03-11
    stated = mem.remember("The code freeze lasts until Friday")
    assert (stated.valid_from, stated.validity_inferred) == (None, True)
    assert stated.valid_until == 1_773_446_400_000  # the end of 2026-03-13
    assert not mem.remember("The code freeze lasts", valid_until=clock.now() + DAY).validity_inferred
    assert mem.get(stated.id) == stated


@pytest.mark.parametrize("rewrite", ["write", "upsert"])
def test_a_validity_read_from_a_text_goes_with_that_text(
    mem: Memory, home: Home, clock: FixedClock, rewrite: str
) -> None:
    mem.upsert("freeze", "The code freeze lasts until Friday")

    def put(content: str) -> recollect.Entry:
        if rewrite == "upsert":
            return mem.upsert("freeze", content)
        return mem.apply(recollect.Write("freeze", content=content))

    lifted = put("The code freeze is over")
    assert (lifted.valid_until, lifted.validity_inferred) == (None, False)
    again = put("The code freeze lasts until Friday")
    assert again.valid_until == 1_767_398_400_000  # the end of 2026-01-02
    assert again.validity_inferred
    given = mem.apply(recollect.Write("freeze", valid_until=clock.now() + 30 * DAY))
    assert (given.valid_until, given.validity_inferred) == (clock.now() + 30 * DAY, False)
    kept = put("The code freeze lasts until Saturday")
    assert (kept.valid_until, kept.validity_inferred) == (given.valid_until, False)
    assert mem.get("freeze") == kept
    clock.advance(10 * DAY)
    assert [hit.entry.name for hit in mem.recall("code freeze", limit=1)] == ["freeze"]
    assert not home.check().findings


def test_upsert_keeps_the_old_value_as_superseded(mem: Memory, clock: FixedClock) -> None:
    first = mem.upsert("staging port", "5432")
    clock.advance(DAY)
    before = clock.now() - 1
    second = mem.upsert("staging port", "5433")
    assert second.id == first.id
    assert mem.upsert("staging port", "5433").content == "5433"
    past = [entry for entry in mem.list(include_past=True) if entry.superseded_by == first.id]
    assert [(entry.content, entry.valid_until) for entry in past] == [("5432", clock.now())]
    assert [entry.content for entry in mem.list()] == ["5433"]
    assert [entry.content for entry in mem.list(as_of=before)] == ["5432"]


def test_restore_undoes_a_supersession(mem: Memory, clock: FixedClock) -> None:
    old = mem.remember("We deploy on Tuesdays", name="deploy day")
    mem.apply(recollect.Alias("deploy day", "release day"))
    clock.advance(DAY)
    new = mem.supersede("deploy day", "We deploy on Wednesdays")
    again = mem.restore("deploy day")
    assert (again.id, again.name, again.closed_at, again.valid_until) == (old.id, "deploy day", None, None)
    assert mem.get("release day").id == old.id
    assert contents(mem.recall("deploy")) == ["We deploy on Tuesdays"]
    assert [one.entry.id for one in mem.trash()] == [new.id]


def test_restore_undoes_a_retraction(mem: Memory, clock: FixedClock) -> None:
    old = mem.remember("We deploy on Tuesdays", name="deploy day", valid_until=clock.now() + 9 * DAY)
    mem.retract("deploy day")
    assert mem.restore("deploy day").valid_until == old.valid_until
    assert contents(mem.recall("deploy")) == ["We deploy on Tuesdays"]


def test_former_values_go_to_the_trash_with_their_note_and_come_back_with_it(
    mem: Memory, home: Home, clock: FixedClock
) -> None:
    mem.upsert("staging port", "port 5431")
    for port in ("port 5432", "port 5433"):
        clock.advance(DAY)
        note = mem.upsert("staging port", port)
    first = next(one for one in mem.list(include_past=True) if one.content == "port 5431")
    mem.forget(first.id)
    clock.advance(DAY)
    mem.forget("staging port")
    assert mem.recall("port", include_past=True) == []
    assert mem.recall("port", as_of=clock.now() - 2 * DAY) == []
    assert mem.list(include_past=True) == []
    assert [one.after.get("content") for one in mem.history(note.id)[:2]] == ["port 5431", "port 5432"]
    assert [one.entry.content for one in mem.trash()] == ["port 5433", "port 5432", "port 5431"]
    assert home.agent("ben").trash() == []
    assert mem.restore("staging port").id == note.id
    # What was forgotten before stays in the trash.
    assert contents(mem.recall("port", include_past=True)) == ["port 5433", "port 5432"]
    assert [one.entry.id for one in mem.trash()] == [first.id]
    assert contents(mem.recall("port", as_of=clock.now() - 2 * DAY)) == ["port 5432"]
    assert home.check().findings == ()


def test_more_former_values_than_a_page_of_the_log_come_back(mem: Memory, clock: FixedClock) -> None:
    for number in range(205):
        clock.advance(1_000)
        mem.upsert("build", f"number {number}")
    mem.forget("build")
    assert mem.list(include_past=True) == []
    mem.restore("build")
    assert len(mem.list(include_past=True, limit=1_000)) == 205
    assert mem.trash() == []


def test_an_entry_that_was_superseded_stays_when_its_successor_is_forgotten(mem: Memory) -> None:
    mem.remember("We deploy on Fridays", name="deploy day")
    mem.supersede("deploy day", "We deploy on Tuesdays")
    mem.forget("deploy day")
    assert contents(mem.recall("deploy", include_past=True)) == ["We deploy on Fridays"]


def test_a_conversation_that_ends_takes_its_notes_along_with_their_former_values(
    mem: Memory, clock: FixedClock
) -> None:
    talk = mem.conversations.start()
    talk.user("The build takes a while.")
    mem.remember("number 1", name="build", scope="conversation", conversation=talk)
    clock.advance(1_000)
    mem.upsert("build", "number 2")
    talk.end()
    assert "number" not in str(contents(mem.recall("number", include_past=True, conversation=talk)))


def test_restore_leaves_a_note_that_was_upserted_as_it_is(mem: Memory, clock: FixedClock) -> None:
    mem.upsert("staging port", "5432")
    clock.advance(DAY)
    note = mem.upsert("staging port", "5433")
    (former,) = [entry for entry in mem.list(include_past=True) if entry.superseded_by == note.id]
    with pytest.raises(NotFound, match="nothing in the trash"):
        mem.restore("staging port")
    with pytest.raises(Conflict, match=f"upsert that content again.*{note.id}"):
        mem.restore(former.id)
    assert mem.get("staging port") == note
    assert mem.get(former.id) == former
    mem.forget(former.id)
    assert mem.restore(former.id).closed_at == former.closed_at
    mem.forget("staging port")
    assert mem.restore("staging port").id == note.id
    assert mem.trash() == []


def test_restore_undoes_the_supersession_of_a_note_that_was_upserted(mem: Memory, clock: FixedClock) -> None:
    mem.upsert("staging port", "5432")
    clock.advance(DAY)
    note = mem.upsert("staging port", "5433")
    clock.advance(DAY)
    mem.supersede("staging port", "5434")
    clock.advance(DAY)
    mem.upsert("staging port", "5435")
    assert (mem.restore("staging port").id, mem.get("staging port").content) == (note.id, "5433")
    assert [one.entry.content for one in mem.trash()] == ["5435", "5434"]
    mem.retract("staging port")
    assert mem.restore("staging port").content == "5433"


def test_remember_can_supersede(mem: Memory) -> None:
    old = mem.remember("We use npm", category="decisions")
    new = mem.remember("We use pnpm", supersedes=old.id, name="package manager")
    assert (mem.get(old.id).superseded_by, new.name, new.category) == (new.id, "package manager", "decisions")


@pytest.mark.directory
def test_nothing_supersedes_across_the_account_and_a_workspace(mem: Memory, home: Home) -> None:
    here = mem.remember("We use npm", name="package manager")
    everywhere = mem.remember("I like tabs", name="indentation", scope="account")
    with pytest.raises(Invalid, match="omit the scope"):
        mem.remember("We use pnpm", supersedes="package manager", scope="account")
    with pytest.raises(Invalid, match="omit the scope"):
        mem.remember("I like spaces", supersedes="indentation", scope="channel", channel="ops")
    assert {entry.id for entry in mem.list(include_past=True)} == {here.id, everywhere.id}
    assert mem.remember("I like spaces", supersedes="indentation").scope == "account"
    assert mem.remember("We use pnpm", supersedes="package manager", scope="channel", channel="ops").scope == "channel"
    assert mem.get("indentation").content == "I like spaces"


def test_bad_input_changes_nothing(mem: Memory, home: Home, clock: FixedClock) -> None:
    old = mem.remember("We deploy on Tuesdays", name="deploy day", origin="user")
    for wrong, error in (
        (lambda: mem.remember("x", valid_from=10, valid_until=5), Invalid),
        (lambda: mem.supersede("nothing", "x"), NotFound),
        (lambda: mem.supersede("deploy day", "We deploy never", origin="tool"), Denied),
        (lambda: mem.supersede("deploy day", "x", since="no date"), Invalid),
        (lambda: mem.remember("x", origin="nobody"), Invalid),
        (lambda: home.agent("ben").supersede(old.id, "mine now"), NotFound),
        (lambda: home.agent("ben").retract(old.id), NotFound),
    ):
        with pytest.raises(error):
            wrong()
    assert mem.list(include_past=True) == [old]
    new = mem.supersede("deploy day", "We deploy on Wednesdays", origin="user")
    with pytest.raises(Conflict, match="superseded"):
        mem.supersede(old.id, "We deploy on Fridays", origin="user")
    with pytest.raises(Conflict, match="superseded"):
        mem.retract(old.id)
    assert mem.get(old.id).superseded_by == new.id


def test_a_check_finds_superseded_entries_in_order(mem: Memory, home: Home, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day")
    clock.advance(DAY)
    mem.supersede("deploy day", "We deploy on Wednesdays", why="asked for")
    mem.upsert("port", "1")
    mem.upsert("port", "2")
    mem.retract("port")
    mem.restore("port")
    assert list(home.check().findings) == []


def test_recall_leaves_out_what_is_less_trusted(mem: Memory) -> None:
    mem.remember("The user says that the door is red", origin="user")
    mem.remember("A tool says that the door is green", origin="tool")
    mem.remember("A page says that the door is blue", source="web")
    assert len(mem.recall("door")) == 3
    assert len(mem.recall("door", min_origin="tool")) == 2
    assert contents(mem.recall("door", min_origin="agent")) == ["The user says that the door is red"]


@pytest.mark.directory
def test_a_context_and_the_vault_hold_what_is_current(mem: Memory, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day", category="decisions")
    mem.remember("- [ ] tell the team about Tuesdays", name="team", category="tasks")
    clock.advance(DAY)
    mem.supersede("deploy day", "We deploy on Wednesdays")
    mem.retract("team")
    for command in ("", "when do we deploy"):
        block = mem.context(command).text
        assert "Wednesdays" in block
        assert "Tuesdays" not in block
    assert list(mem.numbers("decisions")) == [mem.get("deploy day").id]


def test_a_superseded_note_leaves_its_vault_file(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "home", clock=clock) as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays", name="deploy day", category="decisions")
        clock.advance(DAY)
        mem.supersede("deploy day", "We deploy on Wednesdays")
        home.vault().sync()
        (file,) = (tmp_path / "home").rglob("decisions.md")
        assert "Wednesdays" in file.read_text()
        assert "Tuesdays" not in file.read_text()
        assert len(mem.list()) == 1
        mem.restore("deploy day")
        home.vault().sync()
        assert "Tuesdays" in file.read_text()
        assert [entry.content for entry in mem.list()] == ["We deploy on Tuesdays"]


def test_upkeep_leaves_the_past_alone(mem: Memory, home: Home, clock: FixedClock) -> None:
    for number in range(30):
        mem.upsert("counter", f"The counter is at {number}")
        clock.advance(DAY)
    for _ in range(40):
        clock.advance(10 * DAY)
        assert [run.error for run in home.jobs.run_due() if run.error] == []
    assert len(mem.list(include_past=True)) == 30
    assert [entry.content for entry in mem.list()] == ["The counter is at 29"]


def test_the_past_travels_through_export_and_import(home: Home, mem: Memory, clock: FixedClock, tmp_path: Path) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day", origin="user", evidence=["event:7"])
    clock.advance(DAY)
    mem.supersede("deploy day", "We deploy on Wednesdays", origin="user")
    home.export(tmp_path / "all.jsonl")
    with recollect.open(tmp_path / "other.db", clock=clock) as other:
        other.import_(tmp_path / "all.jsonl")
        there = other.agent(mem.agent)
        assert there.list(include_past=True) == mem.list(include_past=True)
        assert [entry.evidence for entry in there.list(include_past=True)] == [(), ("event:7",)]


def test_an_edit_in_the_vault_keeps_validity_origin_and_evidence(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "home", clock=clock) as home:
        mem = home.agent("ana")
        until = clock.now() + 9 * DAY
        old = mem.remember(
            "We deploy on Tuesdays",
            category="decisions",
            valid_from=clock.now() - DAY,
            valid_until=until,
            origin="user",
            evidence=["event:7"],
        )
        home.vault().sync()
        (file,) = (tmp_path / "home").rglob("decisions.md")
        file.write_text(file.read_text().replace("Tuesdays", "Thursdays"))
        clock.advance(DAY)
        edited = mem.get(old.id)
        assert edited.content == "We deploy on Thursdays"
        for name in ("valid_from", "valid_until", "validity_inferred", "origin", "evidence", "closed_at"):
            assert getattr(edited, name) == getattr(old, name)


def test_the_past_moves_to_another_home(home: Home, mem: Memory, clock: FixedClock, tmp_path: Path) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day", origin="user", evidence=["event:7"])
    clock.advance(DAY)
    mem.supersede("deploy day", "We deploy on Wednesdays", origin="user", why="asked for")
    mem.remember("We deploy on Fridays")
    home.jobs.run("review")
    pairs = [(pair.kind, pair.reason) for pair in mem.review.list()]
    assert pairs
    with recollect.open(tmp_path / "moved.db", clock=clock) as other:
        home.move_to(other)
        there = other.agent(mem.agent)
        assert there.list(include_past=True) == mem.list(include_past=True)
        assert [(pair.kind, pair.reason) for pair in there.review.list()] == pairs
        assert there.restore("deploy day").content == "We deploy on Tuesdays"
