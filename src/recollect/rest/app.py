"""The FastAPI app: one router per noun, errors as problem details, `Guard` around all routes, upkeep while it runs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from prometheus_client import CollectorRegistry
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import BaseRoute, Route

import recollect
from recollect.clock import SystemClock
from recollect.compat import dashboard
from recollect.config import Settings
from recollect.home import Home
from recollect.mcp.endpoint import McpEndpoint
from recollect.mcp.request_context import MemoryAccess as Speaker
from recollect.model.access import Right
from recollect.rest import (
    access,
    context,
    conversations,
    description,
    entries,
    errors,
    feed,
    jobs,
    overview,
    recall,
    reference,
    reminders,
    review,
    scratchpad,
    session,
    system,
    timeline,
    transfer,
    vault,
)
from recollect.rest.caller import is_loopback, named
from recollect.rest.direct import DirectRoutes
from recollect.rest.incoming_bodies import ShutdownEvent
from recollect.rest.metrics import MemoryFigures
from recollect.rest.middleware import Guard, origins
from recollect.rest.process_memory import ProcessMemory, keep_small
from recollect.rest.request_threads import RequestThreads
from recollect.ui import pages

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

__all__ = ["create_app"]

DESCRIPTION = """
One durable memory for AI agents. Every route names a memory by `workspace` and `agent`; errors are RFC 9457 problems.
"""
EXPOSED = (recall.MORE, "ETag", "Idempotency-Replayed", "Location", "Mcp-Session-Id", "Retry-After")
"""Response headers that cross-origin pages may read."""
TELEMETRY: "TelemetryConfig" = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""Turns off the spans of FastAPI, which have paths, queries and texts of errors; `tracing.py` makes ours."""
THREADS = 40
"""Maximum number of threads of a kind in `direct.py`; as many as FastAPI has for the other routes."""
READERS = 1
"""Usual number of concurrent reads of `direct.py` on files: a read computes, and computing threads wait for another."""
WRITERS = 8
"""The same for writes, which mostly wait for the disk."""
NOUNS = (
    system,
    entries,
    recall,
    timeline,
    jobs,
    vault,
    transfer,
    context,
    feed,
    access,
    session,
    conversations,
    scratchpad,
    reminders,
    overview,
    review,
    dashboard,
    reference,
)
ROUTERS = (*(noun.router for noun in NOUNS), pages.router)
_log = logging.getLogger("recollect.rest")


def create_app(home: Home, settings: Settings | None = None, *, upkeep: bool = True) -> FastAPI:
    """Create the app for a home. Its lifespan runs the upkeep and closes the home at the end."""
    settings = settings or Settings.read()
    app = FastAPI(
        title="recollect",
        version=recollect.__version__,
        description=DESCRIPTION.strip(),
        lifespan=_lifespan,
        routes=_routes(),
        redoc_url=None,
        docs_url=None,
        redirect_slashes=False,
        telemetry=TELEMETRY,
    )
    app.state.home, app.state.settings, app.state.clock = home, settings, SystemClock()
    app.state.needs_token = settings.server.require_token or not is_loopback(settings.server.host)
    app.state.registry = CollectorRegistry()
    app.state.figures = MemoryFigures(home, app.state.clock, embeds=settings.embedder.kind != "none")
    app.state.registry.register(ProcessMemory(home))
    app.state.request_threads = _request_threads(settings)
    app.state.upkeep = upkeep
    app.state.stopping = ShutdownEvent()
    app.state.feeds = feed.Feeds(home, app.state.stopping)
    errors.install(app)
    app.state.routes = [route for router in ROUTERS for route in router.routes]
    # `Guard` already checks hosts and origins. Sessions live in one process, so several workers do without them.
    app.state.mcp = McpEndpoint(_speaker, hosts=["*"], sessions=settings.server.workers == 1)
    app.router.routes.append(Route("/mcp", endpoint=app.state.mcp))
    app.router.routes.insert(0, DirectRoutes(app.state.routes, app.router))
    app.openapi = lambda: description.of(app)  # type: ignore[method-assign]
    app.add_middleware(
        Guard,
        settings=settings.server,
        needs_token=app.state.needs_token,
        registry=app.state.registry,
        stopping=app.state.stopping,
    )
    if pages_elsewhere := origins(settings.server):  # outside of `Guard`, so that a page can read rejections, too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=pages_elsewhere,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=EXPOSED,
        )
    if settings.server.traces:
        from recollect.rest.tracing import RequestSpans

        app.add_middleware(RequestSpans)
    return app


def _request_threads(settings: Settings) -> dict[Right, RequestThreads]:
    """Return the threads of direct requests by the right that they need."""
    waits = "://" in settings.home or settings.embedder.kind == "openai"  # for a network, with the interpreter unlocked
    readers, writers = (THREADS, THREADS) if waits else (READERS, WRITERS)
    writing = RequestThreads(writers, THREADS, "write")
    return {Right.READ: RequestThreads(readers, THREADS, "read"), Right.WRITE: writing, Right.ADMIN: writing}


@cache
def _routes() -> list[BaseRoute]:
    """Return the routes of all nouns. They are the same in every app, and FastAPI takes some time to build one."""
    together = APIRouter(
        responses=errors.described(400, 401, 403, 404, 408, 409, 413, 415, 421, 422, 429, 503),
        generate_unique_id_function=lambda route: f"{[*route.tags, 'page'][0]}_{route.name}",
    )
    for router in ROUTERS:
        together.include_router(router)
    return together.routes


async def _speaker(request: Request) -> Speaker:
    """Return the memory and the rights of an MCP request, according to its token."""
    caller = await named(request)
    caller.must(Right.READ)
    await run_in_threadpool(getattr, caller, "memory")  # reject an invalid name here: a model could not correct it
    return Speaker(
        home=caller.home,
        workspace=caller.workspace,
        agent=caller.agent,
        may_write=caller.may(Right.WRITE),
        may_set_project=caller.may_set_project,
        origin=caller.origin,
        may_read=lambda agent: caller.may(Right.READ, agent=agent),
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    home: Home = app.state.home
    async with AsyncExitStack() as stack:
        stack.push_async_callback(run_in_threadpool, home.close)
        for threads in set(app.state.request_threads.values()):
            stack.push_async_callback(run_in_threadpool, threads.close)
        if app.state.upkeep:
            await run_in_threadpool(home.jobs.start)
        await stack.enter_async_context(app.state.mcp.running())
        stack.callback(app.state.stopping.set)
        limit = app.state.settings.server.memory_limit
        stack.callback(asyncio.create_task(keep_small(home, limit)).cancel)
        yield
