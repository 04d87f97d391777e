"""Messages of the library as the command line shows them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.cli.messages import for_shell

PYTHON = re.compile(r"\b[a-z_]+=(…|'|True|False)|\b[a-z_]+\(…?\)")
"""How Python spells a parameter or a call."""
NOT_REACHED = {
    "remember_many takes Add values": "no command calls it",
    "markers are written by compaction": "no command writes one",
    "an event must be an Event value": "commands make them",
    "save() takes messages of users": "no command saves one",
}


def raised() -> Iterator[str]:
    """The words of every error that is raised below the surfaces."""
    root = Path(recollect.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] in ("rest", "mcp", "client", "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                parts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
                yield "".join(part for part in parts if isinstance(part, str))


def test_no_error_names_a_python_parameter_to_a_caller_in_a_shell() -> None:
    received = {text: PYTHON.search(for_shell(text)) for text in raised()}
    wrong = [text for text, found in received.items() if found and not text.startswith(tuple(NOT_REACHED))]
    assert wrong == []


@pytest.mark.parametrize(
    ("message", "received"),
    [
        ("Name it with format=…", "Name it with --format"),
        ("search it with target_agent=…", "search it with --target-agent"),
        ("use mode='keyword' or 'hybrid'", "use --mode keyword or --mode hybrid"),
        ("`list` and `recall` show what there is", "`recollect note list` and `recollect recall` show what there is"),
        ("nothing is remembered under 'a=b'", "nothing is remembered under 'a=b'"),
    ],
)
def test_a_message_names_options_and_commands(message: str, received: str) -> None:
    assert for_shell(message) == received
