"""Upkeep from the command line: run due jobs or one by name, show runs, and undo them."""

from collections.abc import Mapping
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

import recollect
from recollect.cli.invocation import Invocation
from recollect.cli.options import LimitOption, examples, for_home, group
from recollect.cli.output import columns, document, heading, line, pairs, remark, safe, words
from recollect.clock import SystemClock, iso
from recollect.model.upkeep import Change, JobStatus, Run

if TYPE_CHECKING:
    from recollect.home import Home

__all__ = ["app"]

app = group("Run, list and undo background jobs.")

RECENT = 100
"""Number of runs searched for the last one with changes: most runs find nothing to do."""
SHOWN = 20
"""Maximum number of changes shown per run; the rest is counted, and --json has all."""


@app.command(epilog=examples("jobs run", "jobs run consolidate --dry-run"))
@for_home
def run(
    call: Invocation,
    name: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Job to run, even if it is not due. [default: all due jobs]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
) -> None:
    """Run all due jobs, or one job by name."""
    with recollect.open(call.home) as home:
        done = _run(home, name, dry_run)
    if call.json:
        document(done)
        return
    if not done:
        remark("no job is due")
    for one in done:
        _print_run(one)


@app.command(name="list", epilog=examples("jobs list"))
@for_home
def list_(call: Invocation) -> None:
    """List the jobs with their last run, its result, and the next run."""
    with recollect.open(call.home) as home:
        found = home.jobs.status()
    if call.json:
        document(found)
    elif not found:
        remark("nothing is stored here yet")
    else:
        header = ("job", "workspace", "every", "last run", "next run", "result")
        columns(header, [_row(status) for status in found])


@app.command(epilog=examples("jobs runs", "jobs runs --job consolidate --limit 3"))
@for_home
def runs(
    call: Invocation,
    job: Annotated[str | None, typer.Option("--job", metavar="NAME", help="Only runs of this job.")] = None,
    limit: LimitOption = 20,
) -> None:
    """List the latest runs with the changes they made, and why."""
    with recollect.open(call.home) as home:
        found = home.jobs.runs(job, limit=limit)
    if call.json:
        document(found)
    elif not found:
        remark("no job has run yet", limit=limit)
    for one in () if call.json else found:
        _print_run(one)


@app.command(epilog=examples("jobs undo last"))
@for_home
def undo(
    call: Invocation,
    identity: Annotated[
        str,
        typer.Argument(metavar="RUN", help="Run id, or `last` for the newest run with changes.", show_default=False),
    ],
) -> None:
    """Undo all changes of a run."""
    with recollect.open(call.home) as home:
        recent = home.jobs.runs(limit=RECENT) if identity == "last" else []
        newest = [run for run in recent if run.changes and run.undone_at is None] or recent
        done = home.jobs.undo(newest[0].id if newest else identity)
    if call.json:
        document(done)
    else:
        _print_run(done)


@app.command(epilog=examples("jobs watch --seconds 1"))
@for_home
def watch(
    call: Invocation,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", metavar="NUMBER", help="Stop after this many seconds. [default: run until Ctrl-C]"),
    ] = None,
    pause: Annotated[float, typer.Option("--pause", metavar="NUMBER", min=0.1, help="Seconds between checks.")] = 5.0,
) -> None:
    """Run due jobs repeatedly."""
    clock = SystemClock()
    end = None if seconds is None else clock.now() + seconds * 1_000
    with recollect.open(call.home) as home:
        while True:
            for one in _run(home, None, False):
                if call.json:
                    document(one)
                else:
                    _print_run(one)
            if end is not None and clock.now() + pause * 1_000 > end:
                return
            Event().wait(pause)


def _run(home: "Home", name: str | None, dry_run: bool) -> list[Run]:
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("looking for due jobs") as status:
        if name is None and not dry_run:
            return home.jobs.run_due(progress=lambda what: status.update(safe(what)))
        names = [name] if name is not None else [one.name for one in home.jobs.status() if one.scheduled]
        done = []
        for one in dict.fromkeys(names):
            status.update(safe(one))
            done.append(home.jobs.run(one, dry_run=dry_run))
        return done


def _print_run(run: Run) -> None:
    kind = "dry run" if run.dry_run else "undone" if run.undone_at else "skipped" if run.skipped else ""
    where = f"in {safe(run.workspace)}" if run.workspace else ""
    facts = (where, iso(run.started_at)[:16], kind, "" if run.dry_run else run.id)
    heading(run.job, "  ".join(fact for fact in facts if fact))
    pairs([("result", _did(run.figures) or "nothing to do"), ("failed", line(run.error or ""))])
    for change in run.changes[:SHOWN]:
        pairs([("", _sentence(change))])
    if len(run.changes) > SHOWN:
        pairs([("", f"and {len(run.changes) - SHOWN} more; --json shows all")])


def _sentence(change: Change) -> str:
    return f"{change.what} {line(change.label)!r} of {safe(change.where)}: {line(change.reason)}"


def _row(status: JobStatus) -> tuple[str, ...]:
    last = "" if status.last_run_at is None else iso(status.last_run_at)[:16]
    following = "not scheduled" if status.next_due_at is None else iso(status.next_due_at)[:16]
    if status.running:
        following = "running"
    did = f"failed {status.failures}×: {line(status.error or '')}" if status.failures else _did(status.figures)
    return status.name, safe(status.workspace), _every(status.every), last, following, did


def _did(figures: Mapping[str, int]) -> str:
    return ", ".join(f"{words(name)} {value}" for name, value in sorted(figures.items()) if value)


def _every(milliseconds: int) -> str:
    seconds = milliseconds // 1_000
    for name, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {name}"
    return f"{seconds} s"
