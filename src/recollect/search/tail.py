"""The encoding of a document in the tail of the index: its terms and counts as one line of text."""

from collections.abc import Mapping

__all__ = ["MOST", "pack", "unpack"]

MOST = 255
"""Term frequencies are capped at this in posting lists; BM25 hardly rises beyond a dozen."""


def pack(terms: Mapping[str, int]) -> str:
    """Encode terms and counts as one line; a term never contains a space."""
    if terms and sum(terms.values()) == len(terms):  # fast path: every count is 1
        return f"{' 1 '.join(terms)} 1"
    return " ".join([f"{term} {count}" for term, count in terms.items()])


def unpack(line: str) -> dict[str, int]:
    """Decode the terms and counts of a line."""
    words = line.split(" ")
    return dict(zip(words[::2], map(int, words[1::2]), strict=False))
