"""Encrypting a home can be killed at any point: nothing is lost, and the repeated command finishes the work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from encryption.conftest import python_path
from surfaces.command import environment


@pytest.mark.slow
def test_a_kill_at_any_line_leaves_the_old_or_the_new_file(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    program = Path(__file__).with_name("conversions.py")
    step = "1" if pytestconfig.getoption("exhaustive") else "7"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), step],
        capture_output=True,
        env=environment(PYTHONPATH=python_path()),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["kills"] > 20
    assert found["states"] == [[0, 2], [1, 1], [2, 0]]  # encrypted, plain
