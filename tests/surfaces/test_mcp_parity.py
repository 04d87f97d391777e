"""Every method of the library has an MCP tool or a reason to have none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import members
from surfaces.mcp_client import Agent, run_story, server

import recollect
from recollect.channels import Channels
from recollect.conversation import Conversation
from recollect.conversations import Conversations
from recollect.home import Home
from recollect.memory import Memory
from recollect.reminders import Reminders


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with recollect.open(tmp_path / "home") as opened:
        yield opened


REACHED: dict[str, str] = {
    "Memory.remember": "memory remember",
    "Memory.recall": "memory recall",
    "Memory.forget": "memory forget, memory_note remove",
    "Memory.apply": "memory_note write, memory_note rename, memory_note alias",
    "Memory.get": "memory_read note",
    "Memory.list": "memory_read notes",
    "Memory.history": "memory_read history",
    "Memory.restore": "memory_note restore",
    "Memory.supersede": "memory_note supersede",
    "Memory.retract": "memory_note retract",
    "Memory.trash": "memory_read trash",
    "Memory.links": "memory_read links",
    "Memory.upsert": "memory_upsert",
    "Memory.query": "memory_query",
    "Memory.context": "memory_context",
    "Memory.recover": "memory_context",
    "Conversations.start": "conversation start",
    "Conversations.get": "memory_read conversation",
    "Conversations.list": "memory_read conversations",
    "Conversations.search": "memory_query",
    "Conversations.detail": "memory_query",
    "Conversations.scratchpad": "memory_read scratchpad",
    "Conversation.extend": "conversation append",
    "Conversation.append": "conversation append",
    "Conversation.user": "conversation append",
    "Conversation.assistant": "conversation append",
    "Conversation.events": "memory_read conversation",
    "Conversation.event": "memory_query",
    "Conversation.find": "memory_query",
    "Conversation.compact": "memory_compact",
    "Conversation.idle": "conversation idle",
    "Conversation.archive": "conversation archive",
    "Conversation.end": "conversation end",
    "Reminders.add": "forge_reminder add",
    "Reminders.list": "memory_read reminders",
    "Reminders.due": "memory_read due_reminders",
    "Reminders.deliver": "forge_reminder done",
    "Reminders.cancel": "forge_reminder cancel",
}
LEFT_OUT: dict[str, str] = {
    "Memory.orient": "the prompt `orient`",
    "Memory.project": "memory_context begins with it",
    "Memory.set_project": "people say what their project is about",
    "Memory.remember_many": "for imports",
    "Memory.changes": "the feed of programs",
    "Memory.last_change": "the feed of programs",
    "Memory.accesses": "a picture for people",
    "Memory.changed_since": "a picture for people",
    "Memory.overview": "a picture for people",
    "Memory.timeline": "a picture for people",
    "Memory.graph": "a picture for people",
    "Memory.provenance": "a trail for people; the origin of a hit is in the hit",
    "Memory.empty_trash": "people empty the trash",
    "Memory.numbers": "the ids of a page",
    "Memory.profiles": "named in the settings, and in the error about one that is not there",
    "Channels.create": "people decide on channels",
    "Channels.list": "people decide on channels",
    "Conversations.erase": "people decide on what cannot be undone",
    "Conversation.erase": "people decide on what cannot be undone",
    "Conversations.end_stale": "happens by itself when a conversation starts",
    "Conversations.journal": "the feed of programs",
    "Conversations.last_event": "the feed of programs",
    "Conversations.payloads": "for the adapters of frameworks",
    "Conversations.payload_rows": "for the adapters of frameworks",
    "Conversations.last_saved": "for pages that hold a talk themselves",
    "Conversation.save": "for pages that hold a talk themselves",
    "Conversation.load": "for pages that hold a talk themselves",
    "Conversation.tool": "the host keeps the calls of its tools",
    "Conversation.instruct": "the host instructs, a model does not",
    "Conversation.job": "the host starts jobs",
    "Conversation.window": "the host makes the prompt",
    "Conversation.messages": "the host makes the prompt",
    "Conversation.replay": "the host makes the prompt",
    "Conversation.summary": "the host makes the prompt",
    "Conversation.apply_delta": "the host makes the prompt",
    "Conversation.checkpoint": "happens by itself",
    "Reminders.claim": "for those who deliver",
    "Reminders.release": "for those who deliver",
}


def test_every_method_of_the_library_is_reached_by_a_tool_or_left_out_for_a_reason(home: Home) -> None:
    facade = {
        f"{kind.__name__}.{name}"
        for kind in (Memory, Channels, Conversations, Conversation, Reminders)
        for name, value in members(kind).items()
        if callable(value)
    }
    assert facade - REACHED.keys() - LEFT_OUT.keys() == set()
    assert REACHED.keys() & LEFT_OUT.keys() == set()

    async def story(agent: Agent) -> None:
        tools = {tool.name: tool.input_schema["properties"] for tool in (await agent.client.list_tools()).tools}
        for way in ", ".join(REACHED.values()).split(", "):
            name, _, action = way.partition(" ")
            assert not action or action in tools[name].get("action", tools[name].get("what"))["enum"], way

    run_story(server(home), story)
