"""Entries over HTTP: what the library does, with names in addresses and versions in headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from surfaces.server import Server, serving

import recollect


def test_an_entry_is_made_read_changed_and_forgotten(server: Server) -> None:
    client = server.client
    made = client.post("/v1/entries", json={"content": "We deploy on Tuesdays.", "name": "deploy day", "tags": ["ops"]})
    assert made.status_code == 201
    assert made.headers["location"] == f"/v1/entries/{made.json()['id']}"
    assert client.get(made.headers["location"]).json() == made.json()
    assert made.json()["tags"] == ["ops"]
    changed = client.patch("/v1/entries/deploy day", json={"content": "We deploy on Mondays."})
    assert changed.json()["content"] == "We deploy on Mondays."
    assert changed.headers["etag"] != made.headers["etag"]
    assert server.home.agent("default").get("deploy day").content == "We deploy on Mondays."
    assert client.delete("/v1/entries/deploy day").status_code == 204
    assert client.get("/v1/entries/deploy day").status_code == 404
    assert client.delete("/v1/entries/deploy day").status_code == 404


def test_a_note_is_long_term_unless_the_caller_asks_for_another_lifetime(server: Server) -> None:
    client = server.client
    made = [
        client.post("/v1/entries", json={"content": "plain"}).json(),
        *client.post("/v1/entries/batch", json={"entries": [{"content": "one of many"}]}).json()["items"],
        client.post("/v1/operations", json={"op": "add", "content": "an operation"}).json(),
    ]
    assert [one["lifetime"] for one in made] == ["long_term"] * 3
    asked = client.post("/v1/entries", json={"content": "passing", "lifetime": "short_term"}).json()
    assert asked["lifetime"] == "short_term"


def test_the_trash_is_emptied(server: Server) -> None:
    client = server.client
    for name in ("one", "two"):
        client.post("/v1/entries", json={"content": name, "name": name})
        client.delete(f"/v1/entries/{name}")
    assert client.delete("/v1/trash").json() == {"emptied": 2}
    assert client.get("/v1/trash").json()["items"] == []
    assert client.post("/v1/entries/one/restore").status_code == 404


def test_an_empty_category_or_context_is_taken_away(server: Server) -> None:
    server.home.agent("default").remember("tea", name="tea", category="tasks", context="noon")
    kept = server.client.patch("/v1/entries/tea", json={"category": None, "context": None, "importance": 0.9}).json()
    assert (kept["category"], kept["context"]) == ("tasks", "noon")
    changed = server.client.patch("/v1/entries/tea", json={"category": "", "context": ""}).json()
    assert (changed["category"], changed["context"]) == (None, None)


def test_a_change_with_an_old_version_is_refused(server: Server) -> None:
    client = server.client
    old = client.post("/v1/entries", json={"content": "one", "name": "n"}).headers["etag"]
    new = client.patch("/v1/entries/n", json={"content": "two"}, headers={"If-Match": old}).headers["etag"]
    for answer in (
        client.patch("/v1/entries/n", json={"content": "three"}, headers={"If-Match": old}),
        client.patch("/v1/entries/n", json={"content": "three"}, headers={"If-Match": f"W/{new}"}),
        client.delete("/v1/entries/n", headers={"If-Match": old}),
        client.delete("/v1/entries/n?erase=true", headers={"If-Match": old}),
        client.post("/v1/entries/n/rename", json={"name": "m"}, headers={"If-Match": old}),
        client.post("/v1/entries/n/aliases", json={"name": "m"}, headers={"If-Match": old}),
        client.post("/v1/operations", json={"op": "remove", "target": "n"}, headers={"If-Match": old}),
        client.put("/v1/entries/n/knowledge", json={"content": "three"}, headers={"If-Match": old}),
    ):
        assert (answer.status_code, answer.headers["content-type"]) == (412, "application/problem+json")
    assert client.get("/v1/entries/n").json()["content"] == "two"
    assert (
        client.patch("/v1/entries/n", json={"content": "3"}, headers={"If-Match": f"{old}, {new}"}).status_code == 200
    )
    assert client.patch("/v1/entries/n", json={"content": "4"}, headers={"If-Match": "*"}).status_code == 200


def test_knowledge_that_must_be_there_already_is_not_made(server: Server) -> None:
    path, content = "/v1/entries/tea/knowledge", {"content": "Assam", "tags": ["drink"]}
    for wanted in ("*", '"0000"'):
        assert server.client.put(path, json=content, headers={"If-Match": wanted}).status_code == 404
    seen = server.client.put(path, json=content).headers["etag"]
    for wanted in (seen, "*"):
        changed = server.client.put(path, json={"content": f"with {wanted}"}, headers={"If-Match": wanted})
        assert (changed.status_code, changed.json()["tags"]) == (200, ["drink"])


@pytest.mark.parametrize(
    ("method", "path", "body", "header"),
    [
        ("PUT", "/v1/entries/n/knowledge", {"content": "two"}, "If-None-Match"),
        ("PATCH", "/v1/entries/n", {"content": "two"}, "If-None-Match"),
        ("POST", "/v1/operations", {"op": "add", "content": "two"}, "If-Match"),
        ("POST", "/v1/entries", {"content": "two"}, "If-Match"),
        ("POST", "/v1/entries/batch", {"entries": [{"content": "two"}]}, "If-Match"),
        ("POST", "/v1/entries/n/restore", {"name": "m"}, "If-Match"),
        ("POST", "/v1/upsert", {"op": "update", "key": "n", "content": "two"}, "If-Match"),
        ("POST", "/v1/upsert", {"op": "insert", "key": "n", "content": "two"}, "If-None-Match"),
        ("PUT", "/v1/project", {"content": "two"}, "If-Match"),
        ("POST", "/v1/reminders", {"at": "10m", "message": "two"}, "If-Match"),
        ("POST", "/v1/conversations", {}, "If-Match"),
        ("POST", "/api/memory/vault", {"agentId": "default", "category": "tasks", "content": "two"}, "If-None-Match"),
        (
            "PUT",
            "/api/memory/vault",
            {"agentId": "default", "category": "tasks", "id": "1", "content": "2"},
            "If-Match",
        ),
        ("DELETE", "/api/memory/vault?agentId=default&category=tasks&id=1", None, "If-Match"),
        ("POST", "/v1/import", {"messages": []}, "If-Match"),
    ],
)
def test_a_condition_that_would_be_ignored_is_refused(
    server: Server, method: str, path: str, body: dict[str, Any] | None, header: str
) -> None:
    server.client.post("/v1/entries", json={"content": "one", "name": "n"})
    refused = server.client.request(method, path, json=body, headers={header: "*"})
    assert refused.status_code == 422, refused.text
    assert "; omit " in refused.json()["detail"]  # and not that something else is wrong
    assert server.client.get("/v1/reminders").json()["items"] == []
    assert server.client.get("/v1/conversations").json()["items"] == []
    assert [one["content"] for one in server.client.get("/v1/entries").json()["items"]] == ["one"]


def test_an_entry_that_is_known_already_is_not_sent_again(server: Server) -> None:
    tag = server.client.post("/v1/entries", json={"content": "one", "name": "n"}).headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = server.client.get("/v1/entries/n", headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert server.client.get("/v1/entries/n", headers={"If-None-Match": '"other"'}).json()["content"] == "one"


def test_a_name_may_hold_a_slash_and_any_letter(server: Server) -> None:
    for name, written in (("infra/deploy day", "infra%2Fdeploy%20day"), ("größe ☕", "gr%C3%B6%C3%9Fe%20%E2%98%95")):
        server.client.post("/v1/entries", json={"content": "x", "name": name})
        assert server.client.get(f"/v1/entries/{written}").json()["name"] == name
        assert len(server.client.get(f"/v1/entries/{written}/history").json()["items"]) == 1


def test_a_list_is_read_page_by_page(server: Server) -> None:
    mem = server.home.agent("default")
    for number in range(5):
        mem.remember(
            f"note {number}", name=f"n{number}", tags=["odd" if number % 2 else "even"], importance=number / 10
        )
    found, cursor = [], None
    while True:
        query = {"limit": 2, "sort": "importance"} | ({"cursor": cursor} if cursor else {})
        page = server.client.get("/v1/entries", params=query).json()
        found += [entry["name"] for entry in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == ["n4", "n3", "n2", "n1", "n0"]
    odd = server.client.get("/v1/entries", params={"tag": "odd", "sort": "name", "descending": True}).json()
    assert [entry["name"] for entry in odd["items"]] == ["n3", "n1"]
    assert server.client.get("/v1/entries", params={"cursor": "nonsense"}).status_code == 422


def test_many_entries_are_made_at_once_or_none_is(server: Server) -> None:
    made = server.client.post("/v1/entries/batch", json={"entries": [{"content": "one"}, {"content": "two"}]})
    assert [entry["content"] for entry in made.json()["items"]] == ["one", "two"]
    wrong = server.client.post("/v1/entries/batch", json={"entries": [{"content": "three"}, {"content": ""}]})
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["where"] == "body.entries.1.content"
    assert len(server.client.get("/v1/entries").json()["items"]) == 2


def test_each_operation_can_be_sent_as_a_value(server: Server) -> None:
    def apply(**operation: object) -> dict[str, object]:
        answer = server.client.post("/v1/operations", json=operation)
        assert answer.status_code == 200, answer.text
        result: dict[str, object] = answer.json()
        return result

    apply(op="add", content="one", name="a")
    apply(op="rename", target="a", name="b")
    apply(op="alias", target="b", name="c")
    assert apply(op="write", target="c", content="two")["aliases"] == ["a", "c"]
    assert apply(op="remove", target="a")["content"] == "two"
    assert [one["operation"] for one in server.client.get("/v1/changes").json()["items"]] == [
        "add",
        "rename",
        "alias",
        "write",
        "remove",
    ]
    assert [one["seq"] for one in server.client.get("/v1/changes?after=3&limit=1").json()["items"]] == [4]


def test_knowledge_is_written_under_its_key(server: Server) -> None:
    first = server.client.put("/v1/entries/favourite tea/knowledge", json={"content": "Assam"}).json()
    second = server.client.put("/v1/entries/favourite tea/knowledge", json={"content": "Darjeeling"}).json()
    assert (first["id"], second["content"]) == (second["id"], "Darjeeling")
    assert len(server.client.get("/v1/entries/favourite tea/history").json()["items"]) == 2


def test_what_was_forgotten_is_in_the_trash_and_comes_back(server: Server) -> None:
    for name in ("a", "b"):
        server.client.post("/v1/entries", json={"content": name, "name": name})
        server.client.delete(f"/v1/entries/{name}")
    page = server.client.get("/v1/trash?limit=1").json()
    assert [one["entry"]["name"] for one in page["items"]] == ["b"]
    rest = server.client.get("/v1/trash", params={"cursor": page["next"]}).json()
    assert [one["entry"]["name"] for one in rest["items"]] == ["a"]
    assert server.client.post("/v1/entries/a/restore").json()["name"] == "a"
    assert server.client.post("/v1/entries/b/restore", json={"name": "c"}).json()["name"] == "c"
    assert server.client.get("/v1/trash").json() == {"items": [], "next": None}


def test_an_erased_entry_leaves_a_receipt_and_nothing_else(server: Server) -> None:
    server.client.post("/v1/entries", json={"content": "the secret word is heliotrope", "name": "n"})
    receipt = server.client.delete("/v1/entries/n?erase=true")
    assert receipt.status_code == 200
    assert "names" in {one["place"] for one in receipt.json()["removed"]}
    assert server.client.post("/v1/entries/n/restore").status_code == 404


def test_provenance_is_returned_as_a_tree(server: Server) -> None:
    port = server.client.post("/v1/entries", json={"content": "The port is 5433", "name": "port"}).json()
    made = server.home.agent("default").remember("Ports are noted", evidence=[f"entry:{port['id']}", "file:a.md"])
    found = server.client.get(f"/v1/entries/{made.id}/provenance").json()
    assert [one["ref"] for one in found["made_from"]] == [f"entry:{port['id']}", "file:a.md"]
    assert found["made_from"][0]["text"] == "The port is 5433"
    assert server.client.get("/v1/entries/nothing/provenance").status_code == 404


def test_links_and_accesses_of_an_entry_are_returned(server: Server) -> None:
    server.client.post("/v1/entries", json={"content": "see [[b]] and [[nowhere]]", "name": "a"})
    server.client.post("/v1/entries", json={"content": "tea is ready", "name": "b"})
    links = server.client.get("/v1/entries/a/links").json()
    assert [entry["name"] for entry in links["out"]] == ["b"]
    assert links["broken"] == ["nowhere"]
    assert server.client.post("/v1/recall", json={"query": "tea"}).json()[0]["entry"]["name"] == "b"
    (recalled,) = server.client.get("/v1/entries/b/accesses").json()["recalls"]
    assert recalled[1] == "tea"


def test_recall_answers_as_the_library_does(server: Server) -> None:
    mem = server.home.agent("default")
    for content, category in (("We deploy on Tuesdays", "decisions"), ("Deploy days are long", None)):
        mem.remember(content, category=category)
    by_body = server.client.post(
        "/v1/recall", json={"query": "deploy", "category": "decisions", "explain": True}
    ).json()
    assert [hit["entry"]["content"] for hit in by_body] == ["We deploy on Tuesdays"]
    assert by_body[0]["why"]["words"][0] == 1
    by_link = server.client.get("/v1/recall", params={"q": "deploy", "limit": 1}).json()
    assert by_link[0]["entry"]["id"] == mem.recall("deploy", limit=1)[0].entry.id
    assert server.client.post("/v1/recall", json={"query": "deploy", "mode": "vector"}).status_code == 409


def test_a_header_of_recall_says_that_conversations_have_more(server: Server) -> None:
    server.home.agent("ben").conversations.start().user("The harbour opens at eight.")
    server.home.agent("default").conversations.start().user("The lighthouse keeper is called Tomas.")
    asked, header = {"query": "who is the lighthouse keeper?"}, "Conversations-Have-More"
    answer = server.client.post("/v1/recall", json=asked)
    assert (answer.json(), answer.headers[header]) == ([], "true")
    assert server.client.get("/v1/recall", params={"q": asked["query"]}).headers[header] == "true"
    assert header not in server.client.post("/v1/recall", json={**asked, "kinds": ["note"]}).headers
    assert header not in server.client.post("/v1/recall", json={"query": "when does the harbour open?"}).headers
    server.client.post("/v1/entries", json={"content": "The lighthouse keeper is Tomas"})
    assert header not in server.client.post("/v1/recall", json=asked).headers
    described = server.client.get("/openapi.json").json()["paths"]["/v1/recall"]
    assert all(header in described[method]["responses"]["200"]["headers"] for method in ("get", "post"))


def test_a_model_reads_and_writes_in_the_shapes_of_its_tools(server: Server) -> None:
    written = server.client.post("/v1/upsert", json={"op": "insert", "key": "tea", "content": "Assam"}).json()
    assert (written["ok"], written["created"]) == (True, True)
    found = server.client.post("/v1/query", json={"store": "knowledge", "query": "assam"}).json()
    assert [(one["key"], one["content"]) for one in found["results"]] == [("tea", "Assam")]
    assert server.client.post("/v1/upsert", json={"op": "update", "content": "x"}).status_code == 422
    working = {"store": "working", "query": "tea", "conversation": "x", "target_agent": "bob"}
    assert server.client.post("/v1/query", json=working).status_code == 403


def test_a_session_starts_with_a_context(server: Server) -> None:
    server.client.post("/v1/entries", json={"content": "Deploy with the green script", "category": "decisions"})
    context = server.client.post("/v1/context", json={"command": "deploy", "budget": 500}).json()
    assert "green script" in context["text"]
    assert "green script" in server.client.post("/v1/orient", json={"command": "deploy"}).json()["markdown"]
    assert "coding" in server.client.get("/v1/profiles").json()
    assert server.client.post("/v1/context", json={"command": "x", "profile": "none"}).status_code == 404


def test_workspaces_and_agents_are_apart(tmp_path: Path) -> None:
    where = {"workspace": "garden", "agent": "ana"}
    with recollect.open(tmp_path / "home") as home, serving(home) as server:
        server.client.post("/v1/entries", params=where, json={"content": "roses", "name": "n"})
        assert server.client.get("/v1/entries/n").status_code == 404
        assert server.client.get("/v1/entries/n", params=where).json()["content"] == "roses"
        assert server.client.get("/v1/workspaces").json() == ["garden"]
        assert server.client.get("/v1/agents", params=where).json() == ["ana"]
        assert server.client.delete("/v1/workspaces/garden").status_code == 204
        assert server.client.get("/v1/workspaces").json() == []
        assert server.client.delete("/v1/workspaces/garden").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"content": "half a pair \\ud800"}', 422),
        (b'{"content": "nul \\u0000"}', 422),
        (b'{"content": "latin \xe9"}', 400),
        (b'{"content": ', 400),
        (b"[" * 100_000, 400),
        (b'{"content": "x", "colour": "red"}', 422),
        (b'{"content": "x", "importance": NaN}', 422),
        (b'{"content": "x", "at": 1e99}', 422),
        (b"null", 422),
        (b"", 422),
    ],
)
def test_a_body_that_cannot_be_taken_is_a_clear_problem(server: Server, body: bytes, status: int) -> None:
    answer = server.client.post("/v1/entries", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["instance"] == "/v1/entries"
    assert answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "received"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"content": "x", "importance": ' + b"9" * 4_400 + b"}", "thousands of digits"),
        (b'{"content": "\xff"}', "UTF-8"),
    ],
)
def test_a_body_that_cannot_be_read_says_why(server: Server, body: bytes, received: str) -> None:
    answer = server.client.post("/v1/entries", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, received in answer.json()["detail"]) == (400, True), answer.text


def test_a_value_that_does_not_match_a_pattern_is_explained_in_words(server: Server) -> None:
    for answer, received in (
        (server.client.get("/v1/entries", params={"agent": "../ana"}), "query.agent: must be one plain word"),
        (server.client.post("/v1/entries", json={"content": " "}), "body.content: must contain a visible character"),
        (
            server.client.post("/v1/entries", json={"content": "x", "name": "a\nb"}),
            "body.name: must be a single non-blank line",
        ),
        (server.client.get("/v1/trash", params={"cursor": "x"}), "query.cursor: does not have the form"),
    ):
        assert (answer.status_code, answer.json()["detail"].startswith(received)) == (422, True), answer.text
        assert "^" not in answer.text


def test_a_body_that_is_not_json_is_asked_for_as_json(server: Server) -> None:
    answer = server.client.post("/v1/entries", data={"content": "x"})
    assert (answer.status_code, "application/json" in answer.json()["detail"]) == (415, True)


def test_digits_are_those_of_every_program(server: Server) -> None:
    assert server.client.get("/v1/trash", params={"cursor": "1"}).status_code == 200
    assert server.client.get("/v1/trash", params={"cursor": "\u0661"}).status_code == 422
    refused = server.client.post("/v1/entries", json={"content": "x", "at": "202\u0666-03-16"})
    assert (refused.status_code, refused.json()["errors"][0]["where"].split(".")[:2]) == (422, ["body", "at"])


@pytest.mark.parametrize("blank", [" \n\t", "\x1c\x1f", "\x85", "\u2028\u3000"])
def test_what_is_blank_is_refused_by_the_pattern_of_the_description(server: Server, blank: str) -> None:
    refused = server.client.post("/v1/entries", json={"content": blank})
    assert (refused.status_code, refused.json()["errors"][0]["where"]) == (422, "body.content")
