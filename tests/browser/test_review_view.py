"""Pairs for review in the browser: side by side, resolved by mouse and keys, live, and of one memory only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from browser.messages import expect_message
from playwright.sync_api import Error, Page, Request, Route, expect
from surfaces.server import Server, serving, settings

import recollect
from recollect.model.review import ReviewPair

Visit = Callable[..., Page]

LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server that requires tokens."""
    with recollect.open(tmp_path / "guarded.db") as home, serving(home, settings(require_token=True)) as running:
        yield running


@pytest.fixture
def several(tmp_path: Path) -> Iterator[Server]:
    """A server over a memory that may have several workspaces."""
    with recollect.open(tmp_path / "several") as home, serving(home) as running:
        yield running


def pair(
    server: Server, older: str, newer: str, *, origins: str = "agent agent", name: str | None = None
) -> ReviewPair:
    """Remember two notes, and let the job propose them."""
    memory, (first, second) = server.home.agent("default"), origins.split()
    memory.remember(older, at="2026-03-02T09:00:00Z", origin=first, name=name)
    memory.remember(newer, at="2026-05-04T09:00:00Z", origin=second)
    server.home.jobs.run("review")
    return memory.review.list()[0]


def test_a_pair_stands_side_by_side_with_the_differing_words_marked(server: Server, visit: Visit) -> None:
    found = pair(server, "We deploy on Tuesdays at ten", "We deploy on Wednesdays at ten", origins="user user")
    page = visit(server, "#/review")
    card = page.locator(".pair")
    expect(card).to_contain_text(f"Perhaps a contradiction: {found.reason}.")
    older, newer = (
        card.get_by_role("group", name="Older", exact=True),
        card.get_by_role("group", name="Newer", exact=True),
    )
    expect(older.locator("mark")).to_have_text(["Tuesdays"])
    expect(newer.locator("mark")).to_have_text(["Wednesdays"])
    expect(older.locator(".diff")).to_have_text("We deploy on Tuesdays at ten")
    expect(older).to_contain_text("Said by the user on 2 Mar 2026, 09:00")
    expect(newer).to_contain_text("Said by the user on 4 May 2026")
    assert older.bounding_box()["y"] == newer.bounding_box()["y"]  # type: ignore[index]
    newer.get_by_role("link", name="Open the newer note").click()
    expect(page.locator(".content")).to_have_text("We deploy on Wednesdays at ten")


