"""A move that is killed in the middle leaves whole agents in the target, and doing it again ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect import Conflict, FixedClock

pytestmark = pytest.mark.directory

KILLED = """
import os, signal, sys
import recollect
from recollect.transfer import restoring

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

moment, source, target = sys.argv[1:]
if moment == "within an agent":
    keep, restoring.reindex = restoring.reindex, lambda work: kill() if work.tx.agent == "ben" else keep(work)
with recollect.open(source) as one, recollect.open(target) as other:
    one.move_to(other, progress=lambda where, done, total: kill() if where == moment else None)
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    with recollect.open(tmp_path / "source.db", clock=FixedClock()) as home:
        for name in ("ana", "ben", "cleo"):
            mem = home.agent(name)
            mem.remember(f"{name} likes the harbour", name="harbour")
            mem.remember(f"{name} is never called before nine", name="calls", scope="account")
            mem.forget(mem.remember(f"{name} forgets this").id)
        home.agent("ana").conversations.start().user("Where is the harbour?")
    return str(tmp_path / "source.db")


def everything(location: str, path: Path) -> bytes:
    with recollect.open(location, clock=FixedClock()) as home:
        assert home.check().findings == ()
        home.export(path)
    return path.read_bytes()


@pytest.mark.parametrize("moment", ["default/ana", "within an agent", "default/cleo"])
def test_a_killed_move_can_be_repeated(location: str, source: str, moment: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(recollect.__file__).parents[1])}
    ended = subprocess.run([sys.executable, "-c", KILLED, moment, source, location], env=environment, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    with recollect.open(source) as one, recollect.open(location) as other, recollect.open(tmp_path / "whole") as whole:
        assert other.agent("ana").get("harbour").content == "ana likes the harbour"
        assert other.agent("cleo").list() == [] or moment == "default/cleo"
        one.move_to(other)
        assert not one.move_to(other).changed  # all of it is there
        one.move_to(whole)
        apart = location.endswith(".db")
    if not apart:
        assert everything(location, tmp_path / "1.jsonl") == everything(str(tmp_path / "whole"), tmp_path / "2.jsonl")
    else:
        assert everything(location, tmp_path / "1.jsonl") == everything(source, tmp_path / "2.jsonl")


def test_what_was_changed_meanwhile_is_never_written_over(location: str, source: str) -> None:
    with recollect.open(source) as one, recollect.open(location) as other:
        one.move_to(other)
        other.agent("ben").remember("my own")
        with pytest.raises(Conflict, match="the target is not empty, it contains default/ben"):
            one.move_to(other)
        assert {entry.content for entry in other.agent("ben").list()} > {"my own"}
