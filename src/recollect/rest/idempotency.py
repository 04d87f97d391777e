"""The route class of this app: authenticates before the body is read, rejects preconditions that the route ignores,
and replays requests with an idempotency key.

A client that got no response cannot know whether its request took effect. With a key of its own choice in the header
`Idempotency-Key` it can retry safely: a completed request is answered with the stored response and not executed again.
A rejected request has changed nothing, so its key is released. After any other failure, or if the server stopped, the
request is executed again; if it had taken effect, the response is made from what it wrote, where that is an entry.
Responses with `Cache-Control: no-store` are not stored, nor are those of requests that only read, whatever the method:
reading again is safe.
"""

import re
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from recollect.access import AlreadyApplied
from recollect.errors import Conflict, Denied, Invalid, NotFound, RecollectError
from recollect.home import Home
from recollect.model.access import Answer, Right
from recollect.model.entry import Entry
from recollect.rest.bodies import parsed
from recollect.rest.caller import caller_of, declared, identify
from recollect.rest.middleware import LARGE, SAFE
from recollect.rest.types import json_response

__all__ = ["HEADER", "KEY", "JsonRequest", "Route", "changes", "once"]

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEY = r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$"
_JSON = re.compile(r"application/([\w.+-]+\+)?json\s*(;|\Z)", re.IGNORECASE)

REFUSALS = (Conflict, Denied, Invalid, NotFound, RequestValidationError, UnicodeEncodeError)
"""Errors that are raised before anything is written."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRequest(Request):
    """A request that parses long JSON bodies in a worker thread."""

    async def json(self) -> Any:
        """Return the parsed body."""
        if not hasattr(self, "_value"):
            self._value = await parsed(await self.body())
        return self._value


class Route(APIRoute):
    """A route with the checks and the idempotency described above."""

    def get_route_handler(self) -> Handler:
        """Wrap FastAPI's handler with authentication, parameter and body checks, and idempotency."""
        inner, asks, takes_json = super().get_route_handler(), declared(self.dependant), self.body_field is not None
        described = (self.openapi_extra or {}).get("parameters", ())
        known = frozenset([*_parameters(self.dependant), *(one["name"] for one in described)])
        looked_at = {one.alias for one in self.dependant.header_params}

        async def handle(request: Request) -> Response:
            request = JsonRequest(request.scope, request.receive)
            if asks is not None:
                await identify(request)
            if unknown := request.query_params.keys() - known:
                raise HTTPException(422, f"there is no parameter {min(unknown)[:80]!r} here; {_listed(known)}")
            if takes_json:
                _must_be_json(request)
                if b"\0" in await request.body():  # present in UTF-16 and UTF-32, never in UTF-8 JSON
                    raise HTTPException(400, "the body cannot be read; send JSON in UTF-8")
            if writes := changes(request.method, asks):
                _must_not_be_passed_over(request, looked_at)
            key = request.headers.get(HEADER) if writes and request.url.path not in LARGE else None
            response = await (inner(request) if key is None else once(request, key, inner, self))
            if writes:
                request.app.state.feeds.wake()
            return response

        return handle


def changes(method: str, asks: str | None) -> bool:
    """Return whether a request may write, judged by its method and the right that its route requires."""
    return method not in SAFE and asks not in (None, Right.READ)


async def once(request: Request, key: str, inner: Handler, route: APIRoute) -> Response:
    """Answer a request with an idempotency key, unless it was answered before."""
    if len(key) > 255 or not re.match(KEY, key):
        raise HTTPException(422, f"an {HEADER} is 1 to 255 printable ASCII characters")
    home: Home = request.app.state.home
    token = getattr(request.state, "token", None)
    owner = token.id if token else ""
    stored = sha256(f"{owner}\0{key}".encode()).hexdigest()  # keys are scoped to the caller
    parts = (request.method, request.url.path, request.url.query, owner)
    fingerprint = sha256("\0".join(parts).encode() + b"\0" + await request.body()).hexdigest()
    try:
        known = await run_in_threadpool(home.requests.begin, stored, fingerprint)
    except Conflict as error:
        raise type(error)(str(error).replace(stored, key)) from None
    if known is not None:
        return _again(known)
    try:
        try:
            with home.requests.executing(stored):
                response = await inner(request)
        except AlreadyApplied as error:
            response = await run_in_threadpool(_from_effect, request, route, error)
    except Exception as error:
        with suppress(RecollectError):  # the key stays in progress; the first error matters more
            await run_in_threadpool(home.requests.drop if _is_refusal(error) else home.requests.fail, stored)
        raise
    body = getattr(response, "body", None)
    if response.status_code >= 400 or body is None or "no-store" in response.headers.get("cache-control", ""):
        await run_in_threadpool(home.requests.drop, stored)
    else:
        headers = {name: value for name, value in response.headers.items() if name != "content-length"}
        keep = partial(home.requests.finish, harmless=request.method == "DELETE")  # such a response holds no text
        await run_in_threadpool(keep, stored, response.status_code, bytes(body).decode(), headers)
    return response


def _from_effect(request: Request, route: APIRoute, applied: AlreadyApplied) -> Response:
    """Return the response of a request that took effect without one; raise the error if only its effect is known."""
    if route.response_model is not Entry or applied.entry is None:
        raise applied
    given = request.query_params
    caller = caller_of(request, request.state.token, given.get("workspace"), given.get("agent"))
    entry = caller.memory.get(applied.entry)
    headers = {"ETag": f'"{entry.version}"', REPLAYED: "true"}
    status = route.status_code or 200
    return json_response(entry, status, headers | ({"Location": f"/v1/entries/{entry.id}"} if status == 201 else {}))


def _is_refusal(error: Exception) -> bool:
    """Return whether the error guarantees that nothing was changed."""
    if isinstance(error, AlreadyApplied):
        return False
    return isinstance(error, REFUSALS) or (isinstance(error, HTTPException) and error.status_code < 500)


def _parameters(dependant: Dependant) -> Iterator[str]:
    """Yield the names of the query parameters of a route."""
    yield from (one.alias for one in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _parameters(inner)


def _listed(names: Iterable[str]) -> str:
    return f"there are {', '.join(sorted(names))}" if names else "there are none"


def _again(known: Answer) -> Response:
    return Response(known.body, known.status, {**known.headers, REPLAYED: "true"})


def _must_not_be_passed_over(request: Request, looked_at: Container[str]) -> None:
    """Reject a precondition that the route does not evaluate, because ignoring it could make an unwanted change."""
    for header in ("if-match", "if-none-match"):
        if header in request.headers and header not in looked_at:
            raise Invalid(f"{header.title()} is not supported here, so nothing was changed; omit it")


def _must_be_json(request: Request) -> None:
    """Reject forms and plain text, which a cross-origin page could send without a CORS preflight."""
    headers = request.headers
    if headers.get("content-encoding", "identity") != "identity":
        raise HTTPException(415, "send the body without Content-Encoding")
    empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    if not empty and not _JSON.match(headers.get("content-type", "")):
        raise HTTPException(415, "send the body as JSON, with the header Content-Type: application/json")
