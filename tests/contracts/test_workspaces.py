"""Where workspaces are stored, and deleting one: nothing of it is left, and nothing else goes with it."""

from pathlib import Path

import pytest

import recollect


def test_deleting_a_workspace_forgets_what_was_answered_about_it(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home:
        home.agent("ana", "red").remember("a crimson secret")
        assert home.requests.begin("key", "POST /v1/entries") is None
        home.requests.finish("key", 201, "a crimson secret")
        home.delete_workspace("red")
    assert all(b"crimson" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_file_with_tokens_is_not_deleted_as_a_workspace(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        home.agent("ana").remember("kept")
        token, _ = home.tokens.create("server", right="admin")
        with pytest.raises(recollect.Conflict, match="all of them would be deleted; revoke the tokens first"):
            home.delete_workspace("default")
        assert len(home.agent("ana").list()) == 1
        home.tokens.revoke(token.id)
        home.delete_workspace("default")
        assert home.agent("ana").list() == []


@pytest.mark.parametrize("location", ["memory.db", "home"])
def test_a_relative_location_and_vault_stay_where_they_were_when_the_working_directory_changes(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    monkeypatch.chdir(before)
    with recollect.open(location, vault="vault") as home:
        home.agent("ana").remember("We deploy on Tuesdays", name="deploys", category="decisions")
        monkeypatch.chdir(after)
        home.agent("ben").remember("Ben was here")
        home.flush()
        assert home.agent("ana").get("deploys").content == "We deploy on Tuesdays"
        assert "We deploy on Tuesdays" in (before / "vault/ana/decisions.md").read_text()
    assert list(after.iterdir()) == []
