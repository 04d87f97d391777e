"""A command that is forked with its imports done ends as one that is started from nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from surfaces.command import Command, environment
from surfaces.fork_server import ForkServer


@pytest.mark.parametrize(
    ("args", "stdin", "changes"),
    [
        (["--version"], b"", {}),
        (["--help"], b"", {"COLUMNS": "60"}),
        (["note", "add", "-", "\u65e5\u672c"], "caf\u00e9\r\n".encode(), {}),
        (["note", "add", "-", "\u65e5\u672c"], b"\xff", {}),
        (["note", "show", b"caf\xe9"], b"", {}),
        (["note", "list"], b"", {"RECOLLECT_HOME": "nowhere://"}),
        (["recall", "anything", "--limit", "none"], b"", {}),
    ],
)
def test_a_forked_command_ends_as_a_new_program_does(
    args: list[str | bytes], stdin: bytes, changes: dict[str, str], tmp_path: Path
) -> None:
    folders = tmp_path / "forked", tmp_path / "new"
    for folder in folders:
        folder.mkdir()
    forked, new = (Command(folder) for folder in folders)
    assert forked.fork(args, stdin, environment(**changes)) == new.run(args, stdin, environment(**changes))
    assert [path.name for path in folders[0].iterdir()] == [path.name for path in folders[1].iterdir()]


def test_a_signal_that_ends_a_forked_command_is_its_exit_code(tmp_path: Path) -> None:
    nothing_to_read, never_written = os.pipe()
    with os.fdopen(nothing_to_read), os.fdopen(never_written, "wb"), (tmp_path / "output").open("wb") as output:
        streams = [nothing_to_read, output.fileno(), output.fileno()]
        command = ForkServer(environment()).start(["remember", "-"], tmp_path, environment(), streams)
        os.kill(command.pid, signal.SIGKILL)
        assert command.wait() == -signal.SIGKILL
