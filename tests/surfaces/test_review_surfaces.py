"""Review through the client, HTTP, the command line and MCP: the same pairs, and the same resolutions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from surfaces.command import Command
from surfaces.mcp_client import Agent, run_story
from surfaces.mcp_client import server as mcp_server
from surfaces.server import Server

import recollect
import recollect.aio
from recollect import Conflict, NotFound
from recollect.client import connect


def contradict(home: recollect.Home) -> str:
    """Two notes that contradict each other; return the id of their pair."""
    mem = home.agent("ana")
    mem.remember("We deploy on Tuesdays", at=1_000_000)
    mem.remember("We deploy on Wednesdays")
    home.jobs.run("review")
    return mem.review.list()[0].id


def test_the_client_lists_and_resolves_as_the_library_does(server: Server) -> None:
    pair_id = contradict(server.home)
    with connect(server.url) as home:
        mem = home.agent("ana")
        (pair,) = mem.review.list()
        assert pair == server.home.agent("ana").review.list()[0]
        assert home.agent("ben").review.list() == []
        with pytest.raises(NotFound):
            home.agent("ben").review.resolve(pair, "newer")
        mem.review.resolve(pair, "both")
        assert mem.review.reopen(pair) == pair
        done = mem.review.resolve(pair, "merge", content="We deploy twice a week", why="both")
        assert (done.id, done.resolution) == (pair_id, "merge")
        with pytest.raises(Conflict, match="already"):
            mem.review.resolve(pair_id, "newer")
        assert mem.review.list() == []
        assert mem.review.list(include_resolved=True) == [done]


def test_a_route_lists_pairs_and_resolves_one(server: Server) -> None:
    pair_id = contradict(server.home)
    listed = server.client.get("/v1/review", params={"agent": "ana"}).json()
    (pair,) = listed["items"]
    assert (pair["id"], pair["kind"], pair["older"]["content"]) == (pair_id, "contradicts", "We deploy on Tuesdays")
    wrong = server.client.post(f"/v1/review/{pair_id}", params={"agent": "ana"}, json={"resolution": "latest"})
    assert wrong.status_code == 422
    done = server.client.post(f"/v1/review/{pair_id}", params={"agent": "ana"}, json={"resolution": "newer"})
    assert done.json()["older"]["superseded_by"] == pair["newer"]["id"]
    missing = server.client.post("/v1/review/none", params={"agent": "ana"}, json={"resolution": "newer"})
    assert missing.status_code == 404


def test_the_command_lists_and_resolves(cli: Command) -> None:
    with recollect.open(cli.folder / "memory.db") as home:
        pair_id = contradict(home)
    options = ("--home", "memory.db", "--agent", "ana")
    shown = cli(*options, "review")
    assert shown.lines[0] == f"{pair_id}  contradicts: the weekday changed from Tuesdays to Wednesdays"
    assert [line.split("  ")[1] for line in shown.lines[1:]] == ["newer", "older"]
    assert cli(*options, "--json", "review").json[0]["id"] == pair_id
    done = cli(*options, "review", "resolve", pair_id, "newer", "--why", "asked")
    assert done.lines == [f"resolved {pair_id}: newer"]
    assert "no pair" in cli(*options, "review").err
    assert cli(*options, "review", "list", "--all").lines[0].endswith("resolved: newer")


def test_an_agent_lists_pairs_and_resolves_one_after_asking(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        pair_id = contradict(home)

        async def story(agent: Agent) -> None:
            (pair,) = (await agent("memory_note", action="review"))["pairs"]
            assert (pair["id"], pair["newer"]) == (pair_id, "We deploy on Wednesdays")
            assert (await agent("memory_note", action="resolve", target=pair_id, resolution="newer"))["ok"]
            again = await agent.refused("memory_note", action="resolve", target=pair_id, resolution="newer")
            assert "already been resolved as 'newer'" in again

        run_story(mcp_server(home), story)
        assert home.agent("ana").review.list() == []


def test_the_awaitable_review_does_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        home = await recollect.aio.open(tmp_path / "memory.db")
        mem = await home.agent("ana")
        await mem.remember("We deploy on Tuesdays")
        await mem.remember("We deploy on Wednesdays")
        await home.jobs.run("review")
        (pair,) = await mem.review.list()
        assert (await mem.review.resolve(pair, "both")).resolution == "both"
        await home.close()

    asyncio.run(story())
