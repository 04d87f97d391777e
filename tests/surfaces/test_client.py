"""The client: the same methods as the library, over real HTTP."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sources import members
from surfaces.server import Server, serving, settings

import recollect
from recollect import Add, Delta, Event, EventType, Remove, Rename, Write
from recollect.client import (
    RemoteChannels,
    RemoteConversation,
    RemoteConversations,
    RemoteHome,
    RemoteJobs,
    RemoteMemory,
    RemoteReminders,
    RemoteReview,
    RemoteScratchpad,
    connect,
)
from recollect.errors import ConfigError, Conflict, Corrupt, Denied, Invalid, NotFound, Stale, Unavailable

PAIRS = [
    # What the dashboard's routes are made with.
    (recollect.Memory, RemoteMemory, {"numbers"}),
    (recollect.Channels, RemoteChannels, set()),
    # What adapters read in the same process.
    (recollect.Conversations, RemoteConversations, {"last_saved", "payloads", "payload_rows"}),
    # Plain attributes there; and what the dashboard's routes are made with.
    (recollect.Conversation, RemoteConversation, {"id", "ref_code", "save", "load"}),
    (recollect.Scratchpad, RemoteScratchpad, set()),
    (recollect.Reminders, RemoteReminders, set()),
    (recollect.Review, RemoteReview, set()),
    # The server has its own upkeep.
    (recollect.Jobs, RemoteJobs, {"start", "stop", "deliver"}),
]


def public(kind: type) -> set[str]:
    return {name for name, value in members(kind).items() if callable(value) or isinstance(value, property)}


@pytest.mark.parametrize(("ours", "remote", "without"), PAIRS, ids=lambda one: getattr(one, "__name__", ""))
def test_every_method_of_the_library_is_there_with_the_same_parameters(
    ours: type, remote: type, without: set[str]
) -> None:
    assert public(ours) - public(remote) - set(dir(dict)) == without & public(ours)
    for name in public(ours) & public(remote):
        one, other = getattr(ours, name), getattr(remote, name)
        if name == "list" and remote is RemoteMemory:  # takes the filters by name, and checks them
            continue
        if inspect.isfunction(one):
            assert list(inspect.signature(one).parameters)[1:] == list(inspect.signature(other).parameters)[1:], name


@pytest.fixture
def remote(server: Server) -> Iterator[RemoteHome]:
    with connect(server.url) as home:
        yield home


def test_an_entry_is_remembered_found_changed_forgotten_and_restored(server: Server, remote: RemoteHome) -> None:
    mem, local = remote.agent("ana"), server.home.agent("ana")
    made = mem.remember("We deploy on Tuesdays", name="deploy day", tags=["ops"], importance=0.9)
    assert made == local.get("deploy day")
    hit = mem.recall("when are we deploying?", explain=True)[0]
    assert (hit.entry.content, hit.why is not None) == ("We deploy on Tuesdays", True)
    assert mem.apply(Rename("deploy day", "release day")).aliases == ("deploy day",)
    fresh = mem.get("release day")
    assert mem.apply(Write("release day", content="On Mondays"), if_version=fresh.version).content == "On Mondays"
    with pytest.raises(Stale):
        mem.apply(Remove("release day"), if_version=fresh.version)
    assert mem.forget("release day") is True
    assert mem.forget("release day") is False
    assert [one.entry.name for one in mem.trash()] == ["release day"]
    assert mem.restore("release day").content == "On Mondays"
    assert [one.operation for one in mem.history("release day")] == [
        one.operation for one in local.history("release day")
    ]
    receipt = mem.forget("release day", erase=True)
    assert receipt.entry_id == made.id
    assert mem.changes()[-1].seq == mem.last_change() == local.last_change()
    assert (mem.changes(account=True), mem.last_change(account=True)) == ([], 0)


def test_names_with_slashes_spaces_and_emoji_reach_their_entry(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    for name in ("a/b", "50% off?", "naïve #1", "🦊 fox", "..", "a+b&c=d"):
        mem.remember(f"about {name}", name=name)
        assert mem.get(name).content == f"about {name}"
        assert mem.upsert(name, f"more about {name}").content == f"more about {name}"


def test_many_entries_are_written_and_listed_page_by_page(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    made = mem.remember_many(Add(f"note {n}", tags=["even"] if n % 2 == 0 else []) for n in range(1_203))
    assert len(made) == 1_203
    assert {one.id for one in mem.list(limit=2_000)} == {one.id for one in made}
    assert len(mem.list(limit=2_000, tag="even")) == 602
    assert len(mem.list(limit=7)) == 7
    with pytest.raises(Invalid, match="colour"):
        mem.list(colour="red")


def test_a_conversation_runs_from_its_start_to_its_end(server: Server, remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    mem.channels.create("releases", "what we ship")
    conv = mem.conversations.start(channel="releases", chat_id="chat-1")
    conv.user("Please remember that we decided to deploy on Tuesdays.", speaker="Bob")
    call = {"id": "c1", "type": "function", "function": {"name": "calendar", "arguments": "{}"}}
    conv.assistant("I look at the calendar.", tool_calls=[call])
    conv.tool("Tuesday is free", "c1")
    made = conv.append([Event(type=EventType.MODEL, content="Noted."), Event(type=EventType.USER, content="Thanks!")])
    assert [one.content for one in made] == ["Noted.", "Thanks!"]
    assert list(conv.events()) == [*server.home.agent("ana").conversations.get(conv.id).events()]
    assert list(conv.events(before=made[1])) == [*conv.events()][-2::-1]
    assert list(conv.events(before=2**63 - 1, limit=2)) == made[::-1]
    assert conv.event(made[0].hash) == made[0]
    assert conv.saved is None
    conv.scratchpad["plan"] = {"step": 1}
    assert (dict(conv.scratchpad), "none" in conv.scratchpad) == ({"plan": {"step": 1}}, False)
    conv.apply_delta("edge", Delta(summary_update="They talk about deploying."))
    assert conv.summary().summary == "They talk about deploying."
    assert conv.messages("edge")[-1]["content"] == "Thanks!"
    turn = mem.conversations.search("when do we deploy?")[0]
    assert (turn.speaker, turn.conversation.ref_code) == ("Bob", conv.ref_code)
    conv.checkpoint()
    assert conv.saved == mem.recover()
    assert conv.saved.conversation.id == conv.id
    ended = conv.end()
    assert ended.conversation.id == conv.id
    assert conv.status == "idle"
    conv.archive()
    assert mem.conversations.list() == []
    assert len(mem.conversations.detail(conv.ref_code)) == 5
    with pytest.raises(Conflict):
        conv.user("Too late")


def test_messages_sent_again_are_appended_once(remote: RemoteHome) -> None:
    conv = remote.agent("ana").conversations.start()
    talk = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert len(conv.extend(talk)) == 2
    assert conv.extend(talk) == []
    assert [one.content for one in conv.extend([*talk, {"role": "user", "content": "Bye"}])] == ["Bye"]


def test_reminders_jobs_context_and_checks_are_within_reach(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    reminder = mem.reminders.add("1h", "call Bob")
    assert [one.id for one in mem.reminders.list()] == [reminder.id]
    assert mem.reminders.cancel(reminder) is True
    assert mem.reminders.cancel(reminder) is False
    mem.reminders.add(0, "late")
    claimed = mem.reminders.claim()[0]
    assert mem.reminders.deliver(claimed.id) is False
    assert mem.reminders.deliver(claimed) is True
    mem.remember("We chose SQLite", category="decisions")
    assert "We chose SQLite" in mem.context("why SQLite?").text
    assert mem.orient("why SQLite?").markdown
    assert "default" in mem.profiles
    assert remote.check().ok
    assert "consolidate" in {one.name for one in remote.jobs.status()}
    assert remote.jobs.run("consolidate", dry_run=True).dry_run
    assert (remote.workspaces(), remote.agents()) == (["default"], ["ana"])


def test_what_is_wrong_raises_the_same_errors_as_the_library(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    mem.remember("x", name="taken")
    wrong: list[tuple[type[Exception], Any]] = [
        (NotFound, lambda: mem.get("nothing")),
        (Conflict, lambda: mem.remember("y", name="taken")),
        (Invalid, lambda: mem.remember("  ")),
        (Invalid, lambda: mem.get(" ")),
        (Invalid, lambda: mem.recall("x", mode="psychic")),
        (NotFound, lambda: mem.conversations.get("AAAAAAAAAAA")),
        (NotFound, lambda: mem.conversations.scratchpad("AAAAAAAAAAA")),
        (NotFound, lambda: mem.forget("nothing", erase=True)),
        (Invalid, lambda: mem.conversations.start().append("text")),
        (Invalid, lambda: mem.get("")),
        (Invalid, lambda: mem.remember(b"bytes")),
        (Invalid, lambda: mem.remember_many(["text"])),
        (Invalid, lambda: mem.remember_many(5)),
        (Invalid, lambda: mem.apply("text")),
        (Invalid, lambda: mem.apply(Remove("taken"), if_version="a\nb")),
        (Invalid, lambda: mem.trash(limit=-1)),
        (Invalid, lambda: mem.list(limit="all")),
        (Invalid, lambda: mem.list(sort="colour")),
        (Invalid, lambda: mem.list(before=mem.get("taken"), sort="name")),
    ]
    for error, call in wrong:
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("where", ["library", "client"])
def test_what_the_library_does_not_take_the_client_does_not_turn_into_text(
    server: Server, remote: RemoteHome, where: str
) -> None:
    mem: Any = server.home.agent("ana") if where == "library" else remote.agent("ana")
    conv, entry, channel = mem.conversations.start(), mem.remember("x", name="n"), mem.channels.default
    conv.user("Hello")
    pad = conv.scratchpad
    for call in (
        lambda: mem.list(channel=channel),
        lambda: mem.list(kind=["note"]),
        lambda: mem.conversations.list(channel=channel),
        lambda: mem.forget(entry),
        lambda: mem.get(entry),
        lambda: mem.history(entry),
        lambda: mem.conversations.start(participants="bob"),
        lambda: pad.update({"": 1}),
        lambda: pad.update({5: 1}),
        lambda: pad[""],
        lambda: pad[5],
        lambda: pad.pop(5),
        lambda: list(conv.events(limit=-1)),
        lambda: list(conv.events(limit=True)),
        lambda: mem.apply(Write("n")),
        lambda: mem.list(since="2026"),
        lambda: mem.remember("x", at="2026"),
        lambda: mem.reminders.add("2026", "x"),
        lambda: mem.remember("x", importance="0.5"),
        lambda: mem.recall("x", limit="5"),
    ):
        with pytest.raises(Invalid):
            call()
    assert [one.name for one in mem.list()] == ["n"]
    assert [one.participants for one in mem.conversations.list()] == [()]
    assert (dict(pad), mem.reminders.list()) == ({}, [])


def test_the_same_arguments_give_the_same_as_in_the_library(server: Server, remote: RemoteHome) -> None:
    for number in range(4):
        server.home.agent("ana").remember(f"note {number}", name=f"n{number}")
    server.home.agent("ana").forget("n0")
    talk = server.home.agent("ana").conversations.start()
    talk.user("a note")
    talk.assistant("another note")

    def received(mem: Any) -> list[Any]:
        first, last = mem.list(limit=1)[0], mem.get("n1")
        return [
            mem.orient("note", budget=500),
            [hit.entry for hit in mem.recall("note", limit=1_000, record=False)],
            mem.trash(limit=5_000),
            mem.changes(limit=5_000),
            mem.changes(2, limit=2),
            mem.trash(limit=0),
            mem.list(after=first),
            mem.list(before=first),
            mem.list(before=first.created_at + 1),
            mem.list(before=0),
            mem.list(after=last, sort="name"),
            mem.list(after=last, sort="name", descending=True, limit=1),
            mem.conversations.journal(),
            mem.conversations.journal(1, limit=5_000),
            mem.conversations.last_event(),
            mem.reminders.due(0),
            *(mem.conversations.search("note", limit=limit) for limit in (0, 1_000)),
            mem.conversations.get(talk.id).find("note", limit=0),
            mem.conversations.detail(talk.id, limit=0),
            mem.conversations.list(limit=0),
            mem.conversations.list(limit=5_000),
            mem.conversations.search("note " * 2_000),
            mem.conversations.get(talk.id).find("note " * 2_000),
            mem.conversations.search("note", since=5, until="2999-01-01", unit="conversation", meaning=False),
            mem.changes(-1),
            mem.recall("note", scopes=[]),
            mem.list(since=5),
            mem.list(since="20200101", until=9**14),
            mem.query("working", "keyword", "note", conversation=mem.conversations.get(talk.id)),
        ]

    assert received(remote.agent("ana")) == received(server.home.agent("ana"))


@pytest.mark.parametrize("where", ["library", "client"])
def test_knowledge_is_rewritten_only_in_the_version_that_was_seen(
    server: Server, remote: RemoteHome, where: str
) -> None:
    mem: Any = server.home.agent("ana") if where == "library" else remote.agent("ana")
    with pytest.raises(NotFound):
        mem.upsert("port", "8080", if_version="0000")
    seen = mem.upsert("port", "8080", tags=["staging"])
    changed = mem.upsert("port", "8081", if_version=seen.version)
    assert (changed.content, changed.tags) == ("8081", ("staging",))
    with pytest.raises(Stale):
        mem.upsert("port", "8082", if_version=seen.version)
    assert mem.get("port").content == "8081"


def test_an_entry_of_any_kind_is_added_with_what_it_stands_for(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    conv = mem.conversations.start()
    events = [conv.user("one"), conv.assistant("two")]
    span = {"conversation": conv.id, "first_event": events[0].seq, "last_event": events[1].seq}
    made = [mem.apply(Add("both", kind="archive", **span)), *mem.remember_many([Add("both", kind="chunk", **span)])]
    assert [(one.kind, one.first_event, one.last_event) for one in made] == [
        ("archive", events[0].seq, events[1].seq),
        ("chunk", events[0].seq, events[1].seq),
    ]


def test_a_token_is_sent_and_one_for_another_agent_is_refused(tmp_path: Any) -> None:
    with recollect.open(tmp_path / "m.db") as home:
        _, secret = home.tokens.create("for ana", agents=["ana"])
        with serving(home, settings(require_token=True)) as running:
            with connect(running.url, token=secret) as remote:
                remote.agent("ana").remember("mine")
                with pytest.raises(Denied):
                    remote.agent("bob").remember("not mine")
            with connect(running.url) as nobody, pytest.raises(Denied, match="token"):
                nobody.agent("ana").list()


def test_many_threads_share_a_client_and_lose_nothing(server: Server, remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: mem.remember(f"note {n}").id, range(64)))
    assert len(set(made)) == 64
    assert {one.id for one in server.home.agent("ana").list(limit=100)} == set(made)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with connect("http://127.0.0.1:9") as remote, pytest.raises(Unavailable, match="recollect serve"):
        remote.agent("ana").list()


def test_pages_chats_categories_and_the_project_are_within_reach(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    made = [mem.conversations.start(chat_id=f"chat-{number}").id for number in range(3)]
    page = mem.conversations.list(limit=2)
    assert [one.id for one in (*page, *mem.conversations.list(before=page[-1]))] == made[::-1]
    assert mem.conversations.start(chat_id="chat-1", resume=True).id == made[1]
    due = [mem.reminders.add(at, "late") for at in (1, 2, 3)]
    assert mem.reminders.list(after=due[0]) == mem.reminders.list(after=due[0].cursor) == due[1:]
    mem.remember("the gate", category="lessons")
    assert len(mem.recall("gate", category=["lessons", "tasks"])) == 1
    assert mem.recall("gate", category="tasks") == []
    assert mem.project() is None
    assert [mem.set_project(text, replace=False) for text in ("Boats.", "Ropes.")] == [True, False]
    assert mem.project() == "Boats."


def test_what_is_empty_in_the_library_is_empty_in_the_client(server: Server, remote: RemoteHome) -> None:
    made = remote.agent("ana").remember("x", context="")
    assert made.context == server.home.agent("bob").remember("x", context="").context


def test_many_entries_of_which_one_is_wrong_are_not_written(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    mem.remember("x", name="taken")
    with pytest.raises(Conflict):
        mem.remember_many([*(Add(f"note {number}") for number in range(1_500)), Add("y", name="taken")])
    with pytest.raises(Invalid):
        mem.remember_many([*(Add(f"note {number}") for number in range(10_001)), "text"])
    assert [one.name for one in mem.list()] == ["taken"]


def test_more_than_a_request_may_carry_is_sent_in_several(remote: RemoteHome) -> None:
    made = remote.agent("ana").remember_many(Add("é" * 400_000, name=f"n{number}") for number in range(14))
    assert [one.name for one in made] == [f"n{number}" for number in range(14)]


def test_errors_that_share_a_status_are_distinguished(tmp_path: Any) -> None:
    with recollect.open(tmp_path / "m.db") as home, serving(home) as running, connect(running.url) as remote:
        remote.agent("ana").remember("x")
        with pytest.raises(ConfigError, match="embedder"):
            remote.agent("ana").recall("x", mode="vector")
    (tmp_path / "damaged.db").write_bytes(b"no database" * 1_000)
    with (
        recollect.open(tmp_path / "damaged.db") as home,
        serving(home) as running,
        connect(running.url) as remote,
        pytest.raises(Corrupt),
    ):
        remote.agent("ana").list()


def test_a_conversation_object_is_accepted_where_an_id_is(remote: RemoteHome) -> None:
    mem = remote.agent("ana")
    conv = mem.conversations.start()
    note = mem.remember("the tide is low", scope="conversation", conversation=conv)
    assert [hit.entry.id for hit in mem.recall("tide", conversation=conv)] == [note.id]
    assert [entry.id for entry in mem.list(conversation=conv)] == [note.id]
    assert "tide is low" in mem.context("tide", conversation=conv).text
    assert mem.conversations.get(conv).id == conv.id
