"""The overview in the browser: what changed, what is due and what waits, each number with a link to exactly these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from surfaces.server import Server

import recollect
from recollect import Add

Serve = Callable[..., Server]
Visit = Callable[..., Page]

LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")


def fill(server: Server) -> recollect.Memory:
    """A memory in which something changed, is due, waits for review, and was recalled."""
    mem = server.home.agent("default")
    mem.remember("We deploy on Tuesdays at ten", name="deploy day", at="2026-03-02T09:00:00Z")
    mem.remember("We deploy on Wednesdays at ten")
    mem.remember("Ferries leave from pier four", name="ferry")
    mem.remember("Gone", name="gone")
    mem.forget("gone")
    server.home.jobs.run("review")
    mem.reminders.add("2026-01-01T00:00:00Z", "call the carrier")
    mem.reminders.add("2099-01-01T00:00:00Z", "much later")
    mem.recall("ferries")
    conv = mem.conversations.start()
    conv.user("Where is the ladder?")
    conv.assistant("It is in the shed.")
    conv.end()
    server.home.flush()
    return mem


def test_the_list_of_changes_continues_on_further_pages(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember_many([Add(f"Note number {number}") for number in range(1_002)])
    page = visit(server, "#/overview/changes?since=1000")
    expect(page.locator(".net li")).to_have_count(1_000)
    page.get_by_role("link", name="Show earlier changes").click()
    expect(page.locator(".net li")).to_have_count(2)
    expect(page.locator(".net")).to_contain_text("Note number 0")
    expect(page.get_by_role("link", name="Show earlier changes")).to_have_count(0)


def test_a_memory_of_conversations_only_is_not_called_empty(server: Server, visit: Visit) -> None:
    server.home.agent("default").conversations.start(chat_id="The dishwasher").user("Why does the dishwasher leak?")
    page = visit(server, "#/overview")
    page.get_by_role("link", name="Conversations: 1").click()
    expect(page.locator(".entry-row")).to_contain_text("Why does the dishwasher leak?")
    page.goto(f"{server.url}/#/memory")
    expect(page.get_by_text("There are no notes yet.")).to_be_visible()
    page.get_by_label("Search the memory").fill("dishwasher")
    page.get_by_role("link", name="Search the conversations").click()
    expect(page.locator(".entry-row mark").first).to_have_text("dishwasher")


def test_a_search_that_finds_notes_leads_to_the_same_search_in_conversations(server: Server, visit: Visit) -> None:
    agent = server.home.agent("default")
    agent.remember("The dishwasher is from 2019")
    agent.conversations.start(
        chat_id="0190a1b2-aaaa-7000-8000-000000000001/0190a1b2-bbbb-7000-8000-000000000002"
    ).assistant("The dishwasher leaks because of its hose.")
    page = visit(server, "#/memory")
    expect(page.locator(".entry-row")).to_have_count(1)
    expect(page.get_by_role("link", name="Search the conversations")).to_have_count(0)
    page.get_by_label("Search the memory").fill("dishwasher")
    expect(page.locator(".entry-row mark").first).to_have_text("dishwasher")
    page.get_by_role("link", name="Search the conversations").click()
    expect(page.locator(".entry-row").first).to_contain_text("because of its hose")
    page.goto(f"{server.url}/#/conversations")
    expect(page.locator(".entry-row")).to_contain_text("No message of a user")


def test_the_bare_address_shows_the_overview_and_each_number_leads_to_its_items(server: Server, visit: Visit) -> None:
    fill(server)
    page = visit(server, "")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    new = page.get_by_role("link", name="New since yesterday: 3")
    expect(page.get_by_role("region", name="Since yesterday")).to_contain_text("Ferries leave from pier four")
    new.click()
    expect(page.locator(".net li")).to_have_count(3)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Changes since")
    page.go_back()
    page.get_by_role("link", name="Reminders due: 1").click()
    expect(page.locator(".reminders li")).to_have_count(1)
    expect(page.locator(".reminders")).to_contain_text("call the carrier")
    page.go_back()
    page.get_by_role("link", name="Pairs to review: 1").click()
    expect(page.locator(".pair")).to_have_count(1)
    page.go_back()
    never = page.locator(".never a")
    expect(never).to_have_text("2")
    never.click()
    expect(page.locator(".entry-row")).to_have_count(2)
    expect(page.get_by_label("Use")).to_have_value("never")
    page.go_back()
    total = page.get_by_role("link", name="Total entries:")
    count = int(total.inner_text())
    total.click()
    expect(page.locator(".entry-row")).to_have_count(count)
    page.go_back()
    page.get_by_role("region", name="Most recalled").get_by_role("link", name="ferry").click()
    expect(page.locator(".content")).to_have_text("Ferries leave from pier four")


def test_a_change_is_shown_in_words_as_it_happens(server: Server, visit: Visit) -> None:
    mem = server.home.agent("default")
    note = mem.remember("We deploy on Tuesdays at ten", name="deploy day", at="2026-03-02T09:00:00Z")
    page = visit(server, "#/overview")
    expect(page.locator(".net .was-added")).to_have_count(1)
    mem.apply(recollect.Write(note.id, content="We deploy on Mondays at ten"))
    expect(page.locator(".net ins")).to_contain_text("Mondays")
    mem.forget(note.id)
    expect(page.locator(".net")).to_have_count(0)


def test_pieces_of_transcripts_are_folded_away_unless_asked_for(server: Server, visit: Visit) -> None:
    mem = server.home.agent("default")
    conv = mem.conversations.start()
    conv.user("Where is the ladder?")
    conv.assistant("It is in the shed.")
    conv.end()
    page = visit(server, "#/memory")
    expect(page.get_by_text("Here are pieces of transcripts only.")).to_be_visible()
    page.get_by_role("button", name="Show them").click()
    expect(page.locator(".entry-row")).to_have_count(len(mem.list(limit=100)))
    mem.remember("The ladder is red")
    page.get_by_label("Kind").select_option("")
    expect(page.locator(".entry-row")).to_have_count(1)
    page.get_by_label("Search the memory").fill("shed")
    expect(page.get_by_text("Nothing found for “shed”")).to_be_visible()
    page.get_by_role("button", name="Search transcripts, too").click()
    expect(page.locator(".entry-row").first).to_contain_text("shed")


def test_an_empty_memory_explains_itself(server: Server, visit: Visit) -> None:
    page = visit(server, "")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is stored yet")
    server.home.agent("default").remember("The first")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_nothing_of_another_agent_is_shown_after_switching(server: Server, visit: Visit) -> None:
    fill(server)
    server.home.agent("bob").remember("Written by bob.")
    page = visit(server, "#/overview")
    expect(page.locator(".net")).to_contain_text("Ferries")
    page.get_by_label("Agent").select_option("bob")
    expect(page.locator(".net")).to_contain_text("Written by bob.")
    shown = page.locator("main").inner_text()
    assert "Ferries" not in shown
    assert "carrier" not in shown


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_the_overview_can_be_read_on_a_phone_and_in_the_dark(
    server: Server, visit: Visit, scheme: str, width: int
) -> None:
    fill(server)
    page = visit(server, "#/overview", viewport={"width": width, "height": 700}, color_scheme=scheme)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("document.querySelector('.page').scrollWidth <= document.querySelector('.page').clientWidth")
    expect(page.locator(".toast")).to_be_visible()
    page.wait_for_function("() => document.getAnimations().every((one) => one.playState === 'finished')")
    assert page.evaluate(LOOK) == {"poor": [], "nameless": [], "edgeless": [], "misbuilt": []}


def test_the_bare_address_opens_what_was_changed_last_and_lists_the_others(
    tmp_path: Path, serve: Serve, visit: Visit
) -> None:
    home = recollect.open(tmp_path / "several")
    server = serve(home)
    home.agent("default").remember("Of default.")
    home.agent("bob", "shop").remember("Of bob.")
    page = visit(server, "")
    expect(page.locator(".net")).to_contain_text("Of bob.")
    expect(page).to_have_url(f"{server.url}/#/overview?workspace=shop&agent=bob")
    page.get_by_role("link", name="default, default: 1 entry, 0 conversations").click()
    expect(page.locator(".net")).to_contain_text("Of default.")
