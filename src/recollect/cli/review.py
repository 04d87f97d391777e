"""Review from the command line: pairs of notes that may not both hold, and which one does."""

from typing import Annotated

import typer

from recollect.cli.invocation import Invocation
from recollect.cli.options import LimitOption, examples, for_agent, one_of, text_of
from recollect.cli.output import document, line, remark, safe
from recollect.clock import iso
from recollect.model.review import Resolution, ReviewPair

__all__ = ["app"]

app = typer.Typer(help="List and resolve notes that contradict, update or repeat each other.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def start(ctx: typer.Context) -> None:
    """List open pairs unless a command is given."""
    if ctx.invoked_subcommand is None:
        _list(ctx.obj, include_resolved=False, limit=100)


@app.command(name="list", epilog=examples("review", "review list --all"))
@for_agent
def list_(
    call: Invocation,
    everything: Annotated[bool, typer.Option("--all", help="Include resolved pairs.")] = False,
    limit: LimitOption = 100,
) -> None:
    """List open pairs, most recently found first. `recollect jobs run review` looks for new ones."""
    _list(call, include_resolved=everything, limit=limit)


@app.command(epilog=examples("review resolve ID newer", "review resolve ID merge --content 'We deploy twice a week'"))
@for_agent
def resolve(
    call: Invocation,
    pair: Annotated[str, typer.Argument(metavar="ID", help="Id of the pair.", show_default=False)],
    resolution: Annotated[
        str, typer.Argument(metavar="WHICH", help=f"What holds: {one_of(Resolution)}.", show_default=False)
    ],
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="For merge: what replaces both; - reads stdin.")
    ] = None,
    origin: Annotated[str | None, typer.Option("--origin", metavar="WHO", help="For merge: who stated it.")] = None,
    why: Annotated[str | None, typer.Option("--why", metavar="TEXT", help="Reason, for the history.")] = None,
) -> None:
    """Resolve a pair. `recollect note restore` of a closed note undoes it."""
    with call.memory() as mem:
        written = None if content is None else text_of(content)
        done = mem.review.resolve(pair, resolution, content=written, origin=origin, why=why)
    if call.json:
        document(done)
    else:
        typer.echo(f"resolved {done.id}: {done.resolution}")


def _list(call: Invocation, *, include_resolved: bool, limit: int) -> None:
    with call.memory() as mem:
        found = mem.review.list(include_resolved=include_resolved, limit=limit)
    if call.json:
        document(found)
    elif not found:
        remark("no pair waits for review", limit=limit)
    for pair in () if call.json else found:
        _show(pair)


def _show(pair: ReviewPair) -> None:
    resolved = "" if pair.resolution is None else f", resolved: {pair.resolution}"
    typer.echo(f"{pair.id}  {pair.kind}: {line(pair.reason)}{resolved}")
    for which, entry in (("newer", pair.newer), ("older", pair.older)):
        typer.echo(f"  {which}  {iso(entry.created_at)[:10]}  {safe(str(entry.origin))}  {line(entry.content)}")
