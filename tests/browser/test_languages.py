"""The languages of the page: from the browser, by choice, and with dates and numbers that fit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from playwright.sync_api import Page, expect
from surfaces.server import Server

Visit = Callable[..., Page]


@pytest.mark.parametrize(
    ("locale", "language", "title"),
    [
        ("en-GB", "en", "Reminders"),
        ("pt-BR", "pt", "Lembretes"),
        ("de-AT", "de", "Erinnerungen"),
        ("es-MX", "es", "Recordatorios"),
        ("fi-FI", "en", "Reminders"),
    ],
)
def test_the_language_is_that_of_the_browser_or_english(
    server: Server, visit: Visit, locale: str, language: str, title: str
) -> None:
    page = visit(server, "#/reminders", locale=locale)
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(page.locator("html")).to_have_attribute("lang", language)


def test_a_chosen_language_stays(server: Server, visit: Visit) -> None:
    page = visit(server, "#/reminders")
    page.get_by_label("Language").select_option(label="Deutsch")
    expect(page.get_by_role("heading", level=1)).to_have_text("Erinnerungen")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.get_by_label("Sprache").select_option(label="English")
    expect(page.get_by_role("heading", level=1)).to_have_text("Reminders")


def test_dates_and_plurals_follow_the_language(server: Server, visit: Visit) -> None:
    for day in ("2031-03-01", "2031-03-02"):
        at = int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1000)
        server.client.post("/v1/reminders", json={"message": "call", "at": at}).raise_for_status()
    page = visit(server, "#/reminders", locale="de-DE", timezone_id="UTC")
    expect(page.locator("main")).to_contain_text("2 Erinnerungen")
    expect(page.locator("main")).to_contain_text("1. März 2031, 12:00")
