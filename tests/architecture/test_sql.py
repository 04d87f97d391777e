"""The SQL files. A comment with a colon before a word would be a bind parameter for the PostgreSQL driver."""

import re
from collections.abc import Iterator

from architecture.test_imports import PACKAGE

FILES = sorted((PACKAGE / "storage").rglob("*.sql"))
NAME = re.compile(r"-- name: \w+\s*")


def comments(sql: str) -> Iterator[str]:
    """The comments of a file, except the lines that name a query."""
    for line in sql.splitlines():
        if "--" in line and not NAME.fullmatch(line):
            yield line[line.index("--") :]
    yield from re.findall(r"/\*.*?\*/", sql, re.DOTALL)


def test_there_are_queries_and_migrations() -> None:
    assert {path.parent.name for path in FILES} == {"queries", "migrations"}


def test_no_comment_holds_a_bind_parameter() -> None:
    found = [(path, comment) for path in FILES for comment in comments(path.read_text())]
    assert [(path, comment) for path, comment in found if re.search(r":\w", comment)] == []


def test_a_parameter_in_a_comment_is_noticed() -> None:
    found = list(comments("-- name: one\nSELECT 1 -- for :agent\n/* or\n:this */\nSELECT :value"))
    assert [re.findall(r":\w+", one) for one in found] == [[":agent"], [":this"]]


def test_every_case_has_conditions() -> None:
    """Citus sends `CASE a WHEN b` to the machines of a cluster as `CASE a WHEN a = b`."""
    found = [(path.name, one) for path in FILES for one in re.findall(r"\bCASE\s+(?!WHEN\b)\S+", path.read_text())]
    assert found == []
