"""The local embedder, without network or torch: static token vectors, read from the files of the wordllama wheel.

The argument. A text's vector is the sum of the vectors of its tokens. A token that occurs n times counts √n: with the
plain mean, common words dominate a long text (chat sessions: recall@5 0.73 against 0.69; short texts: no difference).
A long text is embedded whole, since truncation loses recall (0.61 with the first 512 tokens).

Only the wheel's two data files are used, with numpy and tokenizers. Its code is never imported: it takes three times as
long to load and 80 MB instead of 30, configures the program's root logger, and can download files from a hub.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.providers.byte_pairs import TokenVocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

__all__ = ["LocalEmbedder", "installed"]

DIMENSION = 256
MODEL = "wordllama-256-v1"
"""The weights l2_supercat_256 and the sum described above. Any change to the vectors needs a new name."""
PIECE = 20_000
"""Characters per tokenizer call; bounds the memory for a long text."""


def installed() -> bool:
    """Return whether the package with the weights is installed."""
    return find_spec("wordllama") is not None


class LocalEmbedder:
    """Embedder with 256 dimensions that runs on this machine. The files are loaded once, on first use."""

    model = MODEL
    instant = True
    """Embedding takes well under a millisecond, so entries are embedded as they are written."""
    dimension = DIMENSION

    def __init__(self) -> None:
        if not installed():
            raise ConfigError(
                f"the local embedder is missing: {ConfigError.install('local')}, or set the embedder to openai or none"
            )
        self._lock = threading.Lock()
        self._loaded: _Files | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, not of unit length; an empty text gives a row of zeros."""
        import numpy as np

        files = self._files()
        rows = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in zip(rows, texts, strict=True):
            # One call per piece: a batch call would start a thread pool in the user's process.
            starts = range(0, len(text), PIECE)
            with _usable():
                pieces = [files.tokens(text[start : start + PIECE], alone=len(texts) == 1) for start in starts]
            if pieces:
                tokens, counts = np.unique(np.array([*chain(*pieces)], np.int32), return_counts=True)
                weights = np.sqrt(counts, dtype=np.float32)
                row[:] = (weights[:, None] * files.table[tokens]).sum(axis=0)
        return rows

    def _files(self) -> _Files:
        with self._lock:
            if self._loaded is None:
                with _usable():
                    self._loaded = _read()
            return self._loaded


@contextmanager
def _usable() -> Iterator[None]:
    """Raise ConfigError if the files in the block cannot be used."""
    try:
        yield
    except Exception as error:  # tokenizers raises Exception itself
        raise ConfigError(
            f"the files of the local embedder cannot be used ({error}); install them again with "
            "pip install --force-reinstall wordllama"
        ) from error


class _Files:
    """The files of the wheel: the memory-mapped table of token vectors, of which only the rows in use are loaded, and
    the tokenizer, which is loaded with the first text that needs it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self._tokenizer: Tokenizer | None = None
        self._vocabulary = TokenVocabulary.of(self._path.read_bytes())
        self.table = _table(folder, len(self._vocabulary or self._load().get_vocab()))

    def tokens(self, text: str, *, alone: bool) -> list[int]:
        """Return the tokens of a text; `alone` if it is the only one to be embedded now."""
        vocabulary = self._vocabulary
        found = vocabulary.tokens(text) if vocabulary is not None and alone else None
        return self._load().encode(text, add_special_tokens=False).ids if found is None else found

    def _load(self) -> Tokenizer:
        from tokenizers import Tokenizer

        if self._tokenizer is None:
            tokenizer = Tokenizer.from_file(str(self._path))
            with suppress(AttributeError):  # private
                # It caches whole texts, 4 KB for a sentence and up to 10,000 of them, and texts hardly ever repeat.
                tokenizer.model._resize_cache(0)
            self._tokenizer, self._vocabulary = tokenizer, None
        return self._tokenizer


def _read() -> _Files:
    """Return the files, which all embedders of a process share."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package wordllama has no folder")
    return _read_files(Path(spec.submodule_search_locations[0]))


@cache
def _read_files(folder: Path) -> _Files:
    return _Files(folder)


def _table(folder: Path, tokens: int) -> NDArray[np.float16]:
    """Return the table of token vectors."""
    import numpy as np

    weights = folder / "weights" / f"l2_supercat_{DIMENSION}.safetensors"
    # The safetensors format: length of the header, the header as JSON, the data.
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    shape = (tokens, DIMENSION)
    found = header["embedding.weight"]
    if found["dtype"] != "F16" or tuple(found["shape"]) != shape or found["data_offsets"][0] != 0:
        raise ValueError(f"{weights.name} holds {found} and not {shape[0]:,} rows of {shape[1]} halves")
    return np.asarray(np.memmap(weights, "<f2", "r", offset=8 + length, shape=shape))
