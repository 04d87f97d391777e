"""docs/architecture.md lists every module, and no module that does not exist."""

import re
from pathlib import Path

import recollect

PACKAGE = Path(recollect.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_every_module_has_a_row_on_the_map() -> None:
    listed = set(re.findall(r"^\| `([\w/]+\.py)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    files = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")}
    packages = {name for name in files if name.endswith("/__init__.py")}
    assert listed == files - packages


def test_every_file_that_the_map_mentions_exists() -> None:
    mentioned = set(re.findall(r"`((?:docs/)?[a-z][\w/]*\.(?:py|md))`", PAGE.read_text(encoding="utf-8")))
    root = PAGE.parents[1]
    assert [name for name in sorted(mentioned) if not (PACKAGE / name).exists() and not (root / name).exists()] == []
