"""The list of conversations and the one that is open: of any length, live, and for the keyboard."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect
from surfaces.server import Server

from recollect.model.history import Event, EventType

Visit = Callable[..., Page]


def test_a_status_is_found_behind_any_number_of_others_and_the_list_stays_where_it_is(
    server: Server, visit: Visit
) -> None:
    memory = server.home.agent("default")
    for number in range(2):
        memory.conversations.start(chat_id=f"old {number}").archive()
    for number in range(230):
        memory.conversations.start(chat_id=f"chat {number}")
    page = visit(server, "#/conversations")
    rows, count, list_ = page.locator(".entry-row"), page.locator(".count"), page.locator(".endless")
    expect(count).to_have_text("100 conversations and more")
    page.get_by_role("button", name="Archived").click()
    expect(rows).to_contain_text(["old 1", "old 0"])
    expect(count).to_have_text("2 conversations")
    page.get_by_role("button", name="Idle").click()
    expect(count).to_have_text("No conversation is idle.")
    page.get_by_role("button", name="All").click()
    expect(count).to_have_text("100 conversations and more")
    list_.evaluate("node => node.scrollTop = node.scrollHeight")
    expect(count).to_have_text("200 conversations and more")
    list_.evaluate("node => node.scrollTop = node.scrollHeight")
    expect(count).to_have_text("232 conversations")
    list_.evaluate("node => node.scrollTop = 15000")
    expect(rows.filter(has_text="chat 76")).to_be_in_viewport()
    with page.expect_response("**/v1/conversations?*"):
        memory.remember("A note from elsewhere.")
    memory.conversations.start(chat_id="the newest").user("Hello.")
    expect(count).to_have_text("233 conversations")
    expect(rows.filter(has_text="chat 76")).to_be_in_viewport()
    assert list_.evaluate("node => node.scrollTop") == 15_098


def test_what_others_do_to_a_conversation_appears_while_it_is_read(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    talk = memory.conversations.start(chat_id="support")
    talk.append([Event(type=EventType.USER, content=f"This was turn {number}.") for number in range(60)])
    page = visit(server)
    page.clock.install()
    page.goto(f"{server.url}/#/conversations/{talk.ref_code}")
    page.reload()
    expect(page.get_by_text("There is no checkpoint of it.")).to_have_count(1)
    turn = page.get_by_text("turn 40.")
    turn.evaluate("node => node.scrollIntoView({ block: 'center' })")
    place = turn.evaluate("node => node.getBoundingClientRect().top")
    moved = f"node => Math.abs(node.getBoundingClientRect().top - {place}) >= 1"
    talk.scratchpad["order"] = "4718"
    talk.checkpoint()
    page.clock.fast_forward(20_000)
    expect(page.get_by_label("Scratchpad")).to_contain_text("4718")
    expect(page.get_by_text("Checkpoint: saved")).to_have_count(1)
    assert not turn.evaluate(moved)
    talk.idle()
    page.clock.fast_forward(20_000)
    expect(page.locator(".entry-row")).to_contain_text("Idle")
    expect(page.locator(".facts")).to_contain_text("Idle")
    expect(page.get_by_role("button", name="End", exact=True)).to_have_count(0)
    expect(page.locator("#offline")).to_be_hidden()  # for so long the line said nothing, as the clock has it
    assert not turn.evaluate(moved)
    talk.archive()
    page.clock.fast_forward(20_000)
    expect(page.locator(".facts")).to_contain_text("Archived")


def test_the_focus_is_never_lost_and_the_arrows_scroll_what_is_open(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    for name in ("third", "second", "first"):
        talk = memory.conversations.start(chat_id=name)
        talk.append([Event(type=EventType.USER, content=f"The {name} had turn {number}.") for number in range(50)])
    page = visit(server, "#/conversations")
    rows, press, title = page.locator(".entry-row"), page.keyboard.press, page.locator(".detail h1")
    expect(rows).to_contain_text(["first", "second", "third"])
    press("j")
    press("j")
    press("Enter")
    expect(title).to_have_text("The second had turn 0.")
    expect(title).to_be_focused()
    detail = page.locator(".detail")
    end = detail.evaluate("node => node.scrollTop")
    press("ArrowUp")
    expect(detail).not_to_have_js_property("scrollTop", end)
    save = page.get_by_role("button", name="Save a checkpoint")
    save.focus()
    press("Enter")
    expect(page.get_by_text("Checkpoint: saved")).to_be_visible()
    expect(save).to_be_focused()
    page.locator(".actions").get_by_role("button", name="Idle").focus()
    press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Idle").press("Enter")
    expect(page.locator(".facts")).to_contain_text("Idle")
    expect(title).to_be_focused()
    press("Escape")
    expect(rows.nth(1)).to_be_focused()
    press("j")
    expect(rows.nth(2)).to_be_focused()
    page.get_by_role("button", name="Active").focus()
    press("Enter")
    expect(rows).to_contain_text(["first", "third"])
    expect(page.get_by_role("button", name="Active")).to_be_focused()
    page.set_viewport_size({"width": 640, "height": 700})
    rows.nth(1).click()
    expect(title).to_be_focused()
    page.get_by_role("button", name="Back").press("Enter")
    expect(rows.nth(1)).to_be_focused()
    page.go_back()
    expect(title).to_be_focused()
    page.go_forward()
    expect(rows.nth(1)).to_be_focused()


def test_enter_in_the_search_opens_the_best_of_what_was_typed(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    for name, text in (("coffee", "The coffee is roasted on Mondays."), ("tea", "The tea comes by ship.")):
        memory.conversations.start(chat_id=name).user(text)
    page = visit(server, "#/conversations")
    expect(page.locator(".entry-row").first).to_contain_text("tea")

    def slow(route: Route) -> None:
        page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")
        route.continue_()

    page.route("**/v1/conversations/search?*", slow)
    page.keyboard.press("/")
    page.keyboard.type("roasted")
    page.keyboard.press("Enter")
    expect(page.locator(".said.sought")).to_contain_text("roasted on Mondays")


def test_a_jump_over_a_long_account_of_it_fetches_older_turns_as_well(server: Server, visit: Visit) -> None:
    talk = server.home.agent("default").conversations.start(chat_id="long")
    talk.append([Event(type=EventType.USER, content=f"This was turn {number}.") for number in range(160)])
    for number in range(40):
        talk.scratchpad[f"step {number}"] = "to be done"
    page = visit(server, f"#/conversations/{talk.ref_code}")
    said = page.locator(".said")
    expect(said.get_by_text("turn 159.")).to_be_in_viewport()
    expect(said.get_by_text("turn 50.")).to_have_count(0)
    page.locator(".detail").evaluate("node => node.scrollTop = 0")
    expect(said.get_by_text("turn 0.")).to_have_count(1)
    expect(page.locator(".facts")).to_be_in_viewport()


def test_a_conversation_is_erased_with_the_notes_made_from_it(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Deploys are on Tuesdays", name="deploy day", origin="user")
    talk = memory.conversations.start(chat_id="may")
    said = talk.user("From May on deploys are on Wednesdays, for zqharbour.")
    talk.assistant("Noted, zqharbour.")
    evidence = [f"event:{talk.id}:{said.id}"]
    memory.supersede(
        "deploy day", "Deploys are on Wednesdays: zqharbour", origin="user", why="zqharbour", evidence=evidence
    )
    page = visit(server, f"#/conversations/{talk.ref_code}")
    page.get_by_role("button", name="Erase", exact=True).click()
    dialog = page.get_by_role("dialog", name="Erase this conversation?")
    expect(dialog).to_contain_text("Removed: turns (2), notes made from them (1).")
    dialog.get_by_role("button", name="Cancel").click()
    assert talk.event(said.hash) == said
    page.get_by_role("button", name="Erase", exact=True).click()
    dialog.get_by_role("button", name="Erase", exact=True).click()
    expect(page.get_by_role("dialog", name="Erased")).to_contain_text("reasons (1)")
    page.get_by_role("button", name="Done").click()
    expect(page.locator("main")).not_to_contain_text("zqharbour")
    assert talk.event(said.hash).content == ""
    assert not any("zqharbour" in str(one) for one in memory.changes(limit=1000))


def test_a_turn_is_erased_after_a_confirmation_that_shows_the_dry_run(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    talk = memory.conversations.start(chat_id="slip")
    talk.user("Where is the key?")
    pasted = talk.user("The password is zqhunterbb.")
    talk.assistant("Thank you, noted.")
    talk.end()
    page = visit(server, f"#/conversations/{talk.ref_code}")
    turn = page.locator(f'[data-seq="{pasted.seq}"]')
    turn.hover()
    turn.get_by_role("button", name="Erase this turn").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Removed: turns (1)")
    expect(dialog).to_contain_text("Rebuilt without it: chunks (1), hand-offs (1), closing summary (1).")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert talk.event(pasted.hash) == pasted
    turn.hover()
    turn.get_by_role("button", name="Erase this turn").click()
    dialog.get_by_role("button", name="Erase", exact=True).click()
    expect(page.get_by_role("dialog", name="Erased")).to_contain_text("out of reach")
    page.get_by_role("button", name="Done").click()
    expect(turn).to_contain_text("Erased")
    expect(page.locator("main")).not_to_contain_text("zqhunterbb")
    assert talk.event(pasted.hash).content == ""
