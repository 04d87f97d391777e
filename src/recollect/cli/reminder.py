"""Reminders from the command line."""

from typing import Annotated

import typer

from recollect.cli.call import Call, for_agent
from recollect.cli.content import examples
from recollect.cli.output import columns, document, line, remark, safe
from recollect.clock import iso
from recollect.errors import Conflict, NotFound
from recollect.model.reminder import Reminder

__all__ = ["app"]

app = typer.Typer(help="Reminders: messages that are due at a moment.", rich_markup_mode=None)

Which = Annotated[str, typer.Argument(metavar="ID", help="The id of a reminder.", show_default=False)]
LimitOption = Annotated[int, typer.Option("--limit", metavar="NUMBER", help="The most to show.")]


@app.callback(invoke_without_command=True)
def show_help(ctx: typer.Context) -> None:
    """Show the help when no command is given."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(epilog=examples("reminder add 2h 'look at the deployment'", "reminder add 2026-12-24T18:00:00Z 'gifts'"))
@for_agent
def add(
    call: Call,
    at: Annotated[
        str, typer.Argument(metavar="TIME", help="When: a time, or 10m, 2h, 1d from now.", show_default=False)
    ],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="What to be told then.", show_default=False)],
    session_id: Annotated[
        str | None, typer.Option("--session-id", metavar="ID", help="The conversation that it belongs to.")
    ] = None,
    plugin: Annotated[
        str | None, typer.Option("--plugin", metavar="NAME", help="Through what it is to be told.")
    ] = None,
    recipient: Annotated[str | None, typer.Option("--recipient", metavar="NAME", help="Who is to be told.")] = None,
) -> None:
    """Remind of something at a moment."""
    with call.memory() as mem:
        made = mem.reminders.add(at, message, session_id=session_id, plugin=plugin, recipient=recipient)
    if call.json:
        document(made)
    else:
        typer.echo(f"will remind at {iso(made.due_at)}: {made.id}")


@app.command(name="list", epilog=examples("reminder list", "reminder list --all"))
@for_agent
def list_(
    call: Call,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were delivered.")] = False,
    limit: LimitOption = 100,
) -> None:
    """Show the reminders, in the order in which they are due."""
    with call.memory() as mem:
        found = mem.reminders.list(include_delivered=everything, limit=limit)
    _show(call, found, "no reminder waits")


@app.command(epilog=examples("reminder due"))
@for_agent
def due(call: Call, limit: LimitOption = 32) -> None:
    """Show what is due now and claimed by nobody. Nothing is changed."""
    with call.memory() as mem:
        found = mem.reminders.due(limit)
    _show(call, found, "nothing is due")


@app.command(epilog=examples("reminder claim"))
@for_agent
def claim(call: Call, limit: LimitOption = 32) -> None:
    """Take what is due and mark it as delivered: whoever runs this tells it."""
    with call.memory() as mem:
        found = [one for one in mem.reminders.claim(limit) if mem.reminders.deliver(one)]
    _show(call, found, "nothing is due")


@app.command()
@for_agent
def cancel(call: Call, reminder: Which) -> None:
    """Remove a reminder that waits."""
    with call.memory() as mem:
        if not mem.reminders.cancel(reminder):
            raise NotFound(f"there is no reminder {reminder!r} that waits; `reminder list` shows them")
    _done(call, "cancelled", reminder)


@app.command()
@for_agent
def deliver(call: Call, reminder: Which) -> None:
    """Mark a reminder as delivered."""
    with call.memory() as mem:
        if not mem.reminders.deliver(reminder):
            raise Conflict(f"the reminder {reminder!r} was delivered before, is not there, or somebody is at it")
    _done(call, "delivered", reminder)


def _done(call: Call, verb: str, reminder: str) -> None:
    if call.json:
        document({"id": reminder})
    else:
        typer.echo(f"{verb} {safe(reminder)}")


def _show(call: Call, found: list[Reminder], nothing: str) -> None:
    if call.json:
        document(found)
    elif not found:
        remark(nothing)
    else:
        header = ("due", "for", "id", "message")
        columns(header, [(iso(one.due_at), safe(one.recipient or ""), one.id, line(one.message)) for one in found])
