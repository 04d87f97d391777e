"""A database on a PostgreSQL server: its connection pool, and transactions on its connections."""

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from recollect.errors import ConfigError, RecollectError
from recollect.model.stats import ConnectionCounts
from recollect.storage.database import Row
from recollect.storage.postgres.errors import WAIT_SECONDS, translated
from recollect.storage.postgres.session import Connection, GiveBack, ServerSession, Statement

__all__ = ["SNAPSHOT", "PostgresServer"]

MINIMUM = 15
CONNECT_SECONDS = 5
POOL_SIZE = 10
IDLE_SECONDS = 60
"""Time after which a connection that nothing uses is closed: a server admits 100 by default, from all processes."""
MOST_SCHEMAS = 256
"""Number of schemas after which a connection is replaced: its process keeps 0.15 to 0.26 MB for each that it used."""
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
ErrorTranslator = Callable[[Exception], RecollectError | None]
"""Returns a more specific error than the general translation, or None."""
# By default a connection to a host that stopped responding, for instance after a power cut, blocks for 15 minutes.
_TIMEOUTS = {"tcp_user_timeout": 5_000, "keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 3}
# Errors of the pool's background threads are raised where a connection is requested, and those of a pipeline where its
# results are; do not also log them to stderr.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class _PooledConnection(psycopg.Connection[Row]):
    """A connection of the pool, with the schemas that were used on it."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.schemas = set[str]()


Pool = ConnectionPool[_PooledConnection]
# Pools inherited by a forked child. Their connections belong to the parent, so keep them alive but never use them.
_inherited: list[Pool] = []


class PostgresServer:
    """The connections to one database on a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.where = _without_password(url)
        self.pooled = False
        """Whether a pooler such as PgBouncer may run each transaction in another session."""
        self.citus = False
        """Whether it is the coordinator of a cluster; known once connected."""
        self._durably = b""
        """Follows BEGIN where synchronous_commit is off by default, so that an acknowledged commit is on disk."""
        self._pool: Pool | None = None
        self._guard = threading.Lock()
        self._owner = os.getpid()

    def connect(self) -> Pool:
        """Return the pool, opened after checking the server: version, encoding, pgvector.

        Raise Unavailable or ConfigError, with the remedy, if the server cannot be used.
        """
        self._reset_in_child()
        with self._guard, self.translating():
            if self._pool is None:
                self._check()
                pool: Pool = ConnectionPool(
                    self.url,
                    connection_class=_PooledConnection,
                    min_size=0,
                    max_size=POOL_SIZE,
                    open=False,
                    max_idle=IDLE_SECONDS,
                    reconnect_timeout=CONNECT_SECONDS,
                    kwargs={
                        "autocommit": True,
                        # Old poolers run a prepared statement in a session that does not have it.
                        **({"prepare_threshold": None} if self.pooled else {}),
                        **_parameters(self.url),
                    },
                )
                pool.open()
                self._pool = pool
            return self._pool

    def connections(self) -> ConnectionCounts:
        """Return how many connections the pool has."""
        found = {} if self._pool is None else self._pool.get_stats()
        size, idle = found.get("pool_size", 0), found.get("pool_available", 0)
        waiting = found.get("requests_waiting", 0)
        return ConnectionCounts(pool=self.where, used=size - idle, idle=idle, waiting=waiting)

    def _check(self) -> None:
        """Raise ConfigError if the server is too old, its encoding is not UTF-8, or it lacks pgvector.

        Also find out whether a pooler is in between, which announces a process id of its own.
        """
        try:
            first = psycopg.connect(self.url, autocommit=True, **_parameters(self.url))
        except psycopg.ProgrammingError:
            raise ConfigError(
                f"{self.where} is not a usable address; write it as postgresql://user:password@host:port/database, "
                "with %40 for an @ in the password"
            ) from None
        with first as connection:
            version = connection.info.server_version // 10_000
            if version < MINIMUM:
                raise ConfigError(f"{self.where} is PostgreSQL {version}; recollect needs {MINIMUM} or newer")
            encoding = connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise ConfigError(
                    f"{self.where} is encoded in {encoding}, which cannot represent every text; create another "
                    "database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
                )
            ((vector, session, commit, self.citus),) = connection.execute(
                "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector'), pg_backend_pid(), "
                "current_setting('synchronous_commit'), EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
            ).fetchall()
            self.pooled = session != connection.info.backend_pid
            self._durably = b"SET LOCAL synchronous_commit TO on" if commit == "off" else b""
            if not vector:
                raise ConfigError(
                    f"{self.where} has no pgvector; install the package for PostgreSQL {version} "
                    f"(for instance postgresql-{version}-pgvector) on the server and try again"
                )

    def own_connection(self) -> Connection:
        """Return a new connection outside the pool, for a caller that holds one of the pool already."""
        return psycopg.connect(self.url, autocommit=True, prepare_threshold=None, **_parameters(self.url))

    @contextmanager
    def connection(
        self, begin: str | None, explain: ErrorTranslator | None = None, schema: str | None = None
    ) -> Iterator[Connection]:
        """Yield a connection in a transaction opened by the `begin` statement, or in autocommit mode if None."""
        with self.session(begin, explain, schema) as session:
            yield session.connection()

    @contextmanager
    def session(
        self, begin: str | None, explain: ErrorTranslator | None = None, schema: str | None = None
    ) -> Iterator[ServerSession]:
        """Yield a transaction that the `begin` statement opens before its first statement and that ends with the block.

        If it is None, there is no transaction: each statement commits by itself. `schema` is the one that is used.
        """
        self.connect()
        opening: list[Statement] = [(b"SELECT 1", None)] if begin is None else [(begin.encode(), None)]
        if begin is not None and self._durably:
            opening.append((self._durably, None))
        with self.translating(explain):
            session = ServerSession(self, opening, schema, commits=begin is not None)
            try:
                yield session
                session.commit()
            finally:
                session.abandon()

    def take(self, schema: str | None) -> tuple[Connection, GiveBack]:
        """Return a connection of the pool that no transaction uses, and the function that returns it."""
        pool = self.connect()
        try:
            connection = self._taken(pool)
        except PoolClosed:
            # Another thread closed the home concurrently. A closed home can be used again, so reopen the pool.
            pool = self.connect()
            connection = self._taken(pool)
        if schema is not None and not self.pooled:
            connection.schemas.add(schema)
        return connection, partial(_give_back, pool, connection)

    def _taken(self, pool: Pool) -> _PooledConnection:
        try:
            return pool.getconn(1)
        except PoolTimeout:
            # Either all connections are in use or the server is unreachable: connecting raises the latter's error.
            psycopg.connect(self.url, **_parameters(self.url)).close()
            return pool.getconn(WAIT_SECONDS)

    def drop_closed(self) -> None:
        """Discard the connections that the server closed while they were idle."""
        self.connect().check()

    def _reset_in_child(self) -> None:
        """Reset the state in a forked child: the connections belong to the parent, so neither use nor close them."""
        if self._owner != os.getpid():
            if self._pool is not None:
                _inherited.append(self._pool)
            self._pool, self._guard, self._owner = None, threading.Lock(), os.getpid()

    def close(self) -> None:
        """Close the pool and its connections."""
        self._reset_in_child()
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def translating(self, explain: ErrorTranslator | None = None) -> Iterator[None]:
        """Raise recollect's errors instead of the driver's, with the explanation if there is one."""
        try:
            yield
        except Exception as error:
            meaning = (explain(error) if explain is not None else None) or translated(error, self.where)
            if meaning is None:
                raise
            raise meaning from error


def _give_back(pool: Pool, connection: _PooledConnection) -> None:
    """Return a connection to its pool, after a rollback if a transaction is open on it.

    One that has used many schemas is closed, and the pool opens another one.
    """
    try:
        if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                connection.cancel_safe(timeout=1.0)
            connection.rollback()
        if len(connection.schemas) >= MOST_SCHEMAS:
            connection.close()
    finally:
        pool.putconn(connection)


def _parameters(url: str) -> dict[str, Any]:
    """Return the connection parameters in addition to those of the address, which take precedence over the timeouts.

    Queries are sent as UTF-8, regardless of PGCLIENTENCODING and the locale.
    """
    given = psycopg.conninfo.conninfo_to_dict(url)
    defaults = {"connect_timeout": CONNECT_SECONDS, **_TIMEOUTS}
    return {**{name: value for name, value in defaults.items() if name not in given}, "client_encoding": "utf8"}


def _without_password(url: str) -> str:
    return re.sub(r"(://[^:/@]*):.*@", r"\1:…@", re.sub(r"password=[^&\s]*", "password=…", url))
