"""Errors as RFC 9457 problem details. The only place that maps the error classes to HTTP statuses."""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from recollect.access import InProgress
from recollect.errors import (
    ConfigError,
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    RecollectError,
    Stale,
    Unavailable,
)
from recollect.rest.caller import SEGMENT
from recollect.rest.types import LINE, LINES, SLASH

__all__ = [
    "METHODS",
    "OUT_OF_ORDER",
    "Code",
    "ProblemDetails",
    "ProblemResponse",
    "described",
    "install",
    "kind_of",
    "problem",
]

Code = Literal[
    "busy",
    "config",
    "conflict",
    "corrupt",
    "denied",
    "failed",
    "invalid",
    "not-found",
    "stale",
    "unavailable",
    "under-way",
]


KINDS: Mapping[type[RecollectError], tuple[int, Code]] = {
    NotFound: (404, "not-found"),
    Stale: (412, "stale"),
    InProgress: (409, "under-way"),
    Conflict: (409, "conflict"),
    Invalid: (422, "invalid"),
    Denied: (403, "denied"),
    Unavailable: (503, "unavailable"),
    Corrupt: (500, "corrupt"),
    ConfigError: (409, "config"),
    RecollectError: (500, "failed"),
}
"""HTTP status and code per error class; the first class that matches decides."""
CODES: Mapping[int, Code] = {
    401: "denied",
    403: "denied",
    404: "not-found",
    408: "unavailable",
    409: "conflict",
    412: "stale",
    429: "busy",
    500: "failed",
    503: "busy",
}
"""Code per status for errors that do not come from the library; `invalid` for any other status."""
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
MOST_ERRORS = 20
OUT_OF_ORDER = {
    500: "the memory is damaged; nothing was changed. See the server's log for what to do",
    503: "the memory, or a service it needs, is unavailable; retry later. See the server's log for the reason",
}
"""Details shown when tokens are required: paths and database addresses go to the server's log only."""
FORMS: Mapping[str, str] = {
    SEGMENT: "must be one plain word such as 'ana', without / \\ : * ? \" < > |, and no dot or space at its ends",
    LINE: "must be a single non-blank line",
    LINES: "must contain a visible character, and no NUL byte",
}
"""Messages for texts that do not match a pattern."""
_PLACE = re.compile(r"(?:^|[\s'(])/\w|://")
"""Matches a path on this machine, or a URL."""
_ENUM_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")
_log = logging.getLogger("recollect.rest")


