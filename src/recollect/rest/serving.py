"""The process behind `recollect serve`: a socket, one process that answers or several, a log, and an end in good order.

The first SIGTERM or SIGINT lets the requests under way finish and closes the home; a second one ends at once, which
loses nothing that was answered. Several processes share the socket and the home. Their settings reach them through a
pipe, never through the environment or the command line, where other users could read a password.
"""

import asyncio
import errno
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
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.clock import iso, stopwatch
from recollect.config import Settings
from recollect.errors import ConfigError, RecollectError, Unavailable
from recollect.home import Home
from recollect.rest.caller import is_loopback
from recollect.rest.errors import problem
from recollect.wiring import open_home, shown

__all__ = ["Server", "serve"]

BACKLOG = 2_048
KEEP_ALIVE = 75
"""Seconds for which an idle connection stays open. A proxy in front should be the first to close it."""
HEAD_WITHIN = 30.0
"""Seconds in which the head of a request must have come. Connections that only wait would take up all there may be."""
FILES = 65_536
"""Open files that are asked of the system, as far as it allows; a connection is one."""
SPARE = 256
"""Open files that connections leave to the databases."""
FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
NO_REQUEST = problem(
    "/", 400, "this is no HTTP request, its length or a chunk is wrong, or its first lines are longer than 64 KB; "
    "nothing was changed. A long text goes into the body of a POST", headers={"Connection": "close"},
)  # fmt: skip
PATIENCE = 30
"""Seconds that requests under way get when the server is to stop."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before another worker is tried where one could not start."""
SWITCH = 0.0005
"""Seconds for which a thread may keep the interpreter while another waits. With Python's own 5 ms a request would wait
that long three times (to be read, worked on and answered) whenever a background job computes."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger("recollect.serving")


def serve(location: str, settings: Settings, *, upkeep: bool = True, ready: Callable[[str], object]) -> None:
    """Answer until a signal says stop. `ready` is told the address as soon as requests are answered."""
    chosen = settings.server
    home = open_home(location, settings=settings)
    if not is_loopback(chosen.host) and not home.tokens.any():
        home.close()
        raise ConfigError(
            f"other machines could reach this server on {chosen.host}, and nothing guards the memory yet: make a token "
            f"with `recollect --home {shown(location)} token create NAME`, or listen on 127.0.0.1"
        )
    _write_log(chosen.log_format)
    with _listening(chosen.host, chosen.port) as listening:
        address = _address(listening)
        if chosen.workers == 1:
            Server(home, settings, upkeep=upkeep, ready=lambda: ready(address)).run([listening])
        else:
            home.close()
            work = (location, settings, upkeep, listening)
            _Workers(work, chosen.workers, lambda: ready(address)).run()


class _Connection(H11Protocol):
    """A connection that is refused while there are too many, and closed when nothing is asked on it."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "abort": transport.abort}  # what a request finds as its state
        if len(self.connections) > max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE, 1):
            transport.write(FULL)
            transport.close()
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._asked()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read as a request, in the form of every problem, unless an answer is under way."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            head = b"".join(b"%s: %s\r\n" % header for header in NO_REQUEST.raw_headers)
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + NO_REQUEST.body)
        self.transport.close()

    def _wait(self) -> None:
        """Not for ever, unless a request is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._asked()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_WITHIN, self.transport.close)

    def _asked(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Server(uvicorn.Server):
    """uvicorn over a home: it says when it listens, ends feeds before it waits for requests, and stops without fuss."""

    def __init__(
        self, home: Home, settings: Settings, *, upkeep: bool, ready: Callable[[], object],
        signals: Sequence[signal.Signals] = SIGNALS,
    ) -> None:  # fmt: skip
        from recollect.rest.app import create_app  # slow to load, and not needed where workers answer

        app = create_app(home, settings, upkeep=upkeep)
        super().__init__(
            uvicorn.Config(
                app, http=_Connection, log_config=None, access_log=False, ws="none", lifespan="on", server_header=False,
                backlog=BACKLOG, timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=PATIENCE,
                proxy_headers=False,  # else the peer could be one that somebody made up
            )
        )  # fmt: skip
        self._stopping, self._ready, self._signals = app.state.stopping, ready, signals
        sys.setswitchinterval(SWITCH)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # then as many as there may be already
            resource.setrlimit(resource.RLIMIT_NOFILE, (FILES if most < 0 else min(FILES, most), most))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the feeds, which would never end by themselves, and wait for the rest."""
        self._stopping.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on signals; unlike uvicorn's, this does not raise them again afterwards: to be stopped is no failure."""
        before = {one: signal.signal(one, self.handle_exit) for one in self._signals}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in good order; the second time at once."""
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True


class _Workers:
    """Several processes that answer: all are told to stop, and one that dies is replaced.

    Where none could start ever, none will, and that is told. Later it may be the database that is away for a moment:
    the others go on, and another one is tried after a pause that doubles each time.
    """

    def __init__(self, work: tuple[Any, ...], number: int, ready: Callable[[], object]) -> None:
        self._work, self._number, self._ready = work, number, ready
        self._context = multiprocessing.get_context("spawn")  # a fork would share locks and connections
        self._running: dict[int, BaseProcess] = {}
        self._starting: dict[Connection, BaseProcess] = {}
        self._unready: set[BaseProcess] = set()
        """Those that ended, or are about to, before they could answer anything."""
        self._due: list[float] = []
        """When others are to be tried."""
        self._pause = 0.0
        self._signals = self._started = 0
        self._failed = False

    def run(self) -> None:
        """Until all have ended."""
        with _woken_by_signals() as woken:
            for _ in range(self._number):
                self._start()
            while self._running or self._due:
                pause = max(min(self._due) - stopwatch(), 0) if self._due else None
                for one in wait([*self._running, *self._starting, woken], pause):
                    if one is woken:
                        self._signals += len(woken.recv(64))
                        self._stop()
                    elif isinstance(one, Connection):
                        self._heard(one)
                    else:
                        self._ended(one)  # type: ignore[arg-type]
                for moment in [one for one in self._due if one <= stopwatch()]:
                    self._due.remove(moment)
                    self._start()
        if self._failed:
            raise Unavailable("a worker process could not start; what it said is above")

    def _start(self) -> None:
        heard, tell = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(*self._work, tell), name="recollect-worker")
        # Blocked until the worker can handle them: else Ctrl-C would end a young one with a traceback.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        tell.close()
        self._running[process.sentinel] = process
        self._starting[heard] = process

    def _heard(self, worker: Connection) -> None:
        process = self._starting.pop(worker, None)
        if process is None:  # its end was noticed first
            return
        with worker:
            try:
                worker.recv()
            except EOFError:  # it ended before it could answer anything
                self._unready.add(process)
                if not self._started and not self._signals:  # and so would the next one
                    self._failed = True
                    self._stop()
                return
        _log.info("worker %s answers", process.pid)
        self._started += 1
        self._pause = 0.0
        if self._started == 1:  # one is enough to answer
            self._ready()

    def _ended(self, sentinel: int) -> None:
        process = self._running.pop(sentinel)
        process.join()
        for worker in [told for told, one in self._starting.items() if one is process]:
            self._heard(worker)
        if self._signals or self._failed:
            return
        if process not in self._unready:
            _log.error("worker %s ended with %s; another one takes its place", process.pid, process.exitcode)
            self._start()
            return
        self._unready.remove(process)
        self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
        self._due.append(stopwatch() + self._pause)
        _log.error("worker %s could not start; another one is tried in %.0f s", process.pid, self._pause)

    def _stop(self) -> None:
        self._due.clear()
        for process in self._running.values():
            if self._signals > 1:
                process.kill()
            else:
                process.terminate()


def _work(location: str, settings: Settings, upkeep: bool, listening: socket.socket, tell: Connection) -> None:
    """What a worker does, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to everybody; the parent passes on what it means
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_stop_without_parent, name="parent", daemon=True).start()
    _write_log(settings.server.log_format)
    try:
        home = open_home(location, settings=settings)
    except RecollectError as error:  # the parent could open it, so this will pass
        _log.error("%s", error)
        sys.exit(1)
    ready = partial(tell.send, True)
    Server(home, settings, upkeep=upkeep, ready=ready, signals=[signal.SIGTERM]).run([listening])


def _stop_without_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _woken_by_signals() -> Iterator[socket.socket]:
    """A socket that gets a byte for every signal to stop."""
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
    """A socket on the address; an error that says what is in the way."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"port {port} of {host} is taken, perhaps by another `recollect serve`; stop what listens there, or "
                "choose another port with --port (0 takes any that is free)"
            ) from None
        if error.errno == errno.EACCES:
            raise ConfigError(f"port {port} is reserved for the system; choose one above 1023 with --port") from None
        raise ConfigError(f"cannot listen on {host}: {error.strerror or error}; choose another --host") from None
    # Its connections inherit this. asyncio sees to it only for sockets that it opens; without it an answer in two
    # parts waits 40 ms for the other side to acknowledge the first.
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
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # else a line for each part of a feed that nobody takes


class _Lines(logging.Formatter):
    """One line for each thing that happened, as text or as JSON. A line about a request is made by the guard."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at, message = iso(int(record.created * 1_000)), record.getMessage()
        if not self._as_json:
            trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
            return f"{at} {record.levelname.lower()} {message}{trace}"
        if record.name == "recollect.requests":
            return message
        told = {"at": at, "level": record.levelname.lower(), "logger": record.name, "message": message}
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)
