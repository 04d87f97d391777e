"""Hypothesis talks, calls tools, compacts and reopens; a plain model says what each window must hold."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from dialogue import call
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from postgres import Server

import recollect
from recollect import Conflict, FixedClock, Home, Invalid, Kind, Settings
from recollect.config import WindowSettings
from recollect.engine.lanes import read_marker
from recollect.model.history import EventType, Lane

WINDOW = 8
"""Events that fill a window here."""
Place = tuple[str, str, Callable[[Home], None]]

lanes = st.sampled_from(["edge", "edge", "core"])


@dataclass
class Received:
    """An event as the model knows it: its kind, which calls it makes, and which one it answers."""

    kind: str
    calls: tuple[str, ...] = ()
    answers: str | None = None


@dataclass
class LaneModel:
    """The window of a lane: the contents in order; and for tests of the whole how many have left."""

    window: list[tuple[str, Received]] = field(default_factory=list)
    folded: int = 0
    compactions: int = 0

    def groups(self) -> list[list[int]]:
        """The places in the window of what may leave, oldest first."""
        users = [place for place, (_, one) in enumerate(self.window) if one.kind == "user"]
        found = []
        for place, (_, one) in enumerate(self.window):
            if one.kind == "model":
                answers = [
                    next((at for at, (_, other) in enumerate(self.window) if other.answers == asked), None)
                    for asked in one.calls
                ]
                if None not in answers:
                    found.append([place, *(answer for answer in answers if answer is not None)])
            elif one.kind == "user" and place != users[-1]:
                found.append([place])
        return found

    def leave(self, groups: list[list[int]]) -> None:
        gone = {place for group in groups for place in group}
        if gone:
            self.window = [one for place, one in enumerate(self.window) if place not in gone]
            self.folded += len(gone)
            self.compactions += 1

    def asked(self) -> bool:
        """Compact by hand; whether anything left."""
        users = [place for place, (_, one) in enumerate(self.window) if one.kind == "user"]
        groups = self.groups()
        self.leave([group for group in groups if max(group) < max(users, default=0)] or groups)
        return bool(groups)

    def full(self) -> None:
        """Compact if the window is full, until half of it is left."""
        groups = self.groups()
        if len(self.window) < WINDOW or not groups:
            return
        left, chosen = len(self.window), []
        for group in groups:
            if left <= WINDOW // 2:
                break
            chosen.append(group)
            left -= len(group)
        self.leave(chosen)


class ConversationMachine(RuleBasedStateMachine):
    """One conversation in one place, with its model."""

    def __init__(self, place: Callable[[], Place]) -> None:
        super().__init__()
        self.location, self.agent, self.clean = place()
        self.clock = FixedClock()
        self.open()
        self.conv = self.home.agent(self.agent).conversations.start()
        self.model = {lane: LaneModel() for lane in Lane}
        self.every: list[str] = []
        self.open_calls: list[tuple[Lane, str]] = []
        self.number = count(1)

    def open(self) -> None:
        self.home = recollect.open(
            self.location, clock=self.clock, settings=Settings(window=WindowSettings(events=WINDOW))
        )

    def teardown(self) -> None:
        assert self.home.check().findings == ()
        self.clean(self.home)

    def appended(self, lane: str, content: str, received: Received) -> None:
        self.every.append(content)
        self.model[Lane(lane)].window.append((content, received))
        self.model[Lane(lane)].full()

    @rule(lane=lanes)
    def user(self, lane: str) -> None:
        content = f"question {next(self.number)}"
        self.conv.user(content, lane=lane)
        self.appended(lane, content, Received("user"))

    @rule(lane=lanes, calls=st.integers(0, 2))
    def assistant(self, lane: str, calls: int) -> None:
        content = f"answer {next(self.number)}"
        ids = tuple(f"call{next(self.number)}" for _ in range(calls))
        self.conv.assistant(content, tool_calls=[call(one) for one in ids], lane=lane)
        self.open_calls += [(Lane(lane), one) for one in ids]
        self.appended(lane, content, Received("model", ids))

    @rule(lane=lanes, answers=st.integers(0, 2))
    def turn_and_compaction(self, lane: str, answers: int) -> None:
        self.user(lane)
        for _ in range(answers):
            self.assistant(lane, 0)
        self.compact(lane)

    @rule(place=st.integers(0, 3))
    def tool(self, place: int) -> None:
        if self.open_calls:
            lane, identity = self.open_calls.pop(place % len(self.open_calls))
            content = f"result {next(self.number)}"
            self.conv.tool(content, identity, lane=lane)
            self.appended(lane, content, Received("tool", (), identity))
            with pytest.raises((Conflict, Invalid)):  # by whether an archive stands for the call already
                self.conv.tool(content, identity, lane=lane)

    @rule(lane=lanes)
    def instruct(self, lane: str) -> None:
        content = f"rule {next(self.number)}"
        self.conv.instruct(content, lane=lane)
        self.appended(lane, content, Received("instruction"))

    @rule(messages=st.integers(1, 6))
    def post_the_whole_list(self, messages: int) -> None:
        """The client's list is everything that was said in the lane, and something more."""
        spoken = [one for one in self.conv.events() if one.lane is Lane.EDGE and one.type.compactable]
        received: list[dict[str, object]] = [
            {"role": one.role, "content": one.content, "tool_calls": one.tool_calls, "tool_call_id": one.tool_call_id}
            for one in spoken
        ]
        new = [f"posted {next(self.number)}" for _ in range(messages)]
        added = self.conv.extend([*received, *({"role": "user", "content": one} for one in new)])
        assert [one.content for one in added] == new
        lane = self.model[Lane.EDGE]
        for one in new:
            self.every.append(one)
            lane.window.append((one, Received("user")))
        lane.full()

    @rule(lane=lanes)
    def compact(self, lane: str) -> None:
        done = self.conv.compact(lane)
        assert (done is not None) is self.model[Lane(lane)].asked()

    @rule()
    def reopen(self) -> None:
        self.home.close()
        self.open()
        self.conv = self.home.agent(self.agent).conversations.get(self.conv.ref_code)

    @rule(milliseconds=st.integers(-100, 100))
    def time_passes(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds)

    # What must be so after each step

    @invariant()
    def windows_are_as_in_the_model(self) -> None:
        for lane, model in self.model.items():
            assert [one.content for one in self.conv.window(lane)] == [content for content, _ in model.window]

    @invariant()
    def every_event_is_in_the_window_or_covered_by_an_archive(self) -> None:
        events = list(self.conv.events())
        assert [one.content for one in events if one.type is not EventType.MARKER] == self.every
        archives = {entry.name for entry in self.home.agent(self.agent).list(kind=Kind.ARCHIVE, limit=1_000)}
        markers = [one for one in events if one.type is EventType.MARKER]
        assert sorted(read_marker(one).archive_name for one in markers) == sorted(name or "" for name in archives)
        for lane, model in self.model.items():
            received = [read_marker(one) for one in markers if one.lane is lane]
            assert [one.boundary for one in received] == sorted(one.boundary for one in received)
            assert (len(received), sum(one.folded for one in received)) == (model.compactions, model.folded)
            window = {one.seq for one in self.conv.window(lane)}
            for event in events:
                if event.lane is lane and event.type is not EventType.MARKER:
                    covered = any(event.seq <= one.boundary and event.seq not in one.kept for one in received)
                    assert (event.seq in window) is not covered

    @invariant()
    def no_prompt_has_a_result_without_its_call(self) -> None:
        for lane in Lane:
            asked: set[str] = set()
            for message in self.conv.messages(lane):
                asked |= {one["id"] for one in message.get("tool_calls", ())}
                assert message.get("tool_call_id") in {None, *asked}


