"""What child processes do in the crash tests. Each tells on its pipe what it is about to do and what has returned.

A message is a tuple that starts with a word: ("ready",), ("doing", step), ("done", step, id, hash), ("failed", class,
message), ("over",). What follows "done" was acknowledged: whatever happens to the process later, it must be there.
"""

import contextlib
import os
import random
import resource
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

import apsw
import psycopg_pool  # noqa: F401 - loaded once by the server that children are forked from, not by every child
from crash.faulty_disk import FaultyDisk
from crash.model import Step, fact, word

import recollect
from recollect import Memory
from recollect.access import Requests
from recollect.search import bm25, index  # noqa: F401 - the same, for numpy
from recollect.storage.postgres import database as postgres  # noqa: F401 - the same
from recollect.storage.sqlite import database  # noqa: F401 - the same


def endless(first: int, seed: int) -> Iterator[Step]:
    """Operations without end on the notes of this run: about half new notes, the rest changes to living ones."""
    rng = random.Random(seed)
    living: list[int] = []
    key = first
    for number in range(10**9):
        kind = rng.choice(["add", "add", "add", "write", "rename", "forget"]) if living else "add"
        if kind == "add":
            key += 1
            living.append(key)
            yield Step("add", key, fact(key, 0), f"name {word(key)}" if rng.random() < 0.5 else None)
            continue
        chosen = rng.choice(living)
        if kind == "write":
            yield Step("write", chosen, fact(chosen, number))
        elif kind == "rename":
            yield Step("rename", chosen, None, f"renamed {word(chosen)}q{word(number)}")
        else:
            living.remove(chosen)
            yield Step("forget", chosen)


def everything_once(first: int) -> list[Step]:
    """A short story with every kind of operation, on new and on changed notes, one of them over several pages."""
    a, b, c = first + 1, first + 2, first + 3
    return [
        Step("add", a, fact(a, 0), f"name {word(a)}"),
        Step("add", b, fact(b, 0)),
        Step("write", a, fact(a, 1)),
        Step("rename", b, None, f"called {word(b)}"),
        Step("add", c, "a long story " * 1_000 + fact(c, 0)),
        Step("rename", a, None, f"second {word(a)}"),
        Step("forget", b),
        Step("write", c, fact(c, 2)),
        Step("forget", a),
    ]


def act(mem: recollect.Memory, step: Step, ids: dict[int, str]) -> recollect.Entry:
    """Do one step; `ids` knows which entry a key stands for."""
    if step.kind == "add":
        entry = mem.remember(step.content or "", name=step.name)
        ids[step.key] = entry.id
        return entry
    if step.kind == "write":
        return mem.apply(recollect.Write(ids[step.key], content=step.content))
    if step.kind == "rename":
        return mem.apply(recollect.Rename(ids[step.key], step.name or ""))
    return mem.apply(recollect.Remove(ids[step.key]))


def tell(pipe: Connection, mem: recollect.Memory, steps: Iterable[Step]) -> None:
    """Run the steps, and report each before and after."""
    ids: dict[int, str] = {}
    for step in steps:
        pipe.send(("doing", step))
        entry = act(mem, step, ids)
        pipe.send(("done", step, entry.id, entry.content_hash))


def run(pipe: Connection, work: Callable[..., None], *values: object) -> None:
    """The life of a child: get ready, wait for the word, work; an error is told with its class, raw ones too."""
    pipe.send(("ready",))
    pipe.recv()
    try:
        work(pipe, *values)
        pipe.send(("over",))
    except BaseException as error:
        pipe.send(("failed", f"{type(error).__module__}.{type(error).__name__}", str(error)))
    finally:
        pipe.close()
        os._exit(0)  # a killed process does not tidy up, so none of these does


def write_until_killed(pipe: Connection, location: str, first: int, seed: int, tail: int, fan: int) -> None:
    """Write without end. Small numbers make the index flush and merge often."""
    index.TAIL, index.FAN = tail, fan
    tell(pipe, recollect.open(location).agent("ana"), endless(first, seed))


def write_from_threads_until_killed(pipe: Connection, location: str, first: int, threads: int) -> None:
    """Write notes from many threads without end; a note is told after its write has returned."""
    home, one_at_a_time = recollect.open(location), threading.Lock()

    def write(thread: int) -> None:
        mem = home.agent("ana" if thread % 2 else "ben")
        for number in range(10**9):
            note = fact(first + thread, number)
            identity = mem.remember(note).id
            with one_at_a_time:
                pipe.send(("done", mem.agent, identity, note))

    with ThreadPoolExecutor(threads) as pool:
        for one in [pool.submit(write, thread) for thread in range(threads)]:
            one.result()


