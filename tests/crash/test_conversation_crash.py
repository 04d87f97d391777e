"""Processes that talk, compact and end are killed at any moment: what was acknowledged is there, nothing half done."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import speakers
from crash.children import Child, let_run
from postgres import without_clients

import recollect
from recollect import Home, Kind, Memory
from recollect.engine.chunks import chunks
from recollect.engine.lanes import read_marker
from recollect.model.history import EventType, Lane, Status


class Expected:
    """What children were told is stored."""

    def __init__(self) -> None:
        self.hashes: dict[str, list[str]] = {}
        self.ended: set[str] = set()
        self.done = 0

    def take(self, child: Child) -> None:
        for message in child.kill():
            if message[0] == "done":
                _, kind, conversation, hashes = message
                self.done += 1
                self.hashes.setdefault(conversation, []).extend(hashes)
                if kind == "end":
                    self.ended.add(conversation)
        assert child.failure is None, child.failure

    def compare(self, home: Home) -> None:
        assert home.check().findings == ()
        mem = home.agent("ana")
        archives = {entry.name for entry in mem.list(kind=Kind.ARCHIVE, limit=10_000)}
        seen = set()
        for info in mem.conversations.list(limit=10_000):
            conv = mem.conversations.get(info.id)
            events = list(conv.events())
            received = [one.hash for one in events if one.type is not EventType.MARKER]
            known = self.hashes.get(info.id, [])
            assert set(known) <= set(received)
            assert [one for one in received if one in set(known)] == known
            assert len(received) - len(known) <= 5  # the call that was under way, whole
            self.hashes[info.id] = received  # what is there once stays
            markers = {
                lane: [read_marker(one) for one in events if one.type is EventType.MARKER and one.lane is lane]
                for lane in Lane
            }
            seen |= {one.archive_name for found in markers.values() for one in found}
            for lane, found in markers.items():
                window = {one.seq for one in conv.window(lane)}
                for event in events:
                    if event.lane is lane and event.type is not EventType.MARKER:
                        covered = any(event.seq <= one.boundary and event.seq not in one.kept for one in found)
                        assert covered is not (event.seq in window)
            if info.id in self.ended:
                assert info.status is Status.IDLE
        assert {name for name in archives if name and name.startswith("archive-")} == seen


def left_whole(mem: Memory) -> None:
    """Every ended conversation left exactly what its journal says, once."""
    entries = mem.list(limit=100_000)
    for info in mem.conversations.list(limit=10_000):
        own = [entry for entry in entries if entry.conversation_id == info.id]
        talk = [one for one in mem.conversations.get(info.id).events() if one.type is not EventType.MARKER]
        made = sorted((entry.content, entry.first_event, entry.last_event) for entry in own if entry.kind is Kind.CHUNK)
        assert made == sorted((text, received[0].seq, received[-1].seq) for text, received in chunks(talk))
        spoken = any(one.content for one in talk if one.type in (EventType.USER, EventType.MODEL))
        assert sum("auto-handoff" in entry.tags for entry in own) == spoken
        decisions = [entry.content for entry in own if "auto-extract" in entry.tags]
        assert len(decisions) == len(set(decisions)) <= 10


def rounds(start: Callable[..., Child], location: str, number: int) -> int:
    rng = random.Random(7)
    expected = Expected()
    for turn in range(number):
        child = start(speakers.talk_until_killed, location, rng.random(), (1_024, 8, 2)[turn % 3])
        child.go()
        let_run(child, rng, 40)
        expected.take(child)
        without_clients(location)
        with recollect.open(location, settings=speakers.SETTINGS) as home:
            expected.compare(home)
    with recollect.open(location, settings=speakers.SETTINGS) as home:
        mem = home.agent("ana")
        for info in mem.conversations.list(limit=10_000):
            if info.status is Status.ACTIVE:
                mem.conversations.get(info.id).end()
        expected.compare(home)
        left_whole(mem)
    return expected.done


@pytest.mark.parametrize(("name", "number"), [("memory.db", 15), ("home", 4)])
def test_speakers_that_are_killed_lose_nothing_and_leave_nothing_half_done(
    start: Callable[..., Child], tmp_path: Path, name: str, number: int
) -> None:
    assert rounds(start, str(tmp_path / name), number) > 8 * number


def test_clients_of_postgresql_that_are_killed_lose_nothing_and_leave_nothing_half_done(
    start: Callable[..., Child], postgres_url: str
) -> None:
    assert rounds(start, postgres_url, 7) > 50
