"""The tool for the history of the vault's git repository: `memory_history`."""

from typing import Annotated, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.clock import iso
from recollect.mcp.request_context import request_context
from recollect.mcp.schemas import STRICT
from recollect.mcp.tool import tool

__all__ = ["TOOLS", "CommitView", "HistoryResult", "memory_history"]


@with_config(STRICT)
class CommitView(TypedDict):
    """One commit."""

    oid: str
    subject: str
    body: str
    author: str
    at: str


@with_config(STRICT)
class HistoryResult(TypedDict):
    """What memory_history gives, newest commit first."""

    ok: bool
    commits: list[CommitView]
    diff: NotRequired[str]


def memory_history(
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
    include_diff: bool = False,
) -> HistoryResult:
    """What changed lately in the memory's files: the newest git commits, and a unified diff over them if asked for. The
    history of one note is in `memory_read`.

    Example: {"limit": 5, "include_diff": true}
    """
    caller = request_context().caller
    found = caller.home.vault(caller.workspace).history(caller.agent, limit, include_diff)
    commits: list[CommitView] = [
        {
            "oid": one.oid,
            "subject": one.subject,
            "body": one.body,
            "author": one.author,
            "at": iso(one.timestamp_unix * 1_000),
        }
        for one in found.commits
    ]
    return (
        {"ok": True, "commits": commits} if found.diff is None else {"ok": True, "commits": commits, "diff": found.diff}
    )


TOOLS: list[Tool] = [
    tool(memory_history, title="History of the files", reads=True),
]
