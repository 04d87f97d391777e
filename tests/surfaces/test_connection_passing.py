"""The parent of several workers gives each connection to the one that has fewest."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from recollect.rest.connection_passing import ConnectionSender, report_end


class Workers:
    """Sockets to workers, and a listening socket whose connections they get."""

    def __init__(self, stack: ExitStack, number: int) -> None:
        self._stack = stack
        self.listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.sender = ConnectionSender(self.listening)
        self.pairs = [socket.socketpair() for _ in range(number)]
        for ours, theirs in self.pairs:
            stack.enter_context(ours)
            stack.enter_context(theirs)

    def connect(self, number: int) -> list[int]:
        """Open connections; return how many of them each worker got."""
        for _ in range(number):
            self._stack.enter_context(socket.create_connection(self.listening.getsockname()))
        self.sender.attend(self.listening)
        return [self._taken(theirs) for _, theirs in self.pairs]

    def _taken(self, worker: socket.socket) -> int:
        worker.setblocking(False)
        got = 0
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(worker, 1, 1)
            except BlockingIOError:
                return got
            for descriptor in descriptors:
                self._stack.enter_context(socket.socket(fileno=descriptor))
            got += len(data)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_connections_that_have_ended_no_longer_count(stack: ExitStack) -> None:
    workers = Workers(stack, 2)
    for ours, _ in workers.pairs:
        workers.sender.add(ours)
    assert workers.connect(6) == [3, 3]
    ours, theirs = workers.pairs[1]
    report_end(theirs)
    report_end(theirs)
    workers.sender.attend(ours)
    assert workers.connect(2) == [0, 2]


def test_a_connection_waits_until_there_is_a_worker(stack: ExitStack) -> None:
    workers = Workers(stack, 1)
    assert workers.sender.sources() == []
    workers.sender.add(workers.pairs[0][0])
    assert workers.sender.sources() == [workers.listening, workers.pairs[0][0]]
    assert workers.connect(1) == [1]


def test_a_worker_that_has_died_gets_nothing(stack: ExitStack) -> None:
    workers = Workers(stack, 2)
    for ours, _ in workers.pairs:
        workers.sender.add(ours)
    workers.pairs[0][1].close()
    del workers.pairs[0]
    assert workers.connect(3) == [3]


def test_after_the_end_no_connection_is_accepted(stack: ExitStack) -> None:
    workers = Workers(stack, 1)
    workers.sender.add(workers.pairs[0][0])
    address = workers.listening.getsockname()
    workers.sender.stop()
    assert workers.sender.sources() == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
