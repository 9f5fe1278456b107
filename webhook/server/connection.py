"""Keep HTTP connections that send nothing, or nothing whole, from costing more than a file descriptor for a while."""

from __future__ import annotations

import asyncio

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

KEEP_ALIVE_SECONDS = 120
"""Longer than the 90 s after which the API server drops an idle connection: else it may send on one that was just closed."""
HEAD_SECONDS = 10.0
HEAD_BYTES = 64 << 10


class Connections(ServerState):
    """Hold the connections of one listener, and which of them have never sent a request, oldest first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.silent: dict[Connection, None] = {}


class Connection(HttpToolsProtocol):
    """Speak HTTP/1.1 as uvicorn does, with a deadline and a bound for a request's head.

    Where a listener has too many connections, the oldest that has never sent a request is dropped, else the new one.
    """

    def __init__(self, config: Config, connections: Connections) -> None:
        super().__init__(config, connections, {})
        self._silent = connections.silent
        self._most = connections.most
        self._in_head = False
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Take the connection, and make room for it."""
        super().connection_made(transport)
        self._silent[self] = None
        if len(self.connections) > self._most:
            next(iter(self._silent)).transport.abort()
        self.timeout_keep_alive_task = self.loop.call_later(KEEP_ALIVE_SECONDS, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._head_done()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Feed the parser; a head that grows too long, or takes too long, ends the connection."""
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self.send_400_response("The request's head is too long.")
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head is whole, and start on the request."""
        self._head_done()
        super().on_headers_complete()

    def _head_done(self) -> None:
        self._in_head = False
        self._silent.pop(self, None)
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
