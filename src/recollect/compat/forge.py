"""The MCP tools of the forge agent runtime: `forge_reminder` and `forge_memory_checkpoint`."""

from typing import Annotated, Literal, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.clock import iso
from recollect.errors import NotFound
from recollect.mcp.request_context import request_context
from recollect.mcp.schemas import STRICT, Line, LongText
from recollect.mcp.tool import Actions, checked, tool
from recollect.model.reminder import Reminder

__all__ = ["TOOLS", "CheckpointResult", "ReminderResult", "ReminderView", "forge_memory_checkpoint", "forge_reminder"]

REMINDER: Actions = {
    "add": (("at", "message"), ("recipient", "plugin", "session_id")),
    "list": ((), ("include_delivered", "limit")),
    "due": ((), ("limit",)),
    "done": (("id",), ()),
    "cancel": (("id",), ()),
}


@with_config(STRICT)
class ReminderView(TypedDict):
    """A reminder."""

    id: str
    message: str
    due_at: str
    delivered_at: NotRequired[str]
    recipient: NotRequired[str]
    plugin: NotRequired[str]
    session_id: NotRequired[str]


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
    action: Annotated[Literal["add", "list", "due", "done", "cancel"], Field(description="What to do.")] = "add",
    *,
    at: Annotated[
        Line | None,
        Field(description="For add: after a time such as 10m, 2h or 1d, or RFC 3339: 2026-03-16T14:32:00Z."),
    ] = None,
    message: Annotated[LongText | None, Field(description="For add: the text to deliver.")] = None,
    recipient: Annotated[Line | None, Field(description="For add: the recipient, if not the user.")] = None,
    plugin: Annotated[Line | None, Field(description="For add: the plugin or channel that delivers it.")] = None,
    session_id: Annotated[
        Line | None, Field(description="For add: the session it belongs to; by default this one.")
    ] = None,
    id: Annotated[Line | None, Field(description="For done and cancel: its id.")] = None,
    include_delivered: Annotated[bool | None, Field(description="For list: also delivered ones.")] = None,
    limit: Annotated[
        int | None, Field(ge=1, le=100, description="For list and due: maximum number; default 20.")
    ] = None,
) -> ReminderResult:
    """Reminders: add one, list pending ones, see which are due, mark one as delivered (done), cancel one.

    Use `add` when the user asks to be reminded or a task has a date. Call `due` at the beginning of a session, tell the
    user, and mark each one as `done`.

    Example: {"at": "2h", "message": "Check whether the deployment went through"}
    """
    checked(
        REMINDER,
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
        return {"ok": True, "reminders": [_view(one) for one in waiting]}
    if action == "due":
        return {"ok": True, "reminders": [_view(one) for one in request_context().memory.reminders.due(limit or 20)]}
    reminders = request_context().writing().reminders
    if action == "add":
        session = session_id or request_context().current()
        made = reminders.add(str(at), str(message), session_id=session, plugin=plugin, recipient=recipient)
        return {"ok": True, "reminder": _view(made)}
    if not (reminders.deliver(str(id)) if action == "done" else reminders.cancel(str(id))):
        raise NotFound(f"no pending reminder {id!r}")
    return {"ok": True}


def forge_memory_checkpoint(
    note: Annotated[Line | None, Field(description="The reason, in a few words.")] = None,
) -> CheckpointResult:
    """Commit the current state of the memory's files to their git repository, so that it can be restored.

    Use it before a large clean-up of notes and after important work. Skipped if nothing has changed.

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


def _view(one: Reminder) -> ReminderView:
    made: ReminderView = {"id": one.id, "message": one.message, "due_at": iso(one.due_at)}
    if one.delivered_at is not None:
        made["delivered_at"] = iso(one.delivered_at)
    if one.recipient:
        made["recipient"] = one.recipient
    if one.plugin:
        made["plugin"] = one.plugin
    if one.session_id:
        made["session_id"] = one.session_id
    return made


TOOLS: list[Tool] = [
    tool(forge_reminder, title="Reminders", destroys=True),
    tool(forge_memory_checkpoint, title="Checkpoint of the files", repeats=True),
]
