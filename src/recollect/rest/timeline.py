"""The timeline and the graph of notes over HTTP, for the page."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from recollect.model.note_graph import NoteGraph
from recollect.model.timeline import Timeline
from recollect.rest.caller import Reader
from recollect.rest.idempotency import Route
from recollect.rest.types import QueryMoment, json_response

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["timeline"], route_class=Route)


@router.get("/timeline", response_model=Timeline)
def timeline(
    caller: Reader,
    since: Annotated[QueryMoment | None, Query()] = None,
    until: Annotated[QueryMoment | None, Query()] = None,
    buckets: Annotated[int, Query(ge=1, le=2_000, description="Parts in which the items are counted.")] = 200,
    limit: Annotated[
        int, Query(ge=0, le=5_000, description="Items are listed only if there are at most as many.")
    ] = 500,
) -> Response:
    """Notes and conversations by time: counts per bucket, and the items if they are few."""
    return json_response(caller.memory.timeline(since=since, until=until, buckets=buckets, limit=limit))


@router.get("/graph", response_model=NoteGraph)
def graph(
    caller: Reader, limit: Annotated[int, Query(ge=0, le=10_000, description="The newest notes.")] = 5_000
) -> Response:
    """The newest notes and their connections: links, evidence, successors and shared names."""
    return json_response(caller.memory.graph(limit=limit))
