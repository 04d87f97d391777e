"""Finding by words: what counts, what never does, filters before the limit, and who may look into whose memory."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import recollect
from recollect import Add, Alias, Category, ConfigError, Denied, FixedClock, Home, Invalid, Memory, Rename, Write
from recollect.clock import milliseconds
from recollect.engine.agent_store import Store


def found(mem: Memory, query: str, **filters: object) -> list[str]:
    return [hit.entry.content for hit in mem.recall(query, mode="keyword", **filters)]  # type: ignore[arg-type]


# What counts


def test_an_entry_is_found_by_the_words_of_its_name_content_and_tags(mem: Memory) -> None:
    mem.remember("the server listens on 8080", name="harbour settings", tags=["network", "café"])
    mem.remember("something else entirely")
    for query in ("server", "listening", "8080", "harbour", "setting", "Network", "cafe", "HARBOUR café"):
        assert found(mem, query) == ["the server listens on 8080"], query
    assert found(mem, "postgres") == []


def test_an_alias_is_for_addressing_and_never_found_by(mem: Memory) -> None:
    mem.remember("the server listens on 8080", name="harbour")
    mem.apply(Alias("harbour", "zanzibar"))
    assert found(mem, "zanzibar") == []
    mem.apply(Rename("harbour", "dock"))
    assert found(mem, "harbour") == []
    assert found(mem, "dock") == ["the server listens on 8080"]
    mem.apply(Rename("dock", "zanzibar"))
    assert found(mem, "zanzibar") == ["the server listens on 8080"]


def test_a_generated_name_is_not_searched(mem: Memory) -> None:
    mem.apply(Add("we talked about the budget", name="archive-hunterA2bcd-2", kind="archive"))
    mem.apply(Add("a note whose name a person chose", name="archive-of-photos-2"))
    assert found(mem, "2") == ["a note whose name a person chose"]
    assert found(mem, "archive") == ["a note whose name a person chose"]
    assert found(mem, "budget") == ["we talked about the budget"]


def test_notes_archives_and_chunks_are_ranked_together(mem: Memory) -> None:
    mem.apply(Add("we talked about the quarterly budget and many other things on that day", kind="archive"))
    mem.apply(Add("budget budget", kind="note"))
    mem.apply(Add("user: what about the budget?", kind="chunk"))
    hits = mem.recall("budget")
    assert [hit.entry.kind for hit in hits] == ["note", "chunk", "archive"]
    assert hits[0].score > hits[1].score > hits[2].score > 0


def test_a_hit_holds_the_whole_entry_its_score_and_a_piece_of_the_text_around_the_word(mem: Memory) -> None:
    content = "intro " * 50 + "the treasure is under the oak " + "outro " * 50
    entry = mem.remember(content, name="map", tags=["gold"])
    (hit,) = mem.recall("Treasures")
    assert hit.entry == entry
    assert hit.score > 0
    assert "treasure is under the oak" in hit.snippet
    assert hit.snippet in content
    assert len(hit.snippet) <= 120
    assert mem.recall("gold")[0].snippet.startswith("intro intro")


def test_a_write_changes_what_an_entry_is_found_by_at_once(mem: Memory) -> None:
    mem.remember("apples", name="fruit", tags=["red"])
    mem.apply(Write("fruit", content="pears", tags=["green"]))
    assert [found(mem, word) for word in ("apples", "red", "pears", "green")] == [[], [], ["pears"], ["pears"]]
    mem.forget("fruit")
    assert [found(mem, word) for word in ("pears", "green", "fruit")] == [[], [], []]
    mem.restore("fruit")
    assert found(mem, "green fruit") == ["pears"]


def test_rarer_words_and_shorter_texts_count_more_and_equals_come_newest_first(mem: Memory) -> None:
    for number in range(20):
        mem.remember(f"common words about topic {number}")
    rare = mem.remember("common zebra")
    assert mem.recall("common zebra")[0].entry == rare
    mem.remember("twin alder", name=None)
    mem.remember("twin birch", context="the newer one")
    assert [hit.entry.context for hit in mem.recall("twin")] == ["the newer one", None]


def test_words_of_many_languages_are_found(mem: Memory) -> None:
    texts = [
        "Die Straße nach München",
        "décisions prises à Genève",
        "decisões sobre a configuração",
        "東京都の天気予報",
        "Привет, мир",
        "مرحبا بالعالم",
        "नमस्ते दुनिया",
        "deploy 🚀 tonight",
        "parse_config_file in src/app/main.py and getUserName",
    ]
    mem.remember_many(Add(text) for text in texts)
    for query, place in (
        ("strasse", 0),
        ("MUNCHEN", 0),
        ("geneve", 1),
        ("configuracao", 2),
        ("天気", 3),
        ("京都の", 3),
        ("МИР", 4),
        ("بالعالم", 5),
        ("दुनिया", 6),
        ("🚀", 7),
        ("config", 8),
        ("parse_config_file", 8),
        ("main.py", 8),
        ("user", 8),
    ):
        assert found(mem, query) == [texts[place]], query


# Queries are data


@pytest.mark.parametrize(
    "query", ["", " \n\t", "the of and", "?!", "…", "''", '"', "*", "%", "_", "-", ":", "()", "\\"]
)
def test_a_query_without_words_finds_nothing_and_is_no_error(mem_in_file: Memory, query: str) -> None:
    assert mem_in_file.recall(query) == []


@pytest.fixture(scope="module")
def mem_in_file(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    home = recollect.open(tmp_path_factory.mktemp("queries") / "memory.db")
    mem = home.agent("ana")
    mem.remember("apple pie")
    mem.remember("banana bread")
    mem.remember("apple banana smoothie")
    return mem


OPERATORS = [
    'apple "pie"',
    '"apple pie"',
    '"pie apple"',
    "apple* pie",
    "^apple pie",
    "apple NEAR(pie)",
    "NEAR(apple pie, 2)",
    "apple OR pie",
    "apple AND pie",
    "apple NOT pie",
    "NOT apple pie",
    "-apple pie",
    "+apple pie",
    "content:apple pie",
    "{apple pie}",
    "(apple pie",
    "apple pie)",
    "'; DROP TABLE entries; -- apple pie",
    "apple' OR '1'='1 pie",
    "apple%pie",
    "apple\\ pie",
    "apple & pie",
    "apple | pie",
    "!apple pie",
    "apple <-> pie",
    "apple:* pie",
    "apple;pie",
    "apple~2 pie",
    "apple^3 pie",
    "[apple TO pie]",
    "%(agent)s apple pie",
    ":agent apple pie",
    "$1 apple pie",
    "{} apple pie",
]


def test_no_operator_in_a_query_has_any_effect(mem: Memory) -> None:
    mem.remember("apple pie")
    mem.remember("banana bread")
    mem.remember("apple banana smoothie")
    plain = [(hit.entry.content, hit.score) for hit in mem.recall("apple pie", limit=10)]
    assert [content for content, _ in plain] == ["apple pie", "apple banana smoothie"]
    for query in OPERATORS:
        hits = mem.recall(query, limit=10)
        # Words that no entry has change nothing; every operator is such a word, or none.
        assert [(hit.entry.content, hit.score) for hit in hits] == plain, query
    assert len(mem.list()) == 3


def test_a_word_asked_twice_counts_once(mem: Memory) -> None:
    mem.remember("apple pie")
    assert mem.recall("apple apple APPLES")[0].score == mem.recall("apple")[0].score


def test_a_query_of_a_hundred_thousand_characters_is_answered(mem: Memory) -> None:
    mem.remember("the needle is here")
    mem.remember("x" + "needle hay " * 90_000)
    words = " ".join(f"word{number}" for number in range(12_000))
    assert len(words) > 100_000
    assert {hit.entry.content[:10] for hit in mem.recall("needle " + words)} == {"the needle", "xneedle ha"}
    assert len(mem.recall("needle " * 15_000)) == 2
    assert len(mem.recall("needle " + "日本" * 50_000)) == 2
    assert mem.recall("z" * 100_000) == []


@pytest.mark.parametrize("query", ["a\0b", "\ud800", None, 7, b"bytes"])
def test_a_query_that_is_no_text_is_invalid(mem_in_file: Memory, query: object) -> None:
    with pytest.raises(Invalid):
        mem_in_file.recall(query)  # type: ignore[arg-type]


# Limits and modes


def test_the_limit_may_be_nothing_or_more_than_there_is(mem: Memory) -> None:
    mem.remember_many(Add(f"apple {number}") for number in range(40))
    assert mem.recall("apple", limit=0) == []
    assert [len(mem.recall("apple")), len(mem.recall("apple", limit=1))] == [5, 1]
    assert len(mem.recall("apple", limit=1_000)) == 40
    best = mem.recall("apple 7", limit=40)
    for limit in (1, 2, 7, 39):
        assert mem.recall("apple 7", limit=limit) == best[:limit]
    for wrong in (-1, True, 2.0, "5", None):
        with pytest.raises(Invalid):
            mem.recall("apple", limit=wrong)  # type: ignore[arg-type]


def test_without_an_embedder_hybrid_is_keyword_and_vector_is_an_error(mem: Memory) -> None:
    mem.remember("apple pie")
    assert mem.recall("apple") == mem.recall("apple", mode="hybrid") == mem.recall("apple", mode="keyword")
    with pytest.raises(ConfigError, match="embedder"):
        mem.recall("apple", mode="vector")
    with pytest.raises(Invalid):
        mem.recall("apple", mode="psychic")


# Filters come before the limit


@pytest.mark.directory
def test_no_filter_lets_better_matches_that_do_not_pass_it_hide_the_ones_that_do(mem: Memory) -> None:
    day = milliseconds("2025-06-01T00:00:00Z")
    mem.remember_many(
        Add(
            f"apple apple apple n{number}",
            category="tasks",
            kind="chunk",
            tags=["loud", "common"],
            source="crowd",
            at=day + number,
            scope="channel",
            channel="market",
            conversation="c-1",
        )
        for number in range(500)
    )
    wanted = ["green apple", "apple trees grow", "many more words make this apple text rank lower"]
    mem.remember_many(
        [
            Add(wanted[0], category="lessons", tags=["quiet", "common"], source="sage", at=day - 1),
            Add(wanted[1], category="lessons", tags=["quiet", "common"], source="sage", at=day - 2),
            Add(wanted[2], category="lessons", tags=["common", "quiet", "rare"], source="sage", at=day - 3),
        ]
    )
    for filters in (
        {"category": "lessons"},
        {"category": ["lessons", "decisions"]},
        {"kinds": ["note"]},
        {"kinds": ["note", "archive"]},
        {"tags": ["quiet"]},
        {"tags": ["common", "quiet"]},
        {"source": "sage"},
        {"until": day},
        {"since": day - 3, "until": day},
        {"scopes": ["workspace"]},
        {"scopes": ["workspace", "account"]},
        {"category": "lessons", "kinds": ["note"], "tags": ["quiet"], "source": "sage", "until": day},
    ):
        for limit in (3, 5, 100):
            hits = found(mem, "apple", limit=limit, channel="market", **filters)
            assert hits == wanted, (filters, limit)
    assert len(found(mem, "apple", limit=3)) == 3
    assert set(found(mem, "apple", limit=3)) == set(wanted)
    assert [text[:17] for text in found(mem, "apple", limit=3, channel="market")] == ["apple apple apple"] * 3
    assert found(mem, "apple", channel="market", tags=["quiet", "loud"]) == []
    assert found(mem, "apple", channel="market", tags=["QUIET"]) == []
    assert found(mem, "apple", channel="market", kinds=["archive"]) == []
    assert found(mem, "apple", channel="market", since=day + 500) == []
    assert found(mem, "apple", channel="market", scopes=[]) == []
    assert len(found(mem, "apple", channel="market", limit=1_000)) == 503


def test_since_is_included_and_until_is_not(mem: Memory) -> None:
    for moment in (1_000, 2_000, 3_000):
        mem.remember(f"apple at {moment}", at=moment)
    assert sorted(found(mem, "apple", since=2_000)) == ["apple at 2000", "apple at 3000"]
    assert sorted(found(mem, "apple", until=2_000)) == ["apple at 1000"]
    assert found(mem, "apple", since="1970-01-01T00:00:02Z", until="1970-01-01T00:00:03Z") == ["apple at 2000"]


@pytest.mark.directory
def test_entries_of_a_conversation_or_a_channel_are_found_only_from_there(mem: Memory) -> None:
    mem.remember("apple of the account", scope="account")
    mem.remember("apple of the workspace", conversation="c-1", channel="green")
    mem.remember("apple of green", scope="channel", channel="green", conversation="c-1")
    mem.remember("apple of blue", scope="channel", channel="blue")
    mem.remember("apple of c-1", scope="conversation", conversation="c-1", channel="green")
    mem.remember("apple of c-2", scope="conversation", conversation="c-2")
    wide = {"apple of the account", "apple of the workspace"}
    assert set(found(mem, "apple", limit=10)) == wide
    assert set(found(mem, "apple", limit=10, channel="green")) == {*wide, "apple of green"}
    assert set(found(mem, "apple", limit=10, conversation="c-1")) == {*wide, "apple of c-1"}
    assert set(found(mem, "apple", limit=10, conversation="c-2", channel="green")) == {
        *wide,
        "apple of green",
        "apple of c-2",
    }
    assert set(found(mem, "apple", limit=10, conversation="nowhere", channel="nowhere")) == wide
    assert found(mem, "apple", scopes=["conversation", "channel"]) == []
    assert found(mem, "apple", scopes=["conversation"], conversation="c-1") == ["apple of c-1"]
    assert found(mem, "apple", scopes=["channel"], conversation="c-1") == []


def test_many_better_matches_of_other_conversations_hide_none_of_this_one(mem: Memory) -> None:
    mem.remember_many(
        Add("apple apple", scope="conversation", conversation=f"c-{number % 7}", lifetime=None) for number in range(500)
    )
    mem.remember("the apple of this talk", scope="conversation", conversation="mine")
    mem.remember("the apple of this topic", scope="channel", channel="mine")
    assert set(found(mem, "apple", limit=2, conversation="mine", channel="mine")) == {
        "the apple of this talk",
        "the apple of this topic",
    }


def test_of_equal_matches_the_narrower_scope_comes_first_even_at_the_limit(mem: Memory) -> None:
    mem.remember("apple of c", scope="conversation", conversation="c")
    mem.remember("apple of k", scope="channel", channel="k")
    mem.remember_many(Add(f"apple of n{number}") for number in range(60))
    for limit in (1, 2, 3, 5):
        hits = mem.recall("apple", limit=limit, conversation="c", channel="k")
        assert [hit.entry.scope for hit in hits] == ["conversation", "channel", "workspace", "workspace", "workspace"][
            :limit
        ]
    newest_first = [hit.entry.seq for hit in mem.recall("apple", limit=60)]
    assert newest_first == list(range(62, 2, -1))


@pytest.mark.parametrize(
    "filters",
    [
        {"scopes": ["galaxy"]},
        {"kinds": ["poem"]},
        {"category": "recipes"},
        {"category": ["lessons", "recipes"]},
        {"category": []},
        {"category": 7},
        {"tags": [""]},
        {"tags": "word"},
        {"since": "yesterday"},
        {"until": -1},
        {"since": True},
        {"source": "\ud800"},
        {"source": "a\0b"},
        {"conversation": "\ud800"},
        {"channel": "a\0b"},
        {"source": 7},
    ],
)
def test_a_wrong_filter_is_invalid(mem_in_file: Memory, filters: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        mem_in_file.recall("apple", **filters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "filters", [{"source": "\ud800"}, {"source": "a\0b"}, {"tag": "\ud800"}, {"tag": "a\0b"}, {"tag": 7}]
)
def test_a_wrong_filter_of_a_list_is_invalid(mem_in_file: Memory, filters: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        mem_in_file.list(**filters)  # type: ignore[arg-type]


# Another agent's memory


def reads_of(mem: Memory) -> list[tuple[object, ...]]:
    store: Store = mem._workspace
    with store.database.admin.dump(store.agent) as tables:
        logged = [row[2:] for table, _, rows in tables if table == "access_log" for row in rows]
    return logged[::-1]


@pytest.mark.directory
def test_another_agents_knowledge_may_be_read_and_every_such_read_is_recorded(home: Home, clock: FixedClock) -> None:
    ana, ben = home.agent("ana"), home.agent("ben")
    ben.remember("apple knowledge", name="apple")
    ben.apply(Add("apple talk of the past", kind="chunk"))
    ben.remember("apple on my mind right now")
    ben.remember("apple of this talk", scope="conversation", conversation="c")
    ben.remember("apple of this topic", scope="channel", channel="k", lifetime="long_term")
    ben.remember("apple preference", scope="account", lifetime="long_term")
    ana.remember("apple of my own", name="mine")
    clock.advance(7)
    hits = found(ana, "apple", limit=10, target_agent="ben", conversation="c", channel="k")
    assert sorted(hits) == ["apple knowledge", "apple talk of the past"]
    assert found(ana, "apple", target_agent="ben", kinds=["chunk"]) == ["apple talk of the past"]
    assert reads_of(ana) == [
        (clock.now(), "ben", "recall", "apple"),
        (clock.now(), "ben", "recall", "apple"),
    ]
    assert reads_of(ben) == []
    assert [hit.entry.content for hit in ana.recall("apple", target_agent="ana")] == ["apple of my own"]
    assert len(reads_of(ana)) == 2
    assert home.check().ok


@pytest.mark.directory
def test_what_is_not_knowledge_of_another_agent_is_denied(home: Home) -> None:
    home.agent("ben").remember("apple", scope="account", lifetime="long_term")
    ana = home.agent("ana")
    for scopes in (["account"], ["conversation"], ["channel"], ["conversation", "channel", "account"], []):
        with pytest.raises(Denied):
            ana.recall("apple", target_agent="ben", scopes=scopes)
    assert reads_of(ana) == []
    assert ana.recall("apple", target_agent="ben", scopes=["workspace"]) == []
    assert ana.recall("apple", target_agent="nobody") == []
    assert len(reads_of(ana)) == 2
    with pytest.raises(Invalid):
        ana.recall("apple", target_agent="../ben")


@pytest.mark.unprepared
def test_an_agent_that_only_read_anothers_memory_is_part_of_the_home(home: Home) -> None:
    home.agent("ben").remember("apple knowledge", name="apple")
    ana = home.agent("ana")
    assert found(ana, "apple", target_agent="ben") == ["apple knowledge"]
    assert ana._workspace.database.admin.agents() == ["ana", "ben"]


def test_reads_of_another_agents_memory_at_once_are_all_recorded(home: Home) -> None:
    home.agent("ben").remember("apple knowledge", name="apple")
    ana = home.agent("ana")
    with ThreadPoolExecutor(8) as threads:
        reads = [threads.submit(found, ana, "apple", target_agent="ben") for _ in range(40)]
        assert [read.result() for read in reads] == [["apple knowledge"]] * 40
    assert len(reads_of(ana)) == 40


def test_reading_another_agents_memory_changes_nothing_in_it(home: Home) -> None:
    ana, ben = home.agent("ana"), home.agent("ben")
    ben.remember("apple knowledge", name="apple")
    before = (ben.list(), ben.history("apple"))
    found(ana, "apple", target_agent="ben")
    assert (ben.list(), ben.history("apple")) == before
    assert ana.list() == []
    assert ana.recall("apple") == []


def test_entries_of_several_categories_are_found_together_best_first(mem: Memory) -> None:
    for category in (None, "decisions", "lessons", "tasks"):
        mem.remember(f"the apple of the {category}", category=category)
    mem.remember("apple apple", category="lessons")
    assert found(mem, "apple", category=("lessons", "decisions")) == [
        "apple apple",
        "the apple of the lessons",
        "the apple of the decisions",
    ]
    assert found(mem, "apple", category=iter(["tasks"])) == ["the apple of the tasks"]
    assert "the apple of the None" not in found(mem, "apple", category=Category)
    assert len(found(mem, "apple", category=Category)) == 4
    assert len(found(mem, "apple")) == 5


def test_where_thousands_repeat_each_other_a_recall_looks_only_so_deep(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.remember_many([*(Add("apple") for _ in range(300)), Add("apple and a text that is longer, so it comes later")])
    assert len(mem.recall("apple", mode="keyword")) == 2
    monkeypatch.setattr("recollect.engine.recall.DEEPEST", 30)
    assert len(mem.recall("apple", mode="keyword")) == 1


def test_a_decision_comes_before_the_transcripts_that_quote_what_held_before(mem: Memory, clock: FixedClock) -> None:
    talk = mem.conversations.start()
    talk.user("The deployment on Friday broke the cart. When do we deploy, and who looks after a deployment?")
    talk.assistant("Agreed: we deploy on Tuesdays at ten, when all three of you are there for the deployment.")
    talk.end()  # leaves a hand-off and a chunk
    clock.advance(86_400_000)
    mem.remember("We deploy on Wednesdays at ten, since Tuesday is roasting day.", name="release", category="decisions")
    mem.remember("The newsletter goes out on Sundays.")
    hits = mem.recall("when do we deploy?")
    assert hits[0].entry.name == "release"
    assert {hit.entry.category or hit.entry.kind for hit in hits[1:]} >= {"handoffs", "chunk"}
    assert "release: We deploy on Wednesdays at ten" in mem.context("when do we deploy?").text


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("On staging we use the port of the old database, says Ben.", "which port does staging use?"),
        ("Auf staging nutzt Ben noch den alten port.", "Welchen port nutzt staging?"),
        ("No staging usamos ainda o port antigo.", "qual port usamos no staging?"),
    ],
)
def test_a_word_that_says_little_does_not_put_a_transcript_before_a_note(mem: Memory, said: str, asked: str) -> None:
    talk = mem.conversations.start()
    talk.user(said)
    talk.end()
    mem.remember("5433", name="staging database port")
    hits = mem.recall(asked)
    assert hits[0].entry.content == "5433"
    assert len(hits) > 1


def test_a_question_of_words_that_say_little_is_compared_by_them(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.user("We use and want what we keep.")
    talk.end()
    mem.remember("They keep bees")
    assert mem.recall("want to keep and use")[0].entry.content != "They keep bees"


def test_a_transcript_that_holds_more_of_the_query_stays_before_a_note(mem: Memory) -> None:
    talk = mem.conversations.start()
    talk.user("The lighthouse keeper paints his lantern green in winter.")
    talk.end()
    mem.remember("The lighthouse is closed.")
    assert mem.recall("who paints the lantern of the lighthouse?")[0].entry.content != "The lighthouse is closed."


@pytest.mark.directory
def test_a_full_match_in_the_account_comes_first(mem: Memory) -> None:
    for number in range(8):
        mem.remember(f"The deploy of module {number} of the web shop waits for the review")
    mem.remember("Deploy day of the web shop: Wednesday", scope="account")
    assert mem.recall("deploy day of the web shop")[0].entry.scope == "account"
