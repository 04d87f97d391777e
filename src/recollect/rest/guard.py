"""What every request passes before a route sees it: who may talk to this server at all, how much, a line in the log.

A browser is the danger on a machine's own address: any page can send requests there. So a server without tokens answers
only to its own names (a name that an attacker points here is refused), and no page of another origin may change
anything, or find out what is there. What a request carries never gets into the log: no query, no header, no body.
"""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.clock import iso, stopwatch
from recollect.config import ServerSettings
from recollect.rest.caller import is_loopback
from recollect.rest.problems import METHODS, problem
from recollect.rest.wire import SLASH

__all__ = ["LARGE", "SAFE", "Guard"]

SAFE = {"GET", "HEAD", "OPTIONS"}
UNCOUNTED = ("/healthz", "/readyz", "/metrics")
LARGE = ("/v1/import",)
"""Bodies that may be of any length, because they are never in memory as a whole."""
OPEN = ("/v1/feed", "/mcp")
"""What stays open for as long as somebody listens, when it is asked for with GET."""
CALLERS = 10_000
BURST = 2.0
"""Seconds of its rate that a caller may use at once."""
SENT_WITHIN = 60.0
"""Seconds in which a body must have come, of an import each part: else a few slow clients could keep all others out."""
_requests = logging.getLogger("recollect.requests")


