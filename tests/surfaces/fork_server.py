"""Starts `recollect` by forking a process that has imported it already: most of the time of a start is its imports.

What runs is a process of its own, with its arguments, environment, folder and streams, from `main()` to the end of the
interpreter. It shares the imports, and what an interpreter reads before them: the variables in `READ_AT_START`. A test
of these must start a new program.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

import recollect.cli

READ_AT_START = ("PYTHON", "LC_", "LANG")
LOADED_LATER = (
    "recollect.cli.program",
    "recollect.search.bm25",
    "recollect.search.segments",
    "typer._click.decorators",
)
"""Modules that most commands load after their start, numpy among them."""
NO_THREADS = {"OPENBLAS_NUM_THREADS": "1"}
"""For the server: a fork would lose the threads that numpy starts."""


class Forked:
    """A command that runs."""

    def __init__(self, reply: int) -> None:
        self._reply = os.fdopen(reply)
        self.pid = int(self._reply.readline())

    def wait(self) -> int:
        """Wait for its end, and return its exit code, or the negative number of the signal that ended it."""
        with self._reply:
            return os.waitstatus_to_exitcode(int(self._reply.readline()))


class ForkServer:
    """A server that runs one command at a time, and ends with the process that made it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            words = [sys.executable, __file__, str(theirs.fileno())]
            descriptors, environ = [theirs.fileno()], {**environment, **NO_THREADS}
            self._process = subprocess.Popen(words, pass_fds=descriptors, env=environ, start_new_session=True)
        atexit.register(self._stop)

    def start(
        self, words: Sequence[str | bytes], folder: Path, environment: Mapping[str, str], streams: Sequence[int]
    ) -> Forked:
        """Start `recollect WORDS…` with three file descriptors as its streams."""
        request = {"words": [os.fsdecode(word) for word in words], "folder": str(folder), "environment": environment}
        ours, reply = os.pipe()
        with tempfile.TemporaryFile() as file, os.fdopen(reply, "wb"):
            file.write(json.dumps(request).encode())
            file.seek(0)
            socket.send_fds(self._control, [b"."], [file.fileno(), reply, *streams])
        return Forked(ours)

    def _stop(self) -> None:
        self._control.close()
        self._process.wait()


def serve(control: socket.socket) -> None:
    """Fork a process for each request until there are no more. Return only in such a process, ready to be a command."""
    gc.freeze()
    while True:
        message, descriptors, *_ = socket.recv_fds(control, 1, 5)
        if not message:
            os._exit(0)
        request, reply, *streams = descriptors
        if (command := os.fork()) == 0:
            control.close()
            os.close(reply)
            return become(request, streams)
        os.write(reply, b"%d\n" % command)
        os.write(reply, b"%d\n" % os.waitpid(command, 0)[1])
        for descriptor in descriptors:
            os.close(descriptor)


def become(request: int, streams: Sequence[int]) -> None:
    """Take the arguments, the environment, the folder and the streams of a request."""
    with os.fdopen(request, "rb") as file:
        given = json.load(file)
    for standard, descriptor in enumerate(streams):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = map(reopened, (sys.stdin, sys.stdout, sys.stderr))
    os.environ.clear()
    os.environ.update(given["environment"])
    os.chdir(given["folder"])
    time.tzset()
    tempfile.tempdir = None  # it may have been found in another environment
    sys.argv[1:] = given["words"]
    sys.path[0] = given["folder"]  # as `python -m` has it


def reopened(stream: TextIO) -> TextIO:
    """Return a stream like this one for its file descriptor, which is another file now."""
    number = stream.fileno()
    return open(
        number,
        stream.mode,
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n" if number else None,
        closefd=False,
    )


if __name__ == "__main__":
    for module in LOADED_LATER:
        __import__(module)
    serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(recollect.cli.main())
