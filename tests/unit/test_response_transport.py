"""The head of a response is sent together with the first part of its body, and never later than it has to be."""

import asyncio

from recollect.rest.serving import ResponseTransport

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Recorded(asyncio.Transport):
    """What is sent in one system call each."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: bytes) -> None:  # type: ignore[override]
        self.sent.append(data)

    def close(self) -> None:
        self.sent.append(b"closed")

    def get_write_buffer_size(self) -> int:
        return 0


def test_a_head_and_its_body_are_sent_at_once() -> None:
    async def run() -> list[bytes]:
        inner = Recorded()
        transport = ResponseTransport(inner, asyncio.get_running_loop())
        for body in (b"[]", b"{}"):
            transport.write(HEAD)
            transport.write(body)
        transport.write(b"more")
        await asyncio.sleep(0)
        return inner.sent

    assert asyncio.run(run()) == [HEAD + b"[]", HEAD + b"{}", b"more"]


def test_a_head_without_a_body_does_not_wait_for_one() -> None:
    async def run() -> list[bytes]:
        inner = Recorded()
        transport = ResponseTransport(inner, asyncio.get_running_loop())
        transport.write(HEAD)
        assert inner.sent == []
        await asyncio.sleep(0)
        return inner.sent

    assert asyncio.run(run()) == [HEAD]


def test_two_heads_in_a_row_are_both_sent() -> None:
    async def run() -> list[bytes]:
        inner = Recorded()
        transport = ResponseTransport(inner, asyncio.get_running_loop())
        transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        transport.write(HEAD)
        transport.write(b"[]")
        await asyncio.sleep(0)
        return inner.sent

    assert b"".join(asyncio.run(run())) == b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"[]"


def test_closing_sends_a_head_that_waits() -> None:
    async def run() -> list[bytes]:
        inner = Recorded()
        transport = ResponseTransport(inner, asyncio.get_running_loop())
        transport.write(HEAD)
        transport.close()
        await asyncio.sleep(0)
        return inner.sent

    assert asyncio.run(run()) == [HEAD, b"closed"]
