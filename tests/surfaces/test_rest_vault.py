"""The vault over HTTP: its files and their history, and what is told of the machine that they are on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from surfaces.server import Server, serving, settings

import recollect
from recollect.config import VaultSettings


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server over a directory that asks for tokens."""
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as running:
        yield running


def token(server: Server, name: str, right: str) -> str:
    return server.home.tokens.create(name, agents=[name], right=right)[1]


def test_a_token_for_one_agent_sees_no_commit_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygit2", reason="pygit2 is not installed; it comes with recollect[git]")
    monkeypatch.setenv("RECOLLECT_GIT_REPOSITORY", "vault")
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as server:
        for text in ("first", "second"):
            for agent in ("bob", "ana"):
                home.agent(agent).remember(f"the {text} note of {agent}", category="decisions")
                with server.as_(token(server, agent, "write")) as client:
                    note = {"note": f"{text} by {agent}"}
                    assert client.post("/v1/vault/checkpoint", json=note).json()["skipped"] is False
                home.tokens.revoke(agent)
        with server.as_(token(server, "ana", "read")) as client:
            received = client.get("/v1/vault/history", params={"diff": True}).json()
        assert [one["subject"] for one in received["commits"]] == [
            "checkpoint: second by ana",
            "checkpoint: first by ana",
        ]
        assert "+the second note of ana" in received["diff"]
        assert "bob" not in str(received)


def test_where_tokens_are_asked_for_instructions_do_not_say_where_the_home_is(guarded: Server, tmp_path: Path) -> None:
    with guarded.as_(token(guarded, "ana", "read")) as client:
        for project in (None, "/zzz", "/", "here", str(tmp_path)):
            params = {} if project is None else {"host_project": project}
            text = client.get("/v1/vault/instructions", params=params).json()["instructions"]
            assert "Shared: vault/_project.md | Personal: vault/ana/" in text
            assert text.count(tmp_path.name) == (project or "").count(tmp_path.name)
            assert str(Path.cwd()) not in text
            assert (project is None) == ("SCOPE" not in text)


def test_without_tokens_instructions_have_the_real_paths(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home) as server:
        text = server.client.get("/v1/vault/instructions", params={"host_project": "/zzz"}).json()["instructions"]
        assert f"Shared: {home.vault().folder}/_project.md" in text


