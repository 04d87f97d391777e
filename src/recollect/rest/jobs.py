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
    """How each job stands, in each workspace that the caller is in charge of."""
    found = caller.home.jobs.status()
    return Page(items=[one for one in found if caller.may(Right.ADMIN, one.workspace, ANY)])


@router.post("/jobs/run-due")
def run_due(caller: Owner) -> Page[Run]:
    """Run what is due, and tell what it did."""
    return Page(items=caller.home.jobs.run_due())


@router.post("/jobs/{name}/run")
def run(name: Name, caller: Anyone, order: RunRequest = USUAL) -> Run:
    """Run a job now, due or not; the answer tells what it did to which entry and why."""
    caller.must(Right.ADMIN, order.workspace or ANY, ANY)
    return caller.home.jobs.run(name, dry_run=order.dry_run, workspace=order.workspace)


@router.get("/runs")
def runs(
    caller: Owner, job: Annotated[Name | None, Query()] = None, limit: Annotated[PageLimit, Query()] = 20
) -> Page[Run]:
    """The latest runs with everything they did, newest first."""
    return Page(items=caller.home.jobs.runs(job, limit=limit))


@router.post("/runs/{run_id}/undo")
def undo(run_id: Name, caller: Owner) -> Run:
    """Reverse what a run did to entries, as a whole. What was changed again since stays as it is now."""
    return caller.home.jobs.undo(run_id)


@router.post("/compact", dependencies=[Depends(local_only)])
def compact(caller: Owner) -> dict[str, Any]:
    """Tidy in five steps: checkpoints, extract, shelve, reindex, and files of older layouts; six figures tell.

    From the server's own machine only.
    """
    return caller.home.compact()


@router.get("/compact")
def last_compaction(caller: Owner) -> dict[str, Any] | None:
    """What the last tidying gave; null before the first one."""
    return caller.home.last_compaction()
