"""Liveness, readiness, metrics and version."""

import asyncio
import logging
import os
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, Metric, generate_latest
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import State

import recollect
from recollect.clock import stopwatch
from recollect.errors import RecollectError
from recollect.model.access import ANY, Right
from recollect.rest.caller import Anyone
from recollect.rest.errors import OUT_OF_ORDER, described, problem
from recollect.rest.metrics import ProcessFigures

__all__ = ["router"]

AGAIN = 1.0
"""Seconds for which a readiness check is shared; the route is unauthenticated, so callers must not cause load."""

_log = logging.getLogger("recollect.rest")

router = APIRouter(tags=["system"])


@router.get("/healthz", response_class=PlainTextResponse)
async def alive() -> str:
    """Whether the process answers."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse, responses=described(503))
async def ready(request: Request) -> Response:
    """Whether the memory can be read: asks the database, once a second at most."""
    state = request.app.state
    asked, since = getattr(state, "ready", (None, 0.0))
    if asked is None or (asked.done() and stopwatch() - since >= AGAIN):
        asked = asyncio.create_task(run_in_threadpool(_read, state))
        state.ready = asked, stopwatch()
    try:
        await asyncio.shield(asked)
    except RecollectError as error:  # the route is unauthenticated, so the reason goes to the log only
        _log.error("not ready: %s", error)
        return problem("/readyz", 503, OUT_OF_ORDER[503], code="unavailable", headers={"Retry-After": "1"})
    return PlainTextResponse("ready\n")


def _read(state: State) -> None:
    state.home.workspaces()
    state.home.agent(state.settings.agent, state.settings.workspace).last_change()


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, caller: Anyone) -> Response:
    """Figures for Prometheus: requests, and for an admin of everything what the memory holds and how upkeep stands.
    Where several processes answer, the figures of requests are those of one, under the label `worker`."""
    state = request.app.state
    several, everything = state.settings.server.workers > 1, caller.may(Right.ADMIN, ANY, ANY)
    own = [state.registry, *([ProcessFigures(state.figures)] if everything else [])]
    figures = b"".join(generate_latest(_OfWorker(one) if several else one) for one in own)
    if everything:
        figures += generate_latest(state.figures)
    return Response(figures, media_type=CONTENT_TYPE_LATEST)


class _OfWorker(Collector):
    """Adds the label `worker`: without it, counters of several processes would look like one that decreases."""

    def __init__(self, figures: Collector) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        for metric in self._figures.collect():
            own = {"worker": str(os.getpid())}
            metric.samples = [one._replace(labels={**one.labels, **own}) for one in metric.samples]
            yield metric


@router.get("/version")
async def version() -> dict[str, Any]:
    """The version of recollect."""
    return {"name": "recollect", "version": recollect.__version__}