class ProblemDetails(BaseModel):
    """What went wrong, in the form of RFC 9457."""

    type: str = Field("about:blank", description="Always about:blank: status and code say what kind of problem it is.")
    title: str = Field(description="The kind of problem.", examples=["Not Found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    code: Code = Field(description="The kind of problem, as a constant for programs.", examples=["not-found"])
    detail: str = Field(
        description="What was asked, what was found and what to do.",
        examples=["nothing is remembered under 'deploy day'; `list` and `recall` show what there is"],
    )
    instance: str = Field(description="The path of the request.", examples=["/v1/entries/deploy%20day"])
    errors: list[dict[str, Any]] | None = Field(
        None, description="The invalid parts of the request, if there are several."
    )


class ProblemResponse(JSONResponse):
    """A response with problem details."""

    media_type = "application/problem+json"


def problem(
    path: str,
    status: int,
    detail: str,
    *,
    code: Code | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> ProblemResponse:
    """Build the problem response for a request path."""
    body = {
        "type": "about:blank",
        "title": _title(status),
        "status": status,
        "code": code or CODES.get(status, "invalid"),
        "detail": detail,
        "instance": path.replace(SLASH, "%2F"),
        **more,
    }
    return ProblemResponse(body, status, dict(headers or {}))


_TITLES = {413: "Request Entity Too Large", 422: "Unprocessable Entity"}
"""Titles of statuses whose phrase differs between versions of Python."""


def _title(status: int) -> str:
    return _TITLES.get(status) or HTTPStatus(status).phrase


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a route for these error statuses."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {status: {"description": _title(status), "content": content} for status in statuses}


def kind_of(error: RecollectError) -> tuple[int, Code]:
    """Return status and code of an error. A ConfigError caused by the system or a database is 503, not 409."""
    status, code = next(found for kind, found in KINDS.items() if isinstance(error, kind))
    if isinstance(error, ConfigError) and (error.__cause__ is not None or _PLACE.search(str(error))):
        status = 503
    return status, code


def install(app: FastAPI) -> None:
    """Register the exception handlers that turn every error into a problem response."""
    app.exception_handler(RecollectError)(_ours)
    app.exception_handler(HTTPException)(_http)
    app.exception_handler(UnicodeEncodeError)(_surrogate)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(Exception)(_unexpected)


async def _ours(request: Request, error: RecollectError) -> ProblemResponse:
    (status, code), detail = kind_of(error), str(error)
    if status >= 500:
        _log.error("%s %r: %s", request.method, request.url.path, error)
        if request.app.state.needs_token:
            detail = OUT_OF_ORDER[status]
    headers = {"Retry-After": "1"} if status == 503 else None
    return problem(request.url.path, status, detail, code=code, headers=headers)


async def _http(request: Request, error: HTTPException) -> ProblemResponse:
    path, detail, headers = request.url.path.replace(SLASH, "%2F"), str(error.detail), error.headers
    if error.status_code == 405:
        allowed = _allowed(request)
        detail, headers = f"{path} takes {allowed}, not {request.method}", {"Allow": allowed}
    elif error.status_code == 404 and detail == "Not Found":
        detail = f"there is nothing at {path}; /docs and /openapi.json show what there is"
    elif detail == "There was an error parsing the body":
        detail = _unread(error.__cause__)
    return problem(path, error.status_code, detail, headers=headers)


async def _surrogate(request: Request, error: UnicodeEncodeError) -> ProblemResponse:
    detail = "some text contains a lone surrogate, which is not valid Unicode; nothing was changed"
    return problem(request.url.path, 422, detail)


async def _invalid(request: Request, error: RequestValidationError) -> ProblemResponse:
    errors = [
        {"where": ".".join(str(part)[:80] for part in one["loc"]), "problem": _in_words(one)}
        for one in error.errors()[:MOST_ERRORS]
    ]
    first = errors[0] if errors else {"where": "body", "problem": "it cannot be read"}
    status = 400 if any(one["type"] == "json_invalid" for one in error.errors()[:MOST_ERRORS]) else 422
    detail = f"{first['where']}: {first['problem']}; nothing was changed"
    return problem(request.url.path, status, detail, errors=errors)


async def _unexpected(request: Request, error: Exception) -> ProblemResponse:
    _log.exception("%s %r failed", request.method, request.url.path, exc_info=error)
    detail = "internal error; see the server's log"
    # Sent outside of `Guard`, which adds this header to all other responses.
    return problem(request.url.path, 500, detail, headers={"X-Content-Type-Options": "nosniff"})


def _unread(cause: BaseException | None) -> str:
    """Explain why a body could not be parsed."""
    if isinstance(cause, RecursionError):
        return "the body cannot be read: its lists and objects are nested too deeply"
    if isinstance(cause, ValueError) and not isinstance(cause, UnicodeError):
        return "the body cannot be read: a number in it has thousands of digits"
    return "the body cannot be read; send JSON in UTF-8"


def _in_words(error: Mapping[str, Any]) -> str:
    """Return the message for a validation error, without the pattern: programs find that in the OpenAPI document."""
    if error["type"] == "union_tag_invalid":
        expected = _ENUM_MEMBER.sub(r"\1", error["ctx"]["expected_tags"])
        return f"{error['ctx']['discriminator']} must be one of {expected}, not {str(error['ctx']['tag'])[:80]!r}"
    if error["type"] != "string_pattern_mismatch":
        return str(error["msg"]).removeprefix("Value error, ")
    return FORMS.get(error["ctx"]["pattern"], "does not have the form that /docs describes")


def _allowed(request: Request) -> str:
    """Return all methods of a path; the framework reports only those of the first matching route."""
    path = getattr(request.scope.get("route"), "path", request.url.path)
    found = set().union(*(route.methods for route in request.app.state.routes if route.path == path)) or {"GET"}
    return ", ".join(sorted(found | ({"HEAD"} if "GET" in found else set())))
