"""The vault from the command line: sync, layouts, git history, and instructions for agents that write files."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from threading import Event
from typing import Annotated

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import LimitOption, examples, for_agent, group
from recollect.cli.output import columns, counted, document, line, remark, safe
from recollect.cli.transfer import imported
from recollect.clock import iso
from recollect.model.vault import Problem, SyncReport

__all__ = ["app"]

LISTED = 20
"""How many files that were written or deleted are named."""
ALIKE = 3
"""How many files with the same problem are named."""

app = group("Sync notes with markdown files that people and agents edit.")


@app.command(epilog=examples("vault sync"))
@for_agent
def sync(call: Invocation) -> None:
    """Sync files and memory, for all agents of the workspace."""
    with recollect.open(call.home) as home:
        vault = home.vault(call.workspace)
        report = vault.sync()
    if call.json:
        document(report)
    else:
        _print_report(report)
        print(f"vault: {safe(str(vault.folder))}")


@app.command(epilog=examples("vault status"))
@for_agent
def status(call: Invocation) -> None:
    """Compare files and notes, and name the files that are not read, with the reason. Read-only."""
    with recollect.open(call.home) as home:
        vault = home.vault(call.workspace)
        found, folder = vault.status(), str(vault.folder)
    if call.json:
        document({"folder": folder, "layout": vault.layout, **asdict(found)})
        return
    print(f"vault: {safe(folder)}")
    print(f"layout: {vault.layout}, {counted(found.files, 'file')}, {counted(found.notes, 'note')}")
    if found.edited or found.changed:
        print(f"next sync: reads {counted(found.edited, 'file')}, writes {counted(found.changed, 'note')}")
    for problem in found.problems:
        remark(str(problem))


@app.command(epilog=examples("vault watch --seconds 1"))
@for_agent
def watch(
    call: Invocation,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", metavar="NUMBER", help="Stop after this many seconds. [default: run until Ctrl-C]"),
    ] = None,
    pause: Annotated[float, typer.Option("--pause", metavar="NUMBER", min=0.1, help="Seconds between checks.")] = 1.0,
) -> None:
    """Sync files and memory continuously."""
    stop = Event()
    with recollect.open(call.home) as home:
        vault = home.vault(call.workspace)
        if seconds is None:
            vault.watch(stop, document if call.json else _print_report, pause)
        else:
            for _ in range(max(round(seconds / pause), 1)):
                report = vault.sync()
                if report:
                    (document if call.json else _print_report)(report)
                stop.wait(pause)


@app.command()
@for_agent
def migrate(call: Invocation) -> None:
    """Import files of an older layout, one flat file per agent. Running it again changes nothing."""
    with recollect.open(call.home) as home:
        done = home.vault(call.workspace).migrate()
    if call.json:
        document(done)
    else:
        imported(done)


@app.command(epilog=examples("vault convert --dry-run"))
@for_agent
def convert(
    call: Invocation,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be written and deleted, and change nothing.")
    ] = False,
) -> None:
    """Convert the files to the layout of the settings. If it is interrupted, run it again."""
    with recollect.open(call.home) as home:
        done = home.vault(call.workspace).convert(dry_run=dry_run)
    if call.json:
        document(done)
        return
    for what, paths in (("write", done.written), ("delete", done.deleted)):
        for path in paths:
            print(f"{'would ' if dry_run else ''}{what} {safe(path)}")
    if done.without_file:
        print(f"without a file in this layout: {counted(done.without_file, 'note')} in the memory")
    for problem in done.problems:
        remark(str(problem))
    print(f"layout: {done.layout}")


@app.command(epilog=examples("vault instructions"))
@for_agent
def instructions(
    call: Invocation,
    host_project: Annotated[
        str | None, typer.Option("--host-project", metavar="PATH", help="Project that the agent works on.")
    ] = None,
) -> None:
    """Print instructions for an agent that writes the files itself."""
    with recollect.open(call.home) as home:
        text = home.vault(call.workspace).instructions(call.agent, host_project)
    if call.json:
        document({"instructions": text})
    else:
        typer.echo(safe(text))


@app.command(epilog=examples("vault checkpoint --note 'before the move'"))
@for_agent
def checkpoint(
    call: Invocation,
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help="Subject of the commit. [default: manual]")
    ] = None,
) -> None:
    """Commit the agent's files, if git is enabled."""
    with recollect.open(call.home) as home:
        made = home.vault(call.workspace).checkpoint(call.agent, note)
    if call.json:
        document(made)
    elif made.skipped:
        remark(f"nothing was committed: {made.reason}")
    else:
        print(f"committed {made.oid}: {safe(made.subject or '')}")


@app.command(epilog=examples("vault history"))
@for_agent
def history(
    call: Invocation,
    limit: LimitOption = 10,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show the changes from the first to the last of them, too.")
    ] = False,
) -> None:
    """List the commits of the agent's files, if git is enabled."""
    with recollect.open(call.home) as home:
        found = home.vault(call.workspace).history(call.agent, limit, diff)
    if call.json:
        document(found)
    elif not found.commits:
        on = call.settings.git.repository is not None
        later = "no commits yet; `recollect vault checkpoint`, a dream and the end of a conversation make them"
        remark(later if on else "no commits; [git] repository in the settings enables them")
    else:
        rows = [(one.short_oid, iso(one.timestamp_unix * 1_000)[:16], line(one.subject)) for one in found.commits]
        columns(("commit", "when", "subject"), rows)
        if found.diff:
            print(f"\n{safe(found.diff)}", end="")


def _print_report(report: SyncReport) -> None:
    for what, names in (("wrote", report.written), ("deleted", report.deleted)):
        for name in names[:LISTED]:
            print(f"{what} {safe(name)}")
        if len(names) > LISTED:
            print(f"{what} {counted(len(names) - LISTED, 'more file')}")
    figures = (("added", report.added), ("changed", report.changed), ("removed", report.removed))
    changes = ", ".join(f"{what} {number}" for what, number in figures if number)
    if changes:
        print(f"from the files: {changes}")
    _print_problems(report.problems)


def _print_problems(problems: Sequence[Problem]) -> None:
    """Print what was left out; files with the same reason are counted from a certain number on."""
    alike = Counter(problem.message for problem in problems)
    printed = Counter[str]()
    for problem in problems:
        printed[problem.message] += 1
        if printed[problem.message] <= ALIKE:
            remark(str(problem))
        elif printed[problem.message] == alike[problem.message]:
            remark(f"{counted(alike[problem.message] - ALIKE, 'more file')}: {problem.message}")
