"""Any endpoint that speaks OpenAI's POST /embeddings. A key never appears in an error or a representation.

By the standard library: the openai package takes 1 s to import and 20 MB for what is one POST with our own rules for
retries. Proxies come from the environment (http_proxy, https_proxy, no_proxy), which urllib reads by itself.
"""

from __future__ import annotations

import base64
import json
import random
import re
import ssl
import time
import urllib.request
from collections.abc import Callable, Sequence
from functools import cached_property
from http.client import HTTPException, IncompleteRead
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import numpy as np

from recollect.errors import ConfigError, Unavailable
from recollect.providers.base import SHOWN, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OpenAIEmbedder"]

BATCH = 32
"""Texts in one request."""
DELAYS = (1.0, 2.0, 4.0)
"""Seconds before each retry; up to a quarter more is added by chance, so that many clients do not come back at once."""
PATIENCE = 60.0
"""The longest Retry-After that is waited for, in seconds. When the server asks for more, it is unavailable."""
TEXT_BYTES = 16_000
"""UTF-8 bytes of a text that are sent. OpenAI's models refuse more than 8,191 tokens, and a token has 2 to 5 bytes."""
SHORT = 1_000
"""Characters below which a text is not refused for its length: the models in use take 512 tokens or more."""
ANSWER_BYTES = 16_000_000
"""The longest answer that is read; a batch of vectors of 16,000 numbers takes less."""

_BASE_URL = re.compile(r"https?://[\w.\-\[\]:]+(/[\w.~!$&'()*+,;=:%/-]*)?", re.ASCII | re.IGNORECASE)


