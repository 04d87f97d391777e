"""The server itself: alive, ready, figures, version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from surfaces.server import Server, serving, settings

import recollect
from recollect.rest import process_memory


def test_a_server_says_that_it_is_alive_and_ready(server: Server) -> None:
    assert server.client.get("/healthz").text == "ok\n"
    assert server.client.get("/readyz").text == "ready\n"
    assert server.client.get("/version").json() == {"name": "recollect", "version": recollect.__version__}


def test_the_page_with_all_routes_names_each_and_loads_nothing_from_elsewhere(server: Server) -> None:
    received = server.client.get("/docs")
    assert received.headers["content-security-policy"].startswith("default-src 'none'")
    assert "//" not in received.text.replace("<!doctype html>", "").replace("http://127.0.0.1", "")
    for path in server.client.get("/openapi.json").json()["paths"]:
        assert f"<code>{path}</code>" in received.text
    assert server.client.get("/static/reference.css").headers["content-type"].startswith("text/css")


BEGINNINGS = {
    "entries_remember": ("/v1/entries", {"content": "We deploy on Tuesdays"}),
    "entries_upsert": ("/v1/entries/tea/knowledge", {"content": "Assam"}),
    "entries_list_entries": ("/v1/entries?limit=1", None),
    "entries_trash": ("/v1/trash?limit=1", None),
    "conversations_start": ("/v1/conversations", {}),
    "conversations_append": ("/v1/conversations/{talk}/events", {"type": "UserMsg", "content": "When?"}),
    "scratchpad_put": ("/v1/conversations/{talk}/scratchpad/mood", {"value": "good"}),
    "reminders_add": ("/v1/reminders", {"at": "10m", "message": "tea"}),
    "jobs_run": ("/v1/jobs/age/run", {}),
    "access_create_token": ("/v1/tokens", {"name": "laptop"}),
}
"""A request for each route whose answer leads to others."""


def test_every_link_of_the_description_leads_on(server: Server) -> None:
    api = server.client.get("/openapi.json").json()
    operations = {
        one["operationId"]: (method, path, one)
        for path, methods in api["paths"].items()
        for method, one in methods.items()
    }
    linked = {name for name, (_, _, one) in operations.items() if "links" in str(one["responses"])}
    assert {name for name in linked if name != "entries_links"} == BEGINNINGS.keys()
    for name in "ab":
        server.client.post("/v1/entries", json={"content": name, "name": name})
        server.client.delete(f"/v1/entries/{name}")
    talk = server.client.post("/v1/conversations", json={}).json()["ref_code"]
    for name, (path, body) in BEGINNINGS.items():
        method, template, one = operations[name]
        path = path.format(talk=talk)
        answer = server.client.request(method, path, json=body)
        sent = dict(zip(template.split("/"), path.split("/"), strict=True))
        for target, link in one["responses"][str(answer.status_code)]["links"].items():
            method, template, other = operations[link["operationId"]]
            assert target == link["operationId"]
            assert link["parameters"].keys() <= {one["name"] for one in other["parameters"]}
            values = {key: value_of(place, answer.json(), sent) for key, place in link["parameters"].items()}
            assert all(values.values()), (name, target)
            if method == "get":
                rest = {key: value for key, value in values.items() if f"{{{key}}}" not in template}
                rest |= {"q": "tea"} if target.endswith("_find") else {}
                assert server.client.get(template.format(**values), params=rest).status_code == 200, (name, target)


def value_of(place: str, body: Any, sent: dict[str, str]) -> Any:
    """What an expression of a link means."""
    if place.startswith("$request.path."):
        return sent["{" + place.removeprefix("$request.path.") + "}"]
    for step in place.removeprefix("$response.body#/").split("/"):
        body = body[int(step) if isinstance(body, list) else step]
    return body


@pytest.mark.parametrize("needed", [True, False])
def test_the_description_demands_a_token_only_where_one_is_needed(tmp_path: Path, needed: bool) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=needed)) as server:
        paths = server.client.get("/openapi.json").json()["paths"]
        asked = {
            (method, path)
            for path, operations in paths.items()
            for method in operations
            if path != "/v1/feed" or needed  # which would go on for ever
            if server.client.request(method, path.replace("{", "").replace("}", "")).status_code == 401
        }
    demanded = {
        (method, path)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if operation.get("security") and {} not in operation["security"]
    }
    assert demanded == asked
    assert (len(demanded) > 50) == needed


def test_the_number_of_an_event_begins_with_1(server: Server) -> None:
    made = server.client.get("/openapi.json").json()["components"]["schemas"]["NewEntryOfKind"]["properties"]
    for field in ("first_event", "last_event"):
        assert [kind.get("minimum") for kind in made[field]["anyOf"] if kind != {"type": "null"}] == [1]
        refused = server.client.post("/v1/entries/batch", json={"entries": [{"content": "x", field: 0}]})
        assert refused.json()["errors"][0]["where"] == f"body.entries.0.{field}"


def test_a_memory_that_is_damaged_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database" * 1_000)
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        ready, entries = server.client.get("/readyz"), server.client.get("/v1/entries")
        assert (ready.status_code, ready.json()["code"], ready.json()["status"]) == (503, "unavailable", 503)
        assert (entries.status_code, entries.json()["code"]) == (500, "corrupt")


def test_every_problem_has_a_code_that_the_description_names(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(require_token=True)) as server:
        _, secret = home.tokens.create("laptop", agents=["ana", "bob"])
        with server.as_(secret) as one:
            made = one.post("/v1/entries?agent=ana", json={"content": "x", "name": "n"})
            codes = {
                "denied": server.client.get("/v1/entries"),
                "not-found": one.get("/v1/entries/m?agent=ana"),
                "conflict": one.post("/v1/entries?agent=ana", json={"content": "y", "name": "n"}),
                "stale": one.delete("/v1/entries/n?agent=ana", headers={"If-Match": '"x"'}),
                "invalid": one.post("/v1/entries?agent=ana", json={"content": ""}),
                "config": one.post("/v1/recall?agent=ana", json={"query": "x", "mode": "vector"}),
            }
        schemas = server.client.get("/openapi.json").json()["components"]["schemas"]
        described = schemas["ProblemDetails"]["properties"]["code"]
    assert made.status_code == 201
    assert {code: answer.json()["code"] for code, answer in codes.items()} == {code: code for code in codes}
    assert set(described["enum"]) == {*codes, "busy", "corrupt", "failed", "unavailable", "under-way"}


def test_the_figures_say_what_takes_the_memory_of_the_process(server: Server) -> None:
    server.client.post("/v1/entries", json={"content": "the heron stands by the lake"})
    assert server.client.post("/v1/recall", json={"query": "heron"}).json()
    figures = server.client.get("/metrics").text
    lines = [line for line in figures.splitlines() if line.startswith("recollect_memory_bytes")]
    parts = {line.partition('part="')[2].partition('"')[0]: float(line.split()[-1]) for line in lines}
    expected = {"resident", "program", "words", "turns", "vectors", "pages"}
    assert parts.keys() - {"freed"} == expected
    assert parts["resident"] > parts["pages"] >= 0 < parts["words"]
    assert 0 < parts["program"] <= parts["resident"]


@pytest.mark.skipif(process_memory.freed() is None, reason="this C library does not tell what it has freed")
def test_memory_that_was_freed_is_returned_to_the_system() -> None:
    blocks = [bytes(2_000) for _ in range(50_000)]
    kept, held = blocks[::100], process_memory.resident() or 0
    del blocks
    assert (process_memory.freed() or 0) > 80_000_000
    process_memory.return_freed()
    assert len(kept) == 500
    assert held - (process_memory.resident() or 0) > 60_000_000


def test_above_its_limit_a_process_drops_its_caches_and_answers_as_before(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        mem = home.agent("ana")
        mem.remember("the heron stands by the lake")
        talk = mem.conversations.start()
        talk.user("where is the heron?")
        before = mem.recall("heron"), mem.conversations.search("heron")
        held = home.caches.sizes()
        assert not process_memory.release_above(home, 10**15)
        assert home.caches.sizes() == held
        assert held["words"]
        assert held["turns"]
        assert process_memory.release_above(home, 1)
        after = home.caches.sizes()
        assert after["words"] == after["turns"] == after["vectors"] == 0
        assert after["pages"] < held["pages"]
        assert (mem.recall("heron"), mem.conversations.search("heron")) == before
