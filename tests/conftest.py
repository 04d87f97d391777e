"""What the tests share: a real PostgreSQL, one memory per kind of location, and a clock that stands still."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from citus import Cluster
from hypothesis import settings
from postgres import Server

import recollect
from recollect.clock import FixedClock
from recollect.engine import signals
from recollect.storage.postgres.schemas import Schemas, schema_of
from recollect.storage.postgres.server import PostgresServer

if TYPE_CHECKING:
    from recollect.home import Home
    from recollect.memory import Memory

# Collecting makes objects only, and they all stay: searching them for garbage takes a third of the time of a worker's
# start, and every full collection during the tests would traverse them again.
gc.disable()

TAKE_LONG = ("tests/machines/", "tests/crash/", "[docs/cli.md]", "test_the_count_does_not_depend_on_the_feed_alone")
NEW_YEAR_2026 = 1_767_225_600_000

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True, print_blob=True)
settings.register_profile("exhaustive", deadline=None, max_examples=500, print_blob=True)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="skip slow tests and every location but a file; 10 examples per property"
    )
    parser.addoption(
        "--exhaustive", action="store_true", help="every case where a sample is taken; 500 examples per property"
    )

    parser.addoption("--citus", type=Path, help="the folder of a PostgreSQL with Citus; the server is a cluster of it")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; left out by --quick")
    config.addinivalue_line("markers", "directory: several databases, workspaces or a vault: runs on a directory, too")
    config.addinivalue_line("markers", "unprepared: on PostgreSQL, begins with a database without any schema")
    if config.getoption("quick"):
        settings.load_profile("quick")
    if config.getoption("exhaustive"):
        settings.load_profile("exhaustive")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `location` on a file and on PostgreSQL, and on a directory if it is marked so.

    A test may also name its kinds of location by `parametrize`.
    """
    named = any("location" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "location" in metafunc.fixturenames and not named:
        all_kinds = metafunc.definition.get_closest_marker("directory") or metafunc.config.getoption("exhaustive")
        kinds = ["file", "directory", "postgres"] if all_kinds else ["file", "postgres"]
        if metafunc.config.getoption("quick"):
            kinds = ["file"]  # the others would be deselected
        metafunc.parametrize("location", kinds, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Move slow tests to the front for several workers: one that starts last leaves the other workers idle.

    With `--quick`, deselect what needs a PostgreSQL server or is marked `slow`, and what also runs on a file.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not takes_long(item))
    if not config.getoption("quick"):
        return
    deselected = {item for item in items if needs_postgres(item) or item.get_closest_marker("slow") or repeats(item)}
    config.hook.pytest_deselected(items=list(deselected))
    items[:] = [item for item in items if item not in deselected]


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def takes_long(item: pytest.Item) -> bool:
    """True if a test is marked `slow`, or waits long for other processes, or tries many examples."""
    return bool(item.get_closest_marker("slow")) or any(part in item.nodeid for part in TAKE_LONG)


def needs_postgres(item: pytest.Item) -> bool:
    """True if a test takes the fixture of a server, or is the PostgreSQL variant of a test of several locations."""
    variants = map(str, parameters(item).values())
    return "postgres_server" in getattr(item, "fixturenames", ()) or "postgres" in variants


def repeats(item: pytest.Item) -> bool:
    """True if a test is the directory variant of a test of several locations: SQLite again, with the same queries."""
    return parameters(item).get("location") == "directory"


def parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests mean the same on every machine, whatever its owner has set. Those of vectors bring their embedder."""
    for name in list(os.environ):
        if name.startswith("RECOLLECT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("RECOLLECT_EMBEDDER_KIND", "none")


@pytest.fixture(autouse=True)
def no_recall_counts_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """No recall counts as an access before a test says so: on a slow machine it would move what is found next."""
    monkeypatch.setattr(signals, "AFTER_SECONDS", 3_600.0)


@pytest.fixture(scope="session")
def postgres_server(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Server | Cluster]:
    """One PostgreSQL for the whole run (for each worker, where several run); its log stays in pytest's folder."""
    if pytestconfig.getoption("citus"):
        with Cluster(pytestconfig.getoption("citus"), tmp_path_factory.mktemp("citus")) as cluster:
            yield cluster
        return
    with Server(log=tmp_path_factory.mktemp("postgres") / "server.log", fsync=False) as server:
        yield server


@pytest.fixture(scope="session")
def prepared_database(postgres_server: Server) -> str:
    """The name of a database with empty schemas for agent `ana`. Copying it is faster than running the migrations."""
    url = postgres_server.fresh_database()
    server = PostgresServer(url)
    schemas = Schemas(server)
    for agent in ("_shared", "ana"):
        schemas.prepare(schema_of("default", agent), ("default", agent))
    schemas.prepare("recollect_account", None)
    server.close()
    return url.rpartition("/")[2]


@pytest.fixture
def postgres_url(postgres_server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new database for one test, without any schema; with empty ones for `ana` if it is the test's `location`.

    A test of what is in a database before the first write is marked `unprepared`. Citus cannot copy a database.
    """
    prepared = "location" in request.fixturenames and not request.node.get_closest_marker("unprepared")
    prepared = prepared and not request.config.getoption("citus")
    template = request.getfixturevalue("prepared_database") if prepared else "template0"
    url = postgres_server.fresh_database(template)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a memory that is not there yet: a test runs once for each of its kinds of location."""
    match request.param:
        case "file":
            return str(tmp_path / "memory.db")
        case "directory":
            return str(tmp_path / "home")
        case _:
            url: str = request.getfixturevalue("postgres_url")
            return url


@pytest.fixture
def clock() -> FixedClock:
    """The time of `home`; it moves only when a test says so."""
    return FixedClock(NEW_YEAR_2026)


@pytest.fixture
def home(location: str, clock: FixedClock) -> Iterator[Home]:
    """An empty home in each kind of location."""
    with recollect.open(location, clock=clock) as opened:
        yield opened


@pytest.fixture
def mem(home: Home) -> Memory:
    """The memory of the agent `ana` in that home."""
    return home.agent("ana")
