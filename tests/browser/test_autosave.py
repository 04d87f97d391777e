"""The script that saves the talk of a chat page: now and then, at its end, from another origin, when it is long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route
from surfaces.server import Server, settings

import recollect

Serve = Callable[..., Server]
Visit = Callable[..., Page]
Talk = list[dict[str, Any]]

HTML = '<!doctype html><title>chat</title><script crossorigin src="{}/static/autosave.js"></script>'
"""A chat page that includes the script as the documentation says."""
TALK: Talk = [
    {"role": "user", "text": "Which port?"},
    {"role": "agent", "text": "We decided to use port 8080 for the shop."},
    {"role": "agent", "text": "a thought of the machinery", "internal": True},
]
BEGIN = """([talk, more]) => {
    window.talk = talk;
    window.calls = [];
    window.saving = recollect.autosave({
        agentId: "ana", chatId: "chat-7", modelId: "m", messages: () => window.talk,
        saved: () => window.calls.push("saved"), failed: (error) => window.calls.push(String(error)), ...more,
    });
}"""

GONE = "() => { window.fetch = () => Promise.reject(new Error('the page is gone')); }"
"""Only what outlives the page gets through. When a real page goes, other requests may or may not."""


class ChatPage(BaseHTTPRequestHandler):
    """Answers with a chat page for the server that the query names."""

    def do_GET(self) -> None:
        body = HTML.format(self.path.partition("?")[2]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: object) -> None:
        """Nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The origin of chat pages that are not the server's."""
    with ThreadingHTTPServer(("127.0.0.1", 0), ChatPage) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://localhost:{running.server_port}"
        running.shutdown()
        thread.join()


def opened(server: Server, visit: Visit, origin: str | None = None, *, allowed: tuple[str, ...] = ()) -> Page:
    """A chat page, of the server's own origin or of another one."""
    page = visit(server, "healthz", allowed=("404", *allowed))  # there is no icon
    page.route("**/chat.html", lambda route: route.fulfill(body=HTML.format(server.url), content_type="text/html"))
    page.clock.install()
    page.goto(f"{server.url}/chat.html" if origin is None else f"{origin}/?{server.url}")
    return page


def chat(server: Server, visit: Visit, talk: Talk = TALK, origin: str | None = None, **more: Any) -> Page:
    """A chat page that has saved its talk."""
    page = opened(server, visit, origin)
    page.evaluate(BEGIN, [talk, more])
    page.evaluate("() => window.saving.save()")
    return page


def leave(page: Page, server: Server, until: Callable[[], bool]) -> None:
    """Go to another page, and poll for what the first one sent, because its arrival is not announced."""
    page.goto(f"{server.url}/healthz")
    for _ in range(500):
        if until():
            break
        page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")


def said(server: Server) -> list[str]:
    conversations = server.home.agent("ana").conversations
    events = [event for info in conversations.list() for event in conversations.get(info.id).events()]
    return [event.content for event in events if event.content]


def numbered(count: int, *, size: int = 2_000) -> Talk:
    """Many long messages, among them some that are the same."""
    texts = [f"message {number} " + "y" * size if number % 5 else "ok" for number in range(count)]
    return [{"role": "agent" if number % 2 else "user", "text": text} for number, text in enumerate(texts)]


def test_a_chat_page_saves_its_talk_at_once_and_every_thirty_seconds(server: Server, visit: Visit) -> None:
    page = opened(server, visit)
    with page.expect_response("**/api/memory/checkpoint"):
        page.evaluate(BEGIN, [TALK, {}])
    assert said(server) == ["Which port?", "We decided to use port 8080 for the shop."]
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.clock.run_for(60_000)  # nothing new was said
    page.evaluate("() => window.talk.push({ role: 'user', text: 'Thank you.' })")
    with page.expect_response("**/api/memory/checkpoint"):
        page.clock.run_for(30_000)
    assert len(sent) == 1
    assert said(server)[2:] == ["Thank you."]
    back = page.evaluate("() => window.saving.recover()")
    assert [one["text"] for one in back["messages"]][-1] == "Thank you."


