"""The MCP server over HTTP, in both revisions of the protocol."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from surfaces.command import environment
from surfaces.mcp_client import HELLO, MODES, TOOLS, Agent, Story, run_story, server

import recollect
from recollect.errors import ConfigError, Corrupt, RecollectError, Unavailable
from recollect.home import Home
from recollect.mcp.endpoint import McpEndpoint
from recollect.mcp.request_context import MemoryAccess
from recollect.memory import Memory


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with recollect.open(tmp_path / "home") as opened:
        yield opened


@contextmanager
def answering(home: Home, *, tokens: bool = True, sessions: bool = True) -> Iterator[str]:
    """The server over HTTP, within another application, where a token is the name of the agent."""

    async def who(request: Request) -> MemoryAccess:
        scheme, _, name = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer":
            raise HTTPException(401, "a token is needed", {"WWW-Authenticate": "Bearer"})
        if tokens:
            request.state.caller = name
        return MemoryAccess(home=home, workspace="default", agent=name)

    endpoint = McpEndpoint(who, sessions=sessions)
    host = FastAPI(lifespan=lambda host: endpoint.running())
    host.router.routes.append(Route("/mcp", endpoint=endpoint))
    ready = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready.set()

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = Server(uvicorn.Config(host, log_level="error", lifespan="on"))
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        assert ready.wait(30)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            running.should_exit = True
            thread.join()


def by_http(url: str, agent: str, mode: str, story: Story) -> None:
    async def live() -> None:
        headers = {"Authorization": f"Bearer {agent}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, verify=False, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            await story(Agent(client))

    asyncio.run(live())


@pytest.mark.parametrize("mode", MODES)
def test_over_http_the_token_says_who_it_is(home: Home, mode: str) -> None:
    with answering(home) as url:

        async def ana(agent: Agent) -> None:
            assert agent.client.protocol_version == MODES[mode]
            await agent("memory_note", action="add", name="secret", content="Ana's secret")
            assert await agent.read("recollect://entry/secret") == "Ana's secret"
            assert "Ana's secret" in await agent.read("recollect://entries")

        async def bob(agent: Agent) -> None:
            assert (await agent("memory", action="recall", query="secret"))["results"] == []
            assert "Ana's secret" not in await agent.read("recollect://entries")
            assert "nothing is remembered" in await agent.refused("memory_note", action="show", target="secret")

        by_http(url, "ana", mode, ana)
        by_http(url, "bob", mode, bob)


def test_over_http_a_session_of_the_old_revision_has_a_conversation_and_the_new_one_names_it(home: Home) -> None:
    with answering(home) as url:
        refs: list[str] = []

        async def old(agent: Agent) -> None:
            refs.append((await agent("scratchpad", action="write", key="a", value=1))["conversation"])
            assert (await agent("scratchpad", action="list"))["conversation"] == refs[-1]

        async def new(agent: Agent) -> None:
            assert "which conversation" in await agent.refused("scratchpad", action="list")
            assert (await agent("scratchpad", action="list", conversation=refs[0]))["values"] == {"a": 1}

        by_http(url, "ana", "legacy", old)
        by_http(url, "ana", "legacy", old)
        by_http(url, "ana", "2026-07-28", new)
        assert len(set(refs)) == 2


@pytest.mark.parametrize("sessions", [True, False])
def test_over_http_without_sessions_nothing_is_offered_that_needs_one(home: Home, sessions: bool) -> None:
    with answering(home, sessions=sessions) as url, httpx2.Client(trust_env=False, timeout=60) as http:
        headers = {"Authorization": "Bearer ana", "Accept": "application/json, text/event-stream"}
        hello = http.post(
            url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}, headers=headers
        )
        offered = hello.json()["result"]["capabilities"]
        assert ("logging" in offered, offered["resources"].get("subscribe", False)) == (sessions, sessions)
        headers |= {"MCP-Protocol-Version": "2025-11-25"}
        if sessions:
            headers |= {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
        params = {"uri": "recollect://entries"}
        body = {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": params}
        answer = http.post(url, json=body, headers=headers).json()
        assert answer.get("error", {}).get("code") == (None if sessions else -32601)
        tools = http.post(url, json={"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, headers=headers).json()
        assert {tool["name"] for tool in tools["result"]["tools"]} == TOOLS
        with http.stream("GET", url, headers=headers) as stream:
            assert stream.status_code == (200 if sessions else 405)


def test_http_requests_without_a_token_or_under_another_name_are_refused(home: Home) -> None:
    with answering(home) as url, httpx2.Client(trust_env=False, timeout=60) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accepted = {"Accept": "application/json, text/event-stream"}
        refused = http.post(url, json=body, headers=accepted)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        ana = {**accepted, "Authorization": "Bearer ana"}
        assert http.post(url, json=body, headers={**ana, "Host": "evil.example.com"}).status_code == 421
        assert http.post(url, json=body, headers={**ana, "Origin": "http://evil.example.com"}).status_code == 403


def test_the_session_of_another_agent_opens_nothing(home: Home) -> None:
    with answering(home) as url, httpx2.Client(trust_env=False, timeout=60) as http:

        def post(agent: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
            own = {"Authorization": f"Bearer {agent}", "Accept": "application/json, text/event-stream"}
            return http.post(url, json={"jsonrpc": "2.0", **body}, headers={**own, **headers})

        begun = post("ana", {"id": 1, "method": "initialize", "params": HELLO})
        session = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        post("ana", {"method": "notifications/initialized"}, **session)

        def call(agent: str, **arguments: Any) -> httpx2.Response:
            params = {"name": "scratchpad", "arguments": arguments}
            return post(agent, {"id": 2, "method": "tools/call", "params": params}, **session)

        written = call("ana", action="write", key="a", value="Ana's").json()["result"]["structuredContent"]
        listen = {"Authorization": "Bearer bob", "Accept": "text/event-stream", **session}
        assert call("bob", action="list").status_code == 404
        assert http.get(url, headers=listen).status_code == 404
        assert http.delete(url, headers=listen).status_code == 404
        read = call("ana", action="list").json()["result"]["structuredContent"]
        assert (read["conversation"], read["values"]) == (written["conversation"], {"a": "Ana's"})


def test_one_token_gets_a_share_of_the_sessions_and_leaves_the_others_to_others(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.mcp.server.SHARE", 2)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    with answering(home) as url, httpx2.Client(trust_env=False, timeout=60) as http:

        def post(agent: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
            own = {"Authorization": f"Bearer {agent}", "Accept": "application/json, text/event-stream"}
            return http.post(url, json=body, headers={**own, **headers})

        sessions = [{"mcp-session-id": post("ana", hello).headers["mcp-session-id"]} for _ in range(2)]
        refused = post("ana", hello)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "60"
        assert refused.json()["error"]["message"] == (
            "too many open sessions for the token 'ana' (limit 2); end one, or retry later"
        )
        assert [post("ana", ping, **session).status_code for session in sessions] == [200, 200]
        assert post("bob", hello).status_code == 200
        http.delete(url, headers={"Authorization": "Bearer ana", **sessions[0]})
        assert [post("ana", hello).status_code for _ in range(2)] == [200, 429]
        by_http(url, "ana", "2026-07-28", no_trouble)  # which has no sessions


async def no_trouble(agent: Agent) -> None:
    assert (await agent("memory", action="recall", query="x"))["results"] == []


def test_without_tokens_an_address_has_the_share(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.mcp.server.SHARE", 1)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    with answering(home, tokens=False) as url, httpx2.Client(trust_env=False, timeout=60) as http:
        headers = {"Authorization": "Bearer ana", "Accept": "application/json, text/event-stream"}
        assert http.post(url, json=hello, headers=headers).status_code == 200
        refused = http.post(url, json=hello, headers=headers | {"Authorization": "Bearer bob"})
        assert refused.status_code == 429
        assert "for the address 127.0.0.1" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("error", "told_instead"),
    [
        (Unavailable("/srv/ana/memory.db is in use"), "is unavailable"),
        (Corrupt("/srv/ana/memory.db is damaged"), "is damaged"),
        (ConfigError("cannot use /srv/ana/memory.db: no permission"), "not configured for this"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_over_http_no_error_tells_where_files_are(
    home: Home,
    mode: str,
    error: RecollectError,
    told_instead: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(*args: Any, **options: Any) -> Any:
        raise error from OSError("/srv/ana")

    monkeypatch.setattr(Memory, "recall", fails)
    monkeypatch.setattr(Memory, "list", fails)

    async def story(agent: Agent) -> None:
        text = await agent.refused("memory", action="recall", query="x")
        assert told_instead in text
        assert "/srv" not in text
        with pytest.raises(MCPError) as raised:
            await agent.read("recollect://entries")
        assert "/srv" not in str(raised.value)

    with answering(home) as url:
        by_http(url, "ana", mode, story)
    assert "/srv/ana/memory.db" in caplog.text  # for the operator


def test_over_stdio_an_error_of_the_system_is_reported_to_the_user(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **options: Any) -> Any:
        raise Unavailable("/srv/ana/memory.db is in use; try again")

    monkeypatch.setattr(Memory, "recall", fails)

    async def story(agent: Agent) -> None:
        assert "/srv/ana/memory.db is in use" in await agent.refused("memory", action="recall", query="x")

    run_story(server(home), story)


def test_over_http_many_first_requests_at_once_find_one_server(home: Home) -> None:
    with answering(home) as url:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

        async def first(http: httpx2.AsyncClient, agent: str) -> tuple[int, int]:
            headers = {"Authorization": f"Bearer {agent}", "Accept": "application/json, text/event-stream"}
            begun = await http.post(url, json=hello, headers=headers)
            session = {"mcp-session-id": begun.headers["mcp-session-id"]}
            return begun.status_code, (await http.post(url, json=ping, headers={**headers, **session})).status_code

        async def ask() -> tuple[int, list[tuple[int, int]]]:
            async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
                stranger, *known = await asyncio.gather(
                    http.post(url, json=hello), *(first(http, agent) for agent in ("ana", "bob") * 10)
                )
                return stranger.status_code, known

        assert asyncio.run(ask()) == (401, [(200, 200)] * 20)


def test_the_sdk_is_loaded_for_the_first_request_and_not_before(tmp_path: Path) -> None:
    received = """
import sys
from recollect.rest import app
assert "mcp" not in sys.modules, "the SDK is loaded at the start"
"""
    subprocess.run([sys.executable, "-c", received], check=True, cwd=tmp_path, env=environment())
