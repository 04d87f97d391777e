"""The overview of a memory over HTTP, and what changed since a moment."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response

from recollect.model.access import ANY, Right
from recollect.model.overview import NetChanges, Outcome, Overview
from recollect.rest.caller import Reader
from recollect.rest.idempotency import Route
from recollect.rest.types import PageLimit, QueryMoment, json_response

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["overview"], route_class=Route)


@router.get("/overview", response_model=Overview)
def overview(
    caller: Reader,
    since: Annotated[QueryMoment | None, Query(description="Changes since then; default: 24 hours ago.")] = None,
    utc_offset: Annotated[
        int, Query(ge=-1440, le=1440, description="Minutes by which the caller's clock is ahead of UTC.")
    ] = 0,
) -> Response:
    """What changed, what is due, what waits for review, health and use. The size on disk is for administrators."""
    found = caller.memory.overview(since=since, utc_offset=utc_offset)
    if not caller.may(Right.ADMIN, agent=ANY):
        found = replace(found, health=replace(found.health, bytes=None))
    return json_response(found)


@router.get("/changes/since", response_model=NetChanges)
def changed_since(
    caller: Reader,
    since: Annotated[QueryMoment, Query()],
    outcome: Outcome | None = None,
    transcripts: Annotated[bool, Query(description="Include archives, chunks and automatic hand-offs.")] = False,
    limit: PageLimit = 100,
    before: Annotated[str | None, Query(description="`earlier` of the previous page.")] = None,
) -> Response:
    """The entries that differ from what they were at a moment, last changed first, with the fields that differ."""
    found = caller.memory.changed_since(since, outcome=outcome, transcripts=transcripts, limit=limit, before=before)
    return json_response(found)
