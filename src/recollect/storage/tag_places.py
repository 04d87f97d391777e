"""Encoding of concept tags as places in the content, which takes a fifth of the space.

Nearly every tag is a word of the content, in lower case, and often follows the one before it. So a tag is its length
and its distance from the end of the tag before it, one character each; if it is further away or comes earlier, its
length and its place, in three characters. Tags that are no part of the content are a JSON list, as in older versions.
"""

import json
from collections.abc import Sequence

__all__ = ["pack", "unpack"]

_NEAR, _FAR = ord("#"), ord("[")
"""The codes of the length 0: of a tag that follows the one before it, and of one that is anywhere."""
_LONGEST = 32
"""Longest tag; a code of _NEAR is thus no code of _FAR, and none is the bracket with which a JSON list begins."""
_BASE = ord("~") - _NEAR + 1
"""Number of codes of a distance."""
_PLACES = _BASE * _BASE
"""Number of places at which a tag may begin."""
_REACH = _PLACES + _LONGEST
"""No tag ends later."""


def pack(tags: Sequence[str], content: str) -> str:
    """Encode the tags of a content."""
    start = content[:_REACH]
    folded = start.lower()
    if len(folded) != len(start):
        return _as_json(tags)
    codes: list[int] = []
    find, end = folded.find, 0
    for tag in tags:
        size, place = len(tag), find(tag, end)
        if not 0 <= place - end < _BASE:
            place = find(tag)
        if not 0 <= place < _PLACES or not 0 < size <= _LONGEST:
            return _as_json(tags)
        if 0 <= place - end < _BASE:
            codes += (_NEAR + size, _NEAR + place - end)
        else:
            codes += (_FAR + size, _NEAR + place // _BASE, _NEAR + place % _BASE)
        end = place + size
    packed = bytes(codes).decode()
    # The lower case of some letters depends on the letters around them.
    return packed if start.isascii() or unpack(packed, content) == tuple(tags) else _as_json(tags)


def unpack(packed: str, content: str) -> tuple[str, ...]:
    """Decode the tags of a content. Raises ValueError if they are damaged."""
    if packed[:1] == "[":
        return tuple(json.loads(packed))
    tags: list[str] = []
    start = content[:_REACH]
    folded = start.lower() if start.isascii() else None
    codes, end = iter(packed.encode()), 0
    for code in codes:
        place = next(codes, 0) - _NEAR
        if code <= _FAR:
            size, place = code - _NEAR, place + end
        else:
            size, place = code - _FAR, place * _BASE + next(codes, 0) - _NEAR
        end = place + size
        if place < 0 or not 0 < size <= _LONGEST or end > len(start):
            raise ValueError("the concept tags are no part of the content")
        tags.append(start[place:end].lower() if folded is None else folded[place:end])
    return tuple(tags)


def _as_json(tags: Sequence[str]) -> str:
    return json.dumps(list(tags), ensure_ascii=False, separators=(",", ":"))
