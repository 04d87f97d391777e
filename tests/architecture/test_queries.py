"""Every named query is run by the code, and every name that the code runs exists."""

import ast
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import dedent

import recollect
from recollect.storage.named_queries import queries

PACKAGE = Path(recollect.__file__).parent
SURFACES = ("cli", "rest", "mcp", "ui", "client", "adapters")
"""Packages that run no queries."""


def strings(source: str) -> Iterator[str]:
    """Yield the strings of a module, except its `__all__`, with `*` for each expression of an f-string."""
    module = ast.parse(source)
    module.body = [node for node in module.body if not (isinstance(node, ast.Assign) and is_listing(node))]
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)


def is_listing(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)


def unused(names: Iterable[str], sources: Iterable[str]) -> list[str]:
    """Return the queries without a string that names them: `a.b`, the part `b` alone, `*.b` or `a.*_*`."""
    found = {text for source in sources for text in strings(source)}
    # `history.*` would match every query of its file.
    wildcards = [text for text in found if re.fullmatch(r"[a-z_*]+\.[a-z_*]+", text) and not text.endswith(".*")]
    return sorted(
        name
        for name in names
        if not found.intersection((name, name.split(".")[1]))
        and not any(fnmatchcase(name, wildcard) for wildcard in wildcards if "*" in wildcard)
    )


def code() -> list[str]:
    files = (path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in SURFACES)
    return [path.read_text(encoding="utf-8") for path in files]


def test_every_named_query_is_used() -> None:
    assert unused(queries(), code()) == []


def test_an_unused_query_is_noticed() -> None:
    source = """
        __all__ = ["page"]
        tx.all("entries.by_ids")
        history.events(tx, "by_hash")
        tx.run(f"{part}.lengths")
        tx.all(f"history.{query}")
    """
    used = ["entries.by_ids", "history.by_hash", "index.lengths", "turns.lengths"]
    assert unused([*used, "entries.page", "history.page"], [dedent(source)]) == ["entries.page", "history.page"]


def test_every_query_that_the_code_runs_exists() -> None:
    run = re.compile(r'tx\.(?:all|one|run|many)\(\s*"([^"]+)"')
    missing = {name for source in code() for name in run.findall(source)} - queries().keys()
    assert missing == set()
