"""The browser of the tests: a visit knows nothing of those before it, although most share a context in turn."""

from browser.chromium import Chromium
from surfaces.server import Server

STORE = """
document.cookie = "left=behind";
localStorage.setItem("left", "behind");
indexedDB.open("left");
caches.open("left");
"""
STORED = """
async () => [document.cookie, localStorage.length, (await indexedDB.databases()).length, (await caches.keys()).length]
"""


def test_a_context_that_is_used_again_knows_nothing(chromium: Chromium, server: Server) -> None:
    first = chromium.context()
    page = first.new_page()
    page.goto(server.url)
    page.evaluate(STORE)
    page.wait_for_function(f"async () => String(await ({STORED})()) === 'left=behind,1,1,1'")
    chromium.take_back(page)

    second = chromium.context()
    assert second == first
    page = second.new_page()
    page.goto(server.url)
    assert page.evaluate(STORED) == ["", 0, 0, 0]
    chromium.take_back(page)


def test_two_visits_at_a_time_share_nothing(chromium: Chromium) -> None:
    first, second = chromium.context(), chromium.context()
    assert first != second
    for context in (first, second):
        chromium.take_back(context.new_page())


def test_a_context_with_another_clock_or_a_page_more_is_not_used_again(chromium: Chromium, server: Server) -> None:
    for change in ("clock", "page"):
        context = chromium.context()
        page = context.new_page()
        page.goto(server.url)
        if change == "clock":
            page.clock.install()
        else:
            context.new_page()
        chromium.take_back(page)
        following = chromium.context()
        assert following != context
        following.close()
