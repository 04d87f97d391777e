"""Take the screenshots of docs/page.md, one per view of the demo memory. Run by scripts/screenshots.

Arguments are the names of those to take; without one, all are taken.
"""

import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page, Route, sync_playwright

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-lcd-text"),
]
IMAGES = Path(__file__).parents[1] / "docs" / "images"
MOST = 150_000
"""Maximum size of a screenshot in bytes."""
WIDE, PHONE = {"width": 1220, "height": 740}, {"width": 390, "height": 760}


CHANGED = [
    ("Large orders are packed on Tuesdays, before the roasting begins.", "user"),
    ("Large orders are packed on Thursdays, before the roasting begins.", "user"),
    ("The price list was printed with 8.90 EUR for the house blend.", "user"),
    ("The price list was printed with 9.40 EUR for the house blend.", "tool"),
]
"""Notes for the view of pairs, with their origins."""


def search(page: Page) -> None:
    """Search, open the best result, and show why it was found."""
    page.get_by_label("Search the memory").press_sequentially("who decides about refunds")
    page.locator(".entry-row mark").first.wait_for()
    page.locator(".entry-row", has_text="Refunds are made").first.click()
    page.get_by_role("button", name="Why this?").click()
    page.locator("#why svg").wait_for()


def entry(page: Page) -> None:
    """Show the lower part of an entry."""
    page.locator(".history").wait_for()
    page.locator(".picture .curve").wait_for()
    page.get_by_role("heading", name="Names").scroll_into_view_if_needed()
    page.locator(".detail").evaluate("pane => pane.scrollTop = pane.scrollHeight")


def second(page: Page) -> None:
    """Open the second row of the list."""
    page.locator(".entry-row").nth(1).click()
    page.locator(".picture .curve").wait_for()


def editing(page: Page) -> None:
    """Open the form."""
    page.get_by_role("button", name="Edit").click()


def conversation(page: Page) -> None:
    """Show a transcript with a tool call and a compaction expanded."""
    page.locator(".entry-row", has_text="Good morning").click()
    page.get_by_text("Called list_tickets").click()
    page.locator(".transcript").evaluate("node => node.scrollIntoView()")
    page.get_by_text("a summary stands for").click()
    page.locator(".marker .prose").wait_for()


def upkeep(page: Page) -> None:
    """Wait for the jobs."""
    page.get_by_role("row", name="consolidate").wait_for()


def timeline(page: Page) -> None:
    """Wait for the items."""
    page.locator(".timeline .item").first.wait_for()


def graph(page: Page) -> None:
    """Wait for the layout, and select the most connected note."""
    page.locator("canvas[data-laid]").wait_for()
    page.locator("canvas").focus()


def nothing(page: Page) -> None:
    """Wait for the content of the view."""
    page.locator(".entry-row, .card, .welcome").first.wait_for()


SHOTS: list[tuple[str, str, str, dict[str, int], Callable[[Page], None]]] = [
    ("overview", "#/overview", "light", WIDE, lambda page: page.locator(".net").wait_for()),
    ("memory", "#/memory", "light", WIDE, search),
    (
        "memory-dark",
        "#/memory?category=decisions",
        "dark",
        WIDE,
        lambda page: page.locator(".entry-row").nth(2).click(),
    ),
    ("entry", "#/memory/deploy%20day", "light", WIDE, entry),
    ("entry-edit", "#/memory/refunds", "dark", WIDE, editing),
    ("working-notes", "#/memory?scope=conversation", "light", WIDE, nothing),
    ("conversation", "#/conversations", "light", WIDE, conversation),
    ("timeline", "#/timeline", "light", WIDE, timeline),
    ("graph", "#/graph", "light", WIDE, graph),
    ("review", "#/review?agent=reviewer", "light", WIDE, lambda page: page.locator(".pair").nth(1).wait_for()),
    ("context", "#/context?command=refund+an+order&budget=300", "light", WIDE, nothing),
    ("reminders", "#/reminders", "light", WIDE, lambda page: page.get_by_text("Ask the carrier again").wait_for()),
    ("upkeep", "#/upkeep", "dark", WIDE, upkeep),
    ("empty", "#/memory?agent=new-agent", "light", WIDE, nothing),
    ("phone", "#/memory", "light", PHONE, nothing),
    ("phone-graph", "#/graph", "dark", PHONE, graph),
    ("phone-entry", "#/memory/web%20shop", "dark", PHONE, lambda page: page.locator(".content").wait_for()),
]


def main() -> None:
    """Fill a memory, serve it, and take the screenshots."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "recollect", "--home", f"{folder}/demo.db"]
        subprocess.run([*program, "demo", "--fill"], check=True)
        for text, origin in CHANGED:
            subprocess.run([*program, "remember", text, "--agent", "reviewer", "--origin", origin], check=True)
        subprocess.run([*program, "jobs", "run", "review"], check=True)
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


def somewhere_else(route: Route) -> None:
    """Redact the location of the memory on this machine."""
    answer = route.fetch()
    route.fulfill(
        response=answer, json={**answer.json(), "home": "/home/ana/shop/.recollect", "program": ["recollect"]}
    )


def take(url: str) -> None:
    """Take the screenshots."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, where, scheme, size, act in SHOTS:
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            context = browser.new_context(viewport=size, color_scheme=scheme, locale="en-GB", reduced_motion="reduce")  # type: ignore[arg-type]
            page = context.new_page()
            page.route("**/v1/session*", somewhere_else)
            page.goto(f"{url}/{where}")
            act(page)
            page.wait_for_load_state("load")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            path = IMAGES / f"{name}.png"
            path.write_bytes(smaller(page.screenshot()))
            context.close()
            assert path.stat().st_size < MOST, f"{path} has {path.stat().st_size:,} bytes"
            print(f"{path.name:20} {path.stat().st_size:9,} bytes")
        browser.close()


def smaller(png: bytes) -> bytes:
    """Reduce a screenshot to a palette of 256 colours, mapping each pixel to the nearest: a third of the bytes."""
    width, height = struct.unpack(">II", png[16:24])
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        packed += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    pixels = unfiltered(zlib.decompress(packed), width * 3)
    numbers = pixels.reshape(-1, 3).astype(np.int32) @ (65_536, 256, 1)
    colours, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    parted = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
    kept = list(np.argsort(-counts)[:160])
    gaps = np.min([((parted - parted[one]) ** 2).sum(axis=1) for one in kept], axis=0)
    while len(kept) < 256 and gaps.any():  # small spots have rare colours: those that nothing kept is near to
        kept.append(int(np.argmax(gaps)))
        gaps = np.minimum(gaps, ((parted - parted[kept[-1]]) ** 2).sum(axis=1))
    nearest = np.array([np.argmin(((parted[kept] - one) ** 2).sum(axis=1)) for one in parted], dtype=np.uint8)
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with the number of its filter: none
    lines[:, 1:] = nearest[place].reshape(height, width)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", parted[kept].astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    return png[:8] + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def unfiltered(raw: bytes, stride: int) -> NDArray[np.uint8]:
    """Undo the filters of PNG: return the rows of an image with three bytes per pixel."""
    rows, above = [], bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for i in range(stride) if kind else ():
            left, up, corner = (row[i - 3], above[i], above[i - 3]) if i > 2 else (0, above[i], 0)
            guess = left + up - corner
            by = (abs(guess - left), abs(guess - up), abs(guess - corner))
            paeth = left if by[0] <= min(by[1:]) else up if by[1] <= by[2] else corner
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(row)
        above = row
    return np.array(rows, dtype=np.uint8)


if __name__ == "__main__":
    main()
