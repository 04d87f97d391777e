"""The memory tools of the MCP server: schemas, notes, knowledge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from surfaces.mcp_client import MODES, TOOLS, Agent, run_story, server

import recollect
from recollect import FixedClock
from recollect.home import Home
from recollect.providers.local import LocalEmbedder


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with recollect.open(tmp_path / "home") as opened:
        yield opened


def test_what_a_model_remembers_is_there_after_400_days_of_upkeep(tmp_path: Path) -> None:
    said = [
        "We deploy on Fridays",
        "We do not deploy on Fridays",
        "The port is 8080",
        "The port is 8081",
        "Ana reports to Ben",
        "Ben reports to Ana",
        "The migration succeeded",
        "The migration failed",
    ]
    clock = FixedClock()
    with recollect.open(tmp_path / "home", clock=clock, embedder=LocalEmbedder()) as home:

        async def story(agent: Agent) -> None:
            for place, text in enumerate(said):
                if place % 2:
                    await agent("memory_note", action="add", content=text, category="decisions")
                else:
                    await agent("memory", action="remember", content=text)

        run_story(server(home), story)
        assert {entry.lifetime for entry in home.agent("ana").list()} == {"long_term"}
        for _ in range(20):
            clock.advance(20 * 86_400_000)
            home.jobs.run_due()
        assert {entry.content for entry in home.agent("ana").list()} == set(said)


def test_the_tools_have_names_titles_descriptions_and_strict_schemas(home: Home) -> None:
    async def story(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert set(tools) == TOOLS
        for tool in tools.values():
            assert tool.title
            assert tool.description
            assert len(tool.description) > 150
            assert "Example" in tool.description
            for schema in (tool.input_schema, tool.output_schema):
                assert schema is not None
                jsonschema.Draft202012Validator.check_schema(schema)
                assert schema["type"] == "object"
                assert schema["additionalProperties"] is False
            for name, argument in tool.input_schema["properties"].items():
                assert argument.get("description"), f"{tool.name}.{name} says nothing"
                assert "anyOf" not in argument, f"{tool.name}.{name} is of several types"
            assert not {"agent", "agent_id", "user"} & set(tool.input_schema["properties"])
            assert "score" not in json.dumps(tool.output_schema)
            assert tool.annotations is not None
            hints = tool.annotations.model_dump(exclude={"title"})
            assert all(isinstance(hint, bool) for hint in hints.values())
            assert hints["open_world_hint"] is False
            schemas = json.dumps([tool.input_schema, tool.output_schema])
            assert ": {}" not in schemas, f"a schema of {tool.name} is empty"
        destroying = {name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint}
        assert "conversation" in destroying  # `end` clears the entries of its scope
        reading = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        assert reading == {"memory_query", "memory_context", "memory_history"}

    run_story(server(home), story)


def test_the_example_in_each_description_works(home: Home) -> None:
    async def story(agent: Agent) -> None:
        for tool in (await agent.client.list_tools()).tools:
            examples = tool.description[tool.description.index("Example") :]  # type: ignore[index, union-attr]
            while "{" in examples:
                arguments, end = json.JSONDecoder().raw_decode(examples[examples.index("{") :])
                examples = examples[examples.index("{") + end :]
                jsonschema.validate(arguments, tool.input_schema)
                if tool.name != "forge_memory_checkpoint":  # needs git, see below
                    await agent(tool.name, **arguments)

    run_story(server(home), story)


@pytest.mark.parametrize("mode", MODES)
def test_the_memory_tool_has_exactly_the_shapes_it_promises(home: Home, mode: str) -> None:
    async def story(agent: Agent) -> None:
        assert agent.client.protocol_version == MODES[mode]
        made = await agent(
            "memory", action="remember", content="We deploy on Tuesdays", tags=["ops"], context="said so"
        )
        assert made == {"ok": True, "id": made["id"]}
        found = await agent("memory", action="recall", query="when do we deploy?")
        assert found == {
            "ok": True,
            "results": [{"id": made["id"], "content": "We deploy on Tuesdays", "tags": ["ops"]}],
        }
        assert await agent("memory", action="recall", query="deploy", limit=1, mode="keyword") == found
        assert await agent("memory", action="forget", id=made["id"]) == {"ok": True}
        assert await agent("memory", action="forget", id=made["id"]) == {"ok": False}
        assert await agent("memory", action="recall", query="deploy") == {"ok": True, "results": []}

    run_story(server(home), story, mode)


def test_text_that_looks_like_json_stays_text_and_a_list_may_come_as_text(home: Home) -> None:
    async def story(agent: Agent) -> None:
        for content in ('{"port": 8080}', "null", "[1, 2]", "true", "5"):
            made = await agent("memory", action="remember", content=content, tags='["a", "b"]')
            shown = (await agent("memory_note", action="show", target=made["id"]))["note"]
            assert (shown["content"], shown["tags"]) == (content, ["a", "b"])
            await agent("scratchpad", action="write", key="raw", value=content)
            assert (await agent("scratchpad", action="read", key="raw"))["value"] == content

    run_story(server(home), story)


def test_notes_are_worked_on_by_name(location: str) -> None:
    with recollect.open(location) as home:

        async def story(agent: Agent) -> None:
            added = await agent(
                "memory_note",
                action="add",
                name="use SQLite",
                content="We chose SQLite, see [[one file]].",
                category="decisions",
                tags=["db"],
                importance=0.9,
                context="asked by the team",
            )
            note = added["note"]
            assert note["name"] == "use SQLite"
            assert note["category"] == "decisions"
            assert note["lifetime"] == "long_term"
            await agent("memory_note", action="write", target="use SQLite", content="We chose SQLite for [[speed]].")
            await agent("memory_note", action="rename", target="use SQLite", name="database")
            await agent("memory_note", action="alias", target="database", name="the db")
            await agent("memory_note", action="add", name="speed", content="Fast enough.")
            shown = (await agent("memory_note", action="show", target="the db"))["note"]
            assert shown["content"] == "We chose SQLite for [[speed]]."
            assert set(shown["aliases"]) == {"use SQLite", "the db"}
            links = await agent("memory_note", action="links", target="database")
            assert (links["links_to"], links["broken_links"]) == (["speed"], [])
            assert (await agent("memory_note", action="links", target="speed"))["linked_from"] == ["database"]
            done = [
                one["operation"] for one in (await agent("memory_note", action="history", target="database"))["history"]
            ]
            assert done == ["add", "write", "rename", "alias"]
            listed = await agent("memory_note", action="list", category="decisions")
            assert [one["name"] for one in listed["notes"]] == ["database"]
            await agent("memory_note", action="remove", target="database")
            assert (await agent("memory_note", action="list", category="decisions"))["notes"] == []
            assert [one["name"] for one in (await agent("memory_note", action="trash"))["notes"]] == ["database"]
            assert (await agent("memory_note", action="restore", target="database", name="db"))["note"]["name"] == "db"

        run_story(server(home), story)


def test_knowledge_has_one_value_for_each_key(home: Home) -> None:
    async def story(agent: Agent) -> None:
        first = await agent("memory_upsert", op="insert", key="port", content="The port is 5432")
        assert first == {"ok": True, "id": first["id"], "created": True}
        assert (await agent("memory_upsert", op="insert", key="port", content="The port is 5433"))["created"] is False
        assert (await agent("memory_upsert", op="update", key="port", content="The port is 5434"))["id"] == first["id"]
        found = await agent("memory_query", query="port")
        assert [(hit["key"], hit["content"], hit["source_agent"]) for hit in found["results"]] == [
            ("port", "The port is 5434", "ana")
        ]
        assert "nothing is remembered" in await agent.refused("memory_upsert", op="update", key="host", content="x")
        assert (await agent("memory_upsert", op="delete", key="port"))["id"] == first["id"]
        assert (await agent("memory_query", query="port"))["results"] == []

    run_story(server(home), story)


def test_what_is_not_found_is_looked_for_where_it_would_be(home: Home) -> None:
    async def story(agent: Agent) -> None:
        await agent("scratchpad", action="write", key="a", value=1)
        for tool, arguments, place in [
            ("scratchpad", {"action": "read", "key": "b"}, "Its action `list` shows the keys"),
            ("conversation", {"action": "get", "conversation": "nowhere-1"}, "`conversation` (action `list`)"),
            ("memory_compact", {"conversation": "nowhere-1"}, "`conversation` (action `list`)"),
            ("forge_reminder", {"action": "done", "id": "01900000-0000-7000-8000-000000000000"}, "the reminders"),
        ]:
            message = await agent.refused(tool, **arguments)
            assert place in message
            assert "recall" not in message
            assert "()" not in message
        assert "`recall`" in await agent.refused("memory_note", action="show", target="nothing")

    run_story(server(home), story)


def test_a_long_list_of_notes_is_read_page_by_page(home: Home) -> None:
    mem = home.agent("ana")
    made = [mem.remember(f"note {number}") for number in range(5)]

    async def story(agent: Agent) -> None:
        first = (await agent("memory_note", action="list", limit=3))["notes"]
        rest = (await agent("memory_note", action="list", limit=3, before=first[-1]["id"]))["notes"]
        assert [one["id"] for one in (*first, *rest)] == [entry.id for entry in reversed(made)]
        assert "is remembered under 'nosuch'" in await agent.refused("memory_note", action="list", before="nosuch")

    run_story(server(home), story)
