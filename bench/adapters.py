"""What the adapters cost: an item put, compared with the same `remember`; 1,000 items read, compared with the vendor.

Run it in the environment of a suite, with the name of the suite and PYTHONPATH=src:suites:suites/NAME. The two calls of
a round follow each other; a ratio is the median over the rounds, with the quartiles, in processor time of this process.
A second argument, `postgresql://…`, is the memory whose items are read.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import recollect

ITEMS = 1_000
ROUNDS = 99
PUTS = 200
Work = Callable[[], Awaitable[object]]


async def taken(work: Work, clock: Callable[[], float]) -> float:
    """Milliseconds of one call."""
    begun = clock()
    await work()
    return 1_000 * (clock() - begun)


def memory_of(folder: Path) -> str:
    """The location of the memory whose items are read."""
    return sys.argv[2] if len(sys.argv) > 2 else str(folder / "ours.db")


def text(number: int) -> str:
    return f"Service {number} of staging listens on port {8_000 + number}."


async def compare_put(what: str, put: Work, folder: Path, **fields: object) -> None:
    """Print what a put costs, compared with `remember` with the same fields and a name if `fields` has one."""
    named = fields.pop("named", False)
    numbers = iter(range(10**6))
    with recollect.open(folder / "remember.db") as home:
        mem = home.agent("default")

        async def remember() -> None:
            number = next(numbers)
            await asyncio.to_thread(mem.remember, text(number), name=f"strands/{number}" if named else None, **fields)

        clock = time.process_time
        rounds = [(await taken(put, clock), await taken(remember, clock)) for _ in range(PUTS)]
    print(f"{what} put, remember: {compared(rounds)} (at most 1.5)")


async def compare_read(what: str, ours: Work, theirs: Work) -> None:
    """Print what reading 1,000 items costs, compared with the vendor's class."""
    clock = time.process_time
    rounds = [(await taken(ours, clock), await taken(theirs, clock)) for _ in range(ROUNDS)]
    print(f"{ITEMS} items read, {what}: {compared(rounds)} (at most 1)")


def compared(rounds: list[tuple[float, float]]) -> str:
    """Both medians, and the median and the quartiles of the ratios."""
    ours, theirs = map(statistics.median, zip(*rounds, strict=True))
    low, ratio, high = statistics.quantiles([one / other for one, other in rounds])
    return f"{ours:.2f} and {theirs:.2f} ms; ratio {ratio:.2f}, quartiles {low:.2f} and {high:.2f}"


async def openai_agents(folder: Path) -> None:
    from agents import SQLiteSession

    from recollect.adapters.openai_agents import AsyncSession

    def item(number: int) -> dict[str, str]:
        return {"role": "user", "content": text(number)}

    numbers = iter(range(10**6))
    put = AsyncSession("put", folder / "put.db")
    await compare_put("one item", lambda: put.add_items([item(next(numbers))]), folder)
    await put.close()
    ours, theirs = AsyncSession("s", memory_of(folder)), SQLiteSession("s", folder / "theirs.db")
    items = [item(number) for number in range(ITEMS)]
    await ours.add_items(items)
    await theirs.add_items(items)
    assert await ours.get_items() == await theirs.get_items()
    await ours.close()  # ends what runs in the background
    ours = AsyncSession("s", memory_of(folder))
    await compare_read("SQLiteSession", ours.get_items, theirs.get_items)


async def google_adk(folder: Path) -> None:
    from google.adk.events.event import Event
    from google.adk.sessions.sqlite_session_service import SqliteSessionService
    from google.genai import types

    from recollect.adapters.google_adk import SessionService

    services = SessionService(memory_of(folder)), SqliteSessionService(str(folder / "theirs.db"))
    for service in services:
        session = await service.create_session(app_name="a", user_id="u", session_id="s")
        for number in range(ITEMS):
            said = types.Content(role="user", parts=[types.Part(text=text(number))])
            await service.append_event(session, Event(author="user", content=said))
    ours, theirs = services
    put = SessionService(folder / "put.db")
    mine = await put.create_session(app_name="a", user_id="u", session_id="s")
    said = [types.Content(role="user", parts=[types.Part(text=text(number))]) for number in range(PUTS)]
    events = iter([Event(author="user", content=one) for one in said])
    await compare_put("one event", lambda: put.append_event(mine, next(events)), folder)
    put.close()
    ours.close()  # ends what runs in the background
    ours = SessionService(memory_of(folder))
    key = {"app_name": "a", "user_id": "u", "session_id": "s"}
    assert len((await ours.get_session(**key)).events) == len((await theirs.get_session(**key)).events) == ITEMS
    await compare_read("SqliteSessionService", lambda: ours.get_session(**key), lambda: theirs.get_session(**key))


