"""Content is never executed, the page may load nothing but itself, and nobody does more than their token allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, expect
from surfaces.server import Server, serving, settings

import recollect

Visit = Callable[..., Page]
Guarded = tuple[Server, str, str]

HOSTILE = """<script>window.hurt = 1; alert(1)</script>
<img src=x onerror="window.hurt = 1"> <svg onload="window.hurt = 1"><script>window.hurt = 1</script></svg>
<iframe src="javascript:window.hurt=1"></iframe> <a href="javascript:window.hurt=1">html link</a>

[a link](javascript:window.hurt=1) [tab](java\tscript:window.hurt=1) [upper](JAVASCRIPT:window.hurt=1)
[data](data:text/html,<script>window.hurt=1</script>) [vb](vbscript:x) [space]( javascript:window.hurt=1)
![image](javascript:window.hurt=1) ![image](https://tracker.example.org/pixel.png) [file](file:///etc/passwd)
<javascript:window.hurt=1> [entity](&#106;avascript:window.hurt=1) [quote](https://ok.example.org/"onmouseover="window.hurt=1)
[[<img src=x onerror=window.hurt=1>]] [[x|javascript:window.hurt=1]] `<b onclick=window.hurt=1>`

<style>body { display: none }</style><base href="https://evil.example.org/"><meta http-equiv="refresh" content="0;url=https://evil.example.org">
<form action="https://evil.example.org"><button>html button</button></form>

| <img src=x onerror=window.hurt=1> | [x](javascript:window.hurt=1) |
|---|---|
| <svg/onload=window.hurt=1> | **<script>window.hurt=1</script>** |
"""


def test_hostile_content_is_shown_and_never_run(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    memory.remember(
        HOSTILE,
        name='<img src=x onerror="window.hurt=1">',
        tags=["<svg/onload=alert(1)>"],
        context="<script>alert(1)</script>",
        source="<b>x",
    )
    memory.apply(recollect.Write('<img src=x onerror="window.hurt=1">', content=HOSTILE + "<script>alert(2)</script>"))
    talk = memory.conversations.start(chat_id="<img src=x onerror=window.hurt=1>")
    call = {"id": "c", "type": "function", "function": {"name": "<img src=x onerror=alert(1)>", "arguments": HOSTILE}}
    talk.assistant(HOSTILE, tool_calls=[call], speaker="<script>alert(1)</script>")
    talk.tool(HOSTILE, "c")
    talk.scratchpad["<img src=x onerror=alert(1)>"] = HOSTILE
    asked: list[str] = []
    page = visit(server, "#/memory?q=script")
    page.on("request", lambda request: asked.append(request.url))
    page.locator(".entry-row").first.click()
    content = page.locator(".content")
    expect(content).to_contain_text("<script>window.hurt = 1; alert(1)</script>")
    expect(page.locator(".diff")).to_contain_text("alert(2)")
    assert content.locator("script, img, svg, iframe, style, form, base, meta, button").count() == 0
    addresses = content.locator("a").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    assert [one for one in addresses if not one.startswith(("#/memory/", "https://"))] == []
    assert all(
        link == "noopener noreferrer"
        for link in content.locator("a[target]").evaluate_all("links => links.map((one) => one.rel)")
    )
    page.goto(f"{server.url}/#/conversations")
    page.locator(".entry-row").first.click()
    expect(page.locator(".transcript")).to_contain_text("html button")
    page.locator(".tool summary").first.click()
    page.goto(f"{server.url}/#/context?command=script")
    expect(page.locator(".result")).to_be_visible()
    page.goto(f"{server.url}/#/memory?scope=conversation")
    expect(page.locator(".entry-row").first).to_contain_text("Working Note")
    assert page.evaluate("window.hurt") is None
    assert [url for url in asked if not url.startswith(server.url)] == []


def test_markdown_that_would_take_forever_elsewhere_is_rendered_at_once(server: Server, visit: Visit) -> None:
    memory = server.home.agent("default")
    attacks = [
        *("*" * 10_000, "[" * 20_000, "_a" * 10_000, "`" * 19_999, "> " * 5_000, "[a](" * 5_000, "- " * 5_000),
        *("|" * 10_000, "**a " * 5_000, "[[" * 9_000, "\\" * 9_001, "~~x" * 5_000),
    ]
    memory.remember("\n\n".join(attacks) + "\n\nthe end", name="slow")
    page = visit(server, "#/memory/slow")
    expect(page.locator(".content")).to_contain_text("the end")


def test_every_file_has_strict_headers_and_is_asked_for_again_only_when_it_changed(server: Server) -> None:
    for path in ("/", "/static/app.js", "/static/style.css", "/static/views/memory.js", "/static/icon.svg"):
        answer = server.client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        again = server.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert server.client.get("/static/app.js").headers["content-type"] == "text/javascript; charset=utf-8"
    assert server.client.head("/").status_code == 200


def test_no_answer_may_be_taken_for_something_else_than_it_says(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(home: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(recollect.Home, "last_compaction", broken)
    paths = dict.fromkeys(("/v1/entries", "/healthz", "/docs", "/static/app.js"), 200)
    paths |= dict.fromkeys(("/v1/entries/nobody", "/static/nothing.js", "/nothing"), 404)
    paths |= {"/v1/entries?limit=x": 422, "/api/memory/compact": 500}  # the last one ends its connection
    stranger = server.client.get("/v1/entries", headers={"Host": "evil.example.org"})
    assert (stranger.status_code, stranger.headers["x-content-type-options"]) == (421, "nosniff")
    for path, status in paths.items():
        answer = server.client.get(path)
        assert (answer.status_code, answer.headers.get_list("x-content-type-options")) == (status, ["nosniff"]), path


@pytest.mark.parametrize(
    "path",
    ["/static/nothing.js", "/static/", "/static/%2e%2e/pages.py", "/static/..%2fpages.py", "/static//etc/passwd"],
)
def test_no_other_file_can_be_asked_for(server: Server, path: str) -> None:
    assert server.client.get(f"/static/{path}").status_code == 404


def test_the_page_is_small_and_names_no_other_place() -> None:
    folder = Path(str(files("recollect.ui") / "static"))
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}
    loaded = [text for path, text in texts.items() if path.parent.name != "texts" or path.stem == "en"]
    assert sum(len(text.encode()) for text in loaded) < 400_000
    for path, text in texts.items():
        assert "innerHTML" not in text, path
        assert "insertAdjacentHTML" not in text, path
        assert [
            word
            for word in ("https://", "http://")
            if word
            in text.replace("http://www.w3.org/2000/svg", "")
            .replace("http://127.0.0.1:8377", "")
            .replace("https?://", "")
        ] == [], path


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    """A server that asks for tokens, with one that may write and one that may only read."""
    with recollect.open(tmp_path / "guarded.db") as home:
        home.agent("ana").remember("We deploy on Tuesdays.", name="deploy day")
        home.agent("bob").remember("Not for ana.")
        _, write = home.tokens.create("writer", agents=["ana"], right="write")
        _, read = home.tokens.create("reader", agents=["ana"], right="read")
        with serving(home, settings(require_token=True)) as running:
            yield running, write, read


def log_in(page: Page, secret: str) -> None:
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def test_a_server_that_asks_for_a_token_shows_a_login_and_keeps_the_token_from_scripts(
    guarded: Guarded, visit: Visit
) -> None:
    server, write, _ = guarded
    page = visit(server, "#/memory/deploy%20day", allowed=("401",))
    log_in(page, "rcl_wrong")
    expect(page.get_by_role("alert")).to_contain_text("unknown")
    log_in(page, write)
    expect(page.locator(".content")).to_have_text("We deploy on Tuesdays.")
    assert write not in page.evaluate("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    cookie = next(one for one in page.context.cookies() if one["value"] == write)
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert page.get_by_label("Agent").locator("option").all_text_contents() == ["ana"]
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("We deploy on Wednesdays.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".content")).to_have_text("We deploy on Wednesdays.")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    log_in(page, write)
    expect(page.locator(".content")).to_be_visible()
    server.home.tokens.revoke("writer")
    page.evaluate("location.hash = '#/conversations'")  # the links may be gone: any request leads to the login
    expect(page.get_by_label("Token")).to_be_visible()


def test_a_token_that_only_reads_sees_no_buttons_that_write(guarded: Guarded, visit: Visit) -> None:
    server, _, read = guarded
    page = visit(server, "#/memory/deploy%20day", allowed=("401",))
    log_in(page, read)
    expect(page.locator(".content")).to_have_text("We deploy on Tuesdays.")
    expect(page.get_by_text("read-only").first).to_be_visible()
    for name in ("New", "Edit", "Forget", "Rename", "Add an alias"):
        assert page.get_by_role("button", name=name).count() == 0
    page.keyboard.press("e")
    page.keyboard.press("n")
    assert page.locator("form").count() == 0
    page.goto(f"{server.url}/#/memory?in=trash")
    expect(page.get_by_text("The trash is empty.")).to_be_visible()
    assert page.get_by_role("button", name="Empty the trash").count() == 0
    page.goto(f"{server.url}/#/memory/entry/new")
    expect(page.get_by_text("This token has read-only access.")).to_be_visible()
    assert page.locator("form").count() == 0
    assert page.get_by_role("link", name="Upkeep").count() == 0
    page.goto(f"{server.url}/#/upkeep")
    expect(page.get_by_text("Upkeep is for tokens with the right “admin”.")).to_be_visible()
    expect(page.get_by_text("This one may read.")).to_be_visible()


def test_a_page_of_another_origin_cannot_write_with_the_cookie(guarded: Guarded) -> None:
    server, write, _ = guarded
    with httpx2.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        assert client.post("/v1/session", json={"token": write}).status_code == 200
        draft = {"content": "Written by another page."}
        forged = client.post("/v1/entries?agent=ana", json=draft, headers={"Origin": "https://evil.example.org"})
        assert forged.status_code == 403
        own = client.post("/v1/entries?agent=ana", json=draft, headers={"Origin": server.url})
        assert own.status_code == 201
