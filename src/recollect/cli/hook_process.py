"""Starts a background process that handles the hooks of a user until it has been idle for some minutes.

A hook forks early, before it has loaded much, started a thread or opened a database, so that the fork is safe on every
system that supports it. The child listens on a Unix socket as a running `recollect mcp` does, and its parent sends its
request there. It opens the home for each hook and closes it again: between hooks it holds no file open, and killing it
at any time loses nothing.
"""

import contextlib
import gc
import os
import select
import sys

__all__ = ["start"]

START_TIMEOUT = 20.0
"""Maximum seconds to wait until the new process listens."""


def start(home: str, minutes: float) -> bool:
    """Start a process that handles hooks for a home; return whether it listens."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_detached(home, minutes, writing)
    os.close(writing)
    os.waitpid(child, 0)  # it exits at once; the process that stays is its child
    try:
        return _wait_until_ready(reading)
    finally:
        os.close(reading)


def _wait_until_ready(reading: int) -> bool:
    readable, _, _ = select.select([reading], [], [], START_TIMEOUT)
    return bool(readable) and os.read(reading, 1) == b"1"  # empty if the process failed


def _run_detached(home: str, minutes: float, ready: int) -> None:
    """Detach from the session and streams of the parent, so that nothing waits for this process; then handle hooks."""
    try:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            _close_files(keep=ready)
            from recollect.cli.hook_server import handle_until_idle

            gc.freeze()
            gc.enable()  # the command line disables it for its short life
            handle_until_idle(home, minutes, lambda: _report_ready(ready))
    finally:
        os._exit(0)


def _close_files(keep: int) -> None:
    """Close all inherited files but one: the host may wait for end of file on any pipe of its hook."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    for file in map(int, os.listdir("/dev/fd")):
        if file > 2 and file != keep:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself is closed by now
                os.close(file)


def _report_ready(ready: int) -> None:
    os.write(ready, b"1")
    os.close(ready)
