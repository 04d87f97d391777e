"""Workspaces and their agents from the command line."""

import sys
from typing import Annotated

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_home, group
from recollect.cli.output import columns, document, remark, safe
from recollect.errors import Invalid
from recollect.wiring import is_single_file, shown

__all__ = ["app"]

app = group("List and delete workspaces, the projects of a home.")


@app.command(name="list", epilog=examples("workspace list"))
@for_home
def list_(call: Invocation) -> None:
    """List the workspaces that hold data, with their agents."""
    with recollect.open(call.home) as home:
        known = {name: home.agents(name) for name in home.workspaces()}
    if call.json:
        document(known)
    elif not known:
        remark("no workspaces yet")
    else:
        columns(("workspace", "agents"), [(safe(name), safe(", ".join(agents))) for name, agents in known.items()])


@app.command()
@for_home
def delete(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the workspace.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", help="Delete without confirmation.")] = False,
) -> None:
    """Delete a workspace with the memories of all its agents. This cannot be undone.

    If the home is a single file, the file is deleted, including the entries of the account.
    """
    with recollect.open(call.home) as home:
        if not yes and name in home.workspaces():  # do not ask about a missing one
            _ask(call, name)
        home.delete_workspace(name)
    if call.json:
        document(None)
    else:
        typer.echo(f"deleted {safe(name)}")


def _ask(call: Invocation, name: str) -> None:
    if not sys.stdin.isatty():
        raise Invalid("deleting a workspace cannot be undone; add --yes to confirm")
    more = f" and the file {shown(call.home)} with the entries of the account" if is_single_file(call.home) else ""
    print(f"Permanently delete workspace {safe(name)!r}{safe(more)}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        remark("nothing was deleted")
        raise typer.Exit(1)
