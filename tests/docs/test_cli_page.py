"""docs/cli.md and the help texts list the same commands and options, and their examples run."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from docs.pages import ROOT
from encryption.conftest import python_path
from surfaces.command import Command, environment

import recollect
from recollect.cli.app import app_with

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
SHARED = {"--home", "--workspace", "--agent", "--json", "--help", "-h"}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every leaf command with its path."""
    inner = getattr(command, "commands", {})
    if not inner:
        yield path, command
    for name, below in inner.items():
        yield from commands(below, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app_with(None))))


def named(path: tuple[str, ...]) -> str:
    return " ".join(path)


def section(path: tuple[str, ...]) -> str:
    """Return the section of the page about a command."""
    mark = "#" * (len(path) + 1)
    found = re.search(rf"^{mark} {named(path)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section {named(path)}"
    return found[1]


def options(command: Any) -> set[str]:
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    return {option for param in shown for option in param.opts if option.startswith("-")}


def examples(command: Any) -> list[str]:
    return re.findall(r"^  recollect (.*)$", command.epilog or "", re.MULTILINE)


def test_every_command_is_documented_with_an_example() -> None:
    assert [path for path in COMMANDS if f"$ recollect {named(path)}" not in section(path)] == []


def test_every_option_of_a_command_is_documented() -> None:
    own = [(path, option) for path, command in COMMANDS.items() for option in options(command) - SHARED]
    assert [(path, option) for path, option in own if f"`{option}" not in section(path)] == []


def test_every_option_of_the_program_is_documented() -> None:
    known = options(typer.main.get_command(app_with(None))) | SHARED
    assert [option for option in sorted(known) if f"{option}" not in PAGE.split("## remember")[0]] == []


def test_the_page_speaks_of_no_option_that_is_not_there() -> None:
    own = {option for command in COMMANDS.values() for option in options(command)}
    known = SHARED | options(typer.main.get_command(app_with(None))) | own
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE)) - known == set()


def test_every_option_and_argument_has_a_help_text() -> None:
    for path, command in COMMANDS.items():
        assert command.help, path
        assert [param.name for param in command.params if not param.help] == [], path


@pytest.mark.parametrize(
    "example",
    [
        *(example for command in COMMANDS.values() for example in examples(command)),
        *examples(typer.main.get_command(app_with(None))),
    ],
)
def test_every_example_of_a_help_text_works(example: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes of a meeting")
    (tmp_path / "messages.json").write_text(json.dumps([{"role": "user", "content": "When do we deploy?"}]))
    (tmp_path / "questions.jsonl").write_text(json.dumps({"question": "When do we deploy?", "answer": "Tuesdays"}))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "harbour.md").write_text("The harbour opens at eight.")
    said = {"sender": "human", "text": "When do we deploy?", "created_at": "2026-03-02T10:00:00Z"}
    chat = {"uuid": "7", "name": "deploy", "created_at": said["created_at"], "chat_messages": [{"uuid": "1", **said}]}
    (tmp_path / "conversations.json").write_text(json.dumps([chat]))
    for location in (".recollect", "team.db"):
        with recollect.open(tmp_path / location) as home:
            mem = home.agent("default")
            if not example.startswith("remember"):
                mem.remember("We deploy on Tuesdays", name="deploy day")
            if example == "import memory.jsonl":
                home.export(tmp_path / f"{location}.jsonl")
                shutil.copy(tmp_path / f"{location}.jsonl", tmp_path / "memory.jsonl")
            if "token revoke" in example:
                home.tokens.create("laptop")
            if "restore" in example:
                mem.forget("deploy day")
            if "review resolve" in example and location == ".recollect":
                mem.remember("We do not deploy on Tuesdays")
                home.jobs.run("review")
                example = example.replace(" ID ", f" {mem.review.list()[0].id} ")
            if "undo" in example:
                home.jobs.run("consolidate")
            elif "last" in example:
                mem.conversations.start().user("When do we deploy?")
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", example)]
    if "serve" in words:
        serves(tmp_path, words)
        return
    stdin = b""
    if "<" in words:
        stdin = (tmp_path / words.pop()).read_bytes()
        words.pop()
    changes = {"RECOLLECT_EMBEDDER_KIND": "local"}
    if "crypt" in example:
        for name in ("key", "new.key"):
            (tmp_path / name).write_text(f"the content of {name}")
        changes |= {"PYTHONPATH": python_path(), "RECOLLECT_ENCRYPTION_KEY_FILE": "key"}
    Command(tmp_path)(*words, stdin=stdin, **changes)


def serves(folder: Path, words: list[str]) -> None:
    """Run a command that serves until it is stopped: it reports that it is ready, and shuts down cleanly."""
    free = environment(RECOLLECT_SERVER_PORT="0")
    command = [sys.executable, "-m", "recollect", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder, env=free, text=True) as process:
        assert process.stdout is not None
        assert "http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 0
