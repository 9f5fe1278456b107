"""HTTP/1.1 on single connections: what is refused, and the deadlines and bounds of a listener."""

import select
import socket
import threading
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from certs.serving import ServingCertificate
from tests.sockets.listening import GET, POST, Echo, Gate, Running, running
from tests.sockets.server import ask, is_closed, read_all, read_reply
from tests.sockets.test_hostile_clients import client_hello
from tests.tables import table
from tests.waiting import wait_until
from webhook.http import listener as listener_module
from webhook.http.connection import BODY, HEAD, IDLE, SECONDS, Request
from webhook.http.refusal import Refusal, Response

CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
HEADER = b"A: " + b"x" * 1000 + b"\r\n"


def states(server: Running) -> list[int]:
    return [each.state for each in list(server.listener.connections)]


@pytest.fixture
def plain() -> Iterator[Running]:
    with running(Echo()) as server:
        yield server


@table(
    "sent",
    {
        "chunks": CHUNKED + b"\r\n1\r\nx\r\n0\r\n\r\n",
        "length and chunks": CHUNKED + b"Content-Length: 3\r\n\r\n0\r\n\r\n",
        "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "a list of lengths": POST + b"Content-Length: 1, 2\r\n\r\nxx",
        "a signed length": POST + b"Content-Length: +1\r\n\r\nx",
        "a length beyond 64 bits": POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
        "an encoding after chunks": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n",
        "an unknown encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "bare LF": b"GET / HTTP/1.1\nHost: x\n\n",
        "bare CR": b"GET / HTTP/1.1\rHost: x\r\r",
        "a space before the colon": GET + b"A : b\r\n\r\n",
        "NUL in a name": GET + b"A\0: b\r\n\r\n",
        "NUL in a value": GET + b"A: b\0\r\n\r\n",
        "an old version": b"GET / HTTP/1.0\r\n\r\n",
        "a first header that goes on": b"GET / HTTP/1.1\r\n A: b\r\n\r\n",
        "another protocol": GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        "another version": b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]),
        "HTTP/0.9": b"GET /\r\n\r\n",
        "a body without a length": GET + b"\r\nx" + b"y" * 100,
        "TLS on a plain port": client_hello(),
        "an endless head": GET + HEADER * 70,
        "a head longer than a read": GET + HEADER * 200 + b"\r\n",
        "an endless path": b"GET /" + b"x" * 70_000,
        "an endless header": GET + b"A: " + b"x" * 70_000,
    },
)
def test_refuses_what_can_be_read_in_two_ways_or_not_at_all(plain: Running, sent: bytes) -> None:
    with plain.connect() as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            last = read_all(connection).rpartition(b"HTTP/1.1 ")[2]
        except OSError:  # closed while we still sent
            last = b""
        assert not last or (last.startswith(b"400 ") and b"Connection: close" in last)
    assert plain.post(b"x").body == b"x"


@pytest.mark.parametrize("header", [b"Connection: close", b"connection: TE, Close"])
def test_ends_the_connection_with_the_answer(plain: Running, header: bytes) -> None:
    with plain.connect() as connection:
        connection.sendall(GET + header + b"\r\n\r\n")
        reply = read_reply(connection)
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert is_closed(connection)


def test_answers_what_comes_byte_by_byte_and_a_long_head(plain: Running) -> None:
    with plain.connect() as connection:
        for byte in POST + b"Content-Length: 2\r\n\r\nhi":
            connection.sendall(bytes([byte]))
        assert read_reply(connection).body == b"hi"
        connection.sendall(GET + HEADER * 60 + b"\r\n")
        assert read_reply(connection).status == 200


@table(
    "more, apart",
    {
        "a request": (GET + b"\r\n", False),
        "a request a moment later": (GET + b"\r\n", True),
        "a byte": (b"G", True),
    },
)
def test_a_byte_behind_a_request_ends_the_connection(more: bytes, apart: bool) -> None:
    gate = Gate()
    with running(gate) as server, server.connect() as connection:
        connection.sendall(GET + b"\r\n" + (b"" if apart else more))
        if apart:
            wait_until(lambda: gate.inside == 1, "the request")
            connection.sendall(more)
        assert is_closed(connection)
        gate.open.set()
        assert server.post().status == 200


