"""Recall by words and vectors together: filters, scopes, duplicates, explanations, search as you type, bad input."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_embedder import FaultyEmbedder, Scattered

import recollect
from recollect import Add, FixedClock, Home, Invalid, Memory, Settings, Write
from recollect.config import EmbedderSettings, RecallSettings
from recollect.engine import recall_candidates
from recollect.engine.recall_request import LIMIT, QUERY_LENGTH
from recollect.search import index as index_module
from recollect.search import vectors as vectors_module

WORDS_ALONE = Settings(embedder=EmbedderSettings(kind="none"))
MODES = ("keyword", "vector", "hybrid")
DAY = 86_400_000


@pytest.fixture
def embedder() -> FaultyEmbedder:
    """One that answers at once."""
    return FaultyEmbedder()


@pytest.fixture
def home(location: str, embedder: FaultyEmbedder, clock: FixedClock) -> Iterator[Home]:
    with recollect.open(location, embedder=embedder, clock=clock) as opened:
        yield opened


@pytest.fixture
def mem(home: Home) -> Memory:
    return home.agent("ana")


@pytest.fixture
def words_alone(location: str, clock: FixedClock) -> Iterator[Memory]:
    """A memory without an embedder."""
    with recollect.open(location, settings=WORDS_ALONE, clock=clock) as opened:
        yield opened.agent("ana")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs of 16 vectors, an index from 16 on and short lists: everything happens with few entries."""
    for name, value in {"PACK": 16, "SIFTED": 16, "INDEXED": 16, "DEEPEST": 60}.items():
        monkeypatch.setattr(vectors_module, name, value)
    monkeypatch.setattr(recall_candidates, "DEPTH", 10)


def found(mem: Memory, query: str, **options: Any) -> list[str]:
    return [hit.entry.content for hit in mem.recall(query, **options)]


# Filters


def test_no_filter_lets_better_matches_hide_the_ones_that_pass_it_in_either_list(mem: Memory, small: None) -> None:
    now = FixedClock().now()
    crowd = [
        Add(f"apple pie {number}", category="lessons", tags=["sweet"], source="ben", at=now) for number in range(70)
    ]
    mem.remember_many([*crowd, *(Add(f"apple pie {number}", kind="chunk", at=now) for number in range(70, 75))])
    far = " ".join(f"filler{number}" for number in range(12))
    mem.remember(
        f"one apple, {far}", name="core", category="decisions", tags=["sour", "green"], source="ana", at=now - DAY
    )
    mem.apply(Add(f"one apple in the archive, {far}", kind="archive", at=now))
    for mode in MODES:
        for filters in (
            {"category": "decisions"},
            {"tags": ["sour"]},
            {"tags": ["green", "sour"]},
            {"source": "ana"},
            {"until": now},
            {"since": now - DAY, "until": now - 1},
            {"kinds": ["note"], "category": "decisions"},
        ):
            assert found(mem, "apple pie", limit=1, mode=mode, **filters) == [f"one apple, {far}"], (mode, filters)
        assert found(mem, "apple pie", limit=2, mode=mode, kinds=["archive"]) == [f"one apple in the archive, {far}"]
        assert found(mem, "apple pie", limit=3, mode=mode, category="tasks") == []
        assert len(found(mem, "apple pie", limit=60, mode=mode, category="lessons")) == 60


@pytest.mark.directory
def test_entries_of_channels_and_conversations_are_found_by_vector_only_where_they_belong(mem: Memory) -> None:
    mem.remember("apple for all")
    mem.remember("apple of the channel", scope="channel", channel="kitchen")
    mem.remember("apple of the talk", scope="conversation", conversation="c1")
    mem.remember("apple of the account", scope="account")
    for mode in ("vector", "hybrid"):
        everywhere = {"apple for all"} | ({"apple of the account"} if mode == "hybrid" else set())
        assert set(found(mem, "apple", mode=mode)) == everywhere
        assert set(found(mem, "apple", mode=mode, channel="kitchen")) == everywhere | {"apple of the channel"}
        assert set(found(mem, "apple", mode=mode, conversation="c1")) == everywhere | {"apple of the talk"}
        assert set(found(mem, "apple", mode=mode, channel="garage", conversation="c2")) == everywhere
        assert found(mem, "apple", mode=mode, conversation="c1", scopes=["conversation"]) == ["apple of the talk"]


