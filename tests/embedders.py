"""Embedders for the tests: one that needs no model, and a real HTTP server that misbehaves on request.

Never part of the library.
"""

import json
import os
import re
import ssl
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import recollect

# For 127.0.0.1, self-signed and not trusted.
_KEY = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKMed4AkPc44taarIaARhK3bDSFoCsyUG67Fh/JuhAGOhRANCAAQdhi/vpNZv"
    "zXuRIBjm/DDioNN0owh429A11UlRW0uZqiRaqs2XmdTXewsezRRDd27w6KMgtfT8tbHeexUcux1M"
)
_CERTIFICATE = (
    "MIIBmTCCAT+gAwIBAgIBATAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9yZWNvbGxlY3QgdGVzdHMwIBcNMDAwMTAxMDAwMDAwWhgPMjEwMDAx"
    "MDEwMDAwMDBaMBoxGDAWBgNVBAMMD3JlY29sbGVjdCB0ZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABB2GL++k1m/Ne5EgGOb8MOKg"
    "03SjCHjb0DXVSVFbS5mqJFqqzZeZ1Nd7Cx7NFEN3bvDooyC19Py1sd57FRy7HUyjdDByMA8GA1UdEQQIMAaHBH8AAAEwDwYDVR0TAQH/BAUw"
    "AwEB/zAOBgNVHQ8BAf8EBAMCAoQwHQYDVR0OBBYEFKDXPU/RlG4XWPa/RVGUwwOf2BtLMB8GA1UdIwQYMBaAFKDXPU/RlG4XWPa/RVGUwwOf"
    "2BtLMAoGCCqGSM49BAMCA0gAMEUCIQDaTFXxRT284sjOl/ANx9DeTPR1LOfo5CayI12K1uKfrwIgCAGqASDl8rcVcOIGqjmAdV1qd4huGofR"
    "EcYcKknGPfs="
)


def in_a_new_process(program: str, *arguments: str) -> str:
    """Return the output of a program in a new Python process."""
    source = str(Path(recollect.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


class HashEmbedder:
    """A bag of words in a few dimensions: each word counts at a place that its checksum names.

    The same text has the same vector on every machine, and texts that share words are near each other.
    """

    def __init__(self, dimension: int = 64, model: str = "hash") -> None:
        self.model = model
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text; a text without a word has a row of zeros."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(word.encode()) % self.dimension] += 1
        return rows


class Request:
    """What a client sent, and the ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, hang: threading.Event) -> None:
        self.path = handler.path
        self.headers = dict(handler.headers.items())
        self.body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.texts: list[str] = self.body["input"]
        self._handler = handler
        self._hang = hang

    def vectors(self, dimension: int = 64) -> list[list[float]]:
        """What a good server would answer for these texts."""
        return [[float(number) for number in row] for row in HashEmbedder(dimension).embed(self.texts)]

    def items(self, embeddings: Sequence[object]) -> dict[str, object]:
        """The embeddings in the form of the protocol."""
        data = [{"object": "embedding", "index": place, "embedding": one} for place, one in enumerate(embeddings)]
        return {"object": "list", "model": self.body["model"], "data": data}

    def embeddings(self, embeddings: Sequence[object]) -> None:
        """Answer with these embeddings."""
        self.json(self.items(embeddings))

    def json(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Answer with any JSON; NaN is written as NaN."""
        self.raw(json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})})

    def raw(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Answer with any bytes."""
        sent = {"Content-Length": str(len(body)), **(headers or {})}
        self._handler.send_response(status)
        for name, value in sent.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(body)

    def stream(self, pieces: Iterable[bytes]) -> None:
        """Answer with bytes without end, until the connection is closed."""
        self._handler.send_response(200)
        self._handler.end_headers()
        for piece in pieces:
            self._handler.wfile.write(piece)

    def hang(self) -> None:
        """Answer nothing for longer than a client waits: until the server ends, and at most ten seconds."""
        self._hang.wait(10)

    def hang_up(self) -> None:
        """Answer nothing and close the connection."""


Behaviour = Callable[[Request], None]


def well(request: Request) -> None:
    """Answer as the protocol says."""
    request.embeddings(request.vectors())


def write_certificate(folder: Path) -> Path:
    """A file with the certificate of a server that speaks HTTPS, and its key."""
    file = folder / "certificate.pem"
    parts = {"PRIVATE KEY": _KEY, "CERTIFICATE": _CERTIFICATE}
    file.write_text("".join(f"-----BEGIN {name}-----\n{body}\n-----END {name}-----\n" for name, body in parts.items()))
    return file


class EmbeddingServer:
    """POST /v1/embeddings on a free port of 127.0.0.1, in threads of this process, until it is closed.

    With a certificate it speaks HTTPS.

    `requests` holds what came in. `script` holds how to answer the next requests, one each; then `always` answers.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self.requests: list[Request] = []
        self.followed: list[str] = []
        self.script: list[Behaviour] = []
        self.always: Behaviour = well
        self._hang = threading.Event()
        server = self

        class Server(ThreadingHTTPServer):
            request_queue_size = 100  # many clients at once wait in the queue and not for a second attempt

            def handle_error(self, request: object, client_address: object) -> None:
                """Ignore a client that disconnects early; anything else is a mistake in a test."""
                if not isinstance(sys.exception(), OSError):
                    super().handle_error(request, client_address)  # type: ignore[arg-type]

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Answer as the script says."""
                request = Request(self, server._hang)
                server.requests.append(request)
                behave = server.script.pop(0) if server.script else server.always
                behave(request)

            def do_GET(self) -> None:
                """Only who follows a redirect comes here."""
                server.followed.append(self.path)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # The handshake belongs to the thread of the request.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        """What an embedder takes as its base_url."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        """End every answer and the server."""
        self._hang.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> "EmbeddingServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
