"""The five operations, the log they leave, the trash, and the key of an upsert."""

from collections.abc import Mapping
from typing import Any

import pytest

import recollect
from recollect import (
    Add,
    Alias,
    Conflict,
    FixedClock,
    Home,
    Kind,
    Lifetime,
    Memory,
    NotFound,
    Remove,
    Rename,
    Revision,
    Write,
)


def story(revisions: list[Revision]) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    return [(revision.operation, revision.before, revision.after) for revision in revisions]


# Names


def test_an_entry_is_found_by_name_alias_and_id_with_blanks_around_trimmed(mem: Memory) -> None:
    entry = mem.remember("x", name="  port  ")
    mem.apply(Alias("port", "\tharbour\n"))
    assert entry.name == "port"
    for target in ("port", " port ", "harbour", "\nharbour", entry.id, f" {entry.id} "):
        assert mem.get(target).id == entry.id
    assert mem.get("port").aliases == ("harbour",)


def test_names_differ_by_case_accent_and_inner_blanks(mem: Memory) -> None:
    spellings = ["port", "Port", "PORT", "pört", "po rt", "po  rt", "port.", "ｐort", "straße", "strasse"]
    for name in spellings:
        mem.remember(f"this is {name}", name=name)
    assert [mem.get(name).content for name in spellings] == [f"this is {name}" for name in spellings]
    with pytest.raises(NotFound):
        mem.get("pORT")


STRANGE_NAMES = [
    "'; DROP TABLE entries; --",
    '"quoted"',
    "100%",
    "under_score",
    "back\\slash",
    ":agent",
    "%(agent)s",
    "🚀",
    "日本語",
    '"name":"x"',
    "null",
    "0",
    "-",
    "*",
    "${HOME}",
    "a" * 256,
]


def test_a_name_is_only_text_to_every_operation(mem: Memory) -> None:
    mem.remember("second", name="other")
    for name in STRANGE_NAMES:
        mem.remember("first", name=name)
        mem.apply(Write(name, content="rewritten"))
        assert mem.get(name).content == "rewritten"
        assert mem.forget(name) is True
        assert [entry.name for entry in mem.list()] == ["other"]
        assert mem.restore(name).name == name
        mem.apply(Rename(name, "plain"))
        assert mem.get(name).name == "plain"
        assert [revision.operation for revision in mem.history(name)] == ["add", "write", "remove", "add", "rename"]
        mem.forget("plain")


def test_a_rename_keeps_the_old_name_as_an_alias(mem: Memory, clock: FixedClock) -> None:
    entry = mem.remember("8080", name="port")
    clock.advance(5)
    renamed = mem.apply(Rename("port", "http port"))
    assert (renamed.name, renamed.aliases) == ("http port", ("port",))
    assert (renamed.id, renamed.created_at, renamed.updated_at) == (entry.id, entry.created_at, entry.created_at + 5)
    assert mem.get("port") == mem.get("http port") == renamed
    again = mem.apply(Rename("port", "the port"))
    assert (again.name, again.aliases) == ("the port", ("http port", "port"))
    assert mem.get(entry.id) == again


def test_renaming_to_an_own_alias_makes_it_the_name(mem: Memory) -> None:
    mem.remember("8080", name="port")
    mem.apply(Alias("port", "harbour"))
    promoted = mem.apply(Rename("port", "harbour"))
    assert (promoted.name, promoted.aliases) == ("harbour", ("port",))
    back = mem.apply(Rename("harbour", "port"))
    assert (back.name, back.aliases) == ("port", ("harbour",))
    assert mem.get("harbour") == mem.get("port") == back


def test_an_unnamed_entry_gets_its_first_name_by_its_id(mem: Memory) -> None:
    entry = mem.remember("8080")
    named = mem.apply(Rename(entry.id, "port"))
    assert (named.name, named.aliases) == ("port", ())
    assert mem.get("port") == named


