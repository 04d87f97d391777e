"""Changes by other clients while the page loads or saves: no change is missed, and no request waits for ever."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect
from surfaces.server import Server

import recollect

Visit = Callable[..., Page]

FEEDS = """
window.feeds = [];
window.EventSource = class extends EventSource {
    constructor(...given) {
        super(...given);
        window.feeds.push(this);
    }
};
"""
TELL = "([kind, data, lastEventId]) => window.feeds.at(-1).dispatchEvent(new MessageEvent(kind, { data, lastEventId }))"


def still(page: Page) -> None:
    """Load the page again, with a clock that stands still until the test lets time pass."""
    page.add_init_script(FEEDS)
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    page.reload()


def tell(page: Page, kind: str, data: str = "{}", id: str = "") -> None:
    """Let the feed send an event now."""
    page.evaluate(TELL, [kind, data, id])


def test_that_anything_may_have_changed_is_not_lost_over_a_single_change(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Short answers.", name="style")
    page = visit(server, "#/memory/style")
    expect(page.locator(".content")).to_have_text("Short answers.")
    held: list[Route] = []
    page.route("**/v1/feed*", lambda route: held.append(route))
    with page.expect_request("**/v1/feed*"):
        still(page)
    page.clock.run_for(1_000)  # the page is shown although there is no feed
    expect(page.locator(".history")).to_be_visible()
    memory.apply(recollect.Write("style", "Long answers."))
    tell(page, "ping", id="1.0.0")  # the feed begins late, and at once there is one more thing
    tell(page, "operation", '{"entry_id": "another one"}')
    page.clock.run_for(120)
    expect(page.locator(".content")).to_have_text("Long answers.")


def test_what_changes_all_the_time_is_shown_all_the_same(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("The first one.")
    page = visit(server)
    still(page)
    rows = page.locator(".entry-row")
    expect(rows).to_have_count(1)
    memory.remember("The second one.")
    for _ in range(2):  # never a pause that is long enough
        tell(page, "operation", '{"entry_id": "another one"}')
        page.clock.run_for(100)
    expect(rows).to_have_count(2)
    held: list[Route] = []
    page.route("**/v1/entries?*", lambda route: held.append(route))
    memory.remember("The third one.")
    with page.expect_request("**/v1/entries?*"):
        tell(page, "operation", '{"entry_id": "another one"}')
        page.clock.run_for(200)
    tell(page, "operation", '{"entry_id": "another one"}')
    page.clock.run_for(1_000)
    held[0].continue_()  # it was not given up for the sake of a newer one
    expect(rows).to_have_count(3)


def test_an_entry_that_changes_while_it_is_opened_by_its_name_is_shown_as_it_is(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    made = memory.remember("Short answers.", name="style")
    page = visit(server)
    still(page)
    expect(page.locator(".entry-row")).to_have_count(1)

    def late(route: Route) -> None:
        answer = route.fetch()
        memory.apply(recollect.Write("style", "Long answers."))
        tell(page, "operation", f'{{"entry_id": "{made.id}", "name": "style"}}')
        page.clock.run_for(120)
        route.fulfill(response=answer)

    page.route("**/v1/entries/style?*", late, times=1)
    page.goto(f"{server.url}/#/memory/style")
    expect(page.locator(".content")).to_have_text("Long answers.")
    expect(page.get_by_role("article").get_by_role("heading", name="style")).to_be_focused()


def test_an_entry_that_is_not_there_appears_when_it_is_made_and_when_it_is_restored(
    server: Server, visit: Visit
) -> None:
    memory = server.home.agent("default")
    memory.remember("Something else.")
    page = visit(server, "#/memory/style", allowed=("404",))
    content = page.locator(".detail .content")
    expect(page.locator(".detail").get_by_role("alert")).to_contain_text("style")
    made = memory.remember("Short answers.", name="style")
    expect(content).to_have_text("Short answers.")
    memory.forget("style")
    expect(page.get_by_text("This was forgotten")).to_be_visible()
    memory.restore(made.id)
    expect(page.get_by_text("This was forgotten")).to_have_count(0)
    expect(content).to_have_text("Short answers.")


def test_links_of_the_open_entry_follow_what_others_write(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("See [[later]].", name="first")
    page = visit(server, "#/memory/first")
    expect(page.get_by_text("Broken links")).to_be_visible()
    memory.remember("It goes on from [[first]].", name="second")
    expect(page.get_by_text("Linked from")).to_be_visible()
    memory.remember("Now it is there.", name="later")
    expect(page.get_by_text("Broken links")).to_have_count(0)
    expect(page.locator(".content").get_by_role("link", name="later")).to_be_visible()


def test_the_offer_of_what_changed_stays_until_it_is_shown(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    drafts = [recollect.Add(f"Entry number {number}.", at=1_700_000_000_000 + number) for number in range(400)]
    memory.remember_many(drafts)
    page = visit(server)
    rows, list_ = page.locator(".entry-row"), page.locator(".endless")
    expect(page.get_by_text("100 entries and more")).to_be_visible()
    list_.evaluate("node => node.scrollTop = 2000")
    expect(rows.filter(has_text="Entry number 378.")).to_be_visible()
    memory.remember("A new one.")
    offer = page.get_by_role("button", name="New changes: show them")
    expect(offer).to_be_visible()
    page.wait_for_function("""() => {
        const list = document.querySelector(".endless");
        list.scrollTop = list.scrollHeight;
        return list.textContent.includes("Entry number 0.");
    }""")  # more was fetched, several times
    expect(offer).to_be_visible()
    list_.evaluate("node => node.scrollTop = 0")
    expect(rows.first).to_contain_text("A new one.")
    expect(offer).to_have_count(0)


def test_what_is_said_while_a_conversation_opens_is_in_it(server: Server, visit: Visit) -> None:
    talk = server.home.agent("default").conversations.start(chat_id="support")
    talk.user("Good morning.")
    page = visit(server, "#/conversations")
    still(page)
    expect(page.locator(".entry-row")).to_have_count(1)

    def late(route: Route) -> None:
        answer = route.fetch()
        talk.user("And one more thing.")
        tell(page, "event", f'{{"conversation_id": "{talk.id}"}}')
        page.clock.run_for(120)
        route.fulfill(response=answer)

    page.route(f"**/v1/conversations/{talk.ref_code}/events?*", late, times=1)
    page.locator(".entry-row").click()
    expect(page.locator(".transcript")).to_contain_text("Good morning.")
    expect(page.locator(".transcript")).to_contain_text("And one more thing.")


def test_another_agent_is_shown_without_anything_of_the_one_before(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Of default.", name="his own")
    server.home.agent("bob").remember("Of bob.")
    page = visit(server, "#/memory/his%20own")
    still(page)
    expect(page.locator(".content")).to_have_text("Of default.")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Half a thought.")
    held: list[Route] = []
    page.route("**/v1/feed*", lambda route: held.append(route))
    page.get_by_label("Agent").select_option("bob")
    expect(page.get_by_role("status").filter(has_text="Loading…")).to_be_visible()
    expect(page.get_by_text("Not saved. Your draft is here when you come back.")).to_be_visible()
    expect(page.locator("form")).to_have_count(0)
    expect(page.locator(".entry-row")).to_have_count(0)
    page.clock.run_for(1_000)
    expect(page.locator(".entry-row")).to_contain_text("Of bob.")


def test_what_was_done_to_one_memory_is_not_undone_in_another(server: Server, visit: Visit) -> None:
    memory, other = server.home.agent("default"), server.home.agent("bob")
    memory.remember("Of default.")
    memory.reminders.add("2090-05-01T08:30:00Z", "call the carrier")
    other.remember("Of bob.")
    page = visit(server, "#/reminders")
    still(page)  # so that no message leaves by itself
    page.get_by_role("button", name="Cancel").click()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    page.get_by_label("Agent").select_option("bob")
    expect(page.get_by_text("No reminders.")).to_be_visible()
    expect(undo).to_have_count(0)


def test_a_form_that_is_left_for_another_view_says_that_nothing_was_saved(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Short answers.", name="style")
    page = visit(server, "#/memory/style")
    still(page)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Half a thought.")
    page.get_by_role("link", name="Conversations").click()
    expect(page.get_by_text("Not saved. Your draft is here when you come back.")).to_be_visible()


def test_times_go_on_while_the_page_is_open(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Short answers.")
    page = visit(server)
    page.clock.install()
    page.reload()
    when = page.locator(".entry-row time")
    expect(when).to_have_text("just now")
    page.clock.fast_forward(5 * 3_600_000)
    expect(when).to_have_text("5 hours ago")


def test_an_entry_of_marks_only_has_a_heading_and_no_label_stands_alone(server: Server, visit: Visit) -> None:
    made = server.home.agent("default").remember("---")
    page = visit(server, f"#/memory/{made.id}")
    expect(page.locator(".detail h1")).to_have_text("---")
    expect(page.locator(".facts dt", has_text="Written")).to_be_visible()
    expect(page.locator(".facts dt", has_text="Tags")).to_have_count(0)
