"""What tests read of the source: files as syntax trees, each parsed once per process, and the members of classes."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["members", "parsed"]


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file. A test must not change it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def members(kind: type) -> dict[str, Any]:
    """Return the public members of a class of the package by name, with those of its bases in the package."""
    bases = [base for base in reversed(kind.__mro__) if base.__module__.startswith("recollect")]
    return {name: value for base in bases for name, value in vars(base).items() if not name.startswith("_")}
