"""The process behind `recollect serve`: the listening socket, one or several workers, the log, graceful shutdown.

The first SIGTERM or SIGINT lets requests in progress finish and closes the home; a second one exits at once, which
loses nothing that was acknowledged. Workers share the home, and the parent passes connections to them. They receive
their settings through a pipe, never through the environment or the command line, where other users could read a
password.
"""

import asyncio
import errno
import gc
import json
import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from recollect.clock import iso, stopwatch
from recollect.config import Settings
from recollect.errors import ConfigError, RecollectError, Unavailable
from recollect.home import Home
from recollect.locations import shown
from recollect.rest.caller import is_loopback
from recollect.rest.connection_passing import ConnectionSender, report_end, take_connections
from recollect.rest.errors import ProblemResponse, problem
from recollect.rest.process_memory import limit_arenas
from recollect.wiring import open_home

__all__ = ["HEAD_SIZE", "HomeServer", "HttpConnection", "ResponseTransport", "serve"]

BACKLOG = 2_048
KEEP_ALIVE = 75
"""Keep-alive timeout of an idle connection in seconds. A proxy in front should use a shorter one."""
HEAD_SIZE = 65_536
HEAD_TIMEOUT = 30.0
"""Timeout in seconds for the head of a request; otherwise idle connections could use up all file descriptors."""
READ_WITHIN = 60.0
"""Timeout in seconds for the next part of a response to be read; then the connection is cut off."""
UNREAD = 1 << 28
"""Bytes of all unread responses above which the client that has not read for longest is cut off."""
FILES = 65_536
"""RLIMIT_NOFILE to request, up to the hard limit; each connection uses one descriptor."""
SPARE = 256
"""File descriptors reserved for the databases."""
FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
NO_HEAD = problem(
    "/", 408, "the head of the request did not arrive in time; nothing was changed", headers={"Connection": "close"}
)
NO_REQUEST = problem(
    "/",
    400,
    "invalid HTTP request: malformed, wrong length or chunk, or a head longer than 64 KB; "
    "nothing was changed. Send a long text in the body of a POST",
    headers={"Connection": "close"},
)
SHUTDOWN_TIMEOUT = 30
"""Seconds that requests in progress get to finish on shutdown."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Backoff in seconds before a worker that failed to start is retried."""
SWITCH_INTERVAL = 0.0005
"""Thread switch interval in seconds. With Python's default of 5 ms a request would wait that long three times (to be
read, handled and answered) whenever a background job computes."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger("recollect.serving")


def serve(location: str, settings: Settings, *, upkeep: bool = True, ready: Callable[[str], object]) -> None:
    """Serve until a signal stops it. Calls `ready` with the URL as soon as requests are accepted."""
    chosen = settings.server
    home = open_home(location, settings=settings)
    if not is_loopback(chosen.host) and not home.tokens.any():
        home.close()
        raise ConfigError(
            f"other machines could reach this server on {chosen.host}, and the memory has no token yet: make one "
            f"with `recollect --home {shown(location)} token create NAME`, or listen on 127.0.0.1"
        )
    _write_log(chosen.log_format)
    with _listening(chosen.host, chosen.port) as listening:
        address = _address(listening)
        if chosen.workers == 1:
            HomeServer(home, settings, upkeep=upkeep, ready=lambda: ready(address)).run([listening])
        else:
            home.close()
            work = (location, settings, upkeep)
            _Workers(work, chosen.workers, ConnectionSender(listening), lambda: ready(address)).run()


class ResponseTransport:
    """The transport of a connection, which sends the head of a response together with the first part of its body.

    uvicorn writes them one after the other, and each write is a system call and wakes the client.
    """

    __slots__ = ("_head", "_inner", "_loop")

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop, self._head = inner, loop, b""

    def write(self, data: bytes) -> None:
        """Send data; a head waits for the next write, but not longer than until the event loop is idle."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(b"HTTP/1.1 "):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._inner.write(data)

    def close(self) -> None:
        """Send what waits, then close the connection. A client that does not read it is cut off after a while."""
        self._flush()
        self._inner.close()
        if self._inner.get_write_buffer_size():
            self._loop.call_later(READ_WITHIN, self._inner.abort)

    def _flush(self) -> None:
        if self._head:
            self.write(b"")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class HttpConnection(HttpToolsProtocol):
    """HTTP connection with a connection limit, limits for the time and size of the head of each request, and a limit
    for the time in which the client must read.

    The parser is as strict as its defaults, and a request of HTTP/1.1 must name exactly one host.
    """

    _waiting: asyncio.TimerHandle | None = None
    _head = _arrived = 0
    """Bytes of the incomplete head so far; bytes of the last read, or 0 if another part of a request came with them."""
    _in_head = True
    _stalled: asyncio.TimerHandle | None = None
    unread: ClassVar[dict["HttpConnection", None]] = {}
    """Connections of this process whose client has not read for a while, in the order in which that began."""
    ended: Callable[[], object] | None = None
    """Called when the connection is closed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or refuse it if too many are open."""
        super().connection_made(ResponseTransport(transport, self.loop))  # type: ignore[arg-type]
        # These become `request.state.abort` and so on.
        known = {"abort": transport.abort, "gone": transport.is_closing, "drained": self.flow.drain}
        self.app_state = {**self.app_state, **known}
        if len(self.connections) > max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE, 1):
            transport.write(FULL)
            transport.close()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Parse data; refuse a head that is too long."""
        self._arrived = len(data)
        super().data_received(data)
        self._head += self._arrived
        if self._in_head and self._head > HEAD_SIZE and not self.transport.is_closing():
            self.send_400_response("")
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the head timeout and report that the connection is closed."""
        super().connection_lost(exc)
        self._cancel_head_timeout()
        self._is_read()
        if self.ended is not None:
            self.ended()

    def pause_writing(self) -> None:
        """Stop sending while the client does not read; cut off clients that do not read at all."""
        super().pause_writing()
        self.unread[self] = None
        self._watch_reader(None)
        while len(self.unread) > 1 and sum(one.transport.get_write_buffer_size() for one in self.unread) > UNREAD:
            oldest = next(iter(self.unread))
            oldest._is_read()
            oldest.transport.abort()

    def resume_writing(self) -> None:
        """Go on sending."""
        super().resume_writing()
        self._is_read()

    def on_message_begin(self) -> None:
        """Begin to count the bytes of a head."""
        super().on_message_begin()
        self._in_head, self._head = True, 0

    def on_headers_complete(self) -> None:
        """Check the hosts of a request. Raises ValueError unless it names exactly one."""
        self._in_head, self._arrived = False, 0
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise ValueError("a request must name exactly one host")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a part of a body, which is not part of a head."""
        super().on_body(body)
        self._arrived = 0

    def send_400_response(self, msg: str) -> None:
        """Answer an unparsable request with a problem response, unless another response has begun."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self._write(b"HTTP/1.1 400 Bad Request\r\n", NO_REQUEST)
        self.transport.close()

    def _write(self, status: bytes, problem: ProblemResponse) -> None:
        head = b"".join(b"%s: %s\r\n" % header for header in problem.raw_headers)
        self.transport.write(status + head + b"\r\n" + problem.body)

    def _wait(self) -> None:
        """Start the head timeout, or cancel it while a request is being handled."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_head_timeout()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_TIMEOUT, self._head_is_late)

    def _head_is_late(self) -> None:
        """Close the connection; say why if a request has begun."""
        if self._in_head and self._head:
            self._write(b"HTTP/1.1 408 Request Timeout\r\n", NO_HEAD)
        self.transport.close()

    def _watch_reader(self, before: int | None) -> None:
        """Cut off the client if it has read nothing since `before` bytes were left."""
        left = self.transport.get_write_buffer_size()
        if left == before:
            self.transport.abort()
        else:
            self._stalled = self.loop.call_later(READ_WITHIN, self._watch_reader, left)

    def _is_read(self) -> None:
        self.unread.pop(self, None)
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _cancel_head_timeout(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class HomeServer(uvicorn.Server):
    """uvicorn for a home: reports readiness, ends feeds before it waits for requests, exits cleanly on signals."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        *,
        upkeep: bool,
        ready: Callable[[], object],
        signals: Sequence[signal.Signals] = SIGNALS,
        connections: socket.socket | None = None,
    ) -> None:
        """`connections` is the socket over which a worker receives connections; without it, pass sockets to `run`."""
        from recollect.rest.app import create_app  # slow import, which the parent of workers does not need

        app = create_app(home, settings, upkeep=upkeep)
        super().__init__(
            uvicorn.Config(
                app,
                http=HttpConnection,
                log_config=None,
                access_log=False,
                ws="none",
                lifespan="on",
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
                proxy_headers=False,  # otherwise a client could forge the peer address
            )
        )
        self._stopping, self._ready, self._signals = app.state.stopping, ready, signals
        self._connections = connections
        limit_arenas()
        sys.setswitchinterval(SWITCH_INTERVAL)
        gc.collect()
        gc.freeze()  # a full collection would traverse all loaded modules and hold the GIL for 100 ms
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # keep the present limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (FILES if most < 0 else min(FILES, most), most))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then call `ready`."""
        await super().startup(sockets)
        if self._connections is not None:
            take_connections(self._connections, partial(self._accepted, self._connections))
        self._ready()

    def _accepted(self, parent: socket.socket) -> HttpConnection:
        """Return the protocol of a connection that the parent has accepted."""
        made = HttpConnection(self.config, self.server_state, self.lifespan.state)
        made.ended = partial(report_end, parent)
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the feeds, which never finish on their own, then wait for the other requests."""
        self._stopping.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on signals. Unlike uvicorn, do not raise them again afterwards: being stopped is no failure."""
        before = {one: signal.signal(one, self.handle_exit) for one in self._signals}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down gracefully on the first signal, exit at once on the second."""
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True


class _Workers:
    """Supervisor of the worker processes: passes on shutdown, and replaces a worker that dies.

    If no worker has ever started, `run` stops and raises. Later a failed start may be a database that is briefly
    unreachable: the other workers continue, and the start is retried with exponential backoff.
    """

    def __init__(
        self, work: tuple[Any, ...], number: int, sender: ConnectionSender, ready: Callable[[], object]
    ) -> None:
        self._work, self._number, self._sender, self._ready = work, number, sender, ready
        self._sockets: dict[BaseProcess, socket.socket] = {}
        """The socket over which connections are passed, by worker."""
        self._context = multiprocessing.get_context("spawn")  # a forked worker would inherit locks and connections
        self._running: dict[int, BaseProcess] = {}
        self._starting: dict[Connection, BaseProcess] = {}
        self._unready: set[BaseProcess] = set()
        """Workers that exited, or are about to, before they were ready."""
        self._due: list[float] = []
        """Times at which to retry a failed start."""
        self._pause = 0.0
        self._signals = self._started = 0
        self._failed = False

    def run(self) -> None:
        """Run until all workers have exited."""
        with _woken_by_signals() as woken:
            for _ in range(self._number):
                self._start()
            while self._running or self._due:
                pause = max(min(self._due) - stopwatch(), 0) if self._due else None
                for one in wait([*self._running, *self._starting, woken, *self._sender.sources()], pause):
                    if one is woken:
                        self._signals += len(woken.recv(64))
                        self._stop()
                    elif isinstance(one, socket.socket):
                        self._sender.attend(one)
                    elif isinstance(one, Connection):
                        self._on_worker_ready(one)
                    else:
                        self._on_worker_exit(one)  # type: ignore[arg-type]
                for moment in [one for one in self._due if one <= stopwatch()]:
                    self._due.remove(moment)
                    self._start()
        if self._failed:
            raise Unavailable("a worker process could not start; see its error above")

    def _start(self) -> None:
        readable, writable = self._context.Pipe(duplex=False)
        ours, theirs = socket.socketpair()
        process = self._context.Process(target=_work, args=(*self._work, theirs, writable), name="recollect-worker")
        # Block signals until the worker can handle them; otherwise Ctrl-C would end a new one with a traceback.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        writable.close()
        theirs.close()
        self._running[process.sentinel] = process
        self._sockets[process] = ours
        self._starting[readable] = process

    def _on_worker_ready(self, worker: Connection) -> None:
        process = self._starting.pop(worker, None)
        if process is None:  # its exit was noticed first
            return
        with worker:
            try:
                worker.recv()
            except EOFError:  # it exited before it was ready
                self._unready.add(process)
                if not self._started and not self._signals:  # the next one would fail, too
                    self._failed = True
                    self._stop()
                return
        if not self._signals:
            self._sender.add(self._sockets[process])
        _log.info("worker %s answers", process.pid)
        self._started += 1
        self._pause = 0.0
        if self._started == 1:  # one worker is enough to serve
            self._ready()

    def _on_worker_exit(self, sentinel: int) -> None:
        process = self._running.pop(sentinel)
        process.join()
        for worker in [worker for worker, one in self._starting.items() if one is process]:
            self._on_worker_ready(worker)
        with self._sockets.pop(process) as ours:
            self._sender.remove(ours)
        if self._signals or self._failed:
            return
        if process not in self._unready:
            _log.error("worker %s ended with %s; starting a new one", process.pid, process.exitcode)
            self._start()
            return
        self._unready.remove(process)
        self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
        self._due.append(stopwatch() + self._pause)
        _log.error("worker %s could not start; retrying in %.0f s", process.pid, self._pause)

    def _stop(self) -> None:
        self._due.clear()
        self._sender.stop()
        for process in self._running.values():
            if self._signals > 1:
                process.kill()
            else:
                process.terminate()


def _work(location: str, settings: Settings, upkeep: bool, connections: socket.socket, writable: Connection) -> None:
    """Entry point of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the parent sends SIGTERM
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_stop_without_parent, name="parent", daemon=True).start()
    _write_log(settings.server.log_format)
    try:
        home = open_home(location, settings=settings)
    except RecollectError as error:  # the parent could open it, so this is temporary
        _log.error("%s", error)
        sys.exit(1)
    ready = partial(writable.send, True)
    HomeServer(home, settings, upkeep=upkeep, ready=ready, signals=[signal.SIGTERM], connections=connections).run([])


