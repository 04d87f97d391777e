"""ASGI middleware around every route: host and origin checks, rate and size limits, metrics and the access log.

On a loopback address the browser is the threat: any page can send requests there. So a server without tokens answers
only to its own host names (which defeats DNS rebinding), and a page of another origin can neither change anything nor
probe what exists. Request data never reaches the log: no query, no header, no body.
"""

import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from hashlib import sha256
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.clock import iso, stopwatch
from recollect.config import ServerSettings
from recollect.errors import RecollectError
from recollect.rest.bodies import checked, replayed
from recollect.rest.caller import elsewhere, identify, is_loopback, secret_of
from recollect.rest.concurrency import Slot, Slots
from recollect.rest.errors import METHODS, problem
from recollect.rest.incoming_bodies import SENT_WITHIN, IncomingBodies, IncomingBody, ShutdownEvent
from recollect.rest.types import SLASH

__all__ = ["LARGE", "SAFE", "UNCOUNTED", "Guard", "origins", "route_of"]

SAFE = {"GET", "HEAD", "OPTIONS"}
UNCOUNTED = ("/healthz", "/readyz", "/metrics")
LARGE = ("/v1/import",)
"""Paths without a body limit, because the body is streamed to disk and never held in memory."""
SMALL = ("/v1/session",)
"""Paths that accept a body from unauthenticated callers, with a low limit."""
SMALL_LIMIT, SMALL_WITHIN = 1_000, 5.0
MCP = "/mcp"
OPEN = ("/v1/feed", MCP)
"""Paths whose GET is a stream that stays open as long as the client listens."""
PLAIN = (MCP, "/openapi.json")
"""Paths served without a route object in the scope; metrics label them with the path itself."""
CALLERS = 10_000
BURST = 2.0
"""Size of the token bucket, in seconds of the rate."""
DOWNLOADS = ("/v1/export", "/v1/backup")
"""Paths whose response is a file on disk until it is sent."""
MOST_DOWNLOADS = 8
NOSNIFF = (b"x-content-type-options", b"nosniff")
_requests = logging.getLogger("recollect.requests")


def route_of(scope: Scope) -> str:
    """Return the route that answered a request, without its parameters; `-` if there is none."""
    return getattr(scope.get("route"), "path", None) or (scope["path"] if scope["path"] in PLAIN else "-")


