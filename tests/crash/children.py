"""Child processes that can be killed: forked from a server that has everything loaded, so that they start at once."""

import contextlib
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import recollect

__all__ = ["Child", "children", "let_run"]

Message = tuple[Any, ...]
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["crash.program"])


class Child:
    """One child process: it is ready when this returns, and begins at `go()`."""

    def __init__(self, work: Callable[..., None], *values: object) -> None:
        from crash import program

        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(target=program.run, args=(theirs, work, *values), daemon=True)
        self._process.start()
        theirs.close()
        assert self._pipe.recv() == ("ready",)
        self.messages: list[Message] = []

    def go(self) -> None:
        """Give the word to begin."""
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and rest() tells how
            self._pipe.send("go")

    def next(self, word: str) -> Message:
        """The next message that starts with this word; the child's own error if it failed instead."""
        while True:
            message: Message = self._pipe.recv()
            self.messages.append(message)
            if message[0] == word:
                return message
            assert message[0] not in ("failed", "over"), message

    def kill(self) -> list[Message]:
        """End it with SIGKILL; everything it said."""
        self._process.kill()
        return self.rest()

    def rest(self) -> list[Message]:
        """Everything it said until its end."""
        try:
            while True:
                self.messages.append(self._pipe.recv())
        except (EOFError, OSError):
            pass
        self._process.join()
        self._pipe.close()
        return self.messages

    def wait(self, seconds: float) -> None:
        """Let it run for a moment, or until it ends."""
        self._process.join(seconds)

    @property
    def failure(self) -> Message | None:
        """The error that ended it, if one did."""
        return next((message for message in self.messages if message[0] == "failed"), None)

    def end(self) -> None:
        """Make sure that it is gone."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


@contextmanager
def children() -> Iterator[Callable[..., Child]]:
    """Start children; whatever is left of them is gone at the end of the block."""
    here = [str(Path(recollect.__file__).parents[1]), str(Path(__file__).parents[1])]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(here)  # for the server's own start; it takes nothing from sys.path
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    started: list[Child] = []

    def start(work: Callable[..., None], *values: object) -> Child:
        started.append(Child(work, *values))
        return started[-1]

    try:
        yield start
    finally:
        for child in started:
            child.end()


def let_run(child: Child, rng: random.Random, acknowledged: int) -> None:
    """Let it acknowledge some steps, then run for a random moment."""
    for _ in range(rng.randrange(acknowledged + 1)):
        child.next("done")
    child.wait(rng.random() * 0.02)
