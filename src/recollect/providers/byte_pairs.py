"""Byte-pair encoding of short texts from the vocabulary alone, so that a first search need not load the tokenizer.

The argument. Loading the tokenizer takes 60 ms, most of it for its 61,249 merges. In the file of the wheel they follow
from the vocabulary: two tokens merge if their concatenation is in it, first the pair whose result has the lowest id,
then the pair with the lowest ids itself. No token spans two words. That holds for exactly this file, so any other one
is rejected by its checksum; so is a text with a character outside the vocabulary, several spaces in a row or a special
token. In all these cases the tokenizer is loaded.
"""

import json
import zlib
from itertools import pairwise

__all__ = ["LONGEST", "TokenVocabulary"]

LONGEST = 120
"""Maximum length of a text; encoding a word takes quadratic time."""
_KNOWN_CRC = 1_068_455_936
"""CRC-32 of the file of wordllama 0.4."""
_SPACE = "\u2581"


class TokenVocabulary:
    """The vocabulary of a tokenizer: token ids by token."""

    def __init__(self, ids: dict[str, int]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @classmethod
    def of(cls, data: bytes) -> "TokenVocabulary | None":
        """Parse the bytes of a tokenizer file; return None if it is not the known one."""
        if zlib.crc32(data) != _KNOWN_CRC:
            return None
        start, end = data.index(b'"vocab": {'), data.index(b'"merges": [')
        return cls(json.loads(b"{" + data[start:end].rstrip().rstrip(b",") + b"}")["vocab"])

    def tokens(self, text: str) -> list[int] | None:
        """Return the token ids of a text; None if it needs the tokenizer."""
        if len(text) > LONGEST or "<" in text or _SPACE in text or "  " in text or text.startswith(" "):
            return None
        if not self._ids.keys() >= set(text.replace(" ", _SPACE)):
            return None
        words = text.split(" ") if text else []
        return [token for word in words for token in self._merged(f"{_SPACE}{word}")]

    def _merged(self, word: str) -> list[int]:
        ids, parts = self._ids, list(word)
        while True:
            pairs = (
                (id_, ids[left], ids[right], place)
                for place, (left, right) in enumerate(pairwise(parts))
                if (id_ := ids.get(left + right)) is not None
            )
            best = min(pairs, default=None)
            if best is None:
                return [ids[part] for part in parts]
            place = best[3]
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
