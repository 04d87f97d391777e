"""Everything in and out over HTTP: export, import, backup and check, and what a client that hangs up leaves behind."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from postgres import wait_for
from surfaces.server import Server, serving

import recollect
from recollect.clock import FixedClock
from recollect.home import Home


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def filled(tmp_path: Path, clock: FixedClock, temporary: Path) -> Iterator[Server]:
    """A server over a memory with notes, a conversation and something in the trash."""
    with recollect.open(tmp_path / "filled.db", clock=clock) as home:
        mem = home.agent("ana")
        mem.remember("We deploy on Tuesdays.", name="deploy day", tags=["ops"])
        mem.remember("The staging API listens on port 8080.")
        mem.remember("Wrong.", name="mistake")
        mem.forget("mistake")
        mem.conversations.start().user("When do we deploy?")
        with serving(home) as running:
            yield running


def test_an_export_that_is_imported_elsewhere_gives_the_same_export(filled: Server, home: Home) -> None:
    first = filled.client.get("/v1/export")
    assert first.headers["content-type"] == "application/jsonl"
    assert first.headers["content-disposition"] == 'attachment; filename="memory.jsonl"'
    assert json.loads(first.text.splitlines()[0])["format"] == "recollect"
    with serving(home) as other:
        would = other.client.post("/v1/import", content=first.content, params={"dry_run": True}).json()
        assert would["dry_run"] is True
        assert home.agent("ana").list() == []
        done = other.client.post("/v1/import", content=first.content).json()
        assert (done["format"], done["path"], done["parts"]) == ("recollect", "import", would["parts"])
        assert other.client.get("/v1/export").content == first.content
        again = other.client.post("/v1/import", content=first.content).json()
        assert [part["added"] for part in again["parts"] if any(part["added"].values())] == []


def test_what_another_system_wrote_goes_to_the_agent(server: Server) -> None:
    said = {"uuid": "1", "sender": "human", "text": "When do we deploy?", "created_at": "2026-03-02T10:00:00Z"}
    chat = {"uuid": "7", "name": "deploy", "created_at": said["created_at"], "chat_messages": [said]}
    params = {"agent": "ben", "format": "claude"}
    done = server.client.post("/v1/import", params=params, content=json.dumps([chat]).encode()).json()
    assert [part["where"] for part in done["parts"]] == ["default/ben"]
    assert len(server.home.agent("ben").conversations.list()) == 1


@pytest.mark.parametrize("format", ["conversation", None])
def test_a_conversation_that_does_not_say_whose_it_is_goes_to_the_agent(server: Server, format: str | None) -> None:
    params = {"agent": "ben"} | ({} if format is None else {"format": format})
    talk = json.dumps({"messages": [{"role": "user", "text": "When do we deploy?"}]}).encode()
    done = server.client.post("/v1/import", params=params, content=talk).json()
    assert ([part["where"] for part in done["parts"]], done["path"]) == (["default/ben"], "import")
    assert server.home.agents() == ["ben"]
    named = server.client.post("/v1/import", params=params | {"name": "dev.json"}, content=talk).json()
    assert [part["where"] for part in named["parts"]] == ["default/dev"]


def test_a_note_keeps_the_name_of_its_file(server: Server) -> None:
    done = server.client.post("/v1/import", params={"name": "harbour.md"}, content=b"The harbour opens at eight.")
    assert (done.status_code, done.json()["format"]) == (200, "obsidian")
    assert server.home.agent("default").get("harbour").content.strip() == "The harbour opens at eight."


@pytest.mark.parametrize("name", ["../harbour.md", "..", "a/b", "", "a\x00b", "x" * 201])
def test_the_name_of_a_file_is_no_path(server: Server, name: str, temporary: Path) -> None:
    answer = server.client.post("/v1/import", params={"name": name}, content=b"The harbour opens at eight.")
    assert answer.status_code == 422
    assert os.listdir(temporary) == []


def test_a_file_is_not_packed_on_the_way(server: Server) -> None:
    packed = gzip.compress(server.client.get("/v1/export").content)
    refused = server.client.post("/v1/import", content=packed, headers={"Content-Encoding": "gzip"})
    assert (refused.status_code, "Content-Encoding" in refused.json()["detail"]) == (415, True)
    assert server.client.post("/v1/import", content=packed, params={"name": "all.jsonl.gz"}).status_code == 200


def test_a_file_that_is_nothing_known_is_refused(server: Server, temporary: Path) -> None:
    answer = server.client.post("/v1/import", content=b"\x00\x01nonsense")
    assert answer.status_code == 422
    assert os.listdir(temporary) == []


def test_a_backup_of_a_single_file_is_a_file_that_opens(filled: Server, tmp_path: Path) -> None:
    answer = filled.client.get("/v1/backup")
    assert answer.headers["content-disposition"] == 'attachment; filename="memory.db"'
    (tmp_path / "copy.db").write_bytes(answer.content)
    with recollect.open(tmp_path / "copy.db") as copy:
        assert copy.agent("ana").get("deploy day").content == "We deploy on Tuesdays."
        assert copy.check().ok


@pytest.mark.unprepared
@pytest.mark.parametrize("location", ["directory", "postgres"], indirect=True)
def test_any_other_backup_is_a_packed_directory_that_opens(location: str, tmp_path: Path) -> None:
    with recollect.open(location) as home, serving(home) as server:
        assert server.client.get("/v1/backup").status_code == 404
        home.agent("ana", "other").remember("We deploy on Tuesdays.", name="deploy day")
        answer = server.client.get("/v1/backup")
    assert answer.headers["content-disposition"] == 'attachment; filename="memory.zip"'
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path / "copy")
    with recollect.open(tmp_path / "copy") as copy:
        assert copy.agent("ana", "other").get("deploy day").content == "We deploy on Tuesdays."


def test_a_check_says_whether_all_is_well(filled: Server) -> None:
    received = filled.client.post("/v1/check", json={"repair": True}).json()
    assert (received["ok"], received["findings"], received["entries"]) == (True, [], 2)
    assert filled.client.post("/v1/check", json={"mend": True}).status_code == 422


def test_vectors_and_signals_have_their_routes(filled: Server) -> None:
    assert filled.client.post("/v1/backfill", json={"limit": 10}).json() == {"embedded": 0}
    answer = filled.client.post("/v1/reembed")
    assert (answer.status_code, "no embedder" in answer.json()["detail"]) == (409, True)
    assert filled.client.post("/v1/flush").status_code == 204


def test_a_client_that_hangs_up_while_it_is_sent_an_export_leaves_nothing_behind(
    filled: Server, temporary: Path
) -> None:
    mem = filled.home.agent("ana")
    for _ in range(10):  # more than a connection holds
        mem.remember("x" * 900_000)
    assert len(filled.client.get("/v1/export").content) > 9_000_000
    counts: list[int] = []

    def settled() -> bool:
        counts.append(len(os.listdir("/dev/fd")))
        return counts[-5:].count(counts[-1]) == 5

    wait_for("the file of the first export to be closed", settled)
    open_files = counts[-1]
    with filled.client.stream("GET", "/v1/export") as answer:
        blocks = answer.iter_raw()
        assert next(blocks).startswith(b"{")
        assert len(os.listdir("/dev/fd")) > open_files
        assert os.listdir(temporary) == []  # it has no name already
    wait_for("the file to be closed", lambda: len(os.listdir("/dev/fd")) <= open_files)


def test_a_client_that_hangs_up_in_the_middle_of_an_import_leaves_nothing_behind(
    filled: Server, temporary: Path
) -> None:
    before = filled.client.get("/v1/export").content
    address = urlsplit(filled.url)
    with socket.create_connection((str(address.hostname), address.port or 0)) as connection:
        head = f"POST /v1/import HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: {len(before)}\r\n\r\n"
        connection.sendall(head.encode() + before[: len(before) // 2])
        wait_for("the import to begin", lambda: os.listdir(temporary) != [])
    wait_for("the temporary file to be gone", lambda: os.listdir(temporary) == [])
    assert filled.client.get("/v1/export").content == before


@pytest.mark.parametrize("body", [b'{"messages": [{"role": 5}]}', b'{"messages": []}', b"[]", b"{", b'{"a": 1}'])
def test_an_import_that_takes_nothing_says_so_of_the_body_that_was_sent(server: Server, body: bytes) -> None:
    received = server.client.post("/v1/import?format=conversation", content=body).json()
    assert (received["parts"], len(received["remarks"])) == ([], 1)
    assert received["remarks"][0].startswith("the body ")
    assert server.home.workspaces() == []
    named = server.client.post("/v1/import?format=conversation&name=talk.json", content=body).json()
    assert named["remarks"][0].startswith("talk.json ")


def test_what_cannot_be_imported_is_called_the_body(server: Server) -> None:
    received = server.client.post("/v1/import", content=b'{"format": "recollect"').json()
    assert "default.json" not in received["detail"]
    assert "the body" in received["detail"]
