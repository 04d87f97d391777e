"""Processes that fork while their other threads use a memory: children lose nothing, or are told that they must not."""

import os
from pathlib import Path

import pytest
from embedders import in_a_new_process

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

CHILDREN_OF_A_BUSY_PARENT = """
import multiprocessing, sys, threading, warnings
import recollect

warnings.simplefilter("ignore")
location = sys.argv[1]
home = recollect.open(location)
mem = home.agent("ana")
mem.remember_many([recollect.Add(f"tea with milk {number}") for number in range(200)])
busy = threading.Event()
busy.set()

def read():
    while busy.is_set():
        mem.recall("tea", record=False)
        mem.list()

def child(number):
    with recollect.open(location) as own:
        for turn in range(3):
            own.agent("ana").remember(f"child {number}, note {turn}")

threads = [threading.Thread(target=read) for _ in range(2)]
for thread in threads:
    thread.start()
for number in range(8):
    process = multiprocessing.get_context("fork").Process(target=child, args=(number,))
    process.start()
    process.join(60)
    assert process.exitcode == 0, process.exitcode
busy.clear()
for thread in threads:
    thread.join()
with recollect.open(location) as fresh:
    assert fresh.check().ok
    print(len(fresh.agent("ana").list(limit=1_000)))
"""

IN_THE_MIDDLE_OF_A_READ = """
import os, sys
import recollect

home = recollect.open(sys.argv[1])
mem = home.agent("ana")
mem.remember("before")
with mem._workspace.read():
    child = os.fork()
    if child == 0:
        for use in (home, recollect.open(sys.argv[1])):
            for call in (lambda: use.agent("ana").remember("in the child"), use.agent("ana").list):
                try:
                    call()
                    os._exit(1)
                except recollect.Unavailable as error:
                    assert "forked while" in str(error), error
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
mem.remember("after")
print([entry.content for entry in mem.list()])
"""

WHAT_WAITS_FOR_A_FORK = """
import os, sys, threading, warnings
import recollect

warnings.simplefilter("ignore")
home = recollect.open(sys.argv[1])
mem = home.agent("ana")
mem.remember("before")
inside, go_on = threading.Event(), threading.Event()

def read_and_read_again():
    with mem._workspace.read():
        inside.set()
        go_on.wait()
        mem.list()  # a thread that has begun may finish, also with what it begins meanwhile

reader = threading.Thread(target=read_and_read_again)
reader.start()
inside.wait()
os.register_at_fork(before=go_on.set)  # called before those that were registered earlier
child = os.fork()
if child == 0:
    mem.remember("in the child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
reader.join()
print([entry.content for entry in mem.list()])
"""


def test_what_children_write_is_kept_although_their_parent_was_reading_at_the_fork(tmp_path: Path) -> None:
    assert in_a_new_process(CHILDREN_OF_A_BUSY_PARENT, str(tmp_path / "memory.db")) == "224\n"


def test_a_child_forked_in_the_middle_of_a_read_is_refused_clearly_and_its_parent_continues(tmp_path: Path) -> None:
    assert in_a_new_process(IN_THE_MIDDLE_OF_A_READ, str(tmp_path / "memory.db")) == "['after', 'before']\n"


def test_a_fork_waits_for_what_another_thread_has_begun(tmp_path: Path) -> None:
    assert in_a_new_process(WHAT_WAITS_FOR_A_FORK, str(tmp_path / "memory.db")) == "['in the child', 'before']\n"
