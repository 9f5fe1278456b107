"""Listen on one address: accept, count and close connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass

from uvicorn.config import Config

from webhook.errors import InputError
from webhook.server.bridge import Bridge
from webhook.server.connection import KEEP_ALIVE_SECONDS, Connection, Connections

HANDSHAKE_SECONDS = 10.0
GOODBYE_SECONDS = 3.0
"""How long a client may take to confirm the end of a TLS connection."""
BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Address:
    """Hold where to listen; port 0 means any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``host:port``: ``0.0.0.0:8443``, ``[::1]:0``, ``:8080`` (all addresses). Raises ValueError."""
        host, colon, port = text.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535 or (":" in host and bare == host):
            raise ValueError(f"{text!r} is not host:port; write for example 0.0.0.0:8443 or [::1]:8443")
        return cls(bare, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def bind(address: Address) -> socket.socket:
    """Bind a listening socket. Raises InputError where the address is taken or not ours."""
    try:
        family, _, _, _, target = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(target[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while ")[0]  # create_server repeats the address there
        raise InputError(f"cannot listen on {address}: {reason}; choose another address") from None


class Listener:
    """Serve *bridge* on a bound socket, with TLS where a context is given, to at most *connections* clients at a time."""

    def __init__(
        self, sock: socket.socket, bridge: Bridge, *, connections: int, context: ssl.SSLContext | None = None
    ) -> None:
        self.bridge = bridge
        self.address = Address(*sock.getsockname()[:2])
        self._socket, self._context = sock, context
        self._connections = Connections(connections)
        self._config = Config(
            bridge,
            interface="asgi3",
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        self._config.load()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Return where to reach it, ``https://127.0.0.1:8443``."""
        return f"{'https' if self._context else 'http'}://{self.address}"

    async def start(self) -> None:
        """Begin to accept."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._connection,
            sock=self._socket,
            backlog=BACKLOG,
            ssl=self._context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if self._context else None,
            ssl_shutdown_timeout=GOODBYE_SECONDS if self._context else None,
        )

    def stop_accepting(self) -> None:
        """Refuse new connections; those that are open are served on."""
        if self._server:
            self._server.close()

    async def close(self, *, linger_seconds: float, grace_seconds: float) -> None:
        """Close every connection after its answer: idle ones after *linger_seconds*, busy ones after *grace_seconds*."""
        self.stop_accepting()
        self.bridge.closing = True
        await self._wait(linger_seconds)
        for connection in list(self._connections.connections):
            connection.shutdown()
        await self._wait(grace_seconds)
        for connection in list(self._connections.connections):
            connection.transport.abort()

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self._connections.connections and loop.time() < deadline:
            await asyncio.sleep(0.02)

    def _connection(self) -> Connection:
        return Connection(self._config, self._connections)
