"""The timeline: items and counts on one axis, zoomed and moved by keyboard, mouse and buttons; and as a table."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from surfaces.server import Server

from recollect import Add

Visit = Callable[..., Page]

DAY = 86_400_000


def test_items_lead_to_what_they_stand_for_and_a_successor_is_a_step_away(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("The office is in Lisbon.", name="office")
    memory.supersede("office", "The office is in Porto.")
    memory.conversations.start().user("Where is the office?")
    page = visit(server, "#/timeline")
    expect(page.locator(".timeline .item")).to_have_count(3)
    expect(page.locator(".timeline .step")).to_have_count(1)
    expect(page.get_by_role("status").first).to_contain_text("2 notes and 1 conversation")
    page.locator(".timeline .item.conversation").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Where is the office?")


def test_the_keyboard_zooms_and_moves_and_the_address_keeps_the_span(demo: Server, visit: Visit) -> None:
    page = visit(demo, "#/timeline")
    expect(page.locator(".timeline")).to_be_visible()

    def span() -> tuple[int, int]:
        page.wait_for_url(re.compile("from="))
        found = re.search(r"from=(\d+)&to=(\d+)", page.url)
        assert found
        return int(found[1]), int(found[2])

    page.keyboard.press("+")
    first = span()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: f"from={first[0]}" not in url)
    second = span()
    assert second[0] > first[0]
    assert second[1] - second[0] == first[1] - first[0]
    page.keyboard.press("-")
    page.wait_for_url(lambda url: f"from={second[0]}" not in url)
    assert span()[1] - span()[0] == 2 * (second[1] - second[0])
    page.keyboard.press("0")
    page.wait_for_url(lambda url: "from=" not in url)


def test_many_items_are_counted_and_the_table_zooms_into_a_bucket(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember_many([note(number) for number in range(200)])
    page = visit(server, "#/timeline?as=table")
    expect(page.get_by_role("columnheader", name="Notes")).to_be_visible()
    expect(page.get_by_role("cell", name="200", exact=True)).to_be_visible()
    page.get_by_role("button", name="As a picture").click()
    expect(page.locator(".timeline .bucket")).to_have_count(1)
    assert page.locator(".timeline .item").count() == 0


def note(number: int) -> Add:
    return Add(content=f"Delivery {number * 7919} came in crate {number}.")
