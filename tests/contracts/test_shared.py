"""Entries of the agent `_shared` reach every agent of their workspace, for reading only."""

from collections.abc import Iterator

import pytest
from faulty_embedder import FaultyEmbedder

import recollect
from recollect import Add, FixedClock, Home, Memory, NotFound, Remove, Rename, Write
from recollect.memory import SHARED

pytestmark = pytest.mark.directory

MODES = ("keyword", "vector", "hybrid")


@pytest.fixture
def home(location: str, clock: FixedClock) -> Iterator[Home]:
    with recollect.open(location, embedder=FaultyEmbedder(), clock=clock) as opened:
        yield opened


@pytest.fixture
def shared(home: Home) -> Memory:
    """The memory that all agents of the workspace see."""
    return home.agent(SHARED)


def found(memory: Memory, query: str, **filters: object) -> list[str]:
    return [hit.entry.content for hit in memory.recall(query, limit=20, **filters)]  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", MODES)
def test_every_agent_finds_what_is_shared_beside_its_own_entries(
    home: Home, mem: Memory, shared: Memory, mode: str
) -> None:
    shared.remember("the release branch is called trunk")
    mem.remember("my own release branch is called ana")
    home.agent("dev").remember("the release branch of dev")
    assert set(found(mem, "release branch", mode=mode)) == {
        "the release branch is called trunk",
        "my own release branch is called ana",
    }
    assert found(home.agent("new"), "release branch", mode=mode) == ["the release branch is called trunk"]
    assert found(shared, "release branch", mode=mode) == ["the release branch is called trunk"]


def test_a_hit_names_the_owner_of_its_entry(home: Home, mem: Memory, shared: Memory) -> None:
    shared.remember("trunk is the release branch", lifetime="long_term")
    mem.remember("ana has a release branch", name="branch")
    owners = {hit.entry.content: hit.agent for hit in mem.recall("release branch")}
    assert owners == {"trunk is the release branch": SHARED, "ana has a release branch": "ana"}
    assert {hit.agent for hit in home.agent("dev").recall("release branch", target_agent="ana")} == {"ana"}
    results = mem.query("knowledge", "text", "release branch")["results"]
    assert {one["content"]: one["source_agent"] for one in results} == owners


def test_what_is_shared_stays_in_its_workspace(location: str, clock: FixedClock) -> None:
    if location.endswith(".db"):
        pytest.skip("a single file has one workspace")
    with recollect.open(location, clock=clock) as home:
        home.agent(SHARED, "red").remember("the red release branch")
        assert found(home.agent("ana", "blue"), "release branch") == []
        assert found(home.agent("ana", "red"), "release branch") == ["the red release branch"]


def test_the_filters_hold_for_what_is_shared(mem: Memory, shared: Memory) -> None:
    shared.remember("release by tag", tags=["ops"], category="decisions")
    shared.remember("release by hand")
    assert found(mem, "release", tags=["ops"]) == ["release by tag"]
    assert found(mem, "release", category="decisions") == ["release by tag"]
    assert found(mem, "release", scopes=["account"]) == []


def test_only_entries_of_workspace_and_channel_are_shared(mem: Memory, shared: Memory) -> None:
    talk = shared.conversations.start()
    private = shared.remember("release talk of one conversation", scope="conversation", conversation=talk.id)
    account = shared.remember("release preference", scope="account")
    channel = shared.remember("release channel note", scope="channel", channel=mem.channels.default.id)
    assert found(mem, "release") == []
    assert found(mem, "release", conversation=talk.id, channel=mem.channels.default.id) == ["release channel note"]
    assert mem.get(channel.id) == channel
    for hidden in (private, account):
        with pytest.raises(NotFound):
            mem.get(hidden.id)


def test_reading_another_agent_does_not_add_what_is_shared(home: Home, mem: Memory, shared: Memory) -> None:
    shared.remember("the release branch is called trunk")
    home.agent("dev").upsert("branch", "the release branch of dev")
    assert found(mem, "release branch", target_agent="dev") == ["the release branch of dev"]


def test_a_shared_entry_is_read_by_id_and_name_and_an_own_name_goes_first(mem: Memory, shared: Memory) -> None:
    port = shared.upsert("port", "the port is 8080")
    assert mem.get(port.id) == port
    assert mem.get("port") == port
    own = mem.upsert("port", "my port is 9090")
    assert mem.get("port") == own
    assert shared.get("port") == port


def test_an_agent_lists_its_own_entries_only(mem: Memory, shared: Memory) -> None:
    shared.remember("the release branch is called trunk")
    assert mem.list() == []
    assert [entry.content for entry in shared.list()] == ["the release branch is called trunk"]


def test_no_write_of_an_agent_reaches_what_is_shared(mem: Memory, shared: Memory) -> None:
    port = shared.upsert("port", "the port is 8080")
    for target in ("port", port.id):
        for operation in (Write(target, content="gone"), Rename(target, "harbour"), Remove(target)):
            with pytest.raises(NotFound):
                mem.apply(operation)
        assert mem.forget(target) is False
        with pytest.raises(NotFound):
            mem.forget(target, erase=True)
        with pytest.raises(NotFound):
            mem.restore(target)
    with pytest.raises(NotFound, match=f"belongs to '{SHARED}'"):
        mem.apply(Write(port.id, content="gone"))
    assert shared.get("port") == port
    assert shared.trash() == []


def test_the_tools_of_a_model_write_beside_what_is_shared(mem: Memory, shared: Memory) -> None:
    from recollect.compat import store_tools

    port = shared.upsert("port", "the port is 8080")
    with pytest.raises(NotFound):
        store_tools.upsert(mem, "update", "port", "gone")
    with pytest.raises(NotFound):
        store_tools.upsert(mem, "delete", "port")
    made = store_tools.upsert(mem, "insert", "port", "my port is 9090")
    assert made["created"] is True
    assert store_tools.upsert(mem, "insert", "port", "my port is 9091")["created"] is False
    assert store_tools.upsert(mem, "delete", "port") == {"ok": True, "id": made["id"], "created": False}
    assert shared.get("port") == port


def test_what_an_agent_remembers_is_not_shared(home: Home, mem: Memory, shared: Memory) -> None:
    mem.remember("a private release branch")
    mem.remember_many([Add("another private release branch")])
    assert shared.list() == []
    assert found(home.agent("dev"), "release branch") == []
    assert found(shared, "release branch") == []


def test_a_recall_counts_as_an_access_of_a_shared_entry_without_the_question(
    home: Home, mem: Memory, shared: Memory
) -> None:
    trunk = shared.remember("the release branch is called trunk")
    mem.recall("release branch of my secret project")
    home.flush()
    assert shared.get(trunk.id).access_count == 1
    assert shared.accesses(trunk.id).recalls == ()


def test_working_memory_of_a_shared_conversation_is_not_read_by_id(mem: Memory, shared: Memory) -> None:
    conv = shared.conversations.start()
    for number in range(3):
        conv.user(f"shall we paint gate {number} green?")
        conv.assistant(f"gate {number} becomes green")
    conv.compact()
    (archive,) = shared.list(kind="archive")
    for name in (archive.id, archive.name):
        assert name is not None
        with pytest.raises(NotFound):
            mem.get(name)
        assert shared.get(name) == archive
    assert mem.recall("which gate becomes green?") == []
    conv.end()
    assert mem.get(archive.id) == archive
