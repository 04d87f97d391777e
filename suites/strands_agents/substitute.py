"""Put our storage and sessions in the place of those of the vendor, before its tests import them."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
import strands.session.file_session_manager
import strands.storage
import strands.storage.in_memory_storage
import strands.storage.local_file_storage
from strands.session.repository_session_manager import RepositorySessionManager
from suite_plugin import location

from recollect.adapters.strands import SessionRepository, Storage

_numbers = itertools.count()
_folder = tempfile.mkdtemp()
_open: list[Any] = []
_ephemeral = strands.storage.InMemoryStorage
STASH = {
    "test_save_includes_inline_stash_for_ephemeral_storage",
    "test_save_omits_stash_when_empty",
    "test_immutable_snapshot_includes_stash",
    "test_ephemeral_detection_survives_namespacing",
}
"""Tests of a stash that is lost with its process, and so copied to snapshots. Only the snapshots are stored here."""


class InMemoryStorage(Storage):
    """Our storage in a new file."""

    def __init__(self, *, search_strategy: Any = None) -> None:
        super().__init__(location(Path(_folder, f"{next(_numbers)}.db")), search_strategy=search_strategy)
        _open.append(self)


class LocalFileStorage(Storage):
    """Our storage in a file of a folder."""

    def __init__(self, base_dir: str, *, search_strategy: Any = None) -> None:
        super().__init__(location(Path(base_dir, "memory.db")), search_strategy=search_strategy)
        _open.append(self)


class MockedSessionRepository(SessionRepository):
    """Our sessions in a new file."""

    def __init__(self) -> None:
        super().__init__(location(Path(_folder, f"{next(_numbers)}.db")))
        _open.append(self)


class FileSessionManager(RepositorySessionManager, SessionRepository):
    """A session manager that is its own repository, as the vendor's is."""

    def __init__(self, session_id: str, storage_dir: str | None = None, **kwargs: Any) -> None:
        SessionRepository.__init__(self, location(Path(storage_dir or _folder, "memory.db")))
        _open.append(self)
        RepositorySessionManager.__init__(self, session_id=session_id, session_repository=self, **kwargs)


for module in (strands.storage, strands.storage.in_memory_storage):
    module.InMemoryStorage = InMemoryStorage
for module in (strands.storage, strands.storage.local_file_storage):
    module.LocalFileStorage = LocalFileStorage
for module in (strands.session, strands.session.file_session_manager):
    module.FileSessionManager = FileSessionManager


def pytest_configure() -> None:
    """Replace the repository among the vendor's fixtures, which are on the path only now."""
    import tests.fixtures.mock_session_repository as fixtures

    fixtures.MockedSessionRepository = MockedSessionRepository


@pytest.fixture(autouse=True)
def ephemeral_stash(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the vendor's storage in memory back to the tests that need one."""
    if request.node.originalname in STASH:
        monkeypatch.setattr(request.module, "InMemoryStorage", _ephemeral)


def pytest_runtest_teardown() -> None:
    """Close what a test has left open: each holds connections to the server."""
    while _open:
        _open.pop().close()
