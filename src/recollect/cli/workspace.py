"""Workspaces and their agents from the command line."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_home, group
from recollect.cli.output import columns, document, remark, safe
from recollect.clock import iso
from recollect.errors import Invalid
from recollect.locations import is_single_file, shown
from recollect.model.stats import AgentCounts

__all__ = ["app"]

app = group("List and delete workspaces, the projects of a home.")


@app.command(name="list", epilog=examples("workspace list"))
@for_home
def list_(call: Invocation) -> None:
    """List the workspaces that hold data: agents, entries, conversations and the last change, newest first."""
    with recollect.open(call.home) as home:
        known: dict[str, list[AgentCounts]] = {name: [] for name in home.workspaces()}
        for one in home.counts():
            known.setdefault(one.workspace, []).append(one)
    if call.json:
        document({name: {one.agent: one for one in agents} for name, agents in known.items()})
    elif not known:
        remark("no workspaces yet")
    else:
        rows = sorted(known.items(), key=lambda item: -_last_change(item[1]))
        header = ("workspace", "agents", "entries", "conversations", "last change")
        columns(header, [_row(name, agents) for name, agents in rows])


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


def _last_change(agents: Sequence[AgentCounts]) -> int:
    return max((one.last_change or 0 for one in agents), default=0)


def _row(name: str, agents: Sequence[AgentCounts]) -> tuple[str, ...]:
    entries, talks = sum(one.entries for one in agents), sum(one.conversations for one in agents)
    last = _last_change(agents)
    named = ", ".join(one.agent for one in agents)
    return safe(name), safe(named), f"{entries:,}", f"{talks:,}", iso(last)[:10] if last else ""


def _ask(call: Invocation, name: str) -> None:
    if not sys.stdin.isatty():
        raise Invalid("deleting a workspace cannot be undone; add --yes to confirm")
    more = f" and the file {shown(call.home)} with the entries of the account" if is_single_file(call.home) else ""
    print(f"Permanently delete workspace {safe(name)!r}{safe(more)}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        remark("nothing was deleted")
        raise typer.Exit(1)
