"""The command line as its users run it: a process of its own, with arguments, an environment and three streams.

Most commands are forked from a process that has the imports done (see `fork_server`), the others start from nothing.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surfaces.fork_server import READ_AT_START, ForkServer

import recollect

UNWANTED = ("RECOLLECT_", "PYTHON", "LC_", "LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "TTY_")
SERVERS = {"mcp", "serve"}
"""Commands that run until they are stopped: always programs of their own."""
PIPE_SIZE = 65_536
"""How much can be written to a pipe before anything is read from it."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(**changes: str) -> dict[str, str]:
    """The environment of a command: ours without what changes its output, with this very source, by words alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(UNWANTED)}
    source = str(Path(recollect.__file__).parents[1])
    fixed = {"PYTHONPATH": source, "LANG": "C.UTF-8", "TERM": "xterm-256color", "RECOLLECT_EMBEDDER_KIND": "none"}
    fixed["HOME"] = str(Path(tempfile.gettempdir(), f"recollect-user-{os.getpid()}"))  # without a connected memory
    return {**kept, **fixed, **changes}


class Command:
    """Runs `recollect ARGS…` in a folder. A traceback fails the test, whatever it is about."""

    def __init__(self, folder: Path, server: Callable[[], ForkServer] | None = None) -> None:
        self.folder = folder
        self._server = server or fork_server

    def __call__(self, *args: str | bytes, stdin: bytes = b"", code: int = 0, **changes: str) -> Ended:
        fresh = (
            not SERVERS.isdisjoint(args)
            or len(stdin) > PIPE_SIZE
            or any(name.startswith(READ_AT_START) for name in changes)
        )
        result = (self.run if fresh else self.fork)(args, stdin, environment(**changes))
        assert "Traceback" not in result.err, result.err
        assert result.code == code, result
        return result

    def run(self, args: Sequence[str | bytes], stdin: bytes, environ: dict[str, str]) -> Ended:
        """Run the command as a new program."""
        words = [sys.executable, "-m", "recollect", *args]
        ended = subprocess.run(words, input=stdin, capture_output=True, cwd=self.folder, env=environ, check=False)
        return Ended(ended.returncode, ended.stdout, ended.stderr.decode())

    def fork(self, args: Sequence[str | bytes], stdin: bytes, environ: dict[str, str]) -> Ended:
        """Run the command in a fork of a process that has its imports done."""
        read, write = os.pipe()
        os.write(write, stdin)
        os.close(write)
        with os.fdopen(read), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._server().start(args, self.folder, environ, [read, out.fileno(), err.fileno()]).wait()
            out.seek(0)
            err.seek(0)
            return Ended(code, out.read(), err.read().decode())

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """The command, still running."""
        return subprocess.Popen(
            [sys.executable, "-m", "recollect", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=environment(),
        )

    def on_terminal(
        self, *args: str, keys: bytes = b"", interrupt_at: bytes | None = None, columns: int = 80, **changes: str
    ) -> tuple[int, str]:
        """The exit code and everything a terminal of this width was sent, after typing some keys.

        With `interrupt_at` the command is interrupted as soon as it has written that.
        """
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.write(ours, keys)
        process = fork_server().start(args, self.folder, environment(**changes), [theirs] * 3)
        os.close(theirs)
        sent = b""
        while block := _read(ours):
            sent += block
            if interrupt_at is not None and interrupt_at in sent:
                os.kill(process.pid, signal.SIGINT)
                os.write(ours, b"\x04")  # a signal that comes just before a read is seen when the read ends
                interrupt_at = None
        os.close(ours)
        return process.wait(), sent.decode().replace("\r\n", "\n")


@functools.cache
def fork_server() -> ForkServer:
    """The server of this process that forks commands."""
    return ForkServer(environment())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how a terminal says that the other end is gone
        return b""
