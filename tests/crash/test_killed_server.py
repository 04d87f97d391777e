"""A server is killed during a request with an idempotency key; the client sends the request to another one."""

from collections.abc import Callable
from contextlib import suppress

import httpx2
import pytest
from crash import program
from crash.children import Child
from surfaces.server import Server, client, serving

import recollect
from recollect import FixedClock, SystemClock

KEY = {"Idempotency-Key": "7f3a"}
NOTE = {"content": "The kettle is in the kitchen."}


def send(server: Server, content: dict[str, str] = NOTE) -> httpx2.Response:
    return server.client.post("/v1/entries", json=content, headers=KEY)


@pytest.mark.parametrize("committed", [False, True])
def test_a_request_takes_effect_once_and_is_answered_after_a_minute(
    start: Callable[..., Child], location: str, committed: bool
) -> None:
    child = start(program.serve_until_killed_by_a_request, location, committed)
    child.go()
    _, url = child.next("done")
    with client(url) as first, suppress(httpx2.TransportError):
        first.post("/v1/entries", json=NOTE, headers=KEY)
        pytest.fail("the server was not killed")
    child.rest()
    clock = FixedClock(SystemClock().now())
    with recollect.open(location, clock=clock) as home, serving(home) as server:
        assert send(server).json()["code"] == "under-way"
        clock.advance(61_000)
        answer, again = send(server), send(server)
        assert (answer.status_code, answer.json()["content"]) == (201, NOTE["content"])
        assert answer.headers.get("idempotency-replayed") == ("true" if committed else None)
        assert (again.status_code, again.content, again.headers["location"]) == (
            201,
            answer.content,
            answer.headers["location"],
        )
        assert [entry.id for entry in home.agent("default").list()] == [answer.json()["id"]]
        assert home.check().findings == ()
