"""Import by dropping or choosing a file: the dry run first, progress, a report; export and backup by a button."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from surfaces.server import Server, serving, settings

import recollect

Visit = Callable[..., Page]

MEMORIES = json.dumps(
    {"results": [{"id": "1", "memory": "Ana prefers tea"}, {"id": "2", "memory": "Ana lives in Porto"}]}
)
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const type of ["dragover", "drop"]) {
    dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server that requires tokens."""
    with recollect.open(tmp_path / "guarded.db") as home, serving(home, settings(require_token=True)) as running:
        yield running


def test_a_dropped_file_is_imported_after_a_dry_run(server: Server, visit: Visit) -> None:
    mem = server.home.agent("default")
    mem.remember("Something")
    page = visit(server, "#/overview")
    expect(page.locator(".net")).to_be_visible()
    page.evaluate(DROP, ["memories.json", MEMORIES])
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Nothing is written yet.")
    expect(dialog.get_by_role("row")).to_contain_text(["2 entries"])
    expect(dialog).to_contain_text("mem0")
    assert len(mem.list()) == 1
    dialog.get_by_role("button", name="Import").click()
    expect(dialog).to_contain_text("Imported.")
    assert {entry.content for entry in mem.list()} == {"Something", "Ana prefers tea", "Ana lives in Porto"}
    dialog.get_by_role("link", name="Show the overview").click()
    expect(page.locator(".net")).to_contain_text("Ana lives in Porto")
    page.evaluate(DROP, ["memories.json", MEMORIES])
    expect(dialog).to_contain_text("An import would change nothing.")
    expect(dialog.get_by_role("button", name="Import", exact=True)).to_have_count(0)


def test_an_empty_memory_offers_to_import_a_file(server: Server, visit: Visit) -> None:
    page = visit(server, "#/overview")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Import a file…").click()
    chosen.value.set_files({"name": "memories.json", "mimeType": "application/json", "buffer": MEMORIES.encode()})
    page.get_by_role("dialog").get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("dialog").get_by_role("link", name="Show the overview").click()
    expect(page.locator(".net")).to_contain_text("Ana lives in Porto")


def test_a_bad_file_is_refused_with_a_reason_and_changes_nothing(server: Server, visit: Visit) -> None:
    page = visit(server, "#/upkeep", allowed=("422", "400"))
    page.get_by_role("button", name="Choose a file…").wait_for()
    page.locator("input[type=file]").set_input_files(
        {"name": "broken.json", "mimeType": "application/json", "buffer": b'{"results": [{"memory": '}
    )
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("broken.json")
    expect(dialog.get_by_role("button", name="Import", exact=True)).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert server.home.agent("default").list() == []


def test_everything_is_exported_and_backed_up_by_a_link(server: Server, visit: Visit) -> None:
    server.home.agent("default").remember("Ana prefers tea")
    page = visit(server, "#/upkeep")
    for name, file in (("Export everything", "memory.jsonl"), ("Download a backup", "memory.db")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.suggested_filename == file
        assert b"Ana prefers tea" in Path(download.value.path()).read_bytes()


def test_a_token_that_may_not_import_is_offered_nothing(guarded: Server, visit: Visit) -> None:
    guarded.home.agent("default").remember("Something")
    page = visit(guarded, "#/overview", allowed=("401",))
    page.get_by_label("Token").fill(guarded.home.tokens.create("writer", right="write")[1])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".net")).to_be_visible()
    page.evaluate(DROP, ["memories.json", MEMORIES])
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert len(guarded.home.agent("default").list()) == 1
