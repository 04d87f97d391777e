"""The workspace of an MCP session comes from the folders that its client names."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ListRootsResult, Root
from surfaces.command import Command, environment
from surfaces.mcp_client import OLD, Agent

import recollect

pytestmark = OLD


class Projects:
    """Two projects of a user, and a program that starts servers in the user's home folder."""

    def __init__(self, folder: Path) -> None:
        self.user, self.home = folder / "user", folder / "user" / ".recollect"
        for name in ("shop", "boats"):
            (self.user / name / ".git").mkdir(parents=True)
        self.roots: list[str] = []

    async def listed(self, context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=uri) for uri in self.roots])  # type: ignore[arg-type]

    def client(self, *, roots: bool = True, mode: str = "legacy", workspace: str = ".") -> Client:
        words = ["-m", "recollect", "mcp", "--home", str(self.home), "--workspace", workspace]
        environ = environment(HOME=str(self.user), XDG_RUNTIME_DIR=str(self.user))
        server = StdioServerParameters(command=sys.executable, args=words, env=environ, cwd=str(self.user))
        return Client(stdio_client(server), mode=mode, list_roots_callback=self.listed if roots else None)

    def stored(self) -> dict[str, list[str]]:
        with recollect.open(self.home) as home:
            return {name: [one.content for one in home.agent("default", name).list()] for name in home.workspaces()}


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    return Projects(tmp_path)


def remember(projects: Projects, text: str, folders: Sequence[str], **options: object) -> None:
    projects.roots = [(projects.user / name).as_uri() for name in folders]

    async def live() -> None:
        async with projects.client(**options) as client:  # type: ignore[arg-type]
            await Agent(client)("memory", action="remember", content=text)

    asyncio.run(live())


def test_each_project_has_its_own_memory_although_the_server_runs_in_the_home_folder(projects: Projects) -> None:
    remember(projects, "Prices include tax", ["shop"])
    remember(projects, "The ferry leaves at nine", ["boats", "shop"])
    assert projects.stored() == {"shop": ["Prices include tax"], "boats": ["The ferry leaves at nine"]}
    there = {"HOME": str(projects.user), "XDG_RUNTIME_DIR": str(projects.user)}
    for name, text in (("shop", "Prices include tax"), ("boats", "The ferry leaves at nine")):
        received = Command(projects.user / name)(
            "note", "list", "--home", str(projects.home), "--workspace", ".", **there
        )
        assert text in received.text
        assert len(received.lines) == 2


def test_the_folder_is_the_fallback(projects: Projects) -> None:
    remember(projects, "without roots", [], roots=False)
    remember(projects, "an empty list", [])
    remember(projects, "of the new revision", ["shop"], mode="2026-07-28")
    assert sorted(projects.stored()["default"]) == ["an empty list", "of the new revision", "without roots"]


def test_a_workspace_that_is_named_is_used_whatever_the_roots(projects: Projects) -> None:
    remember(projects, "Prices include tax", ["shop"], workspace="team")
    assert projects.stored() == {"team": ["Prices include tax"]}


def test_a_session_follows_its_client_into_another_project(projects: Projects) -> None:
    projects.roots = [(projects.user / "shop").as_uri()]

    async def live() -> None:
        async with projects.client() as client:
            agent = Agent(client)
            await agent("memory", action="remember", content="Prices include tax")
            projects.roots = [(projects.user / "boats").as_uri()]
            await client.send_roots_list_changed()
            await agent("memory", action="remember", content="The ferry leaves at nine")
            found = await agent("memory", action="recall", query="prices")
            assert "Prices include tax" not in str(found)

    asyncio.run(live())
    assert projects.stored() == {"shop": ["Prices include tax"], "boats": ["The ferry leaves at nine"]}
