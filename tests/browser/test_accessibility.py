"""Accessibility of the page: keyboard, small screens, dark theme and screen readers; names, focus and contrast."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from surfaces.server import Server

Visit = Callable[..., Page]

VIEWS = [
    *(
        "#/overview",
        "#/overview/changes?since=1000",
        "#/memory?q=deploy",
        "#/memory/web%20shop",
        "#/memory/deploy%20day",
        "#/memory/entry/new",
        "#/memory?in=trash",
    ),
    *("#/memory?agent=nobody", "#/conversations", "#/review", "#/context?command=refund&budget=150", "#/reminders"),
    *("#/timeline", "#/timeline?as=table", "#/graph", "#/graph?as=list", "#/upkeep"),
]
LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")
"""Finds texts that stand out too little, controls without a name or an edge, and misleading structure."""
CUT_OFF = """() => [...document.querySelectorAll("main :is(a, button, input, select, svg, section, h1, h2)")]
    .filter((node) => node.checkVisibility() && !node.closest(".chips, .scrolls, pre"))
    .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
    .map((node) => `${node.tagName}.${node.className} ${node.textContent.slice(0, 30)}`)"""
"""Finds what reaches beyond the right edge and cannot be scrolled to."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_and_every_control_has_a_name(demo: Server, visit: Visit, scheme: str) -> None:
    page = visit(demo, color_scheme=scheme, reduced_motion="reduce")
    for view in VIEWS:
        page.goto(f"{demo.url}/{view}")
        page.locator(".waiting").wait_for(state="hidden")
        expect(page.locator("main")).not_to_be_empty()
        assert (view, page.evaluate(LOOK)) == (view, {"poor": [], "nameless": [], "edgeless": [], "misbuilt": []})
        assert (view, page.evaluate("document.querySelectorAll('h1:not([hidden])').length")) == (view, 1)


def test_the_keyboard_alone_finds_corrects_and_takes_back(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    expect(page.locator(".entry-row").first).to_be_visible()
    press = page.keyboard.press
    press("/")
    expect(page.get_by_label("Search the memory")).to_be_focused()
    page.keyboard.type("refunds")
    expect(page.locator(".entry-row mark").first).to_have_text("refunds")
    press("ArrowDown")
    expect(page.locator(".entry-row").first).to_be_focused()
    press("j")
    expect(page.locator(".entry-row").nth(1)).to_be_focused()
    press("k")
    press("Enter")
    expect(page.get_by_role("article").get_by_role("heading", name="refunds")).to_be_focused()
    press("e")
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    press("Control+a")
    page.keyboard.type("Refunds take a week.")
    press("Control+Enter")
    expect(page.locator(".content")).to_have_text("Refunds take a week.")
    press("u")
    expect(page.locator(".content")).to_contain_text("within two days")
    press("Escape")
    expect(page.get_by_text("Choose an entry to read it.")).to_be_visible()
    press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press("n")
    expect(page.get_by_label("Name")).to_be_focused()
    press("Escape")
    press("g")
    press("c")
    expect(page.get_by_label("Search messages")).to_be_visible()
    assert page.get_by_role("link", name="Conversations").get_attribute("aria-current") == "page"


def test_the_focus_can_be_seen(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    expect(page.locator(".entry-row").first).to_be_visible()
    assert page.evaluate("[document.hasFocus(), document.activeElement.tagName]") == [True, "BODY"]
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to content")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_theme_can_be_chosen_and_stays(demo: Server, visit: Visit) -> None:
    page = visit(demo, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(ground) != light
    page.reload()
    expect(page.locator(".entry-row").first).to_be_visible()
    assert page.evaluate(ground) != light


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_on_a_small_phone_nothing_is_cut_off(demo: Server, visit: Visit, locale: str) -> None:
    page = visit(demo, locale=locale, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    for view in VIEWS:
        page.goto(f"{demo.url}/{view}")
        page.locator(".waiting").wait_for(state="hidden")
        assert (view, page.evaluate("document.documentElement.scrollWidth")) == (view, 320)
        assert (view, page.evaluate(CUT_OFF)) == (view, [])


def test_on_a_phone_one_thing_is_shown_at_a_time(demo: Server, visit: Visit) -> None:
    page = visit(demo, viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    page.locator(".entry-row", has_text="returns").first.tap()
    expect(page.get_by_role("article")).to_be_visible()
    expect(page.locator(".endless")).to_be_hidden()
    page.get_by_role("button", name="Back").tap()
    expect(page.locator(".endless")).to_be_visible()
    expect(page.get_by_label("Kind")).to_be_hidden()
    page.get_by_role("button", name="Filters").tap()
    expect(page.get_by_label("Kind")).to_be_visible()


def test_on_a_tablet_the_links_to_all_views_are_in_sight(demo: Server, visit: Visit) -> None:
    page = visit(demo, locale="pt-BR", viewport={"width": 1024, "height": 700})
    links = page.locator("#nav a")
    expect(links).to_have_count(9)
    for link in links.all():
        expect(link).to_be_in_viewport(ratio=1)


def test_the_selects_for_workspace_agent_and_language_have_visible_labels(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    for label in ("Agent", "Language"):
        expect(page.locator("#tools label", has_text=label)).to_be_visible()
        expect(page.get_by_label(label, exact=True)).to_be_visible()
