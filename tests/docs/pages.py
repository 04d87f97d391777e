"""How the documentation is read: its pages, their blocks of code, and what they say comes out.

A page is run from top to bottom in a folder of its own. A ```python block is executed, all blocks of a page in one
namespace; comments behind a print and comments at the beginning of a line are what it must print. Of a ```console
block the lines after `$ ` are run by the shell, and the lines below them are what they must print; without such lines
only the exit code counts. `…` stands for anything: alone on a line also for any number of lines.
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
        """What a python block says that it prints."""
        return _PRINTED.findall(self.code)

    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console block, each with the output that is shown below it."""
        parts = re.split(r"^\$ (.*)\n", self.code, flags=re.MULTILINE)
        assert not parts[0].strip(), f"line {self.line}: output without a command"
        return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in _BLOCK.finditer(text)]


def links(page: Path) -> list[str]:
    """Where a page points to, outside of its code."""
    return _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as links spell them."""
    headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def shows(expected: str, actual: str) -> bool:
    """Whether an output is the one that a page shows."""
    pattern = re.sub(r"^…\\\n", r"(?:.*\\n)*", re.escape(expected), flags=re.MULTILINE).replace("…", ".*")
    return re.fullmatch(pattern, actual) is not None
