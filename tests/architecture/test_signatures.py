"""Signatures and names: few positional parameters, one class per name, and no code that the formatter skips."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from sources import parsed

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MOST = 6
FROM_ROWS = {"Counters"}
"""Dataclasses that are built from a row, in the order of its columns."""


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def positional_fields(node: ast.ClassDef) -> list[str]:
    """The fields of a dataclass that its constructor takes by position; none for other classes."""
    made = [ast.unparse(decorator) for decorator in node.decorator_list]
    if not any(one.startswith("dataclass") and "kw_only=True" not in one for one in made):
        return []
    found = []
    for field in (one for one in node.body if isinstance(one, ast.AnnAssign)):
        kind, default = ast.unparse(field.annotation), ast.unparse(field.value) if field.value else ""
        if kind == "KW_ONLY":
            break
        if not kind.startswith("ClassVar") and "kw_only=True" not in default and "init=False" not in default:
            found.append(ast.unparse(field.target))
    return found


def too_long(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args) if one.arg not in ("self", "cls")]
            if len(names) > MOST:
                yield node.name
    for node in classes(tree):
        if len(positional_fields(node)) > MOST and node.name not in FROM_ROWS:
            yield node.name


def test_no_function_or_constructor_takes_more_than_six_positional_arguments() -> None:
    found = [f"{path.relative_to(ROOT)}: {name}" for path in SOURCES for name in too_long(parsed(path))]
    assert found == [], "make the rest keyword-only, or group them in a value"


def test_a_class_name_exists_once_and_no_alias_shares_it() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    aliases: list[tuple[str, str]] = []
    for path in SOURCES:
        tree, where = parsed(path), str(path.relative_to(ROOT))
        for node in classes(tree):
            places[node.name].append(where)
        assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
        aliases += [(one.id, where) for node in assigned for one in node.targets if isinstance(one, ast.Name)]
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
    assert [f"{where}: {name}" for name, where in aliases if name in places] == []


def test_the_formatter_is_never_turned_off() -> None:
    mark = "# fmt" + ": "
    files = [path for folder in ("src", "tests", "bench", "scripts") for path in (ROOT / folder).rglob("*.py")]
    assert [str(path.relative_to(ROOT)) for path in files if mark in path.read_text(encoding="utf-8")] == []
