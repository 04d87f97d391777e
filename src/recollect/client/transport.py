"""HTTP transport to a server: keep-alive connections, errors by code, retries, and idempotency keys for writes."""

import json
import random
import time
import uuid
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

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

__all__ = ["HttpTransport", "encoded"]

ERRORS: Mapping[int, type[RecollectError]] = {
    401: Denied,
    403: Denied,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    412: Stale,
    429: Unavailable,
    500: RecollectError,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
"""Error class by HTTP status, used if the response has no known error code."""
CODES: Mapping[str, type[RecollectError]] = {
    "busy": Unavailable,
    "config": ConfigError,
    "conflict": Conflict,
    "corrupt": Corrupt,
    "denied": Denied,
    "failed": RecollectError,
    "invalid": Invalid,
    "not-found": NotFound,
    "stale": Stale,
    "unavailable": Unavailable,
    "under-way": Conflict,
}
KINDS: Mapping[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}
TRIES = 3
SLOW = 600.0
"""Timeout in seconds for requests that run a model or process the whole memory."""
PATIENCE, FIRST_PAUSE, LONGEST_PAUSE = 60.0, 0.1, 2.0
"""Minimum total time to keep polling a request that is in progress or was rejected as busy; backoff bounds. Seconds."""


class HttpTransport:
    """A server's address and access token. Thread-safe: each request has a connection of its own while it runs."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        try:
            parts = urlsplit(url)
            kind, host, port = KINDS.get(parts.scheme), parts.hostname, parts.port
        except ValueError:
            kind = host = None
        if kind is None or not host:
            raise ConfigError(f"{url!r} is not the address of a server; write it as http://127.0.0.1:8377")
        token = None if token is None else token.strip()
        if token is not None and not (token.isascii() and token.isprintable()):  # a secret: the message omits it
            raise ConfigError("the token contains invalid characters; pass it as `recollect token create` printed it")
        self._kind, self._host, self._port, self._base = kind, host, port, parts.path.rstrip("/")
        self._token, self._timeout = token, timeout
        self._idle: list[HTTPConnection] = []

    def ask(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        slow: bool = False,
    ) -> Any:
        """Send a request and return the decoded JSON body; None if the body is empty.

        Connection failures are retried; a write carries an idempotency key, so the server applies it once. If the
        retried write is still in progress, poll until its response is available; if the server is busy and sends
        Retry-After, wait and retry.
        """
        head = {"Accept": "application/json", **(headers or {})}
        if self._token is not None:
            head["Authorization"] = f"Bearer {self._token}"
        if verb != "GET":
            head["Idempotency-Key"] = uuid.uuid4().hex
        payload = None
        if body is not None:
            payload, head["Content-Type"] = encoded(body), "application/json"
        given = {name: value for name, value in (query or {}).items() if value is not None}
        for name, value in given.items():
            if not isinstance(value, str | int | float):  # urlencode would send any other type as its str()
                raise Invalid(f"{name} must be text or a number, not {type(value).__name__}")
        target = f"{self._base}{path}" + (f"?{urlencode(given, quote_via=quote)}" if given else "")
        status, raw = self._answered(verb, target, payload, head, max(self._timeout, SLOW if slow else 0))
        if status >= 400:
            raise _error(status, raw)
        try:
            if status >= 300:  # a redirect: do not send the token to another address
                raise ValueError
            return json.loads(raw) if raw else None
        except ValueError:
            raise ConfigError(
                f"{self._host}:{self._port} answered {status}, but is not a recollect server; pass the address of "
                "`recollect serve`"
            ) from None

    def close(self) -> None:
        """Close idle connections; the next request opens a new one."""
        while self._idle:
            self._idle.pop().close()

    def _answered(
        self, verb: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> tuple[int, bytes]:
        tries, patience, pause = 0, max(timeout, PATIENCE), FIRST_PAUSE
        while True:
            try:
                # Double the timeout per retry: the first attempt of a write may still block its own retry.
                status, raw, wanted = self._sent(verb, target, body, headers, timeout * 2**tries)
            except (OSError, HTTPException) as error:
                tries += 1
                if tries == TRIES:
                    raise Unavailable(
                        f"no answer from {self._host}:{self._port} ({error}); is `recollect serve` running there?"
                    ) from error
                continue
            code = _problem(raw).get("code") if status >= 400 else None
            if tries and code == "under-way":
                wait, pause = min(pause, patience), min(2 * pause, LONGEST_PAUSE)
            # Busy: the request was not executed. Other kinds of unavailable may have executed it and used up its key.
            elif status in (429, 503) and code in ("busy", None) and wanted.isdecimal():
                # Jitter, so that rejected clients do not all retry at the same moment.
                wait = max(int(wanted), FIRST_PAUSE) * random.uniform(1, 2)
            else:
                return status, raw
            if wait > patience or patience <= 0:
                return status, raw
            time.sleep(wait)
            patience -= wait

    def _sent(
        self, verb: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> tuple[int, bytes, str]:
        """Send one request; return status, body and the Retry-After header (empty if absent)."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._kind(self._host, self._port)
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        try:
            connection.request(verb, target, body, headers)
            response = connection.getresponse()
            raw = response.read()
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError | HTTPException):
                self.close()  # other idle connections are probably dead too; retry on a new one
            raise
        self._idle.append(connection)
        return response.status, raw, response.headers.get("Retry-After", "")


def encoded(body: Any) -> bytes:
    """Encode a body as JSON; raise Invalid if that is impossible."""
    try:
        return json.dumps(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"the value cannot be sent as JSON: {error}; pass text, numbers, lists and mappings") from None


def _error(status: int, raw: bytes) -> RecollectError:
    """Return the exception for an error response."""
    problem = _problem(raw)
    kind = CODES.get(str(problem.get("code"))) or ERRORS.get(status, Invalid)
    return kind(str(problem.get("detail", f"the server answered {status}")))


def _problem(raw: bytes) -> Mapping[str, Any]:
    """Return the fields of an error response; empty if it is not a JSON object."""
    try:
        found = json.loads(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
