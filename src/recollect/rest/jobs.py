"""Upkeep over HTTP: status of jobs, running them, their runs, and undo."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from recollect.model.access import ANY, Right
from recollect.model.upkeep import JobStatus, Run
from recollect.rest.caller import Admin, Anyone, Owner, local_only
from recollect.rest.idempotency import Route
from recollect.rest.types import Body, Name, Page, PageLimit, ShortText, StrictBool

__all__ = ["RunRequest", "router"]

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=Route)


class RunRequest(Body):
    """How to run a job."""

    dry_run: Annotated[StrictBool, Field(description="Dry run: report what would change, and change nothing.")] = False
    workspace: Annotated[ShortText | None, Field(description="Only this workspace; default: all.")] = None


USUAL = RunRequest()


@router.get("/jobs")
def jobs(caller: Admin) -> Page[JobStatus]:
    """The status of each job, in each workspace where the caller is an administrator."""
    found = caller.home.jobs.status()
    return Page(items=[one for one in found if caller.may(Right.ADMIN, one.workspace, ANY)])


@router.post("/jobs/run-due")
def run_due(caller: Owner) -> Page[Run]:
    """Run the jobs that are due; returns their reports."""
    return Page(items=caller.home.jobs.run_due())


@router.post("/jobs/{name}/run")
def run(name: Name, caller: Anyone, order: RunRequest = USUAL) -> Run:
    """Run a job now, due or not. The report lists each change with its entry and reason."""
    caller.must(Right.ADMIN, order.workspace or ANY, ANY)
    return caller.home.jobs.run(name, dry_run=order.dry_run, workspace=order.workspace)


@router.get("/runs")
def runs(
    caller: Owner, job: Annotated[Name | None, Query()] = None, limit: Annotated[PageLimit, Query()] = 20
) -> Page[Run]:
    """The latest runs with their changes, newest first."""
    return Page(items=caller.home.jobs.runs(job, limit=limit))


@router.post("/runs/{run_id}/undo")
def undo(run_id: Name, caller: Owner) -> Run:
    """Undo the changes of a run, all or none. Entries that were changed since stay as they are."""
    return caller.home.jobs.undo(run_id)


@router.post("/compact", dependencies=[Depends(local_only)])
def compact(caller: Owner) -> dict[str, Any]:
    """Run the five maintenance steps: checkpoints, extract, shelve, reindex, and files of older layouts.

    From the server's own machine only.
    """
    return caller.home.compact()


@router.get("/compact")
def last_compaction(caller: Owner) -> dict[str, Any] | None:
    """The report of the last maintenance run; null before the first."""
    return caller.home.last_compaction()
