"""The pictures of docs/page.md, each of a view of the demo memory. Run by scripts/screenshots."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-lcd-text"
).split()
IMAGES = Path(__file__).parents[1] / "docs" / "images"
MOST = 150_000
"""Bytes of a picture."""
WIDE, PHONE = {"width": 1140, "height": 700}, {"width": 390, "height": 760}


def search(page: Page) -> None:
    page.get_by_label("Search the memory").press_sequentially("who decides about refunds")
    page.locator(".entry-row mark").first.wait_for()
    page.locator(".entry-row", has_text="Refunds are made").first.click()
    page.get_by_role("button", name="Why this?").click()
    page.locator("#why svg").wait_for()


def entry(page: Page) -> None:
    page.locator(".history").wait_for()
    page.locator(".picture .curve").wait_for()
    page.get_by_role("heading", name="Names").scroll_into_view_if_needed()
    page.locator(".detail").evaluate("pane => pane.scrollTop = pane.scrollHeight")


def editing(page: Page) -> None:
    page.get_by_role("button", name="Edit").click()


def conversation(page: Page) -> None:
    page.locator(".entry-row", has_text="morning-support").click()
    page.get_by_text("Called list_tickets").click()
    page.locator(".transcript").evaluate("node => node.scrollIntoView()")
    page.get_by_text("a summary stands for").click()
    page.locator(".marker .prose").wait_for()


def upkeep(page: Page) -> None:
    page.get_by_role("row", name="consolidate").wait_for()


def nothing(page: Page) -> None:
    page.locator(".entry-row, .card, .welcome").first.wait_for()


SHOTS: list[tuple[str, str, str, dict[str, int], Callable[[Page], None]]] = [
    ("memory", "#/memory", "light", WIDE, search),
    ("memory-dark", "#/memory?category=decisions", "dark", WIDE, lambda page: page.locator(".entry-row").nth(2).click()),
    ("entry", "#/memory/deploy%20day", "light", WIDE, entry),
    ("entry-edit", "#/memory/refunds", "dark", WIDE, editing),
    ("working-notes", "#/memory?scope=conversation", "light", WIDE, nothing),
    ("conversation", "#/conversations", "light", WIDE, conversation),
    ("context", "#/context?command=refund+an+order&budget=300", "light", WIDE, nothing),
    ("upkeep", "#/upkeep", "dark", WIDE, upkeep),
    ("empty", "#/memory?agent=new-agent", "light", WIDE, nothing),
    ("phone", "#/memory", "light", PHONE, nothing),
    ("phone-entry", "#/memory/web%20shop", "dark", PHONE, lambda page: page.locator(".content").wait_for()),
]


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "recollect", "--home", f"{folder}/demo.db"]
        subprocess.run([*program, "demo", "--fill"], check=True)
        serve = subprocess.Popen(
            [*program, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert serve.stdout is not None
            url = next(found[0] for line in serve.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))
            take(url)
        finally:
            serve.terminate()
            serve.wait()


def take(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, where, scheme, size, act in SHOTS:
            context = browser.new_context(viewport=size, color_scheme=scheme, locale="en-GB", reduced_motion="reduce")  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(f"{url}/{where}")
            act(page)
            page.wait_for_load_state("load")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            path = IMAGES / f"{name}.png"
            page.screenshot(path=path)
            context.close()
            assert path.stat().st_size < MOST, f"{path} has {path.stat().st_size:,} bytes"
            print(f"{path.name:20} {path.stat().st_size:9,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
