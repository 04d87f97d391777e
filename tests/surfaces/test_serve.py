"""`recollect serve` as a process of its own: how it starts, what it writes, how it stops, and several at once."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
from postgres import alive, wait_for
from surfaces.command import Command, environment
from surfaces.server import client

import recollect
from recollect.locations import program

EXPORT_HEAD = "POST /v1/import HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n"


@dataclass
class Serving:
    """A server that runs in another process."""

    process: subprocess.Popen[bytes]
    url: str
    client: httpx2.Client

    def stop(self) -> tuple[int, str]:
        """Its exit code after SIGTERM, and its log."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate()
        return self.process.returncode, log.decode()

    def workers(self) -> set[int]:
        """The processes that answer, where there are several."""
        found = set()
        for one in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # it ended just now
                if alive(one) and any("spawn_main" in word for word in one.cmdline()):
                    found.add(one.pid)
        return found

    def log_until(self, words: str) -> str:
        """Return its log up to a line with these words."""
        assert self.process.stderr is not None
        lines = [self.process.stderr.readline().decode()]
        while words not in lines[-1]:
            assert lines[-1], f"the log ended without {words!r}: {lines}"
            lines.append(self.process.stderr.readline().decode())
        return "".join(lines)

    def refuses(self) -> bool:
        """Whether it takes no more connections."""
        address = urlsplit(self.url)
        try:
            socket.create_connection((str(address.hostname), address.port or 0)).close()
        except ConnectionRefusedError:
            return True
        return False


@contextmanager
def started(folder: Path, *args: str, home: str = "memory.db") -> Iterator[Serving]:
    """A server on a free port; it is ended when the block ends, if it still runs."""
    words = [sys.executable, "-m", "recollect", "--json", "serve", "--home", home, "--port", "0", *args]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment())
    try:
        assert process.stdout is not None
        received = b""
        while not received.endswith(b"}\n"):
            line = process.stdout.readline()
            assert line, process.communicate()[1].decode()
            received += line
        url = json.loads(received)["url"]
        with client(url) as made:
            yield Serving(process, url, made)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@contextmanager
def half_sent(server: Serving, body: bytes) -> Iterator[socket.socket]:
    """A connection with an import under way, of which the second half is still to be sent."""
    address = urlsplit(server.url)
    with socket.create_connection((str(address.hostname), address.port or 0)) as connection:
        connection.sendall(EXPORT_HEAD.format(host=address.netloc, length=len(body)).encode())
        assert connection.recv(1_000).startswith(b"HTTP/1.1 100")  # the route waits for the body
        connection.sendall(body[: len(body) // 2])
        yield connection


def exported(folder: Path) -> bytes:
    """An export with one note."""
    with recollect.open(folder / "other.db") as home:
        home.agent("default").remember("We deploy on Tuesdays.", name="deploy day")
        home.export(folder / "other.jsonl")
    return (folder / "other.jsonl").read_bytes()


def test_it_says_where_to_go_next_and_ends_with_code_0(cli: Command) -> None:
    with cli.start("serve", "--port", "0", "--home", "team.db") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().decode() for _ in range(7)]
        process.send_signal(signal.SIGINT)
        _, log = process.communicate()
    place = cli.folder / "team.db"
    assert lines[0].startswith(f"recollect {recollect.__version__} serves {place} on http://127.0.0.1:")
    url = lines[0].split()[-1]
    shown = "".join(lines)
    command = " ".join([*program(), "--home", str(place)])
    for part in (f"{url}/", f"{url}/docs", f"{url}/mcp", f"{command} connect claude-code", f"{command} token create"):
        assert part in shown
    assert "other machines" not in shown
    assert (process.returncode, log) == (0, b"")


def test_a_server_for_other_machines_says_where_they_reach_it(cli: Command) -> None:
    cli("token", "create", "laptop", "--home", "team.db")
    with cli.start("serve", "--port", "0", "--host", "0.0.0.0", "--home", "team.db") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().decode()]
        while lines[-1] and "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline().decode())
        process.send_signal(signal.SIGINT)
        process.communicate()
    port = urlsplit(lines[0].split()[-1]).port
    (received,) = [line for line in lines if "from other machines, with a token" in line]
    assert f":{port}/ " in received
    assert "127.0.0.1" not in received
    assert "0.0.0.0" not in received


