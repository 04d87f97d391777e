"""A real browser on real servers. Every page is watched: an error in its console, an unexpected dialog or a
breach of its Content-Security-Policy fails the test.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser.chromium import PATIENCE, Chromium
from playwright.sync_api import Page, expect
from surfaces.server import Server, serving

import recollect
from recollect.cli.fill import fill
from recollect.clock import FixedClock, SystemClock

FOLDER = Path(__file__).parent
expect.set_options(timeout=PATIENCE)
running: list[Chromium] = []


@pytest.fixture
def chromium() -> Chromium:
    """The browser. It is started by the first test that needs it."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no chromium is installed here; `apt-get install chromium` brings one")
    if not running:
        running.append(Chromium(program))
    return running[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the browser before a test of another folder: as long as it is there, no other loop can run in this thread."""
    if running and (nextitem is None or FOLDER not in nextitem.path.parents):
        running.pop().close()


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo memory of the agent `default`, made once."""
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    now = SystemClock().now()
    clock = FixedClock(now)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECOLLECT_EMBEDDER_KIND", "none")
        with recollect.open(path, clock=clock) as home:
            fill(home, clock, "default", "default", now=now)
    return path


@pytest.fixture
def demo(demo_file: Path, tmp_path: Path) -> Iterator[Server]:
    """A server over a copy of the demo memory."""
    path = tmp_path / "demo.db"
    shutil.copy(demo_file, path)
    with recollect.open(path) as home, serving(home) as running:
        yield running


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server over an empty memory."""
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as running:
        yield running


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """`serve(home)` starts a server that stops after the pages of the test are closed, so it refuses no request."""
    with ExitStack() as running:
        yield lambda home, chosen=None: running.enter_context(serving(home, chosen))


@pytest.fixture
def visit(chromium: Chromium, serve: object) -> Iterator[Callable[..., Page]]:
    """`visit(server, "#/memory")` opens the page there, in a browser that knows nothing yet.

    It closes its pages before what `serve` started stops. What must see all that the page does is set up by `prepare`.
    """
    opened: list[tuple[Page, list[str], list[str], bool]] = []

    def go(
        server: Server,
        where: str = "#/memory",
        *,
        allowed: tuple[str, ...] = (),
        prepare: Callable[[Page], object] = lambda page: None,
        **options: Any,
    ) -> Page:
        page = chromium.context(**options).new_page()
        page.bring_to_front()  # a page of an earlier test may have been the active one until it was closed
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        opened.append((page, wrong, list(allowed), not options))
        prepare(page)
        page.goto(f"{server.url}/{where}")
        return page

    yield go
    for page, wrong, allowed, usual in opened:
        breaches = [] if page.is_closed() else page.evaluate("window.breaches ?? []")
        if usual and not page.is_closed():
            chromium.take_back(page)
        else:
            page.context.close()
        assert breaches == []
        assert [one for one in wrong if not any(part in one for part in allowed)] == []
