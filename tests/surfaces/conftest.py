"""What the tests of the surfaces share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from surfaces.command import Command
from surfaces.server import Server, serving

import recollect


@pytest.fixture
def cli(tmp_path: Path) -> Command:
    """The command line in an empty folder."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return Command(folder)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server over an empty home in a single file: `server.client` talks to it, `server.home` is behind it."""
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as running:
        yield running