# Ties


def test_of_equal_evidence_the_narrower_scope_comes_first_then_the_newer(mem: Memory) -> None:
    mem.remember("apple amber", scope="conversation", conversation="c1")
    mem.remember("apple birch", scope="channel", channel="kitchen")
    mem.remember("apple cedar")
    mem.remember("apple delta")
    for mode in MODES:
        assert found(mem, "apple", mode=mode, channel="kitchen", conversation="c1") == [
            "apple amber",
            "apple birch",
            "apple delta",
            "apple cedar",
        ], mode


def test_of_the_same_text_in_several_scopes_the_narrowest_is_the_hit(location: str) -> None:
    # Vectors that are no round numbers: their products differ in the last bits, and must tie all the same.
    with recollect.open(location, embedder=Scattered(256), clock=FixedClock()) as home:
        mem = home.agent("ana")
        mem.remember("the very same apple", scope="conversation", conversation="c1")
        for number in range(4):
            mem.remember(f"a different apple {number}")
        mem.remember("the very same apple", scope="channel", channel="kitchen")
        mem.remember("the very same apple")
        for mode in MODES:
            hits = mem.recall("same apple", mode=mode, channel="kitchen", conversation="c1", limit=20)
            assert [hit.entry.scope for hit in hits if "same" in hit.entry.content] == ["conversation"], mode


# Duplicates


def test_hits_whose_vectors_are_nearly_the_same_are_one_hit_where_the_settings_say_so(location: str) -> None:
    words = "amber birch cedar delta ember fjord grove heron inlet jetty"
    by_cosine = Settings(recall=RecallSettings(duplicates="cosine"))
    for settings, kept in ((by_cosine, 2), (Settings(), 3)):
        with recollect.open(location, embedder=FaultyEmbedder(), settings=settings) as home:
            mem = home.agent(f"ana{kept}")
            mem.remember(f"{words} kelp")
            mem.remember(f"{words} larch")  # ten of eleven words: a cosine of 0.909
            mem.remember(f"{words.removesuffix(' jetty')} maple")  # nine of ten and a bit: 0.858 with either
            for mode in MODES:
                hits = found(mem, "amber birch", mode=mode)
                assert len(hits) == kept, mode
                assert sum("maple" in hit for hit in hits) == 1, mode


def test_without_vectors_hits_that_say_the_same_are_one_hit(words_alone: Memory) -> None:
    words_alone.remember("Red  APPLE pie")
    words_alone.remember("red apple\n pie")
    words_alone.remember("red apple pie!")
    words_alone.remember("red apple pie?")
    assert found(words_alone, "apple") == ["red apple pie?", "red apple pie!"]


def test_however_many_duplicates_there_are_the_limit_is_filled(mem: Memory) -> None:
    mem.remember_many([Add(f"apple variety {number}") for number in range(8)])
    mem.remember_many([Add("apple apple apple") for _ in range(260)])
    for mode in MODES:
        hits = found(mem, "apple", mode=mode, limit=6)
        assert hits[0] == "apple apple apple", mode
        assert len(set(hits)) == 6, mode
        assert len(found(mem, "apple", mode=mode, limit=50)) == 9, mode


def test_an_entry_without_a_vector_repeats_another_one_by_its_text(location: str) -> None:
    with recollect.open(location, settings=WORDS_ALONE) as home:
        home.agent("ana").remember("red apple pie")
    with recollect.open(location, embedder=FaultyEmbedder()) as home:
        mem = home.agent("ana")
        mem.remember("Red apple pie")
        mem.remember("red apple pie and cream")
        assert sorted(hit.lower() for hit in found(mem, "apple pie")) == ["red apple pie", "red apple pie and cream"]


# Explanations


