"""HTTP/1.1 as single requests show it: what can be read in two ways is refused, and connections end where they must."""

import socket

import pytest

from tests.sockets.server import is_closed, read_all, read_reply
from tests.sockets.test_connections import GET, connect, plain
from tests.sockets.test_endpoint import Echo, Running, running
from tests.tables import table
from webhook.http.connection import BODY, SECONDS

__all__ = ["plain"]  # a fixture

POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


@table(
    "sent",
    {
        "length and chunks": POST
        + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "chunks and length": POST
        + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "a list of lengths": POST + b"Content-Length: 1, 2\r\n\r\nxx",
        "a signed length": POST + b"Content-Length: +1\r\n\r\nx",
        "a length beyond 64 bits": POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
        "an encoding after chunks": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n",
        "an unknown encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "a space behind a chunk's size": POST
        + b"Transfer-Encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n",
        "chunks that end in a bare LF": POST + b"Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n",
        "bare LF": b"GET / HTTP/1.1\nHost: x\n\n",
        "bare CR": b"GET / HTTP/1.1\rHost: x\r\r",
        "a space before the colon": GET + b"A : b\r\n\r\n",
        "NUL in a name": GET + b"A\0: b\r\n\r\n",
        "NUL in a value": GET + b"A: b\0\r\n\r\n",
        "a first header that goes on": b"GET / HTTP/1.1\r\n A: b\r\n\r\n",
        "another protocol": GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        "an old version": b"GET / HTTP/1.0\r\n\r\n",
        "another version": b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
        "HTTP/0.9": b"GET /\r\n\r\n",
        "a body without a length": b"GET / HTTP/1.1\r\nHost: x\r\n\r\nx" + b"y" * 100,
    },
)
def test_refuses_what_can_be_read_in_two_ways(plain: Running, sent: bytes) -> None:
    with connect(plain) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        last = read_all(connection).rpartition(b"HTTP/1.1 ")[2]
        assert last.startswith(b"400 ") or not last
        assert b"Connection: close" in last or not last
    assert plain.post(b"x").body == b"x"


def test_joins_a_header_that_goes_on_in_the_next_line_or_refuses_it(plain: Running) -> None:
    """obs-fold: whichever, the bytes behind it are no request of their own."""
    with connect(plain) as connection:
        connection.sendall(
            POST + b"Content-Length:\r\n 3\r\n\r\nxyz" + GET + b"Connection: close\r\n\r\n"
        )
        statuses = [part[:3] for part in read_all(connection).split(b"HTTP/1.1 ")[1:]]
        assert statuses in ([b"200", b"200"], [b"400"])


@table(
    "head",
    {
        "asked for": GET + b"Connection: close\r\n\r\n",
        "asked for in a list": GET + b"connection: TE, Close\r\n\r\n",
    },
)
def test_ends_the_connection_with_the_answer(plain: Running, head: bytes) -> None:
    with connect(plain) as connection:
        connection.sendall(head)
        reply = read_reply(connection)
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert is_closed(connection)


def test_answers_head_without_the_content_but_with_its_length(plain: Running) -> None:
    with connect(plain) as connection:
        connection.sendall(
            b"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd"
        )
        head, _, rest = read_all(connection).partition(b"\r\n\r\n")
        assert b"Content-Length: 4" in head
        assert rest == b""


def test_answers_a_request_that_comes_byte_by_byte(plain: Running) -> None:
    with connect(plain) as connection:
        for byte in POST + b"Content-Length: 2\r\n\r\nhi":
            connection.sendall(bytes([byte]))
        assert read_reply(connection).body == b"hi"


def test_takes_no_body_without_a_length(plain: Running) -> None:
    with connect(plain) as connection:
        connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
        reply = read_reply(connection)
        assert (reply.status, reply.headers["connection"]) == (400, "close")
        assert "send a Content-Length" in reply.json()["message"]


def test_says_that_a_body_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECONDS, BODY, 0.3)
    with running(Echo()) as server, connect(server) as connection:
        connection.sendall(POST + b"Content-Length: 2\r\n\r\nh")
        reply = read_reply(connection)
        assert (reply.status, reply.headers["connection"]) == (408, "close")


def test_refuses_a_body_that_is_too_large_by_its_head() -> None:
    echo = Echo()
    echo.most_bytes = 10
    with running(echo) as server, connect(server) as connection:
        connection.sendall(POST + b"Content-Length: 11\r\n\r\n")
        assert read_reply(connection).status == 413
