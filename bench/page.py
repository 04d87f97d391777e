"""The page in Chromium on a large memory: bytes, the first view, results after the last key, scrolling, an entry.

python bench/page.py [entries] [home.db]

The memory is that of `recollect demo --fill ENTRIES` with vectors of the local model; a home that is there already is
used as it is. The server is `recollect serve`, the browser a new one for each first view: nothing is cached.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
RUNS = 7
WORDS = (
    *("refunds", "carrier label", "invoice islands", "webhook twice", "slow start page", "order 10500"),
    *("wehbook", "deploy"),
)
# From the key that ends a query to the results of that very query on the screen: two frames after the list has changed.
TYPED = """(words) => new Promise((done) => {
    const field = document.getElementById("search"), list = document.querySelector(".endless");
    field.value = words;
    const began = performance.now();
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    const look = () => {
        const query = new URLSearchParams(location.hash.split("?")[1]).get("q") ?? "";
        const there = query === words && !list.hasAttribute("aria-busy");
        if (there) requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
        else setTimeout(look, 1);
    };
    setTimeout(look, 1);
})"""
SCROLLED = """() => new Promise((done) => {
    const list = document.querySelector(".endless"), gaps = [];
    let last = performance.now(), frames = 0;
    const step = () => {
        const now = performance.now();
        gaps.push(now - last);
        last = now;
        list.scrollTop += 400;
        if (++frames < 300) requestAnimationFrame(step);
        else done([Math.round(list.scrollTop), document.querySelectorAll(".entry-row").length, ...gaps.slice(1)]);
    };
    requestAnimationFrame(step);
})"""


# The time that each of 30 zoom steps takes until the picture is drawn; the timeline is drawn by the step itself.
ZOOMED = """() => {
    const times = [], keys = [..."+++++-----"];
    for (let step = 0; step < 30; step++) {
        const began = performance.now();
        document.dispatchEvent(new KeyboardEvent("keydown", { key: keys[step % 10], bubbles: true }));
        times.push(performance.now() - began);
    }
    return times;
}"""
# Frames while the graph is zoomed by the wheel: the picture is drawn once per frame.
WHEELED = """() => new Promise((done) => {
    const canvas = document.querySelector("canvas"), gaps = [];
    let last = performance.now(), frames = 0;
    const step = () => {
        const now = performance.now();
        gaps.push(now - last);
        last = now;
        canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: frames % 40 < 20 ? -30 : 30, cancelable: true }));
        if (++frames < 120) requestAnimationFrame(step);
        else done(gaps.slice(1));
    };
    requestAnimationFrame(step);
})"""


SIZE = """performance.getEntriesByType("resource").filter((one) => one.name.includes("/static/"))
    .reduce((sum, one) => sum + one.decodedBodySize, 0)"""


def main(entries: int, home: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = home or Path(folder) / "page.db"
        program = [sys.executable, "-m", "recollect", "--home", str(path)]
        if home is None:
            began = time.perf_counter()
            subprocess.run([*program, "demo", "--fill", str(entries)], check=True, env=environment())
            print(f"filled in {time.perf_counter() - began:.0f} s")
        serve = subprocess.Popen(
            [*program, "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        try:
            url = address(serve)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
                measure(browser, url)
                browser.close()
        finally:
            serve.terminate()
            serve.wait()


def environment() -> dict[str, str]:
    return {**os.environ, "RECOLLECT_EMBEDDER_KIND": "local", "RECOLLECT_SERVER_RATE": "0"}


def address(serve: "subprocess.Popen[str]") -> str:
    assert serve.stdout is not None
    for line in serve.stdout:
        if found := re.search(r"http://[\d.]+:\d+", line):
            return found[0]
    raise SystemExit("the server did not start")


def measure(browser: Browser, url: str) -> None:
    first = [first_view(browser, url) for _ in range(RUNS)]
    page = opened(browser, url)
    typed = [page.evaluate(TYPED, words) for words in WORDS * 3]
    page.evaluate(TYPED, "")
    top, rows, *gaps = page.evaluate(SCROLLED)
    began = time.perf_counter()
    page.locator(".entry-row").first.click()
    page.locator(".content").wait_for()
    entry = (time.perf_counter() - began) * 1000
    size = page.evaluate(SIZE)
    print(f"files of the page     {size / 1000:8.0f} kB")
    for name, times in (("first view", first), ("results after a key", typed), ("a frame of scrolling", gaps)):
        print(f"{name:22}{statistics.median(times):8.0f} ms   worst {max(times):.0f} ms")
    print(f"an entry opened       {entry:8.0f} ms")
    pictures(page, url)
    print(f"of the results 60 ms are the pause after a key; {rows} rows exist after {top:,} pixels")


def pictures(page: Page, url: str) -> None:
    began = time.perf_counter()
    page.goto(f"{url}/#/timeline")
    page.locator("svg.timeline").wait_for()
    print(f"timeline of all       {(time.perf_counter() - began) * 1000:8.0f} ms")
    zoomed = page.evaluate(ZOOMED)
    print(f"a step of its zoom    {statistics.median(zoomed):8.1f} ms   worst {max(zoomed):.1f} ms")
    began = time.perf_counter()
    page.goto(f"{url}/#/graph")
    page.locator("canvas[data-laid]").wait_for()
    laid = int(page.locator("canvas").get_attribute("data-laid") or 0)
    print(f"graph settled         {(time.perf_counter() - began) * 1000:8.0f} ms   of it layout {laid} ms")
    print(f"the graph has         {page.locator('.page .hint').first.text_content()}")
    gaps = page.evaluate(WHEELED)
    print(f"a frame of its zoom   {statistics.median(gaps):8.0f} ms   worst {max(gaps):.0f} ms")


def first_view(browser: Browser, url: str) -> float:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(f"{url}/#/memory")
    page.locator(".entry-row").first.wait_for()
    taken = (time.perf_counter() - began) * 1000
    context.close()
    return taken


def opened(browser: Browser, url: str) -> Page:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(f"{url}/#/memory")
    page.locator(".entry-row").first.wait_for()
    return page


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
