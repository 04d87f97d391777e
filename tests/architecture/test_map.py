"""docs/architecture.md lists every module, and no module that does not exist."""

import ast
import re
from pathlib import Path

import recollect

PACKAGE = Path(recollect.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_every_module_has_a_row_on_the_map() -> None:
    listed = set(re.findall(r"^\| `([\w/]+\.(?:py|js))` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    files = {str(path.relative_to(PACKAGE)) for kind in ("*.py", "*.js") for path in PACKAGE.rglob(kind)}
    unlisted = {name for name in files if name.endswith("/__init__.py") or "/texts/" in name}
    assert listed == files - unlisted


def test_every_file_that_the_map_mentions_exists() -> None:
    mentioned = set(re.findall(r"`((?:docs/)?[a-z][\w/]*\.(?:py|md))`", PAGE.read_text(encoding="utf-8")))
    root = PAGE.parents[1]
    assert [name for name in sorted(mentioned) if not (PACKAGE / name).exists() and not (root / name).exists()] == []


def test_every_symbol_that_the_map_names_is_defined_in_its_file() -> None:
    """A row such as `engine/recall.py` (`LIMIT`) names what to look for in the file."""
    named = re.findall(r"`([\w/]+\.py)` \(((?:`\w+`(?:, )?)+)\)", PAGE.read_text(encoding="utf-8"))
    pairs = [(path, symbol) for path, symbols in named for symbol in re.findall(r"\w+", symbols)]
    assert len(pairs) > 20
    assert [pair for pair in pairs if pair[1] not in defined(PACKAGE / pair[0])] == []


def defined(path: Path) -> set[str]:
    """Return the names that a module defines at its top level."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found