def test_the_newer_replaces_the_older_and_that_is_undone(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    found = pair(server, "We deploy on Tuesdays", "We deploy on Wednesdays", name="deploy day")
    page = visit(server, "#/review")
    page.get_by_role("button", name="The newer replaces the older").click()
    expect(page.get_by_text("Nothing to review.")).to_be_visible()
    expect(page.get_by_role("heading", name="Review")).to_be_focused()
    expect_message(page, "The older one is kept as past.")
    assert memory.get(found.older.id).superseded_by == found.newer.id
    page.keyboard.press("u")
    expect(page.locator(".pair")).to_be_visible()
    assert [entry.content for entry in memory.list()] == ["We deploy on Wednesdays", "We deploy on Tuesdays"]
    assert memory.get("deploy day").id == found.older.id


def test_the_keys_move_between_pairs_and_resolve_them(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    days, doors, boats = [
        pair(server, f"The {what} is on pier 4", f"The {what} is on pier 5") for what in ("crane", "ladder", "lantern")
    ]
    page = visit(server)
    expect(page.locator(".entry-row").first).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("v")
    cards = page.locator(".pair")
    expect(cards).to_have_count(3)
    page.keyboard.press("j")
    expect(cards.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(cards.nth(1)).to_be_focused()
    page.keyboard.press("1")
    expect(cards).to_have_count(2)
    expect(cards.nth(1)).to_be_focused()
    assert memory.get(doors.newer.id).superseded_by == doors.older.id
    page.keyboard.press("3")
    expect(cards).to_have_count(1)
    page.keyboard.press("u")
    expect(cards).to_have_count(2)
    page.keyboard.press("j")
    expect(cards.nth(1)).to_be_focused()
    page.keyboard.press("3")
    expect(cards).to_have_count(1)
    expect(cards.nth(0)).to_be_focused()
    assert [one.resolution for one in memory.review.list(include_resolved=True)] == [None, "older", "both"]
    page.keyboard.press("k")
    page.keyboard.press("2")
    expect(cards).to_have_count(0)
    assert memory.get(boats.older.id).superseded_by == boats.newer.id
    assert memory.get(days.older.id).superseded_by is None


def test_both_are_merged_and_what_is_typed_stays_when_that_fails(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    found = pair(server, "We deploy on Tuesdays", "We deploy on Wednesdays")
    page = visit(server, "#/review", allowed=("503",))
    page.get_by_role("button", name="Merge…").click()
    text = page.get_by_label("Text that is valid from now on")
    expect(text).to_have_value("We deploy on Wednesdays")
    text.fill("We deploy twice a week")
    page.route("**/v1/review/*", lambda route: route.fulfill(status=503, json={"detail": "The disk is full."}), times=1)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog")).to_contain_text("The disk is full.")
    expect(text).to_have_value("We deploy twice a week")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("Nothing to review.")).to_be_visible()
    (made,) = memory.list()
    assert (made.content, str(made.origin)) == ("We deploy twice a week", "user")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".pair")).to_be_visible()
    assert {entry.id for entry in memory.list()} == {found.older.id, found.newer.id}


def test_what_a_tool_reported_is_marked_and_cannot_replace_what_the_user_said(server: Server, visit: Visit) -> None:
    pair(server, "The port is 5432", "The port is 5433", origins="user tool")
    page = visit(server, "#/review")
    expect(page.get_by_role("group", name="Newer", exact=True).locator(".outer")).to_have_text("Reported by a tool")
    expect(page.locator(".pair .hint").last).to_contain_text(
        "What a tool reported cannot replace what the user said. If it is right, merge: then it is your statement."
    )
    names = page.locator(".pair").get_by_role("button").all_text_contents()
    assert names == ["The older is right", "Keep both", "Merge…"]
    page.keyboard.press("j")
    page.keyboard.press("2")  # there is no such choice
    expect(page.locator(".pair")).to_be_visible()


def test_pairs_appear_change_and_go_as_it_happens_and_are_counted(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    page = visit(server, "#/review")
    expect(page.get_by_text("Nothing to review.")).to_be_visible()
    tally, cards = page.locator("#tally"), page.locator(".pair")
    expect(tally).to_be_hidden()
    first = pair(server, "We deploy on Tuesdays", "We deploy on Wednesdays")
    expect(cards).to_have_count(1)
    expect(tally).to_have_text("1")
    page.keyboard.press("j")
    second = pair(server, "The port is 5432", "The port is 5433")
    expect(cards).to_have_count(2)
    expect(tally).to_have_text("2")
    expect(cards.nth(1)).to_be_focused()  # the same pair as before
    memory.review.resolve(second, "both")
    expect(cards).to_have_count(1)
    expect(tally).to_have_text("1")
    memory.apply(recollect.Write(first.newer.id, content="We deploy on Wednesdays at noon"))
    expect(cards).to_contain_text("Wednesdays at noon")
    memory.forget(first.older.id)
    expect(page.get_by_text("Nothing to review.")).to_be_visible()
    expect(tally).to_be_hidden()


def test_the_count_does_not_depend_on_the_feed_alone(server: Server, visit: Visit) -> None:
    def silent(page: Page) -> None:
        page.clock.install()
        page.route("**/v1/feed*", lambda route: None)

    found = pair(server, "We deploy on Tuesdays", "We deploy on Wednesdays")
    page = visit(server, "#/memory", prepare=silent)
    tally = page.locator("#tally")
    expect(tally).to_have_text("1")
    server.home.agent("default").review.resolve(found, "both")
    page.clock.fast_forward(20_000)
    expect(tally).to_be_hidden()


def test_a_pair_that_was_resolved_elsewhere_is_not_resolved_twice(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    found = pair(server, "We deploy on Tuesdays", "We deploy on Wednesdays")
    held: list[Route] = []
    unanswered: set[Request] = set()
    holding = False

    def read(route: Route) -> None:
        if holding:
            held.append(route)
            return
        unanswered.add(route.request)
        route.continue_()

    def watched(page: Page) -> None:
        # From the start: a request that is sent while a route is added may pass it by.
        page.route("**/v1/review?*", read)
        page.on("requestfinished", lambda one: unanswered.discard(one))
        page.on("requestfailed", lambda one: unanswered.discard(one))

    page = visit(server, "#/review", allowed=("409",), prepare=watched)
    expect(page.locator(".pair")).to_be_visible()
    holding = True  # the page does not see what happens elsewhere
    while unanswered:
        page.wait_for_timeout(10)  # an answer that is on its way could have seen it
    memory.review.resolve(found, "older")
    page.get_by_role("button", name="Keep both").click()
    expect_message(page, "It was resolved or changed elsewhere meanwhile.")
    page.unroute("**/v1/review?*")
    for route in held:
        with suppress(Error):  # the page gave it up
            route.continue_()
    expect(page.locator(".pair")).to_have_count(0)
    assert memory.get(found.newer.id).superseded_by == found.older.id


def test_a_failure_is_shown_and_asked_again(server: Server, visit: Visit) -> None:
    pair(server, "We deploy on Tuesdays", "We deploy on Wednesdays")
    listed = re.compile("/v1/review.*limit=50")

    def broken(page: Page) -> None:
        page.route("**/v1/feed*", lambda route: route.abort())  # it would make the page ask again
        page.route(listed, lambda route: route.fulfill(status=500, json={"detail": "It broke."}))

    page = visit(server, "#/review", allowed=("500", "ERR_"), prepare=broken)
    expect(page.get_by_text("It broke.")).to_be_visible()
    page.unroute(listed)
    page.evaluate("document.querySelector('.review [role=alert] button').click()")
    expect(page.locator(".pair")).to_be_visible()


def test_a_token_that_may_only_read_sees_pairs_and_no_buttons(guarded: Server, visit: Visit) -> None:
    pair(guarded, "We deploy on Tuesdays", "We deploy on Wednesdays")
    page = visit(guarded, "#/review", allowed=("401",))
    page.get_by_label("Token").fill(guarded.home.tokens.create("reader", right="read")[1])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".pair")).to_be_visible()
    expect(page.locator(".pair").get_by_role("button")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("2")
    expect(page.locator(".pair")).to_be_visible()


def test_nothing_of_another_agent_or_workspace_is_shown_after_switching(several: Server, visit: Visit) -> None:
    pair(several, "We deploy on Tuesdays", "We deploy on Wednesdays")
    several.home.agent("default", "shop").remember("Prices include tax.")
    several.home.agent("bob").remember("Written by bob.")
    page = visit(several, "#/review")
    expect(page.locator(".pair")).to_be_visible()
    expect(page.locator("#tally")).to_have_text("1")
    for label, value in (("Agent", "bob"), ("Agent", "default"), ("Workspace", "shop"), ("Workspace", "default")):
        page.get_by_label(label).select_option(value)
        if value == "default":
            expect(page.locator(".pair")).to_be_visible()
            expect(page.locator("#tally")).to_have_text("1")
        else:
            expect(page.get_by_text("Nothing to review.")).to_be_visible()
            expect(page.locator("#tally")).to_be_hidden()
            assert "deploy" not in page.content()


def test_a_late_answer_of_another_agent_is_discarded(server: Server, visit: Visit) -> None:
    pair(server, "We deploy on Tuesdays", "We deploy on Wednesdays")
    server.home.agent("bob").remember("Written by bob.")
    held: list[Route] = []

    def hold(page: Page) -> None:
        page.route(
            "**/v1/review?*",
            lambda route: held.append(route) if "agent=default" in route.request.url else route.continue_(),
        )

    page = visit(server, "#/review", prepare=hold)
    page.wait_for_function("() => document.querySelector('.review')")
    with page.expect_response(lambda response: "/v1/review" in response.url and "agent=bob" in response.url):
        page.get_by_label("Agent").select_option("bob")
    assert len(held) > 0
    for route in held:
        route.continue_()
    expect(page.get_by_text("Nothing to review.")).to_be_visible()
    with page.expect_response(lambda response: "/v1/review" in response.url and "agent=bob" in response.url):
        server.home.agent("bob").remember("One more.")
    expect(page.locator("#tally")).to_be_hidden()
    assert "deploy" not in page.content()


def test_html_in_a_pair_is_shown_and_never_run(server: Server, visit: Visit) -> None:
    hostile = '<img src=x onerror="window.hurt = 1"><script>window.hurt = 1</script> The port is '
    found = pair(server, f"{hostile}5432", f"{hostile}5433", name="<svg onload=window.hurt=1>")
    page = visit(server, "#/review")
    card = page.locator(".pair")
    expect(card.get_by_role("group", name="Older", exact=True).locator(".diff")).to_have_text(found.older.content)
    expect(card.get_by_role("group", name="Newer", exact=True).locator(".diff")).to_have_text(found.newer.content)
    expect(card.get_by_role("group", name="Newer", exact=True).locator("mark")).to_have_text(["5433"])
    assert card.locator("img, script, svg, iframe").count() == 0
    page.get_by_role("button", name="Merge…").click()
    expect(page.get_by_role("dialog").locator(".diff")).to_have_text(found.older.content)
    assert page.get_by_role("dialog").locator("img, script").count() == 0
    assert page.evaluate("window.hurt") is None


@pytest.mark.parametrize(
    ("older", "newer", "gone", "fresh"),
    [
        ("会議は火曜日です", "会議は水曜日です", "火曜日", "水曜日"),
        ("الاجتماع في الساعة 10", "الاجتماع في الساعة 11", "10", "11"),
        ("The mascot is 👩‍🚀 since 2024", "The mascot is 👩‍🚀 since 2025", "2024", "2025"),
    ],
)
def test_the_differing_words_of_any_script_are_marked_and_no_more(
    server: Server, visit: Visit, older: str, newer: str, gone: str, fresh: str
) -> None:
    pair(server, older, newer)
    page = visit(server, "#/review")
    left, right = (
        page.get_by_role("group", name="Older", exact=True).locator(".diff"),
        page.get_by_role("group", name="Newer", exact=True).locator(".diff"),
    )
    expect(left).to_have_text(older)
    assert [one in gone for one in left.locator("mark").all_text_contents()] == [True]
    assert [one in fresh for one in right.locator("mark").all_text_contents()] == [True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_pair_can_be_read_on_a_phone_and_in_the_dark(server: Server, visit: Visit, scheme: str) -> None:
    word = "Donaudampfschifffahrtsgesellschaft" * 4
    pair(server, f"{word} is on pier 4", f"{word} is on pier 5", origins="user external")
    long = "A sentence that is the same in both of them. " * 200
    pair(server, f"{long}The port is 5432", f"{long}The port is 5433")
    page = visit(server, "#/review", viewport={"width": 390, "height": 780}, color_scheme=scheme)
    expect(page.locator(".pair")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(LOOK) == {"poor": [], "nameless": [], "edgeless": [], "misbuilt": []}
    cut = """(all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth
        || one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText)"""
    assert page.locator(".pair, .pair .diff").evaluate_all(cut) == []
    page.locator("#nav a").last.scroll_into_view_if_needed()  # the views scroll at the bottom
    assert page.locator("#nav a").last.evaluate_all(cut) == []
    expect(page.locator(".pair").first.locator("mark")).to_have_text(["5432", "5433"])
