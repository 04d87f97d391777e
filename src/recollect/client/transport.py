"""The connection to a server: kept open, problems as errors, and a write that is sent again is done once."""

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

__all__ = ["Link", "encoded"]

ERRORS: Mapping[int, type[RecollectError]] = {
    401: Denied, 403: Denied, 404: NotFound, 408: Unavailable, 409: Conflict, 412: Stale, 429: Unavailable,
    500: RecollectError, 502: Unavailable, 503: Unavailable, 504: Unavailable,
}  # fmt: skip
"""What a status stands for, where no code tells it more closely."""
CODES: Mapping[str, type[RecollectError]] = {
    "busy": Unavailable, "config": ConfigError, "conflict": Conflict, "corrupt": Corrupt, "denied": Denied,
    "failed": RecollectError, "invalid": Invalid, "not-found": NotFound, "stale": Stale, "unavailable": Unavailable,
    "under-way": Conflict,
}  # fmt: skip
KINDS: Mapping[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}
TRIES = 3
SLOW = 600.0
"""How many seconds an answer may take to what a model, or the whole memory, is needed for."""
PATIENCE, FIRST_PAUSE, LONGEST_PAUSE = 60.0, 0.1, 2.0
"""How long what is still being done, or has no place yet, is asked for, at least; and how long to wait in between."""


class Link:
    """A server's address and the token for it. Threads may share it: each request has a connection to itself."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        try:
            parts = urlsplit(url)
            kind, host, port = KINDS.get(parts.scheme), parts.hostname, parts.port
        except ValueError:
            kind = host = None
        if kind is None or not host:
            raise ConfigError(f"{url!r} is not the address of a server; write it as http://127.0.0.1:8377")
        token = None if token is None else token.strip()
        if token is not None and not (token.isascii() and token.isprintable()):  # never told: it is a secret
            raise ConfigError("the token has characters that no token has; give it as `recollect token create` did")
        self._kind, self._host, self._port, self._base = kind, host, port, parts.path.rstrip("/")
        self._token, self._timeout = token, timeout
        self._idle: list[HTTPConnection] = []

    def ask(
        self, verb: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None,
        headers: Mapping[str, str] | None = None, slow: bool = False,
    ) -> Any:  # fmt: skip
        """Ask once and give what JSON the answer holds; None where it holds nothing.

        A request that got no answer is sent again, and a write carries a key, so that it is done once all the same.
        One that is still being done then is asked for until its answer is there; so is a server that has no time now
        and says when to come again.
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
            if not isinstance(value, str | int | float):  # any other would be sent as whatever Python shows it as
                raise Invalid(f"{name} is text or a number, not {type(value).__name__}")
        target = f"{self._base}{path}" + (f"?{urlencode(given, quote_via=quote)}" if given else "")
        status, raw = self._answered(verb, target, payload, head, max(self._timeout, SLOW if slow else 0))
        if status >= 400:
            raise _error(status, raw)
        try:
            if status >= 300:  # nothing was done, and where it leads a token is not to be sent
                raise ValueError
            return json.loads(raw) if raw else None
        except ValueError:
            raise ConfigError(
                f"{self._host}:{self._port} answered {status} and no memory; give the address of `recollect serve`"
            ) from None

    def close(self) -> None:
        """Give back the connections; the next request opens another."""
        while self._idle:
            self._idle.pop().close()

    def _answered(
        self, verb: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> tuple[int, bytes]:
        tries, patience, pause = 0, max(timeout, PATIENCE), FIRST_PAUSE
        while True:
            try:
                # Each time longer: a write may hold up its own second sending.
                status, raw, wanted = self._sent(verb, target, body, headers, timeout * 2**tries)
            except (OSError, HTTPException) as error:
                tries += 1
                if tries == TRIES:
                    raise Unavailable(
                        f"no answer from {self._host}:{self._port} ({error}); is `recollect serve` running there?"
                    ) from error
                continue
            code = _told(raw).get("code") if status >= 400 else None
            if tries and code == "under-way":
                wait, pause = min(pause, patience), min(2 * pause, LONGEST_PAUSE)
            # Nothing was done. What is unavailable in itself may have been done, and its key is taken.
            elif status in (429, 503) and code in ("busy", None) and wanted.isdecimal():
                # Not all who were sent away come at the same moment.
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
        """Status and body of an answer, and for how long to wait before coming again, if it says so."""
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
                self.close()  # what else is idle was as likely cut off; the next try is on a new one
            raise
        self._idle.append(connection)
        return response.status, raw, response.headers.get("Retry-After", "")


def encoded(body: Any) -> bytes:
    """A body as it is sent."""
    try:
        return json.dumps(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"this cannot be sent: {error}; give text, numbers, lists and mappings") from None


def _error(status: int, raw: bytes) -> RecollectError:
    """The error that a problem stands for."""
    told = _told(raw)
    kind = CODES.get(str(told.get("code"))) or ERRORS.get(status, Invalid)
    return kind(str(told.get("detail", f"the server answered {status}")))


def _told(raw: bytes) -> Mapping[str, Any]:
    """What a problem says; nothing, if it is none."""
    try:
        found = json.loads(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
