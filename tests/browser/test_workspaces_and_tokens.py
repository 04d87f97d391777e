"""Which memory the page shows with which token, and its messages when access is denied or fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.messages import expect_message
from playwright.sync_api import Page, Route, expect
from surfaces.server import Server, serving, settings

import recollect

Visit = Callable[..., Page]


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server that asks for tokens, with something of bob, of carol and of the workspace `shop`."""
    with recollect.open(tmp_path / "guarded") as home:
        home.agent("bob").remember("Written by bob.", name="his own")
        home.agent("carol").remember("Written by carol.", name="her own")
        home.agent("bob", "shop").remember("Prices include tax.")
        with serving(home, settings(require_token=True)) as running:
            yield running


def log_in(page: Page, secret: str) -> None:
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def test_on_a_narrow_phone_the_selected_workspace_agent_and_language_can_be_read(guarded: Server, visit: Visit) -> None:
    _, secret = guarded.home.tokens.create("admin", right="admin")
    page = visit(guarded, allowed=("401",))
    page.set_viewport_size({"width": 320, "height": 640})
    log_in(page, secret)
    for label in ("Workspace", "Agent", "Language"):
        box = page.get_by_label(label, exact=True).bounding_box()
        assert (box or {"width": 0})["width"] >= 100, (label, box)
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_another_token_leads_to_what_it_is_for_whatever_was_chosen_before(guarded: Server, visit: Visit) -> None:
    tokens = guarded.home.tokens
    _, admin = tokens.create("admin", right="admin")
    _, carol = tokens.create("carol", agents=["carol"], right="write")
    _, new = tokens.create("new", workspace="new", right="write")
    page = visit(guarded, allowed=("401",))
    rows, agent = page.locator(".entry-row"), page.get_by_label("Agent")
    log_in(page, admin)
    page.get_by_label("Workspace").select_option("shop")
    expect(rows).to_contain_text("Prices include tax.")
    page.get_by_label("Workspace").select_option("default")
    agent.select_option("bob")
    page.get_by_role("link", name="his own").click()
    expect(page.locator(".content")).to_have_text("Written by bob.")
    page.get_by_role("button", name="Sign out").click()
    log_in(page, carol)
    expect(page.get_by_text("This token is not for the memory of bob in default.")).to_be_visible()
    expect(rows).to_contain_text("Written by carol.")
    expect(page.get_by_text("Choose an entry to read it.")).to_be_visible()
    assert agent.locator("option").all_text_contents() == ["carol"]
    page.goto(f"{guarded.url}/#/memory?agent=bob")
    expect(rows).to_contain_text("Written by carol.")
    assert "bob" not in page.url
    expect(page.locator("#offline")).to_be_hidden()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.evaluate("() => localStorage.setItem('recollect.workspace', 'shop')")
    page.goto(f"{guarded.url}/")
    log_in(page, new)
    expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()
    expect(page.get_by_role("img", name="Connected: changes appear as they happen")).to_be_visible()
    expect(page.locator("#offline")).to_be_hidden()


def test_a_token_that_was_changed_in_another_tab_is_no_lost_line(guarded: Server, visit: Visit) -> None:
    tokens = guarded.home.tokens
    _, bob = tokens.create("bob", agents=["bob"], right="write")
    _, carol = tokens.create("carol", agents=["carol"], right="write")
    page = visit(guarded, allowed=("401", "403"))
    log_in(page, bob)
    expect(page.locator(".entry-row")).to_contain_text("Written by bob.")
    page.request.post(f"{guarded.url}/v1/session", data={"token": carol}, headers={"Origin": guarded.url})
    tokens.revoke("bob")  # so the feed ends
    expect(page.locator(".entry-row")).to_contain_text("Written by carol.")
    expect(page.locator("#offline")).to_be_hidden()


def test_a_token_that_is_over_leaves_nothing_above_the_login(guarded: Server, visit: Visit) -> None:
    _, bob = guarded.home.tokens.create("bob", agents=["bob"], right="write")
    page = visit(guarded, "#/memory/his%20own", allowed=("401",))
    log_in(page, bob)
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    guarded.home.tokens.revoke("bob")
    expect(page.get_by_label("Token")).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#offline")).to_be_hidden()


