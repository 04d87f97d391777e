"""Errors of MCP tools, and what an agent may see and change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from surfaces.mcp_client import Agent, run_story, server

import recollect
from recollect.errors import RecollectError
from recollect.home import Home
from recollect.mcp.tool import ADVICE
from recollect.memory import Memory


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with recollect.open(tmp_path / "home") as opened:
        yield opened


def test_an_error_says_what_is_wrong_and_what_to_do_next(home: Home) -> None:
    async def story(agent: Agent) -> None:
        await agent("conversation", action="start")
        cases = [
            (("memory", {"action": "remember"}), ["needs `content`", "Nothing was changed"]),
            (("memory", {"action": "recall", "query": "x", "content": "y"}), ["no argument 'content'", "`limit`"]),
            (("memory", {"action": "dream"}), ["action", "'remember', 'recall' or 'forget'"]),
            (("memory", {"action": "recall", "query": "x", "limit": 101}), ["limit", "100"]),
            (("memory", {"action": "recall", "query": "x", "mode": "vector"}), ["embedder"]),
            (("memory_query", {"store": "working", "mode": "text", "query": "x"}), ["no mode 'text'", "keyword, hash"]),
            (("memory_query", {"store": "session", "mode": "session_detail"}), ["session_id"]),
            (("memory_upsert", {"op": "insert", "key": "k", "content": "c", "agent": "bob"}), ["no argument 'agent'"]),
            (("memory_note", {"action": "add", "content": "a", "name": "taken"}), ["taken", "another name"]),
            (("conversation", {"action": "append", "messages": [{"role": "system", "content": "x"}]}), ["role"]),
            (("conversation", {"action": "get", "conversation": "nope"}), ["no conversation 'nope'"]),
            (("forge_reminder", {"action": "add", "at": "soon", "message": "x"}), ["'soon'"]),
        ]
        await agent("memory_note", action="add", content="a", name="taken")
        for (tool, arguments), words in cases:
            text = await agent.refused(tool, **arguments)
            assert [word for word in words if word not in text] == [], text
            assert "pydantic" not in text
            assert "Traceback" not in text
            assert text.count(". ") >= 1, text

    run_story(server(home), story)


def test_every_kind_of_error_has_its_advice() -> None:
    kinds = {kind for kind in vars(recollect.errors).values() if isinstance(kind, type) and kind is not RecollectError}
    assert [kind for kind in kinds if not any(issubclass(kind, known) for known in ADVICE)] == []


def test_an_unexpected_error_reveals_no_internals(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> Any:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(Memory, "recall", broken)
    monkeypatch.setattr(Memory, "list", broken)

    async def story(agent: Agent) -> None:
        assert await agent.refused("memory", action="recall", query="x") == "Error executing tool memory"
        with pytest.raises(MCPError) as error:
            await agent.read("recollect://entries")
        assert "swordfish" not in str(error.value)

    run_story(server(home), story)


def test_a_damaged_memory_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"this is no database " * 500)
    with recollect.open(tmp_path / "memory.db") as home:

        async def story(agent: Agent) -> None:
            text = await agent.refused("memory", action="recall", query="x")
            assert "recollect check" in text
            assert str(tmp_path) not in text

        run_story(server(home), story)


def test_one_agent_never_sees_another_ones_memory_unless_it_is_read_by_name(home: Home) -> None:
    bob = home.agent("bob")
    bob.upsert("port", "Bob's port is 9000")
    bob.remember("Bob's private thought about ports")
    working = bob.conversations.start()
    working.user("Bob's words")

    async def story(agent: Agent) -> None:
        assert (await agent("memory", action="recall", query="port"))["results"] == []
        assert (await agent("memory_query", query="port"))["results"] == []
        assert (await agent("memory_note", action="list"))["notes"] == []
        read = await agent("memory_query", query="port", target_agent="bob")
        assert [(hit["content"], hit["source_agent"]) for hit in read["results"]] == [("Bob's port is 9000", "bob")]
        assert "never read" in await agent.refused("memory_query", store="working", query="words", target_agent="bob")
        assert await agent("memory", action="forget", id=bob.get("port").id) == {"ok": False}
        for tool, arguments in (
            ("memory_note", {"action": "show", "target": "port"}),
            ("conversation", {"action": "get", "conversation": working.ref_code}),
            (
                "scratchpad",
                {"action": "write", "key": "a", "value": 1, "conversation": working.ref_code, "owner": "bob"},
            ),
        ):
            await agent.refused(tool, **arguments)
        with pytest.raises(MCPError):
            await agent.read("recollect://entry/port")

    run_story(server(home), story)
    assert bob.get("port").content == "Bob's port is 9000"


def test_arguments_that_do_not_fit_are_refused_and_not_passed_over(home: Home) -> None:
    async def story(agent: Agent) -> None:
        wrong = await agent.refused("memory_query", store="session", mode="text", query="x", session_id="nosuch")
        assert "`session_id` applies to the mode `session_detail`, not to text" in wrong
        wrong = await agent.refused("memory_query", store="knowledge", query="x", hash="abc")
        assert "`hash` applies to the mode `hash`, not to none" in wrong
        wrong = await agent.refused("memory_query", store="knowledge", query="x", conversation="abc")
        assert "`conversation` applies to the store `working`" in wrong
        wrong = await agent.refused("scratchpad", action="write", key="a", value=1, owner="ben")
        assert "which conversation of 'ben'?" in wrong
        assert home.agent("ana").conversations.list() == []
        wrong = await agent.refused("memory_context", profile="codng")
        assert "there is no profile 'codng'" in wrong
        assert "conversation" not in wrong

    run_story(server(home), story)


def test_an_access_that_may_only_read_changes_nothing(home: Home) -> None:
    mem = home.agent("ana")
    mem.remember("We deploy on Tuesdays", name="deploy day")

    async def story(agent: Agent) -> None:
        assert (await agent("memory", action="recall", query="deploy"))["results"]
        for tool, arguments in (
            ("memory", {"action": "remember", "content": "x"}),
            ("memory", {"action": "forget", "id": "deploy day"}),
            ("memory_upsert", {"op": "insert", "key": "k", "content": "c"}),
            ("memory_note", {"action": "write", "target": "deploy day", "content": "x"}),
            ("conversation", {"action": "start"}),
            ("scratchpad", {"action": "write", "key": "a", "value": 1}),
            ("memory_compact", {}),
            ("forge_reminder", {"action": "add", "at": "1h", "message": "x"}),
            ("forge_memory_checkpoint", {}),
        ):
            assert "is read-only" in await agent.refused(tool, **arguments)
        denied = await agent.refused("memory_query", query="x", target_agent="bob")
        assert "right to read the agent 'bob'" in denied

    run_story(server(home, may_write=False, may_read=lambda other: False), story)
    assert [entry.content for entry in mem.list()] == ["We deploy on Tuesdays"]
