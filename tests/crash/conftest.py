"""Fixtures of the crash tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from crash.children import Child, children


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts child processes and sees to it that none is left."""
    with children() as starter:
        yield starter
