"""Chromium for the tests: what is costly to make is made once and used by one test after the other."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    "--process-per-site",  # the pages of one context share a process; to start one takes longer than to load the page
]
PATIENCE = 60_000
"""Milliseconds; only a test that fails waits so long."""
WATCH = """
window.breaches = [];
const note = (event) => window.breaches.push(event.violatedDirective + " " + event.blockedURI);
document.addEventListener("securitypolicyviolation", note);
const messages = [];
const record = (node) => { if (node.classList?.contains("toast")) messages.push(node.innerText); };
new MutationObserver((changes) => {
  for (const change of changes) change.addedNodes.forEach(record);
  if (messages.length) document.documentElement.dataset.messages = messages.join("\\n");
}).observe(document, { childList: true, subtree: true });
"""
# A clock that a test has installed stays with the context for good.
HAS_OTHER_CLOCK = "!String(setTimeout).includes('native code')"


class Chromium:
    """One browser for the tests that a worker runs here in a row, and the context that most of them use in turn."""

    def __init__(self, program: str) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=program, args=FLAGS)
        self._clean: BrowserContext | None = None

    def context(self, **options: Any) -> BrowserContext:
        """A context that knows nothing yet. To make one takes longer than to load the page, so one is used again."""
        if self._clean and not options:
            context, self._clean = self._clean, None
            return context
        context = self._browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **options}
        )
        context.set_default_timeout(PATIENCE)
        context.add_init_script(WATCH)
        if not options:
            _keep_process(context)
        return context

    def take_back(self, page: Page) -> None:
        """Close a page that was opened without options, and keep its context if it can be made as new."""
        context = page.context
        if self._clean or context.pages[1:] != [page] or page.evaluate(HAS_OTHER_CLOCK):
            context.close()
            return
        session = context.new_cdp_session(page)
        session.send("Storage.clearDataForOrigin", {"origin": page.evaluate("origin"), "storageTypes": "all"})
        page.close()
        context.clear_cookies()
        self._clean = context

    def close(self) -> None:
        """End the browser."""
        self._browser.close()
        self._playwright.stop()


def _keep_process(context: BrowserContext) -> None:
    """Open an empty page of the site 127.0.0.1, whose process the pages of the tests use one after the other."""
    page = context.new_page()
    page.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://127.0.0.1:1/")
    page.unroute_all()
