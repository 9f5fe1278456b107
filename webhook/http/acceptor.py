"""Accept connections, each with a TLS context of its own time and a deadline for its handshake."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial

from webhook.http.connection import Connections, HttpConnection

HANDSHAKE_SECONDS = 10.0
GOODBYE_SECONDS = 3.0
"""How long a client may take to confirm the end of a TLS connection."""
BACKLOG = 1024
BURST = 8
"""Most connections accepted before those that are open get their turn: a handshake costs as much as a review."""
PAUSE_SECONDS = 0.5
"""Pause where the system has no more file descriptors."""
TOLD_SECONDS = 10.0
"""Shortest time between two lines about failed handshakes, of which anybody can cause many."""

log = logging.getLogger(__name__)


class Acceptor:
    """Accept on a bound socket until stopped; *context* is asked for each connection, None means no TLS.

    Each connection gets the newest context, so that neither a certificate nor what clients must show is ever changed in a
    context that is in use. *on_dropped* is told why a connection was ended without an answer: ``handshake`` or ``too-many``.
    """

    def __init__(
        self,
        sock: socket.socket,
        connections: Connections,
        make: Callable[[], HttpConnection],
        context: Callable[[], ssl.SSLContext] | None,
        on_dropped: Callable[[str], None],
    ) -> None:
        self._socket, self._connections, self._make, self._context = sock, connections, make, context
        self._on_dropped = on_dropped
        self._loop = asyncio.get_running_loop()
        self._untold, self._told_at = 0, -TOLD_SECONDS
        self._is_stopped = False
        self._waiting: set[socket.socket] = set()
        sock.setblocking(False)
        self._loop.add_reader(sock, self._accept)

    def stop(self) -> None:
        """Take what has come, and refuse what comes from now on."""
        if self._is_stopped:
            return
        self._accept(BACKLOG)
        self._is_stopped = True
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _accept(self, most: int = BURST) -> None:
        for _ in range(most):
            try:
                accepted, peer = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            crowded = self._connections.count >= self._connections.most
            if crowded:
                self._on_dropped("too-many")
            if crowded and not self._connections.make_room():
                accepted.close()
                continue
            accepted.setblocking(False)
            connection = self._make()
            greeting = self._loop.create_task(self._greet(connection, accepted, str(peer[0])))
            self._connections.greeting.add(connection)
            self._connections.silent[connection] = greeting.cancel
            self._waiting.add(accepted)
            greeting.add_done_callback(partial(self._greeted, connection, accepted))

    def _pause(self, error: OSError) -> None:
        """Wait for file descriptors or memory: to accept again at once would only burn the processor."""
        log.error("connections wait: %s", error.strerror or error)
        self._loop.remove_reader(self._socket)
        self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if not self._is_stopped:
            self._loop.add_reader(self._socket, self._accept)

    async def _greet(self, connection: HttpConnection, accepted: socket.socket, peer: str) -> None:
        """Bring a connection through its handshake."""
        self._waiting.remove(accepted)
        context = self._context() if self._context else None
        deadlines = (HANDSHAKE_SECONDS, GOODBYE_SECONDS) if context else (None, None)
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=context,
                ssl_handshake_timeout=deadlines[0],
                ssl_shutdown_timeout=deadlines[1],
            )
        except OSError as error:
            self._on_dropped("handshake")
            self._tell(peer, error)

    def _greeted(self, connection: HttpConnection, accepted: socket.socket, greeting: asyncio.Task[None]) -> None:
        if connection in self._connections.greeting:  # its handshake failed
            self._connections.greeting.remove(connection)
            self._connections.silent.pop(connection)
        if accepted in self._waiting:  # dropped before its task began; later its transport closes it
            self._waiting.remove(accepted)
            accepted.close()

    def _tell(self, peer: str, error: OSError) -> None:
        """Log what is worth it: port scans and probes that only connect are not."""
        if not isinstance(error, ssl.SSLError):
            return
        self._untold += 1
        if self._loop.time() < self._told_at + TOLD_SECONDS:
            return
        log.warning("TLS handshake with %s failed: %s (%d since the last such line)", peer, error, self._untold)
        self._untold, self._told_at = 0, self._loop.time()
