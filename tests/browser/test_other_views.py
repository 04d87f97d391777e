"""Conversations, the context preview and upkeep in the browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect
from surfaces.server import Server, serving, settings

import recollect
from recollect import Conversation
from recollect.locations import program
from recollect.model.history import Event, EventType

Visit = Callable[..., Page]


# Conversations


def test_conversations_are_listed_by_status_and_channel(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/conversations")
    rows = page.locator(".entry-row")
    expect(rows).to_contain_text(["Good morning.", "The prices are", "The deployment", "Which payment provider"])
    page.get_by_role("button", name="Archived").click()
    expect(rows).to_contain_text(["Which payment provider"])
    page.get_by_role("button", name="All").click()
    page.get_by_label("Channel").select_option("release")
    expect(rows).to_have_count(2)


def test_a_transcript_folds_its_tool_calls_and_tells_what_was_compacted(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/conversations")
    page.locator(".entry-row", has_text="Good morning.").click()
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
    page.get_by_label("Search messages").press_sequentially("contrast")
    page.locator(".entry-row mark", has_text="contrast").first.click()
    sought = page.locator(".said.sought")
    expect(sought).to_contain_text("contrast of 3.9")
    expect(sought).to_be_in_viewport()
    page.reload()
    expect(sought).to_be_in_viewport()


def long_talk(server: Server) -> Conversation:
    """260 turns and the marker of a compaction. The last page begins with the result of a call that is not in it."""
    talk = server.home.agent("default").conversations.start(chat_id="long")
    turns = [Event(type=EventType.USER, content=f"This was turn {number}.") for number in range(260)]
    turns[160] = Event(
        type=EventType.MODEL, content="", tool_calls=({"id": "c", "name": "look_up", "arguments": "{}"},)
    )
    turns[161] = Event(type=EventType.TOOL, content="It is 8080.", tool_call_id="c")
    talk.append(turns)
    return talk


def turns(page: Page) -> list[str]:
    """The turns that are shown, in order."""
    found: list[str] = page.locator(".said").evaluate_all(
        "all => all.map((one) => one.textContent.match(/turn \\d+/)?.[0])"
    )
    return [one for one in found if one]


def test_a_long_transcript_opens_at_its_end_and_older_turns_come_when_one_scrolls_up(
    server: Server, visit: Visit
) -> None:
    talk = long_talk(server)
    page = visit(server, f"#/conversations/{talk.ref_code}")
    said = page.locator(".said")
    expect(said.get_by_text("turn 259.")).to_be_in_viewport()
    assert turns(page) == [f"turn {number}" for number in range(162, 260)]
    expect(page.get_by_text("Result of a tool")).to_have_count(1)
    talk.user("Is anybody there?")
    expect(page.get_by_text("Is anybody there?")).to_be_in_viewport()
    said.get_by_text("turn 170.").scroll_into_view_if_needed()
    expect(said.get_by_text("turn 61.")).to_have_count(1)
    expect(said.get_by_text("turn 170.")).to_be_in_viewport()
    expect(page.get_by_text("Result of a tool")).to_have_count(0)
    page.get_by_text("Called look_up").click()
    expect(page.get_by_text("It is 8080.")).to_be_visible()
    page.get_by_role("button", name="About").click()
    expect(page.locator(".facts")).to_be_in_viewport()
    assert turns(page)[0] == "turn 61"
    page.get_by_role("button", name="Show earlier messages").click()
    expect(said.get_by_text("turn 0.")).to_have_count(1)
    expect(page.get_by_role("button", name="Show earlier messages")).to_have_count(0)
    assert turns(page) == [f"turn {number}" for number in range(260) if number not in (160, 161)]


def test_a_transcript_that_opens_at_a_turn_continues_in_both_directions(server: Server, visit: Visit) -> None:
    talk = long_talk(server)
    page = visit(server, f"#/conversations/{talk.ref_code}/{[*talk.events()][100].seq}")
    said = page.locator(".said")
    expect(page.locator(".sought")).to_contain_text("turn 100.")
    expect(page.locator(".sought")).to_be_in_viewport()
    assert (turns(page)[0], turns(page)[-1]) == ("turn 80", "turn 199")
    said.get_by_text("turn 81.").scroll_into_view_if_needed()
    expect(said.get_by_text("turn 0.")).to_have_count(1)
    said.get_by_text("turn 198.").scroll_into_view_if_needed()
    expect(said.get_by_text("turn 259.")).to_have_count(1)
    assert turns(page) == [f"turn {number}" for number in range(260) if number not in (160, 161)]


def test_each_conversation_shows_its_own_checkpoint(demo: Server, visit: Visit) -> None:
    memory = demo.home.agent("default")
    page = visit(demo, f"#/conversations/{memory.conversations.list(chat_id='friday-trouble')[0].ref_code}")
    expect(page.get_by_text("Checkpoint: saved")).to_be_visible()
    talk = memory.conversations.start(chat_id="new")
    page.goto(f"{demo.url}/#/conversations/{talk.ref_code}")
    expect(page.get_by_text("There is no checkpoint of it.")).to_be_visible()
    page.get_by_role("button", name="Save a checkpoint").click()
    expect(page.get_by_text("Checkpoint: saved just now")).to_be_visible()


def test_a_conversation_is_ended_by_its_rules(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/conversations")
    page.locator(".entry-row", has_text="Good morning.").click()
    page.get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("moved to the trash")
    page.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_text("Outcome")).to_be_visible()
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
    expect(page.get_by_text("nothing was left out")).to_be_visible()
    page.get_by_label("Budget in tokens").fill("120")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("did not fit")).to_be_visible()
    expect(page.get_by_text("left out").first).to_be_visible()
    page.get_by_text("The block as text").click()
    expect(page.locator(".raw pre")).to_contain_text("## MEMORY CONTEXT")
    page.go_back()
    expect(page.get_by_text("nothing was left out")).to_be_visible()


def test_the_context_follows_what_is_typed_and_says_when_it_is_old(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    expect(page.locator(".entry-row").first).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("x")
    expect(page.get_by_label("What is the agent about to do?")).to_be_focused()
    decisions = page.locator(".card", has_text="Relevant Decisions")
    expect(page.get_by_text("nothing was left out")).to_be_visible()
    expect(decisions).not_to_contain_text("80 EUR")
    page.route("**/v1/context?*", lambda _: None)  # the answer does not come
    page.keyboard.type("refund")
    expect(page.get_by_text("This block is for the previous input")).to_be_visible()
    page.unroute("**/v1/context?*")
    page.keyboard.type(" an order")
    expect(decisions).to_contain_text("80 EUR")
    expect(page.get_by_text("nothing was left out")).to_be_visible()
    page.get_by_label("Budget in tokens").fill("-1")
    expect(page.get_by_text("The budget:")).to_be_visible()


# Reminders


def test_reminders_are_made_listed_and_cancelled_without_a_mouse(server: Server, visit: Visit) -> None:
    reminders = server.home.agent("default").reminders
    page = visit(server)
    expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_text("No reminders.")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("water the plants")
    page.get_by_label("When").fill("2090-05-01T08:30")
    page.keyboard.press("Enter")
    coming = page.get_by_label("Upcoming")
    expect(coming).to_contain_text("water the plants")
    expect(page.get_by_label("Remind of")).to_be_focused()
    (made,) = reminders.list()
    assert page.evaluate("new Date('2090-05-01T08:30').getTime()") == made.due_at
    page.reload()
    expect(coming).to_contain_text("water the plants")
    reminders.add(0, "pay the harbour", recipient="Ana")  # of another agent; the feed reports when one is due
    due = page.get_by_label("Past due")
    expect(due).to_contain_text("pay the harbour")
    expect(due).to_contain_text("for Ana")
    page.get_by_role("button", name="Cancel: pay the harbour").focus()
    page.keyboard.press("Enter")
    expect(due).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel: water the plants")).to_be_focused()
    page.keyboard.press("u")
    expect(due).to_contain_text("for Ana")
    assert [one.message for one in reminders.list()] == ["pay the harbour", "water the plants"]


# Upkeep


def test_a_job_is_tried_run_and_undone(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    for text in ("The harbour opens at eight in the morning", "the harbour opens at eight in the morning"):
        memory.remember(text, importance=0.001, lifetime="short_term", at="2024-01-01T00:00:00Z")
    page = visit(server, "#/upkeep")
    expect(page.get_by_role("row", name="consolidate")).to_contain_text("never")
    page.get_by_role("button", name="Dry run of consolidate").click()
    expect(page.locator(".dry")).to_contain_text("Planned changes")
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
    expect(page.get_by_role("img", name="Entries written per day")).to_be_visible()
    expect(page.get_by_role("img", name="Entries recalled per day")).to_be_visible()
    entries = len(demo.home.agent("default").list(limit=1_000))
    expect(page.locator(".numbers")).to_contain_text(f"Entries{entries}")
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("No problems found")).to_be_visible()


# On an empty memory


def test_an_empty_memory_shows_how_to_connect_an_agent(server: Server, visit: Visit) -> None:
    page = visit(server)
    expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()
    expect(page.get_by_text(f"claude mcp add --transport http recollect {server.url}/mcp")).to_be_visible()
    server.home.agent("default").remember("The first one came from an agent.")
    expect(page.locator(".entry-row")).to_contain_text("The first one came from an agent.")


def test_the_command_that_connects_an_agent_names_the_home_that_is_served(tmp_path: Path, visit: Visit) -> None:
    place = tmp_path / "my memory"
    with recollect.open(place) as home, serving(home, replace(settings(), home=str(place))) as running:
        home.agent("default", "shop").remember("Prices include tax.")
        page = visit(running)
        command = " ".join([*program(), "--home", f"'{place}'", "connect claude-code"])
        expect(page.locator(".ways")).to_contain_text(command)
        page.get_by_role("link", name="shop, default: 1 entry, 0 conversations").click()
        expect(page.locator(".net")).to_contain_text("Prices include tax.")
        page.close()  # before the server stops, so that no request is refused


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
    expect(page.get_by_text("Nothing to show yet")).to_be_visible()
    page.get_by_role("link", name="Reminders").click()
    expect(page.get_by_text("No reminders.")).to_be_visible()
    page.get_by_role("link", name="Upkeep").click()
    expect(page.get_by_text("This agent has no entries yet.")).to_be_visible()
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()
    assert server.home.agents() == []
