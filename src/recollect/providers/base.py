"""The seams to whatever turns texts into vectors or messages into answers, and where those answers are checked.

Whatever one of them does wrong ends here as Unavailable or ConfigError: nothing unchecked ever reaches a store.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from functools import cache
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
    "complete",
    "embed",
    "json_object",
    "prompt",
    "unit_rows",
]

ANSWER_LENGTH = 200_000
"""Characters of the longest answer of a language model that is taken."""

SHOWN = 200
"""Characters of a foreign error that a message repeats."""


class Embedder(Protocol):
    """Texts in, vectors out. Several threads may call it at once.

    `model` names everything that makes two vectors comparable: it is stored with them, and another name means that all
    are made anew. Vectors need not have unit length; a row of zeros says that the text has no vector.
    """

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, in the same order. The texts are not blank and hold no lone surrogates."""
        ...


@cache
def prompt(name: str) -> str:
    """The instructions in prompts/NAME.md."""
    return Path(__file__).with_name("prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


class LanguageModel(Protocol):
    """Messages in, one answer out. Several threads may call it at once."""

    @property
    def name(self) -> str:
        """The name of the model, for messages to people."""
        ...

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, object] | None = None,
        timeout: float | None = None,
    ) -> str:
        """The answer to messages of the form {"role": "system" | "user" | "assistant", "content": TEXT}.

        With a JSON schema the answer should be an object of that form; whoever asks checks it. `timeout` is how many
        seconds the whole call may take.
        """
        ...


def complete(
    model: LanguageModel,
    messages: Sequence[Mapping[str, str]],
    *,
    schema: Mapping[str, object] | None = None,
    timeout: float | None = None,
) -> str:
    """The model's answer, neither blank nor endless, within `timeout` seconds.

    Raises Unavailable when the model fails, answers nonsense or takes too long, ConfigError when its settings are
    wrong, and nothing else. A model that does not keep to the timeout is left behind in its thread.
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
        raise Unavailable(f"the model {model.name!r} answered nothing; try again, or use another model")
    if len(answer) > ANSWER_LENGTH:
        raise Unavailable(
            f"the model {model.name!r} answered {len(answer):,} characters; at most {ANSWER_LENGTH:,} are taken"
        )
    return answer


_BRACES = 20
"""How many opening braces of an answer may turn out to be no beginning of an object."""


def json_object(answer: str) -> dict[str, object]:
    """The first JSON object in an answer, which may be fenced or surrounded by prose. Else Unavailable."""
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
    raise Unavailable(f"the model answered no JSON object but {answer[:SHOWN]!r}; try again, or use another model")


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """One row of unit length per text. A row of zeros says that the text has no vector: see `rows.any(axis=1)`.

    A blank text has none, and the embedder is not asked about it. Raises Unavailable when the embedder fails or
    answers nonsense, ConfigError when its settings are wrong, and nothing else.
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
    """What an embedder returned for that many texts as rows of unit length, rows of zeros kept; Unavailable if it is
    anything but that many vectors of finite numbers in the embedder's dimension."""
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
    # By the largest number first: the square of a very large or a very small one is out of a float's range.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest > 0, largest, 1)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return rows.astype(np.float32)
