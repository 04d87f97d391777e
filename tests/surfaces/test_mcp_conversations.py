"""Conversations, sessions and the scratchpad over MCP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from surfaces.mcp_client import Agent, run_story, server

import recollect
from recollect.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with recollect.open(tmp_path / "home") as opened:
        yield opened


def test_a_session_has_one_conversation_that_begins_when_it_is_needed(home: Home) -> None:
    async def story(agent: Agent) -> None:
        assert (await agent("conversation", action="list"))["conversations"] == []
        await agent("memory", action="remember", content="nothing about talk")
        assert (await agent("conversation", action="list"))["conversations"] == []
        ref = (await agent("scratchpad", action="write", key="plan", value=["read", {"then": "write"}]))["conversation"]
        said = [{"role": "user", "content": "The harbour opens at eight"}, {"role": "assistant", "content": "Noted."}]
        appended = await agent("conversation", action="append", messages=said)
        assert (appended["appended"], appended["conversation"]["ref_code"]) == (2, ref)
        assert (await agent("conversation", action="append", messages=said))["appended"] == 0
        working = await agent("memory_query", store="working", mode="keyword", query="harbour")
        assert (working["conversation"], working["results"][0]["content"]) == (ref, "The harbour opens at eight")
        by_hash = await agent("memory_query", store="working", mode="hash", hash=working["results"][0]["hash"][:12])
        assert by_hash["results"][0]["id"] == working["results"][0]["id"]
        assert (await agent("scratchpad", action="list"))["values"] == {"plan": ["read", {"then": "write"}]}
        assert await agent("memory_compact") == {"ok": True, "started": True, "folded": 1, "conversation": ref}
        assert (await agent("scratchpad", action="clear", key="plan"))["cleared"] == 1
        assert "no key 'plan'" in await agent.refused("scratchpad", action="read", key="plan")
        await agent("scratchpad", action="write", key="a", value=1)
        assert (await agent("scratchpad", action="clear"))["cleared"] == 1
        got = await agent("conversation", action="get", limit=1)
        assert [event["content"] for event in got["events"]] == ["Noted."]
        ended = await agent("conversation", action="end")
        assert ended["conversation"]["status"] == "idle"
        detail = await agent("memory_query", store="session", mode="session_detail", session_id=ref)
        assert [hit["role"] for hit in detail["results"]][:2] == ["user", "assistant"]
        text = await agent("memory_query", store="session", mode="text", query="harbour")
        assert text["results"][0]["content"] == "The harbour opens at eight"
        assert (await agent("memory_query", store="session", query="harbour"))["results"]
        assert (await agent("scratchpad", action="list"))["conversation"] == ref
        assert (await agent("scratchpad", action="write", key="a", value=1))["conversation"] != ref

    run_story(server(home), story)


def test_a_chat_is_gone_on_with_and_its_hand_off_is_the_models_own(home: Home) -> None:
    async def story(agent: Agent) -> None:
        ref = (await agent("conversation", action="start", chat_id="7"))["conversation"]["ref_code"]
        again = await agent("conversation", action="start", chat_id="7", resume=True)
        assert again["conversation"]["ref_code"] == ref
        await agent("conversation", action="append", messages=[{"role": "user", "content": "The gate is blue"}])
        await agent("memory_note", action="add", category="handoffs", content="Paint the other gate next.")
        await agent("conversation", action="end")
        listed = await agent("memory_note", action="list", category="handoffs")
        assert [one["content"] for one in listed["notes"]] == ["Paint the other gate next."]

    run_story(server(home), story)


def test_only_what_adds_to_a_conversation_begins_one(home: Home) -> None:
    said = [{"role": "assistant", "content": "We decided to paint the gate blue."}]
    acts: list[tuple[str, dict[str, Any]]] = [
        *(("conversation", {"action": action}) for action in ("get", "idle", "archive", "end")),
        *(("scratchpad", arguments) for arguments in ({"action": "list"}, {"action": "read", "key": "a"})),
        ("scratchpad", {"action": "clear"}),
        ("memory_compact", {}),
        ("memory_query", {"store": "working", "mode": "keyword", "query": "gate"}),
    ]

    async def story(agent: Agent) -> None:
        for tool, arguments in acts:
            message = await agent.refused(tool, **arguments)
            assert "which conversation? This session has none yet" in message
            assert "`start` or `append`" in message
        assert (await agent("conversation", action="list"))["conversations"] == []
        ref = (await agent("conversation", action="append", messages=said))["conversation"]["ref_code"]
        assert (await agent("conversation", action="idle"))["conversation"]["ref_code"] == ref
        assert f"{ref} has already ended; it is idle" in await agent.refused("conversation", action="end")
        put_away = await agent("conversation", action="archive")
        assert (put_away["conversation"]["ref_code"], put_away["conversation"]["status"]) == (ref, "archived")
        second = (await agent("conversation", action="append", messages=said))["conversation"]["ref_code"]
        ended = await agent("conversation", action="end")
        assert (ended["conversation"]["ref_code"], len(ended["decisions"])) == (second, 1)
        assert (await agent("conversation", action="archive"))["conversation"]["ref_code"] == second
        everything = await agent("conversation", action="list", include_archived=True)
        assert {one["ref_code"] for one in everything["conversations"]} == {ref, second}

    run_story(server(home), story)


def test_conversations_are_started_put_away_and_listed(home: Home) -> None:
    async def story(agent: Agent) -> None:
        started = await agent("conversation", action="start", chat_id="7", model_id="m", participants=["bob"])
        ref = started["conversation"]["ref_code"]
        assert started["conversation"]["participants"] == ["bob"]
        assert (await agent("scratchpad", action="write", key="a", value=1))["conversation"] == ref
        assert (await agent("conversation", action="idle"))["conversation"]["status"] == "idle"
        await agent("conversation", action="archive", conversation=ref)
        assert (await agent("conversation", action="list", chat_id="7"))["conversations"] == []
        everything = await agent("conversation", action="list", chat_id="7", include_archived=True)
        assert [one["ref_code"] for one in everything["conversations"]] == [ref]

    run_story(server(home), story)


def test_a_server_may_be_given_its_conversation(home: Home) -> None:
    ref = home.agent("ana").conversations.start().ref_code

    async def story(agent: Agent) -> None:
        assert (await agent("scratchpad", action="list"))["conversation"] == ref
        note = await agent("memory_note", action="add", content="only here, the tide is low", scope="conversation")
        assert note["note"]["scope"] == "conversation"
        assert (await agent("memory", action="recall", query="tide"))["results"]

    run_story(server(home, conversation=ref), story)


def test_a_reminder_has_a_recipient_a_plugin_and_a_session_and_needs_no_action(home: Home) -> None:
    async def story(agent: Agent) -> None:
        made = await agent(
            "forge_reminder", at="2h", message="call back", recipient="Marta", plugin="telegram", session_id="chat-7"
        )
        shown = {"recipient": "Marta", "plugin": "telegram", "session_id": "chat-7", "message": "call back"}
        assert shown.items() <= made["reminder"].items()
        talk = (await agent("conversation", action="start"))["conversation"]
        assert (await agent("forge_reminder", at="3h", message="look"))["reminder"]["session_id"] == talk["id"]

    run_story(server(home), story)
    (first, _) = home.agent("ana").reminders.list()
    assert (first.recipient, first.plugin, first.session_id) == ("Marta", "telegram", "chat-7")


def test_context_orientation_and_the_end_of_a_session(home: Home) -> None:
    home.agent("ana").remember("We deploy on Tuesdays", name="deploy day", category="decisions")

    async def story(agent: Agent) -> None:
        context = await agent("memory_context", command="deploy the shop", budget=500)
        assert "We deploy on Tuesdays" in context["text"]
        assert 0 < context["tokens"] <= 500
        assert "no profile 'huge'" in await agent.refused("memory_context", command="x", profile="huge")
        prompts = {prompt.name for prompt in (await agent.client.list_prompts()).prompts}
        assert prompts == {"orient", "end_session"}
        oriented = await agent.client.get_prompt("orient", {"command": "deploy the shop"})
        assert "We deploy on Tuesdays" in oriented.messages[0].content.text  # type: ignore[union-attr]
        ending = await agent.client.get_prompt("end_session")
        assert "`conversation`" in ending.messages[0].content.text  # type: ignore[union-attr]
        with pytest.raises(MCPError):
            await agent.client.get_prompt("orient", {"command": "a\0b"})

    run_story(server(home), story)


def test_the_hand_off_of_a_model_is_given_to_the_next_session(home: Home) -> None:
    # A program that keeps the session by hooks: its conversation is not the one of the connection.
    talk = home.agent("ana").conversations.start(chat_id="session 1")
    talk.user("Please write the parser.")
    talk.assistant("Done. Bye.")

    async def story(agent: Agent) -> None:
        (asked,) = (await agent.client.get_prompt("end_session")).messages
        assert "If you appended messages" in asked.content.text  # type: ignore[union-attr]
        for category, content in (
            ("handoffs", "The parser is done, its tests are next."),
            ("tasks", "Write the tests of the parser"),
            ("decisions", "We write the parser by hand."),
            ("lessons", "Learned: the grammar is ambiguous."),
        ):
            await agent("memory_note", action="add", category=category, content=content)
        talk.end()
        received = await agent("memory_context")
        for line in (
            "Last Session:\n> The parser is done, its tests are next.",
            "- We write the parser by hand.",
            "- Learned: the grammar is ambiguous.",
            "- [ ] Write the tests of the parser",
        ):
            assert line in received["text"]
        assert (await agent.read("recollect://context")) == received["text"]
        await agent("conversation", action="append", messages=[{"role": "user", "content": "Good morning."}])
        assert "Good morning." not in (await agent("memory_context"))["text"]

    run_story(server(home), story)


def test_a_participant_shares_the_scratchpad_and_nothing_else(home: Home) -> None:
    bobs = home.agent("bob").conversations.start(participants=["ana"])
    bobs.scratchpad["plan"] = "Bob's plan"

    async def story(agent: Agent) -> None:
        shared = {"conversation": bobs.ref_code, "owner": "bob"}
        assert (await agent("scratchpad", action="read", key="plan", **shared))["value"] == "Bob's plan"
        await agent("scratchpad", action="write", key="done", value=True, **shared)
        await agent.refused("conversation", action="get", conversation=bobs.ref_code)

    run_story(server(home), story)
    assert bobs.scratchpad["done"] is True
