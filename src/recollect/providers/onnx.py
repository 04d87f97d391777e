"""Transformers that run on this machine with onnxruntime: an embedder, and a reranker of hits (a cross-encoder).

The weights are the user's: a folder with `model.onnx` and `tokenizer.json`, as they are exported for sentence
transformers and cross-encoders. Nothing is ever downloaded.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

__all__ = ["OnnxEmbedder", "OnnxReranker"]

FILES = ("model.onnx", "tokenizer.json")
MAX_TOKENS = 512
"""Tokens of a text that are read, and of a query and a text together; most models know no more positions."""
BATCH = 16
BATCH_LENGTH = 8_000
"""Characters of a batch, all of its texts as long as the longest: memory grows with them, to a gigabyte at four times
as many."""
POOLED = "sentence_embedding"
"""Name of an output that is the vector of a text; other outputs with a vector per token are averaged."""


class OnnxEmbedder:
    """Embedder with a transformer of the user. The vector of a text is the mean of its tokens' vectors."""

    contextual = True

    def __init__(self, folder: Path) -> None:
        self._files = _ModelFolder(folder)

    @property
    def model(self) -> str:
        """The name of the model: a digest of its files."""
        return f"onnx-{self._files.digest}"

    @cached_property
    def dimension(self) -> int:
        """The number of dimensions of a vector."""
        return int(self._vectors(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, not of unit length."""
        import numpy as np

        found = np.zeros((len(texts), self.dimension), np.float32)
        for places in _batches(texts):
            found[places] = self._vectors([texts[place] for place in places])
        return found

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        found, mask = self._files.run([(text,) for text in texts], POOLED)
        if found.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            found = (found * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        if found.ndim != 2:
            raise ConfigError(f"the model in {self._files.folder} returns no vectors; use one that embeds sentences")
        return np.asarray(found, np.float32)


class OnnxReranker:
    """Reranker with a cross-encoder of the user."""

    def __init__(self, folder: Path) -> None:
        self._files = _ModelFolder(folder)

    @property
    def name(self) -> str:
        """The folder of the model."""
        return str(self._files.folder)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the query, higher is better."""
        found = [0.0] * len(texts)
        for places in _batches(texts):
            for place, score in zip(places, self._scores(query, [texts[place] for place in places]), strict=True):
                found[place] = score
        return found

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        found, _ = self._files.run([(query, text) for text in texts])
        if found.ndim > 2 or len(found) != len(texts):
            raise ConfigError(
                f"the model in {self._files.folder} returns no score for a query and a text; use a cross-encoder"
            )
        return [float(score) for score in found.reshape(len(texts), -1)[:, -1]]


class _ModelFolder:
    """The model and the tokenizer in a folder, loaded once, on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise ConfigError(f"{folder} has no file {missing[0]}; the folder of a model has {' and '.join(FILES)}")
        for package in ("onnxruntime", "tokenizers"):
            if find_spec(package) is None:
                raise ConfigError(f"the package {package} is missing: {ConfigError.install('onnx')}")
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @cached_property
    def digest(self) -> str:
        """A digest of both files, which changes whenever vectors could."""
        found = hashlib.sha256()
        for name in FILES:
            with (self.folder / name).open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        return found.hexdigest()[:16]

    def run(self, texts: Sequence[tuple[str, ...]], output: str = "") -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the output of this name, else the first one, for texts or pairs of texts, and their attention mask."""
        import numpy as np

        with self._usable():
            session, tokenizer = self._load()
            encoded: list[Encoding] = [tokenizer.encode(*text) for text in texts]
            shape = len(encoded), max([1, *(len(one.ids) for one in encoded)])
            given = {name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
            for row, one in enumerate(encoded):
                given["input_ids"][row, : len(one.ids)] = one.ids
                given["attention_mask"][row, : len(one.ids)] = 1
                given["token_type_ids"][row, : len(one.ids)] = one.type_ids
            inputs = {item.name: given[item.name] for item in session.get_inputs()}
            names = [item.name for item in session.get_outputs()]
            (found,) = session.run([output if output in names else names[0]], inputs)
        return np.asarray(found), given["attention_mask"]

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                import onnxruntime
                from tokenizers import Tokenizer

                model, vocabulary = (str(self.folder / name) for name in FILES)
                tokenizer = Tokenizer.from_file(vocabulary)
                tokenizer.no_padding()  # done in run(), because a batch call would start a thread pool
                tokenizer.enable_truncation(MAX_TOKENS)
                options = onnxruntime.SessionOptions()
                options.log_severity_level = 4
                # Waiting threads sleep: a text is read in milliseconds, and other threads of the process need the time.
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
                self._loaded = session, tokenizer
            return self._loaded

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Raise ConfigError if the files cannot be used."""
        try:
            yield
        except ConfigError:
            raise
        except Exception as error:  # onnxruntime and tokenizers raise Exception itself
            raise ConfigError(f"the model in {self.folder} cannot be used: {str(error)[:200]}") from error


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the places of texts of similar length: every text of a batch takes as long as the longest."""
    batch: list[int] = []
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place])):
        if batch and (len(batch) == BATCH or (len(batch) + 1) * len(texts[place]) > BATCH_LENGTH):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
