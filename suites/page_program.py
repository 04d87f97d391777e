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


def run_twice(page: str, folder: Path, python: str = sys.executable) -> list[list[str]]:
    """Return the lines that each run of a page's program prints."""
    code = program(page)
    assert len(code.splitlines()) <= 25
    return [call(python, "-c", code, folder=folder).splitlines() for _ in range(2)]


def call(python: str, *arguments: str, folder: Path) -> str:
    """Return what a Python prints; another one than that of the tests has only the packages installed in it."""
    environment = {**os.environ, "RECOLLECT_HOME": str(folder / "home")}
    if python != sys.executable:
        del environment["PYTHONPATH"]
    done = subprocess.run([python, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
