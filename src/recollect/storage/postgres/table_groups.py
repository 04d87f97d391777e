"""Which tables an agent's schema has: some are created with the schema, the others by the first row for one of them.

An empty schema costs the server its tables, indexes and TOAST tables, about five relations and 40 kB for each table,
and most agents use a part of recollect. So tables are created in groups. For each group there is a schema with empty
tables, `recollect_without_NAME`, that refuses rows. It follows an agent's schema in the search_path as long as that
has no such tables, so queries need not know what exists. The groups of a schema are in a catalog comment, which every
transaction reads with its first message.

Two schemes were rejected. One schema with all empty tables would not do: the server plans a prepared query again when
the search_path changes, but not when a table appears in it. And agents that share a schema would be kept apart by a
condition alone, an erasure would rewrite the rows of all of them, and Citus could not move one.
"""

import re
from functools import cache
from typing import NamedTuple

from recollect.storage.named_queries import queries
from recollect.storage.schema import Migration, layout, migrations

__all__ = [
    "ALL",
    "CORE",
    "FOLLOWING",
    "Groups",
    "SchemaState",
    "empty_schema",
    "group_of",
    "group_written_by",
    "parts_of",
    "statements_of",
    "tables_in",
]

Groups = frozenset[str]
CORE = "core"
FOLLOWING = {
    "channels": ("channels", "jobs", "job_runs"),
    "conversations": ("conversations", "journals", "events", "lanes"),
    "pads": ("scratchpads", "checkpoints", "saved_views"),
    "turns": ("turn_segments", "turn_postings"),
    "segments": ("segments", "postings"),
    "removals": ("removals",),
    "vectors": ("embeddings",),
    "codes": ("codes",),
    "upkeep": ("recall_events", "promotions", "extracted", "job_changes"),
    "reviews": ("reviews", "review_progress"),
    "reminders": ("reminders",),
    "access": ("tokens", "access_log"),
    "requests": ("requests",),
    "vault": ("vault_files", "vault_notes"),
    "frameworks": ("item_vectors", "graph_checkpoints", "graph_writes"),
}
"""The groups that are created later, with their tables. All other tables are in the group `core`."""
ALL: Groups = frozenset({CORE, *FOLLOWING})
_GROUPS = {table: group for group, tables in FOLLOWING.items() for table in tables}
_TARGET = re.compile(
    r"(?:CREATE TABLE|ALTER TABLE|CREATE (?:UNIQUE )?INDEX \w+ ON|UPDATE|INSERT INTO|DELETE FROM|DROP TABLE) (\w+)"
)
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (\w+) ON (\w+)")
_ROWS = ("UPDATE ", "INSERT ", "DELETE ")
_INSERT = re.compile(r"\bINSERT INTO (\w+)")


class SchemaState(NamedTuple):
    """What a transaction sees of a schema."""

    generation: int
    """Changes when the schema is recreated."""
    groups: Groups
    """The groups of tables that it has."""


def group_of(table: str) -> str:
    """Return the group of a table."""
    return _GROUPS.get(table, CORE)


def empty_schema(group: str) -> str:
    """Return the name of the schema with the empty tables of a group."""
    return f"recollect_without_{group}"


@cache
def group_written_by(query: str) -> str:
    """Return the group of the table into which a named query inserts rows; `core` if it inserts none."""
    found = _INSERT.search(queries()[query])
    return group_of(found[1]) if found else CORE


def tables_in(groups: Groups) -> set[str]:
    """Return the names of the tables of groups."""
    return {name for name, kind in layout().items() if kind == "TABLE" and group_of(name) in groups}


def parts_of(groups: Groups) -> set[str]:
    """Return the names of the tables and indexes of groups, primary keys included."""
    tables, owners = tables_in(groups), _tables_of_indexes()
    indexes = {name for name, kind in layout().items() if kind == "INDEX" and owners[name] in tables}
    return tables | indexes | {f"{name}_pkey" for name in tables}


def statements_of(migration: Migration, groups: Groups, filled: Groups) -> list[str]:
    """Return the statements of a migration for tables of these groups; those that change rows only for `filled`."""
    found = []
    for statement in migration.statements("postgres"):
        group = group_of(_target(statement))
        if group in groups and (group in filled or not statement.startswith(_ROWS)):
            found.append(statement)
    return found


def _target(statement: str) -> str:
    """Return the table that a statement of a migration changes."""
    dropped = re.match(r"DROP INDEX (\w+)", statement)
    found = _TARGET.match(statement)
    if dropped is None and found is None:
        raise ValueError(f"cannot tell which table a migration changes: {statement.splitlines()[0]}")
    return _tables_of_indexes()[dropped[1]] if dropped else found[1] if found else ""


@cache
def _tables_of_indexes() -> dict[str, str]:
    return {index: table for migration in migrations() for index, table in _INDEX.findall(migration.sql)}
