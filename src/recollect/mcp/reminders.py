"""The tool `forge_reminder`: reminders of the connected agent."""

from typing import Annotated, Literal, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.errors import NotFound
from recollect.mcp.request_context import seat
from recollect.mcp.schemas import STRICT, Line, ReminderView, Said, reminder
from recollect.mcp.tool import Actions, checked, tool

__all__ = ["TOOLS", "ReminderResult", "forge_reminder"]

REMINDER: Actions = {
    "add": (("at", "message"), ("recipient", "plugin", "session_id")),
    "list": ((), ("include_delivered", "limit")),
    "due": ((), ("limit",)),
    "done": (("id",), ()),
    "cancel": (("id",), ()),
}


@with_config(STRICT)
class ReminderResult(TypedDict):
    """What forge_reminder gives."""

    ok: bool
    reminder: NotRequired[ReminderView]
    reminders: NotRequired[list[ReminderView]]


def forge_reminder(
    action: Annotated[Literal["add", "list", "due", "done", "cancel"], Field(description="What to do.")] = "add",
    at: Annotated[
        Line | None,
        Field(description="For add: after a time such as 10m, 2h or 1d, or RFC 3339: 2026-03-16T14:32:00Z."),
    ] = None,
    message: Annotated[Said | None, Field(description="For add: what to say then.")] = None,
    recipient: Annotated[Line | None, Field(description="For add: who is reminded, if not the user.")] = None,
    plugin: Annotated[Line | None, Field(description="For add: the plugin or channel that delivers it.")] = None,
    session_id: Annotated[
        Line | None, Field(description="For add: the session it belongs to; this one's if left out.")
    ] = None,
    id: Annotated[Line | None, Field(description="For done and cancel: which one.")] = None,
    include_delivered: Annotated[bool | None, Field(description="For list: also those that were told.")] = None,
    limit: Annotated[int | None, Field(ge=1, le=100, description="For list and due: the most; 20 if left out.")] = None,
) -> ReminderResult:
    """Reminders: add one for later, list those that wait, see which are due, mark one as told (done), cancel one.

    Use `add` when the user asks to be reminded or a task has a date. Ask for `due` at the beginning of a session, tell
    the user, and mark each one as `done`.

    Example: {"at": "2h", "message": "Check whether the deployment went through"}
    """
    checked(REMINDER, action, {
        "at": at, "message": message, "id": id, "include_delivered": include_delivered, "limit": limit,
        "recipient": recipient, "plugin": plugin, "session_id": session_id,
    })  # fmt: skip
    if action == "list":
        waiting = seat().memory.reminders.list(include_delivered=bool(include_delivered), limit=limit or 20)
        return {"ok": True, "reminders": [reminder(one) for one in waiting]}
    if action == "due":
        return {"ok": True, "reminders": [reminder(one) for one in seat().memory.reminders.due(limit or 20)]}
    reminders = seat().writing().reminders
    if action == "add":
        session = session_id or seat().current()
        made = reminders.add(str(at), str(message), session_id=session, plugin=plugin, recipient=recipient)
        return {"ok": True, "reminder": reminder(made)}
    if not (reminders.deliver(str(id)) if action == "done" else reminders.cancel(str(id))):
        raise NotFound(f"no reminder {id!r} waits")
    return {"ok": True}


TOOLS: list[Tool] = [tool(forge_reminder, title="Reminders", destroys=True)]
