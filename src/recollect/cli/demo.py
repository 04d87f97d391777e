"""`recollect demo`: a short story in which every output comes from a real command on a real file."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import recollect
from recollect.cli.fill import fill as tell
from recollect.cli.invocation import Invocation
from recollect.cli.output import columns, document, heading, safe
from recollect.clock import FixedClock, SystemClock
from recollect.config import ModelSettings
from recollect.errors import Conflict, Invalid
from recollect.locations import without_password

__all__ = ["app"]

app = typer.Typer()

STORY: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    (
        "Store notes.",
        (
            ("remember", "We deploy on Tuesdays.", "--name", "deploy day", "--tag", "ops"),
            ("remember", "Staging listens on port 8080.", "--category", "decisions"),
            ("remember", "Ana likes short answers.", "--name", "Ana", "--importance", "0.8"),
        ),
    ),
    ("Search in your own words.", (("recall", "when are we deploying?"),)),
    (
        "Rename a note: its old name becomes an alias.",
        (("note", "rename", "deploy day", "release day"), ("note", "write", "deploy day", "We deploy on Wednesdays.")),
    ),
    (
        "Forget a note, and restore it.",
        (("forget", "release day"), ("recall", "deploy"), ("note", "restore", "release day")),
    ),
    ("Every change is logged.", (("note", "history", "release day"), ("check",))),
)

# A separate program reads the file with Python's own SQLite: a memory is not locked into recollect.
LOOK = """
import json, sqlite3, sys
file = sqlite3.connect(sys.argv[1] + "?mode=ro", uri=True)
tables = [name for name, in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
print(json.dumps([(name, *file.execute(f"SELECT count(*) FROM {name}").fetchone()) for name in tables]))
"""


@app.command()
def demo(
    ctx: typer.Context,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="PATH", help="Keep the file at this new path, which must end in .db."),
    ] = None,
    fill: Annotated[
        bool,
        typer.Option("--fill", help="Fill the memory of --home and --agent with six weeks of example data instead."),
    ] = False,
    more: Annotated[
        int,
        typer.Argument(
            metavar="[N]", min=0, help="With --fill: number of additional generated entries.", show_default=False
        ),
    ] = 0,
) -> None:
    """Run a short demonstration in a temporary file, or fill a memory with example data."""
    if fill and keep is None:
        return _fill(ctx.obj, more)
    if fill or more:
        raise Invalid("--keep cannot be combined with --fill, and a number of entries requires --fill")
    if ctx.obj.json:
        raise Invalid("the demo has no JSON output; omit --json")
    if keep is not None and keep.suffix != ".db":
        raise Invalid(f"--keep needs a path that ends in .db, not {keep}")
    if keep is not None and keep.exists():
        raise Conflict(f"{keep} already exists; choose a new path")
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        path = keep or Path(folder) / "demo.db"
        heading("recollect", f"a memory in one file: {path}")
        for title, commands in STORY:
            heading(f"\n{title}")
            for command in commands:
                print(f"$ recollect {shlex.join(command)}")
                ctx.find_root().command.main(
                    ["--home", str(path), "--agent", "demo", *command], prog_name="recollect", standalone_mode=False
                )
        heading("\nTables of the file", f"{path.stat().st_size:,} bytes")
        _look(path)
    _next(keep)


def _fill(call: Invocation, more: int) -> None:
    now = SystemClock().now()
    clock = FixedClock(now)
    # Without the configured model: it would be slow, and the story must always be the same.
    settings = replace(call.settings, model=ModelSettings())
    with recollect.open(call.home, settings=settings, clock=clock) as home:
        if home.agents(call.workspace):  # of any agent: the story's jobs would tidy all of them
            raise Conflict(
                f"workspace {call.workspace!r} of {without_password(call.home)} is not empty; "
                "example data needs an empty one: choose another --home or --workspace"
            )
        entries = tell(home, clock, call.agent, call.workspace, now=now, more=more)
    if call.json:
        document({"entries": entries})
    else:
        print(f"filled {safe(without_password(call.home))} with {entries:,} entries of agent {safe(call.agent)}")


def _look(path: Path) -> None:
    look = [sys.executable, "-I", "-S", "-c", LOOK, path.resolve().as_uri()]
    seen = subprocess.run(look, capture_output=True, check=False)
    if seen.returncode == 0:  # Python may lack SQLite, or have one that is too old
        columns(("table", "rows"), [(name, str(rows)) for name, rows in json.loads(seen.stdout) if rows])


def _next(keep: Path | None) -> None:
    heading("\nNext")
    program = _program() if keep is None else f"{_program()} --home {shlex.quote(str(keep))}"
    print(f"  {program} remember 'something worth keeping'")
    print(f"  {program} recall 'what was worth keeping?'")
    print(f"  {program} note --help")


def _program() -> str:
    """Return how to invoke this program, wherever it is installed."""
    if shutil.which("recollect"):
        return "recollect"
    program = Path(sys.argv[0])
    return os.path.relpath(program) if program.stem == "recollect" else f"{sys.executable} -m recollect"
