"""What holds and what held, in the browser."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect
from surfaces.server import Server

import recollect

Visit = Callable[..., Page]


def test_a_note_is_replaced_found_as_past_and_made_to_hold_again(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    old = memory.remember("Deploys are on Tuesdays", name="deploy day", origin="user")
    page = visit(server, f"#/memory/{old.id}")
    facts = page.locator(".facts")
    expect(facts).to_contain_text("user")
    page.get_by_role("button", name="Replace…").click()
    page.get_by_label("Text that is valid from now on").fill("Deploys are on Wednesdays")
    page.get_by_role("button", name="Replace", exact=True).click()
    expect(page.locator("article .content")).to_contain_text("Deploys are on Wednesdays")
    expect(facts).to_contain_text("Valid from")
    assert memory.get(old.id).superseded_by == memory.get("deploy day").id
    rows = page.locator(".entry-row")
    expect(rows).to_have_count(1)
    page.goto(f"{server.url}/#/memory?past=1")
    expect(rows).to_have_count(2)
    row = rows.filter(has_text="Superseded")
    expect(row).to_contain_text("Tuesdays")
    row.click()
    expect(facts).to_contain_text("superseded by this entry")
    expect(facts).to_contain_text("Was valid until")
    page.get_by_role("button", name="Make it valid again").click()
    expect(page.get_by_role("button", name="Replace…")).to_be_visible()
    assert [entry.content for entry in memory.list()] == ["Deploys are on Tuesdays"]


def test_a_note_is_retracted(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Deploys are on Tuesdays", name="deploy day")
    page = visit(server, "#/memory/deploy day")
    page.get_by_role("button", name="Retract").click()
    expect(page.locator(".facts")).to_contain_text("retracted")
    assert memory.list() == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Retract")).to_be_visible()
    assert [entry.content for entry in memory.list()] == ["Deploys are on Tuesdays"]


def test_a_note_retracted_far_down_leaves_the_list_of_what_holds(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember_many([recollect.Add(f"Entry number {number}.") for number in range(60)])
    page = visit(server)
    page.locator(".entry-row").first.focus()
    for _ in range(30):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    place = page.evaluate("document.querySelector('.endless').scrollTop")
    page.get_by_role("button", name="Retract").click()
    expect(page.locator(".facts")).to_contain_text("retracted")
    expect(page.locator(".entry-row", has_text="Entry number 29.")).to_have_count(0)
    assert page.evaluate("document.querySelector('.endless').scrollTop") == place > 0
