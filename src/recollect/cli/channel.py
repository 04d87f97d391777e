"""Channels from the command line."""

from typing import Annotated

import typer

from recollect.cli.invocation import Invocation
from recollect.cli.options import NameArgument, examples, for_agent, group
from recollect.cli.output import columns, document, line, safe
from recollect.clock import iso

__all__ = ["app"]

app = group("List and create channels, the topics of a workspace.")


@app.command(name="list", epilog=examples("channel list"))
@for_agent
def list_(call: Invocation) -> None:
    """List the channels of the workspace."""
    with call.memory() as mem:
        found = mem.channels.list()
    if call.json:
        document(found)
    else:
        header = ("channel", "", "since", "about")
        default = {True: "default", False: ""}
        columns(
            header,
            [
                (
                    safe(one.name),
                    default[one.is_default],
                    iso(one.created_at)[:10] if one.created_at else "",
                    line(one.description),
                )
                for one in found
            ],
        )


@app.command(epilog=examples("channel create releases --description 'what we ship'"))
@for_agent
def create(
    call: Invocation,
    name: NameArgument,
    description: Annotated[str, typer.Option("--description", metavar="TEXT", help="What the channel is about.")] = "",
) -> None:
    """Create a channel."""
    with call.memory() as mem:
        made = mem.channels.create(name, description)
    if call.json:
        document(made)
    else:
        typer.echo(f"created {safe(made.name)}")