def test_aliases_add_up_and_binding_one_again_changes_nothing(mem: Memory) -> None:
    mem.remember("8080", name="port")
    for alias in ("c", "a", "b", "a", " c "):
        mem.apply(Alias("port", alias))
    assert mem.get("port").aliases == ("a", "b", "c")
    assert mem.apply(Alias("a", "port")).name == "port"
    assert [revision.operation for revision in mem.history("port")] == ["add", "alias", "alias", "alias"]


def test_an_alias_moves_to_the_entry_it_is_bound_to_last(mem: Memory) -> None:
    old = mem.remember("8080", name="old")
    new = mem.remember("9090", name="new")
    mem.apply(Alias("old", "port"))
    moved = mem.apply(Alias("new", "port"))
    assert moved.aliases == ("port",)
    assert mem.get("port") == mem.get("new") == moved
    assert mem.get("old").aliases == ()
    operation, before, after = story(mem.history("new"))[-1]
    assert (operation, before, after) == ("alias", {"alias": "port", "entry_id": old.id}, {"alias": "port"})
    assert mem.get(new.id).created_at == new.created_at


def test_a_name_is_never_taken_over(mem: Memory) -> None:
    mem.remember("8080", name="port")
    mem.apply(Alias("port", "harbour"))
    other = mem.remember("9090", name="other")
    passing = mem.remember("passing")
    before = mem.list()
    for attempt in (
        Add("x", name="port"),
        Add("x", name="harbour"),
        Add("x", name=" port "),
        Rename("other", "port"),
        Rename("other", "harbour"),
        Rename(passing.id, "port"),
        Rename(passing.id, "harbour"),
        Alias("other", "port"),
        Alias(passing.id, "port"),
    ):
        with pytest.raises(Conflict):
            mem.apply(attempt)
    assert mem.list() == before
    assert [len(mem.history(target)) for target in ("port", "other", passing.id)] == [2, 1, 1]
    assert mem.remember("next").seq == passing.seq + 1
    assert mem.get("other") == other


def test_the_id_of_an_entry_is_no_name_for_another_one_not_even_after_it_was_forgotten(mem: Memory) -> None:
    first, second = mem.upsert("key", "first"), mem.remember("second")
    for forgotten in (False, True):
        for attempt in (Add("third", name=first.id), Rename(second.id, first.id), Alias(second.id, first.id)):
            with pytest.raises(Conflict, match="the id of an entry"):
                mem.apply(attempt)
        assert mem.list() == ([second] if forgotten else [second, first])
        mem.forget(first.id)
    assert mem.restore(first.id).content == "first"


def test_an_entry_whose_name_has_the_form_of_an_id_comes_back_by_that_name(mem: Memory) -> None:
    name = "019b76da-a800-7000-8000-000000000000"
    entry = mem.remember("kept under a foreign key", name=name)
    mem.forget(name)
    assert mem.restore(name).id == entry.id


# Writing


def test_a_write_replaces_the_fields_given_and_keeps_the_others(mem: Memory, clock: FixedClock) -> None:
    made = mem.remember("8080", name="port", tags=["a"], context="c", category="tasks", importance=0.1, source="user")
    clock.advance(1)
    written = mem.apply(Write("port", content="9090", origin="user"))
    assert (written.content, written.tags, written.context, written.category) == ("9090", ("a",), "c", "tasks")
    assert (written.importance, written.source, written.created_at) == (0.1, "user", made.created_at)
    assert written.updated_at == made.updated_at + 1
    rest = mem.apply(Write("port", tags=["b", "c"], context="d", category="lessons", importance=0.9))
    assert (rest.content, rest.tags, rest.context, rest.category) == ("9090", ("b", "c"), "d", "lessons")
    assert rest.importance == 0.9
    assert mem.get("port") == rest
    assert mem.apply(Write("port", tags=[])).tags == ()
    assert [hit.entry.id for hit in mem.recall("9090")] == [made.id]
    assert mem.recall("8080") == []


