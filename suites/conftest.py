"""Fixtures for our tests of adapters: `location` runs a test on a SQLite file and on PostgreSQL."""

from pathlib import Path

import pytest
from suite_plugin import database


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a place for a home that does not exist yet."""
    path = str(tmp_path / "memory.db")
    return path if request.param == "sqlite" else database(path)