@table(
    "sent", {"nothing": b"", "half a greeting": client_hello()[:100], "a greeting": client_hello()}
)
def test_gives_up_on_handshakes_that_stall(
    tls_dir: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setitem(listener_module.DEADLINES, "ssl_handshake_timeout", 0.3)
    certificate, dropped = ServingCertificate(tls_dir), list[str]()
    with (
        running(Echo(), context=lambda: certificate.context, on_dropped=dropped.append) as server,
        server.connect() as connection,
    ):
        connection.sendall(sent)
        with suppress(ConnectionError):
            read_all(connection)  # until the server closes
        wait_until(lambda: dropped == ["handshake"], "the handshake to be counted")


@pytest.mark.parametrize("asked", [False, True], ids=["first", "after a request"])
def test_ends_at_silence_and_blank_lines(
    plain: Running, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    monkeypatch.setitem(SECONDS, IDLE, 0.5)
    with plain.connect() as connection, plain.connect() as silent:
        if asked:
            connection.sendall(GET + b"\r\n")
            assert read_reply(connection).status == 200
        connection.sendall(b"\r\n")
        assert is_closed(connection)
        assert is_closed(silent)
    assert plain.post().status == 200


@table(
    "head, last",
    {"a head": (GET + b"A: ", b""), "a body": (POST + b"Content-Length: 9999\r\n\r\n", b"408")},
)
def test_gives_up_on_what_drips(monkeypatch: pytest.MonkeyPatch, head: bytes, last: bytes) -> None:
    monkeypatch.setitem(SECONDS, HEAD, 0.5)
    monkeypatch.setitem(SECONDS, BODY, 0.5)
    with running(Echo()) as server, server.connect() as connection:
        connection.sendall(head)

        def drip() -> bool:
            with suppress(ConnectionError):
                connection.sendall(b"x")
            return bool(select.select([connection], [], [], 0)[0])

        wait_until(drip, "the end of the connection", interval=0.02)
        try:
            told = connection.recv(12)[9:]
        except ConnectionError:
            told = b""
        assert told == last


@pytest.mark.parametrize(("idle_seconds", "asks_again"), [(0.3, False), (120, True)])
def test_gives_up_on_a_client_that_reads_no_answers(
    monkeypatch: pytest.MonkeyPatch, idle_seconds: float, asks_again: bool
) -> None:
    monkeypatch.setitem(SECONDS, IDLE, idle_seconds)
    asked = threading.Event()

    class Long(Echo):
        def answer(self, request: Request) -> Response:
            asked.set()
            return Response(200, b"x" * (20 << 20))

    with running(Long()) as server, server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(GET + b"\r\n")
        assert asked.wait(20), "the request whose answer nobody reads"
        if asks_again:
            wait_until(lambda: states(server) == [IDLE], "the answer")
            connection.sendall(GET + b"\r\n")
        wait_until(lambda: not server.listener.connections, "its end")
        assert server.post().status == 200


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), StopIteration()])
def test_answers_500_for_whatever_is_raised_and_serves_on(error: Exception) -> None:
    class Raising(Echo):
        def answer(self, request: Request) -> Response | Refusal | Awaitable[Response | Refusal]:
            if request.length == 5:
                raise error
            return super().answer(request)

    endpoint = Raising()
    with running(endpoint) as server, closing(server.client()) as client:
        reply = ask(client, "POST", "/", b"raise")
        assert reply.status == 500
        assert b"secret" not in reply.body
        assert ask(client, "POST", "/", b"x").body == b"x"
    assert [each.reason for each in endpoint.refusals] == ["internal"]


def test_drops_who_never_asked_and_then_who_was_idle_for_longest() -> None:
    with running(Echo(), connections=4) as server, ExitStack() as stack:
        clients = [stack.enter_context(closing(server.client())) for _ in range(4)]
        assert ask(clients[0], "POST", "/", b"x").status == 200
        clients[1].connect()
        assert ask(clients[2], "POST", "/", b"x").status == 200
        assert is_closed(clients[1].sock)
        assert ask(clients[3], "POST", "/", b"x").status == 200
        assert is_closed(clients[0].sock)
        for client in clients[2:]:
            assert ask(client, "POST", "/", b"x").status == 200


def test_one_peer_leaves_room_for_others_and_ends_no_request_of_anybody() -> None:
    gate = Gate()
    with running(gate, connections=6) as server, ExitStack() as stack:
        busy = [stack.enter_context(server.connect()) for _ in range(4)]
        for connection in busy:
            connection.sendall(GET + b"\r\n")
        wait_until(lambda: gate.inside == 4, "as many requests as a peer may have")
        assert is_closed(stack.enter_context(server.connect()))
        other = stack.enter_context(closing(server.client("127.0.0.2")))
        other.request("GET", "/")
        gate.open.set()
        assert other.getresponse().status == 200
        assert [read_reply(each).status for each in busy] == [200] * 4


def test_bodies_of_one_peer_leave_room_for_those_of_others() -> None:
    with running(Echo()) as server, server.connect() as stalled:
        bodies = server.listener.bodies
        bodies.most_of_one = 400_000
        stalled.sendall(POST + b"Content-Length: 300000\r\n\r\n" + b"x" * 280_000)
        wait_until(lambda: bodies.taken == 280_000, "the body")
        reply = server.post(b"x" * 150_000)
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        with closing(server.client("127.0.0.2")) as other:
            assert ask(other, "POST", "/", b"x" * 150_000).status == 200
        stalled.close()
        wait_until(lambda: bodies.taken == 0, "the room to be given back")
        assert server.post(b"x" * 400_000).status == 200


def test_peers_take_turns() -> None:
    """Of many requests of one and one of another that come at a time, the other is not last."""
    order: list[bytes] = []
    inside, blocked = threading.Event(), threading.Event()

    class Ordered(Echo):
        def answer(self, request: Request) -> Response | Refusal | Awaitable[Response | Refusal]:
            if request.body == b"block":
                inside.set()
                assert blocked.wait(20)
            order.append(bytes(request.body))
            return Response(200, b"")

    sources = ["127.0.0.3", *["127.0.0.1"] * 40, "127.0.0.2"]
    with running(Ordered()) as server, ExitStack() as stack:
        clients = [stack.enter_context(closing(server.client(each))) for each in sources]
        for client in clients:
            assert ask(client, "GET", "/").status == 200
        order.clear()
        clients[0].request("POST", "/", b"block")
        assert inside.wait(20)
        for client in clients[1:-1]:
            client.request("POST", "/", b"many")
        clients[-1].request("POST", "/", b"one")
        blocked.set()
        assert {client.getresponse().status for client in clients} == {200}
    assert order.index(b"one") < 1 + 40 - 8  # it came last
