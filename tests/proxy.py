"""A TCP proxy in front of a PostgreSQL server that counts round trips and can delay them."""

import asyncio
import threading
from types import TracebackType
from urllib.parse import urlsplit, urlunsplit


class Proxy:
    """Forwards the connections of clients on loopback to the server of a URL.

    `round_trips` counts how often a client waited for the server: each time the server says that it is ready for the
    next message. With `delay`, each message takes so many seconds on its way to the server.
    """

    def __init__(self, url: str, delay: float = 0.0) -> None:
        self._target = urlsplit(url)
        self.delay = delay
        self.round_trips = 0
        self._targets: list[asyncio.StreamWriter] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Proxy":
        self._thread.start()
        start = asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        port = self._server.sockets[0].getsockname()[1]
        user = f"{self._target.username}@" if self._target.username else ""
        # Without encryption, whose negotiation is not in messages.
        plain = "sslmode=disable&gssencmode=disable"
        self.url = urlunsplit(self._target._replace(netloc=f"{user}127.0.0.1:{port}", query=plain))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for target in self._targets:
            target.transport.abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    async def _connected(self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        server_in, server_out = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._targets += [client_out, server_out]
        await asyncio.gather(self._requests(client_in, server_out), self._responses(server_in, client_out))

    async def _requests(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            self._loop.call_later(self.delay, target.write, data)
        self._loop.call_later(self.delay, target.close)

    async def _responses(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Forwards what the server sends, and counts its messages of type Z (ReadyForQuery)."""
        pending = b""
        while data := await source.read(1 << 16):
            pending += data
            while len(pending) >= 5 and len(pending) > (size := int.from_bytes(pending[1:5])):
                self.round_trips += pending[:1] == b"Z"
                pending = pending[1 + size :]
            target.write(data)
        target.close()
