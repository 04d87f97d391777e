"""Conversations, the context preview and upkeep in the browser."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect
from surfaces.server import Server

Visit = Callable[..., Page]


# Conversations


def test_conversations_are_listed_by_status_and_channel(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/conversations")
    rows = page.locator(".entry-row")
    expect(rows).to_contain_text(["morning-support", "price-tags", "friday-trouble", "choosing-payments"])
    page.get_by_role("button", name="Archived").click()
    expect(rows).to_contain_text(["choosing-payments"])
    page.get_by_role("button", name="All").click()
    page.get_by_label("Channel").select_option("release")
    expect(rows).to_have_count(2)


def test_a_transcript_folds_its_tool_calls_and_tells_what_was_compacted(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/conversations")
    page.locator(".entry-row", has_text="morning-support").click()
    transcript = page.locator(".transcript")
    expect(transcript).to_contain_text("Good morning. What is waiting?")
    result = transcript.get_by_text("4718 Wrong grind")
    expect(result).to_be_hidden()
    transcript.get_by_text("Called list_tickets").click()
    expect(result).to_be_visible()
    expect(transcript.get_by_text('"status": "open"')).to_be_visible()
    marker = transcript.get_by_text("a summary stands for 10 events")
    marker.click()
    expect(page.locator(".marker")).to_contain_text("Both are told.")
    expect(page.get_by_label("Scratchpad")).to_contain_text("orders to look at")
    expect(page.get_by_text("Checkpoint: saved")).to_be_visible()


def test_a_search_over_what_was_said_opens_at_the_turn(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/conversations")
    page.get_by_label("Search what was said").press_sequentially("contrast")
    page.locator(".entry-row mark", has_text="contrast").first.click()
    sought = page.locator(".said.sought")
    expect(sought).to_contain_text("contrast of 3.9")
    expect(sought).to_be_in_viewport()
    page.reload()
    expect(sought).to_be_in_viewport()


def test_a_conversation_is_ended_by_its_rules(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/conversations")
    page.locator(".entry-row", has_text="morning-support").click()
    page.get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("go to the trash")
    page.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_text("What came of it")).to_be_visible()
    expect(page.get_by_role("button", name="End", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Idle", exact=True)).to_have_count(1)  # only the filter is left
    page.locator(".actions").get_by_role("button", name="Archive").click()
    page.get_by_role("dialog").get_by_role("button", name="Archive").click()
    expect(page.locator(".facts")).to_contain_text("Archived")
    assert demo.home.agent("default").conversations.list(chat_id="morning-support") == []


def test_what_is_said_now_appears_in_the_open_transcript(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    talk = memory.conversations.get(memory.conversations.list(chat_id="morning-support")[0].id)
    page = visit(demo, f"#/conversations/{talk.ref_code}")
    expect(page.get_by_text("I will ask the carrier again")).to_be_visible()
    talk.user("Is there any news?", speaker="Ana")
    expect(page.locator(".transcript")).to_contain_text("Is there any news?")


# Context


def test_the_context_shows_its_sections_their_tokens_and_what_did_not_fit(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/context")
    page.get_by_label("What is the agent about to do?").fill("refund an order")
    page.get_by_role("button", name="Show").click()
    cards = page.locator(".card")
    expect(cards.filter(has_text="Relevant Decisions")).to_contain_text("80 EUR")
    expect(cards.filter(has_text="Open Tasks")).to_contain_text("token")
    expect(page.get_by_text("nothing had to leave")).to_be_visible()
    page.get_by_label("Budget in tokens").fill("120")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("did not fit")).to_be_visible()
    expect(page.get_by_text("left out").first).to_be_visible()
    page.get_by_text("The block as text").click()
    expect(page.locator(".raw pre")).to_contain_text("## MEMORY CONTEXT")
    page.go_back()
    expect(page.get_by_text("nothing had to leave")).to_be_visible()


# Upkeep


def test_a_job_is_tried_run_and_undone(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    for text in ("The harbour opens at eight in the morning", "the harbour opens at eight in the morning"):
        memory.remember(text, importance=0.001, at="2024-01-01T00:00:00Z")
    page = visit(server, "#/upkeep")
    expect(page.get_by_role("row", name="consolidate")).to_contain_text("never")
    page.get_by_role("button", name="Dry run of consolidate").click()
    expect(page.locator(".dry")).to_contain_text("It would do this")
    assert len(memory.list()) == 2
    page.get_by_role("button", name="Run consolidate").click()
    expect(page.locator(".runs li").first).to_contain_text("consolidate")
    left = len(memory.list())
    assert left < 2
    page.locator(".runs summary").first.click()
    page.get_by_role("button", name="Undo this run").click()
    expect(page.locator(".runs li").first).to_contain_text("undone")
    assert len(memory.list()) == 2


def test_upkeep_shows_how_the_memory_grows_and_whether_it_is_well(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/upkeep")
    expect(page.get_by_role("img", name="Entries written a day")).to_be_visible()
    expect(page.get_by_role("img", name="Entries recalled a day")).to_be_visible()
    entries = len(demo.home.agent("default").list(limit=1_000))
    expect(page.locator(".numbers")).to_contain_text(f"Entries{entries}")
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("All is well")).to_be_visible()


# On an empty memory


def test_an_empty_memory_shows_how_to_connect_an_agent(server: Server, visit: Visit) -> None:
    page = visit(server)
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    expect(page.get_by_text("recollect connect claude-code --agent default")).to_be_visible()
    server.home.agent("default").remember("The first one came from an agent.")
    expect(page.locator(".entry-row")).to_contain_text("The first one came from an agent.")


def test_the_first_entry_can_be_written_by_hand(server: Server, visit: Visit) -> None:
    page = visit(server)
    page.get_by_role("button", name="Write the first entry").click()
    page.get_by_label("Text", exact=True).fill("We deploy on Tuesdays.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".content")).to_have_text("We deploy on Tuesdays.")
    expect(page.locator(".entry-row")).to_have_count(1)


def test_the_other_views_of_an_empty_memory_say_that_there_is_nothing(server: Server, visit: Visit) -> None:
    page = visit(server, "#/conversations")
    expect(page.get_by_text("No conversations yet.")).to_be_visible()
    page.get_by_role("link", name="Context").click()
    expect(page.get_by_text("There is nothing to say yet")).to_be_visible()
    page.get_by_role("link", name="Upkeep").click()
    expect(page.get_by_text("This agent remembers nothing yet.")).to_be_visible()
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    assert server.home.agents() == []
