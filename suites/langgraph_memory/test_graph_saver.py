"""The checkpointer: the tests of the vendor's conformance package one by one, and ours."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import spec
from langgraph.graph import START, MessagesState, StateGraph

import recollect
from recollect.adapters.langgraph import saver


def conformance() -> Iterator[tuple[str, Callable[[BaseCheckpointSaver], Any]]]:
    """The tests of all capabilities, those that are optional included."""
    for found in pkgutil.iter_modules(spec.__path__):
        module = importlib.import_module(f"{spec.__name__}.{found.name}")
        (tests,) = (value for name, value in vars(module).items() if name.startswith("ALL_"))
        yield from ((found.name, test) for test in tests)


CONFORMANCE = list(conformance())
OPTIONAL = {"test_copy_thread", "test_delete_for_runs", "test_prune"}


@pytest.fixture
async def checkpointer(location: str) -> AsyncIterator[BaseCheckpointSaver]:
    async with saver(location) as opened:
        yield opened


def config(thread: str, **more: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


def test_the_conformance_package_has_the_tests_that_are_promised() -> None:
    optional = sum(module in OPTIONAL for module, _ in CONFORMANCE)
    assert (len(CONFORMANCE) - optional, optional) == (58, 23)


@pytest.mark.parametrize("test", [test for _, test in CONFORMANCE], ids=lambda test: test.__name__)
async def test_conformance(test: Callable[[BaseCheckpointSaver], Any], checkpointer: BaseCheckpointSaver) -> None:
    await test(checkpointer)


def counting(state: MessagesState) -> Any:
    return {"messages": f"you said {len(state['messages'])} things"}


async def test_a_graph_continues_where_it_stopped_in_another_process(location: str) -> None:
    graph = StateGraph(MessagesState).add_node(counting).add_edge(START, "counting")
    for expected in (2, 4):
        async with saver(location) as opened:
            done = await graph.compile(checkpointer=opened).ainvoke({"messages": "hello"}, config("t"))
            assert len(done["messages"]) == expected


async def test_threads_of_another_agent_or_workspace_are_out_of_reach(location: str) -> None:
    async with saver(location, agent="ana") as hers, saver(location, agent="ben") as his:
        stored = await hers.aput(config("t"), empty_checkpoint(), {"run_id": "r"}, {})
        await his.adelete_thread("t")
        await his.adelete_for_runs(["r"])
        await his.aprune(["t"], strategy="delete")
        await his.acopy_thread("t", "u")
        assert await his.aget_tuple(stored) is None
        assert [one async for one in his.alist(None)] == []
        assert await hers.aget_tuple(stored) is not None


async def test_an_id_that_is_too_long_and_metadata_that_is_not_json_are_refused(
    checkpointer: BaseCheckpointSaver,
) -> None:
    with pytest.raises(recollect.Invalid):
        await checkpointer.aput(config("x" * 10_000), empty_checkpoint(), {}, {})
    with pytest.raises(recollect.Invalid):
        await checkpointer.aput(config("nul\0"), empty_checkpoint(), {}, {})
    with pytest.raises(recollect.Invalid):
        await checkpointer.aput(config("t"), empty_checkpoint(), {"by": object()}, {})
    stored = await checkpointer.aput(config("../../etc/passwd\n"), empty_checkpoint(), {}, {})
    assert (await checkpointer.aget_tuple(stored)).config == stored
    assert len([one async for one in checkpointer.alist(None)]) == 1


async def test_a_checkpoint_of_a_newer_langgraph_is_refused_in_words(checkpointer: BaseCheckpointSaver) -> None:
    stored = await checkpointer.aput(config("t"), {**empty_checkpoint(), "v": 99}, {}, {})
    with pytest.raises(recollect.ConfigError, match="upgrade"):
        await checkpointer.aget_tuple(stored)


async def test_pruning_keeps_the_checkpoints_that_delta_channels_are_made_from(
    checkpointer: BaseCheckpointSaver,
) -> None:
    parent = config("t")
    for step in range(4):
        state = {**empty_checkpoint(), "channel_values": {"log": ["seed"]} if step == 1 else {}}
        about = {"step": step, "counters_since_delta_snapshot": {"log": [step, step]} if step > 1 else {}}
        parent = await checkpointer.aput(parent, state, about, {})
        await checkpointer.aput_writes(parent, [("log", [step])], f"task{step}")
    history = await checkpointer.aget_delta_channel_history(config=parent, channels=["log"])
    await checkpointer.aprune(["t"])
    assert [one.metadata["step"] async for one in checkpointer.alist(config("t"))] == [3, 2, 1]
    assert await checkpointer.aget_delta_channel_history(config=parent, channels=["log"]) == history


PUTS = """
import sys
from langgraph.checkpoint.base import empty_checkpoint
from recollect.adapters.graph_saver import GraphSaver
saver = GraphSaver(sys.argv[1])
for number in range(20):
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    stored = saver.put(config, empty_checkpoint(), {"step": number}, {})
    saver.put_writes(stored, [("channel", number)], sys.argv[2])
"""


async def test_two_processes_on_one_thread_lose_nothing(location: str) -> None:
    started = [subprocess.Popen([sys.executable, "-c", PUTS, location, name]) for name in ("one", "two")]
    assert [process.wait() for process in started] == [0, 0]
    async with saver(location) as opened:
        found = [one async for one in opened.alist(config("t"))]
        assert (len(found), sum(len(one.pending_writes) for one in found)) == (40, 40)


async def test_an_export_carries_threads_and_an_import_continues_with_them(location: str, tmp_path: Path) -> None:
    async with saver(location) as opened:
        stored = await opened.aput(config("t"), empty_checkpoint(), {"step": 1}, {})
        await opened.aput_writes(stored, [("channel", {"a": b"bytes"})], "task")
        before = await opened.aget_tuple(stored)
    with recollect.open(location) as home, recollect.open(tmp_path / "copy.db") as copy:
        home.export(tmp_path / "export.jsonl")
        copy.import_(tmp_path / "export.jsonl")
    async with saver(tmp_path / "copy.db") as opened:
        assert await opened.aget_tuple(stored) == before
