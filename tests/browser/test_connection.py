"""The line to the server: live changes, a slow line, a lost one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Error, Page, Route, expect
from surfaces.command import Command
from surfaces.server import Server

import recollect

Serve = Callable[..., Server]
Visit = Callable[..., Page]


def test_what_another_process_writes_appears_without_reloading(server: Server, visit: Visit, tmp_path: Path) -> None:
    server.home.agent("default").remember("The first one.", name="first")
    page = visit(server, "#/memory/first")
    expect(page.locator(".content")).to_have_text("The first one.")
    other = Command(tmp_path)
    other("--home", str(tmp_path / "memory.db"), "remember", "Written by another process.")
    expect(page.locator(".entry-row").first).to_contain_text("Written by another process.")
    other("--home", str(tmp_path / "memory.db"), "note", "write", "first", "Changed by another process.")
    expect(page.locator(".content")).to_have_text("Changed by another process.")


def test_what_another_process_does_to_the_account_appears_without_reloading(
    tmp_path: Path, serve: Serve, visit: Visit
) -> None:
    where = tmp_path / "home"  # the account has a file of its own there
    home = recollect.open(where)
    server = serve(home)
    with recollect.open(where) as elsewhere:
        home.agent("default").remember("Short answers.", name="style", scope="account")
        page = visit(server, "#/memory/style")
        expect(page.locator(".content")).to_have_text("Short answers.")
        other = elsewhere.agent("default")
        other.apply(recollect.Write("style", "Long answers."))
        expect(page.locator(".content")).to_have_text("Long answers.")
        other.remember("Tea, no coffee.", scope="account")
        expect(page.locator(".entry-row").first).to_contain_text("Tea, no coffee.")


def test_what_is_written_before_the_feed_begins_is_not_missed(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Short answers.", name="style")
    held: list[Route] = []
    page = visit(
        server, "#/memory/style", prepare=lambda page: page.route("**/v1/feed*", lambda route: held.append(route))
    )
    expect(page.locator(".content")).to_have_text("Short answers.")  # although there is no feed yet
    memory.apply(recollect.Write("style", "Long answers."))
    held[0].continue_()
    expect(page.locator(".content")).to_have_text("Long answers.")


def test_nothing_is_read_before_the_feed_has_begun(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Short answers.", name="style")
    asked: list[str] = []

    def listen(page: Page) -> None:
        page.on("response", lambda one: asked.append(one.url) if "/v1/feed" in one.url else None)
        page.on("request", lambda one: asked.append(one.url) if "/v1/entries" in one.url else None)
        page.clock.install(time=0)
        page.clock.pause_at(1_000)  # so that no patience ends here, however slow the machine is

    page = visit(server, "#/memory/style", prepare=listen)
    expect(page.locator(".content")).to_have_text("Short answers.")
    assert "/v1/feed?" in asked[0]
    assert sum("/v1/entries/style?" in one for one in asked) == 1, asked


def test_what_changes_while_one_reads_further_down_does_not_move_the_list(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember_many([recollect.Add(f"Entry number {number}.") for number in range(60)])
    page = visit(server)
    expect(page.get_by_text("60 entries")).to_be_visible()
    page.locator(".endless").evaluate("node => node.scrollTop = 2000")
    expect(page.locator(".entry-row", has_text="Entry number 38.")).to_be_visible()
    memory.remember("A new one.")
    page.get_by_role("button", name="New changes: show them").click()
    expect(page.locator(".entry-row").first).to_contain_text("A new one.")


def test_an_answer_that_comes_too_late_does_not_replace_a_newer_one(demo: Server, visit: Visit) -> None:
    page = visit(demo)
    held: list[Route] = []

    def slow(route: Route) -> None:
        if '"web"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/recall*", slow)
    search = page.get_by_label("Search the memory")
    with page.expect_request("**/v1/recall*"):
        search.fill("web")
    search.fill("webhooks")
    expect(page.locator(".entry-row").first).to_contain_text("webhooks come twice")
    assert len(held) == 1
    with suppress(Error):  # the page has given it up
        held[0].fulfill(json=[])
    page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")
    expect(page.locator(".entry-row").first).to_contain_text("webhooks come twice")
    expect(page.locator(".count")).to_contain_text("result")


class Line(NamedTuple):
    """An address, and what can be done to the line behind it."""

    url: str
    cut: Callable[[], None]
    """It ends, as both sides notice."""
    stall: Callable[[], None]
    """Drop everything in both directions without closing the connection."""
    mend: Callable[[], None]


@contextmanager
def stopping_line(server: Server) -> Iterator[Line]:
    """An address in front of a server whose line can be cut, stalled and mended."""
    listening = socket.create_server(("127.0.0.1", 0))
    target = ("127.0.0.1", int(server.url.rsplit(":", 1)[1]))
    open_, cut, flowing = set[socket.socket](), threading.Event(), threading.Event()
    flowing.set()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while block := source.recv(65_536):
                flowing.wait()
                sink.sendall(block)
        except OSError:
            pass
        for end in (source, sink):
            close(end)

    def close(end: socket.socket) -> None:
        open_.discard(end)
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()

    def accept() -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            if cut.is_set():
                near.close()
                continue
            far = socket.create_connection(target)
            open_.update((near, far))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()

    def cut_it() -> None:
        cut.set()
        for end in list(open_):
            close(end)

    def mend() -> None:
        cut.clear()
        flowing.set()

    try:
        yield Line(f"http://127.0.0.1:{listening.getsockname()[1]}", cut_it, flowing.clear, mend)
    finally:
        cut_it()
        flowing.set()
        listening.close()


def test_a_lost_connection_is_reported_and_missed_changes_appear_when_it_is_back(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Before.", name="before")
    with stopping_line(server) as line:
        page = visit(Server(line.url, server.home, server.client), allowed=("ERR_", "Failed to load"))
        expect(page.locator(".entry-row")).to_have_count(1)
        expect(page.get_by_role("img", name="Connected: changes appear as they happen")).to_be_visible()
        line.cut()
        expect(page.get_by_text("No connection to the server.")).to_be_visible()
        memory.remember("Written while the line was cut.")
        page.get_by_label("Search the memory").fill("before")
        expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
        page.get_by_label("Search the memory").fill("")
        line.mend()
        expect(page.get_by_text("Connected again.")).to_be_visible(timeout=15_000)
        expect(page.locator(".entry-row").first).to_contain_text("Written while the line was cut.")
        expect(page.get_by_text("No connection to the server.")).to_be_hidden()


def test_a_connection_that_dies_silently_is_reported_and_opened_again(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember("Before.", name="before")
    with stopping_line(server) as line:
        page = visit(Server(line.url, server.home, server.client), allowed=("ERR_", "Failed to load"))
        page.clock.install()
        page.reload()
        rows, search = page.locator(".entry-row"), page.get_by_label("Search the memory")
        expect(rows).to_have_count(1)
        memory.remember("Stored.")
        expect(rows).to_have_count(2)
        line.stall()
        memory.remember("Written while nothing came through.")
        page.clock.fast_forward(41_000)
        expect(page.get_by_text("No connection to the server.")).to_be_visible()
        with page.expect_request("**/v1/recall*"):
            search.fill("before")
        page.clock.fast_forward(31_000)
        expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
        search.fill("")
        line.mend()
        expect(page.get_by_text("No connection to the server.")).to_be_hidden()
        expect(rows.first).to_contain_text("Written while nothing came through.")
        expect(page.get_by_role("img", name="Connected: changes appear as they happen")).to_be_visible()


def test_what_could_not_be_saved_is_not_promised_and_the_dot_says_how_the_line_is(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Short answers.", name="style")
    server.home.agent("bob").remember("Of bob.")
    page = visit(server, allowed=("ERR_FAILED",))
    expect(page.locator(".entry-row")).to_have_count(1)
    feeds: list[Route] = []
    page.route("**/v1/feed*", lambda route: feeds.append(route))  # so that nothing says that the line is there
    page.goto(f"{server.url}/#/memory/style")
    page.reload()
    page.get_by_role("button", name="Edit").click()
    text = page.get_by_label("Text", exact=True)
    text.fill("Long answers.")
    page.route("**/v1/entries/*", lambda route: route.abort() if route.request.method == "PATCH" else route.fallback())
    text.press("Control+Enter")
    problem = page.get_by_role("alert").filter(has_text="the change was probably not made")
    expect(problem).to_be_visible()
    dot = page.locator("#live")
    expect(dot).to_have_accessible_name("No connection: the data shown may be out of date")
    page.get_by_label("Agent").select_option("bob")
    expect(page.locator(".entry-row")).to_contain_text("Of bob.")
    expect(dot).to_have_accessible_name("No connection: the data shown may be out of date")
    page.go_back()
    page.get_by_role("button", name="Edit").click()
    expect(text).to_have_value("Long answers.")
    text.press("Control+Enter")
    expect(problem).to_be_visible()
    page.unroute("**/v1/entries/*")
    feeds[-1].continue_()
    expect(dot).to_have_accessible_name("Connected: changes appear as they happen")
    expect(problem).to_be_hidden()
    text.press("Control+Enter")
    expect(page.locator(".content")).to_have_text("Long answers.")
