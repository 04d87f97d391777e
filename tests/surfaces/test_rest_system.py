"""The server itself: alive, ready, figures, version."""

from __future__ import annotations

from surfaces.server import Server

import recollect


def test_a_server_says_that_it_is_alive_and_ready(server: Server) -> None:
    assert server.client.get("/healthz").text == "ok\n"
    assert server.client.get("/readyz").text == "ready\n"
    assert server.client.get("/version").json() == {"name": "recollect", "version": recollect.__version__}


def test_the_page_with_all_routes_names_each_and_loads_nothing_from_elsewhere(server: Server) -> None:
    told = server.client.get("/docs")
    assert told.headers["content-security-policy"].startswith("default-src 'none'")
    assert "//" not in told.text.replace("<!doctype html>", "").replace("http://127.0.0.1", "")
    for path in server.client.get("/openapi.json").json()["paths"]:
        assert f"<code>{path}</code>" in told.text
    assert server.client.get("/static/reference.css").headers["content-type"].startswith("text/css")
