"""The asynchronous side: the same methods with the same parameters, many at once in one event loop."""

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sources import members

import recollect
from recollect import Add, Conflict, FixedClock, Home, Memory, NotFound, aio

PAIRS = [
    (Memory, aio.AsyncMemory),
    (Home, aio.AsyncHome),
    (recollect.Conversations, aio.AsyncConversations),
    (recollect.Conversation, aio.AsyncConversation),
    (recollect.Channels, aio.AsyncChannels),
    (recollect.Reminders, aio.AsyncReminders),
    (recollect.Jobs, aio.AsyncJobs),
    (recollect.Tokens, aio.AsyncTokens),
    (recollect.Requests, aio.AsyncRequests),
]
PROPERTIES = {aio.AsyncConversation: {"info", "saved"}, aio.AsyncChannels: {"default"}}
"""What is a property otherwise has to be awaited here."""
BLOCKS = {recollect.Requests.executing}
"""Context managers that do not wait: they are the same in both."""


def public_methods(kind: type) -> set[str]:
    return {name for name, value in members(kind).items() if inspect.isfunction(value)}


@pytest.mark.parametrize(("kind", "forwarded"), PAIRS)
def test_every_public_method_is_forwarded_and_no_other(kind: type, forwarded: type) -> None:
    assert public_methods(forwarded) - PROPERTIES.get(forwarded, set()) == public_methods(kind)


def test_a_forwarded_method_has_the_same_parameters_and_is_a_coroutine() -> None:
    def parameters(method: Callable[..., object]) -> list[tuple[str, Any, Any]]:
        return [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]

    methods = [
        (getattr(kind, name), getattr(forwarded, name)) for kind, forwarded in PAIRS for name in public_methods(kind)
    ]
    for plain, awaitable in [*methods, (recollect.open, aio.open)]:
        assert parameters(awaitable) == parameters(plain), plain
        assert inspect.iscoroutinefunction(awaitable) is (plain not in BLOCKS), plain
        assert awaitable.__doc__, plain
        assert awaitable.__name__ == plain.__name__ or plain is recollect.open


@pytest.mark.directory
def test_a_memory_is_used_from_an_event_loop(location: str) -> None:
    async def story() -> None:
        async with await aio.open(location, clock=FixedClock()) as home:
            mem = await home.agent("ana")
            assert mem.agent == "ana"
            made = await mem.remember("We deploy on Tuesdays", name="deploy day", tags=["ops"])
            assert [hit.entry for hit in await mem.recall("when do we deploy?", limit=3)] == [made]
            assert await mem.get("deploy day") == made
            assert await mem.list(tag="ops") == [made]
            assert (await mem.apply(recollect.Write("deploy day", content="We deploy on Mondays"))).id == made.id
            assert (await mem.upsert("deploy day", "We deploy daily")).id == made.id
            assert [revision.operation for revision in await mem.history("deploy day")] == ["add", "write", "write"]
            assert await mem.forget("deploy day") is True
            assert (await mem.restore("deploy day")).content == "We deploy daily"
            assert len(await mem.remember_many([Add("one"), Add("two")])) == 2
            assert await home.workspaces() == ["default"]
            assert (await home.check()).ok
            with pytest.raises(NotFound):
                await mem.get("nobody")
            with pytest.raises(Conflict):
                await mem.remember("x", name="deploy day")
            receipt = await mem.forget("deploy day", erase=True)
            assert receipt.entry_id == made.id

    asyncio.run(story())


def test_a_conversation_is_held_from_an_event_loop(location: str) -> None:
    async def story() -> None:
        async with await aio.open(location, clock=FixedClock()) as home:
            mem = await home.agent("ana")
            await mem.channels.create("ops")
            assert (await mem.channels.default()).name == "general"
            conv = await mem.conversations.start("ops", participants=["ben"])
            said = await conv.user("When do we deploy?")
            await conv.assistant("On Tuesdays.")
            assert [event.content for event in await conv.events(said)] == ["On Tuesdays."]
            assert (await conv.messages())[0] == {"role": "user", "content": "When do we deploy?"}
            await conv.scratchpad.set("step", {"n": 1})
            assert await conv.scratchpad.get("step") == {"n": 1}
            ben = await home.agent("ben")
            theirs = await ben.conversations.scratchpad(conv.ref_code, owner="ana")
            assert await theirs.all() == {"step": {"n": 1}}
            await theirs.clear()
            assert (await conv.end()).chunks == 1
            assert (await conv.info()).status == "idle"
            (found,) = await mem.conversations.search("deploy", limit=1)
            assert found.event.content == "When do we deploy?"
            assert (await (await mem.conversations.get(conv.ref_code)).info()).channel_id == "ops"
            recovered = await mem.recover()
            assert recovered is not None
            assert recovered.messages[-1] == {"role": "agent", "text": "On Tuesdays."}
            assert (await mem.query("session", "text", "deploy"))["results"]

    asyncio.run(story())


def test_many_tasks_write_and_read_at_once_and_nothing_is_lost(location: str) -> None:
    async def story() -> None:
        async with await aio.open(location) as home:
            agents = await asyncio.gather(*(home.agent(name) for name in ("ana", "ben", "ana", "ben")))

            async def work(place: int) -> None:
                mem = agents[place % 4]
                for number in range(5):
                    await mem.remember(f"amber note {place} {number}", name=f"n{place}-{number}")
                    assert len(await mem.recall(f"note {place}", limit=1)) == 1

            await asyncio.gather(*(work(place) for place in range(8)))
            for mem in agents:
                listed = await mem.list()
                assert len(listed) == 20
                assert sorted(entry.seq for entry in listed) == list(range(1, 21))
                assert len(await mem.recall("amber", limit=100)) == 20
            assert (await home.check()).findings == ()

    asyncio.run(story())


def test_a_call_never_holds_up_the_event_loop(tmp_path: Path) -> None:
    inside, release = threading.Event(), threading.Event()

    class WaitingClock:
        def now(self) -> int:
            inside.set()
            assert release.wait(60)
            return 1_000

    async def story() -> None:
        async with await aio.open(tmp_path / "memory.db", clock=WaitingClock()) as home:
            mem = await home.agent("ana")
            writing = asyncio.create_task(mem.remember("slow"))
            try:
                await asyncio.to_thread(inside.wait, 60)
                # The write stands still in its thread while the loop goes on.
                await home.workspaces()
                assert not writing.done()
            finally:
                release.set()
            assert (await writing).created_at == 1_000

    asyncio.run(story())


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless_threads")
def test_threads_that_ask_for_an_agent_at_once_get_the_same_memory(tmp_path: Path) -> None:
    for attempt in range(100):
        home = recollect.open(tmp_path / f"{attempt}.db")
        barrier, got = threading.Barrier(4), list[Memory]()

        def ask(home: Home = home, barrier: threading.Barrier = barrier, got: list[Memory] = got) -> None:
            barrier.wait()
            got.append(home.agent("ana"))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(mem) for mem in got}) == 1
        home.close()
