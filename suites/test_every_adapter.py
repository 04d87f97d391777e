"""What holds for every adapter, on both databases: one memory behind it, and nothing that is acknowledged is lost.

Each suite runs these tests with the real package of its framework, once per driver in its `drivers.py`.
"""

import asyncio
import contextlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from driver import Driver
from drivers import DRIVERS

import recollect
from recollect import FixedClock, Memory, SystemClock
from recollect.upkeep.schedule import JOBS

SAID = "Staging listens on port 8080."
QUESTION = "which port has staging?"
YEAR = 366 * 24 * 3_600_000
Adapter = type[Driver]


def parametrized(adapters: list[Adapter]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("adapter", adapters, ids=[one.__name__ for one in adapters])


every = parametrized(DRIVERS)
different = parametrized([one for one in DRIVERS if one.__base__ is Driver])
"""All but those that differ from another one only in how they are called."""
shown = parametrized([one for one in DRIVERS if one.stored_as != "checkpoints"])


async def stored(adapter: Adapter, location: str | None, key: str = "s", text: str = SAID, **more: str) -> None:
    driver = adapter(location, **more)
    await driver.put(key, text)
    await driver.close()


async def read(adapter: Adapter, location: str | None, key: str = "s", **more: str) -> list[str]:
    driver = adapter(location, **more)
    found = await driver.read(key)
    await driver.close()
    return found


def search(adapter: Adapter, memory: Memory) -> str:
    """Return the text of all that a search finds."""
    if adapter.stored_as == "conversations":
        return " ".join(turn.event.content for turn in memory.conversations.search(QUESTION))
    return " ".join(hit.entry.content for hit in memory.recall(QUESTION))


def erase_all(memory: Memory) -> None:
    for entry in memory.list(limit=100, include_past=True):
        memory.forget(entry.id, erase=True)
    for info in memory.conversations.list(True):
        memory.conversations.erase(info.id)
    for thread in {row[0] for row in memory.graphs.list()}:
        memory.graphs.delete(thread)


@shown
async def test_searches_contexts_and_the_review_find_what_an_adapter_stored(adapter: Adapter, location: str) -> None:
    await stored(adapter, location)
    with recollect.open(location) as home:
        memory = home.agent("default")
        assert SAID in search(adapter, memory)
        assert "8080" in memory.context(QUESTION).text
    if adapter.stored_as == "entries":
        await stored(adapter, location, "other", SAID.replace("8080", "9090"))
        with recollect.open(location) as home:
            home.jobs.run("review")
            (pair,) = home.agent("default").review.list()
            assert ("8080" in pair.older.content, "9090" in pair.newer.content) == (True, True)


@different
async def test_an_export_and_a_move_carry_it_and_an_erasure_leaves_nothing_of_it(
    adapter: Adapter, location: str, tmp_path: Path
) -> None:
    await stored(adapter, location)
    imported, moved, after = (str(tmp_path / name) for name in ("imported.db", "moved.db", "after"))
    with recollect.open(location) as home, recollect.open(moved) as other, recollect.open(imported) as third:
        home.export(tmp_path / "before")
        home.move_to(other)
        third.import_(tmp_path / "before")
        erase_all(home.agent("default"))
        home.export(after)
    for place in (imported, moved):
        assert await read(adapter, place) == [SAID]
    assert SAID not in await read(adapter, location)
    texts = [path.read_bytes() for path in [Path(after), *Path(after).rglob("*")] if path.is_file()]
    assert texts
    assert not any(b"listens on port" in text for text in texts)


@different
async def test_upkeep_of_a_year_removes_nothing(adapter: Adapter, location: str) -> None:
    await stored(adapter, location)
    with recollect.open(location, clock=FixedClock(SystemClock().now() + YEAR)) as home:
        ran = [home.jobs.run(job.name) for job in JOBS]
        assert [run.error for run in ran if run.error] == []
    assert await read(adapter, location) == [SAID]


@different
async def test_what_another_agent_stored_is_out_of_reach(adapter: Adapter, location: str) -> None:
    await stored(adapter, location, agent="ana")
    assert await read(adapter, location, agent="ben") == []
    with recollect.open(location) as home:
        assert search(adapter, home.agent("ben")) == ""
        assert "8080" not in home.agent("ben").context(QUESTION).text
    await stored(adapter, location, text="other", agent="ben")
    assert await read(adapter, location, agent="ana") == [SAID]


@pytest.mark.parametrize("key", ["x" * 10_000, "../../etc/passwd", "/etc/passwd", "a\nb", "", "\ud800", "../../ana"])
@different
async def test_a_key_is_refused_or_only_a_key(adapter: Adapter, key: str, tmp_path: Path) -> None:
    location = str(tmp_path / "home" / "memory.db")
    refusal = None
    try:
        await stored(adapter, location, key)
    except adapter.refusals as error:
        refusal = str(error)
    if refusal is None:
        assert not adapter.keyed or len(key) < 1_000
        assert (adapter.generates and not key) or await read(adapter, location, key) == [SAID]
    else:
        assert 0 < len(refusal) < 1_000
        with recollect.open(location) as home:
            memory = home.agent("default")
            assert [*memory.list(), *memory.conversations.list(True), *memory.graphs.list()] == []
    assert {path.name for path in tmp_path.iterdir()} <= {"home"}


@different
async def test_what_is_not_json_is_refused_in_words_and_nothing_is_stored(adapter: Adapter, location: str) -> None:
    driver = adapter(location)
    with pytest.raises(Exception) as raised:
        await driver.put_unstorable("s")
    assert re.search(r"JSON|must be text|are bytes", str(raised.value))
    assert len(str(raised.value)) < 1_000
    assert await driver.read("s") == []
    await driver.put("s", SAID)
    await driver.close()
    assert await read(adapter, location) == [SAID]


PUTS = """
import asyncio, sys
from drivers import DRIVERS

async def main():
    driver = DRIVERS[int(sys.argv[1])](sys.argv[2])
    for number in range(10):
        await driver.put(sys.argv[4] or str(number), f"{sys.argv[3]} wrote text {number}")
    await driver.close()

asyncio.run(main())
"""


@different
async def test_two_processes_lose_nothing(adapter: Adapter, location: str) -> None:
    key = "s" if adapter.stored_as == "conversations" else ""
    command = [sys.executable, "-c", PUTS, str(DRIVERS.index(adapter)), location]
    started = [subprocess.Popen([*command, name, key]) for name in ("one", "two")]
    assert [process.wait() for process in started] == [0, 0]
    found = await read(adapter, location, key or "0")
    if adapter.stored_as == "conversations" or not adapter.keyed:
        assert sorted(found) == sorted(f"{name} wrote text {number}" for name in ("one", "two") for number in range(10))
        return
    for number in range(10):
        (text,) = await read(adapter, location, str(number))
        assert text in (f"one wrote text {number}", f"two wrote text {number}")


@every
async def test_a_cancelled_call_stores_all_or_nothing_and_the_next_one_works(adapter: Adapter, location: str) -> None:
    driver = adapter(location)
    for steps in range(4):
        task = asyncio.create_task(driver.put(f"s{steps}", SAID))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        if driver.keyed:
            assert await driver.read(f"s{steps}") in ([], [SAID])
    await driver.put("next", "The next text.")
    assert "The next text." in await driver.read("next")
    await driver.close()


@every
async def test_closing_while_a_task_waits_loses_nothing_that_was_acknowledged(adapter: Adapter, location: str) -> None:
    driver = adapter(location)
    tasks = [asyncio.create_task(driver.put(f"s{number}", f"Text number {number}.")) for number in range(8)]
    await asyncio.sleep(0)
    await driver.close()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    if not driver.reopens:
        with pytest.raises(Exception, match="closed"):
            await driver.read("s0")
    for number, result in enumerate(done):
        assert result is None or "closed" in str(result)
        if result is None:
            assert f"Text number {number}." in await read(adapter, location, f"s{number}")


@every
async def test_without_a_location_the_home_of_the_environment_is_used(
    adapter: Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "mine"))
    await stored(adapter, None)
    assert (tmp_path / "mine").is_dir()
    assert await read(adapter, str(tmp_path / "mine")) == [SAID]
