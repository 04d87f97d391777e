"""The tools on time: reminders, checkpoints of the files, and their history."""

from typing import Annotated, Literal, NotRequired

from mcp.server.mcpserver.tools.base import Tool
from pydantic import Field, with_config
from typing_extensions import TypedDict

from recollect.clock import iso
from recollect.errors import NotFound
from recollect.mcp.caller import seat
from recollect.mcp.shapes import STRICT, Line, ReminderView, Said, reminder
from recollect.mcp.tool import Actions, checked, tool

__all__ = [
    "TOOLS",
    "CheckpointResult",
    "CommitView",
    "HistoryResult",
    "ReminderResult",
    "forge_memory_checkpoint",
    "forge_reminder",
    "memory_history",
]

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
    tool(forge_reminder, title="Reminders", destroys=True),
    tool(forge_memory_checkpoint, title="Checkpoint of the files", repeats=True),
    tool(memory_history, title="History of the files", reads=True),
]
