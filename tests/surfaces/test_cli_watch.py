"""`recollect import --watch`, seen from outside: it follows a folder that grows, and may be killed at any time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from surfaces.command import Command, environment

import recollect


def said(text: str, session: str = "s-1") -> str:
    return json.dumps(
        {"type": "user", "sessionId": session, "uuid": text, "message": {"role": "user", "content": text}}
    )


def append(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


@contextmanager
def watching(cli: Command, location: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "recollect", "--home", location, "import", "projects", "--watch", "--agent", "ana"]
    process = subprocess.Popen(
        [*words, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=cli.folder,
        env=environment(),
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def received(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_folder_that_grows_is_followed_over_kills_and_restarts(cli: Command, location: str) -> None:
    path = cli.folder / "projects" / "boat" / "s-1.jsonl"
    append(path, said("one"), said("two"))
    with watching(cli, location) as process:
        assert received(process) == "default/ana: 2 messages, 1 conversation added"
        append(path, said("three"))
        assert received(process) == "default/ana: 1 message added"
        append(cli.folder / "projects" / "car" / "s-2.jsonl", said("other", "s-2"))
        assert received(process) == "default/ana: 1 message, 1 conversation added"
        process.send_signal(signal.SIGKILL)
        process.wait()
    append(path, said("four"))
    with watching(cli, location) as process:
        assert received(process) == "default/ana: 1 message added"
        append(path, said("five"))
        assert received(process) == "default/ana: 1 message added"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    with recollect.open(location) as home:
        mem = home.agent("ana")
        (info,) = mem.conversations.list(chat_id="s-1")
        texts = [event.content for event in mem.conversations.get(info.id).events()]
        assert texts == ["one", "two", "three", "four", "five"]
        assert home.agent("bob").conversations.list() == []
        assert home.check().findings == ()


@pytest.mark.parametrize("location", ["file"], indirect=True)
def test_a_damaged_line_does_not_end_the_watch(cli: Command, location: str) -> None:
    path = cli.folder / "projects" / "s-1.jsonl"
    append(path, said("one"))
    with watching(cli, location) as process:
        assert received(process) == "default/ana: 1 message, 1 conversation added"
        append(path, "{broken", said("two"))
        assert received(process) == "default/ana: 1 message added"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


def test_watch_takes_neither_a_dry_run_nor_the_standard_input(cli: Command) -> None:
    (cli.folder / "projects").mkdir()
    assert "--dry-run" in cli("import", "projects", "--watch", "--dry-run", code=2).err
    assert "--dry-run" in cli("import", "-", "--watch", code=2).err
    assert "is none of the formats" in cli("import", "projects", "--watch", code=2).err
