"""Export, import and move. `-` stands for stdin or stdout."""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_agent, for_home, one_of, with_options
from recollect.cli.output import columns, counted, document, line, remark, safe
from recollect.cli.progress import progress
from recollect.cli.watching import watch
from recollect.errors import Invalid, NotFound, RecollectError
from recollect.locations import shown, without_password
from recollect.model.transfer import Format, Imported

if TYPE_CHECKING:
    from recollect.home import Home

__all__ = ["app", "imported"]

app = typer.Typer()

STREAM = Path("-")
SHOWN = 20
"""Maximum number of remarks shown; the rest is counted, and --json has all."""


@app.command(epilog=examples("export memory.jsonl", "--home team.db export team.jsonl.gz --vectors", "export -"))
@for_home
def export(
    call: Invocation,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="New file, compressed if its name ends in .gz; - is stdout.",
            show_default=False,
        ),
    ],
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Include the vectors, which `reembed` can recompute.")
    ] = False,
) -> None:
    """Export all data to one file while the home is in use. `import` restores it, on either database."""
    with recollect.open(call.home) as home, progress() as tell, TemporaryDirectory(prefix="recollect-") as folder:
        _refuse_nothing(home, call.home)
        done = home.export(Path(folder, "-") if path == STREAM else path, include_vectors=vectors, progress=tell)
        if path == STREAM:  # via a file, so that the output is complete or absent
            with open(done.path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.flush()
            done = replace(done, path=str(path))
    with redirect_stdout(sys.stderr if path == STREAM else sys.stdout):
        if call.json:
            document(done)
        else:
            where = "" if path == STREAM else f" to {safe(done.path)}"
            print(f"exported {done.rows:,} rows of {counted(len(done.parts), 'agent')}{where}")


@app.command(
    name="import",
    epilog=examples("import memory.jsonl", "import conversations.json --dry-run", "import notes/ --agent ana"),
)
@for_agent
def import_(
    call: Invocation,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Export of recollect, or a file, folder or zip of another system; - is stdin.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", metavar="NAME", help=f"Format: {one_of(Format)}. [default: detected]"),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--watch", help="Keep running, and import what is added to the folder or file.")
    ] = False,
) -> None:
    """Import an export of recollect, or data of another system. Importing it again adds nothing.

    An export names its agents. Other data goes to the given agent, unless it names agents itself. --watch is for
    transcripts of coding agents, which grow: it resumes where it stopped, also after a restart.
    """
    if follow:
        _watch(call, path, format_, dry_run=dry_run)
        return
    with recollect.open(call.home) as home, _input(home, call, path) as (file, named), progress() as tell:
        try:
            done = home.import_(
                file, agent=call.agent, workspace=call.workspace, format=format_, dry_run=dry_run, progress=tell
            )
        except RecollectError as error:
            raise type(error)(named(str(error))) from error
    done = replace(done, path=named(done.path), remarks=tuple(map(named, done.remarks)))
    if call.json:
        document(done)
    else:
        imported(done)


def _watch(call: Invocation, path: Path, format_: Format | None, *, dry_run: bool) -> None:
    if dry_run or path == STREAM:
        raise Invalid("--watch imports a folder or file as it grows; it takes neither --dry-run nor -")
    with recollect.open(call.home) as home:
        watch(
            path.expanduser(),
            lambda part, kind: home.import_(part, agent=call.agent, workspace=call.workspace, format=kind or format_),
            document if call.json else _added,
        )


def _added(done: Imported) -> None:
    """Print what was added, as one line per agent, at once."""
    for part in done.parts:
        print(f"{safe(part.where)}: {_figures(part.added) or 'nothing'} added", flush=True)
    for text in done.remarks[:SHOWN]:
        remark(text)


@app.command(epilog=examples("move .recollect elsewhere", "move team.db team"))
@with_options("json")
def move(
    call: Invocation,
    source: Annotated[str, typer.Argument(metavar="FROM", help="Location of a home.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TO", help="Empty location.", show_default=False)],
) -> None:
    """Copy a home to another location, from SQLite to PostgreSQL or back. The source is not changed."""
    with recollect.open(source) as home, recollect.open(target) as other, progress() as tell:
        _refuse_nothing(home, source)
        done = home.move_to(other, progress=tell)
    if call.json:
        document(done)
    else:
        _table(done)
        print(f"copied to {safe(without_password(target))}; {safe(without_password(source))} is unchanged")


@contextmanager
def _input(home: "Home", call: Invocation, path: Path) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """Yield the file to read, and a function that replaces its temporary name in messages."""
    if path != STREAM:
        yield path, str
        return
    home.agent(call.agent, call.workspace)  # validates the names
    with TemporaryDirectory(prefix="recollect-") as folder:
        # A conversation that names no agent belongs to the agent that its file is named after.
        file = Path(folder, f"{call.agent}.json")
        with file.open("wb") as written:
            shutil.copyfileobj(sys.stdin.buffer, written)
        yield file, lambda text: text.replace(str(file), "the input").replace(file.name, "the input")


def _refuse_nothing(home: "Home", location: str) -> None:
    """Raise NotFound if the source is empty, because its location is then probably misspelt."""
    if not home.workspaces() and not home.stats().agents and not home.tokens.list(include_revoked=True):
        raise NotFound(f"nothing is stored in {shown(location)}; check the location")


def imported(done: Imported) -> None:
    """Print the result of an import."""
    remark(f"{done.path}: format {done.format}")
    _table(done)
    for text in done.remarks[:SHOWN]:
        remark(text)
    if len(done.remarks) > SHOWN:
        remark(f"and {len(done.remarks) - SHOWN} more remarks; --json shows all")
    if not done.changed:
        print("nothing new")
    elif done.dry_run:
        print("dry run: nothing was changed")


def _table(done: Imported) -> None:
    rows = [
        (safe(part.where), line(_figures(part.added)), line(_figures(part.changed)), line(_figures(part.known)))
        for part in done.parts
    ]
    if rows:
        columns(("agent", "added", "changed", "already present"), rows)


def _figures(figures: Mapping[str, int]) -> str:
    one = {"entries": "entry"}
    return ", ".join(
        f"{number:,} {one.get(what, what.removesuffix('s')) if number == 1 else what}"
        for what, number in figures.items()
        if number
    )
