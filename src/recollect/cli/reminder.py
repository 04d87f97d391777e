"""Reminders from the command line."""

from typing import Annotated

import typer

from recollect.cli.invocation import Invocation
from recollect.cli.options import LimitOption, examples, for_agent, group
from recollect.cli.output import columns, document, line, remark, safe
from recollect.clock import iso
from recollect.errors import Conflict, NotFound
from recollect.model.reminder import Reminder

__all__ = ["app"]

app = group("Add, list, claim and cancel reminders.")

ReminderId = Annotated[str, typer.Argument(metavar="ID", help="Id of the reminder.", show_default=False)]


@app.command(epilog=examples("reminder add 2h 'look at the deployment'", "reminder add 2026-12-24T18:00:00Z 'gifts'"))
@for_agent
def add(
    call: Invocation,
    at: Annotated[
        str, typer.Argument(metavar="TIME", help="Due time: RFC 3339, or 10m, 2h, 1d from now.", show_default=False)
    ],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="Text of the reminder.", show_default=False)],
    session_id: Annotated[
        str | None, typer.Option("--session-id", metavar="ID", help="Conversation it belongs to.")
    ] = None,
    plugin: Annotated[str | None, typer.Option("--plugin", metavar="NAME", help="Plugin that delivers it.")] = None,
    recipient: Annotated[
        str | None, typer.Option("--recipient", metavar="NAME", help="Recipient of the message.")
    ] = None,
) -> None:
    """Add a reminder."""
    with call.memory() as mem:
        made = mem.reminders.add(at, message, session_id=session_id, plugin=plugin, recipient=recipient)
    if call.json:
        document(made)
    else:
        typer.echo(f"added {made.id}, due at {iso(made.due_at)}")


@app.command(name="list", epilog=examples("reminder list", "reminder list --all"))
@for_agent
def list_(
    call: Invocation,
    everything: Annotated[bool, typer.Option("--all", help="Include delivered reminders.")] = False,
    limit: LimitOption = 100,
) -> None:
    """List reminders by due time."""
    with call.memory() as mem:
        found = mem.reminders.list(include_delivered=everything, limit=limit)
    _show(call, found, "no pending reminders")


@app.command(epilog=examples("reminder due"))
@for_agent
def due(call: Invocation, limit: LimitOption = 32) -> None:
    """List due reminders that no process has claimed. Read-only."""
    with call.memory() as mem:
        found = mem.reminders.due(limit)
    _show(call, found, "no reminder is due")


@app.command(epilog=examples("reminder claim"))
@for_agent
def claim(call: Invocation, limit: LimitOption = 32) -> None:
    """Claim due reminders and mark them as delivered. The caller delivers them."""
    with call.memory() as mem:
        found = [one for one in mem.reminders.claim(limit) if mem.reminders.deliver(one)]
    _show(call, found, "no reminder is due")


@app.command()
@for_agent
def cancel(call: Invocation, reminder: ReminderId) -> None:
    """Cancel a pending reminder."""
    with call.memory() as mem:
        if not mem.reminders.cancel(reminder):
            raise NotFound(f"no pending reminder {reminder!r}; `recollect reminder list` lists them")
    _done(call, "cancelled", reminder)


@app.command()
@for_agent
def deliver(call: Invocation, reminder: ReminderId) -> None:
    """Mark a reminder as delivered."""
    with call.memory() as mem:
        if not mem.reminders.deliver(reminder):
            raise Conflict(
                f"reminder {reminder!r} does not exist, was delivered already, or is claimed by another process"
            )
    _done(call, "delivered", reminder)


def _done(call: Invocation, verb: str, reminder: str) -> None:
    if call.json:
        document({"id": reminder})
    else:
        typer.echo(f"{verb} {safe(reminder)}")


def _show(call: Invocation, found: list[Reminder], nothing: str) -> None:
    if call.json:
        document(found)
    elif not found:
        remark(nothing)
    else:
        header = ("due", "for", "id", "message")
        columns(header, [(iso(one.due_at), safe(one.recipient or ""), one.id, line(one.message)) for one in found])
