"""What really lies in a memory, read past recollect: every row of every table, and every byte of every file."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg
from psycopg import sql

__all__ = ["files", "raw", "rows", "schemas", "tables"]

Tables = dict[str, list[tuple[Any, ...]]]


def tables(location: str) -> Tables:
    """Every row of every table, by file or schema and table; nothing while there is no memory."""
    if location.startswith("postgresql"):
        return _of_server(location)
    found: Tables = {}
    for path in databases(location):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for name in names:
            found[f"{path.relative_to(Path(location).parent)}.{name}"] = sorted(
                connection.execute(f"SELECT * FROM {name}"), key=repr
            )
        connection.close()
    return found


def _of_server(url: str) -> Tables:
    found: Tables = {}
    with psycopg.connect(url) as connection:
        for schema, table in connection.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'recollect%' "
            "AND schemaname NOT LIKE 'recollect_without_%' ORDER BY 1, 2"
        ).fetchall():
            query = sql.SQL("SELECT * FROM {}.{}").format(sql.Identifier(schema), sql.Identifier(table))
            found[f"{schema}.{table}"] = sorted(connection.execute(query).fetchall(), key=repr)
    return found


def databases(location: str) -> list[Path]:
    """The SQLite files of a memory."""
    path = Path(location)
    if path.is_dir():
        return sorted(path.rglob("*.db"))
    return [path] if path.exists() else []


def rows(location: str, table: str, agent: str) -> list[tuple[Any, ...]]:
    """The rows of one agent in a table, over all files or schemas; the agent is always the first column."""
    return [
        row
        for name, found in tables(location).items()
        if name.rpartition(".")[2] == table
        for row in found
        if row[0] == agent
    ]


def files(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def schemas(url: str) -> list[str]:
    """The schemas of recollect in a PostgreSQL database, without those of empty tables."""
    with psycopg.connect(url) as connection:
        return [
            name
            for (name,) in connection.execute(
                "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'recollect%' "
                "AND nspname NOT LIKE 'recollect_without_%' ORDER BY 1"
            )
        ]


@contextmanager
def raw(location: str, agent: str = "ana", workspace: str = "default") -> Iterator[Callable[[str], Any]]:
    """A function that runs SQL on the tables of an agent, past recollect: to damage them on purpose."""
    if location.startswith("postgresql"):
        from recollect.storage.postgres.schemas import schema_of
        from recollect.storage.postgres.table_groups import FOLLOWING, empty_schema

        with psycopg.connect(location) as server:
            path = f'"{schema_of(workspace, agent)}", {", ".join(map(empty_schema, FOLLOWING))}'
            server.execute(f"SET search_path TO {path}".encode())
            yield server.execute
        return
    path = Path(location)
    if not location.endswith(".db"):
        path = path / "workspaces" / workspace / "memory.db"
    file = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE)
    file.set_busy_timeout(10_000)
    yield file.execute
    file.close()
