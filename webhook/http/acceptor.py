"""Accept connections, each with the newest TLS context and a deadline for its handshake.

asyncio's own server does not do: it keeps the SSL context of its start, while ours is replaced whenever the certificate is, and it
shows a connection only once its handshake is done, so that clients which never finish one could be neither counted nor dropped.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial

from webhook.http.connection import Connections, HttpConnection

HANDSHAKE_SECONDS = 10.0
CLOSING_SECONDS = 3.0
"""How long a client may take to confirm the end of a TLS connection (close_notify)."""
BACKLOG = 1024
BURST = 8
"""Most connections accepted in one go: a handshake costs as much as a review, and those that are open wait meanwhile."""
PAUSE_SECONDS = 0.5
"""Pause where no connection can be accepted for want of file descriptors or memory."""
BUSY_SECONDS = 0.02
"""Pause where each connection has a request that is worked on: a new one waits in the socket's backlog, and is not refused."""
LOG_SECONDS = 10.0
"""Least time between two log lines about failed handshakes: any client can cause any number of them."""

log = logging.getLogger(__name__)


class Acceptor:
    """Accept on a bound socket until stopped; *context* is asked anew for each connection, None means no TLS.

    A context in use is never changed, see ``certs.serving``. *on_dropped* gets the reason why a connection was ended without an
    answer: ``handshake`` or ``too-many``.
    """

    def __init__(
        self,
        sock: socket.socket,
        connections: Connections,
        make: Callable[[], HttpConnection],
        context: Callable[[], ssl.SSLContext] | None,
        on_dropped: Callable[[str], None],
    ) -> None:
        self._socket, self._connections, self._make, self._context = (
            sock,
            connections,
            make,
            context,
        )
        self._on_dropped = on_dropped
        self._loop = asyncio.get_running_loop()
        self._failures, self._logged_at = 0, -LOG_SECONDS
        self._is_stopped = False
        self._unowned: set[socket.socket] = set()  # accepted, and no transport will close them yet
        sock.setblocking(False)
        self._loop.add_reader(sock, self._accept)

    def stop(self) -> None:
        """Accept what has come, and refuse what comes from now on."""
        if self._is_stopped:
            return
        self._accept(
            BACKLOG
        )  # to close the socket would reset the connections that wait in its backlog
        self._is_stopped = True
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _accept(self, most: int = BURST) -> None:
        for _ in range(most):
            if self._connections.are_busy and most == BURST:
                self._wait(BUSY_SECONDS)
                return
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
            handshake = self._loop.create_task(
                self._shake_hands(connection, accepted, str(peer[0]))
            )
            self._connections.handshaking.add(connection)
            self._connections.waiting[connection] = handshake.cancel
            self._unowned.add(accepted)
            handshake.add_done_callback(partial(self._handshake_done, connection, accepted))

    def _pause(self, error: OSError) -> None:
        """Stop accepting for a while: the socket stays readable, so that the loop would try again at once, and for ever."""
        log.error("connections wait: %s", error.strerror or error)
        self._wait(PAUSE_SECONDS)

    def _wait(self, seconds: float) -> None:
        self._loop.remove_reader(self._socket)
        self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        if not self._is_stopped:
            self._loop.add_reader(self._socket, self._accept)

    async def _shake_hands(
        self, connection: HttpConnection, accepted: socket.socket, peer: str
    ) -> None:
        self._unowned.remove(accepted)
        context = self._context() if self._context else None
        deadlines = (
            (HANDSHAKE_SECONDS, CLOSING_SECONDS) if context else (None, None)
        )  # asyncio takes none without TLS
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
            self._log_failure(peer, error)

    def _handshake_done(
        self, connection: HttpConnection, accepted: socket.socket, handshake: asyncio.Task[None]
    ) -> None:
        if (
            connection in self._connections.handshaking
        ):  # it failed: connection_made was never called
            self._connections.handshaking.remove(connection)
            self._connections.waiting.pop(connection)
        if accepted in self._unowned:  # dropped before its task began
            self._unowned.remove(accepted)
            accepted.close()

    def _log_failure(self, peer: str, error: OSError) -> None:
        """Log errors of TLS only: port scans and probes that connect and leave are of no interest."""
        if not isinstance(error, ssl.SSLError):
            return
        self._failures += 1
        if self._loop.time() < self._logged_at + LOG_SECONDS:
            return
        log.warning(
            "TLS handshake with %s failed: %s (%d since the last such line)",
            peer,
            error,
            self._failures,
        )
        self._failures, self._logged_at = 0, self._loop.time()
