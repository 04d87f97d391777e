"""The server as its users meet it: real HTTP on the loopback address, answered by uvicorn in a thread here."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import uvicorn

from recollect.config import ServerSettings, Settings
from recollect.home import Home
from recollect.rest.app import create_app
from recollect.rest.serving import HttpConnection


@dataclass(frozen=True)
class Server:
    """A server that runs, the home behind it, and a client that talks to it."""

    url: str
    home: Home
    client: httpx2.Client

    @contextmanager
    def as_(self, secret: str) -> Iterator[httpx2.Client]:
        """A client with a token."""
        with client(self.url, headers={"Authorization": f"Bearer {secret}"}) as made:
            yield made


class _Uvicorn(uvicorn.Server):
    """Signals when it listens, so that no caller has to poll."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.stopping.set()
        await super().shutdown(sockets)


def client(url: str, **options: Any) -> httpx2.Client:
    """A client that goes there directly, whatever proxy this machine has. Without TLS it loads no certificates."""
    return httpx2.Client(base_url=url, trust_env=False, verify=False, timeout=60, **options)


def settings(**server: Any) -> Settings:
    """The usual settings of a server, with some changed: by default there is no limit on how often one may ask."""
    return Settings(server=ServerSettings(**{"rate": 0.0, **server}))


@contextmanager
def serving(home: Home, chosen: Settings | None = None, *, upkeep: bool = False) -> Iterator[Server]:
    """A server over a home, on a free port, until the block ends. It closes the home."""
    chosen = chosen or settings()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port = listening.getsockname()[1]
        app = create_app(home, replace(chosen), upkeep=upkeep)
        config = uvicorn.Config(
            app,
            http=HttpConnection,
            log_config=None,
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=5,
            proxy_headers=False,
        )
        running = _Uvicorn(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, name="server")
        thread.start()
        running.ready.wait()
        url = f"http://127.0.0.1:{port}"
        try:
            with client(url) as made:
                yield Server(url, home, made)
        finally:
            running.should_exit = True
            thread.join()
