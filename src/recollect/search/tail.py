"""How a fresh document stands in the tail of the index: its terms and counts as one line of text."""

from collections.abc import Mapping

__all__ = ["MOST", "pack", "unpack"]

MOST = 255
"""The highest count of a term in one document that is told apart; BM25 hardly rises beyond a dozen."""


def pack(terms: Mapping[str, int]) -> str:
    """Terms and counts as one line; a term never contains a space."""
    if terms and sum(terms.values()) == len(terms):  # the same as below, but quick: each is there once
        return f"{' 1 '.join(terms)} 1"
    return " ".join([f"{term} {count}" for term, count in terms.items()])


def unpack(line: str) -> dict[str, int]:
    """The terms and counts of a line."""
    words = line.split(" ")
    return dict(zip(words[::2], map(int, words[1::2]), strict=False))