def test_an_empty_category_or_context_takes_away_what_is_there(mem: Memory) -> None:
    mem.remember("8080", name="port", context="c", category="tasks")
    written = mem.apply(Write("port", category="", context=""))
    assert (written.category, written.context, mem.get("port")) == (None, None, written)
    assert mem.list(category="tasks") == []
    log = mem.history("port")
    assert (log[-1].before, log[-1].after) == (
        {"category": "tasks", "context": "c"},
        {"category": None, "context": None},
    )
    mem.apply(Write("port", category="", context=""))
    assert len(mem.history("port")) == len(log)
    mem.forget("port")
    assert mem.restore("port").category is None


def test_kind_and_the_time_of_making_outlive_every_operation(mem: Memory, clock: FixedClock) -> None:
    made = mem.apply(Add("talk", kind="archive", name="a"))
    for operation in (Rename("a", "b"), Alias("b", "c"), Write("b", content="other", category="handoffs")):
        clock.advance(1_000)
        entry = mem.apply(operation)
        assert (entry.kind, entry.created_at, entry.id, entry.seq) == (Kind.ARCHIVE, made.created_at, made.id, made.seq)
    mem.forget("b")
    clock.advance(1_000)
    back = mem.restore("b")
    assert (back.kind, back.created_at, back.id, back.seq) == (Kind.ARCHIVE, made.created_at, made.id, made.seq)
    assert back.updated_at == made.created_at + 4_000


def test_archives_may_be_written_renamed_and_removed(mem: Memory) -> None:
    mem.apply(Add("summary", kind="archive", name="archive-1"))
    assert mem.apply(Write("archive-1", content="better summary")).content == "better summary"
    assert mem.apply(Rename("archive-1", "archive-one")).aliases == ("archive-1",)
    assert mem.apply(Remove("archive-1")).name == "archive-one"
    assert mem.list() == []


def test_an_operation_that_changes_nothing_leaves_no_row_in_the_log(mem: Memory, clock: FixedClock) -> None:
    made = mem.remember("8080", name="port", tags=["a"], category="tasks", importance=0.5)
    mem.apply(Alias("port", "harbour"))
    clock.advance(1)
    before = mem.get("port")
    for nothing in (
        Rename("port", "port"),
        Rename("harbour", " port "),
        Alias("port", "harbour"),
        Alias("port", "port"),
        Write("port", content="8080"),
        Write("port", content="8080", tags=["a"], category="tasks", importance=0.5),
        Write("port", tags=("a",)),
    ):
        assert mem.apply(nothing) == before
    mem.upsert("port", "8080")
    assert mem.get("port") == before
    assert before.updated_at == made.updated_at
    assert [revision.operation for revision in mem.history("port")] == ["add", "alias"]


def test_removing_deletes_the_entry_with_all_its_names(mem: Memory) -> None:
    made = mem.remember("8080", name="port", tags=["net"])
    mem.apply(Rename("port", "http"))
    mem.apply(Alias("http", "web"))
    removed = mem.apply(Remove("web"))
    assert (removed.id, removed.name, removed.aliases) == (made.id, "http", ("port", "web"))
    for target in ("port", "http", "web", made.id):
        with pytest.raises(NotFound):
            mem.get(target)
        with pytest.raises(NotFound):
            mem.apply(Remove(target))
    assert mem.recall("8080 http net") == []
    assert mem.list() == []
    for name in ("port", "http", "web"):
        mem.remember(f"a new {name}", name=name)


def test_ids_and_numbers_are_never_used_again(location: str, home: Home) -> None:
    mem = home.agent("ana")
    seen = [mem.remember("one"), mem.remember("two", name="two"), mem.remember("three")]
    assert [entry.seq for entry in seen] == [1, 2, 3]
    mem.forget(seen[2].id)
    mem.forget("two", erase=True)
    seen.append(mem.remember("four", name="two"))
    with pytest.raises(Conflict):
        mem.remember("refused", name="two")
    for entry in mem.list():
        mem.forget(entry.id)
    home.close()
    with recollect.open(location) as again:
        seen.append(again.agent("ana").remember("five", name="two"))
    assert [entry.seq for entry in seen] == [1, 2, 3, 4, 5]
    assert len({entry.id for entry in seen}) == 5
    # Made in this order at one moment, and still in this order by their ids.
    assert [entry.id for entry in seen] == sorted(entry.id for entry in seen)


