"""The hot path: frequent requests skip FastAPI's dependency resolution, which takes longer than a recall.

These are POST requests to a fixed path with a JSON body, for the memory that the query names. Every other request, and
any invalid one, goes to FastAPI's route of the same function, so that errors are described in one place only.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from fastapi import Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.model.access import Right
from recollect.rest.bodies import replayed
from recollect.rest.caller import caller_of, identify, right_of
from recollect.rest.idempotency import HEADER, JsonRequest, Route, changes, once
from recollect.rest.request_threads import RequestThreads

__all__ = ["DirectRoutes"]

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names that are valid and need no percent-decoding."""
_UNUSUAL = {b"content-encoding", b"if-match", b"if-none-match"}
"""Headers that only FastAPI's route checks."""


class _Direct(NamedTuple):
    """A route whose function takes a body and the caller, and returns a response."""

    route: Route
    right: Right
    body: str
    caller: str

    async def answer(self, request: JsonRequest, body: object, workspace: str | None, agent: str | None) -> Response:
        """Call the function in a thread and return its response; the caller is already authenticated."""
        caller = caller_of(request, request.scope["state"]["token"], workspace, agent)
        caller.must(self.right)
        call: Callable[..., Response] = self.route.endpoint
        threads: dict[Right, RequestThreads] = request.app.state.request_threads
        return await threads[self.right].run(partial(call, **{self.body: body, self.caller: caller}))


class DirectRoutes(BaseRoute):
    """The first route of the app: matches the requests that can be answered directly."""

    def __init__(self, routes: Iterable[BaseRoute], otherwise: ASGIApp) -> None:
        found = [one for one in map(_direct, routes) if one is not None]
        self._routes = {one.route.path: one for one in found}
        self._otherwise = otherwise
        """The router, for a request that needs FastAPI's route."""

    def paths(self) -> list[str]:
        """Return the paths of the routes that are answered directly."""
        return list(self._routes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request whose path, query and headers allow a direct answer."""
        if scope["type"] != "http" or scope["method"] != "POST" or "recollect.usual" in scope:
            return Match.NONE, {}
        one = self._routes.get(scope["path"])
        if one is None or (memory := _memory(scope)) is None or not _is_plain_json(scope):
            return Match.NONE, {}
        known = {"route": one.route, "endpoint": one.route.endpoint, "path_params": {}}
        return Match.FULL, {**known, "recollect.memory": memory}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it to the router together with the body that was read."""
        request, one = JsonRequest(scope, receive), self._routes[scope["path"]]
        await identify(request)
        body = await request.body()
        value, errors = None, True
        if body and b"\0" not in body:
            value, errors = await _validated(one.route, request)
        memory = scope["recollect.memory"]
        if errors:
            await self._otherwise({**scope, "recollect.usual": True}, replayed(body, receive), send)
            return
        answer = partial(one.answer, body=value, workspace=memory[0], agent=memory[1])
        writes = changes("POST", one.right)
        key = request.headers.get(HEADER) if writes else None
        response = await (answer(request) if key is None else once(request, key, answer, one.route))
        if writes:
            request.app.state.feeds.wake()
        await response(scope, receive, send)


def _direct(route: BaseRoute) -> _Direct | None:
    """Return the direct form of a route; None if its function takes more than a body and the caller."""
    if not isinstance(route, Route) or route.methods != {"POST"} or route.body_field is None:
        return None
    wants = route.dependant
    more = [wants.path_params, wants.query_params, wants.header_params, wants.cookie_params]
    if any(more) or len(wants.body_params) != 1 or len(wants.dependencies) != 1 or wants.request_param_name:
        return None
    caller, right = wants.dependencies[0], right_of(wants.dependencies[0])
    if right is None or caller.name is None or route.endpoint.__annotations__.get("return") is not Response:
        return None
    return _Direct(route, right, wants.body_params[0].name, caller.name)


async def _validated(route: Route, request: JsonRequest) -> tuple[object, Any]:
    """Return the validated body and the errors; they are described by FastAPI's route."""
    assert route.body_field is not None
    try:
        return route.body_field.validate(await request.json(), {}, loc=("body",))
    except (ValueError, RecursionError, HTTPException):
        return None, True


def _memory(scope: Scope) -> tuple[str | None, str | None] | None:
    """Return the workspace and the agent that the query names; None if it needs decoding or has other parameters."""
    named = dict[str, str]()
    query: str = scope["query_string"].decode("latin-1")
    for part in query.split("&") if query else ():
        name, _, value = part.partition("=")
        if name not in ("workspace", "agent") or name in named or not _PLAIN.fullmatch(value):
            return None
        named[name] = value
    return named.get("workspace"), named.get("agent")


def _is_plain_json(scope: Scope) -> bool:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    return kinds == [b"application/json"] and not any(name in _UNUSUAL for name, _ in scope["headers"])
