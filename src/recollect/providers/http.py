"""HTTP POST to an OpenAI-compatible server: retries, timeouts, and actionable errors. API keys are never shown.

Uses the standard library: the openai package takes 1 s to import and 20 MB for a single POST with our own retry rules.
Proxies come from the environment (http_proxy, https_proxy, no_proxy), which urllib reads itself.
"""

from __future__ import annotations

import json
import random
import re
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from functools import cached_property
from http.client import HTTPException, IncompleteRead
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from recollect.clock import Clock, SystemClock
from recollect.errors import ConfigError, Unavailable
from recollect.providers.base import SHOWN

__all__ = ["ATTEMPTS_AGAIN", "ModelEndpoint", "Refused"]

DELAYS = (1.0, 2.0, 4.0)
"""Backoff before each retry in seconds, plus up to 25% jitter so that clients do not retry in lockstep."""
ATTEMPTS_AGAIN = len(DELAYS)
"""Maximum number of retries."""
PATIENCE = 60.0
"""Longest Retry-After that is honoured, in seconds. A longer one raises Unavailable."""
ANSWER_BYTES = 16_000_000
"""Maximum size of an answer; a batch of vectors of 16,000 numbers takes less."""
PIECE_BYTES = 65_536
"""Bytes of an answer read between checks of the deadline."""

_BASE_URL = re.compile(r"https?://[\w.\-\[\]:]+(/[\w.~!$&'()*+,;=:%/-]*)?", re.ASCII | re.IGNORECASE)


