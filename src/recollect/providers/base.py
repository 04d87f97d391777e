"""The protocols for embedders and language models, and the validation of their output.

Every failure of a provider is raised here as Unavailable or ConfigError: no unvalidated output ever reaches a store.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recollect.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ANSWER_LENGTH",
    "SHOWN",
    "Embedder",
    "LanguageModel",
    "Reranker",
    "complete",
    "embed",
    "json_object",
    "prompt",
    "scores",
    "unit_rows",
]

ANSWER_LENGTH = 200_000
"""Maximum length of a language model's answer, in characters."""

SHOWN = 200
"""Maximum length of a provider's error text quoted in a message, in characters."""


class Embedder(Protocol):
    """Texts in, vectors out. Must be thread-safe.

    `model` identifies everything that makes two vectors comparable: it is stored with them, and a different name means
    that all are recomputed. Vectors need not have unit length; a row of zeros means that the text has no vector.

    An attribute `instant = True` says that it is fast enough to run before a write commits. Without it, new entries get
    their vectors in the background, shortly after the write. An attribute `contextual = True` says that it reads the
    words of a text together, as transformers do: the vectors of short turns then count more in a search of
    conversations.
    """

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    @property
    def dimension(self) -> int:
        """The number of dimensions of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, in the same order. The texts are not blank and contain no lone surrogates."""
        ...


@cache
def prompt(name: str) -> str:
    """Return the instructions in prompts/NAME.md."""
    return Path(__file__).with_name("prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


class LanguageModel(Protocol):
    """Messages in, one answer out. Must be thread-safe."""

    @property
    def name(self) -> str:
        """The name of the model, for error messages and reports."""
        ...

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, object] | None = None,
        timeout: float | None = None,
    ) -> str:
        """Answer messages of the form {"role": "system" | "user" | "assistant", "content": TEXT}.

        With a JSON schema the answer should be an object that conforms to it; the caller validates it. `timeout` limits
        the whole call, in seconds.
        """
        ...


