"""A Citus cluster for the tests: a coordinator and two workers, each a private PostgreSQL on loopback."""

import contextlib
from pathlib import Path
from types import TracebackType

import psycopg
from postgres import Server

OPTIONS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": 300,
    "max_prepared_transactions": 50,
    "citus.node_conninfo": "sslmode=prefer",
}


class Cluster:
    """Replaces `Server`: its URLs are databases of the coordinator in which schemas are distributed."""

    def __init__(self, binaries: Path, logs: Path) -> None:
        self._nodes = [
            Server(logs / f"{name}.log", fsync=False, binaries=binaries, options=OPTIONS)
            for name in ("coordinator", "first", "second")
        ]
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Cluster":
        with contextlib.ExitStack() as stack:
            for node in self._nodes:
                stack.enter_context(node)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def fresh_database(self, template: str = "template0") -> str:
        """The URL of a new database on the coordinator, with a twin of the same name on each worker."""
        coordinator, *workers = [(node, node.fresh_database(template)) for node in self._nodes]
        for _, url in (coordinator, *workers):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("CREATE EXTENSION citus")
        with psycopg.connect(coordinator[1], autocommit=True) as connection:
            connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", (coordinator[0].port,))
            for node, _ in workers:
                connection.execute("SELECT citus_add_node('127.0.0.1', %s)", (node.port,))
            name = coordinator[1].rpartition("/")[2]
            connection.execute(f'ALTER DATABASE "{name}" SET citus.enable_schema_based_sharding TO on'.encode())
        return coordinator[1]

    def workers(self, url: str) -> list[str]:
        """The URLs of a database on the workers."""
        return [node.url(url.rpartition("/")[2]) for node in self._nodes[1:]]

    def drop_database(self, url: str) -> None:
        """Removes a database that fresh_database() made from all nodes."""
        name = url.rpartition("/")[2]
        for node in self._nodes:
            node.drop_database(node.url(name))
