"""The text of a context: rendering sections as lines, counting their tokens, and trimming them to the budget.

Memory is data: items enter the text through `Section.lines()`, which fences them (see `recollect.fencing`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from recollect import text
from recollect.model.context import DECISIONS, HANDOFF, LESSONS, TITLE, UNANSWERED_LINE, Section

__all__ = ["FRAME", "TRIMMED", "LineSizes", "RenderedSection", "joined", "render", "trimmed"]

TRIMMED = (LESSONS, DECISIONS, HANDOFF)
"""Fixed sections that are trimmed to the budget, in this order."""
FRAME = text.token_weight(f"## {TITLE}\n---\n")
"""Tokens of the first and last line of a block."""
LINE_BREAK = text.token_weight("\n")
NOTICE = text.token_weight(f"\n{UNANSWERED_LINE}")


class LineSizes(dict[str, float]):
    """Tokens of each line with its preceding line break, computed on first use; their sum is that of the text."""

    def __missing__(self, line: str) -> float:
        # White space at the beginning is one piece with the line break.
        joined = line[:1].isspace()
        size = self[line] = text.token_weight(f"\n{line}") if joined else LINE_BREAK + text.token_weight(line)
        return size


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """A section with its lines, heading first, and their tokens. A section without items has no lines."""

    section: Section
    lines: Sequence[str]
    tokens: float


def render(section: Section, sizes: LineSizes | None = None) -> RenderedSection:
    """Render a section; `sizes` caches the tokens of lines."""
    known = LineSizes() if sizes is None else sizes
    lines = [f"{section.name}:", *section.lines()] if section.items else []
    return RenderedSection(section, lines, sum(map(known.__getitem__, lines)))


def trimmed(
    sections: Sequence[RenderedSection], budget: int, *, answered: bool
) -> tuple[list[RenderedSection], int, float]:
    """Trim the fixed sections to the budget, last items first.

    Return them, the number of items dropped, and the tokens of the block.
    """
    left, dropped = list(sections), 0

    def used() -> float:
        return _tokens(left, answered)

    for name in TRIMMED:
        place = next(n for n, one in enumerate(left) if one.section.name == name)
        while (items := left[place].section.items) and used() > budget:
            gone = 2 if items[-1].beside is not None else 1
            left[place] = render(replace(left[place].section, items=items[:-gone]))
            dropped += gone
    return left, dropped, used() or FRAME


def joined(sections: Iterable[RenderedSection], answered: bool) -> tuple[str, int]:
    """Return the text of a block and its tokens; empty if no section has items."""
    shown = [one for one in sections if one.lines]
    lines = [line for one in shown for line in one.lines]
    notice = () if answered else (UNANSWERED_LINE,)
    block = "\n".join([f"## {TITLE}", *notice, *lines, "---", ""]) if lines else ""
    return block, text.whole_tokens(_tokens(shown, answered))


def _tokens(sections: Sequence[RenderedSection], answered: bool) -> float:
    filled = sum(one.tokens for one in sections)
    return filled + FRAME + (0 if answered else NOTICE) if filled else 0.0
