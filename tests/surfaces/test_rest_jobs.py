"""Upkeep and the vault over HTTP: what they answer, and who may ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from surfaces.server import Server, serving, settings

import recollect

OWN_MACHINE_ONLY = ("/v1/compact", "/v1/vault/migrate", "/api/memory/compact", "/api/memory/migrate")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Server]:
    """A server over a directory with the workspaces `default` and `other`, each with one short-term note twice."""
    note = "We deploy on Tuesdays, never on a Friday."
    with recollect.open(tmp_path / "home") as home:
        for workspace in ("default", "other"):
            for _ in range(2):
                home.agent("ana", workspace).remember(note, category="decisions", lifetime="short_term")
        with serving(home) as running:
            yield running


def test_a_job_is_run_and_undone(folder: Server) -> None:
    done = folder.client.post("/v1/jobs/consolidate/run").json()
    assert done["job"] == "consolidate"
    assert [(one["what"], one["where"]) for one in done["changes"] if one["what"] == "removed"] == [
        ("removed", "default/ana"),
        ("removed", "other/ana"),
    ]
    assert len(folder.home.agent("ana").list()) == 1

    listed = folder.client.get("/v1/runs", params={"job": "consolidate", "limit": 1}).json()
    assert [run["id"] for run in listed["items"]] == [done["id"]]

    undone = folder.client.post(f"/v1/runs/{done['id']}/undo").json()
    assert undone["job"] == "undo"
    assert len(folder.home.agent("ana").list()) == 2
    again = folder.client.post(f"/v1/runs/{done['id']}/undo")
    assert (again.status_code, again.json()["title"]) == (409, "Conflict")


def test_a_dry_run_changes_nothing(folder: Server) -> None:
    received = folder.client.post("/v1/jobs/consolidate/run", json={"dry_run": True, "workspace": "other"}).json()
    assert received["dry_run"] is True
    assert {one["where"] for one in received["changes"]} == {"other/ana"}
    assert len(folder.home.agent("ana", "other").list()) == 2
    assert folder.client.get("/v1/runs").json() == {"items": [], "next": None}


def test_what_is_due_is_run(folder: Server) -> None:
    assert folder.client.post("/v1/jobs/run-due").status_code == 200
    found = folder.client.get("/v1/jobs").json()["items"]
    assert {one["workspace"] for one in found} == {"default", "other"}
    assert "consolidate" in {one["name"] for one in found}


def test_an_unknown_job_is_not_found(folder: Server) -> None:
    answer = folder.client.post("/v1/jobs/nonsense/run")
    assert answer.status_code == 404
    assert "consolidate" in answer.json()["detail"]


def test_compaction_tells_its_figures_and_remembers_them(server: Server) -> None:
    assert server.client.get("/v1/compact").json() is None
    server.home.agent("ana").remember("We deploy on Tuesdays.")
    received = server.client.post("/v1/compact").json()
    assert len(received) >= 6
    assert server.client.get("/v1/compact").json() == received


@pytest.mark.parametrize(
    "forwarded",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"X-Forwarded-For": "203.0.113.9, 127.0.0.1"},
        {"X-Real-IP": "203.0.113.9"},
        {"Forwarded": "for=127.0.0.1, for=203.0.113.9"},
    ],
)
def test_tidying_is_for_this_machine_only_by_every_route(tmp_path: Path, forwarded: dict[str, str]) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ana").remember("We deploy on Tuesdays.")
        home.vault("default").sync()
        _, secret = home.tokens.create("owner", right="admin")
        with serving(home, settings(require_token=True)) as server, server.as_(secret) as owner:
            for route in OWN_MACHINE_ONLY:
                assert owner.post(route).status_code == 200, route
                answer = owner.post(route, headers=forwarded)
                assert (answer.status_code, answer.json()["title"]) == (403, "Forbidden"), route
                assert "own machine" in answer.json()["detail"]


def test_who_is_in_charge_of_one_workspace_works_there_only(folder: Server) -> None:
    _, secret = folder.home.tokens.create("other", workspace="other", right="admin")
    with folder.as_(secret) as client:
        assert {one["workspace"] for one in client.get("/v1/jobs").json()["items"]} == {"other"}
        assert client.post("/v1/jobs/consolidate/run", json={"workspace": "other"}).status_code == 200
        assert client.post("/v1/jobs/consolidate/run", json={"workspace": "default"}).status_code == 403
        assert client.post("/v1/jobs/consolidate/run").status_code == 403
        for method, path in (
            ("POST", "/v1/jobs/run-due"),
            ("GET", "/v1/runs"),
            ("POST", "/v1/compact"),
            ("GET", "/v1/export"),
            ("GET", "/v1/backup"),
            ("POST", "/v1/import"),
            ("POST", "/v1/check"),
            ("POST", "/v1/reembed"),
        ):
            assert client.request(method, path).status_code == 403, path
    assert len(folder.home.agent("ana").list()) == 2
    assert len(folder.home.agent("ana", "other").list()) == 1


def test_files_and_memory_are_brought_in_step(folder: Server, tmp_path: Path) -> None:
    vault = tmp_path / "home" / "workspaces" / "default" / "vault"
    folder.home.agent("ben").remember("Ben reviews every migration.", category="decisions")
    folder.home.flush()
    (vault / "ben" / "decisions.md").unlink()
    ana = {"agent": "ana"}
    assert folder.client.post("/v1/vault/sync", params=ana).json()["problems"] == []
    assert (vault / "ana").is_dir()
    assert not (vault / "ben" / "decisions.md").exists()
    received = folder.client.post("/v1/vault/sync", params=ana, json={"everyone": True}).json()
    assert received["written"] == ["ben/decisions.md"]

    with (vault / "ana" / "decisions.md").open("a") as file:
        file.write("\n## 2026-03-02T10:00 · #ops\n\nThe harbour opens at eight.\n")
    assert folder.client.post("/v1/vault/sync", params=ana).json()["added"] == 1
    assert [one.tags for one in folder.home.agent("ana").list() if "harbour" in one.content] == [("ops",)]

    text = folder.client.get("/v1/vault/instructions", params=ana).json()["instructions"]
    assert "ana/{decisions,lessons,tasks,handoffs}.md" in text
    assert folder.client.get("/v1/vault/history", params=ana).json() == {"commits": [], "diff": None}
    assert folder.client.post("/v1/vault/checkpoint", params=ana).json()["skipped"] is True
    assert folder.client.post("/v1/vault/migrate").json()["format"] == "memory-folder"


def test_one_agent_may_not_bring_the_files_of_all_in_step(folder: Server) -> None:
    _, secret = folder.home.tokens.create("ana", workspace="default", agents=["ana"])
    with folder.as_(secret) as client:
        assert client.post("/v1/vault/sync").status_code == 200
        assert client.post("/v1/vault/sync", json={"everyone": True}).status_code == 403
        assert client.post("/v1/vault/migrate").status_code == 403
        assert client.get("/v1/vault/history", params={"agent": "ben"}).status_code == 403


def test_a_single_file_has_no_vault(server: Server) -> None:
    answer = server.client.post("/v1/vault/sync")
    assert answer.status_code == 409
    assert "[vault] folder" in answer.json()["detail"]
