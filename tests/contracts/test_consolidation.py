"""The job `consolidate`: passing notes are promoted, pruned, merged and capped; nothing else is ever touched."""

import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import recollect
from recollect import Add, Entry, FixedClock, Home, Memory, Settings, Write
from recollect.config import EmbedderSettings, RememberSettings, UpkeepSettings
from recollect.model.upkeep import Change, Run
from recollect.providers.local import LocalEmbedder
from recollect.storage import entries
from recollect.upkeep import consolidation as module

NEW_YEAR_2026 = 1_767_225_600_000
HOUR = 3_600_000


class Angles:
    """A text "2:18.5 …" has the direction of 18.5 degrees on the plane 2; planes are at right angles to each other.

    A text that begins with "-" has no vector.
    """

    model, dimension, instant = "angles", 16, True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            if not text.startswith("-"):
                plane, degrees = text.split()[0].split(":")
                angle = math.radians(float(degrees))
                row[2 * int(plane) : 2 * int(plane) + 2] = math.cos(angle), math.sin(angle)
        return rows


BY_COSINE = Settings(
    remember=RememberSettings(lifetime="short_term"),
    upkeep=UpkeepSettings(merge="cosine"),
    embedder=EmbedderSettings(kind="none"),
)
"""Notes are short_term, and merged by their vectors alone."""
BY_WORDS = replace(BY_COSINE, upkeep=UpkeepSettings())


@pytest.fixture
def home(location: str, clock: FixedClock) -> Iterator[Home]:
    with recollect.open(location, clock=clock, embedder=Angles(), settings=BY_COSINE) as opened:
        yield opened


