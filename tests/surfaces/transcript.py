"""A transcript of answers, byte for byte, except for what differs between two runs: ids, hashes and times."""

from __future__ import annotations

import re

IDS = (
    r"(?P<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)"
    r"|(?P<milliseconds>\b1[789]\d{11}\b)"
    r"|(?P<hash>\b(?:[0-9a-f]{64}|[0-9a-f]{12,16}|[0-9a-f]{8})\b)"
)
TIMES = r"|(?P<time>\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)|(?P<day>\b20\d\d-\d\d-\d\d\b)"


class Transcript:
    """What was asked and answered. The same id or hash always has the same number.

    Times are written as they are if the clock stands still.
    """

    def __init__(self, *, clock_stands_still: bool) -> None:
        self.text = ""
        self._still = clock_stands_still
        self._varies = re.compile(IDS if clock_stands_still else IDS + TIMES)
        self._numbers: dict[str, dict[str, int]] = {}
        self._words: dict[str, str] = {}

    def stands_for(self, value: str, word: str) -> str:
        """Write this word wherever the value occurs; return the value."""
        self._words[value] = word
        return value

    def add(self, question: str, answer: str) -> None:
        self.text += self._plain(f">>> {question}\n{answer.rstrip()}\n\n")

    def _plain(self, text: str) -> str:
        for value, word in self._words.items():
            text = text.replace(value, word)
        return self._varies.sub(self._numbered, text)

    def _numbered(self, found: re.Match[str]) -> str:
        kind, value = found.lastgroup or "", found[0]
        if kind == "milliseconds" and self._still:
            return value
        if kind not in ("id", "hash"):
            return f"<{kind}>"
        known = self._numbers.setdefault(kind, {})
        return f"<{kind} {known.setdefault(value, len(known) + 1)}>"