async def strands_agents(folder: Path) -> None:
    from strands.session.file_session_manager import FileSessionManager
    from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

    from recollect.adapters.strands import SessionRepository, Storage

    numbers = iter(range(10**6))
    storage = Storage(folder / "storage.db")

    async def write() -> None:
        number = next(numbers)
        await storage.write(str(number), text(number).encode())

    await compare_put("one value", write, folder, named=True, tags=["strands"])
    ours, theirs = SessionRepository(memory_of(folder)), FileSessionManager("other", storage_dir=str(folder))

    def message(number: int) -> SessionMessage:
        return SessionMessage({"role": "user", "content": [{"text": text(number)}]}, number)

    def create(number: int) -> None:
        ours.create_message("s", "a", message(number))

    for repository in (ours, theirs):
        repository.create_session(Session("s", SessionType.AGENT))
        repository.create_agent("s", SessionAgent("a", {}, {}))
        for number in range(ITEMS - PUTS):
            repository.create_message("s", "a", message(number))
    rest = iter(range(ITEMS - PUTS, ITEMS))
    await compare_put("one message", lambda: asyncio.to_thread(create, next(rest)), folder)
    for number in range(ITEMS - PUTS, ITEMS):
        theirs.create_message("s", "a", message(number))
    assert len(ours.list_messages("s", "a")) == len(theirs.list_messages("s", "a")) == ITEMS
    await compare_read(
        "FileSessionManager",
        lambda: asyncio.to_thread(ours.list_messages, "s", "a"),
        lambda: asyncio.to_thread(theirs.list_messages, "s", "a"),
    )


async def langgraph_memory(folder: Path) -> None:
    from langgraph.checkpoint.base import empty_checkpoint

    from recollect.adapters.langgraph import make_async_store, saver

    numbers = iter(range(10**6))
    async with make_async_store(folder / "store.db") as store, saver(folder / "threads.db") as threads:

        async def put() -> None:
            number = next(numbers)
            await store.aput(("services", "staging"), str(number), {"text": text(number)})

        async def step() -> None:
            state = {**empty_checkpoint(), "channel_values": {"text": text(next(numbers))}}
            await threads.aput({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, state, {}, {})

        await compare_put("one item", put, folder, named=True, tags=["langgraph"])
        await compare_put("one checkpoint", step, folder / "again")


async def langchain(folder: Path) -> None:
    from langchain_core.documents import Document

    from recollect.adapters.langchain import ByteStore, VectorStore

    numbers = iter(range(10**6))
    papers, values = VectorStore(path=folder / "papers.db"), ByteStore(folder / "values.db")

    async def add() -> None:
        await papers.aadd_documents([Document(text(next(numbers)))])

    async def put() -> None:
        await values.amset([(str(next(numbers)), text(1).encode())])

    await compare_put("one document", add, folder, named=True, tags=["langchain-document"])
    await compare_put("one value", put, folder / "again", named=True, tags=["langchain"])


async def by_driver(folder: Path) -> None:
    """A put as the tests of the suite do it, for the other frameworks."""
    from drivers import DRIVERS

    for one in DRIVERS:
        driver, numbers = one(str(folder / f"{one.__name__}.db")), iter(range(10**6))
        named = one.stored_as == "entries" and one.keyed

        async def put(driver: Any = driver, numbers: Iterator[int] = numbers, named: bool = named) -> None:
            number = next(numbers)
            await driver.put(str(number) if named else "s", text(number))

        fields = {"tags": ["tag"]} if one.stored_as == "entries" else {}
        await compare_put(one.__name__, put, folder / one.__name__, named=named, **fields)


SUITES = (google_adk, langchain, langgraph_memory, openai_agents, strands_agents)
asyncio.run({one.__name__: one for one in SUITES}.get(sys.argv[1], by_driver)(Path(tempfile.mkdtemp())))
