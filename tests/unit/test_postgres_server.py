"""The server that the other tests rely on does what they take for granted."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
from postgres import Server, alive, wait_for

pytestmark = pytest.mark.slow


def test_it_is_postgresql_18_with_pgvector(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.info.server_version // 10_000 == 18
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute("SELECT '[3,4]'::vector <-> '[0,0]'::vector").fetchone() == (5.0,)


def test_a_fresh_database_is_empty_and_a_dropped_one_is_gone(postgres_server: Server) -> None:
    first, second = postgres_server.fresh_database(), postgres_server.fresh_database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE notes (content text)")
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT to_regclass('notes')").fetchone() == (None,)
        assert connection.execute("SELECT extname FROM pg_extension").fetchall() == [("plpgsql",)]

    with psycopg.connect(first):  # a connection that a test left open does not keep its database alive
        postgres_server.drop_database(first)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)
    postgres_server.drop_database(second)


def test_a_killed_server_comes_back_at_the_same_place_with_what_was_committed(tmp_path: Path) -> None:
    with Server(log=tmp_path / "server.log") as server:
        url = server.fresh_database()
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE notes (content text)")
            connection.execute("INSERT INTO notes VALUES ('committed')")
        open_transaction = psycopg.connect(url)
        open_transaction.execute("INSERT INTO notes VALUES ('not committed')")

        server.kill()
        with pytest.raises(psycopg.OperationalError):
            open_transaction.execute("SELECT 1")
        open_transaction.close()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)

        server.restart()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT content FROM notes").fetchall() == [("committed",)]
    assert "was not properly shut down" in server.log.read_text()


def test_a_closed_server_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    with Server(log=tmp_path / "server.log") as server:
        postmaster = postmaster_of(server.url())
        assert server.folder.exists()
    assert not alive(postmaster)
    assert not server.folder.exists()
    assert "database system is shut down" in server.log.read_text()


def test_a_server_that_was_killed_can_be_closed(tmp_path: Path) -> None:
    with Server(log=tmp_path / "server.log") as server:
        server.kill()
    assert not server.folder.exists()


def test_a_server_ends_with_the_tests_even_when_they_are_killed(tmp_path: Path) -> None:
    program = """
import pathlib, sys
from postgres import Server
server = Server(log=pathlib.Path(sys.argv[1]))
server.start()
print(server.url(), server.folder, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / "server.log"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as tests:
        assert tests.stdout is not None
        url, folder = tests.stdout.readline().split()
        postmaster = postmaster_of(url)
        assert Path(folder).exists()
        tests.kill()
    wait_for("the server to end", lambda: not alive(postmaster))
    wait_for("its folder to be removed", lambda: not Path(folder).exists())


def postmaster_of(url: str) -> psutil.Process:
    """The process that owns the server, found through a connection to it."""
    with psycopg.connect(url) as connection:
        parent = psutil.Process(connection.info.backend_pid).parent()
        assert parent is not None
        return parent
