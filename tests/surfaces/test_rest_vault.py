"""The vault over HTTP: its files and their history, and what is told of the machine that they are on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from surfaces.server import Server, serving, settings

import recollect


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
            told = client.get("/v1/vault/history", params={"diff": True}).json()
        assert [one["subject"] for one in told["commits"]] == ["checkpoint: second by ana", "checkpoint: first by ana"]
        assert "+the second note of ana" in told["diff"]
        assert "bob" not in str(told)


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
    (tmp_path / "home" / "workspaces" / "other" / "vault").mkdir(parents=True)
    (tmp_path / "home" / "workspaces" / "other" / "vault" / ".vault").write_text("no folder")
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


def test_what_this_server_has_not_is_told_to_everybody(guarded: Server) -> None:
    with guarded.as_(token(guarded, "ana", "read")) as client:
        answer = client.post("/v1/recall", json={"query": "x", "mode": "vector"})
        assert answer.status_code == 409
        assert "no embedder" in answer.json()["detail"]
