"""Messages of the page: short texts at its edge that disappear after some seconds."""

import re

from playwright.sync_api import Page, expect


def expect_message(page: Page, text: str) -> None:
    """Wait until the page has shown a message with this text; it may have disappeared by now. See conftest.WATCH."""
    expect(page.locator("html")).to_have_attribute("data-messages", re.compile(re.escape(text)))
