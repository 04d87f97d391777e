"""A database on a PostgreSQL server: its connection pool, and transactions on its connections."""

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from recollect.errors import ConfigError, RecollectError
from recollect.storage.database import Row
from recollect.storage.postgres.errors import WAIT_SECONDS, translated

__all__ = ["SNAPSHOT", "Connection", "PostgresServer"]

MINIMUM = 15
CONNECT_SECONDS = 5
POOL_SIZE = 10
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
Connection = psycopg.Connection[Row]
Pool = ConnectionPool[Connection]
ErrorTranslator = Callable[[Exception], RecollectError | None]
"""Returns a more specific error than the general translation, or None."""
# By default a connection to a host that stopped responding, for instance after a power cut, blocks for 15 minutes.
_TIMEOUTS = {"tcp_user_timeout": 5_000, "keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 3}
# Errors of the pool's background threads are raised where a connection is requested; do not also log them to stderr.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
# Pools inherited by a forked child. Their connections belong to the parent, so keep them alive but never use them.
_inherited: list[Pool] = []


class PostgresServer:
    """The connections to one database on a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.where = _without_password(url)
        self._pooled = False
        """Whether a pooler such as PgBouncer may run each transaction in another session."""
        self._durably = ""
        """Follows BEGIN where synchronous_commit is off by default, so that an acknowledged commit is on disk."""
        self._pool: Pool | None = None
        self._guard = threading.Lock()
        self._owner = os.getpid()

    def connect(self) -> Pool:
        """Return the pool, opened after checking the server: version, encoding, pgvector.

        Raise Unavailable or ConfigError, with the remedy, if the server cannot be used.
        """
        self._reset_in_child()
        with self._guard, self._errors():
            if self._pool is None:
                self._check()
                pool: Pool = ConnectionPool(
                    self.url,
                    min_size=0,
                    max_size=POOL_SIZE,
                    open=False,
                    reconnect_timeout=CONNECT_SECONDS,
                    kwargs={
                        "autocommit": True,
                        # Old poolers run a prepared statement in a session that does not have it.
                        **({"prepare_threshold": None} if self._pooled else {}),
                        **_parameters(self.url),
                    },
                )
                pool.open()
                self._pool = pool
            return self._pool

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
                    f"{self.where} is encoded in {encoding}, which cannot hold every text; create another database "
                    "with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
                )
            ((vector, session, commit),) = connection.execute(
                "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector'), pg_backend_pid(), "
                "current_setting('synchronous_commit')"
            ).fetchall()
            self._pooled = session != connection.info.backend_pid
            self._durably = "; SET LOCAL synchronous_commit TO on" if commit == "off" else ""
            if not vector:
                raise ConfigError(
                    f"{self.where} has no pgvector; install the package for PostgreSQL {version} "
                    f"(for instance postgresql-{version}-pgvector) on the server and try again"
                )

    @contextmanager
    def connection(self, begin: str | None, explain: ErrorTranslator | None = None) -> Iterator[Connection]:
        """Yield a connection in a transaction opened by the `begin` statements, or in autocommit mode if None."""
        pool = self.connect()
        if begin is not None:
            begin += self._durably
        with self._errors(explain):
            try:
                connection = self._begin(pool, begin)
            except PoolClosed:
                # Another thread closed the home concurrently. A closed home can be used again, so reopen the pool.
                pool = self.connect()
                connection = self._begin(pool, begin)
            except psycopg.OperationalError:
                # The server closed this connection while it was idle; no transaction was open, so retry with a new one.
                pool.check()
                connection = self._begin(pool, begin)
            try:
                yield connection
                if begin is not None:
                    connection.execute("COMMIT")
            except BaseException:
                if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.cancel_safe(timeout=1.0)
                    connection.rollback()
                raise
            finally:
                pool.putconn(connection)

    def _begin(self, pool: Pool, begin: str | None) -> Connection:
        """Take a connection from the pool and run the statements on it, which proves that it is alive."""
        try:
            connection = pool.getconn(1)
        except PoolTimeout:
            # Either all connections are in use or the server is unreachable: connecting raises the latter's error.
            psycopg.connect(self.url, **_parameters(self.url)).close()
            connection = pool.getconn(WAIT_SECONDS)
        try:
            connection.execute((begin or "SELECT 1").encode())
        except BaseException:
            pool.putconn(connection)
            raise
        return connection

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
    def _errors(self, explain: ErrorTranslator | None = None) -> Iterator[None]:
        """Raise recollect's errors instead of the driver's, with the explanation if there is one."""
        try:
            yield
        except Exception as error:
            meaning = (explain(error) if explain is not None else None) or translated(error, self.where)
            if meaning is None:
                raise
            raise meaning from error


def _parameters(url: str) -> dict[str, Any]:
    """Return the connection parameters in addition to those of the address, which take precedence over the timeouts.

    Queries are sent as UTF-8, regardless of PGCLIENTENCODING and the locale.
    """
    given = psycopg.conninfo.conninfo_to_dict(url)
    defaults = {"connect_timeout": CONNECT_SECONDS, **_TIMEOUTS}
    return {**{name: value for name, value in defaults.items() if name not in given}, "client_encoding": "utf8"}


def _without_password(url: str) -> str:
    return re.sub(r"(://[^:/@]*):.*@", r"\1:…@", re.sub(r"password=[^&\s]*", "password=…", url))
