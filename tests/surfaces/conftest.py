"""What the tests of the surfaces share."""

from __future__ import annotations

from pathlib import Path

import pytest
from surfaces.command import Command


@pytest.fixture
def cli(tmp_path: Path) -> Command:
    """The command line in an empty folder."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return Command(folder)