def in_folder(name: str) -> Place:
    folder = tempfile.mkdtemp(prefix="recollect-machine-")

    def clean(home: Home) -> None:
        home.close()
        shutil.rmtree(folder)

    return str(Path(folder) / name), "ana", clean


@pytest.fixture(scope="module")
def database_url(postgres_server: Server) -> Iterator[str]:
    url = postgres_server.fresh_database()
    yield url
    postgres_server.drop_database(url)


def test_a_conversation_in_a_file_behaves_like_the_model() -> None:
    run_state_machine_as_test(
        lambda: ConversationMachine(lambda: in_folder("memory.db")),
        settings=settings(max_examples=25, stateful_step_count=30),
    )


def test_a_conversation_in_a_directory_behaves_like_the_model() -> None:
    run_state_machine_as_test(
        lambda: ConversationMachine(lambda: in_folder("home")),
        settings=settings(max_examples=5, stateful_step_count=30),
    )


def test_a_conversation_in_postgresql_behaves_like_the_model(database_url: str) -> None:
    agents = count()

    def place() -> Place:
        return database_url, f"ana{next(agents)}", lambda home: home.delete_workspace("default")

    run_state_machine_as_test(
        lambda: ConversationMachine(place), settings=settings(max_examples=4, stateful_step_count=25)
    )