def test_a_save_without_an_answer_is_reported_and_does_not_block_others(server: Server, visit: Visit) -> None:
    page, held = opened(server, visit), list[Route]()
    page.route("**/api/memory/checkpoint", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/api/memory/checkpoint"):
        page.evaluate(BEGIN, [TALK, {}])
    page.evaluate("() => window.talk.push({ role: 'user', text: 'Thank you.' })")
    with page.expect_response("**/api/memory/checkpoint"):
        page.clock.run_for(31_000)
    page.wait_for_function("() => window.calls.length > 1")
    assert page.evaluate("() => window.calls") == ["Error: the server does not answer", "saved"]
    assert said(server)[-1] == "Thank you."


def test_a_chat_page_that_goes_away_saves_what_is_new(server: Server, visit: Visit) -> None:
    page = chat(server, visit)
    page.evaluate("() => window.talk.push({ role: 'user', text: 'Thank you.' })")
    leave(page, server, lambda: len(said(server)) == 3)
    assert said(server) == ["Which port?", "We decided to use port 8080 for the shop.", "Thank you."]
    assert server.home.agent("ana").list() == []  # no hand-off: the talk may go on


def test_closing_the_talk_leaves_a_hand_off_and_its_decisions(server: Server, visit: Visit) -> None:
    page = chat(server, visit)
    page.evaluate("() => Promise.all([window.saving.close(), window.saving.close()])")  # as after a double click
    kept = {entry.category: entry for entry in server.home.agent("ana").list() if entry.category}
    assert kept["handoffs"].content.splitlines()[0] == "[User]: Which port?"
    assert {"auto-handoff", "session-close"} <= set(kept["handoffs"].tags)
    assert "8080" in kept["decisions"].content
    assert {"auto-extract", "session-close"} <= set(kept["decisions"].tags)
    assert "machinery" not in " ".join(said(server))
    assert len(server.home.agent("ana").conversations.list()) == 1


def test_closing_a_talk_that_was_set_idle_elsewhere_tells_that_there_is_no_hand_off(
    server: Server, visit: Visit
) -> None:
    page = chat(server, visit)
    conversations = server.home.agent("ana").conversations
    conversations.get(conversations.list()[0].id).idle()
    received = page.evaluate("() => window.saving.close().then(() => 'closed', String)")
    assert "without a hand-off" in received
    assert server.home.agent("ana").list() == []


def test_of_a_message_only_what_was_said_is_saved(server: Server, visit: Visit) -> None:
    talk: Talk = [
        {"role": "system", "content": "a prompt"},
        {"role": "developer", "content": "a secret prompt"},
        {"role": "user", "content": [{"type": "text", "text": "Two"}, {"type": "image_url"}, "parts"]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "function", "content": "a result"},
        {"role": "tool", "content": "a result"},
        {"role": "constructor", "content": "nobody"},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "text": "Hm."}, {"type": "output_text", "text": "Yes."}],
        },
        {"role": "user", "text": {"not": "a text"}},
    ]
    chat(server, visit, talk)
    assert said(server) == ["Two\nparts", "Yes."]


@pytest.mark.parametrize("tokens", [False, True])
def test_a_page_of_another_origin_saves_closes_and_recovers(
    tmp_path: Path, serve: Serve, visit: Visit, elsewhere: str, tokens: bool
) -> None:
    chosen = settings(origins=elsewhere, require_token=tokens)
    home = recollect.open(tmp_path / "memory.db")
    server = serve(home, chosen)
    token = home.tokens.create("page", right="write")[1] if tokens else None
    page = chat(server, visit, origin=elsewhere, token=token)
    assert page.evaluate("() => [window.origin, ...window.calls]") == [elsewhere, "saved"]
    assert page.evaluate("() => window.saving.recover()")["chatId"] == "chat-7"
    page.evaluate("() => window.talk.push({ role: 'user', text: 'Thank you.' })")
    leave(page, server, lambda: len(said(server)) == 3)
    assert said(server)[2:] == ["Thank you."]
    page = chat(server, visit, [*TALK, {"role": "user", "text": "Bye."}], origin=elsewhere, token=token)
    page.evaluate("() => window.saving.close()")
    assert "handoffs" in {entry.category for entry in home.agent("ana").list()}


def test_a_page_of_an_origin_that_is_not_listed_does_not_get_the_script(
    server: Server, visit: Visit, elsewhere: str
) -> None:
    page = opened(server, visit, elsewhere, allowed=("CORS", "ERR_FAILED"))
    assert page.evaluate("() => [window.origin, typeof recollect]") == [elsewhere, "undefined"]


def test_a_long_talk_is_saved_in_order_and_once_however_often_the_page_goes_away(server: Server, visit: Visit) -> None:
    talk = numbered(90)
    texts = [one["text"] for one in talk]
    page = chat(server, visit, talk[:41])  # the last one of these was said before, too
    assert said(server) == texts[:41]
    page.evaluate(GONE)
    page.evaluate("(talk) => { window.talk = talk; }", talk)
    leave(page, server, lambda: len(said(server)) > 41)
    kept = said(server)
    assert 60 < len(kept) < 90  # what a page can send when it goes is limited
    assert kept == texts[: len(kept)]
    chat(server, visit, [*talk, {"role": "user", "text": "next day"}])
    assert said(server) == [*texts, "next day"]


def test_an_answer_that_grew_after_it_was_saved_is_saved_again_and_nothing_else(server: Server, visit: Visit) -> None:
    talk = numbered(90)
    texts = [one["text"] for one in talk]
    page = chat(server, visit, [*talk[:39], {"role": "agent", "text": "mess"}])
    page.evaluate(GONE)
    page.evaluate("(talk) => { window.talk = talk; }", talk)
    leave(page, server, lambda: len(said(server)) > 40)
    chat(server, visit, talk)
    assert said(server) == [*texts[:39], "mess", *texts[39:]]


def test_a_message_that_is_too_long_for_the_end_of_a_page_does_not_keep_those_before_it_away(
    server: Server, visit: Visit
) -> None:
    page = chat(server, visit, [])
    page.evaluate(GONE)
    page.evaluate("(talk) => { window.talk = talk; }", [*TALK, {"role": "agent", "text": "é" * 35_000}])
    leave(page, server, lambda: bool(said(server)))
    assert said(server) == ["Which port?", "We decided to use port 8080 for the shop."]


def test_a_page_that_is_merely_hidden_saves_also_what_is_too_long_for_its_end(server: Server, visit: Visit) -> None:
    page = chat(server, visit, [])
    page.evaluate("(talk) => { window.talk = talk; }", [*TALK, {"role": "agent", "text": "é" * 35_000}])
    page.evaluate("""() => {
        Object.defineProperty(document, "visibilityState", { value: "hidden" });
        document.dispatchEvent(new Event("visibilitychange"));
        return window.saving.save();
    }""")
    assert said(server)[1:] == ["We decided to use port 8080 for the shop.", "é" * 35_000]
