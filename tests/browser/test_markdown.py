"""How remembered text is drawn: as Markdown, without an end to wait for, in the direction of its script."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Error, Page
from surfaces.server import Server

Visit = Callable[..., Page]

LONG = 199_900
"""Just below the length from which on a text is cut."""
HOSTILE = {
    "a fence of tildes that a tick spoils": "~" * LONG + "`",
    "a fence, spaces and a tick": "~~~" + " " * LONG + "`",
    "a fence as long as the text": "~" * LONG,
    "an address of dots": "https://" + "." * LONG + "a",
    "an address of brackets": "https://" + ")" * LONG + "a",
    "spaces inside a heading": "# a" + " " * LONG + "b",
    "a heading over two lines of Unicode": "# " + " " * LONG + "b\u2028c",
    "ticks after a word": "a" + "`" * LONG,
    "ticks of many lengths": "a" + " ".join("`" * length for length in range(9, 600)),
    "brackets that close far away": "[]" * (LONG // 2) + "](",
    "names that close far away": "[[" * (LONG // 4) + " " * (LONG // 2) + "]]",
    "stars that close far away": "*a" * (LONG // 2) + " *",
    "lines below a title": "a\n" + "=" * LONG + "b",
    "code that never comes": "    " + "\n" * (LONG // 2) + "\n    a" * (LONG // 12),
    "three stars": "***a" * (LONG // 4),
    "quotes of lists": "> - " * (LONG // 4),
    "columns": "|" * (LONG // 2) + "\n|" + "-|" * (LONG // 4) + "x",
}
DRAW = """(text) => {
    window.drawn = false;
    setTimeout(async () => {
        const { markdown } = await import("/static/markdown.js");
        document.body.replaceChildren(markdown(text));
        window.drawn = document.body.offsetHeight >= 0;
    });
}"""
EXCERPTS = """(texts) => {
    window.drawn = false;
    setTimeout(async () => {
        const { excerpt, needles } = await import("/static/words.js");
        for (const text of texts) for (let row = 0; row < 10; row++) excerpt(text, needles("deploy"));
        window.drawn = true;
    });
}"""


DRAWN = {
    "see https://example.org/Rust_(language)": '<p>see <a href="https://example.org/Rust_(language)">https://example.org/Rust_(language)</a></p>',
    "(see https://example.org/rust).": '<p>(see <a href="https://example.org/rust">https://example.org/rust</a>).</p>',
    "(at https://example.org/a_(b)).": '<p>(at <a href="https://example.org/a_(b)">https://example.org/a_(b)</a>).</p>',
    "***both*** and *one*": "<p><em><strong>both</strong></em> and <em>one</em></p>",
    "___both___": "<p><em><strong>both</strong></em></p>",
    "***open and **bold**": "<p>***open and <strong>bold</strong></p>",
    "Title\n=====\ntext": "<h3>Title</h3><p>text</p>",
    "Title\n-----\ntext": "<h4>Title</h4><p>text</p>",
    "one\n\n---\n\ntwo": "<p>one</p><hr><p>two</p>",
    "one\n--\ntwo": "<p>one\n--\ntwo</p>",
    "## Closed ##": "<h4>Closed</h4>",
    "## C#": "<h4>C#</h4>",
    "say:\n\n    a = 1\n\n      b = 2\n\nend": "<p>say:</p><pre><code>a = 1\n\n  b = 2</code></pre><p>end</p>",
    "a line\n    that goes on": "<p>a line\nthat goes on</p>",
    "- item\n\n      code": "<ul><li>item<pre><code>code</code></pre></li></ul>",
    "    - a list": "<ul><li>a list</li></ul>",
    "a `` tick": "<p>a `` tick</p>",
    "`a` and ``b`c``": "<p><code>a</code> and <code>b`c</code></p>",
    "~~~ text\nx\n~~~": "<pre><code>x</code></pre>",
    "``` a`b": "<p>``` a`b</p>",
}
SHARED = (' dir="auto"', ' tabindex="0"', ' target="_blank"', ' rel="noopener noreferrer"')


@pytest.fixture
def page(server: Server, visit: Visit) -> Page:
    """A page of the server that has nothing on it."""
    return visit(server, "healthz", allowed=("404",))  # it has no icon either


def is_done(page: Page, script: str, given: object, what: str) -> None:
    """A script is through before the browser's patience ends. A page that hangs is closed."""
    page.evaluate(script, given)
    try:
        page.wait_for_function("window.drawn")
    except Error as error:
        page.close()
        raise AssertionError(f"the page hangs: {what}") from error


def excerpt(page: Page, text: str, width: int) -> str:
    script = "async ([text, width]) => (await import('/static/words.js')).excerpt(text, [], width)"
    return str(page.evaluate(script, [text, width]))


def test_a_long_text_that_is_made_to_hang_the_page_is_drawn(page: Page) -> None:
    for what, text in HOSTILE.items():
        is_done(page, DRAW, text, what)


def test_a_text_that_is_made_to_hang_the_list_has_its_excerpt(page: Page) -> None:
    bits = ("[", "[[", "[[a|", "![", "[a](", "[]", "-", "#", "|", ":|")
    texts = [(bit * 20_000)[:19_999] + "x" for bit in bits]
    more = ["a" + " " * 19_990 + "b", "a" + "\n" * 19_990 + "b", "a" + "\t|" * 9_000 + "b"]
    is_done(page, EXCERPTS, [*texts, *more], "an excerpt")


def test_a_text_is_drawn_as_markdown(page: Page) -> None:
    script = "async (text) => (await import('/static/markdown.js')).markdown(text).innerHTML"
    drawn = [page.evaluate(script, text) for text in DRAWN]
    for shared in SHARED:
        drawn = [one.replace(shared, "") for one in drawn]
    assert dict(zip(DRAWN, drawn, strict=True)) == DRAWN


def test_a_list_and_a_quote_stand_on_the_side_that_their_script_begins_at(page: Page) -> None:
    text = "- אחת\n- שתיים\n\n> ציטוט\n\n- one\n\n~~~\ncode\n~~~"
    page.evaluate("async (text) => document.body.append((await import('/static/markdown.js')).markdown(text))", text)
    directions = page.locator(".prose > *").evaluate_all(
        "all => all.map((one) => [one.tagName, getComputedStyle(one).direction])"
    )
    assert directions == [["UL", "rtl"], ["BLOCKQUOTE", "rtl"], ["UL", "ltr"], ["PRE", "ltr"]]


def test_an_excerpt_never_ends_in_the_middle_of_an_emoji(page: Page) -> None:
    family = "👩‍👩‍👧"
    assert excerpt(page, "🎉" * 300, 241) == "🎉" * 120 + "…"
    assert excerpt(page, family * 100, 20) == family * 2 + "…"
    assert excerpt(page, "🎉" * 3, 241) == "🎉" * 3
