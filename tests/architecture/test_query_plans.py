"""No query about one conversation reads the whole journal: SQLite says how it would find the rows."""

import re
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.storage.database import queries

LARGE = ("events", "entries", "embeddings", "operations")
"""Tables that grow without end."""
NEWEST = "history.newest"
"""Takes the last row of the agent, and no more."""


@pytest.fixture
def file(tmp_path: Path) -> apsw.Connection:
    with recollect.open(tmp_path / "memory.db") as home:
        home.agent("ana").conversations.start().user("hello")
    return apsw.Connection(str(tmp_path / "memory.db"))


@pytest.mark.parametrize("name", sorted(name for name in queries() if name.startswith("history.")))
def test_a_query_of_the_past_finds_its_rows_by_more_than_the_agent(name: str, file: apsw.Connection) -> None:
    sql = re.sub(r":(\w+)[*!]", r":\1", queries()[name])
    values = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
    for *_, step in file.execute(f"EXPLAIN QUERY PLAN {sql}", values):
        found = re.match(r"(SCAN|SEARCH) (\w+)(?:.*\((.*)\))?", step)
        if found and found[2] in LARGE and name != NEWEST:
            assert found[1] == "SEARCH", step
            assert found[3] != "agent=?", step