class _Passing(Exception):
    """Something that may be over in a moment, and how many seconds the server asks to wait."""

    def __init__(self, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.wait = wait


class _Refused(ConfigError):
    """The server understood the request and does not want its texts, or its settings: nobody knows which."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its texts."""

    def redirect_request(self, *_: Any) -> None:
        """Not followed: the answer counts as an error."""


class OpenAIEmbedder:
    """Vectors from an OpenAI-compatible server.

    `base_url` is what comes before /embeddings. `timeout` is how many seconds to wait for a connection and for each
    part of an answer. Timeouts, lost connections, HTTP 429 and 5xx are tried again `retries` times, at most three.
    """

    def __init__(
        self,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        model: str = "text-embedding-3-small",
        dimension: int = 1536,
        timeout: float = 30.0,
        retries: int = len(DELAYS),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not model.strip():
            raise ConfigError("the embedder's model is empty; name one that the server has")
        if dimension < 1:
            raise ConfigError(f"the embedder's dimension is {dimension}; it must be 1 or more")
        if not 0 < timeout <= 3600:
            raise ConfigError(f"the embedder's timeout is {timeout}; it must be more than 0 and at most 3600 seconds")
        if not 0 <= retries <= len(DELAYS):
            raise ConfigError(f"the embedder's retries are {retries}; give 0 to {len(DELAYS)}")
        self.model = model
        self.dimension = dimension
        self._url = _checked_url(base_url)
        self._key = _checked_key(api_key)
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep

    def __repr__(self) -> str:
        return f"OpenAIEmbedder(url={self._url!r}, model={self.model!r}, dimension={self.dimension})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length per text. A long text is cut; one that is refused while others pass gets zeros."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), BATCH):
            batch = [_cut(text) for text in texts[start : start + BATCH]]
            rows[start : start + len(batch)] = self._batch(batch)
        return rows

    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        """The vectors of one batch. One text that is refused must not keep the others from theirs."""
        if len(texts) > 1:
            try:
                return self._vectors(texts)
            except _Refused:
                pass
        rows = np.zeros((len(texts), self.dimension), np.float32)
        refusals = []
        for row, text in zip(rows, texts, strict=True):
            try:
                row[:] = self._alone(text)[0]
            except _Refused as error:
                refusals.append(error)
        if len(refusals) == len(texts):
            raise refusals[0]
        return rows

    def _alone(self, text: str) -> NDArray[np.float32]:
        """The vector of one text, as one row. If it is refused it may be too long for the model: half of it may do."""
        while True:
            try:
                return self._vectors([text])
            except _Refused:
                if len(text) < SHORT:
                    raise
                text = text[: len(text) // 2]

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """The vectors of one request, checked and in the order of the texts."""
        request: dict[str, object] = {"model": self.model, "input": texts}
        if "text-embedding-3" in self.model:  # the family that can shorten its vectors; other models refuse the word
            request["dimensions"] = self.dimension
        answer = self._ask(json.dumps(request).encode())
        try:
            items = json.loads(answer)["data"]
            by_index = {_index(item, place): _numbers(item["embedding"]) for place, item in enumerate(items)}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise Unavailable(
                f"{self._url} answered something else than embeddings: {self._shown(answer)}; is it the right address?"
            ) from None
        if len(items) != len(texts) or by_index.keys() != set(range(len(texts))):
            raise Unavailable(
                f"{self._url} answered {len(items)} vector(s), numbered {sorted(by_index)[:BATCH]}; expected "
                f"{len(texts)}, numbered from 0"
            )
        return unit_rows([by_index[place] for place in range(len(texts))], len(texts), self)

    def _ask(self, body: bytes) -> bytes:
        """The server's answer, after as many retries as it takes and as there are."""
        attempts = 0
        while True:
            try:
                return self._ask_once(body)
            except _Passing as passing:
                attempts += 1
                if attempts > self._retries or passing.wait > PATIENCE:
                    raise Unavailable(
                        f"{self._url} cannot be used: {passing} (after {attempts} attempt(s)); try again later"
                    ) from None
                self._sleep(max(DELAYS[attempts - 1] * random.uniform(1, 1.25), passing.wait))

    def _ask_once(self, body: bytes) -> bytes:
        """One request: the body of its answer, _Passing, or an error that no retry can change."""
        headers = {"Content-Type": "application/json", "User-Agent": "recollect"}
        request = urllib.request.Request(self._url, body, headers)
        if self._key:
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer: bytes = response.read(ANSWER_BYTES + 1)
                if len(answer) > ANSWER_BYTES:
                    raise Unavailable(
                        f"{self._url} answered more than {ANSWER_BYTES:,} bytes, which no batch of embeddings takes"
                    )
                if response.length:
                    raise IncompleteRead(answer, response.length)
                return answer
        except HTTPError as error:
            with error:
                raise self._translated(error) from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise ConfigError(f"the certificate of {self._url} is not trusted: {reason.verify_message}") from None
            raise _Passing(f"{type(reason).__name__}: {self._shown(str(reason))}") from None

    def _translated(self, error: HTTPError) -> Exception:
        """An HTTP status as what it means here."""
        try:
            said = self._shown(error.read(10 * SHOWN))
        except (OSError, HTTPException):
            said = "nothing more"
        found = f"{self._url} answered HTTP {error.code}: {said}"
        if error.code == 429 or error.code >= 500:
            return _Passing(f"HTTP {error.code}: {said}", _seconds(error.headers.get("Retry-After", "")))
        if error.code in (401, 403):
            return ConfigError(f"{found}; check the embedder's api_key")
        if error.code in (400, 413, 422):
            return _Refused(f"{found}; check the embedder's model ({self.model!r}) and dimension ({self.dimension})")
        return ConfigError(f"{found}; check the embedder's base_url and model ({self.model!r})")

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        """One for all requests: it costs 70 ms to read the certificates of the machine."""
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if self._url.lower().startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context()))
        return urllib.request.build_opener(*handlers)

    def _shown(self, said: bytes | str) -> str:
        """The beginning of what came back, safe to print and without the key, should the server repeat it."""
        text = said if isinstance(said, str) else said[: 10 * SHOWN].decode(errors="replace")
        return repr((text.replace(self._key, "[api_key]") if self._key else text)[:SHOWN])


def _checked_url(base_url: str) -> str:
    """The address of the embeddings, or ConfigError. The message does not repeat it: a password may be in it."""
    url = base_url.strip().rstrip("/")
    try:
        fits = _BASE_URL.fullmatch(url) is not None and urlsplit(url).port != 0
    except ValueError:  # a port beyond 65535, or brackets around something else than an address
        fits = False
    if not fits:
        raise ConfigError(
            "the embedder's base_url is not the address of a server; give it as https://HOST/v1, without a user name, "
            "a question mark or a fragment"
        )
    return f"{url}/embeddings"


def _checked_key(api_key: str | None) -> str:
    """The key as a header can carry it, or ConfigError. An empty one is none."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("the embedder's api_key holds characters that no key has, for instance a line break")
    return key


def _cut(text: str) -> str:
    """The beginning of a text, as long as the server may take it."""
    return text if len(text) * 4 <= TEXT_BYTES else text.encode()[:TEXT_BYTES].decode(errors="ignore")


def _index(item: dict[str, Any], place: int) -> int:
    """Where a vector belongs; some servers leave it out and keep the order."""
    index = item.get("index")
    if index is None:
        return place
    if not isinstance(index, int):
        raise TypeError("an index is a whole number")
    return index


def _numbers(embedding: object) -> object:
    """The numbers of a vector, which come as a list or as base64 of 32-bit floats."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return embedding


def _seconds(retry_after: str) -> float:
    """Seconds to wait as the server says; 0 if it does not, or if it names a date."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
