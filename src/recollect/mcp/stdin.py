"""Line framing of stdin that repairs lines which the SDK would drop without a response."""

import io
import re
from typing import BinaryIO

__all__ = ["JsonLines"]

_ESCAPED = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""An escaped backslash, a surrogate pair, or a lone surrogate."""
_PAIR = len(rb"\ud83d\ude00")


class JsonLines(io.BufferedIOBase):
    """Lines of JSON in which lone surrogates, which a model may produce, are replaced by U+FFFD."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._line, self._place = b"", 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes of the current line; empty at the end of the input."""
        if self._place == len(self._line):
            self._line, self._place = _whole(self._file.readline()), 0
        start = self._place
        self._place = len(self._line) if size < 0 else min(start + size, len(self._line))
        return self._line[start : self._place]

    read = read1  # type: ignore[assignment]


def _whole(line: bytes) -> bytes:
    if rb"\ud" not in line and rb"\uD" not in line:
        return line
    return _ESCAPED.sub(lambda found: rb"\ufffd" if 2 < len(found[0]) < _PAIR else found[0], line)