class _TransientError(Exception):
    """A transient failure, and the Retry-After of the server in seconds."""

    def __init__(self, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.wait = wait


class Refused(ConfigError):
    """The server rejected the request, for its texts or for its settings; the status does not say which."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Disables redirects: urllib would turn a redirected POST into a GET without its body."""

    def redirect_request(self, *_: Any) -> None:
        """Do not follow the redirect; the response is then an error."""


class ModelEndpoint:
    """A URL that accepts JSON and returns bytes. Thread-safe.

    Error messages use `whose` to say whose settings to check ("embedder"), and `settings` which besides the URL.
    `timeout` is the seconds to wait for a connection and for each read. Timeouts, lost connections, HTTP 429 and 5xx
    are retried `retries` times, at most three.
    """

    def __init__(
        self,
        whose: str,
        path: str,
        *,
        base_url: str,
        api_key: str | None,
        settings: str,
        timeout: float,
        retries: int,
        sleep: Callable[[float], None] = time.sleep,
        clock: Clock | None = None,
    ) -> None:
        if not 0 < timeout <= 3600:
            raise ConfigError(f"the {whose}'s timeout is {timeout}; it must be more than 0 and at most 3600 seconds")
        if not 0 <= retries <= ATTEMPTS_AGAIN:
            raise ConfigError(f"the {whose}'s retries are {retries}; they must be 0 to {ATTEMPTS_AGAIN}")
        self.url = _checked_url(whose, base_url) + path
        self._whose = whose
        self._settings = settings
        self._key = _checked_key(whose, api_key)
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._clock = clock or SystemClock()

    def deadline(self, seconds: float | None) -> float | None:
        """Return the deadline `seconds` from now, for one or several calls of `post()`."""
        return None if seconds is None else self._clock.now() + seconds * 1000

    def post(self, request: Mapping[str, object], *, deadline: float | None = None) -> bytes:
        """Return the server's answer, retrying transient failures until the retries or the deadline are exhausted.

        Raises Unavailable, ConfigError if a setting is wrong, and Refused for HTTP 400, 413 and 422.
        """
        body = json.dumps(request).encode()
        attempts = 0
        while True:
            try:
                return self._post_once(body, deadline)
            except _TransientError as passing:
                attempts += 1
                delay = max(DELAYS[min(attempts, ATTEMPTS_AGAIN) - 1] * random.uniform(1, 1.25), passing.wait)
                too_late = deadline is not None and self._clock.now() + delay * 1000 >= deadline
                if attempts > self._retries or passing.wait > PATIENCE or too_late:
                    limit = " in the time given" if too_late else ""
                    raise Unavailable(
                        f"{self.url} cannot be used{limit}: {passing} (after {attempts} attempt(s)); try again later"
                    ) from None
                self._sleep(delay)

    def shown(self, said: bytes | str) -> str:
        """Return the beginning of a response, safe to print, with the key redacted in case the server echoes it."""
        text = said if isinstance(said, str) else said[: 10 * SHOWN].decode(errors="replace")
        return repr((text.replace(self._key, "[api_key]") if self._key else text)[:SHOWN])

    def _post_once(self, body: bytes, deadline: float | None) -> bytes:
        """Send one request and return the response body. Raise _TransientError only if a retry may help."""
        headers = {"Content-Type": "application/json", "User-Agent": "recollect"}
        request = urllib.request.Request(self.url, body, headers)
        if self._key:
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        timeout = self._timeout
        if deadline is not None:
            timeout = min(timeout, max((deadline - self._clock.now()) / 1000, 0.001))
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return self._read(response, deadline)
        except HTTPError as error:
            with error:
                raise self._translated(error) from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise ConfigError(f"the certificate of {self.url} is not trusted: {reason.verify_message}") from None
            raise _TransientError(f"{type(reason).__name__}: {self.shown(str(reason))}") from None

    def _read(self, response: Any, deadline: float | None) -> bytes:
        """Read the whole response body; a server that trickles it is cut off at the deadline."""
        answer = bytearray()
        while piece := response.read1(PIECE_BYTES):
            answer += piece
            if len(answer) > ANSWER_BYTES:
                raise Unavailable(
                    f"{self.url} answered more than {ANSWER_BYTES:,} bytes, which is more than a valid answer has"
                )
            if deadline is not None and self._clock.now() >= deadline:
                raise _TransientError("the answer takes too long")
        if response.length:
            raise IncompleteRead(bytes(answer), response.length)
        return bytes(answer)

    def _translated(self, error: HTTPError) -> Exception:
        """Translate an HTTP status into an exception."""
        try:
            said = self.shown(error.read(10 * SHOWN))
        except (OSError, HTTPException):
            said = "nothing more"
        found = f"{self.url} answered HTTP {error.code}: {said}"
        if error.code == 429 or error.code >= 500:
            return _TransientError(f"HTTP {error.code}: {said}", _seconds(error.headers.get("Retry-After", "")))
        if error.code in (401, 403):
            return ConfigError(f"{found}; check the {self._whose}'s api_key")
        if error.code in (400, 413, 422):
            return Refused(f"{found}; check the {self._whose}'s {self._settings}")
        return ConfigError(f"{found}; check the {self._whose}'s base_url and {self._settings}")

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        """The opener, cached because loading the system's certificates takes 70 ms."""
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if self.url.lower().startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context()))
        return urllib.request.build_opener(*handlers)


def _checked_url(whose: str, base_url: str) -> str:
    """Return the normalised server URL or raise ConfigError. The message omits the URL: it may contain a password."""
    url = base_url.strip().rstrip("/")
    try:
        fits = _BASE_URL.fullmatch(url) is not None and urlsplit(url).port != 0
    except ValueError:  # a port above 65535, or brackets around something other than an address
        fits = False
    if not fits:
        raise ConfigError(
            f"the {whose}'s base_url is not the address of a server; write it as https://HOST/v1, without a user name, "
            "a question mark or a fragment"
        )
    return url


def _checked_key(whose: str, api_key: str | None) -> str:
    """Return the key, valid in a header, or raise ConfigError. An empty key means none."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the {whose}'s api_key contains invalid characters, for instance a line break")
    return key


def _seconds(retry_after: str) -> float:
    """Parse Retry-After in seconds; 0 if it is missing or a date."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