def test_every_agent_counts_for_itself(home: Home) -> None:
    assert [home.agent("ana").remember("x").seq, home.agent("ana").remember("y").seq] == [1, 2]
    assert home.agent("ben").remember("x").seq == 1


# The log


def test_the_history_tells_what_each_operation_changed(mem: Memory, clock: FixedClock) -> None:
    made = mem.remember("8080", name="port", tags=["net"])
    clock.advance(10)
    mem.apply(Rename("port", "http"))
    mem.apply(Alias("http", "web"))
    mem.apply(Write("web", content="9090", tags=[], importance=1))
    clock.advance(10)
    mem.forget("http")
    revisions = mem.history(made.id)
    assert story(revisions)[1:4] == [
        ("rename", {"name": "port"}, {"name": "http"}),
        ("alias", {}, {"alias": "web"}),
        (
            "write",
            {"content": "8080", "tags": ["net"], "importance": 0.5},
            {"content": "9090", "tags": [], "importance": 1.0},
        ),
    ]
    first, last = revisions[0], revisions[-1]
    assert (first.operation, first.before, first.after["content"], first.after["name"]) == ("add", {}, "8080", "port")
    assert (last.operation, last.after, last.before["content"], last.before["name"]) == ("remove", {}, "9090", "http")
    assert last.before["aliases"] == ["port", "web"]
    assert [revision.at - made.created_at for revision in revisions] == [0, 10, 10, 10, 20]
    assert [revision.seq for revision in revisions] == [1, 2, 3, 4, 5]
    assert {(revision.actor, revision.entry_id) for revision in revisions} == {("ana", made.id)}
    assert mem.history("http") == revisions


def test_the_history_of_a_name_is_that_of_the_entry_that_has_it_now(mem: Memory) -> None:
    mem.remember("old", name="port")
    mem.forget("port")
    assert [revision.operation for revision in mem.history("port")] == ["add", "remove"]
    mem.remember("new", name="port")
    assert [revision.after.get("content") for revision in mem.history("port")] == ["new"]


def test_the_log_is_the_same_after_reopening(location: str, home: Home) -> None:
    mem = home.agent("ana")
    mem.remember('multi\nline "quoted" \\ 日本', name="x", tags=["ü"])
    mem.apply(Write("x", content="next"))
    before = mem.history("x")
    home.close()
    with recollect.open(location) as again:
        assert again.agent("ana").history("x") == before


# The trash


def test_restoring_brings_everything_back_under_the_old_id(mem: Memory, clock: FixedClock) -> None:
    mem.remember(
        "8080",
        name="port",
        tags=["net"],
        context="c",
        category="tasks",
        scope="channel",
        channel="x",
        conversation="y",
        importance=0.0,
        source="user",
        lifetime="mid_term",
        at=0,
    )
    mem.apply(Alias("port", "harbour"))
    made = mem.get("port")
    clock.advance(1)
    assert mem.forget("harbour") is True
    clock.advance(1)
    back = mem.restore("port")
    assert back == mem.get("port") == mem.get("harbour")
    assert back.updated_at == clock.now()
    for field in made.__dataclass_fields__:
        if field != "updated_at":
            assert getattr(back, field) == getattr(made, field), field
    assert [hit.entry for hit in mem.recall("8080", channel="x")] == [back]
    assert [revision.operation for revision in mem.history("port")] == ["add", "alias", "remove", "add"]


def test_an_unnamed_entry_is_restored_by_its_id(mem: Memory) -> None:
    made = mem.remember("passing")
    mem.forget(made.id)
    assert mem.restore(made.id) == made
    assert mem.list() == [made]


