"""Run the program of a documentation page twice in an empty home: the second run recalls what the first one stored."""

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def program(page: str) -> str:
    """Return the first program of a page."""
    (found, *_) = re.findall(r"^```py\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return found


def run_twice(page: str, folder: Path) -> list[list[str]]:
    """Return the lines that each run of a page's program prints."""
    code = program(page)
    assert len(code.splitlines()) <= 25
    environment = {**os.environ, "RECOLLECT_HOME": str(folder / "home")}
    return [
        subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
