"""The documentation is correct: examples run and print what they show, and links have a target."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from docs.pages import PAGES, ROOT, Block, anchors, blocks, links, shows
from encryption.conftest import python_path
from surfaces.command import environment, fork_server
from surfaces.server import serving

import recollect
from recollect.cli.exit_codes import EXIT_CODES

ADDRESS = "postgresql://memory:secret@localhost/memory"
SERVER = "http://127.0.0.1:8377"
"""Address in python blocks that is replaced by a test server, which runs as long as the page."""
LANGUAGES = {"python", "pyi", "console", "sh", "sql", "toml", "py", "ts"}
"""`py` marks the program of an adapter: it needs the package of a framework, and the framework's suite runs it."""
RUN = {"python", "console"}


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if any(b.language in RUN for b in blocks(page))], ids=relative)
def test_every_example_of_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    address = request.getfixturevalue("postgres_url") if ADDRESS in page.read_text(encoding="utf-8") else ADDRESS
    namespace: dict[str, object] = {}
    with contextlib.ExitStack() as stack:
        server = SERVER
        if any(block.language == "python" and SERVER in block.code for block in blocks(page)):
            server = stack.enter_context(serving(stack.enter_context(recollect.open(tmp_path / "served.db")))).url
        for block in blocks(page):
            where = f"{relative(page)}, line {block.line}"
            if block.language == "python":
                run_python(block, namespace, where, {ADDRESS: address, SERVER: server})
            elif block.language == "console":
                run_console(block, tmp_path, where, python_path() if page.name == "encryption.md" else None)


def run_python(block: Block, namespace: dict[str, object], where: str, meant: dict[str, str]) -> None:
    output, text = io.StringIO(), block.code
    for shown, real in meant.items():
        text = text.replace(shown, real)
    # The empty lines make the numbers in a traceback those of the page.
    code = compile("\n" * block.line + text, where, "exec")
    with contextlib.redirect_stdout(output):
        exec(code, namespace)
    assert output.getvalue().splitlines() == block.printed(), where


def run_console(block: Block, folder: Path, where: str, modules: str | None = None) -> None:
    program = folder / "bin" / "recollect"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recollect "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    changes = {"PATH": path} if modules is None else {"PATH": path, "PYTHONPATH": modules}
    for command, expected in block.commands():
        code, output = run_command(command, folder, environment(**changes))
        assert code == 0, f"{where}: $ {command}\n{output}"
        if expected:
            assert shows(expected, output), f"{where}: $ {command}\n{output}\nis not what is shown:\n{expected}"


def run_command(command: str, folder: Path, environ: dict[str, str]) -> tuple[int, str]:
    """Return the exit code of a command and everything it wrote. One without anything for a shell to do is forked."""
    with tempfile.TemporaryFile() as output, open(os.devnull) as nothing:
        if command.startswith("recollect ") and not re.search(r"[$&*;<>|`\\]", command):
            streams = [nothing.fileno(), output.fileno(), output.fileno()]
            code = fork_server().start(shlex.split(command)[1:], folder, environ, streams).wait()
        else:
            shell = ["sh", "-c", command]
            code = subprocess.run(
                shell, cwd=folder, env=environ, stdin=nothing, stdout=output, stderr=output
            ).returncode
        output.seek(0)
        return code, output.read().decode()


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("one\n", "one\n", True),
        ("one\n", "one\ntwo\n", False),
        ("id …\n", "id 7 [x]\n", True),
        ("id … end\n", "id 7\nend\n", False),
        ("one\n…\nfour\n", "one\ntwo\nthree\nfour\n", True),
        ("one\n…\n", "one\n", True),
        ("…\ntwo\n", "one\n", False),
        ("a.c (x)\n", "abc (x)\n", False),
    ],
)
def test_the_shown_output_is_compared_by_these_rules(expected: str, actual: str, same: bool) -> None:
    assert shows(expected, actual) is same


def test_every_link_leads_to_a_page_and_a_heading() -> None:
    for page, link in ((one, link) for one in PAGES for link in links(one)):
        where = f"{relative(page)}: {link}"
        assert "://" not in link, f"{where}: the documentation stands on its own"
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), where
        assert not heading or heading in anchors(target), where


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, ahead = set(), [PAGES[0]]
    while ahead:
        current = ahead.pop()
        if current.suffix == ".md" and current not in seen:
            seen.add(current)
            ahead += [(current.parent / link.partition("#")[0]).resolve() for link in links(current) if link[0] != "#"]
    assert set(PAGES) - seen == set()


def test_every_block_has_a_language_that_says_whether_it_is_run() -> None:
    for page in PAGES:
        if page.name != "CONTRIBUTING.md":
            assert {block.language for block in blocks(page)} <= LANGUAGES, relative(page)


def test_the_readme_prints_the_two_commands_alone_on_their_lines() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    for command in ("scripts/run", "scripts/test"):
        assert command in lines
        assert os.access(ROOT / command, os.X_OK)


def test_the_page_of_errors_has_the_table_of_exit_codes() -> None:
    lines = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").splitlines()
    for kind, code in EXIT_CODES.items():
        assert [line for line in lines if line.startswith(f"| `{kind.__name__}` |") and line.endswith(f"| {code} |")]


def test_the_page_of_entries_names_every_field() -> None:
    page = (ROOT / "docs" / "entries.md").read_text(encoding="utf-8")
    assert [field for field in recollect.Entry.__dataclass_fields__ if f"`{field}`" not in page] == []


def test_the_changelog_begins_with_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changes.split("\n## ")[1].startswith(recollect.__version__)