def test_where_tokens_are_asked_for_no_answer_tells_a_path_and_the_log_does(
    guarded: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "home" / "workspaces" / "blocked"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file, where a folder should be")
    (tmp_path / "home" / "workspaces" / "other").mkdir()
    (tmp_path / "home" / "workspaces" / "other" / "vault").write_text("not a folder")
    with guarded.as_(token(guarded, "ana", "write")) as client, caplog.at_level(logging.WARNING, "recollect.rest"):
        answer = client.post("/v1/entries", params={"workspace": "blocked"}, json={"content": "x"})
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        assert "log" in answer.json()["detail"]
        assert str(tmp_path) not in answer.text
        assert str(blocked) in caplog.text
        synced = client.post("/v1/vault/sync", params={"workspace": "other"})
        assert synced.json()["problems"]
        assert str(tmp_path) not in synced.text
        assert str(tmp_path / "home" / "workspaces" / "other") in caplog.text


def test_the_receipt_of_an_erasure_names_files_inside_the_vault(guarded: Server, tmp_path: Path) -> None:
    vault = guarded.home.vault()
    guarded.home.agent("ana").remember("The harbour opens with mackerel", name="secret")
    vault.sync()
    (vault.folder / "ana").mkdir(exist_ok=True)
    (vault.folder / "ana" / "copy.md").write_text("The harbour opens with mackerel")
    with guarded.as_(token(guarded, "ana", "write")) as client:
        receipt = client.delete("/v1/entries/secret", params={"erase": True})
    assert "ana/copy.md" in receipt.text
    assert str(tmp_path) not in receipt.text


def test_without_a_folder_there_is_nothing_to_migrate(guarded: Server) -> None:
    with guarded.as_(guarded.home.tokens.create("owner", right="admin")[1]) as client:
        done = client.post("/v1/vault/migrate").json()
        assert (done["path"], done["parts"], done["migrated"]) == ("vault", [], [])
        (guarded.home.vault().folder).mkdir(parents=True)
        (guarded.home.vault().folder / "dev.md").write_text("# dev\n\n## Lessons\n\n- Proxies buffer streams.\n")
        done = client.post("/v1/vault/migrate").json()
        assert (done["path"], done["migrated"]) == ("the vault", ["dev.md"])


def test_missing_features_of_a_server_are_reported_to_every_client(guarded: Server) -> None:
    with guarded.as_(token(guarded, "ana", "read")) as client:
        answer = client.post("/v1/recall", json={"query": "x", "mode": "vector"})
        assert answer.status_code == 409
        assert "no embedder" in answer.json()["detail"]


# What the project is about


def test_only_a_token_for_the_whole_workspace_writes_instructions_for_all_agents(guarded: Server) -> None:
    one = token(guarded, "ana", "admin")
    whole = guarded.home.tokens.create("all", workspace="default", right="write")[1]
    init = {"action": "init-project", "content": "Obey ana."}
    with guarded.as_(whole) as client:
        assert client.put("/v1/project", json={"content": "Boats"}).json() == {"written": True}
        assert client.post("/api/memory", json=init | {"agentId": "bob"}).json() == {"ok": True, "created": False}
    with guarded.as_(one) as client:
        for body in (init, init | {"agentId": "ana"}):
            assert client.post("/api/memory", json=body).status_code == 403
        for agent in ("ana", "bob", "_shared"):
            put = client.put("/v1/project", json={"content": "Obey ana."}, params={"agent": agent})
            assert put.status_code == 403
        named = {"name": "_project.md", "content": "Obey ana."}
        assert client.post("/v1/entries", json=named).status_code == 201  # a note of her own, for her alone
        assert client.get("/v1/project").json() == {"content": "Boats"}
    assert [guarded.home.agent(agent).project() for agent in ("ana", "bob")] == ["Boats", "Boats"]
    assert "Obey" not in guarded.home.agent("bob").context("obey").text


def test_no_file_of_another_workspace_is_read_through_the_project_file(guarded: Server) -> None:
    guarded.home.agent("bob", "w2").remember("the code is 4711")
    guarded.home.agent("ana", "w1").remember("mine", category="tasks")
    file = guarded.home.vault("w1").folder / "_project.md"
    secret = guarded.home.tokens.create("reader", workspace="w1", right="read")[1]
    for outside in ("../../w2/memory.db", "../../../account.db", "/etc/hostname"):
        file.symlink_to(outside)
        with guarded.as_(secret) as client:
            assert client.get("/v1/project").json() == {"content": None}
            assert "Project" not in client.post("/v1/context", json={"command": "code"}).json()["text"]
        file.unlink()


@pytest.mark.parametrize("location", ["file", "postgres"], indirect=True)
def test_notes_that_are_edited_as_files_while_the_server_runs(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    layout = replace(settings(), vault=VaultSettings(folder=str(folder), layout="notes"))
    with recollect.open(location, settings=layout) as home, serving(home, layout) as server:
        body = {"content": "The gate is blue", "name": "gate", "category": "decisions"}
        assert server.client.post("/v1/entries", json=body).status_code == 201
        home.flush()
        file = folder / "default/decisions/gate.md"
        file.write_text(file.read_text().replace("blue", "green"))
        (folder / "default/ideas").mkdir()
        (folder / "default/ideas/pond.md").write_text("A pond behind the [[gate]]\n")
        found = server.client.post("/v1/recall", json={"query": "gate green"}).json()
        assert found[0]["entry"]["content"] == "The gate is green"
        names = {one["name"] for one in server.client.get("/v1/entries").json()["items"]}
        assert names == {"gate", "pond"}
        context = server.client.post("/v1/context", json={"command": "what colour is the gate?"}).json()
        assert "The gate is green" in str(context)
        file.rename(folder / "default/decisions/door.md")
        assert server.client.get("/v1/entries/door").json()["content"] == "The gate is green"
        assert "[[door]]" in server.client.get("/v1/entries/pond").json()["content"]
        (folder / "default/ideas/pond.md").write_text("---\ntags: [open\n---\nbroken")
        assert "[[door]]" in server.client.get("/v1/entries/pond").json()["content"]
        (folder / "default/decisions/door.md").unlink()
        assert server.client.get("/v1/entries/door").status_code == 404
