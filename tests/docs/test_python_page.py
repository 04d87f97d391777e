"""docs/python.md has a block for every public name, and every block matches the code."""

from __future__ import annotations

import sys

from docs.pages import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import python_reference

PAGE = python_reference.PAGE.read_text(encoding="utf-8")
NAMES = python_reference.block_names(PAGE)


def test_every_public_name_has_a_block() -> None:
    assert [name for name in python_reference.public_names() if name not in NAMES] == []


def test_no_name_has_two_blocks() -> None:
    assert [name for name in NAMES if NAMES.count(name) > 1] == []


def test_every_block_is_what_the_code_says_and_has_a_description() -> None:
    for name in NAMES:
        described = python_reference.described(name)
        block = f"<!-- {name} -->\n{described}\n<!-- end -->"
        assert block in PAGE, f"{name} has changed; run {python_reference.COMMAND}"
        assert described.rsplit("\n", 1)[-1] != "None", name
