"""Clients for OpenAI-compatible servers: vectors from POST /embeddings, answers from POST /chat/completions."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.clock import Clock
from recollect.errors import ConfigError, Unavailable
from recollect.providers.base import unit_rows
from recollect.providers.http import ATTEMPTS_AGAIN, ModelEndpoint, Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OpenAIEmbedder", "OpenAIModel"]

HURRIED = 5.0
"""Timeout for embedding a query, in seconds; after it recall continues with words alone."""
BATCH = 32
"""Texts per request."""
TEXT_BYTES = 16_000
"""Texts are cut to this many UTF-8 bytes. OpenAI's models reject over 8,191 tokens, and a token has 2 to 5 bytes."""
SHORT = 1_000
"""A rejected text shorter than this is not too long: the models in use accept 512 tokens or more."""


class OpenAIEmbedder:
    """Embedder on an OpenAI-compatible server.

    `base_url` is the URL without /embeddings. `timeout` is the seconds to wait for a connection and for each read.
    Timeouts, lost connections, HTTP 429 and 5xx are retried `retries` times, at most three.
    """

    contextual = True

    def __init__(
        self,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        model: str = "text-embedding-3-small",
        dimension: int = 1536,
        timeout: float = 30.0,
        retries: int = ATTEMPTS_AGAIN,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not model.strip():
            raise ConfigError("the embedder's model is empty; name one that the server has")
        if dimension < 1:
            raise ConfigError(f"the embedder's dimension is {dimension}; it must be 1 or more")
        self.model = model
        self.dimension = dimension
        self._endpoint = ModelEndpoint(
            "embedder",
            "/embeddings",
            base_url=base_url,
            api_key=api_key,
            settings=f"model ({model!r}) and dimension ({dimension})",
            timeout=timeout,
            retries=retries,
            sleep=sleep,
        )
        self._hurried: Callable[[], OpenAIEmbedder] = lambda: OpenAIEmbedder(
            base_url=base_url,
            api_key=api_key,
            model=model,
            dimension=dimension,
            timeout=min(timeout, HURRIED),
            retries=0,
        )

    def __repr__(self) -> str:
        return f"OpenAIEmbedder(url={self._endpoint.url!r}, model={self.model!r}, dimension={self.dimension})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of unit length per text. Long texts are cut; one rejected while others pass gets zeros."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), BATCH):
            batch = [_cut(text) for text in texts[start : start + BATCH]]
            rows[start : start + len(batch)] = self._batch(batch)
        return rows

    @cached_property
    def for_queries(self) -> OpenAIEmbedder:
        """A variant for queries, where the caller waits: a short timeout and no retries."""
        return self._hurried()

    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        """Embed one batch. A rejected text must not fail the others: they are then sent one by one."""
        if len(texts) > 1:
            try:
                return self._vectors(texts)
            except Refused:
                pass
        rows = np.zeros((len(texts), self.dimension), np.float32)
        refusals = []
        for row, text in zip(rows, texts, strict=True):
            try:
                row[:] = self._alone(text)[0]
            except Refused as error:
                refusals.append(error)
        if len(refusals) == len(texts):
            raise refusals[0]
        return rows

    def _alone(self, text: str) -> NDArray[np.float32]:
        """Embed one text, as one row. If it is rejected it may be too long for the model: halve it and try again."""
        while True:
            try:
                return self._vectors([text])
            except Refused:
                if len(text) < SHORT:
                    raise
                text = text[: len(text) // 2]

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Send one request and return its vectors, validated and in the order of the texts."""
        request: dict[str, object] = {"model": self.model, "input": texts}
        if "text-embedding-3" in self.model:  # only this family can shorten its vectors; others reject the field
            request["dimensions"] = self.dimension
        answer = self._endpoint.post(request)
        try:
            items = json.loads(answer)["data"]
            by_index = {_index(item, place): _numbers(item["embedding"]) for place, item in enumerate(items)}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise Unavailable(
                f"{self._endpoint.url} did not return embeddings: {self._endpoint.shown(answer)}; "
                "is it the right address?"
            ) from None
        if len(items) != len(texts) or by_index.keys() != set(range(len(texts))):
            raise Unavailable(
                f"{self._endpoint.url} answered {len(items)} vector(s), numbered {sorted(by_index)[:BATCH]}; expected "
                f"{len(texts)}, numbered from 0"
            )
        return unit_rows([by_index[place] for place in range(len(texts))], len(texts), self)


class OpenAIModel:
    """Language model on an OpenAI-compatible server, at temperature 0.

    `base_url` is the URL without /chat/completions. `timeout` is the seconds to wait for a connection and for each
    read; the one given to `complete()` limits the whole call, retries included.
    """

    def __init__(
        self,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        model: str,
        timeout: float = 60.0,
        retries: int = ATTEMPTS_AGAIN,
        sleep: Callable[[float], None] = time.sleep,
        clock: Clock | None = None,
    ) -> None:
        if not model.strip():
            raise ConfigError("the language model's name is empty; name one that the server has")
        self.name = model
        self._endpoint = ModelEndpoint(
            "language model",
            "/chat/completions",
            base_url=base_url,
            api_key=api_key,
            settings=f"name ({model!r})",
            timeout=timeout,
            retries=retries,
            sleep=sleep,
            clock=clock,
        )
        self._refused: set[str] = set()
        """Request fields that this server rejects."""

    def __repr__(self) -> str:
        return f"OpenAIModel(url={self._endpoint.url!r}, model={self.name!r})"

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, object] | None = None,
        timeout: float | None = None,
    ) -> str:
        """Return the text of the answer. With a schema it should be conforming JSON; the caller still validates it."""
        deadline = self._endpoint.deadline(timeout)
        without = set(self._refused)
        while True:
            request = self._request(messages, schema, without)
            try:
                answer = self._endpoint.post(request, deadline=deadline)
            except Refused as refusal:
                # Servers seldom name the rejected field. Only reasoning models reject a temperature, and they name it.
                if "temperature" in request and "temperature" in str(refusal):
                    without.add("temperature")
                elif "response_format" in request:
                    without.add("response_format")
                else:
                    raise
                continue
            self._refused |= without  # certain only now: the texts could have been the reason
            return self._text(answer)

    def _request(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None, without: set[str]
    ) -> dict[str, object]:
        """Build the request without the fields that the server rejects; the schema then moves into the prompt."""
        request: dict[str, object] = {"model": self.name, "messages": [dict(one) for one in messages], "temperature": 0}
        if schema is not None:
            written = {"name": "answer", "strict": True, "schema": dict(schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": written}
            if "response_format" in without:
                asked = f"Answer with one JSON object and nothing else, by this JSON schema: {json.dumps(dict(schema))}"
                request["messages"] = [*map(dict, messages), {"role": "user", "content": asked}]
        return {field: value for field, value in request.items() if field not in without}

    def _text(self, answer: bytes) -> str:
        """Extract the text from a response, or raise Unavailable."""
        try:
            choice = json.loads(answer)["choices"][0]
            content = choice["message"]["content"]
            cut_off = choice.get("finish_reason") == "length"
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            content = None
        if not isinstance(content, str):
            raise Unavailable(
                f"{self._endpoint.url} did not return a text: {self._endpoint.shown(answer)}; "
                "is it the right address, and a model for chats?"
            )
        if cut_off:
            raise Unavailable(
                f"the answer of {self.name!r} was cut off after {len(content):,} characters, because it reached the "
                "server's limit of tokens; raise that limit, or use another model"
            )
        return content


def _cut(text: str) -> str:
    """Cut a text to TEXT_BYTES."""
    return text if len(text) * 4 <= TEXT_BYTES else text.encode()[:TEXT_BYTES].decode(errors="ignore")


def _index(item: dict[str, Any], place: int) -> int:
    """Return the index of a vector; some servers omit it and keep the order."""
    index = item.get("index")
    if index is None:
        return place
    if not isinstance(index, int):
        raise TypeError("an index is a whole number")
    return index


def _numbers(embedding: object) -> object:
    """Decode a vector, sent as a list or as base64 of 32-bit floats."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return embedding
