"""An adapter as a user installs it: in an environment that has nothing else, and with the program of its page.

`scripts/suites.py` makes the environment. The program of every page stores a sentence about port 8080.
"""

import os
import re
import shutil
from pathlib import Path

import pytest
from page_program import call, run_twice

import recollect

INSTALLED = os.environ["SUITE_INSTALLED"]
PAGE = os.environ["SUITE_PAGE"]
SAID = "8080"


def exported(folder: Path) -> str:
    """Return the export that the installed command makes."""
    return call(INSTALLED, "-m", "recollect", "export", "-", folder=folder)


def test_the_installed_package_is_the_one_under_test(tmp_path: Path) -> None:
    assert (
        Path(INSTALLED).parents[1]
        in Path(call(INSTALLED, "-c", "import recollect; print(recollect.__file__)", folder=tmp_path).strip()).parents
    )


def test_a_second_run_recalls_and_an_export_carries_it_until_it_is_erased(tmp_path: Path) -> None:
    first, second = run_twice(PAGE, tmp_path, INSTALLED)
    assert first
    assert second
    assert first != second
    assert SAID in exported(tmp_path)
    with recollect.open(tmp_path / "home") as home:
        mem = home.agent("default")
        entries = [str(entry.id) for entry in mem.list(limit=100)]
        conversations = [info.ref_code for info in mem.conversations.list(True)]
    for entry in entries:
        call(INSTALLED, "-m", "recollect", "forget", entry, "--erase", "--yes", folder=tmp_path)
    for conversation in conversations:
        call(INSTALLED, "-m", "recollect", "conversation", "erase", conversation, "--yes", folder=tmp_path)
    assert not re.search(rf"\b{SAID}\b", exported(tmp_path))  # a hash may contain the digits


def test_the_page_in_a_browser_shows_what_was_stored(tmp_path: Path) -> None:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no chromium is installed here")
    from browser.chromium import Chromium
    from playwright.sync_api import expect
    from surfaces.server import serving

    run_twice(PAGE, tmp_path, INSTALLED)
    with recollect.open(tmp_path / "home") as home:
        talks = [info.ref_code for info in home.agent("default").conversations.list(True)]
        with serving(home) as server:
            chromium = Chromium(program)
            page = chromium.context().new_page()
            page.goto(f"{server.url}/#/conversations/{talks[0]}" if talks else f"{server.url}/#/memory?q={SAID}")
            expect(page.get_by_text(SAID).first).to_be_visible(timeout=60_000)
            chromium.close()
