"""Bound what an HTTP connection may cost: how long, and with how many bytes, a client may leave something unfinished.

uvicorn has one timeout, for idle connections after their first answer. A client that sends nothing, half a head, endless trailers,
or reads no answers is waited for without end, and with what it sent in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TypeAlias

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

KEEP_ALIVE_SECONDS = 120
"""Longer than the 90 s after which the API server drops an idle connection: else it may send on one that was just closed."""
HEAD_SECONDS = 10.0
"""How long a request's head may take from its first byte."""
HEAD_BYTES = 64 << 10
READ_SECONDS = 10.0
"""How long a client may leave answers unread once they fill its buffers."""
UNREAD_BYTES = 16 << 10
UNTAKEN_BYTES = 16 << 10
"""How much of a body is read before it is taken."""
PIPELINED = 64
"""Most requests of one connection that wait for the answer to an earlier one."""
ENCRYPTED_BYTES = (20 << 10, 20 << 10)
"""What TLS holds of a connection that is not read from, and from how little on it takes more: with a whole record in it, of which
there may be up to 18 KB, it would wait for ever."""

Waiting: TypeAlias = dict[object, Callable[[], object]]
"""Connections that only wait for their client, the one that waits longest first, with the function that ends each."""


class Connections(ServerState):
    """Hold the connections of one listener, and which of them only wait.

    *waiting*: they have never sent a request, have not sent all of one, or leave answers unread. *handshaking*: those of them whose TLS
    handshake is not done. *idle*: they have sent none since the last answer.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.handshaking: set[object] = set()
        self.waiting: Waiting = {}
        self.idle: Waiting = {}

    @property
    def count(self) -> int:
        """Return how many there are, with those in their handshake."""
        return len(self.connections) + len(self.handshaking)

    @property
    def are_busy(self) -> bool:
        """Return whether there are as many as may be, and none of them only waits."""
        return self.count >= self.most and not self.waiting and not self.idle

    def make_room(self) -> bool:
        """Drop the connection that waits longest where there are too many; return whether one more may be taken."""
        if self.count < self.most:
            return True
        # an idle client has shown that it sends requests and reads answers, and may again
        for waiting in (self.waiting, self.idle):
            if waiting:
                oldest = next(iter(waiting))
                self.handshaking.discard(oldest)
                waiting.pop(oldest)()
                return True
        return False

    def drop_all(self) -> None:
        """Abort every connection, whatever it is doing."""
        for connection in list(self.handshaking):
            self.waiting[connection]()
        for connected in list(self.connections):
            connected.transport.abort()


class _Flow(FlowControl):
    """Read nothing from a connection while a request of it waits for an earlier one: uvicorn reads on with every answer."""

    def __init__(self, transport: asyncio.Transport, waiting: Collection[object]) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class HttpConnection(HttpToolsProtocol):
    """Speak HTTP/1.1 as uvicorn does, with a deadline or a bound for each thing that uvicorn waits for or holds."""

    def __init__(self, config: Config, connections: Connections) -> None:
        super().__init__(config, connections, {})
        self._handshaking, self._waiting, self._idle = connections.handshaking, connections.waiting, connections.idle
        self._in_head = self._in_body = self._is_whole = self._may_be_long = False
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Count the connection as one that waits, and give it the idle timeout that uvicorn gives only after an answer."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        if transport.get_extra_info("ssl_object"):
            transport.set_read_buffer_limits(*ENCRYPTED_BYTES)  # type: ignore[attr-defined]  # of TLS alone
        transport.set_write_buffer_limits(UNREAD_BYTES)
        self._drop = transport.abort
        self._handshaking.discard(self)
        self._waiting[self] = self._drop  # keeps the place in the order that it has since it was accepted
        self.timeout_keep_alive_task = self.loop.call_later(KEEP_ALIVE_SECONDS, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers, which would hold the connection in memory, and forget it."""
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        for waiting in (self._waiting, self._idle):
            waiting.pop(self, None)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; end the connection where a head grows too long or takes too long."""
        self._may_be_long = self._head_bytes + len(data) > HEAD_BYTES
        super().data_received(data)
        if (self._is_answering() and not self._in_head) or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self.send_400_response("The request's head is too long.")
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._drop)

    def on_message_begin(self) -> None:
        """Count the bytes of this head from nought."""
        self._in_head, self._in_body = True, False
        self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, but no trailer: those that follow a chunked body would be held without a bound."""
        if self._in_body:
            raise ValueError("trailers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start on the request, unless it breaks a bound."""
        # data_received cannot tell the last of a head from what follows it: here it is known
        if self._may_be_long and sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            raise ValueError("head too long")
        if len(self.pipeline) >= PIPELINED:
            raise ValueError("too many requests at a time")
        self._in_head, self._in_body, self._is_whole = False, True, False
        self._stop_head_timer()
        self._idle.pop(self, None)
        self._waiting.pop(self, None)
        self._waiting[self] = self._drop  # for the body, from now on
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Read no more of a body that nobody takes."""
        super().on_body(body)
        if len(self.cycle.body) > UNTAKEN_BYTES and not self.cycle.response_complete:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """Wait no longer for this client."""
        super().on_message_complete()
        self._is_whole = True
        self._wait_no_longer()

    def on_response_complete(self) -> None:
        """Go on with the next request; where none has come, the connection is idle."""
        super().on_response_complete()
        if not self._is_answering():
            self._idle[self] = self._drop

    def pause_writing(self) -> None:
        """Set a deadline for a client that reads no answers."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self._drop)
        self._waiting.setdefault(self, self._drop)

    def resume_writing(self) -> None:
        """Lift the deadline: the client reads."""
        super().resume_writing()
        self._stop_read_timer()
        self._wait_no_longer()

    def _wait_no_longer(self) -> None:
        if self._is_whole and self._read_timer is None:
            self._waiting.pop(self, None)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
