"""The lines that a client sends over stdin, mended where the SDK would drop them without an answer."""

import io
import re
from typing import BinaryIO

__all__ = ["Lines"]

_ESCAPED = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""An escaped backslash, a character of two halves, or half a character."""
_PAIR = len(rb"\ud83d\ude00")


class Lines(io.BufferedIOBase):
    """Lines of JSON; half a character, as a model may produce it, becomes the one that stands for what is unknown."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._line, self._place = b"", 0

    def readable(self) -> bool:
        """It is."""
        return True

    def read1(self, size: int = -1, /) -> bytes:
        """What there is of a line, up to so many bytes; nothing at the end."""
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
