"""Export, import and moving: a memory comes out of one place and goes into another unchanged, or not at all."""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from embedders import HashEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres import Server

import recollect
from recollect import Add, Alias, Event, EventType, Rename, Write
from recollect.clock import FixedClock
from recollect.engine.agent_store import every
from recollect.engine.reminders import add as remind
from recollect.errors import ConfigError, Conflict, Invalid
from recollect.home import Home
from recollect.memory import Memory
from recollect.model.transfer import Exported, Imported
from recollect.storage.schema import migrations
from recollect.transfer import archive, restoring

pytestmark = pytest.mark.directory

NEW_YEAR_2026 = 1_767_225_600_000


def export(home: Home, path: Path, **options: Any) -> Exported:
    return archive.export(home._place, path, home._shared.clock.now(), **options)


def bring(home: Home, path: Path, **options: Any) -> Imported:
    return restoring.import_(home._place, path, home._shared.clock.now(), **options)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(params=["file", "directory", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    """A second home, empty, in each kind of location."""
    places = {"file": str(tmp_path / "target.db"), "directory": str(tmp_path / "target")}
    server: Server | None = None
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        places["postgres"] = server.fresh_database()
    with recollect.open(places[request.param], clock=clock) as opened:
        yield opened
    if server is not None:
        server.drop_database(places["postgres"])


def live(mem: Memory, clock: FixedClock) -> None:
    """A life with some of everything in it."""
    mem.remember("We deploy on Tuesdays", name="deploy day", tags=["ops", "büro"], category="decisions", importance=0.9)
    mem.apply(Rename("deploy day", "release day"))
    mem.apply(Alias("release day", "when do we ship?"))
    clock.advance(60_000)
    mem.apply(Write("release day", content="We deploy on Wednesdays\n---\n<!-- id:1 --> \u2028 end"))
    mem.remember("to be forgotten soon", name="passing")
    mem.forget("passing")
    mem.remember("forgotten and back", name="back")
    mem.forget("back")
    mem.restore("back")
    mem.apply(Write(mem.remember("the first version").id, content="the second version"))
    mem.recall("deploy")
    mem.channels.create("garden", "plants and such")
    talk = mem.conversations.start("garden", chat_id="chat-1", model_id="m-1", participants=["bob"])
    calls = [{"id": "c1", "name": "look", "arguments": {"at": "shed"}}]
    talk.user("Where is the spade?", speaker="Ana")
    talk.assistant("", tool_calls=calls)
    talk.tool("in the shed", "c1")
    talk.assistant("It is in the shed.")
    talk.scratchpad["plan"] = {"next": ["dig", "plant"]}
    talk.checkpoint()
    for number in range(30):
        talk.user(f"Question {number} about the roses")
        talk.assistant(f"Answer {number} about the roses")
    talk.compact()
    talk.user("And after that?")
    mem.remember("only in this talk", scope="conversation", conversation=talk.id)
    ended = mem.conversations.start()
    ended.user("We decided to plant beans in April.")
    ended.assistant("Noted: beans in April.")
    ended.end()
    remind(mem._workspace, "2h", "water the beans", clock.now())


def fill(home: Home, clock: FixedClock) -> Home:
    live(home.agent("ana"), clock)
    home.agent("bob").remember("Bob's only note", name="note of bob")
    home.flush()
    return home


@pytest.fixture
def full(home: Home, clock: FixedClock) -> Home:
    """A home with two agents' lives in it, in each kind of location."""
    return fill(home, clock)


@pytest.fixture
def source(tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    """The same in a single file."""
    with recollect.open(tmp_path / "source.db", clock=clock) as opened:
        yield fill(opened, clock)


@pytest.fixture
def empty(tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    """An empty home."""
    with recollect.open(tmp_path / "empty", clock=clock) as opened:
        yield opened


def test_what_was_exported_and_imported_is_exported_as_the_same_bytes(full: Home, target: Home, tmp_path: Path) -> None:
    export(full, tmp_path / "one.jsonl")
    done = bring(target, tmp_path / "one.jsonl")
    export(target, tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert [part.where for part in done.parts] == ["default/_shared", "default/ana", "default/bob"]
    assert done.parts[2].added == {"entries": 1, "operations": 1}
    assert not done.remarks
    assert target.check().findings == ()


def test_a_restored_memory_works_like_the_first_one(source: Home, target: Home, tmp_path: Path) -> None:
    export(source, tmp_path / "one.jsonl")
    bring(target, tmp_path / "one.jsonl")
    old, new = source.agent("ana"), target.agent("ana")
    assert new.get("when do we ship?") == old.get("release day")
    assert new.history("release day") == old.history("release day")
    assert [hit.entry for hit in new.recall("deploy wednesdays")] == [
        hit.entry for hit in old.recall("deploy wednesdays")
    ]
    assert new.conversations.list() == old.conversations.list()
    (talk,) = [one for one in new.conversations.list() if one.chat_id == "chat-1"]
    assert new.conversations.get(talk.id).messages() == old.conversations.get(talk.id).messages()
    assert new.conversations.get(talk.id).scratchpad["plan"] == {"next": ["dig", "plant"]}
    found = new.conversations.search("spade")
    assert found[0].event == old.conversations.search("spade")[0].event
    assert new.channels.list() == old.channels.list()
    assert new.restore("passing").content == "to be forgotten soon"
    more = new.remember("life goes on", name="next")
    assert more.seq == old.remember("life goes on", name="next").seq
    new.conversations.get(talk.id).user("still there?")
    assert target.check().findings == ()


def test_a_long_journal_is_indexed_when_it_is_restored(target: Home, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "long.db") as long:
        talk = long.agent("ana").conversations.start()
        talk.append([Event(type=EventType.USER, content=f"word{number}") for number in range(1_500)])
        export(long, tmp_path / "long.jsonl")
    bring(target, tmp_path / "long.jsonl")
    with target._place.workspace("default").read("ana") as tx:
        assert tx.all("turns.segments")
    assert target.agent("ana").conversations.search("word77")[0].event.content == "word77"
    assert target.check().findings == ()


def test_several_workspaces_and_the_account_are_restored(target: Home, tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "many", clock=clock) as many:
        many.agent("ana", "web").remember("The web site is red", name="colour")
        many.agent("ana", "app").remember("The app is blue", name="colour")
        many.agent("ana", "web").remember("I like short answers", name="answers", scope="account")
        export(many, tmp_path / "many.jsonl")
    if "file" in str(type(target._place)).lower():
        with pytest.raises(Invalid, match="a single file holds the workspace 'default' only"):
            bring(target, tmp_path / "many.jsonl")
        assert target.workspaces() == []
        return
    bring(target, tmp_path / "many.jsonl")
    assert target.workspaces() == ["app", "web"]
    assert target.agent("ana", "app").get("colour").content == "The app is blue"
    assert target.agent("ana", "app").get("answers").content == "I like short answers"
    export(target, tmp_path / "again.jsonl")
    assert (tmp_path / "many.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    assert target.check().findings == ()


def test_a_single_file_takes_in_the_account_of_a_directory(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "many", clock=clock) as many, recollect.open(tmp_path / "one.db") as one:
        many.agent("ana").remember("The site is red", name="colour")
        many.agent("ana").remember("I like short answers", name="answers", scope="account")
        export(many, tmp_path / "many.jsonl")
        bring(one, tmp_path / "many.jsonl")
        assert {entry.name for entry in one.agent("ana").list()} == {"colour", "answers"}
        assert one.check().findings == ()


def test_importing_twice_changes_nothing(source: Home, target: Home, tmp_path: Path, clock: FixedClock) -> None:
    export(source, tmp_path / "one.jsonl")
    bring(target, tmp_path / "one.jsonl")
    clock.advance(1_000)
    done = bring(target, tmp_path / "one.jsonl")
    assert not done.changed
    clock.advance(-1_000)
    export(target, tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def told_numbers(mem: Memory) -> list[tuple[str, ...]]:
    """Where a number of an event is told: by a marker, by an entry about a conversation. As the ids of the events."""
    events = {
        event.seq: event for info in mem.conversations.list() for event in mem.conversations.get(info.id).events()
    }
    markers = [event for event in events.values() if event.type is EventType.MARKER]
    received = [
        (one.id, *(events[seq].id for seq in (one.payload["boundary"], *one.payload["kept"]))) for one in markers
    ]
    about = [entry for entry in mem.list() if entry.first_event and entry.last_event]
    received += [(one.id, *(events[seq].id for seq in (one.first_event, one.last_event) if seq)) for one in about]
    return sorted(received)


def test_an_agent_that_is_there_gets_what_it_does_not_have(
    source: Home, target: Home, tmp_path: Path, clock: FixedClock
) -> None:
    export(source, tmp_path / "one.jsonl")
    ana = target.agent("ana")
    ana.remember("my own release day", name="release day")
    ana.remember("Bob's only note")
    assert ana.recall("forgotten and back") == []
    assert target.agent("bob").recall("note") == []
    talk = ana.conversations.start()
    for number in range(5):
        talk.user(f"my own words {number}")
    done = bring(target, tmp_path / "one.jsonl")
    assert {part.where: bool(part.known) for part in done.parts} == {
        "default/_shared": False,
        "default/ana": True,
        "default/bob": False,
    }
    assert any("'release day' is there with another text" in remark for remark in done.remarks)
    assert ana.get("release day").content == "my own release day"
    assert ana.get("back").content == "forgotten and back"
    assert ana.recall("forgotten and back")[0].entry.name == "back"
    assert target.agent("bob").recall("note")[0].entry.name == "note of bob"
    old = source.agent("ana")
    for info in old.conversations.list():
        assert ana.conversations.get(info.id).info == info
        received = [(e.id, e.content) for e in old.conversations.get(info.id).events()]
        assert [(e.id, e.content) for e in ana.conversations.get(info.id).events()] == received
        assert ana.conversations.get(info.id).messages() == old.conversations.get(info.id).messages()
        assert ana.conversations.get(info.id).replay() == old.conversations.get(info.id).replay()
    assert told_numbers(ana) == told_numbers(old) != []
    assert target.check().findings == ()
    assert not bring(target, tmp_path / "one.jsonl").changed


def test_what_was_forgotten_after_an_import_stays_forgotten(source: Home, target: Home, tmp_path: Path) -> None:
    export(source, tmp_path / "one.jsonl")
    bring(target, tmp_path / "one.jsonl")
    target.agent("bob").forget("note of bob")
    assert not bring(target, tmp_path / "one.jsonl").changed
    assert target.agent("bob").list() == []


def test_a_memory_moves_to_another_place_and_back_unchanged(full: Home, target: Home, tmp_path: Path) -> None:
    export(full, tmp_path / "one.jsonl")
    restoring.move(full._place, target._place)
    export(target, tmp_path / "two.jsonl")
    with recollect.open(tmp_path / "back.db", clock=FixedClock(full._shared.clock.now())) as back:
        restoring.move(target._place, back._place)
        export(back, tmp_path / "three.jsonl")
    assert len({(tmp_path / f"{name}.jsonl").read_bytes() for name in ("one", "two", "three")}) == 1


def test_nothing_is_moved_into_a_home_that_holds_something(source: Home, target: Home) -> None:
    target.agent("cleo").remember("I was here first")
    with pytest.raises(Conflict, match="the target is not empty, it contains default/cleo"):
        restoring.move(source._place, target._place)
    assert target.agent("ana").list() == []


def preferences(home: Home) -> None:
    """Notes of the account among those of the workspace: written, renamed, recalled, forgotten, erased."""
    mem = home.agent("ana")
    mem.remember("The site is red", name="colour")
    mem.remember("I like short answers", name="answers", scope="account")
    mem.remember("Never call before nine", name="calls", scope="account", tags=["phone"])
    mem.apply(Write("answers", content="I like very short answers"))
    mem.apply(Alias("answers", "how to answer"))
    mem.remember("gone for now", name="passing", scope="account")
    mem.forget("passing")
    mem.forget(mem.remember("gone for good", scope="account").id, erase=True)
    mem.recall("short answers")
    mem.remember("The gate is blue", name="gate")
    home.flush()


def placed(home: Home) -> dict[str, set[str | None]]:
    """The names of the notes in the account's rows, and in the workspace's."""
    mem = home.agent("ana")
    found = {}
    for place, store in (("account", mem._account), ("workspace", mem._workspace)):
        with store.read() as tx:
            found[place] = {one.entry.name for one in every(tx)}
    return found


@pytest.mark.parametrize("way", ["move", "import", "import into what is there"])
def test_account_entries_go_where_the_target_keeps_them(
    target: Home, tmp_path: Path, clock: FixedClock, way: str
) -> None:
    with recollect.open(tmp_path / "one.db", clock=clock) as one, recollect.open(tmp_path / "back.db") as back:
        preferences(one)
        if way == "move":
            restoring.move(one._place, target._place)
        else:
            if way != "import":
                target.agent("ana").remember("I was here", name="first")
                target.agent("ana").remember("And I", name="second", scope="account")
            export(one, tmp_path / "one.jsonl")
            bring(target, tmp_path / "one.jsonl")
            assert not bring(target, tmp_path / "one.jsonl").changed
        more = {"first", "second"} if way == "import into what is there" else set()
        apart = "file" not in str(type(target._place)).lower()
        everything = {"colour", "gate", "answers", "calls"} | more
        if apart:
            assert placed(target) == {
                "account": {"answers", "calls"} | more - {"first"},
                "workspace": {"colour", "gate"} | more - {"second"},
            }
        else:
            assert placed(target)["workspace"] == everything
        assert target.check().findings == ()
        restoring.move(target._place, back._place)
        for home in (target, back):
            mem = home.agent("ana")
            assert {entry.name for entry in mem.list()} == everything
            assert mem.get("how to answer").content == "I like very short answers"
            assert mem.recall("short answers")[0].entry.name == "answers"
            if way == "move":
                assert [one.operation for one in mem.history("answers")] == ["add", "write", "alias"]
                assert mem.restore("passing").content == "gone for now"
            mem.remember("after all of this", name="after")
            mem.remember("also after", name="also", scope="account")
        assert back.check().findings == ()


def test_the_jobs_of_account_and_workspace_are_one_in_a_single_file(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "many", clock=clock) as many, recollect.open(tmp_path / "one.db") as one:
        preferences(many)
        run = many.jobs.run("consolidate")
        restoring.move(many._place, one._place)
        assert [found.id for found in one.jobs.runs()] == [run.id]
        assert one.check().findings == ()


def test_what_does_not_fit_into_a_single_file_is_not_moved_at_all(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "many", clock=clock) as many, recollect.open(tmp_path / "one.db") as one:
        many.agent("ana").remember("The site is red", name="colour")
        many.agent("ana", "web").remember("The web site is red")
        with pytest.raises(Invalid, match="a single file holds the workspace 'default' only"):
            restoring.move(many._place, one._place)
        assert one.workspaces() == []


def test_vectors_travel_only_when_asked_for(home: Home, location: str, tmp_path: Path, clock: FixedClock) -> None:
    embedder = HashEmbedder()
    with recollect.open(location, clock=clock, embedder=embedder) as one:
        one.agent("ana").remember("cats purr")
        one.agent("ana").remember("dogs bark")
        one.backfill()
        export(one, tmp_path / "without.jsonl")
        export(one, tmp_path / "with.jsonl", include_vectors=True)
    assert not [line for line in lines(tmp_path / "without.jsonl") if "embeddings" in line]
    with recollect.open(tmp_path / "new", clock=clock, embedder=embedder) as new:
        bring(new, tmp_path / "with.jsonl")
        assert [hit.entry.content for hit in new.agent("ana").recall("cats", mode="vector", limit=1)] == ["cats purr"]
        export(new, tmp_path / "again.jsonl", include_vectors=True)
        assert new.backfill() == 0
    assert (tmp_path / "with.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()


def test_a_name_that_ends_in_gz_gives_a_packed_file(source: Home, empty: Home, tmp_path: Path) -> None:
    export(source, tmp_path / "plain.jsonl")
    export(source, tmp_path / "packed.jsonl.gz")
    assert gzip.decompress((tmp_path / "packed.jsonl.gz").read_bytes()) == (tmp_path / "plain.jsonl").read_bytes()
    bring(empty, tmp_path / "packed.jsonl.gz")
    export(empty, tmp_path / "again.jsonl.gz")
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "packed.jsonl.gz").read_bytes()
    assert not bring(empty, tmp_path / "packed.jsonl.gz").changed


def test_the_file_begins_with_a_header_and_ends_with_a_manifest(source: Home, tmp_path: Path) -> None:
    done = export(source, tmp_path / "one.jsonl")
    first, *rows, last = lines(tmp_path / "one.jsonl")
    assert first == {
        "format": "recollect",
        "version": 1,
        "schema": migrations()[-1].number,
        "created_at": "2026-01-01T00:01:00Z",
        "vectors": False,
    }
    events = [line for line in (tmp_path / "one.jsonl").read_bytes().splitlines(True) if line.startswith(b'["events"')]
    assert {
        "workspace": "default",
        "agent": "ana",
        "table": "events",
        "rows": len(events),
        "sha256": hashlib.sha256(b"".join(events)).hexdigest(),
    } in last["manifest"]
    assert done.rows == sum(isinstance(row, list) for row in rows)
    assert (tmp_path / "one.jsonl").stat().st_mode & 0o777 == 0o600


def test_every_table_is_either_derived_or_exported() -> None:
    assert archive._schema().keys() - archive.DERIVED == {
        "access_log",
        "channels",
        "checkpoints",
        "conversations",
        "counters",
        "embeddings",
        "entries",
        "events",
        "extracted",
        "graph_checkpoints",
        "graph_writes",
        "item_vectors",
        "job_changes",
        "job_runs",
        "jobs",
        "journals",
        "lanes",
        "names",
        "operations",
        "promotions",
        "recall_events",
        "reminders",
        "review_progress",
        "reviews",
        "saved_views",
        "scratchpads",
    }


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(source: Home, target: Home, tmp_path: Path) -> None:
    export(source, tmp_path / "one.jsonl")
    done = bring(target, tmp_path / "one.jsonl", dry_run=True)
    assert done.dry_run
    assert done.parts[2].added == {"entries": 1, "operations": 1}
    assert target.workspaces() == []


def test_a_dry_run_foresees_the_parts_that_the_import_makes(target: Home, tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "one.db", clock=clock) as one:
        preferences(one)  # in a single file the account's are among the others
        one.agent("bob").remember("The door is green")
        export(one, tmp_path / "one.jsonl")
    received: list[tuple[int, int]] = []
    before = bring(target, tmp_path / "one.jsonl", dry_run=True)
    after = bring(target, tmp_path / "one.jsonl", progress=lambda what, done, total: received.append((done, total)))
    assert before.parts == after.parts
    assert max(done for done, _ in received) == received[0][1]
    again = bring(target, tmp_path / "one.jsonl", dry_run=True)
    assert [part.where for part in again.parts] == [part.where for part in after.parts]
    assert not again.changed


def test_an_export_never_overwrites_a_file(source: Home, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text("mine")
    with pytest.raises(Conflict, match="already exists"):
        export(source, tmp_path / "one.jsonl")
    assert (tmp_path / "one.jsonl").read_text() == "mine"


def test_an_export_that_fails_leaves_no_file(source: Home, tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(ConfigError):
        export(source, tmp_path / "folder" / "one.jsonl")
    assert sorted(path.name for path in tmp_path.glob("*.jsonl*")) == []


@pytest.mark.parametrize("name", ["nul\0byte.jsonl", "lone\udcff\ud800.jsonl"])
def test_a_path_that_is_none_is_refused(name: str, source: Home, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        export(source, tmp_path / name)
    with pytest.raises(ConfigError):
        bring(source, tmp_path / name)


def test_an_empty_home_exports_and_imports(home: Home, empty: Home, tmp_path: Path) -> None:
    assert export(home, tmp_path / "one.jsonl").rows == 0
    assert not bring(empty, tmp_path / "one.jsonl").changed


# Files that are not what they should be


@pytest.fixture
def good(tmp_path: Path) -> bytes:
    with recollect.open(tmp_path / "good.db", clock=FixedClock(NEW_YEAR_2026)) as source:
        source.agent("ana").remember("We deploy on Tuesdays", name="deploy day")
        source.agent("ana").conversations.start().user("hello")
        export(source, tmp_path / "good.jsonl")
    return (tmp_path / "good.jsonl").read_bytes()


def rehashed(path: Path, old: bytes, new: bytes) -> None:
    """Change the rows of a file, and its manifest with them, as a person could who knows the format."""
    head, *rows, last = path.read_bytes().replace(old, new).splitlines(True)
    listed = json.loads(last)["manifest"]
    for one in listed:
        own = [row for row in rows if row.startswith(json.dumps([one["table"]])[:-1].encode())]
        one |= {"rows": len(own), "sha256": hashlib.sha256(b"".join(own)).hexdigest()}
    end = json.dumps({"manifest": listed}, separators=(",", ":")).encode()
    path.write_bytes(b"".join([head, *rows, end, b"\n"]))


BROKEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a changed word": (lambda good: good.replace(b"on Tuesdays", b"on Mondays"), "another count or hash"),
    "a missing row": (
        lambda good: b"".join(row for row in good.splitlines(True) if b'["names"' not in row),
        "manifest",
    ),
    "a row twice": (
        lambda good: b"".join(one * (2 if b'["names"' in one else 1) for one in good.splitlines(True)),
        "another count or hash",
    ),
    "no manifest": (lambda good: b"".join(good.splitlines(True)[:-1]), "is cut off"),
    "half a line": (lambda good: good[: len(good) // 2], "cut off in the middle of a line"),
    "more after the end": (lambda good: good + good, "follows the end"),
    "a zip": (lambda good: b"PK\x03\x04" + good, "is a zip; unpack it"),
    "half a gzip": (lambda good: gzip.compress(good)[:-20], "damaged or cut off"),
    "another JSON": (lambda good: b'{"entries": []}\n', "is not an export of recollect"),
    "not JSON": (lambda good: bytes(range(256)) * 10, "is not an export of recollect|cut off"),
    "nothing": (lambda good: b"", "is not an export of recollect"),
    "a line of no meaning": (lambda good: good.replace(b'["names"', b'["names",1', 1), "is not a row of an export"),
    "a line of not JSON": (lambda good: good.replace(b'["names"', b"[names", 1), "is not JSON"),
    "a workspace outside": (
        lambda good: good.replace(b'"workspace":"default"', b'"workspace":"../other"'),
        "cannot be the name of a workspace",
    ),
    "no version": (lambda good: good.replace(b'"version":1', b'"version":"x"'), "has no version"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_not_whole_changes_nothing(case: str, good: bytes, empty: Home, tmp_path: Path) -> None:
    change, message = BROKEN[case]
    (tmp_path / "bad.jsonl").write_bytes(change(good))
    with pytest.raises(Invalid, match=message):
        bring(empty, tmp_path / "bad.jsonl")
    assert empty.agent("ana").list() == []
    assert empty.workspaces() == []


def _row(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def test_an_export_from_before_validity_is_imported(good: bytes, empty: Home, tmp_path: Path) -> None:
    new = {"valid_from", "valid_until", "validity_inferred", "superseded_by", "closed_at", "origin", "evidence"}
    head, *rows = good.splitlines(True)
    old = [head.replace(b'"schema":' + str(migrations()[-1].number).encode(), b'"schema":11')]
    for line in rows:
        if line.startswith(b'["entries"'):
            table, row = json.loads(line)
            row = {name: value for name, value in row.items() if name not in new}
            old += [_row([table, row | {"source": "user"}]), _row([table, row | {"id": "second", "seq": 2}])]
        else:
            old.append(line)
    (tmp_path / "old.jsonl").write_bytes(b"".join(old))
    rehashed(tmp_path / "old.jsonl", b"\0", b"")
    bring(empty, tmp_path / "old.jsonl")
    found = {(entry.source, entry.origin, entry.evidence) for entry in empty.agent("ana").list()}
    assert found == {("user", "user", ()), ("agent", "agent", ())}


@pytest.mark.parametrize("field", [b'"version":1', b'"schema":'])
def test_an_export_of_a_newer_recollect_is_refused(field: bytes, good: bytes, empty: Home, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_bytes(good.replace(field, field + b"9"))
    with pytest.raises(ConfigError, match="was written by a newer recollect"):
        bring(empty, tmp_path / "new.jsonl")
    assert empty.workspaces() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'["names"', b'["migrations"'),
        (b'["names"', b'["tail"'),
        (b'"canonical":1', b'"canonical":"one"'),
        (b'"canonical":1', b'"canonical":true'),
        (b'"canonical":1', b'"canonical":null'),
        (b'"canonical":1', b'"canonical) VALUES (1); --":1'),
        (b'"canonical":1', b'"canonical":1,"agent":"bob"'),
    ],
)
def test_rows_that_fit_no_table_are_refused_before_anything_is_written(
    old: bytes, new: bytes, good: bytes, empty: Home, tmp_path: Path
) -> None:
    path = tmp_path / "good.jsonl"
    rehashed(path, old, new)
    with pytest.raises(Invalid):
        bring(empty, path)
    assert empty.workspaces() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"kind":"note"', b'"kind":"nonsense"'),
        (b'"content":"We deploy on Tuesdays"', b'"content":"We deploy on Mondays"'),
        (b'"lane":"edge"', b'"lane":"nowhere"'),
        (b'"type":"UserMsg"', b'"type":"nonsense"'),
    ],
)
@pytest.mark.parametrize("present", [False, True])
@pytest.mark.parametrize("location", ["file"], indirect=True)
def test_rows_of_no_meaning_are_refused_as_a_whole_or_found_by_the_check(
    present: bool, old: bytes, new: bytes, good: bytes, home: Home, tmp_path: Path
) -> None:
    if present:
        home.agent("ana").remember("I am here already", name="here")
    path = tmp_path / "good.jsonl"
    rehashed(path, old, new)
    try:
        bring(home, path)
    except Invalid:
        assert [entry.name for entry in home.agent("ana").list()] == (["here"] if present else [])
        assert list(home.agent("ana").conversations.list()) == []
    else:
        assert not home.check().ok


def test_a_row_that_is_there_twice_is_refused(good: bytes, home: Home, tmp_path: Path) -> None:
    (row,) = [line for line in good.splitlines(True) if line.startswith(b'["operations"')]
    path = tmp_path / "good.jsonl"
    rehashed(path, row, row + row)
    with pytest.raises(Invalid, match=r"the rows of default/ana in .* cannot be stored, and none was"):
        bring(home, path)
    assert home.agent("ana").list() == []


def test_a_missing_file_is_named(empty: Home, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no file"):
        bring(empty, tmp_path / "nowhere.jsonl")


# Any memory


WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(str.strip)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("cut", [True, False])
def test_a_file_that_changes_during_the_import_is_noticed(
    source: Home, empty: Home, tmp_path: Path, there: bool, cut: bool
) -> None:
    if there:
        empty.agent("bob").remember("here before")
    path = tmp_path / "one.jsonl"
    export(source, path)
    whole = path.read_bytes()

    def change(where: str, done: int, total: int) -> None:
        start = whole.index(b'"agent":"bob"')
        path.write_bytes(whole[: whole.index(b"\n", start) + 1] if cut else whole.replace(b"only note", b"sole note"))

    before = [entry.content for entry in empty.agent("bob").list()]
    with pytest.raises(Invalid, match="was changed while it was imported"):
        bring(empty, path, progress=change)
    assert [entry.content for entry in empty.agent("bob").list()] == before
    path.write_bytes(whole)
    bring(empty, path)
    assert sorted(entry.content for entry in empty.agent("bob").list()) == ["Bob's only note", *before]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), WORDS, st.none() | WORDS),
        st.tuples(st.just("rename"), WORDS, st.integers(0, 5)),
        st.tuples(st.just("write"), WORDS, st.integers(0, 5)),
        st.tuples(st.just("forget"), st.just(""), st.integers(0, 5)),
        st.tuples(st.just("say"), WORDS, st.integers(0, 2)),
    ),
    max_size=15,
)


def take(mem: Memory, steps: list[tuple[str, str, Any]]) -> None:
    """Do what is possible of the steps."""
    talks = [mem.conversations.start()]
    for what, word, which in steps:
        known = mem.list()
        try:
            if what == "add":
                mem.apply(Add(word, name=which, tags=[word.strip()[:10] or "x"]))
            elif what == "say":
                talks = talks if which else [*talks, mem.conversations.start()]
                talks[-1].user(word)
            elif known:
                entry = known[which % len(known)]
                if what == "forget":
                    mem.forget(entry.id)
                else:
                    mem.apply(Rename(entry.id, word) if what == "rename" else Write(entry.id, content=word))
        except (Conflict, Invalid):
            pass


@given(steps=STEPS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_memory_returns_unchanged(
    steps: list[tuple[str, str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    clock = FixedClock(NEW_YEAR_2026)
    with recollect.open(folder / "one.db", clock=clock) as one, recollect.open(folder / "two", clock=clock) as two:
        take(one.agent("ana"), steps)
        export(one, folder / "one.jsonl")
        bring(two, folder / "one.jsonl")
        export(two, folder / "two.jsonl")
        assert (folder / "one.jsonl").read_bytes() == (folder / "two.jsonl").read_bytes()
        assert two.check().findings == ()
        assert not bring(two, folder / "one.jsonl").changed
