"""One memory behind all surfaces: what one writes the others see, and a token decides what MCP may do."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from surfaces.command import Command
from surfaces.server import client, serving, settings

import recollect
from recollect.client import connect


def over_mcp(url: str, tool: str, *, mode: str = "2026-07-28", secret: str | None = None, **arguments: Any) -> Any:
    """What a tool answers to an agent that comes over HTTP."""

    async def ask() -> Any:
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, verify=False, timeout=30) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
        ):
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_cli_rest_mcp_client_and_library_see_the_same_memory(cli: Command, mode: str) -> None:
    location = cli.folder / ".recollect"
    cli("remember", "The colour of the gate is blue", "--name", "by cli")
    with recollect.open(location) as home, serving(home) as server, connect(server.url) as remote:
        over_mcp(server.url, "memory", mode=mode, action="remember", content="The colour of the door is red")
        server.client.post("/v1/entries", json={"content": "The colour of the roof is green", "name": "by rest"})
        remote.agent("default").remember("The colour of the wall is white", name="by client")
        home.agent("default").remember("The colour of the fence is brown", name="by library")
        wanted = {
            f"The colour of the {what}"
            for what in ("gate is blue", "door is red", "roof is green", "wall is white", "fence is brown")
        }
        received = over_mcp(server.url, "memory", mode=mode, action="recall", query="which colour?", limit=10)
        assert {one["content"] for one in received.structured_content["results"]} == wanted
        assert {one.entry.content for one in remote.agent("default").recall("which colour?", limit=10)} == wanted
        found = server.client.get("/v1/recall", params={"q": "which colour?", "limit": 10}).json()
        assert {one["entry"]["content"] for one in found} == wanted
    assert {one["entry"]["content"] for one in cli("recall", "which colour?", "--limit", "10", "--json").json} == wanted


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_durations_of_tools_that_agents_call_are_told_apart(tmp_path: Path, mode: str) -> None:
    with recollect.open(tmp_path / "m.db") as home, serving(home) as server:
        over_mcp(server.url, "memory", mode=mode, action="recall", query="a secret")
        over_mcp(server.url, "memory", mode=mode, action="a secret")
        over_mcp(server.url, "memory_context", mode=mode, command="a secret")
        text = server.client.get("/metrics").text
    counted = re.findall(r'^recollect_request_seconds_count\{route="/mcp (.*)"\} (.*)$', text, re.MULTILINE)
    assert sorted(counted) == [("memory recall", "1.0"), ("memory_context", "1.0")]
    assert "secret" not in text


def test_a_token_decides_whose_memory_the_tools_are_about_and_what_they_may_do(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "m.db") as home:
        home.agent("ana").remember("Ana's secret is a cat")
        _, writer = home.tokens.create("bob writes", agents=["bob"])
        _, reader = home.tokens.create("ana reads", agents=["ana"], right="read")
        with serving(home, settings(require_token=True)) as server:
            over_mcp(server.url, "memory", secret=writer, action="remember", content="Bob has a dog")
            assert [one.content for one in home.agent("bob").list()] == ["Bob has a dog"]
            received = over_mcp(server.url, "memory", secret=writer, action="recall", query="cat dog secret")
            assert [one["content"] for one in received.structured_content["results"]] == ["Bob has a dog"]
            received = over_mcp(server.url, "memory", secret=reader, action="recall", query="cat dog secret")
            assert [one["content"] for one in received.structured_content["results"]] == ["Ana's secret is a cat"]
            assert over_mcp(server.url, "memory", secret=reader, action="remember", content="no").is_error
            other = over_mcp(
                server.url, "memory_query", secret=writer, store="knowledge", query="cat", target_agent="ana"
            )
            assert other.is_error
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            accepted = {"Accept": "application/json, text/event-stream"}
            assert server.client.post("/mcp", json=body, headers=accepted).status_code == 401
            wrong = {**accepted, "Authorization": f"Bearer {reader}"}
            assert server.client.post("/mcp", params={"agent": "bob"}, json=body, headers=wrong).status_code == 403
        assert [one.content for one in home.agent("ana").list()] == ["Ana's secret is a cat"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
def test_a_server_that_is_stopped_ends_the_streams_of_its_agents_silently(cli: Command) -> None:
    with cli.start("--json", "serve", "--port", "0", "--no-upkeep") as process:
        assert process.stdout is not None
        received = b""
        while not received.endswith(b"}\n"):
            received += process.stdout.readline()
        with client(json.loads(received)["url"]) as http:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            begun = http.post(
                "/mcp",
                json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
                headers={"Accept": "application/json, text/event-stream"},
            )
            session = {"Accept": "text/event-stream", "mcp-session-id": begun.headers["mcp-session-id"]}
            with http.stream("GET", "/mcp", headers=session) as stream:
                assert stream.status_code == 200
                process.send_signal(signal.SIGTERM)
                assert b"".join(stream.iter_bytes()) == b""  # it ends as an answer should, else this raises
        _, log = process.communicate()
    assert process.returncode == 0
    assert [line.split()[1:5] for line in log.decode().splitlines()] == [
        ["info", "POST", "'/mcp'", "200"],
        ["info", "GET", "'/mcp'", "200"],
    ]