def test_restoring_under_a_taken_name_is_a_conflict_until_another_name_is_given(mem: Memory) -> None:
    old = mem.remember("old", name="port")
    mem.apply(Alias("port", "harbour"))
    mem.apply(Alias("port", "dock"))
    mem.forget("port")
    new = mem.remember("new", name="port")
    mem.apply(Alias("port", "harbour"))
    with pytest.raises(Conflict):
        mem.restore(old.id)
    with pytest.raises(Conflict):
        mem.restore("port")
    with pytest.raises(Conflict):
        mem.restore(old.id, name="harbour")
    with pytest.raises(recollect.Invalid):
        mem.restore(old.id, name=" ")
    assert [entry.content for entry in mem.list()] == ["new"]
    back = mem.restore(old.id, name=" old port ")
    assert (back.id, back.name, back.aliases) == (old.id, "old port", ("dock",))
    assert mem.get("harbour").id == mem.get("port").id == new.id
    assert mem.get("dock").id == mem.get("old port").id == old.id


def test_an_entry_may_be_restored_under_one_of_its_own_aliases(mem: Memory) -> None:
    made = mem.remember("8080", name="port")
    mem.apply(Alias("port", "harbour"))
    mem.forget("port")
    mem.remember("9090", name="port")
    back = mem.restore(made.id, name="harbour")
    assert (back.name, back.aliases) == ("harbour", ())
    assert mem.get("harbour").id == made.id


def test_an_entry_is_restored_by_an_alias_that_it_had(mem: Memory) -> None:
    kept = mem.remember("Fridays", name="rest day")
    entry = mem.remember("Tuesdays", name="deploy day", tags=["ship day", "rest day"])
    mem.apply(Alias(entry.id, "ship day"))
    assert mem.forget("ship day")
    with pytest.raises(NotFound):  # a tag is no name
        mem.restore("rest day")
    assert mem.restore("ship day").id == entry.id
    assert mem.get("ship day").id == entry.id
    assert mem.get("rest day").id == kept.id


def test_what_is_not_in_the_trash_cannot_be_restored(mem: Memory) -> None:
    made = mem.remember("8080", name="port")
    with pytest.raises(NotFound):
        mem.restore("port")
    mem.forget("port")
    mem.restore("port")
    for target in ("port", made.id):
        with pytest.raises(Conflict):
            mem.restore(target)
        with pytest.raises(Conflict):
            mem.restore(target, name="second")
    assert len(mem.history("port")) == 3


def test_a_name_in_the_trash_means_the_entry_that_was_removed_under_it_last(mem: Memory) -> None:
    first = mem.remember("first", name="port")
    mem.forget("port")
    second = mem.remember("second", name="port")
    mem.forget("port")
    assert mem.restore("port", name="newer").id == second.id
    # The second one is back, so that the name now means the first one.
    assert mem.restore("port").id == first.id
    assert {entry.name for entry in mem.list()} == {"newer", "port"}


def test_a_former_name_in_the_trash_means_nothing_once_the_entry_is_back_under_another(mem: Memory) -> None:
    mem.remember("8080", name="port")
    mem.forget("port")
    mem.restore("port", name="harbour")
    with pytest.raises(NotFound):
        mem.restore("port")
    with pytest.raises(NotFound):
        mem.forget("port", erase=True)
    assert mem.get("harbour").content == "8080"
    mem.forget("harbour")
    with pytest.raises(NotFound):
        mem.restore("port")
    assert mem.restore("harbour").content == "8080"


def test_the_trash_survives_reopening(location: str, home: Home) -> None:
    made = home.agent("ana").remember("8080", name="port")
    home.agent("ana").forget("port")
    home.close()
    with recollect.open(location) as again:
        assert again.agent("ana").restore("port").id == made.id


def test_what_was_erased_cannot_be_restored_and_its_name_is_free(mem: Memory) -> None:
    made = mem.remember("8080", name="port")
    mem.forget("port", erase=True)
    for target in ("port", made.id):
        with pytest.raises(NotFound):
            mem.restore(target)
    assert [story(mem.history(made.id)), mem.recall("8080")] == [[("add", {}, {}), ("remove", {}, {})], []]
    mem.remember("9090", name="port")


# Knowledge by key