@pytest.fixture
def mem(home: Home) -> Memory:
    return home.agent("ana")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages and transactions of a few notes, so that several are needed."""
    make_small(monkeypatch)


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PAGE": 3, "STEP": 2}.items():
        monkeypatch.setattr(module, name, value)


def asked(mem: Memory, entry: Entry, times: int, at: int | None = None) -> Entry:
    """Return an entry as if it had been recalled so many times."""
    store, _ = mem._entries.holder(entry.id)
    with store.write() as work:
        entries.adjust(work.tx, replace(entry, access_count=times, accessed_at=at))
        if at is not None:
            entries.use(work.tx, [entry.id], at)
    return mem.get(entry.id)


def contents(mem: Memory) -> set[str]:
    return {entry.content for entry in mem.list(limit=10_000)}


def state(mem: Memory) -> dict[str, Entry]:
    """All entries, but for when they were last written: giving an entry back is a write, too."""
    return {entry.id: replace(entry, updated_at=0) for entry in mem.list(limit=10_000)}


def foretold(before: dict[str, Entry], changes: Iterable[Change]) -> dict[str, Entry]:
    """Return entries after the changes that a run reports."""
    after = dict(before)
    for change in changes:
        if change.what == "removed":
            del after[change.entry_id]
        else:
            after[change.entry_id] = replace(after[change.entry_id], **change.after)
    return after


def received(run: Run) -> list[tuple[str, str, str]]:
    return [(change.what, change.label, change.reason) for change in run.changes]


def consolidate(home: Home, **options: Any) -> Run:
    run = home.jobs.run("consolidate", **options)
    assert run.error is None
    return run


# Promoting


def test_a_relevant_note_that_was_asked_for_four_times_stays_for_good(home: Home, mem: Memory) -> None:
    liked = asked(mem, mem.remember("0:0 liked", importance=0.269), 4, NEW_YEAR_2026)
    run = consolidate(home)
    assert mem.get(liked.id).lifetime == "long_term"
    assert run.figures == {"scored": 1, "promoted": 1, "pruned": 0, "merged": 0, "capped": 0}
    assert received(run) == [("changed", "0:0 liked", "its relevance is 0.70, and it was recalled 4 times")]


def test_three_times_are_not_enough_and_neither_is_a_relevance_of_less_than_0_7(home: Home, mem: Memory) -> None:
    asked(mem, mem.remember("0:0 three times", importance=1.0), 3, NEW_YEAR_2026)
    asked(mem, mem.remember("1:0 four times", importance=0.268), 4, NEW_YEAR_2026)
    assert consolidate(home).changes == ()


# Pruning


def test_a_note_whose_relevance_fell_below_0_01_leaves(home: Home, mem: Memory, clock: FixedClock) -> None:
    mem.remember("0:0 at the border", importance=0.01)
    mem.remember("1:0 below it", importance=0.0099)
    run = consolidate(home)
    assert contents(mem) == {"0:0 at the border"}
    assert run.figures["pruned"] == 1
    reason = "its relevance fell to 0.0099; it was not used since 2026-01-01"
    assert received(run) == [("removed", "1:0 below it", reason)]


@pytest.mark.directory
def test_a_note_fades_by_the_hours_since_it_was_asked_for_and_a_channels_note_faster(
    home: Home, mem: Memory, clock: FixedClock
) -> None:
    mem.remember("0:0 workspace")
    mem.remember("1:0 channel", scope="channel", channel="c1")
    mem.remember("2:0 account", scope="account")
    clock.advance(780 * HOUR)
    assert consolidate(home).changes == ()
    clock.advance(HOUR)
    assert [change.label for change in consolidate(home).changes] == ["1:0 channel"]
    clock.set(NEW_YEAR_2026 + 1_954 * HOUR)
    assert consolidate(home).changes == ()
    (workspace,) = mem.list(scope="workspace")
    asked(mem, workspace, 1, NEW_YEAR_2026 + 72 * HOUR)
    clock.advance(300 * HOUR)
    assert consolidate(home).changes == ()
    clock.advance(200 * HOUR)
    assert received(consolidate(home)) == [
        ("removed", "0:0 workspace", "its relevance fell to 0.0072; it was not used since 2026-01-04")
    ]
    assert contents(mem) == {"2:0 account"}


def test_a_note_from_the_future_is_fresh(home: Home, mem: Memory) -> None:
    mem.remember("0:0 tomorrow", importance=0.011, at=NEW_YEAR_2026 + 24 * HOUR)
    assert consolidate(home).changes == ()


# What is never touched


def test_only_passing_notes_without_a_name_are_touched(home: Home, mem: Memory, clock: FixedClock) -> None:
    conversation = mem.conversations.start()
    mem.remember("0:0 named", name="plan", importance=0.0)
    mem.remember("0:0 named and passing", name="other plan", importance=0.0, lifetime="short_term")
    nameless = mem.remember("0:0 with an alias", importance=0.0)
    mem.apply(recollect.Alias(nameless.id, "nickname"))
    mem.upsert("key", "0:0 knowledge")
    mem.apply(Add("0:0 archive", kind="archive", importance=0.0))
    mem.apply(Add("0:0 passing archive", kind="archive", importance=0.0, lifetime="short_term"))
    mem.apply(Add("0:0 chunk", kind="chunk", importance=0.0))
    mem.apply(Add("0:0 passing chunk", kind="chunk", importance=0.0, lifetime="short_term"))
    mem.remember("0:0 kept", lifetime="long_term", importance=0.0)
    mem.remember("0:0 kept a while", lifetime="mid_term", importance=0.0)
    mem.remember("0:0 of a conversation", scope="conversation", conversation=conversation.id, importance=0.0)
    before = mem.list()
    clock.advance(100_000 * HOUR)
    run = consolidate(home)
    assert (run.figures["scored"], run.changes) == (0, ())
    assert mem.list() == before


def test_other_agents_notes_are_neither_compared_nor_counted(
    home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CAP", 1)
    mem.remember("0:0 tea")
    home.agent("ben").remember("0:0 tea")
    assert consolidate(home).changes == ()
    mem.remember("1:0 faded", importance=0.001)
    assert [(change.label, change.where) for change in consolidate(home).changes] == [("1:0 faded", "default/ana")]
    assert contents(home.agent("ben")) == {"0:0 tea"}


# Merging


def test_the_more_important_of_two_notes_takes_the_other_over(home: Home, mem: Memory, clock: FixedClock) -> None:
    asked(mem, mem.remember("0:0 tea at four", importance=0.2, tags=["a", "b"]), 2, NEW_YEAR_2026 + 5)
    clock.advance(10)
    kept = asked(mem, mem.remember("0:10 at four there is tea", importance=0.25, tags=["b", "c"]), 1, NEW_YEAR_2026 + 1)
    run = consolidate(home)
    (survivor,) = mem.list()
    assert (survivor.id, survivor.content, survivor.importance) == (kept.id, "0:10 at four there is tea", 0.25)
    assert (survivor.access_count, survivor.accessed_at) == (3, NEW_YEAR_2026 + 5)
    assert (survivor.tags, survivor.source) == (("b", "c", "a"), "consolidation")
    assert run.figures["merged"] == 1
    gone = f"it says the same as '0:10 at four there is tea' ({kept.id}), which took over its tags and accesses"
    stays = "it took over the tags and accesses of another note that said the same"
    assert received(run) == [("removed", "0:0 tea at four", gone), ("changed", "0:10 at four there is tea", stays)]


def test_of_two_equally_important_notes_the_older_one_stays(home: Home, mem: Memory) -> None:
    mem.remember("0:0 newer", at=NEW_YEAR_2026 - 1)
    mem.remember("0:1 older", at=NEW_YEAR_2026 - 2)
    consolidate(home)
    assert contents(mem) == {"0:1 older"}


def test_notes_are_the_same_above_a_cosine_of_0_95(home: Home, mem: Memory) -> None:
    for plane, degrees in enumerate(("18.19", "18.20")):  # 0.95003 and 0.94997
        mem.remember(f"{plane}:0 one")
        mem.remember(f"{plane}:{degrees} other")
    consolidate(home)
    assert contents(mem) == {"0:0 one", "1:0 one", "1:18.20 other"}


def test_notes_with_the_same_words_are_one_with_and_without_vectors(home: Home, mem: Memory) -> None:
    for text in ("- Green  tea", "- green tea", "- black tea", "0:0 Coffee", "0:0 coffee"):
        mem.remember(text)
    consolidate(home)
    assert contents(mem) == {"- Green  tea", "- black tea", "0:0 Coffee"}


def test_by_default_only_notes_with_the_same_words_and_near_vectors_are_merged(
    location: str, clock: FixedClock
) -> None:
    with recollect.open(location, clock=clock, embedder=Angles(), settings=BY_WORDS) as home:
        mem = home.agent("ana")
        for text in (
            "0:0 port 8080",
            "0:0 Port  8080.",
            "0:0 port 8081",
            "0:1 port 8080",
            "- port 8080",
            "- Port 8080",
        ):
            mem.remember(text)
        consolidate(home)
        assert contents(mem) == {"0:0 port 8080", "0:0 port 8081", "0:1 port 8080", "- port 8080"}
        assert consolidate(home).changes == ()


def test_notes_with_the_same_words_stay_apart_when_their_vectors_are_far_apart(
    location: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ByCase(Angles):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().embed(["0:0" if text.islower() else "0:20" for text in texts])

    with recollect.open(location, clock=clock, embedder=ByCase(), settings=BY_WORDS) as home:
        mem = home.agent("ana")
        for text in ("tea", "Tea", "TEA", "tea."):
            mem.remember(text)
        consolidate(home)
        assert contents(mem) == {"tea", "Tea"}


def test_a_correction_is_never_merged_with_what_it_corrects(location: str, clock: FixedClock) -> None:
    said = [
        "We deploy on Fridays",
        "We do not deploy on Fridays",
        "Ana owes Ben ten crowns",
        "Ben owes Ana ten crowns",
        "The port is 8080",
        "The port is 8081",
        "Team A has the room",
        "Team B has the room",
    ]
    with recollect.open(location, clock=clock, embedder=LocalEmbedder(), settings=BY_WORDS) as home:
        mem = home.agent("ana")
        for text in said:
            mem.remember(text)
        assert consolidate(home).changes == ()
        assert contents(mem) == set(said)


def test_without_an_embedder_words_decide(location: str, clock: FixedClock) -> None:
    with recollect.open(location, clock=clock, settings=BY_WORDS) as home:
        mem = home.agent("ana")
        for text in ("tea", "Tea", "tea!", "teas"):
            mem.remember(text)
        consolidate(home)
        assert contents(mem) == {"tea", "teas"}


def test_vectors_of_another_model_are_not_compared(location: str, clock: FixedClock) -> None:
    class Others(Angles):
        model, dimension = "other angles", 32

    with recollect.open(location, clock=clock, embedder=Angles(), settings=BY_COSINE) as home:
        home.agent("ana").remember("0:0 one")
    with recollect.open(location, clock=clock, embedder=Others(), settings=BY_COSINE) as home:
        with pytest.warns(UserWarning, match="angles"):
            home.agent("ana").remember("0:0 other")
        assert consolidate(home).changes == ()


@pytest.mark.directory
def test_notes_of_different_scopes_and_channels_stay_apart(home: Home, mem: Memory) -> None:
    for scope, channel in (("workspace", None), ("account", None), ("channel", "c1"), ("channel", "c2")):
        mem.remember("0:0 tea", scope=scope, channel=channel)
    mem.remember("0:0 tea", scope="workspace", channel="c1")  # said in a channel, but for the whole workspace
    run = consolidate(home)
    assert run.figures["merged"] == 1
    assert sorted((entry.scope, entry.channel_id) for entry in mem.list()) == [
        ("account", None),
        ("channel", "c1"),
        ("channel", "c2"),
        ("workspace", None),
    ]


def test_of_a_chain_the_first_takes_over_its_neighbour_only(home: Home, mem: Memory) -> None:
    mem.remember("0:36 third", importance=0.3)
    mem.remember("0:18 second", importance=0.4)
    mem.remember("0:0 first", importance=0.5)
    consolidate(home)
    assert contents(mem) == {"0:0 first", "0:36 third"}
    assert consolidate(home).changes == ()


def test_a_survivor_that_takes_over_enough_is_promoted_in_the_same_run(home: Home, mem: Memory) -> None:
    for degrees in range(4):
        asked(mem, mem.remember(f"0:{degrees} tea"), 1, NEW_YEAR_2026)
    run = consolidate(home)
    (survivor,) = mem.list()
    assert (survivor.lifetime, survivor.access_count, run.figures["promoted"]) == ("long_term", 4, 1)
    assert consolidate(home).changes == ()


def test_an_access_from_before_the_survivor_was_written_makes_it_no_older(home: Home, mem: Memory) -> None:
    asked(mem, mem.remember("0:0 old", importance=0.4, at=0), 1, NEW_YEAR_2026 - 1_500 * HOUR)
    mem.remember("0:0 new")
    consolidate(home)
    (survivor,) = mem.list()
    assert (survivor.content, survivor.accessed_at) == ("0:0 new", NEW_YEAR_2026 - 1_500 * HOUR)
    assert consolidate(home).changes == ()


def test_a_survivor_has_at_most_as_many_tags_as_an_entry_may_have(home: Home, mem: Memory) -> None:
    mem.remember("0:0 one", tags=[f"a{number}" for number in range(40)])
    mem.remember("0:0 other", tags=[f"b{number}" for number in range(40)])
    consolidate(home)
    (survivor,) = mem.list()
    assert (len(survivor.tags), survivor.tags[39], survivor.tags[40]) == (64, "a39", "b0")


def test_many_notes_that_say_the_same_become_one(home: Home, mem: Memory, small: None) -> None:
    mem.remember_many([Add(f"0:{number / 100} tea", importance=0.4, tags=[f"t{number}"]) for number in range(20)])
    mem.remember_many([Add("0:0 tea", importance=0.4)] * 20)
    run = consolidate(home)
    (survivor,) = mem.list()
    assert (survivor.content, run.figures["merged"]) == ("0:0.0 tea", 39)
    assert survivor.tags == tuple(f"t{number}" for number in range(20))


def test_all_pairs_just_above_the_border_are_found(clock: FixedClock, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    rows: dict[str, NDArray[np.float32]] = {}
    for number in range(300):
        one, other = np.linalg.qr(generator.standard_normal((64, 2)))[0].T
        rows[f"one {number}"], rows[f"other {number}"] = one, 0.9501 * one + math.sqrt(1 - 0.9501**2) * other

    class Known:
        model, dimension, instant = "known", 64, True

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.array([rows[text] for text in texts], np.float32)

    with recollect.open(tmp_path / "memory.db", clock=clock, embedder=Known(), settings=BY_COSINE) as home:
        home.agent("ana").remember_many([Add(text) for text in rows])
        assert 297 <= consolidate(home).figures["merged"] <= 300
        assert consolidate(home).changes == ()


def test_a_note_that_was_rewritten_or_named_meanwhile_is_left_alone(
    home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, rewritten, _, named = (mem.remember(text) for text in ("0:0 tea", "0:1 more tea", "0:2 other tea", "0:3 my tea"))
    plan = module._plan

    def slowly(*arguments: Any) -> Any:
        made = list(plan(*arguments))
        mem.apply(Write(rewritten.id, content="1:0 coffee"))
        mem.apply(recollect.Alias(named.id, "mine"))
        yield from made

    monkeypatch.setattr(module, "_plan", slowly)
    assert consolidate(home).figures["merged"] == 1
    assert contents(mem) == {"0:0 tea", "1:0 coffee", "0:3 my tea"}


# The cap


def test_of_too_many_notes_the_least_relevant_leave_in_each_scope_and_channel(
    home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    monkeypatch.setattr(module, "CAP", 3)
    for place, (scope, channel) in enumerate((("workspace", None), ("channel", "c1"), ("channel", "c2"))):
        for number in range(3 + place):
            mem.remember(
                f"{number}:0 of {channel or scope}", importance=0.2 + number / 10, scope=scope, channel=channel
            )
    mem.remember("6:0 named", name="named", importance=0.0)
    run = consolidate(home)
    assert [change.label for change in run.changes] == ["0:0 of c1", "0:0 of c2", "1:0 of c2"]
    assert run.figures["capped"] == 3
    assert run.changes[0].reason == (
        "the channel c1 has more than 3 short-term notes, and this one is among the least relevant: 0.2"
    )
    assert consolidate(home).changes == ()


def test_the_cap_counts_what_is_left_after_merging_and_as_relevant_as_it_is_then(
    home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CAP", 1)
    asked(mem, mem.remember("0:0 tea", importance=0.3), 1, NEW_YEAR_2026)
    asked(mem, mem.remember("0:0 TEA", importance=0.3), 2, NEW_YEAR_2026)
    mem.remember("1:0 coffee", importance=0.6)
    run = consolidate(home)
    assert (run.figures["merged"], run.figures["capped"]) == (1, 1)
    assert contents(mem) == {"0:0 tea"}


def test_equally_relevant_notes_leave_oldest_first(
    home: Home, mem: Memory, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CAP", 1)
    mem.remember("0:0 first")
    mem.remember("1:0 second")
    consolidate(home)
    assert contents(mem) == {"1:0 second"}


def test_a_note_that_was_asked_for_meanwhile_is_not_capped(
    home: Home, mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CAP", 1)
    first = mem.remember("0:0 first")
    mem.remember("1:0 second")
    plan = module._plan

    def slowly(*arguments: Any) -> Any:
        yield from plan(*arguments)
        asked(mem, first, 1, NEW_YEAR_2026)

    monkeypatch.setattr(module, "_plan", slowly)
    assert consolidate(home).changes == ()
    assert [change.label for change in consolidate(home).changes] == ["1:0 second"]


# As a whole


def a_bit_of_everything(mem: Memory) -> None:
    asked(mem, mem.remember("0:0 promoted"), 9, NEW_YEAR_2026)
    mem.remember("1:0 pruned", importance=0.001, tags=["p"])
    for degrees in (0, 5, 10):
        asked(mem, mem.remember(f"2:{degrees} merged", tags=[f"t{degrees}"]), 2, NEW_YEAR_2026 + degrees)
    for plane in range(3, 7):
        mem.remember(f"{plane}:0 capped", importance=0.1 + plane / 100)
    mem.remember("7:0 of a channel", scope="channel", channel="c1")
    mem.remember("7:1 of a channel too", scope="channel", channel="c1", importance=0.4)
    mem.remember("7:0 of the account", scope="account", importance=0.002)
    mem.remember("7:0 named", name="named")


@pytest.fixture
def mixed(mem: Memory, monkeypatch: pytest.MonkeyPatch, small: None) -> Memory:
    """Notes for every rule, and little room for them."""
    monkeypatch.setattr(module, "CAP", 2)
    a_bit_of_everything(mem)
    return mem


def test_a_dry_run_changes_nothing_and_tells_what_the_run_then_does(home: Home, mixed: Memory) -> None:
    before = mixed.list()
    dry = consolidate(home, dry_run=True)
    assert mixed.list() == before
    run = consolidate(home)
    assert received(dry) == received(run)
    assert run.figures == dry.figures == {"scored": 12, "promoted": 2, "pruned": 2, "merged": 3, "capped": 2}
    assert state(mixed) == foretold({entry.id: replace(entry, updated_at=0) for entry in before}, dry.changes)
    assert home.check().ok


def test_the_second_run_changes_nothing(home: Home, mixed: Memory) -> None:
    consolidate(home)
    before = mixed.list()
    run = consolidate(home)
    assert (run.changes, mixed.list()) == ((), before)


def test_a_run_can_be_undone_as_a_whole(home: Home, mixed: Memory) -> None:
    before = state(mixed)
    run = consolidate(home)
    assert state(mixed) != before
    home.jobs.undo(run.id)
    assert state(mixed) == before
    assert home.check().ok


@pytest.mark.parametrize("cut", [0, 2, 4, 6, 9])
def test_a_run_that_was_cut_off_is_finished_by_the_next_one(
    home: Home, mixed: Memory, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    before = state(mixed)
    dry = consolidate(home, dry_run=True)
    with mixed._workspace.read() as tx:
        kind = type(tx)
    run, written = kind.run, 0

    def until_the_power_fails(self: Any, query: str, /, **values: Any) -> int:
        nonlocal written
        if query == "upkeep.change_put":
            written += 1
            if written == cut + 1:
                raise OSError("the power failed")
        return run(self, query, **values)

    monkeypatch.setattr(kind, "run", until_the_power_fails)
    assert "the power failed" in (home.jobs.run("consolidate").error or "")
    assert home.check().ok
    consolidate(home)
    assert state(mixed) == foretold(before, dry.changes)
    assert consolidate(home).changes == ()


# Against a plain model


@dataclass(frozen=True)
class Note:
    """A note that hypothesis makes up."""

    direction: str
    words: str
    importance: float
    age: int
    accesses: int
    idle: int | None
    channel: str | None
    tags: tuple[str, ...]
    name: bool
    lifetime: str


notes = st.builds(
    Note,
    direction=st.sampled_from(["-", "0:0", "0:10", "0:17", "0:30", "1:0", "1:40"]),
    words=st.sampled_from(["", " tea", " Tea", " milk"]),
    importance=st.sampled_from([0.005, 0.3, 0.5, 0.9]),
    age=st.sampled_from([1_000, 100, 1]),
    accesses=st.sampled_from([0, 2, 4]),
    idle=st.sampled_from([None, 0, 200]),
    channel=st.sampled_from([None, None, "c1", "c2"]),
    tags=st.sampled_from([(), ("a",), ("b", "a"), ("c",)]),
    name=st.sampled_from([False, False, False, True]),
    lifetime=st.sampled_from(["short_term", "short_term", "short_term", "mid_term"]),
)


def relevance(entry: Entry) -> float:
    rate = 0.995 if entry.scope == "channel" else 0.998
    used = NEW_YEAR_2026 if entry.source == "consolidation" else max(entry.created_at, entry.accessed_at or 0)
    hours = (NEW_YEAR_2026 - used) / HOUR
    return entry.importance * rate**hours * (1 + math.log(1 + entry.access_count))


def judged(found: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """(those that stay for good, those that remain)"""
    good = [entry for entry in found if relevance(entry) > 0.7 and entry.access_count > 3]
    rest = [entry for entry in found if entry not in good and relevance(entry) >= 0.01]
    return [replace(entry, lifetime=recollect.Lifetime.LONG_TERM) for entry in good], rest


def alike(one: Entry, other: Entry) -> bool:
    first, second = Angles().embed([one.content, other.content])
    if first.any() and second.any():
        return float(first @ second) > 0.95
    return one.content.lower() == other.content.lower()


def merged(found: list[Entry]) -> list[Entry]:
    kept: list[list[Entry]] = []
    for entry in found:
        for other in kept:
            if alike(other[0], entry):
                other.append(entry)
                break
        else:
            kept.append([entry])
    survivors = []
    for first, *rest in kept:
        group = [first, *rest]
        tags = tuple(dict.fromkeys(tag for entry in group for tag in entry.tags))
        accessed = max((entry.accessed_at for entry in group if entry.accessed_at is not None), default=None)
        count = sum(entry.access_count for entry in group)
        source = "consolidation" if rest else first.source
        merged_from = (*first.evidence, *(f"entry:{entry.id}" for entry in rest))
        survivors.append(
            replace(first, tags=tags, accessed_at=accessed, access_count=count, source=source, evidence=merged_from)
        )
    return survivors


def consolidated(found: list[Entry], cap: int) -> dict[str, Entry]:
    """What the job should make of entries."""
    passing = [entry for entry in found if entry.lifetime == "short_term" and entry.name is None]
    result = [entry for entry in found if entry not in passing]
    for channel in {entry.channel_id for entry in passing}:
        good, rest = judged([entry for entry in passing if entry.channel_id == channel])
        more, rest = judged(merged(sorted(rest, key=lambda entry: (-entry.importance, entry.created_at, entry.id))))
        rest.sort(key=lambda entry: (relevance(entry), entry.created_at, entry.id))
        result += [*good, *more, *rest[-cap:]]
    return {entry.id: replace(entry, updated_at=0) for entry in result}


@settings(max_examples=25)
@given(drafts=st.lists(notes, min_size=1, max_size=12), cap=st.integers(1, 5))
def test_the_job_does_what_a_plain_model_of_it_does(drafts: list[Note], cap: int) -> None:
    clock = FixedClock()
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as folder,
        recollect.open(Path(folder) / "memory.db", clock=clock, embedder=Angles(), settings=BY_COSINE) as home,
    ):
        make_small(patch)
        patch.setattr(module, "CAP", cap)
        mem = home.agent("ana")
        for number, note in enumerate(drafts):
            clock.set(NEW_YEAR_2026 - note.age * HOUR)
            made = mem.remember(
                note.direction + note.words,
                importance=note.importance,
                scope="channel" if note.channel else "workspace",
                channel=note.channel,
                tags=note.tags,
                name=f"note {number}" if note.name else None,
                lifetime=note.lifetime,
            )
            asked(mem, made, note.accesses, None if note.idle is None else NEW_YEAR_2026 - note.idle * HOUR)
        clock.set(NEW_YEAR_2026)
        before = state(mem)
        dry = consolidate(home, dry_run=True)
        run = consolidate(home)
        assert state(mem) == consolidated(list(before.values()), cap)
        assert received(dry) == received(run)
        assert consolidate(home).changes == ()
        home.jobs.undo(run.id)
        assert state(mem) == before
        assert home.check().ok