def write_on_a_faulty_disk(pipe: Connection, location: str, first: int, fault: str, moment: int, seed: int) -> None:
    """Write the short story on a disk that fails at a moment; small pieces, so that the index flushes and merges."""
    index.TAIL, index.FAN = 2, 2
    disk = FaultyDisk(fault, moment, seed)
    home = recollect.open(location)
    mem = home.agent("ana")
    try:
        tell(pipe, mem, everything_once(first))
    except recollect.Unavailable as error:
        pipe.send(("refused", str(error)))
        disk.mend()
        tell(pipe, mem, [Step("add", first + 9, fact(first + 9, 0))])
    # Closing writes the log back. SQLite does not report a failure; an error of the disk in Python does.
    with contextlib.suppress(apsw.FullError):
        home.close()
    pipe.send(("moments", disk.moments))


def write_notes(pipe: Connection, location: str, agents: list[str], number: int, notes: int) -> None:
    """Write some notes, in turn for each of the agents, with a new home for every twenty."""
    for start in range(0, notes, 20):
        with recollect.open(location) as home:
            for note in range(start, min(start + 20, notes)):
                key = number * 1_000 + note
                entry = home.agent(agents[note % len(agents)]).remember(fact(key, 0))
                pipe.send(("done", Step("add", key, fact(key, 0)), entry.id, entry.content_hash))


def open_write_close(pipe: Connection, location: str, notes: int) -> None:
    """Write notes of several pages, each with a home of its own."""
    for note in range(notes):
        with recollect.open(location) as home:
            home.agent("ana").remember(fact(note, 0) + " and so on" * 3_000)


def open_read_close(pipe: Connection, location: str) -> None:
    """Read with one home after the other, until there is a message."""
    while not pipe.poll():
        with recollect.open(location) as home:
            home.agent("ana").list(limit=1)


def write_under_a_size_limit(pipe: Connection, location: str, limit: int) -> None:
    """Write until no file may grow beyond the limit, then again without a limit."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    with recollect.open(location) as home:
        mem = home.agent("ana")
        try:
            tell(pipe, mem, (Step("add", key, fact(key, 0) + 40 * f" {word(key)}" * 50) for key in range(1, 10_000)))
        except recollect.Unavailable as error:
            pipe.send(("refused", str(error)))
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            tell(pipe, mem, [Step("add", 10_000, fact(10_000, 0))])


def use_after_fork(pipe: Connection, location: str) -> None:
    """Open a home, fork, and use it on both sides; the parent closes it while its child keeps writing."""
    home = recollect.open(location)
    mem = home.agent("ana")
    tell(pipe, mem, [Step("add", 1, fact(1, 0))])
    mem.recall(word(1))
    up, down = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            tell(pipe, mem, [Step("add", 2, fact(2, 0))])
            os.write(up[1], b".")
            os.read(down[0], 1)
            tell(pipe, mem, [Step("add", 3, fact(3, 0))])
            assert mem.recall(word(3))
        except BaseException as error:
            pipe.send(("failed", "in the forked child", repr(error)))
        os._exit(0)
    os.close(up[1])
    os.read(up[0], 1)
    tell(pipe, mem, [Step("add", 4, fact(4, 0))])
    home.close()
    os.write(down[1], b".")
    os.waitpid(child, 0)
    tell(pipe, mem, [Step("add", 5, fact(5, 0))])
    assert len(mem.list()) == 5, [entry.content for entry in mem.list()]


def delete_and_begin_anew(pipe: Connection, location: str) -> None:
    """Delete the workspace, create it again, and stay until killed."""
    home = recollect.open(location)
    home.delete_workspace("default")
    home.agent("ana").remember("the new days")
    pipe.send(("done",))
    pipe.recv()


def make_and_remove_until_killed(pipe: Connection, folder: str) -> None:
    """Make a directory and take it away again, for ever."""
    pipe.send(("making",))
    while True:
        os.mkdir(folder)
        os.rmdir(folder)


def add_until_killed(pipe: Connection, location: str, agents: list[str]) -> None:
    """Add numbered notes without end, in turn for each of the agents."""
    home = recollect.open(location)
    for key in range(1, 10**9):
        entry = home.agent(agents[key % len(agents)]).remember(fact(key, 0))
        pipe.send(("done", Step("add", key, fact(key, 0)), entry.id, entry.content_hash))


def serve_until_killed_by_a_request(pipe: Connection, location: str, committed: bool) -> None:
    """Serve, and end with SIGKILL in the first request with a key: before it writes, or between commit and response."""
    from surfaces.server import serving

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if committed:
        Requests.finish = die  # type: ignore[method-assign]
    else:
        Memory.remember = die  # type: ignore[method-assign, assignment]
    with serving(recollect.open(location)) as server:
        pipe.send(("done", server.url))
        pipe.recv()