def _stop_without_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _woken_by_signals() -> Iterator[socket.socket]:
    """Yield a socket that receives one byte for each stop signal."""
    woken, waker = socket.socketpair()
    with woken, waker:
        woken.setblocking(False)
        waker.setblocking(False)
        before = {one: signal.signal(one, lambda number, frame: None) for one in SIGNALS}
        signal.set_wakeup_fd(waker.fileno())
        try:
            yield woken
        finally:
            signal.set_wakeup_fd(-1)
            for one, handler in before.items():
                signal.signal(one, handler)


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket, or raise an error that names the obstacle."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"port {port} of {host} is in use, perhaps by another `recollect serve`; stop that process, or "
                "choose another port with --port (0 takes any that is free)"
            ) from None
        if error.errno == errno.EACCES:
            raise ConfigError(f"port {port} is reserved for the system; choose one above 1023 with --port") from None
        raise ConfigError(f"cannot listen on {host}: {error.strerror or error}; choose another --host") from None
    # Accepted connections inherit this. asyncio sets it only on sockets that it opens itself; without it a response in
    # two parts waits 40 ms for the delayed ACK of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def _write_log(format: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(as_json=format == "json"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("recollect").setLevel(logging.INFO)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # else it warns for every write to a closed feed
    # What no line shows, and what takes half of the time of one.
    logging._srcfile = None  # documented in the logging HOWTO, section Optimization
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


class _Lines(logging.Formatter):
    """Format log records as lines of text or JSON. Access log lines are already formatted by `Guard`."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted line."""
        at, message = iso(int(record.created * 1_000)), record.getMessage()
        if not self._as_json:
            trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
            return f"{at} {record.levelname.lower()} {message}{trace}"
        if record.name == "recollect.requests":
            return message
        fields = {"at": at, "level": record.levelname.lower(), "logger": record.name, "message": message}
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)