@pytest.mark.directory
def test_a_hit_tells_which_lists_found_it_at_which_rank(mem: Memory) -> None:
    mem.remember("red apple")
    mem.remember("red red cherry")
    mem.remember("green pear")
    mem.apply(Add("the apple tree", scope="account"))
    hits = {hit.entry.content: hit for hit in mem.recall("red apple", explain=True)}
    why = hits["red apple"].why
    assert why is not None
    assert why.words is not None
    assert why.vector is not None
    assert (why.words[0], why.vector[0]) == (1, 1)
    assert why.words[1] > 0
    assert why.vector[1] == pytest.approx(1, abs=1e-5)
    assert hits["red apple"].score == pytest.approx(why.fused * why.decay)
    other = hits["red red cherry"].why
    assert other is not None
    assert other.vector is not None
    assert other.vector[0] == 2
    assert other.vector[1] == pytest.approx(2 / (5**0.5 * 2**0.5), abs=1e-5)
    account = hits["the apple tree"].why
    assert account is not None
    assert account.vector is None
    assert account.words is not None
    assert "green pear" not in hits


def test_each_mode_explains_only_the_list_it_has(mem: Memory) -> None:
    mem.remember("red apple")
    (by_words,) = mem.recall("apple", mode="keyword", explain=True)
    (by_vector,) = mem.recall("apple", mode="vector", explain=True)
    assert by_words.why is not None
    assert by_words.why.vector is None
    assert by_words.why.words is not None
    assert by_vector.why is not None
    assert by_vector.why.words is None
    assert by_vector.why.vector is not None
    assert by_vector.why.vector[1] == pytest.approx(0.5**0.5, abs=1e-5)
    assert mem.recall("apple")[0].why is None


def test_entries_without_a_word_of_the_question_are_found_by_what_they_mean(location: str) -> None:
    class Meaning(FaultyEmbedder):
        def rows(self, texts: Any) -> Any:
            return super().rows([text.replace("automobile", "car") for text in texts])

    with recollect.open(location, embedder=Meaning()) as home:
        mem = home.agent("ana")
        mem.remember("the automobile is red")
        mem.remember("bread is cheap")
        assert found(mem, "car", mode="keyword") == []
        assert found(mem, "car") == ["the automobile is red"]


# Limits and long questions


def test_the_limit_may_be_nothing_or_huge(mem: Memory, embedder: FaultyEmbedder) -> None:
    mem.remember_many([Add(f"apple {number}") for number in range(60)])
    embedder.asked.clear()
    for mode in MODES:
        assert mem.recall("apple", limit=0, mode=mode) == []
    assert embedder.asked == []
    for mode in MODES:
        assert len(mem.recall("apple", limit=1_000, mode=mode)) == 60
        assert len(mem.recall("apple", limit=59, mode=mode)) == 59
    for limit in (-1, True, 1.5, "3", None):
        with pytest.raises(Invalid):
            mem.recall("apple", limit=limit)  # type: ignore[arg-type]


def test_no_more_hits_are_given_than_the_most(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=Scattered(64)) as home:
        mem = home.agent("ana")
        mem.remember_many([Add(f"apple {number}") for number in range(LIMIT + 20)])
        assert len(mem.recall("apple", limit=LIMIT)) == LIMIT
        with pytest.raises(Invalid, match="at most 1,000 hits, not 1,001"):
            mem.recall("apple", limit=LIMIT + 1)


def test_a_question_of_a_hundred_thousand_characters_is_answered(
    mem: Memory, embedder: FaultyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "TAIL", 64)  # so that most words are looked up in the database
    mem.remember("the needle is here")
    mem.remember_many([Add(f"word{number}s and more") for number in range(200)])
    long = "needle " + " ".join(f"wort{number}" for number in range(12_000))
    assert len(long) > 100_000
    embedder.asked.clear()
    for mode in MODES:
        assert found(mem, long, mode=mode, limit=300)[0] == "the needle is here"
    assert {len(text) for texts in embedder.asked for text in texts} == {QUERY_LENGTH}
    # Each of the words stands for many others; that must not be too many for the database.
    assert "the needle is here" in found(mem, long, prefix=True, fuzzy=1.0, limit=300)
    assert found(mem, "x" * 100_000, prefix=True, fuzzy=0.2) == []


def test_a_question_without_anything_in_it_finds_nothing(mem: Memory) -> None:
    mem.remember("red apple")
    for mode in MODES:
        for query in ("", " \n\t "):
            assert mem.recall(query, mode=mode) == []
    assert mem.recall("…", mode="vector") == []


# Search as you type


