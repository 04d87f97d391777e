"""Support for Citus, where the server is the coordinator of a cluster and each schema is on one of its nodes.

A schema is created, and later migrated, on the coordinator and then distributed, because Citus refuses some changes of
distributed tables (SET STORAGE, SET STATISTICS).
"""

from psycopg import sql as quoting

from recollect.storage.postgres.session import Connection

__all__ = ["distribute", "is_sharding", "size", "take_back", "transactions_older_than"]

# Transactions of a node that were open before an erasure began, and may see the rows that it deleted.
_OLDER = (
    "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() "
    "AND clock_timestamp() - xact_start >= make_interval(secs => {seconds})) + (SELECT count(*) FROM pg_prepared_xacts "
    "WHERE clock_timestamp() - prepared >= make_interval(secs => {seconds}))"
)


def is_sharding(connection: Connection) -> bool:
    """Return whether the database distributes new schemas over the nodes of a cluster."""
    row = connection.execute(
        "SELECT current_setting('citus.enable_schema_based_sharding', true) = 'on' "
        "AND EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
    ).fetchone()
    return bool(row and row[0])


def take_back(connection: Connection, schema: str) -> bool:
    """Move a distributed schema to the coordinator; return whether it was distributed.

    Until the transaction ends, new schemas are not distributed.
    """
    connection.execute("SET LOCAL citus.enable_schema_based_sharding TO off")
    row = connection.execute(
        "SELECT citus_schema_undistribute(schemaid) FROM pg_dist_schema WHERE schemaid = to_regnamespace(%s)",
        (quoting.Identifier(schema).as_string(connection),),
    ).fetchone()
    return row is not None


def distribute(connection: Connection, schema: str) -> None:
    """Move a schema to a node that the cluster chooses."""
    connection.execute("SELECT citus_schema_distribute(%s::regnamespace)", (f'"{schema}"',))


def size(connection: Connection, schemas: list[str]) -> int:
    """Return the size of the tables and indexes of schemas on all nodes, in bytes."""
    row = connection.execute(
        "SELECT coalesce(sum(CASE WHEN logicalrelid IS NULL THEN pg_total_relation_size(pg_class.oid) "
        "ELSE citus_total_relation_size(pg_class.oid) END), 0)::bigint FROM pg_class "
        "JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "LEFT JOIN pg_dist_partition ON logicalrelid = pg_class.oid WHERE relkind = 'r' AND nspname = ANY(%s)",
        (schemas,),
    ).fetchone()
    return int(row[0]) if row else 0


def transactions_older_than(connection: Connection, seconds: float) -> int | None:
    """Return how many transactions of all nodes began longer ago; None if a node did not answer."""
    rows = connection.execute(
        "SELECT success, result FROM run_command_on_all_nodes(%s)", (_OLDER.format(seconds=f"{seconds:.6f}"),)
    ).fetchall()
    return sum(int(result) for _, result in rows) if rows and all(success for success, _ in rows) else None
