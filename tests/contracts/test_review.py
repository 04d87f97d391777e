"""Pairs of notes that may not both hold: found by the job `review`, resolved through `mem.review`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from traces import in_tables, left_of

import recollect
from recollect import Add, Conflict, Denied, FixedClock, Home, Invalid, Memory, NotFound, Relation, ReviewPair
from recollect.contradictions import Difference
from recollect.upkeep import review

DAY = 86_400_000


def texts(pairs: Sequence[ReviewPair]) -> list[tuple[str, str, str]]:
    return [(pair.kind, pair.older.content, pair.newer.content) for pair in pairs]


def deploys(mem: Memory, clock: FixedClock) -> None:
    """Two notes that contradict each other, a day apart, and one about something else."""
    mem.remember("We deploy on Tuesdays")
    mem.remember("The mascot of the team is a heron")
    clock.advance(DAY)
    mem.remember("We deploy on Wednesdays")
    clock.advance(DAY)


def found(home: Home, mem: Memory) -> ReviewPair:
    """Run the job and return the only open pair."""
    assert home.jobs.run("review").error is None
    (pair,) = mem.review.list()
    return pair


def others(home: Home) -> list[Memory]:
    """Another agent, and the same agent in another workspace, which a single file does not have."""
    try:
        return [home.agent("ben"), home.agent("ana", workspace="other")]
    except Invalid:
        return [home.agent("ben")]


def test_the_job_finds_a_changed_weekday_and_says_why(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    run = home.jobs.run("review")
    assert (run.error, run.figures["compared"], run.figures["found"]) == (None, 3, 1)
    assert [(change.what, change.label) for change in run.changes] == [("proposed", "We deploy on Wednesdays")]
    (pair,) = mem.review.list()
    assert texts([pair]) == [("contradicts", "We deploy on Tuesdays", "We deploy on Wednesdays")]
    assert "Tuesdays" in pair.reason
    assert (pair.found_at, pair.resolved_at, pair.resolution) == (clock.now(), None, None)
    assert home.jobs.run("review").figures == {"compared": 0, "found": 0}
    assert mem.review.list() == [pair]


def test_repetitions_and_updates_are_found_too(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("The printer is on the second floor")
    mem.remember("Ana plays the cello")
    clock.advance(DAY)
    mem.remember("Ana plays the cello.")
    mem.remember("The printer is no longer on the second floor")
    home.jobs.run("review")
    assert {pair.kind for pair in mem.review.list()} == {"repeats", "updates"}


def test_a_sentence_that_is_too_long_behind_its_name_is_compared_without_it(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    middle = " ".join(f"part{number}" for number in range(52))
    mem.remember(f"The pump in the cellar drives {middle} on Tuesdays", name="a log")
    clock.advance(DAY)
    mem.remember("The pump in the cellar drives the valve on Fridays")
    run = home.jobs.run("review")
    assert (run.error, run.figures["compared"]) == (None, 2)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The frontend is written in Angular", "We decided to use React instead of Angular"),
        ("Invoices are sent with Mailgun every Monday", "We moved from Mailgun to Postmark"),
        ("Builds run on the old Jenkins server", "We replaced Jenkins with GitHub Actions last week"),
        ("Decidimos usar MySQL para os pedidos", "Decidimos usar PostgreSQL em vez de MySQL"),
        ("Wir verwenden Slack für Absprachen", "Wir sind von Slack zu Matrix gewechselt"),
        ("Usamos Trello para las tareas", "Decidimos usar Linear en lugar de Trello"),
    ],
)
def test_a_decision_that_names_what_it_replaces_is_offered_and_not_applied(
    home: Home, mem: Memory, clock: FixedClock, older: str, newer: str
) -> None:
    mem.remember(older, category="decisions")
    mem.remember("Lunch is at noon", category="decisions")
    clock.advance(DAY)
    mem.remember(newer, category="decisions")
    pair = found(home, mem)
    assert texts([pair]) == [("updates", older, newer)]
    assert len(mem.list()) == 3
    mem.review.resolve(pair, "newer")
    assert [entry.content for entry in mem.list()] == [newer, "Lunch is at noon"]


def test_only_a_decision_about_the_replaced_thing_is_offered(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("We write tests with pytest", category="decisions")
    mem.remember("Angular has a new logo")  # no decision
    mem.remember("The back office uses Vue instead of Angular", category="decisions")  # replaces it, too
    clock.advance(DAY)
    mem.remember("We decided to use React instead of Angular", category="decisions")
    home.agent("ben").remember("The frontend is written in Angular", category="decisions")
    home.jobs.run("review")
    assert [pair.reason for pair in mem.review.list() if "replaces" in pair.reason] == []


def test_a_name_is_part_of_what_is_compared(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("Tuesday", name="deploy day of the shop")
    clock.advance(DAY)
    mem.remember("Deploy day of the shop: Wednesday")
    assert texts([found(home, mem)]) == [("contradicts", "Tuesday", "Deploy day of the shop: Wednesday")]


def test_notes_that_share_only_words_of_their_names_are_no_pair(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("Answer with All details of the grape", name="Claude project Wine cellar")
    mem.remember("Tuesday at ten", name="deploy of the shop")
    clock.advance(DAY)
    mem.remember("Ask about Douro and the grape of it", name="Claude memory of the Wine cellar")
    mem.remember("Thursday at ten", name="the deploy of the shop")
    assert texts([found(home, mem)]) == [("contradicts", "Tuesday at ten", "Thursday at ten")]


def test_values_of_two_names_are_not_compared(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("It has 5 seats and a projector", name="the blue room")
    mem.remember("It has 6 seats and a projector", name="attic")
    home.jobs.run("review")
    assert mem.review.list() == []


def test_only_open_notes_of_the_same_place_are_compared(home: Home, mem: Memory, clock: FixedClock) -> None:
    old = mem.remember("We deploy on Mondays")
    mem.retract(old.id)
    mem.remember("We deploy on Tuesdays", category="handoffs")
    mem.remember("We deploy on Thursdays", scope="conversation", conversation="one")
    mem.remember("We deploy on Fridays", scope="conversation", conversation="two")
    mem.remember("We deploy on Saturdays", valid_until=clock.now() + 1)
    clock.advance(DAY)
    mem.remember("We deploy on Wednesdays")
    home.agent("ben").remember("We deploy on Sundays")
    run = home.jobs.run("review")
    assert (run.error, mem.review.list(), home.agent("ben").review.list()) == (None, [], [])


def test_many_closed_versions_do_not_hide_a_neighbour(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("The limit of the gateway is 99 requests")
    for number in range(40):
        mem.upsert("limit", f"The limit of the gateway is {number} requests")
    assert texts([found(home, mem)])[0][1:] == (
        "The limit of the gateway is 99 requests",
        "The limit of the gateway is 39 requests",
    )


def test_a_dry_run_proposes_and_stores_nothing(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    run = home.jobs.run("review", dry_run=True)
    assert (run.error, run.figures["found"], len(run.changes)) == (None, 1, 1)
    assert mem.review.list() == []
    assert home.jobs.run("review").figures["found"] == 1


def test_undo_withdraws_what_a_run_proposed_and_nothing_else(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    first = found(home, mem)
    mem.remember("The mascot of the team is a stork")
    run = home.jobs.run("review")
    assert len(mem.review.list()) == 2
    undone = home.jobs.undo(run.id)
    assert [(change.what, change.entry_id) for change in undone.changes] == [("withdrawn", run.changes[0].entry_id)]
    assert mem.review.list() == [first]
    assert len(mem.list()) == 4


def test_an_interrupted_run_continues_where_it_stopped(
    home: Home, mem: Memory, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "BATCH", 2)
    for number in range(6):
        mem.remember(f"Team {'ABCDEF'[number]} meets on Mondays in the blue room")
    whole = review._keep
    monkeypatch.setattr(review, "compare_notes", lambda *given: Difference(Relation.CONTRADICTS, "for the test"))
    calls: list[int] = []

    def failing(*given: object) -> None:
        calls.append(1)
        if len(calls) > 3:
            raise OSError("the disk is gone")
        whole(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(review, "_keep", failing)
    assert "the disk is gone" in str(home.jobs.run("review").error)
    kept = len(mem.review.list())
    monkeypatch.setattr(review, "_keep", whole)
    run = home.jobs.run("review")
    assert (run.error, run.figures["compared"] < 6) == (None, kept > 0)
    assert len(mem.review.list()) == 15  # every pair of six notes, once


def test_a_rewritten_note_leaves_its_pair(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    pair = found(home, mem)
    mem.apply(recollect.Write(pair.newer.id, content="The canteen is closed in August"))
    home.jobs.run("review")
    assert mem.review.list() == []


class Asked:
    """A language model with a fixed answer, which counts its calls."""

    name = "fixed"

    def __init__(self, answer: str) -> None:
        self.answer, self.calls = answer, 0

    def complete(self, messages: Sequence[Mapping[str, str]], **more: object) -> str:
        self.calls += 1
        if not self.answer:
            raise OSError("no connection")
        return self.answer


@pytest.mark.parametrize(
    ("answer", "kinds", "calls"),
    [
        (json.dumps({"relation": "updates"}), ["updates"], 1),
        (json.dumps({"relation": "neither"}), [], 1),
        ("perhaps", ["contradicts"], 1),
        ("", ["contradicts"], 1),
        (json.dumps({"relation": "updates"}), ["contradicts"], 0),
    ],
)
def test_a_model_confirms_or_names_the_relation(
    location: str, clock: FixedClock, answer: str, kinds: list[str], calls: int
) -> None:
    model = Asked(answer)
    settings = recollect.Settings(upkeep={"review_questions": calls})
    with recollect.open(location, clock=clock, model=model, settings=settings) as home:
        mem = home.agent("ana")
        deploys(mem, clock)
        assert home.jobs.run("review", dry_run=True).error is None
        assert model.calls == 0
        assert home.jobs.run("review").error is None
        assert ([pair.kind for pair in mem.review.list()], model.calls) == (kinds, calls)


# Resolving


def test_the_newer_one_supersedes_the_older_and_takes_its_names(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day")
    mem.apply(recollect.Alias("deploy day", "release day"))
    clock.advance(DAY)
    newer = mem.remember("We deploy on Wednesdays")
    clock.advance(DAY)
    pair = found(home, mem)
    done = mem.review.resolve(pair, "newer", why="the user said so")
    assert (done.resolution, done.resolved_at) == ("newer", clock.now())
    assert (done.older.superseded_by, done.older.closed_at) == (newer.id, clock.now())
    assert done.older.valid_until == newer.created_at
    assert mem.get("deploy day").id == mem.get("release day").id == newer.id
    assert [hit.entry.content for hit in mem.recall("deploy")] == ["We deploy on Wednesdays"]
    assert mem.history(pair.older.id)[-1].after["why"] == "the user said so"
    assert (mem.review.list(), mem.review.list(include_resolved=True)) == ([], [done])
    assert list(home.check().findings) == []


def test_restore_undoes_a_resolution(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day")
    mem.apply(recollect.Alias("deploy day", "release day"))
    clock.advance(DAY)
    mem.remember("We deploy on Wednesdays")
    pair = found(home, mem)
    mem.review.resolve(pair.id, "newer")
    again = mem.restore(pair.older.id)
    assert (again.name, again.aliases, again.closed_at, again.valid_until) == (
        "deploy day",
        ("release day",),
        None,
        None,
    )
    assert mem.get(pair.newer.id).name is None
    assert len(mem.recall("deploy")) == 2
    assert mem.trash() == []
    assert [one.id for one in mem.review.list()] == [pair.id]
    assert list(home.check().findings) == []


def test_the_older_one_can_hold(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    pair = found(home, mem)
    done = mem.review.resolve(pair.id, "older")
    assert (done.newer.superseded_by, done.newer.valid_until) == (pair.older.id, clock.now())
    assert [hit.entry.content for hit in mem.recall("deploy")] == ["We deploy on Tuesdays"]


def test_both_stay_and_the_pair_never_returns(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    pair = found(home, mem)
    mem.review.resolve(pair.id, "both")
    mem.apply(recollect.Write(pair.newer.id, content="We deploy on Thursdays"))
    assert home.jobs.run("review").figures["found"] == 0
    assert mem.review.list() == []
    assert len(mem.recall("deploy")) == 2


def test_a_pair_of_which_both_were_kept_can_be_resolved_otherwise(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    pair = found(home, mem)
    mem.review.resolve(pair, "both")
    assert mem.review.resolve(pair, "newer").resolution == "newer"
    assert mem.get(pair.older.id).superseded_by == pair.newer.id
    with pytest.raises(Conflict, match="already"):
        mem.review.resolve(pair, "both")
    mem.restore(pair.older.id)
    assert [one.id for one in mem.review.list()] == [pair.id]


def test_a_merge_supersedes_both_and_is_undone_as_one(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays", name="deploy day", category="decisions", origin="user")
    clock.advance(DAY)
    mem.remember("We deploy on Wednesdays", category="decisions", origin="tool")
    pair = found(home, mem)
    mem.apply(recollect.Rename(pair.newer.id, "ship day"))
    with pytest.raises(Denied, match="stated by the user"):
        mem.review.resolve(pair.id, "merge", content="We deploy on Tuesdays and Wednesdays")
    done = mem.review.resolve(pair.id, "merge", content="We deploy on Tuesdays and Wednesdays", origin="user")
    (entry,) = mem.list()
    assert (entry.content, entry.category, entry.origin) == (
        "We deploy on Tuesdays and Wednesdays",
        "decisions",
        "user",
    )
    assert entry.evidence == (pair.older.id, pair.newer.id)
    assert done.older.superseded_by == done.newer.superseded_by == entry.id
    assert mem.get("deploy day").id == mem.get("ship day").id == entry.id
    assert [hit.entry.id for hit in mem.recall("deploy")] == [entry.id]
    mem.restore("deploy day")
    assert {one.name: one.content for one in mem.list()} == {
        "deploy day": "We deploy on Tuesdays",
        "ship day": "We deploy on Wednesdays",
    }
    assert [one.entry.id for one in mem.trash()] == [entry.id]
    assert list(home.check().findings) == []


def test_what_the_user_said_is_not_closed_by_another_origin(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("We deploy on Tuesdays", origin="user")
    clock.advance(DAY)
    mem.remember("We deploy on Wednesdays", origin="tool")
    pair = found(home, mem)
    with pytest.raises(Denied, match="stated by the user"):
        mem.review.resolve(pair.id, "newer")
    assert mem.review.list() == [pair]
    assert mem.review.resolve(pair.id, "older").newer.superseded_by == pair.older.id


def test_a_pair_disappears_with_its_entries(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    pair = found(home, mem)
    mem.forget(pair.older.id)
    assert mem.review.list() == []
    with pytest.raises(Conflict, match="forgotten"):
        mem.review.resolve(pair.id, "newer")
    mem.restore(pair.older.id)
    assert [one.id for one in mem.review.list()] == [pair.id]
    mem.retract(pair.newer.id)
    assert mem.review.list() == []
    with pytest.raises(Conflict, match="retracted"):
        mem.review.resolve(pair.id, "both")
    receipt = mem.forget(pair.older.id, erase=True)
    assert ("review", 1) in [(one.place, one.removed) for one in receipt.removed]
    assert mem.review.list(include_resolved=True) == []
    with pytest.raises(NotFound, match="no pair"):
        mem.review.resolve(pair.id, "newer")


def test_an_erased_word_stays_in_no_pair_and_no_record(
    home: Home, mem: Memory, clock: FixedClock, location: str
) -> None:
    mem.remember("The code of the gate is Xylophon")
    clock.advance(DAY)
    mem.remember("The code of the gate is Marimba")
    pair = found(home, mem)
    assert "Xylophon" in pair.reason
    receipt = mem.forget(pair.older.id, erase=True)
    assert not [line for line in receipt.remaining if "word that only the erased text had" in line]
    assert left_of(["Xylophon"], in_tables(location)) == []
    with pytest.raises(NotFound, match="erasing an entry removes its pairs"):
        mem.review.resolve(pair.id, "newer")


def test_a_pair_of_erased_turns_quotes_none_of_their_words(home: Home, mem: Memory, clock: FixedClock) -> None:
    talk = mem.conversations.start()
    talk.user("When do we deploy?")
    said = talk.assistant("We decided to deploy on Wednesdays, because the team is complete then.")
    talk.end()
    clock.advance(DAY)
    mem.remember("We decided to deploy on Tuesdays, because the team is complete then.", category="decisions")
    pair = found(home, mem)
    assert "Wednesdays" in pair.reason
    receipt = talk.erase(said)
    assert ("review", 1) in [(one.place, one.removed) for one in receipt.removed]
    with pytest.raises(NotFound, match="erasing an entry removes its pairs"):
        mem.review.resolve(pair.id, "newer")
    home.jobs.run("review")
    assert mem.review.list(include_resolved=True) == []


def test_a_pair_whose_entry_is_erased_while_a_model_is_asked_is_not_stored(location: str, clock: FixedClock) -> None:
    class Erasing(Asked):
        def complete(self, *args: object, **more: object) -> object:
            home.agent("ana").forget(secret.id, erase=True)
            return super().complete(*args, **more)  # type: ignore[arg-type]

    with recollect.open(location, clock=clock, model=Erasing('{"relation": "contradicts"}')) as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays")
        clock.advance(DAY)
        secret = mem.remember("We deploy on Wednesdays")
        assert home.jobs.run("review").figures["found"] == 0
        assert mem.review.list(include_resolved=True) == []
        assert left_of(["Wednesdays"], in_tables(location)) == []


def test_the_reason_of_a_resolution_may_have_several_lines(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    pair = found(home, mem)
    why = "asked the team:\n- Tuesdays are full\n- Wednesdays are not"
    mem.review.resolve(pair, "newer", why=why)
    assert mem.history(pair.older.id)[-1].after["why"] == why


def test_bad_resolutions_change_nothing(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    pair = found(home, mem)
    before = mem.list(include_past=True)
    for wrong, error in (
        (lambda: mem.review.resolve(pair.id, "latest"), Invalid),
        (lambda: mem.review.resolve(pair.id, "merge"), Invalid),
        (lambda: mem.review.resolve(pair.id, "newer", content="x"), Invalid),
        (lambda: mem.review.resolve(pair.id, "merge", content=" "), Invalid),
        (lambda: mem.review.resolve("nothing", "newer"), NotFound),
        (lambda: others(home)[0].review.resolve(pair.id, "newer"), NotFound),
        (lambda: others(home)[-1].review.resolve(pair.id, "newer"), NotFound),
    ):
        with pytest.raises(error):
            wrong()
    assert (mem.list(include_past=True), mem.review.list()) == (before, [pair])
    mem.review.resolve(pair.id, "newer")
    with pytest.raises(Conflict, match="already"):
        mem.review.resolve(pair.id, "older")


def test_another_agent_or_workspace_sees_no_pair(home: Home, mem: Memory, clock: FixedClock) -> None:
    deploys(mem, clock)
    found(home, mem)
    assert [other.review.list(include_resolved=True) for other in others(home)] in ([[]], [[], []])


@pytest.mark.directory
def test_pairs_of_the_account_are_listed_with_the_others_page_by_page(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    for scope in ("workspace", "account"):
        mem.remember(f"The {scope} backup runs at 3", scope=scope)
        clock.advance(DAY)
        mem.remember(f"The {scope} backup runs at 4", scope=scope)
        home.jobs.run("review")
    pairs = [pair for pair in mem.review.list() if pair.older.scope == pair.newer.scope]
    assert {pair.older.scope for pair in pairs} == {"workspace", "account"}
    everything = mem.review.list()
    (first,) = mem.review.list(limit=1)
    assert [first, *mem.review.list(after=first)] == everything
    for pair in pairs:
        assert mem.review.resolve(pair, "newer").older.superseded_by == pair.newer.id


def test_the_home_of_an_older_version_is_reviewed_from_the_beginning(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "one.db", clock=clock) as home:
        deploys(home.agent("ana"), clock)
        home.export(tmp_path / "all.jsonl")
    with recollect.open(tmp_path / "two.db", clock=clock) as other:
        other.import_(tmp_path / "all.jsonl")
        assert texts([found(other, other.agent("ana"))])[0][0] == "contradicts"


# What is shown until a pair is resolved


def test_recall_puts_the_newer_of_an_open_pair_first(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("The staging server of the shop is in Porto", importance=1.0)
    clock.advance(DAY)
    mem.remember("The staging server of the shop is in Lisbon, says Marta", importance=0.1)
    question = "is the staging server of the shop in Porto"
    pair = found(home, mem)
    assert [hit.entry.id for hit in mem.recall(question)] == [pair.newer.id, pair.older.id]
    assert [hit.entry.id for hit in mem.recall(question, limit=1)] == [pair.newer.id]
    mem.review.resolve(pair, "both")
    assert [hit.entry.id for hit in mem.recall(question)] == [pair.older.id, pair.newer.id]


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_recall_puts_a_correction_first_before_the_job_has_found_it(
    home: Home, mem: Memory, clock: FixedClock, mode: str
) -> None:
    mem.remember("The budget of the shop is 10,000 euros", name="shop budget")
    mem.remember("The shop sells bread")
    clock.advance(DAY)
    mem.remember("The budget got cut to 7,500 euros")
    mem.remember("The garden of the shop has a budget, too, which Ana plans with Ben in the spring")
    hits = [hit.entry.content for hit in mem.recall("what is the budget of the shop?", mode=mode)]
    assert hits.index("The budget got cut to 7,500 euros") < hits.index("The budget of the shop is 10,000 euros")
    assert mem.review.list() == []


def test_a_note_of_another_agent_corrects_nothing(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("The budget of the shop is 10,000 euros")
    clock.advance(DAY)
    home.agent("ben").remember("The budget of the shop is 7,500 euros")
    assert [hit.entry.content for hit in mem.recall("budget of the shop")] == ["The budget of the shop is 10,000 euros"]


def test_a_correction_of_a_retracted_note_stays_where_it_ranks(mem: Memory, clock: FixedClock) -> None:
    old = mem.remember("The budget of the shop is 10,000 euros")
    clock.advance(DAY)
    mem.remember("The budget of the shop is 7,500 euros, says Marta, who asked the bank")
    question = "how many euros is the budget of the shop"
    assert mem.recall(question)[0].entry.id != old.id
    mem.retract(old.id)
    assert mem.recall(question, include_past=True)[0].entry.id == old.id


def test_a_context_shows_both_of_an_open_pair_or_none(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("We decided to deploy the shop on Tuesdays", category="decisions")
    clock.advance(DAY)
    mem.remember("We decided to deploy the shop on Wednesdays")
    mem.remember("We decided to paint the gate blue", category="decisions")
    block = mem.context("deploy the shop").text
    assert block.index("Tuesdays") < block.index("Wednesdays")  # a decision, and a note
    pair = found(home, mem)
    context = mem.context("deploy the shop")
    assert (
        "- We decided to deploy the shop on Wednesdays (2026-01-02, agent)\n"
        "- We decided to deploy the shop on Tuesdays (2026-01-01, agent)\n"
    ) in context.text
    assert "Wednesdays" in mem.context("").text
    for budget in range(context.tokens):
        block = mem.context("deploy the shop", budget=budget).text
        assert ("Tuesdays" in block) is ("Wednesdays" in block)
    mem.review.resolve(pair, "newer")
    assert "Tuesdays" not in mem.context("deploy the shop").text


def test_a_context_shows_no_pair_of_another_agent(home: Home, mem: Memory, clock: FixedClock) -> None:
    for one in (mem, *others(home)):
        one.remember("We decided to deploy the shop on Tuesdays", category="decisions")
    clock.advance(DAY)
    for one in others(home):
        one.remember("We decided to deploy the shop on Wednesdays")
    home.jobs.run("review")
    assert "Wednesdays" in home.agent("ben").context("deploy the shop").text
    assert "Wednesdays" not in mem.context("deploy the shop").text


def test_a_model_that_narrows_a_context_does_not_part_a_pair(location: str, clock: FixedClock) -> None:
    model = Asked(json.dumps({"relation": "contradicts", "keep": [2]}))
    with recollect.open(location, clock=clock, model=model) as home:
        mem = home.agent("ana")
        mem.remember("We decided to deploy the shop on Tuesdays", category="decisions")
        mem.remember("We decided to deploy the harbour gate never", category="decisions")
        clock.advance(DAY)
        mem.remember("We decided to deploy the shop on Wednesdays", category="decisions")
        found(home, mem)
        shown = mem.orient("deploy the shop").markdown
        assert ("Tuesdays" in shown, "Wednesdays" in shown, "gate" in shown) == (True, True, False)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "Während welcher Sitzung auch immer: deren Ergebnisse gehören samt ihren Anlagen in jenen Ordner Falke",
            "Während welcher Sitzung auch immer: deren Ergebnisse gehören samt ihren Anlagen in jenen Ordner Bussard",
        ),
        (
            "Para nosotros y aquellos otros equipos: los informes suyos van siempre en aquella carpeta Halcón",
            "Para nosotros y aquellos otros equipos: los informes suyos van siempre en aquella carpeta Gavilán",
        ),
    ],
)
def test_a_correction_in_another_language_is_found_among_notes_that_share_only_function_words(
    home: Home, mem: Memory, older: str, newer: str
) -> None:
    mem.remember(older)
    words = " ".join(word for word in older.split() if word[0].islower() and len(word) < 8)
    mem.remember_many([Add(f"{words} {number}") for number in range(12)])
    mem.remember(newer)
    home.jobs.run("review")
    assert {frozenset((pair.older.content, pair.newer.content)) for pair in mem.review.list()} >= {
        frozenset((older, newer))
    }


def test_a_pair_whose_entries_were_both_kept_is_opened_again(home: Home) -> None:
    mem = home.agent("ana")
    mem.remember("We deploy on Tuesdays", at=1_000_000)
    mem.remember("We deploy on Wednesdays")
    home.jobs.run("review")
    (pair,) = mem.review.list()
    mem.review.resolve(pair, "both")
    assert mem.review.list() == []
    with pytest.raises(NotFound):
        home.agent("ben").review.reopen(pair)
    assert mem.review.reopen(pair) == pair
    assert mem.review.list() == [pair]
    mem.review.resolve(pair, "newer")
    with pytest.raises(Conflict, match="restore"):
        mem.review.reopen(pair)
