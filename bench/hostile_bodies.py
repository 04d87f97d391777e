"""Every route of the server with bodies that are made to keep it busy: the worst answers, and /healthz meanwhile.

    python bench/hostile_bodies.py [--bytes N] [--only TEXT] [--rounds N]

`recollect serve` runs in a process of its own. Each hostile value is sent to each route that takes JSON, and to /mcp:
as the whole body, and as each of its fields. Meanwhile another process asks for /healthz all the time. The aim is an
answer within a second, and within 50 ms of /healthz. On a machine that does other things as well, look at the processor
time of the server: it holds up /healthz for less than that.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from serve_load import server

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "Mcp-Protocol-Version": "2025-06-18",
}
TOOLS = ("memory", "memory_note", "memory_query", "conversation", "scratchpad")
HEALTHY = 0.05
"""Seconds within which /healthz should answer."""
FEW = 49_000
"""As many values as pass the first check."""


def values(size: int) -> dict[str, bytes]:
    """Hostile JSON texts of so many bytes."""
    each = size // FEW

    def filled(text: bytes) -> bytes:
        return text + b" " * (each - len(text))

    return {
        "zeros": b"[" + b"0," * (size // 2) + b"0]",
        "objects": b"[" + b"{}," * (size // 3) + b"{}]",
        "texts": b"[" + b'"",' * (size // 3) + b'""]',
        "fewer zeros": b"[" + b",".join([filled(b"0")] * FEW) + b"]",
        "fewer objects": b"[" + b",".join([filled(b'{"a":0}')] * (FEW // 2)) + b"]",
        "long floats": b"[" + b",".join([b"0." + b"1234567890" * (each // 11)] * FEW) + b"]",
        "keys": b"{" + b",".join(filled(b'"k%d":0' % n) for n in range(FEW)) + b"}",
        "one key": b"{" + b'"k":0,' * (size // 6) + b'"k":0}',
        "long key": b'{"' + b"k" * size + b'":0}',
        "text": b'"' + b"x" * size + b'"',
        "blank": b'"' + b" " * size + b'"',
        "escapes": b'"' + rb"\"," * (size // 3) + b'"',
        "other letters": b'"' + "\u00e4".encode() * (size // 2) + b'"',
        "half characters": b'"' + rb"\ud83d" * (size // 6) + b'"',
        "digits": b"1" * size,
        "fraction": b"0." + b"1" * size,
        "deep": b"[" * size,
        "deep objects": b'{"a":' * (size // 5),
        "nothing": b" " * size,
        "no JSON": b"\xff" * size,
    }


def targets(address: str) -> Iterator[tuple[str, str, list[str]]]:
    """The method, the path and the fields of every route that takes JSON."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", "/openapi.json")
    described = json.loads(connection.getresponse().read())
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None and path != "/v1/session":  # that one takes a thousand bytes
                place = path.replace("{ref}", _conversation(address)).replace("{", "").replace("}", "")
                yield method.upper(), place, sorted(_fields(content["schema"], described["components"]["schemas"]))


def _fields(schema: dict[str, Any], known: dict[str, Any]) -> set[str]:
    if "$ref" in schema:
        return _fields(known[schema["$ref"].rpartition("/")[2]], known)
    found = set(schema.get("properties", ()))
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _fields(one, known)
    return found


def _conversation(address: str) -> str:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("POST", "/v1/conversations", b'{"chat_id": "c", "resume": true}', HEADERS)
    return str(json.loads(connection.getresponse().read())["ref_code"])


def bodies(fields: list[str], value: bytes) -> Iterator[tuple[str, bytes]]:
    """The value as a whole body, and as each field of one."""
    yield "body", value
    for field in fields:
        yield field, b'{"%s": %s}' % (field.encode(), value)


def calls(value: bytes) -> Iterator[tuple[str, bytes]]:
    """The value as a message of MCP, as parts of one, and as arguments of tools."""
    yield "body", value
    for part in (b"id", b"params", b"method"):
        yield part.decode(), b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "%s": %s}' % (part, value)
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}'
    for tool in TOOLS:
        yield tool, call % (tool.encode(), value)
    for tool, argument in (("conversation", b"messages"), ("memory", b"tags"), ("scratchpad", b"value")):
        yield f"{tool}.{argument.decode()}", call % (tool.encode(), b'{"%s": %s}' % (argument, value))
    yield (
        "messages as text",
        call % (b"conversation", b'{"messages": %s}' % json.dumps(value.decode("latin-1")).encode()),
    )


def session(address: str) -> str:
    """A session of MCP."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("POST", "/mcp", body, HEADERS)
    return str(connection.getresponse().headers["Mcp-Session-Id"])


def watch(address: str, pipe: Connection) -> None:
    """Ask for /healthz all the time; the worst time so far whenever that is asked for."""
    connection, worst = HTTPConnection(urlsplit(address).netloc, timeout=60), 0.0
    while True:
        start = time.perf_counter()
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        worst = max(worst, time.perf_counter() - start)
        if pipe.poll(0.002):
            if not pipe.recv():
                return
            pipe.send(worst)
            worst = 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=4_000_000)
    parser.add_argument("--only", default="", help="only routes whose path holds this")
    parser.add_argument(
        "--rounds", type=int, default=1, help="send a body that held up /healthz up to so many times, and take the best"
    )
    given = parser.parse_args()
    hostile = values(given.bytes)
    with tempfile.TemporaryDirectory() as folder, server(str(Path(folder) / "memory.db"), "--no-upkeep") as address:
        ours, theirs = multiprocessing.Pipe()
        watcher = multiprocessing.Process(target=watch, args=(address, theirs))
        watcher.start()
        HEADERS["Mcp-Session-Id"] = session(address)
        (serving,) = [one for one in psutil.Process().children() if one.pid != watcher.pid]
        received: list[tuple[float, float, float, str]] = []
        statuses = Counter[int]()
        for method, path, fields in [*targets(address), ("POST", "/mcp", [])]:
            if given.only not in path:
                continue
            for kind, value in hostile.items():
                for place, body in calls(value) if path == "/mcp" else bodies(fields, value):
                    times = [_sent(address, method, path, body, ours, serving)]
                    while times[-1][1] > HEALTHY and len(times) < given.rounds:
                        times.append(_sent(address, method, path, body, ours, serving))
                    statuses.update(status for *_, status in times)
                    best = [min(one[number] for one in times) for number in range(3)]
                    received.append((*best, f"{method} {path} {kind} as {place}"))
        ours.send(False)
        watcher.join()
    print(f"{len(received):,} requests of {given.bytes:,} bytes; answers: {dict(sorted(statuses.items()))}")
    for title, number in (("answer", 0), ("/healthz", 1), ("processor time", 2)):
        print(f"the slowest by {title}:")
        for one in sorted(received, key=lambda one: -one[number])[:8]:
            print(f"  {one[number] * 1000:8.1f} ms  {one[3]}")


def _sent(
    address: str, method: str, path: str, body: bytes, pipe: Connection, serving: psutil.Process
) -> tuple[float, float, float, int]:
    """How long the answer took, the worst of /healthz meanwhile, the processor time of the server, and the status."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=600)
    pipe.send(True)
    pipe.recv()
    before = serving.cpu_times()
    start = time.perf_counter()
    connection.request(method, path, body, HEADERS)
    answer = connection.getresponse()
    answer.read()
    taken = time.perf_counter() - start
    connection.close()
    after = serving.cpu_times()
    pipe.send(True)
    return taken, pipe.recv(), after.user + after.system - before.user - before.system, answer.status


if __name__ == "__main__":
    main()
