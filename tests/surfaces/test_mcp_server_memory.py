"""`recollect mcp --compat server-memory`: the tools of the reference MCP memory server, over its file and a home."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.types import CallToolResult
from surfaces.command import Command, environment
from surfaces.mcp_client import Agent, run_story

import recollect
from recollect.compat.graph_file import GraphFile
from recollect.compat.server_memory import build_graph_server
from recollect.home import Home

TOOLS = [
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "read_graph",
    "search_nodes",
    "open_nodes",
]
ANA = {"name": "Ana", "entityType": "person", "observations": ["The user deploys on Tuesdays."]}
ACME = {"name": "Acme", "entityType": "company", "observations": []}
WORKS = {"from": "Ana", "to": "Acme", "relationType": "works at"}


def serve(home: Home, path: Path, agent: str = "ana") -> Any:
    return build_graph_server(GraphFile(path, home, "default", agent))


async def call(agent: Agent, tool: str, **arguments: Any) -> Any:
    """The structured result of a tool; an error fails the test."""
    done = await agent.client.call_tool(tool, arguments)
    assert isinstance(done, CallToolResult)
    assert not done.is_error, done.content
    return done.structured_content


def test_the_program_offers_the_nine_tools_and_writes_the_file(tmp_path: Path) -> None:
    async def story(agent: Agent) -> None:
        listed = (await agent.client.list_tools()).tools
        assert [one.name for one in listed] == TOOLS
        assert await call(agent, "create_entities", entities=[ANA, ACME]) == {"entities": [ANA, ACME]}
        assert await call(agent, "create_relations", relations=[WORKS]) == {"relations": [WORKS]}
        assert json.loads(await agent.text("create_entities", entities=[ANA])) == []
        assert await call(agent, "read_graph") == {"entities": [ANA, ACME], "relations": [WORKS]}
        assert json.loads(await agent.read("memory://knowledge-graph"))["relations"] == [WORKS]

    arguments = ["-m", "recollect", "mcp", "--compat", "server-memory", "--home", "team.db", "--agent", "ana"]
    path = tmp_path / "memory.jsonl"
    given = environment(MEMORY_FILE_PATH=str(path))
    run_story(StdioServerParameters(command=sys.executable, args=arguments, env=given, cwd=tmp_path), story)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"type": "entity", **ANA},
        {"type": "entity", **ACME},
        {"type": "relation", **WORKS},
    ]
    with recollect.open(tmp_path / "team.db") as home:
        assert home.agent("ana").get("Ana").content == "The user deploys on Tuesdays.\nworks at [[Acme]]"


def test_recall_context_and_links_find_what_the_tools_store(home: Home, tmp_path: Path) -> None:
    async def story(agent: Agent) -> None:
        await call(agent, "create_entities", entities=[ANA, ACME])
        await call(agent, "create_relations", relations=[WORKS])
        mem = home.agent("ana")
        assert mem.recall("when does the user deploy?")[0].entry.name == "Ana"
        assert "Tuesdays" in mem.context("when does the user deploy?").text
        assert "Acme" in str(mem.links("Ana"))
        added = [{"entityName": "Ana", "contents": ["Likes tea."]}]
        assert (await call(agent, "add_observations", observations=added))["results"] == [
            {"entityName": "Ana", "addedObservations": ["Likes tea."]}
        ]
        assert mem.get("Ana").content == "The user deploys on Tuesdays.\nLikes tea.\nworks at [[Acme]]"
        await call(agent, "delete_entities", entityNames=["Acme"])
        assert mem.get("Ana").content == "The user deploys on Tuesdays.\nLikes tea."
        assert [one.entry.name for one in mem.trash()] == ["Acme"]
        await call(agent, "create_entities", entities=[ACME])
        assert mem.get("Acme").content == "Acme (company)"

    run_story(serve(home, tmp_path / "memory.jsonl"), story)


def test_a_file_of_the_other_server_is_read_at_the_start(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text(json.dumps({"type": "relation", **WORKS}) + "\n" + json.dumps({"type": "entity", **ANA}))

    async def story(agent: Agent) -> None:
        assert (await call(agent, "search_nodes", query="TUESDAYS"))["entities"] == [ANA]
        assert (await call(agent, "open_nodes", names=["Ana"]))["relations"] == [WORKS]

    run_story(serve(home, path), story)
    assert home.agent("ana").get("Ana").source == "mcp-memory"
    assert home.agent("ben").list() == []
    home.agent("ana").forget("Ana")
    run_story(serve(home, path), story)
    assert home.agent("ana").list() == []


def test_what_the_file_has_beyond_the_graph_stays_in_it(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    rows = [{"type": "entity", **ANA, "since": 2024}, {"type": "comment", "text": "by hand"}]
    path.write_text("\n".join(map(json.dumps, rows)))

    async def story(agent: Agent) -> None:
        await call(agent, "add_observations", observations=[{"entityName": "Ana", "contents": ["new"]}])
        assert (await call(agent, "read_graph"))["entities"][0].keys() == ANA.keys()

    run_story(serve(home, path), story)
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert written[0]["since"] == 2024
    assert rows[1] in written


def test_a_damaged_file_is_an_error_and_is_not_changed(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text('{"type": "entity", "name"')

    async def story(agent: Agent) -> None:
        assert "line 1" in await agent.refused("read_graph")
        assert "line 1" in await agent.refused("create_entities", entities=[ANA])
        assert "entityType" in await agent.refused("create_entities", entities=[{"name": "Ana"}])

    run_story(serve(home, path), story)
    assert path.read_text() == '{"type": "entity", "name"'


@pytest.mark.parametrize("name", ["x" * 10_000, "../../etc/passwd", "a\nb", " ", "\0"])
def test_any_name_is_an_entity_even_if_it_cannot_be_one_of_a_note(home: Home, tmp_path: Path, name: str) -> None:
    odd = {"name": name, "entityType": "", "observations": ["text"]}

    async def story(agent: Agent) -> None:
        await call(agent, "create_entities", entities=[odd])
        assert (await call(agent, "open_nodes", names=[name]))["entities"] == [odd]
        missing = [{"entityName": "Nobody", "contents": ["x"]}]
        assert "Entity with name Nobody not found" in await agent.refused("add_observations", observations=missing)

    run_story(serve(home, tmp_path / "memory.jsonl"), story)
    assert {path.name for path in tmp_path.iterdir()} >= {"memory.jsonl"}


def test_a_note_of_the_same_name_that_is_not_of_the_graph_stays_as_it_is(home: Home, tmp_path: Path) -> None:
    mem = home.agent("ana")
    mem.remember("my own words", name="Ana")

    async def story(agent: Agent) -> None:
        await call(agent, "create_entities", entities=[ANA])
        await call(agent, "delete_entities", entityNames=["Ana"])

    run_story(serve(home, tmp_path / "memory.jsonl"), story)
    assert mem.get("Ana").content == "my own words"


ADDS = """
import sys
from pathlib import Path
import recollect
from recollect.compat.graph_file import GraphFile
with recollect.open(sys.argv[1]) as home:
    graph = GraphFile(Path(sys.argv[2]), home, "default", "ana")
    for number in range(20):
        graph.create_entities([{"name": f"{sys.argv[3]} {number}", "entityType": "test", "observations": []}])
"""


def test_two_processes_on_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    started = [
        subprocess.Popen([sys.executable, "-c", ADDS, str(tmp_path / "team.db"), str(path), name], env=environment())
        for name in ("one", "two")
    ]
    assert [process.wait() for process in started] == [0, 0]
    assert {json.loads(line)["name"] for line in path.read_text().splitlines()} == {
        f"{name} {number}" for name in ("one", "two") for number in range(20)
    }
    with recollect.open(tmp_path / "team.db") as home:
        assert len(home.agent("ana").list(limit=100)) == 40


def test_the_program_of_the_page_remembers_and_the_second_run_recalls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "suites"))
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.setenv("RECOLLECT_EMBEDDER_KIND", "none")
    from page_program import run_twice

    first, second = run_twice("server-memory.md", tmp_path)
    assert first == ["entities before: 0", "Staging listens on port 8080."]
    assert second == ["entities before: 1", "Staging listens on port 8080."]


def test_without_a_file_the_program_says_what_to_set(cli: Command) -> None:
    ended = cli("mcp", "--compat", "server-memory", code=8)
    assert "MEMORY_FILE_PATH" in ended.err
