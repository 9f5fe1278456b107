"""Speak HTTP/1.1 on one connection, with a deadline or a bound for each thing that is waited for or held.

httptools (llhttp) parses strictly: what can be read in two ways is refused, and the connection ends with it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, TypeAlias

import httptools

from webhook.http.endpoint import Endpoints
from webhook.http.refusal import STALLED, TOO_SLOW, Refusal
from webhook.http.request import Request, Response, response_of

KEEP_ALIVE_SECONDS = 120.0
"""Longer than the 90 s after which the API server drops an idle connection: else it may send on one that was just closed."""
HEAD_SECONDS = 10.0
"""How long a request's head may take from its first byte."""
HEAD_BYTES = 64 << 10
READ_SECONDS = 10.0
"""How long a client may leave answers unread once they fill its buffers."""
UNREAD_BYTES = 16 << 10
PIPELINED = 64
"""Most requests of one connection that wait for the answer to an earlier one."""
LINGER_SECONDS = 2.0
"""How long the rest of a refused body is read, so that its sender sees the answer instead of a reset connection."""
ENCRYPTED_BYTES = (20 << 10, 20 << 10)
"""What TLS holds of a connection that is not read from, and from how little on it takes more: with a whole record in it, of which
there may be up to 18 KB, it would wait for ever."""

Waiting: TypeAlias = dict[object, Callable[[], object]]
"""Connections that only wait for their client, the one that waits longest first, with the function that ends each."""

_STATUS_LINES = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}

log = logging.getLogger(__name__)


