"""Load balancing of several workers: the parent accepts connections and passes each to the least busy worker.

If workers accepted from a shared socket, the kernel would give most connections to one of them, and clients keep
connections alive for long. So the parent counts open connections: a worker reports each one that is closed.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

__all__ = ["ConnectionSender", "report_end", "take_connections"]

ACCEPT_BATCH = 64
"""Maximum number of connections to accept before other events are handled."""
_CLOSED = b"\1"


class ConnectionSender:
    """Accepts connections and passes them to workers. Never blocks; accepts nothing while there is no worker."""

    def __init__(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        self._listening = listening
        self._open: dict[socket.socket, int] = {}
        """Number of open connections by worker, keyed by its socket."""

    def add(self, worker: socket.socket) -> None:
        """Add a worker that is ready."""
        worker.setblocking(False)
        self._open[worker] = 0

    def remove(self, worker: socket.socket) -> None:
        """Remove a worker that exited, which closed its connections."""
        self._open.pop(worker, None)

    def sources(self) -> list[socket.socket]:
        """Return the sockets to wait for."""
        return [self._listening, *self._open] if self._open else []

    def stop(self) -> None:
        """Stop accepting connections."""
        self._listening.close()
        self._open.clear()

    def attend(self, source: socket.socket) -> None:
        """Handle a readable socket: accept connections and pass them on, or count those that were closed."""
        if source is self._listening:
            for _ in range(ACCEPT_BATCH):
                try:
                    connection, _ = source.accept()
                except OSError:  # none is waiting, the client has gone, or too many open files
                    return
                with connection:
                    self._pass_on(connection)
        elif source in self._open:
            with suppress(OSError):
                self._open[source] = max(self._open[source] - len(source.recv(4_096)), 0)

    def _pass_on(self, connection: socket.socket) -> None:
        for worker in sorted(self._open, key=self._open.__getitem__):
            try:
                socket.send_fds(worker, [_CLOSED], [connection.fileno()])
            except OSError:  # its buffer is full, or it has just died: try the next one
                continue
            self._open[worker] += 1
            return


def take_connections(source: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
    """Serve the connections that the parent passes, in the running event loop."""
    loop, starting = asyncio.get_running_loop(), set[asyncio.Task[object]]()
    source.setblocking(False)

    def on_readable() -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(source, ACCEPT_BATCH, ACCEPT_BATCH)
        except BlockingIOError:
            return
        if not data:  # the parent exited
            loop.remove_reader(source)
        for descriptor in descriptors:
            connection = socket.socket(fileno=descriptor)
            connection.setblocking(False)
            task = loop.create_task(loop.connect_accepted_socket(protocol, connection))
            starting.add(task)
            task.add_done_callback(starting.discard)

    loop.add_reader(source, on_readable)


def report_end(source: socket.socket) -> None:
    """Report to the parent that a connection was closed."""
    with suppress(OSError):
        source.send(_CLOSED)
