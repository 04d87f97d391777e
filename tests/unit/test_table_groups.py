"""The groups of tables of a PostgreSQL schema: every table and every statement of the migrations is in one."""

from recollect.storage.named_queries import queries
from recollect.storage.postgres.table_groups import (
    ALL,
    CORE,
    FOLLOWING,
    group_of,
    group_written_by,
    parts_of,
    statements_of,
)
from recollect.storage.schema import layout, migrations

TABLES = {name for name, kind in layout().items() if kind == "TABLE"}


def test_every_table_is_in_one_group() -> None:
    following = [table for tables in FOLLOWING.values() for table in tables]
    assert len(following) == len(set(following))
    assert set(following) < TABLES
    assert {group_of(table) for table in TABLES} == ALL
    assert parts_of(ALL) >= set(layout())


def test_the_groups_share_out_all_statements_of_the_migrations() -> None:
    for migration in migrations():
        of_groups = [statements_of(migration, ALL & {group}, ALL) for group in sorted(ALL)]
        assert sorted(migration.statements("postgres")) == sorted(one for found in of_groups for one in found)


def test_new_tables_are_defined_without_the_statements_that_change_rows() -> None:
    found = [one for migration in migrations() for one in statements_of(migration, ALL & {"vectors"}, frozenset())]
    assert [one.split()[0] for one in found] == ["CREATE", "CREATE", "ALTER", "CREATE"]


def test_a_query_inserts_into_the_tables_of_one_group() -> None:
    assert group_written_by("reminders.put") == "reminders"
    assert group_written_by("reminders.due") == CORE
    for query, sql in queries().items():
        assert sql.count("INSERT INTO") <= 1, query
