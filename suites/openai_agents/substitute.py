"""Put our sessions in the place of SQLiteSession and AsyncSQLiteSession, before the vendor's tests import them."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import agents
import agents.extensions.memory
import agents.extensions.memory.async_sqlite_session
import agents.extensions.memory.encrypt_session  # before the substitution: it calls private methods of SQLiteSession
import agents.memory
import agents.memory.sqlite_session
from suite_plugin import location

from recollect.adapters.openai_agents import AsyncSession, Session

_numbers = itertools.count()
_folder = tempfile.mkdtemp()


def _where(db_path: object) -> str:
    """Return a location for the path of a test; what the vendor keeps in memory gets a file of its own."""
    if str(db_path) == ":memory:":
        db_path = Path(_folder, f"{next(_numbers)}.db")
    return location(db_path)


class SQLiteSession(Session):
    """Our session with the defaults of SQLiteSession."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", **settings: Any) -> None:
        super().__init__(session_id, _where(db_path), **settings)


class AsyncSQLiteSession(AsyncSession):
    """Our session with the defaults of AsyncSQLiteSession."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", **settings: Any) -> None:
        super().__init__(session_id, _where(db_path), **settings)


for module in (agents, agents.memory, agents.memory.sqlite_session):
    module.SQLiteSession = SQLiteSession
for module in (agents.extensions.memory, agents.extensions.memory.async_sqlite_session):
    module.AsyncSQLiteSession = AsyncSQLiteSession