class Connections:
    """Hold the connections of one listener, and which of them only wait.

    *waiting*: they have never sent a request, have not sent all of one, or leave answers unread. *handshaking*: those of them whose TLS
    handshake is not done. *idle*: they have sent none since the last answer.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.connections: set[HttpConnection] = set()
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
            connected.drop()


class HttpConnection(asyncio.Protocol):
    """Read requests one after the other, and answer them in that order with *endpoints*."""

    __slots__ = (
        "_answering", "_broken", "_connections", "_endpoints", "_has_begun", "_head_bytes", "_headers", "_idle_since", "_idle_timer",
        "_in_head", "_is_paused", "_is_unread", "_long", "_loop", "_may_be_long", "_parser", "_queue", "_reading", "_target", "_timer",
        "_transport", "_unread_timer", "refusal",
    )  # fmt: skip

    def __init__(self, endpoints: Endpoints, connections: Connections) -> None:
        self.refusal: Refusal | None = None  # of all its requests, whatever they ask
        self._endpoints, self._connections = endpoints, connections
        self._loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        self._queue: deque[Request] = deque()  # asked and not answered
        self._reading: Request | None = None  # whose body comes
        self._answering: asyncio.Task[None] | None = None
        self._broken: Response | None = None  # the last answer, to what cannot be read
        self._in_head = self._may_be_long = self._has_begun = self._is_unread = self._is_paused = (
            False
        )
        self._head_bytes = self._long = 0
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a stream's, always
        """Count the connection as one that waits, from now on."""
        self._transport = transport
        if transport.get_extra_info("ssl_object"):
            transport.set_read_buffer_limits(*ENCRYPTED_BYTES)  # type: ignore[attr-defined]  # of TLS alone
        transport.set_write_buffer_limits(UNREAD_BYTES)
        connections = self._connections
        connections.connections.add(self)
        connections.handshaking.discard(self)
        connections.waiting[self] = (
            self.drop
        )  # keeps the place in the order that it has since it was accepted
        self._idle_since = self._loop.time()
        self._idle_timer = self._loop.call_later(KEEP_ALIVE_SECONDS, self._look_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers, which would hold the connection in memory, and forget it and what it asked."""
        self._stop_timer()
        self._idle_timer.cancel()
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        connections = self._connections
        connections.connections.discard(self)
        for waiting in (connections.waiting, connections.idle):
            waiting.pop(self, None)
        if self._answering is not None:
            self._queue.popleft()  # whoever answers it ends it: what is worked on is still held
        while self._queue:
            request = self._queue.popleft()
            request.endpoint.end(request)
        if self._reading is not None:
            self._reading.endpoint.linger_no_longer(self)
            self._reading = None
        self._parser = None  # which holds this connection: a cycle is freed only when many more objects have come

    def data_received(self, data: bytes) -> None:
        """Read what has come, and answer what has come whole."""
        if self._broken is not None or self._transport.is_closing():
            return
        self._may_be_long = self._head_bytes + len(data) > HEAD_BYTES
        self._has_begun = False
        self._long = 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # answered like any other request, and the last
            pass
        except httptools.HttpParserError as error:
            self._break(str(error.__context__ or error))
        else:
            if self._reading is None:
                self._bound_head(len(data))
        self._go_on()

    def pause_writing(self) -> None:
        """Set a deadline for a client that reads no answers; none is made until it does."""
        self._is_unread = True
        self._unread_timer = self._loop.call_later(READ_SECONDS, self.drop)
        self._connections.waiting.setdefault(self, self.drop)

    def resume_writing(self) -> None:
        """Lift the deadline: the client reads."""
        self._is_unread = False
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None
        if self._reading is None:
            self._connections.waiting.pop(self, None)
        self._go_on()

    def on_message_begin(self) -> None:
        """Count the bytes of this head from nought."""
        self._in_head = self._has_begun = True
        self._head_bytes = self._long = 0
        self._target, self._headers = b"", {}

    def on_url(self, url: bytes) -> None:
        """Take a part of the request's target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, but no trailer: those that follow a chunked body would be held without a bound."""
        if not self._in_head:
            raise ValueError("headers after the body")
        self._headers[name.lower()] = value
        if self._may_be_long:
            self._long += len(name) + len(value)

    def on_headers_complete(self) -> None:
        """Begin a request, unless it breaks a bound."""
        # data_received cannot tell the last of a head from what follows it: here it is known
        if self._may_be_long and self._head_bytes + len(self._target) + self._long > HEAD_BYTES:
            raise ValueError("the head is too long")
        if len(self._queue) > PIPELINED:
            raise ValueError("too many requests at a time")
        self._in_head = False
        self._stop_timer()
        connections = self._connections
        connections.idle.pop(self, None)
        connections.waiting.pop(self, None)
        connections.waiting[self] = self.drop  # for the body, from now on
        parser = self._parser
        version = parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise ValueError(f"HTTP/{version} is not spoken here")
        keeps_alive = (
            version == "1.1" and parser.should_keep_alive() and not parser.should_upgrade()
        )
        method = parser.get_method().decode()
        url = httptools.parse_url(self._target)
        path = url.path or b""
        endpoint = self._endpoints.of(path)
        request = Request(
            endpoint,
            method,
            path,
            url.query or b"",
            self._headers,
            self._stalled,
            keeps_alive=keeps_alive,
        )
        self._queue.append(request)
        self._reading = request
        endpoint.begin(request, self.refusal)
        if b"expect" in self._headers and not request.refusal and len(self._queue) == 1:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        """Take a part of the body, unless it is thrown away."""
        if self._reading is not None and not self._reading.drains:
            self._reading.endpoint.take(self._reading, part)

    def on_message_complete(self) -> None:
        """End a request."""
        request, self._reading = self._reading, None
        if request is None:
            return
        self._stop_timer()
        request.endpoint.whole(request)
        if request.is_answered:  # it was refused, and the rest of its body is what was waited for
            request.endpoint.linger_no_longer(self)
            self._transport.close()
        request.is_whole, request.drains = True, False
        if not self._is_unread:
            self._connections.waiting.pop(self, None)

    def drop(self) -> None:
        """End the connection, whatever it is doing."""
        self._transport.abort()

    def shutdown(self) -> None:
        """End the connection if it asks nothing; an answer to what it asks ends it while the endpoint closes."""
        if not self._is_busy():
            self._transport.close()

    def _is_busy(self) -> bool:
        return bool(self._queue) or self._reading is not None or self._in_head

    def _bound_head(self, count: int) -> None:
        """Bound a head of which *count* bytes have come, or what comes in place of one."""
        if not self._in_head and (self._has_begun or self._queue):
            return
        self._head_bytes += count
        if self._head_bytes > HEAD_BYTES:
            self._break("the head is too long")
        elif self._timer is None:
            self._timer = self._loop.call_later(HEAD_SECONDS, self.drop)

    def _break(self, reason: str) -> None:
        """Read no more: nobody knows where the next request begins. What came before is answered."""
        self._stop_timer()
        self._in_head = False
        self._broken = response_of(Refusal(400, "http", f"the request cannot be read: {reason}"))
        if self._reading is not None:
            if self._reading.is_answered:
                self._reading.endpoint.linger_no_longer(self)
                self._transport.close()
            else:
                self._reading.endpoint.end(self._queue.pop())
            self._reading = None

    def _go_on(self) -> None:
        """Answer what is whole or refused, in its order, and read on if there is nothing left to answer first."""
        queue, transport = self._queue, self._transport
        while queue and not (self._is_unread or self._answering) and not transport.is_closing():
            request = queue[0]
            if not (request.is_whole or request.drains):
                if self._timer is None:
                    self._timer = self._loop.call_later(
                        request.endpoint.limits.body_seconds, self._late, request
                    )
                break
            response = request.endpoint.respond(request)
            if isinstance(response, Response):
                self._write(request, response)
            else:
                self._answering = self._loop.create_task(self._write_later(request, response))
                if request.drains:
                    self._pause()
        if self._broken is not None and not queue and not transport.is_closing():
            transport.write(_written(self._broken, ends=True))
            transport.close()
        if len(queue) > 1:
            self._pause()
        elif self._reading is None or not (self._reading.is_answered or self._reading.drains):
            self._read_on()

    async def _write_later(self, request: Request, answer: Awaitable[Response]) -> None:
        try:
            response = await answer
        except Exception:
            response = request.endpoint.failed()
        self._answering = None
        if self._queue:
            self._write(request, response)
            self._go_on()
        else:  # the client has gone
            request.endpoint.end(request)

    def _write(self, request: Request, response: Response) -> None:
        is_late = request.refusal in (TOO_SLOW, STALLED)  # nobody waits for the rest of its body
        ends = not request.keeps_alive or self._endpoints.closing or request.drains
        self._transport.write(_written(response, ends=ends, has_content=request.method != "HEAD"))
        self._queue.popleft()
        request.endpoint.end(request)
        request.is_answered = True
        if request.drains and not is_late:
            self._timer = self._loop.call_later(LINGER_SECONDS, self._transport.close)
            if request.endpoint.linger(self, self._read_on):
                self._read_on()
            else:
                self._pause()
        elif ends:
            self._transport.close()
        elif not self._queue:
            self._idle_since = self._loop.time()
            self._connections.idle[self] = self.drop

    def _late(self, request: Request) -> None:
        self._timer = None
        request.endpoint.drain(request, TOO_SLOW)
        self._go_on()

    def _stalled(self) -> None:
        self._loop.call_soon(self._go_on)  # whoever has its room now is not done yet

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def _read_on(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()

    def _look_idle(self) -> None:
        left = (
            KEEP_ALIVE_SECONDS
            if self._is_busy()
            else self._idle_since + KEEP_ALIVE_SECONDS - self._loop.time()
        )
        if left <= 0:
            self._transport.close()
        self._idle_timer = self._loop.call_later(max(left, 0.01), self._look_idle)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _written(response: Response, *, ends: bool, has_content: bool = True) -> bytes:
    head = b"%b%bcontent-length: %d\r\n%bdate: %b\r\n\r\n" % (
        _STATUS_LINES[response.status],
        response.lines,
        len(response.content),
        b"connection: close\r\n" if ends else b"",
        _date(),
    )
    return head + response.content if has_content else head


_today = (0, b"")


def _date() -> bytes:
    """Return the time as HTTP writes it, written once a second."""
    global _today
    second = int(time.time())
    if _today[0] != second:
        _today = second, formatdate(second, usegmt=True).encode()
    return _today[1]
