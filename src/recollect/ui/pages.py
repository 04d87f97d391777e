"""Routes for the page's static files, with a strict Content-Security-Policy. Serves no memory content."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Header, Response
from starlette.exceptions import HTTPException

__all__ = ["POLICY", "page", "router", "static"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Content-Security-Policy: the page loads only its own files and data. Nothing inline, so injected text never runs."""
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # revalidate each time; answered with 304 while unchanged
}
router = APIRouter(include_in_schema=False)
KnownETag = Annotated[str | None, Header()]


class _File(NamedTuple):
    body: bytes
    type: str
    etag: str


@cache
def _files() -> dict[str, _File]:
    """Return every file by its path below static/. Only these are served, so path traversal is impossible."""
    found, ahead = dict[str, _File](), [("", files("recollect.ui") / "static")]
    while ahead:
        path, place = ahead.pop()
        if place.is_dir():
            ahead += [(f"{path}/{inner.name}".lstrip("/"), inner) for inner in place.iterdir()]
        elif (kind := TYPES.get(path.rpartition(".")[2])) is not None:
            body = place.read_bytes()
            found[path] = _File(body, kind, f'"{sha256(body).hexdigest()[:20]}"')
    return found


@router.api_route("/", methods=["GET", "HEAD"])
def page(if_none_match: KnownETag = None) -> Response:
    """Serve the page itself."""
    return _answer("index.html", if_none_match)


@router.api_route("/static/{path:path}", methods=["GET", "HEAD"])
def static(path: str, if_none_match: KnownETag = None) -> Response:
    """Serve a static file of the page."""
    return _answer(path, if_none_match)


def _answer(path: str, known: str | None) -> Response:
    file = _files().get(path)
    if file is None:
        raise HTTPException(404, f"the page has no file {path[:80]!r}")
    headers = {**HEADERS, "ETag": file.etag}
    if path.endswith(".svg"):  # browsers would revalidate the icon on every navigation between views
        headers["Cache-Control"] = "max-age=86400"
    if known is not None and (known == "*" or file.etag in known):
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers=headers, media_type=file.type)
