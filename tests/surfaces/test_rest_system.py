"""The server itself: alive, ready, figures, version."""

from __future__ import annotations

from surfaces.server import Server

import recollect


def test_a_server_says_that_it_is_alive_and_ready(server: Server) -> None:
    assert server.client.get("/healthz").text == "ok\n"
    assert server.client.get("/readyz").text == "ready\n"
    assert server.client.get("/version").json() == {"name": "recollect", "version": recollect.__version__}
