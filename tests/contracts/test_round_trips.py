"""How often a call waits for a PostgreSQL server: over a network, that is what it costs."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from embedders import HashEmbedder
from proxy import Proxy

import recollect
from recollect.memory import Memory

QUESTION = "which port has the server of Ben?"


@pytest.fixture
def counted(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, Memory]]:
    """A memory with some notes, behind a proxy that counts.

    Only a recall by meaning gets an embedder: after a write, a background thread would compute vectors.
    """
    embedder = HashEmbedder() if "hybrid" in request.node.callspec.params["call"] else None
    settings = recollect.Settings(embedder={"kind": "none"})
    with recollect.open(postgres_url, settings=settings, embedder=embedder) as home:
        mem = home.agent("ana")
        for number in range(30):
            mem.remember(f"Server {number} of Ben listens on port {8000 + number}.", name=f"port-{number}")
        home.jobs.run("embed")
    with Proxy(postgres_url) as proxy, recollect.open(proxy.url, settings=settings, embedder=embedder) as home:
        yield proxy, home.agent("ana")


def appending(mem: Memory) -> Callable[[], object]:
    conversation = mem.conversations.start()
    return lambda: conversation.user("Where is the kettle?")


def naming(mem: Memory) -> Callable[[], object]:
    numbers = count()
    return lambda: mem.remember("The kettle is in the kitchen.", name=f"kettle-{next(numbers)}")


def getting_by_id(mem: Memory) -> Callable[[], object]:
    entry = mem.get("port-3")
    return lambda: mem.get(entry.id)


CALLS: dict[str, tuple[int, Callable[[Memory], Callable[[], object]]]] = {
    "hybrid recall": (5, lambda mem: lambda: mem.recall(QUESTION)),
    "keyword recall": (4, lambda mem: lambda: mem.recall(QUESTION, mode="keyword")),
    "context": (11, lambda mem: lambda: mem.context(QUESTION)),
    "remember": (3, lambda mem: lambda: mem.remember("The kettle is in the kitchen.")),
    "remember with a name": (4, naming),
    "append": (3, appending),
    "get by name": (2, lambda mem: lambda: mem.get("port-3")),
    "get by id": (2, getting_by_id),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_waits_for_the_server_at_most_so_often(counted: tuple[Proxy, Memory], call: str) -> None:
    proxy, mem = counted
    most, prepare = CALLS[call]
    run = prepare(mem)
    run()  # connects, and reads what a process reads once
    counts = []
    for _ in range(8):
        before = proxy.round_trips
        run()
        counts.append(proxy.round_trips - before)
    # Some calls prepare statements, and once a second a thread writes the signals of earlier recalls.
    assert 0 < min(counts) <= most, counts
