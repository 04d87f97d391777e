"""What an entry is: its fields, its defaults, where it lives, and how entries are listed."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

import recollect
from recollect import Add, Category, FixedClock, Home, Invalid, Kind, Lifetime, Memory, NotFound, Scope

NEW_YEAR_2026 = 1_767_225_600_000


@pytest.mark.directory
def test_every_field_given_to_remember_comes_back_the_same_also_after_reopening(location: str, home: Home) -> None:
    written = home.agent("ana").remember(
        "Deploys go out on Tuesdays.\n\tNever on Fridays — “ever”. 🚀 日本語",
        name="deploy day",
        tags=["ops", "café", 'say "hi"', "100%"],
        context="said in the stand-up",
        category="decisions",
        scope="channel",
        channel="releases",
        conversation="conversation-7",
        importance=0.25,
        source="researcher",
        lifetime="mid_term",
        at="2025-12-24T18:00:00Z",
    )
    assert written.seq == 1
    assert written.kind is Kind.NOTE
    assert written.content == "Deploys go out on Tuesdays.\n\tNever on Fridays — “ever”. 🚀 日本語"
    assert written.name == "deploy day"
    assert written.aliases == ()
    assert written.tags == ("ops", "café", 'say "hi"', "100%")
    assert written.concept_tags == ("deploys", "tuesdays", "fridays", "日本語")
    assert written.context == "said in the stand-up"
    assert written.category is Category.DECISIONS
    assert written.scope is Scope.CHANNEL
    assert written.channel_id == "releases"
    assert written.conversation_id == "conversation-7"
    assert written.importance == 0.25
    assert written.source == "researcher"
    assert written.lifetime is Lifetime.MID_TERM
    assert written.created_at == written.updated_at == 1_766_599_200_000
    assert written.accessed_at is None
    assert written.access_count == 0
    assert written.first_event is written.last_event is written.vault_id is None

    home.close()
    with recollect.open(location) as again:
        assert again.agent("ana").get("deploy day") == written
        assert again.agent("ana").get(written.id) == written
        assert again.agent("ana").list() == [written]


def test_an_entry_given_nothing_but_content_is_a_note_of_the_workspace_that_stays(mem: Memory) -> None:
    entry = mem.remember("the build is green")
    assert (entry.name, entry.aliases, entry.tags, entry.context, entry.category) == (None, (), (), None, None)
    assert (entry.kind, entry.scope, entry.lifetime) == (Kind.NOTE, Scope.WORKSPACE, Lifetime.LONG_TERM)
    assert (entry.importance, entry.source) == (0.5, "agent")
    assert entry.created_at == entry.updated_at == NEW_YEAR_2026
    assert mem.get(entry.id) == entry


@pytest.mark.parametrize(
    ("draft", "lifetime"),
    [
        (Add("x"), Lifetime.LONG_TERM),
        (Add("x", name="n"), Lifetime.LONG_TERM),
        (Add("x", kind="archive"), Lifetime.LONG_TERM),
        (Add("x", kind="chunk"), Lifetime.MID_TERM),
        (Add("x", kind="chunk", name="n"), Lifetime.MID_TERM),
        (Add("x", scope="account"), Lifetime.LONG_TERM),
        (Add("x", scope="channel", channel="c"), Lifetime.LONG_TERM),
        (Add("x", scope="conversation", conversation="c"), Lifetime.CONVERSATION),
        (Add("x", scope="conversation", conversation="c", name="n"), Lifetime.CONVERSATION),
        (Add("x", scope="conversation", conversation="c", lifetime="conversation"), Lifetime.CONVERSATION),
        (Add("x", name="n", lifetime="short_term"), Lifetime.SHORT_TERM),
        (Add("x", lifetime="short_term"), Lifetime.SHORT_TERM),
        (Add("x", kind="chunk", lifetime="long_term"), Lifetime.LONG_TERM),
    ],
)
def test_how_long_an_entry_is_kept_follows_from_its_kind_and_scope_unless_it_is_asked_for(
    tmp_path: Path, draft: Add, lifetime: Lifetime
) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        assert home.agent("ana").apply(draft).lifetime is lifetime
        assert home.agent("ana").list()[0].lifetime is lifetime


def test_a_passing_note_that_gets_its_first_name_is_kept_for_long(mem: Memory) -> None:
    passing = mem.remember("the staging password is in the safe", lifetime="short_term")
    assert mem.apply(recollect.Rename(passing.id, "staging password")).lifetime is Lifetime.LONG_TERM
    chosen = mem.remember("only for this week", name="guest", lifetime="short_term")
    assert mem.apply(recollect.Rename("guest", "visitor")).lifetime is Lifetime.SHORT_TERM
    assert [mem.get(entry.id).lifetime for entry in (passing, chosen)] == [Lifetime.LONG_TERM, Lifetime.SHORT_TERM]


@pytest.mark.parametrize(
    "draft",
    [
        Add(""),
        Add(" \n\t "),
        Add("a\0b"),
        Add("\ud800"),
        Add("x" * 1_000_001),
        Add("é" * 500_001),
        Add("x", name=""),
        Add("x", name="  "),
        Add("x", name="two\nlines"),
        Add("x", name="tab\there"),
        Add("x", name="bell\a"),
        Add("x", name="\udfff"),
        Add("x", name="n" * 257),
        Add("x", name="line\u2028separator"),
        Add("x", importance=-0.01),
        Add("x", importance=1.01),
        Add("x", importance=float("nan")),
        Add("x", importance=float("inf")),
        Add("x", importance=True),
        Add("x", importance="0.5"),  # type: ignore[arg-type]
        Add("x", kind="poem"),
        Add("x", category="recipes"),
        Add("x", scope="galaxy"),
        Add("x", lifetime="forever"),
        Add("x", scope="conversation"),
        Add("x", scope="channel"),
        Add("x", scope="conversation", conversation="c", lifetime="long_term"),
        Add("x", tags=["", "b"]),
        Add("x", tags=["two\nlines"]),
        Add("x", tags=[f"tag{number}" for number in range(65)]),
        Add("x", tags=["t" * 65]),
        Add("x", tags="word"),  # type: ignore[arg-type]
        Add("x", tags=[7]),  # type: ignore[list-item]
        Add("x", context="a\0b"),
        Add("x", source=""),
        Add("x", source="s" * 257),
        Add("x", channel="a\nb"),
        Add("x", at="yesterday"),
        Add("x", at=-1),
        Add(b"bytes"),  # type: ignore[arg-type]
        Add(None),  # type: ignore[arg-type]
    ],
    ids=lambda draft: repr(draft)[:60].encode("ascii", "backslashreplace").decode(),
)
def test_wrong_input_is_refused_before_a_file_is_made(tmp_path: Path, draft: Add) -> None:
    with recollect.open(tmp_path / "memory.db") as home, pytest.raises(Invalid):
        home.agent("ana").apply(draft)
    assert list(tmp_path.iterdir()) == []


def test_wrong_input_changes_nothing_in_a_memory_that_is_there(mem: Memory) -> None:
    entry = mem.remember("kept", name="kept")
    for wrong in (
        recollect.Write("kept", content=" "),
        recollect.Write("kept"),
        recollect.Write("kept", importance=2),
        recollect.Write("kept", tags=["a\0b"]),
        recollect.Rename("kept", "two\nlines"),
        recollect.Alias("kept", ""),
        recollect.Remove("  "),
        "not an operation",
    ):
        with pytest.raises(Invalid):
            mem.apply(wrong)  # type: ignore[arg-type]
    assert mem.get("kept") == entry
    assert len(mem.history("kept")) == 1


def test_content_of_the_largest_size_is_kept_whole(mem: Memory) -> None:
    content = "memória " * 111_111  # 999,999 bytes
    mem.remember(content, name="large")
    assert mem.get("large").content == content


def test_the_bounds_of_importance_and_lengths_are_allowed(mem: Memory) -> None:
    mem.remember("none", importance=0, name="n" * 256)
    mem.remember("all", importance=1, tags=[f"{number:02}" + "t" * 62 for number in range(64)], source="s" * 256)
    everything, nothing = mem.list()
    assert (nothing.importance, everything.importance) == (0.0, 1.0)
    assert nothing.name == "n" * 256
    assert len(everything.tags) == 64


def test_tags_are_trimmed_and_repetitions_leave_while_the_order_stays(mem: Memory) -> None:
    assert mem.remember("x", tags=[" b ", "a", "b", "A", "a"]).tags == ("b", "a", "A")
    assert mem.list()[0].tags == ("b", "a", "A")


def test_archives_and_chunks_are_entries_like_notes(mem: Memory) -> None:
    archive = mem.apply(Add("we agreed on the port", kind="archive", name="archive-1"))
    chunk = mem.apply(Add("user: which port?", kind="chunk"))
    note = mem.remember("the port is 8080")
    assert [entry.kind for entry in mem.list()] == [Kind.NOTE, Kind.CHUNK, Kind.ARCHIVE]
    assert mem.get("archive-1") == archive
    assert [mem.get(entry.id).kind for entry in (archive, chunk, note)] == ["archive", "chunk", "note"]


def test_an_entry_that_is_not_there_is_not_found(mem: Memory) -> None:
    for missing in ("nobody", "019b76da-a800-7000-8000-000000000000"):
        with pytest.raises(NotFound):
            mem.get(missing)
        with pytest.raises(NotFound):
            mem.history(missing)
        with pytest.raises(NotFound):
            mem.restore(missing)
        with pytest.raises(NotFound):
            mem.apply(recollect.Write(missing, content="x"))
        assert mem.forget(missing) is False
    assert mem.list() == []


@pytest.mark.directory
@pytest.mark.unprepared
def test_opening_and_reading_create_nothing(location: str, tmp_path: Path) -> None:
    with recollect.open(location) as home:
        mem = home.agent("ana")
        assert (mem.list(), mem.recall("anything"), home.workspaces(), home.check().ok) == ([], [], [], True)
        assert mem.forget("missing") is False
    assert list(tmp_path.iterdir()) == []
    if location.startswith("postgresql"):
        with psycopg.connect(location) as connection:
            ours = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'recollect%'").fetchone()
            assert ours == (0,)


def test_many_entries_are_remembered_in_the_order_given(mem: Memory) -> None:
    made = mem.remember_many(Add(f"note {number}") for number in range(1_203))
    assert [entry.seq for entry in made] == list(range(1, 1_204))
    assert [entry.content for entry in mem.list(limit=2_000)] == [f"note {number}" for number in range(1_202, -1, -1)]


@pytest.mark.directory
def test_entries_of_the_account_among_many_come_back_in_the_order_given(mem: Memory) -> None:
    made = mem.remember_many([Add("a", scope="account"), Add("b"), Add("c", scope="account"), Add("d")])
    assert [entry.content for entry in made] == ["a", "b", "c", "d"]


def test_of_many_entries_none_is_written_when_one_is_wrong(mem: Memory) -> None:
    with pytest.raises(Invalid):
        mem.remember_many([Add("good"), Add("")])
    with pytest.raises(Invalid):
        mem.remember_many(["just text"])  # type: ignore[list-item]
    with pytest.raises(recollect.Conflict):
        mem.remember_many([Add("one", name="same"), Add("two", name="same")])
    assert mem.list() == []


@pytest.mark.directory
def test_of_many_entries_over_both_scopes_none_is_written_when_a_name_is_taken(mem: Memory) -> None:
    mem.remember("w", name="in the workspace")
    mem.remember("a", name="in the account", scope="account")
    for batch in (
        [Add("x"), Add("y", scope="account", name="in the account")],
        [Add("x"), Add("y", scope="account", name="in the workspace")],
        [Add("x", scope="account"), Add("y", name="in the account")],
        [Add("x", scope="account"), Add("y", name="in the workspace")],
        [Add("x", name="same"), Add("y", name="same", scope="account")],
        [Add("x", name="same", scope="account"), Add("y", name="same", scope="account")],
        [*(Add(f"x{number}") for number in range(1_000)), Add("y", name="in the workspace")],
        [*(Add(f"x{number}") for number in range(1_000)), Add("y", name="in the account", scope="account")],
        [Add("x", name="same"), *(Add(f"x{number}") for number in range(999)), Add("y", name="same")],
    ):
        with pytest.raises(recollect.Conflict, match="name"):
            mem.remember_many(batch)
    assert sorted(entry.content for entry in mem.list()) == ["a", "w"]
    assert [len(mem.changes(account=account)) for account in (False, True)] in ([1, 1], [2, 0])


# Listing


def test_entries_are_listed_newest_first_by_when_they_were_made(mem: Memory, clock: FixedClock) -> None:
    mem.remember("second", at=2_000)
    mem.remember("third", at=3_000)
    mem.remember("first", at=1_000)
    mem.remember("fourth")
    clock.advance(1)
    mem.apply(recollect.Write(mem.list()[-1].id, content="first, rewritten"))
    assert [entry.content for entry in mem.list()] == ["fourth", "third", "second", "first, rewritten"]


@pytest.mark.directory
def test_paging_by_the_last_entry_visits_every_entry_once_although_all_have_the_same_time(mem: Memory) -> None:
    mem.remember_many(Add(f"note {number}", scope="account" if number % 3 else "workspace") for number in range(25))
    everything = [f"note {number}" for number in range(24, -1, -1)]
    pages = [mem.list(limit=7)]
    while pages[-1]:
        pages.append(mem.list(limit=7, before=pages[-1][-1]))
    assert [len(page) for page in pages] == [7, 7, 7, 4, 0]
    # Those of the account are made in a transaction of their own, so only the set is the same everywhere.
    assert sorted(entry.content for page in pages for entry in page) == sorted(everything)
    whole = mem.list()
    assert [entry for page in pages for entry in page] == whole


def test_paging_by_a_moment_gives_what_is_strictly_older(mem: Memory) -> None:
    for moment in (1_000, 2_000, 2_000, 3_000):
        mem.remember(f"at {moment}", at=moment)
    assert [entry.content for entry in mem.list(before=2_000)] == ["at 1000"]
    assert [entry.content for entry in mem.list(before="1970-01-01T00:00:03Z")] == ["at 2000", "at 2000", "at 1000"]
    assert mem.list(before=0) == []


def test_the_limit_of_a_list_may_be_nothing_or_more_than_there_is(mem: Memory) -> None:
    mem.remember_many(Add(f"note {number}") for number in range(120))
    assert mem.list(limit=0) == []
    assert [len(mem.list()), len(mem.list(limit=1)), len(mem.list(limit=10**30))] == [100, 1, 120]
    for wrong in (-1, True, 1.5, "7"):
        with pytest.raises(Invalid):
            mem.list(limit=wrong)  # type: ignore[arg-type]


@pytest.mark.directory
def test_lists_are_narrowed_by_kind_category_scope_and_source(mem: Memory) -> None:
    mem.apply(Add("a", kind="archive", source="system"))
    mem.apply(Add("b", category="tasks", source="user"))
    mem.apply(Add("c", scope="account", category="lessons"))
    mem.apply(Add("d", scope="channel", channel="x", category="tasks"))

    def found(**filters: str) -> str:
        return "".join(sorted(entry.content for entry in mem.list(**filters)))  # type: ignore[arg-type]

    assert found(kind="archive") == "a"
    assert found(kind="note") == "bcd"
    assert found(category="tasks") == "bd"
    assert found(scope="account") == "c"
    assert found(scope="channel") == "d"
    assert found(source="user") == "b"
    assert found(source="agent") == "cd"
    assert found(category="tasks", source="user", kind="note", scope="workspace") == "b"
    assert found(category="tasks", kind="archive") == ""
    for wrong in ({"kind": "poem"}, {"category": "recipes"}, {"scope": "galaxy"}):
        with pytest.raises(Invalid):
            mem.list(**wrong)  # type: ignore[arg-type]


TAGS = [
    "ops",
    "Ops",
    "op",
    "ops2",
    "100%",
    "100",
    "a_b",
    "axb",
    "%",
    "_",
    "ünïcode",
    "UNICODE",
    "日本",
    "日",
    "🚀",
    'say "hi"',
    "hi",
    "say",
    "it's",
    "back\\slash",
    "back",
    ",",
    "a,",
    ",b",
    "[",
    "]",
    "[]",
    "null",
    "a\\",
    "'; --",
    '","',
    '"',
    "\\",
    "{}",
    "\\u0041",
    "A",
]


def test_a_tag_finds_the_entries_that_have_exactly_this_tag(mem: Memory) -> None:
    drafts = [Add(f"single {tag}", tags=[tag]) for tag in TAGS]
    drafts += [Add(f"pair {first} {second}", tags=[first, second]) for first, second in pairwise(TAGS)]
    mem.remember_many(drafts)
    for tag in TAGS:
        assert {entry.content for entry in mem.list(tag=tag)} == {d.content for d in drafts if tag in d.tags}, tag
    assert mem.list(tag="OPS") == []


def test_a_tag_that_only_looks_like_another_never_shortens_a_page(mem: Memory) -> None:
    mem.remember_many([Add("wanted", tags=["hi"])])
    mem.remember_many(Add(f"decoy {number}", tags=['say "hi"', "a,", ",b"]) for number in range(30))
    assert [entry.content for entry in mem.list(tag="hi", limit=2)] == ["wanted"]
    assert mem.list(tag=",", limit=2) == []
    page = mem.list(tag="a,", limit=20)
    assert len(page) == 20
    assert len(mem.list(tag="a,", limit=20, before=page[-1])) == 10


# Scopes and places


@pytest.mark.directory
def test_entries_of_the_account_are_the_same_in_every_workspace_of_the_agent(location: str, home: Home) -> None:
    if location.endswith(".db"):
        mine = home.agent("ana")
        entry = mine.remember("I prefer tea", name="drink", scope="account")
        assert mine.get("drink") == entry
        assert mine.list(scope="account") == [entry]
        return
    entry = home.agent("ana", "red").remember("I prefer tea", name="drink", scope="account")
    blue = home.agent("ana", "blue")
    assert blue.get("drink") == entry
    assert blue.list() == [entry]
    assert [hit.entry for hit in blue.recall("tea")] == [entry]
    blue.apply(recollect.Write("drink", content="I prefer coffee"))
    assert home.agent("ana", "red").get("drink").content == "I prefer coffee"
    assert [revision.operation for revision in home.agent("ana").history("drink")] == ["add", "write"]
    with pytest.raises(NotFound):
        home.agent("ben", "red").get("drink")


def test_in_a_directory_the_account_has_a_file_of_its_own(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        mem = home.agent("ana", "red")
        mem.remember("a preference of the account", scope="account")
        assert sorted(path.name for path in (tmp_path / "home").glob("*.db")) == ["account.db"]
        assert home.workspaces() == []
        mem.remember("a fact of the workspace")
        assert home.workspaces() == ["red"]
        (tmp_path / "home" / "workspaces" / "red" / "memory.db").stat()


@pytest.mark.directory
def test_names_are_one_namespace_over_workspace_and_account(mem: Memory) -> None:
    wide = mem.remember("of the account", name="wide", scope="account")
    mem.apply(recollect.Alias("wide", "broad"))
    narrow = mem.remember("of the workspace", name="narrow")
    passing = mem.remember("unnamed")
    for attempt in (
        Add("x", name="wide"),
        Add("x", name="broad"),
        Add("x", name="narrow", scope="account"),
        recollect.Rename("narrow", "wide"),
        recollect.Rename(passing.id, "broad"),
        recollect.Rename("wide", "narrow"),
        recollect.Alias("narrow", "wide"),
        recollect.Alias("broad", "narrow"),
    ):
        with pytest.raises(recollect.Conflict):
            mem.apply(attempt)
    assert mem.get("wide").id == mem.get("broad").id == wide.id
    assert mem.get("narrow") == narrow
    assert len(mem.list()) == 3


@pytest.mark.directory
@pytest.mark.parametrize("verb", ["remember", "rename", "restore"])
def test_of_two_at_once_who_want_one_name_in_workspace_and_account_one_gets_it(home: Home, verb: str) -> None:
    def bind(scope: str, name: str, target: str) -> str:
        mem = home.agent("ana")
        turn.wait()
        try:
            if verb == "remember":
                mem.remember(scope, name=name, scope=scope)
            elif verb == "rename":
                mem.apply(recollect.Rename(target, name))
            else:
                mem.restore(target, name=name)
        except recollect.Conflict:
            return ""
        return scope

    mem, turn = home.agent("ana"), threading.Barrier(2)
    mem.remember("the workspace is there")
    with ThreadPoolExecutor(2) as pool:
        for number in range(6):
            targets = ["", ""]
            if verb != "remember":
                targets = [mem.remember(scope, scope=scope).id for scope in ("workspace", "account")]
            if verb == "restore":
                for target in targets:
                    mem.forget(target)
            got = sorted(pool.map(bind, ("workspace", "account"), [f"n{number}"] * 2, targets))
            assert got[0] == ""
            assert got[1] == mem.get(f"n{number}").scope
    assert len([entry for entry in mem.list() if entry.name]) == 6
    assert home.check().ok


@pytest.mark.parametrize("wide_location", ["directory", "postgres"], indirect=True)
def test_a_name_in_the_account_makes_no_workspace(wide_location: str) -> None:
    with recollect.open(wide_location) as home:
        mem = home.agent("ana", "shop")
        mem.remember("tea", name="drink", scope="account")
        mem.apply(recollect.Rename("drink", "favourite drink"))
        mem.apply(recollect.Alias("drink", "beverage"))
        mem.forget("drink")
        assert mem.restore("favourite drink").aliases == ("beverage", "drink")
        assert home.workspaces() == []


@pytest.mark.parametrize("wide_location", ["directory", "postgres"], indirect=True)
def test_another_workspace_may_have_a_name_that_the_account_has(wide_location: str) -> None:
    with recollect.open(wide_location) as home:
        home.agent("ana", "shop").remember("of the shop", name="port")
        home.agent("ana", "ship").remember("of the account", name="port", scope="account")
        assert home.agent("ana", "shop").get("port").content == "of the shop"
        assert home.agent("ana", "ship").get("port").content == "of the account"


@pytest.mark.directory
def test_an_alias_stays_where_it_is_when_moving_it_is_refused(mem: Memory) -> None:
    mem.remember("of the account", name="wide", scope="account")
    mem.remember("of the workspace", name="narrow")
    for owner, other in (("wide", "narrow"), ("narrow", "wide")):
        mem.apply(recollect.Alias(owner, "nick"))
        with pytest.raises(recollect.Stale):
            mem.apply(recollect.Alias(other, "nick"), if_version="another")
        assert mem.get("nick").name == owner
        assert mem.get(other).aliases == ()


@pytest.mark.directory
def test_a_restored_entry_takes_no_name_that_the_other_scope_has_meanwhile(mem: Memory) -> None:
    old = mem.remember("of the workspace", name="port")
    mem.apply(recollect.Alias("port", "harbour"))
    mem.forget("port")
    mem.remember("of the account", name="port", scope="account")
    mem.remember("of the account, too", name="harbour", scope="account")
    with pytest.raises(recollect.Conflict):
        mem.restore(old.id)
    back = mem.restore(old.id, name="old port")
    assert (back.id, back.name, back.aliases) == (old.id, "old port", ())
    assert mem.get("port").content == "of the account"
    assert mem.get("harbour").content == "of the account, too"


@pytest.mark.directory
def test_an_alias_moves_between_scopes_as_it_moves_within_one(mem: Memory) -> None:
    mem.remember("of the account", name="wide", scope="account")
    mem.remember("of the workspace", name="narrow")
    mem.apply(recollect.Alias("wide", "nick"))
    assert mem.apply(recollect.Alias("narrow", "nick")).aliases == ("nick",)
    assert mem.get("nick").name == "narrow"
    assert mem.get("wide").aliases == ()
    mem.apply(recollect.Alias("wide", "nick"))
    assert mem.get("nick").name == "wide"
    assert mem.get("narrow").aliases == ()


def test_a_single_file_has_no_other_workspace_than_the_default(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        with pytest.raises(Invalid):
            home.agent("ana", "red")
        home.agent("ana", "default").remember("x")
        assert home.workspaces() == ["default"]


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", ".hidden", "", " ", "nul", "a:b", "x" * 65, "a\nb", "e\u0301"])
def test_agents_and_workspaces_are_one_safe_path_segment(tmp_path: Path, name: str) -> None:
    with recollect.open(tmp_path / "home") as home:
        for call in (
            lambda: home.agent(name),
            lambda: home.agent("ana", name),
            lambda: home.delete_workspace(name),
            lambda: home.agent("ana").recall("x", target_agent=name),
        ):
            with pytest.raises(Invalid):
                call()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def wide_location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place that can have several workspaces."""
    return str(tmp_path / "home") if request.param == "directory" else request.getfixturevalue("postgres_url")