def test_a_word_that_is_in_no_entry_stands_for_longer_and_similar_ones(words_alone: Memory) -> None:
    words_alone.remember("we deploy on Tuesdays")
    words_alone.remember("the deputy is called Ana")
    words_alone.remember("bread and butter")
    assert found(words_alone, "depl") == []
    assert found(words_alone, "depl", prefix=True) == ["we deploy on Tuesdays"]
    assert set(found(words_alone, "dep", prefix=True)) == {"we deploy on Tuesdays", "the deputy is called Ana"}
    assert found(words_alone, "diploy") == []
    assert found(words_alone, "diploy", fuzzy=0.2) == ["we deploy on Tuesdays"]
    assert found(words_alone, "breed", prefix=True, fuzzy=0.2) == ["bread and butter"]
    assert found(words_alone, "zebra", prefix=True, fuzzy=0.2) == []


def test_it_stands_for_words_of_segments_and_of_the_tail_alike(
    words_alone: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "TAIL", 2)
    words_alone.remember_many([Add("we deploy on Tuesdays"), Add("they play")])  # a segment
    words_alone.remember("the employer pays")
    assert found(words_alone, "deplay", fuzzy=0.3) == ["we deploy on Tuesdays", "they play"]
    words_alone.remember("deplane here")  # now there is another segment
    assert set(found(words_alone, "depla", prefix=True)) == {"deplane here"}
    words_alone.remember("we deplore that")  # in the tail
    assert set(found(words_alone, "depl", prefix=True)) == {"we deploy on Tuesdays", "deplane here", "we deplore that"}


def test_a_word_that_is_in_an_entry_stands_for_longer_and_similar_ones_after_itself(words_alone: Memory) -> None:
    words_alone.remember("the cat sleeps")
    words_alone.remember("the catalogue is old")
    words_alone.remember("the bat flies")
    assert found(words_alone, "cat") == ["the cat sleeps"]
    hits = found(words_alone, "cat", prefix=True, fuzzy=0.4)
    assert hits[0] == "the cat sleeps"
    assert set(hits[1:]) == {"the catalogue is old", "the bat flies"}
    words_alone.forget(words_alone.recall("cat")[0].entry.id)
    assert set(found(words_alone, "cat", prefix=True, fuzzy=0.4)) == {"the catalogue is old", "the bat flies"}


def test_a_word_in_the_index_is_expanded_as_one_that_is_not(words_alone: Memory) -> None:
    words_alone.remember("Authentication is by token")
    words_alone.remember("auth is down")
    for query, options in (("auth", {"prefix": True}), ("auth", {"prefix": True, "fuzzy": 0.2})):
        assert found(words_alone, query, **options) == ["auth is down", "Authentication is by token"]


def test_an_entry_full_of_similar_words_does_not_beat_one_with_the_word(words_alone: Memory) -> None:
    words_alone.remember("author authority authentic authorise authenticate authored " * 40)
    words_alone.remember("auth is down, and so is everything that depends on it in the north office of the town")
    words_alone.remember_many([Add(f"unrelated note {number} about the weather") for number in range(20)])
    assert found(words_alone, "auth", prefix=True, fuzzy=0.2)[0].startswith("auth is down")


def test_a_common_word_is_not_made_rare_by_a_rare_one_that_is_like_it(words_alone: Memory) -> None:
    words_alone.remember_many([Add(f"form {number} was sent") for number in range(30)])
    words_alone.remember("a farm by the sea")
    hits = words_alone.recall("form", fuzzy=0.3, limit=40)
    assert [hit.entry.content for hit in hits][-1] == "a farm by the sea"
    assert hits[0].score > 2 * hits[-1].score


def test_an_expanded_word_counts_less_than_one_that_is_there(words_alone: Memory) -> None:
    words_alone.remember("port 8080")
    words_alone.remember("harbour master")
    (exact,) = words_alone.recall("harbour")
    (near,) = words_alone.recall("harbor", fuzzy=0.2)
    (begun,) = words_alone.recall("harb", prefix=True)
    assert exact.entry == near.entry == begun.entry
    assert exact.score > near.score > begun.score > 0