def test_requests_under_way_are_answered_before_it_ends(tmp_path: Path) -> None:
    body = exported(tmp_path)
    with started(tmp_path) as server, half_sent(server, body) as connection:
        server.process.send_signal(signal.SIGTERM)
        wait_for("it to take no more connections", server.refuses)
        connection.sendall(body[len(body) // 2 :])
        answer = b""
        while block := connection.recv(65_536):
            answer += block
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert server.process.wait() == 0
    with recollect.open(tmp_path / "memory.db") as home:
        assert home.agent("default").get("deploy day").content == "We deploy on Tuesdays."


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    body = exported(tmp_path)
    with started(tmp_path) as server, half_sent(server, body):
        server.process.send_signal(signal.SIGTERM)
        wait_for("it to take no more connections", server.refuses)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait() == -signal.SIGTERM
    with recollect.open(tmp_path / "memory.db") as home:
        assert home.agent("default").list() == []


def test_feeds_end_when_it_is_stopped(tmp_path: Path) -> None:
    with started(tmp_path) as server, server.client.stream("GET", "/v1/feed") as feed:
        assert feed.status_code == 200
        server.process.send_signal(signal.SIGTERM)
        feed.read()
        assert server.process.wait() == 0


def test_workers_share_a_memory_and_one_that_dies_is_replaced(tmp_path: Path) -> None:
    with started(tmp_path, "--workers", "2", "--no-upkeep") as server:
        server.log_until("answers")
        server.log_until("answers")
        first, second = sorted(server.workers())
        ids = set()
        for n in range(8):
            with client(server.url) as one:  # a new connection each time, for any worker
                ids.add(one.post("/v1/entries", json={"content": f"note {n}"}).json()["id"])
        psutil.Process(first).kill()
        log = server.log_until("answers")
        assert f"worker {first} ended with -9; starting a new one" in log
        for identity in ids:
            with client(server.url) as one:
                assert one.get(f"/v1/entries/{identity}").status_code == 200
        workers = [psutil.Process(pid) for pid in server.workers()]
        assert second in {one.pid for one in workers}
        assert len(workers) == 2
        assert server.stop()[0] == 0
        assert not any(alive(one) for one in workers)


def test_the_workers_get_the_same_number_of_connections(tmp_path: Path) -> None:
    def worker_of(one: httpx2.Client) -> str:
        return re.findall(r'recollect_feeds_open{worker="(\d+)"}', one.get("/metrics").text)[0]

    with started(tmp_path, "--workers", "2", "--no-upkeep") as server, ExitStack() as stack:
        server.log_until("answers")
        server.log_until("answers")
        clients = [stack.enter_context(client(server.url)) for _ in range(8)]
        assert list(Counter(map(worker_of, clients)).values()) == [4, 4]
        assert server.stop()[0] == 0


def test_a_worker_that_cannot_be_replaced_is_tried_again_while_the_others_go_on(tmp_path: Path) -> None:
    with started(tmp_path, "--workers", "2", "--no-upkeep") as server:
        server.log_until("answers")
        server.log_until("answers")
        first, second = sorted(server.workers())
        (tmp_path / "memory.db").mkdir()  # a home that cannot be opened: nothing was written so far
        psutil.Process(first).kill()
        log = server.log_until("could not start; retrying in 2 s")
        assert server.workers() == {second}
        assert server.client.get("/healthz").status_code == 200
        (tmp_path / "memory.db").rmdir()
        server.log_until("answers")
        assert len(server.workers()) == 2
        assert server.client.post("/v1/entries", json={"content": "We deploy on Tuesdays."}).status_code == 201
        assert server.stop()[0] == 0
    assert log.count("starting a new one") == 1
    assert log.count("is a directory") == 2
    assert "Traceback" not in log


def test_where_no_worker_can_start_the_server_says_so_and_ends(cli: Command) -> None:
    stopping = "import os, sys\nif '--multiprocessing-fork' in sys.orig_argv: os._exit(1)"
    (cli.folder / "sitecustomize.py").write_text(stopping)
    source = Path(recollect.__file__).parents[1]
    ended = cli("serve", "--port", "0", "--workers", "2", code=6, PYTHONPATH=f"{cli.folder}:{source}")
    assert "a worker process could not start; see its error above" in ended.err


def test_workers_end_in_good_order_and_without_their_parent_too(tmp_path: Path) -> None:
    body = exported(tmp_path)
    with started(tmp_path, "--workers", "2") as server:
        wait_for("both workers", lambda: len(server.workers()) == 2)
        workers = [psutil.Process(pid) for pid in server.workers()]
        with half_sent(server, body) as connection:
            server.process.kill()
            server.process.wait()
            connection.sendall(body[len(body) // 2 :])
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        wait_for("the workers to end", lambda: not any(alive(one) for one in workers))


def test_a_port_that_is_taken_is_named(cli: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = cli("serve", "--port", port, code=6)
    assert f"port {port} of 127.0.0.1 is in use" in ended.err
    assert "--port" in ended.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--port", "70000"), "port must be a whole number from 0 to 65,535, not 70000"),
        (("--workers", "0"), "workers must be a whole number from 1 to 256, not 0"),
        (("--log-format", "xml"), "log_format must be one of text, json, not 'xml'"),
        (("--host", "no.such.host.invalid"), "no.such.host.invalid"),
    ],
)
def test_settings_that_cannot_be_are_refused(cli: Command, args: tuple[str, ...], message: str) -> None:
    assert message in cli("serve", *args, code=8).err


def test_other_machines_are_served_only_where_there_are_tokens(cli: Command) -> None:
    ended = cli("serve", "--host", "0.0.0.0", "--port", "0", "--home", "team.db", code=8)
    assert "token create NAME" in ended.err
    with recollect.open(cli.folder / "team.db") as home:
        _, secret = home.tokens.create("laptop")
    with started(cli.folder, "--host", "0.0.0.0", home="team.db") as server:
        assert server.client.get("/v1/entries/nothing").status_code == 401
        answer = server.client.get("/v1/entries/nothing", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == 404


def test_a_token_can_be_asked_for_on_this_machine_too(tmp_path: Path) -> None:
    with started(tmp_path, "--require-token") as server:
        assert server.client.get("/v1/entries/nothing").status_code == 401
        assert server.client.get("/healthz").status_code == 200


def test_the_log_has_a_line_of_json_for_each_request_and_no_secrets(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        _, secret = home.tokens.create("laptop")
    with started(tmp_path, "--log-format", "json") as server:
        headers = {"Authorization": f"Bearer {secret}", "X-Note": "private"}
        server.client.post("/v1/entries", headers=headers, json={"content": "a secret plan", "name": "plan"})
        server.client.get("/v1/entries/plan", params={"agent": "somebody"})
        server.client.get("/healthz")
        code, log = server.stop()
    lines = [json.loads(line) for line in log.splitlines()]
    received = [(one["method"], one["path"], one["status"], one["caller"]) for one in lines if "path" in one]
    assert received == [("POST", "/v1/entries", 201, "laptop"), ("GET", "/v1/entries/plan", 404, "-")]
    assert code == 0
    assert not any(word in log for word in (secret, "private", "a secret plan", "somebody"))


def test_two_servers_on_one_home_see_what_the_other_writes(location: str, tmp_path: Path) -> None:
    with started(tmp_path, home=location) as one, started(tmp_path, "--database", location, home="unused") as other:
        one.client.post("/v1/entries", json={"content": "We deploy on Tuesdays.", "name": "deploy day"})
        assert other.client.get("/v1/entries/deploy day").json()["content"] == "We deploy on Tuesdays."
        other.client.patch("/v1/entries/deploy day", json={"content": "We deploy on Mondays."})
        assert one.client.get("/v1/entries/deploy day").json()["content"] == "We deploy on Mondays."
        assert [one.stop()[0], other.stop()[0]] == [0, 0]
    assert not (tmp_path / "unused").exists()


def test_the_memory_of_requests_that_name_none_is_that_of_the_options(tmp_path: Path) -> None:
    with started(tmp_path, "--agent", "ana") as server:
        server.client.post("/v1/entries", json={"content": "We deploy on Tuesdays.", "name": "deploy day"})
        server.stop()
    with recollect.open(tmp_path / "memory.db") as home:
        assert home.agent("ana").get("deploy day")


def test_a_missing_extra_is_named_with_the_command_that_installs_it(cli: Command) -> None:
    (cli.folder / "uvicorn.py").write_text("raise ModuleNotFoundError('No module named uvicorn', name='uvicorn')")
    source = Path(recollect.__file__).parents[1]
    ended = cli("serve", code=8, PYTHONPATH=f"{cli.folder}:{source}")
    assert "pip install '.[server]'" in ended.err


def test_the_command_line_loads_no_server_before_it_is_asked_for() -> None:
    code = "import sys, recollect.cli; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert "recollect" in done.stdout.split()
    assert (
        set(done.stdout.split()) & {"fastapi", "starlette", "uvicorn", "pydantic", "mcp", "prometheus_client"} == set()
    )


def test_a_recall_in_a_pipe_loads_neither_styles_nor_the_search_of_conversations(cli: Command) -> None:
    cli("note", "add", "n", "some text")
    unwanted = {"rich.console", "recollect.search.journal"}
    code = f"import sys, recollect.cli; recollect.cli.main(); print({unwanted} & sys.modules.keys())"
    command = [sys.executable, "-c", code, "recall", "which database has text"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cli.folder, env=environment(), check=True)
    assert done.stdout.splitlines()[1:] == ["  some text", "set()"]
