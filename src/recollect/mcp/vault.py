"""The tools for the vault's git repository: `forge_memory_checkpoint` and `memory_history`."""

from typing import Annotated, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.clock import iso
from recollect.mcp.request_context import seat
from recollect.mcp.schemas import STRICT, Line
from recollect.mcp.tool import tool

__all__ = ["TOOLS", "CheckpointResult", "CommitView", "HistoryResult", "forge_memory_checkpoint", "memory_history"]


@with_config(STRICT)
class CheckpointResult(TypedDict):
    """What forge_memory_checkpoint gives: the commit, or why there was none."""

    ok: bool
    skipped: bool
    oid: NotRequired[str]
    subject: NotRequired[str]
    reason: NotRequired[str]


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


def forge_memory_checkpoint(
    note: Annotated[Line | None, Field(description="Why, in a few words.")] = None,
) -> CheckpointResult:
    """Commit the present state of the memory's files to their git repository, so that there is a way back to it.

    Use it before a large clean-up of notes and after important work. When nothing has changed, it says so.

    Example: {"note": "before merging the deployment notes"}
    """
    seat().writing()
    caller = seat().caller
    made = caller.home.vault(caller.workspace).checkpoint(caller.agent, note)
    result: CheckpointResult = {"ok": True, "skipped": made.skipped}
    if made.oid:
        result["oid"] = made.oid
    if made.subject:
        result["subject"] = made.subject
    if made.reason:
        result["reason"] = made.reason
    return result


def memory_history(
    limit: Annotated[int, Field(ge=1, le=100, description="The most commits.")] = 10,
    include_diff: Annotated[
        bool, Field(description="Also what changed from the oldest to the newest of them.")
    ] = False,
) -> HistoryResult:
    """The history of the memory's files in git: the newest commits and, if asked for, a unified diff.

    Use it to see how the memory came to be as it is, or what changed lately. For the history of one single note use
    `memory_note` with the action `history`.

    Example: {"limit": 5, "include_diff": true}
    """
    caller = seat().caller
    found = caller.home.vault(caller.workspace).history(caller.agent, limit, include_diff)
    commits: list[CommitView] = [
        {
            "oid": one.oid, "subject": one.subject, "body": one.body, "author": one.author,
            "at": iso(one.timestamp_unix * 1_000),
        }
        for one in found.commits
    ]  # fmt: skip
    return (
        {"ok": True, "commits": commits} if found.diff is None else {"ok": True, "commits": commits, "diff": found.diff}
    )


TOOLS: list[Tool] = [
    tool(forge_memory_checkpoint, title="Checkpoint of the files", repeats=True),
    tool(memory_history, title="History of the files", reads=True),
]
