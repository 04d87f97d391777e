"""Parser for the documentation: pages, code blocks and their expected output.

The blocks of a page run from top to bottom in a temporary folder. All ```python blocks of a page share one namespace;
the comment after a print, or a comment at the start of a line, is the expected output. In a ```console block, lines
after `$ ` are run by the shell, and the lines below are the expected output; without any, only the exit code counts.
`…` matches any text, and alone on a line any number of lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PRINTED = re.compile(r"^(?:\s*print\(.*\)  )?# (.*)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One block of code."""

    language: str
    code: str
    line: int

    def printed(self) -> list[str]:
        """Return the expected output of a python block."""
        return _PRINTED.findall(self.code)

    def commands(self) -> list[tuple[str, str]]:
        """Return the commands of a console block, each with its expected output."""
        parts = re.split(r"^\$ (.*)\n", self.code, flags=re.MULTILINE)
        assert not parts[0].strip(), f"line {self.line}: output without a command"
        return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in _BLOCK.finditer(text)]


def links(page: Path) -> list[str]:
    """Return the link targets of a page, except those in code."""
    return _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def shows(expected: str, actual: str) -> bool:
    """Return whether an output matches the one that a page shows."""
    pattern = re.sub(r"^…\\\n", r"(?:.*\\n)*", re.escape(expected), flags=re.MULTILINE).replace("…", ".*")
    return re.fullmatch(pattern, actual) is not None
