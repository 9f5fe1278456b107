"""HTTP/1.1 as single requests show it: what can be read in two ways is refused, and connections end where they must."""

import socket

from tests.sockets.server import is_closed, read_all, read_reply
from tests.sockets.test_connections import GET, connect, plain
from tests.sockets.test_endpoint import Echo, Running, running
from tests.tables import table
from webhook.http.endpoint import Limits

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
        assert b"connection: close" in last or not last
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
        "HTTP/1.0": b"GET / HTTP/1.0\r\n\r\n",
        "HTTP/1.0 that would go on": b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "asked for": GET + b"Connection: close\r\n\r\n",
        "asked for in a list": GET + b"connection: TE, Close\r\n\r\n",
        "another protocol": GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
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
            b"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd"
            + GET
            + b"Connection: close\r\n\r\n"
        )
        first, _, rest = read_all(connection).partition(b"\r\n\r\n")
        assert b"content-length: 4" in first
        assert rest.startswith(b"HTTP/1.1 200 ")


def test_asks_for_a_body_that_waits_to_be_asked_for(plain: Running) -> None:
    with connect(plain) as connection:
        connection.sendall(POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        expected = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert connection.recv(len(expected), socket.MSG_WAITALL) == expected
        connection.sendall(b"hi")
        assert read_reply(connection).body == b"hi"


def test_asks_for_no_body_that_is_refused(plain: Running) -> None:
    with connect(plain) as connection:
        connection.sendall(POST + b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
        assert read_reply(connection).status == 413


def test_answers_requests_in_their_order_though_each_comes_in_pieces(plain: Running) -> None:
    sent = b"".join(POST + b"Content-Length: 2\r\n\r\n%02d" % number for number in range(30))
    with connect(plain) as connection:
        for start in range(0, len(sent), 7):
            connection.sendall(sent[start : start + 7])
        connection.sendall(GET + b"Connection: close\r\n\r\n")
        answers = read_all(connection).split(b"HTTP/1.1 ")[1:]
        assert [answer[-2:] for answer in answers[:30]] == [
            b"%02d" % number for number in range(30)
        ]


def test_answers_what_came_before_what_cannot_be_read(plain: Running) -> None:
    with connect(plain) as connection:
        connection.sendall(POST + b"Content-Length: 2\r\n\r\nhi" + b"NONSENSE\r\n\r\n")
        answers = read_all(connection).split(b"HTTP/1.1 ")[1:]
        assert [answer[:3] for answer in answers] == [b"200", b"400"]


def test_takes_a_body_in_chunks_of_a_byte(plain: Running) -> None:
    with connect(plain) as connection:
        connection.sendall(
            POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n"
        )
        assert read_reply(connection).body == b"x" * 5000


def test_a_late_body_behind_an_answer_is_told() -> None:
    with running(Echo(Limits(body_seconds=0.3))) as server, connect(server) as connection:
        connection.sendall(
            POST + b"Content-Length: 2\r\n\r\nhi" + POST + b"Content-Length: 2\r\n\r\nh"
        )
        answers = read_all(connection).split(b"HTTP/1.1 ")[1:]
        assert [answer[:3] for answer in answers] == [b"200", b"408"]
        assert b"connection: close" in answers[1]


def test_says_no_more_to_a_body_that_is_refused_and_then_cannot_be_read() -> None:
    with running(Echo(Limits(body_bytes=10))) as server, connect(server) as connection:
        connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n14\r\n" + b"x" * 20)
        assert connection.recv(12) == b"HTTP/1.1 413"
        connection.sendall(b"\r\nno length\r\n")
        assert b"HTTP/1.1 " not in read_all(connection)
