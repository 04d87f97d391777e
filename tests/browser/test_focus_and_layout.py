"""The focus when a part is redrawn; the layout with long words, dates, low screens and other scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from surfaces.server import Server

import recollect

Visit = Callable[..., Page]

LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")
RIGHT_TO_LEFT = """(node) => {
    const text = document.createTreeWalker(node, NodeFilter.SHOW_TEXT).nextNode(), one = document.createRange();
    const [first, last] = [0, text.length - 1].map((at) => {
        one.setStart(text, at);
        one.setEnd(text, at + 1);
        return one.getBoundingClientRect().left;
    });
    return first > last && first > node.getBoundingClientRect().left + node.getBoundingClientRect().width / 2;
}"""
"""Whether a text of one line begins at the right."""
CUT_OFF = """(all) => all.filter((one) => {
    const style = getComputedStyle(one), probe = document.createElement("span");
    probe.textContent = one.selectedOptions?.[0].text ?? (one.value || one.placeholder);
    for (const key of ["fontFamily", "fontSize", "letterSpacing"]) probe.style[key] = style[key];
    document.body.append(probe);
    probe.style.position = "absolute";
    const needed = probe.getBoundingClientRect().width + (one.matches("select") ? 12 : 0); // the arrow of a select
    probe.remove();
    return needed > one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + 1;
}).map((one) => one.ariaLabel)"""
"""The labels of the controls whose text is wider than they are; the `scrollWidth` of a control may not say so."""


def test_the_focus_stays_in_upkeep_while_it_is_redrawn(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    for text in ("The harbour opens at eight in the morning", "the harbour opens at eight in the morning"):
        memory.remember(text, importance=0.001, lifetime="short_term", at="2024-01-01T00:00:00Z")
    page = visit(server, "#/upkeep")
    run = page.get_by_role("button", name="Run consolidate")
    run.press("Enter")
    expect(page.locator(".runs li").first).to_contain_text("consolidate")
    expect(run).to_be_focused()
    page.locator(".runs summary").first.press("Enter")
    page.get_by_role("button", name="Undo this run").press("Enter")
    expect(page.locator(".runs li").first).to_contain_text("undone")
    expect(page.get_by_role("heading", name="Results of runs")).to_be_focused()
    page.get_by_role("button", name="Check now").press("Enter")
    expect(page.get_by_text("No problems found")).to_be_visible()
    expect(page.get_by_role("button", name="Check again")).to_be_focused()


def test_the_focus_and_what_was_unfolded_stay_in_the_context(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/context?command=refund")
    page.get_by_text("The block as text").press("Enter")
    block = page.locator(".raw pre")
    expect(block).to_contain_text("## MEMORY CONTEXT")
    copy = page.get_by_role("button", name="Copy the block")
    copy.focus()
    demo.home.agent("default").remember("Refunds above 500 EUR need two people.", category="decisions")
    expect(page.locator(".card", has_text="need two people")).to_be_visible()
    expect(block).to_be_visible()
    expect(copy).to_be_focused()


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_no_filter_is_cut_off_whatever_the_font(demo: Server, visit: Visit, locale: str) -> None:
    page = visit(demo, locale=locale)
    expect(page.locator(".entry-row").first).to_be_visible()
    filters = page.locator("#filters > :is(select, input)")
    expect(filters).to_have_count(6)
    for spacing in ("0", "1px", "3px"):  # the same words in wider and wider fonts
        filters.evaluate_all("(all, spacing) => all.forEach((one) => { one.style.letterSpacing = spacing; })", spacing)
        assert (spacing, filters.evaluate_all(CUT_OFF)) == (spacing, [])
        assert page.locator("#filters").evaluate("node => node.scrollWidth <= node.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_machinery_and_the_edges_of_controls_can_be_seen(demo: Server, visit: Visit, scheme: str) -> None:
    talk = demo.home.agent("default").conversations.start(chat_id="seen")
    talk.user("Which port?")
    talk.assistant("a thought of the machinery", internal=True)
    page = visit(demo, f"#/conversations/{talk.ref_code}", color_scheme=scheme, reduced_motion="reduce")
    expect(page.get_by_text("a thought of the machinery")).to_be_visible()
    expect(page.locator(".entry-row").first).to_be_visible()
    assert page.evaluate(LOOK) == {"poor": [], "nameless": [], "edgeless": [], "misbuilt": []}


def test_words_without_an_end_and_dates_have_room(server: Server, visit: Visit) -> None:
    memory, long = server.home.agent("default"), "x" * 200
    memory.remember("Short.", name=f"n{long}", tags=[long[:64]], source=long)
    talk = memory.conversations.start(chat_id=long)
    talk.assistant("", tool_calls=[{"id": "c", "name": long, "arguments": "{}"}], speaker=long)
    page = visit(server, "#/memory?since=2024-01-01")
    expect(page.get_by_label("From")).to_have_value("2024-01-01")
    for label in ("From", "To"):
        assert page.get_by_label(label, exact=True).evaluate("node => node.offsetWidth") >= 120
    detail = page.locator(".detail")
    page.locator(".entry-row").click()
    expect(page.get_by_role("heading", name="Weight over time")).to_be_visible()
    assert detail.evaluate("node => node.scrollWidth - node.clientWidth") == 0
    page.goto(f"{server.url}/#/conversations/{talk.ref_code}")
    expect(page.get_by_text("Called")).to_be_visible()
    assert detail.evaluate("node => node.scrollWidth - node.clientWidth") == 0


def test_on_a_low_screen_the_list_takes_the_room_of_what_stands_above_it(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember_many([recollect.Add(f"Entry number {number}.") for number in range(30)])
    page = visit(server, viewport={"width": 640, "height": 400})
    rows, list_ = page.locator(".entry-row"), page.locator(".endless")
    expect(rows.first).to_be_visible()
    list_.hover(position={"x": 100, "y": 20})
    page.mouse.wheel(0, 98)
    expect(rows.filter(has_text="Entry number 26.")).to_be_in_viewport(ratio=0.9)
    expect(page.get_by_label("Search the memory")).not_to_be_in_viewport()
    list_.evaluate("node => node.scrollTop = 0")
    expect(page.get_by_label("Search the memory")).to_be_in_viewport()
    page.keyboard.press("j")
    expect(rows.first).to_be_focused()
    expect(rows.nth(1)).to_be_in_viewport(ratio=0.9)
    page.keyboard.press("/")
    expect(page.get_by_label("Search the memory")).to_be_in_viewport()


def test_what_is_written_from_right_to_left_is_shown_so(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("אנחנו פורסים בימי שלישי.", name="יום הפריסה")
    memory.reminders.add("1d", "להתקשר למוביל!")
    talk = memory.conversations.start(chat_id="שיחה ראשונה")
    talk.user("מה שלומך היום?", speaker="אנה")
    page = visit(server)
    row = page.locator(".entry-row")
    for part in (row.locator(".title"), row.locator(".snippet")):
        assert part.evaluate(RIGHT_TO_LEFT)
    row.click()
    assert page.locator(".content p").evaluate(RIGHT_TO_LEFT)
    page.goto(f"{server.url}/#/conversations/{talk.ref_code}")
    for part in (page.locator(".said p").last, page.locator(".detail h1"), page.locator(".entry-row .title")):
        assert part.evaluate(RIGHT_TO_LEFT)
    page.goto(f"{server.url}/#/reminders")
    assert page.locator(".message").evaluate(RIGHT_TO_LEFT)
    page.goto(f"{server.url}/#/context?command=פריסה")
    assert page.get_by_label("What is the agent about to do?").evaluate(
        "node => getComputedStyle(node).unicodeBidi === 'plaintext'"
    )


def test_a_link_of_the_toolbar_keeps_its_focus_and_its_mark_when_a_workspace_appears(
    tmp_path: Path, serve: Callable[..., Server], visit: Visit
) -> None:
    home = recollect.open(tmp_path / "home")
    home.agent("default").remember("The ferry leaves at eight.")
    page = visit(serve(home))
    link = page.get_by_role("navigation", name="Views").get_by_role("link", name="Memory")
    link.focus()
    home.agent("default", "garden").remember("Water the herbs.")
    page.get_by_label("Agent", exact=True).hover()
    expect(page.get_by_label("Workspace", exact=True)).to_be_visible()
    expect(link).to_be_focused()
    expect(link).to_have_attribute("aria-current", "page")
