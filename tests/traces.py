"""Every byte that a home keeps: what tests of erasing search for a word."""

import psycopg
from crash.evidence import databases, tables
from postgres import Server


def on_disk(location: str) -> bytes:
    """Every byte of the memory's files, logs and all."""
    return b"".join(
        path.with_name(path.name + suffix).read_bytes()
        for path in databases(location)
        for suffix in ("", "-wal", "-shm")
        if path.with_name(path.name + suffix).exists()
    )


def on_server(server: Server, url: str) -> bytes:
    """Every byte of the files of a database, after the server has written everything back."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
        assert row is not None
    return b"".join(path.read_bytes() for path in (server.data / "base" / str(row[0])).iterdir() if path.is_file())


def in_tables(location: str) -> bytes:
    """Everything that the tables hold, as bytes."""
    return b"\n".join(
        value if isinstance(value, bytes) else str(value).encode()
        for found in tables(location).values()
        for row in found
        for value in row
        if value is not None
    )


def left_of(words: list[str], data: bytes) -> list[str]:
    """The words that are still there."""
    return [word for word in words if word.encode() in data]
