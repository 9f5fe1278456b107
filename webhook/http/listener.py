"""Listen on one address: accept, count and close connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from webhook.core.errors import InputError
from webhook.http.acceptor import BACKLOG, Acceptor
from webhook.http.connection import Connections, HttpConnection
from webhook.http.endpoint import Endpoints

RECEIVE_BYTES = 16 << 10
"""What the kernel keeps of a connection, and so the most that TLS takes at a time: else 200 large bodies that come at once, though
nearly all of them are refused, need 160 MB of buffers."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Hold where to listen; port 0 means any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """Read ``host:port``: ``0.0.0.0:8443``, ``[::1]:0``, ``:8080`` (all addresses). Raises ValueError."""
        host, colon, port = text.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if (
            not colon
            or not (port.isascii() and port.isdigit())
            or int(port) > 65535
            or (":" in host and bare == host)
        ):
            raise ValueError(
                f"{text!r} is not host:port; write for example 0.0.0.0:8443 or [::1]:8443"
            )
        return cls(bare, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def bind(address: ListenAddress) -> socket.socket:
    """Bind a listening socket. Raises InputError where the address is taken or not ours."""
    try:
        family, _, _, _, target = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.create_server(target[:2], family=family, backlog=BACKLOG)
        sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES
        )  # connections inherit it
        return sock
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while ")[
            0
        ]  # create_server repeats the address there
        raise InputError(f"cannot listen on {address}: {reason}; choose another address") from None


class Listener:
    """Serve *endpoints* on a bound socket to at most *connections* clients at a time.

    *context* returns the SSL context for a new connection; without it there is no TLS. Where there are too many connections, one that
    only waits for its client is dropped, else the new one; *on_dropped* gets the reason. *make* makes what serves a connection.
    """

    def __init__(
        self,
        sock: socket.socket,
        endpoints: Endpoints,
        *,
        connections: int,
        context: Callable[[], ssl.SSLContext] | None = None,
        on_dropped: Callable[[str], None] = lambda reason: None,
        make: Callable[[Endpoints, Connections], HttpConnection] = HttpConnection,
    ) -> None:
        self._endpoints = endpoints
        self.address = ListenAddress(*sock.getsockname()[:2])
        self._socket, self._context, self._on_dropped, self._make = sock, context, on_dropped, make
        self._connections = Connections(connections)
        self._acceptor: Acceptor | None = None

    @property
    def url(self) -> str:
        """Return the URL, ``https://127.0.0.1:8443``."""
        return f"{'https' if self._context else 'http'}://{self.address}"

    async def start(self) -> None:
        """Start to accept connections."""
        self._acceptor = Acceptor(
            self._socket, self._connections, self._connection, self._context, self._on_dropped
        )

    def stop_accepting(self) -> None:
        """Refuse new connections; those that are open are served on."""
        if self._acceptor:
            self._acceptor.stop()

    async def close(self, *, linger_seconds: float, grace_seconds: float) -> None:
        """Close every connection after its answer: idle ones after *linger_seconds*, busy ones after *grace_seconds*."""
        self.stop_accepting()
        self._endpoints.closing = True
        await self._wait(linger_seconds)
        for connection in list(self._connections.connections):
            connection.shutdown()
        await self._wait(grace_seconds)
        self._connections.drop_all()

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self._connections.count and loop.time() < deadline:
            await asyncio.sleep(0.02)

    def _connection(self) -> HttpConnection:
        return self._make(self._endpoints, self._connections)
