"""Commands on a whole home: check, backup, reembed and compact."""

from pathlib import Path
from typing import Annotated

import typer

import recollect
from recollect.cli.exit_codes import EXIT_CODES
from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_home
from recollect.cli.output import columns, counted, document, line, pairs, safe, words
from recollect.cli.progress import progress
from recollect.errors import Corrupt
from recollect.model.report import Report

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog=examples("check", "check --repair"))
@for_home
def check(
    call: Invocation,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild derived data: indexes and names.")] = False,
) -> None:
    """Verify the files, entries, names, log and index of all agents. The exit code is 7 if errors remain."""
    with recollect.open(call.home) as home:
        report = home.check(repair=repair)
    if call.json:
        document(report)
    else:
        _show(report)
    if not report.ok:
        raise typer.Exit(EXIT_CODES[Corrupt])


@app.command(epilog=examples("backup copy", "--home team.db backup team-backup.db"))
@for_home
def backup(
    call: Invocation,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="New path; must end in .db if the home is a single file.", show_default=False
        ),
    ],
) -> None:
    """Copy a home to a new path while it is in use. The copy is a complete home."""
    with recollect.open(call.home) as home:
        home.backup(path)
    if call.json:
        document(None)
    else:
        print(f"backed up to {safe(str(path))}")


@app.command(epilog=examples("reembed", "--home team.db reembed"))
@for_home
def reembed(call: Invocation) -> None:
    """Compute missing and outdated vectors with the configured embedder.

    It can be interrupted and run again. Until an entry has its vector, search finds it by its words.
    """
    with recollect.open(call.home) as home, progress() as tell:
        made = home.reembed(tell)
    if call.json:
        document({"embedded": made})
    elif made:
        print(f"embedded {counted(made, 'entry', 'entries')}")
    else:
        print("nothing to do: all vectors are up to date")


@app.command(epilog=examples("compact"))
@for_home
def compact(call: Invocation) -> None:
    """Run five cleanup steps: checkpoints, extract, shelve, reindex, and files of older layouts."""
    with recollect.open(call.home) as home:
        done = home.compact()
    if call.json:
        document(done)
    else:
        said = {True: "yes", False: "no"}
        pairs((words(name), said[value] if isinstance(value, bool) else str(value)) for name, value in done.items())


def _show(report: Report) -> None:
    figures = f"{counted(report.entries, 'entry', 'entries')}, {counted(report.operations, 'operation')}"
    if not report.findings:
        if report.events:
            figures += f", {counted(report.events, 'event')} of conversations"
        if report.erased:
            figures += f", {report.erased} of them erased"
        stored = report.operations or report.events
        print(f"no errors: {figures}" if stored else "no errors: nothing is stored here yet")
        return
    columns(
        ("part", "where", "", "finding"),
        [(f.part, safe(f.where), "repaired" if f.repaired else "", line(f.message)) for f in report.findings],
    )
    left = sum(not finding.repaired for finding in report.findings)
    print(f"{figures}; {left} of {counted(len(report.findings), 'finding')} not repaired")
