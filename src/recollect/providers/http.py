"""One POST to an OpenAI-compatible server: retries, time limits, and errors that say what to do. It never shows a key.

By the standard library: the openai package takes 1 s to import and 20 MB for what is one POST with our own rules for
retries. Proxies come from the environment (http_proxy, https_proxy, no_proxy), which urllib reads by itself.
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

__all__ = ["ATTEMPTS_AGAIN", "Endpoint", "Refused"]

DELAYS = (1.0, 2.0, 4.0)
"""Seconds before each retry; up to a quarter more is added by chance, so that many clients do not come back at once."""
ATTEMPTS_AGAIN = len(DELAYS)
"""The most retries there can be."""
PATIENCE = 60.0
"""The longest Retry-After that is waited for, in seconds. When the server asks for more, it is unavailable."""
ANSWER_BYTES = 16_000_000
"""The longest answer that is read; a batch of vectors of 16,000 numbers takes less."""
PIECE_BYTES = 65_536
"""How much of an answer is read before the time is looked at again."""

_BASE_URL = re.compile(r"https?://[\w.\-\[\]:]+(/[\w.~!$&'()*+,;=:%/-]*)?", re.ASCII | re.IGNORECASE)


class _Passing(Exception):
    """Something that may be over in a moment, and how many seconds the server asks to wait."""

    def __init__(self, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.wait = wait


class Refused(ConfigError):
    """The server understood the request and does not want its texts, or its settings: nobody knows which."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its texts."""

    def redirect_request(self, *_: Any) -> None:
        """Not followed: the answer counts as an error."""


class Endpoint:
    """One address that takes JSON and answers bytes. Several threads may use it at once.

    `whose` says in errors whose settings to check ("embedder"), `settings` which ones besides the address.
    `timeout` is how many seconds to wait for a connection and for each part of an answer. Timeouts, lost connections,
    HTTP 429 and 5xx are tried again `retries` times, at most three.
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
            raise ConfigError(f"the {whose}'s retries are {retries}; give 0 to {ATTEMPTS_AGAIN}")
        self.url = _checked_url(whose, base_url) + path
        self._whose = whose
        self._settings = settings
        self._key = _checked_key(whose, api_key)
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._clock = clock or SystemClock()

    def deadline(self, seconds: float | None) -> float | None:
        """The moment that is so far away, for one or several calls of `post()`."""
        return None if seconds is None else self._clock.now() + seconds * 1000

    def post(self, request: Mapping[str, object], *, deadline: float | None = None) -> bytes:
        """The server's answer, after as many retries as it takes and as there are before the deadline.

        Raises Unavailable, ConfigError when a setting is wrong, and Refused for HTTP 400, 413 and 422.
        """
        body = json.dumps(request).encode()
        attempts = 0
        while True:
            try:
                return self._post_once(body, deadline)
            except _Passing as passing:
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
        """The beginning of what came back, safe to print and without the key, should the server repeat it."""
        text = said if isinstance(said, str) else said[: 10 * SHOWN].decode(errors="replace")
        return repr((text.replace(self._key, "[api_key]") if self._key else text)[:SHOWN])

    def _post_once(self, body: bytes, deadline: float | None) -> bytes:
        """One request: the body of its answer, _Passing, or an error that no retry can change."""
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
            raise _Passing(f"{type(reason).__name__}: {self.shown(str(reason))}") from None

    def _read(self, response: Any, deadline: float | None) -> bytes:
        """The whole body of an answer; a server that sends it drop by drop is left at the deadline."""
        answer = bytearray()
        while piece := response.read1(PIECE_BYTES):
            answer += piece
            if len(answer) > ANSWER_BYTES:
                raise Unavailable(f"{self.url} answered more than {ANSWER_BYTES:,} bytes, which no good answer takes")
            if deadline is not None and self._clock.now() >= deadline:
                raise _Passing("the answer takes too long")
        if response.length:
            raise IncompleteRead(bytes(answer), response.length)
        return bytes(answer)

    def _translated(self, error: HTTPError) -> Exception:
        """An HTTP status as what it means here."""
        try:
            said = self.shown(error.read(10 * SHOWN))
        except (OSError, HTTPException):
            said = "nothing more"
        found = f"{self.url} answered HTTP {error.code}: {said}"
        if error.code == 429 or error.code >= 500:
            return _Passing(f"HTTP {error.code}: {said}", _seconds(error.headers.get("Retry-After", "")))
        if error.code in (401, 403):
            return ConfigError(f"{found}; check the {self._whose}'s api_key")
        if error.code in (400, 413, 422):
            return Refused(f"{found}; check the {self._whose}'s {self._settings}")
        return ConfigError(f"{found}; check the {self._whose}'s base_url and {self._settings}")

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        """One for all requests: it costs 70 ms to read the certificates of the machine."""
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if self.url.lower().startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context()))
        return urllib.request.build_opener(*handlers)


def _checked_url(whose: str, base_url: str) -> str:
    """The address of the server, or ConfigError. The message does not repeat it: a password may be in it."""
    url = base_url.strip().rstrip("/")
    try:
        fits = _BASE_URL.fullmatch(url) is not None and urlsplit(url).port != 0
    except ValueError:  # a port beyond 65535, or brackets around something else than an address
        fits = False
    if not fits:
        raise ConfigError(
            f"the {whose}'s base_url is not the address of a server; give it as https://HOST/v1, without a user name, "
            "a question mark or a fragment"
        )
    return url


def _checked_key(whose: str, api_key: str | None) -> str:
    """The key as a header can carry it, or ConfigError. An empty one is none."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the {whose}'s api_key holds characters that no key has, for instance a line break")
    return key


def _seconds(retry_after: str) -> float:
    """Seconds to wait as the server says; 0 if it does not, or if it names a date."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
