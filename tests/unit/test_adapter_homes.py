"""What all adapters share: calls in worker threads that a cancelled task does not interrupt, and shared homes."""

import asyncio
import threading
from pathlib import Path

import pytest

from recollect.adapters.homes import AlreadyClosed, Opened, in_thread


def test_a_cancelled_caller_waits_until_the_call_has_ended() -> None:
    begun, go_on, written = threading.Event(), threading.Event(), []

    def write() -> None:
        begun.set()
        go_on.wait()
        written.append("all of it")

    async def cancel() -> list[str]:
        task = asyncio.create_task(in_thread(write))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait({task}, timeout=0.05)
        waits = not task.done()
        task.cancel()  # however often
        go_on.set()
        assert waits
        with pytest.raises(asyncio.CancelledError):
            await task
        return written

    assert asyncio.run(cancel()) == ["all of it"]


def test_an_error_of_the_call_reaches_the_caller() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(in_thread(fail))


def test_the_home_of_one_location_is_shared_and_closed_with_its_last_user(tmp_path: Path) -> None:
    one, other = Opened(tmp_path / "m.db", "ana"), Opened(str(tmp_path / "x" / ".." / "m.db"), "ben")
    one.memory.remember("We deploy on Tuesdays.")
    one.close()
    one.close()
    with pytest.raises(AlreadyClosed, match="is closed"):
        _ = one.memory
    assert other.memory.list() == []
    other.memory.remember("Lunch is at noon.")
    other.close()
    again = Opened(tmp_path / "m.db", "ana")
    assert [entry.content for entry in again.memory.list()] == ["We deploy on Tuesdays."]
    again.close()
