"""The pytest plugin of every suite: leaves out the tests that suite.toml lists, counts outcomes, gives locations."""

import hashlib
import json
import os
import threading
import tomllib
from collections import Counter
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent / os.environ["SUITE_NAME"]
_ON_POSTGRES = os.environ["SUITE_PART"].endswith("postgres")
_counts: Counter[str] = Counter()
_databases: dict[str, str] = {}
_lock = threading.Lock()


def location(path: object) -> str:
    """Return where a home for this path is stored: the path itself, or a database of the test server of its own."""
    return database(str(path)) if _ON_POSTGRES else str(path)


def database(path: str) -> str:
    """Return the URL of the database that stands for a path on the test server; create it the first time."""
    with _lock:
        if path not in _databases:
            import psycopg

            server = os.environ["SUITE_SERVER"]
            name = f"suite_{os.getpid()}_{hashlib.sha256(path.encode()).hexdigest()[:16]}"
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{_template(connection)}" STRATEGY FILE_COPY')
            _databases[path] = f"{server.rpartition('/')[0]}/{name}"
        return _databases[path]


def _template(connection: object) -> str:
    """Return a database with the schemas of the agent `default`: copying it is faster than creating them."""
    name = f"suite_{os.getpid()}"
    if name not in _databases:
        import recollect

        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        url = f"{os.environ['SUITE_SERVER'].rpartition('/')[0]}/{name}"
        with recollect.open(url) as home:
            home.agent("default").forget(home.agent("default").remember("a first entry").id)
            home.agent("default").empty_trash()
        _databases[name] = url
    return name


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what suite.toml leaves out; fail if it lists a test that does not exist."""
    if not os.environ["SUITE_PART"].startswith("vendor"):
        return
    given = tomllib.loads((_FOLDER / "suite.toml").read_text(encoding="utf-8"))
    part = os.environ["SUITE_PART"]
    folder = os.environ["SUITE_SOURCE"]
    listed = [
        name
        for one in given.get("left_out", [])
        if part in one.get("only", part) and one.get("source", folder) == folder
        for name in one["tests"]
    ]
    matched: set[str] = set()
    kept, gone = [], []
    for item in items:
        whole = item.nodeid.partition("[")[0]
        found = {name for name in listed if f"::{item.nodeid}".endswith(f"::{name}") or whole.endswith(f"::{name}")}
        matched |= found
        (gone if found else kept).append(item)
    selected = config.option.keyword or config.option.markexpr
    if not selected and (missing := set(listed) - matched):
        raise pytest.UsageError(f"suite.toml leaves out tests that do not exist: {', '.join(sorted(missing))}")
    config.hook.pytest_deselected(items=gone)
    items[:] = kept
    _counts["left out"] += len(gone)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count each test once: by its call, or by the phase that failed or skipped it."""
    if report.when == "call" or report.outcome != "passed":
        _counts[report.outcome] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the counts for scripts/suites.py."""
    order = ("passed", "failed", "skipped", "left out")
    Path(os.environ["SUITE_COUNTS"]).write_text(json.dumps({name: _counts[name] for name in order}))
