"""Single connections that break the rules, and a listener's deadlines and bounds, which are shortened here."""

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from certs.serving import ServingCertificate
from tests.sockets.server import ask, is_closed, read_all, read_reply
from tests.sockets.test_endpoint import Echo, Gate, Running, running
from tests.sockets.test_hostile_clients import client_hello
from tests.tables import table
from tests.waiting import wait_until
from webhook.http import listener as listener_module
from webhook.http.connection import BODY, HEAD, IDLE, READER, SECONDS, Request, Response

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def plain() -> Iterator[Running]:
    with running(Echo()) as server:
        yield server


@pytest.fixture
def dropped() -> list[str]:
    return []


@pytest.fixture
def secure(tls_dir: Path, dropped: list[str]) -> Iterator[Running]:
    certificate = ServingCertificate(tls_dir)
    listening: dict[str, Any] = {
        "context": lambda: certificate.context,
        "on_dropped": dropped.append,
    }
    with running(Echo(), connections=4, **listening) as server:
        yield server


def connect(server: Running) -> socket.socket:
    return socket.create_connection(
        (server.listener.address.host, server.listener.address.port), 20
    )


@table(
    "sent", {"nothing": b"", "half a greeting": client_hello()[:100], "a greeting": client_hello()}
)
def test_gives_up_on_handshakes_that_stall(
    secure: Running, dropped: list[str], monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(listener_module, "HANDSHAKE_SECONDS", 0.3)
    with connect(secure) as connection:
        connection.sendall(sent)
        with suppress(ConnectionError):
            read_all(connection)  # until the server closes
    wait_until(lambda: dropped == ["handshake"], "the handshake to be counted")


def test_drops_the_oldest_of_too_many_handshakes(
    secure: Running, dropped: list[str], authority: Path
) -> None:
    context = ssl.create_default_context(cafile=authority)
    with ExitStack() as stack:
        stalled = [stack.enter_context(connect(secure)) for _ in range(4)]
        with context.wrap_socket(connect(secure), server_hostname="localhost") as good:
            good.sendall(GET + b"\r\n")
            assert read_reply(good).status == 200
            assert is_closed(stalled[0])
            more = [stack.enter_context(connect(secure)) for _ in range(9)]
            assert is_closed(more[0])
            good.sendall(GET + b"\r\n")
            assert read_reply(good).status == 200
    assert "too-many" in dropped


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
        busy = [stack.enter_context(connect(server)) for _ in range(4)]
        for connection in busy:
            connection.sendall(GET + b"\r\n")
        wait_until(lambda: gate.inside == 4, "as many requests as a peer may have")
        assert is_closed(stack.enter_context(connect(server)))
        other = stack.enter_context(closing(server.client("127.0.0.2")))
        other.request("GET", "/")
        gate.open.set()
        assert other.getresponse().status == 200
        assert [read_reply(each).status for each in busy] == [200] * 4


@pytest.mark.parametrize("asked", [False, True], ids=["first", "after a request"])
def test_ends_at_blank_lines(plain: Running, monkeypatch: pytest.MonkeyPatch, asked: bool) -> None:
    monkeypatch.setitem(SECONDS, IDLE, 0.5)
    with connect(plain) as connection:
        if asked:
            connection.sendall(GET + b"\r\n")
            assert read_reply(connection).status == 200
        connection.sendall(b"\r\n")
        assert is_closed(connection)
    assert plain.post().status == 200


@table(
    "head, last",
    {
        "a head": (GET + b"A: ", b""),
        "a body": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b"408"),
    },
)
def test_gives_up_on_what_drips(monkeypatch: pytest.MonkeyPatch, head: bytes, last: bytes) -> None:
    monkeypatch.setitem(SECONDS, HEAD, 0.5)
    monkeypatch.setitem(SECONDS, BODY, 0.5)
    with running(Echo()) as server, connect(server) as connection:
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


def test_gives_up_on_a_client_that_reads_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECONDS, READER, 0.3)
    asked = threading.Event()

    class Long(Echo):
        def answer(self, request: Request) -> Response:
            asked.set()
            return Response(200, b"x" * (20 << 20))

    with running(Long()) as server, connect(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(GET + b"\r\n")
        assert asked.wait(20), "the request whose answer nobody reads"
        wait_until(lambda: not server.listener.connections, "its end")
        assert server.post().status == 200


def test_takes_a_client_that_vanishes_in_the_middle_of_an_answer(plain: Running) -> None:
    body = b"x" * (6 << 20)
    for _ in range(5):
        connection = connect(plain)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        assert connection.recv(100)
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0"
        )  # close by reset
        connection.close()
    wait_until(lambda: not plain.listener.connections, "the requests' end")
    assert plain.post().status == 200


HEADER = b"A: " + b"x" * 1000 + b"\r\n"


@table(
    "sent",
    {
        "endless": GET + HEADER * 70,
        "whole, and longer than a read": GET + HEADER * 200 + b"\r\n",
        "endless path": b"GET /" + b"x" * 70_000,
        "one endless header": GET + b"A: " + b"x" * 70_000,
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]),
        "TLS on a plain port": client_hello(),
    },
)
def test_refuses_and_closes(plain: Running, sent: bytes) -> None:
    with connect(plain) as connection:
        try:
            connection.sendall(sent)
            last = read_all(connection).rpartition(b"HTTP/1.1 ")[2]
        except ConnectionError:  # closed while we still sent
            last = b"400"
        assert last[:3] == b"400"
    assert plain.post().status == 200


def test_takes_a_head_that_is_long_enough_for_anybody(plain: Running) -> None:
    with connect(plain) as connection:
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
    with running(gate) as server, connect(server) as connection:
        connection.sendall(GET + b"\r\n" + (b"" if apart else more))
        if apart:
            wait_until(lambda: gate.inside == 1, "the request")
            connection.sendall(more)
        assert is_closed(connection)
        gate.open.set()
        assert server.post().status == 200
