"""Put our store in the place of InMemorySessionStore, before the vendor's tests import it."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import claude_agent_sdk
import claude_agent_sdk._internal.session_store
import pytest
from suite_plugin import location

from recollect.adapters import claude_agent
from recollect.adapters.claude_agent import SessionStore

COUNT_STEPS = {
    "test_load_concurrency_is_bounded",
    "test_gap_fill_bounded_concurrency",
    "test_eager_flush_mode_appends_per_frame_before_result",
}
"""Tests that count steps of the event loop until a call of the store has ended."""

_numbers = itertools.count()
_folder = tempfile.mkdtemp()
_open: list[SessionStore] = []


class InMemorySessionStore(SessionStore):
    """Our store in a new file, with the helpers for tests that the vendor's class has."""

    def __init__(self) -> None:
        super().__init__(location(Path(_folder, f"{next(_numbers)}.db")))
        _open.append(self)

    def get_entries(self, key: Any) -> list[Any]:
        """Return the lines of a transcript."""
        return self._load(key) or []

    @property
    def size(self) -> int:
        """The number of sessions."""
        return sum(1 for parts in self._transcripts() if len(parts) == 2)

    def clear(self) -> None:
        """Remove everything."""
        for parts in self._transcripts():
            self._log(*parts).clear()
        self._known.clear()


claude_agent_sdk.InMemorySessionStore = InMemorySessionStore
claude_agent_sdk._internal.session_store.InMemorySessionStore = InMemorySessionStore


def pytest_collection_finish(session: pytest.Session) -> None:
    """Wait longer than the vendor's second for an append to a database: other programs may use the machine, too."""
    for module in {item.module for item in session.items if hasattr(item.module, "_wait_until")}:
        module._wait_until.__kwdefaults__["timeout"] = 60.0


@pytest.fixture(autouse=True)
def calls_on_the_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the calls of tests that count steps on the event loop instead of in a worker thread."""

    async def run_sync(function: Any, *args: Any) -> Any:
        return function(*args)

    if request.node.originalname in COUNT_STEPS:
        monkeypatch.setattr(claude_agent, "run_sync", run_sync)


def pytest_runtest_teardown() -> None:
    """Close the stores of a test, which the vendor's tests do not: each holds connections to the server."""
    while _open:
        _open.pop().close()
