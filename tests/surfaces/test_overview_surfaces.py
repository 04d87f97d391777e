"""The overview through HTTP and the client: the values of the library, and only of a memory that one may read."""

from __future__ import annotations

from pathlib import Path

from surfaces.server import Server, serving, settings

import recollect
from recollect.client import connect

SINCE = 1_600_000_000_000


def test_the_client_returns_what_the_library_returns(server: Server) -> None:
    library = server.home.agent("ana")
    library.remember("We deploy on Tuesdays", name="deploy day")
    library.recall("deploy")
    with connect(server.url) as home:
        mem = home.agent("ana")
        found, expected = mem.overview(since=SINCE), library.overview(since=SINCE)
        assert found.changes == expected.changes == mem.changed_since(SINCE)
        assert found.most_recalled == expected.most_recalled
        assert found.health == expected.health
        assert mem.changed_since(SINCE, outcome="forgotten").items == ()
        assert [entry.name for entry in mem.list(sort="recalls", transcripts=False)] == ["deploy day"]
        assert mem.list(recalled=False) == []
        assert home.agent("ben").overview(since=SINCE).entries == 0


def test_a_token_sees_the_overview_of_its_agent_and_no_size_of_the_others(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home") as home, serving(home, settings(require_token=True)) as server:
        home.agent("ana").remember("Of ana")
        _, secret = home.tokens.create("ben's", agents=["ben"], right="admin")
        _, owner = home.tokens.create("owner", right="admin")
        with server.as_(secret) as ben:
            for route in ("/v1/overview", "/v1/changes/since?since=2020-09-13T12:26:40Z"):
                assert ben.get(route, params={"agent": "ana"}).status_code == 403
            own = ben.get("/v1/overview", params={"since": SINCE})
            assert (own.json()["entries"], own.json()["health"]["bytes"]) == (0, None)
            assert "Of ana" not in own.text
            assert "Of ana" not in ben.get("/v1/changes/since", params={"since": SINCE}).text
        with server.as_(owner) as client:
            assert client.get("/v1/overview", params={"agent": "ana"}).json()["health"]["bytes"] > 0
            assert client.get("/v1/overview", params={"utc_offset": 5_000}).status_code == 422
            assert client.get("/v1/changes/since").status_code == 422
