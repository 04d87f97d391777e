"""The MCP tools of the forge agent runtime: `forge_reminder` and `forge_memory_checkpoint`."""

from typing import Annotated, Literal, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.errors import NotFound
from recollect.mcp.request_context import request_context
from recollect.mcp.schemas import STRICT, Line, LongText, ReminderView, reminder_view
from recollect.mcp.tool import Actions, checked, tool

__all__ = ["TOOLS", "CheckpointResult", "ReminderResult", "forge_memory_checkpoint", "forge_reminder"]

REMINDER: Actions = {
    "add": (("at", "message"), ("recipient", "plugin", "session_id")),
    "done": (("id",), ()),
    "cancel": (("id",), ()),
}
UNLISTED_REMINDER: Actions = {"list": ((), ("include_delivered", "limit")), "due": ((), ("limit",))}


@with_config(STRICT)
class ReminderResult(TypedDict):
    """Result of forge_reminder."""

    ok: bool
    reminder: NotRequired[ReminderView]
    reminders: NotRequired[list[ReminderView]]


@with_config(STRICT)
class CheckpointResult(TypedDict):
    """Result of forge_memory_checkpoint: the commit, or why it was skipped."""

    ok: bool
    skipped: bool
    oid: NotRequired[str]
    subject: NotRequired[str]
    reason: NotRequired[str]


def forge_reminder(
    action: Literal["add", "done", "cancel", "list", "due"] = "add",
    *,
    at: Annotated[Line | None, Field(description="10m, 2h, 1d, or RFC 3339.")] = None,
    message: LongText | None = None,
    recipient: Line | None = None,
    plugin: Line | None = None,
    session_id: Line | None = None,
    id: Line | None = None,
    include_delivered: bool | None = None,
    limit: Annotated[int | None, Field(ge=1, le=100)] = None,
) -> ReminderResult:
    """Add a reminder when the user asks or a task has a date, cancel it, or mark it as delivered (done). `memory_read`
    lists them; tell the user at the beginning of a session which are due.

    Example: {"action": "add", "at": "2h", "message": "Check whether the deployment went through"}
    """
    checked(
        {**REMINDER, **UNLISTED_REMINDER},
        action,
        at=at,
        message=message,
        id=id,
        include_delivered=include_delivered,
        limit=limit,
        recipient=recipient,
        plugin=plugin,
        session_id=session_id,
    )
    if action == "list":
        waiting = request_context().memory.reminders.list(include_delivered=bool(include_delivered), limit=limit or 20)
        return {"ok": True, "reminders": [reminder_view(one) for one in waiting]}
    if action == "due":
        return {
            "ok": True,
            "reminders": [reminder_view(one) for one in request_context().memory.reminders.due(limit or 20)],
        }
    reminders = request_context().writing().reminders
    if action == "add":
        session = session_id or request_context().current()
        made = reminders.add(str(at), str(message), session_id=session, plugin=plugin, recipient=recipient)
        return {"ok": True, "reminder": reminder_view(made)}
    if not (reminders.deliver(str(id)) if action == "done" else reminders.cancel(str(id))):
        raise NotFound(f"no pending reminder {id!r}")
    return {"ok": True}


def forge_memory_checkpoint(
    note: Annotated[Line | None, Field(description="The reason.")] = None,
) -> CheckpointResult:
    """Commit the memory's files to git, before a large clean-up of notes and after important work. Skipped if nothing
    has changed since the last commit.

    Example: {"note": "before merging the deployment notes"}
    """
    request_context().writing()
    caller = request_context().caller
    made = caller.home.vault(caller.workspace).checkpoint(caller.agent, note)
    result: CheckpointResult = {"ok": True, "skipped": made.skipped}
    if made.oid:
        result["oid"] = made.oid
    if made.subject:
        result["subject"] = made.subject
    if made.reason:
        result["reason"] = made.reason
    return result


TOOLS: list[Tool] = [
    tool(forge_reminder, title="Reminders", actions=REMINDER, destroys=True),
    tool(forge_memory_checkpoint, title="Checkpoint of the files", repeats=True),
]
