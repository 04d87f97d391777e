"""Editing entries in the browser: reasons, keys, focus, and changes by other clients."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import Error, Page, Route, expect
from surfaces.server import Server

import recollect

Visit = Callable[..., Page]


def focused(page: Page) -> str:
    """Return what has the focus: a row of the list by its number, anything else by its text."""
    said: str = page.evaluate("""() => {
        const node = document.activeElement, row = node.closest("[aria-posinset]");
        if (row) return `row ${row.getAttribute("aria-posinset")}`;
        return node === document.body ? "nothing" : node.textContent.trim() || node.name || node.id;
    }""")
    return said


def hold(page: Page, address: str, method: str) -> list[Route]:
    """Hold the requests of one method: they stay in the list until the test releases them."""
    held: list[Route] = []
    page.route(address, lambda route: held.append(route) if route.request.method == method else route.fallback())
    return held


# Why


def test_an_entry_names_the_questions_that_found_it_and_each_shows_why(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory?category=decisions")
    page.locator(".entry-row", has_text="Refunds").first.click()
    expect(page.get_by_role("article").get_by_role("heading", name="refunds")).to_be_focused()
    expect(page.get_by_role("button", name="Why this?")).to_have_count(0)
    page.get_by_text("Recalled by").click()
    expect(page.locator(".recalls")).to_contain_text("5 questions")
    expect(page.locator(".recalls a")).to_contain_text(["who decides about large refunds", "refunds limit"])
    page.get_by_role("link", name="who decides about large refunds").click()
    expect(page.get_by_label("Search the memory")).to_have_value("who decides about large refunds")
    expect(page.locator("#why")).to_contain_text("Why “who decides about large refunds” finds this")
    expect(page.get_by_role("img", name=re.compile(r"rank \d+ by words"))).to_be_in_viewport()
    expect(page.get_by_role("button", name="Why this?", expanded=True)).to_be_focused()
    page.get_by_role("button", name="Why this?").click()
    expect(page.locator("#why")).to_be_hidden()
    page.get_by_role("link", name="who decides about large refunds").click()  # its search is there already
    expect(page.locator("#why")).to_be_visible()


def test_a_question_of_one_conversation_is_asked_there_again(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    talk = memory.conversations.start()
    made = memory.remember("The harbour is closed.", scope="conversation", conversation=talk.ref_code)
    memory.recall("harbour", conversation=talk.ref_code)
    server.home.flush()
    page = visit(server, f"#/memory/{made.id}")
    page.get_by_text("Recalled by").click()
    page.locator(".recalls").get_by_role("link", name="harbour").click()
    expect(page.locator("#why")).to_contain_text("Why “harbour” finds this")
    expect(page.get_by_label("Conversation", exact=True)).to_have_value(talk.id)


def test_why_this_is_about_the_search_that_is_shown(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/refunds")
    expect(page.get_by_role("article").get_by_role("heading", name="refunds")).to_be_focused()
    why, search = page.get_by_role("button", name="Why this?"), page.get_by_label("Search the memory")
    search.fill("refunds")
    why.click()
    expect(page.locator("#why")).to_contain_text("Why “refunds” finds this")
    search.fill("how are refunds handled")
    expect(page.locator("#why")).to_contain_text("Why “how are refunds handled” finds this")
    search.fill("webhooks")
    expect(page.locator("#why")).to_have_text("“webhooks” does not find this now.")
    expect(why).to_have_count(0)
    search.fill("")
    expect(page.locator("#why")).to_be_hidden()
    page.locator(".entry-row", has_text="returns").first.click()
    expect(page.get_by_role("article").get_by_role("heading", name="returns")).to_be_visible()
    expect(page.get_by_text("No recorded query has found it.")).to_be_visible()


# What is pressed


def test_enter_opens_the_first_that_was_typed_for_and_not_the_first_that_was_there(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    expect(page.locator(".entry-row").first).to_be_visible()
    held = hold(page, "**/v1/recall*", "POST")
    page.keyboard.press("/")
    with page.expect_request(lambda request: '"refunds"' in (request.post_data or "")):
        page.keyboard.type("refunds")
        page.keyboard.press("Enter")
    expect(page).to_have_url(f"{demo.url}/#/memory?q=refunds")
    for route in held:
        with suppress(Error):  # those of its first letters were given up
            route.continue_()
    expect(page.get_by_role("article").get_by_role("heading", name="refunds")).to_be_focused()


def test_what_is_pressed_twice_is_done_once(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    page = visit(server, "#/memory/entry/new", allowed=("404",))  # asked for just when it is forgotten
    text = page.get_by_label("Text", exact=True)
    held = hold(page, "**/v1/entries*", "POST")
    text.fill("Written once.")
    with page.expect_request("**/v1/entries*"):
        page.keyboard.press("Control+Enter")
    page.keyboard.press("Control+Enter")
    expect(text).to_have_value("Written once.")
    held.pop().continue_()
    expect(page.locator(".content")).to_have_text("Written once.")
    changes = hold(page, "**/v1/entries/*", "PATCH")
    page.keyboard.press("e")
    text.fill("Changed once.")
    with page.expect_request(lambda request: request.method == "PATCH"):
        page.keyboard.press("Control+Enter")
    page.keyboard.press("Control+Enter")
    expect(text).to_be_focused()
    changes.pop().continue_()
    expect(page.locator(".content")).to_have_text("Changed once.")
    removals = hold(page, "**/v1/entries/*", "DELETE")
    with page.expect_request(lambda request: request.method == "DELETE"):
        page.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Forget").click()
    removals.pop().continue_()
    expect(page.get_by_text("Forgot the entry.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert (held, changes, removals, memory.list()) == ([], [], [], [])
    assert [one.operation for one in memory.changes()] == ["add", "write", "remove"]


def test_the_focus_stays_near_whatever_is_done(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    page = visit(demo, "#/memory?category=decisions", allowed=("404",))  # asked for just when it is forgotten
    press, heading = page.keyboard.press, page.get_by_role("article").get_by_role("heading", level=1)
    page.locator(".entry-row").nth(4).click()
    expect(heading).to_be_focused()
    press("Escape")
    assert focused(page) == "row 5"
    press("j")
    assert focused(page) == "row 6"
    press("Enter")
    expect(heading).to_have_text("deploy day")
    page.get_by_role("button", name="Rename").press("Enter")
    page.keyboard.type("release")  # in the place of the old name
    press("Enter")
    expect(heading).to_have_text("release")
    expect(page.get_by_role("button", name="Rename")).to_be_focused()
    page.get_by_role("button", name="Add an alias").press("Enter")
    page.keyboard.type("shipping")
    press("Enter")
    expect(page.locator(".alias", has_text="shipping")).to_be_visible()
    expect(page.get_by_role("button", name="Add an alias")).to_be_focused()
    page.get_by_role("button", name="Undo").first.press("Enter")
    expect(heading).to_have_text("deploy day")
    assert focused(page) != "nothing"
    page.get_by_role("button", name="Forget").focus()
    memory.apply(recollect.Write("deploy day", content="We deploy on Fridays."))
    expect(page.locator(".content")).to_have_text("We deploy on Fridays.")
    expect(page.get_by_role("button", name="Forget")).to_be_focused()
    page.locator(".history").get_by_role("button", name="Restore the previous text").first.press("Enter")
    expect(page.locator(".content")).to_contain_text("Wednesdays")
    expect(page.locator(".history").get_by_role("button", name="Restore the previous text").first).to_be_focused()
    page.get_by_role("button", name="Forget").press("Enter")
    expect(page.get_by_text("Choose an entry to read it.")).to_be_visible()
    expect(page.locator(".entry-row", has_text="We deploy")).to_have_count(0)
    assert focused(page) == "row 6"
    page.get_by_label("Tag").fill("payments")
    page.get_by_label("Tag").press("Enter")
    page.get_by_role("button", name="Clear").press("Enter")
    expect(page.get_by_role("button", name="Clear")).to_have_count(0)
    assert focused(page) == "search"
    page.get_by_label("Scope", exact=True).select_option("conversation")
    page.get_by_label("Conversation", exact=True).focus()
    expect(page.get_by_label("Conversation", exact=True).locator("option").nth(1)).to_be_attached()
    page.get_by_label("Conversation", exact=True).select_option(index=1)
    expect(page).to_have_url(
        f"{demo.url}/#/memory?scope=conversation&conversation={memory.conversations.list()[0].ref_code}"
    )
    expect(page.get_by_label("Conversation", exact=True)).to_be_focused()


def test_the_arrows_scroll_what_is_open_and_on_a_phone_back_leads_to_its_row(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("\n\n".join(f"Line {number}" for number in range(200)), name="long one")
    memory.remember("Short.", name="short one")
    page = visit(server, "#/memory", viewport={"width": 640, "height": 500})
    page.locator(".entry-row", has_text="long one").click()
    expect(page.get_by_role("article").get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.querySelector('.detail').scrollTop > 0")
    page.get_by_role("button", name="Back").click()
    assert focused(page) == "row 2"
    page.keyboard.press("ArrowUp")
    assert focused(page) == "row 1"


# What others do meanwhile


def test_a_conflict_shows_every_field_that_differs(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    page = visit(demo, "#/memory/carts", allowed=("412",))
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Tags").fill("basket")
    memory.apply(recollect.Write("carts", tags=("trolley",), importance=0.9))
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Tags: theirs trolley, yours basket")
    expect(dialog).to_contain_text("Importance: theirs 0.9; you did not change it, so theirs stays")
    expect(dialog).to_contain_text("The texts are the same.")
    dialog.get_by_role("button", name="Keep mine").click()
    expect(page.locator(".facts")).to_contain_text("#basket")
    assert (memory.get("carts").tags, memory.get("carts").importance) == (("basket",), 0.9)
    page.get_by_role("button", name="Restore the previous tags").first.click()
    expect(page.locator(".facts")).to_contain_text("#trolley")


def test_an_editor_shows_what_changed_elsewhere_and_nothing_else(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    page = visit(demo, "#/memory/carts", allowed=("404",))
    page.get_by_role("button", name="Edit").click()
    text, note = page.get_by_label("Text", exact=True), page.locator(".pane > .elsewhere")
    text.fill("Carts are kept for 60 days.")
    with page.expect_response("**/v1/entries/*"):
        page.evaluate("() => import('/static/api.js').then(({ events }) => events.dispatchEvent(new Event('changed')))")
    expect(note).to_be_hidden()  # it was looked at, and is the same
    memory.forget("carts")
    expect(note).to_have_text("It was forgotten elsewhere in the meantime. Saving offers to restore it.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Your text is still here.")
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_role("button", name="Save")).to_be_focused()
    expect(note).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator(".content")).to_have_text("Carts are kept for 60 days.")
    assert memory.get("carts").content == "Carts are kept for 60 days."


def test_an_entry_says_that_something_was_typed_over_it_and_not_saved(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/carts")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Half a thought")
    page.locator(".entry-row", has_text="returns").first.click()
    expect(page.get_by_role("article").get_by_role("heading", name="returns")).to_be_visible()
    expect(page.get_by_text("Not saved. Your draft is here when you come back.")).to_be_visible()
    expect(page.get_by_text("You typed something")).to_have_count(0)
    page.go_back()
    expect(page.get_by_text("You have unsaved changes.")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("Half a thought")
    page.get_by_role("button", name="Discard it").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".content")).to_be_visible()
    expect(page.get_by_text("You typed something")).to_have_count(0)


def test_a_change_made_far_down_does_not_move_the_list_when_no_feed_tells_of_it(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember_many([recollect.Add(f"Entry number {number}.") for number in range(250)])
    page = visit(server, allowed=("ERR_",))
    page.route("**/v1/feed*", lambda route: route.abort())
    page.reload()
    page.wait_for_function("""() => {
        const list = document.querySelector(".endless");
        if (list) list.scrollTop = 19000;
        return list?.scrollTop === 19000;
    }""")
    page.locator(".entry-row", has_text="Entry number 53.").click()
    place = page.evaluate("document.querySelector('.endless').scrollTop")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Changed.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="New changes: show them")).to_be_visible()
    assert page.evaluate("document.querySelector('.endless').scrollTop") == place


def test_an_entry_forgotten_far_down_leaves_the_list_and_the_rows_stay_in_place(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember_many([recollect.Add(f"Entry number {number}.") for number in range(90)])
    page = visit(server, allowed=("404",))  # asked for just when it is forgotten
    page.locator(".entry-row").first.focus()
    for _ in range(40):
        page.keyboard.press("j")
    assert focused(page) == "row 41"
    page.keyboard.press("Enter")
    place = page.evaluate("document.querySelector('.endless').scrollTop")
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_text("Choose an entry to read it.")).to_be_visible()
    expect(page.locator(".entry-row", has_text="Entry number 49.")).to_have_count(0)
    assert focused(page) == "row 41"
    assert page.evaluate("document.querySelector('.endless').scrollTop") == place


# The trash, working notes, order, and names


def test_what_is_in_the_trash_can_be_read_and_a_restore_can_be_undone(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory?in=trash", allowed=("404",))
    page.get_by_role("link", name="spare thought").press("Enter")
    pane = page.get_by_role("article")
    expect(pane.get_by_role("heading", name="spare thought")).to_be_focused()
    expect(pane.locator(".content")).to_have_text("Perhaps the bags should be blue. Or green.")
    expect(pane).to_contain_text("This was forgotten")
    assert len(demo.home.agent("default").trash()) == 2
    pane.get_by_role("button", name="Restore it").press("Enter")
    expect(page.locator(".entry-row")).to_have_count(1)
    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    expect(pane.get_by_role("heading", name="spare thought")).to_be_focused()
    page.keyboard.press("u")
    expect(page.locator(".entry-row")).to_have_count(2)
    expect(pane.get_by_role("button", name="Restore it")).to_be_visible()


def test_working_notes_are_those_of_the_chosen_conversation_and_of_no_filter(server: Server, visit: Visit) -> None:
    conversations = server.home.agent("default").conversations
    server.home.agent("default").remember("Something.", name="something")
    old = conversations.start(chat_id="old")
    old.scratchpad["plan"] = "Look at the port"
    old.archive()
    for number in range(31):
        conversations.start(chat_id=f"chat {number}")
    page = visit(server, f"#/memory?scope=conversation&conversation={old.ref_code}")
    note = page.locator(".entry-row", has_text="Look at the port")
    expect(note).to_be_visible()
    page.get_by_role("button", name="Decisions").click()
    expect(page.get_by_text("Nothing found.")).to_be_visible()
    page.goto(f"{server.url}/#/memory?scope=conversation")
    expect(note).to_be_visible()
    page.clock.install()
    page.reload()
    expect(note).to_be_visible()
    conversations.get(old.ref_code).scratchpad["next"] = "Ask at the gate"
    page.clock.run_for(20_000)
    expect(page.locator(".entry-row", has_text="Ask at the gate")).to_be_visible()
    page.get_by_label("Search the memory").press("ArrowDown")
    page.keyboard.press("e")
    expect(page).to_have_url(f"{server.url}/#/memory?scope=conversation")
    page.keyboard.press("/")
    page.keyboard.type("port")
    page.keyboard.press("Enter")
    page.clock.run_for(1_000)
    expect(page).to_have_url(f"{server.url}/#/conversations/{old.ref_code}")


def test_a_search_is_sorted_as_a_whole(server: Server, visit: Visit) -> None:
    drafts = [
        recollect.Add("The harbour. " * (1 if number else 3) + f"{number}", name=f"place {number:03}")
        for number in range(120)
    ]
    drafts.append(
        recollect.Add(
            "A long text that says harbour once, among very many other words that have nothing to do with it.",
            name="a quay",
        )
    )
    server.home.agent("default").remember_many(drafts)
    page = visit(server, "#/memory?q=harbour")
    expect(page.locator(".entry-row").first).to_contain_text("place")
    page.get_by_label("Sort").select_option("name")
    expect(page.locator(".entry-row").first).to_contain_text("a quay")
    expect(page.locator(".count")).to_have_text("121 results")


def test_an_entry_may_be_called_new(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("What is [[new]]?", name="question")
    memory.remember("This is.", name="new")
    page = visit(server, "#/memory/question")
    page.locator(".content").get_by_role("link", name="new").click()
    expect(page.locator(".content")).to_have_text("This is.")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="New entry")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="New entry")).to_be_visible()