class Reranker(Protocol):
    """A query and texts in, one score per text out. Must be thread-safe."""

    @property
    def name(self) -> str:
        """The name of the model, for error messages."""
        ...

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how well each text answers the query, higher is better."""
        ...


def scores(reranker: Reranker, query: str, texts: Sequence[str]) -> list[float]:
    """Return a finite score for each text.

    Raises Unavailable if the reranker fails or returns anything else, ConfigError if its files are wrong, and nothing
    else.
    """
    try:
        found = [float(score) for score in reranker.scores(query, texts)]
    except (ConfigError, Unavailable):
        raise
    except Exception as error:
        raise Unavailable(
            f"the reranker {reranker.name!r} failed with {type(error).__name__}: {str(error)[:SHOWN]}"
        ) from error
    if len(found) != len(texts) or not all(map(isfinite, found)):
        raise Unavailable(f"the reranker {reranker.name!r} returned no finite score for each of {len(texts)} text(s)")
    return found


def complete(
    model: LanguageModel,
    messages: Sequence[Mapping[str, str]],
    *,
    schema: Mapping[str, object] | None = None,
    timeout: float | None = None,
) -> str:
    """Return the model's answer, neither blank nor longer than ANSWER_LENGTH, within `timeout` seconds.

    Raises Unavailable if the model fails, returns an invalid answer or times out, ConfigError if its settings are
    wrong, and nothing else. A call that exceeds the timeout is abandoned in its daemon thread.
    """
    outcome: list[str | Exception] = []

    def ask() -> None:
        try:
            outcome.append(model.complete(messages, schema=schema, timeout=timeout))
        except Exception as error:
            outcome.append(error)

    if timeout is None:
        ask()
    else:
        thread = threading.Thread(target=ask, name="recollect-model", daemon=True)
        thread.start()
        thread.join(timeout)
    answer = outcome[0] if outcome else Unavailable(f"the model {model.name!r} did not answer within {timeout:g} s")
    if isinstance(answer, ConfigError | Unavailable):
        raise answer
    if isinstance(answer, Exception):
        raise Unavailable(
            f"the model {model.name!r} failed with {type(answer).__name__}: {str(answer)[:SHOWN]}"
        ) from answer
    if not isinstance(answer, str) or not answer.strip():
        raise Unavailable(f"the model {model.name!r} returned nothing; try again, or use another model")
    if len(answer) > ANSWER_LENGTH:
        raise Unavailable(
            f"the model {model.name!r} returned {len(answer):,} characters; at most {ANSWER_LENGTH:,} are accepted"
        )
    return answer


_BRACES = 20
"""Maximum number of opening braces tried as the start of an object."""


def json_object(answer: str) -> dict[str, object]:
    """Return the first JSON object in an answer, which may be fenced or inside prose. Raise Unavailable if none."""
    decoder = json.JSONDecoder()
    place = answer.find("{")
    for _ in range(_BRACES):
        if place < 0:
            break
        try:
            found: dict[str, object] = decoder.raw_decode(answer, place)[0]
        except (ValueError, RecursionError):
            place = answer.find("{", place + 1)
        else:
            return found
    raise Unavailable(
        f"the model returned {answer[:SHOWN]!r} instead of a JSON object; try again, or use another model"
    )


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return one row of unit length per text. A row of zeros means that the text has no vector: see `rows.any(axis=1)`.

    A blank text has none, and is not sent to the embedder. Raises Unavailable if the embedder fails or returns invalid
    vectors, ConfigError if its settings are wrong, and nothing else.
    """
    import numpy as np

    if embedder.dimension < 1:
        raise ConfigError(f"the embedder {embedder.model!r} has dimension {embedder.dimension}; it must be 1 or more")
    rows = np.zeros((len(texts), embedder.dimension), np.float32)
    asked = [place for place, text in enumerate(texts) if text.strip()]
    if asked:
        try:
            answer = embedder.embed([texts[place] for place in asked])
        except (ConfigError, Unavailable):
            raise
        except Exception as error:
            raise Unavailable(
                f"the embedder {embedder.model!r} failed on {len(asked)} text(s) with {type(error).__name__}: "
                f"{str(error)[:SHOWN]}"
            ) from error
        rows[asked] = unit_rows(answer, len(asked), embedder)
    return rows


def unit_rows(answer: object, count: int, embedder: Embedder) -> NDArray[np.float32]:
    """Validate an embedder's output and scale its rows to unit length, keeping rows of zeros. Raise Unavailable unless
    it is `count` vectors of finite numbers in the embedder's dimension."""
    import numpy as np

    expected = f"expected {count} vector(s) of {embedder.dimension:,} numbers"
    try:
        given = np.asarray(answer)
    except Exception as error:
        raise Unavailable(
            f"{embedder.model!r} returned no table of numbers ({str(error)[:SHOWN]}); {expected}"
        ) from error
    if given.dtype.kind not in "fiu":
        raise Unavailable(
            f"{embedder.model!r} returned values of type {given.dtype}, which are not real numbers; {expected}"
        )
    if given.shape != (count, embedder.dimension):
        if given.ndim == 2:
            found = f"{given.shape[0]} vector(s) of {given.shape[1]:,} numbers"
        else:
            found = f"an array of shape {given.shape}"
        raise Unavailable(f"{embedder.model!r} returned {found}; {expected}: check the model and its dimension")
    rows = given.astype(np.float64)
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if broken.size:
        raise Unavailable(
            f"{embedder.model!r} returned NaN or infinity in {broken.size} of {count} vector(s), first in number "
            f"{broken[0]}; {expected}, all finite"
        )
    # Divide by the largest number first: the square of a very large or very small one would overflow or underflow.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest > 0, largest, 1)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return rows.astype(np.float32)
