"""The graph of notes: drawn, walked by keyboard, and the same as a list."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect
from surfaces.server import Server

Visit = Callable[..., Page]

SPOKES = ("tram", "ferry", "bus", "train")


def linked(server: Server) -> None:
    memory = server.home.agent("default")
    memory.remember("Lisbon, third floor.", name="office")
    for name in SPOKES:
        memory.remember(f"The {name} passes the [[office]].", name=name)


def test_the_keyboard_walks_along_connections_and_opens_a_note(server: Server, visit: Visit) -> None:
    linked(server)
    page = visit(server, "#/graph")
    page.locator("canvas[data-laid]").wait_for()
    page.locator("canvas").focus()
    about = page.locator(".graph-about > p a")
    expect(about).to_have_text("office")  # the note with the most connections comes first
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        if about.text_content() != "office":
            break
    chosen = about.text_content()
    assert chosen in SPOKES
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").get_by_role("heading", level=1)).to_have_text(chosen)


def test_the_list_has_the_same_connections(server: Server, visit: Visit) -> None:
    linked(server)
    page = visit(server, "#/graph?as=list")
    first = page.locator(".graph-list > li").first
    expect(first.locator("> a")).to_have_text("office")
    expect(first.locator("summary")).to_have_text("4 connections")
    first.locator("summary").click()
    expect(first.get_by_role("link", name="tram")).to_be_visible()
    page.get_by_role("button", name="link", exact=True).click()  # hide links
    expect(first.locator("summary")).not_to_have_text("4 connections")


def test_an_empty_memory_has_an_empty_graph(server: Server, visit: Visit) -> None:
    page = visit(server, "#/graph")
    expect(page.get_by_text("Nothing is stored yet.")).to_be_visible()


def test_the_list_is_shown_if_the_layout_cannot_be_loaded(server: Server, visit: Visit) -> None:
    linked(server)
    path = "**/static/graph_layout.js"
    page = visit(
        server,
        "#/graph",
        allowed=("ERR_", "Failed"),
        prepare=lambda page: page.route(path, lambda route: route.abort()),
    )
    expect(page.locator(".graph-list > li").first).to_contain_text("office")