class Guard:
    """The outermost layer of the app."""

    def __init__(
        self, app: ASGIApp, *, settings: ServerSettings, needs_token: bool, registry: CollectorRegistry
    ) -> None:
        self._app, self._settings, self._needs_token = app, settings, needs_token
        self._hosts = {*_words(settings.hosts), settings.host}
        self._origins = set(_words(settings.origins))
        self._running = self._feeds = 0
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._answers = Counter(
            "recollect_requests", "Requests that were answered", ["method", "route", "status"], registry=registry
        )
        self._times = Histogram(
            "recollect_request_seconds", "How long answers took", ["route"], registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )  # fmt: skip
        Gauge("recollect_requests_running", "Requests that are being answered", registry=registry).set_function(
            lambda: self._running
        )
        Gauge("recollect_feeds_open", "Feeds that are open", registry=registry).set_function(lambda: self._feeds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, head = stopwatch(), 0, scope["method"] == "HEAD"

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        inner = {**scope, "method": "GET"} if head else scope
        if SLASH in scope["path"] or b"%2f" in scope.get("raw_path", b"").lower():
            segments = scope["raw_path"].partition(b"?")[0].decode("latin-1").split("/")
            # What stands for a slash may itself have been sent; as a NUL it is in no name either, and no slash.
            texts = (unquote(segment).replace(SLASH, "\0").replace("/", SLASH) for segment in segments)
            inner = {**inner, "path": "/".join(texts)}
        try:
            await self._guarded(inner, receive, _head_only(noting) if head else noting)
        except ClientDisconnect:  # whoever asked has gone, or has all that it asked for
            pass
        except Exception:
            status = status or 500  # which is answered further out
            raise
        finally:
            self._note(inner, scope["method"], status, stopwatch() - began)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers) or self._too_much(scope, headers)
        if refused is not None:
            status, detail, more = refused
            await problem(scope["path"], status, detail, headers=more)(scope, receive, send)
            return
        feed = _stays_open(scope)
        limit = None if scope["path"] in LARGE else self._settings.body_limit
        self._feeds += feed
        self._running += not feed
        try:
            await self._app(scope, _limited(receive, limit), send)
        finally:
            self._feeds -= feed
            self._running -= not feed
            self._know(scope, headers)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Why nobody may ask this way: a name that is not ours, or a page of another origin."""
        host = _host(f"//{headers.get('host', '')}")
        if not self._needs_token and not (is_loopback(host) or host in self._hosts):
            return (
                421,
                f"this server does not answer to the name {host[:80]!r}; add it to [server] hosts if it should",
                {},
            )
        origin, embedded = headers.get("origin"), headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if origin is None:  # as of pictures and scripts
            foreign = embedded
        else:
            foreign = origin not in self._origins and origin.partition("://")[2] != headers.get("host")
        # A page learns nothing from following a link, but from whether a picture or a script is there.
        followed = headers.get("sec-fetch-mode") == "navigate"
        if foreign and (scope["method"] not in SAFE or (embedded and not followed)):
            return 403, "a page of another origin may not use this server; see [server] origins", {}
        return None

    def _too_much(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Why this is too much, or too much right now."""
        settings = self._settings
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > settings.body_limit and scope["path"] not in LARGE:
            return 413, f"a request may carry {settings.body_limit:,} bytes, and this one has {int(length):,}", {}
        if scope["path"] in UNCOUNTED:
            return None
        later = {"Retry-After": "1"}
        if _stays_open(scope):
            if self._feeds >= settings.feeds:
                return 503, f"{settings.feeds:,} feeds are open, and no more may be; come again later", later
        elif self._running >= settings.concurrency:
            return 503, f"{settings.concurrency} requests are being answered; come again in a moment", later
        caller, peer = _credential(headers), (scope["client"] or ("",))[0]
        if caller not in self._buckets:  # whatever it says it is: its address counts until its token was found good
            caller = peer
        if settings.rate > 0 and not is_loopback(caller) and not self._within_rate(caller):
            return 429, f"that is more than {settings.rate:g} requests a second; come again in a moment", later
        return None

    def _know(self, scope: Scope, headers: dict[str, str]) -> None:
        """Give a caller whose token was found good a bucket of its own."""
        caller = _credential(headers)
        good = scope.get("state", {}).get("caller", "-") != "-"
        if self._settings.rate > 0 and good and caller and caller not in self._buckets:
            self._within_rate(caller)

    def _within_rate(self, caller: str) -> bool:
        """Take one from the caller's bucket, which fills at the rate and holds a short burst."""
        rate, now = self._settings.rate, stopwatch()
        left, at = self._buckets.pop(caller, (rate * BURST, now))
        left = min(rate * BURST, left + (now - at) * rate)
        self._buckets[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > CALLERS:
            self._buckets.popitem(last=False)
        return left >= 1

    def _note(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None) or "-"
        if scope["path"] in UNCOUNTED:
            return
        self._answers.labels(method if method in METHODS else "-", route, status).inc()
        if not _stays_open(scope):
            self._times.labels(route).observe(seconds)
        caller = scope.get("state", {}).get("caller", "-")
        told = {
            "at": iso(scope["app"].state.clock.now()) if "app" in scope else None, "method": method,
            "path": scope["path"].replace(SLASH, "%2F"), "status": status, "ms": round(seconds * 1000, 1),
            "caller": caller,
        }  # fmt: skip
        if self._settings.log_format == "json":
            _requests.info(json.dumps(told, ensure_ascii=False))
        else:
            _requests.info("%(method)s %(path)r %(status)s %(ms)s ms %(caller)r", told)


def _limited(receive: Receive, limit: int | None) -> Receive:
    """The parts of a body, as long as they are not too much, and do not come too slowly."""
    got, more, until = 0, True, stopwatch() + SENT_WITHIN

    async def counted() -> Message:
        nonlocal got, more
        if not more:  # what comes now is that the client hangs up, and it may take its time
            return await receive()
        try:
            async with asyncio.timeout(SENT_WITHIN if limit is None else until - stopwatch()):
                message = await receive()
        except TimeoutError:
            raise HTTPException(
                408,
                f"the body did not come within {SENT_WITHIN:g} seconds; nothing was changed",
                {"Connection": "close"},
            ) from None
        got, more = got + len(message.get("body", b"")), message.get("more_body", False)
        if limit is not None and got > limit:
            raise HTTPException(
                413, f"a request may carry {limit:,} bytes; send less at once, or see [server] body_limit"
            )
        return message

    return counted


def _stays_open(scope: Scope) -> bool:
    return scope["method"] == "GET" and scope["path"] in OPEN


def _credential(headers: dict[str, str]) -> str:
    """What a caller shows to be let in; never to be taken for an address."""
    shown = headers.get("authorization") or headers.get("cookie")
    return f"by {shown}" if shown else ""


def _head_only(send: Send) -> Send:
    """Let the head of an answer through, and end whatever would go on with its body."""
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


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # brackets that do not fit
        return ""


def _words(text: str) -> Iterable[str]:
    return (word for word in (part.strip() for part in text.split(",")) if word)
