"""The memory in the browser: finding, reading, writing, forgetting, and everything that can be taken back."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect
from surfaces.server import Server

import recollect

Visit = Callable[..., Page]


def test_what_is_typed_is_found_with_its_words_marked(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    page.get_by_label("Search the memory").press_sequentially("refun")
    first = page.locator(".entry-row").first
    expect(first).to_contain_text("refunds")
    expect(first.locator("mark").first).to_have_text("refunds")
    expect(page.get_by_role("status")).to_contain_text("result")
    expect(page).to_have_url(f"{demo.url}/#/memory?q=refun")


def test_an_entry_opened_while_a_search_is_pending_stays_open(demo: Server, visit: Visit) -> None:
    hold = """(() => {
        const start = window.setTimeout;
        window.pending = [];
        window.setTimeout = (run, after) => after === 60 ? window.pending.push(run) : start(run, after);
    })()"""
    page = visit(demo, prepare=lambda page: page.add_init_script(hold))
    row = page.locator(".entry-row").first
    expect(row).to_be_visible()
    page.get_by_label("Search the memory").press_sequentially("a")
    # The search begins after the link was followed, and before the browser says that the address changed.
    page.evaluate("document.querySelector('.entry-row').click(); for (const run of window.pending) run();")
    expect(page.get_by_role("article")).to_be_visible()
    expect(page).to_have_url(re.compile(r"#/memory/[^?]+\?q=a$"))


def test_a_word_with_a_slip_of_the_finger_is_found_too(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory?q=webhoks")
    expect(page.locator(".entry-row").first).to_contain_text("webhooks come twice")


def test_filters_narrow_the_list_and_can_be_cleared(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    entries = page.locator(".entry-row")
    page.get_by_role("button", name="Decisions").click()
    expect(entries.first).to_contain_text("returns")
    expect(page.get_by_text("Lesson", exact=True)).to_have_count(0)
    page.get_by_label("Tag").fill("payments")
    page.get_by_label("Tag").press("Enter")
    expect(entries).to_have_count(2)
    page.get_by_label("Time").select_option("30")
    expect(entries).to_have_count(1)
    page.get_by_label("Source").fill("user")
    page.get_by_label("Source").press("Enter")
    expect(entries).to_contain_text(["refunds"])
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Kind").select_option("archive")
    expect(entries).to_have_count(1)
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Scope", exact=True).select_option("account")
    expect(entries).to_contain_text(["how we write numbers", "Ana"])
    page.reload()
    expect(entries).to_have_count(2)


def test_the_list_can_be_sorted(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    page.get_by_label("Sort").select_option("name")
    expect(page.locator(".entry-row").first).to_contain_text("Ana likes short answers")
    page.get_by_label("Sort").select_option("importance")
    expect(page.locator(".entry-row").first).to_contain_text("web shop")
    page.get_by_label("Sort").select_option("-created")
    expect(page.locator(".entry-row").first).to_contain_text("web shop")


def test_an_entry_shows_all_there_is_to_know_about_it(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/deploy%20day")
    pane = page.get_by_role("article")
    expect(pane.get_by_role("heading", name="deploy day")).to_be_visible()
    expect(pane.locator(".content")).to_contain_text("We deploy on Wednesdays")
    expect(pane.locator(".content code")).to_have_text("scripts/rollback")
    expect(pane.locator(".alias")).to_have_text("release day")
    expect(pane.locator(".facts")).to_contain_text("#release")
    expect(pane.locator("svg .dot")).not_to_have_count(0)
    expect(pane.locator(".history del")).to_contain_text(["Tuesdays"])
    expect(pane.locator(".history ins")).to_contain_text(["Wednesdays"])
    expect(pane.locator(".linked")).to_contain_text("Linked from")
    pane.locator(".linked").get_by_role("link", name="web shop").click()
    expect(page.get_by_role("cell", name="card and invoice")).to_be_visible()
    page.get_by_role("link", name="payment provider").first.click()
    expect(page.get_by_role("article").get_by_role("heading", name="payment provider")).to_be_visible()
    page.go_back()
    page.go_back()
    expect(pane.get_by_role("heading", name="deploy day")).to_be_visible()


def test_an_entry_made_from_a_conversation_leads_to_its_turns(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory?kind=archive")
    page.locator(".entry-row").click()
    expect(page.locator(".facts .outer")).to_have_text("With results of tools")
    page.get_by_role("link", name="the summarized turns").click()
    expect(page.locator(".said.sought")).to_contain_text("Good morning. What is waiting?")


def test_a_correction_can_be_undone(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/refunds")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Refunds are made within three days.")
    page.get_by_label("Tags").fill("support, money")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".content")).to_have_text("Refunds are made within three days.")
    expect(page.locator(".facts")).to_contain_text("#money")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".content")).to_contain_text("up to 80 EUR")
    assert demo.home.agent("default").get("refunds").tags == ("support", "payments")


def test_an_older_text_can_be_brought_back(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/refunds")
    page.get_by_role("button", name="Restore the previous text").click()
    expect(page.locator(".content")).to_contain_text("up to 50 EUR")


def test_an_undo_takes_back_a_first_category_and_context_and_both_can_be_removed(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("It opens at eight.", name="harbour", context="")
    page = visit(server, "#/memory/harbour")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("It opens at nine.")
    page.locator("form").get_by_label("Category").select_option("tasks")
    page.get_by_label("Context").fill("a sign at the gate")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".content")).to_have_text("It opens at nine.")
    page.keyboard.press("u")
    expect(page.get_by_text("Change undone.")).to_be_visible()
    expect(page.locator(".content")).to_have_text("It opens at eight.")
    assert (memory.get("harbour").category, memory.get("harbour").context) == (None, None)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Context").fill("a sign at the quay")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".history ins", has_text="a sign at the quay")).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Context").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".history del", has_text="a sign at the quay")).to_be_visible()
    assert memory.get("harbour").context is None
    expect(page.get_by_role("button", name="Restore the previous text")).to_have_count(2)  # of four changes


def test_an_undo_that_fails_is_reported(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/refunds", allowed=("412",))
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Mine.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".content")).to_have_text("Mine.")
    demo.home.agent("default").apply(recollect.Write("refunds", content="Theirs.", origin="user"))
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("alert")).to_contain_text("changed since")
    assert demo.home.agent("default").get("refunds").content == "Theirs."


def test_two_who_write_at_once_see_both_texts_before_anything_is_overwritten(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    page = visit(demo, "#/memory/carts", allowed=("412",))
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Carts are kept for 60 days.")
    memory.apply(recollect.Write("carts", content="Carts are kept for 7 days."))
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Carts are kept for 60 days.")
    expect(dialog).to_contain_text("Carts are kept for 7 days.")
    expect(dialog.get_by_role("button", name="Continue editing")).to_be_focused()  # Enter overwrites nothing
    assert memory.get("carts").content == "Carts are kept for 7 days."
    dialog.get_by_role("button", name="Keep mine").click()
    expect(page.locator(".content")).to_have_text("Carts are kept for 60 days.")
    assert memory.get("carts").content == "Carts are kept for 60 days."
    page.keyboard.press("u")
    expect(page.locator(".content")).to_have_text("Carts are kept for 7 days.")


def test_a_name_can_be_changed_and_added(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/newsletter")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("monthly mail")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name="monthly mail")).to_be_visible()
    page.get_by_role("button", name="Add an alias").click()
    page.get_by_label("Alias", exact=True).fill("sunday letter")
    page.get_by_label("Alias", exact=True).press("Enter")
    expect(page.locator(".alias")).to_contain_text(["newsletter", "sunday letter"])
    assert demo.home.agent("default").get("sunday letter").name == "monthly mail"


def test_forgetting_can_be_undone_at_once(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/carts?q=carts", allowed=("404",))  # its details may still be loading
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_text("Forgot “carts”.")).to_be_visible()
    expect(page.get_by_text("Choose an entry to read it.")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("Restored.")).to_be_visible()
    expect(page.locator(".entry-row", has_text="carts")).to_be_visible()
    assert demo.home.agent("default").get("carts").category == "decisions"


def test_what_is_in_the_trash_can_be_restored_also_when_its_name_was_taken(demo: Server, visit: Visit) -> None:
    demo.home.agent("default").remember("Another one.", name="returns draft")
    page = visit(demo, allowed=("409",))
    page.get_by_role("button", name="Trash").click()
    entries = page.locator(".entry-row")
    expect(entries).to_have_count(2)
    page.get_by_role("button", name="Restore spare thought").click()
    expect(entries).to_have_count(1)
    page.get_by_role("button", name="Restore returns draft").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_text("The trash is empty.")).to_be_visible()
    memory = demo.home.agent("default")
    assert memory.get("returns draft (restored)").content == "Old draft of the text about returns."
    assert memory.get("spare thought")


def test_the_trash_is_opened_whole_and_can_be_searched(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory?q=refund&tag=support")
    expect(page.locator(".entry-row")).to_have_count(1)
    page.get_by_role("button", name="Trash").click()
    expect(page.locator(".entry-row")).to_have_count(2)
    search = page.get_by_label("Search the memory")
    expect(search).to_have_value("")
    search.fill("zebra")
    expect(page.get_by_text("Nothing in the trash matches “zebra”.")).to_be_visible()
    page.get_by_role("button", name="Show all of the trash").click()
    expect(page.locator(".entry-row")).to_have_count(2)
    search.fill("spare")
    expect(page.locator(".entry-row")).to_have_count(1)


def test_the_trash_is_emptied_after_a_confirmation_that_counts_its_entries(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    page = visit(demo, "#/memory?in=trash&q=spare")
    expect(page.locator(".entry-row")).to_have_count(1)
    page.get_by_role("button", name="Empty the trash").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 entries are destroyed")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert len(memory.trash()) == 2
    page.get_by_role("button", name="Empty the trash").click()
    dialog.get_by_role("button", name="Destroy").click()
    expect(page.get_by_text("Destroyed 2 entries.")).to_be_visible()
    expect(page.locator(".entry-row")).to_have_count(0)
    assert memory.trash() == []


def test_an_entry_that_was_forgotten_says_so_and_offers_the_way_back(demo: Server, visit: Visit) -> None:
    forgotten = demo.home.agent("default").trash()[0].entry
    page = visit(demo, f"#/memory/{forgotten.id}", allowed=("404",))
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_role("heading", name="spare thought")).to_be_visible()


def test_a_new_entry_is_remembered(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    page.get_by_role("button", name="New").click()
    page.get_by_label("Name").fill("grinders")
    page.get_by_label("Text", exact=True).fill("We sell grinders from *spring* on. See [[product search]].")
    page.locator("form").get_by_label("Category").select_option("decisions")
    page.get_by_label("Tags").fill("#stock, shop")
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("article").get_by_role("heading", name="grinders")).to_be_visible()
    expect(page.locator(".content em")).to_have_text("spring")
    made = demo.home.agent("default").get("grinders")
    assert (made.category, made.tags, made.source) == ("decisions", ("stock", "shop"), "user")


def test_what_was_typed_and_not_saved_is_there_on_return(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/entry/new")
    page.get_by_label("Text", exact=True).fill("Half a thought")
    page.get_by_role("link", name="Upkeep").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Text", exact=True)).to_have_value("Half a thought")
    page.keyboard.press("Escape")
    expect(page.get_by_text("Your draft is here when you come back.")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Half a thought")
    page.get_by_role("button", name="Discard it").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("")
    expect(page.get_by_role("button", name="Discard it")).to_be_hidden()


def test_a_draft_does_not_overwrite_what_came_after_it(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    page = visit(demo, "#/memory/carts", allowed=("412",))
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Tags").fill("basket")
    page.get_by_role("button", name="Cancel").click()
    memory.apply(recollect.Write("carts", content="Carts are kept for 7 days."))
    expect(page.locator(".content")).to_have_text("Carts are kept for 7 days.")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("Carts are kept for 7 days.")
    expect(page.get_by_label("Tags")).to_have_value("basket")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep mine").click()
    expect(page.locator(".facts")).to_contain_text("#basket")
    assert memory.get("carts").content == "Carts are kept for 7 days."


def test_a_name_that_is_taken_is_explained_and_nothing_typed_is_lost(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory/entry/new", allowed=("409",))
    page.get_by_label("Name").fill("refunds")
    page.get_by_label("Text", exact=True).fill("Something else")
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("alert")).to_contain_text("refunds")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Something else")
    page.get_by_role("alert").get_by_role("link").click()
    expect(page.get_by_role("article").get_by_role("heading", name="refunds")).to_be_visible()


def test_working_notes_stand_in_the_conversation_scope_and_cannot_be_changed(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory?scope=conversation")
    note = page.locator(".entry-row", has_text="what scout found")
    expect(note).to_contain_text("Working Note")
    expect(note).to_contain_text("read-only")
    expect(page.locator(".entry-row", has_text="The customer behind order 4711")).to_be_visible()
    note.click()
    expect(page.get_by_label("Scratchpad")).to_contain_text("delays in the north until Thursday")
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)


def test_a_result_says_why_it_was_found(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/memory?q=refund")
    page.locator(".entry-row").first.click()
    expect(page.locator("#why")).to_be_hidden()
    page.get_by_role("button", name="Why this?").click()
    expect(page.get_by_role("img", name="rank 1 by words")).to_be_visible()
    expect(page.locator("#why")).to_contain_text("not in this list")  # there is no embedder here
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Tags").fill("figures")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("article").get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_role("button", name="Why this?", expanded=False)).to_be_visible()


def test_the_weakest_result_is_explained_in_words_and_without_empty_bars(server: Server, visit: Visit) -> None:
    page = visit(server)
    drawn = page.evaluate("""async () => {
        const { whyPicture } = await import("/static/pictures.js");
        const why = { words: [2, 0.31], vector: null, fused: 0, words_part: 0, vector_part: 0, decay: 0.9 };
        return whyPicture({ why, score: 0, place: 2, best: 2 }).outerHTML;
    }""")
    assert "Rank 2: rank 2 by words. It matches, but its score is the lowest" in drawn
    assert "svg" not in drawn
    assert "0.00" not in drawn


def test_a_table_may_follow_a_line_of_text_and_only_telling_words_are_marked(server: Server, visit: Visit) -> None:
    text = "Who opens the harbour:\n| day | who |\n|---|---|\n| Monday | Ana |"
    server.home.agent("default").remember(text, name="the harbour")
    page = visit(server, "#/memory/the%20harbour?q=the%20harbour")
    expect(page.locator(".content p")).to_have_text("Who opens the harbour:")
    expect(page.locator(".content").get_by_role("cell", name="Ana")).to_be_visible()
    expect(page.locator(".entry-row mark")).to_have_text(["harbour", "harbour"])


def test_a_search_in_all_conversations_is_narrowed_by_every_filter(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    talk = memory.conversations.start().ref_code
    for name, tag, source, at in (("first", "ops", "agent", "2024-01-10"), ("second", "food", "user", "2024-03-10")):
        memory.remember(
            f"A customer asked, {name}.",
            tags=[tag],
            source=source,
            at=f"{at}T12:00:00Z",
            scope="conversation",
            conversation=talk,
        )
    page = visit(server, "#/memory?scope=conversation&q=customer")
    rows = page.locator(".entry-row")
    expect(rows).to_contain_text(["second", "first"])
    for narrowed, left in (
        ("tag=ops", ["first"]),
        ("source=user", ["second"]),
        ("since=2024-01-01&until=2024-02-01", ["first"]),
        ("sort=-created", ["first", "second"]),
    ):
        page.goto(f"{server.url}/#/memory?scope=conversation&q=customer&{narrowed}")
        expect(rows).to_contain_text(left)
        expect(rows).to_have_count(len(left))
    page.goto(f"{server.url}/#/memory?scope=conversation&q=customer&kind=archive")
    expect(page.get_by_text("Nothing found for “customer”.")).to_be_visible()


def test_a_search_in_all_conversations_looks_through_all_of_them(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    talk = memory.conversations.start().ref_code
    texts = ["A customer asked.", *(f"Entry number {number}." for number in range(1_000))]
    memory.remember_many([recollect.Add(text, scope="conversation", conversation=talk) for text in texts])
    page = visit(server, "#/memory?scope=conversation&q=customer")
    expect(page.locator(".entry-row")).to_contain_text(["A customer asked."])


def test_a_long_list_shows_few_rows_at_a_time_and_comes_to_its_end(server: Server, visit: Visit) -> None:
    drafts = [recollect.Add(f"Entry number {number}.", at=1_700_000_000_000 + number) for number in range(450)]
    server.home.agent("default").remember_many(drafts)
    page = visit(server)
    expect(page.get_by_text("100 entries and more")).to_be_visible()
    page.wait_for_function("""() => {
        const list = document.querySelector(".endless");
        list.scrollTop = list.scrollHeight;
        return document.querySelector(".count").textContent === "450 entries";
    }""")
    expect(page.locator(".entry-row", has_text="Entry number 0.")).to_be_visible()
    assert page.locator(".entry-row").count() < 40


def test_another_agent_can_be_chosen_and_linked_to(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    page.get_by_label("Agent").select_option("scout")
    expect(page.locator(".entry-row")).to_have_count(2)
    expect(page).to_have_url(f"{demo.url}/#/memory?agent=scout")
    page.reload()
    expect(page.locator(".entry-row")).to_have_count(2)
    page.go_back()
    expect(page.get_by_label("Agent")).to_have_value("default")
    expect(page.get_by_text("The carrier has delays in the north")).to_be_visible()
    page.goto(f"{demo.url}/")  # the browser remembers whom one looked at last
    expect(page).to_have_url(f"{demo.url}/#/overview?agent=scout")


def test_an_answer_that_comes_late_is_not_shown_as_another_agents(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    expect(page.locator(".entry-row").first).to_be_visible()
    held: list[Route] = []
    page.route("**/v1/entries?*agent=default*", lambda route: held.append(route))
    page.get_by_role("button", name="Decision").click()
    page.get_by_label("Agent").select_option("scout")
    expect(page.locator(".entry-row")).to_have_count(2)
    for route in held:
        with page.expect_request_finished(lambda request, route=route: request == route.request):
            route.continue_()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert held
    expect(page.locator(".entry-row")).to_have_count(2)


@pytest.mark.parametrize("where", ["#/memory/nothing-here", "#/conversations/nothing-here"])
def test_an_address_that_leads_nowhere_says_so(demo: Server, visit: Visit, where: str) -> None:
    page = visit(demo, where, allowed=("404",))
    expect(page.locator(".detail").get_by_role("alert")).to_contain_text("nothing-here")