def test_an_upsert_makes_knowledge_and_then_rewrites_it(mem: Memory, clock: FixedClock) -> None:
    made = mem.upsert("deploy day", "Tuesday", tags=["ops"])
    assert (made.name, made.content, made.tags, made.lifetime) == (
        "deploy day",
        "Tuesday",
        ("ops",),
        Lifetime.LONG_TERM,
    )
    clock.advance(1)
    again = mem.upsert(" deploy day ", "Wednesday")
    assert (again.id, again.content, again.tags, again.created_at) == (made.id, "Wednesday", ("ops",), made.created_at)
    assert mem.upsert("deploy day", "Wednesday", tags=["release"]).tags == ("release",)
    assert mem.list() == [mem.get("deploy day")]
    assert [revision.operation for revision in mem.history("deploy day")] == ["add", "write", "write"]


@pytest.mark.directory
def test_an_upsert_finds_its_entry_by_alias_in_the_account_too(mem: Memory) -> None:
    made = mem.remember("Tuesday", name="deploy day", scope="account")
    mem.apply(Alias("deploy day", "release day"))
    assert mem.upsert("release day", "Wednesday").id == made.id
    assert mem.get("deploy day").content == "Wednesday"
    assert len(mem.list()) == 1


def test_an_upsert_holds_out_against_others_who_make_and_forget_the_same_key(
    mem: Memory, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recollect.open(location) as other:
        there, apply = other.agent("ana"), mem._entries.apply
        before = iter(
            [
                lambda: None,
                lambda: there.remember("theirs", name="key"),
                lambda: there.forget("key"),
                lambda: there.remember("theirs again", name="key"),
                lambda: there.forget("key"),
                lambda: None,
            ]
        )

        def meanwhile(operation: recollect.Operation, if_version: str | None) -> recollect.Entry:
            next(before)()
            return apply(operation, if_version)

        monkeypatch.setattr(mem._entries, "apply", meanwhile)
        assert mem.upsert("key", "ours").content == "ours"
    assert [entry.content for entry in mem.list()] == ["ours"]


def test_an_upsert_with_wrong_input_changes_nothing(mem: Memory) -> None:
    mem.upsert("key", "kept")
    for key, content, tags in (("key", " ", ()), ("", "x", ()), ("key", "x", [""]), ("two\nlines", "x", ())):
        with pytest.raises(recollect.Invalid):
            mem.upsert(key, content, tags=tags)
    assert [entry.content for entry in mem.list()] == ["kept"]


def test_all_of_this_leaves_a_memory_that_is_in_order(home: Home) -> None:
    mem = home.agent("ana")
    for number in range(6):
        mem.remember(f"note {number}", name=f"n{number}")
    mem.apply(Rename("n0", "zero"))
    mem.apply(Alias("n1", "one"))
    mem.apply(Alias("n2", "one"))
    mem.apply(Write("n2", content="rewritten"))
    mem.forget("n3")
    mem.forget("n4")
    mem.restore("n4", name="four")
    mem.forget("n5", erase=True)
    report = home.check()
    assert (report.ok, report.findings, report.entries, report.operations) == (True, (), 4, 14)


def test_many_entries_at_once_are_stored_and_logged_as_one_by_one(home: Home) -> None:
    drafts = [
        Add("The office is in Lisbon.", at=5),
        Add("Ana owns the deploy.", name="deploy", tags=["ops"], category="decisions", importance=0.0),
        Add("It rains until Friday.", context="weather", source="web", evidence=["import:notes"]),
        Add("A summary.", kind="chunk", lifetime="mid_term", first_event=1, last_event=2),
    ]
    singly, together = home.agent("ana"), home.agent("ben")
    for draft in drafts:
        singly.apply(draft)
    together.remember_many(drafts)
    assert logged_entries(together) == logged_entries(singly)
    assert home.check().findings == ()


def logged_entries(mem: Memory) -> list[tuple[dict[str, object], dict[str, object]]]:
    """The entries and what the log says of them, without what differs from one write to the next."""
    differing = ("id", "created_at", "updated_at", "valid_until")
    return [
        (
            {name: getattr(mem.get(one.entry_id), name) for name in recollect.Entry.__slots__ if name not in differing},
            {name: value for name, value in one.after.items() if name not in differing},
        )
        for one in mem.changes()
    ]
