"""Speak HTTP/1.1 on one connection: one request at a time, each part of it with a deadline and a bound.

httptools (llhttp) parses strictly: what can be read in two ways is refused, and ends the connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from email.utils import formatdate
from enum import Enum, auto
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING, Any

import httptools

from webhook.http.refusal import OVERLOADED, TOO_LARGE, TOO_SLOW, Refusal
from webhook.http.request import Request, Response, response_of

if TYPE_CHECKING:
    from webhook.http.listener import Listener

KEEP_ALIVE_SECONDS = 120.0
"""Longer than the 90 s after which the API server drops an idle connection: else it may send on a closed one."""
HEAD_SECONDS = 10.0
BODY_SECONDS = 3.0
READ_SECONDS = 10.0
"""How long a client may leave an answer unread once it fills the buffers."""
HEAD_BYTES = 64 << 10
UNREAD_BYTES = 16 << 10

_STATUS_LINES = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}


class State(Enum):
    """Say what a connection waits for."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    """The request is whole."""
    READER = auto()
    """The client does not read its answer."""


class HttpConnection(asyncio.Protocol):
    """Serve one connection of *listener*.

    *peer*: the address that it counts for. *since*: when it was accepted, or last answered.
    *expires_at*: when `expire` is to be called. *has_asked*: whether it has been answered.
    """

    __slots__ = (
        "_answering", "_head_bytes", "_headers", "_held", "_listener", "_loop", "_parser", "_refusal",
        "_request", "_target", "expires_at", "has_asked", "peer", "since", "state", "transport",
    )  # fmt: skip

    def __init__(self, listener: Listener, peer: str) -> None:
        self.peer, self.has_asked, self.state = peer, False, State.IDLE
        self.transport: asyncio.Transport | None = None
        self._listener, self._loop = listener, asyncio.get_running_loop()
        self.since, self.expires_at = self._loop.time(), inf
        self._request: Request | None = None
        self._refusal: Refusal | None = None  # of all its requests
        self._answering: asyncio.Task[None] | None = None
        self._parser: Any = None
        self._held = self._head_bytes = 0
        self._target, self._headers = b"", dict[bytes, bytes]()

    @property
    def is_busy(self) -> bool:
        """Return whether a whole request waits for its answer."""
        return self.state is State.ANSWER

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a stream's
        """Begin, once a handshake is done."""
        self.transport = transport
        transport.set_write_buffer_limits(UNREAD_BYTES)
        self._parser = httptools.HttpRequestParser(self)
        self._refusal = self._listener.judge_client(self)
        self._wait_for(State.IDLE, KEEP_ALIVE_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its request; an answer that is under way reaches nobody."""
        self._let_go()
        self._parser = None  # which holds this connection
        self._listener.forget(self)

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        if self.transport is None or self.transport.is_closing():
            return
        if self.is_busy:  # no API server sends a byte behind a request
            self.drop()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # answered as any other request, and the last
            return
        except httptools.HttpParserError as error:
            self._break(error)
            return
        if self.state is State.HEAD:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._end_with(_unreadable("the head is too long"))

    def on_message_begin(self) -> None:
        """Begin a head."""
        if self.is_busy:
            raise ValueError("a second request came before the answer to the first")
        self._head_bytes, self._target, self._headers = 0, b"", {}
        self._wait_for(State.HEAD, HEAD_SECONDS)

    def on_url(self, url: bytes) -> None:
        """Take a part of the request's target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Begin a body, unless it is refused by what the head says of it."""
        parser = self._parser
        version = parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise ValueError(f"HTTP/{version} is not spoken here")
        if b"transfer-encoding" in self._headers:
            raise ValueError("chunks are not taken: send a Content-Length")
        keeps_alive = (
            version == "1.1" and parser.should_keep_alive() and not parser.should_upgrade()
        )
        method = parser.get_method().decode()
        request = Request(method, self._target, self._headers, keeps_alive=keeps_alive)
        if request.length > self._listener.endpoint.limits.most:
            raise _Refused(TOO_LARGE)
        self._request = request
        self._wait_for(State.BODY, BODY_SECONDS)

    def on_body(self, part: bytes) -> None:
        """Keep a part of the body, as far as the limits say."""
        request, limits = self._request, self._listener.endpoint.limits
        if request is None:
            return
        if request.length > limits.read:
            part = part[: limits.kept - len(request.body)]
        if not self._listener.bodies.take(self.peer, len(part)):
            raise _Refused(OVERLOADED)
        self._held += len(part)
        if not request.body:
            request.body = part
            return
        if isinstance(request.body, bytes):  # few come in parts
            request.body = bytearray(request.body)
        request.body += part

    def on_message_complete(self) -> None:
        """Have the request answered when it is this peer's turn."""
        self._wait_for(State.ANSWER, inf)
        self._listener.requested_at = time.monotonic()
        self._listener.turns.add(self.peer, self._answer)

    def pause_writing(self) -> None:
        """Set a deadline for a client that reads no answers, and read nothing more of it."""
        if self.transport and not self.transport.is_closing():
            self.transport.pause_reading()
        self._wait_for(State.READER, READ_SECONDS)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        if self.transport and not self.transport.is_closing():
            self.transport.resume_reading()
            self._wait_for(State.IDLE, KEEP_ALIVE_SECONDS)

    def expire(self) -> None:
        """End a connection whose client took too long."""
        if self.state is State.BODY:
            self._end_with(TOO_SLOW)
        elif self.state is State.IDLE:
            self.shutdown()
        else:
            self.drop()

    def drop(self) -> None:
        """End the connection, whatever it is doing."""
        if self.transport:
            self.transport.abort()

    def shutdown(self) -> None:
        """End the connection if it asks nothing."""
        if self.state is State.IDLE and self.transport:
            self.transport.close()

    def _wait_for(self, state: State, seconds: float) -> None:
        self.state, self.expires_at = state, self._loop.time() + seconds

    def _answer(self) -> None:
        request, endpoint = self._request, self._listener.endpoint
        if request is None:  # the client has gone
            return
        if self._refusal:
            endpoint.refused(self._refusal)
            self._write(request, response_of(self._refusal))
            return
        try:
            response = endpoint.answer(request)
        except BaseException:  # also SystemExit, which would end the event loop
            response = endpoint.failed()
        if isinstance(response, Response):
            self._write(request, response)
        else:
            self._answering = self._loop.create_task(self._answer_later(request, response))

    async def _answer_later(self, request: Request, answer: Awaitable[Response]) -> None:
        try:
            response = await answer
        except Exception:
            response = self._listener.endpoint.failed()
        if self._request is request:
            self._write(request, response)

    def _write(self, request: Request, response: Response) -> None:
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        ends = not request.keeps_alive or self._listener.closing
        self._let_go()
        self.since, self.has_asked = self._loop.time(), True
        self._wait_for(State.IDLE, KEEP_ALIVE_SECONDS)
        transport.write(_written(response, ends=ends, has_content=request.method != "HEAD"))
        if ends:
            self._close(transport)

    def _break(self, error: Exception) -> None:
        if self.is_busy:
            self.drop()
            return
        cause = error.__context__ or error
        self._end_with(cause.refusal if isinstance(cause, _Refused) else _unreadable(str(cause)))

    def _end_with(self, refusal: Refusal) -> None:
        """Say why, and close: nobody knows where the next request would begin."""
        self._listener.endpoint.refused(refusal)
        self._let_go()
        if self.transport:
            self.transport.write(_written(response_of(refusal), ends=True))
            self._close(self.transport)

    def _close(self, transport: asyncio.Transport) -> None:
        """Close once the answer is read, and soon in any case."""
        self._wait_for(State.READER, READ_SECONDS)
        transport.close()

    def _let_go(self) -> None:
        """Forget the request, and give back what its body took."""
        self._request = None
        if self._held:
            self._listener.bodies.give_back(self.peer, self._held)
            self._held = 0


class _Refused(Exception):
    """Leave a callback of the parser with the answer *refusal*."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def _unreadable(reason: str) -> Refusal:
    return Refusal(400, "http", f"the request cannot be read: {reason}")


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
