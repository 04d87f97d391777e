"""Who may do what: every route of the app is asked with every kind of token."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.routing import iter_route_contexts
from surfaces.server import Server, client, serving, settings

import recollect
from recollect.clock import FixedClock
from recollect.rest.app import create_app
from recollect.rest.caller import declared

OPEN = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/version"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("POST", "/v1/session"),
    ("DELETE", "/v1/session"),
}
"""What anybody may ask, because it tells nothing about a memory."""
OWN_GUARD = {"/", "/static", "/mcp"}
"""What is no route of this app: files without secrets, and a surface that asks for tokens itself."""
ENOUGH = {
    "anyone": {"read", "write", "admin", "other workspace", "other agent", "owner"},
    "read": {"read", "write", "admin", "owner"},
    "write": {"write", "admin", "owner"},
    "admin": {"admin", "owner"},
    "owner": {"owner"},
}
NOT_IN_FORCE = {"none", "unknown", "revoked", "expired"}


@dataclass(frozen=True)
class Asked:
    """A route, and the right that it requires."""

    method: str
    path: str
    asks: str


def routes(tmp_path: Path) -> Iterator[tuple[str, str, str | None]]:
    with recollect.open(tmp_path / "unused.db") as home:
        for route in iter_route_contexts(create_app(home, settings(), upkeep=False).routes):
            dependant = getattr(route, "dependant", None)
            for method in sorted((route.methods or {"-"}) - {"HEAD"}):
                yield method, route.path or "", None if dependant is None else declared(dependant)


def test_every_route_says_what_it_asks_of_its_callers(tmp_path: Path) -> None:
    silent = {(method, path) for method, path, asks in routes(tmp_path) if asks is None}
    assert {(method, path) for method, path in silent if not any(path.startswith(own) for own in OWN_GUARD - {"/"})} - {
        ("GET", "/"),
        ("-", ""),
    } == OPEN


def test_every_route_answers_each_kind_of_token_as_it_says(tmp_path: Path) -> None:
    clock = FixedClock()
    known = [Asked(method, path, asks) for method, path, asks in routes(tmp_path) if asks is not None]
    assert len(known) > 40
    with (
        recollect.open(tmp_path / "home", clock=clock) as home,
        serving(home, settings(require_token=True)) as server,
    ):
        home.agent("default").remember("something")
        secrets: dict[str, str | None] = {"none": None, "unknown": "rcl_unknown", "nonsense": "x"}
        here = {"workspace": "default", "agents": ["default"]}
        for name, wanted in {
            "revoked": {"right": "admin"},
            "expired": {"right": "admin", "expires": clock.now() + 1},
            "read": {**here, "right": "read"},
            "write": {**here, "right": "write"},
            "admin": {**here, "right": "admin"},
            "other workspace": {"workspace": "elsewhere", "right": "admin"},
            "other agent": {"workspace": "default", "agents": ["bob"], "right": "admin"},
            "owner": {"right": "admin"},
        }.items():
            secrets[name] = home.tokens.create(name, **wanted)[1]
        home.tokens.revoke("revoked")
        clock.advance(10)
        wrong = [
            f"{route.method} {route.path} asks for {route.asks} and answered {status} to {name}"
            for route in known
            for name, secret in secrets.items()
            if not _right(route, name, status := _asked(server, route, secret))
        ]
    assert wrong == []


def _asked(server: Server, route: Asked, secret: str | None) -> int:
    path = re.sub(r"\{[^}]*\}", "x", route.path)
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    where = {"workspace": "default", "agent": "default"}
    with server.client.stream(route.method, path, params=where, headers=headers) as answer:
        return answer.status_code


def _right(route: Asked, name: str, status: int) -> bool:
    if name in NOT_IN_FORCE or name == "nonsense":
        return status == 401
    if name not in ENOUGH[route.asks]:
        return status == 403
    # A route that asks no more than a token may look closer once it knows what the request is about.
    return status not in (401, 403, 500) or (route.asks == "anyone" and status == 403 and name != "owner")


def test_a_token_selects_its_own_memory_by_default(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("bob's", workspace="garden", agents=["bob"])
        with server.as_(secret) as bob:
            bob.post("/v1/entries", json={"content": "roses", "name": "n"})
            assert bob.get("/v1/session").json()["workspace"] == "garden"
            assert bob.get("/v1/workspaces").json() == ["garden"]
            assert bob.post("/v1/recall", json={"query": "x", "target_agent": "ana"}).status_code == 403
            assert bob.post("/v1/query", json={"query": "x", "target_agent": "ana"}).status_code == 403
        assert home.agent("bob", "garden").get("n").content == "roses"


def test_other_workspaces_and_agents_are_not_even_named(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as server:
        for agent in ("ana", "bob"):
            for workspace in ("garden", "house"):
                home.agent(agent, workspace).remember("x")
        _, secret = home.tokens.create("bob's", workspace="garden", agents=["bob"], right="read")
        with server.as_(secret) as bob:
            assert bob.get("/v1/workspaces").json() == ["garden"]
            assert [(one["workspace"], one["agent"]) for one in bob.get("/v1/workspaces/counts").json()] == [
                ("garden", "bob")
            ]
            assert bob.get("/v1/agents").json() == ["bob"]
            assert bob.get("/v1/agents?workspace=house").json() == []


def test_tokens_are_made_listed_and_revoked(server: Server) -> None:
    made = server.client.post("/v1/tokens", json={"name": "laptop", "agents": ["ana"], "right": "read"})
    assert made.status_code == 201
    secret, token = made.json()["secret"], made.json()["token"]
    assert (token["agents"], token["right"], token["workspace"]) == (["ana"], "read", "*")
    assert secret not in server.client.get("/v1/tokens").text
    with server.as_(secret) as laptop:
        assert laptop.get("/v1/session").json()["name"] == "laptop"
        assert laptop.get("/v1/tokens").status_code == 403
        assert server.client.delete("/v1/tokens/laptop").json()["revoked_at"] is not None
        assert laptop.get("/v1/session").status_code == 401
    assert server.client.get("/v1/tokens").json()["items"] == []
    assert len(server.client.get("/v1/tokens?revoked=true").json()["items"]) == 1


def test_a_page_logs_in_with_a_cookie_that_no_script_can_read(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("page")
        with client(server.url) as page:
            assert page.get("/v1/session").status_code == 401
            wrong = page.post("/v1/session", json={"token": "rcl_wrong"})
            assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, "Bearer")
            answer = page.post("/v1/session", json={"token": secret})
            cookie = answer.headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=strict" in cookie
            assert "secure" not in cookie
            assert secret not in answer.text
            assert page.get("/v1/session").json()["name"] == "page"
            assert page.post("/v1/entries", json={"content": "x"}).status_code == 201
            assert page.delete("/v1/session").status_code == 204
            assert page.get("/v1/session").status_code == 401
            behind_tls = page.post("/v1/session", json={"token": secret}, headers={"X-Forwarded-Proto": "https"})
            assert "secure" in behind_tls.headers["set-cookie"].lower()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "recollect.example"])
def test_an_address_that_others_reach_needs_tokens(tmp_path: Path, host: str) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(host=host)) as server:
        answer = server.client.get("/v1/entries")
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_no_token_is_needed_on_the_loopback_address(server: Server) -> None:
    received = server.client.get("/v1/session").json()
    assert (received["name"], received["right"], received["needs_token"]) == (None, "admin", False)


def test_a_body_is_not_read_without_a_valid_token(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        wrong = server.client.post("/v1/entries", content=b"{", headers={"Content-Type": "application/json"})
        assert wrong.status_code == 401


def test_a_token_for_one_workspace_reaches_its_agents_account_entries_and_no_others(tmp_path: Path) -> None:
    with (
        recollect.open(tmp_path / "home") as home,
        serving(home, settings(require_token=True)) as server,
    ):
        home.agent("ana", "private").remember("Ana likes short answers", name="answers", scope="account")
        home.agent("ana", "private").remember("Ana's diary", name="diary")
        home.agent("bob", "web").remember("Bob likes long answers", name="bobs", scope="account")
        _, reader = home.tokens.create("reader", workspace="web", agents=["ana"], right="read")
        _, writer = home.tokens.create("writer", workspace="web", agents=["ana"], right="write")
        with server.as_(reader) as asks:
            assert [entry["name"] for entry in asks.get("/v1/entries").json()["items"]] == ["answers"]
            assert asks.get("/v1/entries/answers").json()["content"] == "Ana likes short answers"
            assert asks.get("/v1/entries/diary").status_code == 404
            assert asks.get("/v1/entries/bobs").status_code == 404
            assert asks.delete("/v1/entries/answers").status_code == 403
        with server.as_(writer) as asks:
            changed = asks.patch("/v1/entries/answers", json={"content": "Ana likes long answers"})
            assert changed.status_code == 200
        assert home.agent("ana", "private").get("answers").content == "Ana likes long answers"


@pytest.mark.parametrize(
    ("query", "received"),
    [
        ("agnt=bob", "'agnt'"),
        ("agent=a/b", "'a/b'"),
        ("workspace=..", "'..'"),
        ("agent=con", "reserved"),
        ("agent=", "agent"),
    ],
)
def test_a_name_that_mcp_cannot_mean_is_refused(tmp_path: Path, query: str, received: str) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        refused = server.client.post(f"/mcp?{query}", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert refused.status_code == 422
        assert received in refused.json()["detail"]
        assert home.workspaces() == []


def test_a_token_for_several_agents_must_name_one(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("two", agents=["ana", "bob"])
        with server.as_(secret) as two:
            for refused in (two.get("/v1/entries"), two.post("/mcp", json={})):
                assert refused.status_code == 403
                assert "?agent=: ana, bob" in refused.json()["detail"]
            for path in ("/v1/entries?agent=eve", "/v1/export"):
                assert "?agent=" not in two.get(path).json()["detail"]
            assert two.get("/v1/entries?agent=bob").status_code == 200


PROJECT_WRITES: list[tuple[str, str, object]] = [
    ("POST", "/v1/entries", {"content": "changed", "name": "_project.md"}),
    ("POST", "/v1/entries/batch", {"entries": [{"content": "changed", "name": "_project"}]}),
    ("POST", "/v1/operations", {"op": "write", "target": "_project.md", "content": "changed"}),
    ("POST", "/v1/operations", {"op": "write", "target": "{id}", "content": "changed"}),
    ("POST", "/v1/operations", {"op": "rename", "target": "_project.md", "name": "old"}),
    ("POST", "/v1/operations", {"op": "rename", "target": "beside", "name": "_project.md"}),
    ("POST", "/v1/operations", {"op": "alias", "target": "beside", "name": "_project"}),
    ("PUT", "/v1/entries/_project.md/knowledge", {"content": "changed"}),
    ("DELETE", "/v1/entries/_project.md", None),
    ("DELETE", "/v1/entries/{id}?erase=true", None),
    ("PUT", "/v1/project", {"content": "changed"}),
]


@pytest.mark.parametrize(("verb", "path", "body"), PROJECT_WRITES)
def test_a_token_of_the_agent_shared_alone_does_not_change_the_project_note(
    tmp_path: Path, verb: str, path: str, body: object
) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as server:
        shared = home.agent("_shared")
        shared.remember("beside it", name="beside")
        home.agent("ana").set_project("a shop for gates")
        note = shared.get("_project.md")
        _, narrow = home.tokens.create("narrow", workspace="default", agents=["_shared"])
        _, wide = home.tokens.create("wide", workspace="default")
        asked = json.loads(json.dumps([path, body]).replace("{id}", note.id))
        for secret, status in ((narrow, {403}), (wide, {200, 201, 204, 409})):
            before = (home.agent("ana").project(), shared.list())
            with server.as_(secret) as caller:
                answer = caller.request(verb, asked[0], params={"agent": "_shared"}, json=asked[1])
                assert answer.status_code in status, answer.text
                if secret == narrow:
                    assert (home.agent("ana").project(), shared.list()) == before
                    assert caller.post("/v1/entries", params={"agent": "_shared"}, json={"content": "mine"}).is_success


def test_a_token_of_the_agent_shared_alone_does_not_restore_a_project_note(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as server:
        shared = home.agent("_shared")
        home.agent("ana").set_project("a shop for gates")
        note = shared.get("_project.md")
        shared.forget("_project.md")
        _, narrow = home.tokens.create("narrow", workspace="default", agents=["_shared"])
        with server.as_(narrow) as caller:
            for target in (note.id, "_project.md"):
                answer = caller.post(f"/v1/entries/{target}/restore", params={"agent": "_shared"}, json={})
                assert answer.status_code == 403, answer.text
        assert home.agent("ana").project() is None
