"""Speak HTTP/1.1 on one connection: one request at a time, each part with a deadline and a bound.

httptools (llhttp) parses strictly: what can be read in two ways ends the connection.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING, Any

import httptools

from webhook.http.refusal import OVERLOADED, TOO_LARGE, TOO_SLOW, Refusal, Response, answered

if TYPE_CHECKING:
    from webhook.http.listener import Listener

HEAD_BYTES = 64 << 10
UNREAD_BYTES = 64 << 10
"""How much of its answers a client may leave unread when it asks again."""

IDLE, HEAD, BODY, ANSWER, END = range(5)
"""What a connection waits for. ANSWER: its request is whole. END: its client reads the last one."""
SECONDS = {IDLE: 120.0, HEAD: 10.0, BODY: 3.0, ANSWER: inf, END: 10.0}
"""How long it waits. IDLE: more than the API server's 90 s, so that it is who closes."""


@dataclass(slots=True)
class Request:
    """Hold a request.

    *headers*: by name in lower case; of a name that comes twice, the last. *length*: of the body in
    bytes; *body* may hold its beginning only. *received_at*: by ``time.perf_counter()``.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    length: int
    keeps_alive: bool
    body: bytearray = field(default_factory=bytearray)
    received_at: float = field(default_factory=time.perf_counter)


class Endpoint(ABC):
    """Answer requests, in the event loop.

    A body above *most_bytes* is refused; of one above *read_bytes*, *kept_bytes* are kept.
    """

    most_bytes = read_bytes = 7 << 20
    kept_bytes = 0

    @abstractmethod
    def answer(self, request: Request) -> Response | Refusal | Awaitable[Response | Refusal]:
        """Answer a whole request; what it raises at once becomes a refusal, later it may not."""

    def refuse(self, refusal: Refusal, _request: Request | None) -> Refusal:
        """Record a refusal, None where its request is not whole; return what the client gets."""
        return refusal


class HttpConnection(asyncio.Protocol):
    """Serve one connection of *listener*.

    *peer*: the address that it counts for. *since*: whether it has been answered, and when last, or
    when it was accepted. *expires_at*: when `expire` is due.
    """

    def __init__(self, listener: "Listener", peer: str) -> None:
        self.peer, self.state = peer, IDLE
        self.transport: asyncio.Transport | None = None
        self._listener, self._endpoint = listener, listener.endpoint
        self._loop = asyncio.get_running_loop()
        self.since, self.expires_at = (False, self._loop.time()), inf
        self._request: Request | None = None
        self._refusal: Refusal | None = None  # of all its requests
        self._parser: Any = None
        self._head_bytes = 0
        self._target, self._headers = b"", dict[str, str]()

    def connection_made(  # type: ignore[override]  # a stream's
        self, transport: asyncio.Transport
    ) -> None:
        """Begin, after the handshake."""
        self.transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._refusal = self._listener.judge_client(self)
        self._wait_for(IDLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its request; an answer that is under way reaches nobody."""
        self._let_go()
        self._parser = None  # which holds this connection
        self._listener.forget(self)

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        if self.transport is None or self.transport.is_closing():
            return
        has_read = self.transport.get_write_buffer_size() < UNREAD_BYTES
        if self.state == ANSWER or not has_read:  # an API server reads before it asks again
            self.drop()
            return
        try:
            self._parser.feed_data(data)
            if self.state == HEAD:
                self._head_bytes += len(data)
                if self._head_bytes > HEAD_BYTES:
                    raise ValueError("the head is too long")
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, ValueError) as error:
            if self.state == ANSWER:
                self.drop()
                return
            problem = f"the request cannot be read: {error.__context__ or error}"
            self._end_with(self._refusal or Refusal(400, "http", problem))
        else:
            if self.state == ANSWER:
                self._listener.answer_in_turn(self)

    def on_message_begin(self) -> None:
        """Begin a head."""
        if self.state == ANSWER:
            raise ValueError("a second request came before the answer to the first")
        self._head_bytes, self._target, self._headers = 0, b"", {}
        self._wait_for(HEAD)

    def on_url(self, url: bytes) -> None:
        """Take a part of the request's target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers[name.lower().decode("latin-1")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Begin a body, unless its head is reason enough to refuse it."""
        parser = self._parser
        if (version := parser.get_http_version()) != "1.1":
            raise ValueError(f"HTTP/{version} is not spoken here")
        if "transfer-encoding" in self._headers:
            raise ValueError("chunks are not taken: send a Content-Length")
        length = int(self._headers.get("content-length", "0"))
        if length > self._endpoint.most_bytes:
            self._stop(TOO_LARGE)
        method, keeps_alive = parser.get_method().decode(), parser.should_keep_alive()
        path, _, query = self._target.decode("latin-1").partition("?")
        self._request = Request(method, path, query, self._headers, length, keeps_alive)
        self._wait_for(BODY)

    def on_body(self, part: bytes) -> None:
        """Keep a part of the body, within the endpoint's bounds and the peer's share."""
        request = self._request
        if request is None:
            return
        if request.length > self._endpoint.read_bytes:
            part = part[: self._endpoint.kept_bytes - len(request.body)]
        if not self._listener.bodies.take(self.peer, len(part)):
            self._stop(OVERLOADED)
        request.body += part

    def on_message_complete(self) -> None:
        """Wait for the answer, unless more follows."""
        self._wait_for(ANSWER)

    def expire(self) -> None:
        """End a connection whose client took too long."""
        if self.state == BODY:
            self._end_with(TOO_SLOW)
        else:
            self.drop()

    def drop(self) -> None:
        """End the connection, whatever it is doing."""
        if self.transport:
            self.transport.abort()

    def answer(self) -> None:
        """Have the whole request answered."""
        request = self._request
        if request is None:  # the client has gone
            return
        refusal = self._refusal
        answer = refusal if refusal else answered(self._endpoint.answer, request)
        if isinstance(answer, (Response, Refusal)):
            self._write(request, answer)
        else:
            asyncio.ensure_future(answer).add_done_callback(partial(self._write_later, request))

    def _write_later(self, request: Request, answer: asyncio.Future[Response | Refusal]) -> None:
        if self._request is request and not answer.cancelled():
            self._write(request, answer.result())

    def _write(self, request: Request, answer: Response | Refusal) -> None:
        if isinstance(answer, Refusal):
            answer = self._endpoint.refuse(answer, request).response
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        ends = not request.keeps_alive or self._listener.closing
        self._let_go()
        self.since = True, self._loop.time()
        self._wait_for(IDLE)
        transport.write(_written(answer, ends=ends, has_content=request.method != "HEAD"))
        if ends:
            self._close(transport)

    def _stop(self, refusal: Refusal) -> None:
        """Leave a callback of the parser, and end with this refusal."""
        self._refusal = refusal
        raise ValueError(refusal.message)

    def _end_with(self, refusal: Refusal) -> None:
        """Say why, and close: nobody knows where the next request would begin."""
        self._let_go()
        response = self._endpoint.refuse(refusal, None).response
        if self.transport:
            self.transport.write(_written(response, ends=True))
            self._close(self.transport)

    def _close(self, transport: asyncio.Transport) -> None:
        """Close once the answer is read, and soon in any case."""
        self._wait_for(END)
        transport.close()

    def _wait_for(self, state: int) -> None:
        self.state, self.expires_at = state, self._loop.time() + SECONDS[state]

    def _let_go(self) -> None:
        """Forget the request, and give back what its body took."""
        if self._request:
            self._listener.bodies.give_back(self.peer, len(self._request.body))
            self._request = None


def _written(response: Response, *, ends: bool, has_content: bool = True) -> bytes:
    status, content, headers = response
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines.append(f"Content-Length: {len(content)}")
    lines.append("Connection: close\r\n\r\n" if ends else "\r\n")
    head = "\r\n".join(lines).encode("latin-1")
    return head + content if has_content else head