def test_no_address_leads_past_the_login(guarded: Server, visit: Visit) -> None:
    _, bob = guarded.home.tokens.create("bob", agents=["bob"], right="write")
    _, again = guarded.home.tokens.create("bob again", agents=["bob"], right="write")
    page = visit(guarded, allowed=("401",))
    log_in(page, bob)
    page.get_by_role("link", name="his own").click()
    expect(page.locator(".content")).to_have_text("Written by bob.")
    guarded.home.tokens.revoke("bob")
    expect(page.get_by_label("Token")).to_be_focused()
    page.go_back()
    page.locator(".brand").click()
    expect(page).to_have_url(f"{guarded.url}/#/overview")
    log_in(page, again)
    expect(page.locator(".net")).to_contain_text("his own")


def test_an_address_means_the_same_whatever_was_chosen_elsewhere(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Of default.", name="his own")
    server.home.agent("bob").remember("Of bob.")
    page = visit(server, "#/memory/his%20own")
    expect(page.locator(".content")).to_have_text("Of default.")
    page.evaluate("() => localStorage.setItem('recollect.agent', 'bob')")  # as another tab does
    page.reload()
    expect(page.locator(".content")).to_have_text("Of default.")
    expect(page.get_by_label("Agent")).to_have_value("default")
    page.goto(f"{server.url}/")
    expect(page.locator(".net")).to_contain_text("Of bob.")


def test_a_workspace_and_an_agent_can_be_chosen_at_once(guarded: Server, visit: Visit) -> None:
    page = visit(guarded, "#/memory?workspace=shop&agent=bob", allowed=("401",))
    log_in(page, guarded.home.tokens.create("admin", right="admin")[1])
    rows, held = page.locator(".entry-row"), list[Route]()
    expect(rows).to_contain_text("Prices include tax.")
    page.route("**/v1/agents*", lambda route: held.append(route))
    page.get_by_label("Workspace").select_option("default")
    page.get_by_label("Agent").select_option("bob")
    expect(rows).to_contain_text("Written by bob.")
    page.get_by_role("link", name="his own").click()
    expect(page.locator(".content")).to_have_text("Written by bob.")
    for route in list(held):
        route.continue_()
    expect(page.get_by_label("Agent")).to_contain_text("carol")  # the agents of the workspace are known by now
    expect(page.locator(".content")).to_have_text("Written by bob.")
    expect(page.get_by_label("Agent")).to_have_value("bob")


def test_a_workspace_can_be_chosen_while_the_page_waits_for_the_feed(guarded: Server, visit: Visit) -> None:
    page = visit(guarded, allowed=("401",), prepare=lambda page: page.clock.install(time=0))
    expect(page.get_by_label("Token")).to_be_visible()  # timers may be part of the start, so time runs until here
    page.clock.pause_at(3_600)
    page.route("**/v1/feed*", lambda route: None)
    log_in(page, guarded.home.tokens.create("admin", right="admin")[1])
    expect(page.get_by_label("Workspace")).to_be_visible()
    held = list[Route]()
    page.route("**/v1/agents*", lambda route: held.append(route))
    with page.expect_request("**/v1/agents?workspace=shop"):
        page.get_by_label("Workspace").select_option("shop")
    page.clock.run_for(2_000)  # the page stops waiting for the feed
    page.clock.resume()
    page.unroute("**/v1/feed*")
    for route in list(held):
        route.continue_()
    expect(page.locator(".entry-row")).to_contain_text("Prices include tax.")
    expect(page.get_by_label("Workspace")).to_have_value("shop")


def test_a_workspace_that_could_not_be_loaded_is_shown_when_the_connection_is_back(
    guarded: Server, visit: Visit
) -> None:
    page = visit(guarded, allowed=("401", "ERR_FAILED"))
    log_in(page, guarded.home.tokens.create("admin", right="admin")[1])
    rows = page.locator(".entry-row")
    expect(rows).to_contain_text("Written by bob.")
    page.route("**/v1/agents*", lambda route: route.abort())
    page.get_by_label("Workspace").select_option("shop")
    expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
    page.unroute("**/v1/agents*")
    guarded.home.agent("bob").remember("The feed is still connected.")
    expect(rows).to_contain_text("Prices include tax.")
    expect(page.get_by_label("Workspace")).to_have_value("shop")


def test_agents_can_be_gone_through_with_the_arrows(server: Server, visit: Visit) -> None:
    for name in ("bob", "carol", "default"):
        server.home.agent(name).remember(f"Of {name}.")
    page = visit(server)
    expect(page.locator(".entry-row")).to_contain_text("Of default.")
    page.get_by_label("Agent").focus()
    for name in ("carol", "bob"):
        page.keyboard.press("ArrowUp")
        expect(page.locator(".entry-row")).to_contain_text(f"Of {name}.")
        expect(page.get_by_label("Agent")).to_be_focused()


def test_upkeep_is_for_tokens_that_are_for_all_agents(guarded: Server, visit: Visit) -> None:
    tokens = guarded.home.tokens
    _, some = tokens.create("some", agents=["bob"], right="admin")
    _, shop = tokens.create("shop", workspace="shop", right="admin")
    page = visit(guarded, "#/upkeep", allowed=("401",))
    log_in(page, some)
    expect(page.get_by_text("This one is not for all agents.")).to_be_visible()
    expect(page.get_by_role("link", name="Upkeep")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    log_in(page, shop)
    expect(page.get_by_role("row", name="consolidate")).to_be_visible()
    expect(page.get_by_role("heading", name="Health")).to_be_hidden()
    expect(page.get_by_role("alert").filter(visible=True)).to_have_count(0)


def test_one_request_that_failed_does_not_look_like_a_lost_line_forever(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Before.", name="before")
    page = visit(server, allowed=("ERR_FAILED",))
    expect(page.locator(".entry-row")).to_have_count(1)
    page.route("**/v1/recall*", lambda route: route.abort())
    page.get_by_label("Search the memory").fill("before")
    expect(page.get_by_text("No connection to the server.")).to_be_visible()
    page.unroute("**/v1/recall*")
    page.get_by_label("Search the memory").fill("")
    memory.remember("Whatever is told shows that the line is there.")
    expect(page.get_by_text("No connection to the server.")).to_be_hidden()


def test_many_reminders_are_one_message_and_a_new_agent_can_be_selected(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Something.")
    for number in range(40):
        memory.reminders.add(0, f"call number {number}")
    asked: list[str] = []

    def listen(page: Page) -> None:
        page.on("request", lambda request: asked.append(request.url) if "/reminders/due" in request.url else None)

    page = visit(server, prepare=listen)
    expect_message(page, "40 reminders are due")
    assert len(asked) == 1
    memory.reminders.add(0, "pay the harbour")
    expect_message(page, "Reminder: pay the harbour")
    server.home.agent("zoe").remember("I am new here.")
    page.get_by_label("Agent").focus()
    expect(page.get_by_label("Agent").locator("option")).to_have_text(["default", "zoe"])
    page.get_by_label("Agent").select_option("zoe")
    expect(page.locator(".entry-row")).to_contain_text("I am new here.")
    page.get_by_role("link", name="Reminders").click()
    page.get_by_label("Remind of").fill("call once")
    page.get_by_label("When").fill("2090-05-01T08:30")
    page.locator("form").evaluate("form => { form.requestSubmit(); form.requestSubmit(); }")
    expect(page.get_by_label("Upcoming")).to_contain_text("1 reminder")
    assert [one.message for one in server.home.agent("zoe").reminders.list()] == ["call once"]


def test_an_address_of_no_view_shows_the_overview(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Something.")
    page = visit(server, "#/constructor")
    expect(page.locator(".net")).to_contain_text("Something.")
    for where in ("#/__proto__", "#/nowhere"):
        page.goto(f"{server.url}/#/reminders")
        expect(page.locator(".net")).to_have_count(0)
        page.goto(f"{server.url}/{where}")
        expect(page.locator(".net")).to_contain_text("Something.")
