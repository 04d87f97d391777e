"""Parts of a text: its sentences, its beginning, its ends."""

import re

__all__ = ["ends", "sentences", "shortened"]

# A sentence ends at a mark before white space or at an East Asian mark. A run of marks is tried only at its first one,
# by the look-behinds; they follow that mark, because a search for an expression that begins with a set is fast.
_STOP_MARKS = ".!?\u2026"
_EAST_ASIAN_STOP_MARKS = "\u3002\uff01\uff1f\uff61"
_SENTENCE_END = re.compile(
    rf"[{_STOP_MARKS}{_EAST_ASIAN_STOP_MARKS}](?:"
    rf"(?<=[{_STOP_MARKS}])(?<![{_STOP_MARKS}]{{2}})[{_STOP_MARKS}]*[\"'\u2019\u201d\u00bb)\]]*(?=\s)"
    rf"|(?<=[{_EAST_ASIAN_STOP_MARKS}])(?<![{_EAST_ASIAN_STOP_MARKS}]{{2}})"
    rf"[{_EAST_ASIAN_STOP_MARKS}]*[\u300d\u300f\uff09\u2019\u201d]*)"
)
_SHORTENED = frozenset(
    str.split("""
    al approx ca cf dept dr dra e.g ed eg etc ex fig i.e inc jr mr mrs ms núm nº p.ex pág prof
    profa sr sra sta st vol vs
""")
)


def sentences(text: str) -> list[str]:
    """Split a text into trimmed, non-empty sentences. A line ends one, too, unless the next starts in lower case."""
    blocks: list[list[str]] = []
    open_block = False
    for line in text.splitlines():
        line = line.strip()
        if not line:
            open_block = False
        elif open_block and line[0].islower():
            blocks[-1].append(line)
        else:
            blocks.append([line])
            open_block = True
    found: list[str] = []
    for block in map(" ".join, blocks):
        start = 0
        for match in _SENTENCE_END.finditer(block):
            if not _is_shortened(block, start, match):
                found.append(block[start : match.end()].strip())
                start = match.end()
        found.append(block[start:].strip())
    return [sentence for sentence in found if sentence]


def _is_shortened(block: str, start: int, end: re.Match[str]) -> bool:
    """Return whether a dot is part of an abbreviation or initial (Dr. J. Silva, 3 p.m. today) and ends no sentence."""
    if end.group() != ".":
        return False
    before = block[max(start, end.start() - 8) : end.start()].rpartition(" ")[2].lstrip("(\"'")
    if before.lower() in _SHORTENED or (len(before) == 1 and before.isupper()):
        return True
    return "." in before and block[end.end() + 1 : end.end() + 2].islower()


def ends(text: str, most: int) -> str:
    """Return a text whole if it has at most `most` characters, else its beginning and, a quarter of that, its end."""
    if len(text) <= most:
        return text
    return f"{text[: most - most // 4]}\n{text[-(most // 4) :]}"


def shortened(text: str, length: int) -> str:
    """Return a text of at most `length` characters; one that was cut ends with an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
