"""The start of the page, with its requests slow, failing once, or answered by something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from surfaces.server import Server, serving, settings

import recollect

Visit = Callable[..., Page]
Fault = Callable[[Route], None]
Guarded = tuple[Server, str]

NOISE = ("401", "503", "ERR_", "Failed to load", "MIME type")
"""What the browser reports in its console about the faults of these tests."""
START = ("session", "workspaces*", "agents?*", "feed?*", "entries?*", "entries/day?*", "entries/day/history?*")
"""The requests of a start, below /v1/."""
FAULTS: dict[str, Fault] = {
    "unreachable": lambda route: route.abort(),
    "unavailable": lambda route: route.fulfill(status=503, json={"detail": "The server is busy."}),
    "another page": lambda route: route.fulfill(status=200, content_type="text/html", body="<p>Accept the terms</p>"),
}
SCRIPTS = sorted(one.name for one in (files("recollect.ui") / "static").iterdir() if one.name.endswith(".js"))
MODULES = [name for name in SCRIPTS if name not in ("autosave.js", "graph_layout.js", "loading.js", "theme.js")]
"""What the page needs to start: not the worker of the graph, and not what it can do without."""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    """A server that asks for tokens, and the secret of one. Only ana remembers something, not the default agent."""
    with recollect.open(tmp_path / "guarded") as home:
        home.agent("ana").remember("We deploy on Tuesdays.", name="day")
        _, secret = home.tokens.create("writer", right="write")
        with serving(home, settings(require_token=True)) as running:
            yield running, secret


@pytest.fixture
def page(guarded: Guarded, visit: Visit) -> Page:
    """The page, asking for a token."""
    opened = visit(guarded[0], "#/memory/day", allowed=NOISE)
    expect(opened.get_by_label("Token")).to_be_visible()
    return opened


def enter(page: Page, secret: str) -> None:
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def once(page: Page, path: str, fault: Fault, method: str = "GET") -> None:
    """Let the first request to a path fail, and no other."""
    left = [fault]

    def answer(route: Route) -> None:
        if left and route.request.method == method:
            left.pop()(route)
        else:
            route.fallback()

    page.route(f"**/v1/{path}", answer)


def hold(page: Page, path: str) -> list[Route]:
    """Leave the first request to a path without an answer until the test gives one."""
    held: list[Route] = []
    once(page, path, held.append)
    return held


def round_trip(page: Page) -> None:
    """Let the page handle everything that has arrived."""
    page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")


def wait_for(page: Page, held: list[Route]) -> Route:
    while not held:
        round_trip(page)
    return held[0]


def reach(page: Page, wanted: Locator) -> None:
    """Wait for something to appear, and press Try again when that is offered instead."""
    again = page.get_by_role("button", name="Try again")
    expect(wanted.or_(again).first).to_be_visible()
    if not wanted.is_visible():
        again.evaluate_all("found => found.forEach((button) => button.click())")  # unless the page did it by itself
    expect(wanted).to_be_visible()


def is_whole(page: Page) -> None:
    """Wait until the page shows all that it shows after a start without a fault."""
    reach(page, page.get_by_role("link", name="Conversations"))
    expect(page.get_by_label("Agent")).to_have_value("ana")
    reach(page, page.locator(".content", has_text="We deploy on Tuesdays."))
    reach(page, page.locator(".entry-row"))
    reach(page, page.locator(".history"))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("path", START)
def test_the_page_starts_although_one_request_fails(guarded: Guarded, page: Page, path: str, fault: str) -> None:
    once(page, path, FAULTS[fault])
    enter(page, guarded[1])
    is_whole(page)


@pytest.mark.parametrize("path", START)
def test_the_page_starts_when_one_request_is_answered_late(guarded: Guarded, page: Page, path: str) -> None:
    held = hold(page, path)
    enter(page, guarded[1])
    late = wait_for(page, held)
    if path == "feed?*":  # the page does not wait for it
        is_whole(page)
    late.continue_()
    is_whole(page)


@pytest.mark.parametrize("fault", ["unreachable", "unavailable"])
def test_a_login_that_fails_says_so_and_can_be_repeated(guarded: Guarded, page: Page, fault: str) -> None:
    once(page, "session", FAULTS[fault], "POST")
    enter(page, guarded[1])
    expect(page.get_by_role("alert")).to_contain_text("The server")
    page.get_by_role("button", name="Sign in").click()  # what was typed is still there
    is_whole(page)


def test_a_browser_without_cookies_shows_why_the_login_does_not_work(guarded: Guarded, page: Page) -> None:
    once(page, "session", lambda route: route.fulfill(json={}), "POST")
    enter(page, guarded[1])
    expect(page.get_by_role("alert")).to_contain_text("did not store the cookie")


def test_a_late_answer_to_a_revoked_token_does_not_end_the_next_session(guarded: Guarded, page: Page) -> None:
    server, secret = guarded
    enter(page, secret)
    is_whole(page)
    held = hold(page, "reminders?*")
    page.get_by_role("link", name="Reminders").click()
    late = wait_for(page, held)
    server.home.tokens.revoke("writer")
    page.evaluate("location.hash = '#/conversations?agent=ana'")
    expect(page.get_by_label("Token")).to_be_visible()
    _, other = server.home.tokens.create("other", right="write")
    enter(page, other)
    expect(page.get_by_role("link", name="Conversations")).to_be_visible()
    late.fulfill(status=401, json={"detail": "this token was revoked"})
    round_trip(page)
    page.evaluate("location.hash = '#/memory/day?agent=ana'")
    is_whole(page)


def test_a_log_out_that_fails_says_so(guarded: Guarded, page: Page) -> None:
    enter(page, guarded[1])
    is_whole(page)
    once(page, "session", FAULTS["unavailable"], "DELETE")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_contain_text("The server is busy.")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_an_address_that_changes_during_the_start_is_the_one_that_is_shown(guarded: Guarded, page: Page) -> None:
    guarded[0].home.agent("bob").remember("Of bob.", name="day")
    held = hold(page, "workspaces*")
    enter(page, guarded[1])
    late = wait_for(page, held)
    page.evaluate("location.hash = '#/memory/day?agent=bob'")
    late.continue_()
    expect(page.locator(".content")).to_have_text("Of bob.")
    expect(page.get_by_label("Agent")).to_have_value("bob")


@pytest.mark.parametrize("name", MODULES)
def test_a_file_of_the_page_that_cannot_be_loaded_is_reported_with_a_retry(
    server: Server, visit: Visit, name: str
) -> None:
    server.home.agent("default").remember("We deploy on Tuesdays.")
    path = f"**/static/{name}"
    page = visit(server, allowed=NOISE, prepare=lambda page: page.route(path, lambda route: route.abort()))
    expect(page.get_by_role("alert")).to_contain_text("The page could not be loaded.")
    page.unroute(path)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".entry-row")).to_have_count(1)


def test_of_two_workspaces_chosen_in_haste_the_last_one_is_shown(guarded: Guarded, page: Page) -> None:
    server, secret = guarded
    for name in ("one", "two"):
        server.home.agent("ana", name).remember(f"Of workspace {name}.")
    enter(page, secret)
    is_whole(page)
    held = hold(page, "agents?workspace=one*")
    page.get_by_label("Workspace").select_option("one")
    late = wait_for(page, held)
    page.get_by_label("Workspace").select_option("two")
    expect(page.locator(".entry-row")).to_contain_text("Of workspace two.")
    late.continue_()
    round_trip(page)
    expect(page.locator(".entry-row")).to_contain_text("Of workspace two.")
    expect(page.get_by_label("Workspace")).to_have_value("two")
    assert "workspace=two" in page.url


def test_a_workspace_whose_agents_cannot_be_read_can_be_tried_again(guarded: Guarded, page: Page) -> None:
    server, secret = guarded
    server.home.agent("ana", "one").remember("Of workspace one.")
    enter(page, secret)
    is_whole(page)
    once(page, "agents?workspace=one*", FAULTS["unavailable"])
    page.get_by_label("Workspace").select_option("one")
    expect(page.get_by_text("The server is busy.")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".entry-row")).to_contain_text("Of workspace one.")