def test_the_snippet_shows_where_an_expanded_word_begins(words_alone: Memory) -> None:
    words_alone.remember("intro " * 50 + "the treasure is under the oak " + "outro " * 50)
    (begun,) = words_alone.recall("treas", prefix=True)
    assert "the treasure is under" in begun.snippet
    (near,) = words_alone.recall("traesure", fuzzy=0.3)
    assert near.snippet.startswith("intro")
    assert len(near.snippet) <= 120


def test_fuzzy_is_a_share_of_the_word(mem: Memory) -> None:
    for wrong in (-0.1, 1.1, True, "0.2", None, float("nan")):
        with pytest.raises(Invalid):
            mem.recall("apple", fuzzy=wrong)  # type: ignore[arg-type]


# Both databases


def test_both_databases_give_the_same_hits(tmp_path: Path, postgres_url: str) -> None:
    chance = random.Random(7)
    vocabulary = [f"{a}{b}" for a in ("amber", "birch", "cedar", "delta", "ember") for b in ("", "ly", "wood", "stone")]
    drafts = []
    for number in range(240):
        words = " ".join(chance.choices(vocabulary, k=chance.randint(3, 14)))
        scope = chance.choice(["workspace", "workspace", "account", "channel"])
        drafts.append(
            Add(
                f"{words} no{number}",
                category=chance.choice([None, "decisions", "lessons"]),
                tags=[chance.choice(["red", "green"])],
                scope=scope,
                channel="kitchen" if scope == "channel" else None,
                importance=chance.choice([0.1, 0.5, 0.9]),
            )
        )
    answers = []
    for location in (str(tmp_path / "home"), postgres_url):
        with recollect.open(location, embedder=Scattered(64), clock=FixedClock()) as home:
            mem = home.agent("ana")
            entries = mem.remember_many(drafts)
            contents = sorted(entries, key=lambda entry: entry.content)
            for entry in contents[::9]:
                mem.forget(entry.id)
            for entry in contents[1::9]:
                mem.apply(Write(entry.id, content=entry.content + " again"))
            answers.append(
                [
                    [(hit.entry.content, hit.score) for hit in mem.recall(query, mode=mode, limit=8, **options)]
                    for query in ("amber", "birchwood deltaly", "no17", "cedar stone again", "embe", "what about it")
                    for mode in MODES
                    for options in (
                        {},
                        {"category": "decisions"},
                        {"tags": ["red"], "channel": "kitchen"},
                        {"fusion": "rrf"},
                        {"prefix": True, "fuzzy": 0.2},
                    )
                ]
            )
    ours, theirs = answers
    assert sum(len(hits) for hits in ours) > 300
    for one, other in zip(ours, theirs, strict=True):
        assert [content for content, _ in one] == [content for content, _ in other]
        assert [score for _, score in one] == pytest.approx([score for _, score in other], rel=1e-4)


def test_the_parts_of_the_lists_are_together_the_fused_score(mem: Memory) -> None:
    for content in ("red apple", "green apple", "a red car", "a blue car"):
        mem.remember(content)
    hits = mem.recall("red apple", explain=True)
    assert any(hit.why.vector_part for hit in hits if hit.why)
    for hit in hits:
        assert hit.why is not None
        assert hit.why.words_part + hit.why.vector_part == pytest.approx(hit.why.fused)
        assert hit.score == pytest.approx(hit.why.fused * hit.why.decay)


@pytest.mark.directory
def test_an_entry_of_the_account_is_ranked_as_in_a_single_file(
    mem: Memory, embedder: FaultyEmbedder, clock: FixedClock, tmp_path: Path
) -> None:
    """Entries of the account have no vector; in a database of their own, too, their words stand in for it."""

    def ranked(memory: Memory) -> list[tuple[str, float]]:
        memory.remember("We deploy the shop by day")
        memory.remember("Deploy day talk")
        memory.remember("The gate is blue")
        long = "The deploy day of the shop is Wednesday unless there is a fair in town and nobody has time for it"
        memory.remember(long, scope="account")
        return [(hit.entry.content, round(hit.score, 3)) for hit in memory.recall("deploy day of the shop")]

    with recollect.open(tmp_path / "single.db", embedder=embedder, clock=clock) as single:
        assert ranked(mem) == ranked(single.agent("ana"))
