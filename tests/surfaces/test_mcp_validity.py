"""What holds, what held and who said so, as a model asks it."""

from __future__ import annotations

from surfaces.mcp_client import Agent, run_story, server

from recollect import FixedClock, Home, Origin
from recollect.clock import milliseconds


def test_a_model_says_what_holds_what_held_and_who_said_so(home: Home, clock: FixedClock) -> None:
    async def story(agent: Agent) -> None:
        clock.set(milliseconds("2026-03-02"))
        await agent("memory_note", action="add", name="deploy day", content="Deploys: Tuesdays", origin="user")
        clock.set(milliseconds("2026-05-02"))
        done = await agent(
            "memory_note", action="supersede", target="deploy day", content="Deploys: Wednesdays", origin="user"
        )
        assert (done["note"]["name"], done["note"]["valid_from"]) == ("deploy day", "2026-05-02T00:00:00Z")
        clock.set(milliseconds("2026-06-02"))
        (now,) = (await agent("memory", action="recall", query="deploys"))["results"]
        assert now == {
            "id": done["note"]["id"],
            "name": "deploy day",
            "content": "Deploys: Wednesdays",
            "tags": [],
            "created_at": "2026-05-02T00:00:00Z",
            "origin": "user",
        }
        (then,) = (await agent("memory", action="recall", query="deploys", as_of="2026-04-02"))["results"]
        received = {name: then[name] for name in ("content", "origin", "since", "until")}
        assert received == {
            "content": "Deploys: Tuesdays",
            "origin": "user",
            "since": "2026-03-02T00:00:00Z",
            "until": "2026-05-02T00:00:00Z",
        }
        found = (await agent("memory", action="recall", query="deploys", include_past=True))["results"]
        assert [one["state"] for one in found] == ["current", "superseded"]
        assert len((await agent("memory_note", action="list"))["notes"]) == 1
        assert len((await agent("memory_note", action="list", include_past=True))["notes"]) == 2
        retracted = await agent("memory_note", action="retract", target="deploy day", why="we stopped")
        assert retracted["note"]["closed_at"] == "2026-06-02T00:00:00Z"
        assert (await agent("memory", action="recall", query="deploys"))["results"] == []
        await agent("memory_note", action="restore", target="deploy day")
        assert len((await agent("memory", action="recall", query="deploys"))["results"]) == 1

    run_story(server(home), story)


def test_a_model_cannot_replace_what_the_user_said_by_what_a_tool_said(home: Home) -> None:
    home.agent("ana").remember("Deploys: Tuesdays", name="deploy day", origin="user")

    async def story(agent: Agent) -> None:
        change = {"action": "supersede", "target": "deploy day", "content": "Deploys: never", "origin": "tool"}
        assert "cannot supersede" in await agent.refused("memory_note", **change)

    run_story(server(home), story)
    assert home.agent("ana").get("deploy day").content == "Deploys: Tuesdays"


def test_a_model_replaces_the_content_of_what_the_user_said_only_in_the_users_name(home: Home) -> None:
    home.agent("ana").remember("5432", name="port", origin="user")

    async def story(agent: Agent) -> None:
        change = {"op": "update", "key": "port", "content": "5433"}
        assert "cannot supersede" in await agent.refused("memory_upsert", **change)
        written = {"action": "write", "target": "port", "content": "5433"}
        assert "cannot supersede" in await agent.refused("memory_note", **written)
        await agent("memory_upsert", **change, origin="user")
        assert home.agent("ana").get("port").content == "5433"
        await agent("memory_note", **(written | {"content": "5434"}), origin="user")
        await agent("memory_upsert", op="insert", key="host", content="staging")
        await agent("memory_upsert", op="update", key="host", content="production")

    run_story(server(home), story)
    found = {entry.name: (entry.content, entry.origin) for entry in home.agent("ana").list()}
    assert found == {"port": ("5434", "user"), "host": ("production", "agent")}


def test_a_limited_model_resolves_no_pair_of_the_user_and_appends_no_turn_of_the_user(home: Home) -> None:
    mem = home.agent("ana")
    for day in ("Tuesdays", "Wednesdays"):
        mem.remember(f"We deploy on {day}", origin="user")
    home.jobs.run("review")
    (pair,) = mem.review.list()
    talk = mem.conversations.start()

    async def story(agent: Agent) -> None:
        resolve = {"action": "resolve", "target": pair.id}
        assert "cannot change it" in await agent.refused("memory_note", **resolve, resolution="newer")
        said = [{"role": "user", "content": "We deploy never"}]
        refused = await agent.refused("conversation", action="append", conversation=talk.ref_code, messages=said)
        assert "may not" in refused

    run_story(server(home, origin=Origin.TOOL), story)
    assert mem.review.list() == [pair]
    assert list(talk.events()) == []
