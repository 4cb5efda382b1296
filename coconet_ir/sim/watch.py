"""Ends every process of a run when one is lost, however it died, and says which and where.

MPI itself leaves this to its launcher: without automatic clean-up, the others would wait for ever. So
each process keeps a TCP connection to that of rank 0, beside MPI. A process that dies closes its end at
once; a machine that goes silent is noticed by keep-alive probes within `SILENCE` seconds.
"""

from __future__ import annotations

import hmac
import os
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn

SILENCE = 15
"""Seconds after which a machine that no longer answers counts as lost."""

PATIENCE = 2
"""Seconds that the others have to print before this process ends."""

CONNECTING = 60
"""Seconds that all processes have to connect."""

_DONE, _LOST, _FAILED, _CLOSED = b"D", b"L", b"F", b""
_HEADER = struct.Struct("!cI")
_GREETING = struct.Struct("!16sI")


class Watch:
    """One process's connections, and the thread that listens to them.

    `where` says what this process is doing; it is part of the message when another is lost.
    """

    def __init__(self, rank: int, connections: dict[int, socket.socket]):
        """`connections` lead to all others on rank 0, to rank 0 on the others."""
        self.where: Callable[[], str] = lambda: "the reading of the program"
        self._rank = rank
        self._connections = connections
        self._failing = False
        self._ending = threading.Lock()  # the first to end this process keeps it
        for connection in connections.values():
            _probe(connection)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """This process is done, and so are all others: call it after a barrier."""
        self._tell(_DONE)
        self._thread.join(SILENCE)
        for connection in self._connections.values():
            connection.close()

    def fail(self, message: str) -> NoReturn:
        """This process cannot go on: rank 0 prints the first such message, and all processes end."""
        self._failing = True
        if self._rank == 0:
            self._end(message, _FAILED)
        self._tell(_FAILED, message.encode())
        self._thread.join(SILENCE)  # rank 0 answers when it has printed
        os._exit(1)

    def _listen(self) -> None:
        with selectors.DefaultSelector() as ready:
            for rank, connection in self._connections.items():
                ready.register(connection, selectors.EVENT_READ, rank)
            while ready.get_map():
                for key, _ in ready.select():
                    rank: int = key.data
                    kind, body = _receive(self._connections[rank])
                    if kind != _DONE:
                        self._stop(kind, body, rank)
                    ready.unregister(key.fileobj)

    def _stop(self, kind: bytes, body: bytes, sender: int) -> NoReturn:
        """End for the reason that a message gives."""
        if self._rank and (self._failing or kind == _FAILED):
            self._leave()  # rank 0 has said why
        if kind == _FAILED:
            self._end(body.decode(errors="replace"), _FAILED)
        lost = sender if kind == _CLOSED else int(body)
        message = f"error: rank {lost} was lost; rank {self._rank} was at {self.where()}"
        self._end(message, _LOST, str(lost).encode())

    def _end(self, message: str, kind: bytes, body: bytes = b"") -> NoReturn:
        """Print, tell the others on rank 0, and leave."""
        self._ending.acquire()
        print(message, file=sys.stderr, flush=True)
        if self._rank == 0:
            self._tell(kind, body)
        self._leave()

    def _leave(self) -> NoReturn:
        """End this process without asking MPI, once all have had time to print.

        A launcher may kill the others as soon as one has ended. So each shuts its end down when it has
        printed; rank 0 waits for that and ends first, which the others wait for.
        """
        deadline = time.monotonic() + PATIENCE
        for connection in self._connections.values():
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                if self._rank:
                    connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            except OSError:  # it is gone
                time.sleep(0.1)
        os._exit(1)

    def _tell(self, kind: bytes, body: bytes = b"") -> None:
        for connection in self._connections.values():
            try:
                connection.sendall(_HEADER.pack(kind, len(body)) + body)
            except OSError:  # it is gone; whoever listens to it will say so
                continue


def _receive(connection: socket.socket) -> tuple[bytes, bytes]:
    """A message's kind and body; `_CLOSED` when the other end has gone."""
    try:
        kind, length = _HEADER.unpack(_read(connection, _HEADER.size))
        return kind, _read(connection, length)
    except (OSError, EOFError):
        return _CLOSED, b""


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (part := connection.recv(size - len(data))):
            raise EOFError
        data += part
    return data


def _probe(connection: socket.socket) -> None:
    """Ask a silent other end for a sign of life."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 2)):
        if (option := getattr(socket, name, None)) is not None:  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, option, value)


def listener(host: str) -> socket.socket:
    """Where rank 0 waits for the others."""
    return socket.create_server((host, 0))


def accept_all(server: socket.socket, count: int, token: bytes) -> dict[int, socket.socket]:
    """The connections of ranks 1 to `count`, each of which knows the 16 bytes of `token`.

    Raises `TimeoutError` when one does not come.
    """
    found: dict[int, socket.socket] = {}
    deadline = time.monotonic() + CONNECTING
    while len(found) < count:
        server.settimeout(max(0.1, deadline - time.monotonic()))
        connection, _ = server.accept()
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            given, rank = _GREETING.unpack(_read(connection, _GREETING.size))
        except (OSError, EOFError):
            given, rank = b"", 0
        if hmac.compare_digest(given, token) and 1 <= rank <= count and rank not in found:
            connection.settimeout(None)
            found[rank] = connection
        else:  # a stranger
            connection.close()
    return found


def connect(host: str, port: int, rank: int, token: bytes) -> socket.socket:
    """This rank's connection to rank 0. Raises `OSError`."""
    connection = socket.create_connection((host, port), CONNECTING)
    connection.sendall(_GREETING.pack(token, rank))
    connection.settimeout(None)
    return connection
