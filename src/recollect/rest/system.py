"""Is it alive, is it ready, how is it doing, which version."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

import recollect
from recollect.rest.caller import Anyone
from recollect.rest.problems import described

__all__ = ["router"]

router = APIRouter(tags=["system"])


@router.get("/healthz", response_class=PlainTextResponse)
async def alive() -> str:
    """Whether the process answers."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse, responses=described(503))
def ready(request: Request) -> str:
    """Whether the memory can be read: asks the database."""
    request.app.state.home.workspaces()
    settings = request.app.state.settings
    request.app.state.home.agent(settings.agent, settings.workspace).last_change()
    return "ready\n"


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, caller: Anyone) -> Response:
    """Figures for Prometheus."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/version")
async def version() -> dict[str, Any]:
    """Which version of recollect answers."""
    return {"name": "recollect", "version": recollect.__version__}
