"""Reminders and checkpoints of the vault over MCP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from surfaces.mcp_client import Agent, run_story, server

import recollect
from recollect.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with recollect.open(tmp_path / "home") as opened:
        yield opened


def test_reminders_are_added_seen_when_due_and_marked(home: Home) -> None:
    async def story(agent: Agent) -> None:
        later = (await agent("forge_reminder", action="add", at="2h", message="look again"))["reminder"]
        past = (await agent("forge_reminder", action="add", at="2026-01-01T00:00:00Z", message="overdue"))["reminder"]
        assert past["due_at"] == "2026-01-01T00:00:00Z"
        assert [one["id"] for one in (await agent("forge_reminder", action="due"))["reminders"]] == [past["id"]]
        assert await agent("forge_reminder", action="done", id=past["id"]) == {"ok": True}
        assert (await agent("forge_reminder", action="due"))["reminders"] == []
        assert [one["id"] for one in (await agent("forge_reminder", action="list"))["reminders"]] == [later["id"]]
        assert await agent("forge_reminder", action="cancel", id=later["id"]) == {"ok": True}
        assert "no pending reminder" in await agent.refused("forge_reminder", action="cancel", id=later["id"])

    run_story(server(home), story)


def test_the_files_are_committed_and_their_history_is_shown(tmp_path: Path) -> None:
    settings = recollect.Settings(git=recollect.config.GitSettings(repository="agent"))
    with recollect.open(tmp_path / "home", settings=settings) as home:
        mem = home.agent("ana")
        mem.remember("We chose SQLite", name="db", category="decisions")
        home.vault().sync()

        async def story(agent: Agent) -> None:
            made = await agent("forge_memory_checkpoint", note="before the clean-up")
            assert (made["skipped"], made["subject"]) == (False, "checkpoint: before the clean-up")
            again = await agent("forge_memory_checkpoint")
            assert again == {"ok": True, "skipped": True, "reason": "nothing changed since the last commit"}
            await agent("memory_note", action="write", target="db", content="We chose PostgreSQL")
            await agent("forge_memory_checkpoint", note="after")
            history = await agent("memory_history", limit=2, include_diff=True)
            assert [one["subject"] for one in history["commits"]] == ["checkpoint: after", made["subject"]]
            assert "+We chose PostgreSQL" in history["diff"]
            assert "diff" not in await agent("memory_history")

        run_story(server(home), story)


def test_without_git_a_checkpoint_says_what_is_missing(home: Home) -> None:
    async def story(agent: Agent) -> None:
        made = await agent("forge_memory_checkpoint")
        assert made["skipped"] is True
        assert "git is off" in made["reason"]
        assert await agent("memory_history") == {"ok": True, "commits": []}

    run_story(server(home), story)