class Guard:
    """The outermost middleware: checks, limits, counts and logs every request."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServerSettings,
        needs_token: bool,
        registry: CollectorRegistry,
        stopping: ShutdownEvent,
    ) -> None:
        self._app, self._settings, self._needs_token = app, settings, needs_token
        self._bodies = IncomingBodies(settings.body_limit, stopping)
        self._hosts = {*map(_name, _words(settings.hosts)), settings.host.lower()} - {""}
        self._origins = set(origins(settings))
        self._feeds, self._downloads, self._slots = 0, 0, Slots(settings.concurrency)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._answers = Counter(
            "recollect_requests", "Requests that were answered", ["method", "route", "status"], registry=registry
        )
        self._times = Histogram(
            "recollect_request_seconds",
            "How long answers took",
            ["route"],
            registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self._figures = dict[tuple[str, str, int], tuple[Counter, Histogram]]()
        """The two above, by their labels."""
        Gauge("recollect_requests_running", "Requests that are being answered", registry=registry).set_function(
            lambda: self._slots.taken()
        )
        Gauge("recollect_requests_waiting", "Requests that wait for a slot", registry=registry).set_function(
            lambda: self._slots.waiting()
        )
        Gauge("recollect_feeds_open", "Feeds that are open", registry=registry).set_function(lambda: self._feeds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or reject it with a problem response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, head = stopwatch(), 0, scope["method"] == "HEAD"

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if not any(name.lower() == NOSNIFF[0] for name, _ in message["headers"]):
                    message = {**message, "headers": [*message["headers"], NOSNIFF]}
            await send(message)

        inner = {**scope, "method": "GET"} if head else scope
        if SLASH in scope["path"] or b"%2f" in scope.get("raw_path", b"").lower():
            segments = scope["raw_path"].partition(b"?")[0].decode("latin-1").split("/")
            # The client may have sent the placeholder itself: replace it by NUL, which is valid in no name either.
            texts = (unquote(segment).replace(SLASH, "\0").replace("/", SLASH) for segment in segments)
            inner = {**inner, "path": "/".join(texts)}
        try:
            await self._guarded(inner, receive, _head_only(noting) if head else noting)
        except ClientDisconnect:  # the client is gone, or a HEAD request has its head
            pass
        except Exception:
            status = status or 500  # the response is sent by the outer error middleware
            raise
        finally:
            self._note(inner, scope["method"], status, stopwatch() - began)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path, away = scope["path"], elsewhere(scope)
        limit = None if path in LARGE else SMALL_LIMIT if path in SMALL else self._settings.body_limit
        feed, download = _stays_open(scope), path in DOWNLOADS
        credential = _credential(scope, headers)
        slot = self._slots.of(credential or (away[-1][:64] if away else None), _gone(scope))
        arriving = self._bodies.of(receive, limit, SMALL_WITHIN if path in SMALL else SENT_WITHIN)

        async def sending(message: Message) -> None:
            # A response is complete when it begins, but one of MCP begins before the tool runs.
            if path != MCP or not message.get("more_body", message["type"] == "http.response.start"):
                slot.close()  # a client that reads slowly holds no slot
            await send(message)

        try:
            try:
                _must_be_readable(scope)
                self._must_be_welcome(scope, headers, away)
                self._must_not_be_too_much(scope, headers, credential, away, limit)
                if path in LARGE:
                    body = _taking(slot, arriving)
                else:
                    body = checked(arriving.receive, messages=path == MCP)
                    if _has_body(headers) and (path in SMALL or await self._is_known(scope, credential)):
                        body = await _whole(body)
                    if not feed and path not in UNCOUNTED:
                        await _read_before(scope)
                        await slot.take()
            except HTTPException as refused:
                answer = problem(path, refused.status_code, refused.detail, headers=refused.headers)
                await answer(scope, receive, send)
                return
            self._feeds += feed
            self._downloads += download
            try:
                await self._app(scope, body, sending)
            finally:
                self._feeds -= feed
                self._downloads -= download
                self._know(scope, credential)
        finally:
            arriving.close()
            slot.close()

    def _must_be_welcome(self, scope: Scope, headers: dict[str, str], away: list[str]) -> None:
        """Raise for a foreign Host header, a remote client of a server without tokens, or a cross-origin page."""
        host = _host(headers.get("host", ""))
        if not self._needs_token and not (is_loopback(host) or host in self._hosts):
            raise HTTPException(
                421, f"this server does not accept the host name {host[:80]!r}; to allow it, add it to [server] hosts"
            )
        if away and not self._needs_token:
            raise HTTPException(
                403,
                "without tokens this server accepts local requests only, and a proxy reports that this one comes "
                "from elsewhere; make a token with `recollect token create NAME` and start it with --require-token",
            )
        origin, embedded = headers.get("origin"), headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if origin is None:  # browsers send none for images and scripts
            foreign = embedded
        else:
            foreign = origin not in self._origins and origin.partition("://")[2] != headers.get("host")
        # Following a link tells a page nothing; whether an image or a script loads would tell it what exists.
        followed = headers.get("sec-fetch-mode") == "navigate"
        if foreign and (scope["method"] not in SAFE or (embedded and not followed)):
            raise HTTPException(403, "requests from pages of this origin are not allowed; see [server] origins")

    def _must_not_be_too_much(
        self, scope: Scope, headers: dict[str, str], credential: str | None, away: list[str], limit: int | None
    ) -> None:
        """Raise if the body is too large, too many feeds are open, or the caller is over its rate."""
        settings, path, length = self._settings, scope["path"], headers.get("content-length", "")
        if limit is not None and length.isdigit() and int(length) > limit:
            raise HTTPException(413, f"the limit here is {limit:,} bytes, and the body has {int(length):,}")
        if path == "/healthz":
            return
        later = {"Retry-After": "1"}
        if _stays_open(scope) and self._feeds >= settings.feeds:
            detail = f"too many open feeds (limit {settings.feeds:,}); retry later"
            raise HTTPException(503, detail, later)
        if path in DOWNLOADS and self._downloads >= MOST_DOWNLOADS:
            raise HTTPException(503, f"too many downloads (limit {MOST_DOWNLOADS}); retry later", later)
        if settings.rate > 0 and not self._within_rate(self._counted(credential, away)):
            detail = f"too many requests (limit {settings.rate:g} per second); retry later"
            raise HTTPException(429, detail, later)

    async def _is_known(self, scope: Scope, credential: str | None) -> bool:
        """Return whether the caller may send a body. If not, the route answers without reading it."""
        if credential is None:
            return not self._needs_token
        try:
            await identify(Request(scope))
        except (HTTPException, RecollectError):
            return False
        return True

    def _counted(self, credential: str | None, away: list[str]) -> str | None:
        """Return the rate-limit key of a caller: its token once verified, otherwise its address; None if local.

        The address is the nearest hop that is not loopback; the caller may have forged those further away.
        """
        if credential in self._buckets:
            return credential
        return away[-1][:64] if away else None

    def _know(self, scope: Scope, credential: str | None) -> None:
        """Create a bucket for the token of a request that was authenticated."""
        authenticated = self._settings.rate > 0 and scope.get("state", {}).get("caller", "-") != "-"
        if authenticated and credential is not None and credential not in self._buckets:
            self._within_rate(credential)

    def _within_rate(self, caller: str | None) -> bool:
        """Take one token from the caller's bucket, which refills at the rate and holds `BURST` seconds of it."""
        if caller is None:
            return True
        rate, now = self._settings.rate, stopwatch()
        left, at = self._buckets.pop(caller, (rate * BURST, now))
        left = min(rate * BURST, left + (now - at) * rate)
        self._buckets[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > CALLERS:
            self._buckets.popitem(last=False)
        return left >= 1

    def _note(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        route = route_of(scope)
        if scope["path"] in UNCOUNTED:
            return
        known = (method if method in METHODS else "-", route, status)
        counts = self._figures.get(known)
        if counts is None:  # to look one up by its labels takes longer than to count
            counts = self._figures[known] = self._answers.labels(*known), self._times.labels(route)
        counts[0].inc()
        if not _stays_open(scope):
            tool = scope.get("state", {}).get("tool")
            (self._times.labels(f"{route} {tool}") if tool else counts[1]).observe(seconds)
        caller = scope.get("state", {}).get("caller", "-")
        path, ms = scope["path"].replace(SLASH, "%2F"), round(seconds * 1000, 1)
        if self._settings.log_format == "json":
            at = iso(scope["app"].state.clock.now()) if "app" in scope else None
            record = {"at": at, "method": method, "path": path, "status": status, "ms": ms, "caller": caller}
            _requests.info(json.dumps(record, ensure_ascii=False))
        else:
            _requests.info("%s %r %s %s ms %r", method, path, status, ms, caller)


def _must_be_readable(scope: Scope) -> None:
    """Reject a URL that is not valid UTF-8: decoding with replacement could map two URLs to the same name."""
    query = scope.get("query_string", b"")
    try:
        for part in (scope.get("raw_path", b""), query):
            unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        readable = False
    else:
        readable = query.isascii()
    if not readable:
        raise HTTPException(400, "the URL cannot be decoded; use UTF-8, percent-encoded as in %C3")


def _has_body(headers: Mapping[str, str]) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


async def _whole(receive: Receive) -> Receive:
    """Receive the whole body now, and return a `receive` that replays it."""
    message = await receive()
    if message["type"] != "http.request":
        raise ClientDisconnect
    return replayed(message["body"], receive)


def _taking(slot: Slot, body: IncomingBody) -> Receive:
    """Return the `receive` of a body that is streamed: the request takes its slot when all of it is there."""

    async def taking() -> Message:
        message = await body.receive()
        if body.complete:
            await slot.take()
        return message

    return taking


async def _read_before(scope: Scope) -> None:
    """Wait until the client has read the responses to its earlier requests, if the server can tell.

    Otherwise this request would hold its slot while it waits to send the first byte of its response.
    """
    drained: Callable[[], Awaitable[None]] | None = scope.get("state", {}).get("drained")
    if drained is not None:
        await drained()


def _stays_open(scope: Scope) -> bool:
    return scope["method"] == "GET" and scope["path"] in OPEN


def _credential(scope: Scope, headers: Container[str]) -> str | None:
    """Return the hash of the caller's secret, from header or cookie alike; a hash never equals an address."""
    secret = secret_of(Request(scope)) if "authorization" in headers or "cookie" in headers else None
    return None if secret is None else sha256(secret.encode()).hexdigest()


def _gone(scope: Scope) -> Callable[[], bool]:
    """Return a function that says whether the client has closed the connection, if the server can tell."""
    found: Callable[[], bool] = scope.get("state", {}).get("gone", lambda: False)
    return found


def _head_only(send: Send) -> Send:
    """Pass on the head of a response with an empty body, and abort a handler that would stream more."""
    done = False

    async def head(message: Message) -> None:
        nonlocal done
        if message["type"] == "http.response.start":
            await send(message)
        elif not done:
            done = True
            await send({"type": "http.response.body", "body": b""})
            if message.get("more_body"):
                raise ClientDisconnect
        elif message.get("more_body"):
            raise ClientDisconnect

    return head


def origins(settings: ServerSettings) -> list[str]:
    """Return the other origins that may call the server, as browsers spell them."""
    return [word.lower().rstrip("/") for word in _words(settings.origins)]


def _name(word: str) -> str:
    """Normalise a host from the settings, given as a name or a URL, to the form that `_host` returns."""
    word = word.rpartition("://")[2]
    return _host(f"[{word}]" if word.count(":") > 1 and "[" not in word else word)


def _host(address: str) -> str:
    """Return the host of a `host[:port]` in lower case; empty if it cannot be parsed."""
    try:
        return urlsplit(f"//{address}").hostname or ""
    except ValueError:  # unbalanced brackets
        return ""


def _words(text: str) -> Iterable[str]:
    return (word for word in (part.strip() for part in text.split(",")) if word)
