"""The connection to a server: kept open, problems as errors, and a write that is sent again is done once."""

import json
import uuid
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from recollect.errors import (
    ConfigError,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    RecollectError,
    Stale,
    Unavailable,
)

__all__ = ["Link"]

ERRORS: Mapping[int, type[RecollectError]] = {
    401: Denied, 403: Denied, 404: NotFound, 408: Unavailable, 409: Conflict, 412: Stale, 429: Unavailable,
    500: RecollectError, 502: Unavailable, 503: Unavailable, 504: Unavailable,
}  # fmt: skip
TRIES = 3


class Link:
    """A server's address and the token for it. Threads may share it: each request has a connection to itself."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{url!r} is not the address of a server; write it as http://127.0.0.1:8377")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path.rstrip("/")
        self._token, self._timeout = token, timeout
        self._idle: list[HTTPConnection] = []

    def ask(
        self, verb: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:  # fmt: skip
        """Ask once and give what JSON the answer holds; None where it holds nothing.

        A request that got no answer is sent again, and a write carries a key, so that it is done once all the same.
        """
        head = {"Accept": "application/json", **(headers or {})}
        if self._token is not None:
            head["Authorization"] = f"Bearer {self._token}"
        if verb != "GET":
            head["Idempotency-Key"] = uuid.uuid4().hex
        payload = None
        if body is not None:
            payload, head["Content-Type"] = json.dumps(body).encode(), "application/json"
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{self._base}{path}" + (f"?{urlencode(given, doseq=True, quote_via=quote)}" if given else "")
        status, raw = self._answered(verb, target, payload, head)
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

    def _answered(self, verb: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        for left in reversed(range(TRIES)):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._kind(self._host, self._port, timeout=self._timeout)
            try:
                connection.request(verb, target, body, headers)
                response = connection.getresponse()
                raw = response.read()
            except (OSError, HTTPException) as error:
                connection.close()
                self.close()  # what else is idle was as likely cut off; the next try is on a new one
                if not left:
                    raise Unavailable(
                        f"no answer from {self._host}:{self._port} ({error}); is `recollect serve` running there?"
                    ) from error
                continue
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
            return response.status, raw
        raise AssertionError("the last try returns or raises")


def _error(status: int, raw: bytes) -> RecollectError:
    """The error that a problem stands for."""
    try:
        detail = str(json.loads(raw)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"the server answered {status}"
    return ERRORS.get(status, Invalid)(detail)