@pytest.mark.parametrize("wide_location", ["directory", "postgres"], indirect=True)
def test_workspaces_know_nothing_of_each_other(wide_location: str) -> None:
    with recollect.open(wide_location) as home:
        red, blue = home.agent("ana", "red"), home.agent("ana", "blue")
        mine = red.remember("the red port is 8080", name="port")
        blue.remember("the blue port is 9090", name="port")
        assert [hit.entry.content for hit in blue.recall("port", limit=10)] == ["the blue port is 9090"]
        assert [entry.content for entry in red.list()] == ["the red port is 8080"]
        with pytest.raises(NotFound):
            blue.get(mine.id)
        assert blue.forget(mine.id) is False
        assert home.workspaces() == ["blue", "red"]
        assert home.check().ok
        assert home.check().entries == 2


@pytest.mark.parametrize("wide_location", ["directory", "postgres"], indirect=True)
def test_deleting_a_workspace_leaves_nothing_of_it_and_everything_else(wide_location: str) -> None:
    with recollect.open(wide_location) as home:
        for agent in ("ana", "ben"):
            for workspace in ("red", "blue"):
                home.agent(agent, workspace).remember(f"{agent} in {workspace}", name="where")
        home.agent("ana", "red").remember("tea", name="drink", scope="account")
        held = home.agent("ana", "red")
        home.delete_workspace("red")
        assert home.workspaces() == ["blue"]
        assert [entry.content for entry in held.list()] == ["tea"]
        assert [entry.content for entry in home.agent("ana", "red").list()] == ["tea"]
        assert [entry.content for entry in home.agent("ben", "blue").list()] == ["ben in blue"]
        with pytest.raises(NotFound):
            home.delete_workspace("red")
        with pytest.raises(NotFound):
            home.delete_workspace("green")
        if wide_location.startswith("postgresql"):
            with psycopg.connect(wide_location) as connection:
                names = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'recollect%red%'")
                assert names.fetchall() == []
        else:
            assert not (Path(wide_location) / "workspaces" / "red").exists()
        # It can be created again, as a new entry.
        assert home.agent("ana", "red").remember("a new start", name="where").seq == 1
        assert home.workspaces() == ["blue", "red"]
        assert home.check().ok


@pytest.mark.parametrize("wide_location", ["directory", "postgres"], indirect=True)
def test_another_process_notices_that_a_workspace_was_deleted_and_created_again(wide_location: str) -> None:
    with recollect.open(wide_location) as home, recollect.open(wide_location) as other:
        here, there = home.agent("ana", "red"), other.agent("ana", "red")
        here.remember_many(Add(f"the old port {number}") for number in range(5))
        assert len(there.recall("port", limit=10)) == 5
        home.delete_workspace("red")
        assert there.list() == []
        assert there.recall("port", limit=10) == []
        new = home.agent("ana", "red")
        new.remember_many(Add(f"the new harbour {number}") for number in range(7))
        assert there.recall("port", limit=10) == []
        assert len(there.recall("harbour", limit=10)) == 7


def test_deleting_the_only_workspace_of_a_single_file_removes_the_file(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        home.agent("ana").remember("x")
        home.delete_workspace("default")
        assert list(tmp_path.iterdir()) == []
        assert home.agent("ana").list() == []
        assert home.agent("ana").remember("y").seq == 1
